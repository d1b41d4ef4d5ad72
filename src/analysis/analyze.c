#include "analysis/analyze.h"

#include <math.h>
#include <string.h>
#include "analysis/attribution.h"
#include "analysis/energy.h"
#include "analysis/known.h"
#include "analysis/lag.h"
#include "analysis/latency.h"
#include "analysis/metrics.h"
#include "analysis/order.h"
#include "analysis/parts.h"
#include "analysis/stages.h"
#include "analysis/steady.h"
#include "base/must.h"
#include "model/record_order.h"

static const double CLOSURE_LIMIT = 1e-9, SENSOR_FLOOR_W = 5;

/* What one analysis works on. */
struct work {
    const struct method *m;
    struct arena *a;
    struct records r; /* in order */
    struct meters meters;
    struct gpu_series *series;
    struct clock_line clocks;
    struct streams streams;
    struct course course;
    uint32_t *order; /* rows in completion order */
    size_t order_count;
    double *energy_j[RULE_COUNT]; /* by row; null: no energy could be split */
    const char *lack_requests;    /* null, or that some of the plan's are not recorded: nothing is divided by them */
    struct result *ret;
};

static int64_t formal_start(const struct work *w)
{
    return w->ret->stages[STAGE_FORMAL].start_ns;
}

static int64_t formal_end(const struct work *w)
{
    return w->ret->stages[STAGE_FORMAL].end_ns;
}

/* ---- what the records lack ---- */

/* Each request of the plan is there, in order of id. */
static const char *find_lack_of_requests(const struct records *r, struct arena *a)
{
    int64_t planned = r->plan.requests.count, there = 0;
    for (size_t i = 0; i < r->request_count; i++)
        there += r->requests[i].id < planned && (i == 0 || r->requests[i].id != r->requests[i - 1].id);
    return planned == ABSENT_I64 || there >= planned
               ? NULL
               : arena_format(a, "%lld of the plan's %lld requests are not in the records",
                              (long long)(planned - there), (long long)planned);
}

/* ---- who and what ---- */

static void describe(struct work *w)
{
    const struct rec_run *run = &w->r.run;
    const struct plan *p = &w->r.plan;
    struct result *ret = w->ret;
    ret->about.run_id = run->id;
    ret->about.jtok_version = JTOK_VERSION;
    ret->about.records_method_id = run->method_id;
    ret->about.records_jtok_version = run->jtok_version;
    ret->method = *w->m;
    ret->differences = method_differences(w->m, w->a);
    ret->steady.rule = w->m->attribution;
    ret->steady.k = w->m->k;
    ret->about.name = p->name;
    ret->about.scenario = p->scenario ? p->scenario : p->requests.file;
    ret->about.engine = plan_engine_name(p);
    ret->about.image_digest = p->engine.image_digest;
    known_fill(&w->r, &ret->about);
    ret->about.plan_sha256 = run->plan_sha256;
    ret->about.requests_sha256 = p->requests.sha256;
    ret->about.work_sha256 = p->requests.work_sha256;
    ret->about.simulated = run->gpu_simulated || run->engine_simulated || p->engine.simulated;
}

static void describe_gpus(struct work *w)
{
    struct result *ret = w->ret;
    size_t n = w->r.gpu_count;
    ret->gpus = arena_array(w->a, n, sizeof *ret->gpus);
    ret->gpu_count = n;
    struct quantity none = quantity_absent(Q_NOT_RECORDED, "the run did not come so far");
    for (size_t i = 0; i < n; i++) {
        const struct rec_gpu *g = &w->r.gpus[i];
        ret->gpus[i] = (struct result_gpu){
            .uuid = g->uuid,
            .name = g->name,
            .index = g->index,
            .partitioned = g->partitioned,
            .instant_source = g->instant_source,
            .power_limit_w = g->power_limit_mw == ABSENT_I64 ? (double)NAN : (double)g->power_limit_mw / 1000,
            .factor = none,
            .counter_lag_s = none,
            .baseline_w = none,
            .baseline_sd_w = (double)NAN,
            .baseline_half_1_w = (double)NAN,
            .baseline_half_2_w = (double)NAN,
            .baseline_utilisation_max = ABSENT_I64,
            .baseline_processes_max = ABSENT_I64,
            .baseline_idle = CHECK_NOT_RECORDED,
            .memory_released_s = none,
            .power_recovered_s = none,
            .ready_level_w = none,
            .formal_mean_w = (double)NAN,
            .buffer_marked = w->series[i].buffer_marked};
    }
}

/* ---- instruments and stages ---- */

static void make_meters(struct work *w)
{
    const struct plan_power *power = &w->r.plan.power;
    size_t n = w->r.gpu_count;
    w->clocks = clock_line_make(w->r.clocks, w->r.clock_count, w->a);
    w->series = arena_array(w->a, n, sizeof *w->series);
    for (size_t i = 0; i < n; i++)
        gpu_series_make(&w->r.gpus[i], &w->clocks, w->a, &w->series[i]);
    w->meters = (struct meters){.gpus = w->series,
                                .gpu_count = n,
                                .grid_period_s = w->r.plan.method.grid_s,
                                .sensor_share = power->sensor_percent / 100,
                                .sensor_floor_w = power->sensor_source ? 0 : SENSOR_FLOOR_W,
                                .from_ns = ABSENT_I64,
                                .to_ns = ABSENT_I64,
                                .fits = arena_array(w->a, n, sizeof(struct fit))};
    for (size_t i = 0; i < n; i++)
        w->meters.fits[i] = fit_absent("the run has no service_start or no end of release");
}

static int headline_of(const struct method *m, int stage)
{
    if (m->headline == HEADLINE_PRECISE)
        return SERIES_PRECISE;
    return stage == STAGE_BASELINE || stage == STAGE_STARTUP || stage == STAGE_RELEASE ? SERIES_GRID : SERIES_COUNTER;
}

static void finish_set(struct energy_set *e, int series)
{
    e->headline_series = series;
    e->headline = *energy_series(e, series);
}

static void not_closed(struct energy_set *e, const char *why)
{
    struct quantity *const all[] = {&e->headline, &e->grid, &e->marks, &e->counter, &e->buffer, &e->precise};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->state == Q_MEASURED) {
            all[i]->state = Q_NOT_CLOSED;
            all[i]->why = why;
        }
}

/* The averages and differences of a stage whose energies stand. */
static void compare_series(struct work *w, struct result_stage *s)
{
    s->average_w = quantity_over(&s->energy.headline, s->duration_s, "the stage has no duration");
    s->sampling_error = quantity_difference(&s->energy.headline, &s->energy.precise);
    s->grid_difference = quantity_difference(&s->energy.grid, &s->energy.counter);
    s->buffer_difference = quantity_difference(&s->energy.buffer, &s->energy.counter);
    s->grid_gap = s->buffer_gap = s->counter_void = false;
    for (size_t i = 0; i < s->gpu_count; i++) {
        struct result_stage_gpu *g = &s->gpus[i];
        g->average_w = quantity_over(&g->energy.headline, s->duration_s, "the stage has no duration");
        s->grid_gap |= g->grid_gap;
        s->buffer_gap |= g->buffer_gap;
        s->counter_void |= g->counter_void != NULL;
    }
    s->contradiction = meters_contradiction(s->gpus, s->gpu_count, w->a);
}

/* Measures a stage whose bounds stand. */
static void measure(struct work *w, int stage)
{
    struct result_stage *s = &w->ret->stages[stage];
    if (s->start_ns == ABSENT_I64) {
        struct quantity none = quantity_absent(stage == STAGE_STEADY      ? Q_NOT_REACHED
                                               : stage == STAGE_SATURATED ? Q_UNDEFINED
                                                                          : Q_NOT_RECORDED,
                                               s->why);
        s->energy = (struct energy_set){none, headline_of(w->m, stage), none, none, none, none, none};
        s->average_w = s->sampling_error = s->grid_difference = s->buffer_difference = none;
        return;
    }
    s->gpu_count = w->r.gpu_count;
    s->gpus = arena_array(w->a, s->gpu_count, sizeof *s->gpus);
    bool sampled = stage == STAGE_STARTUP || stage == STAGE_FORMAL;
    meters_energy(&w->meters, s->start_ns, s->end_ns, sampled, &s->energy, s->gpus, w->a);
    finish_set(&s->energy, headline_of(w->m, stage));
    for (size_t i = 0; i < s->gpu_count; i++)
        finish_set(&s->gpus[i].energy, headline_of(w->m, stage));
    if (stage == STAGE_RELEASE && !w->ret->release.closed) {
        not_closed(&s->energy, w->ret->release.why);
        for (size_t i = 0; i < s->gpu_count; i++)
            not_closed(&s->gpus[i].energy, w->ret->release.why);
    }
    compare_series(w, s);
}

/* The stretches that make up a lifecycle's headline, in the basis' series. */
static size_t headline_parts(const struct work *w, const int *stages, size_t n, struct part *ret)
{
    for (size_t i = 0; i < n; i++) {
        const struct result_stage *s = &w->ret->stages[stages[i]];
        ret[i] = (struct part){s->start_ns, s->end_ns, headline_of(w->m, stages[i])};
    }
    return n;
}

static const struct result_stage *first_absent(const struct work *w, const int *stages, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (w->ret->stages[stages[i]].start_ns == ABSENT_I64)
            return &w->ret->stages[stages[i]];
    return NULL;
}

static void close_life(const struct work *w, struct energy_set *e, struct quantity headline)
{
    e->headline = headline;
    e->headline_series = w->m->headline == HEADLINE_PRECISE ? SERIES_PRECISE : HEADLINE_MIXED;
    if (!w->ret->release.closed)
        not_closed(e, w->ret->release.why);
}

/* Startup, formal and release touch: the lifecycle is one interval by every instrument, and its headline their sum. */
static void measure_lifecycle(struct work *w)
{
    enum { ALL = 3 };
    static const int stages[ALL] = {STAGE_STARTUP, STAGE_FORMAL, STAGE_RELEASE};
    struct result_stage *life = &w->ret->stages[STAGE_LIFECYCLE];
    const struct result_stage *absent = first_absent(w, stages, ALL);
    if (absent) {
        life->why = absent->why;
        measure(w, STAGE_LIFECYCLE);
        return;
    }
    struct part parts[ALL];
    headline_parts(w, stages, ALL, parts);
    life->start_ns = parts[0].from_ns;
    life->end_ns = parts[ALL - 1].to_ns;
    life->duration_s = (double)(life->end_ns - life->start_ns) * 1e-9;
    life->why = NULL;
    life->gpu_count = w->r.gpu_count;
    life->gpus = arena_array(w->a, life->gpu_count, sizeof *life->gpus);
    meters_energy(&w->meters, life->start_ns, life->end_ns, true, &life->energy, life->gpus, w->a);
    close_life(w, &life->energy, meters_parts(&w->meters, parts, ALL, true, METERS_ALL, w->a));
    for (size_t i = 0; i < life->gpu_count; i++)
        close_life(w, &life->gpus[i].energy, meters_parts(&w->meters, parts, ALL, true, i, w->a));
    compare_series(w, life);
}

/* Startup and release together: what a service costs before and after it serves. */
static void measure_fixed(struct work *w)
{
    enum { BOTH = 2 };
    static const int stages[BOTH] = {STAGE_STARTUP, STAGE_RELEASE};
    struct quantity *fixed = &w->ret->estimate.fixed_j;
    const struct result_stage *absent = first_absent(w, stages, BOTH);
    if (absent) {
        *fixed = quantity_absent(Q_NOT_RECORDED, absent->why);
        return;
    }
    struct part parts[BOTH];
    headline_parts(w, stages, BOTH, parts);
    *fixed = meters_parts(&w->meters, parts, BOTH, false, METERS_ALL, w->a);
    if (!w->ret->release.closed && fixed->state == Q_MEASURED) {
        fixed->state = Q_NOT_CLOSED;
        fixed->why = w->ret->release.why;
    }
}

/* What the release would have taken, had its first sample in band been the recovery. */
static void measure_first_in_band(struct work *w)
{
    struct result_release *x = &w->ret->release;
    const struct result_stage *s = &w->ret->stages[STAGE_RELEASE];
    if (s->start_ns == ABSENT_I64 || !quantity_has_value(&x->first_in_band_s)) {
        x->first_in_band_j = quantity_absent(Q_NOT_REACHED, s->why ? s->why : x->first_in_band_s.why);
        return;
    }
    double end_s = x->first_in_band_s.value;
    const struct quantity *const others[] = {&x->exit_s, &x->memory_released_s};
    for (size_t i = 0; i < 2; i++)
        end_s = quantity_has_value(others[i]) ? fmax(end_s, others[i]->value) : end_s;
    const struct part part = {s->start_ns, s->start_ns + (int64_t)(end_s * 1e9 + 0.5),
                              headline_of(w->m, STAGE_RELEASE)};
    x->first_in_band_j = meters_parts(&w->meters, &part, 1, false, METERS_ALL, w->a);
}

/* The last moment, no later than `end`, that buffer and counter cover, with room for the counter's delay, on every GPU
 * that has both. */
static int64_t last_of_both(const struct work *w, int64_t end_ns)
{
    static const int64_t DELAY_NS = 150000000;
    int64_t last = end_ns == ABSENT_I64 ? INT64_MAX : end_ns;
    for (size_t i = 0; i < w->r.gpu_count; i++) {
        const struct curve *b = &w->series[i].buffer;
        const struct counter *c = &w->series[i].counter;
        if (b->n == 0 || c->n == 0)
            continue;
        last = b->t_ns[b->n - 1] < last ? b->t_ns[b->n - 1] : last;
        last = c->t_ns[c->n - 1] - DELAY_NS < last ? c->t_ns[c->n - 1] - DELAY_NS : last;
    }
    return last == INT64_MAX ? ABSENT_I64 : last;
}

static void measure_stages(struct work *w)
{
    struct result *ret = w->ret;
    stages_judge_baseline(&w->r, ret->gpus, w->a);
    stages_judge_release(&w->r, ret->gpus, w->a, &ret->release);
    stages_bounds(&w->r, &ret->release, ret->stages);
    int64_t from = ret->stages[STAGE_STARTUP].start_ns, to = ret->release.end_ns;
    /* Without a release the fit goes as far as the records do. */
    int64_t fit_to = !ret->release.closed && ret->stages[STAGE_FORMAL].end_ns != ABSENT_I64 ? last_of_both(w, to) : to;
    if (from != ABSENT_I64 && fit_to != ABSENT_I64)
        meters_fit(&w->meters, from, to == ABSENT_I64 ? fit_to : to, fit_to, w->a);
    for (size_t i = 0; i < ret->gpu_count; i++) {
        ret->gpus[i].factor = w->meters.fits[i].factor;
        ret->gpus[i].counter_lag_s = w->meters.fits[i].lag_s;
    }
    for (int stage = STAGE_BASELINE; stage <= STAGE_RELEASE; stage++)
        measure(w, stage);
    measure_lifecycle(w);
    measure_fixed(w);
    measure_first_in_band(w);
    parts_waits(&w->r, &w->meters, ret, w->a);
    parts_phases(&w->r, &w->meters, ret, w->a);
}

/* ---- attribution ---- */

static bool curves_cover(const struct work *w, bool buffer)
{
    for (size_t i = 0; i < w->r.gpu_count; i++)
        if (!curve_covers(buffer ? &w->series[i].buffer : &w->series[i].grid, formal_start(w), formal_end(w)))
            return false;
    return w->r.gpu_count > 0;
}

static struct course course_of(struct work *w, bool buffer, double scale)
{
    const struct curve **curves = arena_array(w->a, w->r.gpu_count, sizeof *curves);
    for (size_t i = 0; i < w->r.gpu_count; i++)
        curves[i] = buffer ? &w->series[i].buffer : &w->series[i].grid;
    return course_of_curves(curves, w->r.gpu_count, scale, w->a);
}

/* E(t): the buffer, scaled once; else the counter; else the grid. */
static void choose_course(struct work *w)
{
    struct result_attribution *t = &w->ret->attribution;
    const struct energy_set *e = &w->ret->stages[STAGE_FORMAL].energy;
    t->source = CURVE_NONE;
    t->scale = quantity_absent(Q_NOT_RECORDED, "E(t) is not the buffer, or there is no counter to scale it to");
    if (w->ret->stages[STAGE_FORMAL].start_ns == ABSENT_I64) {
        t->formal_j = quantity_absent(Q_NOT_RECORDED, w->ret->stages[STAGE_FORMAL].why);
    } else if (curves_cover(w, true)) {
        t->source = CURVE_BUFFER;
        bool scale = quantity_has_value(&e->counter) && e->buffer.value > 0;
        if (scale)
            t->scale = quantity_of(e->counter.value / e->buffer.value);
        w->course = course_of(w, true, scale ? t->scale.value : 1);
        t->formal_j = scale ? e->counter : e->buffer;
    } else if (quantity_has_value(&e->counter)) {
        const struct counter **counters = arena_array(w->a, w->r.gpu_count, sizeof *counters);
        for (size_t i = 0; i < w->r.gpu_count; i++)
            counters[i] = &w->series[i].counter;
        t->source = CURVE_COUNTER;
        w->course = course_of_counters(counters, w->r.gpu_count, w->a);
        t->formal_j = e->counter;
    } else if (curves_cover(w, false)) {
        t->source = CURVE_GRID;
        w->course = course_of(w, false, 1);
        t->formal_j = e->grid;
    } else {
        t->formal_j = quantity_absent(Q_NOT_COVERED, "no series of power covers the formal stage on every GPU");
    }
    if (t->source != CURVE_NONE && w->course.n < 2) {
        t->source = CURVE_NONE;
        t->formal_j = quantity_absent(Q_UNDEFINED, "no GPU's counter changed, so there is no energy to split");
    }
}

static void failed_energy(struct work *w)
{
    struct result_attribution *t = &w->ret->attribution;
    const struct streams *s = &w->streams;
    struct interval *x = arena_array(w->a, s->request_count, sizeof *x);
    size_t n = 0;
    for (size_t i = 0; i < s->request_count; i++) {
        const struct rec_request *q = &s->requests[i];
        if (!s->streams[i].success && q->submit_ns != ABSENT_I64)
            x[n++] = (struct interval){q->submit_ns, q->end_ns == ABSENT_I64 ? formal_end(w) : q->end_ns};
    }
    t->failed_active_j = quantity_of(attribution_union_j(&w->course, formal_start(w), formal_end(w), x, n));
}

static void split(struct work *w)
{
    struct result_attribution *t = &w->ret->attribution;
    choose_course(w);
    if (t->source == CURVE_NONE) {
        struct quantity none = quantity_absent(t->formal_j.state, t->formal_j.why);
        for (int k = 0; k < RULE_COUNT; k++)
            t->rules[k].attributed_j = t->rules[k].no_generation_j = t->rules[k].closure = none;
        t->failed_active_j = none;
        return;
    }
    int64_t by_interval = 0;
    for (size_t i = 0; i < w->streams.request_count; i++)
        by_interval += w->streams.streams[i].by_interval;
    for (int k = 0; k < RULE_COUNT; k++) {
        struct attribution split_j;
        attribute(&w->streams, &w->course, formal_start(w), formal_end(w), k, w->a, &split_j);
        w->energy_j[k] = split_j.energy_j;
        struct result_rule *row = &t->rules[k];
        double formal = t->formal_j.value;
        row->attributed_j = quantity_of(split_j.attributed_j);
        row->no_generation_j = quantity_of(split_j.none_j);
        row->by_interval = k == RULE_GAP ? by_interval : ABSENT_I64;
        row->closure = formal > 0 ? quantity_of(fabs(split_j.attributed_j + split_j.none_j - formal) / formal)
                                  : quantity_absent(Q_UNDEFINED, "the formal stage took no energy");
        row->closed = formal > 0 ? row->closure.value <= CLOSURE_LIMIT : split_j.attributed_j == 0;
    }
    failed_energy(w);
}

/* ---- windows ---- */

enum { EDGE_STEPS = 50 };
static const int64_t EDGE_STEP_NS = 1000000;

/* Tokens that arrived by each of some moments: the ends of the steady windows and the saturated one, and of each that
 * cuts streams the 50 ms around it. */
struct bounds {
    int64_t *t_ns, *tokens; /* that arrived in (t_ns[0], t_ns[i]] */
    size_t n;
};

/* The formal stage begins before the first token and ends after the last one. */
static bool cuts_streams(const struct work *w, int64_t t_ns)
{
    return t_ns > formal_start(w) && t_ns < formal_end(w);
}

static void bounds_put(const struct work *w, struct bounds *b, int64_t t_ns)
{
    b->t_ns[b->n++] = t_ns;
    for (int64_t k = -EDGE_STEPS; k <= EDGE_STEPS && cuts_streams(w, t_ns); k++)
        if (cuts_streams(w, t_ns + k * EDGE_STEP_NS))
            b->t_ns[b->n++] = t_ns + k * EDGE_STEP_NS;
}

static struct bounds count_arrivals(struct work *w)
{
    const struct result *ret = w->ret;
    size_t most = (ret->steady_count + 4) * (2 * EDGE_STEPS + 2), n = 0;
    struct bounds b = {.t_ns = arena_array(w->a, most, sizeof *b.t_ns),
                       .tokens = arena_array(w->a, most, sizeof *b.tokens)};
    bounds_put(w, &b, formal_start(w));
    bounds_put(w, &b, formal_end(w));
    for (size_t i = 0; i < ret->steady_count; i++)
        if (ret->steady_table[i].reached)
            bounds_put(w, &b, ret->steady_table[i].start_ns);
    if (ret->saturated.start_ns != ABSENT_I64) {
        bounds_put(w, &b, ret->saturated.start_ns);
        bounds_put(w, &b, ret->saturated.end_ns);
    }
    order_sort_times(b.t_ns, b.n);
    for (size_t i = 0; i < b.n; i++)
        if (!n || b.t_ns[n - 1] != b.t_ns[i])
            b.t_ns[n++] = b.t_ns[i];
    b.n = n;
    int64_t *between = arena_array(w->a, n, sizeof *between);
    attribution_arrivals(&w->streams, b.t_ns, n, between);
    for (size_t i = 1; i < n; i++)
        b.tokens[i] = b.tokens[i - 1] + between[i - 1];
    return b;
}

/* In (from, to], both of them bounds. */
static int64_t arrived(const struct bounds *b, int64_t from_ns, int64_t to_ns)
{
    return b->tokens[stamp_before(b->t_ns, b->n, to_ns)] - b->tokens[stamp_before(b->t_ns, b->n, from_ns)];
}

/* Half of the largest less the least J/token as one end moves by up to 50 ms; 0 where it cuts no stream. */
static double edge_j_per_token(const struct work *w, const struct bounds *b, int64_t from_ns, int64_t to_ns, bool start)
{
    int series = headline_of(w->m, STAGE_STEADY);
    int64_t end = start ? from_ns : to_ns;
    double low = (double)NAN, high = (double)NAN;
    for (int64_t k = -EDGE_STEPS; k <= EDGE_STEPS && cuts_streams(w, end); k++) {
        int64_t moved = end + k * EDGE_STEP_NS, from = start ? moved : from_ns, to = start ? to_ns : moved;
        if (!cuts_streams(w, moved) || to <= from || arrived(b, from, to) <= 0)
            continue;
        double x = meters_series_j(&w->meters, series, from, to) / (double)arrived(b, from, to);
        low = !(x >= low) ? x : low;
        high = !(x <= high) ? x : high;
    }
    return cuts_streams(w, end) ? (high - low) / 2 : 0;
}

static void measure_window(struct work *w, const struct bounds *b, int64_t from_ns, int64_t to_ns,
                           struct quantity *ret_energy, struct quantity *ret_w, struct quantity *ret_per_token,
                           double *ret_edge)
{
    struct energy_set e;
    meters_energy(&w->meters, from_ns, to_ns, false, &e, NULL, w->a);
    *ret_energy = *energy_series(&e, headline_of(w->m, STAGE_STEADY));
    *ret_w = quantity_over(ret_energy, (double)(to_ns - from_ns) * 1e-9, "the window has no duration");
    *ret_per_token = w->lack_requests ? quantity_absent(Q_NOT_RECORDED, w->lack_requests)
                                      : quantity_over(ret_energy, (double)arrived(b, from_ns, to_ns),
                                                      "no token arrived in the window");
    *ret_edge = quantity_has_value(ret_per_token)
                    ? edge_j_per_token(w, b, from_ns, to_ns, true) + edge_j_per_token(w, b, from_ns, to_ns, false)
                    : (double)NAN;
    ret_per_token->instrument += *ret_edge;
}

static double since_formal_s(const struct work *w, int64_t t_ns)
{
    return (double)(t_ns - formal_start(w)) * 1e-9;
}

static void fill_steady(struct work *w, const struct bounds *b, struct result_steady *s)
{
    if (!s->reached) {
        struct quantity none = quantity_absent(Q_NOT_REACHED, s->why);
        s->energy_j = s->average_w = s->j_per_token = s->mean_request_j = none;
        return;
    }
    s->tokens = arrived(b, s->start_ns, s->end_ns);
    measure_window(w, b, s->start_ns, s->end_ns, &s->energy_j, &s->average_w, &s->j_per_token, &s->edge_j_per_token);
    struct sum sum = {0};
    for (size_t i = (size_t)s->window; i < w->order_count; i++)
        sum_add(&sum, w->energy_j[s->rule][w->order[i]]);
    s->mean_request_j = w->lack_requests ? quantity_absent(Q_NOT_RECORDED, w->lack_requests)
                                         : quantity_of(sum_value(&sum) / (double)s->requests);
}

static void find_steady(struct work *w)
{
    struct result *ret = w->ret;
    const double *const *energy = (const double *const *)w->energy_j;
    w->order = steady_order(&w->streams, w->a, &w->order_count);
    ret->windows = steady_windows(&w->streams, w->order, w->order_count, w->m->window, formal_start(w), energy, w->a,
                                  &ret->window_count);
    for (size_t i = 0; i < ret->steady_count; i++) {
        struct result_steady *s = &ret->steady_table[i];
        steady_find(ret->windows, ret->window_count, w->order_count, w->m, s->rule, s->k, w->a, s);
        if (!s->reached)
            continue;
        s->start_ns = w->streams.requests[w->order[s->window]].end_ns;
        s->end_ns = formal_end(w);
        s->start_s = since_formal_s(w, s->start_ns);
        s->end_s = since_formal_s(w, s->end_ns);
    }
    for (int k = 0; k < RULE_COUNT; k++) {
        struct result_rule *row = &ret->attribution.rules[k];
        row->cv_min = row->cv_max = quantity_absent(Q_UNDEFINED, "no window");
        for (size_t i = 0; i < ret->window_count; i++) {
            double cv = ret->windows[i].cv[k];
            if (isnan(cv))
                continue;
            if (!(cv >= row->cv_min.value)) {
                row->cv_min = quantity_of(cv);
                row->cv_min_window = (int64_t)i;
            }
            if (!(cv <= row->cv_max.value)) {
                row->cv_max = quantity_of(cv);
                row->cv_max_window = (int64_t)i;
            }
        }
    }
}

/* A stage that is a copy of a window found later. */
static void window_stage(struct work *w, int stage, int64_t start_ns, int64_t end_ns, const char *why)
{
    struct result_stage *s = &w->ret->stages[stage];
    s->why = why;
    if (!why) {
        s->start_ns = start_ns;
        s->end_ns = end_ns;
        s->duration_s = (double)(end_ns - start_ns) * 1e-9;
    }
    measure(w, stage);
}

static struct quantity share(const struct quantity *part, const struct quantity *whole)
{
    if (!quantity_has_value(part))
        return *part;
    if (!quantity_has_value(whole) || !(whole->value > 0))
        return quantity_absent(Q_UNDEFINED, "the formal stage has no energy");
    const struct quantity *const inputs[] = {part, whole};
    return quantity_from(part->value / whole->value, inputs, 2);
}

/* Of the engine's readings whose answer arrived within the window, the share with requests waiting; NaN: none. */
static double waiting_share(const struct records *r, int64_t from_ns, int64_t to_ns)
{
    size_t n = 0, waiting = 0;
    for (size_t i = 0; i < r->metrics_count; i++) {
        const struct rec_metrics *m = &r->metrics[i];
        if (m->took_ns == ABSENT_I64 || isnan(m->waiting) || m->t_ns + m->took_ns < from_ns ||
            m->t_ns + m->took_ns > to_ns)
            continue;
        n++;
        waiting += m->waiting > 0;
    }
    return n ? (double)waiting / (double)n : (double)NAN;
}

static void fill_saturated(struct work *w, const struct bounds *b)
{
    struct result_saturated *s = &w->ret->saturated;
    if (s->start_ns == ABSENT_I64) {
        s->j_per_token = s->energy_j = s->average_w = s->tail_energy_share = s->tail_token_share = s->tail_time_share =
            quantity_absent(Q_UNDEFINED, "no request has a generation interval");
        return;
    }
    const struct result_stage *formal = &w->ret->stages[STAGE_FORMAL];
    s->start_s = since_formal_s(w, s->start_ns);
    s->end_s = since_formal_s(w, s->end_ns);
    s->tokens = arrived(b, s->start_ns, s->end_ns);
    s->waiting_share = waiting_share(&w->r, s->start_ns, s->end_ns);
    s->meaningful = s->meaningful || s->waiting_share > 0.5;
    measure_window(w, b, s->start_ns, s->end_ns, &s->energy_j, &s->average_w, &s->j_per_token, &s->edge_j_per_token);
    struct energy_set after;
    int64_t late = arrived(b, s->end_ns, formal->end_ns);
    meters_energy(&w->meters, s->end_ns, formal->end_ns, false, &after, NULL, w->a);
    struct quantity tail = *energy_series(&after, headline_of(w->m, STAGE_STEADY));
    s->tail_energy_share = share(&tail, &formal->energy.headline);
    s->tail_token_share = quantity_of((double)late / (double)w->ret->load.output_tokens);
    s->tail_time_share = quantity_of((double)(formal->end_ns - s->end_ns) * 1e-9 / formal->duration_s);
}

static const struct result_steady *chosen(const struct work *w)
{
    return result_steady_of(w->ret, w->m->attribution, w->m->k);
}

/* Everything that needs a formal stage. */
static void look_at_formal(struct work *w)
{
    struct result *ret = w->ret;
    split(w);
    find_steady(w);
    if (steady_saturated(&w->streams, w->m->saturated_share, w->a, &ret->saturated)) {
        ret->load.peak_concurrency = quantity_of((double)ret->saturated.peak);
        if (ret->saturated.end_ns > formal_end(w))
            ret->saturated.end_ns = formal_end(w);
    }
    struct bounds b = count_arrivals(w);
    for (size_t i = 0; i < ret->steady_count; i++)
        fill_steady(w, &b, &ret->steady_table[i]);
    fill_saturated(w, &b);
    ret->steady = *chosen(w);
    window_stage(w, STAGE_STEADY, ret->steady.start_ns, ret->steady.end_ns, ret->steady.why);
    window_stage(w, STAGE_SATURATED, ret->saturated.start_ns, ret->saturated.end_ns,
                 ret->saturated.start_ns == ABSENT_I64 ? "no request has a generation interval" : NULL);
    lag_judge(&w->streams, w->series, ret->gpus, ret->gpu_count, records_boundary(&w->r, BOUNDARY_READY),
              formal_start(w), formal_end(w), w->m, w->a, &ret->lag);
}

static void fill_rows(struct work *w)
{
    struct result_request *rows = w->ret->requests;
    for (size_t i = 0; i < w->order_count; i++)
        rows[w->order[i]].order = (int64_t)i;
    for (size_t i = 0; i < w->ret->request_count; i++) {
        if (!rows[i].generates || !w->energy_j[RULE_GAP] || w->lack_requests)
            continue;
        rows[i].gap_j = w->energy_j[RULE_GAP][i];
        rows[i].interval_j = w->energy_j[RULE_INTERVAL][i];
        rows[i].request_j = w->energy_j[RULE_REQUEST][i];
        rows[i].words_j = w->energy_j[RULE_WORDS][i];
        rows[i].j_per_token = w->energy_j[w->m->attribution][i] / (double)w->streams.streams[i].tokens;
    }
}

bool analyze(const struct records *r, const struct method *m, struct arena *a, struct result *ret, struct err *e)
{
    struct result result;
    must(records_in_order(r));
    struct work w = {.m = m, .a = a, .ret = &result, .r = *r};
    if (!streams_make(&w.r, m, a, &w.streams, e))
        return false;
    w.lack_requests = find_lack_of_requests(&w.r, a);
    result_absent(&result, a, "the run did not reach the formal stage");
    make_meters(&w);
    describe(&w);
    describe_gpus(&w);
    measure_stages(&w);
    result.requests = latency_table(&w.streams, &w.clocks, formal_start(&w), a, &result.load.timings_nulled);
    result.request_count = w.streams.request_count;
    latency_load(&w.streams, result.requests, a, &result.load);
    result.load.clock_steps = (int64_t)w.clocks.step_count;
    if (formal_start(&w) != ABSENT_I64)
        look_at_formal(&w);
    fill_rows(&w);
    metrics_fill(&w.r.plan, &result);
    if (w.lack_requests)
        metrics_lack_requests(&result, w.lack_requests);
    estimate_fill(&result, a);
    *ret = result;
    return true;
}
