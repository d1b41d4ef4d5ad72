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

static void models_without_both_values_are_named(void **state)
{
    (void)state;
    struct arena a = {0};
    struct quantity excluded = quantity_of(0.5);
    excluded.state = Q_EXCLUDED;
    excluded.why = "delivery lag";
    struct ranking_entry entries[] = {
        {.model = "e", .steady = excluded, .lifecycle = quantity_of(0.07)},
        {.model = "b", .steady = quantity_absent(Q_NOT_REACHED, "no steady state"), .lifecycle = quantity_of(0.01)},
        {.model = "d", .steady = quantity_of(0.06), .lifecycle = quantity_of(0.07)},
        {.model = "a", .steady = quantity_of(0.02), .lifecycle = quantity_of(0.06)},
        {.model = "f", .steady = quantity_of(0.01), .lifecycle = quantity_of(0.01), .why = "not formal: x (failed)"},
        {.model = "c", .steady = quantity_of(0.04), .lifecycle = quantity_of(0.08)},
    };
    struct ranking k = {.entries = entries, .count = 6};
    rank_models(&k, &a);
    assert_int_equal(k.n, 3);
    assert_close(k.median_steady, 0.04, 0);
    assert_close(k.median_lifecycle, 0.07, 0);
    assert_close(k.ratio, 1.75, 1e-15);
    assert_close(k.rho, 0.5, 1e-15); /* ranks 1 2 3 against 1 3 2: 1 - 6 * 2 / 24 */
    static const struct {
        const char *model;
        double lifecycle, steady;
        const char *why;
    } right[] = {
        {"b", 1, NAN, "no steady-state value: no steady state"},
        {"a", 2, 1, NULL},
        {"d", 3.5, 3, NULL},
        {"e", 3.5, NAN, "no steady-state value: delivery lag"},
        {"c", 5, 2, NULL},
        {"f", NAN, NAN, "not formal: x (failed)"},
    };
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(entries[i].model, right[i].model);
        assert_int_equal(isnan(entries[i].lifecycle_rank), isnan(right[i].lifecycle));
        assert_int_equal(isnan(entries[i].steady_rank), isnan(right[i].steady));
        if (!isnan(right[i].lifecycle))
            assert_close(entries[i].lifecycle_rank, right[i].lifecycle, 0);
        if (!isnan(right[i].steady))
            assert_close(entries[i].steady_rank, right[i].steady, 0);
        if (right[i].why)
            assert_string_equal(entries[i].why, right[i].why);
        else
            assert_null(entries[i].why);
    }
    arena_done(&a);
}

/* A formal run on one board, by hand. */
static struct result run_of(struct arena *a, const char *id, const char *model, double parameters, double steady,
                            double lifecycle)
{
    struct result r;
    result_absent(&r, a, "not set");
    r.run_id = id;
    r.model = model;
    r.engine = "vllm";
    r.engine_version = "1.0";
    r.method_id = "m";
    r.scenario = "chat";
    r.requests_sha256 = "00";
    r.formal = true;
    r.total_parameters = parameters;
    r.metrics.steady_j_per_token = quantity_of(steady);
    r.metrics.lifecycle_j_per_token = quantity_of(lifecycle);
    r.gpus = arena_array(a, 1, sizeof *r.gpus);
    r.gpus[0] = (struct result_gpu){.uuid = id, .name = "H", .power_limit_w = 700};
    r.gpu_count = 1;
    return r;
}

static void size_groups_are_ranked_apart(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result runs[] = {run_of(&a, "1", "large", 400e9, 0.5, 0.9), run_of(&a, "2", "small", 8e9, 0.03, 0.05),
                            run_of(&a, "3", "smaller", 1e9, 0.01, 0.06), run_of(&a, "4", "unknown", NAN, 0.02, 0.02),
                            run_of(&a, "5", "excluded", 2e9, 0.001, 0.001)};
    runs[4].formal = false;
    struct ranked_runs k;
    rank_runs(runs, 5, &a, &k);
    assert_int_equal(k.reason_count, 0);
    assert_string_equal(k.scenario, "chat");
    assert_string_equal(k.hardware, "1 x H at 700 W");
    assert_int_equal(k.group_count, 3);
    const struct ranking *small = &k.groups[0], *large = &k.groups[1], *unknown = &k.groups[2];
    assert_int_equal(small->group, GROUP_SMALL);
    assert_int_equal(small->count, 3);
    assert_int_equal(small->n, 2);
    assert_string_equal(small->entries[0].model, "small");
    assert_string_equal(small->entries[1].model, "smaller");
    assert_string_equal(small->entries[0].engine, "vllm 1.0");
    assert_close(small->rho, -1, 1e-15);
    assert_close(small->ratio, 0.055 / 0.02, 1e-12);
    assert_string_equal(small->entries[2].model, "excluded");
    assert_non_null(strstr(small->entries[2].why, "not formal: "));
    assert_int_equal(large->group, GROUP_LARGE);
    assert_int_equal(large->n, 1);
    assert_true(isnan(large->rho));
    assert_int_equal(unknown->group, GROUP_UNKNOWN);
    arena_done(&a);
}

static void other_conditions_are_refused(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result runs[] = {run_of(&a, "1", "x", 8e9, 0.03, 0.05), run_of(&a, "2", "y", 8e9, 0.02, 0.06)};
    struct ranked_runs k;
    runs[1].scenario = "code";
    rank_runs(runs, 2, &a, &k);
    assert_int_equal(k.reason_count, 1);
    assert_string_equal(k.reasons[0], "Runs 1 and 2: The scenario differs: chat and code.");
    assert_int_equal(k.group_count, 0);
    runs[1].scenario = "chat";
    runs[1].gpus[0].power_limit_w = 500;
    rank_runs(runs, 2, &a, &k);
    assert_string_equal(k.reasons[0], "Runs 1 and 2: The GPUs differ: H at 700 W and H at 500 W.");
    runs[1].gpus[0].uuid = runs[0].gpus[0].uuid; /* the same board under another limit is other hardware, too */
    rank_runs(runs, 2, &a, &k);
    assert_string_equal(k.reasons[0], "Runs 1 and 2: The GPUs differ: H at 700 W and H at 500 W.");
    runs[1].gpus[0].power_limit_w = NAN;
    rank_runs(runs, 2, &a, &k);
    assert_string_equal(k.reasons[0], "Runs 1 and 2: The GPUs differ: H at 700 W and H at an unknown limit.");
    runs[1].gpus[0].power_limit_w = 700;
    runs[1].model = "x";
    rank_runs(runs, 2, &a, &k);
    assert_int_equal(k.reason_count, 1);
    assert_string_equal(k.reasons[0], "Runs 1 and 2 are both of model x: give one run of each model.");
    runs[1].formal = false; /* then it does not count twice */
    rank_runs(runs, 2, &a, &k);
    assert_int_equal(k.reason_count, 0);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_groups_have_the_papers_bounds),
        cmocka_unit_test(medians),
        cmocka_unit_test(ties_share_their_places),
        cmocka_unit_test(spearman_by_hand),
        cmocka_unit_test(models_without_both_values_are_named),
        cmocka_unit_test(size_groups_are_ranked_apart),
        cmocka_unit_test(other_conditions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
