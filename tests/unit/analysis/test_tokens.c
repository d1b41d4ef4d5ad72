/* Tokens of a chunk: by hand, and against the method's words taken step by step. */
#include "check.h"
#include "made.h"
#include "analysis/allot.h"
#include "analysis/tokens.h"

/* n = 7 over 4, 4, 2 bytes: 2.8, 2.8, 1.4: floors 2, 2, 1; 2 left to the largest remainders .8, .8: 3, 3, 1. */
static void shares_by_largest_remainder(void **state)
{
    (void)state;
    uint64_t scratch[8];
    uint32_t b[] = {4, 4, 2};
    tokens_allot(b, 3, 7, scratch);
    assert_int_equal(b[0], 3);
    assert_int_equal(b[1], 3);
    assert_int_equal(b[2], 1);
    /* n = 4 over 1, 1, 1: 1.33 each; the one left goes to the earliest of equal remainders. */
    uint32_t c[] = {1, 1, 1};
    tokens_allot(c, 3, 4, scratch);
    assert_int_equal(c[0], 2);
    assert_int_equal(c[1], 1);
    assert_int_equal(c[2], 1);
}

/* n = 4 over 12, 12, 0, 0: 2, 2, 0, 0. The first empty chunk takes from the earlier of the largest: 1, 2, 1, 0; the
 * second from the one that now has the most: 1, 1, 1, 1. */
static void empty_chunks_take_from_the_largest(void **state)
{
    (void)state;
    uint64_t scratch[8];
    uint32_t b[] = {12, 12, 0, 0};
    tokens_allot(b, 4, 4, scratch);
    for (int i = 0; i < 4; i++)
        assert_int_equal(b[i], 1);
    /* n = 3: 2, 1, 0, 0 (equal remainders: the earlier); only one can be filled. */
    uint32_t c[] = {12, 12, 0, 0};
    tokens_allot(c, 4, 3, scratch);
    const uint32_t right[] = {1, 1, 1, 0};
    assert_memory_equal(c, right, sizeof right);
}

/* METHOD's words, one step after another. */
static void spread_by_the_words(const uint32_t *b, size_t count, uint64_t n, uint32_t *x)
{
    uint64_t total = 0, given = 0;
    uint64_t rest[64];
    for (size_t i = 0; i < count; i++)
        total += b[i];
    for (size_t i = 0; i < count; i++) {
        uint64_t own = total ? b[i] : 1, all = total ? total : count;
        x[i] = (uint32_t)(n * own / all);
        rest[i] = n * own % all;
        given += x[i];
    }
    for (; given < n; given++) {
        size_t best = 0;
        for (size_t i = 1; i < count; i++)
            if (rest[i] + 1 > rest[best] + 1)
                best = i;
        x[best]++;
        rest[best] = UINT64_MAX; /* + 1 is 0: given already */
    }
    for (size_t i = 0; i < count; i++) {
        if (x[i])
            continue;
        size_t most = 0;
        for (size_t j = 1; j < count; j++)
            if (x[j] > x[most])
                most = j;
        if (x[most] < 2)
            return;
        x[most]--;
        x[i]++;
    }
}

static void any_spread_is_by_the_words(void **state)
{
    (void)state;
    uint64_t random = 12345, scratch[128];
    for (int round = 0; round < 20000; round++) {
        uint32_t b[64], right[64];
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t count = 1 + (random >> 33) % 40;
        uint64_t n = 1 + (random >> 40) % 90;
        uint32_t sizes = round % 3 == 0 ? 4 : round % 3 == 1 ? 12 : 2000;
        for (size_t i = 0; i < count; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            b[i] = (uint32_t)((random >> 33) % sizes);
        }
        spread_by_the_words(b, count, n, right);
        tokens_allot(b, count, n, scratch);
        assert_memory_equal(b, right, count * sizeof *b);
    }
}

static void make(struct made *m, struct token_chains *s)
{
    struct err e = {0};
    struct method method = method_default();
    assert_ok(token_chains_make(&m->r, &method, &m->arena, s, &e), e);
}

/* Running counts 2, 2, 5, usage 9: 2, 0, 3 and the rest of 4 to the last token chunk. */
static void running_counts_are_differences(void **state)
{
    (void)state;
    struct made m;
    struct token_chains s;
    made_init(&m, 0);
    made_request(&m, 0, 0, 5, 9);
    made_chunk(&m, 0, 1, 2, 4);
    made_chunk(&m, 0, 2, 2, 4);
    made_chunk(&m, 0, 3, 5, 4);
    make(&m, &s);
    assert_int_equal(s.tokens[0], 2);
    assert_int_equal(s.tokens[1], 0);
    assert_int_equal(s.tokens[2], 7);
    assert_int_equal(s.source, TOKENS_RUNNING);
    assert_int_equal(s.chains[0].first_tokens, 2);
    assert_int_equal(s.largest, 7);
    /* The same counts without having been asked for: spread by bytes, 3 each. */
    m.r.plan.requests.continuous_usage = false;
    make(&m, &s);
    for (int i = 0; i < 3; i++)
        assert_int_equal(s.tokens[i], 3);
    assert_int_equal(s.source, TOKENS_ALLOTTED);
    made_done(&m);
}

/* Two chunks at one stamp are one chain link with the tokens of both; what a failed request sent has no tokens. */
static void equal_stamps_are_merged(void **state)
{
    (void)state;
    struct made m;
    struct token_chains s;
    made_init(&m, 0);
    made_request(&m, 0, 0, 5, 12);
    made_request(&m, 1, 0, 5, 12)->verdict = VERDICT_RESET;
    made_chunk(&m, 0, 1, 1, 4);
    made_chunk(&m, 1, 1, 1, 4);
    made_chunk(&m, 0, 2, 2, 4);
    made_chunk(&m, 0, 2, 12, 4);
    make(&m, &s);
    assert_int_equal(s.tokens[0], 1);
    assert_int_equal(s.next[0], 2);
    assert_int_equal(s.tokens[1], 0);
    assert_int_equal(s.tokens[2], 11);
    assert_int_equal(s.tokens[3], 0);
    assert_true(s.next[3] == CHAIN_SKIP);
    assert_int_equal(s.next[2], 0);
    /* Merged chunks are counted as they came: one of 10 tokens beyond the first is over 8. */
    assert_int_equal(s.merged_chunks, 1);
    assert_int_equal(s.largest_later, 10);
    assert_int_equal(s.token_chunks, 3);
    made_done(&m);
}

/* Counts 1, 2, 5 and a usage of 20: what is left, 15, arrives with the last chunk, whose own 3 are no merged chunk and
 * whose 18 are. The first chunk's tokens are none of the later ones. */
static void a_merged_last_chunk_takes_what_is_left(void **state)
{
    (void)state;
    struct made m;
    struct token_chains s;
    made_init(&m, 0);
    made_request(&m, 0, 0, 5, 20);
    made_chunk(&m, 0, 1, 1, 4);
    made_chunk(&m, 0, 2, 2, 4);
    made_chunk(&m, 0, 3, 5, 4);
    make(&m, &s);
    assert_int_equal(s.tokens[0], 1);
    assert_int_equal(s.tokens[1], 1);
    assert_int_equal(s.tokens[2], 18);
    assert_int_equal(s.merged_chunks, 1);
    assert_int_equal(s.largest_later, 18);
    made_done(&m);
}

/* Counts were asked for and request 1 has none: 7 over 40, 40, 20 bytes are 2.8, 2.8, 1.4, so 3, 3, 1; its second and
 * third chunk share a stamp, with a role chunk of it and the other request's between and around them. */
static void a_request_without_counts_is_spread_beside_the_others(void **state)
{
    (void)state;
    struct made m;
    struct token_chains s;
    made_init(&m, 0);
    made_request(&m, 0, 0, 5, 9);
    made_request(&m, 1, 0, 5, 7);
    made_chunk(&m, 0, 1, 4, 1);
    made_chunk(&m, 1, 1, -1, 40);
    made_chunk(&m, 0, 2, 9, 1);
    made_chunk(&m, 1, 2, -1, 40);
    made_chunk(&m, 1, 2, -1, 0);
    m.r.chunks[4].kind = CHUNK_ROLE;
    made_chunk(&m, 1, 2, -1, 20);
    make(&m, &s);
    assert_int_equal(s.source, TOKENS_MIXED);
    const uint32_t right[] = {4, 3, 5, 4, 0, 0};
    for (int i = 0; i < 6; i++)
        assert_int_equal(s.tokens[i], right[i]);
    assert_int_equal(s.next[1], 3);
    assert_int_equal(s.chains[1].first_tokens, 3);
    assert_int_equal(s.chains[1].chunks, 3);
    assert_int_equal(s.largest, 5);
    assert_int_equal(s.largest_later, 5);
    made_done(&m);
}

/* n = 10 with 6 in the first chunk: 10 - 6 < 5, so `gap` would stretch 4 tokens over all: by interval. With 5 not. */
static void a_first_chunk_of_most_tokens_means_interval(void **state)
{
    (void)state;
    for (int first = 5; first <= 6; first++) {
        struct made m;
        struct token_chains s;
        made_init(&m, 0);
        made_request(&m, 0, 0, 5, 10);
        made_chunk(&m, 0, 1, first, 4);
        made_chunk(&m, 0, 2, 10, 4);
        make(&m, &s);
        assert_int_equal(s.chains[0].by_interval, first == 6);
        made_done(&m);
    }
}

static void one_stamp_is_no_generation_interval(void **state)
{
    (void)state;
    struct made m;
    struct token_chains s;
    made_init(&m, 0);
    made_request(&m, 0, 0, 5, 1);
    made_request(&m, 7, 0, 5, 4); /* ids need not be dense */
    made_chunk(&m, 0, 1, 1, 4);
    made_chunk(&m, 7, 2, 2, 4);
    made_chunk(&m, 7, 2, 4, 4);
    made_chunk(&m, 5, 3, 1, 4); /* of nobody */
    make(&m, &s);
    assert_true(s.chains[0].success);
    assert_false(s.chains[0].generates);
    assert_false(s.chains[1].generates);
    assert_int_equal(s.stray_chunks, 1);
    assert_int_equal(token_chains_row(&s, 7), 1);
    assert_true(token_chains_row(&s, 5) == CHAIN_NONE);
    made_done(&m);
}

/* Whole runs without running counts, some with chunks too large to be spread on the fly: each request by the words. */
static void a_run_is_spread_by_the_words(void **state)
{
    (void)state;
    uint64_t random = 99;
    for (int round = 0; round < 400; round++) {
        enum { REQUESTS = 5 };
        struct made m;
        struct token_chains s;
        uint32_t b[REQUESTS][64], right[64];
        size_t count[REQUESTS] = {0}, seen[REQUESTS] = {0};
        made_init(&m, 0);
        m.r.plan.requests.continuous_usage = false;
        for (uint32_t i = 0; i < REQUESTS; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            made_request(&m, i, 0, 500, 1 + (int64_t)((random >> 40) % (round % 7 == 0 ? 9000 : 90)));
        }
        for (int i = 0; i < 120; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint32_t r = (uint32_t)(random >> 33) % REQUESTS;
            uint32_t bytes = (uint32_t)(random >> 45) % (r == 0 ? 60 : 2 + r * 3);
            b[r][count[r]++] = bytes;
            made_chunk(&m, r, 1 + 0.01 * i, -1, bytes);
        }
        make(&m, &s);
        for (uint32_t r = 0; r < REQUESTS; r++) {
            spread_by_the_words(b[r], count[r], (uint64_t)m.r.requests[r].completion_tokens, right);
            for (size_t i = 0; i < m.r.chunk_count; i++)
                if (m.r.chunks[i].request == r)
                    assert_int_equal(s.tokens[i], right[seen[r]++]);
        }
        made_done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_by_largest_remainder),
                                       cmocka_unit_test(empty_chunks_take_from_the_largest),
                                       cmocka_unit_test(any_spread_is_by_the_words),
                                       cmocka_unit_test(a_run_is_spread_by_the_words),
                                       cmocka_unit_test(running_counts_are_differences),
                                       cmocka_unit_test(equal_stamps_are_merged),
                                       cmocka_unit_test(a_merged_last_chunk_takes_what_is_left),
                                       cmocka_unit_test(a_request_without_counts_is_spread_beside_the_others),
                                       cmocka_unit_test(a_first_chunk_of_most_tokens_means_interval),
                                       cmocka_unit_test(one_stamp_is_no_generation_interval)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
