#include "analysis/picture.h"

#include <assert.h>
#include <math.h>
#include "analysis/series.h"
#include "base/must.h"

struct picture_span {
    int64_t from_ns, to_ns;
};

static const struct curve *curve_of(const struct gpu_series *g)
{
    return g->buffer.n ? &g->buffer : &g->grid;
}

/* From the baseline (else the first sample) to the end of the hold (else the last sample). */
static struct picture_span frame_of(const struct records *r, const struct run_series *s)
{
    struct picture_span f = {records_boundary(r, BOUNDARY_BASELINE_START), INT64_MIN};
    int64_t first_ns = INT64_MAX, hold_end_ns = records_boundary(r, BOUNDARY_HOLD_END);
    for (size_t g = 0; g < s->gpu_count; g++) {
        const struct curve *c = curve_of(&s->gpus[g]);
        if (c->n == 0)
            continue;
        first_ns = c->t_ns[0] < first_ns ? c->t_ns[0] : first_ns;
        f.to_ns = c->t_ns[c->n - 1] > f.to_ns ? c->t_ns[c->n - 1] : f.to_ns;
    }
    if (f.from_ns == ABSENT_I64)
        f.from_ns = first_ns;
    if (hold_end_ns > f.from_ns && hold_end_ns < f.to_ns)
        f.to_ns = hold_end_ns;
    return f;
}

static double highest_w(const struct run_series *s)
{
    double highest = 0;
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < curve_of(&s->gpus[g])->n; i++)
            highest = fmax(highest, curve_of(&s->gpus[g])->w[i]);
    return highest;
}

static double since(const struct picture_span *f, int64_t t_ns)
{
    return t_ns == ABSENT_I64 ? (double)NAN : (double)(t_ns - f->from_ns) / 1e9;
}

static struct power_stretch stage_of(const struct records *r, const struct picture_span *f, enum boundary from,
                                     enum boundary to)
{
    int64_t from_ns = records_boundary(r, from), to_ns = records_boundary(r, to);
    if (from_ns == ABSENT_I64)
        return (struct power_stretch){(double)NAN, (double)NAN};
    return (struct power_stretch){since(f, from_ns), since(f, to_ns == ABSENT_I64 ? f->to_ns : to_ns)};
}

static struct power_column *columns_of(const struct curve *c, const struct picture_span *f, size_t n, struct arena *a)
{
    assert(f->from_ns < f->to_ns);
    struct power_column *columns = arena_array(a, n, sizeof *columns);
    for (size_t i = 0; i < c->n; i++) {
        if (c->t_ns[i] < f->from_ns || c->t_ns[i] > f->to_ns)
            continue;
        /* The last moment of all belongs to the last column. */
        double share = (double)(c->t_ns[i] - f->from_ns) / (double)(f->to_ns - f->from_ns);
        size_t at = (size_t)(share * (double)(n - 1));
        must(at < n);
        struct power_column *x = &columns[at];
        x->low_w = x->samples ? fmin(x->low_w, c->w[i]) : c->w[i];
        x->high_w = x->samples ? fmax(x->high_w, c->w[i]) : c->w[i];
        x->mean_w += c->w[i]; /* the sum, so far */
        x->samples++;
    }
    for (size_t k = 0; k < n; k++)
        columns[k].mean_w = columns[k].samples ? columns[k].mean_w / (double)columns[k].samples : 0;
    return columns;
}

bool picture_series(const struct records *r, size_t columns, struct arena *a, struct power_series *ret_series,
                    struct err *e)
{
    must(columns > 1);
    const struct run_series s = run_series_make(r, a);
    const struct picture_span f = frame_of(r, &s);
    double highest = highest_w(&s);
    if (f.to_ns <= f.from_ns || highest <= 0)
        return err_set(e, ERR_RECORDS, "%s: no power was recorded, so there is nothing to draw.",
                       r->run.id ? r->run.id : "The run");
    struct power_line *gpus = arena_array(a, r->gpu_count, sizeof *gpus);
    for (size_t g = 0; g < r->gpu_count; g++)
        gpus[g] = (struct power_line){.name = r->gpus[g].name,
                                      .uuid = r->gpus[g].uuid,
                                      .by_buffer = s.gpus[g].buffer.n > 0,
                                      .columns = columns_of(curve_of(&s.gpus[g]), &f, columns, a)};
    *ret_series = (struct power_series){
        .run_id = r->run.id,
        .name = r->plan.name ? r->plan.name : r->plan.model.id,
        .gpu_simulated = r->run.gpu_simulated,
        .engine_simulated = r->run.engine_simulated || r->plan.engine.simulated,
        .from_ns = f.from_ns,
        .duration_s = since(&f, f.to_ns),
        .highest_w = highest,
        .column_count = columns,
        .stages = {[POWER_BASELINE] = stage_of(r, &f, BOUNDARY_BASELINE_START, BOUNDARY_BASELINE_END),
                   [POWER_STARTUP] = stage_of(r, &f, BOUNDARY_SERVICE_START, BOUNDARY_FORMAL_START),
                   [POWER_FORMAL] = stage_of(r, &f, BOUNDARY_FORMAL_START, BOUNDARY_FORMAL_END),
                   [POWER_RELEASE] = stage_of(r, &f, BOUNDARY_FORMAL_END, BOUNDARY_RELEASE_END),
                   [POWER_HOLD] = stage_of(r, &f, BOUNDARY_RELEASE_END, BOUNDARY_HOLD_END)},
        .gpus = gpus,
        .gpu_count = r->gpu_count};
    return true;
}
