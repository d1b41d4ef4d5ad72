#include "analysis/energy.h"

#include <assert.h>
#include <math.h>
#include "analysis/order.h"
#include "base/must.h"
#include "model/limits.h"
#include "base/time.h"

enum { PARTS_MAX = 3 };

/* ---- one series ---- */

static struct quantity curve_quantity(const struct curve *c, int64_t a_ns, int64_t b_ns, const char *absent,
                                      const char *uncovered)
{
    assert(absent && uncovered);
    if (c->n == 0)
        return quantity_absent(Q_NOT_RECORDED, absent);
    if (!curve_covers(c, a_ns, b_ns))
        return quantity_absent(Q_NOT_COVERED, uncovered);
    return quantity_of(curve_energy(c, b_ns) - curve_energy(c, a_ns));
}

static struct quantity counter_quantity(const struct counter *c, int64_t a_ns, int64_t b_ns, const char *voided)
{
    assert(a_ns != ABSENT_I64 && b_ns != ABSENT_I64);
    if (c->first_ns == ABSENT_I64)
        return quantity_absent(Q_NOT_RECORDED, "no sample of the energy counter");
    if (voided)
        return quantity_absent(Q_NOT_RECORDED, voided);
    if (!counter_covers(c, a_ns, b_ns))
        return quantity_absent(Q_NOT_COVERED, "no change of the counter before the start or after the end");
    return quantity_of(counter_energy(c, b_ns) - counter_energy(c, a_ns));
}

static struct quantity precise_quantity(const struct quantity *buffer, const struct quantity *counter,
                                        const struct quantity *factor)
{
    if (!quantity_has_value(buffer))
        return *buffer;
    /* A GPU that drew nothing, by its counter too, has no factor and needs none. */
    bool nothing = buffer->value == 0 && quantity_has_value(counter) && counter->value == 0;
    if (!quantity_has_value(factor))
        return nothing ? *buffer : quantity_absent(factor->state, factor->why);
    return quantity_of(buffer->value * factor->value);
}

static double calibration_j(const struct meters *m, double value, double duration_s)
{
    assert(duration_s >= 0 || isnan(duration_s));
    return fmax(m->sensor_share * fabs(value), m->sensor_floor_w * duration_s);
}

/* ---- one GPU ---- */

/* Every series of one GPU over one stretch, each with its doubt. */
struct gauge {
    struct quantity q[SERIES_COUNT];
    struct doubt doubt[SERIES_COUNT];
    const char *counter_void;
};

static struct stretch stretch_of(const struct meters *m, int64_t a_ns, int64_t b_ns, bool sampled)
{
    return (struct stretch){.from_ns = a_ns,
                            .to_ns = b_ns,
                            .inside = m->from_ns != ABSENT_I64 && a_ns >= m->from_ns && b_ns <= m->to_ns,
                            .sampled = sampled};
}

static void doubt_gauge(const struct gpu_series *g, const struct fit *f, const struct stretch *s, struct gauge *x)
{
    double precise_j = quantity_value(&x->q[SERIES_PRECISE]), counter_j = quantity_value(&x->q[SERIES_COUNTER]);
    const struct curve *const curves[] = {[SERIES_GRID] = &g->grid, [SERIES_BOUNDARY] = &g->boundary};
    for (int k = SERIES_GRID; k <= SERIES_BOUNDARY; k++)
        x->doubt[k] = quantity_has_value(&x->q[k]) ? doubt_grid(g, f, s, curves[k], x->q[k].value, precise_j, counter_j)
                                                   : doubt_of((double)NAN, DOUBT_NONE);
    x->doubt[SERIES_COUNTER] = doubt_of(isnan(counter_j) ? counter_j : doubt_counter_j(g, f, s), DOUBT_COUNTER);
    x->doubt[SERIES_PRECISE] = doubt_of(isnan(precise_j) ? precise_j : doubt_precise_j(f, s), DOUBT_PRECISE);
    x->doubt[SERIES_BUFFER] = doubt_buffer(f, s, quantity_value(&x->q[SERIES_BUFFER]));
    for (int k = 0; k < SERIES_COUNT; k++) {
        struct doubt_sum alone = {0};
        doubt_add(&alone, &x->doubt[k]);
        x->q[k].instrument = quantity_has_value(&x->q[k]) ? doubt_total_j(&alone) : (double)NAN;
    }
}

static struct gauge gauge_read(const struct meters *m, size_t i, int64_t a_ns, int64_t b_ns, bool sampled,
                               struct arena *arena)
{
    must(i < m->gpu_count);
    static const char GRID[] = "no grid sample before the start or after the end";
    const struct gpu_series *g = &m->gpus[i];
    const struct stretch s = stretch_of(m, a_ns, b_ns, sampled);
    struct gauge x = {.counter_void = counter_fault(g, a_ns, b_ns, arena)};
    x.q[SERIES_GRID] = curve_quantity(&g->grid, a_ns, b_ns, "no grid sample", GRID);
    x.q[SERIES_BOUNDARY] = curve_quantity(&g->boundary, a_ns, b_ns, "no boundary samples", GRID);
    x.q[SERIES_COUNTER] = counter_quantity(&g->counter, a_ns, b_ns, x.counter_void);
    x.q[SERIES_BUFFER] = curve_quantity(&g->buffer, a_ns, b_ns, "no buffer sample",
                                        "no buffer sample before the start or after the end");
    x.q[SERIES_PRECISE] = precise_quantity(&x.q[SERIES_BUFFER], &x.q[SERIES_COUNTER], &m->fits[i].factor);
    doubt_gauge(g, &m->fits[i], &s, &x);
    for (int k = 0; k < SERIES_COUNT; k++)
        if (quantity_has_value(&x.q[k]))
            x.q[k].calibration = calibration_j(m, x.q[k].value, time_s(b_ns - a_ns));
    return x;
}

static double counter_gap_s(const struct counter *c, int64_t a_ns, int64_t b_ns)
{
    const struct curve as_curve = {.n = c->n, .t_ns = c->t_ns};
    return curve_gap_s(&as_curve, a_ns, b_ns);
}

/* The instruments against each other, as section 8 judges them. */
struct disagreement {
    struct quantity counter, grid;
    double grid_limit;
};

static struct disagreement disagreement_of(const struct meters *m, size_t i, const struct measure *what,
                                           const struct gauge *x, struct arena *arena)
{
    const struct gpu_series *g = &m->gpus[i];
    const int64_t from_ns = what->from_ns + m->fits[i].lag_ns, to_ns = what->to_ns + m->fits[i].lag_ns;
    const struct quantity shifted =
        counter_quantity(&g->counter, from_ns, to_ns, counter_fault(g, from_ns, to_ns, arena));
    const struct stretch s = stretch_of(m, what->from_ns, what->to_ns, true);
    double counter_j = quantity_value(&x->q[SERIES_COUNTER]);
    double sampling = 2 * doubt_successive_j(&g->grid, &s, 1) / counter_j;
    return (struct disagreement){.counter = quantity_difference(&x->q[SERIES_BUFFER], &shifted),
                                 .grid = quantity_difference(&x->q[SERIES_GRID], &x->q[SERIES_COUNTER]),
                                 .grid_limit = sampling > METHOD_GRID_DISAGREES ? sampling : METHOD_GRID_DISAGREES};
}

/* ---- sets ---- */

static void mark_not_closed(struct energy_set *e, const char *why)
{
    assert(why);
    e->headline = quantity_marked(e->headline, Q_NOT_CLOSED, why);
    for (int k = 0; k < SERIES_COUNT; k++)
        *energy_series(e, (enum series_id)k) = quantity_marked(*energy_series(e, (enum series_id)k), Q_NOT_CLOSED, why);
}

/* The set of `gpu`, or of all of them, with its headline. */
static struct energy_set set_of(const struct meters *m, const struct measure *what, const struct quantity *by_series,
                                size_t gpu, struct arena *arena)
{
    struct energy_set e = {.headline_series = what->headline};
    for (int k = 0; k < SERIES_COUNT; k++)
        *energy_series(&e, (enum series_id)k) = by_series[k];
    e.headline = what->part_count ? meters_parts(m, what->parts, what->part_count, true, gpu, arena)
                                  : *energy_series(&e, what->headline);
    if (what->not_closed)
        mark_not_closed(&e, what->not_closed);
    return e;
}

static struct result_stage_gpu row_of(const struct meters *m, size_t i, const struct measure *what,
                                      const struct gauge *x, struct arena *arena)
{
    const struct gpu_series *g = &m->gpus[i];
    const struct energy_set energy = set_of(m, what, x->q, i, arena);
    const struct disagreement apart = disagreement_of(m, i, what, x, arena);
    double grid_gap_s = curve_gap_s(&g->grid, what->from_ns, what->to_ns);
    double buffer_gap_s = curve_gap_s(&g->buffer, what->from_ns, what->to_ns);
    return (struct result_stage_gpu){
        .gpu = (int64_t)i,
        .energy = energy,
        .average_w = quantity_over(&energy.headline, time_s(what->to_ns - what->from_ns), "the stage has no duration"),
        .grid_gap_s = grid_gap_s,
        .buffer_gap_s = buffer_gap_s,
        .counter_gap_s = counter_gap_s(&g->counter, what->from_ns, what->to_ns),
        .grid_gap = grid_gap_s > METHOD_GRID_GAP_PERIODS * m->grid_period_s,
        .buffer_gap = buffer_gap_s > METHOD_BUFFER_GAP_S,
        .counter_void = x->counter_void,
        .grid_doubt = x->doubt[SERIES_GRID].from,
        .counter_disagreement = apart.counter,
        .grid_disagreement = apart.grid,
        .grid_disagreement_limit = apart.grid_limit};
}

/* ---- all of them ---- */

static struct quantity begin_sum(const struct meters *m)
{
    struct quantity sum = m->gpu_count ? quantity_of(0) : quantity_absent(Q_NOT_RECORDED, "no GPU was recorded");
    sum.calibration = m->gpu_count ? 0 : (double)NAN;
    return sum;
}

struct energy_set meters_energy(const struct meters *m, const struct measure *what, struct result_stage_gpu *ret_rows,
                                struct arena *arena)
{
    must(what->headline < SERIES_COUNT || what->part_count);
    struct quantity sum[SERIES_COUNT];
    struct doubt_sum doubts[SERIES_COUNT] = {0};
    for (int k = 0; k < SERIES_COUNT; k++)
        sum[k] = begin_sum(m);
    for (size_t i = 0; i < m->gpu_count; i++) {
        const struct gauge x = gauge_read(m, i, what->from_ns, what->to_ns, what->sampled, arena);
        for (int k = 0; k < SERIES_COUNT; k++) {
            quantity_add(&sum[k], &x.q[k]);
            doubt_add(&doubts[k], &x.doubt[k]);
        }
        if (ret_rows)
            ret_rows[i] = row_of(m, i, what, &x, arena);
    }
    for (int k = 0; k < SERIES_COUNT; k++)
        sum[k].instrument = quantity_has_value(&sum[k]) ? doubt_total_j(&doubts[k]) : (double)NAN;
    return set_of(m, what, sum, METERS_ALL, arena);
}

/* ---- parts ---- */

/* What one GPU adds to the doubt of a sum of parts. */
static struct doubt parts_doubt(const struct meters *m, size_t i, const struct part *parts, const struct gauge *x,
                                size_t n, bool whole)
{
    must(n <= PARTS_MAX);
    struct doubt d = {.from = DOUBT_PRECISE};
    struct stretch sampled[PARTS_MAX];
    size_t sampled_count = 0;
    double squares = 0;
    bool precise = false;
    for (size_t k = 0; k < n; k++) {
        const struct doubt *part = &x[k].doubt[parts[k].series];
        bool by_precise = part->from == DOUBT_PRECISE;
        if (parts[k].series == SERIES_GRID && part->from == DOUBT_NONE) {
            sampled[sampled_count++] = stretch_of(m, parts[k].from_ns, parts[k].to_ns, true);
            continue;
        }
        d.known += part->known;
        precise |= whole && by_precise;
        if (!(whole && by_precise))
            squares += part->rest * part->rest;
    }
    if (precise) {
        const struct stretch all = stretch_of(m, m->from_ns, m->to_ns, false);
        double range = doubt_precise_j(&m->fits[i], &all);
        squares += range * range;
    }
    d.rest = sqrt(squares);
    if (sampled_count) {
        d.sampling = doubt_successive_j(&m->gpus[i].grid, sampled, sampled_count);
        d.rest = isnan(d.sampling) ? d.sampling : d.rest;
    }
    return d;
}

struct quantity meters_parts(const struct meters *m, const struct part *parts, size_t n, bool whole, size_t gpu,
                             struct arena *arena)
{
    must(n > 0);
    must(gpu == METERS_ALL || gpu < m->gpu_count);
    must(n <= PARTS_MAX);
    struct quantity sum = begin_sum(m);
    struct doubt_sum doubts = {0};
    size_t first = gpu < m->gpu_count ? gpu : 0, end = gpu < m->gpu_count ? gpu + 1 : m->gpu_count;
    double duration_s = 0;
    for (size_t k = 0; k < n; k++)
        duration_s += time_s(parts[k].to_ns - parts[k].from_ns);
    for (size_t i = first; i < end; i++) {
        struct gauge x[PARTS_MAX];
        struct quantity own = quantity_of(0);
        for (size_t k = 0; k < n; k++) {
            x[k] = gauge_read(m, i, parts[k].from_ns, parts[k].to_ns, false, arena);
            quantity_add(&own, &x[k].q[parts[k].series]);
        }
        own.calibration = calibration_j(m, own.value, duration_s);
        quantity_add(&sum, &own);
        const struct doubt d = parts_doubt(m, i, parts, x, n, whole);
        doubt_add(&doubts, &d);
    }
    sum.instrument = quantity_has_value(&sum) ? doubt_total_j(&doubts) : (double)NAN;
    return sum;
}

double meters_series_j(const struct meters *m, enum series_id series, int64_t a_ns, int64_t b_ns)
{
    must(series < SERIES_COUNT);
    struct sum sum = {0};
    for (size_t i = 0; i < m->gpu_count; i++) {
        const struct gpu_series *g = &m->gpus[i];
        const struct curve *c = series == SERIES_GRID       ? &g->grid
                                : series == SERIES_BOUNDARY ? &g->boundary
                                                            : &g->buffer;
        bool counts = series == SERIES_COUNTER;
        if (counts ? !counter_covers(&g->counter, a_ns, b_ns) : !curve_covers(c, a_ns, b_ns))
            return (double)NAN;
        double j = counts ? counter_energy(&g->counter, b_ns) - counter_energy(&g->counter, a_ns)
                          : curve_energy(c, b_ns) - curve_energy(c, a_ns);
        sum_add(&sum, series == SERIES_PRECISE ? j * quantity_value(&m->fits[i].factor) : j);
    }
    return sum_value(&sum);
}

const char *meters_contradiction(const struct result_stage_gpu *rows, size_t n, struct arena *arena)
{
    must(n == 0 || rows);
    static const enum series_id series[] = {SERIES_GRID, SERIES_COUNTER, SERIES_BUFFER, SERIES_PRECISE};
    enum { COUNT = sizeof series / sizeof *series };
    const char *worst = NULL;
    double most = 1;
    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; i < COUNT; i++)
            for (size_t k = i + 1; k < COUNT; k++) {
                struct energy_set e = rows[g].energy;
                const struct quantity *x = energy_series(&e, series[i]), *y = energy_series(&e, series[k]);
                double apart = fabs(quantity_value(x) - quantity_value(y)), doubt = x->instrument + y->instrument;
                if (!(apart > most * doubt) || !(apart > 0))
                    continue;
                most = doubt > 0 ? apart / doubt : (double)INFINITY;
                worst = arena_format(arena,
                                     "GPU %lld: %s and %s are %.4g J apart, more than the %.4g J that they doubt "
                                     "together",
                                     (long long)rows[g].gpu, series_id_names[series[i]], series_id_names[series[k]],
                                     apart, doubt);
            }
    return worst;
}

struct meters meters_fitted(struct meters m, int64_t from_ns, int64_t to_ns, int64_t fit_to_ns, struct arena *arena)
{
    must(from_ns != ABSENT_I64 && fit_to_ns != ABSENT_I64);
    m.from_ns = from_ns;
    m.to_ns = to_ns;
    struct fit *fits = arena_array(arena, m.gpu_count, sizeof *fits);
    for (size_t i = 0; i < m.gpu_count; i++)
        fits[i] = fit_make(&m.gpus[i], from_ns, fit_to_ns, arena);
    m.fits = fits;
    return m;
}

struct meters meters_make(const struct run_series *s, const struct plan *plan, struct arena *arena)
{
    must(s->gpu_count == 0 || s->gpus);
    struct fit *fits = arena_array(arena, s->gpu_count, sizeof *fits);
    for (size_t i = 0; i < s->gpu_count; i++)
        fits[i] = fit_absent("the run has no service_start or no end of release");
    return (struct meters){.gpus = s->gpus,
                           .gpu_count = s->gpu_count,
                           .grid_period_s = plan->method.grid_s,
                           .sensor_share = plan->power.sensor_percent / 100,
                           .sensor_floor_w = plan->power.sensor_source ? 0 : METHOD_SENSOR_FLOOR_W,
                           .from_ns = ABSENT_I64,
                           .to_ns = ABSENT_I64,
                           .fits = fits};
}

/* ---- ends in a jump ---- */

void energy_widen(struct energy_set *e, double edge_j)
{
    e->buffer.instrument += edge_j;
    e->precise.instrument += edge_j;
    e->grid.instrument += edge_j;
    e->boundary.instrument += edge_j;
    if (e->headline_series != SERIES_COUNTER)
        e->headline.instrument += edge_j;
}

struct counter_doubt energy_between_jumps(const struct energy_set *e)
{
    if (quantity_has_value(&e->precise) && quantity_has_value(&e->counter))
        return (struct counter_doubt){e->counter.value - e->precise.value, e->precise.instrument};
    return (struct counter_doubt){0, M_SQRT2 * e->counter.instrument};
}

double meters_ends_j(const struct meters *m, int64_t from_ns, int64_t to_ns)
{
    double squares = 0;
    for (size_t i = 0; i < m->gpu_count; i++)
        squares += square(doubt_edges_j(&m->gpus[i].buffer, from_ns, to_ns));
    return sqrt(squares);
}

void meters_widen(const struct meters *m, int64_t from_ns, int64_t to_ns, struct result_stage_gpu *rows,
                  struct energy_set *all)
{
    for (size_t i = 0; i < m->gpu_count; i++)
        energy_widen(&rows[i].energy, doubt_edges_j(&m->gpus[i].buffer, from_ns, to_ns));
    energy_widen(all, meters_ends_j(m, from_ns, to_ns));
}
