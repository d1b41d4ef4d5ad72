#include "analysis/load.h"

#include "base/must.h"

/* The steady window under the method's own rule and K. */
static const struct result_steady *chosen(const struct windows *w, const struct method *m)
{
    size_t i = 0;
    while (i < w->steady_count && !(w->steady[i].rule == m->attribution && w->steady[i].k == m->k))
        i++;
    must(i < w->steady_count);
    return &w->steady[i];
}

static struct result_stage measure_stage(const struct formal *f, enum stage_id stage, int64_t start_ns, int64_t end_ns,
                                         const char *why, struct arena *a)
{
    const struct bounds b = {start_ns, end_ns, why};
    const struct stage_rules rules = {f->method->headline, NULL};
    return stage_measure(f->meters, stage, &b, &rules, f->records, a);
}

struct load_findings load_look(const struct formal *f, const struct run_series *s, const struct request_table *table,
                               struct arena *a)
{
    must(f->start_ns < f->end_ns);
    const struct split split = split_formal(f, a);
    const struct windows w = windows_make(f, &split, a);
    const struct levels levels =
        lag_levels(s, f->records, records_boundary(f->records, BOUNDARY_READY), f->start_ns, f->end_ns, a);
    const struct lag_span span = {.start_ns = f->start_ns, .end_ns = f->end_ns, .lag_share = f->method->lag_share};
    const struct result_steady *steady = chosen(&w, f->method);
    const struct result_saturated *full = &w.saturated;
    const char *no_load = full->start_ns == ABSENT_I64 ? NO_GENERATION : NULL;
    return (struct load_findings){
        .attribution = assemble_attribution(&split, &w, a),
        .windows = w.all,
        .steady_table = w.steady,
        .steady_count = w.steady_count,
        .saturated = w.saturated,
        .steady_stage = measure_stage(f, STAGE_STEADY, steady->start_ns, steady->end_ns, steady->why, a),
        .saturated_stage = measure_stage(f, STAGE_SATURATED, full->start_ns, full->end_ns, no_load, a),
        .peak_concurrency = no_load ? quantity_absent(Q_NOT_RECORDED, NO_FORMAL) : quantity_of((double)full->peak),
        .levels = levels,
        .lag = lag_judge(f->chains, s, &levels, &span, a),
        .requests = assemble_requests(table, f, &split, &w, a)};
}

struct load_findings load_missing(const struct result *absent, const struct request_table *table)
{
    return (struct load_findings){.attribution = absent->attribution,
                                  .steady_table = absent->steady_table,
                                  .steady_count = absent->steady_count,
                                  .saturated = absent->saturated,
                                  .steady_stage = *result_stage_of(absent, STAGE_STEADY),
                                  .saturated_stage = *result_stage_of(absent, STAGE_SATURATED),
                                  .peak_concurrency = absent->load.peak_concurrency,
                                  .lag = absent->lag,
                                  .requests = table->rows};
}
