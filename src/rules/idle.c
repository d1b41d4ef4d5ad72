#include "rules/idle.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "base/arena.h"
#include "model/limits.h"
#include "base/must.h"

struct idle_series {
    struct tick_sample *s;
    size_t n, capacity;
};

static double limit_w(double mean_w)
{
    return fmax(mean_w * METHOD_IDLE_SHARE, METHOD_IDLE_W) * (1 + RULE_ROUNDING);
}

/* Power at t on the line from a to b. */
static double sample_between(const struct tick_sample *a, const struct tick_sample *b, int64_t t_ns)
{
    assert(a->t_ns <= b->t_ns);
    if (b->t_ns == a->t_ns)
        return a->watts;
    return a->watts + (b->watts - a->watts) * ((double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns));
}

/* Trapezoidal mean over [from, to], which the samples must cover. Half of a window of 1 ns has no mean. */
static double mean_w(const struct tick_sample *s, size_t n, int64_t from_ns, int64_t to_ns)
{
    assert(n >= 2 && from_ns <= to_ns);
    if (from_ns == to_ns)
        return NAN;
    double sum = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        int64_t a = s[i].t_ns > from_ns ? s[i].t_ns : from_ns;
        int64_t b = s[i + 1].t_ns < to_ns ? s[i + 1].t_ns : to_ns;
        if (a < b)
            sum += (sample_between(&s[i], &s[i + 1], a) + sample_between(&s[i], &s[i + 1], b)) / 2 * (double)(b - a);
    }
    return sum / (double)(to_ns - from_ns);
}

static double sigma_w(const struct tick_sample *s, size_t n)
{
    assert(n > 0);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += s[i].watts;
    for (size_t i = 0; i < n; i++)
        squares += (s[i].watts - sum / (double)n) * (s[i].watts - sum / (double)n);
    return sqrt(squares / (double)n);
}

/* Power without a hole from a sample at or before the start to one at or behind the end. */
static bool is_covered(const struct tick_sample *s, size_t n, int64_t period_ns, int64_t start_ns, int64_t end_ns)
{
    if (n < 2 || s[0].t_ns > start_ns || s[n - 1].t_ns < end_ns)
        return false;
    for (size_t i = 0; i < n; i++)
        if (isnan(s[i].watts) || (i && 2 * (s[i].t_ns - s[i - 1].t_ns) > 3 * period_ns))
            return false;
    return true;
}

static int32_t max_of(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Utilisation and processes; returns the number of samples with anything unreadable. */
static void judge_activity(struct idle_verdict *v, const struct tick_sample *s, size_t n)
{
    size_t no_utilisation = 0, no_processes = 0;
    for (size_t i = 0; i < n; i++) {
        v->utilisation_max = max_of(v->utilisation_max, s[i].utilisation);
        v->processes_max = max_of(v->processes_max, s[i].processes);
        no_utilisation += s[i].utilisation < 0;
        no_processes += s[i].processes < 0;
    }
    if (v->utilisation_max > 0)
        v->faults |= IDLE_UTILISATION;
    if (v->processes_max > 0)
        v->faults |= IDLE_PROCESSES;
    if ((no_utilisation && no_utilisation < n) || (no_processes && no_processes < n))
        v->faults |= IDLE_UNREADABLE;
    if (n && (no_utilisation == n || no_processes == n))
        v->outcome = CHECK_NOT_RECORDED;
}

struct idle_verdict idle_judge(const struct tick_sample *s, size_t n, int64_t period_ns, int64_t start_ns,
                               int64_t end_ns)
{
    must(n == 0 || s);
    struct idle_verdict v = {.outcome = CHECK_PASSED,
                             .mean_w = NAN,
                             .sigma_w = NAN,
                             .first_half_w = NAN,
                             .second_half_w = NAN,
                             .utilisation_max = -1,
                             .processes_max = -1};
    size_t first = 0, end = n; /* samples inside, limits included */
    while (first < n && s[first].t_ns < start_ns)
        first++;
    while (end > first && s[end - 1].t_ns > end_ns)
        end--;
    v.samples = (uint32_t)(end - first);
    judge_activity(&v, s + first, end - first);

    size_t from = first < n && s[first].t_ns == start_ns ? first : first ? first - 1 : 0;
    size_t to = end > first && s[end - 1].t_ns == end_ns ? end : end < n ? end + 1 : n;
    if (end_ns <= start_ns || end == first || !is_covered(s + from, to - from, period_ns, start_ns, end_ns)) {
        v.faults |= IDLE_NOT_COVERED;
    } else {
        int64_t middle_ns = start_ns + (end_ns - start_ns) / 2;
        v.mean_w = mean_w(s + from, to - from, start_ns, end_ns);
        v.first_half_w = mean_w(s + from, to - from, start_ns, middle_ns);
        v.second_half_w = mean_w(s + from, to - from, middle_ns, end_ns);
        v.sigma_w = sigma_w(s + first, end - first);
        if (v.sigma_w > limit_w(v.mean_w))
            v.faults |= IDLE_SIGMA;
        if (fabs(v.first_half_w - v.second_half_w) > limit_w(v.mean_w))
            v.faults |= IDLE_HALVES;
    }
    if (v.faults)
        v.outcome = CHECK_FAILED;
    return v;
}

static void say(struct buf *b, const char **gap)
{
    buf_str(b, *gap);
    *gap = "; ";
}

void idle_describe(const struct idle_verdict *v, struct buf *b)
{
    const char *gap = "";
    if (v->faults & IDLE_NOT_COVERED) {
        say(b, &gap);
        buf_fmt(b, "power samples are missing (%u in the window)", v->samples);
    }
    if (v->faults & IDLE_PROCESSES) {
        say(b, &gap);
        buf_fmt(b, "compute processes were on it (up to %d)", v->processes_max);
    }
    if (v->faults & IDLE_UTILISATION) {
        say(b, &gap);
        buf_fmt(b, "utilisation reached %d %%", v->utilisation_max);
    }
    if (v->faults & IDLE_SIGMA) {
        say(b, &gap);
        buf_fmt(b, "the standard deviation %.2f W is over its limit of %.2f W (mean %.1f W)", v->sigma_w,
                limit_w(v->mean_w), v->mean_w);
    }
    if (v->faults & IDLE_HALVES) {
        say(b, &gap);
        buf_fmt(b, "the window's halves, %.1f W and %.1f W, are more than %.2f W apart", v->first_half_w,
                v->second_half_w, limit_w(v->mean_w));
    }
    if (v->faults & IDLE_UNREADABLE) {
        say(b, &gap);
        buf_str(b, "utilisation or processes could not be read at some samples");
    }
    if (v->outcome == CHECK_NOT_RECORDED) {
        say(b, &gap);
        buf_fmt(b, "the device does not report its %s",
                v->utilisation_max >= 0 ? "compute processes"
                : v->processes_max >= 0 ? "utilisation"
                                        : "utilisation and compute processes");
    }
}

void idle_init(struct idle *i, uint32_t gpus, int64_t period_ns, int64_t window_ns, int64_t wait_ns)
{
    must(gpus > 0 && gpus <= TICK_GPUS_MAX && period_ns > 0);
    *i = (struct idle){.start_ns = ABSENT_I64,
                       .end_ns = ABSENT_I64,
                       .first_start_ns = ABSENT_I64,
                       .gpus = gpus,
                       .window_ns = window_ns,
                       .wait_ns = wait_ns};
    tick_init(&i->join, gpus, period_ns);
    i->series = mem_zero(gpus, sizeof *i->series);
}

void idle_done(struct idle *i)
{
    for (uint32_t g = 0; i->series && g < i->gpus; g++)
        free(i->series[g].s);
    free(i->series);
    free(i->starts_ns);
    i->series = NULL;
    i->starts_ns = NULL;
}

static void keep_tick(struct idle *i, const struct tick *t)
{
    if (i->ticks == i->ticks_capacity) {
        i->ticks_capacity = i->ticks_capacity ? 2 * i->ticks_capacity : 64;
        i->starts_ns = mem_grow(i->starts_ns, i->ticks_capacity, sizeof *i->starts_ns);
    }
    i->starts_ns[i->ticks++] = t->last_ns;
    for (uint32_t g = 0; g < i->gpus; g++) {
        if (!(t->present >> g & 1))
            continue;
        struct idle_series *series = &i->series[g];
        if (series->n == series->capacity) {
            series->capacity = series->capacity ? 2 * series->capacity : 64;
            series->s = mem_grow(series->s, series->capacity, sizeof *series->s);
        }
        series->s[series->n++] = t->sample[g];
    }
}

/* Worst first: a failure of one GPU is the window's. */
static enum check_outcome worse(enum check_outcome a, enum check_outcome b)
{
    if (a == CHECK_FAILED || b == CHECK_FAILED)
        return CHECK_FAILED;
    return a == CHECK_NOT_RECORDED || b == CHECK_NOT_RECORDED ? CHECK_NOT_RECORDED : CHECK_PASSED;
}

/* Is the window that starts at the tick seen to its end by every GPU? A GPU that stopped giving samples does not hold
 * up the others: two ticks behind the end, the window is judged as it is. */
static bool is_over(const struct idle *i, int64_t end_ns)
{
    bool all = true, any_far = false;
    for (uint32_t g = 0; g < i->gpus; g++) {
        const struct idle_series *s = &i->series[g];
        int64_t last_ns = s->n ? s->s[s->n - 1].t_ns : INT64_MIN;
        all = all && last_ns >= end_ns;
        any_far = any_far || last_ns >= end_ns + 2 * i->join.period_ns;
    }
    return all || any_far;
}

static void judge_window(struct idle *i, int64_t start_ns)
{
    i->start_ns = start_ns;
    i->end_ns = start_ns + i->window_ns;
    i->outcome = CHECK_PASSED;
    i->windows++;
    for (uint32_t g = 0; g < i->gpus; g++) {
        i->verdict[g] = idle_judge(i->series[g].s, i->series[g].n, i->join.period_ns, i->start_ns, i->end_ns);
        i->outcome = worse(i->outcome, i->verdict[g].outcome);
    }
    if (i->outcome != CHECK_FAILED)
        i->state = IDLE_ACCEPTED;
}

/* Judges every window whose end has been seen. One that starts at a tick without some GPU fails, as that is not
 * covered. */
static void slide(struct idle *i)
{
    for (; i->state == IDLE_WATCHING && i->at < i->ticks; i->at++) {
        int64_t start_ns = i->starts_ns[i->at];
        if (start_ns == ABSENT_I64)
            continue;
        if (i->first_start_ns == ABSENT_I64)
            i->first_start_ns = start_ns;
        if (start_ns - i->first_start_ns > i->wait_ns) {
            i->state = IDLE_REFUSED;
            return;
        }
        if (!is_over(i, start_ns + i->window_ns))
            return;
        judge_window(i, start_ns);
    }
}

enum idle_state idle_feed(struct idle *i, uint32_t gpu, const struct tick_sample *s)
{
    assert(gpu < i->gpus);
    if (i->state != IDLE_WATCHING)
        return i->state;
    tick_feed(&i->join, gpu, s);
    for (struct tick t; tick_next(&i->join, &t);)
        keep_tick(i, &t);
    slide(i);
    return i->state;
}

void idle_refusal(const struct idle *i, const char *(*name)(void *self, uint32_t gpu), void *self, struct buf *b)
{
    must(i->state == IDLE_REFUSED);
    const char *gap = "";
    for (uint32_t g = 0; g < i->gpus; g++) {
        if (i->verdict[g].outcome != CHECK_FAILED)
            continue;
        buf_fmt(b, "%s%s: ", gap, name(self, g));
        idle_describe(&i->verdict[g], b);
        buf_byte(b, '.');
        gap = " ";
    }
}
