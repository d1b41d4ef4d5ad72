#include "check.h"
#include "analysis/compare.h"

struct pair {
    struct arena a;
    struct result x, y;
    struct comparison c;
};

static struct quantity q(double value, double instrument, double absolute)
{
    struct quantity k = quantity_of(value);
    k.instrument = instrument;
    k.calibration = absolute;
    return k;
}

static void formal_result(struct result *r, struct arena *a, const char *id, double j_per_token)
{
    result_absent(r, a, "not in this test");
    r->run_id = id;
    r->method_id = "jtok-1";
    r->model = "example/Model-8B";
    r->revision = "0123";
    r->scenario = "chat";
    r->requests_sha256 = "aa";
    r->engine = "vllm";
    r->formal = true;
    r->gpu_count = 1;
    r->gpus = arena_array(a, 1, sizeof *r->gpus);
    r->gpus[0].uuid = "GPU-1";
    r->gpus[0].name = "NVIDIA H200";
    r->gpus[0].power_limit_w = 700;
    for (size_t i = 0; i < r->check_count; i++) {
        r->checks[i].code = (int)i;
        r->checks[i].outcome = CHECK_PASSED;
    }
    for (size_t i = 0; i < r->mark_count; i++)
        r->marks[i].outcome = CHECK_PASSED;
    r->load.output_tokens = 1000000;
    r->metrics.steady_j_per_token = q(j_per_token, 0.003, 0.06 * j_per_token);
    r->metrics.formal_j_per_token = q(j_per_token, 0.004, 0.06 * j_per_token);
    r->metrics.throughput_tok_s = quantity_of(15000);
    r->load.ttft_s.p50 = quantity_of(18);
}

static int setup(void **state)
{
    struct pair *p = test_calloc(1, sizeof *p);
    formal_result(&p->x, &p->a, "one", 0.05);
    formal_result(&p->y, &p->a, "two", 0.06);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct pair *p = *state;
    arena_done(&p->a);
    test_free(p);
    return 0;
}

static const struct comparison_row *row_of(const struct comparison *c, const char *metric)
{
    for (size_t i = 0; i < c->row_count; i++)
        if (strcmp(c->rows[i].metric, metric) == 0)
            return &c->rows[i];
    fail_msg("no row %s", metric);
    return NULL;
}

static void uncertainty_by_hand_on_the_same_boards(void **state)
{
    struct pair *p = *state;
    p->x.metrics.formal_j_per_token = q(0.05, 0.003, 0.003);
    p->y.metrics.formal_j_per_token = q(0.06, 0.004, 0.0036);
    compare_runs(&p->x, &p->y, &p->a, &p->c);
    assert_int_equal(p->c.reason_count, 0);
    assert_true(p->c.same_boards);
    const struct comparison_row *r = row_of(&p->c, "formal-stage energy");
    assert_close(r->difference.value, 0.01, 1e-15);
    assert_close(r->difference.instrument, 0.005, 1e-15);   /* sqrt(3^2 + 4^2) */
    assert_close(r->difference.calibration, 0.0006, 1e-15); /* 6 % of the difference */
    assert_close(r->ratio.value, 1.2, 1e-15);
    /* relative 0.003 / 0.05 = 0.06 and 0.004 / 0.06 = 1 / 15: 1.2 sqrt(0.06^2 + (1/15)^2) */
    assert_close(r->ratio.instrument, 1.2 * sqrt(0.0036 + 1.0 / 225), 1e-15);
    assert_close(r->ratio.calibration, 0, 0);
}

static void other_boards_of_the_same_kind_add_their_limits(void **state)
{
    struct pair *p = *state;
    p->y.gpus[0].uuid = "GPU-2";
    compare_runs(&p->x, &p->y, &p->a, &p->c);
    assert_int_equal(p->c.reason_count, 0);
    assert_false(p->c.same_boards);
    const struct comparison_row *r = row_of(&p->c, "formal-stage energy");
    assert_close(r->difference.calibration, 0.003 + 0.0036, 1e-15);
    assert_close(r->ratio.calibration, 1.2 * 0.12, 1e-15);
}

/* A value without a stated uncertainty has a difference without one, not with 0. */
static void unknown_uncertainty_stays_unknown(void **state)
{
    struct pair *p = *state;
    compare_runs(&p->x, &p->y, &p->a, &p->c);
    const struct comparison_row *r = row_of(&p->c, "output throughput");
    assert_close(r->difference.value, 0, 0);
    assert_true(isnan(r->difference.instrument));
    assert_true(isnan(r->ratio.calibration));
}

static void twenty_percent_of_the_larger_is_still_a_pair(void **state)
{
    struct pair *p = *state;
    p->y.load.output_tokens = 800000;
    compare_runs(&p->x, &p->y, &p->a, &p->c);
    assert_close(p->c.tokens_difference.value, 0.2, 0);
    assert_int_equal(p->c.reason_count, 0);
    p->y.load.output_tokens = 799999;
    compare_runs(&p->x, &p->y, &p->a, &p->c);
    assert_int_equal(p->c.reason_count, 1);
    assert_int_equal(p->c.row_count, 0);
    assert_string_equal(p->c.reasons[0],
                        "The output tokens differ by 20.0 % (1000000 and 799999); over 20 % is no comparison.");
}

struct refusal {
    void (*spoil)(struct result *y);
    const char *reason;
};

static void not_formal(struct result *y)
{
    y->formal = false;
    y->checks[CODE_SAMPLE_GAP].outcome = CHECK_FAILED;
}
static void other_model(struct result *y)
{
    y->model = "example/Other";
}
static void other_revision(struct result *y)
{
    y->revision = NULL;
}
static void other_scenario(struct result *y)
{
    y->scenario = "code";
}
static void other_requests(struct result *y)
{
    y->requests_sha256 = "bb";
}
static void other_limit(struct result *y)
{
    y->gpus[0].uuid = "GPU-2";
    y->gpus[0].power_limit_w = 600;
}
static void other_count(struct result *y)
{
    y->gpu_count = 0;
}
static void simulated(struct result *y)
{
    y->simulated = true;
}
static void repeats(struct result *y)
{
    y->marks[RMARK_REPEATED_PROMPTS].outcome = CHECK_FAILED;
}
static void other_reading(struct result *y)
{
    y->differences = "k=1";
}
static void same_run(struct result *y)
{
    y->run_id = "one";
}

static void each_reason_against_is_named_alone(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {not_formal, "Run two is not formal: sample_gap (failed)."},
        {other_model, "The model differs: example/Model-8B and example/Other."},
        {other_revision, "The model's revision differs: 0123 and not stated."},
        {other_scenario, "The scenario differs: chat and code."},
        {other_requests, "The request set (SHA-256) differs: aa and bb."},
        {other_limit, "The GPUs differ: NVIDIA H200 at 700 W and NVIDIA H200 at 600 W."},
        {other_count, "The number of GPUs differs: 1 and 0."},
        {simulated, "Run two is simulated and the other is real."},
        {repeats, "One run repeats prompts with the prefix cache on (repeated_prompts) and the other does not."},
        {other_reading, "The analyses differ: \"the method's defaults\" and \"k=1\"."},
        {same_run, "It is the same run twice."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct result x, y;
        struct comparison c;
        formal_result(&x, &a, "one", 0.05);
        formal_result(&y, &a, "two", 0.06);
        cases[i].spoil(&y);
        compare_runs(&x, &y, &a, &c);
        assert_int_equal(c.reason_count, 1);
        assert_string_equal(c.reasons[0], cases[i].reason);
        assert_int_equal(c.row_count, 0);
        arena_done(&a);
    }
}

static void a_lagging_run_lends_no_steady_value(void **state)
{
    struct pair *p = *state;
    p->y.marks[RMARK_DELIVERY_LAG].outcome = CHECK_FAILED;
    compare_runs(&p->x, &p->y, &p->a, &p->c);
    assert_int_equal(p->c.reason_count, 0);
    assert_string_equal(row_of(&p->c, "steady-state energy")->why, "run two has delivery lag");
    assert_false(quantity_has_value(&row_of(&p->c, "steady-state energy")->difference));
    assert_null(row_of(&p->c, "formal-stage energy")->why);
    assert_string_equal(p->c.notes[0], "Run two has delivery lag: its formal and lifecycle values carry the mark.");
}

static void a_limited_client_lends_no_latency(void **state)
{
    struct pair *p = *state;
    p->x.marks[RMARK_CLIENT_LIMITED].outcome = CHECK_FAILED;
    compare_runs(&p->x, &p->y, &p->a, &p->c);
    assert_string_equal(row_of(&p->c, "TTFT P50")->why, "the client was the bottleneck of run one");
    assert_null(row_of(&p->c, "steady-state energy")->why);
}

static void an_absent_value_says_whose_and_why(void **state)
{
    struct pair *p = *state;
    p->y.metrics.steady_j_per_token = quantity_absent(Q_NOT_REACHED, "lowest CV 0.05");
    compare_runs(&p->x, &p->y, &p->a, &p->c);
    assert_string_equal(row_of(&p->c, "steady-state energy")->why, "run two: lowest CV 0.05");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(uncertainty_by_hand_on_the_same_boards, setup, teardown),
        cmocka_unit_test_setup_teardown(other_boards_of_the_same_kind_add_their_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_uncertainty_stays_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(twenty_percent_of_the_larger_is_still_a_pair, setup, teardown),
        cmocka_unit_test(each_reason_against_is_named_alone),
        cmocka_unit_test_setup_teardown(a_lagging_run_lends_no_steady_value, setup, teardown),
        cmocka_unit_test_setup_teardown(a_limited_client_lends_no_latency, setup, teardown),
        cmocka_unit_test_setup_teardown(an_absent_value_says_whose_and_why, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
