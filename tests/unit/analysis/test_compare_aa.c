/* Runs of one set-up against each other: how often does a comparison see a difference where there is none, and does it
 * see one that is there? Generated results through the whole comparison, as a user's runs go through it. */
#include "compared.h"
#include "schema/visit.h"

enum { SIDE_MAX = 10 };

/* Value of one metric in one run. */
typedef double draw_value(uint64_t *seed, double sd);

static double normal_value(uint64_t *seed, double sd)
{
    return 1 + sd * draw_normal(seed);
}

/* A long tail upward: an exponential distribution with this standard deviation. */
static double skewed_value(uint64_t *seed, double sd)
{
    return 1 + sd * (-log(draw_uniform(seed)) - 1);
}

/* All metrics of a run are drawn, each on its own. */
static void draw_run(struct made *m, draw_value *draw, uint64_t *seed, double sd, double factor)
{
    for (size_t i = 0; i < COMPARE_METRICS; i++) {
        struct slot slot;
        assert_true(slot_at(&result_schema, &m->result, compare_metrics[i].path, &slot));
        *slot_quantity(&slot) = q(factor * draw(seed, sd), 1e-4, 0.06);
    }
}

struct design {
    size_t n, m;
    double sd_n, sd_m;
    int draws;
};

/* Share of independent draws in which the two sides come out as different: each comparison takes one for each of
 * its metrics. */
static double differences(struct design d, double factor, draw_value *draw, uint64_t seed)
{
    struct arena runs = {0};
    struct made *made[2 * SIDE_MAX];
    struct compare_run as[2 * SIDE_MAX];
    for (size_t i = 0; i < d.n + d.m; i++) {
        made[i] = made_run(&runs, arena_format(&runs, "%zu", i), (int)i, 1);
        as[i] = made[i]->as;
    }
    int different = 0, compared = 0;
    while (compared < d.draws) {
        for (size_t i = 0; i < d.n + d.m; i++)
            draw_run(made[i], draw, &seed, i < d.n ? d.sd_n : d.sd_m, i < d.n ? 1 : factor);
        struct arena a = {0};
        struct comparison c;
        compare_sides(as, d.n, as + d.n, d.m, &a, &c);
        assert_int_equal(c.reasons.count, 0);
        assert_int_equal(c.compared, COMPARE_METRICS);
        for (size_t r = 0; r < c.row_count; r++, compared++)
            different += c.rows[r].verdict != COMPARED_ALIKE;
        arena_done(&a);
    }
    arena_done(&runs);
    return (double)different / compared;
}

/* A share of 5 % in 1000 draws scatters by 0.7 % (k = 1); the seeds are fixed, so the outcome is, too. */
static void the_same_comes_out_as_different_in_one_of_twenty(void **state)
{
    (void)state;
    static const struct design designs[] = {
        {3, 3, 0.01, 0.01, 3000}, {3, 3, 0.01, 0.03, 3000},   {4, 4, 0.01, 0.01, 3000},
        {4, 4, 0.01, 0.03, 3000}, {10, 10, 0.01, 0.01, 1000}, {10, 10, 0.01, 0.03, 1000},
        {4, 8, 0.01, 0.03, 3000}, {4, 8, 0.03, 0.01, 3000},   {8, 4, 0.01, 0.03, 3000},
    };
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
        struct design d = designs[i];
        double share = differences(d, 1, normal_value, 100 + i);
        print_message("%zu with sd %.0f %% and %zu with sd %.0f %%: %.1f %%\n", d.n, 100 * d.sd_n, d.m, 100 * d.sd_m,
                      100 * share);
        assert_true(share <= 0.065);
        assert_true(share >= 0.005); /* an interval that never tells anything apart would pass, too */
    }
}

/* Skewed values of one shape on both sides: a long tail makes Welch careful where the numbers are alike. */
static void skewed_values_are_noted(void **state)
{
    (void)state;
    static const struct design designs[] = {{3, 3, 0.01, 0.01, 3000}, {4, 4, 0.01, 0.01, 3000}};
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
        double share = differences(designs[i], 1, skewed_value, 200 + i);
        print_message("skewed, %zu and %zu: %.1f %%\n", designs[i].n, designs[i].m, 100 * share);
        assert_true(share <= 0.065);
    }
}

/* Power: set-ups that differ by 10 %, with 1 % between runs. */
static void ten_percent_are_told_apart_by_three_runs_a_side(void **state)
{
    (void)state;
    static const double factors[] = {1.1, 1 / 1.1, 0.9};
    for (size_t i = 0; i < 3; i++) {
        double share = differences((struct design){3, 3, 0.01, 0.01, 1000}, factors[i], normal_value, 300 + i);
        print_message("factor %.3f, 3 and 3: told apart in %.1f %%\n", factors[i], 100 * share);
        assert_true(share >= 0.99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_comes_out_as_different_in_one_of_twenty),
        cmocka_unit_test(skewed_values_are_noted),
        cmocka_unit_test(ten_percent_are_told_apart_by_three_runs_a_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
