#include "analysis/parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/must.h"
#include "model/limits.h"
#include "base/time.h"

enum series_id parts_series(const struct energy_set *e)
{
    return quantity_has_value(&e->precise) ? SERIES_PRECISE : SERIES_COUNTER;
}

static struct quantity energy_between(const struct meters *m, enum series_id series, int64_t a_ns, int64_t b_ns,
                                      struct arena *a)
{
    return meters_parts(m, &(struct part){a_ns, b_ns, series}, 1, false, METERS_ALL, a);
}

/* ---- waits ---- */

static struct wait no_wait(const char *why)
{
    assert(why);
    const struct quantity none = quantity_absent(Q_NOT_RECORDED, why);
    return (struct wait){(double)NAN, none, none};
}

/* From one boundary to another, of which METHOD asks for the last `silence_ns`, in a stage [start, end] that took `e`.
 */
static struct wait wait_of(const struct part *wait, const struct part *stage, int64_t silence_ns,
                           const struct energy_set *e, const struct meters *m, struct arena *a)
{
    assert(silence_ns >= 0);
    int64_t from_ns = wait->from_ns, to_ns = wait->to_ns;
    if (stage->from_ns == ABSENT_I64 || from_ns == ABSENT_I64 || to_ns == ABSENT_I64)
        return no_wait("the run did not get that far");
    if (from_ns < stage->from_ns || to_ns > stage->to_ns || to_ns < from_ns)
        return no_wait("its boundaries lie outside the stage");
    enum series_id series = parts_series(e);
    struct energy_set all = *e;
    const struct quantity *whole = energy_series(&all, series);
    struct quantity j = to_ns == from_ns ? quantity_of(0) : energy_between(m, series, from_ns, to_ns, a);
    int64_t counted_ns = to_ns - from_ns > silence_ns ? to_ns - silence_ns : from_ns;
    struct quantity counted = counted_ns == from_ns ? quantity_of(0)
                              : silence_ns          ? energy_between(m, series, from_ns, counted_ns, a)
                                                    : j;
    return (struct wait){time_s(to_ns - from_ns), j, quantity_share(&counted, whole, "the stage took no energy")};
}

struct wait parts_wait_before(int64_t start_ns, int64_t end_ns, const struct energy_set *e, const struct meters *m,
                              const struct records *r, struct arena *a)
{
    must(start_ns == ABSENT_I64 || e);
    const struct part stage = {.from_ns = start_ns, .to_ns = end_ns};
    const struct part wait = {.from_ns = records_boundary(r, BOUNDARY_WARMUP_END),
                              .to_ns = records_boundary(r, BOUNDARY_FORMAL_START)};
    return wait_of(&wait, &stage, r->plan.requests.connect == CONNECT_AHEAD ? METHOD_SILENCE_NS : 0, e, m, a);
}

struct wait parts_wait_after(int64_t start_ns, int64_t end_ns, const struct energy_set *e, const struct meters *m,
                             const struct records *r, struct arena *a)
{
    must(start_ns == ABSENT_I64 || e);
    const struct part stage = {.from_ns = start_ns, .to_ns = end_ns};
    const struct part wait = {.from_ns = records_boundary(r, BOUNDARY_FORMAL_END),
                              .to_ns = records_boundary(r, BOUNDARY_STOP)};
    return wait_of(&wait, &stage, 0, e, m, a);
}

/* ---- phases ---- */

/* The first state on this GPU, after `start_ns`, with a compute process or with memory that it did not hold before. */
static int64_t first_use(const struct rec_gpu *g, int64_t start_ns)
{
    int64_t before = ABSENT_I64;
    for (size_t i = 0; i < g->state_count; i++) {
        const struct rec_gpu_state *s = &g->state[i];
        if (s->t_ns <= start_ns) {
            if (s->memory_used_bytes != ABSENT_I64)
                before = s->memory_used_bytes;
            continue;
        }
        bool more = before != ABSENT_I64 && s->memory_used_bytes != ABSENT_I64 &&
                    s->memory_used_bytes > before + METHOD_MEMORY_BYTES;
        if (s->processes > 0 || more)
            return s->t_ns;
    }
    return ABSENT_I64;
}

static int64_t earlier(int64_t x, int64_t y)
{
    return x == ABSENT_I64 || (y != ABSENT_I64 && y < x) ? y : x;
}

static int64_t milestone_ns(const struct records *r, int milestone)
{
    int64_t first = ABSENT_I64;
    for (size_t i = 0; i < r->fact_count; i++)
        if (r->facts[i].name && strcmp(r->facts[i].name, milestone_names[milestone]) == 0)
            first = earlier(first, r->facts[i].t_ns);
    return first;
}

/* When each phase but the rest ends; ABSENT_I64: nothing says so. */
static void phase_ends(const struct records *r, int64_t start_ns, int64_t *ret_ends)
{
    static const int milestones[PHASE_READY] = {[PHASE_WEIGHTS] = MILESTONE_WEIGHTS,
                                                [PHASE_COMPILE] = MILESTONE_COMPILED,
                                                [PHASE_GRAPHS] = MILESTONE_GRAPHS,
                                                [PHASE_SERVING] = MILESTONE_SERVING};
    ret_ends[PHASE_PROCESS] = ABSENT_I64;
    for (size_t g = 0; g < r->gpu_count; g++)
        ret_ends[PHASE_PROCESS] = earlier(ret_ends[PHASE_PROCESS], first_use(&r->gpus[g], start_ns));
    for (int p = PHASE_WEIGHTS; p < PHASE_READY; p++)
        ret_ends[p] = milestone_ns(r, milestones[p]);
    ret_ends[PHASE_READY] = records_boundary(r, BOUNDARY_READY);
    ret_ends[PHASE_WARMUP] = records_boundary(r, BOUNDARY_WARMUP_END);
}

size_t parts_phases(const struct result_stage *startup, const struct meters *m, const struct records *r,
                    struct arena *a, struct result_phase **ret_phases)
{
    must(startup->stage == STAGE_STARTUP && startup->start_ns != ABSENT_I64);
    int64_t ends[PHASE_COUNT], from_ns = startup->start_ns;
    phase_ends(r, startup->start_ns, ends);
    ends[PHASE_REST] = startup->end_ns;
    struct result_phase *list = arena_array(a, PHASE_COUNT, sizeof *list);
    size_t n = 0;
    for (int p = 0; p < PHASE_COUNT; p++) {
        if (ends[p] == ABSENT_I64 || ends[p] <= from_ns || ends[p] > startup->end_ns)
            continue;
        double duration_s = time_s(ends[p] - from_ns);
        struct quantity energy_j = energy_between(m, parts_series(&startup->energy), from_ns, ends[p], a);
        list[n++] =
            (struct result_phase){.phase = (enum startup_phase)p,
                                  .start_ns = from_ns,
                                  .end_ns = ends[p],
                                  .start_s = time_s(from_ns - startup->start_ns),
                                  .duration_s = duration_s,
                                  .energy_j = energy_j,
                                  .average_w = quantity_over(&energy_j, duration_s, "the phase has no duration")};
        from_ns = ends[p];
    }
    *ret_phases = list;
    return n;
}
