/* Who gets which joule: by hand at 100 W, so that a second is 100 J. */
#include "check.h"
#include "made.h"
#include "analysis/attribution.h"

struct scene {
    struct made m;
    struct token_chains s;
    struct energy_curve c;
    struct attribution t[RULE_COUNT];
};

/* The formal stage is [0, 10] s at a steady 100 W. */
static void play(struct scene *x)
{
    struct err e = {0};
    struct method method = method_default();
    struct gpu_series series;
    for (int i = 0; i <= 10; i++)
        made_buffer(&x->m, 0, i, 100);
    struct clock_line clocks = clock_line_make(x->m.r.clocks, x->m.r.clock_count, &x->m.arena);
    gpu_series_make(&x->m.r.gpus[0], &clocks, &x->m.arena, &series);
    const struct curve *curve = &series.buffer;
    x->c = energy_curve_of_power(&curve, 1, 1, &x->m.arena);
    assert_ok(token_chains_make(&x->m.r, &method, &x->m.arena, &x->s, &e), e);
    for (int k = 0; k < RULE_COUNT; k++) {
        x->t[k] = attribute(&x->s, &x->c, 0, at_s(10), (enum rule)k, &x->m.arena);
        assert_close(x->t[k].attributed_j + x->t[k].none_j, 1000, 1e-9);
    }
}

/* A alone from 1 to 3 s: 1 token, then 2 by 2 s and 4 by 3 s (n = 7, k1 = 1). Its rates do not matter: 200 J, the other
 * 800 J go to nobody under `gap`. */
static void alone_it_takes_its_interval(void **state)
{
    (void)state;
    struct scene x;
    made_init(&x.m, 1);
    made_request(&x.m, 0, 0.5, 4.5, 7);
    made_chunk(&x.m, 0, 1, 1, 1);
    made_chunk(&x.m, 0, 2, 3, 1);
    made_chunk(&x.m, 0, 3, 7, 1);
    play(&x);
    assert_close(x.t[RULE_GAP].energy_j[0], 200, 1e-9);
    assert_close(x.t[RULE_INTERVAL].energy_j[0], 200, 1e-9);
    assert_close(x.t[RULE_REQUEST].energy_j[0], 400, 1e-9);
    /* words: cuts at 1 and 3 s; its token at 1 s takes (0, 1], the others (1, 3]; the tail has no token. */
    assert_close(x.t[RULE_WORDS].energy_j[0], 300, 1e-9);
    assert_close(x.t[RULE_GAP].none_j, 800, 1e-9);
    made_done(&x.m);
}

/* A: stamps 1, 2, 3 s with 1, 1, 4 tokens (n = 6, scale 6/5): 1.2 tokens/s in (1, 2), 4.8 in (2, 3).
 * B: stamps 2, 3 s with 1, 3 tokens (n = 4, scale 4/3): 4 tokens/s in (2, 3).
 * (1, 2): A 100 J. (2, 3): A 100 4.8/8.8, B 100 4/8.8.
 * interval: A 3 tokens/s in (1, 3), B 4 in (2, 3): A 100 + 100 3/7, B 100 4/7. */
static void two_share_by_their_rates(void **state)
{
    (void)state;
    struct scene x;
    made_init(&x.m, 1);
    made_request(&x.m, 0, 0, 5, 6);
    made_request(&x.m, 1, 0, 5, 4);
    made_chunk(&x.m, 0, 1, 1, 1);
    made_chunk(&x.m, 0, 2, 2, 1);
    made_chunk(&x.m, 1, 2, 1, 1);
    made_chunk(&x.m, 0, 3, 6, 1);
    made_chunk(&x.m, 1, 3, 4, 1);
    play(&x);
    assert_close(x.t[RULE_GAP].energy_j[0], 100 + 100 * 4.8 / 8.8, 1e-9);
    assert_close(x.t[RULE_GAP].energy_j[1], 100 * 4 / 8.8, 1e-9);
    assert_close(x.t[RULE_INTERVAL].energy_j[0], 100 + 100. * 3 / 7, 1e-9);
    assert_close(x.t[RULE_INTERVAL].energy_j[1], 100. * 4 / 7, 1e-9);
    /* request: [0, 5] both: 6 to 4. */
    assert_close(x.t[RULE_REQUEST].energy_j[0], 300, 1e-9);
    assert_close(x.t[RULE_REQUEST].energy_j[1], 200, 1e-9);
    /* words: cuts 1, 2, 3. (0, 1]: A's first token takes 100 J. (1, 2]: a token at the cut belongs to the piece before
     * it: A 1, B 1: 50 each. (2, 3]: A 4, B 3. The rest: nobody. */
    assert_close(x.t[RULE_WORDS].energy_j[0], 100 + 50 + 100. * 4 / 7, 1e-9);
    assert_close(x.t[RULE_WORDS].energy_j[1], 50 + 100. * 3 / 7, 1e-9);
    made_done(&x.m);
}

/* A from 1 to 2 s, nobody from 2 to 4 s, B from 4 to 5 s: what lies between is given to nobody, before or after. */
static void a_pause_belongs_to_nobody(void **state)
{
    (void)state;
    struct scene x;
    made_init(&x.m, 1);
    made_request(&x.m, 0, 0, 6, 2);
    made_request(&x.m, 1, 0, 6, 2);
    made_chunk(&x.m, 0, 1, 1, 1);
    made_chunk(&x.m, 0, 2, 2, 1);
    made_chunk(&x.m, 1, 4, 1, 1);
    made_chunk(&x.m, 1, 5, 2, 1);
    play(&x);
    for (int k = RULE_GAP; k <= RULE_INTERVAL; k++) {
        assert_close(x.t[k].energy_j[0], 100, 1e-9);
        assert_close(x.t[k].energy_j[1], 100, 1e-9);
        assert_close(x.t[k].none_j, 800, 1e-9);
    }
    made_done(&x.m);
}

/* A gap in which no token came generates nothing: A has none in (2, 3), so there R is 0. */
static void a_gap_without_tokens_takes_nothing(void **state)
{
    (void)state;
    struct scene x;
    made_init(&x.m, 1);
    made_request(&x.m, 0, 0, 6, 3);
    made_chunk(&x.m, 0, 1, 1, 1);
    made_chunk(&x.m, 0, 2, 2, 1);
    made_chunk(&x.m, 0, 3, 2, 1);
    made_chunk(&x.m, 0, 4, 3, 1);
    play(&x);
    assert_close(x.t[RULE_GAP].energy_j[0], 200, 1e-9);
    assert_close(x.t[RULE_GAP].none_j, 800, 1e-9);
    made_done(&x.m);
}

/* Failed and one-token requests take no part: the other gets all. */
static void some_take_no_part(void **state)
{
    (void)state;
    struct scene x;
    made_init(&x.m, 1);
    made_request(&x.m, 0, 0, 6, 2);
    made_request(&x.m, 1, 0, 6, 5)->verdict = VERDICT_TRUNCATED;
    made_request(&x.m, 2, 0, 6, 1);
    made_chunk(&x.m, 0, 1, 1, 1);
    made_chunk(&x.m, 1, 1, 2, 1);
    made_chunk(&x.m, 2, 1.5, 1, 1);
    made_chunk(&x.m, 0, 2, 2, 1);
    made_chunk(&x.m, 1, 2, 5, 1);
    play(&x);
    for (int k = 0; k < RULE_COUNT; k++) {
        assert_true(x.t[k].energy_j[1] == 0);
        assert_true(x.t[k].energy_j[2] == 0);
    }
    assert_close(x.t[RULE_GAP].energy_j[0], 100, 1e-9);
    /* Joules of the stretch in which the failed one was active, two such stretches overlapping. */
    struct interval failed[] = {{at_s(3), at_s(5)}, {at_s(1), at_s(4)}, {at_s(9), at_s(12)}};
    assert_close(attribution_union_j(&x.c, 0, at_s(10), failed, 3), 400 + 100, 1e-9);
    made_done(&x.m);
}

/* Arrivals in (from, to]: a token at the start is out, one at the end is in. */
static void arrivals_are_open_at_the_start(void **state)
{
    (void)state;
    struct scene x;
    made_init(&x.m, 1);
    made_request(&x.m, 0, 0, 6, 10);
    for (int i = 0; i < 4; i++)
        made_chunk(&x.m, 0, 1 + i, (int32_t[]){1, 3, 6, 10}[i], 1);
    play(&x);
    const int64_t bounds[] = {at_s(1), at_s(3), at_s(4)};
    int64_t tokens[2];
    attribution_arrivals(&x.s, bounds, 3, tokens);
    assert_int_equal(tokens[0], 2 + 3);
    assert_int_equal(tokens[1], 4);
    made_done(&x.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_it_takes_its_interval), cmocka_unit_test(two_share_by_their_rates),
        cmocka_unit_test(a_pause_belongs_to_nobody),   cmocka_unit_test(a_gap_without_tokens_takes_nothing),
        cmocka_unit_test(some_take_no_part),           cmocka_unit_test(arrivals_are_open_at_the_start)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
