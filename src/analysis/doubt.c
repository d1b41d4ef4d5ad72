#include "analysis/doubt.h"

#include <assert.h>
#include <math.h>
#include "analysis/order.h"
#include "model/limits.h"
#include "base/time.h"
#include "base/must.h"

struct doubt doubt_of(double rest, enum doubt_source from)
{
    must(isnan(rest) || rest >= 0);
    double zero = isnan(rest) ? rest : 0;
    return (struct doubt){zero, rest, zero, isnan(rest) ? DOUBT_NONE : from};
}

/* ---- counter ---- */

/* Power just before and just after a moment, W. */
struct powers {
    double before, after;
    bool by_buffer;
};

static bool covers_without_gap(const struct curve *c, int64_t a_ns, int64_t b_ns)
{
    return curve_covers(c, a_ns, b_ns) && !(curve_gap_s(c, a_ns, b_ns) > METHOD_BUFFER_GAP_S);
}

static double curve_mean_w(const struct curve *c, int64_t a_ns, int64_t b_ns)
{
    return (curve_energy(c, b_ns) - curve_energy(c, a_ns)) / time_s(b_ns - a_ns);
}

/* By the grid, the step of the power is the difference of the two samples around. */
static bool powers_by_grid(const struct curve *c, int64_t t_ns, struct powers *ret)
{
    size_t i = stamp_before(c->t_ns, c->n, t_ns);
    if (i >= c->n || (i + 1 >= c->n && c->t_ns[i] != t_ns))
        return false;
    i = i + 1 < c->n ? i : i ? i - 1 : 0;
    size_t next = i + 1 < c->n ? i + 1 : i;
    int64_t from = t_ns - METHOD_AROUND_NS > c->t_ns[0] ? t_ns - METHOD_AROUND_NS : c->t_ns[0];
    int64_t to = t_ns + METHOD_AROUND_NS < c->t_ns[c->n - 1] ? t_ns + METHOD_AROUND_NS : c->t_ns[c->n - 1];
    double mean = to > from ? curve_mean_w(c, from, to) : c->w[i], step = c->w[next] - c->w[i];
    *ret = (struct powers){mean - step / 2, mean + step / 2, false};
    return true;
}

static bool powers_at(const struct gpu_series *g, int64_t t_ns, struct powers *ret)
{
    if (!covers_without_gap(&g->buffer, t_ns - METHOD_AROUND_NS, t_ns + METHOD_AROUND_NS))
        return powers_by_grid(&g->grid, t_ns, ret);
    *ret = (struct powers){curve_mean_w(&g->buffer, t_ns - METHOD_AROUND_NS, t_ns),
                           curve_mean_w(&g->buffer, t_ns, t_ns + METHOD_AROUND_NS), true};
    return true;
}

/* Squared; NaN: no power was recorded there. */
static double end_term(const struct gpu_series *g, const struct fit *f, int64_t t_ns)
{
    const struct counter *c = &g->counter;
    struct powers p;
    size_t i = stamp_before(c->t_ns, c->n, t_ns);
    if (!powers_at(g, t_ns, &p))
        return (double)NAN;
    if (i >= c->n || c->n < 2) /* a counter that never changed has no step to be wrong about */
        return 0;
    i = i + 1 < c->n ? i : i - 1;
    double point_s = c->locked[i] && c->locked[i + 1] ? METHOD_LOCKED_S : METHOD_UNLOCKED_S;
    double step_s = time_s(c->t_ns[i + 1] - c->t_ns[i]);
    double lag_s = p.by_buffer && quantity_has_value(&f->lag_s) ? fabs(f->lag_s.value) : METHOD_LAG_UNKNOWN_S;
    return square(point_s * (p.before + p.after) / 2) + square((lag_s + step_s / 4) * fabs(p.after - p.before));
}

double doubt_counter_j(const struct gpu_series *g, const struct fit *f, const struct stretch *s)
{
    must(s->from_ns != ABSENT_I64 && s->to_ns != ABSENT_I64);
    return sqrt(end_term(g, f, s->from_ns) + end_term(g, f, s->to_ns));
}

/* ---- precise, buffer ---- */

double doubt_precise_j(const struct fit *f, const struct stretch *s)
{
    return s->inside ? fit_range_j(f, s->from_ns - METHOD_DRIFT_NS, s->to_ns + METHOD_DRIFT_NS) : (double)NAN;
}

/* The largest less the least power around a moment. */
static double jump_w(const struct curve *c, int64_t t_ns)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (size_t i = 0; i < c->n; i++) {
        if (c->t_ns[i] < t_ns - METHOD_JUMP_NS || c->t_ns[i] > t_ns + METHOD_JUMP_NS)
            continue;
        low = fmin(low, c->w[i]);
        high = fmax(high, c->w[i]);
    }
    return high >= low ? high - low : 0;
}

double doubt_edge_j(const struct curve *buffer, int64_t t_ns)
{
    return METHOD_BUFFER_END_S * jump_w(buffer, t_ns);
}

double doubt_edges_j(const struct curve *buffer, int64_t from_ns, int64_t to_ns)
{
    return doubt_edge_j(buffer, from_ns) + doubt_edge_j(buffer, to_ns);
}

struct doubt doubt_buffer(const struct fit *f, const struct stretch *s, double buffer_j)
{
    double rest = quantity_has_value(&f->factor) ? doubt_precise_j(f, s) : (double)NAN;
    struct doubt d = doubt_of(rest, DOUBT_PRECISE);
    if (!isnan(rest))
        d.known = (1 - f->factor.value) * buffer_j;
    return d;
}

/* ---- grid ---- */

double doubt_successive_j(const struct curve *c, const struct stretch *s, size_t n)
{
    must(n == 0 || s);
    struct sum sum = {0};
    size_t inside = 0;
    for (size_t i = 0; i < c->n; i++) {
        bool touches = false, within = false;
        for (size_t k = 0; k < n; k++) {
            touches |= i + 1 < c->n && c->t_ns[i] < s[k].to_ns && c->t_ns[i + 1] > s[k].from_ns;
            within |= c->t_ns[i] > s[k].from_ns && c->t_ns[i] < s[k].to_ns;
        }
        inside += within;
        if (touches)
            sum_add(&sum, square(time_s(c->t_ns[i + 1] - c->t_ns[i]) * (c->w[i + 1] - c->w[i])));
    }
    return inside < METHOD_SUCCESSIVE_LEAST ? (double)NAN : sqrt(2 * sum_value(&sum));
}

struct doubt doubt_grid(const struct gpu_series *g, const struct fit *f, const struct stretch *s,
                        const struct curve *curve, double curve_j, double precise_j, double counter_j)
{
    must(s->from_ns != ABSENT_I64 && s->to_ns != ABSENT_I64);
    double rest = doubt_precise_j(f, s);
    if (!isnan(precise_j) && !isnan(rest) && covers_without_gap(&g->buffer, s->from_ns, s->to_ns))
        return (struct doubt){curve_j - precise_j, rest, 0, DOUBT_PRECISE};
    rest = doubt_counter_j(g, f, s);
    if (!isnan(counter_j) && !isnan(rest))
        return (struct doubt){curve_j - counter_j, rest, 0, DOUBT_COUNTER};
    double sampling = s->sampled ? doubt_successive_j(curve, s, 1) : (double)NAN;
    return isnan(sampling) ? doubt_of(sampling, DOUBT_NONE) : (struct doubt){0, 0, sampling, DOUBT_SUCCESSIVE};
}

/* ---- sums ---- */

void doubt_add(struct doubt_sum *sum, const struct doubt *d)
{
    if (d->from == DOUBT_NONE || isnan(d->rest)) {
        sum->none = true;
        return;
    }
    sum->known += d->known;
    sum->rest_squares += square(d->rest);
    sum->sampling += d->sampling;
}

double doubt_total_j(const struct doubt_sum *sum)
{
    assert(sum->none || isnan(sum->rest_squares) || sum->rest_squares >= 0);
    return sum->none ? (double)NAN : fabs(sum->known) + sqrt(sum->rest_squares + square(sum->sampling));
}
