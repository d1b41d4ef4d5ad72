#include "power/schedule.h"

#include <assert.h>
#include <string.h>
#include "base/must.h"
#include "base/time.h"
#include "power/sampler.h"

static const int64_t extras_room_ns = 6 * MS_NS, extras_patience_ns = 50 * MS_NS;

/* What a device without the instrument is taken for until that is known. */
static const int64_t counter_default_ns = 100 * MS_NS, drain_default_ns = 1900 * MS_NS;

/* When a buffer is four fifths full: late once, it still loses nothing. 1.9 s for NVIDIA's. */
static int64_t drain_every(const struct device_caps *caps)
{
    int64_t every_ns = caps->buffer_depth * 4 / 5 * caps->buffer_period_ns;
    return every_ns > 0 ? every_ns : drain_default_ns;
}

void schedule_init(struct schedule *s, int64_t first_tick_ns, int64_t grid_ns, int64_t start_ns,
                   const struct device_caps *caps)
{
    must(grid_ns > 0 && caps->counter_period_ns >= 0 && caps->buffer_period_ns >= 0 && caps->buffer_depth >= 0);
    *s = (struct schedule){.counter = true,
                           .buffer = true,
                           .drain_every_ns = drain_every(caps),
                           .grid_ns = grid_ns,
                           .tick_ns = first_tick_ns,
                           .drain_ns = start_ns,
                           .extras_ns = INT64_MAX};
    counter_lock_init(&s->lock, start_ns, caps->counter_period_ns > 0 ? caps->counter_period_ns : counter_default_ns);
}

void schedule_boundary(struct schedule *s)
{
    s->boundary_sample = s->after_count < SCHEDULE_AFTERS_MAX;
    s->boundary_counter = true;
}

static int64_t earliest(const struct schedule *s)
{
    int64_t t = s->tick_ns;
    const int64_t others[] = {s->after_count ? s->after_ns[0] : INT64_MAX, s->counter ? s->lock.deadline_ns : INT64_MAX,
                              s->buffer ? s->drain_ns : INT64_MAX, s->extras_ns};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] < t)
            t = others[i];
    return t;
}

static bool extras_fits(const struct schedule *s, int64_t now_ns)
{
    return !s->counter || s->lock.deadline_ns - now_ns > extras_room_ns || now_ns - s->extras_ns > extras_patience_ns;
}

struct step schedule_next(const struct schedule *s, int64_t now_ns)
{
    assert(s->grid_ns > 0 && s->after_count >= 0 && s->after_count <= SCHEDULE_AFTERS_MAX);
    if (s->boundary_sample)
        return (struct step){.action = ACTION_INSTANT, .deadline_ns = now_ns, .tag = INSTANT_BOUNDARY};
    if (s->boundary_counter && s->counter)
        return (struct step){.action = ACTION_COUNTER, .why = COUNTER_BOUNDARY};
    if (s->after_count && s->after_ns[0] <= now_ns)
        return (struct step){.action = ACTION_INSTANT, .deadline_ns = s->after_ns[0], .tag = INSTANT_BOUNDARY_AFTER};
    if (s->tick_ns <= now_ns)
        return (struct step){.action = ACTION_INSTANT, .deadline_ns = s->tick_ns, .tag = INSTANT_GRID};
    if (s->counter && s->lock.deadline_ns <= now_ns)
        return (struct step){.action = ACTION_COUNTER, .why = s->lock.why};
    if (s->extras_ns <= now_ns) {
        if (extras_fits(s, now_ns))
            return (struct step){.action = ACTION_TICK_EXTRAS};
        return (struct step){.action = ACTION_WAIT, .deadline_ns = s->lock.deadline_ns};
    }
    if (s->buffer && s->drain_ns <= now_ns)
        return (struct step){.action = ACTION_DRAIN};
    return (struct step){.action = ACTION_WAIT, .deadline_ns = earliest(s)};
}

static void instant_done(struct schedule *s, enum instant_tag tag, int64_t begin_ns)
{
    if (tag == INSTANT_GRID) {
        s->extras_ns = begin_ns;
        do
            s->tick_ns += s->grid_ns;
        while (s->tick_ns <= begin_ns);
    } else if (tag == INSTANT_BOUNDARY) {
        s->boundary_sample = false;
        assert(s->after_count < SCHEDULE_AFTERS_MAX); /* or schedule_boundary had not asked for it */
        s->after_ns[s->after_count++] = begin_ns + SAMPLER_BOUNDARY_AFTER_NS;
    } else {
        assert(s->after_count > 0);
        s->after_count--;
        memmove(s->after_ns, s->after_ns + 1, (size_t)s->after_count * sizeof *s->after_ns);
    }
}

void schedule_done(struct schedule *s, const struct step *step, int64_t begin_ns, int64_t end_ns, int64_t mj)
{
    assert(end_ns >= begin_ns);
    switch (step->action) {
    case ACTION_WAIT:
        break;
    case ACTION_INSTANT:
        instant_done(s, step->tag, begin_ns);
        break;
    case ACTION_COUNTER:
        assert(s->counter);
        if (step->why == COUNTER_BOUNDARY)
            s->boundary_counter = false;
        counter_lock_take(&s->lock, begin_ns, end_ns, mj, step->why != COUNTER_BOUNDARY);
        break;
    case ACTION_TICK_EXTRAS:
        assert(s->extras_ns != INT64_MAX);
        s->extras_ns = INT64_MAX;
        s->drain_ns = begin_ns + s->drain_every_ns;
        break;
    case ACTION_DRAIN:
        s->drain_ns = begin_ns + s->drain_every_ns;
        break;
    }
}
