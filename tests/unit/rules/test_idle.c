/* Baseline by hand. Times in the comments are seconds, powers watts. */
#include "check.h"

#include <stdlib.h>
#include "rules/idle.h"
#include "rules/release.h"

#define S INT64_C(1000000000)

static struct tick_sample quiet(double t_s, double watts)
{
    return (struct tick_sample){.t_ns = (int64_t)llround(t_s * 1e9), .watts = watts, .utilisation = 0, .processes = 0};
}

static size_t series(struct tick_sample *s, const double *watts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s[i] = quiet((double)i, watts[i]);
    return n;
}

static struct idle_verdict judge(const double *watts, size_t n, double end_s)
{
    struct tick_sample s[64];
    return idle_judge(s, series(s, watts, n), S, 0, (int64_t)(end_s * 1e9));
}
#define JUDGE(end_s, ...) judge((const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double), end_s)

static const char *name(void *self, uint32_t gpu)
{
    (void)self;
    return gpu ? "GPU 1" : "GPU 0";
}

static void test_sigma_edges(void **state)
{
    (void)state;
    /* 49, 51, 49, 51: deviations of 1 around 50, sigma exactly 1 = the larger of 2 % of 50 and 1. */
    struct idle_verdict v = JUDGE(3, 49, 51, 49, 51);
    assert_int_equal(v.outcome, CHECK_PASSED);
    assert_close(v.mean_w, 50, 1e-12);
    assert_close(v.sigma_w, 1, 1e-12);
    /* [0, 1.5]: 1 s of mean 50, then 51 falling to 50 over 0.5 s: (50 + 25.25) / 1.5; the other half mirrors it. */
    assert_close(v.first_half_w, 75.25 / 1.5, 1e-12);
    assert_close(v.second_half_w, 74.75 / 1.5, 1e-12);
    v = JUDGE(3, 48.99, 51.01, 48.99, 51.01);
    assert_int_equal(v.outcome, CHECK_FAILED);
    assert_int_equal(v.faults, IDLE_SIGMA);
    /* At 100 W, 2 % is the larger. */
    assert_int_equal(JUDGE(3, 98, 102, 98, 102).outcome, CHECK_PASSED);
    assert_int_equal(JUDGE(3, 97.99, 102.01, 97.99, 102.01).faults, IDLE_SIGMA);
    /* Below 50 W it is the watt: 10 W, sigma 1. */
    assert_int_equal(JUDGE(3, 9, 11, 9, 11).outcome, CHECK_PASSED);
}

static void test_halves_edges(void **state)
{
    (void)state;
    /* 100 - d, 100 - d, 100, 100 + d, 100 + d over 4 s: first half (100 - d + 100 - d/2) / 2 = 100 - 0.75 d, second
     * 100 + 0.75 d, apart 1.5 d; the limit is 2: d = 4/3. Sigma is d sqrt(4/5) = 1.19, within 2. */
    const double d = 4.0 / 3.0;
    struct idle_verdict v = JUDGE(4, 100 - d, 100 - d, 100, 100 + d, 100 + d);
    assert_int_equal(v.outcome, CHECK_PASSED);
    assert_close(v.second_half_w - v.first_half_w, 2, 1e-9);
    assert_close(v.sigma_w, d * sqrt(0.8), 1e-9);
    const double more = d + 0.001;
    v = JUDGE(4, 100 - more, 100 - more, 100, 100 + more, 100 + more);
    assert_int_equal(v.faults, IDLE_HALVES);
}

static void test_boundaries_are_interpolated(void **state)
{
    (void)state;
    /* 78 + t/100 at t = 0.5, 1.5, 2.5, 3.5; window [1, 3]: only 1.5 and 2.5 are inside, mean of the line is 78.02. */
    struct tick_sample s[4];
    for (int i = 0; i < 4; i++)
        s[i] = quiet(i + 0.5, 78 + (i + 0.5) / 100);
    struct idle_verdict v = idle_judge(s, 4, S, 1 * S, 3 * S);
    assert_int_equal(v.outcome, CHECK_PASSED);
    assert_int_equal(v.samples, 2);
    assert_close(v.mean_w, 78.02, 1e-9);
    assert_close(v.sigma_w, 0.005, 1e-9);
    /* Without the sample behind the end there is no power at 3. */
    assert_int_equal(idle_judge(s, 3, S, 1 * S, 3 * S).faults, IDLE_NOT_COVERED);
    assert_int_equal(idle_judge(s + 1, 3, S, 1 * S, 3 * S).faults, IDLE_NOT_COVERED);
}

/* Its first half has no length, so no mean; the samples about it are at 100 and 104 W. */
static void test_a_window_of_1_ns(void **state)
{
    (void)state;
    const struct tick_sample s[] = {quiet(0, 100), quiet(1, 104)};
    const struct idle_verdict v = idle_judge(s, 2, S, 0, 1);
    assert_true(isnan(v.first_half_w));
    assert_close(v.mean_w, 100, 1e-6);
    assert_close(v.second_half_w, 100, 1e-6);
}

static void test_holes(void **state)
{
    (void)state;
    assert_int_equal(JUDGE(3, 78, NAN, 78, 78).faults, IDLE_NOT_COVERED);
    struct tick_sample s[3] = {quiet(0, 78), quiet(1, 78), quiet(2.5, 78)};
    assert_int_equal(idle_judge(s, 3, S, 0, 5 * S / 2).outcome, CHECK_PASSED); /* half a period late */
    s[2] = quiet(2.501, 78);
    assert_int_equal(idle_judge(s, 3, S, 0, 5 * S / 2).faults, IDLE_NOT_COVERED);
    assert_int_equal(idle_judge(s, 0, S, 0, S).faults, IDLE_NOT_COVERED);
}

static void test_activity(void **state)
{
    (void)state;
    struct tick_sample s[4] = {quiet(0, 78), quiet(1, 78), quiet(2, 78), quiet(3, 78)};
    s[2].utilisation = 7;
    s[3].processes = 1; /* behind the window's end */
    struct idle_verdict v = idle_judge(s, 4, S, 0, 2 * S);
    assert_int_equal(v.faults, IDLE_UTILISATION);
    assert_int_equal(v.utilisation_max, 7);
    v = idle_judge(s, 4, S, 0, 3 * S);
    assert_int_equal(v.faults, IDLE_UTILISATION | IDLE_PROCESSES);
    /* One sample that can't be read among others is a failure, none readable is not recorded. */
    s[2].utilisation = -1;
    assert_int_equal(idle_judge(s, 4, S, 0, 2 * S).faults, IDLE_UNREADABLE);
    s[0].utilisation = s[1].utilisation = -1;
    v = idle_judge(s, 4, S, 0, 2 * S);
    assert_int_equal(v.outcome, CHECK_NOT_RECORDED);
    assert_int_equal(v.faults, 0);
}

static void test_accepts_after_20_s(void **state)
{
    (void)state;
    struct idle i;
    idle_init(&i, 1, S, 20 * S, 120 * S);
    for (int t = 0; t < 20; t++) {
        struct tick_sample s = quiet(t, 78);
        assert_int_equal(idle_feed(&i, 0, &s), IDLE_WATCHING);
    }
    struct tick_sample early = quiet(19.9999, 78), s = quiet(20, 78);
    assert_int_equal(idle_feed(&i, 0, &early), IDLE_WATCHING); /* rounds to tick 20, and does not reach 20 s */
    idle_done(&i);

    idle_init(&i, 1, S, 20 * S, 120 * S);
    for (int t = 0; t < 20; t++) {
        struct tick_sample q = quiet(t, 78);
        idle_feed(&i, 0, &q);
    }
    assert_int_equal(idle_feed(&i, 0, &s), IDLE_ACCEPTED);
    assert_int_equal(i.start_ns, 0);
    assert_int_equal(i.end_ns, 20 * S);
    assert_int_equal(i.outcome, CHECK_PASSED);
    assert_close(i.verdict[0].mean_w, 78, 1e-12);
    assert_int_equal(i.verdict[0].samples, 21);
    idle_done(&i);
}

static void test_slides_by_one_sample(void **state)
{
    (void)state;
    struct idle i;
    idle_init(&i, 1, S, 20 * S, 120 * S);
    enum idle_state st = IDLE_WATCHING;
    int t = 0;
    for (; st == IDLE_WATCHING; t++) {
        struct tick_sample s = quiet(t, t == 0 || t == 7 ? 125.9 : 78);
        st = idle_feed(&i, 0, &s);
    }
    assert_int_equal(st, IDLE_ACCEPTED);
    assert_int_equal(i.start_ns, 8 * S);
    assert_int_equal(t - 1, 28);
    assert_int_equal(i.windows, 9);
    idle_done(&i);
}

static void test_refuses(void **state)
{
    (void)state;
    struct idle i;
    idle_init(&i, 2, S, 4 * S, 3 * S);
    enum idle_state st = IDLE_WATCHING;
    int t = 0;
    for (; st == IDLE_WATCHING; t++)
        for (uint32_t g = 0; g < 2; g++) {
            struct tick_sample s = quiet(t, g ? 78 : t % 2 ? 70 : 90);
            s.processes = g == 0 ? 2 : 0;
            st = idle_feed(&i, g, &s);
        }
    assert_int_equal(st, IDLE_REFUSED);
    assert_int_equal(i.windows, 4); /* those from 0, 1, 2 and 3 s */
    assert_int_equal(t - 1, 7);     /* the last ends at 7 s */
    struct buf b = {0};
    idle_refusal(&i, name, NULL, &b);
    /* From 3 s: 70, 90, 70, 90, 70: the trapezoid's mean is 80, the plain mean 78, sigma sqrt((3 * 64 + 2 * 144) / 5).
     */
    assert_string_equal(buf_text(&b),
                        "GPU 0: compute processes were on it (up to 2); the standard deviation 9.80 W is over "
                        "its limit of 1.60 W (mean 80.0 W).");
    buf_done(&b);
    idle_done(&i);
}

static void test_a_dead_gpu_refuses_too(void **state)
{
    (void)state;
    struct idle i;
    idle_init(&i, 2, S, 4 * S, 3 * S);
    enum idle_state st = IDLE_WATCHING;
    for (int t = 0; st == IDLE_WATCHING && t < 30; t++) {
        struct tick_sample s = quiet(t, 78);
        st = idle_feed(&i, 0, &s);
    }
    assert_int_equal(st, IDLE_REFUSED);
    struct buf b = {0};
    idle_refusal(&i, name, NULL, &b);
    assert_string_equal(buf_text(&b), "GPU 1: power samples are missing (0 in the window).");
    buf_done(&b);
    idle_done(&i);
}

/* Two GPUs sampled 0.4 s apart: the window starts at the later one's sample, both are integrated on their own samples,
 * and the order in which their threads bring the samples changes nothing. */
static void test_staggered(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct idle i;
        idle_init(&i, 2, S, 20 * S, 120 * S);
        struct tick_sample first = quiet(0, 78); /* who comes first defines the phase; both orders start with GPU 0 */
        idle_feed(&i, 0, &first);
        enum idle_state st = IDLE_WATCHING;
        int t = 0;
        for (; st == IDLE_WATCHING; t++) {
            struct tick_sample a = quiet(t + 1, 78 + (t + 1) / 100.0), b = quiet(t + 0.4, 100);
            st = order ? (idle_feed(&i, 0, &a), idle_feed(&i, 1, &b)) : (idle_feed(&i, 1, &b), idle_feed(&i, 0, &a));
        }
        assert_int_equal(st, IDLE_ACCEPTED);
        assert_int_equal(i.start_ns, 2 * S / 5);
        assert_int_equal(t, 22); /* GPU 0 covers 20.4 s with its sample at 21 s, known when that tick is whole */
        assert_close(i.verdict[0].mean_w, 78 + 10.4 / 100, 1e-9);
        assert_close(i.verdict[1].mean_w, 100, 1e-9);
        idle_done(&i);
    }
}

/* What was recorded on a real H200: the baseline begins on the last half second of other work. METHOD would have moved
 * on. */
static void test_recorded_run(void **state)
{
    (void)state;
    FILE *f =
        popen("xz -dc '" JTOK_SHARED "/h200/vllm-0.24.0/front4/power.csv.xz' 2>/dev/null | grep ^instant_mw", "r");
    assert_non_null(f);
    struct tick_sample s[400];
    size_t n = 0;
    for (long long t_us, mw, gpu; n < 400 && fscanf(f, "instant_mw,%lld,%lld,%lld ", &t_us, &gpu, &mw) == 3; n++)
        s[n] = (struct tick_sample){.t_ns = t_us * 1000, .watts = (double)mw / 1000, .utilisation = 0, .processes = 0};
    pclose(f);
    if (n == 0)
        skip(); /* no xz here */
    struct idle_verdict v = idle_judge(s, n, S, INT64_C(71763141000), INT64_C(91763392000));
    assert_true(v.faults & IDLE_SIGMA);
    assert_close(v.sigma_w, 10.3, 0.05);
    v = idle_judge(s, n, S, s[2].t_ns, s[2].t_ns + 20 * S);
    assert_int_equal(v.outcome, CHECK_PASSED);
    assert_close(v.sigma_w / v.mean_w, 0.005, 0.001);

    struct release r;
    release_init(&r, 1, &v.mean_w, S, 30 * S);
    const int64_t formal_end_ns = INT64_C(299120904000);
    for (size_t k = 0; k < n; k++)
        if (s[k].t_ns >= formal_end_ns)
            release_feed(&r, 0, &s[k]);
    assert_true(r.closed);
    /* The recording's own page: within 5 % for good at 3.3 to 4.2 s after the formal end. */
    assert_in_range(r.recovered_ns - formal_end_ns, 33 * S / 10, 42 * S / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sigma_edges),
        cmocka_unit_test(test_halves_edges),
        cmocka_unit_test(test_boundaries_are_interpolated),
        cmocka_unit_test(test_a_window_of_1_ns),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_activity),
        cmocka_unit_test(test_accepts_after_20_s),
        cmocka_unit_test(test_slides_by_one_sample),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_a_dead_gpu_refuses_too),
        cmocka_unit_test(test_staggered),
        cmocka_unit_test(test_recorded_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
