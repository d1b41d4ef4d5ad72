#include "check.h"
#include <stdlib.h>
#include "base/span.h"
#include "report/report.h"
#include "text/csv.h"

static struct quantity q(double value, double instrument)
{
    struct quantity k = quantity_of(value);
    k.instrument = instrument;
    k.calibration = 0.06 * value;
    return k;
}

static void stage(struct result *r, int id, double start_s, double end_s, double counter, double grid, double buffer)
{
    struct result_stage *s = &r->stages[id];
    s->stage = id;
    s->start_ns = (int64_t)(start_s * 1e9);
    s->end_ns = (int64_t)(end_s * 1e9);
    s->duration_s = end_s - start_s;
    s->energy.counter = q(counter, counter / 4000);
    s->energy.grid = q(grid, grid / 100);
    s->energy.buffer = q(buffer, buffer / 3000);
    s->energy.precise = q(buffer * 0.9989, buffer / 3000);
    s->energy.marks = quantity_absent(Q_NOT_RECORDED, "no mark samples were taken");
    bool by_counter = id == STAGE_FORMAL || id == STAGE_SATURATED || id == STAGE_STEADY;
    s->energy.headline = by_counter ? s->energy.counter : s->energy.grid;
    s->energy.headline_series = by_counter ? SERIES_COUNTER : SERIES_GRID;
    s->average_w = q(s->energy.headline.value / s->duration_s, s->energy.headline.instrument / s->duration_s);
    s->grid_difference = quantity_of(grid / counter - 1);
    s->buffer_difference = quantity_of(buffer / counter - 1);
    s->sampling_error = quantity_of(s->energy.headline.value / s->energy.precise.value - 1);
}

static struct percentiles spread(double middle)
{
    return (struct percentiles){2499,
                                quantity_of(middle * 1.02),
                                quantity_of(middle),
                                quantity_of(middle * 1.7),
                                quantity_of(middle * 1.8),
                                quantity_of(middle * 1.9),
                                quantity_of(middle * 2)};
}

/* A run like a recorded one: excluded for its baseline, no steady state. */
static struct result a_result(struct arena *a)
{
    struct result r;
    result_absent(&r, a, "not in this test");
    r.run_id = "20261130T010000Z-llama-8b";
    r.method_id = "jtok-1";
    r.jtok_version = "0.1.0";
    r.method = method_default();
    r.name = "llama 8B, four API servers";
    r.model = "kit/llama-8b-shape";
    r.engine = "vllm";
    r.engine_version = "0.24.0";
    r.scenario = "arena-hard";
    stage(&r, STAGE_BASELINE, 0, 20, 1590.6, 1596.8, 1589.8);
    stage(&r, STAGE_STARTUP, 20, 158.79, 15057.1, 14906.5, 15064.6);
    stage(&r, STAGE_FORMAL, 158.79, 227.36, 44168.5, 44435.8, 44246.6);
    stage(&r, STAGE_RELEASE, 227.36, 231.22, 495.6, 535.9, 477.3);
    r.stages[STAGE_STARTUP].wait_s = 0.512;
    r.stages[STAGE_STARTUP].wait_j = q(62.4, 1.2);
    r.stages[STAGE_STARTUP].wait_share = quantity_of(0.0017);
    r.stages[STAGE_RELEASE].wait_s = 0.014;
    r.stages[STAGE_RELEASE].wait_j = q(1.71, 0.3);
    r.stages[STAGE_RELEASE].wait_share = quantity_of(0.0036);
    r.startup_phase_count = 3;
    r.startup_phases = arena_array(a, 3, sizeof *r.startup_phases);
    static const int phases[] = {PHASE_PROCESS, PHASE_WEIGHTS, PHASE_REST};
    for (int i = 0; i < 3; i++)
        r.startup_phases[i] = (struct result_phase){.phase = phases[i],
                                                    .duration_s = 20 + i,
                                                    .energy_j = q(2000 + i, 5),
                                                    .average_w = q((2000 + i) / (20.0 + i), 0.2)};
    stage(&r, STAGE_SATURATED, 164.6, 205.2, 26337.6, 26400, 26390);
    r.stages[STAGE_LIFECYCLE].stage = STAGE_LIFECYCLE;
    r.stages[STAGE_STEADY].stage = STAGE_STEADY;
    r.stages[STAGE_STEADY].why = "no steady state under gap and K = 2";
    r.gpu_count = 1;
    r.gpus = arena_array(a, 1, sizeof *r.gpus);
    r.gpus[0] = (struct result_gpu){.uuid = "GPU-5f0c0d4e-1111-2222-3333-444444444444",
                                    .name = "NVIDIA H200",
                                    .index = 0,
                                    .power_limit_w = 700,
                                    .baseline_w = q(79.53, 0.4),
                                    .baseline_sd_w = 10.3,
                                    .formal_mean_w = 644.1,
                                    .ready_level_w = quantity_of(124.3)};
    r.load.requests = 2500;
    r.load.successful = 2499;
    r.load.failed = 1;
    r.load.output_tokens = 1042561;
    r.load.prompt_tokens = 345678;
    r.load.token_chunks = 987654;
    r.load.repeated_prompts = 1750;
    r.load.token_source = TOKENS_RUNNING;
    r.load.ttft_s = spread(18.075);
    r.load.tpot_s = spread(0.05267);
    r.load.e2e_s = spread(40.1);
    r.load.itl_per_token = false;
    r.load.itl_s = spread(0.051);
    r.load.failures = arena_array(a, 1, sizeof *r.load.failures);
    r.load.failure_count = 1;
    r.load.failures[0] = (struct result_failure){VERDICT_HTTP_STATUS, 1, 2483, 400,
                                                 "HTTP 400: This model's maximum context length is 8192 tokens."};
    r.metrics.formal_j_per_token = q(0.0423653, 0.000106);
    r.metrics.saturated_j_per_token = q(0.0336423, 0.0000084);
    r.metrics.lifecycle_j_per_token = q(0.0571787, 0.00016);
    r.metrics.steady_j_per_token =
        quantity_absent(Q_NOT_REACHED, "no 2 consecutive windows under CV 0.03: lowest 0.0144 in window 2110");
    r.metrics.startup_j = q(14906.5, 149);
    r.metrics.release_j = q(535.9, 80);
    r.metrics.throughput_tok_s = quantity_of(15204.2);
    r.metrics.formal_w = q(644.1, 0.16);
    r.steady.why = "no 2 consecutive windows under CV 0.03: lowest 0.0144 in window 2110";
    r.checks[CODE_BASELINE_NOT_IDLE] = (struct result_check){
        CODE_BASELINE_NOT_IDLE, CHECK_FAILED,
        "Not idle in the baseline window: GPU 0: the standard deviation 10.3 W is over its limit of 1.6 W."};
    r.checks[CODE_USAGE_DISAGREES] =
        (struct result_check){CODE_USAGE_DISAGREES, CHECK_NOT_RECORDED,
                              "No two readings of the engine's count after the formal stage agree."};
    for (int i = 0; i < CODE_COUNT; i++)
        if (r.checks[i].outcome == CHECK_NOT_CHECKED)
            r.checks[i] = (struct result_check){i, CHECK_PASSED, "As it should be."};
    for (int i = 0; i < RMARK_COUNT; i++)
        r.marks[i] = (struct result_mark){
            i, i == RMARK_STEADY_NOT_REACHED || i == RMARK_REPEATED_PROMPTS ? CHECK_FAILED : CHECK_PASSED,
            "The reason.", NAN, NAN};
    return r;
}

static const char *text_of(const struct result *r, bool colour, struct arena *a)
{
    struct buf b = {0};
    report_full(r, &(struct report_options){.colour = colour}, &b);
    const char *text = arena_text(a, buf_text(&b));
    buf_done(&b);
    return text;
}

static size_t place(const char *text, const char *part)
{
    const char *p = strstr(text, part);
    if (!p)
        fail_msg("\"%s\" is not in the report", part);
    return (size_t)(p - text);
}

static void trust_comes_first(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    const char *text = text_of(&r, false, &a);
    if (getenv("JTOK_SHOW"))
        puts(text);
    assert_true(place(text, "EXCLUDED") < place(text, "baseline_not_idle"));
    assert_true(place(text, "baseline_not_idle") < place(text, "usage_disagrees"));
    assert_true(place(text, "usage_disagrees") < place(text, "Energy per output token"));
    assert_true(place(text, "repeated_prompts") < place(text, "Energy per output token"));
    assert_true(place(text, "  formal stage ") < place(text, "  steady state "));
    place(text, "0.04237    J/token  ± 0.00011");
    place(text, "steady state: not reached: no steady state, see below");
    place(text, "Not reached: no 2 consecutive windows under CV 0.03: lowest 0.0144 in window 2110\n");
    arena_done(&a);
}

static void a_formal_run_says_what_was_compared(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    r.formal = true;
    for (size_t i = 0; i < r.check_count; i++)
        r.checks[i].outcome = CHECK_PASSED;
    r.checks[CODE_IDENTITY_WRONG].outcome = CHECK_NOT_STATED;
    r.checks[CODE_COUNTER_DISAGREES].outcome = CHECK_NOT_JUDGED;
    r.metrics.steady_j_per_token = q(0.0351, 0.0001);
    const char *text = text_of(&r, false, &a);
    place(text, "FORMAL  21 checks passed, 1 not stated, 1 not judged");
    assert_null(strstr(text, "EXCLUDED"));
    assert_true(place(text, "  formal stage ") < place(text, "  steady state ")); /* the same order in every run */
    arena_done(&a);
}

static void what_is_simulated_says_so_before_any_number(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    r.simulated = true;
    r.marks[RMARK_SIMULATED].why = "GPU and engine are simulated.";
    const char *text = text_of(&r, false, &a);
    assert_true(place(text, "SIMULATED  GPU and engine are simulated.") < place(text, "EXCLUDED"));
    arena_done(&a);
}

static void another_reading_is_named(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    r.differences = "attribution=interval, k=3";
    place(text_of(&r, false, &a), "NOT THE METHOD'S READING  analysed with attribution=interval, k=3");
    arena_done(&a);
}

/* No line is wider than the terminal, whatever is absent. */
/* jtok's own waits stand with their stages, and the startup's phases below them; without either nothing is said. */
static void waits_and_phases_follow_the_stages(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    const char *text = text_of(&r, false, &a);
    size_t waits = place(text, "jtok's own waits: startup: 0.512 s, 62.4 J ± 1.2 (0.17 %); release: 0.0140 s, 1.7");
    size_t phases = place(text, "Startup by phase");
    assert_true(place(text, "Energy by stage") < waits && waits < phases && phases < place(text, "Steady state, J"));
    assert_true(place(text + phases, "process, imports") < place(text + phases, "weights loaded"));
    assert_true(place(text + phases, "weights loaded  ") < place(text + phases, "the rest"));
    assert_null(strstr(text + phases, "graphs captured"));
    r.startup_phase_count = 1;
    r.stages[STAGE_STARTUP].wait_s = r.stages[STAGE_RELEASE].wait_s = NAN;
    text = text_of(&r, false, &a);
    assert_null(strstr(text, "own waits"));
    assert_null(strstr(text, "Startup by phase"));
    arena_done(&a);
}

static void lines_fit(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result full = a_result(&a), empty;
    result_absent(&empty, &a, "the run broke off in the startup stage");
    const struct result *const both[] = {&full, &empty};
    for (size_t i = 0; i < 2; i++) {
        const char *text = text_of(both[i], false, &a);
        for (const char *line = text; *line;) {
            size_t bytes = strcspn(line, "\n"), width = 0;
            for (size_t k = 0; k < bytes; k++)
                width += ((unsigned char)line[k] & 0xc0) != 0x80;
            if (width > REPORT_COLUMNS) {
                print_error("%zu columns: %.*s\n", width, (int)bytes, line);
                fail();
            }
            line += bytes + (line[bytes] == '\n');
        }
    }
    arena_done(&a);
}

static void colours_are_only_there_when_asked_for(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    assert_null(strchr(text_of(&r, false, &a), '\033'));
    place(text_of(&r, true, &a), "\033[1;31mEXCLUDED\033[0m");
    arena_done(&a);
}

/* A server's or a file's names reach no terminal as commands. */
static void control_bytes_are_not_shown(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    r.engine_version = "1\033]0;owned\a\r2\xc2\x9b"
                       "3";
    const char *shown = "vllm 1 ]0;owned  2\xef\xbf\xbd"
                        "3 on";
    place(text_of(&r, false, &a), shown);
    place(text_of(&r, true, &a), shown);
    arena_done(&a);
}

/* An empty result shows states and reasons: no zero, no blank where a number would be. */
static void the_absent_is_never_zero(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r;
    struct buf b = {0};
    result_absent(&r, &a, "the run broke off in the startup stage");
    const char *text = text_of(&r, false, &a);
    place(text, "not recorded: the run broke off in the startup stage");
    report_csv(&r, &b);
    place(buf_text(&b),
          "metrics.lifecycle_j_per_token,J/token,,not recorded,the run broke off in the startup stage,,\n");
    place(buf_text(&b), "load.output_tokens,tokens,,not recorded,,,\n");
    buf_done(&b);
    arena_done(&a);
}

static void csv_has_each_value_in_full(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    struct buf b = {0};
    report_csv(&r, &b);
    if (getenv("JTOK_SHOW"))
        puts(buf_text(&b));
    assert_true(span_starts(buf_span(&b), "metric,unit,value,state,why,instrument,calibration\n"));
    place(buf_text(&b), "\nmetrics.formal_j_per_token,J/token,0.0423653,measured,,0.000106,0.002541918\n");
    place(buf_text(&b),
          "\nmetrics.steady_j_per_token,J/token,,not reached,no 2 consecutive windows under CV 0.03: lowest 0.0144 in "
          "window 2110,,\n");
    place(buf_text(&b), "\nstages.formal.energy.counter,J,44168.5,measured,,");
    place(buf_text(&b), "\nstages.formal.energy.marks,J,,not recorded,no mark samples were taken,,\n");
    place(buf_text(&b), "\nchecks.baseline_not_idle.outcome,,failed,measured,,,\n");
    place(buf_text(&b), "\nsteady_table.gap.2.reached,,false,measured,,,\n");
    /* Every line has seven fields. */
    struct csv c;
    struct span fields[8];
    csv_init(&c, buf_span(&b));
    for (size_t n; (n = csv_next(&c, fields, 7));)
        assert_int_equal(n, 7);
    assert_false(c.cut);
    buf_done(&b);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trust_comes_first),
        cmocka_unit_test(a_formal_run_says_what_was_compared),
        cmocka_unit_test(what_is_simulated_says_so_before_any_number),
        cmocka_unit_test(another_reading_is_named),
        cmocka_unit_test(waits_and_phases_follow_the_stages),
        cmocka_unit_test(lines_fit),
        cmocka_unit_test(colours_are_only_there_when_asked_for),
        cmocka_unit_test(control_bytes_are_not_shown),
        cmocka_unit_test(the_absent_is_never_zero),
        cmocka_unit_test(csv_has_each_value_in_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
