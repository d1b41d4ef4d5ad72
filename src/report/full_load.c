/* The whole report: latencies, requests, steady state, delivery, estimate. */
#include <math.h>
#include "base/must.h"
#include "report/internal.h"

/* ---- latencies ---- */

void full_percentiles(struct report *p, struct table *t, const char *name, const char *unit, double scale,
                      const struct percentiles *x)
{
    enum { COLUMNS = 6 };
    const struct quantity *const all[COLUMNS] = {&x->mean, &x->p50, &x->p90, &x->p95, &x->p99, &x->max};
    /* What has no median has its reason below the table instead of a row. */
    if (!quantity_has_value(&x->p50))
        return;
    table_cell(t, name);
    if (unit)
        table_cell(t, unit);
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct quantity q = quantity_scaled(all[i], scale);
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
    full_head_row(&t, (const char *const[]){"", "", "mean", "P50", "P90", "P95", "P99", "max", "n", NULL});
    full_percentiles(p, &t, "TTFT", "s", 1, &l->ttft_s);
    if (l->ttft_visible_s.n > 0 && l->reasoning_tokens != ABSENT_I64 && l->reasoning_tokens > 0)
        full_percentiles(p, &t, "TTFT, visible", "s", 1, &l->ttft_visible_s);
    full_percentiles(p, &t, "TPOT", "ms", 1000, &l->tpot_s);
    full_percentiles(p, &t, l->itl_per_token ? "ITL" : "chunk gap", "ms", 1000, &l->itl_s);
    full_percentiles(p, &t, "E2E", "s", 1, &l->e2e_s);
    table_put(&t, p->out, 2);
    static const char *const names[] = {"TTFT", "TPOT", "ITL", "E2E"};
    const struct quantity *const all[] = {&l->ttft_s.p50, &l->tpot_s.p50, &l->itl_s.p50, &l->e2e_s.p50};
    report_reasons(p, all, names, 4);
}

/* ---- requests ---- */

static const char *token_source_text(enum token_source source)
{
    switch (source) {
    case TOKENS_RUNNING:
        return "told by the engine in each chunk";
    case TOKENS_ALLOTTED:
        return "not told: each answer's count was divided among its chunks by their bytes";
    case TOKENS_MIXED:
        return "told for some answers only; the others' counts were divided among their chunks";
    case TOKENS_NONE:
        break;
    }
    return "not recorded: no chunk with tokens was recorded";
}

void full_requests(struct report *p)
{
    const struct result_load *l = &p->r->load;
    struct arena *a = &p->arena;
    report_heading(p, "Requests");
    full_item(p, "sent",
              arena_format(a, "%s; answered: %s, failed: %s", number_text_i64(a, l->requests),
                           number_text_i64(a, l->successful), number_text_i64(a, l->failed)));
    for (size_t i = 0; i < l->failure_count; i++) {
        const struct result_failure *f = &l->failures[i];
        must(f->verdict < VERDICT_COUNT);
        full_item(p, "  failed",
                  arena_format(a, "%s: %lld, the first is request %lld%s%s", verdict_names[f->verdict],
                               (long long)f->count, (long long)f->first_request, f->detail ? ": " : "",
                               f->detail ? f->detail : ""));
    }
    full_item(p, "tokens",
              arena_format(a, "out: %s, reasoning among them: %s; in: %s", number_text_i64(a, l->output_tokens),
                           number_text_i64(a, l->reasoning_tokens), number_text_i64(a, l->prompt_tokens)));
    full_item(p, "token chunks",
              arena_format(a, "%s; at one moment with another: %s, timed by jtok, not the kernel: %s",
                           number_text_i64(a, l->token_chunks), number_text_i64(a, l->shared_stamps),
                           number_text_i64(a, l->read_stamps)));
    full_item(p, "tokens a chunk", token_source_text(l->token_source));
    full_item(p, "sending",
              arena_format(a, "took %s%s; most at once: %s; answered at a single moment: %s",
                           quantity_has_value(&l->submit_window_s) ? number_text(a, l->submit_window_s.value, 3)
                                                                   : report_cell(p, &l->submit_window_s),
                           quantity_has_value(&l->submit_window_s) ? " s" : "",
                           quantity_has_value(&l->peak_concurrency)
                               ? number_text_i64(a, (int64_t)l->peak_concurrency.value)
                               : report_cell(p, &l->peak_concurrency),
                           number_text_i64(a, l->no_interval)));
    full_item(p, "repeated prompts", number_text_i64(a, l->repeated_prompts));
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
    static const char *const names[] = {"least variation", "most variation", "none generated, J"};
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
    report_line(
        p, arena_format(&p->arena,
                        "The steady window runs to the last answer, so it holds the end, where few requests are left "
                        "and each token costs more: %s J/token against %s over all of serving%s.",
                        report_cell(p, steady), report_cell(p, formal),
                        over_life ? arena_format(&p->arena, " and %s with start and stop", report_cell(p, life)) : ""));
}

void full_steady(struct report *p)
{
    static const enum steady_k ks[] = {K_1, K_2, K_3, K_ALL};
    static const char *const runs[] = {"1 window", "2 in a row", "3 in a row", "all windows"};
    const struct result *r = p->r;
    const struct result_steady *s = &r->steady;
    must(r->method.attribution < RULE_COUNT && r->method.k < K_COUNT);
    report_heading(p, "Steady state by each rule, J/token @ s after the first request");
    struct table t;
    table_init(&t, &p->arena, "lrrrr");
    table_cell(&t, "");
    for (size_t i = 0; i < RULE_COUNT; i++)
        table_cell(&t, arena_format(&p->arena, "%s%s", rule_names[i], i == r->method.attribution ? "*" : " "));
    for (size_t k = 0; k < K_COUNT; k++) {
        table_cell(&t, arena_format(&p->arena, "%s%s", runs[k], ks[k] == r->method.k ? "*" : ""));
        for (enum rule i = 0; i < RULE_COUNT; i++)
            table_cell(&t, arena_format(&p->arena, "%s ", steady_cell(p, result_steady_of(r, i, ks[k]))));
    }
    cv_rows(p, &t);
    table_put(&t, p->out, 2);
    buf_fmt(p->out,
            "  * what counts; windows of %lld requests, their variation (standard deviation over mean) below %g\n",
            (long long)r->method.window, r->method.cv_limit);
    buf_fmt(p->out, "  Tokens a chunk: %s\n", token_source_text(r->load.token_source));
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
        full_item(p, "at peak load",
                  arena_format(a, "%s: %s", quantity_state_words(&s->energy_j),
                               s->energy_j.why ? s->energy_j.why : "no reason was recorded"));
        return;
    }
    full_item(
        p, "at peak load",
        arena_format(a, "%.3f s to %.3f s: %s J, %s tokens, %s J/token; %lld requests or more at once, at most %lld%s",
                     s->start_s, s->end_s, report_cell(p, &s->energy_j), number_text_i64(a, s->tokens),
                     report_cell(p, &s->j_per_token), (long long)s->level, (long long)s->peak,
                     s->meaningful ? "" : ": means little, as no request waited for a place"));
    full_item(p, "draining",
              arena_format(a, "%s of serving's time, %s of its energy, %s of its tokens",
                           report_percent(p, &s->tail_time_share, false),
                           report_percent(p, &s->tail_energy_share, false),
                           report_percent(p, &s->tail_token_share, false)));
}

void full_delivery(struct report *p)
{
    const struct result_lag *l = &p->r->lag;
    struct arena *a = &p->arena;
    report_heading(p, "Peak load and delivery (times from the first request)");
    put_saturated(p);
    if (l->measurable)
        full_item(p, "idle, tokens due",
                  arena_format(a, "GPUs idle for %.2f s, %s J, %s of serving, while tokens were due%s",
                               l->idle_owed_s.value, report_cell(p, &l->idle_owed_j),
                               report_percent(p, &l->idle_owed_share, false), l->delivery_lag ? ": delivery lag" : ""));
    else
        full_item(p, "idle, tokens due",
                  arena_format(a, "could not be measured: %s", l->why ? l->why : "no reason was recorded"));
    if (l->delivery_lag)
        full_item(p, "",
                  "The front end (HTTP, detokenizer) fell behind the GPUs, so tokens arrived long after the energy "
                  "that made them. More API server or tokenizer processes, or a larger stream interval, help.");
    full_item(p, "merged chunks",
              arena_format(a, "%s; tokens in the largest but an answer's first: %s, in the largest of all: %s",
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
    report_heading(p, "Estimate: one start, N requests like these, one stop");
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
                arena_format(a, "from steady state %s, mean of each request's share %s, serving / requests %s J%s",
                             report_cell(p, &e->e_steady_j), report_cell(p, &e->e_attributed_j),
                             report_cell(p, &e->e_formal_j),
                             e->ranged ? ": over 10 % apart, so the range is given." : "."));
    struct table t;
    table_init(&t, a, e->ranged ? "rdddrl" : "rdddr");
    full_head_row(&t, (const char *const[]){"N", "E(N), kJ", "J/request", "start and stop J/request", "share",
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
    report_line(p,
                arena_format(a,
                             "Start and stop are under 10 %% of the total from N = %s, under 5 %% from %s, under 1 %% "
                             "from %s. Where N was measured, the measured value stands.",
                             text[0], text[1], text[2]));
}
