/* The whole report: head, trust, metrics. The tables are in full_load.c and full_stages.c. */
#include <math.h>
#include <string.h>
#include "base/must.h"
#include "report/internal.h"
#include "report/report.h"

/* The long reason for no steady state stands once, in its own section and among the flags. */
static const char *reason_of(struct report *p, const struct quantity *q)
{
    const char *why = q->why ? q->why : "no reason was recorded";
    return p->r->steady.why && strcmp(why, p->r->steady.why) == 0 ? "no steady state, see below" : why;
}

void report_reasons(struct report *p, const struct quantity *const *list, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i]->state == Q_MEASURED)
            continue;
        const char *why = reason_of(p, list[i]), *all = NULL;
        bool first = true;
        for (size_t j = 0; j < n; j++) {
            if (list[j]->state != list[i]->state || strcmp(reason_of(p, list[j]), why) != 0)
                continue;
            first = first && j >= i;
            all = all ? arena_format(&p->arena, "%s, %s", all, names[j]) : names[j];
        }
        if (first)
            report_line(p, arena_format(&p->arena, "%s: %s: %s", all, quantity_state_words(list[i]), why));
    }
}

void full_head_row(struct table *t, const char *const *names)
{
    must(t->count == 0);
    for (; *names; names++)
        table_cell(t, *names);
    table_end_row(t);
}

void full_item(struct report *p, const char *name, const char *text)
{
    report_item(p, 2, 20, name, text);
}

const char *full_seconds(struct report *p, double s)
{
    return isnan(s) ? "not recorded" : arena_format(&p->arena, "%.2f", s);
}

/* ---- head ---- */

static void put_title(struct report *p)
{
    const struct result *r = p->r;
    report_look(p, LOOK_HEADING,
                arena_format(&p->arena, "%s", report_or(p, r->about.name, report_or(p, r->about.model, "a run"))));
    buf_fmt(p->out, "\n  run       %s\n", report_or(p, r->about.run_id, "without id"));
    buf_fmt(p->out, "  model     %s%s%s\n", report_or(p, r->about.model, "not recorded"),
            r->about.revision ? ", revision " : "", report_or(p, r->about.revision, ""));
    if (r->about.thinking)
        buf_fmt(p->out, "  thinking  %s\n", report_or(p, r->about.thinking, ""));
    buf_fmt(p->out, "  engine    %s %s on %s\n", report_or(p, r->about.engine, "not recorded"),
            report_or(p, r->about.engine_version, "(version not recorded)"),
            report_or(p, result_gpus_text(r, &p->arena), ""));
    buf_fmt(p->out, "  scenario  %s\n", report_or(p, r->about.scenario, "not recorded"));
    buf_fmt(p->out, "  method    %s%s, by jtok %s\n", result_is_older(r) ? "evaluated under " : "",
            report_or(p, r->about.method_id, "not recorded"),
            report_or(p, r->about.jtok_version, "(version not recorded)"));
    if (result_is_older(r))
        buf_fmt(p->out, "            \"jtok analyze RUN\" evaluates it under %s\n", METHOD_ID);
    else if (r->about.records_method_id && strcmp(r->about.records_method_id, METHOD_ID) != 0)
        buf_fmt(p->out, "            its records were made under %s, by jtok %s\n",
                report_or(p, r->about.records_method_id, ""),
                report_or(p, r->about.records_jtok_version, "(version not recorded)"));
}

/* ---- metrics ---- */

/* A metric is one row of one of the lists below. */
struct metric {
    const char *name, *unit;
    const struct quantity *q;
};

/* Name, value and unit, both uncertainties; below, for what has no value or one with a reservation, its state and
 * reason. */
static void put_metrics(struct report *p, const char *title, const struct metric *list, size_t n)
{
    must(n > 0);
    struct table t;
    table_init(&t, &p->arena, "ldlll");
    table_cell(&t, title);
    table_cell(&t, "");
    table_cell(&t, "");
    table_cell(&t, "instrument");
    table_cell(&t, "calibration");
    const struct quantity **all = arena_array(&p->arena, n, sizeof *all);
    const char **names = arena_array(&p->arena, n, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        const struct quantity *q = list[i].q;
        all[i] = q;
        names[i] = list[i].name;
        table_cell(&t, arena_format(&p->arena, "  %s", list[i].name));
        table_cell(&t, report_cell(p, q));
        bool has = quantity_has_value(q) && !isnan(q->value);
        table_cell(&t, has ? list[i].unit : "");
        table_cell(&t, has ? number_text_uncertainty(&p->arena, q->instrument) : "");
        table_cell(&t, has ? number_text_uncertainty(&p->arena, q->calibration) : "");
    }
    buf_byte(p->out, '\n');
    struct buf body = {0};
    table_put(&t, &body, 0);
    size_t head = strcspn(buf_text(&body), "\n");
    report_look(p, LOOK_HEADING, arena_copy(&p->arena, body.p, head));
    buf_add(p->out, body.p + head, body.n - head);
    buf_done(&body);
    report_reasons(p, all, names, n);
}

static void put_tokens(struct report *p)
{
    const struct result_metrics *m = &p->r->metrics;
    const struct metric list[] = {
        {"serving", "J/token", &m->formal_j_per_token},
        {"with start and stop", "J/token", &m->lifecycle_j_per_token},
        {"in steady state", "J/token", &m->steady_j_per_token},
        {"at peak load", "J/token", &m->saturated_j_per_token},
        {"per input and output token", "J/token", &m->j_per_total_token},
        {"per visible token", "J/token", &m->j_per_visible_token},
    };
    put_metrics(p, "Energy per output token", list, sizeof list / sizeof *list);
    report_line(p,
                "instrument: error in reading the board's sensor. calibration: the assumed limit of that sensor's own "
                "error. between runs: unknown from one run, and usually the largest of the three; "
                "\"jtok compare\" finds it from repetitions.");
}

static void put_others(struct report *p)
{
    const struct result_metrics *m = &p->r->metrics;
    const struct metric list[] = {
        {"start", "J", &m->startup_j},
        {"stop", "J", &m->release_j},
        {"serving, per request", "J", &m->j_per_request},
        {"output tokens per second", "tok/s", &m->throughput_tok_s},
        {"power, serving", "W", &m->formal_w},
        {"power, in steady state", "W", &m->steady_w},
        {"power, start to stop", "W", &m->lifecycle_w},
        {"tokens per kWh, serving", "tokens", &m->tokens_per_kwh},
    };
    put_metrics(p, "Energy, power, throughput", list, sizeof list / sizeof *list);
    if (isnan(m->pue) || isnan(m->server_factor))
        return;
    const struct metric money[] = {
        {"energy, whole server", "kWh", &m->kwh_per_million_tokens},
        {"cost", report_or(p, m->currency, "(no currency)"), &m->cost_per_million_tokens},
        {"carbon", "g CO2", &m->carbon_g_per_million_tokens},
    };
    put_metrics(
        p,
        arena_format(&p->arena, "Per million tokens, with your server factor %g and PUE %g", m->server_factor, m->pue),
        money, sizeof money / sizeof *money);
}

static void put_burst(struct report *p)
{
    put_tokens(p);
    put_others(p);
    full_latencies(p);
    full_requests(p);
    full_stages(p);
    full_steady(p);
    full_delivery(p);
    report_heading(p, "In the engine, by its own /metrics");
    full_engine(p, &p->r->engine);
    full_estimate(p);
}

void report_full(const struct result *r, const struct report_options *options, struct buf *out)
{
    struct report p;
    report_init(&p, r);
    report_seal(&p, options);
    put_title(&p);
    buf_byte(p.out, '\n');
    full_trust(&p);
    if (result_is_running(r)) { /* no stage is jtok's, and nothing comes to rest */
        full_loads(&p);
    } else if (result_has_loads(r)) {
        full_loads(&p);
        full_stages(&p);
        full_gpus(&p);
    } else {
        put_burst(&p);
        full_gpus(&p);
    }
    full_identity(&p);
    full_checks(&p);
    report_done(&p, options->colour, out);
}
