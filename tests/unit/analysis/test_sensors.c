/* Sensors that lie, each kind on one GPU or two, in one stage or all: no run of theirs is formal, and nothing that is
 * merely missing accuses one (METHOD section 8: counter_void to power_out_of_range). */
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

static int outcome(const struct result *r, int code)
{
    return (int)r->checks[code].outcome;
}

/* Every reading of one GPU times `num` / `den`, in [from, to] s. */
static void scale_grid(struct rec_gpu *g, int64_t from_s, int64_t to_s, int32_t percent)
{
    for (size_t i = 0; i < g->instant_count; i++)
        if (g->instant[i].t_ns >= from_s * LIFE_S && g->instant[i].t_ns <= to_s * LIFE_S)
            g->instant[i].mw = g->instant[i].mw / 100 * percent;
}

static void scale_buffer(struct rec_gpu *g, int64_t from_s, int64_t to_s, int32_t percent)
{
    for (size_t i = 0; i < g->buffer_count; i++) {
        int64_t t_ns = g->buffer[i].realtime_us * 1000 - LIFE_OFFSET_NS;
        if (t_ns >= from_s * LIFE_S && t_ns <= to_s * LIFE_S)
            g->buffer[i].mw = g->buffer[i].mw / 100 * percent;
    }
}

/* A board whose power, while it generates thousands of tokens a second, stays where it was: at idle, at 1.4 W, or at
 * the level at which the service waited. All three series tell the same, so they can't contradict each other. */
static void a_sensor_that_does_not_follow_the_load(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct life_step steps[5];
        size_t count;
    } cases[] = {
        {"stays idle", {{0, LIFE_IDLE_MW}}, 1},
        {"reads 1.4 W", {{0, 1400}}, 1},
        {"rises by less than 2 %", {{0, LIFE_IDLE_MW}, {43 * LIFE_S, 79900}, {73 * LIFE_S, LIFE_IDLE_MW}}, 3},
        {"stays at the ready level", {{0, LIFE_IDLE_MW}, {22 * LIFE_S, 122000}, {74 * LIFE_S, LIFE_IDLE_MW}}, 3}};
    for (size_t gpus = 1; gpus <= 2; gpus++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct arena a = {0};
            struct records r = life_with_power(&a, gpus, (struct life_power){cases[i].steps, cases[i].count});
            struct result x = judge(&r, &a);
            if (outcome(&x, CODE_POWER_OUT_OF_RANGE) != CHECK_FAILED || x.formal)
                fail_msg("%s: %s", cases[i].name, x.checks[CODE_POWER_OUT_OF_RANGE].why);
            arena_done(&a);
        }
}

/* One of two boards stuck is enough; one that the engine holds no memory on may stay idle. */
static void one_stuck_board_of_two(void **state)
{
    (void)state;
    for (int holds = 0; holds < 2; holds++) {
        struct arena a = {0};
        struct records r = life_records(&a, 2);
        const struct life_step still = {0, LIFE_IDLE_MW};
        const struct life_power idle = {&still, 1};
        struct rec_gpu kept = r.gpus[1];
        life_gpu(&r.gpus[1], 1, &idle, &a);
        r.gpus[1].uuid = kept.uuid;
        if (!holds) {
            r.gpus[1].process_count = 0;
            for (size_t i = 0; i < r.gpus[1].state_count; i++) {
                r.gpus[1].state[i].processes = 0;
                r.gpus[1].state[i].memory_used_bytes = INT64_C(615) << 20;
            }
        }
        struct result x = judge(&r, &a);
        assert_int_equal(outcome(&x, CODE_POWER_OUT_OF_RANGE), holds ? CHECK_FAILED : CHECK_PASSED);
        arena_done(&a);
    }
}

/* +20 % on one GPU and -20 % on the other leave the sums as they are: each is judged by itself. The counter and the
 * buffer contradict the grid; then counter and buffer each other. */
static void errors_of_opposite_sign_never_cancel(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 2);
    scale_grid(&r.gpus[0], 43, 73, 120);
    scale_grid(&r.gpus[1], 43, 73, 80);
    struct result x = judge(&r, &a);
    assert_close(result_stage_of(&x, STAGE_FORMAL)->grid_difference.value, 0, 0.02);
    assert_int_equal(outcome(&x, CODE_GRID_DISAGREES), CHECK_FAILED);
    assert_int_equal(outcome(&x, CODE_COUNTER_DISAGREES), CHECK_PASSED);
    assert_false(x.formal);
    arena_done(&a);

    r = life_records(&a, 2);
    scale_buffer(&r.gpus[0], 22, 75, 102);
    scale_buffer(&r.gpus[1], 22, 75, 98);
    x = judge(&r, &a);
    assert_close(result_stage_of(&x, STAGE_FORMAL)->buffer_difference.value, 0, 0.001);
    assert_int_equal(outcome(&x, CODE_COUNTER_DISAGREES), CHECK_FAILED);
    assert_non_null(strstr(x.checks[CODE_COUNTER_DISAGREES].why, "GPU 1"));
    assert_false(x.formal);
    arena_done(&a);
}

/* A counter that counts a whole module beside readings of its GPU alone. */
static void a_counter_of_another_scope(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    for (size_t i = 0; i < r.gpus[0].counter_count; i++)
        r.gpus[0].counter[i].mj = r.gpus[0].counter[i].mj / 2 * 3;
    struct result x = judge(&r, &a);
    assert_int_equal(outcome(&x, CODE_COUNTER_DISAGREES), CHECK_FAILED);
    assert_int_equal(outcome(&x, CODE_GRID_DISAGREES), CHECK_FAILED);
    /* Without a buffer the grid alone is there to notice. */
    r.gpus[0].buffer_count = 0;
    x = judge(&r, &a);
    assert_int_equal(outcome(&x, CODE_COUNTER_DISAGREES), CHECK_NOT_JUDGED);
    assert_int_equal(outcome(&x, CODE_GRID_DISAGREES), CHECK_FAILED);
    assert_false(x.formal);
    arena_done(&a);
}

/* A grid of zeros, read with success. */
static void a_field_that_answers_zero(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    scale_grid(&r.gpus[0], 0, LIFE_END_S, 0);
    struct result x = judge(&r, &a);
    assert_int_equal(outcome(&x, CODE_GRID_DISAGREES), CHECK_FAILED);
    assert_false(x.formal);

    /* So does the buffer of one of two: nothing precise is known of their sum. */
    r = life_records(&a, 2);
    scale_buffer(&r.gpus[1], 0, LIFE_END_S, 0);
    x = judge(&r, &a);
    assert_int_equal(outcome(&x, CODE_COUNTER_DISAGREES), CHECK_FAILED);
    assert_true(quantity_has_value(&result_stage_of(&x, STAGE_FORMAL)->gpus[0].energy.precise));
    assert_false(quantity_has_value(&result_stage_of(&x, STAGE_FORMAL)->gpus[1].energy.precise));
    assert_false(quantity_has_value(&result_stage_of(&x, STAGE_FORMAL)->energy.precise));
    arena_done(&a);
}

/* A board without a buffer can be formal, and is marked; one whose buffer has a hole is not called a liar for what the
 * trapezoid guesses across it. */
static void what_is_missing_accuses_nobody(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    r.gpus[0].buffer_count = 0;
    struct result x = judge(&r, &a);
    assert_true(x.formal);
    assert_int_equal(x.flags[FLAG_NO_BUFFER].outcome, CHECK_FAILED);
    assert_int_equal(outcome(&x, CODE_COUNTER_DISAGREES), CHECK_NOT_JUDGED);
    assert_int_equal(outcome(&x, CODE_POWER_OUT_OF_RANGE), CHECK_PASSED);
    assert_non_null(strstr(x.checks[CODE_POWER_OUT_OF_RANGE].why, "was not judged"));

    /* The samples from 30 to 43.2 s are gone: the trapezoid draws a ramp from 122 to 500 W across them. */
    r = life_records(&a, 1);
    struct rec_gpu *g = &r.gpus[0];
    size_t from = 30 * 50, to = 43 * 50 + 10;
    memmove(&g->buffer[from], &g->buffer[to], (g->buffer_count - to) * sizeof *g->buffer);
    g->buffer_count -= to - from;
    x = judge(&r, &a);
    assert_true(result_stage_of(&x, STAGE_STARTUP)->gpus[0].counter_disagreement.value > 0.2);
    assert_int_equal(outcome(&x, CODE_COUNTER_DISAGREES), CHECK_NOT_RECORDED);
    arena_done(&a);
}

/* A run that broke off after its release began, on two boards of which one has no buffer: the other keeps its factor.
 */
static void one_board_without_a_buffer_takes_nothing_from_the_other(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 2);
    r.gpus[1].buffer_count = 0;
    r.gpus[0].buffer_count = 80 * 50; /* the grid goes on to the end */
    for (size_t i = 0; i < r.boundary_count; i++)
        if (r.boundaries[i].id == BOUNDARY_EXIT || r.boundaries[i].id == BOUNDARY_RELEASE_END)
            r.boundaries[i].id = BOUNDARY_COUNT;
    struct result x = judge(&r, &a);
    assert_false(x.release.closed);
    assert_true(quantity_has_value(&x.gpus[0].factor));
    assert_true(quantity_has_value(&result_stage_of(&x, STAGE_FORMAL)->gpus[0].energy.precise));
    assert_false(quantity_has_value(&x.gpus[1].factor));
    arena_done(&a);
}

/* The limit is the larger of 10 % and twice what sampling explains: a grid 7 % off passes, one 16 % off does not, and
 * where power swings between the samples more is allowed. */
static void the_grid_has_its_limit(void **state)
{
    (void)state;
    static const struct {
        int32_t percent;
        int want;
    } cases[] = {{100, CHECK_PASSED}, {107, CHECK_PASSED}, {93, CHECK_PASSED}, {116, CHECK_FAILED}, {84, CHECK_FAILED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct records r = life_records(&a, 1);
        scale_grid(&r.gpus[0], 43, 73, cases[i].percent);
        struct result x = judge(&r, &a);
        assert_int_equal(outcome(&x, CODE_GRID_DISAGREES), cases[i].want);
        arena_done(&a);
    }
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    for (size_t s = 43; s < 73; s++)
        r.gpus[0].instant[s].mw = s % 2 ? 900000 : 300000; /* 20 % above the counter, and worth nothing */
    struct result x = judge(&r, &a);
    assert_true(result_stage_of(&x, STAGE_FORMAL)->gpus[0].grid_disagreement_limit > 0.2);
    assert_int_equal(outcome(&x, CODE_GRID_DISAGREES), CHECK_PASSED);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_sensor_that_does_not_follow_the_load),
                                       cmocka_unit_test(one_stuck_board_of_two),
                                       cmocka_unit_test(errors_of_opposite_sign_never_cancel),
                                       cmocka_unit_test(a_counter_of_another_scope),
                                       cmocka_unit_test(a_field_that_answers_zero),
                                       cmocka_unit_test(what_is_missing_accuses_nobody),
                                       cmocka_unit_test(one_board_without_a_buffer_takes_nothing_from_the_other),
                                       cmocka_unit_test(the_grid_has_its_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
