/* Energies and their uncertainties, each case small enough for paper. */
#include "check.h"
#include "made.h"
#include "analysis/energy.h"

struct bench {
    struct made made;
    struct gpu_series series[4];
    struct clock_line clocks;
    struct quantity factor[4], lag[4];
    struct meters meters;
};

static void bench_start(struct bench *b, size_t gpus)
{
    made_init(&b->made, gpus);
}

/* Makes the series of what was recorded. */
static void bench_measure(struct bench *b)
{
    struct records *r = &b->made.r;
    b->clocks = clock_line_make(r->clocks, r->clock_count, &b->made.arena);
    for (size_t i = 0; i < r->gpu_count; i++) {
        gpu_series_make(&r->gpus[i], &b->clocks, &b->made.arena, &b->series[i]);
        b->factor[i] = b->lag[i] = quantity_absent(Q_NOT_RECORDED, "not fitted");
    }
    b->meters = (struct meters){.gpus = b->series,
                                .gpu_count = r->gpu_count,
                                .grid_period_s = 1,
                                .sensor_share = 0.06,
                                .sensor_floor_w = 5,
                                .factor = b->factor,
                                .lag_s = b->lag};
}

static struct energy_set energy(struct bench *b, double from, double to, struct result_stage_gpu *gpus)
{
    struct energy_set e;
    meters_energy(&b->meters, at_s(from), at_s(to), &e, gpus, &b->made.arena);
    return e;
}

/* Samples at 0, 1, 2, 3 s: 100, 200, 100, 100 W. Over [0.5, 2.5]: power is 150 W at 0.5 and 100 W at 2.5, so
 * 0.5 (150 + 200)/2 + 1 (200 + 100)/2 + 0.5 (100 + 100)/2 = 87.5 + 150 + 50 = 287.5 J. */
static void boundaries_are_interpolated(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    const double w[] = {100, 200, 100, 100};
    for (int i = 0; i < 4; i++)
        made_instant(&b.made, 0, i, w[i], INSTANT_GRID);
    bench_measure(&b);
    assert_close(energy(&b, 0.5, 2.5, NULL).grid.value, 287.5, 1e-9);
    assert_close(energy(&b, 1, 2, NULL).grid.value, 150, 1e-9);
    assert_close(energy(&b, 0, 3, NULL).grid.value, 150 + 150 + 100, 1e-9);
    made_done(&b.made);
}

static void nothing_is_extrapolated(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    made_instant(&b.made, 0, 1, 100, INSTANT_GRID);
    made_instant(&b.made, 0, 2, 100, INSTANT_GRID);
    bench_measure(&b);
    assert_int_equal(energy(&b, 0.9, 2, NULL).grid.state, Q_NOT_COVERED);
    assert_int_equal(energy(&b, 1, 2.1, NULL).grid.state, Q_NOT_COVERED);
    assert_int_equal(energy(&b, 1, 2, NULL).grid.state, Q_MEASURED);
    assert_int_equal(energy(&b, 1, 2, NULL).buffer.state, Q_NOT_RECORDED);
    assert_int_equal(energy(&b, 1, 2, NULL).counter.state, Q_NOT_RECORDED);
    made_done(&b.made);
}

/* GPU 0 samples at 0, 1, 2: 100 W; GPU 1 at 0.5, 1.5, 2.5: 10, 30, 10 W. Over [0.5, 2]: 150 J and
 * 1 (10 + 30)/2 + 0.5 (30 + 20)/2 = 20 + 12.5, together 182.5 J. */
static void gpus_are_integrated_on_their_own_samples(void **state)
{
    (void)state;
    struct bench b;
    struct result_stage_gpu rows[2];
    bench_start(&b, 2);
    for (int i = 0; i < 3; i++) {
        made_instant(&b.made, 0, i, 100, INSTANT_GRID);
        made_instant(&b.made, 1, i + 0.5, i == 1 ? 30 : 10, INSTANT_GRID);
    }
    bench_measure(&b);
    assert_close(energy(&b, 0.5, 2, rows).grid.value, 182.5, 1e-9);
    assert_close(rows[0].energy.grid.value, 150, 1e-9);
    assert_close(rows[1].energy.grid.value, 32.5, 1e-9);
    /* One GPU that is not covered leaves the sum without a value. */
    assert_int_equal(energy(&b, 0, 2, rows).grid.state, Q_NOT_COVERED);
    assert_close(rows[0].energy.grid.value, 200, 1e-9);
    made_done(&b.made);
}

/* Readings 5, 5, 15, 15, 35 J at 0.0 ... 0.4 s. Change points: 15 J at 0.2 s, 35 J at 0.4 s; the first reading is none.
 * Between them 100 W: over [0.25, 0.35] 10 J. */
static void counter_is_linear_between_change_points(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    const double j[] = {5, 5, 15, 15, 35};
    for (int i = 0; i < 5; i++)
        made_counter(&b.made, 0, 0.1 * i, j[i]);
    bench_measure(&b);
    assert_int_equal(b.series[0].counter.n, 2);
    assert_close(energy(&b, 0.25, 0.35, NULL).counter.value, 10, 1e-9);
    assert_int_equal(energy(&b, 0.1, 0.35, NULL).counter.state, Q_NOT_COVERED);
    assert_int_equal(energy(&b, 0.25, 0.41, NULL).counter.state, Q_NOT_COVERED);
    made_done(&b.made);
}

static void counter_that_goes_backward_is_void_there_only(void **state)
{
    (void)state;
    struct bench b;
    struct result_stage_gpu row;
    bench_start(&b, 1);
    for (int i = 0; i <= 20; i++)
        made_counter(&b.made, 0, 0.1 * i, i < 15 ? 10 * i : 10 * i - 50);
    bench_measure(&b);
    assert_close(energy(&b, 0.2, 1.2, &row).counter.value, 100, 1e-9);
    assert_null(row.counter_void);
    assert_int_equal(energy(&b, 1.2, 1.8, &row).counter.state, Q_NOT_RECORDED);
    assert_non_null(strstr(row.counter_void, "went backward by 40000 mJ"));
    made_done(&b.made);
}

/* Still for 0.6 s: void while power is read above 1 W, right at 1 W or below. */
static void counter_that_stands_still_is_void_under_power(void **state)
{
    (void)state;
    for (int powered = 0; powered < 2; powered++) {
        struct bench b;
        struct result_stage_gpu row;
        bench_start(&b, 1);
        for (int i = 0; i <= 20; i++) {
            int n = i <= 5 ? i : i < 11 ? 5 : i - 5;
            made_counter(&b.made, 0, 0.1 * i, n);
        }
        made_instant(&b.made, 0, 0.8, powered ? 1.001 : 1, INSTANT_GRID);
        bench_measure(&b);
        struct energy_set e = energy(&b, 0.2, 1.5, &row);
        assert_int_equal(e.counter.state, powered ? Q_NOT_RECORDED : Q_MEASURED);
        assert_int_equal(row.counter_void != NULL, powered);
        made_done(&b.made);
    }
}

/* Changes at 0.1 ... 1.0 s, then the same reading until 2 s: it stands still for 1 s, with no change behind it to say
 * so. The stage that the standstill touches has a void counter, the one before it is right; without power it is only
 * not covered. The same before the first change: read from 0 s on, changed at 1.1 s. */
static void a_counter_that_stops_or_begins_late_is_void(void **state)
{
    (void)state;
    for (int powered = 0; powered < 2; powered++)
        for (int begins = 0; begins < 2; begins++) {
            struct bench b;
            struct result_stage_gpu row;
            bench_start(&b, 1);
            for (int i = 0; i <= 20; i++)
                made_counter(&b.made, 0, 0.1 * i, begins ? (i <= 10 ? 0 : i - 10) : (i <= 10 ? i : 10));
            for (int i = 0; i <= 20; i++)
                made_instant(&b.made, 0, 0.1 * i, powered ? 10 : 0, INSTANT_GRID);
            bench_measure(&b);
            struct energy_set e = begins ? energy(&b, 0.8, 1.8, &row) : energy(&b, 0.2, 1.2, &row);
            assert_int_equal(e.counter.state, powered ? Q_NOT_RECORDED : Q_NOT_COVERED);
            assert_int_equal(row.counter_void != NULL, powered);
            if (powered)
                assert_non_null(
                    strstr(row.counter_void, begins ? "still for 1.10 s at 0.000" : "still for 1.00 s at 1.0"));
            /* 8 changes of 1 J. */
            e = begins ? energy(&b, 1.1, 1.9, &row) : energy(&b, 0.1, 0.9, &row);
            assert_close(e.counter.value, 8, 1e-9);
            assert_null(row.counter_void);
            made_done(&b.made);
        }
}

static void gaps_are_flagged_over_their_limit(void **state)
{
    (void)state;
    struct bench b;
    struct result_stage_gpu row;
    bench_start(&b, 1);
    const double t[] = {0, 1, 3.5, 4.5, 7.001, 8};
    for (int i = 0; i < 6; i++)
        made_instant(&b.made, 0, t[i], 100, INSTANT_GRID);
    const double u[] = {0, 0.06, 0.121, 0.14};
    for (int i = 0; i < 4; i++)
        made_buffer(&b.made, 0, u[i], 100);
    bench_measure(&b);
    energy(&b, 0.5, 4, &row);
    assert_close(row.grid_gap_s, 2.5, 1e-9);
    assert_false(row.grid_gap);
    energy(&b, 5, 6, &row); /* a gap that the stage lies in counts */
    assert_true(row.grid_gap);
    energy(&b, 0.01, 0.05, &row);
    assert_false(row.buffer_gap);
    energy(&b, 0.01, 0.07, &row);
    assert_true(row.buffer_gap);
    made_done(&b.made);
}

/* Grid 100 W at 0 and 1 s. A mark sample of 300 W at 0.4 with its partner of 100 W at 0.6, another at 0.9 without one.
 * marks: 0.4 (100 + 300)/2 + 0.2 (300 + 100)/2 + 0.4 * 100 = 80 + 40 + 40 = 160 J; the grid alone 100 J. */
static void mark_samples_come_in_pairs(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    made_instant(&b.made, 0, 0, 100, INSTANT_GRID);
    made_instant(&b.made, 0, 0.4, 300, INSTANT_MARK);
    made_instant(&b.made, 0, 0.6, 100, INSTANT_MARK_AFTER);
    made_instant(&b.made, 0, 0.9, 700, INSTANT_MARK);
    made_instant(&b.made, 0, 1, 100, INSTANT_GRID);
    bench_measure(&b);
    struct energy_set e = energy(&b, 0, 1, NULL);
    assert_close(e.marks.value, 160, 1e-9);
    assert_close(e.grid.value, 100, 1e-9);
    made_done(&b.made);
}

/* Grid 100, 200, 100, 300, 100 W at 0 ... 4 s, [0.5, 3.5]. Inside: 200 (1 s), 100 (2 s), 300 (3 s); power 150 at 0.5,
 * 200 at 3.5. First and third sample: 0.5*175 + 2*250 + 0.5*250 = 712.5; second alone: 1.5*125 + 1.5*150 = 412.5: half
 * the difference is 150. Boundaries: |200 - 100| 1/2 = 50 and |100 - 300| 1/2 = 100. sqrt(150^2 + 50^2 + 100^2) =
 * 187.08. */
static void trapezoid_repeatability(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    const double w[] = {100, 200, 100, 300, 100};
    for (int i = 0; i < 5; i++)
        made_instant(&b.made, 0, i, w[i], INSTANT_GRID);
    bench_measure(&b);
    struct energy_set e = energy(&b, 0.5, 3.5, NULL);
    assert_close(e.grid.instrument, sqrt(150. * 150 + 50 * 50 + 100 * 100), 1e-9);
    made_done(&b.made);
}

/* Steps of 10 J in 0.1 s (100 W) to 1.0 s, of 50 J (500 W) after. At 0.55 s: 0.01 s * 100 W = 1 J, no cliff. At 1.05 s
 * the steps before and after differ by 400 W: (L + 0.1/4) 400 with L unknown, so one step of 0.1 s: 50 J; and 0.01 *
 * 500 = 5. */
static void counter_repeatability(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    for (int i = 0; i <= 20; i++)
        made_counter(&b.made, 0, 0.1 * i, i <= 10 ? 10 * i : 100 + 50 * (i - 10));
    bench_measure(&b);
    assert_close(energy(&b, 0.55, 1.05, NULL).counter.instrument, sqrt(1 + 25 + 50 * 50), 1e-6);
    b.lag[0] = quantity_of(0.05);
    assert_close(energy(&b, 0.55, 1.05, NULL).counter.instrument, sqrt(1 + 25 + 30 * 30), 1e-6);
    b.series[0].counter.locked[10] = false; /* a point of 100 ms beside 1.05 s */
    assert_close(energy(&b, 0.55, 1.05, NULL).counter.instrument, sqrt(1 + 50 * 50 + 30 * 30), 1e-6);
    made_done(&b.made);
}

/* 6 % of 1000 J is 60 J, 5 W over 10 s is 50 J; of 100 J it is 6 J, so 50 J. Linear over GPUs: 110 J. */
static void absolute_limit(void **state)
{
    (void)state;
    struct bench b;
    struct result_stage_gpu rows[2];
    bench_start(&b, 2);
    for (int i = 0; i <= 10; i++) {
        made_instant(&b.made, 0, i, 100, INSTANT_GRID);
        made_instant(&b.made, 1, i, 10, INSTANT_GRID);
    }
    bench_measure(&b);
    assert_close(energy(&b, 0, 10, rows).grid.calibration, 110, 1e-9);
    assert_close(rows[0].energy.grid.calibration, 60, 1e-9);
    assert_close(rows[1].energy.grid.calibration, 50, 1e-9);
    made_done(&b.made);
}

/* A square wave in the buffer; the counter says 0.99 of it, 50 ms late, in steps of 0.1 s. */
static void lag_and_factor_are_found(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    for (int i = 0; i <= 1000; i++)
        made_buffer(&b.made, 0, 0.02 * i, i / 37 % 2 ? 600 : 100);
    bench_measure(&b);
    for (int i = 2; i < 200; i++)
        made_counter(&b.made, 0, 0.1 * i + 0.003,
                     0.99 * curve_energy(&b.series[0].buffer, at_s(0.1 * i + 0.003 - 0.05)));
    bench_measure(&b);
    meters_fit(&b.meters, at_s(1), at_s(19), &b.made.arena);
    assert_close(b.lag[0].value, 0.05, 1e-12);
    assert_close(b.factor[0].value, 0.99, 2e-6); /* readings are whole mJ */
    struct energy_set e = energy(&b, 5, 6, NULL);
    assert_close(e.precise.value, b.factor[0].value * e.buffer.value, 1e-9);
    made_done(&b.made);
}

/* Realtime was set 10 s forward at 5 s: pairs at 4 s (offset 100 s) and 6 s (offset 110 s). A stamp of realtime 103 s
 * is 3 s, one of 117 s is 7 s, one of 104.5 s lies between the pairs and is left out. */
static void buffer_stamps_use_the_nearest_clock_pair(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    struct records *r = &b.made.r;
    r->clocks[0] = (struct rec_clock){at_s(4), at_s(100), 0};
    r->clocks[1] = (struct rec_clock){at_s(6), at_s(110), 0};
    r->clock_count = 2;
    made_buffer(&b.made, 0, 103, 100);
    made_buffer(&b.made, 0, 104.5, 100);
    made_buffer(&b.made, 0, 117, 100);
    bench_measure(&b);
    assert_int_equal(b.series[0].buffer.n, 2);
    assert_int_equal(b.series[0].buffer.t_ns[0], at_s(3));
    assert_int_equal(b.series[0].buffer.t_ns[1], at_s(7));
    assert_int_equal(b.series[0].buffer_marked, 1);
    assert_true(clock_is_stepped(&b.clocks, at_s(5)));
    assert_false(clock_is_stepped(&b.clocks, at_s(6.1)));
    made_done(&b.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(boundaries_are_interpolated),
                                       cmocka_unit_test(nothing_is_extrapolated),
                                       cmocka_unit_test(gpus_are_integrated_on_their_own_samples),
                                       cmocka_unit_test(counter_is_linear_between_change_points),
                                       cmocka_unit_test(counter_that_goes_backward_is_void_there_only),
                                       cmocka_unit_test(counter_that_stands_still_is_void_under_power),
                                       cmocka_unit_test(a_counter_that_stops_or_begins_late_is_void),
                                       cmocka_unit_test(gaps_are_flagged_over_their_limit),
                                       cmocka_unit_test(mark_samples_come_in_pairs),
                                       cmocka_unit_test(trapezoid_repeatability),
                                       cmocka_unit_test(counter_repeatability),
                                       cmocka_unit_test(absolute_limit),
                                       cmocka_unit_test(lag_and_factor_are_found),
                                       cmocka_unit_test(buffer_stamps_use_the_nearest_clock_pair)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
