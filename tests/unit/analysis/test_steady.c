/* Windows, steady state, saturation: by hand with small W. */
#include "check.h"
#include "made.h"
#include "analysis/steady.h"

struct scene {
    struct made m;
    struct token_chains s;
    struct method method;
    struct completions completed;
    struct window_list windows;
};

/* Requests 0 ... n - 1 of one token per J/token unit, request i completing at i + 1 s, energy[i] J over 1 ... 2 tokens.
 */
static void play(struct scene *x, const double *energy, size_t n, int64_t window)
{
    struct err e = {0};
    made_init(&x->m, 0);
    x->method = method_default();
    x->method.window = window;
    for (size_t i = 0; i < n; i++) {
        double end = 1 + (double)i;
        made_request(&x->m, (uint32_t)i, 0, end, 2);
        made_chunk(&x->m, (uint32_t)i, end - 0.9, 1, 1);
        made_chunk(&x->m, (uint32_t)i, end, 2, 1);
    }
    assert_ok(token_chains_make(&x->m.r, &x->method, &x->m.arena, &x->s, &e), e);
    x->completed = steady_order(&x->s, &x->m.arena);
    double *joules = arena_array(&x->m.arena, n, sizeof *joules);
    for (size_t i = 0; i < n; i++)
        joules[i] = 2 * energy[i]; /* two tokens: J/token is energy[i] */
    const double *const by_rule[RULE_COUNT] = {joules, NULL, joules, joules};
    x->windows = steady_windows(&x->s, &x->completed, window, 0, by_rule, &x->m.arena);
}

static struct steady_verdict find(struct scene *x, enum steady_k k)
{
    return steady_find(&x->windows, x->completed.n, &x->method, RULE_GAP, k, &x->m.arena);
}

/* 97, 103: mean 100, population standard deviation 3, CV 0.03 exactly: not below the limit. 97.5, 102.5: 0.025, is. */
static void cv_must_be_below_the_limit(void **state)
{
    (void)state;
    struct scene x;
    play(&x, (const double[]){97, 103}, 2, 2);
    assert_int_equal(x.windows.n, 1);
    assert_close(x.windows.items[0].level[RULE_GAP], 100, 1e-12);
    assert_true(x.windows.items[0].cv[RULE_GAP] == 0.03);
    assert_true(isnan(x.windows.items[0].cv[RULE_INTERVAL]));
    assert_false(find(&x, K_1).reached);
    made_done(&x.m);
    play(&x, (const double[]){97.5, 102.5}, 2, 2);
    assert_true(find(&x, K_1).reached);
    made_done(&x.m);
}

static void a_window_needs_w_requests(void **state)
{
    (void)state;
    const double level[] = {1, 1, 1, 1, 1};
    for (size_t n = 4; n <= 5; n++) {
        struct scene x;
        play(&x, level, n, 5);
        struct steady_verdict s = find(&x, K_1);
        assert_int_equal(x.windows.n, n == 5);
        assert_int_equal(s.reached, n == 5);
        if (n == 4)
            assert_string_equal(s.why, "too few requests: 4 have a generation interval, 1 window of 5 needs 5");
        made_done(&x.m);
    }
}

/* W = 2. Levels 1 9 1 1 1 1 9: windows (pairs) 0 bad, 1 bad, 2 good, 3 good, 4 good, 5 bad.
 * K = 1: window 2. K = 2: windows 2 and 4: yes. K = 3: 2, 4, 6: there is no window 6.
 * all: from 2: 2, 4 (6 does not fit: 7 requests) both good: yes, at 2. */
static void k_counts_windows_that_do_not_overlap(void **state)
{
    (void)state;
    struct scene x;
    play(&x, (const double[]){1, 9, 1, 1, 1, 1, 9}, 7, 2);
    assert_int_equal(x.windows.n, 6);
    struct steady_verdict s = find(&x, K_1);
    assert_true(s.reached);
    assert_int_equal(s.window, 2);
    assert_int_equal(s.first_request, 2);
    assert_int_equal(s.last_request, 6);
    assert_int_equal(s.requests, 5);
    assert_int_equal(s.longest_stretch, 3);
    assert_int_equal(s.longest_stretch_window, 2);
    s = find(&x, K_2);
    assert_true(s.reached);
    assert_int_equal(s.window, 2);
    assert_int_equal(s.cv_count, 2);
    assert_false(find(&x, K_3).reached);
    s = find(&x, K_ALL);
    assert_true(s.reached);
    assert_int_equal(s.window, 2);
    made_done(&x.m);
    /* With one more bad request the remainder is a window, and it breaks `all` from 2; from 3 (3, 5) it is broken too.
     */
    play(&x, (const double[]){1, 9, 1, 1, 1, 1, 9, 1}, 8, 2);
    assert_true(find(&x, K_2).reached);
    assert_false(find(&x, K_ALL).reached);
    made_done(&x.m);
}

/* Simultaneous ends: the lower id first. */
static void ties_go_by_id(void **state)
{
    (void)state;
    struct made m;
    struct token_chains s;
    struct err e = {0};
    struct method method = method_default();
    made_init(&m, 0);
    for (uint32_t i = 0; i < 3; i++) {
        made_request(&m, i, 0, i == 0 ? 5 : 4, 2);
        made_chunk(&m, i, 1 + 0.1 * i, 1, 1);
    }
    for (uint32_t i = 0; i < 3; i++)
        made_chunk(&m, i, 2 + 0.1 * i, 2, 1);
    assert_ok(token_chains_make(&m.r, &method, &m.arena, &s, &e), e);
    const struct completions done = steady_order(&s, &m.arena);
    assert_int_equal(done.n, 3);
    assert_int_equal(done.rows[0], 1);
    assert_int_equal(done.rows[1], 2);
    assert_int_equal(done.rows[2], 0);
    made_done(&m);
}

/* Generation intervals [1, 5], [2, 6], [3, 4], [3, 8]: 4 at 3 s, the peak; 85 % of 4 is 3.4, so 4 counts: from 3 to 4
 * s. At 50 % (2): from 2 s to 6 s, when only the last is left. */
static void saturated_is_from_the_first_to_the_last_moment(void **state)
{
    (void)state;
    static const double interval[4][2] = {{1, 5}, {2, 6}, {3, 4}, {3, 8}};
    struct made m;
    struct token_chains s;
    struct err e = {0};
    struct method method = method_default();
    made_init(&m, 0);
    for (uint32_t i = 0; i < 4; i++)
        made_request(&m, i, 0, interval[i][1], 2);
    for (int t = 1; t <= 8; t++)
        for (uint32_t i = 0; i < 4; i++)
            for (int end = 0; end < 2; end++)
                if (interval[i][end] == t)
                    made_chunk(&m, i, t, 1 + end, 1);
    assert_ok(token_chains_make(&m.r, &method, &m.arena, &s, &e), e);
    struct saturation x = steady_saturated(&s, 0.85, &m.arena);
    assert_int_equal(x.peak, 4);
    assert_int_equal(x.level, 4);
    assert_int_equal(x.start_ns, at_s(3));
    assert_int_equal(x.end_ns, at_s(4));
    assert_false(x.waited); /* all four at once */
    x = steady_saturated(&s, 0.5, &m.arena);
    assert_int_equal(x.start_ns, at_s(2));
    assert_int_equal(x.end_ns, at_s(6));
    made_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cv_must_be_below_the_limit), cmocka_unit_test(a_window_needs_w_requests),
        cmocka_unit_test(k_counts_windows_that_do_not_overlap), cmocka_unit_test(ties_go_by_id),
        cmocka_unit_test(saturated_is_from_the_first_to_the_last_moment)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
