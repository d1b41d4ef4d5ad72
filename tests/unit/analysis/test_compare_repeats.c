#include "check.h"
#include "analysis/compare_repeats.h"

static void mean_and_deviation_by_hand(void **state)
{
    (void)state;
    struct arena a = {0};
    struct repeats r;
    repeats_of((double[]){2, 4, 9}, 3, &a, &r);
    assert_int_equal(r.n, 3);
    assert_close(r.mean, 5, 0);
    assert_close(r.sd, sqrt(13), 1e-15); /* (9 + 1 + 16) / 2 */
    arena_done(&a);
}

/* One run has a mean and nothing else; equal runs have an interval of no width. */
static void one_value_has_no_spread(void **state)
{
    (void)state;
    struct arena a = {0};
    struct repeats r;
    repeats_of((double[]){7}, 1, &a, &r);
    assert_close(r.mean, 7, 0);
    assert_true(isnan(r.sd) && isnan(r.low) && isnan(r.high));
    repeats_of((double[]){7, 7, 7}, 3, &a, &r);
    assert_close(r.sd, 0, 0);
    assert_close(r.low, 7, 0);
    assert_close(r.high, 7, 0);
    arena_done(&a);
}

/* A resample of {0, 1} has mean 0, 1/2 or 1 with odds 1 : 2 : 1, so 2.5 % and 97.5 % lie at 0 and 1. Of eight values,
 * half 0 and half 1, the mean of a resample is B(8, 1/2) / 8: P(k <= 1) = 9 / 256 = 3.5 %, P(0) = 0.4 %, so the ends
 * are 1/8 and 7/8. */
static void the_interval_is_that_of_the_resampled_mean(void **state)
{
    (void)state;
    struct arena a = {0};
    struct repeats r;
    repeats_of((double[]){0, 1}, 2, &a, &r);
    assert_close(r.low, 0, 0);
    assert_close(r.high, 1, 0);
    repeats_of((double[]){0, 0, 0, 0, 1, 1, 1, 1}, 8, &a, &r);
    assert_close(r.low, 0.125, 0);
    assert_close(r.high, 0.875, 0);
    arena_done(&a);
}

/* {1, 2, 3} against {4, 5, 6}: of the 20 splits only this one and its mirror are as far apart: p = 2 / 20. */
static void small_samples_are_tested_exactly(void **state)
{
    (void)state;
    struct arena a = {0};
    assert_close(repeats_permutation((double[]){1, 2, 3}, 3, (double[]){4, 5, 6}, 3, &a), 0.1, 1e-15);
    /* {1, 4} against {2, 3}: no difference at all, every split is as far. */
    assert_close(repeats_permutation((double[]){1, 4}, 2, (double[]){2, 3}, 2, &a), 1, 0);
    /* {1, 3} against {2, 9}: means 2 and 5.5. Splits of {1, 3, 2, 9}: {1,3} {2,9} 3.5 yes; {1,2} {3,9} 4.5 yes; {1,9}
     * {3,2} 2.5 no; and the three mirrors: 4 / 6. */
    assert_close(repeats_permutation((double[]){1, 3}, 2, (double[]){2, 9}, 2, &a), 4.0 / 6, 1e-15);
    assert_true(isnan(repeats_permutation((double[]){1}, 1, (double[]){2, 9}, 2, &a)));
    arena_done(&a);
}

/* 12 against 12 has 2.7 million splits: sampled. Far apart, none of the random ones is as far: 1 / 100001. */
static void large_samples_are_sampled(void **state)
{
    (void)state;
    struct arena a = {0};
    double x[12], y[12];
    for (int i = 0; i < 12; i++) {
        x[i] = i;
        y[i] = 1000 + i;
    }
    assert_close(repeats_permutation(x, 12, y, 12, &a), 1.0 / 100001, 1e-4);
    for (int i = 0; i < 12; i++)
        y[i] = 11 - i;
    assert_close(repeats_permutation(x, 12, y, 12, &a), 1, 0);
    arena_done(&a);
}

static void result_of(struct result *r, struct arena *a, const char *id, const char *version, double value)
{
    result_absent(r, a, "not in this test");
    r->run_id = id;
    r->method_id = "jtok-1";
    r->model = "m";
    r->scenario = "chat";
    r->requests_sha256 = "aa";
    r->engine = "vllm";
    r->engine_version = version;
    r->formal = true;
    r->gpu_count = 1;
    r->gpus = arena_array(a, 1, sizeof *r->gpus);
    r->gpus[0].uuid = "GPU-1";
    r->load.output_tokens = 1000;
    r->metrics.formal_j_per_token = quantity_of(value);
}

static void sides_of_repetitions_are_compared(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result x[2], y[2];
    struct repeated k;
    result_of(&x[0], &a, "a1", "1", 0.04);
    result_of(&x[1], &a, "a2", "1", 0.06);
    result_of(&y[0], &a, "b1", "2", 0.09);
    result_of(&y[1], &a, "b2", "2", 0.11);
    compare_repeated(x, 2, y, 2, &a, &k);
    assert_int_equal(k.reason_count, 0);
    for (size_t i = 0; i < k.row_count; i++) {
        bool is_formal = strcmp(k.rows[i].metric, "formal-stage energy") == 0;
        assert_int_equal(k.rows[i].why == NULL, is_formal);
        if (!is_formal)
            continue;
        assert_close(k.rows[i].a.mean, 0.05, 1e-15);
        assert_close(k.rows[i].b.mean, 0.10, 1e-15);
        assert_close(k.rows[i].ratio, 2, 1e-14);
        assert_close(k.rows[i].p, 2.0 / 6, 1e-15);
    }
    y[1].engine_version = "3";
    compare_repeated(x, 2, y, 2, &a, &k);
    assert_int_equal(k.reason_count, 1);
    assert_string_equal(k.reasons[0], "Run b2 is no repetition of b1: the engine or its version differs.");
    assert_int_equal(k.row_count, 0);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_and_deviation_by_hand),
        cmocka_unit_test(one_value_has_no_spread),
        cmocka_unit_test(the_interval_is_that_of_the_resampled_mean),
        cmocka_unit_test(small_samples_are_tested_exactly),
        cmocka_unit_test(large_samples_are_sampled),
        cmocka_unit_test(sides_of_repetitions_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
