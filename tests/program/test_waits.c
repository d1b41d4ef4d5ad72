/* jtok's own waits, and what ends them: after the last request the engine's count is read at once, and the stop follows
 * when it agrees; only else is it read on, for one second. */
#include "check.h"

#include "cli/exit.h"
#include "program/harness.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A wait that is no wait: an answer of /metrics and the loop's turns, on a busy machine. */
enum { AT_ONCE_MS = 100 };

static double mark_s(const struct records *r, enum boundary from, enum boundary to)
{
    assert_true(records_boundary(r, from) != ABSENT_I64 && records_boundary(r, to) != ABSENT_I64);
    return (double)(records_boundary(r, to) - records_boundary(r, from)) / 1e9;
}

#define USUAL "engine.kind=vllm"

/* A life with 16 tokens an answer on an engine with these options. */
static void live(struct life *l, const char *options, const char *setting)
{
    life_open(l);
    const char *requests = life_requests(l, ", lengths: {kind: fixed, tokens: 16, ignore_eos: true}");
    const char *plan = life_plan(l, arena_format(&l->arena, ", --sim-release-s, '0.3'%s", options), requests);
    int code = life_run(l, ARGS("run", "--set", "method.hold_s=0.5", "--set", setting, plan), NULL, 60);
    if (code != EXIT_EXCLUDED) /* method_shortened */
        print_error("%s\n", l->err);
    assert_int_equal(code, EXIT_EXCLUDED);
}

static void assert_check(const struct result *q, enum check_outcome outcome, const char *part)
{
    const struct result_check *c = &q->checks[CODE_USAGE_DISAGREES];
    if (c->outcome != outcome || !strstr(c->why, part))
        print_error("%s, expected \"%s\"\n", c->why, part);
    assert_int_equal(c->outcome, outcome);
    assert_non_null(strstr(c->why, part));
}

/* The waits of a result are those of the marks, and cost what a GPU that idles with a context draws. */
static void check_waits(const struct records *r, const struct result *q)
{
    const struct result_stage *startup = result_stage_of(q, STAGE_STARTUP),
                              *release = result_stage_of(q, STAGE_RELEASE);
    assert_close(startup->wait_s, mark_s(r, BOUNDARY_WARMUP_END, BOUNDARY_FORMAL_START), 1e-9);
    assert_close(release->wait_s, mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_STOP), 1e-9);
    assert_true(startup->wait_s >= 0.3);
    assert_int_equal(startup->wait_j.state, Q_MEASURED);
    assert_int_equal(release->wait_j.state, Q_MEASURED);
    assert_true(isnan(result_stage_of(q, STAGE_FORMAL)->wait_s));
    assert_true(startup->wait_j.value > 0 && startup->wait_j.value < startup->energy.precise.value);
    bool over = startup->wait_share.value > 0.02 || release->wait_share.value > 0.02;
    assert_int_equal(q->flags[FLAG_OBSERVER_WAIT].outcome, over ? CHECK_FAILED : CHECK_PASSED);
}

/* The phases touch, and add up to the startup in seconds and in joules. */
static void check_phases(const struct result *q)
{
    static const int expected[] = {PHASE_PROCESS, PHASE_WEIGHTS, PHASE_COMPILE, PHASE_GRAPHS,
                                   PHASE_SERVING, PHASE_READY,   PHASE_WARMUP,  PHASE_REST};
    const struct result_stage *s = result_stage_of(q, STAGE_STARTUP);
    assert_int_equal(q->startup_phase_count, PHASE_COUNT);
    int64_t at = s->start_ns;
    double joules = 0;
    for (size_t i = 0; i < PHASE_COUNT; i++) {
        const struct result_phase *p = &q->startup_phases[i];
        assert_int_equal(p->phase, expected[i]);
        assert_int_equal(p->start_ns, at);
        assert_true(p->end_ns > at);
        assert_int_equal(p->energy_j.state, Q_MEASURED);
        assert_close_rel(p->average_w.value * p->duration_s, p->energy_j.value, 1e-9);
        joules += p->energy_j.value;
        at = p->end_ns;
    }
    assert_int_equal(at, s->end_ns);
    assert_close_rel(joules, s->energy.precise.value, 1e-9);
}

static void an_equal_count_stops_at_once(void **state)
{
    (void)state;
    struct life l;
    live(&l, ", --sim-metrics-every-s, '0', --sim-start-s, '3'", USUAL);
    const struct records *r = life_records(&l);
    const struct result *q = life_result(&l);
    assert_check(q, CHECK_PASSED, ": equal.");
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_STOP) < AT_ONCE_MS / 1e3);
    check_waits(r, q);
    check_phases(q);
    /* Connecting, its silence and the catching up go on at the same time. */
    assert_true(mark_s(r, BOUNDARY_WARMUP_END, BOUNDARY_FORMAL_START) < 0.3 + 2 * AT_ONCE_MS / 1e3);
    assert_int_equal(q->flags[FLAG_ENGINE_OWN_REQUESTS].outcome, CHECK_PASSED);
    assert_int_equal(life_also(&l, ARGS("report", l.folder, "--full")), EXIT_OK);
    assert_non_null(strstr(l.out, "The start by phase"));
    assert_non_null(strstr(l.out, "jtok's own waits"));
    life_close(&l);
}

static void a_count_that_lags_is_waited_for_and_marked(void **state)
{
    (void)state;
    struct life l;
    live(&l, ", --sim-metrics-every-s, '0.7'", USUAL);
    const struct records *r = life_records(&l);
    const struct result *q = life_result(&l);
    assert_check(q, CHECK_PASSED, ": equal.");
    check_waits(r, q);
    const struct result_stage *release = result_stage_of(q, STAGE_RELEASE);
    assert_true(release->wait_s > 0.1 && release->wait_s < 1);
    assert_true(release->wait_share.value > 0.02);
    assert_close_rel(release->wait_share.value, release->wait_j.value / release->energy.precise.value, 1e-9);
    const struct result_flag *m = &q->flags[FLAG_OBSERVER_WAIT];
    assert_int_equal(m->outcome, CHECK_FAILED);
    assert_close(m->limit, 0.02, 0);
    assert_non_null(strstr(m->why, "in release"));
    life_close(&l);
}

static void a_count_that_never_equals_is_waited_for_one_second(void **state)
{
    (void)state;
    struct life l;
    live(&l, ", --sim-metrics-every-s, '0', --sim-own-late, '2'", USUAL);
    const struct records *r = life_records(&l);
    const struct result *q = life_result(&l);
    /* Three answers of 16 tokens. */
    assert_check(q, CHECK_FAILED, "The engine counted 64 generated tokens");
    assert_check(q, CHECK_FAILED, "the requests' usage sums to 48");
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_STOP) >= 1);
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_STOP) < 1 + AT_ONCE_MS / 1e3);
    assert_int_equal(q->flags[FLAG_ENGINE_OWN_REQUESTS].outcome, CHECK_PASSED);
    life_close(&l);
}

#define SGLANG                                                                                                         \
    ", --port, '{port}', --sim-metrics-every-s, '0', --flavour, sglang, --tokenizer-worker-num, '4', "                 \
    "--enable-metrics, --sim-stop-s, '0.6', --sim-own-late, "

static void requests_of_the_engines_own_are_explained(void **state)
{
    (void)state;
    struct life l;
    live(&l, SGLANG "'2'", "engine.kind=openai");
    const struct records *r = life_records(&l);
    const struct result *q = life_result(&l);
    assert_string_equal(r->run.engine_name, "sglang");
    assert_int_equal(r->run.own_request_tokens, 8);
    assert_int_equal(r->run.own_requests_max, 4);
    assert_check(q, CHECK_PASSED, "the other 16 are those of 2 requests of its own");
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_STOP) < AT_ONCE_MS / 1e3);
    const struct result_flag *m = &q->flags[FLAG_ENGINE_OWN_REQUESTS];
    assert_int_equal(m->outcome, CHECK_FAILED);
    assert_close(m->value, 2, 0);
    assert_close(m->limit, 4 - 2, 0); /* the other two had ended before it said that it is ready */
    check_waits(r, q);
    /* It compiles nothing, so that phase is in the next one. */
    for (size_t i = 0; i < q->startup_phase_count; i++)
        assert_int_equal(q->startup_phases[i].energy_j.state == Q_MEASURED,
                         q->startup_phases[i].phase != PHASE_COMPILE);
    life_close(&l);
}

static void more_of_them_than_can_come_are_not(void **state)
{
    (void)state;
    struct life l;
    live(&l, SGLANG "'5'", "engine.kind=openai");
    const struct records *r = life_records(&l);
    assert_check(life_result(&l), CHECK_FAILED, "they would be 5 requests of its own, of which 0 of 4 had come before");
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_STOP) >= 1);
    life_close(&l);
}

/* With a failed request the count tells nothing exactly: it is read, and not waited for. */
static void a_failed_request_waits_for_nothing(void **state)
{
    (void)state;
    struct life l;
    live(&l, ", --sim-metrics-every-s, '0', --sim-own-late, '2', --sim-fault, no-usage=10", USUAL);
    const struct records *r = life_records(&l);
    int failed = 0, read = 0;
    for (size_t i = 0; i < r->request_count; i++)
        failed += r->requests[i].verdict != VERDICT_OK;
    for (size_t i = 0; i < r->metrics_count; i++)
        read += r->metrics[i].t_ns >= records_boundary(r, BOUNDARY_FORMAL_END);
    assert_int_equal(failed, 1);
    assert_int_equal(read, 1);
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_STOP) < AT_ONCE_MS / 1e3);
    assert_int_equal(life_result(&l)->flags[FLAG_ENGINE_OWN_REQUESTS].outcome, CHECK_NOT_JUDGED);
    life_close(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_equal_count_stops_at_once),
        cmocka_unit_test(a_count_that_lags_is_waited_for_and_marked),
        cmocka_unit_test(a_count_that_never_equals_is_waited_for_one_second),
        cmocka_unit_test(requests_of_the_engines_own_are_explained),
        cmocka_unit_test(more_of_them_than_can_come_are_not),
        cmocka_unit_test(a_failed_request_waits_for_nothing),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
