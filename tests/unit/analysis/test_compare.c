#include "compared.h"

struct pair {
    struct arena a;
    struct made *x, *y;
    struct comparison c;
};

static int setup(void **state)
{
    struct pair *p = test_calloc(1, sizeof *p);
    p->x = made_run(&p->a, "one", 0, 0.05);
    p->y = made_run(&p->a, "two", 1, 0.06);
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

static void compare(struct pair *p)
{
    compare_sides(&p->x->as, 1, &p->y->as, 1, &p->a, &p->c);
}

static const struct comparison_row *row_of(const struct comparison *c, const char *key)
{
    for (size_t i = 0; i < c->row_count; i++)
        if (strcmp(c->rows[i].key, key) == 0)
            return &c->rows[i];
    fail_msg("no row %s", key);
    return NULL;
}

/* ---- one run a side ---- */

static void doubts_by_hand_on_the_same_boards(void **state)
{
    struct pair *p = *state;
    p->x->result.metrics.formal_j_per_token = q(0.05, 0.003, 0.003);
    p->y->result.metrics.formal_j_per_token = q(0.06, 0.004, 0.0036);
    compare(p);
    assert_int_equal(p->c.reasons.count, 0);
    assert_true(p->c.same_boards);
    const struct comparison_row *r = row_of(&p->c, "formal_j_per_token");
    assert_close(r->difference.value, 0.01, 1e-15);
    assert_close(r->difference.instrument, 0.005, 1e-15);   /* sqrt(3^2 + 4^2) */
    assert_close(r->difference.calibration, 0.0006, 1e-15); /* 6 % of the difference */
    assert_close(r->ratio.value, 1.2, 1e-15);
    /* relative 0.003 / 0.05 = 0.06 and 0.004 / 0.06 = 1 / 15: 1.2 sqrt(0.06^2 + (1/15)^2) */
    assert_close(r->ratio.instrument, 1.2 * sqrt(0.0036 + 1.0 / 225), 1e-15);
    assert_close(r->ratio.calibration, 0, 0);
}

static void other_boards_of_the_same_kind_add_their_calibrations(void **state)
{
    struct pair *p = *state;
    p->y->result.gpus[0].uuid = "GPU-2";
    compare(p);
    assert_int_equal(p->c.reasons.count, 0);
    assert_false(p->c.same_boards);
    const struct comparison_row *r = row_of(&p->c, "formal_j_per_token");
    assert_close(r->difference.calibration, 0.003 + 0.0036, 1e-15);
    assert_close(r->ratio.calibration, 1.2 * 0.12, 1e-15);
    assert_told(&p->c.notes, "The boards differ");
}

/* A value without a stated doubt has a difference without one, not with 0. */
static void an_unknown_doubt_stays_unknown(void **state)
{
    struct pair *p = *state;
    compare(p);
    const struct comparison_row *r = row_of(&p->c, "throughput_tok_s");
    assert_close(r->difference.value, 0, 0);
    assert_true(isnan(r->difference.instrument));
    assert_true(isnan(r->ratio.calibration));
}

/* However far apart the values are and however small the instrument's doubt: no verdict, in no row. */
static void one_run_a_side_gives_no_verdict(void **state)
{
    struct pair *p = *state;
    for (double factor = 1e-3; factor < 1e4; factor *= 10) {
        p->y->result.metrics.formal_j_per_token = q(0.05 * factor, 1e-9, 1e-9);
        p->y->result.metrics.throughput_tok_s = quantity_of(15000 / factor);
        compare(p);
        for (size_t i = 0; i < p->c.row_count; i++) {
            const struct comparison_row *r = &p->c.rows[i];
            assert_int_equal(r->verdict, COMPARED_NONE);
            assert_true(isnan(r->between.low) && isnan(r->between.high) && isnan(r->between.p));
            assert_true(isnan(r->a_runs.sd));
        }
        assert_int_equal(p->c.compared, 0);
        assert_told(&p->c.notes, "One run each: spread between runs unknown; no statement about the set-ups.");
    }
}

static void twenty_percent_of_the_larger_is_still_a_pair(void **state)
{
    struct pair *p = *state;
    p->y->result.load.output_tokens = 800000;
    compare(p);
    assert_close(p->c.tokens_difference.value, 0.2, 0);
    assert_int_equal(p->c.reasons.count, 0);
    p->y->result.load.output_tokens = 799999;
    compare(p);
    assert_int_equal(p->c.reasons.count, 1);
    assert_int_equal(p->c.row_count, 0);
    assert_string_equal(
        p->c.reasons.items[0],
        "The output tokens differ by 20.0 % (1000000 and 799999); runs over 20 % apart are not compared.");
}

static void not_formal(struct made *y)
{
    y->result.formal = false;
    y->result.checks[CODE_SAMPLE_GAP].outcome = CHECK_FAILED;
}
static void other_model(struct made *y)
{
    y->result.about.model = "example/Other";
}
static void other_revision(struct made *y)
{
    y->result.about.revision = NULL;
}
static void other_precision(struct made *y)
{
    y->plan.model.precision = "fp8";
}
static void found_precision(struct made *y)
{
    y->plan.model.precision = NULL;
    y->result.about.precision = "fp8"; /* by the snapshot */
}
static void no_precision(struct made *y)
{
    y->plan.model.precision = NULL;
}
static void other_scenario(struct made *y)
{
    y->result.about.scenario = "code";
}
static void other_work(struct made *y)
{
    y->plan.requests.seed = 4;
    y->result.about.work_sha256 = "vv";
}
static void other_limit(struct made *y)
{
    y->result.gpus[0].power_limit_w = 600;
}
static void other_count(struct made *y)
{
    y->result.gpu_count = 0;
}
static void simulated(struct made *y)
{
    y->result.about.simulated = true;
}
static void repeats(struct made *y)
{
    y->result.flags[FLAG_REPEATED_PROMPTS].outcome = CHECK_FAILED;
}
static void other_method(struct made *y)
{
    y->result.about.method_id = "jtok-1";
}
static void other_reading(struct made *y)
{
    y->result.about.differences = "k=1";
}
static void same_run(struct made *y)
{
    y->result.about.run_id = "one";
    y->run.began_realtime_ns -= INT64_C(100000000000); /* when run one began */
}
static void no_tokens(struct made *y)
{
    y->result.load.output_tokens = 0;
}

static void each_reason_against_is_named_alone(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(struct made *y);
        const char *reason;
    } cases[] = {
        {not_formal, "Run two is not formal: sample_gap (failed)."},
        {other_model, "The model differs: example/Model-8B and example/Other."},
        {other_revision, "The model's revision differs: 0123 and not stated."},
        {other_precision, "The precision differs: bf16 and fp8."},
        {found_precision, "The precision differs: bf16 and fp8."},
        {no_precision, "The precision differs: bf16 and not stated."},
        {other_scenario, "The scenario differs: chat and code."},
        {other_work, "What was asked differs: requests.seed is not stated and 4."},
        {other_limit, "The GPUs differ: NVIDIA H200 at 700 W, power by field 186 scope 0 and NVIDIA H200 at 600 W, "
                      "power by field 186 scope 0."},
        {other_count, "The number of GPUs differs or is 0: 1 and 0."},
        {simulated, "Run two is simulated and the other is real."},
        {repeats, "One run repeats prompts with the prefix cache on (repeated_prompts) and the other does not."},
        {other_method, "The method differs: jtok-2 and jtok-1."},
        {other_reading, "The analyses differ: \"the method's defaults\" and \"k=1\"."},
        {same_run, "It is the same run twice: one."},
        {no_tokens, "A run has no output tokens."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct made *x = made_run(&a, "one", 0, 0.05), *y = made_run(&a, "two", 1, 0.06);
        struct comparison c;
        cases[i].spoil(y);
        compare_sides(&x->as, 1, &y->as, 1, &a, &c);
        assert_int_equal(c.reasons.count, 1);
        assert_string_equal(c.reasons.items[0], cases[i].reason);
        assert_int_equal(c.row_count, 0);
        arena_done(&a);
    }
}

/* What neither run states is not taken for the same: it is said that it was not compared. */
static void what_neither_states_is_named(void **state)
{
    struct pair *p = *state;
    p->x->result.about.revision = p->y->result.about.revision = NULL;
    p->x->plan.model.precision = p->y->plan.model.precision = NULL;
    compare(p);
    assert_int_equal(p->c.reasons.count, 0);
    assert_told(&p->c.notes, "Neither run states the model's revision, so it was not compared.");
    assert_told(&p->c.notes, "Neither run states the precision, so it was not compared.");
}

/* Two folders may hold runs of one second and so of one name. */
static void runs_of_one_name_that_began_apart_are_two(void **state)
{
    struct pair *p = *state;
    p->y->result.about.run_id = "one";
    compare(p);
    assert_int_equal(p->c.reasons.count, 0);
    p->x->as.run = NULL; /* can't be told any more */
    compare(p);
    assert_string_equal(p->c.reasons.items[0], "It is the same run twice: one.");
}

/* A published result comes without run.json; a pair it can be. */
static void a_result_without_its_documents_is_still_a_pair(void **state)
{
    struct pair *p = *state;
    p->y->as.run = NULL;
    compare(p);
    assert_int_equal(p->c.reasons.count, 0);
    assert_null(p->c.order);
    p->y->as.plan = NULL;
    compare(p);
    assert_int_equal(p->c.reasons.count, 0);
    assert_told(&p->c.notes, "Run two has no plan.json, so the precision was not compared.");
}

static void a_lagging_run_lends_no_steady_value(void **state)
{
    struct pair *p = *state;
    p->y->result.flags[FLAG_DELIVERY_LAG].outcome = CHECK_FAILED;
    p->y->result.flags[FLAG_DELIVERY_LAG].why = "Idle for 9 s while tokens were owed.";
    compare(p);
    assert_int_equal(p->c.reasons.count, 0);
    assert_string_equal(row_of(&p->c, "steady_j_per_token")->why, "run two has delivery lag");
    assert_false(quantity_has_value(&row_of(&p->c, "steady_j_per_token")->difference));
    assert_null(row_of(&p->c, "formal_j_per_token")->why);
    assert_told(&p->c.notes, "Flagged delivery_lag: two. Idle for 9 s while tokens were owed.");
}

static void a_limited_client_lends_no_latency(void **state)
{
    struct pair *p = *state;
    p->x->result.flags[FLAG_CLIENT_LIMITED].outcome = CHECK_FAILED;
    compare(p);
    assert_string_equal(row_of(&p->c, "ttft_p50_s")->why, "run one: the client was the bottleneck");
    assert_string_equal(row_of(&p->c, "tpot_p50_s")->why, "run one: the client was the bottleneck");
    assert_null(row_of(&p->c, "steady_j_per_token")->why);
}

static void merged_arrivals_lend_no_latency(void **state)
{
    struct pair *p = *state;
    p->x->result.flags[FLAG_ARRIVALS_MERGED].outcome = CHECK_FAILED;
    compare(p);
    assert_non_null(row_of(&p->c, "tpot_p50_s")->why);
    assert_non_null(row_of(&p->c, "ttft_p50_s")->why);
    assert_null(row_of(&p->c, "formal_j_per_token")->why);
}

static void an_absent_value_says_whose_and_why(void **state)
{
    struct pair *p = *state;
    p->y->result.metrics.steady_j_per_token = quantity_absent(Q_NOT_REACHED, "lowest CV 0.05");
    compare(p);
    const struct comparison_row *r = row_of(&p->c, "steady_j_per_token");
    assert_string_equal(r->why, "run two: lowest CV 0.05");
    assert_close(r->a.value, 0.05, 0);
    assert_int_equal(r->b.state, Q_NOT_REACHED);
}

/* Values that are excluded, in doubt or unknown never make a ratio. */
static void only_measured_values_are_compared(void **state)
{
    struct pair *p = *state;
    for (int s = Q_NOT_RECORDED; s <= Q_EXCLUDED; s++) {
        p->y->result.metrics.formal_j_per_token.state = (enum q_state)s;
        compare(p);
        assert_int_equal(row_of(&p->c, "formal_j_per_token")->why == NULL, s == Q_MEASURED);
    }
}

/* ---- several runs a side ---- */

enum { RUNS_MAX = 12 };

struct sides {
    struct made *made[2][RUNS_MAX];
    struct compare_run runs[2][RUNS_MAX];
    size_t count[2];
};

/* `order`: a letter a run, as they were taken; values in that order for each side. */
static void fill(struct sides *s, struct arena *a, const char *order, const double *x, const double *y)
{
    *s = (struct sides){0};
    for (int i = 0; order[i]; i++) {
        int side = order[i] == 'B';
        size_t k = s->count[side]++;
        s->made[side][k] = made_run(a, arena_format(a, "%c%zu", "ab"[side], k + 1), i, side ? y[k] : x[k]);
        s->runs[side][k] = s->made[side][k]->as;
        s->made[side][k]->result.metrics.steady_j_per_token = quantity_absent(Q_NOT_REACHED, "not in this test");
    }
}

static void compare_filled(const struct sides *s, struct arena *a, struct comparison *c)
{
    compare_sides(s->runs[0], s->count[0], s->runs[1], s->count[1], a, c);
}

/* Two runs a side have means, deviations and an interval; what decides needs three. */
static void two_runs_a_side_have_a_spread_and_no_verdict(void **state)
{
    (void)state;
    struct arena a = {0};
    struct sides s;
    struct comparison c;
    fill(&s, &a, "ABBA", (double[]){0.04, 0.06}, (double[]){0.09, 0.11});
    compare_filled(&s, &a, &c);
    assert_int_equal(c.reasons.count, 0);
    const struct comparison_row *r = row_of(&c, "formal_j_per_token");
    assert_close(r->a.value, 0.05, 1e-15);
    assert_close(r->b.value, 0.10, 1e-15);
    assert_close(r->a_runs.sd, 0.01 * sqrt(2), 1e-15);
    assert_close(r->ratio.value, sqrt(0.09 * 0.11 / (0.04 * 0.06)), 1e-14);
    assert_close(r->between.p, 2.0 / 6, 1e-15);
    assert_true(r->between.low < 1 && r->between.high > 2);
    assert_int_equal(r->verdict, COMPARED_NONE);
    assert_told(&c.notes, "Under 3 runs a side: no statement about the set-ups.");
    assert_non_null(row_of(&c, "steady_j_per_token")->why);
    arena_done(&a);
}

static void three_runs_a_side_decide_by_welch(void **state)
{
    (void)state;
    struct arena a = {0};
    struct sides s;
    struct comparison c;
    fill(&s, &a, "ABBAAB", (double[]){0.0500, 0.0505, 0.0495}, (double[]){0.0550, 0.0555, 0.0545});
    compare_filled(&s, &a, &c);
    assert_int_equal(row_of(&c, "formal_j_per_token")->verdict, COMPARED_HIGHER);
    assert_close(row_of(&c, "formal_j_per_token")->between.p, 0.1, 1e-15); /* and yet it is decided */
    assert_close(row_of(&c, "formal_j_per_token")->between.p_least, 0.1, 1e-15);
    assert_true(c.in_turn);
    /* Throughput, TTFT and TPOT are equal in all runs. */
    assert_int_equal(row_of(&c, "throughput_tok_s")->verdict, COMPARED_ALIKE);
    assert_int_equal(c.compared, 4);
    assert_close(c.chance, 1 - 0.95 * 0.95 * 0.95 * 0.95, 1e-15);
    assert_told(&c.notes, "Both sides have the same plan");
    fill(&s, &a, "ABBAAB", (double[]){0.0550, 0.0555, 0.0545}, (double[]){0.0500, 0.0505, 0.0495});
    compare_filled(&s, &a, &c);
    assert_int_equal(row_of(&c, "formal_j_per_token")->verdict, COMPARED_LOWER);
    fill(&s, &a, "ABBAAB", (double[]){0.0500, 0.0555, 0.0525}, (double[]){0.0510, 0.0560, 0.0540});
    compare_filled(&s, &a, &c);
    assert_int_equal(row_of(&c, "formal_j_per_token")->verdict, COMPARED_ALIKE);
    /* Three against two: none. */
    fill(&s, &a, "ABBAA", (double[]){0.0500, 0.0505, 0.0495}, (double[]){0.0950, 0.0955});
    compare_filled(&s, &a, &c);
    assert_int_equal(row_of(&c, "formal_j_per_token")->verdict, COMPARED_NONE);
    arena_done(&a);
}

static void every_run_of_a_side_must_be_formal_and_a_repetition(void **state)
{
    (void)state;
    struct arena a = {0};
    const double x[] = {0.05, 0.05, 0.05}, y[] = {0.06, 0.06, 0.06};
    for (size_t k = 0; k < 6; k++) {
        struct sides s;
        struct comparison c;
        fill(&s, &a, "ABABAB", x, y);
        struct made *m = s.made[k / 3][k % 3];
        m->result.formal = false;
        m->result.checks[CODE_CLOCK_STEP].outcome = CHECK_FAILED;
        compare_filled(&s, &a, &c);
        assert_int_equal(c.reasons.count, 1);
        assert_told(&c.reasons, arena_format(&a, "Run %s is not formal: clock_step (failed).", m->result.about.run_id));
        /* The command of one run of a side: an unlike repetition. Of a whole side: another set-up. */
        fill(&s, &a, "ABABAB", x, y);
        m = s.made[k / 3][k % 3];
        m->plan.engine.command[5] = "--slow";
        compare_filled(&s, &a, &c);
        assert_told(&c.reasons, "is not a repetition of");
        assert_int_equal(c.row_count, 0);
    }
    struct sides s;
    struct comparison c;
    fill(&s, &a, "ABABAB", x, y);
    for (int i = 0; i < 3; i++)
        s.made[1][i]->plan.engine.command[5] = "--slow";
    compare_filled(&s, &a, &c);
    assert_int_equal(c.reasons.count, 0);
    assert_int_equal(c.differences.count, 1);
    assert_string_equal(c.differences.items[0].key, "engine.command");
    /* A run given twice on one side is no repetition. */
    s.made[1][2]->result.about.run_id = "b1";
    s.made[1][2]->run.began_realtime_ns = s.made[1][0]->run.began_realtime_ns;
    compare_filled(&s, &a, &c);
    assert_told(&c.reasons, "It is the same run twice: b1.");
    /* Output tokens: any run of one side with any of the other. */
    fill(&s, &a, "ABABAB", x, y);
    s.made[0][1]->result.load.output_tokens = 900000;
    s.made[1][2]->result.load.output_tokens = 1130000;
    compare_filled(&s, &a, &c);
    assert_int_equal(c.reasons.count, 1);
    assert_string_equal(c.reasons.items[0],
                        "The output tokens of two runs differ by 20.4 %; runs over 20 % apart are not compared.");
    arena_done(&a);
}

/* One run that lacks a value takes it from the row, and is named. */
static void a_row_needs_every_run(void **state)
{
    (void)state;
    struct arena a = {0};
    struct sides s;
    struct comparison c;
    fill(&s, &a, "ABABAB", (double[]){0.05, 0.051, 0.049}, (double[]){0.06, 0.061, 0.059});
    s.made[1][1]->result.metrics.formal_j_per_token = quantity_absent(Q_NOT_COVERED, "no counter");
    compare_filled(&s, &a, &c);
    assert_string_equal(row_of(&c, "formal_j_per_token")->why, "run b2: no counter");
    assert_int_equal(row_of(&c, "formal_j_per_token")->verdict, COMPARED_NONE);
    arena_done(&a);
}

/* ---- taken in turn ---- */

static void runs_in_turn_and_runs_that_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *order;
        bool in_turn;
    } cases[] = {{"ABBA", true},   {"ABAB", true},    {"AABB", false},   {"BBAA", false},    {"ABABAB", true},
                 {"ABBAAB", true}, {"AAABBB", false}, {"AABABB", false}, {"ABBBBBBA", true}, {"AAAA", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(compare_in_turn(cases[i].order), cases[i].in_turn);
    struct arena a = {0};
    struct sides s;
    struct comparison c;
    const double x[] = {0.05, 0.051, 0.049}, y[] = {0.06, 0.061, 0.059};
    fill(&s, &a, "AAABBB", x, y);
    compare_filled(&s, &a, &c);
    assert_string_equal(c.order, "AAABBB");
    assert_told(&c.notes, "All runs of A came before those of B (AAABBB): a drift of the machine would look like a "
                          "difference.");
    fill(&s, &a, "BBBAAA", x, y);
    compare_filled(&s, &a, &c);
    assert_told(&c.notes, "All runs of B came before those of A");
    fill(&s, &a, "AABABB", x, y);
    compare_filled(&s, &a, &c);
    assert_told(&c.notes, "Most runs of A came before those of B");
    fill(&s, &a, "ABBAAB", x, y);
    compare_filled(&s, &a, &c);
    assert_false(told(&c.notes, "drift"));
    arena_done(&a);
}

/* Keys are what a script holds on to: none twice, each with a unit. */
static void metrics_have_keys_and_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMPARE_METRICS; i++) {
        assert_true(compare_metrics[i].key[0] && compare_metrics[i].unit[0]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(compare_metrics[i].key, compare_metrics[j].key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(doubts_by_hand_on_the_same_boards, setup, teardown),
        cmocka_unit_test_setup_teardown(other_boards_of_the_same_kind_add_their_calibrations, setup, teardown),
        cmocka_unit_test_setup_teardown(an_unknown_doubt_stays_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(one_run_a_side_gives_no_verdict, setup, teardown),
        cmocka_unit_test_setup_teardown(twenty_percent_of_the_larger_is_still_a_pair, setup, teardown),
        cmocka_unit_test(each_reason_against_is_named_alone),
        cmocka_unit_test_setup_teardown(what_neither_states_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(runs_of_one_name_that_began_apart_are_two, setup, teardown),
        cmocka_unit_test_setup_teardown(a_result_without_its_documents_is_still_a_pair, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lagging_run_lends_no_steady_value, setup, teardown),
        cmocka_unit_test_setup_teardown(a_limited_client_lends_no_latency, setup, teardown),
        cmocka_unit_test_setup_teardown(merged_arrivals_lend_no_latency, setup, teardown),
        cmocka_unit_test_setup_teardown(an_absent_value_says_whose_and_why, setup, teardown),
        cmocka_unit_test_setup_teardown(only_measured_values_are_compared, setup, teardown),
        cmocka_unit_test(two_runs_a_side_have_a_spread_and_no_verdict),
        cmocka_unit_test(three_runs_a_side_decide_by_welch),
        cmocka_unit_test(every_run_of_a_side_must_be_formal_and_a_repetition),
        cmocka_unit_test(a_row_needs_every_run),
        cmocka_unit_test(runs_in_turn_and_runs_that_are_not),
        cmocka_unit_test(metrics_have_keys_and_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
