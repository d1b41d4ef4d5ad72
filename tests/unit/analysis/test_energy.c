/* Energies and their uncertainties, each case small enough for paper. */
#include "check.h"
#include "made.h"
#include "analysis/energy.h"

struct bench {
    struct made made;
    struct gpu_series series[4];
    struct clock_line clocks;
    struct fit fits[4];
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
        b->fits[i] = fit_absent("not fitted");
    }
    b->meters = (struct meters){.gpus = b->series,
                                .gpu_count = r->gpu_count,
                                .grid_period_s = 1,
                                .sensor_share = 0.06,
                                .sensor_floor_w = 5,
                                .from_ns = ABSENT_I64,
                                .to_ns = ABSENT_I64,
                                .fits = b->fits};
}

static struct energy_set energy(struct bench *b, double from, double to, struct result_stage_gpu *gpus)
{
    const struct measure what = {.from_ns = at_s(from), .to_ns = at_s(to), .sampled = true};
    return meters_energy(&b->meters, &what, gpus, &b->made.arena);
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
            int n = i <= 5 ? i : i < 12 ? 5 : i - 6; /* the last equal reading comes at 1.1 s */
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
                    strstr(row.counter_void, begins ? "still for 1.00 s at 0.000" : "still for 1.00 s at 1.0"));
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
    made_instant(&b.made, 0, 0.4, 300, INSTANT_BOUNDARY);
    made_instant(&b.made, 0, 0.6, 100, INSTANT_BOUNDARY_AFTER);
    made_instant(&b.made, 0, 0.9, 700, INSTANT_BOUNDARY);
    made_instant(&b.made, 0, 1, 100, INSTANT_GRID);
    bench_measure(&b);
    struct energy_set e = energy(&b, 0, 1, NULL);
    assert_close(e.boundary.value, 160, 1e-9);
    assert_close(e.grid.value, 100, 1e-9);
    made_done(&b.made);
}

/* Readings each 0.1 s but for a hole from 1 to 3 s, while 100 W are drawn: nothing is lost, nothing is void, and the
 * gap is told. Read as the same value at both ends of the hole, it did stand still. */
static void a_hole_in_the_readings_is_no_standstill(void **state)
{
    (void)state;
    for (int still = 0; still < 2; still++) {
        struct bench b;
        struct result_stage_gpu row;
        bench_start(&b, 1);
        for (int i = 0; i <= 50; i++)
            if (i <= 10 || i >= 30)
                made_counter(&b.made, 0, 0.1 * i, still && i >= 30 ? 10 * (i - 20) : 10 * i);
        for (int i = 0; i <= 5; i++)
            made_instant(&b.made, 0, i, 100, INSTANT_GRID);
        bench_measure(&b);
        struct energy_set e = energy(&b, 0.5, 4.5, &row);
        assert_int_equal(e.counter.state, still ? Q_NOT_RECORDED : Q_MEASURED);
        assert_int_equal(row.counter_void != NULL, still);
        if (!still) {
            assert_close(e.counter.value, 400, 1e-9);
            assert_close(row.counter_gap_s, 2, 1e-9);
        }
        made_done(&b.made);
    }
}

/* ---- doubts ---- */

/* Steps of 10 J in 0.1 s (100 W) to 1.0 s, of 50 J (500 W) after; the buffer says the same. At 0.55 s: 0.01 s * 100 W =
 * 1 J, no step of the power. At 1.0 s the means of 0.2 s before and after are 100 and 500 W, less the half interval of
 * 20 ms that leads up to the step: before = (0.18 * 100 + 0.02 * 300) / 0.2 = 120 W. So 0.01 * 310 = 3.1 J, and
 * (L + 0.1/4) * 380 = 28.5 J with |L| of 50 ms where it is not known. */
static void counter_doubt(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    for (int i = 0; i <= 20; i++)
        made_counter(&b.made, 0, 0.1 * i, i <= 10 ? 10 * i : 100 + 50 * (i - 10));
    for (int i = 0; i <= 100; i++)
        made_buffer(&b.made, 0, 0.02 * i, i < 50 ? 100 : 500);
    bench_measure(&b);
    assert_close(energy(&b, 0.55, 1.0, NULL).counter.instrument, sqrt(1 + 3.1 * 3.1 + 28.5 * 28.5), 1e-9);
    b.fits[0].lag_s = quantity_of(-0.015);
    assert_close(energy(&b, 0.55, 1.0, NULL).counter.instrument, sqrt(1 + 3.1 * 3.1 + 15.2 * 15.2), 1e-9);
    /* A point that was not read on the step beside 1.0 s: 100 ms * 310 W. */
    b.series[0].counter.locked[9] = false;
    assert_close(energy(&b, 0.55, 1.0, NULL).counter.instrument, sqrt(1 + 31. * 31 + 15.2 * 15.2), 1e-9);
    made_done(&b.made);
}

/* The same without a buffer: the grid says 100 W at 0 and 1 s, 500 W at 2 s. At 1.5 s 300 W and a step of 400 W between
 * the neighbours, with |L| of 50 ms whatever was fitted: 3 J and (0.05 + 0.025) * 400 = 30 J; at 0.5 s 1 J. */
static void counter_doubt_by_the_grid(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    for (int i = 0; i <= 20; i++)
        made_counter(&b.made, 0, 0.1 * i, i <= 10 ? 10 * i : 100 + 50 * (i - 10));
    for (int i = 0; i <= 2; i++)
        made_instant(&b.made, 0, i, i < 2 ? 100 : 500, INSTANT_GRID);
    bench_measure(&b);
    b.fits[0].lag_s = quantity_of(0.01);
    assert_close(energy(&b, 0.5, 1.5, NULL).counter.instrument, sqrt(1 + 9 + 900), 1e-9);
    made_done(&b.made);
}

/* Boundary readings and repeats are as good as locked ones, search readings are not. */
static void which_readings_are_locked(void **state)
{
    (void)state;
    static const struct {
        uint8_t why;
        double point_s;
    } cases[] = {{COUNTER_LOCKED, 0.01}, {COUNTER_REPEAT, 0.01}, {COUNTER_BOUNDARY, 0.01}, {COUNTER_SEARCH, 0.1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct bench b;
        bench_start(&b, 1);
        for (int i = 0; i <= 20; i++) {
            made_counter(&b.made, 0, 0.1 * i, 10 * i);
            b.made.r.gpus[0].counter[i].why = cases[k].why;
        }
        for (int i = 0; i <= 2; i++)
            made_instant(&b.made, 0, i, 100, INSTANT_GRID);
        bench_measure(&b);
        assert_close(energy(&b, 0.55, 1.55, NULL).counter.instrument, sqrt(2) * cases[k].point_s * 100, 1e-9);
        made_done(&b.made);
    }
}

/* A GPU at 100 W with a peak of 600 W from 5.2 to 5.4 s that the 1 s grid does not see, the counter 1 % above the
 * buffer. */
static void peaked_gpu(struct bench *b, size_t gpu, bool seen)
{
    for (int i = 0; i <= 1000; i++)
        made_buffer(&b->made, gpu, 0.02 * i, i >= 260 && i < 270 ? 600 : 100);
    for (int i = 0; i <= 20; i++)
        made_instant(&b->made, gpu, i + (seen ? 0.3 : 0), seen && i == 5 ? 600 : 100, INSTANT_GRID);
}

static void count_gpu(struct bench *b, size_t gpu, double lag_s)
{
    for (int i = 1; i < 198; i++)
        made_counter(&b->made, gpu, 0.1 * i, 1.01 * curve_energy(&b->series[gpu].buffer, at_s(0.1 * i - lag_s)));
}

/* The buffer holds a trapezoid of 500 W, 0.2 s between the middles of its flanks: 100 J over 100 W. The grid between 1
 * and 9 s sees 800 J, `precise` 1.01 * 900 = 909 J: 109 J are known and added in full, and c is flat to the mJ of a
 * reading. */
static void a_known_difference_is_added_in_full(void **state)
{
    (void)state;
    struct bench b;
    struct result_stage_gpu row;
    bench_start(&b, 1);
    peaked_gpu(&b, 0, false);
    bench_measure(&b);
    count_gpu(&b, 0, 0.05);
    bench_measure(&b);
    b.meters = meters_fitted(b.meters, at_s(0.5), at_s(19), at_s(19), &b.made.arena);
    struct energy_set e = energy(&b, 1, 9, &row);
    assert_close(e.precise.value, 909, 0.05);
    assert_int_equal(row.grid_doubt, DOUBT_PRECISE);
    assert_close(e.grid.instrument, fabs(e.grid.value - e.precise.value) + e.precise.instrument, 1e-9);
    assert_close(e.grid.instrument, 109, 0.2);
    assert_true(e.precise.instrument > 0 && e.precise.instrument < 0.1);
    assert_close(e.buffer.instrument, 9 + e.precise.instrument, 0.05);
    /* Outside [service_start, release_end] `precise` says nothing of itself, and the counter is what the grid has. */
    e = energy(&b, 0.2, 4, &row);
    assert_int_equal(row.grid_doubt, DOUBT_COUNTER);
    assert_true(isnan(e.precise.instrument) && isnan(e.buffer.instrument));
    assert_close(e.grid.instrument, fabs(e.grid.value - e.counter.value) + e.counter.instrument, 1e-9);
    made_done(&b.made);
}

/* One GPU whose grid misses the peak and one whose grid doubles it: their errors of opposite sign cancel in the sum,
 * whose doubt is not the sum of theirs. */
static void known_differences_keep_their_signs(void **state)
{
    (void)state;
    struct bench b;
    struct result_stage_gpu rows[2];
    bench_start(&b, 2);
    peaked_gpu(&b, 0, false);
    peaked_gpu(&b, 1, true);
    bench_measure(&b);
    count_gpu(&b, 0, 0.05);
    count_gpu(&b, 1, 0.05);
    bench_measure(&b);
    b.meters = meters_fitted(b.meters, at_s(0.5), at_s(19), at_s(19), &b.made.arena);
    struct energy_set e = energy(&b, 1, 9, rows);
    double d[2];
    for (int i = 0; i < 2; i++)
        d[i] = rows[i].energy.grid.value - rows[i].energy.precise.value;
    assert_true(d[0] < -100 && d[1] > 100);
    assert_close(e.grid.instrument,
                 fabs(d[0] + d[1]) + hypot(rows[0].energy.precise.instrument, rows[1].energy.precise.instrument), 1e-9);
    assert_close(e.precise.instrument, hypot(rows[0].energy.precise.instrument, rows[1].energy.precise.instrument),
                 1e-12);
    made_done(&b.made);
}

/* A hole of 80 ms in the buffer within the stretch: the counter decides, for this GPU alone. */
static void a_hole_in_the_buffer_asserts_nothing(void **state)
{
    (void)state;
    struct bench b;
    struct result_stage_gpu row;
    bench_start(&b, 1);
    peaked_gpu(&b, 0, false);
    bench_measure(&b);
    count_gpu(&b, 0, 0.05);
    struct rec_gpu *g = &b.made.r.gpus[0];
    memmove(&g->buffer[151], &g->buffer[154], (g->buffer_count - 154) * sizeof *g->buffer);
    g->buffer_count -= 3;
    bench_measure(&b);
    b.meters = meters_fitted(b.meters, at_s(0.5), at_s(19), at_s(19), &b.made.arena);
    struct energy_set e = energy(&b, 1, 9, &row);
    assert_int_equal(row.grid_doubt, DOUBT_COUNTER);
    assert_close(e.grid.instrument, fabs(e.grid.value - e.counter.value) + e.counter.instrument, 1e-9);
    energy(&b, 4, 9, &row);
    assert_int_equal(row.grid_doubt, DOUBT_PRECISE);
    made_done(&b.made);
}

/* Grid 100, 200, 100, 200 ... W at 0 ... 13 s and nothing else. (0.5, 12.5) is touched by 13 intervals of 1 s and 100
 * W: sqrt(2 * 13) * 100 J. (0.5, 9.5) holds nine samples, too few to say anything. */
static void successive_differences(void **state)
{
    (void)state;
    struct bench b;
    struct result_stage_gpu rows[2];
    bench_start(&b, 2);
    for (int g = 0; g < 2; g++)
        for (int i = 0; i <= 13; i++)
            made_instant(&b.made, (size_t)g, i, i % 2 ? 200 : 100, INSTANT_GRID);
    bench_measure(&b);
    struct energy_set e = energy(&b, 0.5, 12.5, rows);
    assert_int_equal(rows[0].grid_doubt, DOUBT_SUCCESSIVE);
    assert_close(rows[0].energy.grid.instrument, sqrt(26) * 100, 1e-9);
    assert_close(e.grid.instrument, 2 * sqrt(26) * 100, 1e-9); /* sampled in one phase: linear */
    e = energy(&b, 0.5, 9.5, rows);
    assert_int_equal(rows[0].grid_doubt, DOUBT_NONE);
    assert_true(isnan(e.grid.instrument));
    assert_close(energy(&b, 0.5, 9.5, rows).grid.value, 2 * 9 * 150, 60);
    const struct measure what = {.from_ns = at_s(0.5), .to_ns = at_s(12.5)};
    e = meters_energy(&b.meters, &what, rows, &b.made.arena);
    assert_true(isnan(e.grid.instrument)); /* not a startup, formal stage or lifecycle */
    made_done(&b.made);
}

/* Startup (1, 9), formal (9, 14), release (14, 18): the headline is grid + counter + grid, its known differences with
 * their signs, and what is left of `precise` one term for the whole. */
static void a_lifecycle_is_one_doubt(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    peaked_gpu(&b, 0, false);
    bench_measure(&b);
    count_gpu(&b, 0, 0.05);
    bench_measure(&b);
    b.meters = meters_fitted(b.meters, at_s(1), at_s(18), at_s(18), &b.made.arena);
    struct part parts[3] = {
        {at_s(1), at_s(9), SERIES_GRID}, {at_s(9), at_s(14), SERIES_COUNTER}, {at_s(14), at_s(18), SERIES_GRID}};
    struct energy_set start = energy(&b, 1, 9, NULL), formal = energy(&b, 9, 14, NULL), end = energy(&b, 14, 18, NULL);
    struct quantity whole = meters_parts(&b.meters, parts, 3, true, METERS_ALL, &b.made.arena);
    double known = start.grid.value - start.precise.value + end.grid.value - end.precise.value;
    assert_close(whole.value, start.grid.value + formal.counter.value + end.grid.value, 1e-9);
    assert_close(whole.instrument,
                 fabs(known) + hypot(fit_range_j(&b.meters.fits[0], at_s(-4), at_s(23)), formal.counter.instrument),
                 1e-9);
    /* 6 % of about 1700 J is 102 J, 5 W over 17 s are 85 J: once, for the sum. */
    assert_close(whole.calibration, 0.06 * whole.value, 1e-9);
    struct part outer[2] = {parts[0], parts[2]};
    struct quantity fixed = meters_parts(&b.meters, outer, 2, false, METERS_ALL, &b.made.arena);
    assert_close(fixed.instrument, fabs(known) + hypot(start.precise.instrument, end.precise.instrument), 1e-9);
    made_done(&b.made);
}

/* With the grid alone, startup and release are doubted by their own sampling intervals, the one that two stages touch
 * counted once. Grid 100, 200 ... W at 0 ... 25 s; startup (0.5, 9.5), release (9.5, 21.5): 22 intervals in all. */
static void a_lifecycle_by_the_grid_alone(void **state)
{
    (void)state;
    struct bench b;
    bench_start(&b, 1);
    for (int i = 0; i <= 25; i++)
        made_instant(&b.made, 0, i, i % 2 ? 200 : 100, INSTANT_GRID);
    bench_measure(&b);
    struct part parts[2] = {{at_s(0.5), at_s(9.5), SERIES_GRID}, {at_s(9.5), at_s(21.5), SERIES_GRID}};
    assert_close(meters_parts(&b.meters, parts, 2, false, METERS_ALL, &b.made.arena).instrument, sqrt(44) * 100, 1e-9);
    made_done(&b.made);
}

/* 6 % of 1000 J is 60 J, 5 W over 10 s is 50 J; of 100 J it is 6 J, so 50 J. Linear over GPUs: 110 J. */
static void calibration_limit(void **state)
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

/* ---- L and the factor ---- */

/* A square wave in the buffer; the counter says 0.99 of it, L late, in steps of 0.1 s. Every L within the range is
 * found to 1 ms, between the steps of the search, too; one at or beyond its ends is not, and 0 is used. */
static void lag_and_factor_are_found(void **state)
{
    (void)state;
    static const struct {
        double lag_s;
        bool found;
    } cases[] = {{0.05, true},   {0, true},    {-0.012, true}, {0.0533, true},
                 {0.1417, true}, {0.2, false}, {0.5, false},   {-0.1, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct bench b;
        double lag = cases[k].lag_s;
        bench_start(&b, 1);
        for (int i = 0; i <= 1000; i++)
            made_buffer(&b.made, 0, 0.02 * i, i / 37 % 2 ? 600 : 100);
        bench_measure(&b);
        for (int i = 6; i < 198; i++)
            made_counter(&b.made, 0, 0.1 * i + 0.003,
                         0.99 * curve_energy(&b.series[0].buffer, at_s(0.1 * i + 0.003 - lag)));
        bench_measure(&b);
        b.meters = meters_fitted(b.meters, at_s(1), at_s(19), at_s(19), &b.made.arena);
        const struct fit *f = &b.meters.fits[0];
        assert_int_equal(quantity_has_value(&f->lag_s), cases[k].found);
        if (!cases[k].found) {
            assert_int_equal(f->lag_ns, 0);
            assert_non_null(strstr(f->lag_s.why, "was not found and 0 is used"));
            assert_true(quantity_has_value(&f->factor));
        } else {
            assert_close(f->lag_s.value, lag, 0.001);
            assert_close(f->factor.value, 0.99, 1e-4);
            struct energy_set e = energy(&b, 5, 6, NULL);
            assert_close(e.precise.value, f->factor.value * e.buffer.value, 1e-9);
        }
        made_done(&b.made);
    }
}

/* Counter and buffer 100 J apart in one stage, with nothing in their doubts to say why: the stage says so. */
static void instruments_that_contradict_are_told(void **state)
{
    (void)state;
    struct bench b;
    struct result_stage_gpu row;
    bench_start(&b, 1);
    peaked_gpu(&b, 0, true);
    bench_measure(&b);
    count_gpu(&b, 0, 0.05);
    bench_measure(&b);
    b.meters = meters_fitted(b.meters, at_s(0.5), at_s(19), at_s(19), &b.made.arena);
    energy(&b, 1, 9, &row);
    assert_null(meters_contradiction(&row, 1, &b.made.arena));
    row.energy.counter.value += 100;
    const char *text = meters_contradiction(&row, 1, &b.made.arena);
    assert_non_null(text);
    assert_non_null(strstr(text, "GPU 0: counter and "));
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boundaries_are_interpolated),
        cmocka_unit_test(nothing_is_extrapolated),
        cmocka_unit_test(gpus_are_integrated_on_their_own_samples),
        cmocka_unit_test(counter_is_linear_between_change_points),
        cmocka_unit_test(counter_that_goes_backward_is_void_there_only),
        cmocka_unit_test(counter_that_stands_still_is_void_under_power),
        cmocka_unit_test(a_counter_that_stops_or_begins_late_is_void),
        cmocka_unit_test(a_hole_in_the_readings_is_no_standstill),
        cmocka_unit_test(gaps_are_flagged_over_their_limit),
        cmocka_unit_test(mark_samples_come_in_pairs),
        cmocka_unit_test(counter_doubt),
        cmocka_unit_test(counter_doubt_by_the_grid),
        cmocka_unit_test(which_readings_are_locked),
        cmocka_unit_test(a_known_difference_is_added_in_full),
        cmocka_unit_test(known_differences_keep_their_signs),
        cmocka_unit_test(a_hole_in_the_buffer_asserts_nothing),
        cmocka_unit_test(successive_differences),
        cmocka_unit_test(a_lifecycle_is_one_doubt),
        cmocka_unit_test(a_lifecycle_by_the_grid_alone),
        cmocka_unit_test(calibration_limit),
        cmocka_unit_test(lag_and_factor_are_found),
        cmocka_unit_test(instruments_that_contradict_are_told),
        cmocka_unit_test(buffer_stamps_use_the_nearest_clock_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
