/* Release by hand. */
#include "check.h"

#include "rules/release.h"

#define S INT64_C(1000000000)

static struct tick_sample at(double t_s, double watts)
{
    return (struct tick_sample){.t_ns = (int64_t)llround(t_s * 1e9), .watts = watts};
}

static bool feed(struct release *r, uint32_t gpu, double t_s, double watts)
{
    struct tick_sample s = at(t_s, watts);
    return release_feed(r, gpu, &s);
}

static const char *name(void *self, uint32_t gpu)
{
    (void)self;
    return gpu ? "GPU 1" : "GPU 0";
}

static void test_band_is_inclusive(void **state)
{
    (void)state;
    assert_true(release_in_band(105, 100));
    assert_true(release_in_band(95, 100));
    assert_false(release_in_band(105.001, 100));
    assert_false(release_in_band(94.999, 100));
    /* Below 20 W the watt is the larger. */
    assert_true(release_in_band(11, 10));
    assert_true(release_in_band(9, 10));
    assert_false(release_in_band(11.001, 10));
    /* 78.3 * 1.05 as the decimals say, whatever the binary rounding. */
    assert_true(release_in_band(82.215, 78.3));
    assert_false(release_in_band(82.216, 78.3));
    assert_false(release_in_band(NAN, 100));
}

static void test_holds_30_s(void **state)
{
    (void)state;
    const double baseline = 78;
    struct release r;
    release_init(&r, 1, &baseline, S, 30 * S);
    feed(&r, 0, 0, 300);
    assert_int_equal(r.recovered_ns, ABSENT_I64);
    for (int t = 1; t <= 30; t++)
        assert_false(feed(&r, 0, t, 79));
    assert_int_equal(r.recovered_ns, 1 * S);
    assert_true(feed(&r, 0, 31, 79)); /* 1 to 31 s: exactly 30 s, inclusive */
    assert_int_equal(r.recovered_ns, 1 * S);
    assert_int_equal(r.closed_ns, 31 * S);
    /* Power that rises later changes nothing of what was proven. */
    assert_true(feed(&r, 0, 32, 300));
    assert_int_equal(r.recovered_ns, 1 * S);
    assert_int_equal(r.row_start_ns, ABSENT_I64);

    release_init(&r, 1, &baseline, S, 30 * S);
    for (int t = 0; t < 30; t++)
        assert_false(feed(&r, 0, t, 79));
    assert_false(feed(&r, 0, 29.9, 79)); /* 29.9 s of hold are not 30 */
    assert_true(feed(&r, 0, 31, 79));
}

static void test_a_missing_sample_starts_again(void **state)
{
    (void)state;
    const double baseline = 78;
    struct release r;
    release_init(&r, 1, &baseline, S, 10 * S);
    for (int t = 0; t < 5; t++)
        feed(&r, 0, t, 78);
    feed(&r, 0, 5, NAN); /* a failed reading */
    for (int t = 6; t < 12; t++)
        feed(&r, 0, t, 78);
    /* Nothing at 12 and 13 s: 3 periods between two samples. */
    feed(&r, 0, 14, 78);
    assert_int_equal(r.recovered_ns, 6 * S);
    for (int t = 15; t < 24; t++)
        assert_false(feed(&r, 0, t, 78));
    assert_int_equal(r.recovered_ns, 14 * S);
    assert_true(feed(&r, 0, 24, 78));
    assert_int_equal(r.starts, 3);
}

/* Up to 2.5 periods between two samples are no hole, at whatever place of the hold; beyond, the hold starts again. A
 * tick without a sample proves nothing, be it the first or the last of the hold. */
static void test_how_long_a_hole_may_be(void **state)
{
    (void)state;
    const double baseline = 78;
    for (int place = 2; place <= 9; place++)
        for (int late_ms = 0; late_ms <= 900; late_ms += 100) {
            struct release r;
            double t = 0;
            release_init(&r, 1, &baseline, S, 10 * S);
            for (int i = 0; i < place; i++, t += 1)
                feed(&r, 0, t, 78);
            t += 1 + late_ms / 1000.0; /* the last sample is 2 to 2.9 s ago */
            for (int i = 0; i < 30 && !r.closed; i++, t += 1)
                feed(&r, 0, t, 78);
            release_end(&r);
            assert_true(r.closed);
            bool hole = late_ms > 500;
            assert_int_equal(r.recovered_ns != 0, hole);
        }
}

/* What breaks the hold after a moment is counted, what breaks it before is not, and the first sample in band is kept.
 */
static void test_restarts_are_counted(void **state)
{
    (void)state;
    const double baseline = 78;
    for (int after = 0; after <= 20; after++) {
        struct release r;
        release_init(&r, 1, &baseline, S, 30 * S);
        r.count_after_ns = after * S;
        feed(&r, 0, 0, 300);
        for (int t = 1; t < 60; t++)
            feed(&r, 0, t, t == 5 || t == 6 || t == 12 ? 90 : 78);
        assert_true(r.closed);
        assert_int_equal(r.first_row_ns, 1 * S);
        assert_int_equal(r.recovered_ns, 13 * S);
        assert_int_equal(r.restarts, (after < 5) + (after < 12));
    }
}

static void test_all_gpus_at_once(void **state)
{
    (void)state;
    const double baseline[] = {78, 100};
    struct release r;
    release_init(&r, 2, baseline, S, 10 * S);
    /* GPU 1 is sampled 0.3 s later and recovers 4 s later. */
    for (int t = 0; t < 14; t++) {
        assert_false(feed(&r, 0, t, 78));
        assert_false(feed(&r, 1, t + 0.3, t < 4 ? 300 : 104));
    }
    assert_int_equal(r.recovered_ns, 4 * S + 3 * S / 10); /* both were seen in band from here */
    assert_int_equal(r.starts, 1);
    assert_false(feed(&r, 0, 14, 78));
    assert_false(feed(&r, 1, 14.3, 100)); /* GPU 0 was seen until 14 s, 9.7 s after t11 */
    assert_false(feed(&r, 0, 15, 78));
    assert_true(feed(&r, 1, 15.3, 100));
}

static void test_one_gpu_out_restarts_all(void **state)
{
    (void)state;
    const double baseline[] = {78, 78};
    struct release r;
    release_init(&r, 2, baseline, S, 5 * S);
    for (int t = 0; t < 12; t++) {
        feed(&r, 0, t, t == 3 ? 83 : 78); /* 5 % of 78 are 3.9: 83 is out */
        if (t < 8)
            assert_false(feed(&r, 1, t, 78));
        else
            feed(&r, 1, t, 78);
    }
    assert_true(r.closed);
    assert_int_equal(r.recovered_ns, 4 * S);
}

static void test_describes(void **state)
{
    (void)state;
    const double baseline[] = {78, 100};
    struct release r;
    release_init(&r, 2, baseline, S, 30 * S);
    feed(&r, 0, 0, 123.4);
    feed(&r, 1, 0, 100);
    feed(&r, 0, 1, 123.4);
    assert_false(release_end(&r));
    struct buf b = {0};
    release_describe(&r, name, NULL, &b);
    assert_string_equal(buf_text(&b), "GPU 0 draws 123.4 W; its band is 74.1 to 81.9 W (baseline 78.0 W). "
                                      "GPU 1 gave no power sample; its band is 95.0 to 105.0 W (baseline 100.0 W).");
    buf_clear(&b);
    release_init(&r, 1, baseline, S, 30 * S);
    for (int t = 0; t <= 12; t++)
        feed(&r, 0, t, 78);
    release_describe(&r, name, NULL, &b);
    assert_string_equal(buf_text(&b), "Power was back in its band for 12.0 s of the 30.0 s that prove it.");
    buf_done(&b);
}

/* Any order in which threads bring the samples of near ticks gives the same answer. */
static void test_order_of_arrival(void **state)
{
    (void)state;
    const double baseline[] = {78, 78, 78};
    int64_t recovered = 0, closed = 0;
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct release r;
        release_init(&r, 3, baseline, S, 10 * S);
        int next[3] = {0, 0, 0};
        for (uint32_t g = 0; g < 3; g++, next[g - 1]++)
            feed(&r, g, g * 0.3, 300);
        for (uint64_t x = seed * UINT64_C(2654435761); next[0] < 40 || next[1] < 40 || next[2] < 40;) {
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
            uint32_t g = (uint32_t)(x >> 33) % 3;
            int slowest = next[0];
            for (int k = 1; k < 3; k++)
                slowest = next[k] < slowest ? next[k] : slowest;
            if (next[g] >= 40 || next[g] > slowest + 1)
                continue;
            feed(&r, g, next[g] + g * 0.3, next[g] < 4 + (int)g || next[g] == 9 ? 300 : 78);
            next[g]++;
        }
        assert_true(r.closed);
        if (seed == 1) {
            recovered = r.recovered_ns;
            closed = r.closed_ns;
            assert_int_equal(recovered, 10 * S + 6 * S / 10);
        }
        assert_int_equal(r.recovered_ns, recovered);
        assert_int_equal(r.closed_ns, closed);
    }
}

static void test_records_to_samples(void **state)
{
    (void)state;
    struct rec_instant instant[] = {
        {.t_ns = 10 * S, .mw = 78123}, {.t_ns = 11 * S, .mw = -1}, {.t_ns = 12 * S, .mw = 5}};
    struct rec_gpu_state states[] = {{.t_ns = 10 * S + 1000, .utilisation = 3, .processes = 1},
                                     {.t_ns = 11 * S + 2000, .utilisation = 0, .processes = 0}};
    struct rec_gpu gpu = {.instant = instant, .instant_count = 3, .state = states, .state_count = 2};
    struct tick_sample s = tick_sample_of(&gpu, 0, S);
    assert_close(s.watts, 78.123, 1e-12);
    assert_int_equal(s.utilisation, 3);
    assert_int_equal(s.processes, 1);
    s = tick_sample_of(&gpu, 1, S);
    assert_true(isnan(s.watts));
    assert_int_equal(s.utilisation, 0);
    s = tick_sample_of(&gpu, 2, S); /* the nearest state is a second away */
    assert_int_equal(s.utilisation, -1);
    assert_int_equal(s.processes, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_band_is_inclusive),
        cmocka_unit_test(test_holds_30_s),
        cmocka_unit_test(test_a_missing_sample_starts_again),
        cmocka_unit_test(test_how_long_a_hole_may_be),
        cmocka_unit_test(test_restarts_are_counted),
        cmocka_unit_test(test_all_gpus_at_once),
        cmocka_unit_test(test_one_gpu_out_restarts_all),
        cmocka_unit_test(test_describes),
        cmocka_unit_test(test_order_of_arrival),
        cmocka_unit_test(test_records_to_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
