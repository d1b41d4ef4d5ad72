#include "analysis/lag.h"

#include <math.h>
#include "analysis/attribution.h"
#include "analysis/order.h"
#include "model/limits.h"

static const int64_t LEVEL_NS = 100000000, JOIN_NS = 100000000, SKIP_NS = 1000000000;
static const double MEASURABLE_SHARE = 0.5;

/* Lowest mean over all stretches of `width` inside [a, b], W; NaN where it is not covered. It is lowest where an end
 * meets a sample, or between two where the powers at both ends are equal: it is enough to look at stretches that begin
 * or end at a sample, but for the little that a parabola dips between. */
static double lowest_mean_w(const struct curve *c, int64_t a_ns, int64_t b_ns, int64_t width_ns)
{
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
            double w = (curve_energy(c, from + width_ns) - curve_energy(c, from)) / ((double)width_ns * 1e-9);
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
 * All requests are submitted at once and the formal stage ends with the last of them (METHOD section 3): from the sweep
 * of submissions on, a request is outstanding all the time. */

static bool gap_is_idle(const struct gpu_series *series, const struct result_gpu *gpus, size_t n, int64_t from,
                        int64_t to)
{
    if (to - from > JOIN_NS)
        return false;
    for (size_t g = 0; g < n; g++) {
        if (!(gpus[g].ready_level_w.value > 0))
            continue;
        const struct curve *c = &series[g].buffer;
        if (curve_gap_s(c, from, to) > METHOD_BUFFER_GAP_S)
            return false;
        double w = (curve_energy(c, to) - curve_energy(c, from)) / ((double)(to - from) * 1e-9);
        if (!(w < METHOD_LAG_FACTOR * gpus[g].ready_level_w.value))
            return false;
    }
    return true;
}

static const char *levels(const struct gpu_series *series, struct result_gpu *gpus, size_t n, int64_t ready_ns,
                          int64_t start_ns, int64_t end_ns, struct arena *a)
{
    bool idles = false;
    const char *why = NULL;
    if (ready_ns == ABSENT_I64)
        return "the service never got ready";
    /* Every GPU gets its level, whatever is wrong with another: verification compares with it. */
    for (size_t g = 0; g < n; g++) {
        const struct curve *c = &series[g].buffer;
        double level = lowest_mean_w(c, ready_ns, end_ns, LEVEL_NS);
        if (isnan(level)) {
            why = why ? why
                      : arena_format(a, "the buffer of GPU %lld does not cover ready to formal_end",
                                     (long long)gpus[g].index);
            continue;
        }
        gpus[g].ready_level_w = quantity_of(level);
        gpus[g].formal_mean_w =
            (curve_energy(c, end_ns) - curve_energy(c, start_ns)) / ((double)(end_ns - start_ns) * 1e-9);
        if (!why && level > MEASURABLE_SHARE * gpus[g].formal_mean_w)
            why = arena_format(
                a, "GPU %lld idles at %.1f W when ready, over half of its mean of %.1f W in the formal stage",
                (long long)gpus[g].index, level, gpus[g].formal_mean_w);
        idles |= level > 0;
    }
    return why ? why : idles ? NULL : "no GPU draws power when ready";
}

static void sum_idle(struct stretches idle, const struct gpu_series *series, const struct result_gpu *gpus, size_t n,
                     int64_t start_ns, int64_t end_ns, struct arena *a, struct result_lag *ret)
{
    struct stretches joined = {.x = arena_array(a, idle.n, sizeof *joined.x)};
    for (size_t i = 0; i < idle.n; i++)
        if (joined.n && gap_is_idle(series, gpus, n, joined.x[joined.n - 1].to_ns, idle.x[i].from_ns))
            joined.x[joined.n - 1].to_ns = idle.x[i].to_ns;
        else
            joined.x[joined.n++] = idle.x[i];
    struct sum j = {0};
    int64_t idle_ns = 0;
    for (size_t i = 0; i < joined.n; i++) {
        idle_ns += joined.x[i].to_ns - joined.x[i].from_ns;
        for (size_t g = 0; g < n; g++)
            sum_add(&j, curve_energy(&series[g].buffer, joined.x[i].to_ns) -
                            curve_energy(&series[g].buffer, joined.x[i].from_ns));
    }
    ret->idle_owed_s = quantity_of((double)idle_ns * 1e-9);
    ret->idle_owed_j = quantity_of(sum_value(&j));
    ret->idle_owed_share = quantity_of((double)idle_ns / (double)(end_ns - start_ns));
}

void lag_judge(const struct streams *s, const struct gpu_series *series, struct result_gpu *gpus, size_t gpu_count,
               int64_t ready_ns, int64_t formal_start_ns, int64_t formal_end_ns, const struct method *m,
               struct arena *a, struct result_lag *ret)
{
    ret->merged_chunks = s->token_chunks ? (int64_t)s->merged_chunks : ABSENT_I64;
    ret->largest_chunk = s->largest >= 0 ? s->largest : ABSENT_I64;
    ret->largest_later_chunk = s->largest_later >= 0 ? s->largest_later : ABSENT_I64;
    ret->why = levels(series, gpus, gpu_count, ready_ns, formal_start_ns, formal_end_ns, a);
    ret->measurable = !ret->why;
    if (ret->why) {
        ret->idle_owed_s = ret->idle_owed_j = ret->idle_owed_share = quantity_absent(Q_NOT_RECORDED, ret->why);
        return;
    }
    int64_t from = formal_start_ns + SKIP_NS;
    struct stretches idle = {.x = arena_array(a, 1, sizeof *idle.x), .n = from < formal_end_ns};
    idle.x[0] = (struct interval){from, formal_end_ns};
    for (size_t g = 0; g < gpu_count && from < formal_end_ns; g++)
        if (gpus[g].ready_level_w.value > 0)
            idle = both(
                idle, below(&series[g].buffer, METHOD_LAG_FACTOR * gpus[g].ready_level_w.value, from, formal_end_ns, a),
                a);
    sum_idle(idle, series, gpus, gpu_count, formal_start_ns, formal_end_ns, a, ret);
    ret->delivery_lag = ret->idle_owed_share.value > m->lag_share;
}
