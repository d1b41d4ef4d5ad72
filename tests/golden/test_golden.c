/* Recorded services: the analysis must give the values that an independent evaluation of the recordings gave, to the
 * digits printed there, and the numbers of windows exactly. */
#include "check.h"
#include <stdlib.h>
#include <unistd.h>
#include "analysis/analyze.h"
#include "analysis/energy.h"
#include "analysis/verify.h"
#include "golden/recording.h"
#include "store/records.h"

struct golden {
    struct arena arena;
    struct records records;
    struct result result;
};

static struct golden front4, front1, sglang;

static void load(struct golden *g, const char *name)
{
    struct err e = {0};
    char path[1024];
    snprintf(path, sizeof path, "%s/h200/%s", JTOK_SHARED, name);
    struct method m = method_default();
    assert_ok(recording_load(path, &g->arena, &g->records, &e), e);
    assert_ok(analyze(&g->records, &m, &g->arena, &g->result, &e), e);
}

static int load_all(void **state)
{
    (void)state;
    load(&front4, "vllm-0.24.0/front4");
    load(&front1, "vllm-0.24.0/front1");
    load(&sglang, "sglang-0.5.16");
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    arena_done(&front4.arena);
    arena_done(&front1.arena);
    arena_done(&sglang.arena);
    return 0;
}

/* Half a unit of the last digit printed. */
#define assert_digits(value, expected, digits) assert_close((value), (expected), 0.5 * pow(10, -(digits)) * (1 + 1e-9))

static double steady_start_s(const struct golden *g, enum rule reading, enum steady_k k, int64_t window)
{
    const struct result_steady *s = result_steady_of(&g->result, reading, k);
    if (!s->reached)
        fail_msg("%s K=%s: %s", rule_names[reading], steady_k_names[k], s->why);
    assert_int_equal(s->window, window);
    return s->start_s;
}

static void assert_not_reached(const struct golden *g, enum rule reading, enum steady_k k)
{
    const struct result_steady *s = result_steady_of(&g->result, reading, k);
    assert_false(s->reached);
    assert_non_null(s->why);
    assert_int_equal(s->j_per_token.state, Q_NOT_REACHED);
}

/* ---- front4 ---- */

static void front4_energies(void **state)
{
    (void)state;
    const struct result_stage *s = front4.result.stages;
    assert_digits(s[STAGE_BASELINE].energy.counter.value, 1590.60, 2);
    assert_digits(s[STAGE_STARTUP].energy.counter.value, 15057.1, 1);
    assert_digits(s[STAGE_FORMAL].energy.counter.value, 44168.5, 1);
    assert_digits(s[STAGE_FORMAL].energy.grid.value, 44435.8, 1);
    assert_digits(s[STAGE_FORMAL].energy.buffer.value, 44246.6, 1);
    assert_digits(s[STAGE_RELEASE].energy.grid.value, 535.9, 1);
    assert_int_equal(s[STAGE_RELEASE].end_ns, records_boundary(&front4.records, BOUNDARY_EXIT));
    assert_digits(front4.result.gpus[0].counter_lag_s.value, 0.0484, 4);
    assert_digits(front4.result.gpus[0].factor.value, 0.9989, 4);
    assert_int_equal(s[STAGE_RELEASE].energy.boundary.state, Q_NOT_RECORDED);
}

static void front4_load(void **state)
{
    (void)state;
    const struct result *r = &front4.result;
    assert_int_equal(r->load.successful, 2499);
    assert_int_equal(r->load.failed, 1);
    assert_int_equal(r->load.failure_count, 1);
    assert_int_equal(r->load.failures[0].verdict, VERDICT_NOT_RECORDED);
    assert_int_equal(r->load.failures[0].first_request, 2483);
    assert_int_equal(r->load.output_tokens, 1042561);
    assert_int_equal(r->load.token_source, TOKENS_RUNNING);
    assert_int_equal(r->load.repeated_prompts, 1750);
    assert_digits(r->metrics.throughput_tok_s.value, 15204.2, 1);
    assert_digits(r->metrics.formal_j_per_token.value, 0.042365, 6);
    assert_digits(r->load.ttft_s.p50.value, 18.075, 3);
    assert_digits(r->load.tpot_s.p50.value, 0.05267, 5);
}

static void front4_saturated(void **state)
{
    (void)state;
    const struct result_saturated *s = &front4.result.saturated;
    assert_digits(s->start_s, 5.860, 3);
    assert_digits(s->end_s, 46.404, 3);
    assert_digits(s->energy_j.value, 26337.6, 1);
    assert_int_equal(s->tokens, 782870);
    assert_digits(s->j_per_token.value, 0.033642, 6);
    assert_int_equal(s->peak, 1024);
    assert_true(s->meaningful);
    assert_int_equal(front4.result.metrics.saturated_j_per_token.state, Q_MEASURED);
}

static void front4_gap(void **state)
{
    (void)state;
    const struct result_rule *r = &front4.result.attribution.rules[RULE_GAP];
    const struct result_steady *s = result_steady_of(&front4.result, RULE_GAP, K_1);
    assert_digits(r->cv_min.value, 0.0144, 4);
    assert_digits(r->cv_max.value, 1.522, 3);
    assert_digits(r->no_generation_j.value, 122.3, 1);
    assert_digits(steady_start_s(&front4, RULE_GAP, K_1, 1444), 42.99, 2);
    assert_digits(s->cvs[0], 0.0296, 4);
    assert_digits(s->energy_j.value, 16229.5, 1);
    assert_int_equal(s->tokens, 320195);
    assert_digits(s->j_per_token.value, 0.05069, 5);
    assert_not_reached(&front4, RULE_GAP, K_2);
    assert_int_equal(front4.result.metrics.steady_j_per_token.state, Q_NOT_REACHED);
}

static void front4_other_readings(void **state)
{
    (void)state;
    assert_digits(steady_start_s(&front4, RULE_INTERVAL, K_1, 1746), 48.50, 2);
    assert_digits(result_steady_of(&front4.result, RULE_INTERVAL, K_1)->j_per_token.value, 0.05898, 5);
    for (enum steady_k k = K_1; k <= K_3; k++) {
        assert_digits(steady_start_s(&front4, RULE_REQUEST, k, 0), 8.23, 2);
        assert_digits(result_steady_of(&front4.result, RULE_REQUEST, k)->j_per_token.value, 0.03919, 5);
        assert_not_reached(&front4, RULE_WORDS, k);
    }
    assert_not_reached(&front4, RULE_REQUEST, K_ALL);
    assert_not_reached(&front4, RULE_WORDS, K_ALL);
    assert_digits(front4.result.attribution.rules[RULE_WORDS].cv_min.value, 0.169, 3);
}

static void front4_lag_and_baseline(void **state)
{
    (void)state;
    const struct result *r = &front4.result;
    assert_digits(r->gpus[0].ready_level_w.value, 124.3, 1);
    assert_digits(r->lag.idle_owed_s.value, 0.06, 2);
    assert_true(r->lag.measurable);
    assert_false(r->lag.delivery_lag);
    assert_int_equal(r->gpus[0].baseline_idle, CHECK_FAILED);
    assert_digits(r->gpus[0].baseline_sd_w, 10.3, 1);
    assert_int_equal(r->gpus[0].baseline_utilisation_max, ABSENT_I64);
    assert_true(r->release.closed);
}

static void front4_codes(void **state)
{
    (void)state;
    const struct result *r = &front4.result;
    assert_int_equal(r->checks[CODE_BASELINE_NOT_IDLE].outcome, CHECK_FAILED);
    assert_int_equal(r->flags[FLAG_REPEATED_PROMPTS].outcome, CHECK_FAILED);
    assert_int_equal(r->flags[FLAG_DELIVERY_LAG].outcome, CHECK_PASSED);
    assert_int_equal(r->flags[FLAG_STEADY_NOT_REACHED].outcome, CHECK_FAILED);
    /* The side path ends before the streams do: neither passed nor failed. */
    assert_int_equal(r->checks[CODE_USAGE_DISAGREES].outcome, CHECK_NOT_RECORDED);
    assert_int_equal(r->checks[CODE_FOREIGN_PROCESS].outcome, CHECK_NOT_RECORDED);
    assert_false(r->formal);
    assert_int_equal(front1.result.checks[CODE_RELEASE_NOT_CLOSED].outcome, CHECK_FAILED);
    assert_int_equal(front1.result.flags[FLAG_DELIVERY_LAG].outcome, CHECK_FAILED);
    assert_int_equal(sglang.result.flags[FLAG_DELIVERY_LAG].outcome, CHECK_FAILED);
}

/* ---- front1, sglang ---- */

static void front1_values(void **state)
{
    (void)state;
    const struct result *r = &front1.result;
    assert_digits(result_stage_of(r, STAGE_FORMAL)->energy.counter.value, 19544.6, 1);
    assert_int_equal(r->load.output_tokens, 305924);
    assert_digits(r->metrics.formal_j_per_token.value, 0.063887, 6);
    assert_digits(r->lag.idle_owed_s.value, 2.68, 2);
    assert_digits(result_stage_of(r, STAGE_FORMAL)->duration_s, 33.58, 2);
    assert_true(r->lag.delivery_lag);
    assert_int_equal(r->lag.merged_chunks, 126);
    assert_int_equal(r->lag.largest_chunk, 1406);
    assert_int_equal(r->saturated.peak, 750);
    assert_false(r->saturated.meaningful);
    assert_int_equal(r->metrics.saturated_j_per_token.state, Q_EXCLUDED);
    for (enum steady_k k = 0; k < K_COUNT; k++) {
        assert_not_reached(&front1, RULE_GAP, k);
        assert_not_reached(&front1, RULE_INTERVAL, k);
        assert_not_reached(&front1, RULE_WORDS, k);
        assert_true(result_steady_of(r, RULE_REQUEST, k)->reached);
    }
    assert_false(r->release.closed);
    assert_non_null(strstr(r->release.why, "1 compute process still on GPU 0"));
    assert_int_equal(r->metrics.release_j.state, Q_NOT_CLOSED);
    assert_int_equal(r->metrics.lifecycle_j_per_token.state, Q_NOT_CLOSED);
}

static void sglang_values(void **state)
{
    (void)state;
    const struct result *r = &sglang.result;
    assert_digits(result_stage_of(r, STAGE_FORMAL)->energy.counter.value, 36862.4, 1);
    assert_int_equal(r->load.output_tokens, 619550);
    assert_digits(r->metrics.formal_j_per_token.value, 0.059499, 6);
    assert_digits(r->lag.idle_owed_s.value, 43.1, 1);
    assert_digits(result_stage_of(r, STAGE_FORMAL)->duration_s, 92.73, 2);
    assert_true(r->lag.delivery_lag);
    assert_int_equal(r->load.token_source, TOKENS_RUNNING);
    for (enum steady_k k = 0; k < K_COUNT; k++) {
        assert_not_reached(&sglang, RULE_GAP, k);
        assert_not_reached(&sglang, RULE_INTERVAL, k);
        assert_not_reached(&sglang, RULE_WORDS, k);
    }
    assert_digits(steady_start_s(&sglang, RULE_REQUEST, K_3, 0), 19.47, 2);
    assert_digits(result_steady_of(r, RULE_REQUEST, K_3)->j_per_token.value, 0.04548, 5);
}

/* ---- four GPUs ---- */

/* bursts_x4.csv: matrix products of 0.15, 0.3, 1 and 3 s on four GPUs, 2 s apart, three times over. The instruments
 * agree on each burst and the 2 s after it within what they say of themselves: counter and 20 ms buffer
 * to their instrument in every burst, and to 0.2 % over all of them. */
static void bursts_on_four_gpus(void **state)
{
    (void)state;
    static const double on_s[13] = {51.598831, 53.749318, 56.050658, 59.052448, 64.054221, 66.205931, 68.506800,
                                    71.508778, 76.510696, 78.661430, 80.963252, 83.965068, 88.966847};
    struct arena a = {0};
    struct records r;
    struct gpu_series series[4];
    struct energy_set e;
    struct err error = {0};
    assert_ok(recording_load_power(JTOK_SHARED "/h200/bursts_x4.csv", &a, &r, &error), error);
    struct clock_line clocks = clock_line_make(r.clocks, 1, &a);
    for (size_t g = 0; g < 4; g++)
        gpu_series_make(&r.gpus[g], &clocks, &a, &series[g]);
    struct meters m = {.gpus = series, .gpu_count = 4, .grid_period_s = 1};
    int64_t from_ns = (int64_t)(on_s[0] * 1e9), to_ns = (int64_t)(on_s[12] * 1e9);
    m = meters_fitted(m, from_ns, to_ns, to_ns, &a);
    for (size_t g = 0; g < 4; g++)
        assert_close(m.fits[g].factor.value, 1, 0.002);
    for (size_t i = 0; i < 12; i++) {
        const struct measure what = {.from_ns = (int64_t)(on_s[i] * 1e9), .to_ns = (int64_t)(on_s[i + 1] * 1e9)};
        e = meters_energy(&m, &what, NULL, &a);
        assert_close(e.counter.value, e.precise.value, hypot(e.counter.instrument, e.precise.instrument));
    }
    arena_done(&a);
}

/* ---- all ---- */

static void every_reading_closes(void **state)
{
    (void)state;
    const struct golden *all[] = {&front4, &front1, &sglang};
    for (size_t i = 0; i < 3; i++)
        for (int k = 0; k < RULE_COUNT; k++) {
            const struct result_rule *r = &all[i]->result.attribution.rules[k];
            assert_true(r->closed);
            assert_close(r->attributed_j.value + r->no_generation_j.value,
                         result_stage_of(&all[i]->result, STAGE_FORMAL)->energy.counter.value, 1e-9 * 50000);
        }
}

/* The whole path: the converter's run folder, read back, says the same. */
static void converted_folder_is_the_same(void **state)
{
    (void)state;
    struct err e = {0};
    struct arena a = {0};
    struct records r;
    struct result again;
    struct method m = method_default();
    char folder[] = "/tmp/jtok-golden-XXXXXX", command[2048];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "%s/convert-recording %s/h200/vllm-0.24.0/front1 %s/run", JTOK_BIN, JTOK_SHARED,
             folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/run", folder);
    assert_ok(records_load(command, &a, &r, &e), e);
    assert_true(r.sealed);
    assert_null(r.damage);
    assert_ok(analyze(&r, &m, &a, &again, &e), e);
    const struct result *one = &front1.result;
    assert_true(again.metrics.formal_j_per_token.value == one->metrics.formal_j_per_token.value);
    assert_true(result_stage_of(&again, STAGE_LIFECYCLE)->energy.grid.value ==
                result_stage_of(one, STAGE_LIFECYCLE)->energy.grid.value);
    assert_true(again.lag.idle_owed_s.value == one->lag.idle_owed_s.value);
    assert_int_equal(again.window_count, one->window_count);
    assert_memory_equal(again.windows, one->windows, one->window_count * sizeof *one->windows);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    arena_done(&a);
}

int main(void)
{
    if (access(JTOK_SHARED "/h200", R_OK) != 0) {
        puts("skipped: " JTOK_SHARED "/h200 holds no recordings");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(front4_energies),       cmocka_unit_test(front4_load),
        cmocka_unit_test(front4_saturated),      cmocka_unit_test(front4_gap),
        cmocka_unit_test(front4_other_readings), cmocka_unit_test(front4_lag_and_baseline),
        cmocka_unit_test(front4_codes),          cmocka_unit_test(front1_values),
        cmocka_unit_test(sglang_values),         cmocka_unit_test(bursts_on_four_gpus),
        cmocka_unit_test(every_reading_closes),  cmocka_unit_test(converted_folder_is_the_same)};
    return cmocka_run_group_tests(tests, load_all, free_all);
}
