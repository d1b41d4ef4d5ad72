#include "analysis/energy.h"

#include <math.h>
#include "analysis/order.h"

/* A change point is right to 10 ms at best: a finer grid would find noise. */
enum { LAG_STEPS = 30 };
static const int64_t LAG_STEP_NS = 5000000;
static const double STILL_S = 0.5, BUFFER_GAP_S = 0.06, GRID_GAP_PERIODS = 2.5;
static const double LOCKED_S = 0.010, UNLOCKED_S = 0.100;

static double seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

static double square(double x)
{
    return x * x;
}

/* ---- trapezoid ---- */

/* The rule over every second sample strictly inside, beginning with the first (0) or the second (1). */
static double half_rule(const struct curve *c, int64_t a_ns, int64_t b_ns, size_t parity)
{
    struct sum sum = {0};
    int64_t t = a_ns;
    double w = curve_power(c, a_ns);
    size_t inside = 0;
    size_t i = stamp_before(c->t_ns, c->n, a_ns);
    for (i = i < c->n ? i + 1 : 0; i < c->n && c->t_ns[i] < b_ns; i++)
        if (inside++ % 2 == parity) {
            sum_add(&sum, seconds(c->t_ns[i] - t) * 0.5 * (w + c->w[i]));
            t = c->t_ns[i];
            w = c->w[i];
        }
    sum_add(&sum, seconds(b_ns - t) * 0.5 * (w + curve_power(c, b_ns)));
    return sum_value(&sum);
}

/* At one boundary, squared: the power's change between its neighbours over half their distance, and the call's width
 * times the slope over the same half distance. */
static double boundary_term(const struct curve *c, int64_t t_ns)
{
    size_t i = stamp_before(c->t_ns, c->n, t_ns);
    if (i + 1 >= c->n || c->t_ns[i] == t_ns)
        return 0;
    double distance = seconds(c->t_ns[i + 1] - c->t_ns[i]), change = fabs(c->w[i + 1] - c->w[i]);
    double width = c->width_ns && c->width_ns[i] > 0 ? seconds(c->width_ns[i]) : 0;
    return square(change * distance / 2) + square(width * change / 2);
}

static struct quantity curve_quantity(const struct curve *c, int64_t a_ns, int64_t b_ns, const char *absent,
                                      const char *uncovered)
{
    if (c->n == 0)
        return quantity_absent(Q_NOT_RECORDED, absent);
    if (!curve_covers(c, a_ns, b_ns))
        return quantity_absent(Q_NOT_COVERED, uncovered);
    struct quantity q = quantity_of(curve_energy(c, b_ns) - curve_energy(c, a_ns));
    double halves = (half_rule(c, a_ns, b_ns, 0) - half_rule(c, a_ns, b_ns, 1)) / 2;
    q.instrument = sqrt(square(halves) + boundary_term(c, a_ns) + boundary_term(c, b_ns));
    return q;
}

/* ---- counter ---- */

static double slope_w(const struct counter *c, size_t i)
{
    return (double)(c->mj[i + 1] - c->mj[i]) / 1000 / seconds(c->t_ns[i + 1] - c->t_ns[i]);
}

/* At one end, squared: uncertainty of the change point and width of the call times the power, and (L + T/4) times the
 * cliff, the difference between the power one step before and one step after. */
static double end_term(const struct counter *c, int64_t t_ns, double lag_s)
{
    size_t i = stamp_before(c->t_ns, c->n, t_ns);
    if (i >= c->n || c->n < 2)
        return 0;
    if (i + 1 >= c->n)
        i--;
    double w = slope_w(c, i), point_s = c->locked[i] && c->locked[i + 1] ? LOCKED_S : UNLOCKED_S;
    double width = c->width_ns[i] > 0 ? seconds(c->width_ns[i]) : 0;
    double before = i > 0 ? slope_w(c, i - 1) : w, after = i + 2 < c->n ? slope_w(c, i + 1) : w;
    double step_s = seconds(c->t_ns[i + 1] - c->t_ns[i]);
    return square(point_s * w) + square(width * w) + square((lag_s + step_s / 4) * fabs(after - before));
}

static bool power_read_above_1_w(const struct gpu_series *g, int64_t from_ns, int64_t to_ns)
{
    const struct curve *const curves[] = {&g->grid, &g->buffer};
    for (size_t k = 0; k < 2; k++) {
        const struct curve *c = curves[k];
        size_t i = stamp_before(c->t_ns, c->n, from_ns);
        for (i = i < c->n ? i : 0; i < c->n && c->t_ns[i] <= to_ns; i++)
            if (c->t_ns[i] >= from_ns && c->w[i] > 1)
                return true;
    }
    return false;
}

/* A stretch [from, to] without a change, as a reason; null: it is none, or does not touch (a, b). */
static const char *stands_still(const struct gpu_series *g, int64_t from_ns, int64_t to_ns, int64_t a_ns, int64_t b_ns,
                                struct arena *arena)
{
    double still = seconds(to_ns - from_ns);
    if (from_ns >= b_ns || to_ns <= a_ns || still <= STILL_S || !power_read_above_1_w(g, from_ns, to_ns))
        return NULL;
    return arena_format(arena, "the counter stood still for %.2f s at %.3f s of the run while power was read above 1 W",
                        still, seconds(from_ns));
}

/* Why the counter says nothing of (a, b); null: it does. It stands still between two change points, and also before the
 * first and behind the last one as far as it was read. */
static const char *counter_void(const struct gpu_series *g, int64_t a_ns, int64_t b_ns, struct arena *arena)
{
    const struct counter *c = &g->counter;
    if (counter_is_flat(c))
        return seconds(b_ns - a_ns) > STILL_S && power_read_above_1_w(g, a_ns, b_ns)
                   ? "the counter never changed while power was read above 1 W"
                   : NULL;
    if (c->n == 0)
        return NULL;
    const char *why = stands_still(g, c->first_ns, c->t_ns[0], a_ns, b_ns, arena);
    size_t i = stamp_before(c->t_ns, c->n, a_ns);
    for (i = i < c->n ? i : 0; !why && i + 1 < c->n && c->t_ns[i] < b_ns; i++)
        why = c->mj[i + 1] < c->mj[i] ? arena_format(arena, "the counter went backward by %lld mJ at %.3f s of the run",
                                                     (long long)(c->mj[i] - c->mj[i + 1]), seconds(c->t_ns[i + 1]))
                                      : stands_still(g, c->t_ns[i], c->t_ns[i + 1], a_ns, b_ns, arena);
    return why ? why : stands_still(g, c->t_ns[c->n - 1], c->last_ns, a_ns, b_ns, arena);
}

static double counter_gap_s(const struct counter *c, int64_t a_ns, int64_t b_ns)
{
    const struct curve as_curve = {.n = c->n, .t_ns = c->t_ns};
    return curve_gap_s(&as_curve, a_ns, b_ns);
}

static struct quantity counter_quantity(const struct gpu_series *g, double lag_s, int64_t a_ns, int64_t b_ns,
                                        const char *voided)
{
    const struct counter *c = &g->counter;
    if (c->first_ns == ABSENT_I64)
        return quantity_absent(Q_NOT_RECORDED, "no reading of the energy counter");
    if (voided)
        return quantity_absent(Q_NOT_RECORDED, voided);
    if (!counter_covers(c, a_ns, b_ns))
        return quantity_absent(Q_NOT_COVERED, "no change of the counter before the start or after the end");
    struct quantity q = quantity_of(counter_energy(c, b_ns) - counter_energy(c, a_ns));
    q.instrument = sqrt(end_term(c, a_ns, lag_s) + end_term(c, b_ns, lag_s));
    return q;
}

/* ---- basis `precise` ---- */

/* Sum of squared residuals for one L; a cursor walks the buffer, both ends of a step being on it. */
static double residual(const struct gpu_series *g, size_t first, size_t last, int64_t lag_ns)
{
    const struct counter *c = &g->counter;
    const struct curve *b = &g->buffer;
    struct sum sum = {0};
    size_t k = stamp_before(b->t_ns, b->n, c->t_ns[first] - lag_ns);
    double before = 0;
    for (size_t i = first; i <= last; i++) {
        int64_t t = c->t_ns[i] - lag_ns;
        while (k + 2 < b->n && b->t_ns[k + 1] <= t)
            k++;
        double dt = seconds(t - b->t_ns[k]), step = seconds(b->t_ns[k + 1] - b->t_ns[k]);
        double at = b->j[k] + dt * (b->w[k] + 0.5 * dt / step * (b->w[k + 1] - b->w[k]));
        if (i > first)
            sum_add(&sum, square((double)(c->mj[i] - c->mj[i - 1]) / 1000 - (at - before)));
        before = at;
    }
    return sum_value(&sum);
}

static bool find_lag(const struct gpu_series *g, int64_t a_ns, int64_t b_ns, int64_t *ret_lag_ns)
{
    const struct counter *c = &g->counter;
    size_t first = stamp_before(c->t_ns, c->n, a_ns), last = stamp_before(c->t_ns, c->n, b_ns);
    if (first >= c->n || last >= c->n)
        return false;
    /* Every L must find the buffer under all of the same steps. */
    while (first < last && c->t_ns[first] - LAG_STEPS * LAG_STEP_NS < g->buffer.t_ns[0])
        first++;
    if (last < first + 2)
        return false;
    double best = (double)INFINITY;
    for (int i = 0; i <= LAG_STEPS; i++) {
        double r = residual(g, first, last, i * LAG_STEP_NS);
        if (r < best) {
            best = r;
            *ret_lag_ns = i * LAG_STEP_NS;
        }
    }
    return true;
}

static void fit_gpu(const struct gpu_series *g, int64_t a_ns, int64_t b_ns, struct quantity *ret_factor,
                    struct quantity *ret_lag, struct arena *arena)
{
    const char *why = NULL;
    int64_t lag_ns = 0;
    *ret_lag = quantity_absent(Q_NOT_RECORDED, "no counter and buffer over startup to release");
    if (g->buffer.n < 2 || !curve_covers(&g->buffer, a_ns, b_ns))
        why = "the buffer does not cover service_start to release_end";
    else if (counter_is_flat(&g->counter) || !counter_covers(&g->counter, a_ns, b_ns))
        why = "the counter does not cover service_start to release_end, or never changed";
    else
        why = counter_void(g, a_ns, b_ns, arena);
    if (!why && !find_lag(g, a_ns, b_ns, &lag_ns))
        why = "too few changes of the counter";
    if (!why && !counter_covers(&g->counter, a_ns + lag_ns, b_ns + lag_ns))
        why = "the counter ends within its own delay of release_end";
    if (why) {
        *ret_factor = quantity_absent(Q_NOT_COVERED, why);
        return;
    }
    double counter = counter_energy(&g->counter, b_ns + lag_ns) - counter_energy(&g->counter, a_ns + lag_ns);
    double buffer = curve_energy(&g->buffer, b_ns) - curve_energy(&g->buffer, a_ns);
    *ret_lag = quantity_of(seconds(lag_ns));
    if (!(buffer > 0)) {
        *ret_factor = quantity_absent(Q_UNDEFINED, "the buffer's integral is 0");
        return;
    }
    *ret_factor = quantity_of(counter / buffer);
    /* With the shift found, what is left at each end is the counter's own step. */
    ret_factor->instrument =
        sqrt(end_term(&g->counter, a_ns + lag_ns, 0) + end_term(&g->counter, b_ns + lag_ns, 0)) / buffer;
}

void meters_fit(struct meters *m, int64_t a_ns, int64_t b_ns, struct arena *arena)
{
    for (size_t i = 0; i < m->gpu_count; i++)
        fit_gpu(&m->gpus[i], a_ns, b_ns, &m->factor[i], &m->lag_s[i], arena);
}

static struct quantity precise_quantity(const struct quantity *buffer, const struct quantity *factor)
{
    if (!quantity_has_value(buffer))
        return *buffer;
    /* A GPU that drew nothing has no factor and needs none. */
    if (!quantity_has_value(factor))
        return buffer->value == 0 ? *buffer : quantity_absent(factor->state, factor->why);
    struct quantity q = quantity_of(buffer->value * factor->value);
    q.instrument = sqrt(square(buffer->instrument * factor->value) + square(factor->instrument * buffer->value));
    return q;
}

/* ---- all of them ---- */

static void add_absolute(const struct meters *m, struct energy_set *e, double duration_s)
{
    for (int s = 0; s < SERIES_COUNT; s++) {
        struct quantity *q = energy_series(e, s);
        if (quantity_has_value(q))
            q->calibration = fmax(m->sensor_share * fabs(q->value), m->sensor_floor_w * duration_s);
    }
}

static void gpu_energy(const struct meters *m, size_t i, int64_t a_ns, int64_t b_ns, struct result_stage_gpu *ret,
                       struct arena *arena)
{
    static const char GRID[] = "no grid sample before the start or after the end";
    const struct gpu_series *g = &m->gpus[i];
    struct energy_set *e = &ret->energy;
    double step = counter_gap_s(&g->counter, a_ns, b_ns);
    double lag_s = quantity_has_value(&m->lag_s[i]) ? m->lag_s[i].value : isnan(step) ? 0 : step;
    *ret = (struct result_stage_gpu){.gpu = (int64_t)i, .average_w = quantity_absent(Q_NOT_RECORDED, "")};
    ret->counter_void = counter_void(g, a_ns, b_ns, arena);
    ret->counter_gap_s = step;
    ret->grid_gap_s = curve_gap_s(&g->grid, a_ns, b_ns);
    ret->buffer_gap_s = curve_gap_s(&g->buffer, a_ns, b_ns);
    ret->grid_gap = ret->grid_gap_s > GRID_GAP_PERIODS * m->grid_period_s;
    ret->buffer_gap = ret->buffer_gap_s > BUFFER_GAP_S;
    e->grid = curve_quantity(&g->grid, a_ns, b_ns, "no grid sample", GRID);
    e->marks = curve_quantity(&g->marks, a_ns, b_ns, "no samples at the stage marks", GRID);
    e->counter = counter_quantity(g, lag_s, a_ns, b_ns, ret->counter_void);
    e->buffer = curve_quantity(&g->buffer, a_ns, b_ns, "no buffer sample",
                               "no buffer sample before the start or after the end");
    e->precise = precise_quantity(&e->buffer, &m->factor[i]);
    add_absolute(m, e, seconds(b_ns - a_ns));
}

/* The two instant series share a phase over GPUs: linear. The others do not: root of the sum of squares. */
static void add_gpu(struct quantity *sum, const struct quantity *q, bool linear)
{
    if (!quantity_has_value(sum))
        return;
    if (!quantity_has_value(q)) {
        *sum = *q;
        return;
    }
    sum->value += q->value;
    sum->calibration += q->calibration;
    sum->instrument = linear ? sum->instrument + q->instrument : sqrt(square(sum->instrument) + square(q->instrument));
}

void meters_energy(const struct meters *m, int64_t a_ns, int64_t b_ns, struct energy_set *ret_sum,
                   struct result_stage_gpu *ret_gpus, struct arena *arena)
{
    struct energy_set sum = {.headline_series = SERIES_COUNTER};
    for (int s = 0; s < SERIES_COUNT; s++) {
        *energy_series(&sum, s) =
            m->gpu_count ? quantity_of(0) : quantity_absent(Q_NOT_RECORDED, "no GPU was recorded");
        energy_series(&sum, s)->instrument = energy_series(&sum, s)->calibration = m->gpu_count ? 0 : (double)NAN;
    }
    sum.headline = quantity_absent(Q_NOT_RECORDED, "no basis");
    for (size_t i = 0; i < m->gpu_count; i++) {
        struct result_stage_gpu row;
        gpu_energy(m, i, a_ns, b_ns, &row, arena);
        for (int s = 0; s < SERIES_COUNT; s++)
            add_gpu(energy_series(&sum, s), energy_series(&row.energy, s), s == SERIES_GRID || s == SERIES_MARKS);
        if (ret_gpus)
            ret_gpus[i] = row;
    }
    *ret_sum = sum;
}

/* ---- arithmetic ---- */

struct quantity quantity_sum(const struct quantity *const *q, size_t n)
{
    struct quantity sum = {.state = Q_MEASURED};
    for (size_t i = 0; i < n; i++) {
        if (!quantity_has_value(q[i]))
            return *q[i];
        if (q[i]->state != Q_MEASURED) {
            sum.state = q[i]->state;
            sum.why = q[i]->why;
        }
        sum.value += q[i]->value;
        sum.calibration += q[i]->calibration;
        sum.instrument = sqrt(square(sum.instrument) + square(q[i]->instrument));
    }
    return sum;
}

struct quantity quantity_over(const struct quantity *q, double divisor, const char *why)
{
    if (!quantity_has_value(q))
        return *q;
    if (!(divisor > 0))
        return quantity_absent(Q_UNDEFINED, why);
    struct quantity r = *q;
    r.value /= divisor;
    r.instrument /= divisor;
    r.calibration /= divisor;
    return r;
}

struct quantity quantity_difference(const struct quantity *a, const struct quantity *b)
{
    if (!quantity_has_value(a))
        return *a;
    if (!quantity_has_value(b))
        return *b;
    if (b->value == 0)
        return quantity_absent(Q_UNDEFINED, "the energy to compare with is 0");
    return quantity_of(a->value / b->value - 1);
}
