/* The report on one screen: the same lines in the same order for every run. */
#include <math.h>
#include <string.h>
#include "base/columns.h"
#include "base/must.h"
#include "base/utf8.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/words.h"

enum {
    INDENT = 2,
    CARE_LINES = 5, /* what the other sections leave of SCREEN_LINES */
    CARE_NAME = 26,
    CARE_ITEM_LINES = 2,
    BAR = 16,
};

struct screen {
    struct report p;
    const struct result *r;
    const struct report_options *options;
    size_t lines;
};

/* ---- lines ---- */

/* One line; its first `led` bytes in a look of their own. What does not fit is cut, and shows that. */
static void put_line(struct screen *s, enum report_look look, size_t led, const char *text)
{
    const char *shown = columns_cut(&s->p.arena, utf8_line(&s->p.arena, text), SCREEN_COLUMNS);
    size_t n = strlen(shown), lead = led < n ? led : n;
    while (n > lead && shown[n - 1] == ' ')
        n--;
    if (lead)
        report_look(&s->p, look, arena_copy(&s->p.arena, shown, lead));
    buf_add(s->p.out, shown + lead, n - lead);
    buf_byte(s->p.out, '\n');
    s->lines++;
}

static void put_text(struct screen *s, const char *text)
{
    put_line(s, LOOK_FAINT, 0, text);
}

static void put_blank(struct screen *s)
{
    put_text(s, "");
}

/* ---- tables whose rows may stand in brackets ---- */

enum { ROWS_MAX = 8 };

/* A row in brackets is measured, and must not be used. */
struct rows {
    struct table t;
    size_t n;
    bool bracket[ROWS_MAX];
};

static void rows_init(struct screen *s, struct rows *rows, const char *align, const char *const *names)
{
    *rows = (struct rows){.n = 1};
    table_init(&rows->t, &s->p.arena, align);
    for (; *names; names++)
        table_cell(&rows->t, *names);
    table_end_row(&rows->t);
}

static void row_cell(struct rows *rows, const char *text)
{
    table_cell(&rows->t, text);
}

static void row_end(struct rows *rows, bool bracket)
{
    must(rows->n < ROWS_MAX);
    table_end_row(&rows->t);
    rows->bracket[rows->n++] = bracket;
}

/* `heading`: what the first line begins with; it stands out. */
static void rows_put(struct screen *s, const struct rows *rows, const char *heading)
{
    struct arena *a = &s->p.arena;
    struct buf b = {0};
    size_t widest = 0, i = 0;
    table_put(&rows->t, &b, 0);
    for (const char *at = buf_text(&b); *at; at += strcspn(at, "\n") + 1) {
        size_t n = columns_count((struct span){at, strcspn(at, "\n")});
        widest = n > widest ? n : widest;
    }
    for (const char *at = buf_text(&b); *at; at += strcspn(at, "\n") + 1, i++) {
        struct span line = {at, strcspn(at, "\n")};
        if (i == 0 && heading)
            put_line(s, LOOK_HEADING, strlen(heading),
                     arena_format(a, "%s%*s%.*s", heading, INDENT, "", (int)(line.n - strlen(heading)),
                                  line.p + strlen(heading)));
        else if (rows->bracket[i])
            put_text(s, arena_format(a, "[ %.*s%*s%s", SPAN_ARG(line), (int)(widest - columns_count(line)), "",
                                     widest + 4 > SCREEN_COLUMNS ? "]" : " ]"));
        else
            put_text(s, arena_format(a, "%*s%.*s", INDENT, "", SPAN_ARG(line)));
    }
    buf_done(&b);
}

/* A sentence with numbers of its own, in brackets where the run's are. */
static void put_sentence(struct screen *s, const char *text)
{
    if (!s->r->formal)
        text = arena_format(&s->p.arena, "[ %s ]", columns_cut(&s->p.arena, text, SCREEN_COLUMNS - 4));
    else
        text = arena_format(&s->p.arena, "%*s%s", INDENT, "", text);
    put_text(s, text);
}

/* ---- numbers ---- */

static bool has(const struct quantity *q)
{
    return quantity_has_value(q) && isfinite(q->value);
}

/* What stands in the place of a value that is not there. */
static const char *absence(const struct quantity *q)
{
    return quantity_has_value(q) ? "not recorded" : quantity_state_words(q);
}

/* A number that would break its column is written with an exponent. */
static const char *within(struct screen *s, const char *text, double value, size_t columns)
{
    return columns_text(text) <= columns ? text : arena_format(&s->p.arena, "%.1e", value);
}

static const char *doubt_text(struct screen *s, double doubt)
{
    const char *text = isfinite(doubt) ? number_text_uncertainty(&s->p.arena, doubt) : "";
    return columns_text(text) <= 11 ? text : arena_format(&s->p.arena, "± %.1e", doubt);
}

static const char *rounded(struct screen *s, double value, int digits, size_t columns)
{
    return !isfinite(value) ? "not recorded" : within(s, number_text(&s->p.arena, value, digits), value, columns);
}

static const char *fixed(struct screen *s, double value, int places, size_t columns)
{
    struct buf b = {0};
    if (!isfinite(value))
        return "";
    number_put(&b, value, places);
    const char *text = arena_copy(&s->p.arena, b.p, b.n);
    buf_done(&b);
    return within(s, text, value, columns);
}

static const char *count(struct screen *s, int64_t n)
{
    return number_text_i64(&s->p.arena, n);
}

static bool out_of_use(const struct screen *s, const struct quantity *q)
{
    return !s->r->formal || q->state == Q_EXCLUDED;
}

/* "J/token", and that it is no measurement where it is none. */
static const char *j_per_token(const struct screen *s)
{
    return s->r->about.simulated ? "J/token SIMULATED" : "J/token";
}

/* ---- verdict ---- */

static const struct result_check *check_of(const struct result *r, int code)
{
    return (size_t)code < r->check_count ? &r->checks[code] : NULL;
}

/* The checks that exclude, what failed before what could not be told, the likelier cause first. Returns their number.
 */
static size_t excluding(const struct screen *s, const struct check_words **ret_list)
{
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < CODE_COUNT; i++) {
            const struct result_check *c = check_of(s->r, words_checks[i].code);
            if (c && check_excludes(c->outcome) && (c->outcome == CHECK_FAILED) == (pass == 0))
                ret_list[n++] = &words_checks[i];
        }
    return n;
}

static const char *phrase_of(const struct screen *s, const struct check_words *w)
{
    return check_of(s->r, w->code)->outcome == CHECK_FAILED ? w->failed : w->unknown;
}

static void put_verdict(struct screen *s)
{
    struct arena *a = &s->p.arena;
    const struct check_words *list[CODE_COUNT];
    size_t n = excluding(s, list);
    const char *verdict = !s->r->formal ? "EXCLUDED" : s->r->differences ? "VALID" : "FORMAL";
    const char *why = result_is_older(s->r) ? "Every check of its own, older method has passed."
                                            : "Every check that applies has passed.";
    if (s->r->formal && s->r->differences)
        why = "Every check passed, but under rules of your own, see below.";
    if (!s->r->formal)
        why = !n ? "The result gives no reason."
                 : arena_format(a, "%s%s", phrase_of(s, list[0]), n > 1 ? ", and more below." : ".");
    const char *lead = arena_format(a, "%s%s%s", s->options->unsealed ? "NOT SEALED, " : "",
                                    s->r->about.simulated ? "SIMULATED, " : "", verdict);
    enum report_look look = s->r->formal && !s->r->about.simulated && !s->options->unsealed ? LOOK_GOOD : LOOK_BAD;
    put_line(s, look, strlen(lead), arena_format(a, "%s  %s", lead, why));
}

/* ---- J/token ---- */

static void headline_row(struct screen *s, struct rows *rows, const char *name, const struct quantity *q)
{
    row_cell(rows, has(q) ? within(s, report_cell(&s->p, q), q->value, 10) : absence(q));
    row_cell(rows, arena_format(&s->p.arena, "%s %s", j_per_token(s), name));
    row_cell(rows, has(q) ? doubt_text(s, q->instrument) : "");
    row_cell(rows, has(q) ? doubt_text(s, q->calibration) : "");
    row_end(rows, has(q) && out_of_use(s, q));
}

static void put_headline(struct screen *s)
{
    const struct quantity *serving = &s->r->metrics.formal_j_per_token, *all = &s->r->metrics.lifecycle_j_per_token;
    /* By their decimal points, unless that would make the column wider than its widest number. */
    bool apart = quantity_value(serving) >= 10 || quantity_value(all) >= 10;
    struct rows rows;
    rows_init(s, &rows, apart ? "rlll" : "dlll", (const char *const[]){"", "", "instrument", "calibration", NULL});
    headline_row(s, &rows, "serving", serving);
    headline_row(s, &rows, all->state == Q_NOT_CLOSED ? "with start, so far" : "with start and stop", all);
    rows_put(s, &rows, NULL);
    put_text(s, "  ± instrument: how far this reading may be off; calibration: the GPU's own");
    put_text(s, "  sensor. One run: the spread between runs is unknown, and usually larger.");
}

/* ---- what else is per token, request and second ---- */

static const char *limit_text(struct screen *s)
{
    double limit = 0;
    for (size_t i = 0; i < s->r->gpu_count; i++)
        limit += s->r->gpus[i].power_limit_w;
    return s->r->gpu_count && limit > 0 ? arena_format(&s->p.arena, " of %s", rounded(s, limit, 3, 8)) : "";
}

static void put_rates(struct screen *s)
{
    const struct result_metrics *m = &s->r->metrics;
    const struct quantity *const all[] = {&m->formal_j_per_token, &m->j_per_request, &m->throughput_tok_s,
                                          &m->formal_w};
    static const double factors[] = {1e6 / 3600, 1, 1, 1};
    struct rows rows;
    rows_init(s, &rows, "rrrr",
              (const char *const[]){"Wh/million tokens", "J/request", "tokens/s", "W serving, of limit", NULL});
    bool bracket = false;
    for (size_t i = 0; i < 4; i++)
        bracket = bracket || (has(all[i]) && out_of_use(s, all[i]));
    for (size_t i = 0; i < 4; i++) {
        struct quantity q = *all[i];
        const char *text = has(&q) ? rounded(s, q.value * factors[i], 4, 8) : absence(&q);
        row_cell(&rows, i == 3 && has(&q) ? arena_format(&s->p.arena, "%s%s", text, limit_text(s)) : text);
    }
    row_end(&rows, bracket);
    rows_put(s, &rows, NULL);
}

/* ---- what ran ---- */

static void put_identity(struct screen *s)
{
    const struct result *r = s->r;
    struct report *p = &s->p;
    struct arena *a = &p->arena;
    put_text(s, arena_format(a, "  %s%s%s on %s %s",
                             columns_cut(a, report_or(p, r->about.model, "model not recorded"), 32),
                             r->about.precision ? ", " : "", columns_cut(a, report_or(p, r->about.precision, ""), 10),
                             columns_cut(a, report_or(p, r->about.engine, "an engine not recorded"), 22),
                             columns_cut(a, report_or(p, r->about.engine_version, ""), 16)));
    const char *what = arena_format(
        a, "  %s, %s requests of ", columns_cut(a, report_or(p, result_gpus_text(r, a), "GPUs not recorded"), 30),
        r->load.requests == ABSENT_I64 ? "the" : within(s, count(s, r->load.requests), (double)r->load.requests, 9));
    static const char how[] = ", all at once";
    put_text(s, arena_format(a, "%s%s%s", what,
                             columns_cut(a, report_or(p, r->about.scenario, "a set not recorded"),
                                         SCREEN_COLUMNS - columns_text(what) - (sizeof how - 1)),
                             how));
}

/* ---- where the energy went ---- */

enum part_id { PART_START, PART_SERVE, PART_STEADY, PART_PEAK, PART_DRAIN, PART_STOP, PART_IDLE, PART_COUNT };

struct part {
    const char *name;
    double s; /* NaN: not known */
    struct quantity energy;
    bool bracket;
    const char *remark; /* null: a bar */
};

struct unit {
    double joules;
    const char *name;
    int places;
};

/* One unit and one number of places for all: four digits of the largest. */
static struct unit unit_of(const struct part *parts)
{
    static const struct unit units[] = {{1e9, "GJ", 0}, {1e6, "MJ", 0}, {1e3, "kJ", 0}, {1, "J", 0}};
    double largest = 0;
    for (size_t i = 0; i < PART_COUNT; i++)
        if (has(&parts[i].energy) && parts[i].energy.value > largest)
            largest = parts[i].energy.value;
    size_t i = 0;
    while (i < 3 && largest < units[i].joules)
        i++;
    struct unit u = units[i];
    for (double x = largest / u.joules; x < 1000 && u.places < 3; x *= 10)
        u.places++;
    return u;
}

static struct part part_of(const struct screen *s, enum stage_id stage, const char *name)
{
    struct part part = {.name = name, .s = NAN, .energy = quantity_absent(Q_NOT_RECORDED, NULL)};
    if ((size_t)stage < s->r->stage_count) {
        part.s = result_stage_of(s->r, stage)->duration_s;
        part.energy = result_stage_of(s->r, stage)->energy.headline;
    }
    part.bracket = out_of_use(s, &part.energy);
    return part;
}

/* What a token costs in a part of serving. */
static void part_per_token(struct screen *s, struct part *part, const struct quantity *q)
{
    part->bracket = part->bracket || out_of_use(s, q);
    part->remark = has(q) ? arena_format(&s->p.arena, "%s %s", rounded(s, q->value, 4, 8), j_per_token(s)) : "";
    if (!has(&part->energy))
        part->energy.state = q->state; /* which says why better than the stage does */
}

/* What is left of serving after its peak. */
static struct part part_drain(struct screen *s)
{
    const struct result_saturated *x = &s->r->saturated;
    const struct quantity *time = &x->tail_time_share, *share = &x->tail_energy_share, *tokens = &x->tail_token_share;
    struct part part = part_of(s, STAGE_FORMAL, "  draining");
    part.s *= quantity_value(time);
    part.energy = quantity_from(quantity_value(&part.energy) * quantity_value(share),
                                (const struct quantity *const[]){&part.energy, share}, 2);
    part.remark =
        has(tokens) ? arena_format(&s->p.arena, "%s %% of the tokens", fixed(s, 100 * tokens->value, 0, 8)) : "";
    return part;
}

static void parts_make(struct screen *s, struct part *parts)
{
    const struct result *r = s->r;
    parts[PART_START] = part_of(s, STAGE_STARTUP, "start");
    parts[PART_SERVE] = part_of(s, STAGE_FORMAL, "serve");
    parts[PART_STEADY] = part_of(s, STAGE_STEADY, "  in steady state");
    part_per_token(s, &parts[PART_STEADY], &r->metrics.steady_j_per_token);
    bool queued = r->saturated.meaningful || !has(&r->metrics.saturated_j_per_token);
    parts[PART_PEAK] = part_of(s, STAGE_SATURATED, queued ? "  at peak load" : "  peak, no queue");
    part_per_token(s, &parts[PART_PEAK], &r->metrics.saturated_j_per_token);
    parts[PART_DRAIN] = part_drain(s);
    parts[PART_STOP] = part_of(s, STAGE_RELEASE, "stop");
    parts[PART_IDLE] = part_of(s, STAGE_BASELINE, "idle before");
    parts[PART_IDLE].remark = "not counted";
}

/* "######## 31 %" of start, serve and stop together; nothing where they are not all known. */
static const char *bar_text(struct screen *s, double j, const struct part *parts)
{
    const double all[] = {quantity_value(&parts[PART_START].energy), quantity_value(&parts[PART_SERVE].energy),
                          quantity_value(&parts[PART_STOP].energy)};
    double total = all[0] + all[1] + all[2], largest = fmax(fmax(all[0], all[1]), all[2]);
    if (!(total > 0) || !(j >= 0) || !isfinite(total))
        return "";
    int n = (int)(BAR * j / largest + 0.5);
    const char *share = j / total < 0.005 ? "under 1" : fixed(s, 100 * j / total, 0, 8);
    return arena_format(&s->p.arena, "%.*s %s %%", n ? n : 1, "################", share);
}

static void part_row(struct screen *s, struct rows *rows, const struct part *part, const struct part *parts,
                     struct unit u)
{
    bool is = has(&part->energy);
    double j = quantity_value(&part->energy), w = part->s > 0 ? j / part->s : (double)NAN;
    row_cell(rows, part->name);
    row_cell(rows, fixed(s, part->s, part->s < 10000 ? 1 : 0, 7));
    row_cell(rows, is ? fixed(s, j / u.joules, u.places, 7) : "");
    row_cell(rows, fixed(s, w, w < 100 ? 1 : 0, 7));
    row_cell(rows, !is ? absence(&part->energy) : part->remark ? part->remark : bar_text(s, j, parts));
    row_end(rows, part->bracket && (is || !isnan(part->s)));
}

static void put_energy(struct screen *s)
{
    struct part parts[PART_COUNT];
    struct rows rows;
    parts_make(s, parts);
    struct unit u = unit_of(parts);
    rows_init(s, &rows, "lrrrl", (const char *const[]){"Where energy went", "s", u.name, "W", "", NULL});
    for (size_t i = 0; i < PART_COUNT; i++)
        part_row(s, &rows, &parts[i], parts, u);
    rows_put(s, &rows, "Where energy went");
    const struct quantity *n = &s->r->estimate.n_overhead_10;
    put_sentence(
        s, has(n)
               ? arena_format(&s->p.arena, "From %s such requests on, start and stop are under 10 %% of it all.",
                              fixed(s, n->value, 0, 13))
               : arena_format(&s->p.arena, "Requests until start and stop are under 10 %% of it all: %s", absence(n)));
}

/* ---- latency ---- */

static void latency_row(struct screen *s, struct rows *rows, const char *name, double scale,
                        const struct percentiles *x)
{
    const struct quantity *const all[] = {&x->mean, &x->p50, &x->p90, &x->p99, &x->max};
    bool fault = result_latency_fault(s->r) != NULL, bracket = false;
    for (size_t i = 0; i < 5; i++)
        bracket = bracket || (has(all[i]) && (fault || out_of_use(s, all[i])));
    row_cell(rows, name);
    for (size_t i = 0; i < 5; i++)
        row_cell(rows, has(all[i]) ? rounded(s, scale * all[i]->value, 4, 8) : "");
    row_cell(rows, has(&x->p50) ? "" : absence(&x->p50));
    row_end(rows, bracket);
}

static void put_latency(struct screen *s)
{
    const struct result_load *l = &s->r->load;
    struct rows rows;
    rows_init(s, &rows, "ldddddl", (const char *const[]){"Latency", "mean", "P50", "P90", "P99", "max", "", NULL});
    latency_row(s, &rows, "first token (TTFT), s", 1, &l->ttft_s);
    latency_row(s, &rows, "per token (TPOT), ms", 1000, &l->tpot_s);
    latency_row(s, &rows, "answer (E2E), s", 1, &l->e2e_s);
    rows_put(s, &rows, "Latency");
}

/* ---- requests ---- */

static const char *counted(struct screen *s, int64_t n, const char *what)
{
    if (n == ABSENT_I64)
        return arena_format(&s->p.arena, "%s not recorded", what);
    return arena_format(&s->p.arena, "%s %s", within(s, count(s, n), (double)n, 13), what);
}

static void put_requests(struct screen *s)
{
    static const char head[] = "Requests";
    const struct result_load *l = &s->r->load;
    struct arena *a = &s->p.arena;
    put_line(s, LOOK_HEADING, sizeof head - 1,
             arena_format(a, "%s  %s, %s, %s", head, counted(s, l->successful, "answered"),
                          counted(s, l->prompt_tokens, "tokens in"), counted(s, l->output_tokens, "out")));
    const char *failed = l->failed == 0 ? "none failed" : counted(s, l->failed, "failed");
    if (l->failure_count) {
        const struct result_failure *f = &l->failures[0];
        failed = arena_format(a, "%s; request %lld: %s", failed, (long long)f->first_request,
                              report_or(&s->p, f->detail, verdict_names[f->verdict]));
    }
    put_text(s, arena_format(a, "%*s%s", (int)sizeof head + 1, "", failed));
}

/* ---- what to read with care ---- */

struct care {
    const char *name, *text;
    enum report_look look;
};

struct cares {
    struct care list[CODE_COUNT + FLAG_COUNT + STAGE_COUNT + 4];
    size_t n;
};

static void care_add(struct cares *c, enum report_look look, const char *name, const char *text)
{
    must(c->n < sizeof c->list / sizeof *c->list);
    c->list[c->n++] = (struct care){name, text, look};
}

static void care_checks(struct screen *s, struct cares *c)
{
    const struct check_words *list[CODE_COUNT];
    size_t n = s->r->formal ? 0 : excluding(s, list); /* a formal one of an older method lacks what came later */
    for (size_t i = 0; i < n; i++) {
        const struct result_check *x = check_of(s->r, list[i]->code);
        bool failed = x->outcome == CHECK_FAILED;
        const char *text = arena_format(&s->p.arena, "%s.", phrase_of(s, list[i]));
        care_add(c, failed ? LOOK_BAD : LOOK_FAINT, check_code_names[x->code],
                 failed && list[i]->tells ? report_or(&s->p, x->why, text) : text);
    }
}

static void care_headline(struct screen *s, struct cares *c, const char *what, const struct quantity *q)
{
    if (!has(q))
        care_add(c, LOOK_BAD, "missing",
                 arena_format(&s->p.arena, "%s: %s.", what, report_or(&s->p, q->why, absence(q))));
}

static void care_method(struct screen *s, struct cares *c)
{
    const struct result *r = s->r;
    struct arena *a = &s->p.arena;
    if (r->differences)
        care_add(c, LOOK_MARK, "rules of your own", arena_format(a, "%s.", r->differences));
    if (result_is_older(r))
        care_add(c, LOOK_MARK, "older method",
                 arena_format(a, "It is %s's; \"jtok analyze RUN\" evaluates it anew.",
                              report_or(&s->p, r->about.method_id, "an unknown one")));
    else if (r->about.records_method_id && strcmp(r->about.records_method_id, METHOD_ID) != 0)
        care_add(c, LOOK_MARK, "older records",
                 arena_format(a, "Its records were made under %s.", report_or(&s->p, r->about.records_method_id, "")));
    for (size_t i = 0; i < r->stage_count; i++)
        if (r->stages[i].contradiction)
            care_add(c, LOOK_MARK, "instruments differ",
                     arena_format(a, "In \"%s\", by more than their ± allow.", words_stage(r->stages[i].stage)));
}

static void care_flags(struct screen *s, struct cares *c)
{
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        size_t code = (size_t)words_flags[i].code;
        if (code < s->r->flag_count && code != FLAG_SIMULATED && s->r->flags[code].outcome == CHECK_FAILED)
            care_add(c, LOOK_MARK, flag_code_names[code], arena_format(&s->p.arena, "%s.", words_flags[i].phrase));
    }
}

/* An item's lines, of which there are CARE_ITEM_LINES at most. Returns their number. */
static size_t care_lines(struct screen *s, const struct care *c, const char **ret_lines)
{
    struct arena *a = &s->p.arena;
    struct buf b = {0};
    size_t n = 0;
    text_wrap(&b, c->text, CARE_NAME, CARE_NAME, SCREEN_COLUMNS);
    const char *name = arena_format(a, "  %s%*s", c->name, (int)(CARE_NAME - INDENT - columns_text(c->name)), "");
    for (const char *at = buf_text(&b); *at;) {
        size_t bytes = strcspn(at, "\n");
        const char *line = arena_format(a, "%s%.*s", n ? "" : name, (int)bytes, at);
        at += bytes + (at[bytes] == '\n');
        if (n + 1 == CARE_ITEM_LINES && *at)
            line = columns_cut(a, arena_format(a, "%s …", line), SCREEN_COLUMNS);
        if (n < CARE_ITEM_LINES)
            ret_lines[n++] = line;
    }
    buf_done(&b);
    return n;
}

static void put_care(struct screen *s)
{
    static const char head[] = "Read with care";
    struct cares c = {.n = 0};
    care_checks(s, &c);
    care_headline(s, &c, "serving", &s->r->metrics.formal_j_per_token);
    care_headline(s, &c, "with start and stop", &s->r->metrics.lifecycle_j_per_token);
    care_method(s, &c);
    care_flags(s, &c);
    put_line(s, LOOK_HEADING, sizeof head - 1, c.n ? head : "Read with care  nothing in particular");
    for (size_t i = 0, room = CARE_LINES; i < c.n; i++) {
        const char *lines[CARE_ITEM_LINES];
        size_t n = care_lines(s, &c.list[i], lines), rest = c.n - i - 1;
        if (n + (rest > 0) > room) {
            put_text(s, arena_format(&s->p.arena, "  and %zu more: jtok report --full", rest + 1));
            break;
        }
        put_line(s, c.list[i].look, INDENT + strlen(c.list[i].name), lines[0]);
        for (size_t k = 1; k < n; k++)
            put_text(s, lines[k]);
        room -= n;
    }
}

/* ---- where to go on ---- */

static void put_next(struct screen *s)
{
    struct arena *a = &s->p.arena;
    const char *run = s->options->run ? s->options->run : s->r->about.run_id;
    put_text(s, arena_format(a, "%s, by jtok %s", result_checks_text(s->r, a),
                             report_or(&s->p, s->r->about.jtok_version, "(unknown)")));
    put_text(
        s, arena_format(a, "RUN is %s", columns_cut_front(a, report_or(&s->p, run, "not named"), SCREEN_COLUMNS - 7)));
    put_text(s, "jtok report RUN --full, --checks or --format svg; jtok verify RUN");
}

void report_screen(const struct result *r, const struct report_options *options, struct buf *out)
{
    struct screen s = {.r = r, .options = options};
    report_init(&s.p, r);
    put_verdict(&s);
    put_headline(&s);
    put_blank(&s);
    put_rates(&s);
    put_identity(&s);
    put_blank(&s);
    put_energy(&s);
    put_blank(&s);
    put_latency(&s);
    put_blank(&s);
    put_requests(&s);
    put_blank(&s);
    put_care(&s);
    put_blank(&s);
    put_next(&s);
    must(s.lines <= SCREEN_LINES);
    report_done(&s.p, options->colour, out);
}
