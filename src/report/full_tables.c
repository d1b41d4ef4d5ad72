/* The tables of the text report. */
#include <math.h>
#include <string.h>
#include "base/columns.h"
#include "report/internal.h"

static void head_row(struct table *t, const char *const *names)
{
    for (; *names; names++)
        table_cell(t, *names);
    table_end_row(t);
}

static const char *seconds(struct report *p, double s)
{
    return isnan(s) ? "not recorded" : arena_format(&p->arena, "%.2f", s);
}

/* ---- latencies ---- */

static void latency_row(struct report *p, struct table *t, const char *name, const char *unit, double scale,
                        const struct percentiles *x)
{
    enum { COLUMNS = 6 };
    const struct quantity *const all[COLUMNS] = {&x->mean, &x->p50, &x->p90, &x->p95, &x->p99, &x->max};
    /* What has no median has its reason below the table instead of a row. */
    if (!quantity_has_value(&x->p50))
        return;
    table_cell(t, name);
    table_cell(t, unit);
    for (size_t i = 0; i < COLUMNS; i++) {
        struct quantity q = *all[i];
        q.value *= scale;
        q.instrument *= scale;
        table_cell(t, report_cell(p, &q));
    }
    table_cell(t, number_text_i64(&p->arena, x->n));
}

void full_latencies(struct report *p)
{
    const struct result_load *l = &p->r->load;
    struct table t;
    report_heading(p, "Latency");
    table_init(&t, &p->arena, "llddddddr");
    head_row(&t, (const char *const[]){"", "", "mean", "P50", "P90", "P95", "P99", "max", "n", NULL});
    latency_row(p, &t, "TTFT", "s", 1, &l->ttft_s);
    if (l->ttft_visible_s.n > 0 && l->reasoning_tokens != ABSENT_I64 && l->reasoning_tokens > 0)
        latency_row(p, &t, "TTFT, visible", "s", 1, &l->ttft_visible_s);
    latency_row(p, &t, "TPOT", "ms", 1000, &l->tpot_s);
    latency_row(p, &t, l->itl_per_token ? "ITL" : "chunk gap", "ms", 1000, &l->itl_s);
    latency_row(p, &t, "E2E", "s", 1, &l->e2e_s);
    table_put(&t, p->out, 2);
    static const char *const names[] = {"TTFT", "TPOT", "ITL", "E2E"};
    const struct quantity *const all[] = {&l->ttft_s.p50, &l->tpot_s.p50, &l->itl_s.p50, &l->e2e_s.p50};
    report_reasons(p, all, names, 4);
}

/* ---- requests ---- */

static const char *token_source_text(int source)
{
    switch ((enum token_source)source) {
    case TOKENS_RUNNING:
        return "yes; the engine told how many tokens each chunk holds";
    case TOKENS_ALLOTTED:
        return "no; each request's usage was spread over its chunks by their bytes";
    case TOKENS_MIXED:
        return "for some requests only; the others' usage was spread over their chunks";
    case TOKENS_NONE:
        break;
    }
    return "not recorded; no token chunk was recorded";
}

static void named_line(struct report *p, const char *name, const char *text)
{
    report_item(p, 2, 20, name, text);
}

void full_requests(struct report *p)
{
    const struct result_load *l = &p->r->load;
    struct arena *a = &p->arena;
    report_heading(p, "Requests");
    named_line(p, "sent",
               arena_format(a, "%s; successful: %s, failed: %s", number_text_i64(a, l->requests),
                            number_text_i64(a, l->successful), number_text_i64(a, l->failed)));
    for (size_t i = 0; i < l->failure_count; i++) {
        const struct result_failure *f = &l->failures[i];
        named_line(p, "  failed",
                   arena_format(a, "%s: %lld, the first is request %lld%s%s", verdict_names[f->verdict],
                                (long long)f->count, (long long)f->first_request, f->detail ? ": " : "",
                                f->detail ? f->detail : ""));
    }
    named_line(p, "output tokens",
               arena_format(a, "%s; reasoning among them: %s; prompt tokens: %s", number_text_i64(a, l->output_tokens),
                            number_text_i64(a, l->reasoning_tokens), number_text_i64(a, l->prompt_tokens)));
    named_line(p, "token chunks",
               arena_format(a, "%s; with a shared stamp: %s, with the read time: %s",
                            number_text_i64(a, l->token_chunks), number_text_i64(a, l->shared_stamps),
                            number_text_i64(a, l->read_stamps)));
    named_line(p, "running counts", token_source_text(l->token_source));
    named_line(p, "submission",
               arena_format(a, "first to last: %s%s; peak concurrency: %s; without a generation interval: %s",
                            quantity_has_value(&l->submit_window_s) ? number_text(a, l->submit_window_s.value, 3)
                                                                    : report_cell(p, &l->submit_window_s),
                            quantity_has_value(&l->submit_window_s) ? " s" : "",
                            quantity_has_value(&l->peak_concurrency)
                                ? number_text_i64(a, (int64_t)l->peak_concurrency.value)
                                : report_cell(p, &l->peak_concurrency),
                            number_text_i64(a, l->no_interval)));
    named_line(p, "repeated prompts", number_text_i64(a, l->repeated_prompts));
}

/* ---- stages ---- */

static const struct quantity *series_of(const struct result_stage *s, enum series_id series)
{
    return energy_series((struct energy_set *)(uintptr_t)&s->energy, series);
}

/* The headline series is marked; a stage's sum of different ones (the lifecycle) marks none. */
static const char *series_cell(struct report *p, const struct result_stage *s, enum series_id series)
{
    bool headline = s->energy.headline_series == series && s->stage != STAGE_LIFECYCLE;
    return arena_format(&p->arena, "%s%s", report_cell(p, series_of(s, series)), headline ? "*" : " ");
}

/* A stage with no energy by any series has its reason below the tables instead of a row. */
static bool happened(const struct result_stage *s)
{
    for (int k = 0; k < SERIES_COUNT; k++)
        if (quantity_has_value(series_of(s, k)))
            return true;
    return quantity_has_value(&s->energy.headline);
}

static void series_table(struct report *p)
{
    struct table t;
    table_init(&t, &p->arena, "lddddddd");
    head_row(&t,
             (const char *const[]){"", "s", "counter ", "grid 1 s ", "with marks ", "buffer ", "precise ", "W", NULL});
    for (size_t i = 0; i < p->r->stage_count; i++) {
        const struct result_stage *s = &p->r->stages[i];
        if (!happened(s))
            continue;
        table_cell(&t, stage_id_names[s->stage]);
        table_cell(&t, seconds(p, s->duration_s));
        table_cell(&t, series_cell(p, s, SERIES_COUNTER));
        table_cell(&t, series_cell(p, s, SERIES_GRID));
        table_cell(&t, series_cell(p, s, SERIES_MARKS));
        table_cell(&t, series_cell(p, s, SERIES_BUFFER));
        table_cell(&t, series_cell(p, s, SERIES_PRECISE));
        table_cell(&t, report_cell(p, &s->average_w));
    }
    table_put(&t, p->out, 2);
}

/* What a reader must not take for more than it is. */
static void stage_warnings(struct report *p)
{
    for (size_t i = 0; i < p->r->stage_count; i++) {
        const struct result_stage *s = &p->r->stages[i];
        if (happened(s) && s->contradiction)
            report_line(p, arena_format(&p->arena, "The instruments contradict each other in the %s stage: %s.",
                                        stage_id_names[s->stage], s->contradiction));
    }
}

static void headline_table(struct report *p)
{
    struct table t;
    table_init(&t, &p->arena, "ldllddd");
    head_row(&t, (const char *const[]){"", "headline", "instrument", "calibration", "grid/counter", "buffer/counter",
                                       "sampling error", NULL});
    for (size_t i = 0; i < p->r->stage_count; i++) {
        const struct result_stage *s = &p->r->stages[i];
        if (!happened(s))
            continue;
        table_cell(&t, stage_id_names[s->stage]);
        table_cell(&t, report_cell(p, &s->energy.headline));
        table_cell(&t, number_text_uncertainty(&p->arena, s->energy.headline.instrument));
        table_cell(&t, number_text_uncertainty(&p->arena, s->energy.headline.calibration));
        table_cell(&t, report_percent(p, &s->grid_difference, true));
        table_cell(&t, report_percent(p, &s->buffer_difference, true));
        table_cell(&t, report_percent(p, &s->sampling_error, true));
    }
    buf_byte(p->out, '\n');
    table_put(&t, p->out, 2);
}

/* Each GPU's part of the three stages, where there are several. */
static void gpu_table(struct report *p)
{
    static const int stages[] = {STAGE_STARTUP, STAGE_FORMAL, STAGE_RELEASE};
    const struct result *r = p->r;
    if (r->gpu_count < 2 || r->stage_count < STAGE_COUNT)
        return;
    struct table t;
    table_init(&t, &p->arena, "ldlldddd");
    head_row(&t, (const char *const[]){"", "headline", "instrument", "calibration", "counter", "grid 1 s", "buffer",
                                       "W", NULL});
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const struct result_stage *s = result_stage_of(r, stages[i]);
        for (size_t g = 0; g < s->gpu_count; g++) {
            const struct energy_set *e = &s->gpus[g].energy;
            table_cell(&t, arena_format(&p->arena, "%s, GPU %lld", stage_id_names[s->stage],
                                        (long long)r->gpus[s->gpus[g].gpu].index));
            table_cell(&t, report_cell(p, &e->headline));
            table_cell(&t, number_text_uncertainty(&p->arena, e->headline.instrument));
            table_cell(&t, number_text_uncertainty(&p->arena, e->headline.calibration));
            table_cell(&t, report_cell(p, &e->counter));
            table_cell(&t, report_cell(p, &e->grid));
            table_cell(&t, report_cell(p, &e->buffer));
            table_cell(&t, report_cell(p, &s->gpus[g].average_w));
        }
    }
    buf_byte(p->out, '\n');
    table_put(&t, p->out, 2);
}

static bool same_reason(const struct quantity *x, const struct quantity *y)
{
    return x->state == y->state && strcmp(x->why ? x->why : "", y->why ? y->why : "") == 0;
}

/* Reasons of what is absent in the two tables; a series that lacks every stage for one reason is named once. */
static void stage_reasons(struct report *p)
{
    static const char *const heads[SERIES_COUNT] = {"grid", "with marks", "counter", "buffer", "precise"};
    const struct quantity *all[(1 + SERIES_COUNT) * STAGE_COUNT];
    const char *names[(1 + SERIES_COUNT) * STAGE_COUNT];
    size_t n = 0;
    for (int k = -1; k < SERIES_COUNT; k++) {
        size_t first = n;
        bool same = true;
        for (size_t i = 0; i < p->r->stage_count && i < STAGE_COUNT; i++) {
            const struct result_stage *s = &p->r->stages[i];
            if (!happened(s))
                continue;
            all[n] = k < 0 ? &s->energy.headline : series_of(s, k);
            same = same && (n == first || same_reason(all[n], all[first]));
            names[n++] = arena_format(&p->arena, "%s (%s)", k < 0 ? "headline" : heads[k], stage_id_names[s->stage]);
        }
        if (same && n > first + 1) {
            n = first + 1;
            names[first] = k < 0 ? "headline" : heads[k];
        }
    }
    report_reasons(p, all, names, n);
}

/* jtok's own waits, which are in the stages' energy. */
static void put_waits(struct report *p)
{
    const char *text = NULL;
    for (size_t i = 0; i < p->r->stage_count; i++) {
        const struct result_stage *s = &p->r->stages[i];
        if (isnan(s->wait_s))
            continue;
        const char *joules = quantity_has_value(&s->wait_j)
                                 ? arena_format(&p->arena, "%s J %s (%s)", report_cell(p, &s->wait_j),
                                                number_text_uncertainty(&p->arena, s->wait_j.instrument),
                                                report_percent(p, &s->wait_share, false))
                                 : report_cell(p, &s->wait_j);
        text = arena_format(&p->arena, "%s%s: %s s, %s", text ? arena_format(&p->arena, "%s; ", text) : "",
                            stage_id_names[s->stage], number_text(&p->arena, s->wait_s, 3), joules);
    }
    if (text)
        report_item(p, 2, 4, "jtok's own waits:",
                    arena_format(&p->arena,
                                 "%s. They are part of the stage; the share leaves out the silence before "
                                 "the formal start.",
                                 text));
}

static void put_phases(struct report *p)
{
    static const char *const names[PHASE_COUNT] = {
        "process, imports, to the first use of a GPU", "weights loaded", "compiled", "graphs captured", "serving",
        "the rest: readiness, warm-up, connecting"};
    const struct result *r = p->r;
    if (r->startup_phase_count < 2) /* nothing cuts it */
        return;
    bool precise = quantity_has_value(&result_stage_of(r, STAGE_STARTUP)->energy.precise);
    report_heading(p, "Startup by phase, each up to what its name says (by the %s)",
                   precise ? "precise basis" : "counter");
    struct table t;
    table_init(&t, &p->arena, "lddd");
    head_row(&t, (const char *const[]){"", "s", "J", "W", NULL});
    for (size_t i = 0; i < r->startup_phase_count; i++) {
        const struct result_phase *x = &r->startup_phases[i];
        table_cell(&t, names[x->phase]);
        table_cell(&t, seconds(p, x->duration_s));
        table_cell(&t, report_cell(p, &x->energy_j));
        table_cell(&t, report_cell(p, &x->average_w));
    }
    table_put(&t, p->out, 2);
}

void full_stages(struct report *p)
{
    const struct result *r = p->r;
    report_heading(p, "Energy by stage, J, all GPUs together (* the headline: basis %s)",
                   headline_names[r->method.headline]);
    series_table(p);
    headline_table(p);
    gpu_table(p);
    stage_warnings(p);
    stage_reasons(p);
    for (size_t i = 0; i < r->stage_count; i++) {
        const struct result_stage *s = &r->stages[i];
        struct quantity absent = s->energy.headline;
        const struct quantity *one = &absent;
        absent.why = s->why ? s->why : absent.why;
        if (!happened(s))
            report_reasons(p, &one, &stage_id_names[s->stage], 1);
    }
    put_waits(p);
    put_phases(p);
}

/* ---- steady state ---- */

static const char *steady_cell(struct report *p, const struct result_steady *s)
{
    if (!s)
        return "not recorded";
    if (!s->reached)
        return "not reached";
    return arena_format(&p->arena, "%s @ %.2f s", report_cell(p, &s->j_per_token), s->start_s);
}

static void cv_rows(struct report *p, struct table *t)
{
    static const char *const names[] = {"lowest CV", "highest CV", "no generation, J"};
    for (size_t row = 0; row < 3; row++) {
        table_cell(t, names[row]);
        for (size_t i = 0; i < RULE_COUNT; i++) {
            if (i >= p->r->attribution.rule_count) {
                table_cell(t, "not recorded");
                continue;
            }
            const struct result_rule *x = &p->r->attribution.rules[i];
            const struct quantity *q = row == 0 ? &x->cv_min : row == 1 ? &x->cv_max : &x->no_generation_j;
            table_cell(t, row == 2 || !quantity_has_value(q) ? report_cell(p, q)
                                                             : arena_format(&p->arena, "%.4f", q->value));
        }
    }
}

/* A steady value above the others looks like a mistake, and is none: its window runs to the end. */
static void put_drained(struct report *p)
{
    const struct result_metrics *m = &p->r->metrics;
    const struct quantity *steady = &m->steady_j_per_token, *formal = &m->formal_j_per_token;
    if (!quantity_has_value(steady) || !quantity_has_value(formal) || !(steady->value > formal->value))
        return;
    const struct quantity *life = &m->lifecycle_j_per_token;
    bool over_life = quantity_has_value(life) && steady->value > life->value;
    report_line(p, arena_format(&p->arena,
                                "The steady window runs to the end of the formal stage, so it holds the tail in which "
                                "few requests are left and each token costs more: %s J/token against %s over the whole "
                                "formal stage%s.",
                                report_cell(p, steady), report_cell(p, formal),
                                over_life
                                    ? arena_format(&p->arena, " and %s over the full lifecycle", report_cell(p, life))
                                    : ""));
}

void full_steady(struct report *p)
{
    static const enum steady_k ks[] = {K_1, K_2, K_3, K_ALL};
    const struct result *r = p->r;
    const struct result_steady *s = &r->steady;
    report_heading(p, "Steady state, J/token @ start of the window after the formal start");
    struct table t;
    table_init(&t, &p->arena, "lrrrr");
    table_cell(&t, "");
    for (size_t i = 0; i < RULE_COUNT; i++)
        table_cell(&t, arena_format(&p->arena, "%s%s", rule_names[i], i == r->method.attribution ? "*" : " "));
    for (size_t k = 0; k < K_COUNT; k++) {
        table_cell(&t, arena_format(&p->arena, "K = %s%s", steady_k_names[ks[k]], ks[k] == r->method.k ? "*" : ""));
        for (int i = 0; i < RULE_COUNT; i++)
            table_cell(&t, arena_format(&p->arena, "%s ", steady_cell(p, result_steady_of(r, i, ks[k]))));
    }
    cv_rows(p, &t);
    table_put(&t, p->out, 2);
    buf_fmt(p->out, "  * the reading and K that count; windows of %lld requests, CV below %g\n",
            (long long)r->method.window, r->method.cv_limit);
    buf_fmt(p->out, "  Running counts: %s\n", token_source_text(r->load.token_source));
    if (s->reached)
        report_item(
            p, 2, 4, "Reached:",
            arena_format(
                &p->arena,
                "from window %lld at %.2f s to %.2f s; %lld requests completed in it (%lld to %lld), %s J, %s tokens.",
                (long long)s->window, s->start_s, s->end_s, (long long)s->requests, (long long)s->first_request,
                (long long)s->last_request, report_cell(p, &s->energy_j), number_text_i64(&p->arena, s->tokens)));
    else
        report_item(p, 2, 4, "Not reached:", s->why ? s->why : "no reason was recorded");
    put_drained(p);
}

/* ---- saturation and delivery ---- */

static void put_saturated(struct report *p)
{
    const struct result_saturated *s = &p->r->saturated;
    struct arena *a = &p->arena;
    if (!quantity_has_value(&s->energy_j)) {
        named_line(p, "saturated",
                   arena_format(a, "%s: %s", quantity_state_words(&s->energy_j),
                                s->energy_j.why ? s->energy_j.why : "no reason was recorded"));
        return;
    }
    named_line(
        p, "saturated",
        arena_format(a,
                     "%.3f s to %.3f s: %s J, %s tokens, %s J/token; from %lld requests at once on, the peak is %lld%s",
                     s->start_s, s->end_s, report_cell(p, &s->energy_j), number_text_i64(a, s->tokens),
                     report_cell(p, &s->j_per_token), (long long)s->level, (long long)s->peak,
                     s->meaningful ? "" : ": means little, as no request waited while others ran"));
    named_line(p, "tail after it",
               arena_format(a, "%s of the formal stage's time, %s of its energy, %s of its tokens",
                            report_percent(p, &s->tail_time_share, false),
                            report_percent(p, &s->tail_energy_share, false),
                            report_percent(p, &s->tail_token_share, false)));
}

void full_delivery(struct report *p)
{
    const struct result_lag *l = &p->r->lag;
    struct arena *a = &p->arena;
    report_heading(p, "Saturation and delivery (times from the formal start)");
    put_saturated(p);
    if (l->measurable)
        named_line(p, "idle while owed",
                   arena_format(a, "GPUs idle for %.2f s, %s J, %s of the formal stage, with tokens outstanding%s",
                                l->idle_owed_s.value, report_cell(p, &l->idle_owed_j),
                                report_percent(p, &l->idle_owed_share, false),
                                l->delivery_lag ? ": delivery lag" : ""));
    else
        named_line(p, "idle while owed",
                   arena_format(a, "not measurable: %s", l->why ? l->why : "no reason was recorded"));
    if (l->delivery_lag)
        named_line(p, "",
                   "The front end (HTTP, detokenizer) fell behind the GPUs, so tokens arrived in other windows than "
                   "the energy that "
                   "made them. More API server or tokenizer processes, or a larger stream interval, help.");
    named_line(p, "merged chunks",
               arena_format(a, "%s; tokens of the largest later chunk: %s, of the largest of all: %s",
                            number_text_i64(a, l->merged_chunks), number_text_i64(a, l->largest_later_chunk),
                            number_text_i64(a, l->largest_chunk)));
}

/* ---- estimate ---- */

static const char *kilojoules(struct report *p, const struct quantity *q)
{
    struct quantity k = *q;
    k.value /= 1000;
    k.instrument /= 1000;
    return report_cell(p, &k);
}

void full_estimate(struct report *p)
{
    const struct result_estimate *e = &p->r->estimate;
    struct arena *a = &p->arena;
    report_heading(p, "Estimate: one start, N requests like these, one release");
    if (!quantity_has_value(&e->fixed_j) || !quantity_has_value(&e->e_request_j)) {
        const struct quantity *q = quantity_has_value(&e->fixed_j) ? &e->e_request_j : &e->fixed_j;
        report_item(p, 2, 4, "No estimate:",
                    arena_format(a, "%s: %s", quantity_state_words(q), q->why ? q->why : "no reason was recorded"));
        return;
    }
    report_item(p, 2, 4, "E(N) =",
                arena_format(a, "%s kJ + N x %s J; per request by: %s.", kilojoules(p, &e->fixed_j),
                             report_cell(p, &e->e_request_j), e->source ? e->source : "not recorded"));
    report_item(p, 2, 4, "Per request:",
                arena_format(a, "from steady state %s, mean attributed %s, formal stage / requests %s J%s",
                             report_cell(p, &e->e_steady_j), report_cell(p, &e->e_attributed_j),
                             report_cell(p, &e->e_formal_j),
                             e->ranged ? ": over 10 % apart, so the range is given." : "."));
    struct table t;
    table_init(&t, a, e->ranged ? "rdddrl" : "rdddr");
    head_row(&t, (const char *const[]){"N", "E(N), kJ", "J/request", "overhead J/request", "overhead",
                                       e->ranged ? "range of E(N), kJ" : NULL, NULL});
    for (size_t i = 0; i < e->table_count; i++) {
        const struct estimate *x = &e->table[i];
        table_cell(&t, number_text_i64(a, x->requests));
        table_cell(&t, kilojoules(p, &x->total_j));
        table_cell(&t, report_cell(p, &x->per_request_j));
        table_cell(&t, report_cell(p, &x->overhead_per_request_j));
        table_cell(&t, report_percent(p, &x->overhead_share, false));
        if (e->ranged)
            table_cell(&t, isnan(x->low_j) ? "one value"
                                           : arena_format(a, "%s to %s", number_text(a, x->low_j / 1000, 4),
                                                          number_text(a, x->high_j / 1000, 4)));
    }
    table_put(&t, p->out, 2);
    const struct quantity *const n[] = {&e->n_overhead_10, &e->n_overhead_5, &e->n_overhead_1};
    const char *text[3];
    for (size_t i = 0; i < 3; i++)
        text[i] = quantity_has_value(n[i]) ? number_text_i64(a, (int64_t)n[i]->value) : report_cell(p, n[i]);
    report_line(p, arena_format(a,
                                "Overhead is under 10 %% from N = %s, under 5 %% from %s, under 1 %% from %s. A "
                                "measured value takes precedence.",
                                text[0], text[1], text[2]));
}

/* ---- GPUs, release ---- */

void full_gpus(struct report *p)
{
    const struct result *r = p->r;
    const struct result_release *x = &r->release;
    report_heading(p, "GPUs and release (times from the formal end, s)");
    struct table t;
    table_init(&t, &p->arena, "rldddddd");
    head_row(&t, (const char *const[]){"", "UUID", "baseline W", "sd W", "formal W", "ready W", "memory back",
                                       "power back", NULL});
    for (size_t i = 0; i < r->gpu_count; i++) {
        const struct result_gpu *g = &r->gpus[i];
        table_cell(&t, number_text_i64(&p->arena, g->index));
        table_cell(&t, g->uuid ? arena_format(&p->arena, "%.12s", g->uuid) : "not recorded");
        table_cell(&t, report_cell(p, &g->baseline_w));
        table_cell(&t, isnan(g->baseline_sd_w) ? "not recorded" : arena_format(&p->arena, "%.2f", g->baseline_sd_w));
        table_cell(&t, isnan(g->formal_mean_w) ? "not recorded" : arena_format(&p->arena, "%.1f", g->formal_mean_w));
        table_cell(&t, quantity_has_value(&g->ready_level_w) ? arena_format(&p->arena, "%.1f", g->ready_level_w.value)
                                                             : report_cell(p, &g->ready_level_w));
        table_cell(&t, quantity_has_value(&g->memory_released_s) ? seconds(p, g->memory_released_s.value)
                                                                 : report_cell(p, &g->memory_released_s));
        table_cell(&t, quantity_has_value(&g->power_recovered_s) ? seconds(p, g->power_recovered_s.value)
                                                                 : report_cell(p, &g->power_recovered_s));
    }
    table_put(&t, p->out, 2);
    if (x->closed)
        buf_fmt(p->out, "  Release closed after %s s: processes gone %s, memory back %s, power back %s\n",
                seconds(p, x->end_s.value), seconds(p, x->exit_s.value), seconds(p, x->memory_released_s.value),
                seconds(p, x->power_recovered_s.value));
    else
        report_item(p, 2, 4, "Release not closed:", x->why ? x->why : "no reason was recorded");
    if (quantity_has_value(&x->resolution_j))
        report_line(p,
                    arena_format(&p->arena,
                                 "Power is read once a period, so the release may have ended up to one period, %s J at "
                                 "idle power, earlier. That is not part of its ±.",
                                 number_text(&p->arena, x->resolution_j.value, 3)));
    if (x->hold_restarts > 0)
        report_line(p,
                    arena_format(&p->arena,
                                 "Power left its band again after the engine was gone; up to the first sample in band, "
                                 "%s s after the formal stage, the release took %s J.",
                                 seconds(p, x->first_in_band_s.value), report_cell(p, &x->first_in_band_j)));
}
