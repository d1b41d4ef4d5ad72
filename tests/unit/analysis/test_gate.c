#include "compared.h"
#include "analysis/gate.h"

struct two {
    struct made *x[6], *y[6];
    struct compare_run base[6], candidate[6];
};

static void fill(struct two *t, struct arena *a, const double *x, size_t n, const double *y, size_t m)
{
    for (size_t i = 0; i < n; i++) {
        t->x[i] = made_run(a, arena_format(a, "a%zu", i), (int)(2 * i), x[i]);
        t->base[i] = t->x[i]->as;
    }
    for (size_t i = 0; i < m; i++) {
        t->y[i] = made_run(a, arena_format(a, "b%zu", i), (int)(2 * i + 1), y[i]);
        t->candidate[i] = t->y[i]->as;
    }
}

static void judge(struct two *t, struct arena *a, size_t n, size_t m, struct gate *g)
{
    compare_sides(t->base, n, t->candidate, m, a, &g->comparison);
    gate_judge(g, a);
}

/* Five runs a side, a rise of 4 %: the limit is moved through the interval, whose ends are taken from Welch by hand. */
static void the_interval_decides_against_the_limit(void **state)
{
    (void)state;
    struct arena a = {0};
    struct two t;
    const double x[] = {0.0500, 0.0502, 0.0498, 0.0501, 0.0499};
    double y[5], lx[5], mean = 0, var = 0;
    for (int i = 0; i < 5; i++) {
        y[i] = 1.04 * x[i];
        lx[i] = log(x[i]);
        mean += lx[i] / 5;
    }
    for (int i = 0; i < 5; i++)
        var += (lx[i] - mean) * (lx[i] - mean) / 4;
    /* Equal allotments: 8 degrees, t = 2.306. */
    double half = 2.30600413520417 * sqrt(2 * var / 5), low = 1.04 * exp(-half) - 1, high = 1.04 * exp(half) - 1;
    fill(&t, &a, x, 5, y, 5);
    const struct {
        double limit;
        int rise, fall;
    } cases[] = {
        {high + 1e-9, GATE_PASSED, GATE_PASSED}, {high - 1e-9, GATE_UNDECIDED, GATE_PASSED},
        {0.04, GATE_UNDECIDED, GATE_PASSED},     {low + 1e-9, GATE_UNDECIDED, GATE_PASSED},
        {low - 1e-9, GATE_FAILED, GATE_PASSED},  {0, GATE_FAILED, GATE_PASSED},
    };
    for (size_t i = 0; i < 6; i++) {
        struct gate g = {.metric = "formal_j_per_token", .change = GATE_RISE, .limit = cases[i].limit, .spread = NAN};
        judge(&t, &a, 5, 5, &g);
        assert_int_equal(g.outcome, cases[i].rise);
        assert_close(g.value, 0.04, 1e-12);
        assert_close(g.low, low, 1e-12);
        assert_close(g.high, high, 1e-12);
        /* What rose did not fall by anything. */
        g.change = GATE_FALL;
        gate_judge(&g, &a);
        assert_int_equal(g.outcome, cases[i].fall);
        assert_close(g.low, -high, 1e-12);
        assert_close(g.high, -low, 1e-12);
    }
    arena_done(&a);
}

/* A fall is judged as a rise is, with base and candidate exchanged. */
static void a_fall_by_hand(void **state)
{
    (void)state;
    struct arena a = {0};
    struct two t;
    fill(&t, &a, (double[]){0.0500, 0.0501, 0.0499}, 3, (double[]){0.0450, 0.0451, 0.0449}, 3);
    struct gate g = {.metric = "formal_j_per_token", .change = GATE_FALL, .limit = 0.05, .spread = NAN};
    judge(&t, &a, 3, 3, &g);
    assert_close(g.value, 0.1, 1e-5);
    assert_int_equal(g.outcome, GATE_FAILED);
    g.limit = 0.15;
    gate_judge(&g, &a);
    assert_int_equal(g.outcome, GATE_PASSED);
    g.limit = g.value;
    gate_judge(&g, &a);
    assert_int_equal(g.outcome, GATE_UNDECIDED);
    arena_done(&a);
}

/* METHOD section 9: under three a side undecided, whatever the values, unless a spread is stated: then
 * +- 2 s sqrt(1/n + 1/m). */
static void few_runs_decide_by_a_stated_spread_only(void **state)
{
    (void)state;
    struct arena a = {0};
    static const size_t counts[][2] = {{1, 1}, {1, 2}, {2, 2}, {2, 3}, {1, 6}, {6, 2}};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        size_t n = counts[k][0], m = counts[k][1];
        double x[6], y[6];
        for (int i = 0; i < 6; i++) {
            x[i] = 0.05;
            y[i] = 0.1; /* twice as much */
        }
        struct two t;
        fill(&t, &a, x, n, y, m);
        struct gate g = {.metric = "formal_j_per_token", .change = GATE_RISE, .limit = 0.05, .spread = NAN};
        judge(&t, &a, n, m, &g);
        assert_int_equal(g.outcome, GATE_UNDECIDED);
        assert_true(isnan(g.low) && isnan(g.high) && !g.interval);
        g.spread = 0.015;
        gate_judge(&g, &a);
        double half = 2 * 0.015 * sqrt(1.0 / (double)n + 1.0 / (double)m);
        assert_close(g.low, 2 * exp(-half) - 1, 1e-12);
        assert_close(g.high, 2 * exp(half) - 1, 1e-12);
        assert_int_equal(g.outcome, GATE_FAILED);
        g.limit = g.high - 1e-9;
        gate_judge(&g, &a);
        assert_int_equal(g.outcome, GATE_UNDECIDED);
        g.limit = g.high + 1e-9;
        gate_judge(&g, &a);
        assert_int_equal(g.outcome, GATE_PASSED);
        g.limit = 0.05;
        for (g.spread = 10; g.spread < 1e300; g.spread *= 10) { /* says nothing, and passes nothing */
            gate_judge(&g, &a);
            assert_int_equal(g.outcome, GATE_UNDECIDED);
        }
    }
    arena_done(&a);
}

/* From three a side on the runs themselves decide, whatever was stated. */
static void a_stated_spread_does_not_replace_runs(void **state)
{
    (void)state;
    struct arena a = {0};
    struct two t;
    struct gate g = {.metric = "formal_j_per_token", .change = GATE_RISE, .limit = 0.05, .spread = 0.0001};
    fill(&t, &a, (double[]){0.04, 0.05, 0.06}, 3, (double[]){0.05, 0.06, 0.07}, 3);
    judge(&t, &a, 3, 3, &g);
    assert_int_equal(g.outcome, GATE_UNDECIDED);
    assert_string_equal(g.interval, "Welch's 95 % interval between runs");
    arena_done(&a);
}

static void what_is_not_compared_is_never_passed(void **state)
{
    (void)state;
    struct arena a = {0};
    struct two t;
    struct gate g = {.metric = "formal_j_per_token", .change = GATE_RISE, .limit = 10, .spread = 0.01};
    fill(&t, &a, (double[]){0.05, 0.05, 0.05}, 3, (double[]){0.05, 0.05, 0.05}, 3);
    t.y[1]->result.metrics.formal_j_per_token = quantity_absent(Q_NOT_COVERED, "no counter");
    judge(&t, &a, 3, 3, &g);
    assert_int_equal(g.outcome, GATE_UNDECIDED);
    assert_string_equal(g.why, "The metric is not compared, because run b1: no counter.");
    t.y[1]->result.metrics.formal_j_per_token = quantity_of(0); /* no ratio */
    judge(&t, &a, 3, 3, &g);
    assert_int_equal(g.outcome, GATE_UNDECIDED);
    t.y[1]->result.formal = false;
    judge(&t, &a, 3, 3, &g);
    assert_int_equal(g.outcome, GATE_REFUSED);
    arena_done(&a);
}

static void metrics_are_found_by_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMPARE_METRICS; i++)
        assert_ptr_equal(gate_metric(compare_metrics[i].key), &compare_metrics[i]);
    assert_null(gate_metric("formal-stage energy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_decides_against_the_limit),
        cmocka_unit_test(a_fall_by_hand),
        cmocka_unit_test(few_runs_decide_by_a_stated_spread_only),
        cmocka_unit_test(a_stated_spread_does_not_replace_runs),
        cmocka_unit_test(what_is_not_compared_is_never_passed),
        cmocka_unit_test(metrics_are_found_by_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
