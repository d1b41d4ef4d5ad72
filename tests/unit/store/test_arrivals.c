/* Arrivals of open loops by their distribution (Kolmogorov and Smirnov against the distribution function, which is made
 * here by other means), and that equal seeds give equal times everywhere. */
#include <stdlib.h>
#include "check.h"
#include "store/arrivals.h"

enum { N = 20000 };

static struct plan_load rate_load(double rate, enum arrival_kind kind, double burstiness, int64_t seed)
{
    struct plan_load l = plan_load_default();
    l.kind = LOAD_RATE;
    l.rate = rate;
    l.arrivals = kind;
    l.burstiness = burstiness;
    l.seed = seed;
    return l;
}

static void distances(const struct plan_load *l, double *ret, size_t n)
{
    struct arrivals a = arrivals_begin(l, NULL);
    int64_t before, now;
    assert_true(arrivals_next(&a, &before));
    assert_int_equal(before, 0);
    for (size_t i = 0; i < n; i++) {
        assert_true(arrivals_next(&a, &now));
        assert_true(now >= before);
        ret[i] = (double)(now - before) * 1e-9;
        before = now;
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* P(k, x), by the series x^k e^-x sum x^n / Gamma(k + n + 1), far enough for x < 200. */
static double gamma_below(double k, double x)
{
    if (x <= 0)
        return 0;
    double term = exp(k * log(x) - x - lgamma(k + 1)), sum = 0;
    for (int n = 1; n < 2000 && term > sum * 1e-16; n++) {
        sum += term;
        term *= x / (k + n);
    }
    return fmin(sum, 1);
}

/* sup |F_n - F| sqrt(n), the values being whole ns (of shape 0.1 a seventh is below one): over 1.95 in one case of a
 * thousand. */
static double distance_from(double *x, size_t n, double k, double scale)
{
    qsort(x, n, sizeof *x, by_size);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double below = gamma_below(k, (x[i] - 0.5e-9) / scale), above = gamma_below(k, (x[i] + 0.5e-9) / scale);
        most = fmax(most, fmax(below - (double)i / (double)n, (double)(i + 1) / (double)n - above));
    }
    return most * sqrt((double)n);
}

static void constant_is_exact(void **state)
{
    (void)state;
    struct plan_load l = rate_load(3, ARRIVAL_CONSTANT, NAN, 0);
    struct arrivals a = arrivals_begin(&l, NULL);
    int64_t t = 0;
    for (int64_t i = 0; i <= 3000000; i++) {
        assert_true(arrivals_next(&a, &t));
        if (i % 3 == 0)
            assert_int_equal(t, i / 3 * 1000000000); /* no error adds up */
    }
}

static void poisson_is_exponential(void **state)
{
    (void)state;
    static double x[N];
    static const double rates[] = {0.5, 10, 3000};
    for (int k = 0; k < 3; k++)
        for (int64_t seed = 0; seed < 4; seed++) {
            struct plan_load l = rate_load(rates[k], ARRIVAL_POISSON, NAN, seed);
            distances(&l, x, N);
            double sum = 0, product = 0;
            for (size_t i = 0; i < N; i++) {
                sum += x[i] * rates[k];
                product += i ? (x[i] * rates[k] - 1) * (x[i - 1] * rates[k] - 1) : 0;
            }
            assert_close(sum / N, 1, 4 / sqrt(N));     /* four standard errors */
            assert_close(product / N, 0, 4 / sqrt(N)); /* neighbours know nothing of each other */
            assert_true(distance_from(x, N, 1, 1 / rates[k]) < 1.95);
        }
}

static void gamma_is_gamma(void **state)
{
    (void)state;
    static double x[N];
    static const double shapes[] = {0.1, 0.25, 0.5, 0.9, 1, 1.5, 4, 30};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        double shape = shapes[k];
        struct plan_load l = rate_load(100, ARRIVAL_GAMMA, shape, 7);
        distances(&l, x, N);
        double sum = 0, squares = 0;
        for (size_t i = 0; i < N; i++) {
            sum += x[i] * 100;
            squares += x[i] * x[i] * 1e4;
        }
        double mean = sum / N, variance = squares / N - mean * mean;
        assert_close(mean, 1, 4 / sqrt(shape * N));
        assert_close_rel(variance, 1 / shape, 0.15);
        assert_true(distance_from(x, N, shape, 1 / (100 * shape)) < 1.95);
    }
}

/* A Poisson process looked at as counts: as many in each tenth of a second as chance has it. */
static void counts_are_poisson(void **state)
{
    (void)state;
    struct plan_load l = rate_load(50, ARRIVAL_POISSON, NAN, 3);
    struct arrivals a = arrivals_begin(&l, NULL);
    static int counts[4000];
    for (int64_t t; arrivals_next(&a, &t) && t < 400 * INT64_C(1000000000);)
        counts[t / 100000000]++;
    double sum = 0, squares = 0;
    for (int i = 0; i < 4000; i++) {
        sum += counts[i];
        squares += (double)counts[i] * counts[i];
    }
    double mean = sum / 4000, variance = squares / 4000 - mean * mean;
    assert_close_rel(mean, 5, 0.03);
    assert_close_rel(variance / mean, 1, 0.1); /* standard error 0.022 */
}

/* Whole ns, as a second implementation of the header's words in Python gives them (its math.log rounds the same ns). */
static void equal_seeds_give_equal_times(void **state)
{
    (void)state;
    static const struct {
        enum arrival_kind kind;
        double rate, burstiness;
        int64_t seed, times[4]; /* of requests 1, 2, 3 and 1000 */
    } cases[] = {
        {ARRIVAL_POISSON,
         4,
         NAN,
         0,
         {INT64_C(40453779), INT64_C(305614125), INT64_C(361658379), INT64_C(251981205505)}},
        {ARRIVAL_POISSON,
         3000,
         NAN,
         20261201,
         {INT64_C(896009), INT64_C(972120), INT64_C(1687848), INT64_C(327121942)}},
        {ARRIVAL_GAMMA, 10, 0.5, 1, {INT64_C(84579681), INT64_C(90349706), INT64_C(125399766), INT64_C(96848351689)}},
        {ARRIVAL_GAMMA, 10, 4, 1, {INT64_C(125870285), INT64_C(150005947), INT64_C(270721051), INT64_C(100151267844)}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct plan_load l = rate_load(cases[k].rate, cases[k].kind, cases[k].burstiness, cases[k].seed);
        struct arrivals a = arrivals_begin(&l, NULL);
        int64_t t;
        for (int i = 0; i <= 1000; i++) {
            assert_true(arrivals_next(&a, &t));
            if (i >= 1 && i <= 3)
                assert_int_equal(t, cases[k].times[i - 1]);
        }
        assert_int_equal(t, cases[k].times[3]);
    }
}

static void seeds_differ(void **state)
{
    (void)state;
    struct plan_load l = rate_load(1, ARRIVAL_POISSON, NAN, 1), m = rate_load(1, ARRIVAL_POISSON, NAN, 2);
    double x[10], y[10];
    distances(&l, x, 10);
    distances(&m, y, 10);
    for (int i = 0; i < 10; i++)
        assert_true(x[i] != y[i]);
}

/* Rates and shapes at the ends of their ranges neither overflow nor stand still. */
static void extremes(void **state)
{
    (void)state;
    static const double rates[] = {1e-6, 1e6}, shapes[] = {1e-3, 1e6};
    for (int k = 0; k < 2; k++)
        for (int s = 0; s < 2; s++) {
            struct plan_load l = rate_load(rates[k], ARRIVAL_GAMMA, shapes[s], 5);
            struct arrivals a = arrivals_begin(&l, NULL);
            int64_t before = 0, t;
            for (int i = 0; i < 10000; i++) {
                assert_true(arrivals_next(&a, &t));
                assert_true(t >= before);
                before = t;
            }
            assert_true(before > 0);
        }
}

static void a_trace_gives_its_times(void **state)
{
    (void)state;
    int64_t times[] = {0, 5, 5, 900};
    struct trace t = {.times_ns = times, .count = 4};
    struct plan_load l = plan_load_default();
    l.kind = LOAD_TRACE;
    struct arrivals a = arrivals_begin(&l, &t);
    int64_t at;
    for (int i = 0; i < 4; i++) {
        assert_true(arrivals_next(&a, &at));
        assert_int_equal(at, times[i]);
    }
    assert_false(arrivals_next(&a, &at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_is_exact),
        cmocka_unit_test(poisson_is_exponential),
        cmocka_unit_test(gamma_is_gamma),
        cmocka_unit_test(counts_are_poisson),
        cmocka_unit_test(equal_seeds_give_equal_times),
        cmocka_unit_test(seeds_differ),
        cmocka_unit_test(extremes),
        cmocka_unit_test(a_trace_gives_its_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
