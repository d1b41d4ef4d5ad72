#include "compared.h"
#include "analysis/compare_rank.h"

static void size_groups_have_the_papers_bounds(void **state)
{
    (void)state;
    assert_int_equal(size_group_of(50e9), GROUP_SMALL);
    assert_int_equal(size_group_of(50.0001e9), GROUP_MEDIUM);
    assert_int_equal(size_group_of(199.9e9), GROUP_MEDIUM);
    assert_int_equal(size_group_of(200e9), GROUP_LARGE);
    assert_int_equal(size_group_of(NAN), GROUP_UNKNOWN);
    assert_int_equal(size_group_of(0), GROUP_UNKNOWN);
    assert_int_equal(size_group_of(-5), GROUP_UNKNOWN);
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
        {.n = 1, .model = "e", .steady = excluded, .lifecycle = quantity_of(0.07)},
        {.n = 1,
         .model = "b",
         .steady = quantity_absent(Q_NOT_REACHED, "no steady state"),
         .lifecycle = quantity_of(0.01)},
        {.n = 1, .model = "d", .steady = quantity_of(0.06), .lifecycle = quantity_of(0.07)},
        {.n = 1, .model = "a", .steady = quantity_of(0.02), .lifecycle = quantity_of(0.06)},
        {.model = "f", .steady = quantity_of(0.01), .lifecycle = quantity_of(0.01), .why = "not formal: x (failed)"},
        {.n = 1, .model = "c", .steady = quantity_of(0.04), .lifecycle = quantity_of(0.08)},
    };
    struct ranking k = {.group = GROUP_SMALL, .entries = entries, .count = 6};
    rank_models(&k, &a);
    assert_int_equal(k.figures.n, 3);
    assert_close(k.figures.median_steady, 0.04, 0);
    assert_close(k.figures.median_lifecycle, 0.07, 0);
    assert_close(k.figures.ratio, 1.75, 1e-15);
    assert_close(k.figures.rho, 0.5, 1e-15); /* ranks 1 2 3 against 1 3 2: 1 - 6 * 2 / 24 */
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

enum { RUNS_MAX = 8 };

struct field_of_runs {
    struct arena a;
    struct made *made[RUNS_MAX];
    struct compare_run runs[RUNS_MAX];
    size_t count;
    struct ranked_runs k;
};

/* A formal run, by hand. */
static struct made *add(struct field_of_runs *f, const char *id, const char *model, double parameters, double steady,
                        double lifecycle)
{
    struct made *m = made_run(&f->a, id, (int)f->count, 0.05);
    m->result.about.model = m->plan.model.id = model;
    m->result.about.total_parameters = m->plan.model.total_parameters = parameters;
    m->result.metrics.steady_j_per_token = q(steady, 0.001, 0.06 * steady);
    m->result.metrics.lifecycle_j_per_token = q(lifecycle, 0.002, 0.06 * lifecycle);
    f->made[f->count] = m;
    f->runs[f->count++] = m->as;
    return m;
}

static void rank(struct field_of_runs *f)
{
    rank_runs(f->runs, f->count, &f->a, &f->k);
}

static void size_groups_are_ranked_apart_and_all_have_medians(void **state)
{
    (void)state;
    struct field_of_runs f = {0};
    add(&f, "1", "large", 400e9, 0.5, 0.9);
    add(&f, "2", "small", 8e9, 0.03, 0.05);
    add(&f, "3", "smaller", 1e9, 0.01, 0.06);
    add(&f, "4", "unknown", NAN, 0.02, 0.02);
    struct made *excluded = add(&f, "5", "excluded", 2e9, 0.001, 0.001);
    excluded->result.formal = false;
    excluded->result.checks[CODE_CLOCK_STEP].outcome = CHECK_FAILED;
    rank(&f);
    assert_int_equal(f.k.reasons.count, 0);
    assert_string_equal(f.k.scenario, "chat");
    assert_string_equal(f.k.hardware, "1 x NVIDIA H200 at 700 W");
    assert_string_equal(f.k.caveat, "Grouping does not imply equal computation.");
    assert_int_equal(f.k.group_count, 3);
    assert_int_equal(f.k.ranked, 3);
    const struct ranking *small = &f.k.groups[0], *large = &f.k.groups[1], *unknown = &f.k.groups[2];
    assert_int_equal(small->group, GROUP_SMALL);
    assert_int_equal(small->count, 3);
    assert_int_equal(small->figures.n, 2);
    assert_string_equal(small->entries[0].model, "small");
    assert_string_equal(small->entries[1].model, "smaller");
    assert_string_equal(small->entries[0].engine, "vllm 1.0");
    assert_close(small->figures.rho, -1, 1e-15);
    assert_close(small->figures.ratio, 0.055 / 0.02, 1e-12);
    assert_string_equal(small->entries[2].model, "excluded");
    assert_string_equal(small->entries[2].why, "not formal: clock_step (failed)");
    assert_int_equal(large->group, GROUP_LARGE);
    assert_int_equal(large->figures.n, 1);
    assert_true(isnan(large->figures.rho));
    /* Of unknown size: listed, without a rank and without figures, but in those of all models. */
    assert_int_equal(unknown->group, GROUP_UNKNOWN);
    assert_int_equal(unknown->count, 1);
    assert_int_equal(unknown->figures.n, 0);
    assert_true(isnan(unknown->entries[0].lifecycle_rank) && isnan(unknown->entries[0].steady_rank));
    assert_string_equal(unknown->entries[0].why, "its total parameters are unknown, so it has no rank");
    assert_int_equal(f.k.all.n, 4);
    assert_close(f.k.all.median_lifecycle, 0.055, 1e-15); /* 0.02 0.05 | 0.06 0.9 */
    assert_close(f.k.all.median_steady, 0.025, 1e-15);    /* 0.01 0.02 | 0.03 0.5 */
    /* lifecycle ranks 4 2 3 1, steady 4 3 1 2: d 0 1 2 1, 1 - 6 * 6 / 60. */
    assert_close(f.k.all.rho, 0.4, 1e-15);
    assert_int_equal(f.k.dropped_count, 1);
    assert_string_equal(f.k.dropped[0].run_id, "5");
    arena_done(&f.a);
}

/* However many models of unknown size there are, none has a rank. */
static void models_of_unknown_size_are_never_ranked(void **state)
{
    (void)state;
    struct field_of_runs f = {0};
    add(&f, "1", "u1", NAN, 0.5, 0.9);
    add(&f, "2", "u2", NAN, 0.03, 0.05);
    add(&f, "3", "u3", NAN, 0.01, 0.06);
    rank(&f);
    assert_int_equal(f.k.ranked, 0);
    assert_int_equal(f.k.all.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(isnan(f.k.groups[0].entries[i].lifecycle_rank) && isnan(f.k.groups[0].entries[i].steady_rank));
    arena_done(&f.a);
}

static void repetitions_stand_as_their_mean(void **state)
{
    (void)state;
    struct field_of_runs f = {0};
    add(&f, "1", "m", 8e9, 0.03, 0.05);
    add(&f, "2", "other", 8e9, 0.035, 0.055);
    add(&f, "3", "m", 8e9, 0.04, 0.07);
    struct made *last = add(&f, "4", "m", 8e9, 0.05, 0.09);
    rank(&f);
    assert_int_equal(f.k.reasons.count, 0);
    const struct ranking_entry *e = f.k.groups[0].entries;
    assert_string_equal(e[1].model, "m");
    assert_int_equal(e[1].n, 3);
    assert_int_equal(e[1].id_count, 3);
    assert_string_equal(e[1].ids[2], "4");
    assert_close(e[1].steady.value, 0.04, 1e-15);
    assert_close(e[1].lifecycle.value, 0.07, 1e-15);
    assert_close(e[1].lifecycle.instrument, 0.002, 1e-15);
    assert_close(e[1].lifecycle_rank, 2, 0);
    assert_int_equal(f.k.all.n, 2);
    /* The mean is over the runs that have both values; the other one is listed. */
    last->result.metrics.steady_j_per_token = quantity_absent(Q_NOT_REACHED, "no steady state");
    rank(&f);
    e = f.k.groups[0].entries;
    assert_int_equal(e[1].n, 2);
    assert_close(e[1].lifecycle.value, 0.06, 1e-15);
    assert_int_equal(f.k.dropped_count, 1);
    assert_string_equal(f.k.dropped[0].why, "no steady-state value: no steady state");
    /* An excluded one is not in the mean, and need not be a repetition. */
    last->result.formal = false;
    last->plan.engine.command[5] = "--slow";
    rank(&f);
    assert_int_equal(f.k.reasons.count, 0);
    assert_int_equal(f.k.groups[0].entries[1].n, 2);
    last->result.formal = true;
    rank(&f);
    assert_int_equal(f.k.reasons.count, 1);
    assert_told(&f.k.reasons, "Run 4 is not a repetition of 1: engine.command is");
    last->result.about.engine = "sglang"; /* two engines of one model are two lines */
    last->plan.engine.kind = ENGINE_OPENAI;
    rank(&f);
    assert_int_equal(f.k.reasons.count, 0);
    assert_int_equal(f.k.groups[0].count, 3);
    arena_done(&f.a);
}

static void other_conditions_are_refused(void **state)
{
    (void)state;
    struct field_of_runs f = {0};
    add(&f, "1", "x", 8e9, 0.03, 0.05);
    struct made *y = add(&f, "2", "y", 8e9, 0.02, 0.06);
    y->result.about.scenario = "code";
    rank(&f);
    assert_int_equal(f.k.reasons.count, 1);
    assert_string_equal(f.k.reasons.items[0], "Runs 1 and 2: The scenario differs: chat and code.");
    assert_int_equal(f.k.group_count, 0);
    y->result.formal = false; /* then it is only listed */
    rank(&f);
    assert_int_equal(f.k.reasons.count, 0);
    y->result.formal = true;
    y->result.about.scenario = "chat";
    y->result.gpus[0].power_limit_w = 500;
    rank(&f);
    assert_told(&f.k.reasons, "Runs 1 and 2: The GPUs differ: NVIDIA H200 at 700 W");
    y->result.gpus[0].power_limit_w = 700;
    y->result.about.work_sha256 = "vv";
    rank(&f);
    assert_told(&f.k.reasons, "Runs 1 and 2: What was asked differs");
    y->result.about.work_sha256 = "ww";
    y->result.about.run_id = "1";
    y->run.began_realtime_ns = f.made[0]->run.began_realtime_ns;
    rank(&f);
    assert_told(&f.k.reasons, "It is the same run twice: 1.");
    arena_done(&f.a);
}

static void excluded_runs_alone_rank_nothing(void **state)
{
    (void)state;
    struct field_of_runs f = {0};
    for (int i = 0; i < 3; i++) {
        struct made *m = add(&f, arena_format(&f.a, "%d", i), "x", 8e9, 0.03, 0.05);
        m->result.formal = false;
        m->result.checks[CODE_NOT_COVERED].outcome = CHECK_FAILED;
    }
    rank(&f);
    assert_int_equal(f.k.reasons.count, 0);
    assert_int_equal(f.k.ranked, 0);
    assert_int_equal(f.k.all.n, 0);
    assert_true(isnan(f.k.all.median_steady));
    assert_int_equal(f.k.dropped_count, 3);
    assert_int_equal(f.k.groups[0].count, 1);
    assert_int_equal(f.k.groups[0].entries[0].n, 0);
    arena_done(&f.a);
}

/* METHOD section 9: a task that a model does not support is not applicable, never a failure. An overloaded server or a
 * part of the requests is another thing. */
static void an_unsupported_task_is_not_applicable(void **state)
{
    (void)state;
    static const struct {
        int64_t status, failed;
        enum verdict verdict;
        bool applicable;
    } cases[] = {
        {400, 100, VERDICT_HTTP_STATUS, false},   {404, 100, VERDICT_HTTP_STATUS, false},
        {422, 100, VERDICT_HTTP_STATUS, false},   {501, 100, VERDICT_HTTP_STATUS, false},
        {429, 100, VERDICT_HTTP_STATUS, true},    {500, 100, VERDICT_HTTP_STATUS, true},
        {503, 100, VERDICT_HTTP_STATUS, true},    {400, 99, VERDICT_HTTP_STATUS, true},
        {400, 100, VERDICT_CONNECT_FAILED, true}, {ABSENT_I64, 100, VERDICT_HTTP_STATUS, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct field_of_runs f = {0};
        struct made *m = add(&f, "1", "x", 8e9, 0.03, 0.05);
        struct result_failure failure = {
            .verdict = cases[i].verdict, .count = cases[i].failed, .status = cases[i].status};
        m->result.formal = false;
        m->result.checks[CODE_TOO_MANY_FAILED].outcome = CHECK_FAILED;
        m->result.load.requests = 100;
        m->result.load.failed = cases[i].failed;
        m->result.load.successful = 100 - cases[i].failed;
        m->result.load.failures = &failure;
        m->result.load.failure_count = 1;
        rank(&f);
        const char *why = f.k.groups[0].entries[0].why;
        assert_int_equal(strncmp(why, "not applicable: ", 16) == 0, !cases[i].applicable);
        assert_int_equal(strstr(why, "too_many_failed") != NULL, cases[i].applicable);
        arena_done(&f.a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_groups_have_the_papers_bounds),
        cmocka_unit_test(medians),
        cmocka_unit_test(ties_share_their_places),
        cmocka_unit_test(spearman_by_hand),
        cmocka_unit_test(models_without_both_values_are_named),
        cmocka_unit_test(size_groups_are_ranked_apart_and_all_have_medians),
        cmocka_unit_test(models_of_unknown_size_are_never_ranked),
        cmocka_unit_test(repetitions_stand_as_their_mean),
        cmocka_unit_test(other_conditions_are_refused),
        cmocka_unit_test(excluded_runs_alone_rank_nothing),
        cmocka_unit_test(an_unsupported_task_is_not_applicable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
