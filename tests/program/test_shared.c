/* A machine that others use: a colleague's engine on another GPU, and on the run's own; a GPU that a scheduler gave. */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/exit.h"
#include "program/harness.h"
#include "sim/state.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ENV(...)  ((const char *const[]){__VA_ARGS__, NULL})

/* A machine of two GPUs, and engines of a colleague. */
struct shared {
    struct life l;
    struct sim_state *sim;
    pid_t engines[2];
    size_t engine_count;
};

static void shared_open(struct shared *s)
{
    struct err e;
    *s = (struct shared){0};
    life_open(&s->l);
    assert_ok(sim_state_open(s->l.state, 2, &s->sim, &e), e);
}

static void shared_close(struct shared *s)
{
    for (size_t i = 0; i < s->engine_count; i++) {
        kill(s->engines[i], SIGKILL);
        waitpid(s->engines[i], NULL, 0);
    }
    sim_state_close(s->sim);
    life_close(&s->l);
}

static pid_t start_engine(struct shared *s, uint32_t gpu)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_NAME, "VLLM::EngineCor");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    usleep(50000);
    sim_process_set(s->sim, gpu, pid, INT64_C(60) << 30);
    return s->engines[s->engine_count++] = pid;
}

static void assert_fails(const struct result *q, enum check_code more)
{
    for (size_t i = 0; i < CODE_COUNT; i++)
        if ((q->checks[i].outcome == CHECK_FAILED) != (i == CODE_METHOD_SHORTENED || i == more))
            fail_msg("%s: %s", check_code_names[i], q->checks[i].why);
}

static bool is_named(const struct records *r, const char *fact, pid_t pid)
{
    char who[32];
    bool named = false;
    snprintf(who, sizeof who, "pid %d ", (int)pid);
    for (size_t i = 0; i < r->fact_count; i++)
        named = named || (strcmp(r->facts[i].name, fact) == 0 && r->facts[i].seen && strstr(r->facts[i].seen, who));
    return named;
}

/* One before the run, one that comes while the engine starts: both are named and judged by nobody. The run's GPU is the
 * one that a scheduler gave. */
static void a_colleague_on_another_gpu_is_named(void **state)
{
    (void)state;
    struct shared s;
    shared_open(&s);
    pid_t before = start_engine(&s, 0);
    const char *plan = life_plan(&s.l, ", --sim-release-s, '0.3'", life_requests(&s.l, ""));
    life_start(&s.l, ARGS("run", "--set", "method.hold_s=0.5", plan), ENV("CUDA_VISIBLE_DEVICES=1"));
    life_wait_for(&s.l, "start", 30);
    pid_t during = start_engine(&s, 0);
    if (life_wait(&s.l, 60) != EXIT_EXCLUDED) /* method_shortened */
        fail_msg("%s", s.l.err);
    const struct records *r = life_records(&s.l);
    assert_fails(life_result(&s.l), CODE_METHOD_SHORTENED);
    assert_int_equal(r->gpu_count, 1);
    assert_string_equal(r->gpus[0].uuid, "GPU-00000001-0000-0000-0000-000000000052");
    assert_true(is_named(r, "preflight.leftovers", before));
    assert_true(is_named(r, "gpu.other_memory", before) && is_named(r, "gpu.other_memory", during));
    shared_close(&s);
}

/* On the run's own GPU it is a foreign process, whenever it comes, and the run is excluded for that alone. */
static void a_colleague_on_the_runs_gpu_excludes_it(void **state)
{
    (void)state;
    struct shared s;
    shared_open(&s);
    const char *plan = life_plan(&s.l, ", --sim-release-s, '0.3'", life_requests(&s.l, ""));
    life_start(&s.l, ARGS("run", "-g", "0", "--set", "method.hold_s=0.5", plan), NULL);
    life_wait_for(&s.l, "start", 30);
    pid_t during = start_engine(&s, 0);
    usleep(1500000);
    sim_process_remove(s.sim, 0, during); /* and goes */
    kill(during, SIGKILL);
    life_wait(&s.l, 60);
    const struct result *q = life_result(&s.l);
    const struct result_check *c = &q->checks[CODE_FOREIGN_PROCESS];
    assert_int_equal(c->outcome, CHECK_FAILED);
    char who[32];
    snprintf(who, sizeof who, "%d", (int)during);
    if (!strstr(c->why, who))
        fail_msg("%s", c->why);
    shared_close(&s);
}

/* ---- jtok doctor --plan ---- */

/* Whatever stops a run before its start: doctor ends as the run does, says the same sentence, and goes on to what comes
 * behind it. */
static void doctor_ends_as_the_run_would(void **state)
{
    (void)state;
    static const struct {
        const char *set, *env, *failed; /* one setting; the fact that fails, null: none */
        int code;
    } cases[] = {
        {"name=x", NULL, NULL, EXIT_OK},
        {"gpus=[7]", NULL, "gpus", EXIT_DEVICE},
        {"name=x", "CUDA_VISIBLE_DEVICES=", "gpus", EXIT_DEVICE},
        {"name=x", "JTOK_SIM_FAULT=busy_process", "gpu_busy", EXIT_BUSY},
        {"engine.tensor_parallel=2", NULL, "parallel_sizes", EXIT_PLAN},
        {"requests.file=/no/such/file", NULL, "plan", EXIT_PLAN},
        {"engine.host=no such host", NULL, "port", EXIT_PLAN},
        {"engine.command=[/no/such/engine, serve, simulated/model, --port, '{port}']", NULL, "command", EXIT_ENGINE},
        {"model.snapshot=/no/such/snapshot", NULL, "snapshot", EXIT_PLAN},
        {"engine.env.CUDA_VISIBLE_DEVICES=1", "CUDA_VISIBLE_DEVICES=0", "command", EXIT_PLAN},
    };
    struct shared s;
    shared_open(&s);
    const char *plan = life_plan(&s.l, "", life_requests(&s.l, ""));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *given =
            cases[i].env && strncmp(cases[i].env, "CUDA", 4) == 0 ? cases[i].env : "CUDA_VISIBLE_DEVICES=0";
        const char *const env[] = {given, given == cases[i].env ? NULL : cases[i].env, NULL};
        int run = life_run(&s.l, ARGS("run", "--dry-run", "--set", cases[i].set, plan), env, 30);
        const char *told = arena_text(&s.l.arena, s.l.err);
        int doctor = life_run(&s.l, ARGS("doctor", "--plan", plan, "--set", cases[i].set, "--format", "json"), env, 30);
        if (run != doctor || (cases[i].failed && run != cases[i].code) || (!cases[i].failed && run != EXIT_OK))
            fail_msg("%s: run %d, doctor %d: %s%s", cases[i].set, run, doctor, told, s.l.err);
        if (!cases[i].failed)
            assert_null(strstr(s.l.out, "\"failed\","));
        if (!cases[i].failed)
            continue;
        const char *line = strstr(s.l.out, arena_format(&s.l.arena, "\"name\": \"%s\",", cases[i].failed)),
                   *end = line ? strchr(line, '}') : NULL;
        if (!line || !strstr(line, "\"state\": \"failed\"") || strstr(line, "\"state\": \"failed\"") > end)
            fail_msg("%s: %s", cases[i].set, s.l.out);
        bool last = strcmp(cases[i].failed, "plan") == 0 || strcmp(cases[i].failed, "snapshot") == 0;
        assert_int_equal(strstr(end, "\"name\"") != NULL, !last); /* it goes on behind what stops a run */
    }
    shared_close(&s);
}

/* A model that the command names by its repository is looked for in the hub's cache before anything starts. */
static void weights_are_looked_for_in_the_cache(void **state)
{
    (void)state;
    struct shared s;
    shared_open(&s);
    const char *plan = life_plan(&s.l, "", life_requests(&s.l, "")),
               *home = arena_format(&s.l.arena, "HF_HOME=%s/hf", s.l.scratch);
    life_file(&s.l, "vllm", "#!/bin/sh\n");
    const char *path = arena_format(&s.l.arena, "%s/vllm", s.l.scratch);
    assert_int_equal(chmod(path, 0700), 0);
    const char *const arguments[] = {"doctor",
                                     "--plan",
                                     plan,
                                     "--set",
                                     "engine.simulated=false",
                                     "--set",
                                     "gpus=[0]",
                                     "--set",
                                     "model.id=org/m",
                                     "--set",
                                     arena_format(&s.l.arena, "engine.command=[%s, serve, org/m]", path),
                                     NULL};
    const char *const env[] = {home, NULL};
    assert_int_equal(life_run(&s.l, arguments, env, 30), EXIT_PLAN);
    assert_non_null(strstr(s.l.out, "failed  Weights "));
    assert_non_null(strstr(s.l.out, "hf download org/m"));
    assert_int_equal(system(arena_format(&s.l.arena,
                                         "H=%s/hf/hub/models--org--m && mkdir -p $H/refs $H/snapshots/c0ffee && "
                                         "printf c0ffee > $H/refs/main && printf x > $H/snapshots/c0ffee/m.bin && "
                                         "printf '{}' > $H/snapshots/c0ffee/config.json",
                                         s.l.scratch)),
                     0);
    assert_int_equal(life_run(&s.l, arguments, env, 30), EXIT_OK);
    assert_non_null(strstr(s.l.out, "passed  Weights "));
    assert_non_null(strstr(s.l.out, "c0ffee"));
    assert_non_null(strstr(s.l.out, "passed  Model's files "));
    shared_close(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_colleague_on_another_gpu_is_named),
                                       cmocka_unit_test(a_colleague_on_the_runs_gpu_excludes_it),
                                       cmocka_unit_test(doctor_ends_as_the_run_would),
                                       cmocka_unit_test(weights_are_looked_for_in_the_cache)};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
