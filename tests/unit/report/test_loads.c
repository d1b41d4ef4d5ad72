/* Reports of runs with other loads, and their result on disk and back. */
#include "a_result.h"
#include "base/columns.h"
#include "report/report.h"
#include "report/svg_curve.h"
#include "schema/json.h"
#include "schema/schema.h"

static struct result_point a_point(struct arena *a, int64_t number, const char *setting, double j_per_token)
{
    struct result_point p;
    result_point_absent(&p, "not in this test");
    p.number = number;
    p.kind = LOAD_CONCURRENCY;
    p.setting = setting;
    p.reached = true;
    p.why = NULL;
    p.start_ns = 100 * number;
    p.last_ns = p.end_ns = p.start_ns + 50;
    p.window.why = NULL;
    p.window.start_ns = p.start_ns;
    p.window.end_ns = p.end_ns;
    p.window.duration_s = 30;
    p.window.energy.headline = q(12000, 3);
    p.window.average_w = q(400, 0.1);
    p.requests = (struct result_point_requests){60, 0, 50, 50, 0, 40, 48};
    p.tokens = (struct result_point_tokens){5000, 9000, 4000, 100, 700};
    p.rates.output_tok_s = quantity_of(166.67);
    p.rates.request_s = quantity_of(1.6);
    p.flight.mean = quantity_of(63.98);
    p.times.ttft_s.p50 = quantity_of(0.123);
    p.times.ttft_s.p99 = quantity_of(0.5);
    p.times.tpot_s.p50 = quantity_of(0.0231);
    p.times.tpot_s.p99 = quantity_of(0.05);
    p.j_per_token = q(j_per_token, 0.003);
    p.goodput_share = quantity_of(0.8);
    p.j_per_good_token = quantity_of(3);
    p.failures = arena_array(a, 1, sizeof *p.failures);
    return p;
}

static struct result a_curve(struct arena *a, size_t loads)
{
    struct result r;
    result_absent(&r, a, "not in this test");
    r.about.run_id = "20261130T010000Z-curve";
    r.about.model = "kit/llama-8b-shape";
    r.about.engine = "vllm";
    r.about.engine_version = "0.24.0";
    for (size_t i = 0; i < r.check_count; i++)
        r.checks[i] = (struct result_check){(enum check_code)i, CHECK_PASSED, "Right."};
    for (size_t i = 0; i < r.flag_count; i++)
        r.flags[i].outcome = CHECK_PASSED;
    r.loads.object = OBJECT_LIFE;
    r.loads.standing = STANDING_VALID;
    r.loads.silences = arena_array(a, 1, sizeof *r.loads.silences);
    r.loads.silences[0] =
        (struct result_silence){0, 10, 20, 10, q(120.34, 0.1), quantity_absent(Q_NOT_RECORDED, "made")};
    r.loads.silence_count = 1;
    r.loads.points = arena_array(a, loads, sizeof *r.loads.points);
    r.loads.point_count = loads;
    for (size_t i = 0; i < loads; i++)
        r.loads.points[i] = a_point(a, (int64_t)i, arena_format(a, "concurrency %d, for 30 s", 1 << i), 2.4 / (1 << i));
    return r;
}

static const char *screen_of(const struct result *r, struct arena *a)
{
    struct buf b = {0};
    report_screen(r, &(struct report_options){.run = "runs/curve"}, &b);
    const char *text = arena_text(a, buf_text(&b));
    buf_done(&b);
    return text;
}

static void fits(const char *text)
{
    size_t lines = 0;
    for (const char *at = text; *at; lines++) {
        size_t n = strcspn(at, "\n");
        if (columns_count((struct span){at, n}) > SCREEN_COLUMNS)
            fail_msg("wider than a screen: %.*s", (int)n, at);
        at += n + (at[n] == '\n');
    }
    if (lines > SCREEN_LINES)
        fail_msg("%zu lines:\n%s", lines, text);
}

static void the_curve_is_a_table(void **state)
{
    (void)state;
    struct arena a = {0};
    const struct result r = a_curve(&a, 3);
    const char *text = screen_of(&r, &a);
    fits(text);
    assert_ptr_equal(strstr(text, "VALID  Every check"), text);
    assert_non_null(strstr(text, "\n  no request             0      0  120.3\n"));
    assert_non_null(strstr(text, "\n  concurrency 4       64.0  166.7  400.0   0.6000  ± 0.0030\n"));
    assert_non_null(strstr(text, "in tok/s"));
    assert_null(strstr(text, "\n[ "));
    arena_done(&a);
}

/* However many loads, whatever is wrong with them. */
static void it_fits_the_screen(void **state)
{
    (void)state;
    struct arena a = {0};
    for (size_t n = 0; n < 30; n++) {
        struct result r = a_curve(&a, n);
        if (n > 5) {
            r.loads.slo.tpot_s = 0.05;
            r.loads.standing = STANDING_EXCLUDED;
            r.checks[CODE_TOO_MANY_FAILED].outcome = CHECK_FAILED;
            result_point_absent(&r.loads.points[2], "load not reached: there were never 4 in flight, and 3 at most");
            r.loads.points[3].flight.overloaded = true;
            r.loads.points[3].j_per_token = quantity_marked(r.loads.points[3].j_per_token, Q_EXCLUDED, "overloaded");
            r.loads.points[4].j_per_token = q(1.5e12, 1e10);
            r.loads.points[4].window.average_w = quantity_of(-1e300);
            r.loads.points[5].setting = "rate 0.000001/s, gamma of burstiness 0.000001, 100000000 requests, for 1e7 s";
        }
        const char *text = screen_of(&r, &a);
        fits(text);
        assert_int_equal(strstr(text, "more loads: ") != NULL, n > 8);
        assert_int_equal(strstr(text, "good %") != NULL, n > 5);
        assert_int_equal(strstr(text, "load not reached") != NULL, n > 5);
    }
    arena_done(&a);
}

/* What does not fit is a load's name: a number that is cut is another number. */
static void numbers_are_never_cut(void **state)
{
    (void)state;
    static const char *const settings[] = {"burst", "concurrency 1000000", "rate 0.000001/s, gamma of burstiness 0.5",
                                           "rate 4/s, poisson"};
    static const double factors[] = {1e-9, 1, 123456.789, 9e9};
    struct arena a = {0};
    for (int i = 0; i < 4 * 4 * 2; i++) {
        struct result r = a_curve(&a, 2);
        struct result_point *p = &r.loads.points[1];
        double x = factors[i / 4 % 4];
        p->setting = settings[i % 4];
        if (i >= 16)
            r.loads.standing = STANDING_EXCLUDED;
        struct quantity *const all[] = {&p->rates.input_tok_s,  &p->rates.total_tok_s, &p->rates.user_tok_s,
                                        &p->j_per_request,      &p->rates.request_s,   &p->times.ttft_s.p50,
                                        &p->rates.output_tok_s, &p->times.ttft_s.mean, &p->times.tpot_s.p50,
                                        &p->times.tpot_s.p99,   &p->times.tpot_s.mean, &p->window.average_w};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            *all[k] = quantity_of(1.2345678 * x);
        const char *text = screen_of(&r, &a), *care = strstr(text, "Read with care");
        fits(text);
        assert_non_null(care);
        for (const char *at = text; (at = strstr(at, "\n")) && at < care; at++) {
            const char *end = strchr(at + 1, '\n'), *cut = strstr(at + 1, "\xe2\x80\xa6");
            if (cut && cut < end && cut - at > 30)
                fail_msg("a number was cut:\n%.*s", (int)(end - at), at);
        }
    }
    arena_done(&a);
}

/* Then the checks have nothing to judge, which is not why. */
static void no_load_reached_is_told_first(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_curve(&a, 1);
    result_point_absent(&r.loads.points[0], "load not reached: it lasted 1 s, and settled in none");
    r.loads.points[0].number = 0;
    r.loads.points[0].setting = "rate 4/s, poisson, for 1 s";
    r.loads.standing = STANDING_EXCLUDED;
    r.checks[CODE_COUNTER_VOID].outcome = r.checks[CODE_COUNTER_DISAGREES].outcome = CHECK_NOT_RECORDED;
    const char *text = screen_of(&r, &a), *why = strstr(text, "Load 0: it lasted 1 s, and settled in none.\n"),
               *check = strstr(text, "counter_disagrees");
    assert_non_null(strstr(text, "EXCLUDED  Nothing was measured: no load was reached, see below."));
    assert_non_null(strstr(text, "not reached\n"));
    if (!why || !check || why > check)
        fail_msg("%s", text);
    r.checks[CODE_INTERRUPTED].outcome = CHECK_FAILED; /* what failed is why */
    assert_null(strstr(screen_of(&r, &a), "Nothing was measured"));
    arena_done(&a);
}

static void the_whole_report_has_each_load(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_curve(&a, 12);
    r.loads.points[2].reached = false;
    r.loads.points[2].why = "the run did not get to this load";
    struct buf b = {0};
    report_full(&r, &(struct report_options){.run = "runs/curve"}, &b);
    for (int i = 0; i < 12; i++)
        assert_non_null(strstr(buf_text(&b), arena_format(&a, "\nLoad %d: concurrency %d, for 30 s\n", i, 1 << i)));
    assert_non_null(strstr(buf_text(&b), "none: the run did not get to this load"));
    assert_non_null(strstr(buf_text(&b), "before load 0     120.34 ± 0.10 W over 10.00 s"));
    buf_done(&b);
    arena_done(&a);
}

/* ---- the picture ---- */

/* TPOT 10, 20, 20, 30 ms and 4, 2, 3, 2 J/token: the first two are the front; the third is as fast as the second and
 * costs more, the fourth costs as much and is slower. */
static void the_front_is_marked(void **state)
{
    (void)state;
    struct arena a = {0};
    static const double tpot_s[] = {0.010, 0.020, 0.020, 0.030}, j[] = {4, 2, 3, 2};
    static const bool front[] = {true, true, false, false};
    struct result r = a_curve(&a, 4);
    for (size_t i = 0; i < 4; i++) {
        r.loads.points[i].times.tpot_s.p50 = quantity_of(tpot_s[i]);
        r.loads.points[i].j_per_token = q(j[i], 0.1);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(svg_curve_is_pareto(&r, i), front[i]);
    struct buf b = {0};
    svg_curve(&r, &b);
    size_t best = 0, other = 0;
    for (const char *at = buf_text(&b); (at = strstr(at, "<circle class=\"")); at++) {
        best += strncmp(at, "<circle class=\"best\"", 20) == 0;
        other += strncmp(at, "<circle class=\"other\"", 21) == 0;
    }
    assert_int_equal(best, 2);
    assert_int_equal(other, 2);
    assert_non_null(strstr(buf_text(&b), "Without a request: 120.34 ± 0.10 W."));
    buf_done(&b);
    /* What is excluded is on no front, and hides nothing that is. */
    r.loads.points[1].j_per_token.state = Q_EXCLUDED;
    assert_false(svg_curve_is_pareto(&r, 1));
    assert_true(svg_curve_is_pareto(&r, 2));
    assert_true(svg_curve_is_pareto(&r, 3));
    /* Nothing to draw. */
    for (size_t i = 0; i < 4; i++)
        r.loads.points[i].times.tpot_s.p50 = quantity_absent(Q_UNDEFINED, "one token each");
    assert_false(svg_curve_has_points(&r));
    arena_done(&a);
}

/* ---- on disk ---- */

static const char *json_of(const struct result *r, struct arena *a)
{
    struct buf b = {0};
    schema_json_write(&result_schema, r, &b);
    const char *text = arena_text(a, buf_text(&b));
    buf_done(&b);
    return text;
}

static void it_comes_back_the_same(void **state)
{
    (void)state;
    struct arena a = {0};
    struct err e = {0};
    struct result r = a_curve(&a, 2), back;
    r.loads.slo.e2e_s = 3;
    r.loads.points[1].kind = (enum load_kind) - 1; /* a watch has none */
    const char *text = json_of(&r, &a), *why = NULL;
    memset(&back, 0, sizeof back);
    assert_ok(schema_json_read(&result_schema, &back, "result.json", span_of(text), &a, &e), e);
    if (!result_complete(&back, &a, &why))
        fail_msg("%s", why);
    assert_int_equal(result_standing(&back), STANDING_VALID);
    assert_true(result_has_loads(&back));
    assert_true(ENUM_ABSENT(back.loads.points[1].kind));
    assert_int_equal(back.loads.points[1].window.stage, STAGE_WINDOW);
    assert_string_equal(json_of(&back, &a), text);
    /* Valid, and a check says otherwise. */
    r.checks[CODE_COUNTER_VOID].outcome = CHECK_FAILED;
    assert_ok(schema_json_read(&result_schema, &back, "result.json", span_of(json_of(&r, &a)), &a, &e), e);
    assert_false(result_complete(&back, &a, &why));
    assert_string_equal(why, "it says valid, and a check in it says otherwise");
    arena_done(&a);
}

/* A formal result holds none of it. */
static void a_burst_is_as_before(void **state)
{
    (void)state;
    struct arena a = {0};
    static const char *const keys[] = {"object", "verdict", "slo_ttft_s", "idle", "loads"};
    struct result r;
    result_absent(&r, &a, "not in this test");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_null(strstr(json_of(&r, &a), arena_format(&a, "\n  \"%s\"", keys[i])));
    assert_int_equal(result_standing(&r), STANDING_EXCLUDED);
    r.formal = true;
    assert_int_equal(result_standing(&r), STANDING_FORMAL);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_curve_is_a_table),           cmocka_unit_test(it_fits_the_screen),
        cmocka_unit_test(numbers_are_never_cut),          cmocka_unit_test(no_load_reached_is_told_first),
        cmocka_unit_test(the_whole_report_has_each_load), cmocka_unit_test(it_comes_back_the_same),
        cmocka_unit_test(a_burst_is_as_before),           cmocka_unit_test(the_front_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
