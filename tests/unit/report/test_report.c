#include "check.h"
#include <stdlib.h>
#include "a_result.h"
#include "base/span.h"
#include "report/report.h"
#include "text/csv.h"

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
    assert_true(place(text, "  serving ") < place(text, "  in steady state "));
    place(text, "0.04237    J/token  ± 0.00011");
    place(text, "in steady state: not reached: no steady state, see below");
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
    assert_true(place(text, "  serving ") < place(text, "  in steady state ")); /* the same order in every run */
    arena_done(&a);
}

static void what_is_simulated_says_so_before_any_number(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    r.about.simulated = true;
    r.flags[FLAG_SIMULATED].why = "GPU and engine are simulated.";
    const char *text = text_of(&r, false, &a);
    assert_true(place(text, "SIMULATED  GPU and engine are simulated.") < place(text, "EXCLUDED"));
    arena_done(&a);
}

static void other_rules_are_named(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    r.about.differences = "attribution=interval, k=3";
    place(text_of(&r, false, &a), "OTHER RULES THAN THE METHOD'S  analysed with attribution=interval, k=3");
    r.formal = true;
    place(text_of(&r, false, &a), "  VALID  ");
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
    size_t waits = place(text, "jtok's own waits: start: 0.512 s, 62.4 J ± 1.2 (0.17 %); stop: 0.0140 s, 1.7");
    size_t phases = place(text, "The start by phase");
    assert_true(place(text, "Energy by stage") < waits && waits < phases &&
                phases < place(text, "Steady state by each rule, J"));
    assert_true(place(text + phases, "process, imports") < place(text + phases, "weights loaded"));
    assert_true(place(text + phases, "weights loaded  ") < place(text + phases, "the rest"));
    assert_null(strstr(text + phases, "graphs captured"));
    r.startup_phase_count = 1;
    result_stage_of(&r, STAGE_STARTUP)->wait_s = result_stage_of(&r, STAGE_RELEASE)->wait_s = NAN;
    text = text_of(&r, false, &a);
    assert_null(strstr(text, "own waits"));
    assert_null(strstr(text, "The start by phase"));
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
    r.about.engine_version = "1\033]0;owned\a\r2\xc2\x9b"
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

/* Each property with its state; what nobody says is not listed, and what is wrong says both. */
static void the_engines_identity_is_listed(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r = a_result(&a);
    assert_null(strstr(text_of(&r, false, &a), "What the engine said of itself"));
    struct result_identity list[] = {
        {"version", CHECK_PASSED, "0.24.0", "0.24.0", "/version, version"},
        {"context_length", CHECK_FAILED, "8192", "4096", "/v1/models, max_model_len"},
        {"tensor_parallel", CHECK_NOT_JUDGED, "2", NULL, NULL},
        {"prefix_cache", CHECK_NOT_STATED, NULL, "on", NULL},
        {"thinking", CHECK_NOT_STATED, NULL, NULL, NULL},
    };
    r.about.identity = list;
    r.about.identity_count = sizeof list / sizeof *list;
    const char *text = text_of(&r, false, &a);
    place(text, "  version             verified        0.24.0 (/version, version)\n");
    place(text, "  context_length      wrong           4096 (/v1/models, max_model_len), but the plan says 8192\n");
    place(text, "  tensor_parallel     not verifiable  2 by the plan\n");
    place(text, "  prefix_cache        not stated      on\n");
    assert_null(strstr(text, "thinking"));
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trust_comes_first),
        cmocka_unit_test(a_formal_run_says_what_was_compared),
        cmocka_unit_test(what_is_simulated_says_so_before_any_number),
        cmocka_unit_test(other_rules_are_named),
        cmocka_unit_test(waits_and_phases_follow_the_stages),
        cmocka_unit_test(lines_fit),
        cmocka_unit_test(colours_are_only_there_when_asked_for),
        cmocka_unit_test(control_bytes_are_not_shown),
        cmocka_unit_test(the_absent_is_never_zero),
        cmocka_unit_test(csv_has_each_value_in_full),
        cmocka_unit_test(the_engines_identity_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
