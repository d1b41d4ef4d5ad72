#include "power/counter_lock.h"

#include <assert.h>
#include "base/must.h"
#include "base/time.h"

enum { REPEATS_MAX = 3, LOST_STEPS_MAX = 3, SEARCH_MAX_PERIODS = 15 };
static const int64_t grain_max_ns = 10 * MS_NS, grain_min_ns = 4 * MS_NS, cadence_ns = 100 * MS_NS,
                     half_width_max_ns = 5 * MS_NS;

/* From read to read of a search, and from an expected change to the middle of its read. */
static int64_t half_grain(const struct counter_lock *l)
{
    return l->grain_ns / 2;
}

/* Two reads that enclose a change this closely tell its moment. */
static int64_t close_gap(const struct counter_lock *l)
{
    return l->grain_ns * 5 / 2;
}

static int64_t standing_step(const struct counter_lock *l)
{
    return time_later(l->nominal_ns, cadence_ns);
}

static void search(struct counter_lock *l, int64_t now_ns)
{
    l->phase = LOCK_SEARCH;
    l->why = COUNTER_SEARCH;
    l->search_begin_ns = now_ns;
    l->change_ns = ABSENT_I64;
    l->deadline_ns = now_ns;
}

void counter_lock_init(struct counter_lock *l, int64_t start_ns, int64_t nominal_ns)
{
    must(l && nominal_ns > 0);
    *l = (struct counter_lock){.last_mj = -1,
                               .nominal_ns = nominal_ns,
                               .grain_ns = time_later(time_sooner(nominal_ns / 10, grain_max_ns), grain_min_ns)};
    search(l, start_ns);
    if (nominal_ns <= grain_max_ns) {
        l->phase = LOCK_NEEDLESS;
        l->why = COUNTER_LOCKED;
    }
}

/* On to the next step that has not gone by. */
static void expect_next(struct counter_lock *l, int64_t now_ns)
{
    assert(l->period_ns > l->margin_ns); /* or it would never get there */
    do
        l->change_ns += l->period_ns - l->margin_ns;
    while (l->change_ns + half_grain(l) < now_ns);
    l->repeats = 0;
    l->why = COUNTER_LOCKED;
    l->deadline_ns = l->change_ns + half_grain(l) - l->half_width_ns;
}

/* A change whose moment is known to gap_ns tells the period, the better the farther it is from the anchor. */
static void correct(struct counter_lock *l, int64_t change_ns, int64_t gap_ns)
{
    assert(l->period_ns > 0);
    int64_t steps = (change_ns - l->anchor_ns + l->period_ns / 2) / l->period_ns;
    l->change_ns = change_ns;
    if (steps < 1)
        return;
    l->period_ns = (change_ns - l->anchor_ns) / steps;
    l->margin_ns = time_later(time_later(gap_ns, l->grain_ns) / steps, l->grain_ns / 100);
}

static void lock(struct counter_lock *l, int64_t change_ns, int64_t now_ns)
{
    int64_t step_ns = change_ns - l->change_ns;
    assert(step_ns > 0);
    /* A counter that steps faster is read at every so many steps. */
    l->period_ns = step_ns * time_later(cadence_ns / step_ns, 1);
    l->anchor_ns = change_ns;
    l->change_ns = change_ns;
    l->margin_ns = l->grain_ns;
    l->lost_steps = 0;
    l->phase = LOCK_LOCKED;
    expect_next(l, now_ns);
}

static void take_searching(struct counter_lock *l, int64_t begin_ns, int64_t end_ns, bool changed, int64_t gap_ns)
{
    l->deadline_ns = time_later(begin_ns + half_grain(l), end_ns);
    if (changed && gap_ns <= close_gap(l)) {
        int64_t change_ns = l->last_ns - gap_ns / 2;
        if (l->change_ns != ABSENT_I64) {
            lock(l, change_ns, end_ns);
            return;
        }
        l->change_ns = change_ns;
    } else if (changed) {
        l->change_ns = ABSENT_I64; /* its moment is not known, so the next one's distance means nothing */
    }
    if (end_ns - l->search_begin_ns > SEARCH_MAX_PERIODS * l->nominal_ns) {
        l->phase = LOCK_STANDING;
        l->deadline_ns = begin_ns + standing_step(l);
    }
}

static void take_standing(struct counter_lock *l, int64_t begin_ns, int64_t end_ns, bool changed)
{
    if (changed)
        search(l, end_ns);
    else
        l->deadline_ns = time_later(begin_ns + standing_step(l), end_ns);
}

static void take_locked(struct counter_lock *l, int64_t begin_ns, int64_t end_ns, bool changed, int64_t gap_ns,
                        bool scheduled)
{
    if (changed) {
        if (gap_ns <= close_gap(l))
            correct(l, l->last_ns - gap_ns + time_sooner(gap_ns, l->grain_ns) / 2, gap_ns);
        else
            l->change_ns = time_sooner(l->change_ns, l->last_ns);
        l->lost_steps = 0;
        expect_next(l, end_ns);
    } else if (!scheduled) {
        return;
    } else if (l->repeats < REPEATS_MAX) {
        l->repeats++;
        l->why = COUNTER_REPEAT;
        l->deadline_ns = time_later(begin_ns + l->grain_ns, end_ns);
    } else if (++l->lost_steps < LOST_STEPS_MAX) {
        expect_next(l, end_ns);
    } else {
        search(l, end_ns);
    }
}

enum counter_why counter_lock_why(const struct counter_lock *l, enum counter_why why, int64_t middle_ns)
{
    if (l->phase != LOCK_LOCKED)
        return why;
    bool late = (why == COUNTER_LOCKED && middle_ns > l->change_ns + half_grain(l) + l->grain_ns) ||
                (why == COUNTER_REPEAT && middle_ns > l->last_ns + half_grain(l) + l->grain_ns);
    return late ? COUNTER_SEARCH : why;
}

void counter_lock_take(struct counter_lock *l, int64_t begin_ns, int64_t end_ns, int64_t mj, bool scheduled)
{
    assert(end_ns >= begin_ns && l->nominal_ns > 0);
    if (l->phase == LOCK_NEEDLESS) {
        if (scheduled)
            l->deadline_ns = time_later(l->deadline_ns + cadence_ns, end_ns);
        return;
    }
    if (mj < 0) {
        if (!scheduled)
            return;
        if (l->phase == LOCK_LOCKED)
            expect_next(l, end_ns);
        else
            l->deadline_ns =
                time_later(begin_ns + (l->phase == LOCK_SEARCH ? half_grain(l) : standing_step(l)), end_ns);
        return;
    }
    int64_t middle_ns = begin_ns + (end_ns - begin_ns) / 2;
    int64_t half_ns = time_sooner((end_ns - begin_ns) / 2, half_width_max_ns);
    bool first = l->last_mj < 0, changed = !first && mj != l->last_mj;
    int64_t gap_ns = first ? 0 : middle_ns - l->last_ns;
    l->half_width_ns = first ? half_ns : l->half_width_ns + (half_ns - l->half_width_ns) / 8;
    l->last_mj = mj;
    l->last_ns = middle_ns;
    if (l->phase == LOCK_SEARCH)
        take_searching(l, begin_ns, end_ns, changed, gap_ns);
    else if (l->phase == LOCK_STANDING)
        take_standing(l, begin_ns, end_ns, changed);
    else
        take_locked(l, begin_ns, end_ns, changed, gap_ns, scheduled);
}
