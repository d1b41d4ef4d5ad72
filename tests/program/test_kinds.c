/* Whole lives of each kind of engine on its simulated twin; vLLM's are in the other files. */
#include "check.h"

#include <sys/stat.h>
#include "cli/exit.h"
#include "program/harness.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void live(struct life *l, const char *kind, const char *options)
{
    life_open(l);
    const char *requests = life_requests(l, ", lengths: {kind: fixed, tokens: 16, ignore_eos: true}");
    const char *plan = life_plan(
        l,
        arena_format(&l->arena, ", --flavour, %s, --sim-release-s, '0.3', --sim-metrics-every-s, '0'%s", kind, options),
        requests);
    int code = life_run(l,
                        ARGS("run", "--engine", kind, "--set", "method.hold_s=0.5", "--set",
                             "engine.context_length=8192", "--set", "model.precision=bf16", plan),
                        NULL, 90);
    if (code != EXIT_EXCLUDED) /* method_shortened */
        print_error("%s\n%s\n", l->err, l->out);
    assert_int_equal(code, EXIT_EXCLUDED);
}

/* No check fails but that of the shortened method; engines of other tests may be left behind by now. */
static void assert_whole(const struct result *q, enum check_outcome usage)
{
    for (size_t i = 0; i < CODE_COUNT; i++)
        if ((q->checks[i].outcome == CHECK_FAILED) != (i == CODE_METHOD_SHORTENED) && i != CODE_PREFLIGHT_FAILED)
            fail_msg("%s: %s", check_code_names[i], q->checks[i].why);
    if (q->checks[CODE_USAGE_DISAGREES].outcome != usage)
        fail_msg("%s", q->checks[CODE_USAGE_DISAGREES].why);
}

static const struct rec_fact *fact(const struct records *r, const char *name)
{
    for (size_t i = 0; i < r->fact_count; i++)
        if (strcmp(r->facts[i].name, name) == 0)
            return &r->facts[i];
    return NULL;
}

static void assert_verified(const struct records *r, const char *name)
{
    const struct rec_fact *f = fact(r, name);
    assert_non_null(f);
    if (f->outcome != CHECK_PASSED)
        fail_msg("%s: %s, %s", name, f->expected ? f->expected : "nothing", f->seen ? f->seen : "nothing");
}

/* The third front end warms itself up 1.5 s after /health is 200: ready is later than that, so no request of the
 * engine's own is among ours. Its end by SIGKILL is a good stop. */
static void sglang_waits_for_its_own_requests(void **state)
{
    (void)state;
    struct life l;
    live(&l, "sglang",
         ", --enable-metrics, --tokenizer-worker-num, '3', --sim-own-after-s, '1.5', --context-length, '8192'");
    const struct records *r = life_records(&l);
    const struct result *q = life_result(&l);
    assert_whole(q, CHECK_PASSED);
    assert_int_equal(q->flags[FLAG_ENGINE_OWN_REQUESTS].outcome, CHECK_PASSED);
    int64_t serving = ABSENT_I64;
    const struct rec_fact *milestone = fact(r, milestone_names[MILESTONE_SERVING]);
    assert_non_null(milestone);
    serving = milestone->t_ns;
    assert_true(records_boundary(r, BOUNDARY_READY) - serving > INT64_C(1500000000));
    assert_null(fact(r, "service.own_requests")); /* none was missing */
    assert_int_equal(r->run.own_requests_max, 3);
    assert_int_equal(r->run.own_request_tokens, 8);
    assert_int_equal(r->run.engine_exit_status, 137);
    const struct rec_fact *end = fact(r, "service.exit_status");
    assert_non_null(end);
    assert_string_equal(end->expected, "0 or 137");
    assert_string_equal(end->seen, "137");
    assert_verified(r, "identity.model");
    assert_verified(r, "identity.context_length");
    assert_verified(r, "identity.tensor_parallel");
    assert_int_equal(life_survivors(&l), 0);
    life_close(&l);
}

static void llamacpp_is_a_kind(void **state)
{
    (void)state;
    struct life l;
    live(&l, "llamacpp", ", --metrics, --parallel, '8'");
    const struct records *r = life_records(&l);
    assert_whole(life_result(&l), CHECK_PASSED);
    assert_int_equal(r->run.engine_exit_status, 0);
    assert_string_equal(r->run.engine_version, "b9465-simulated");
    assert_non_null(fact(r, milestone_names[MILESTONE_WEIGHTS]));
    assert_non_null(fact(r, milestone_names[MILESTONE_SERVING]));
    assert_verified(r, "identity.model");
    assert_verified(r, "identity.context_length");
    assert_int_equal(life_survivors(&l), 0);
    life_close(&l);
}

/* Of each kind that has them on demand: what /metrics answers, and the option that switches them on. */
static void metrics_that_are_off_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *told;
    } cases[] = {{"sglang", "start SGLang with --enable-metrics"}, {"llamacpp", "start llama-server with --metrics"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct life l;
        live(&l, cases[i].kind, "");
        const struct result *q = life_result(&l);
        const struct result_flag *c = &q->flags[FLAG_USAGE_NOT_VERIFIABLE];
        assert_int_equal(c->outcome, CHECK_FAILED);
        if (!strstr(c->why, cases[i].told))
            fail_msg("%s", c->why);
        life_close(&l);
    }
}

/* A program of an engine's own name that is its twin; `words`: a shell's, from its arguments to the twin's. */
static void put_twin(struct life *l, const char *name, const char *flavour, const char *words)
{
    life_file(l, name,
              arena_format(&l->arena,
                           "#!/bin/sh\n%s\nexec %s/jtok-sim-engine \"$@\" --flavour %s --sim-start-s 0.5 "
                           "--sim-release-s 0.3 --sim-metrics-every-s 0\n",
                           words, JTOK_BIN, flavour));
    assert_int_equal(chmod(arena_format(&l->arena, "%s/%s", l->scratch, name), 0700), 0);
}

static const char *in_force(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->engine.in_force_count; i++)
        if (strcmp(p->engine.in_force[i].name, name) == 0)
            return p->engine.in_force[i].value;
    return "nothing";
}

static const char *live_by_settings(struct life *l, const char *plan, const char *kind)
{
    const char *path = arena_format(&l->arena, "PATH=%s:/usr/bin:/bin", l->scratch);
    int code = life_run(l, ARGS("run", "--engine", kind, plan), ARGS(path), 90);
    if (code != EXIT_EXCLUDED) /* method_shortened */
        print_error("%s\n%s\n", l->err, l->out);
    assert_int_equal(code, EXIT_EXCLUDED);
    return arena_text(&l->arena, l->folder);
}

/* One plan of settings, without a command: the twins of two engines run from it, what was set is verified by what each
 * says of itself, the same was asked of both, and a comparison names what they don't have alike. */
static void one_plan_of_settings_runs_two_engines(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    put_twin(&l, "vllm", "vllm", "");
    put_twin(&l, "python3", "sglang", "shift 3; set -- serve \"$@\""); /* -m MODULE --model-path */
    life_file(&l, "prompts.jsonl", "{\"prompt\":\"one\"}\n{\"prompt\":\"two\"}\n");
    life_file(
        &l, "plan.yaml",
        arena_format(&l.arena,
                     "model: {id: simulated/model, precision: bf16}\n"
                     "engine: {simulated: true, settings: {context_length: 2048, max_running: 32, prefix_cache: off, "
                     "thinking: off}}\n"
                     "power: {library: %s/libnvidia-ml.so.1}\n"
                     "method: {baseline_s: 1, baseline_wait_s: 2, hold_s: 0.5, grid_s: 0.25, release_wait_s: 20}\n"
                     "runs: %s/runs\n"
                     "requests: {file: %s/prompts.jsonl, lengths: {kind: fixed, tokens: 16, ignore_eos: true}}\n",
                     JTOK_BIN, l.scratch, l.scratch));
    const char *plan = arena_format(&l.arena, "%s/plan.yaml", l.scratch), *folders[2], *work[2];
    static const char *const kinds[] = {"vllm", "sglang"};
    for (int i = 0; i < 2; i++) {
        folders[i] = live_by_settings(&l, plan, kinds[i]);
        const struct records *r = life_records(&l);
        assert_whole(life_result(&l), CHECK_PASSED);
        assert_verified(r, "identity.context_length");
        assert_verified(r, "identity.prefix_cache");
        assert_string_equal(in_force(&r->plan, "max_running"), "32 (command)");
        assert_string_equal(life_result(&l)->about.thinking, "off");
        work[i] = arena_text(&l.arena, r->plan.requests.work_sha256);
        assert_non_null(strstr(l.err, "chat template can't be read here"));
        assert_non_null(fact(r, "preflight.thinking"));
    }
    assert_string_equal(work[0], work[1]);
    life_run(&l, ARGS("compare", "--anyway", folders[0], folders[1]), NULL, 20);
    assert_non_null(strstr(l.out, "settings differ in memory_share:"));
    assert_null(strstr(l.out, "settings differ in max_running"));
    assert_null(strstr(l.out, "settings differ in prefix_cache"));
    life_close(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sglang_waits_for_its_own_requests),
        cmocka_unit_test(llamacpp_is_a_kind),
        cmocka_unit_test(metrics_that_are_off_are_told),
        cmocka_unit_test(one_plan_of_settings_runs_two_engines),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
