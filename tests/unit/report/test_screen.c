/* The one-screen report of every state that a result can have. */
#include <stdlib.h>
#include "a_result.h"
#include "base/columns.h"
#include "text/file_read.h"
#include "base/span.h"
#include "report/report.h"
#include "report/words.h"
#include "schema/json.h"

enum { LINES_MAX = 64 };

struct page {
    const char *text;
    const char *lines[LINES_MAX];
    size_t n;
};

/* ---- a page ---- */

static struct page page_of(const struct result *r, const struct report_options *options, struct arena *a)
{
    struct page p = {0};
    struct buf b = {0};
    report_screen(r, options, &b);
    p.text = arena_text(a, buf_text(&b));
    buf_done(&b);
    for (const char *at = p.text; *at;) {
        size_t n = strcspn(at, "\n");
        assert_true(p.n < LINES_MAX);
        p.lines[p.n++] = arena_copy(a, at, n);
        at += n + (at[n] == '\n');
    }
    return p;
}

static size_t line_of(const struct page *p, const char *part)
{
    for (size_t i = 0; i < p->n; i++)
        if (strstr(p->lines[i], part))
            return i;
    fail_msg("\"%s\" is not in:\n%s", part, p->text);
    return 0;
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static bool ends(const char *line, const char *with)
{
    size_t n = strlen(line), k = strlen(with);
    return n >= k && strcmp(line + n - k, with) == 0;
}

static bool there(const struct quantity *q)
{
    return quantity_has_value(q) && isfinite(q->value);
}

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("%s: %s:\n%s", what, #condition, p->text);                                                        \
    } while (0)

/* ---- what holds of every page ---- */

/* Each begins, or stands in, its line: always this many lines from the top, whatever the run. */
static const struct {
    size_t line;
    const char *part, *or_part;
} LINES[] = {
    {1, "instrument ", NULL},
    {2, "J/token", NULL},
    {2, "serving", NULL},
    {3, "with start and stop", "with start, so far"},
    {4, "± instrument", NULL},
    {5, "spread between runs is unknown", NULL},
    {7, "Wh/million tokens ", NULL},
    {9, "requests/s; tok/s: ", "requests a second: "},
    {11, " requests of ", NULL},
    {13, "Where energy went", NULL},
    {14, " start ", " start"},
    {15, " serve ", " serve"},
    {16, "   in steady state", NULL},
    {17, "   at peak load", "   peak, no queue"},
    {18, "   draining", NULL},
    {19, " stop", NULL},
    {20, " idle before", NULL},
    {21, "start and stop are under 10 % of the total", NULL},
    {23, "Latency", NULL},
    {24, "first token (TTFT), s", NULL},
    {25, "per token (TPOT), ms", NULL},
    {26, "answer (E2E), s", NULL},
    {28, "Requests", NULL},
    {29, "failed", NULL},
    {31, "Read with care", NULL},
};

static void the_same_lines(const struct page *p, const char *what)
{
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        MUST(LINES[i].line < p->n);
        const char *line = p->lines[LINES[i].line];
        MUST(strstr(line, LINES[i].part) || (LINES[i].or_part && strstr(line, LINES[i].or_part)));
    }
    MUST(p->n >= 3 && begins(p->lines[p->n - 2], "RUN is "));
    MUST(begins(p->lines[p->n - 1], "jtok report RUN --full"));
}

static void fits(const struct page *p, const char *what)
{
    MUST(p->n <= 40);
    for (size_t i = 0; i < p->n; i++)
        MUST(columns_text(p->lines[i]) <= 80 && !ends(p->lines[i], " "));
}

/* The first number on the page is the first J/token that there is. */
static void number_first(const struct page *p, const struct result *r, const char *what)
{
    if (!there(&r->metrics.formal_j_per_token) && !there(&r->metrics.lifecycle_j_per_token))
        return;
    const char *digit = strpbrk(p->text, "0123456789");
    MUST(digit);
    const char *unit = strstr(digit, "J/token");
    MUST(unit && strcspn(digit, "\n") > (size_t)(unit - digit));
}

static void verdict_first(const struct page *p, const struct result *r, const char *what)
{
    const char *line = p->lines[0];
    if (r->about.simulated)
        MUST(begins(line, "SIMULATED, "));
    for (const char *at = p->text; r->about.simulated && (at = strstr(at, "J/token")); at++)
        MUST(begins(at, "J/token SIMULATED"));
    line += r->about.simulated ? strlen("SIMULATED, ") : 0;
    if (r->formal) {
        MUST(begins(line, r->about.differences ? "VALID  " : "FORMAL  "));
        return;
    }
    MUST(begins(line, "EXCLUDED  "));
    bool reason = false, none = true;
    for (size_t i = 0; i < r->check_count; i++) {
        const struct check_words *w = &words_checks[i];
        enum check_outcome outcome = r->checks[w->code].outcome;
        none = none && !check_excludes(outcome);
        reason = reason || (check_excludes(outcome) && strstr(line, outcome == CHECK_FAILED ? w->failed : w->unknown));
    }
    MUST(none ? strstr(line, "gives no reason") != NULL : reason);
}

/* Of an excluded run all numbers between the verdict and the requests are in brackets. */
static void bracketed(const struct page *p, const struct result *r, const char *what)
{
    if (r->formal)
        return;
    for (size_t i = 2; i < 28; i++) {
        bool words = i == 10 || i == 11 || i == 23 || (i == 21 && strstr(p->lines[i], "Requests until"));
        const char *digits = i == 26 ? strstr(p->lines[i], "E2E") + strlen("E2E") : p->lines[i];
        if (!words && strpbrk(digits, "0123456789"))
            MUST(begins(p->lines[i], "[ ") && ends(p->lines[i], "]"));
    }
}

/* Without the codes' names, which stand there so that one can look them up. */
static void plain_words(const struct page *p, struct arena *a, const char *what)
{
    static const char *const forbidden[] = {
        "grid",     "precise",    "basis",         "K =",      " CV",   "mark",     " owed",  "lifecycle", "saturat",
        "attribut", "reading of", "running count", "baseline", " hold", "boundary", "formal", "release",   "buffer",
        "window",   "K_",         "benchmark",     "variant",  "nan",   "inf "};
    char *text = arena_text(a, p->text);
    const char *const *names[] = {check_code_names, flag_code_names};
    for (size_t k = 0; k < 2; k++)
        for (const char *const *name = names[k]; *name; name++)
            for (char *at = text; (at = strstr(at, *name)); at++)
                memset(at, '-', strlen(*name));
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (strstr(text, forbidden[i]))
            fail_msg("%s: \"%s\" is on the page:\n%s", what, forbidden[i], p->text);
}

static size_t pages; /* that were looked at */

static struct page holds(const struct result *r, struct arena *a, const char *what)
{
    struct page page = page_of(r, &(struct report_options){.run = "runs/a-run"}, a);
    fits(&page, what);
    the_same_lines(&page, what);
    number_first(&page, r, what);
    verdict_first(&page, r, what);
    bracketed(&page, r, what);
    plain_words(&page, a, what);
    pages++;
    return page;
}

/* ---- the states ---- */

static struct result base(struct arena *a, bool formal, bool simulated)
{
    struct result r = a_result(a);
    r.about.jtok_version = "0.3.0";
    r.about.method_id = METHOD_ID;
    r.about.simulated = simulated;
    r.formal = formal;
    r.saturated.tail_energy_share = quantity_of(0.54);
    r.saturated.tail_time_share = quantity_of(0.56);
    r.saturated.tail_token_share = quantity_of(0.57);
    r.saturated.meaningful = true;
    r.estimate.n_overhead_10 = quantity_of(7644);
    r.metrics.j_per_request = q(17.87, 0.01);
    stage(&r, STAGE_STEADY, 180, 205.2, 16000, 16000, 16000);
    r.metrics.steady_j_per_token = q(0.0351, 0.0001);
    for (size_t i = 0; i < r.check_count; i++)
        r.checks[i] = (struct result_check){(enum check_code)i, CHECK_PASSED, "As it should be, 12.5 W."};
    if (!formal)
        r.checks[CODE_FOREIGN_PROCESS].outcome = CHECK_FAILED;
    for (size_t i = 0; i < r.flag_count; i++)
        r.flags[i].outcome = i == FLAG_SIMULATED && simulated ? CHECK_FAILED : CHECK_PASSED;
    return r;
}

/* Every value that the page shows. */
static size_t shown(struct result *r, struct quantity **ret_list)
{
    size_t n = 0;
    struct result_metrics *m = &r->metrics;
    struct quantity *const some[] = {
        &m->formal_j_per_token,
        &m->lifecycle_j_per_token,
        &m->steady_j_per_token,
        &m->saturated_j_per_token,
        &m->j_per_request,
        &m->throughput_tok_s,
        &m->formal_w,
        &r->estimate.n_overhead_10,
        &r->saturated.tail_energy_share,
        &r->saturated.tail_time_share,
        &r->saturated.tail_token_share,
        &r->load.ttft_s.mean,
        &r->load.ttft_s.p50,
        &r->load.tpot_s.p99,
        &r->load.tpot_s.p50,
        &r->load.e2e_s.max,
        &r->load.e2e_s.p50,
    };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        ret_list[n++] = some[i];
    for (size_t i = 0; i < r->stage_count; i++)
        ret_list[n++] = &r->stages[i].energy.headline;
    return n;
}

static void every_state_of_every_value(void **state)
{
    (void)state;
    static const double values[] = {0, 1e-12, 0.05, 1234567.891, 1e300, (double)INFINITY, (double)NAN, -3};
    for (int k = 0; k < 4; k++)
        for (int s = 0; q_state_names[s]; s++)
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                struct arena a = {0};
                struct quantity *list[64];
                struct result r = base(&a, k & 1, k & 2);
                size_t n = shown(&r, list);
                for (size_t i = 0; i <= n; i++) { /* each alone, then all */
                    struct result one = base(&a, k & 1, k & 2);
                    shown(&one, list);
                    for (size_t x = i == n ? 0 : i; x < (i == n ? n : i + 1); x++) {
                        struct quantity absent = quantity_absent((enum q_state)s, "a reason, said in words");
                        *list[x] = absent;
                        if (quantity_has_value(&absent)) {
                            list[x]->value = values[v];
                            list[x]->instrument = v % 2 ? values[v] / 100 : (double)NAN;
                            list[x]->calibration = values[v] / 10;
                        }
                    }
                    holds(&one, &a, arena_format(&a, "value %zu %s %g", i, q_state_names[s], values[v]));
                }
                arena_done(&a);
            }
    assert_true(pages > 5000);
}

/* ---- checks and flags ---- */

static void every_check_alone_and_all(void **state)
{
    (void)state;
    static const enum check_outcome outcomes[] = {CHECK_NOT_CHECKED, CHECK_FAILED,     CHECK_NOT_RECORDED,
                                                  CHECK_NOT_STATED,  CHECK_NOT_JUDGED, CHECK_PASSED};
    static const char *const whys[] = {
        NULL, "The reason.",
        "A reason \n that goes \xff on: 日本語 日本語 日本語 日本語 日本語 "
        "日本語 日本語 日本語 日本語 日本語 日本語 日本語 日本語 日本語 日本語 日本語 日本語."};
    for (size_t o = 0; o < sizeof outcomes / sizeof *outcomes; o++)
        for (size_t w = 0; w < 3; w++)
            for (enum check_code code = 0; code <= CODE_COUNT; code++) {
                struct arena a = {0};
                struct result r = base(&a, true, code & 1);
                for (enum check_code c = 0; c < CODE_COUNT; c++)
                    if (code == c || code == CODE_COUNT)
                        r.checks[c] = (struct result_check){c, outcomes[o], whys[w]};
                r.formal = !check_excludes(outcomes[o]);
                const char *what = arena_format(&a, "check %u outcome %u", code, outcomes[o]);
                struct page page = holds(&r, &a, what);
                if (!r.formal && code < CODE_COUNT)
                    line_of(&page, arena_format(&a, "  %s ", check_code_names[code]));
                if (!r.formal && code == CODE_COUNT)
                    line_of(&page, " more: jtok report RUN --full");
                arena_done(&a);
            }
}

static void every_flag_alone_and_all(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++)
        for (enum flag_code flag = 0; flag <= FLAG_COUNT; flag++) {
            struct arena a = {0};
            struct result r = base(&a, k & 1, k & 2);
            for (enum flag_code f = 0; f < FLAG_COUNT; f++)
                if ((flag == f || flag == FLAG_COUNT) && f != FLAG_SIMULATED)
                    r.flags[f].outcome = CHECK_FAILED;
            struct page page = holds(&r, &a, arena_format(&a, "flag %u", flag));
            if (flag < FLAG_COUNT && flag != FLAG_SIMULATED)
                line_of(&page, arena_format(&a, "  %s ", flag_code_names[flag]));
            if (flag == FLAG_COUNT)
                line_of(&page, " more: jtok report RUN --full");
            arena_done(&a);
        }
}

/* A phrase for each code, once, within its place. */
static void each_code_has_its_words(void **state)
{
    (void)state;
    bool check[CODE_COUNT] = {false}, flag[FLAG_COUNT] = {false};
    for (enum check_code i = 0; i < CODE_COUNT; i++) {
        const struct check_words *w = &words_checks[i];
        assert_false(check[w->code]);
        check[w->code] = true;
        assert_true(columns_text(w->failed) <= 53 && columns_text(w->unknown) <= 53);
        assert_null(strpbrk(w->failed, "0123456789."));
        assert_null(strpbrk(w->unknown, "0123456789."));
    }
    for (enum flag_code i = 0; i < FLAG_COUNT; i++) {
        assert_false(flag[words_flags[i].code]);
        flag[words_flags[i].code] = true;
        assert_true(columns_text(words_flags[i].phrase) <= 54);
    }
}

/* What breaks a run comes before what follows from it, and what failed before what could not be told. */
static void the_likelier_cause_is_told_first(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = base(&a, true, false);
    r.formal = false;
    r.checks[CODE_RECORDS_DAMAGED].outcome = CHECK_NOT_RECORDED;
    r.checks[CODE_NOT_COVERED].outcome = CHECK_FAILED;
    r.checks[CODE_INTERRUPTED].outcome = CHECK_FAILED;
    r.flags[FLAG_DELIVERY_LAG].outcome = CHECK_FAILED;
    struct page p = holds(&r, &a, "causes");
    assert_string_equal(p.lines[0], "EXCLUDED  The run was interrupted, and more below.");
    assert_true(begins(p.lines[32], "  interrupted "));
    assert_true(begins(p.lines[33], "  not_covered "));
    assert_true(begins(p.lines[34], "  records_damaged "));
    assert_true(begins(p.lines[35], "  delivery_lag ")); /* four lines, and no more to tell */
    arena_done(&a);
}

static void a_steady_state_that_costs_more_is_explained(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = base(&a, true, false);
    r.metrics.steady_j_per_token.value = r.metrics.formal_j_per_token.value;
    struct page p = holds(&r, &a, "as much");
    assert_string_equal(p.lines[31], "Read with care  nothing in particular");
    r.metrics.steady_j_per_token.value *= 1.01;
    p = holds(&r, &a, "more");
    assert_string_equal(p.lines[32],
                        "  in steady state         It lasts to the last answer, so the draining is in it.");
    arena_done(&a);
}

/* ---- runs of all kinds ---- */

static const char *long_text(struct arena *a, const char *part)
{
    struct buf b = {0};
    for (int i = 0; i < 300; i++)
        buf_str(&b, part);
    const char *text = arena_text(a, buf_text(&b));
    buf_done(&b);
    return text;
}

static void name_all(struct result *r, const char *name)
{
    r->about.name = r->about.model = r->about.precision = r->about.engine = r->about.engine_version =
        r->about.scenario = r->about.run_id = r->about.jtok_version = name;
    for (size_t i = 0; i < r->gpu_count; i++)
        r->gpus[i].name = name;
}

static void names_and_counts_of_any_length(void **state)
{
    (void)state;
    static const char *const parts[] = {"model-", "大", "e\xcc\x81", "two words ", "\x1b[2J\n", "\xff"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t gpus = 0; gpus <= 8; gpus += gpus ? 7 : 1) {
            struct arena a = {0};
            struct result r = base(&a, i & 1, gpus == 8);
            r.gpu_count = gpus;
            r.gpus = arena_array(&a, 8, sizeof *r.gpus);
            for (size_t g = 0; g < gpus; g++)
                r.gpus[g].power_limit_w = 1e15;
            name_all(&r, long_text(&a, parts[i]));
            r.load.failures[0].detail = long_text(&a, parts[i]);
            r.load.requests = r.load.successful = r.load.failed = r.load.prompt_tokens = r.load.output_tokens =
                INT64_MAX;
            r.about.differences = i & 1 ? long_text(&a, parts[i]) : NULL;
            for (size_t s = 0; s < r.stage_count; s++) {
                r.stages[s].duration_s = 1e12;
                r.stages[s].contradiction = "both differ";
            }
            char *run = arena_text(&a, long_text(&a, parts[i]));
            struct page page = holds(&r, &a, arena_format(&a, "names %zu", i));
            page = page_of(&r, &(struct report_options){.run = run, .unsealed = true, .colour = false}, &a);
            fits(&page, "a long folder");
            assert_true(begins(page.lines[0], "NOT SEALED, "));
            arena_done(&a);
        }
}

/* A run that broke off while starting: nothing is known, and no number is there that could be taken for one. */
static void the_absent_is_never_a_number(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r;
    result_absent(&r, &a, "the run did not come to its requests");
    struct page p = holds(&r, &a, "absent");
    for (size_t i = 0; i < p.n; i++)
        if (i != 21 && i != 23 && i != 26 && i + 3 != p.n && !begins(p.lines[i], "  and ")) /* "10 %", "P50", "E2E" */
            assert_null(strpbrk(p.lines[i], "0123456789"));
    assert_string_equal(p.lines[2], "  not recorded  J/token serving");
    assert_string_equal(p.lines[8], "       not recorded  not recorded  not recorded         not recorded");
    assert_string_equal(p.lines[28], "Requests  answered not recorded, tokens in not recorded, out not recorded");
    r.checks[CODE_INTERRUPTED].outcome = CHECK_FAILED;
    r.checks[CODE_INTERRUPTED].why = "The run was stopped at 12.3 s (SIGINT).";
    p = holds(&r, &a, "interrupted");
    assert_string_equal(p.lines[0], "EXCLUDED  The run was interrupted, and more below.");
    assert_string_equal(p.lines[32], "  interrupted             The run was stopped at 12.3 s (SIGINT).");
    arena_done(&a);
}

/* All requests failed: energy is there, tokens are not. */
static void energy_without_tokens(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = base(&a, false, false);
    struct quantity none = quantity_absent(Q_UNDEFINED, "no successful request, so no output tokens");
    r.metrics.formal_j_per_token = r.metrics.lifecycle_j_per_token = r.metrics.j_per_request =
        r.metrics.throughput_tok_s = none;
    r.load.successful = r.load.output_tokens = 0;
    r.load.failed = 2500;
    r.load.failures[0].count = 2500;
    r.checks[CODE_FOREIGN_PROCESS].outcome = CHECK_PASSED;
    r.checks[CODE_TOO_MANY_FAILED] = (struct result_check){
        CODE_TOO_MANY_FAILED, CHECK_FAILED, "2500 of 2500 requests failed (100 %); the plan allows 1 %."};
    struct page p = holds(&r, &a, "failed");
    assert_string_equal(p.lines[0], "EXCLUDED  Too many requests failed.");
    assert_string_equal(p.lines[2], "  undefined  J/token serving");
    assert_string_equal(p.lines[28], "Requests  0 answered, 345 678 tokens in, 0 out");
    assert_true(begins(p.lines[29], "          2500 failed; request 2483: HTTP 400: This model's maximum"));
    assert_true(begins(p.lines[32], "  too_many_failed         2500 of 2500 requests failed"));
    line_of(&p, "  missing                 serving: no successful request, so no output tokens.");
    arena_done(&a);
}

/* ---- a real run, by hand ---- */

static struct result stored(const char *folder, struct arena *a)
{
    struct result r = {0};
    struct err e = {0};
    struct buf b = {0};
    const char *why, *path = arena_format(a, "%s/%s/result.json", JTOK_SOURCE, folder);
    assert_ok(file_read(path, 0, &b, &e), e);
    assert_ok(schema_json_read(&result_schema, &r, path, buf_span(&b), a, &e), e);
    assert_true(result_complete(&r, a, &why));
    buf_done(&b);
    return r;
}

static void assert_file(const char *path, const char *text, struct arena *a)
{
    struct err e = {0};
    struct buf b = {0};
    assert_ok(file_read(arena_format(a, "%s/%s", JTOK_SOURCE, path), 0, &b, &e), e);
    if (strcmp(buf_text(&b), text) != 0)
        fail_msg(
            "%s is out of step: print it anew with jtok report, --full for the whole one, --unsealed where there is "
            "no seal.",
            path);
    buf_done(&b);
}

/* The numbers are worked out from result.json with a pocket calculator:
 *   Wh a million tokens   0.05650185584 J x 1e6 / 3600 = 15.694960
 *   draining              26.434187796 s x 0.5602965758 = 14.811; 17397.42993 J x 0.5451274879 = 9483.82, over 14.811 s
 *                         = 640.3 W; 0.565530725 of the tokens
 *   shares                11345.916, 17397.430 and 396.160 of 29139.506: 38.94, 59.70 and 1.36 %
 *   bars                  16 x 11345.916 / 17397.430 = 10.4; 16 x 396.16 / 17397.43 = 0.36, at least one
 *   a second              750, 221 157 and 529 066 over 26.434187796: 28.372, 8366.32 and 20 014.5; 1 / 0.0340872 s
 * the rest is rounded only: J/token by its instrument's 0.00003781 (two digits), energies to 10 J, times to 0.1 s. */
static void a_real_run(void **state)
{
    (void)state;
    static const char expected[] = "FORMAL  Every check that applies has passed.\n"
                                   "                                         instrument  calibration\n"
                                   "  0.056502  J/token serving              ± 0.000038  ± 0.0034\n"
                                   "  0.09464   J/token with start and stop  ± 0.00042   ± 0.0057\n"
                                   "  ± instrument: error in reading the sensor; calibration: error of the sensor.\n"
                                   "  The spread between runs is unknown, usually larger. [ ]: do not use.\n"
                                   "\n"
                                   "  Wh/million tokens  J/request  tokens/s  W serving, of limit\n"
                                   "              15.69      23.20    11 648         658.1 of 700\n"
                                   "  28.37 requests/s; tok/s: 8366 in, 20 014 in and out, 29.34 a user\n"
                                   "  jtok/llama-8b-shape, bfloat16 on vllm 0.24.0\n"
                                   "  1 x NVIDIA H200 at 700 W, 750 requests of arena-hard-v2.0, all at once\n"
                                   "\n"
                                   "Where energy went        s     kJ     W\n"
                                   "  start              100.9  11.35   112  ####### 39 %, 46 s without GPU\n"
                                   "  serve               26.4  17.40   658  ########## 60 %\n"
                                   "    in steady state                      not reached\n"
                                   "[   peak, no queue     6.4   4.34   681  0.03424 J/token                ]\n"
                                   "    draining          14.8   9.48   640  57 % of the tokens\n"
                                   "  stop                 2.6   0.40   151  # 1 %\n"
                                   "  idle before         20.0   1.59  79.7  not counted\n"
                                   "  From 4556 such requests on, start and stop are under 10 % of the total.\n"
                                   "\n"
                                   "Latency                    mean     P50     P90     P99     max\n"
                                   "  first token (TTFT), s   3.674   3.967   5.678   5.848   5.849\n"
                                   "  per token (TPOT), ms   34.66   34.09   46.70   62.74   72.18\n"
                                   "  answer (E2E), s        15.94   15.95   21.09   24.54   26.43\n"
                                   "\n"
                                   "Requests  750 answered, 221 157 tokens in, 307 909 out\n"
                                   "          none failed\n"
                                   "\n"
                                   "Read with care\n"
                                   "  steady_not_reached      Energy per token never settled: mixed lengths do that.\n"
                                   "\n"
                                   "23 checks passed, by jtok 0.2.0\n"
                                   "RUN is docs/examples/h200-vllm-750\n"
                                   "jtok report RUN --full, --checks or --format svg; jtok verify RUN\n";
    struct arena a = {0};
    struct result r = stored("docs/examples/h200-vllm-750", &a);
    struct page p = page_of(&r, &(struct report_options){.run = "docs/examples/h200-vllm-750"}, &a);
    assert_string_equal(p.text, expected);
    assert_file("docs/examples/h200-vllm-750.txt", expected, &a);
    arena_done(&a);
}

/* The other examples, on one and two GPUs, by two engines; the texts in the documentation are what they print. */
static void the_examples_hold(void **state)
{
    (void)state;
    static const char *const folders[] = {"h200-vllm-2500",  "h200-vllm-2500-one-server",
                                          "h200-sglang-750", "h200x2-vllm-750-tp2",
                                          "h200-pair-vllm",  "h200-pair-sglang"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct arena a = {0};
        const char *folder = arena_format(&a, "docs/examples/%s", folders[i]);
        struct result r = stored(folder, &a);
        holds(&r, &a, folder);
        struct page p = page_of(&r, &(struct report_options){.run = folder, .unsealed = true}, &a);
        assert_file(arena_format(&a, "%s/report.txt", folder), p.text, &a);
        arena_done(&a);
    }
}

static void the_whole_report_in_the_documentation_is_in_step(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = stored("docs/examples/h200-vllm-750", &a);
    struct buf b = {0};
    report_full(&r, &(struct report_options){0}, &b);
    assert_file("docs/examples/h200-vllm-750-full.txt", buf_text(&b), &a);
    buf_done(&b);
    arena_done(&a);
}

/* Colours change no letter. */
static void colours_are_beside_the_text(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = base(&a, false, true);
    const char *plain = page_of(&r, &(struct report_options){0}, &a).text;
    const char *coloured = page_of(&r, &(struct report_options){.colour = true}, &a).text;
    assert_true(begins(coloured, "\033[1;31mSIMULATED, EXCLUDED\033[0m  "));
    struct buf b = {0};
    for (const char *at = coloured; *at;)
        if (*at == '\033')
            at += strcspn(at, "m") + 1;
        else
            buf_byte(&b, *at++);
    assert_string_equal(buf_text(&b), plain);
    buf_done(&b);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_of_every_value),
        cmocka_unit_test(every_check_alone_and_all),
        cmocka_unit_test(every_flag_alone_and_all),
        cmocka_unit_test(each_code_has_its_words),
        cmocka_unit_test(the_likelier_cause_is_told_first),
        cmocka_unit_test(a_steady_state_that_costs_more_is_explained),
        cmocka_unit_test(names_and_counts_of_any_length),
        cmocka_unit_test(the_absent_is_never_a_number),
        cmocka_unit_test(energy_without_tokens),
        cmocka_unit_test(a_real_run),
        cmocka_unit_test(the_examples_hold),
        cmocka_unit_test(the_whole_report_in_the_documentation_is_in_step),
        cmocka_unit_test(colours_are_beside_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
