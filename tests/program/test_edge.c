/* Edges of a life: an engine that dies or sits on a Unix socket, interruptions outside the stages, waits that must not
 * be longer or shorter than the method says. */
#include "check.h"

#include <fcntl.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/exit.h"
#include "program/harness.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static double mark_s(const struct records *r, enum boundary from, enum boundary to)
{
    assert_true(records_boundary(r, from) != ABSENT_I64 && records_boundary(r, to) != ABSENT_I64);
    return (double)(records_boundary(r, to) - records_boundary(r, from)) / 1e9;
}

static void engine_dies_in_formal(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan =
        life_plan(&l, ", --sim-fault, crash=20",
                  life_requests(&l, ", count: 20, lengths: {kind: fixed, tokens: 400, ignore_eos: true}"));
    assert_int_equal(life_run(&l, ARGS("run", plan), NULL, 60), EXIT_ENGINE);
    assert_non_null(strstr(l.err, "in the stage \"formal\". The end of its output:\n"));
    /* The very end, whatever many access lines stand before it. */
    assert_non_null(strstr(l.err, "died unexpectedly, shutting down client."));
    assert_int_equal(life_survivors(&l), 0);
    struct records *r = life_records(&l);
    assert_true(r->sealed);
    assert_null(r->damage);
    assert_true(records_boundary(r, BOUNDARY_FORMAL_END) > 0 && records_boundary(r, BOUNDARY_EXIT) > 0);
    assert_int_equal(r->request_count, 20);
    assert_int_equal(life_also(&l, ARGS("analyze", l.folder)), EXIT_EXCLUDED);
    assert_non_null(strstr(l.out, "engine_failed"));
    life_close(&l);
}

static void engine_on_a_unix_socket(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *host = arena_format(&l.arena, "engine.host=unix:%s/socket", l.scratch);
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    assert_int_equal(life_run(&l, ARGS("run", "--set", host, plan), NULL, 60), EXIT_EXCLUDED);
    struct records *r = life_records(&l);
    assert_int_equal(r->request_count, 3);
    for (size_t i = 0; i < r->request_count; i++)
        assert_int_equal(r->requests[i].verdict, VERDICT_OK);
    assert_string_equal(r->run.stamp_source, "read");
    assert_int_equal(access(arena_format(&l.arena, "%s/engine-cache", l.folder), F_OK), -1);
    assert_int_equal(access(arena_format(&l.arena, "%s/engine-work", l.folder), F_OK), -1);
    /* As the command says it, and taken. */
    life_file(&l, "socket", "");
    plan = life_plan(&l, arena_format(&l.arena, ", --uds, %s/socket", l.scratch), life_requests(&l, ""));
    assert_int_equal(life_run(&l, ARGS("run", plan), NULL, 60), EXIT_BUSY);
    assert_non_null(strstr(l.err, "/socket exists already and nobody listens there. Remove the file"));
    life_close(&l);
}

/* Without a counter of generated tokens there is nothing to settle: the engine is stopped at once. */
static void nothing_to_settle(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    assert_int_equal(life_run(&l, ARGS("run", "--set", "engine.metrics_path=/nothing", plan), NULL, 60), EXIT_EXCLUDED);
    struct records *r = life_records(&l);
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_STOP) < 0.1);
    /* Answers end by themselves in this plan, but not those of the warm-up. */
    assert_int_equal(r->warmup_count, 1 + 8);
    for (size_t i = 0; i < r->warmup_count; i++)
        if (r->warmups[i].stage == REQUEST_WARMUP)
            assert_int_equal(r->warmups[i].completion_tokens, 64);
    life_close(&l);
}

/* What an engine generated to warm itself up is in its counter, and no request's. */
static void engine_warms_itself_up(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, ", --sim-own-tokens, '24'", life_requests(&l, ""));
    assert_int_equal(life_run(&l, ARGS("run", plan), NULL, 60), EXIT_EXCLUDED);
    const struct records *r = life_records(&l);
    assert_true(r->metrics[0].t_ns < records_boundary(r, BOUNDARY_READY));
    assert_close(r->metrics[0].generation_tokens, 12, 0);
    const struct result_check *c = &life_result(&l)->checks[CODE_USAGE_DISAGREES];
    assert_int_equal(c->outcome, CHECK_PASSED);
    assert_non_null(strstr(c->why, "above its count before the formal stage"));
    life_close(&l);
}

/* The release is reached within the wait, its proof ends behind it. */
static void hold_ends_behind_the_wait(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    int code =
        life_run(&l, ARGS("run", "--set", "method.hold_s=5", "--set", "method.release_wait_s=5", plan), NULL, 60);
    assert_int_equal(code, EXIT_EXCLUDED);
    struct records *r = life_records(&l);
    assert_int_equal(records_boundary(r, BOUNDARY_RELEASE_TIMEOUT), ABSENT_I64);
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_RELEASE_END) < 5);
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_HOLD_END) > 5);
    assert_true(life_result(&l)->release.closed);
    life_close(&l);
}

static void release_that_never_comes(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, ", --sim-release-s, '30'", life_requests(&l, ""));
    assert_int_equal(life_run(&l, ARGS("run", "--set", "method.release_wait_s=3", plan), NULL, 60), EXIT_EXCLUDED);
    struct records *r = life_records(&l);
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_RELEASE_TIMEOUT) >= 3);
    assert_true(mark_s(r, BOUNDARY_FORMAL_END, BOUNDARY_RELEASE_TIMEOUT) < 4.5);
    struct result *q = life_result(&l);
    assert_false(q->release.closed);
    assert_true(result_stage_of(q, STAGE_RELEASE)->energy.counter.value > 0);
    life_close(&l);
}

/* While the plan is resolved nothing exists yet, and nothing comes about. The request set is a pipe that keeps it
 * there.
 */
static void interrupted_before_the_folder(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    const char *pipe = arena_format(&l.arena, "%s/prompts.jsonl", l.scratch);
    assert_int_equal(unlink(pipe), 0);
    assert_int_equal(mkfifo(pipe, 0666), 0);
    signal(SIGPIPE, SIG_IGN);
    life_start(&l, ARGS("run", plan), NULL);
    int fd = open(pipe, O_WRONLY | O_CLOEXEC); /* returns when the program has opened it */
    assert_true(fd >= 0);
    life_signal(&l, SIGINT);
    static const char line[] = "{\"prompt\":\"one\"}\n";
    for (int i = 0; i < 25; i++) { /* as often as it is read */
        if (fd >= 0) {
            /* The program may have left it meanwhile. */
            assert_true(write(fd, line, sizeof line - 1) == sizeof line - 1 || errno == EPIPE);
            close(fd);
        }
        usleep(20000);
        fd = open(pipe, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    }
    assert_int_equal(life_wait(&l, 20), EXIT_INTERRUPTED);
    assert_non_null(strstr(l.err, "Interrupted before anything was started; nothing was written."));
    assert_int_equal(access(l.runs, F_OK), -1);
    life_close(&l);
}

/* A lost terminal is an interruption like any other; a program under nohup does not hear of it. */
static void terminal_is_lost(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    life_start(&l, ARGS("run", life_plan(&l, "", life_requests(&l, ""))), NULL);
    life_wait_for(&l, "starting the engine", 30);
    life_signal(&l, SIGHUP);
    assert_int_equal(life_wait(&l, 60), EXIT_INTERRUPTED);
    assert_int_equal(life_survivors(&l), 0);
    assert_true(life_records(&l)->sealed);
    life_close(&l);
}

/* An engine that ignores SIGTERM: the second Ctrl-C kills it. */
static void second_interrupt_kills(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    life_start(&l, ARGS("run", life_plan(&l, ", --sim-fault, hang-at-stop", life_requests(&l, ""))), NULL);
    life_wait_for(&l, "warm-up", 30);
    life_signal(&l, SIGINT);
    life_wait_for(&l, "Press Ctrl-C again to cut this short", 10);
    usleep(1000000);
    assert_true(life_survivors(&l) > 0);
    life_signal(&l, SIGINT);
    assert_int_equal(life_wait(&l, 10), EXIT_INTERRUPTED);
    assert_int_equal(life_survivors(&l), 0);
    struct records *r = life_records(&l);
    assert_true(r->sealed);
    assert_true(records_boundary(r, BOUNDARY_EXIT) > 0);
    assert_true(records_boundary(r, BOUNDARY_RELEASE_TIMEOUT) > 0);
    assert_int_equal(r->run.engine_exit_status, 128 + SIGKILL);
    life_close(&l);
}

/* The guardian is the program's only child. */
static void guardian_is_killed(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, ", --sim-step-s, '0.05'",
                                 life_requests(&l, ", lengths: {kind: fixed, tokens: 400, ignore_eos: true}"));
    life_start(&l, ARGS("run", plan), NULL);
    life_wait_for(&l, "formal requests", 30);
    const char *path = arena_format(&l.arena, "/proc/%d/task/%d/children", (int)l.pid, (int)l.pid);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    int guardian = 0;
    assert_int_equal(fscanf(f, "%d", &guardian), 1);
    fclose(f);
    assert_int_equal(kill(guardian, SIGKILL), 0);
    assert_int_equal(life_wait(&l, 60), EXIT_SYSTEM);
    assert_non_null(strstr(l.err, "jtok: Another process killed the guardian between jtok and the engine"));
    assert_int_equal(life_survivors(&l), 0);
    assert_true(life_records(&l)->sealed);
    life_close(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine_dies_in_formal),
        cmocka_unit_test(engine_on_a_unix_socket),
        cmocka_unit_test(nothing_to_settle),
        cmocka_unit_test(engine_warms_itself_up),
        cmocka_unit_test(hold_ends_behind_the_wait),
        cmocka_unit_test(release_that_never_comes),
        cmocka_unit_test(interrupted_before_the_folder),
        cmocka_unit_test(terminal_is_lost),
        cmocka_unit_test(second_interrupt_kills),
        cmocka_unit_test(guardian_is_killed),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
