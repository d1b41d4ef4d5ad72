/* Parts of a stage: jtok's own waits, and the startup by phase. */
#include "check.h"
#include "whole_life.h"
#include "analysis/analyze.h"
#include "model/record_order.h"

static struct result judge(const struct records *r, struct arena *a)
{
    struct method m = method_default();
    struct result result;
    struct err e = {0};
    struct records in_order = *r;
    records_order(&in_order);
    assert_ok(analyze(&in_order, &m, a, &result, &e), e);
    return result;
}

static void set_mark(struct records *r, enum boundary id, int64_t t_ns)
{
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id == id)
            r->boundaries[i].t_ns = t_ns;
}

static void add_milestone(struct records *r, int milestone, int64_t t_ns)
{
    r->facts[r->fact_count++] =
        (struct rec_fact){t_ns, milestone_names[milestone], CHECK_NOT_JUDGED, NULL, "a line of the log", NULL};
}

/* ---- waits ---- */

/* The GPU draws 122 W from 22 to 43 s and from 73 to 74 s: the startup is 21 s, the release 1 s of it. So a wait's
 * joules are 122 per second and its share is that of time: over the limit from 0.3 s + 0.42 s before the start, and
 * from 0.02 s after the end. The buffer's 20 ms steps are as wide as the least of these. */
static void waits_are_of_the_marks(void **state)
{
    (void)state;
    static const int64_t befores_ms[] = {0, 100, 300, 320, 700, 740, 2000}, afters_ms[] = {0, 18, 22, 500, 1000};
    for (int precise = 0; precise < 2; precise++)
        for (size_t i = 0; i < sizeof befores_ms / sizeof *befores_ms; i++)
            for (size_t k = 0; k < sizeof afters_ms / sizeof *afters_ms; k++) {
                struct arena a = {0};
                struct records r = life_records(&a, 1);
                if (!precise)
                    r.gpus[0].buffer_count = 0;
                double before_s = (double)befores_ms[i] / 1e3, after_s = (double)afters_ms[k] / 1e3;
                set_mark(&r, BOUNDARY_WARMUP_END, 43 * LIFE_S - befores_ms[i] * LIFE_MS);
                set_mark(&r, BOUNDARY_STOP, 73 * LIFE_S + afters_ms[k] * LIFE_MS);
                struct result q = judge(&r, &a);
                const struct result_stage *startup = result_stage_of(&q, STAGE_STARTUP),
                                          *release = result_stage_of(&q, STAGE_RELEASE);
                assert_close(startup->wait_s, before_s, 1e-9);
                assert_close(release->wait_s, after_s, 1e-9);
                /* At 43 and 73 s power jumps, and a sample holds for 10 ms to either side: 3.8 J at most; the counter's
                 * change points are 0.1 s apart. */
                double edge = precise ? 3.8 : 0.05 * 378;
                assert_close(startup->wait_j.value, 122 * before_s, befores_ms[i] ? edge : 0);
                assert_close(release->wait_j.value, 122 * after_s, afters_ms[k] ? edge : 0);
                double counted_s = fmax(0, before_s - 0.3);
                assert_close(startup->wait_share.value, counted_s / 21, counted_s > 0 ? 0.0002 : 0);
                assert_close_rel(release->wait_share.value * 1,
                                 release->wait_j.value /
                                     (precise ? release->energy.precise.value : release->energy.counter.value),
                                 1e-9);
                bool over = startup->wait_share.value > 0.02 || release->wait_share.value > 0.02;
                assert_int_equal(over, counted_s / 21 > 0.02 || afters_ms[k] > 20);
                assert_int_equal(q.flags[FLAG_OBSERVER_WAIT].outcome, over ? CHECK_FAILED : CHECK_PASSED);
                assert_close(q.flags[FLAG_OBSERVER_WAIT].value,
                             fmax(startup->wait_share.value, release->wait_share.value), 0);
                /* Nothing is subtracted. */
                assert_close_rel(startup->energy.counter.value, 122 * 21.0, 1e-3);
                arena_done(&a);
            }
}

/* Connections that are opened with their request need no silence: all of the wait counts. */
static void without_opening_ahead_no_silence_is_left_out(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    r.plan.requests.connect = CONNECT_WITH_REQUEST;
    struct result q = judge(&r, &a);
    assert_close(result_stage_of(&q, STAGE_STARTUP)->wait_share.value, 0.55 / 21, 0.002);
    assert_int_equal(q.flags[FLAG_OBSERVER_WAIT].outcome, CHECK_FAILED);
    arena_done(&a);
}

static void what_is_not_recorded_is_no_wait(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    r.gpus[0].buffer_count = r.gpus[0].counter_count = 0;
    struct result q = judge(&r, &a);
    assert_close(result_stage_of(&q, STAGE_RELEASE)->wait_s, 0.015, 1e-9);
    assert_false(quantity_has_value(&result_stage_of(&q, STAGE_RELEASE)->wait_j));
    assert_non_null(result_stage_of(&q, STAGE_RELEASE)->wait_j.why);
    assert_int_equal(q.flags[FLAG_OBSERVER_WAIT].outcome, CHECK_NOT_RECORDED);
    static const int64_t outside[] = {INT64_MIN + 1,   0,           21 * LIFE_S, 44 * LIFE_S,
                                      73 * LIFE_S - 1, 75 * LIFE_S, INT64_MAX};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        r = life_records(&a, 1);
        set_mark(&r, BOUNDARY_WARMUP_END, outside[i]);
        set_mark(&r, BOUNDARY_STOP, outside[i]);
        q = judge(&r, &a);
        assert_true(isnan(result_stage_of(&q, STAGE_STARTUP)->wait_s) &&
                    isnan(result_stage_of(&q, STAGE_RELEASE)->wait_s));
        assert_false(quantity_has_value(&result_stage_of(&q, STAGE_STARTUP)->wait_j));
        assert_false(quantity_has_value(&result_stage_of(&q, STAGE_RELEASE)->wait_share));
    }
    r = life_records(&a, 1);
    r.boundary_count = 2; /* baseline only */
    q = judge(&r, &a);
    for (int s = 0; s < STAGE_COUNT; s++) {
        assert_true(isnan(result_stage_of(&q, (enum stage_id)s)->wait_s));
        assert_false(quantity_has_value(&result_stage_of(&q, (enum stage_id)s)->wait_j));
    }
    assert_int_equal(q.startup_phase_count, 0);
    arena_done(&a);
}

/* ---- phases ---- */

/* Whatever marks there are: the phases touch, from service_start to formal_start, and add up to the stage. */
static void check_closure(const struct result *q)
{
    const struct result_stage *s = result_stage_of(q, STAGE_STARTUP);
    int64_t at = s->start_ns;
    double joules = 0, seconds = 0;
    for (size_t i = 0; i < q->startup_phase_count; i++) {
        const struct result_phase *p = &q->startup_phases[i];
        assert_int_equal(p->start_ns, at);
        assert_true(p->end_ns > p->start_ns);
        assert_true(i == 0 || p->phase > q->startup_phases[i - 1].phase);
        assert_close(p->start_s, (double)(at - s->start_ns) * 1e-9, 0);
        joules += p->energy_j.value;
        seconds += p->duration_s;
        at = p->end_ns;
    }
    assert_int_equal(at, s->end_ns);
    assert_close_rel(seconds, s->duration_s, 1e-12);
    bool precise = quantity_has_value(&s->energy.precise);
    assert_close_rel(joules, precise ? s->energy.precise.value : s->energy.counter.value, 1e-9);
}

/* 78.5 W until the GPU is used at 25 s (first seen there), 300 W while loading to 28 s, 200 W compiling to 33 s, 450 W
 * capturing to 35 s, 122 W from then on. */
static void phases_by_hand(void **state)
{
    (void)state;
    static const struct life_step steps[] = {{0, LIFE_IDLE_MW},     {25 * LIFE_S, 300000},      {28 * LIFE_S, 200000},
                                             {33 * LIFE_S, 450000}, {35 * LIFE_S, 122000},      {43 * LIFE_S, 500000},
                                             {73 * LIFE_S, 122000}, {74 * LIFE_S, LIFE_IDLE_MW}};
    static const struct {
        double s, j;
    } expected[PHASE_COUNT] = {
        [PHASE_PROCESS] = {3, 3 * 78.5},       [PHASE_WEIGHTS] = {3, 3 * 300.0},   [PHASE_COMPILE] = {5, 5 * 200.0},
        [PHASE_GRAPHS] = {2, 2 * 450.0},       [PHASE_SERVING] = {4, 4 * 122.0},   [PHASE_READY] = {1, 122.0},
        [PHASE_WARMUP] = {2.45, 2.45 * 122.0}, [PHASE_REST] = {0.55, 0.55 * 122.0}};
    for (size_t gpus = 1; gpus <= 2; gpus++) {
        struct arena a = {0};
        struct records r = life_with_power(&a, gpus, (struct life_power){steps, sizeof steps / sizeof *steps});
        add_milestone(&r, MILESTONE_SERVING, 39 * LIFE_S);
        add_milestone(&r, MILESTONE_WEIGHTS, 28 * LIFE_S);
        add_milestone(&r, MILESTONE_COMPILED, 33 * LIFE_S);
        add_milestone(&r, MILESTONE_GRAPHS, 35 * LIFE_S);
        struct result q = judge(&r, &a);
        assert_int_equal(q.startup_phase_count, PHASE_COUNT);
        for (int p = 0; p < PHASE_COUNT; p++) {
            const struct result_phase *x = &q.startup_phases[p];
            assert_int_equal(x->phase, p);
            assert_close(x->duration_s, expected[p].s, 1e-9);
            /* A cliff of 328 W between two samples of the buffer: 3.3 J at each end. */
            assert_close(x->energy_j.value, expected[p].j * (double)gpus, 8 * (double)gpus);
            assert_close(x->average_w.value, x->energy_j.value / x->duration_s, 1e-9);
        }
        check_closure(&q);
        arena_done(&a);
    }
}

/* Any subset of the marks, at any times, also equal ones, outside the stage or out of order; with and without buffer.
 */
static void phases_always_add_up(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int turn = 0; turn < 400; turn++) {
        struct arena a = {0};
        struct records r = life_records(&a, 1);
        /* Only what the phases need, for time. */
        r.chunk_count = r.request_count = 0;
        int64_t ends[PHASE_COUNT] = {[PHASE_PROCESS] = 25 * LIFE_S,
                                     [PHASE_READY] = 40 * LIFE_S,
                                     [PHASE_WARMUP] = 42 * LIFE_S + 450 * LIFE_MS,
                                     [PHASE_REST] = 43 * LIFE_S};
        for (int m = 0; m < MILESTONE_COUNT; m++) {
            seed = seed * 1664525 + 1013904223;
            ends[PHASE_WEIGHTS + m] = ABSENT_I64;
            if (seed >> 30 == 0)
                continue;
            int64_t t_ns = (20 + (int64_t)(seed >> 16) % 26) * LIFE_S + (int64_t)(seed >> 8 & 3) * 250 * LIFE_MS;
            ends[PHASE_WEIGHTS + m] = t_ns;
            add_milestone(&r, m, t_ns);
            if (r.fact_count < 8 && seed & 64) /* the first occurrence counts */
                add_milestone(&r, m, t_ns + 2 * LIFE_S);
        }
        if (turn % 2)
            r.gpus[0].buffer_count = 0;
        struct result q = judge(&r, &a);
        check_closure(&q);
        /* Told anew: a mark counts that lies in the stage and behind those before it. */
        size_t n = 0;
        int64_t at = 22 * LIFE_S;
        for (int p = 0; p < PHASE_COUNT; p++)
            if (ends[p] > at && ends[p] <= 43 * LIFE_S) {
                assert_int_equal(q.startup_phases[n].phase, p);
                assert_int_equal(q.startup_phases[n++].end_ns, at = ends[p]);
            }
        assert_int_equal(q.startup_phase_count, n);
        arena_done(&a);
    }
}

/* The first use of a GPU is the first process or the first new memory on any of them, at a grid sample. */
static void the_first_use_of_a_gpu(void **state)
{
    (void)state;
    static const struct {
        int64_t process_s, memory_s, more_mib; /* on the second GPU; 0 s: never */
        int64_t expected_s;
    } cases[] = {{0, 0, 0, 25},   {23, 0, 0, 23},     {0, 24, 65, 24},
                 {0, 24, 64, 25}, {26, 27, 1000, 25}, {22, 22, 1000, 23}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct records r = life_records(&a, 2);
        for (size_t s = 0; s < r.gpus[1].state_count; s++) {
            struct rec_gpu_state *x = &r.gpus[1].state[s];
            bool process = cases[i].process_s && (int64_t)s >= cases[i].process_s;
            bool memory = cases[i].memory_s && (int64_t)s >= cases[i].memory_s;
            x->processes = s >= 74 ? 0 : process;
            x->memory_used_bytes = (INT64_C(615) << 20) + (memory && s < 74 ? cases[i].more_mib << 20 : 0);
        }
        /* The sample of 22 s is that of service_start: what it holds was there before. */
        if (cases[i].process_s == 22)
            set_mark(&r, BOUNDARY_SERVICE_START, 22 * LIFE_S);
        struct result q = judge(&r, &a);
        assert_int_equal(q.startup_phases[0].phase, PHASE_PROCESS);
        assert_int_equal(q.startup_phases[0].end_ns, cases[i].expected_s * LIFE_S);
        arena_done(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_of_the_marks),
        cmocka_unit_test(without_opening_ahead_no_silence_is_left_out),
        cmocka_unit_test(what_is_not_recorded_is_no_wait),
        cmocka_unit_test(phases_by_hand),
        cmocka_unit_test(phases_always_add_up),
        cmocka_unit_test(the_first_use_of_a_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
