/* The text report: head, trust, metrics. The tables are in report_tables.c. */
#include "base/columns.h"
#include "report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/utf8.h"
#include "report/report_internal.h"

/* ---- pieces ---- */

static void put_escape(struct report *p, const char *escape)
{
    if (p->escape_count == p->escape_capacity) {
        p->escape_capacity = p->escape_capacity ? 2 * p->escape_capacity : 64;
        p->escapes = mem_grow(p->escapes, p->escape_capacity, sizeof *p->escapes);
    }
    p->escapes[p->escape_count++] = (struct report_escape){p->out->n, escape};
}

void report_look(struct report *p, enum report_look look, const char *text)
{
    static const char *const codes[] = {[LOOK_HEADING] = "\033[1m",
                                        [LOOK_GOOD] = "\033[1;32m",
                                        [LOOK_BAD] = "\033[1;31m",
                                        [LOOK_MARK] = "\033[33m",
                                        [LOOK_FAINT] = "\033[2m"};
    put_escape(p, codes[look]);
    buf_str(p->out, text);
    put_escape(p, "\033[0m");
}

/* The whole text made fit to be shown, then the colours between its pieces: no escape in it is anybody's but ours. */
static void put_shown(const struct report *p, bool colour, struct buf *out)
{
    struct span text = buf_span(p->out);
    size_t from = 0;
    for (size_t i = 0; colour && i < p->escape_count; from = p->escapes[i++].at) {
        utf8_show(out, (struct span){text.p + from, p->escapes[i].at - from}, true);
        buf_str(out, p->escapes[i].code);
    }
    utf8_show(out, (struct span){text.p + from, text.n - from}, true);
}

void report_heading(struct report *p, const char *format, ...)
{
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buf_byte(p->out, '\n');
    report_look(p, LOOK_HEADING, text);
    buf_byte(p->out, '\n');
}

void report_item(struct report *p, size_t left, size_t indent, const char *name, const char *text)
{
    size_t end = left + columns_text(name), at = end < indent ? indent : end + 1;
    buf_fmt(p->out, "%*s%s%*s", (int)left, "", name, (int)(at - end), "");
    text_wrap(p->out, text, at, indent, REPORT_COLUMNS);
}

void report_line(struct report *p, const char *text)
{
    buf_str(p->out, "  ");
    text_wrap(p->out, text, 2, 4, REPORT_COLUMNS);
}

const char *report_cell(struct report *p, const struct quantity *q)
{
    return number_text_quantity(&p->arena, q);
}

const char *report_percent(struct report *p, const struct quantity *q, bool sign)
{
    if (!quantity_has_value(q) || isnan(q->value))
        return report_cell(p, q);
    /* Neither "-0.00" nor "+0.00". */
    if (fabs(q->value) < 0.00005)
        return "0.00 %";
    return arena_format(&p->arena, sign ? "%+.2f %%" : "%.2f %%", 100 * q->value);
}

/* The long reason for no steady state stands once, in its own section and among the marks. */
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
            report_line(p, arena_format(&p->arena, "%s: %s: %s", all, quantity_state_text(list[i]->state), why));
    }
}

/* ---- head ---- */

/* Names come from servers and files: one line each, fit to be shown. */
static const char *or_text(struct report *p, const char *text, const char *absent)
{
    return text && text[0] ? utf8_line(&p->arena, text) : absent;
}

static void put_head(struct report *p)
{
    const struct result *r = p->r;
    report_look(p, LOOK_HEADING, arena_format(&p->arena, "%s", or_text(p, r->name, or_text(p, r->model, "a run"))));
    buf_fmt(p->out, "\n  run       %s\n", or_text(p, r->run_id, "without id"));
    buf_fmt(p->out, "  model     %s%s%s\n", or_text(p, r->model, "not recorded"), r->revision ? ", revision " : "",
            or_text(p, r->revision, ""));
    buf_fmt(p->out, "  engine    %s %s on %s\n", or_text(p, r->engine, "not recorded"),
            or_text(p, r->engine_version, "(version not recorded)"), or_text(p, result_gpus_text(r, &p->arena), ""));
    buf_fmt(p->out, "  scenario  %s\n", or_text(p, r->scenario, "not recorded"));
    buf_fmt(p->out, "  method    %s%s, by jtok %s\n", result_is_older(r) ? "evaluated under " : "",
            or_text(p, r->method_id, "not recorded"), or_text(p, r->jtok_version, "(version not recorded)"));
    if (result_is_older(r))
        buf_fmt(p->out, "            \"jtok analyze RUN\" evaluates it under %s\n", METHOD_ID);
    else if (r->records_method_id && strcmp(r->records_method_id, METHOD_ID) != 0)
        buf_fmt(p->out, "            its records were made under %s, by jtok %s\n",
                or_text(p, r->records_method_id, ""), or_text(p, r->records_jtok_version, "(version not recorded)"));
}

/* ---- what can be trusted ---- */

static const char *upper(struct report *p, const char *name)
{
    char *text = arena_text(&p->arena, name);
    for (char *c = text; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    return text;
}

/* A name in its look, padded by what the escapes do not count. */
static void put_code(struct report *p, enum report_look look, const char *name, const char *text)
{
    enum { INDENT = 29 }; /* the longest name and two spaces */
    buf_str(p->out, "    ");
    report_look(p, look, name);
    buf_fmt(p->out, "%*s", (int)(INDENT - 4 - columns_text(name)), "");
    text_wrap(p->out, text, INDENT, INDENT, REPORT_COLUMNS);
}

static void put_excluded(struct report *p)
{
    const struct result *r = p->r;
    buf_str(p->out, "  ");
    report_look(p, LOOK_BAD, "EXCLUDED");
    buf_fmt(p->out, "  not a formal run: %s\n", result_checks_text(r, &p->arena));
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < r->check_count; i++) {
            const struct result_check *c = &r->checks[i];
            if (pass == 0 && c->outcome == CHECK_FAILED)
                put_code(p, LOOK_BAD, check_code_names[c->code], or_text(p, c->why, "failed"));
            if (pass == 1 && c->outcome == CHECK_NOT_RECORDED)
                put_code(p, LOOK_FAINT, check_code_names[c->code],
                         arena_format(&p->arena, "not recorded: %s", or_text(p, c->why, "")));
            if (pass == 1 && c->outcome == CHECK_NOT_CHECKED)
                put_code(p, LOOK_FAINT, check_code_names[c->code],
                         arena_format(&p->arena, "not checked%s%s", c->why ? ": " : "", or_text(p, c->why, "")));
        }
}

static void put_trust(struct report *p)
{
    const struct result *r = p->r;
    buf_byte(p->out, '\n');
    if (r->simulated) {
        buf_str(p->out, "  ");
        report_look(p, LOOK_BAD, "SIMULATED");
        buf_fmt(p->out, "  %s No figure below is a measurement of hardware.\n",
                r->mark_count > RMARK_SIMULATED ? or_text(p, r->marks[RMARK_SIMULATED].why, "") : "");
    }
    if (r->formal) {
        buf_str(p->out, "  ");
        report_look(p, LOOK_GOOD, "FORMAL");
        buf_fmt(p->out, "  %s\n", result_checks_text(r, &p->arena));
    } else {
        put_excluded(p);
    }
    bool any = false;
    for (size_t i = 0; i < r->mark_count; i++) {
        const struct result_mark *m = &r->marks[i];
        if (m->outcome != CHECK_FAILED || m->code == RMARK_SIMULATED)
            continue;
        if (!any)
            buf_str(p->out, "  marks\n");
        any = true;
        put_code(p, LOOK_MARK, mark_code_names[m->code], or_text(p, m->why, ""));
    }
    if (r->differences) {
        buf_str(p->out, "  ");
        report_look(p, LOOK_MARK, upper(p, "not the method's reading"));
        buf_fmt(p->out, "  analysed with %s\n", or_text(p, r->differences, ""));
    }
}

/* ---- metrics ---- */

enum { METRICS_MAX = 8 }; /* in one table */

struct metric {
    const char *name, *unit;
    const struct quantity *q;
};

/* Name, value and unit, both uncertainties; below, for what has no value or one with a reservation, its state and
 * reason. */
static void put_metrics(struct report *p, const char *title, const struct metric *list, size_t n)
{
    struct table t;
    table_init(&t, &p->arena, "ldlll");
    table_cell(&t, title);
    table_cell(&t, "");
    table_cell(&t, "");
    table_cell(&t, "instrument");
    table_cell(&t, "calibration");
    const struct quantity *all[METRICS_MAX];
    const char *names[METRICS_MAX];
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

static bool leads_with_steady(const struct result *r)
{
    return r->metrics.steady_j_per_token.state == Q_MEASURED;
}

static void put_tokens(struct report *p)
{
    const struct result_metrics *m = &p->r->metrics;
    const struct metric steady = {"steady state", "J/token", &m->steady_j_per_token};
    const struct metric lifecycle = {"full lifecycle", "J/token", &m->lifecycle_j_per_token};
    const struct metric formal = {"formal stage", "J/token", &m->formal_j_per_token};
    const struct metric saturated = {"saturated", "J/token", &m->saturated_j_per_token};
    struct metric list[6];
    size_t n = 0;
    if (leads_with_steady(p->r))
        list[n++] = steady;
    else {
        list[n++] = formal;
        list[n++] = saturated;
    }
    list[n++] = lifecycle;
    if (leads_with_steady(p->r)) {
        list[n++] = formal;
        list[n++] = saturated;
    } else {
        list[n++] = steady;
    }
    list[n++] = (struct metric){"per input and output token", "J/token", &m->j_per_total_token};
    list[n++] = (struct metric){"per visible token", "J/token", &m->j_per_visible_token};
    put_metrics(p, "Energy per output token", list, n);
    report_line(
        p, "instrument: how far this run's reading may be from what the board's sensor saw. calibration: the assumed "
           "limit of that sensor. between runs: unknown from one run, and usually the largest of the three; "
           "\"jtok compare\" finds it from repetitions.");
}

static void put_others(struct report *p)
{
    const struct result_metrics *m = &p->r->metrics;
    const struct metric list[] = {
        {"startup energy", "J", &m->startup_j},
        {"release energy", "J", &m->release_j},
        {"formal energy per request", "J", &m->j_per_request},
        {"output throughput", "tok/s", &m->throughput_tok_s},
        {"average formal power", "W", &m->formal_w},
        {"average steady power", "W", &m->steady_w},
        {"average lifecycle power", "W", &m->lifecycle_w},
        {"formal tokens per kWh", "tokens", &m->tokens_per_kwh},
    };
    put_metrics(p, "Energy, power, throughput", list, sizeof list / sizeof *list);
    if (isnan(m->pue) || isnan(m->server_factor))
        return;
    const struct metric money[] = {
        {"energy, whole server", "kWh", &m->kwh_per_million_tokens},
        {"cost", or_text(p, m->currency, "(no currency)"), &m->cost_per_million_tokens},
        {"carbon", "g CO2", &m->carbon_g_per_million_tokens},
    };
    put_metrics(
        p,
        arena_format(&p->arena, "Per million tokens, with your server factor %g and PUE %g", m->server_factor, m->pue),
        money, 3);
}

void report_text(const struct result *r, bool colour, struct buf *out)
{
    struct buf text = {0};
    struct report p = {.r = r, .out = &text};
    put_head(&p);
    put_trust(&p);
    put_tokens(&p);
    put_others(&p);
    report_latencies(&p);
    report_requests(&p);
    report_stages(&p);
    report_steady(&p);
    report_delivery(&p);
    report_estimate(&p);
    report_gpus(&p);
    report_checks(&p);
    put_shown(&p, colour, out);
    free(p.escapes);
    buf_done(&text);
    arena_done(&p.arena);
}
