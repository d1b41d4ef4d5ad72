/* Which series E(t) is, and what is split: by hand on one GPU at 100 W, whose counter says 10 % more. */
#include "check.h"
#include "made.h"
#include "analysis/split.h"
#include "analysis/stages.h"

struct scene {
    struct made m;
    struct token_chains chains;
    struct run_series series;
    struct meters meters;
    struct result_stage stage;
    struct method method;
};

/* The formal stage is [2, 8] s. One request generates from 3 to 6 s, one failed from 4 to 7 s. */
static struct split play(struct scene *x, bool buffer, bool counter, bool grid)
{
    struct err e = {0};
    made_init(&x->m, 1);
    x->method = method_default();
    for (int i = 0; i <= 100 && buffer; i++)
        made_buffer(&x->m, 0, 0.1 * i, 100);
    for (int i = 0; i <= 100 && counter; i++)
        made_counter(&x->m, 0, 0.1 * i, 11.0 * i);
    for (int i = 0; i <= 10 && grid; i++)
        made_instant(&x->m, 0, i, 100, INSTANT_GRID);
    made_request(&x->m, 0, 2.5, 6, 4);
    made_request(&x->m, 1, 4, 7, ABSENT_I64)->verdict = VERDICT_TRUNCATED;
    made_chunk(&x->m, 0, 3, 1, 1);
    made_chunk(&x->m, 0, 6, 4, 1);
    assert_ok(token_chains_make(&x->m.r, &x->method, &x->m.arena, &x->chains, &e), e);
    x->series = run_series_make(&x->m.r, &x->m.arena);
    x->meters = meters_make(&x->series, &x->m.r.plan, &x->m.arena);
    const struct bounds b = {at_s(2), at_s(8), NULL};
    const struct stage_rules rules = {HEADLINE_BENCHMARK, NULL};
    x->stage = stage_measure(&x->meters, STAGE_FORMAL, &b, &rules, &x->m.r, &x->m.arena);
    const struct formal f = {.records = &x->m.r,
                             .method = &x->method,
                             .meters = &x->meters,
                             .chains = &x->chains,
                             .start_ns = b.from_ns,
                             .end_ns = b.to_ns,
                             .stage = &x->stage};
    return split_formal(&f, &x->m.arena);
}

static void the_buffer_is_scaled_to_the_counter(void **state)
{
    (void)state;
    struct scene x;
    struct split s = play(&x, true, true, true);
    assert_int_equal(s.source, CURVE_BUFFER);
    assert_close(s.scale.value, 1.1, 1e-9);
    assert_close(s.formal_j.value, 660, 1e-6);
    /* 3 s of 6 generate: half of the energy, by every rule but `request`, which has [2.5, 6]. */
    assert_close(s.rules[RULE_INTERVAL].attributed_j.value, 330, 1e-6);
    assert_close(s.rules[RULE_REQUEST].attributed_j.value, 385, 1e-6);
    assert_close(s.failed_active_j.value, 330, 1e-6);
    for (int k = 0; k < RULE_COUNT; k++) {
        assert_true(s.rules[k].closed);
        assert_close(s.rules[k].attributed_j.value + s.rules[k].no_generation_j.value, 660, 1e-6);
    }
    made_done(&x.m);
}

static void without_a_buffer_the_counter_and_then_the_grid(void **state)
{
    (void)state;
    struct scene x;
    struct split s = play(&x, false, true, true);
    assert_int_equal(s.source, CURVE_COUNTER);
    assert_close(s.formal_j.value, 660, 1e-6);
    assert_int_equal(s.scale.state, Q_NOT_RECORDED);
    made_done(&x.m);
    s = play(&x, false, false, true);
    assert_int_equal(s.source, CURVE_GRID);
    assert_close(s.formal_j.value, 600, 1e-6);
    made_done(&x.m);
    /* A buffer without a counter stands for itself. */
    s = play(&x, true, false, true);
    assert_int_equal(s.source, CURVE_BUFFER);
    assert_close(s.formal_j.value, 600, 1e-6);
    assert_int_equal(s.scale.state, Q_NOT_RECORDED);
    made_done(&x.m);
}

static void without_power_nothing_is_split(void **state)
{
    (void)state;
    struct scene x;
    struct split s = play(&x, false, false, false);
    assert_int_equal(s.source, CURVE_NONE);
    assert_int_equal(s.formal_j.state, Q_NOT_COVERED);
    assert_int_equal(s.failed_active_j.state, Q_NOT_COVERED);
    for (int k = 0; k < RULE_COUNT; k++) {
        assert_null(s.rules[k].energy_j);
        assert_false(s.rules[k].closed);
        assert_int_equal(s.rules[k].attributed_j.state, Q_NOT_COVERED);
    }
    made_done(&x.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_buffer_is_scaled_to_the_counter),
                                       cmocka_unit_test(without_a_buffer_the_counter_and_then_the_grid),
                                       cmocka_unit_test(without_power_nothing_is_split)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
