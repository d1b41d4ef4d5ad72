/* The scheduler model of the simulated engine, by hand. */
#include "check.h"
#include "sim/engine/batch.h"

struct seen {
    struct batch *b;
    int32_t jobs[64];
    int n;
};

static void got(void *self, int32_t job)
{
    struct seen *s = self;
    s->jobs[s->n++] = job;
    if (s->b->jobs[job].state == JOB_DONE)
        batch_remove(s->b, job);
}

static int end_step(struct batch *b)
{
    struct seen s = {.b = b};
    batch_end(b, got, &s);
    return s.n;
}

static const struct batch_limits limits = {.max_running = 2, .step_budget = 100, .kv_tokens = 10000, .step_tokens = 1};

static void test_prompt_then_tokens(void **state)
{
    (void)state;
    struct batch b;
    struct step s;
    batch_init(&b, limits);
    assert_false(batch_begin(&b, &s));
    /* 250 prompt tokens, 10 of them cached, 100 a step: 100, 100, 40; the first token comes with the third step. */
    int32_t job = batch_add(&b, NULL, 250, 10, 3);
    int64_t prefill[] = {100, 100, 40, 0, 0}, tokens[] = {0, 0, 1, 2, 3};
    for (int i = 0; i < 5; i++) {
        assert_true(batch_begin(&b, &s));
        assert_int_equal(s.prefill, prefill[i]);
        assert_int_equal(s.decoding, i > 2);
        int64_t before = b.jobs[job].generated;
        end_step(&b);
        if (i < 4)
            assert_int_equal(b.jobs[job].generated, tokens[i]);
        assert_int_equal(before, i ? tokens[i - 1] : 0);
    }
    assert_int_equal(b.jobs[job].state, JOB_FREE);
    assert_int_equal(b.kv_used, 0);
    assert_false(batch_begin(&b, &s));
    batch_done(&b);
}

static void test_queue_keeps_order(void **state)
{
    (void)state;
    struct batch b;
    struct step s;
    batch_init(&b, limits);
    int32_t first = batch_add(&b, NULL, 10, 0, 2), second = batch_add(&b, NULL, 10, 0, 5),
            third = batch_add(&b, NULL, 10, 0, 1);
    assert_true(batch_begin(&b, &s));
    assert_int_equal(b.running.count, 2);
    assert_int_equal(b.waiting.count, 1);
    assert_int_equal(s.prefill, 20);
    assert_int_equal(end_step(&b), 2);
    assert_true(batch_begin(&b, &s));
    assert_int_equal(end_step(&b), 2);
    assert_int_equal(b.jobs[first].state, JOB_FREE);
    /* The place is free now: the third is admitted beside the second. */
    assert_true(batch_begin(&b, &s));
    assert_int_equal(s.decoding, 1);
    assert_int_equal(s.prefill, 10);
    struct seen seen = {.b = &b};
    batch_end(&b, got, &seen);
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.jobs[0], second);
    assert_int_equal(seen.jobs[1], third);
    batch_done(&b);
}

static void test_several_tokens_a_step(void **state)
{
    (void)state;
    struct batch b;
    struct step s;
    batch_init(&b, (struct batch_limits){.max_running = 8, .step_budget = 100, .kv_tokens = 1000, .step_tokens = 4});
    int32_t job = batch_add(&b, NULL, 5, 0, 10);
    int64_t tokens[] = {1, 5, 9, 10};
    for (int i = 0; i < 4; i++) {
        assert_true(batch_begin(&b, &s));
        int64_t before = b.jobs[job].generated;
        struct seen seen = {.b = &b};
        assert_int_equal(before, i ? tokens[i - 1] : 0);
        batch_end(&b, got, &seen);
        assert_int_equal(seen.n, 1);
    }
    assert_int_equal(b.jobs[job].state, JOB_FREE);
    batch_done(&b);
}

/* Cache of 40: two requests of 15 + 20 fit at first; when it is full the second gives way, and both end whole. */
static void test_preemption(void **state)
{
    (void)state;
    struct batch b;
    struct step s;
    batch_init(&b, (struct batch_limits){.max_running = 8, .step_budget = 100, .kv_tokens = 40, .step_tokens = 1});
    batch_add(&b, NULL, 15, 0, 20);
    batch_add(&b, NULL, 15, 0, 20);
    int64_t got_tokens = 0, recomputed = 0, steps = 0;
    while (batch_begin(&b, &s)) {
        assert_true(b.kv_used <= 40 + 1);
        if (steps++ > 0)
            recomputed += s.prefill;
        got_tokens += end_step(&b);
        assert_true(steps < 100);
    }
    assert_int_equal(got_tokens, 40);
    assert_int_equal(b.preemptions, 1);
    /* Both had 1 token after the first step; the cache held 30. It is full after five more steps (6 tokens each), and
     * the sixth finds no room: the second computes its prompt of 15 and 5 of its 6 tokens again. */
    assert_int_equal(recomputed, 20);
    assert_int_equal(b.kv_used, 0);
    batch_done(&b);
}

static void test_remove_anywhere(void **state)
{
    (void)state;
    struct batch b;
    struct step s;
    batch_init(&b, limits);
    int32_t jobs[400];
    for (int i = 0; i < 400; i++)
        jobs[i] = batch_add(&b, NULL, 10, 0, 5);
    assert_true(batch_begin(&b, &s));
    for (int i = 0; i < 400; i += 2)
        batch_remove(&b, jobs[i]);
    assert_int_equal(end_step(&b), 1); /* of the two running ones the first was taken away */
    int64_t tokens = 1;
    while (batch_begin(&b, &s))
        tokens += end_step(&b);
    assert_int_equal(tokens, 200 * 5);
    assert_int_equal(b.kv_used, 0);
    batch_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prompt_then_tokens),    cmocka_unit_test(test_queue_keeps_order),
        cmocka_unit_test(test_several_tokens_a_step), cmocka_unit_test(test_preemption),
        cmocka_unit_test(test_remove_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
