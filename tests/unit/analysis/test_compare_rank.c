#include "check.h"
#include "analysis/compare_rank.h"

static void size_groups_have_the_papers_bounds(void **state)
{
    (void)state;
    assert_int_equal(size_group_of(50e9), GROUP_SMALL);
    assert_int_equal(size_group_of(50.0001e9), GROUP_MEDIUM);
    assert_int_equal(size_group_of(199.9e9), GROUP_MEDIUM);
    assert_int_equal(size_group_of(200e9), GROUP_LARGE);
    assert_int_equal(size_group_of(NAN), GROUP_UNKNOWN);
}

static void medians(void **state)
{
    (void)state;
    struct arena a = {0};
    assert_close(rank_median((double[]){9, 1, 5}, 3, &a), 5, 0);
    assert_close(rank_median((double[]){9, 1, 5, 7}, 4, &a), 6, 0);
    assert_true(isnan(rank_median(NULL, 0, &a)));
    arena_done(&a);
}

/* 20 is third and fourth: both have 3.5. */
static void ties_share_their_places(void **state)
{
    (void)state;
    struct arena a = {0};
    double ranks[5];
    rank_average((double[]){20, 5, 20, 10, 30}, 5, &a, ranks);
    const double right[] = {3.5, 1, 3.5, 2, 5};
    for (size_t i = 0; i < 5; i++)
        assert_close(ranks[i], right[i], 0);
    arena_done(&a);
}

static void spearman_by_hand(void **state)
{
    (void)state;
    struct arena a = {0};
    const double x[] = {1, 2, 3, 4, 5};
    assert_close(rank_spearman(x, (double[]){10, 20, 30, 40, 50}, 5, &a), 1, 1e-15);
    assert_close(rank_spearman(x, (double[]){5, 4, 3, 2, 1}, 5, &a), -1, 1e-15);
    /* Without ties rho = 1 - 6 sum d^2 / (n (n^2 - 1)): d = 1, 1, 1, 1, 0, so 1 - 6 * 4 / 120 = 0.8. */
    assert_close(rank_spearman(x, (double[]){2, 1, 4, 3, 5}, 5, &a), 0.8, 1e-15);
    /* With a tie: ranks of y are 1.5, 1.5, 3 against 1, 2, 3. Deviations from 2: (-1, 0, 1) and (-.5, -.5, 1);
     * xy = 0.5 + 0 + 1 = 1.5, xx = 2, yy = 1.5: rho = 1.5 / sqrt(3). */
    assert_close(rank_spearman(x, (double[]){7, 7, 9}, 3, &a), 1.5 / sqrt(3), 1e-15);
    assert_true(isnan(rank_spearman(x, (double[]){7, 7, 7}, 3, &a)));
    assert_true(isnan(rank_spearman(x, x, 1, &a)));
    arena_done(&a);
}

static void models_without_both_values_are_dropped_and_named(void **state)
{
    (void)state;
    struct arena a = {0};
    struct quantity excluded = quantity_of(0.5);
    excluded.state = Q_EXCLUDED;
    excluded.why = "delivery lag";
    const struct ranking_entry entries[] = {
        {"a", 8e9, quantity_of(0.02), quantity_of(0.06)},
        {"b", 9e9, quantity_absent(Q_NOT_REACHED, "no steady state"), quantity_of(0.01)},
        {"c", 14e9, quantity_of(0.04), quantity_of(0.08)},
        {"d", 30e9, quantity_of(0.06), quantity_of(0.07)},
        {"e", 30e9, excluded, quantity_of(0.07)},
    };
    struct ranking k;
    rank_models(entries, 5, &a, &k);
    assert_int_equal(k.n, 3);
    assert_close(k.median_steady, 0.04, 0);
    assert_close(k.median_lifecycle, 0.07, 0);
    assert_close(k.ratio, 1.75, 1e-15);
    assert_close(k.rho, 0.5, 1e-15); /* ranks 1 2 3 against 1 3 2: 1 - 6 * 2 / 24 */
    assert_int_equal(k.dropped_count, 2);
    assert_string_equal(k.dropped[0], "b: no steady-state value, no steady state");
    assert_string_equal(k.dropped[1], "e: no steady-state value, delivery lag");
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_groups_have_the_papers_bounds),
        cmocka_unit_test(medians),
        cmocka_unit_test(ties_share_their_places),
        cmocka_unit_test(spearman_by_hand),
        cmocka_unit_test(models_without_both_values_are_dropped_and_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
