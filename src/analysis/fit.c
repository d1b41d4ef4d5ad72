#include "analysis/fit.h"

#include <assert.h>
#include <math.h>
#include "analysis/order.h"
#include "model/limits.h"
#include "base/time.h"
#include "base/must.h"

enum { LAG_STEPS = (METHOD_COUNTER_DELAY_MAX_NS - METHOD_LAG_FIRST_NS) / METHOD_LAG_STEP_NS };

struct fit fit_absent(const char *why)
{
    must(why);
    struct quantity none = quantity_absent(Q_NOT_RECORDED, why);
    return (struct fit){.factor = none, .lag_s = none};
}

/* ---- L ---- */

/* Sum of squared residuals over the change points [first, last] for one L; a cursor walks the buffer, which covers both
 * ends of every step. */
static double residual(const struct gpu_series *g, size_t first, size_t last, int64_t lag_ns)
{
    assert(first <= last);
    const struct counter *c = &g->counter;
    const struct curve *b = &g->buffer;
    struct sum sum = {0};
    size_t k = stamp_before(b->t_ns, b->n, c->t_ns[first] - lag_ns);
    double before = 0;
    for (size_t i = first; i <= last; i++) {
        int64_t t = c->t_ns[i] - lag_ns;
        while (k + 2 < b->n && b->t_ns[k + 1] <= t)
            k++;
        double dt = time_s(t - b->t_ns[k]), step = time_s(b->t_ns[k + 1] - b->t_ns[k]);
        double at = b->j[k] + dt * (b->w[k] + 0.5 * dt / step * (b->w[k + 1] - b->w[k]));
        if (i > first)
            sum_add(&sum, square((double)(c->mj[i] - c->mj[i - 1]) / 1000 - (at - before)));
        before = at;
    }
    return sum_value(&sum);
}

/* The change points in [a, b] that the buffer covers at every L. False: fewer than three. */
static bool points_of(const struct gpu_series *g, int64_t a_ns, int64_t b_ns, size_t *ret_first, size_t *ret_last)
{
    const struct counter *c = &g->counter;
    const struct curve *b = &g->buffer;
    size_t first = 0, end = c->n;
    while (first < end && (c->t_ns[first] < a_ns || c->t_ns[first] - METHOD_COUNTER_DELAY_MAX_NS < b->t_ns[0]))
        first++;
    while (end > first && (c->t_ns[end - 1] > b_ns || c->t_ns[end - 1] - METHOD_LAG_FIRST_NS > b->t_ns[b->n - 1]))
        end--;
    if (end - first < 3)
        return false;
    *ret_first = first;
    *ret_last = end - 1;
    return true;
}

static struct quantity find_lag(const struct gpu_series *g, size_t first, size_t last)
{
    double r[LAG_STEPS + 1];
    int best = 0;
    for (int i = 0; i <= LAG_STEPS; i++) {
        r[i] = residual(g, first, last, METHOD_LAG_FIRST_NS + i * METHOD_LAG_STEP_NS);
        best = r[i] < r[best] ? i : best;
    }
    if (best == 0 || best == LAG_STEPS)
        return quantity_absent(Q_NOT_REACHED,
                               "the least residual lies at an end of -20 to 150 ms, so the counter's delay was not "
                               "found and 0 is used");
    double bend = r[best - 1] - 2 * r[best] + r[best + 1];
    double shift = bend > 0 ? 0.5 * (r[best - 1] - r[best + 1]) / bend : 0;
    return quantity_of(time_s(METHOD_LAG_FIRST_NS + best * METHOD_LAG_STEP_NS) + shift * time_s(METHOD_LAG_STEP_NS));
}

/* ---- all of it ---- */

static const char *lacks(const struct gpu_series *g, int64_t a_ns, int64_t b_ns, struct arena *arena)
{
    if (g->buffer.n < 2 || !curve_covers(&g->buffer, a_ns, b_ns))
        return "the buffer does not cover service_start to release_end";
    if (counter_is_flat(&g->counter) || !counter_covers(&g->counter, a_ns, b_ns))
        return "the counter does not cover service_start to release_end, or never changed";
    return counter_fault(g, a_ns, b_ns, arena);
}

static void fill_drift(struct fit *f, const struct gpu_series *g, int64_t a_ns, int64_t b_ns, struct arena *arena)
{
    const struct counter *c = &g->counter;
    f->t_ns = arena_array(arena, c->n, sizeof *f->t_ns);
    f->c_j = arena_array(arena, c->n, sizeof *f->c_j);
    for (size_t i = 0; i < c->n; i++) {
        int64_t t = c->t_ns[i] - f->lag_ns;
        if (t < a_ns || t > b_ns)
            continue;
        f->t_ns[f->n] = t;
        f->c_j[f->n++] = (double)(c->mj[i] - c->mj[0]) / 1000 - f->factor.value * curve_energy(&g->buffer, t);
    }
}

struct fit fit_make(const struct gpu_series *g, int64_t a_ns, int64_t b_ns, struct arena *arena)
{
    size_t first = 0, last = 0;
    const char *why = lacks(g, a_ns, b_ns, arena);
    if (!why && !points_of(g, a_ns, b_ns, &first, &last))
        why = "too few changes of the counter";
    if (why) {
        struct fit none = fit_absent(why);
        none.factor.state = none.lag_s.state = Q_NOT_COVERED;
        return none;
    }
    struct fit f = {.lag_s = find_lag(g, first, last)};
    if (quantity_has_value(&f.lag_s))
        f.lag_ns = (int64_t)floor(f.lag_s.value * 1e9 + 0.5);
    if (!counter_covers(&g->counter, a_ns + f.lag_ns, b_ns + f.lag_ns)) {
        f.factor = quantity_absent(Q_NOT_COVERED, "the counter ends within its own delay of release_end");
        return f;
    }
    double counter = counter_energy(&g->counter, b_ns + f.lag_ns) - counter_energy(&g->counter, a_ns + f.lag_ns);
    double buffer = curve_energy(&g->buffer, b_ns) - curve_energy(&g->buffer, a_ns);
    if (!(buffer > 0)) {
        f.factor = quantity_absent(Q_UNDEFINED, "the buffer's integral is 0");
        return f;
    }
    f.factor = quantity_of(counter / buffer);
    fill_drift(&f, g, a_ns, b_ns, arena);
    return f;
}

double fit_range_j(const struct fit *f, int64_t from_ns, int64_t to_ns)
{
    assert(from_ns <= to_ns);
    size_t first = stamp_before(f->t_ns, f->n, from_ns);
    first = first >= f->n ? 0 : f->t_ns[first] < from_ns ? first + 1 : first;
    size_t end = first;
    while (end < f->n && f->t_ns[end] <= to_ns)
        end++;
    if (end - first < 2) {
        first = 0;
        end = f->n;
    }
    double low = (double)NAN, high = (double)NAN;
    for (size_t i = first; i < end; i++) {
        low = !(f->c_j[i] >= low) ? f->c_j[i] : low;
        high = !(f->c_j[i] <= high) ? f->c_j[i] : high;
    }
    return high - low;
}
