/* The order of records: what is out of order is sorted, what is in order keeps its sequence. */
#include "check.h"
#include "model/record_order.h"

enum { N = 50 };

static void what_is_in_order_keeps_its_sequence(void **state)
{
    (void)state;
    /* Two chunks of one request at one moment, the later count first: an order that only the sequence knows. */
    struct rec_chunk chunks[] = {{.t_ns = 1, .request = 0, .running = 3},
                                 {.t_ns = 1, .request = 0, .running = 2},
                                 {.t_ns = 1, .request = 1, .running = 1}};
    struct records r = {.chunks = chunks, .chunk_count = 3};
    assert_true(records_in_order(&r));
    records_order(&r);
    assert_int_equal(chunks[0].running, 3);
    assert_int_equal(chunks[1].running, 2);
}

static void any_permutation_gives_the_same(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct rec_instant instants[N], shuffled[N];
        for (int i = 0; i < N; i++) /* pairs of equal stamps, told apart by their power alone */
            instants[i] = (struct rec_instant){.t_ns = i / 2, .mw = 1000 * (i % 2)};
        memcpy(shuffled, instants, sizeof instants);
        uint32_t x = seed;
        for (int i = N - 1; i > 0; i--) {
            x = x * 1664525 + 1013904223;
            int j = (int)(x >> 8) % (i + 1);
            struct rec_instant hold = shuffled[i];
            shuffled[i] = shuffled[j];
            shuffled[j] = hold;
        }
        struct rec_gpu gpu = {.instant = shuffled, .instant_count = N};
        struct records r = {.gpus = &gpu, .gpu_count = 1};
        assert_false(records_in_order(&r));
        records_order(&r);
        assert_true(records_in_order(&r));
        for (int i = 0; i < N; i++)
            assert_true(shuffled[i].t_ns == instants[i].t_ns && shuffled[i].mw == instants[i].mw);
    }
}

/* The boards of a folder stand in the order of its plan; their series go with them. */
static void boards_go_by_index_with_their_series(void **state)
{
    (void)state;
    struct rec_counter one[] = {{.t_ns = 5, .mj = 1}}, two[] = {{.t_ns = 6, .mj = 2}};
    struct rec_gpu gpus[] = {{.index = 3, .counter = one, .counter_count = 1},
                             {.index = 1, .counter = two, .counter_count = 1}};
    struct records r = {.gpus = gpus, .gpu_count = 2};
    assert_false(records_in_order(&r));
    records_order(&r);
    assert_int_equal(gpus[0].index, 1);
    assert_int_equal(gpus[0].counter[0].mj, 2);
    assert_int_equal(gpus[1].counter[0].mj, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_in_order_keeps_its_sequence),
                                       cmocka_unit_test(any_permutation_gives_the_same),
                                       cmocka_unit_test(boards_go_by_index_with_their_series)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
