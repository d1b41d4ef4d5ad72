#include "analysis/analyze.h"

#include <string.h>
#include "analysis/about.h"
#include "analysis/load.h"
#include "analysis/metrics.h"
#include "analysis/points.h"
#include "analysis/scraped.h"
#include "analysis/verify.h"
#include "base/must.h"
#include "base/time.h"
#include "model/record_order.h"

/* Each request of the plan is there, in order of id: null, or how many are not. */
static const char *find_lack_of_requests(const struct records *r, struct arena *a)
{
    int64_t planned = r->plan.load_count > 0 ? ABSENT_I64 : r->plan.requests.count, there = 0;
    for (size_t i = 0; i < r->request_count; i++)
        there += r->requests[i].id < planned && (i == 0 || r->requests[i].id != r->requests[i - 1].id);
    return planned == ABSENT_I64 || there >= planned
               ? NULL
               : arena_format(a, "%lld of the plan's %lld requests are not in the records",
                              (long long)(planned - there), (long long)planned);
}

/* The stages that were recorded, and those that were found in the formal one. */
static struct result_stage *list_stages(const struct energies *e, const struct load_findings *l, struct arena *a,
                                        size_t *ret_count)
{
    const struct result_stage list[] = {e->baseline,  e->startup,      e->formal,         e->release,
                                        e->lifecycle, l->steady_stage, l->saturated_stage};
    enum { COUNT = sizeof list / sizeof *list };
    struct result_stage *stages = arena_array(a, COUNT, sizeof *stages);
    for (size_t i = 0; i < COUNT; i++)
        stages[i] = list[i];
    *ret_count = COUNT;
    return stages;
}

/* Latencies of all loads together are those of none. */
static struct result_load count_loads(struct result_load l)
{
    const struct quantity none = quantity_absent(Q_NOT_RECORDED, OF_LOADS);
    const struct percentiles no_times = {0, none, none, none, none, none, none};
    l.ttft_s = l.tpot_s = l.e2e_s = l.ttft_visible_s = l.itl_s = no_times;
    l.submit_window_s = none;
    return l;
}

/* On a running service the first Ctrl-C ends the load, and what was measured stands. */
static const char *early_end(const struct records *r, const struct points *p, struct arena *a)
{
    const char *note = NULL, *text = NULL;
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id == BOUNDARY_FORMAL_END)
            note = r->boundaries[i].note;
    if (!note || strcmp(note, "asked") != 0)
        return NULL;
    for (size_t i = 0; i < p->n; i++)
        if (p->items[i].start_ns != ABSENT_I64 && p->items[i].last_ns != ABSENT_I64)
            text = arena_format(a, "by its user, %.1f s into load %zu",
                                time_s(p->items[i].last_ns - p->items[i].start_ns), i);
    return text ? text : "by its user";
}

/* METHOD section 11 does not ask, so such a run is valid; but it says so, and is compared with nothing. */
static const char *shortened(const struct plan *p, struct arena *a)
{
    if (plan_object(p) != OBJECT_LIFE || !plan_is_shortened_before_loads(p))
        return NULL;
    struct plan method;
    plan_defaults(&method);
    const struct plan_method *m = &p->method, *d = &method.method;
    return arena_format(a,
                        "Its loads follow a baseline of %g s and a warm-up of %lld requests of %lld tokens; the "
                        "method's are %g s, %lld and %lld.",
                        m->baseline_s, (long long)m->warmup_requests, (long long)m->warmup_tokens, d->baseline_s,
                        (long long)d->warmup_requests, (long long)d->warmup_tokens);
}

static struct result_loads list_loads(const struct records *r, const struct points *p, struct arena *a)
{
    return (struct result_loads){.object = plan_object(&r->plan),
                                 .standing = STANDING_EXCLUDED,
                                 .shortened = shortened(&r->plan, a),
                                 .slo = r->plan.slo,
                                 .silences = p->silences,
                                 .silence_count = p->silence_count,
                                 .points = p->items,
                                 .point_count = p->n,
                                 .ended_early = early_end(r, p, a)};
}

/* Of the formal stage: what the engine says of it. */
static struct result_engine engine_in_formal(const struct records *r, const struct stage_bounds *b,
                                             const struct request_table *table, const struct result *absent,
                                             struct arena *a)
{
    if (b->formal.from_ns == ABSENT_I64 || b->formal.to_ns == ABSENT_I64)
        return absent->engine;
    int64_t stop_ns = records_boundary(r, BOUNDARY_STOP);
    return scraped_of(r,
                      &(struct scraped_span){.start_ns = b->formal.from_ns,
                                             .end_ns = b->formal.to_ns,
                                             .until_ns = stop_ns == ABSENT_I64 ? INT64_MAX : stop_ns,
                                             .from_ns = b->formal.from_ns,
                                             .to_ns = b->formal.to_ns,
                                             .load = -1,
                                             .table = table},
                      a);
}

static bool look(const struct records *r, const struct method *m, const struct token_chains *chains, struct arena *a,
                 struct result *ret, struct err *e)
{
    const bool loads = plan_has_loads(&r->plan);
    const char *lack = loads ? NULL : find_lack_of_requests(r, a);
    const struct run_series series = run_series_make(r, a);
    const struct gpu_baseline *baseline = baseline_judge(r, a);
    const struct release_verdict release = release_judge(r, baseline, a);
    const struct stage_bounds bounds = stages_bounds(r, &release);
    const struct meters meters = stages_meters(&series, &r->plan, &bounds, &release, a);
    const struct energies energies = stages_measure(&meters, &bounds, &release, m->headline, r, a);
    const struct request_table table = latency_table(chains, &series.clocks, bounds.formal.from_ns, a);
    struct points points = {0};
    if (loads && !points_make(r, m, &series, &meters, a, &points, e))
        return false;
    struct result x;
    result_absent(&x, a, loads ? OF_LOADS : NO_FORMAL);
    const struct formal formal = {.records = r,
                                  .method = m,
                                  .meters = &meters,
                                  .chains = chains,
                                  .start_ns = bounds.formal.from_ns,
                                  .end_ns = bounds.formal.to_ns,
                                  .stage = &energies.formal,
                                  .lack_requests = lack};
    const struct load_findings load =
        bounds.formal.from_ns == ABSENT_I64 ? load_missing(&x, &table) : load_look(&formal, &series, &table, a);
    const struct levels *levels = load.levels.gpus ? &load.levels : points.levels.gpus ? &points.levels : NULL;
    if (loads)
        x.loads = list_loads(r, &points, a);
    x.about = about_of(r, a);
    x.method = *m;
    x.about.differences = method_differences(m, a);
    x.stages = list_stages(&energies, &load, a, &x.stage_count);
    x.gpus = assemble_gpus(r, &meters, baseline, release.gpus, levels, a);
    x.gpu_count = r->gpu_count;
    x.release = assemble_release(&release, energies.first_in_band_j);
    x.startup_phases = energies.phases;
    x.startup_phase_count = energies.phase_count;
    x.load = latency_load(chains, &table, &series.clocks, load.peak_concurrency, a);
    x.load = loads ? count_loads(x.load) : x.load;
    x.attribution = load.attribution;
    x.steady_table = load.steady_table;
    x.steady_count = load.steady_count;
    x.steady = *result_steady_of(&x, m->attribution, m->k);
    x.saturated = load.saturated;
    x.lag = load.lag;
    x.engine = engine_in_formal(r, &bounds, &table, &x, a);
    x.requests = load.requests;
    x.request_count = table.n;
    x.windows = load.windows.items;
    x.window_count = load.windows.n;
    x.metrics = metrics_of(&x, &r->plan.cost, lack);
    x.estimate = estimate_of(&x, energies.fixed_j, a);
    *ret = x;
    return true;
}

bool analyze(const struct records *r, const struct method *m, struct arena *a, struct result *ret, struct err *e)
{
    must(records_in_order(r));
    must(m->window > 0 && m->attribution < RULE_COUNT && m->k < K_COUNT);
    struct token_chains chains;
    if (!token_chains_make(r, m, a, &chains, e))
        return false;
    struct result x;
    if (!look(r, m, &chains, a, &x, e))
        return false;
    const struct verdicts verdicts = verify_run(r, m, &x, a);
    x.checks = verdicts.checks;
    x.check_count = CODE_COUNT;
    x.flags = verdicts.flags;
    x.flag_count = FLAG_COUNT;
    x.formal = verdicts.formal;
    if (result_has_loads(&x))
        x.loads.standing = verdicts.stands ? STANDING_VALID : STANDING_EXCLUDED;
    verify_exclude(r, &x, a);
    *ret = x;
    return true;
}
