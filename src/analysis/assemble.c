#include "analysis/assemble.h"

#include <assert.h>
#include <math.h>
#include "base/must.h"

static struct result_gpu result_gpu_of(const struct rec_gpu *g, const struct gpu_series *series, const struct fit *fit,
                                       const struct gpu_baseline *baseline, const struct gpu_release *release,
                                       const struct gpu_level *level)
{
    assert(isnan(level->formal_mean_w) || quantity_has_value(&level->ready_w));
    return (struct result_gpu){.uuid = g->uuid,
                               .name = g->name,
                               .index = g->index,
                               .power_limit_w =
                                   g->power_limit_mw == ABSENT_I64 ? (double)NAN : (double)g->power_limit_mw / 1000,
                               .partitioned = g->partitioned,
                               .instant_source = g->instant_source,
                               .factor = fit->factor,
                               .counter_lag_s = fit->lag_s,
                               .baseline_w = baseline->w,
                               .baseline_sd_w = baseline->sd_w,
                               .baseline_half_1_w = baseline->half_1_w,
                               .baseline_half_2_w = baseline->half_2_w,
                               .baseline_utilisation_max = baseline->utilisation_max,
                               .baseline_processes_max = baseline->processes_max,
                               .baseline_idle = baseline->idle,
                               .baseline_why = baseline->why,
                               .memory_released_s = release->memory_released_s,
                               .power_recovered_s = release->power_recovered_s,
                               .ready_level_w = level->ready_w,
                               .formal_mean_w = level->formal_mean_w,
                               .buffer_marked = series->buffer_marked};
}

struct result_gpu *assemble_gpus(const struct records *r, const struct meters *m, const struct gpu_baseline *baseline,
                                 const struct gpu_release *release, const struct levels *levels, struct arena *a)
{
    must(m->gpu_count == r->gpu_count);
    must(!levels || levels->n == r->gpu_count);
    const struct gpu_level none = lag_no_level();
    struct result_gpu *gpus = arena_array(a, r->gpu_count, sizeof *gpus);
    for (size_t i = 0; i < r->gpu_count; i++)
        gpus[i] = result_gpu_of(&r->gpus[i], &m->gpus[i], &m->fits[i], &baseline[i], &release[i],
                                levels ? &levels->gpus[i] : &none);
    return gpus;
}

struct result_release assemble_release(const struct release_verdict *v, struct quantity first_in_band_j)
{
    must(v->closed == !v->why);
    must(!v->closed || v->end_ns != ABSENT_I64);
    return (struct result_release){.closed = v->closed,
                                   .timed_out = v->timed_out,
                                   .why = v->why,
                                   .exit_s = v->exit_s,
                                   .memory_released_s = v->memory_released_s,
                                   .power_recovered_s = v->power_recovered_s,
                                   .end_s = v->end_s,
                                   .end_ns = v->end_ns,
                                   .hold_restarts = v->hold_restarts,
                                   .first_in_band_s = v->first_in_band_s,
                                   .first_in_band_j = first_in_band_j,
                                   .resolution_j = v->resolution_j};
}

struct result_attribution assemble_attribution(const struct split *s, const struct windows *w, struct arena *a)
{
    must((s->source == CURVE_NONE) == !s->rules[RULE_GAP].energy_j);
    struct result_rule *rules = arena_array(a, RULE_COUNT, sizeof *rules);
    for (int k = 0; k < RULE_COUNT; k++)
        rules[k] = (struct result_rule){.rule = (enum rule)k,
                                        .attributed_j = s->rules[k].attributed_j,
                                        .no_generation_j = s->rules[k].no_generation_j,
                                        .closure = s->rules[k].closure,
                                        .closed = s->rules[k].closed,
                                        .by_interval = s->rules[k].by_interval,
                                        .cv_min = w->cv[k].min,
                                        .cv_max = w->cv[k].max,
                                        .cv_min_window = w->cv[k].min_window,
                                        .cv_max_window = w->cv[k].max_window};
    return (struct result_attribution){s->source, s->scale, s->formal_j, s->failed_active_j, rules, RULE_COUNT};
}

struct result_request *assemble_requests(const struct request_table *t, const struct formal *f, const struct split *s,
                                         const struct windows *w, struct arena *a)
{
    must(t->n == f->chains->request_count && w->completed.n <= t->n);
    struct result_request *rows = arena_array(a, t->n, sizeof *rows);
    for (size_t i = 0; i < t->n; i++) {
        rows[i] = t->rows[i];
        if (!rows[i].generates || s->source == CURVE_NONE || f->lack_requests)
            continue;
        rows[i].gap_j = s->rules[RULE_GAP].energy_j[i];
        rows[i].interval_j = s->rules[RULE_INTERVAL].energy_j[i];
        rows[i].request_j = s->rules[RULE_REQUEST].energy_j[i];
        rows[i].words_j = s->rules[RULE_WORDS].energy_j[i];
        rows[i].j_per_token = s->rules[f->method->attribution].energy_j[i] / (double)f->chains->chains[i].tokens;
    }
    for (size_t i = 0; i < w->completed.n; i++)
        rows[w->completed.rows[i]].order = (int64_t)i;
    return rows;
}
