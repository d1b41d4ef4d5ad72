#include "analysis/lag.h"

#include <assert.h>
#include <math.h>
#include "analysis/order.h"
#include "base/must.h"
#include "model/limits.h"
#include "base/time.h"

/* Lowest mean over all stretches of `width` inside [a, b], W; NaN where it is not covered. It is lowest where an end
 * meets a sample, or between two where the powers at both ends are equal: it is enough to look at stretches that begin
 * or end at a sample, but for the little that a parabola dips between. */
static double lowest_mean_w(const struct curve *c, int64_t a_ns, int64_t b_ns, int64_t width_ns)
{
    assert(width_ns > 0);
    double lowest = (double)NAN;
    if (!curve_covers(c, a_ns, b_ns) || b_ns - a_ns < width_ns)
        return lowest;
    size_t i = stamp_before(c->t_ns, c->n, a_ns);
    for (; i < c->n && c->t_ns[i] <= b_ns; i++)
        for (int end = 0; end < 2; end++) {
            int64_t from = end ? c->t_ns[i] - width_ns : c->t_ns[i];
            from = from < a_ns ? a_ns : from > b_ns - width_ns ? b_ns - width_ns : from;
            if (curve_gap_s(c, from, from + width_ns) > METHOD_BUFFER_GAP_S) /* a guess, not a level */
                continue;
            double w = (curve_energy(c, from + width_ns) - curve_energy(c, from)) / (time_s(width_ns));
            if (!(w >= lowest))
                lowest = w;
        }
    return lowest;
}

/* ---- sets of stretches ---- */

struct stretches {
    struct interval *x;
    size_t n;
};

/* Where the samples inside [a, b] are below a limit; each stands for the time until the next, but over a hole for
 * nothing. */
static struct stretches below(const struct curve *c, double limit_w, int64_t a_ns, int64_t b_ns, struct arena *a)
{
    struct stretches s = {.x = arena_array(a, c->n, sizeof *s.x)};
    size_t i = stamp_before(c->t_ns, c->n, a_ns);
    for (; i + 1 < c->n && c->t_ns[i] < b_ns; i++) {
        int64_t from = c->t_ns[i] > a_ns ? c->t_ns[i] : a_ns, to = c->t_ns[i + 1] < b_ns ? c->t_ns[i + 1] : b_ns;
        if (!(c->w[i] < limit_w) || (double)(c->t_ns[i + 1] - c->t_ns[i]) / 1e9 > METHOD_BUFFER_GAP_S)
            continue;
        if (s.n && s.x[s.n - 1].to_ns == from)
            s.x[s.n - 1].to_ns = to;
        else
            s.x[s.n++] = (struct interval){from, to};
    }
    return s;
}

static struct stretches both(struct stretches p, struct stretches q, struct arena *a)
{
    struct stretches s = {.x = arena_array(a, p.n + q.n, sizeof *s.x)};
    for (size_t i = 0, j = 0; i < p.n && j < q.n;) {
        int64_t from = p.x[i].from_ns > q.x[j].from_ns ? p.x[i].from_ns : q.x[j].from_ns;
        int64_t to = p.x[i].to_ns < q.x[j].to_ns ? p.x[i].to_ns : q.x[j].to_ns;
        if (from < to)
            s.x[s.n++] = (struct interval){from, to};
        if (p.x[i].to_ns < q.x[j].to_ns)
            i++;
        else
            j++;
    }
    return s;
}

/* ---- verdict ----
 *
 * In a burst all requests are submitted at once and the formal stage ends with the last of them (METHOD section 3):
 * from the sweep of submissions on, a request is outstanding all the time. Other loads say when. */

static bool gap_is_idle(const struct gpu_series *series, const struct gpu_level *levels, size_t n, int64_t from,
                        int64_t to)
{
    if (to - from > METHOD_LAG_JOIN_NS)
        return false;
    for (size_t g = 0; g < n; g++) {
        if (!(levels[g].ready_w.value > 0))
            continue;
        const struct curve *c = &series[g].buffer;
        if (curve_gap_s(c, from, to) > METHOD_BUFFER_GAP_S)
            return false;
        double w = (curve_energy(c, to) - curve_energy(c, from)) / (time_s(to - from));
        if (!(w < METHOD_LAG_FACTOR * levels[g].ready_w.value))
            return false;
    }
    return true;
}

struct levels lag_levels(const struct run_series *s, const struct records *r, int64_t ready_ns, int64_t start_ns,
                         int64_t end_ns, struct arena *a)
{
    must(start_ns < end_ns);
    must(s->gpu_count == r->gpu_count);
    struct levels x = {.gpus = arena_array(a, s->gpu_count, sizeof *x.gpus), .n = s->gpu_count};
    bool idles = false;
    /* Every GPU gets its level, whatever is wrong with another: verification compares with it. */
    for (size_t g = 0; g < x.n; g++) {
        const struct curve *c = &s->gpus[g].buffer;
        const int64_t index = r->gpus[g].index;
        struct gpu_level *level = &x.gpus[g];
        *level = lag_no_level();
        double ready_w = ready_ns == ABSENT_I64 ? (double)NAN : lowest_mean_w(c, ready_ns, end_ns, METHOD_LEVEL_NS);
        if (isnan(ready_w)) {
            x.why =
                x.why ? x.why
                      : arena_format(a, "the buffer of GPU %lld does not cover ready to formal_end", (long long)index);
            continue;
        }
        level->ready_w = quantity_of(ready_w);
        level->formal_mean_w = (curve_energy(c, end_ns) - curve_energy(c, start_ns)) / (time_s(end_ns - start_ns));
        if (!x.why && ready_w > METHOD_MEASURABLE_SHARE * level->formal_mean_w)
            x.why = arena_format(
                a, "GPU %lld idles at %.1f W when ready, over half of its mean of %.1f W in the formal stage",
                (long long)index, ready_w, level->formal_mean_w);
        idles |= ready_w > 0;
    }
    if (ready_ns == ABSENT_I64)
        x.why = "the service never got ready";
    else if (!x.why && !idles)
        x.why = "no GPU draws power when ready";
    return x;
}

struct gpu_level lag_no_level(void)
{
    return (struct gpu_level){quantity_absent(Q_NOT_RECORDED, "the run did not get that far"), (double)NAN};
}

/* Stretches with a short gap between them, in which the GPUs idle on, are one. */
static struct stretches join(struct stretches idle, const struct run_series *s, const struct gpu_level *levels,
                             struct arena *a)
{
    struct stretches joined = {.x = arena_array(a, idle.n, sizeof *joined.x)};
    for (size_t i = 0; i < idle.n; i++)
        if (joined.n && gap_is_idle(s->gpus, levels, s->gpu_count, joined.x[joined.n - 1].to_ns, idle.x[i].from_ns))
            joined.x[joined.n - 1].to_ns = idle.x[i].to_ns;
        else
            joined.x[joined.n++] = idle.x[i];
    return joined;
}

/* A stretch in which somebody waits begins with a request on its way to the GPU, seen in steps of the buffer: that
 * idleness, or the first second of it as in a burst, is no late delivery. */
static struct stretches reached_the_gpu(const struct lag_span *span, const struct stretches *idle, struct arena *a)
{
    struct stretches owed = {.x = arena_array(a, span->owed_count, sizeof *owed.x), .n = span->owed_count};
    for (size_t i = 0, j = 0; i < owed.n; i++) {
        owed.x[i] = span->owed[i];
        int64_t *from = &owed.x[i].from_ns;
        while (j < idle->n && idle->x[j].to_ns <= *from)
            j++;
        if (j < idle->n && idle->x[j].from_ns <= *from)
            *from = time_sooner(idle->x[j].to_ns, *from + METHOD_LAG_SKIP_NS);
    }
    return owed;
}

/* Where all GPUs that draw power when ready are below their limits at once, from shortly after the submissions. */
static struct stretches idle_stretches(const struct run_series *s, const struct gpu_level *levels,
                                       const struct lag_span *span, struct arena *a)
{
    int64_t from = span->start_ns + METHOD_LAG_SKIP_NS, end_ns = span->end_ns;
    struct stretches idle = {.x = arena_array(a, 1, sizeof *idle.x), .n = from < end_ns};
    idle.x[0] = (struct interval){from, end_ns};
    for (size_t g = 0; g < s->gpu_count && from < end_ns; g++)
        if (levels[g].ready_w.value > 0)
            idle =
                both(idle, below(&s->gpus[g].buffer, METHOD_LAG_FACTOR * levels[g].ready_w.value, from, end_ns, a), a);
    idle = join(idle, s, levels, a);
    if (!span->owed)
        return idle;
    return both(idle, reached_the_gpu(span, &idle, a), a);
}

struct result_lag lag_judge(const struct token_chains *c, const struct run_series *s, const struct levels *levels,
                            const struct lag_span *span, struct arena *a)
{
    must(levels->n == s->gpu_count && span->start_ns < span->end_ns);
    const struct quantity none = quantity_absent(Q_NOT_RECORDED, levels->why);
    struct result_lag lag = {.measurable = !levels->why,
                             .why = levels->why,
                             .idle_owed_s = none,
                             .idle_owed_j = none,
                             .idle_owed_share = none,
                             .merged_chunks = c->token_chunks ? (int64_t)c->merged_chunks : ABSENT_I64,
                             .largest_chunk = c->largest >= 0 ? c->largest : ABSENT_I64,
                             .largest_later_chunk = c->largest_later >= 0 ? c->largest_later : ABSENT_I64};
    if (levels->why)
        return lag;
    const struct stretches idle = idle_stretches(s, levels->gpus, span, a);
    struct sum j = {0};
    int64_t idle_ns = 0;
    for (size_t i = 0; i < idle.n; i++) {
        idle_ns += idle.x[i].to_ns - idle.x[i].from_ns;
        for (size_t g = 0; g < s->gpu_count; g++)
            sum_add(&j, curve_energy(&s->gpus[g].buffer, idle.x[i].to_ns) -
                            curve_energy(&s->gpus[g].buffer, idle.x[i].from_ns));
    }
    lag.idle_owed_s = quantity_of(time_s(idle_ns));
    lag.idle_owed_j = quantity_of(sum_value(&j));
    lag.idle_owed_share = quantity_of((double)idle_ns / (double)(span->end_ns - span->start_ns));
    lag.delivery_lag = lag.idle_owed_share.value > span->lag_share;
    return lag;
}
