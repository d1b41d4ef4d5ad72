/* A stair counter on paper: it changes at phase + k * period; a read made in [b, e] shows its value at the middle. */
#include "check.h"

#include "model/record.h"
#include "power/counter_lock.h"

#define MS INT64_C(1000000)

struct stair {
    int64_t phase_ns, period_ns;
    int64_t stops_ns; /* stands still from then on; 0: never */
    int64_t width_ns;
    uint32_t seed;
    int64_t jitter_ns; /* of each change */
};

static uint32_t next_random(uint32_t *seed)
{
    return *seed = *seed * 1664525u + 1013904223u;
}

/* The moment of change number k. */
static int64_t change_at(const struct stair *s, int64_t k)
{
    uint32_t seed = s->seed + (uint32_t)k * 2654435761u;
    int64_t jitter_ns = s->jitter_ns ? (int64_t)(next_random(&seed) >> 8) % (2 * s->jitter_ns) - s->jitter_ns : 0;
    return s->phase_ns + k * s->period_ns + jitter_ns;
}

static int64_t steps_at(const struct stair *s, int64_t t_ns)
{
    if (s->stops_ns && t_ns > s->stops_ns)
        t_ns = s->stops_ns;
    int64_t k = (t_ns - s->phase_ns) / s->period_ns + 2;
    while (change_at(s, k) > t_ns)
        k--;
    return k;
}

struct outcome {
    int64_t reads, changes, repeats, searches;
    int64_t late_min_ns, late_max_ns; /* middle of the read that saw a change, behind the true change */
    int64_t skipped;                  /* changes that no read of their own saw */
};

/* Runs the lock until `until_ns`; what comes before `from_ns` is not counted. */
static struct outcome run(struct counter_lock *l, const struct stair *s, int64_t from_ns, int64_t until_ns)
{
    struct outcome o = {.late_min_ns = INT64_MAX, .late_max_ns = INT64_MIN};
    int64_t now_ns = 0, seen = -1;
    while (l->deadline_ns < until_ns) {
        if (l->deadline_ns > now_ns)
            now_ns = l->deadline_ns;
        enum counter_why why = l->why;
        int64_t begin_ns = now_ns, middle_ns = begin_ns + s->width_ns / 2, steps = steps_at(s, middle_ns);
        now_ns = begin_ns + s->width_ns;
        counter_lock_take(l, begin_ns, now_ns, 1000000 + steps * 7850, true);
        if (begin_ns >= from_ns) {
            o.reads++;
            o.repeats += why == COUNTER_REPEAT;
            o.searches += why == COUNTER_SEARCH;
            if (seen >= 0 && steps != seen) {
                int64_t late_ns = middle_ns - change_at(s, steps);
                o.changes++;
                o.skipped += steps - seen - 1;
                o.late_min_ns = late_ns < o.late_min_ns ? late_ns : o.late_min_ns;
                o.late_max_ns = late_ns > o.late_max_ns ? late_ns : o.late_max_ns;
            }
        }
        seen = steps;
    }
    return o;
}

/* 100.06 ms, calls of 4 ms, two minutes, at any phase. */
static void change_points_are_right_to_ten_ms(void **state)
{
    (void)state;
    for (int64_t phase_ms = 1; phase_ms < 100; phase_ms += 7) {
        struct counter_lock l;
        struct stair s = {.phase_ns = phase_ms * MS, .period_ns = 100060000, .width_ns = 4 * MS};
        counter_lock_init(&l, 0, 100 * MS);
        struct outcome o = run(&l, &s, 500 * MS, 120000 * MS);
        assert_int_equal(l.phase, LOCK_LOCKED);
        assert_true(o.changes > 1190);
        assert_int_equal(o.skipped, 0);
        assert_int_equal(o.searches, 0);
        assert_true(o.late_min_ns >= 0);
        assert_true(o.late_max_ns <= 10 * MS);
        assert_true(o.repeats * 10 < o.changes);
    }
}

/* Found within two periods and some reads: from a standing start at 0 with changes at 30 and 130.06 ms. */
static void the_step_is_found_in_two_periods(void **state)
{
    (void)state;
    struct counter_lock l;
    struct stair s = {.phase_ns = 30 * MS, .period_ns = 100060000, .width_ns = 4 * MS};
    counter_lock_init(&l, 0, 100 * MS);
    struct outcome o = run(&l, &s, 0, 140 * MS);
    assert_int_equal(l.phase, LOCK_LOCKED);
    /* 0, 5, ... 130: the one at 130 has its middle at 132 ms and sees the second change */
    assert_int_equal(o.reads, 27);
    /* Middles 27 and 32 ms enclose the first change, 127 and 132 ms the second: 100 ms, expected at 229.5 - 10 (margin
     * of one step), read with its middle 5 ms behind that. */
    assert_int_equal(l.period_ns, 100 * MS);
    assert_close((double)l.deadline_ns, 129.5e6 + 100e6 - 10e6 + 5e6 - 2e6, 1);
}

static void other_periods_and_drift_are_followed(void **state)
{
    (void)state;
    const int64_t periods_ns[] = {98700000, 99990000, 100000000, 101300000, 250000000, 1000000000};
    for (size_t i = 0; i < sizeof periods_ns / sizeof *periods_ns; i++) {
        struct counter_lock l;
        struct stair s = {.phase_ns = 17 * MS, .period_ns = periods_ns[i], .width_ns = 4 * MS};
        counter_lock_init(&l, 0, 100 * MS);
        struct outcome o = run(&l, &s, 3000 * MS, 120000 * MS);
        assert_int_equal(l.phase, LOCK_LOCKED);
        assert_int_equal(o.skipped, 0);
        assert_true(o.late_min_ns >= 0 && o.late_max_ns <= 10 * MS);
    }
}

/* Changes that jitter by 3 ms: right to 10 ms and the jitter on either side. */
static void jitter_is_borne(void **state)
{
    (void)state;
    struct counter_lock l;
    struct stair s = {.phase_ns = 40 * MS, .period_ns = 100060000, .width_ns = 4 * MS, .seed = 7, .jitter_ns = 3 * MS};
    counter_lock_init(&l, 0, 100 * MS);
    struct outcome o = run(&l, &s, 1000 * MS, 300000 * MS);
    assert_int_equal(o.skipped, 0);
    assert_true(o.late_max_ns <= 16 * MS);
    assert_int_equal(l.phase, LOCK_LOCKED);
    assert_close((double)l.period_ns, 100060000, 50000);
}

/* A counter that stands: three steps of four reads, a search of 1.5 s, then ten reads a second. */
static void a_standing_counter_is_left_in_peace(void **state)
{
    (void)state;
    struct counter_lock l;
    struct stair s = {.phase_ns = 40 * MS, .period_ns = 100060000, .width_ns = 4 * MS, .stops_ns = 5000 * MS};
    counter_lock_init(&l, 0, 100 * MS);
    run(&l, &s, 0, 8000 * MS);
    assert_int_equal(l.phase, LOCK_STANDING);
    struct outcome o = run(&l, &s, 8000 * MS, 10000 * MS);
    assert_true(o.reads >= 19 && o.reads <= 20);
    s.stops_ns = 0;
    o = run(&l, &s, 10500 * MS, 20000 * MS);
    assert_int_equal(l.phase, LOCK_LOCKED);
    assert_true(o.late_max_ns <= 10 * MS);
}

static void failed_reads_change_nothing(void **state)
{
    (void)state;
    struct counter_lock l;
    struct stair s = {.phase_ns = 40 * MS, .period_ns = 100060000, .width_ns = 4 * MS};
    counter_lock_init(&l, 0, 100 * MS);
    run(&l, &s, 0, 5000 * MS);
    int64_t deadline_ns = l.deadline_ns;
    counter_lock_take(&l, deadline_ns, deadline_ns + 4 * MS, -1, true);
    assert_int_equal(l.phase, LOCK_LOCKED);
    assert_close((double)l.deadline_ns, (double)deadline_ns + 100e6, 1e6);
    struct outcome o = run(&l, &s, 6000 * MS, 10000 * MS);
    assert_true(o.late_min_ns >= 0 && o.late_max_ns <= 10 * MS);
}

/* A sample at a boundary that sees the change first takes the place of the scheduled one. */
static void a_boundary_read_counts(void **state)
{
    (void)state;
    struct counter_lock l;
    struct stair s = {.phase_ns = 40 * MS, .period_ns = 100060000, .width_ns = 4 * MS};
    counter_lock_init(&l, 0, 100 * MS);
    run(&l, &s, 0, 10000 * MS);
    int64_t change_ns = change_at(&s, steps_at(&s, l.deadline_ns + 2 * MS));
    int64_t begin_ns = change_ns - 1 * MS, steps = steps_at(&s, begin_ns + 2 * MS);
    counter_lock_take(&l, begin_ns, begin_ns + 4 * MS, 1000000 + steps * 7850, false);
    assert_int_equal(l.why, COUNTER_LOCKED);
    assert_close((double)l.deadline_ns, (double)change_ns + 100e6, 8e6);
    /* One in between that sees nothing new moves nothing. */
    int64_t deadline_ns = l.deadline_ns;
    counter_lock_take(&l, begin_ns + 50 * MS, begin_ns + 54 * MS, 1000000 + steps * 7850, false);
    assert_int_equal(l.deadline_ns, deadline_ns);
}

/* A device that promises a step of 1 s or of 250 ms: found by its own measure (a search of 1.5 s would see one change
 * of the slow one, at best), and as right. */
static void slower_counters_are_found(void **state)
{
    (void)state;
    const int64_t periods_ns[] = {250000000, 1000000000, 2000000000};
    for (size_t i = 0; i < sizeof periods_ns / sizeof *periods_ns; i++) {
        struct counter_lock l;
        struct stair s = {.phase_ns = 17 * MS, .period_ns = periods_ns[i] + 600000, .width_ns = 4 * MS};
        counter_lock_init(&l, 0, periods_ns[i]);
        struct outcome o = run(&l, &s, 3 * periods_ns[i], 300000 * MS);
        assert_int_equal(l.phase, LOCK_LOCKED);
        assert_int_equal(o.skipped, 0);
        assert_int_equal(o.searches, 0);
        assert_true(o.late_min_ns >= 0 && o.late_max_ns <= 10 * MS);
    }
}

/* A step of at most 10 ms, calls of 0.2 or 4 ms: ten reads a second, each within a step of the change it shows. */
static void a_fast_counter_is_read_ten_times_a_second(void **state)
{
    (void)state;
    const int64_t periods_ns[] = {1 * MS, 10 * MS};
    for (size_t i = 0; i < 2; i++) {
        struct counter_lock l;
        struct stair s = {.phase_ns = 3 * MS, .period_ns = periods_ns[i], .width_ns = i ? 4 * MS : MS / 5};
        counter_lock_init(&l, 0, periods_ns[i]);
        struct outcome o = run(&l, &s, 500 * MS, 60500 * MS);
        assert_int_equal(l.phase, LOCK_NEEDLESS);
        assert_int_equal(o.reads, 600);
        assert_int_equal(o.changes, 600);
        assert_true(o.late_min_ns >= 0 && o.late_max_ns <= s.period_ns);
    }
}

/* In between, with calls of up to a third of a step: found, and read each 75 or 100 ms, right to a step. */
static void a_counter_of_twenty_five_ms_is_found(void **state)
{
    (void)state;
    for (int64_t width_ms = 1; width_ms <= 8; width_ms++) {
        struct counter_lock l;
        struct stair s = {.phase_ns = 3 * MS, .period_ns = 25010000, .width_ns = width_ms * MS};
        counter_lock_init(&l, 0, 25 * MS);
        struct outcome o = run(&l, &s, 500 * MS, 60500 * MS);
        assert_int_equal(l.phase, LOCK_LOCKED);
        assert_in_range(o.reads, 590, 900); /* each third or fourth step */
        assert_int_equal(o.searches, 0);
        assert_true(o.late_min_ns >= 0 && o.late_max_ns <= s.period_ns);
    }
}

/* One read in twenty begins up to 60 ms late, as on a busy machine: a change that it shows is never recorded as locked
 * if it lies over 20 ms back (10 ms as of any read, and 10 ms), and reads in time are. */
static void a_late_read_is_not_locked(void **state)
{
    (void)state;
    int64_t late = 0, told = 0, in_time = 0;
    for (int64_t phase_ms = 1; phase_ms < 100; phase_ms += 7) {
        struct stair s = {.phase_ns = phase_ms * MS, .period_ns = 100060000, .width_ns = 4 * MS};
        struct counter_lock l;
        counter_lock_init(&l, 0, 100 * MS);
        uint32_t seed = (uint32_t)phase_ms;
        int64_t now_ns = 0, seen = -1;
        while (l.deadline_ns < 120000 * MS) {
            now_ns = l.deadline_ns > now_ns ? l.deadline_ns : now_ns;
            if (next_random(&seed) >> 16 < 65536 / 20)
                now_ns += ((int64_t)next_random(&seed) * 60 * MS >> 32);
            int64_t middle_ns = now_ns + s.width_ns / 2, steps = steps_at(&s, middle_ns);
            enum counter_why why = counter_lock_why(&l, l.why, middle_ns);
            counter_lock_take(&l, now_ns, now_ns + s.width_ns, 1000000 + steps * 7850, true);
            now_ns += s.width_ns;
            int64_t behind_ns = middle_ns - change_at(&s, steps);
            if (l.phase == LOCK_LOCKED && seen >= 0 && steps != seen) {
                if (why == COUNTER_LOCKED || why == COUNTER_REPEAT)
                    assert_in_range(behind_ns, 0, 20 * MS + MS / 10);
                late += behind_ns > 21 * MS;
                told += behind_ns > 21 * MS && why == COUNTER_SEARCH;
                in_time += behind_ns < 10 * MS && why != COUNTER_SEARCH;
            }
            seen = steps;
        }
    }
    assert_true(late > 300);
    assert_int_equal(told, late);
    assert_true(in_time > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(change_points_are_right_to_ten_ms),
        cmocka_unit_test(the_step_is_found_in_two_periods),
        cmocka_unit_test(other_periods_and_drift_are_followed),
        cmocka_unit_test(jitter_is_borne),
        cmocka_unit_test(a_standing_counter_is_left_in_peace),
        cmocka_unit_test(failed_reads_change_nothing),
        cmocka_unit_test(a_boundary_read_counts),
        cmocka_unit_test(slower_counters_are_found),
        cmocka_unit_test(a_fast_counter_is_read_ten_times_a_second),
        cmocka_unit_test(a_counter_of_twenty_five_ms_is_found),
        cmocka_unit_test(a_late_read_is_not_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
