/* Stages, baseline and release from records. */
#include "check.h"
#include "made.h"
#include "analysis/analyze.h"
#include "model/record_order.h"
#include "schema/set.h"

/* Idle at 80 W, service 10 ... 20 s, formal 15 ... 20 s, exit at 20.5, power down at 22 s, grid to 60 s. */
static void make(struct made *m, double after_w, double baseline_noise_w)
{
    static const double t[] = {0.2, 8.2, 9, 12, 15, 20, 20.5};
    static const enum boundary id[] = {
        BOUNDARY_BASELINE_START, BOUNDARY_BASELINE_END, BOUNDARY_SERVICE_START, BOUNDARY_READY,
        BOUNDARY_FORMAL_START,   BOUNDARY_FORMAL_END,   BOUNDARY_EXIT};
    made_init(m, 1);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        made_mark(m, t[i], id[i]);
    struct rec_gpu *g = &m->r.gpus[0];
    for (int i = 0; i <= 60; i++) {
        double w = i < 9 ? 80 + (i % 2 ? baseline_noise_w : -baseline_noise_w) : i < 22 ? 400 : after_w;
        made_instant(m, 0, i, w, INSTANT_GRID);
        g->state[g->state_count++] = (struct rec_gpu_state){.t_ns = at_s(i),
                                                            .memory_used_bytes = i >= 9 && i < 21 ? 1 << 30 : 1000,
                                                            .utilisation = 0,
                                                            .processes = i >= 9 && i < 21};
    }
}

static struct result analyse(struct made *m)
{
    struct err e = {0};
    struct result r;
    struct method method = method_default();
    records_order(&m->r);
    assert_ok(analyze(&m->r, &method, &m->arena, &r, &e), e);
    return r;
}

/* Exit 20.5 s, memory 21 s, power at 22 s: release end is 22 s, the latest, 2 s after formal end. Grid: 400 W to 21 s,
 * then 400 to 80 W in (21, 22): 400 + 240 = 640 J. */
static void release_ends_with_the_latest(void **state)
{
    (void)state;
    struct made m;
    make(&m, 80, 0.1);
    struct result r = analyse(&m);
    assert_true(r.release.closed);
    assert_close(r.release.exit_s.value, 0.5, 1e-9);
    assert_close(r.release.memory_released_s.value, 1, 1e-9);
    assert_close(r.release.power_recovered_s.value, 2, 1e-9);
    assert_int_equal(r.release.end_ns, at_s(22));
    assert_close(result_stage_of(&r, STAGE_RELEASE)->energy.headline.value, 640, 1e-9);
    assert_int_equal(result_stage_of(&r, STAGE_RELEASE)->energy.headline_series, SERIES_GRID);
    /* The run saw memory back between two states: its own mark counts. */
    made_mark(&m, 20.7, BOUNDARY_MEMORY_RELEASED);
    assert_close(analyse(&m).release.memory_released_s.value, 0.7, 1e-9);
    made_done(&m);
}

/* 85 W are out of 80 +- 4: never recovered. The energy so far is shown, to the last sample. */
static void release_that_does_not_close(void **state)
{
    (void)state;
    struct made m;
    make(&m, 85, 0.1);
    struct result r = analyse(&m);
    assert_false(r.release.closed);
    assert_int_equal(r.release.power_recovered_s.state, Q_NOT_REACHED);
    assert_int_equal(r.release.end_ns, at_s(60));
    assert_int_equal(r.metrics.release_j.state, Q_NOT_CLOSED);
    assert_close(r.metrics.release_j.value, 400 + 242.5 + 38 * 85, 1e-9);
    assert_non_null(strstr(r.release.why, "85.0 W"));
    made_done(&m);
    make(&m, 84, 0.1); /* inclusive */
    assert_true(analyse(&m).release.closed);
    made_done(&m);
}

static void a_process_that_stays_keeps_it_open(void **state)
{
    (void)state;
    struct made m;
    make(&m, 80, 0.1);
    struct rec_gpu *g = &m.r.gpus[0];
    for (size_t i = 0; i < g->state_count; i++)
        if (g->state[i].t_ns > at_s(9))
            g->state[i].processes = 1;
    struct result r = analyse(&m);
    assert_false(r.release.closed);
    assert_non_null(strstr(r.release.why, "1 compute process still on GPU 0"));
    made_done(&m);
}

static void a_noisy_baseline_is_not_idle(void **state)
{
    (void)state;
    struct made m;
    make(&m, 80, 1.5); /* within 2 % of 80 W */
    assert_int_equal(analyse(&m).gpus[0].baseline_idle, CHECK_PASSED);
    made_done(&m);
    make(&m, 80, 1.7);
    struct result r = analyse(&m);
    assert_int_equal(r.gpus[0].baseline_idle, CHECK_FAILED);
    assert_non_null(strstr(r.gpus[0].baseline_why, "standard deviation"));
    made_done(&m);
}

/* A run that broke off before its formal stage has no number there, and says why. */
static void a_run_that_broke_off(void **state)
{
    (void)state;
    struct made m;
    make(&m, 80, 0.1);
    m.r.boundary_count = 4;
    struct result r = analyse(&m);
    assert_int_equal(result_stage_of(&r, STAGE_BASELINE)->energy.grid.state, Q_MEASURED);
    assert_int_equal(result_stage_of(&r, STAGE_STARTUP)->energy.headline.state, Q_NOT_RECORDED);
    assert_string_equal(result_stage_of(&r, STAGE_STARTUP)->why, "the run did not reach the formal stage");
    for (int s = STAGE_FORMAL; s < STAGE_COUNT; s++)
        assert_true(isnan(result_stage_of(&r, (enum stage_id)s)->energy.headline.value));
    assert_int_equal(r.metrics.lifecycle_j_per_token.state, Q_NOT_RECORDED);
    assert_int_equal(r.metrics.throughput_tok_s.state, Q_NOT_RECORDED);
    assert_false(r.steady.reached);
    made_done(&m);
}

/* No records at all: everything absent, nothing zero, nothing broken. */
static void nothing_at_all(void **state)
{
    (void)state;
    struct made m;
    made_init(&m, 0);
    m.r.clock_count = 0;
    struct result r = analyse(&m);
    assert_int_equal(r.load.requests, 0);
    assert_int_equal(r.load.prompt_tokens, ABSENT_I64);
    for (int s = 0; s < STAGE_COUNT; s++)
        assert_false(quantity_has_value(&result_stage_of(&r, (enum stage_id)s)->energy.headline));
    assert_false(quantity_has_value(&r.estimate.table[0].total_j));
    made_done(&m);
}

static void parameters_change_by_name(void **state)
{
    (void)state;
    struct arena a = {0};
    struct method m = method_default();
    struct err e = {0};
    assert_null(method_differences(&m, &a));
    assert_ok(schema_set_or_err(&method_schema, &m, "attribution=interval", &a, &e), e);
    assert_ok(schema_set_or_err(&method_schema, &m, "k=3", &a, &e), e);
    assert_ok(schema_set_or_err(&method_schema, &m, "cv_limit=0.05", &a, &e), e);
    assert_string_equal(method_differences(&m, &a), "attribution=interval, k=3, cv_limit=0.05");
    assert_false(schema_set_or_err(&method_schema, &m, "attribuion=gap", &a, &e));
    assert_non_null(strstr(e.text, "Did you mean attribution?"));
    assert_false(schema_set_or_err(&method_schema, &m, "k=4", &a, &e));
    assert_non_null(strstr(e.text, "all, 1, 2, 3"));
    assert_false(schema_set_or_err(&method_schema, &m, "window=1", &a, &e));
    assert_non_null(strstr(e.text, "from 2 to"));
    assert_false(schema_set_or_err(&method_schema, &m, "window=null", &a, &e));
    assert_false(schema_set_or_err(&method_schema, &m, "window", &a, &e));
    assert_false(schema_set_or_err(&method_schema, &m, "saturated_share=x", &a, &e));
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(release_ends_with_the_latest),
                                       cmocka_unit_test(release_that_does_not_close),
                                       cmocka_unit_test(a_process_that_stays_keeps_it_open),
                                       cmocka_unit_test(a_noisy_baseline_is_not_idle),
                                       cmocka_unit_test(a_run_that_broke_off),
                                       cmocka_unit_test(nothing_at_all),
                                       cmocka_unit_test(parameters_change_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
