/* The report on one screen: the same lines in the same order for every run. */
#include <math.h>
#include <string.h>
#include "base/columns.h"
#include "base/must.h"
#include "report/report.h"
#include "report/screen.h"

/* ---- verdict ---- */

static void put_verdict(struct screen *s)
{
    struct arena *a = &s->p.arena;
    const struct check_words *list[CODE_COUNT];
    size_t n = screen_excluding(s, list);
    const bool stands = result_standing(s->r) != STANDING_EXCLUDED;
    const bool valid = s->r->about.differences || result_standing(s->r) == STANDING_VALID;
    const char *verdict = !stands ? "EXCLUDED" : valid ? "VALID" : "FORMAL";
    const char *why = result_is_older(s->r) ? "Every check of its own, older method has passed."
                                            : "Every check that applies has passed.";
    if (stands && s->r->about.differences)
        why = "Every check passed, but under rules of your own, see below.";
    else if (s->r->loads.shortened)
        why = "Every check passed, after a shortened baseline or warm-up.";
    if (!stands)
        why = !n ? "The result gives no reason."
              : screen_no_window(s)
                  ? "Nothing was measured: no load was reached, see below."
                  : arena_format(a, "%s%s", screen_phrase(s, list[0]), n > 1 ? ", and more below." : ".");
    const char *lead = arena_format(a, "%s%s%s", s->options->unsealed ? "NOT SEALED, " : "",
                                    s->r->about.simulated ? "SIMULATED, " : "", verdict);
    enum report_look look = stands && !s->r->about.simulated && !s->options->unsealed ? LOOK_GOOD : LOOK_BAD;
    screen_line(s, look, strlen(lead), arena_format(a, "%s  %s", lead, why));
}

/* ---- J/token ---- */

static void headline_row(struct screen *s, struct screen_table *table, const char *name, const struct quantity *q)
{
    screen_cell(table, screen_has(q) ? screen_within(s, report_cell(&s->p, q), q->value, 10) : screen_absence(q));
    screen_cell(table, arena_format(&s->p.arena, "%s %s", screen_j_per_token(s), name));
    screen_cell(table, screen_has(q) ? screen_doubt(s, q->instrument) : "");
    screen_cell(table, screen_has(q) ? screen_doubt(s, q->calibration) : "");
    screen_row_end(table, screen_has(q) && screen_out_of_use(s, q));
}

static void put_headline(struct screen *s)
{
    const struct quantity *serving = &s->r->metrics.formal_j_per_token, *all = &s->r->metrics.lifecycle_j_per_token;
    /* By their decimal points, unless that would make the column wider than its widest number. */
    bool apart = quantity_value(serving) >= 10 || quantity_value(all) >= 10;
    struct screen_table table;
    screen_table_init(s, &table, apart ? "rlll" : "dlll",
                      (const char *const[]){"", "", "instrument", "calibration", NULL});
    headline_row(s, &table, "serving", serving);
    headline_row(s, &table, all->state == Q_NOT_CLOSED ? "with start, so far" : "with start and stop", all);
    screen_table_put(s, &table, NULL, "J/token");
    screen_text(s, "  ± instrument: error in reading the sensor; calibration: error of the sensor.");
    screen_text(s, "  The spread between runs is unknown, usually larger. [ ]: do not use.");
}

/* ---- what else is per token, request and second ---- */

static const char *limit_text(struct screen *s)
{
    double limit = 0;
    for (size_t i = 0; i < s->r->gpu_count; i++)
        limit += s->r->gpus[i].power_limit_w;
    return s->r->gpu_count && limit > 0 ? arena_format(&s->p.arena, " of %s", screen_rounded(s, limit, 3, 8)) : "";
}

static void put_rates(struct screen *s)
{
    const struct result_metrics *m = &s->r->metrics;
    const struct quantity *const all[] = {&m->formal_j_per_token, &m->j_per_request, &m->throughput_tok_s,
                                          &m->formal_w};
    static const double factors[] = {1e6 / 3600, 1, 1, 1};
    struct screen_table table;
    screen_table_init(s, &table, "rrrr",
                      (const char *const[]){"Wh/million tokens", "J/request", "tokens/s", "W serving, of limit", NULL});
    bool bracket = false;
    for (size_t i = 0; i < 4; i++)
        bracket = bracket || (screen_has(all[i]) && screen_out_of_use(s, all[i]));
    for (size_t i = 0; i < 4; i++) {
        struct quantity q = *all[i];
        const char *text = screen_has(&q) ? screen_rounded(s, q.value * factors[i], 4, 8) : screen_absence(&q);
        screen_cell(&table, i == 3 && screen_has(&q) ? arena_format(&s->p.arena, "%s%s", text, limit_text(s)) : text);
    }
    screen_row_end(&table, bracket);
    screen_table_put(s, &table, NULL, NULL);
}

/* "28.41 requests/s; tok/s: 8 367 in, 20 015 in and out, 29.33 a user". */
static void put_speed(struct screen *s)
{
    const struct result_load *l = &s->r->load;
    const struct quantity *out = &s->r->metrics.throughput_tok_s, *tpot = &l->tpot_s.p50;
    const double seconds = result_stage_of(s->r, STAGE_FORMAL)->duration_s;
    const bool in = l->prompt_tokens != ABSENT_I64;
    if (!screen_has(out) || !(seconds > 0)) {
        screen_sentence(s, false, arena_format(&s->p.arena, "requests a second: %s", screen_absence(out)));
        return;
    }
    const double each[] = {(double)l->successful / seconds, in ? (double)l->prompt_tokens / seconds : (double)NAN,
                           in ? (double)l->prompt_tokens / seconds + out->value : (double)NAN,
                           screen_has(tpot) ? 1 / tpot->value : (double)NAN};
    const char *text[4];
    for (size_t i = 0; i < 4; i++)
        text[i] = screen_rounded(s, each[i], 4, 8);
    screen_sentence(s, screen_out_of_use(s, out),
                    arena_format(&s->p.arena, "%s requests/s; tok/s: %s in, %s in and out, %s a user", text[0], text[1],
                                 text[2], text[3]));
}

/* ---- what ran ---- */

static void put_identity(struct screen *s)
{
    const struct result *r = s->r;
    struct report *p = &s->p;
    struct arena *a = &p->arena;
    screen_text(
        s,
        arena_format(a, "  %s%s%s%s%s on %s %s", columns_cut(a, report_or(p, r->about.model, "model not recorded"), 32),
                     r->about.precision ? ", " : "", columns_cut(a, report_or(p, r->about.precision, ""), 10),
                     r->about.thinking ? ", thinking " : "", columns_cut(a, report_or(p, r->about.thinking, ""), 24),
                     columns_cut(a, report_or(p, r->about.engine, "an engine not recorded"), 22),
                     columns_cut(a, report_or(p, r->about.engine_version, ""), 16)));
    if (r->loads.object == OBJECT_WATCH) {
        screen_text(s, arena_format(a, "  %s, under its users' load",
                                    columns_cut(a, report_or(p, result_gpus_text(r, a), "GPUs not recorded"), 30)));
        return;
    }
    const char *what = arena_format(
        a, "  %s, %s request%s of ", columns_cut(a, report_or(p, result_gpus_text(r, a), "GPUs not recorded"), 30),
        r->load.requests == ABSENT_I64
            ? "the"
            : screen_within(s, number_text_i64(&s->p.arena, r->load.requests), (double)r->load.requests, 9),
        r->load.requests == 1 ? "" : "s");
    const char *how = r->loads.object == OBJECT_ATTACH ? ", attached"
                      : result_has_loads(r)            ? ", by load"
                                                       : ", all at once";
    screen_text(s, arena_format(a, "%s%s%s", what,
                                columns_cut(a, report_or(p, r->about.scenario, "a set not recorded"),
                                            SCREEN_COLUMNS - columns_text(what) - columns_text(how)),
                                how));
}

/* ---- latency ---- */

/* "queue 77 %": a share of what the engine says of itself, where there is one to speak of and room beside the row. */
static const char *share_words(struct screen *s, const char *name, const struct quantity *q, bool any)
{
    if (!screen_has(q) || !(any || q->value > 0))
        return "";
    return arena_format(&s->p.arena, "%s %s %%", name, screen_fixed(s, 100 * q->value, 0, 7));
}

static void percentiles_row(struct screen *s, struct screen_table *table, const char *name, double scale,
                            const struct percentiles *x, const char *remark)
{
    const struct quantity *const all[] = {&x->mean, &x->p50, &x->p90, &x->p99, &x->max};
    bool fault = result_latency_fault(s->r) != NULL, bracket = false;
    for (size_t i = 0; i < 5; i++)
        bracket = bracket || (screen_has(all[i]) && (fault || screen_out_of_use(s, all[i])));
    screen_cell(table, name);
    for (size_t i = 0; i < 5; i++)
        screen_cell(table, screen_has(all[i]) ? screen_rounded(s, scale * all[i]->value, 4, 8) : "");
    screen_cell(table, screen_has(&x->p50) ? remark : screen_absence(&x->p50));
    screen_row_end(table, bracket);
}

/* `beside`: with what the engine says of itself. */
static struct screen_table latency_table(struct screen *s, bool beside)
{
    const struct result_load *l = &s->r->load;
    const struct result_engine *x = &s->r->engine;
    const char *const remarks[] = {share_words(s, "queue", &x->times.queue_share, true),
                                   share_words(s, "drafts", &x->accepted_share, false),
                                   share_words(s, "prefix", &x->prefix_hit_share, false)};
    bool any = beside && (remarks[0][0] || remarks[1][0] || remarks[2][0]);
    struct screen_table table;
    screen_table_init(s, &table, "ldddddl",
                      (const char *const[]){"Latency", "mean", "P50", "P90", "P99", "max", any ? "engine" : "", NULL});
    percentiles_row(s, &table, "first token (TTFT), s", 1, &l->ttft_s, any ? remarks[0] : "");
    percentiles_row(s, &table, "per token (TPOT), ms", 1000, &l->tpot_s, any ? remarks[1] : "");
    percentiles_row(s, &table, "answer (E2E), s", 1, &l->e2e_s, any ? remarks[2] : "");
    return table;
}

static void put_latency(struct screen *s)
{
    struct screen_table table = latency_table(s, true);
    if (screen_table_columns(&table) > SCREEN_COLUMNS)
        table = latency_table(s, false);
    screen_table_put(s, &table, "Latency", NULL);
}

/* ---- requests ---- */

static const char *count_words(struct screen *s, int64_t n, const char *what)
{
    if (n == ABSENT_I64)
        return arena_format(&s->p.arena, "%s not recorded", what);
    return arena_format(&s->p.arena, "%s %s", screen_within(s, number_text_i64(&s->p.arena, n), (double)n, 13), what);
}

static void put_requests(struct screen *s)
{
    static const char head[] = "Requests";
    const struct result_load *l = &s->r->load;
    struct arena *a = &s->p.arena;
    screen_line(s, LOOK_HEADING, sizeof head - 1,
                arena_format(a, "%s  %s, %s, %s", head, count_words(s, l->successful, "answered"),
                             count_words(s, l->prompt_tokens, "tokens in"), count_words(s, l->output_tokens, "out")));
    const char *failed = l->failed == 0 ? "none failed" : count_words(s, l->failed, "failed");
    if (l->failure_count) {
        const struct result_failure *f = &l->failures[0];
        must(f->verdict < VERDICT_COUNT);
        failed = arena_format(a, "%s; request %lld: %s", failed, (long long)f->first_request,
                              report_or(&s->p, f->detail, verdict_names[f->verdict]));
    }
    screen_text(s, arena_format(a, "%*s%s", (int)sizeof head + 1, "", failed));
}

/* ---- where to go on ---- */

static void put_next(struct screen *s)
{
    struct arena *a = &s->p.arena;
    const char *run = s->options->run ? s->options->run : s->r->about.run_id;
    screen_text(s, arena_format(a, "%s, by jtok %s", result_checks_text(s->r, a),
                                report_or(&s->p, s->r->about.jtok_version, "(unknown)")));
    screen_text(
        s, arena_format(a, "RUN is %s", columns_cut_front(a, report_or(&s->p, run, "not named"), SCREEN_COLUMNS - 7)));
    screen_text(s, "jtok report RUN --full, --checks or --format svg; jtok verify RUN");
}

static void screen_burst(struct screen *s)
{
    put_headline(s);
    screen_blank(s);
    put_rates(s);
    put_speed(s);
    put_identity(s);
    screen_blank(s);
    screen_energy(s);
    screen_blank(s);
    put_latency(s);
    screen_blank(s);
    put_requests(s);
}

static void screen_curve(struct screen *s)
{
    put_identity(s);
    screen_blank(s);
    screen_loads(s);
}

void report_screen(const struct result *r, const struct report_options *options, struct buf *out)
{
    must(r && options && out);
    struct screen s = {.r = r, .options = options};
    report_init(&s.p, r);
    put_verdict(&s);
    if (result_has_loads(r))
        screen_curve(&s);
    else
        screen_burst(&s);
    screen_blank(&s);
    screen_care(&s);
    screen_blank(&s);
    put_next(&s);
    must(s.lines <= SCREEN_LINES);
    report_done(&s.p, options->colour, out);
}
