/* The whole report of a run with other loads: each load with its window, rates, latencies and energy. */
#include <math.h>
#include "base/must.h"
#include "report/internal.h"

/* ---- tables over all loads ---- */

struct load_column {
    const char *name;
    double factor;
    const struct quantity *(*of)(const struct result_point *p);
};

static const struct quantity *mean_flight_of(const struct result_point *p)
{
    return &p->flight.mean;
}

static const struct quantity *power_of(const struct result_point *p)
{
    return &p->window.average_w;
}

static const struct quantity *output_of(const struct result_point *p)
{
    return &p->rates.output_tok_s;
}

static const struct quantity *input_of(const struct result_point *p)
{
    return &p->rates.input_tok_s;
}

static const struct quantity *request_of(const struct result_point *p)
{
    return &p->rates.request_s;
}

static const struct quantity *user_of(const struct result_point *p)
{
    return &p->rates.user_tok_s;
}

static const struct quantity *token_of(const struct result_point *p)
{
    return &p->j_per_token;
}

static const struct quantity *per_request_of(const struct result_point *p)
{
    return &p->j_per_request;
}

static const struct quantity *total_of(const struct result_point *p)
{
    return &p->j_per_total_token;
}

static const struct quantity *good_of(const struct result_point *p)
{
    return &p->goodput_share;
}

static const struct quantity *good_token_of(const struct result_point *p)
{
    return &p->j_per_good_token;
}

static void put_columns(struct report *p, const char *heading, const struct load_column *columns, size_t n)
{
    static const char align[] = "ldddddddddd";
    must(n + 2 <= sizeof align);
    struct table t;
    report_heading(p, "%s", heading);
    table_init(&t, &p->arena, arena_format(&p->arena, "%.*s", (int)n + 1, align));
    table_cell(&t, "load");
    for (size_t i = 0; i < n; i++)
        table_cell(&t, columns[i].name);
    for (size_t k = 0; k < p->r->loads.point_count; k++) {
        const struct result_point *x = &p->r->loads.points[k];
        table_cell(&t, arena_format(&p->arena, "%lld  %s", (long long)x->number, report_or(p, x->setting, "")));
        for (size_t i = 0; i < n; i++) {
            const struct quantity q = quantity_scaled(columns[i].of(x), columns[i].factor);
            table_cell(&t, quantity_has_value(&q) ? number_text_instrument(&p->arena, &q) : quantity_state_words(&q));
        }
    }
    table_put(&t, p->out, 2);
}

static void put_curve(struct report *p)
{
    static const struct load_column energy[] = {
        {"in flight", 1, mean_flight_of}, {"tok/s", 1, output_of}, {"W", 1, power_of}, {"J/token", 1, token_of}};
    static const struct load_column rates[] = {
        {"requests/s", 1, request_of}, {"input tok/s", 1, input_of}, {"tok/s of a user", 1, user_of}};
    static const struct load_column others[] = {{"J/request", 1, per_request_of},
                                                {"J/(input and output token)", 1, total_of},
                                                {"good %", 100, good_of},
                                                {"J/good token", 1, good_token_of}};
    put_columns(p, "Energy against load", energy, sizeof energy / sizeof *energy);
    put_columns(p, "Rates", rates, sizeof rates / sizeof *rates);
    put_columns(p, "Energy, otherwise divided", others, sizeof others / sizeof *others);
}

/* ---- one load ---- */

static void put_latencies(struct report *p, const struct result_point_times *x)
{
    struct table t;
    table_init(&t, &p->arena, "lddddddr");
    full_head_row(&t, (const char *const[]){"", "mean", "P50", "P90", "P95", "P99", "max", "n", NULL});
    full_percentiles(p, &t, "TTFT, s", NULL, 1, &x->ttft_s);
    full_percentiles(p, &t, "TPOT, ms", NULL, 1000, &x->tpot_s);
    full_percentiles(p, &t, x->itl_per_token ? "ITL, ms" : "chunk gap, ms", NULL, 1000, &x->itl_s);
    full_percentiles(p, &t, "E2E, s", NULL, 1, &x->e2e_s);
    full_percentiles(p, &t, "sent late, ms", NULL, 1000, &x->lateness_s);
    table_put(&t, p->out, 2);
}

static const char *counts_text(struct report *p, const struct result_point *x)
{
    struct arena *a = &p->arena;
    const struct result_point_requests *n = &x->requests;
    const char *good =
        n->good == ABSENT_I64 ? "" : arena_format(a, ", %s keep the limits", number_text_i64(a, n->good));
    return arena_format(a, "%s sent in the window, %s of them failed%s; %s in the whole load, %s failed",
                        number_text_i64(a, n->sent), number_text_i64(a, n->failed), good, number_text_i64(a, n->all),
                        number_text_i64(a, n->all_failed));
}

static void put_failures(struct report *p, const struct result_point *x)
{
    for (size_t i = 0; i < x->failure_count; i++) {
        const struct result_failure *f = &x->failures[i];
        must(f->verdict < VERDICT_COUNT);
        full_item(p, i ? "" : "failed",
                  arena_format(&p->arena, "%lld x %s; request %lld: %s", (long long)f->count, verdict_names[f->verdict],
                               (long long)f->first_request, report_or(p, f->detail, "nothing noted")));
    }
}

static const char *joules_text(struct report *p, const struct quantity *j)
{
    return quantity_has_value(j) ? arena_format(&p->arena, "%s J", number_text_instrument(&p->arena, j))
                                 : report_cell(p, j);
}

/* On a service that runs already. */
static void put_other_users(struct report *p, const struct result_point *x)
{
    struct arena *a = &p->arena;
    const struct result_point_others *o = &x->others;
    if (p->r->loads.object != OBJECT_ATTACH)
        return;
    const char *tokens =
        quantity_has_value(&o->token_share)
            ? arena_format(a, "%.2f ± %.2f %% of the engine's tokens", 100 * o->token_share.value,
                           100 * o->token_share.instrument)
            : arena_format(a, "tokens not known: %s", report_or(p, o->token_share.why, "not recorded"));
    const char *requests =
        quantity_has_value(&o->requests)
            ? arena_format(a, "%s requests beside jtok's", report_cell(p, &o->requests))
            : arena_format(a, "requests not known: %s", report_or(p, o->requests.why, "not recorded"));
    full_item(p, "of others", arena_format(a, "%s; %s%s", tokens, requests, o->seen ? ": OTHERS WERE SERVED" : ""));
}

/* Each GPU's power in the window, where there are several. */
static void put_each_gpu(struct report *p, const struct result_stage *window)
{
    const char *text = NULL;
    for (size_t i = 0; i < window->gpu_count; i++)
        text = arena_join(&p->arena, text, ", ",
                          arena_format(&p->arena, "GPU %lld %s W", (long long)window->gpus[i].gpu,
                                       report_cell(p, &window->gpus[i].average_w)));
    if (window->gpu_count > 1)
        full_item(p, "each", text);
}

static void put_window(struct report *p, const struct result_point *x)
{
    struct arena *a = &p->arena;
    full_item(p, "window",
              arena_format(a, "%s s, from %s s to %s s of the run; %s J", full_seconds(p, x->window.duration_s),
                           full_seconds(p, (double)x->window.start_ns / 1e9),
                           full_seconds(p, (double)x->window.end_ns / 1e9),
                           number_text_instrument(a, &x->window.energy.headline)));
    put_each_gpu(p, &x->window);
    full_item(p, "tokens",
              arena_format(a, "%s out and %s in; not counted: %s before the window (%s), %s after it (%s)",
                           number_text_i64(a, x->tokens.output), number_text_i64(a, x->tokens.input),
                           number_text_i64(a, x->tokens.before), joules_text(p, &x->before_j),
                           number_text_i64(a, x->tokens.after), joules_text(p, &x->after_j)));
    full_item(p, "in flight",
              arena_format(a, "%s in the middle third, %s in the last, %s at most%s", report_cell(p, &x->flight.middle),
                           report_cell(p, &x->flight.last), number_text_i64(a, x->flight.peak),
                           x->flight.overloaded ? ": OVERLOADED" : ""));
    put_other_users(p, x);
    full_item(p, "delivery",
              x->lag.measurable
                  ? arena_format(a, "GPUs idle while requests were outstanding: %s of the window%s",
                                 report_percent(p, &x->lag.idle_owed_share, false),
                                 x->lag.delivery_lag ? ": DELIVERY LAG" : "")
                  : arena_format(a, "not measurable: %s", report_or(p, x->lag.why, "no reason was recorded")));
    if (!quantity_has_value(&x->j_per_token) || x->j_per_token.state == Q_EXCLUDED)
        full_item(p, "J/token", report_or(p, x->j_per_token.why, "not recorded"));
}

static void put_whole_load(struct report *p, const struct result_point *x)
{
    report_heading(p, "Load %lld: %.120s", (long long)x->number, report_or(p, x->setting, ""));
    full_item(p, "requests", counts_text(p, x));
    put_failures(p, x);
    if (!x->reached) {
        full_item(p, "window", arena_format(&p->arena, "none: %s", report_or(p, x->why, "no reason was recorded")));
        return;
    }
    put_window(p, x);
    put_latencies(p, &x->times);
    full_engine(p, &x->engine);
}

static void put_idle(struct report *p)
{
    const struct result_loads *l = &p->r->loads;
    if (!l->silence_count)
        return;
    report_heading(p, "No load");
    for (size_t i = 0; i < l->silence_count; i++) {
        const struct result_silence *x = &l->silences[i];
        full_item(p, arena_format(&p->arena, "before load %lld", (long long)x->before),
                  arena_format(&p->arena, "%s W over %s s", number_text_instrument(&p->arena, &x->average_w),
                               full_seconds(p, x->duration_s)));
    }
}

void full_loads(struct report *p)
{
    must(p->r->loads.point_count == 0 || p->r->loads.points);
    put_curve(p);
    put_idle(p);
    for (size_t i = 0; i < p->r->loads.point_count; i++)
        put_whole_load(p, &p->r->loads.points[i]);
}
