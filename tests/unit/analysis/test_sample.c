#include "compared.h"
#include "analysis/sample.h"

/* ---- logarithm and exponential ---- */

static void logarithm_and_exponential_are_those_of_libm(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        /* All exponents, and values close to 1, where a logarithm loses digits most easily. */
        double x = i % 2 ? ldexp(1 + draw_uniform(&seed), i % 2000 - 1000)
                         : 1 + (draw_uniform(&seed) - 0.5) * ldexp(1, -(i % 50));
        assert_close_rel(sample_log(x), log(x), 1e-14);
        double y = (draw_uniform(&seed) - 0.5) * 1400;
        assert_close_rel(sample_exp(y), exp(y), 1e-14 + fabs(y) * 0x1p-53);
        assert_close_rel(sample_exp(sample_log(x)), x, 1e-12);
    }
    assert_true(sample_log(1) == 0 && sample_exp(0) == 1);
    assert_true(sample_exp(1e4) == INFINITY && sample_exp(1e300) == INFINITY && sample_exp(INFINITY) == INFINITY);
    assert_true(sample_exp(-1e4) == 0 && sample_exp(-1e300) == 0 && sample_exp(-INFINITY) == 0);
    assert_close_rel(sample_log(5e-324), log(5e-324), 1e-14); /* subnormal */
    assert_close_rel(sample_log(1.7976931348623157e308), log(1.7976931348623157e308), 1e-14);
}

/* ---- Student's t ---- */

/* P(|T| < t) by Simpson's rule over the density, independent of any table: the substitution x = sqrt(nu) tan(u) turns
 * it into the integral of cos(u)^(nu - 1), and the constant is that integral over all u. */
static double holds(double t, double degrees)
{
    enum { STEPS = 20000 };
    const double ends[] = {atan(t / sqrt(degrees)), 1.5707963267948966};
    double integral[2];
    for (int k = 0; k < 2; k++) {
        double h = ends[k] / STEPS, sum = 0;
        for (int i = 0; i <= STEPS; i++)
            sum += (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2) * pow(cos(h * i), degrees - 1);
        integral[k] = sum * h / 3;
    }
    return integral[0] / integral[1];
}

static void t_holds_95_percent_at_every_degree(void **state)
{
    (void)state;
    static const int64_t degrees[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,  18,
                                      19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 40, 60, 120, 1000};
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        assert_close(holds(sample_t(degrees[i]), (double)degrees[i]), 0.95, 1e-8);
    /* As printed in tables. */
    assert_close(sample_t(1), 12.7062, 5e-5);
    assert_close(sample_t(4), 2.7764, 5e-5);
    assert_close(sample_t(31), 2.0395, 5e-5);
    assert_close(sample_t(60), 2.0003, 5e-5);
    assert_close(sample_t(120), 1.9799, 5e-5);
    assert_close(sample_t(1000000000), 1.9600, 5e-5);
    for (int64_t n = 1; n < 300; n++)
        assert_true(sample_t(n) > sample_t(n + 1));
}

/* ---- mean and spread ---- */

static void mean_deviation_and_interval_by_hand(void **state)
{
    (void)state;
    struct sample s = sample_of((double[]){2, 4, 9}, 3);
    assert_int_equal(s.n, 3);
    assert_close(s.mean, 5, 0);
    assert_close(s.sd, sqrt(13), 1e-15); /* (9 + 1 + 16) / 2 */
    assert_close(s.low, 5 - 4.302652729749 * sqrt(13.0 / 3), 1e-9);
    assert_close(s.high, 5 + 4.302652729749 * sqrt(13.0 / 3), 1e-9);
    s = sample_of((double[]){7, 9}, 2); /* sd sqrt 2, half width 12.706 */
    assert_close(s.low, 8 - 12.7062047362, 1e-8);
    s = sample_of((double[]){7, 7, 7}, 3);
    assert_true(s.sd == 0 && s.low == 7 && s.high == 7);
    s = sample_of((double[]){7}, 1);
    assert_true(s.mean == 7 && isnan(s.sd) && isnan(s.low) && isnan(s.high));
    s = sample_of(NULL, 0);
    assert_true(s.n == 0 && isnan(s.mean));
}

/* METHOD section 9: 95 % at every n for normal values; with skewed ones 88 to 92 % (here exponential ones, the worst of
 * what is usual, at n = 5 and 10). */
static void the_interval_of_the_mean_holds(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    uint64_t seed = 7;
    static const size_t counts[] = {2, 3, 5, 10};
    for (size_t k = 0; k < 4; k++) {
        int inside = 0, skewed = 0;
        for (int i = 0; i < DRAWS; i++) {
            double x[10], y[10];
            for (size_t j = 0; j < counts[k]; j++) {
                x[j] = 5 + draw_normal(&seed);
                y[j] = -log(draw_uniform(&seed));
            }
            struct sample s = sample_of(x, counts[k]), t = sample_of(y, counts[k]);
            inside += s.low <= 5 && 5 <= s.high;
            skewed += t.low <= 1 && 1 <= t.high;
        }
        assert_close((double)inside / DRAWS, 0.95, 0.005);
        if (counts[k] >= 5)
            assert_close((double)skewed / DRAWS, 0.90, 0.025);
    }
}

/* ---- Welch ---- */

/* Logarithms 0, 1, 2 and 3, 5: means 1 and 4, s^2 / n = 1/3 and 1, so v = 4/3; degrees (4/3)^2 / (1/18 + 1) = 1.68,
 * rounded down 1; half width 12.7062 sqrt(4/3). */
static void welch_by_hand(void **state)
{
    (void)state;
    struct arena a = {0};
    const double x[] = {1, exp(1), exp(2)}, y[] = {exp(3), exp(5)};
    struct sample_ratio r = sample_ratio_of(x, 3, y, 2, &a);
    assert_close_rel(r.ratio, exp(3), 1e-13);
    assert_int_equal(r.degrees, 1);
    assert_close_rel(r.low, exp(3 - 12.7062047361747 * sqrt(4.0 / 3)), 1e-12);
    assert_close_rel(r.high, exp(3 + 12.7062047361747 * sqrt(4.0 / 3)), 1e-12);
    /* Of equal spread and number: n + m - 2 degrees, a whole number that rounding must not lower. */
    const double u[] = {exp(1), exp(2), exp(3)};
    r = sample_ratio_of(x, 3, u, 3, &a);
    assert_int_equal(r.degrees, 4);
    assert_close_rel(r.low, exp(1 - 2.77644510519779 * sqrt(2.0 / 3)), 1e-12);
    /* One run: the plain ratio and no interval; a value that has no logarithm: nothing. */
    r = sample_ratio_of((double[]){3}, 1, (double[]){1}, 1, &a);
    assert_true(r.ratio == 1.0 / 3 && isnan(r.low) && r.degrees == 0);
    r = sample_ratio_of((double[]){3, 4}, 2, (double[]){1}, 1, &a);
    assert_close_rel(r.ratio, 1 / sqrt(12), 1e-14);
    assert_true(isnan(r.low) && isnan(r.high));
    r = sample_ratio_of((double[]){3, 0}, 2, (double[]){1, 2}, 2, &a);
    assert_true(isnan(r.ratio) && isnan(r.low));
    /* Without spread the interval is the ratio. */
    r = sample_ratio_of((double[]){2, 2, 2}, 3, (double[]){3, 3, 3}, 3, &a);
    assert_close_rel(r.low, 1.5, 1e-14);
    assert_close_rel(r.high, 1.5, 1e-14);
    arena_done(&a);
}

/* Sides exchanged: the inverse interval. Units changed: the same interval. */
static void welch_does_not_know_sides_or_units(void **state)
{
    (void)state;
    struct arena a = {0};
    uint64_t seed = 3;
    for (int i = 0; i < 200; i++) {
        double x[5], y[4], scaled_x[5], scaled_y[4];
        for (int j = 0; j < 5; j++) {
            x[j] = 1 + draw_uniform(&seed);
            scaled_x[j] = x[j] * 3600;
        }
        for (int j = 0; j < 4; j++) {
            y[j] = 1 + draw_uniform(&seed);
            scaled_y[j] = y[j] * 3600;
        }
        struct sample_ratio r = sample_ratio_of(x, 5, y, 4, &a), back = sample_ratio_of(y, 4, x, 5, &a),
                            scaled = sample_ratio_of(scaled_x, 5, scaled_y, 4, &a);
        assert_true(r.low < r.ratio && r.ratio < r.high);
        assert_int_equal(r.degrees, back.degrees);
        assert_close_rel(r.low, 1 / back.high, 1e-12);
        assert_close_rel(r.ratio, 1 / back.ratio, 1e-12);
        assert_close_rel(r.low, scaled.low, 1e-12);
    }
    arena_done(&a);
}

/* ---- permutation test ---- */

/* {1, 2, 3} against {4, 5, 6}: of the 20 splits only this one and its mirror are as far apart: p = 2 / 20. */
static void small_samples_are_tested_exactly(void **state)
{
    (void)state;
    struct arena a = {0};
    assert_close(sample_permutation((double[]){1, 2, 3}, 3, (double[]){4, 5, 6}, 3, &a), 0.1, 1e-15);
    /* {1, 4} against {2, 3}: no difference at all, every split is as far. */
    assert_close(sample_permutation((double[]){1, 4}, 2, (double[]){2, 3}, 2, &a), 1, 0);
    /* {1, 3} against {2, 9}: means 2 and 5.5. Splits of {1, 3, 2, 9}: {1,3} {2,9} 3.5 yes; {1,2} {3,9} 4.5 yes; {1,9}
     * {3,2} 2.5 no; and the three mirrors: 4 / 6. */
    assert_close(sample_permutation((double[]){1, 3}, 2, (double[]){2, 9}, 2, &a), 4.0 / 6, 1e-15);
    assert_true(isnan(sample_permutation((double[]){1}, 1, (double[]){2, 9}, 2, &a)));
    arena_done(&a);
}

/* 12 against 12 has 2.7 million splits: sampled. Far apart, none of the random ones is as far: 1 / 5001. */
static void large_samples_are_sampled(void **state)
{
    (void)state;
    struct arena a = {0};
    double x[12], y[12];
    for (int i = 0; i < 12; i++) {
        x[i] = i;
        y[i] = 1000 + i;
    }
    assert_close(sample_permutation(x, 12, y, 12, &a), 1.0 / 5001, 1e-4);
    for (int i = 0; i < 12; i++)
        y[i] = 11 - i;
    assert_close(sample_permutation(x, 12, y, 12, &a), 1, 0);
    arena_done(&a);
}

/* The least p is that of values which lie apart as far as can be: with unlike numbers there is no mirror. */
static void the_least_p_is_reached(void **state)
{
    (void)state;
    struct arena a = {0};
    assert_close(sample_permutation_least(3, 3), 0.10, 1e-15);
    assert_close(sample_permutation_least(4, 4), 2.0 / 70, 1e-15);
    assert_close(sample_permutation_least(12, 12), 1.0 / 5001, 0);
    assert_true(isnan(sample_permutation_least(1, 9)));
    for (size_t n = 2; n <= 6; n++)
        for (size_t m = 2; m <= 6; m++) {
            double x[6], y[6];
            for (size_t i = 0; i < 6; i++) {
                x[i] = (double)i;
                y[i] = 1e6 + (double)i;
            }
            assert_close(sample_permutation(x, n, y, m, &a), sample_permutation_least(n, m), 1e-15);
        }
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithm_and_exponential_are_those_of_libm),
        cmocka_unit_test(t_holds_95_percent_at_every_degree),
        cmocka_unit_test(mean_deviation_and_interval_by_hand),
        cmocka_unit_test(the_interval_of_the_mean_holds),
        cmocka_unit_test(welch_by_hand),
        cmocka_unit_test(welch_does_not_know_sides_or_units),
        cmocka_unit_test(small_samples_are_tested_exactly),
        cmocka_unit_test(large_samples_are_sampled),
        cmocka_unit_test(the_least_p_is_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
