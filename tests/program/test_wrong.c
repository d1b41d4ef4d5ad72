/* Wrong inputs and a machine that is not as it should be: the exit code, and the message to the letter. In messages "@"
 * stands for this test's scratch folder; times, pids and ports are blanked as digits where they differ from run to run.
 */
#include "check.h"

#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "cli/exit.h"
#include "program/harness.h"
#include "sim/state.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ENV(...)  ((const char *const[]){__VA_ARGS__, NULL})

#define GPU_0 "GPU 0 (GPU-00000000-0000-0000-0000-000000000051)"

/* The program's stderr with the scratch folder as "@" and the build folder as "%". */
static const char *plain(struct life *l)
{
    struct buf b = {0};
    for (const char *c = l->err; *c;) {
        if (strncmp(c, l->scratch, strlen(l->scratch)) == 0) {
            buf_byte(&b, '@');
            c += strlen(l->scratch);
        } else if (strncmp(c, JTOK_BIN, strlen(JTOK_BIN)) == 0) {
            buf_byte(&b, '%');
            c += strlen(JTOK_BIN);
        } else {
            buf_byte(&b, *c++);
        }
    }
    const char *text = arena_text(&l->arena, buf_text(&b));
    buf_done(&b);
    return text;
}

static void expect(struct life *l, int code, const char *text)
{
    const char *seen = plain(l);
    if (l->code != code || !strstr(seen, text))
        print_error("exit code %d, expected %d; stderr:\n%s\nexpected in it:\n%s\n", l->code, code, seen, text);
    assert_int_equal(l->code, code);
    assert_non_null(strstr(seen, text));
    assert_int_equal(life_survivors(l), 0);
}

static void run_plan(struct life *l, const char *plan, const char *const *env)
{
    life_run(l, ARGS("run", "--quiet", "--format", "none", plan), env, 60);
}

static void no_plan_file(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    run_plan(&l, arena_format(&l.arena, "%s/none.yaml", l.scratch), NULL);
    expect(&l, EXIT_PLAN, "jtok: @/none.yaml: The plan can't be opened: No such file or directory.\n");
    life_close(&l);
}

static void wrong_keys_all_at_once(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "",
                                 arena_format(&l.arena,
                                              "requests:\n"
                                              "  file: %s/prompts.jsonl\n"
                                              "  cuont: 5\n"
                                              "  count: many\n"
                                              "  api: chatt\n",
                                              l.scratch));
    run_plan(&l, plan, NULL);
    expect(&l, EXIT_PLAN,
           "jtok: @/plan.yaml:10:3: requests.cuont: There is no such key. Did you mean requests.count? Allowed here: "
           "file, "
           "api, count, random, lengths, temperature, top_p, seed, continuous_usage, connect, extra_body.\n"
           "@/plan.yaml:11:10: requests.count: 'many' is not allowed here. Allowed: a whole number from 1 to 4000000 "
           "(requests).\n"
           "@/plan.yaml:12:8: requests.api: 'chatt' is not allowed here. Allowed: one of chat, completions.\n");
    life_close(&l);
}

#define ROW                                                                                                            \
    "Each line must be an object with \"prompt\" (a text) or \"messages\" (a list of objects with \"role\" and "       \
    "\"content\").\n"

static void request_set_faults(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", arena_format(&l.arena, "requests: {file: %s/none.jsonl}\n", l.scratch));
    run_plan(&l, plan, NULL);
    expect(&l, EXIT_PLAN, "jtok: requests.file: @/none.jsonl can't be opened: No such file or directory.\n");
    plan = life_plan(&l, "", life_requests(&l, ""));
    life_file(&l, "prompts.jsonl", "\n");
    run_plan(&l, plan, NULL);
    expect(&l, EXIT_PLAN, "jtok: @/prompts.jsonl: The request set is empty. " ROW);
    life_file(&l, "prompts.jsonl", "{\"prompt\":\"one\"}\n{\"text\":\"two\"}\n{\"prompt\":3}\n{\"prompt\n");
    run_plan(&l, plan, NULL);
    expect(&l, EXIT_PLAN,
           "jtok: @/prompts.jsonl:2: There is neither \"prompt\" nor \"messages\" here: the line has text. Each line "
           "must be an object "
           "with \"prompt\" (a text) or \"messages\" (a list of objects with \"role\" and \"content\"). This "
           "converts it: jq -c '{prompt: .text}' @/prompts.jsonl > new.jsonl\n"
           "@/prompts.jsonl:3: prompt: Expected a text, but found a number. " ROW
           "@/prompts.jsonl:4:2: This is not JSON: a string without its closing quote. " ROW);
    life_close(&l);
}

static void port_in_use(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    char option[64];
    snprintf(option, sizeof option, ", --port, '%d'", ntohs(address.sin_port));
    run_plan(&l, life_plan(&l, option, life_requests(&l, "")), NULL);
    expect(&l, EXIT_BUSY,
           arena_format(
               &l.arena,
               "jtok: 127.0.0.1:%d is in use by pid %d (program.wrong). Stop what listens there, or choose another "
               "engine.port.\n",
               ntohs(address.sin_port), getpid()));
    close(fd);
    life_close(&l);
}

/* An engine that somebody left behind excludes the run; that is told before it, not after. */
/* An engine that somebody left behind counts on the GPUs of the run; elsewhere it is another user's, and named. */
static void leftover_engine(void **state)
{
    (void)state;
    struct life l;
    struct err e;
    struct sim_state *sim;
    life_open(&l);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_NAME, "VLLM::Leftover");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    usleep(100000);
    assert_ok(sim_state_open(l.state, 2, &sim, &e), e);
    sim_process_set(sim, 1, pid, INT64_C(1) << 30);
    const char *plan = life_plan(&l, "", life_requests(&l, "")),
               *who = arena_format(&l.arena, "pid %d (VLLM::Leftover)", (int)pid);
    life_run(&l, ARGS("run", "--dry-run", "-g", "0", plan), NULL, 30);
    assert_int_equal(l.code, EXIT_OK);
    assert_null(strstr(l.err, who));
    assert_non_null(strstr(l.out, "none here; on other GPUs: "));
    assert_non_null(strstr(l.out, arena_format(&l.arena, "pid %d", (int)pid)));
    /* With loads it is valid all the same, and its user is told. */
    life_run(&l, ARGS("run", "--dry-run", "-g", "1", "--despite-preflight", plan, "--concurrency", "2"), NULL, 30);
    expect(&l, EXIT_OK,
           "jtok: The machine is not in a normal state, and what else runs can change what the loads take. ");
    life_run(&l, ARGS("run", "--dry-run", "-g", "1", "--despite-preflight", plan), NULL, 30);
    expect(&l, EXIT_OK,
           "jtok: The machine is not in a normal state, so this run will be excluded (preflight_failed). Expected: no "
           "engine left behind. Seen: ");
    expect(&l, EXIT_OK, who);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sim_state_close(sim);
    life_close(&l);
}

static void port_out_of_range(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    run_plan(&l, life_plan(&l, ", --port, '99999'", life_requests(&l, "")), NULL);
    expect(&l, EXIT_PLAN, "jtok: The engine's port 99999 is not between 1 and 65535. Correct --port or engine.port.\n");
    life_close(&l);
}

static void engine_exits_at_start(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    run_plan(&l, life_plan(&l, ", --sim-fault, exit-at-start=3", life_requests(&l, "")), NULL);
    expect(&l, EXIT_ENGINE,
           "jtok: The engine ended by itself with exit status 3 in the stage \"start\". The end of its output:\n");
    expect(&l, EXIT_ENGINE, "Traceback");
    assert_true(l.folder[0]);
    assert_true(life_records(&l)->sealed);
    life_close(&l);
}

/* Both before anything has begun. */
static void plan_fights_the_method(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    life_run(&l, ARGS("run", "--dry-run", "--set", "engine.env={TVM_FFI_CACHE_DIR: /tmp}", plan), NULL, 30);
    expect(
        &l, EXIT_PLAN,
        "jtok: engine.env sets TVM_FFI_CACHE_DIR, which jtok sets itself: each run starts cold, with compile caches of "
        "its own. Take it out of the plan.\n");
    assert_int_equal(access(l.runs, F_OK), -1);
    life_close(&l);
}

static void engine_cannot_be_found(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    life_plan(&l, "", life_requests(&l, ""));
    const char *plan = arena_format(&l.arena, "%s/plan.yaml", l.scratch);
    life_run(&l, ARGS("run", "--quiet", "--format", "none", plan, "--", "no-such-engine", "serve", "simulated/model"),
             NULL, 60);
    expect(
        &l, EXIT_ENGINE,
        "jtok: The engine's command \"no-such-engine\" was not found in the PATH. Activate the environment that it is "
        "installed in, or give its full path in the plan (engine.command).\n");
    assert_int_equal(access(l.runs, F_OK), -1);
    life_close(&l);
}

static void engine_never_ready(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    run_plan(&l,
             life_plan(&l, ", --sim-fault, never-ready",
                       arena_format(&l.arena, "%slimits: {ready_s: 3}\n", life_requests(&l, ""))),
             NULL);
    expect(&l, EXIT_ENGINE,
           "jtok: The engine was not ready after 3 s: 127.0.0.1/health answered nothing. If it only needs longer, "
           "raise limits.ready_s. "
           "The end of its output:\n");
    life_close(&l);
}

static void wrong_model(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    run_plan(&l, life_plan(&l, ", --sim-fault, wrong-model", life_requests(&l, "")), NULL);
    expect(
        &l, EXIT_ENGINE,
        "jtok: The engine that runs is not the one in the plan. model: the plan says simulated/model, the engine says "
        "somebody/else. "
        "root: the plan says simulated/model, the engine says /nonexistent/somebody/else. Change the command or the "
        "plan so that they agree.\n");
    life_close(&l);
}

static void wrong_context_length(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    run_plan(&l, life_plan(&l, ", --max-model-len, '4096', --sim-fault, wrong-length", life_requests(&l, "")), NULL);
    expect(&l, EXIT_ENGINE,
           "jtok: The engine that runs is not the one in the plan. context_length: the plan says 4096, the engine says "
           "2048. "
           "Change the "
           "command or the plan so that they agree.\n");
    life_close(&l);
}

static void gpu_is_busy(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    run_plan(&l, plan, ENV("JTOK_SIM_FAULT=busy_process"));
    char name[32] = "";
    FILE *f = fopen("/proc/1/comm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%31[^\n]", name), 1);
    fclose(f);
    expect(&l, EXIT_BUSY,
           arena_format(&l.arena,
                        "jtok: " GPU_0
                        " is in use by 1 compute process: pid 1 (%s). Stop it, or choose other GPUs with "
                        "--gpus; an idle machine is part of the measurement.\n",
                        name));
    assert_false(l.folder[0]);
    /* Going on is allowed, and excludes the run. Here the baseline still refuses, since a process is there at every
     * sample. */
    life_run(&l, ARGS("run", "--quiet", "--format", "none", "--despite-preflight", plan),
             ENV("JTOK_SIM_FAULT=busy_process"), 60);
    expect(&l, EXIT_BUSY,
           "jtok: The machine did not become idle within 2 s, so there is no baseline. " GPU_0
           ": compute processes were on "
           "it (up to 1). Stop what runs there (nvidia-smi shows it), wait until power is steady, and start again.\n");
    assert_true(l.folder[0]);
    life_close(&l);
}

static void gpu_is_not_idle(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    run_plan(&l, life_plan(&l, "", life_requests(&l, "")), ENV("JTOK_SIM_FAULT=not_idle"));
    expect(&l, EXIT_BUSY,
           "jtok: The machine did not become idle within 2 s, so there is no baseline. " GPU_0
           ": the standard deviation ");
    expect(&l, EXIT_BUSY, " W is over its limit of ");
    expect(&l, EXIT_BUSY,
           " Stop what runs there (nvidia-smi shows it), wait until power is steady, and start again.\n");
    life_close(&l);
}

static void gpu_is_lost(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    /* A release that can't be watched is not waited for. */
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    life_run(&l, ARGS("run", "--quiet", "--format", "none", "--set", "method.release_wait_s=300", plan),
             ENV("JTOK_SIM_FAULT=lost@3"), 60);
    expect(&l, EXIT_DEVICE, "jtok: A GPU was lost during the run");
    assert_true(life_records(&l)->sealed);
    life_close(&l);
}

static void no_driver(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    life_run(&l, ARGS("run", "--quiet", "--set", "power.library=/nowhere/libnvidia-ml.so.1", plan), NULL, 30);
    expect(
        &l, EXIT_DEVICE,
        "jtok: The NVML library /nowhere/libnvidia-ml.so.1 that power.library names could not be loaded "
        "(/nowhere/libnvidia-ml.so.1: cannot open shared object file: No such file or directory). Correct the path, or "
        "leave it out to use the driver's own.\n");
    run_plan(&l, plan, ENV("JTOK_SIM_FAULT=no_driver"));
    expect(&l, EXIT_DEVICE,
           "jtok: NVML (%/libnvidia-ml.so.1) could not be opened: the NVIDIA kernel driver is not loaded: 'modprobe "
           "nvidia', "
           "or install the driver of this kernel and reboot (code 9).\n");
    life_close(&l);
}

static void mig_is_refused(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    run_plan(&l, life_plan(&l, "", life_requests(&l, "")), ENV("JTOK_SIM_FAULT=mig"));
    expect(&l, EXIT_DEVICE,
           "jtok: " GPU_0
           " is in MIG mode: its power and energy are those of the whole board and can't be told apart. Turn "
           "MIG off, as root, or choose other GPUs. The command for it: 'nvidia-smi -i 0 -mig 0'.\n");
    life_close(&l);
}

static int entries(const char *folder)
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    int n = 0;
    for (struct dirent *f; (f = readdir(d));)
        n += f->d_name[0] != '.';
    closedir(d);
    return n;
}

/* A real full disk: a small tmpfs under the runs folder. */
static void disk_is_full(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan =
        life_plan(&l, ", --sim-step-s, '0.02'",
                  life_requests(&l, ", count: 300, lengths: {kind: fixed, tokens: 400, ignore_eos: true}"));
    mkdir(l.runs, 0777);
    if (mount("tmpfs", l.runs, "tmpfs", 0, "size=512k") != 0) {
        print_message("skipped: mounting a tmpfs needs root\n");
        life_close(&l);
        skip();
    }
    life_run(&l, ARGS("run", "--quiet", "--format", "none", plan), NULL, 60);
    expect(&l, EXIT_SYSTEM,
           " has 0 MiB free; the records of this run may take 68 MiB. Free some space, or put the runs elsewhere with "
           "--runs.\n");
    assert_int_equal(entries(l.runs), 0);
    life_run(&l, ARGS("run", "--quiet", "--format", "none", "--despite-preflight", plan), NULL, 60);
    const char *seen = plain(&l);
    int code = l.code;
    int survivors = life_survivors(&l);
    assert_int_equal(umount2(l.runs, MNT_DETACH), 0);
    if (code != EXIT_SYSTEM)
        print_error("%d: %s\n", code, seen);
    assert_int_equal(code, EXIT_SYSTEM);
    assert_non_null(strstr(seen, "No space left on device"));
    assert_int_equal(survivors, 0);
    life_close(&l);
}

/* A key must not be found anywhere in the run folder, in whatever form it came. */
static void secrets_stay_out(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan =
        life_plan(&l, ", --api-key, sesame-opens-1234", arena_format(&l.arena, "%s", life_requests(&l, "")));
    life_run(&l, ARGS("run", "--quiet", "--format", "none", plan),
             ENV("HF_TOKEN=hf_abcdefghij", "JTOK_API_KEY=sesame-opens-1234"), 60);
    assert_int_equal(l.code, EXIT_EXCLUDED);
    char command[700];
    snprintf(command, sizeof command,
             "cd '%s' && for f in *.zst; do zstd -dqc \"$f\" > \"$f.txt\"; done; "
             "! grep -rlE 'sesame-opens|hf_abcdefghij' .",
             l.folder);
    assert_int_equal(system(command), 0);
    assert_true(life_records(&l)->run.secrets_replaced > 0);
    life_close(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_file),
        cmocka_unit_test(wrong_keys_all_at_once),
        cmocka_unit_test(request_set_faults),
        cmocka_unit_test(port_in_use),
        cmocka_unit_test(leftover_engine),
        cmocka_unit_test(port_out_of_range),
        cmocka_unit_test(engine_exits_at_start),
        cmocka_unit_test(plan_fights_the_method),
        cmocka_unit_test(engine_cannot_be_found),
        cmocka_unit_test(engine_never_ready),
        cmocka_unit_test(wrong_model),
        cmocka_unit_test(wrong_context_length),
        cmocka_unit_test(gpu_is_busy),
        cmocka_unit_test(gpu_is_not_idle),
        cmocka_unit_test(gpu_is_lost),
        cmocka_unit_test(no_driver),
        cmocka_unit_test(mig_is_refused),
        cmocka_unit_test(disk_is_full),
        cmocka_unit_test(secrets_stay_out),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
