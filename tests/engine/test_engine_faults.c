/* Each fault of the simulated engine, and how it ends. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "harness.h"
#include "sim/state.h"
#include "sim/truth.h"

static void test_many_processes(void **state)
{
    (void)state;
    struct engine g;
    double took_s;
    engine_start(&g, WORDS("--api-server-count", "4", "--tensor-parallel-size", "2", "--sim-stop-s", "0.3"));
    engine_wait_ready(&g);
    /* main, core, two workers, four API servers */
    assert_int_equal(engine_left(&g), 8);
    assert_close((double)memory(&g) / 0x1p30, (15 + 112.28) / 2 + 3 * 553.0 / 1024, 0.01);
    assert_true(atomic_load(&g.state->gpus[1].pids[0]) > 0);
    assert_true(atomic_load(&g.state->gpus[1].pids[0]) != core_pid(&g));
    assert_int_equal(engine_stop(&g, &took_s), 0);
    assert_int_equal(engine_left(&g), 0);
    assert_int_equal(atomic_load(&g.state->gpus[1].memory_bytes), 0);
    engine_done(&g);
}

static void test_bad_start(void **state)
{
    (void)state;
    struct engine g, other;
    struct buf log = {0};
    double took_s;
    engine_start(&g, WORDS("--sim-fault", "exit-at-start=3"));
    int status = engine_wait(&g, &took_s);
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_int_equal(engine_left(&g), 0);
    assert_int_equal(memory(&g), 0);
    engine_log(&g, &log);
    assert_non_null(strstr(buf_text(&log), "RuntimeError: Engine core initialization failed."));
    engine_done(&g);

    engine_start(&g, WORDS("--sim-fault", "never-ready"));
    usleep(700000);
    assert_false(engine_accepts(&g));
    assert_int_equal(engine_stop(&g, NULL), 0);
    engine_done(&g);

    engine_start(&g, NULL);
    engine_wait_ready(&g);
    char port[16];
    snprintf(port, sizeof port, "%d", g.port);
    engine_start(&other, WORDS("--port", port));
    status = engine_wait(&other, NULL);
    assert_int_equal(WEXITSTATUS(status), 1);
    engine_log(&other, &log);
    assert_non_null(strstr(buf_text(&log), "[Errno 98]"));
    engine_done(&other);
    engine_done(&g);

    engine_start(&g, WORDS("--sim-fault", "nonsense"));
    status = engine_wait(&g, NULL);
    assert_int_equal(WEXITSTATUS(status), 2);
    engine_log(&g, &log);
    assert_non_null(
        strstr(buf_text(&log), "The fault 'nonsense' of --sim-fault is not known. Known are: exit-at-start"));
    engine_done(&g);
    buf_done(&log);
}

static void test_wrong_identity(void **state)
{
    (void)state;
    struct engine g;
    struct answer x;
    engine_start(&g, WORDS("--sim-fault", "wrong-model,wrong-length,slow-metrics=1"));
    engine_wait_ready(&g);
    ask_one(&g, "/v1/models", NULL, &x);
    assert_non_null(strstr(buf_text(&x.body), "\"max_model_len\":4096"));
    assert_non_null(strstr(buf_text(&x.body), "\"id\":\"somebody/else\""));
    answer_done(&x);
    double began = seconds_now();
    ask_one(&g, "/metrics", NULL, &x);
    assert_true(seconds_now() - began >= 1 && seconds_now() - began < 3);
    assert_int_equal(x.status, 200);
    answer_done(&x);
    engine_done(&g);
}

static void test_stop_faults(void **state)
{
    (void)state;
    struct engine g;
    engine_start(&g, WORDS("--sim-fault", "hang-at-stop"));
    engine_wait_ready(&g);
    kill(g.pid, SIGTERM);
    usleep(1000000);
    assert_true(engine_accepts(&g));
    kill(g.pid, SIGKILL);
    engine_wait(&g, NULL);
    usleep(50000);
    while (waitpid(-g.pid, NULL, WNOHANG) > 0)
        ;
    assert_int_equal(engine_left(&g), 0);
    /* Nobody was left to write it: the reader's rule. */
    int64_t now_ns = clock_now_ns();
    assert_int_equal(sim_power_mw(g.state, 0, now_ns), SIM_CONTEXT_MW);
    sim_processes_reap(g.state, 0, now_ns);
    assert_int_equal(memory(&g), 0);
    assert_int_equal(sim_power_mw(g.state, 0, now_ns), SIM_IDLE_MW);
    engine_done(&g);

    engine_start(&g, WORDS("--sim-fault", "orphan", "--sim-stop-s", "0.1"));
    engine_wait_ready(&g);
    assert_int_equal(engine_stop(&g, NULL), 0);
    assert_int_equal(engine_left(&g), 1);
    assert_true(memory(&g) > 0);
    kill(core_pid(&g), SIGTERM);
    usleep(50000);
    assert_int_equal(engine_left(&g), 1);
    engine_done(&g);
}

/* Faults of single requests: number 1 of three is struck, the others are whole. */
static void test_request_faults(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        int status;
        enum ending ending;
        bool done, error;
        int64_t chunks, usage;
    } cases[] = {
        {"http-400=1", 400, COMPLETE, false, true, 0, -1},  {"http-429=1", 429, COMPLETE, false, true, 0, -1},
        {"http-500=1", 500, COMPLETE, false, true, 0, -1},  {"error-in-stream=1", 200, COMPLETE, true, true, 1, -1},
        {"cut=1", 200, CUT_OFF, false, false, 2, -1},       {"reset=1", 200, RESET_BY_PEER, false, false, -1, -1},
        {"silent=1", 0, STILL_OPEN, false, false, 0, -1},   {"no-usage=1", 200, COMPLETE, true, false, 20, -1},
        {"no-done=1", 200, COMPLETE, false, false, 20, 20},
    };
    char *body = body_of("hello", ",\"max_tokens\":20,\"ignore_eos\":true");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct engine g;
        engine_start(&g, WORDS("--sim-start-s", "0.05", "--sim-step-s", "0.002", "--sim-fault", cases[i].fault));
        engine_wait_ready(&g);
        for (int n = 0; n < 3; n++) {
            struct answer x;
            ask_all(&g, "/v1/chat/completions", (const char *const *)&body, 1, 0.5, &x);
            assert_int_equal(x.status, n == 1 ? cases[i].status : 200);
            assert_int_equal(x.ending, n == 1 ? cases[i].ending : COMPLETE);
            assert_int_equal(x.done, n == 1 ? cases[i].done : true);
            assert_int_equal(x.error, n == 1 && cases[i].error);
            if (n != 1 || cases[i].chunks >= 0)
                assert_int_equal(x.chunks, n == 1 ? cases[i].chunks : 20);
            assert_int_equal(x.usage, n == 1 ? cases[i].usage : 20);
            answer_done(&x);
        }
        engine_done(&g);
    }
    free(body);
}

static void test_crashes(void **state)
{
    (void)state;
    struct engine g;
    static struct answer x[3];
    char *body = body_of("hello", ",\"max_tokens\":200,\"ignore_eos\":true");
    const char *bodies[] = {body, body, body};
    engine_start(&g, WORDS("--sim-fault", "crash"));
    engine_wait_ready(&g);
    ask_all(&g, "/v1/chat/completions", bodies, 3, 5, x);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(x[i].status, 200);
        assert_true(x[i].error && x[i].done);
        assert_true(x[i].chunks >= 2 && x[i].chunks < 200);
        answer_done(&x[i]);
    }
    int status = engine_wait(&g, NULL);
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_int_equal(engine_left(&g), 0);
    assert_int_equal(memory(&g), 0);
    assert_int_equal(sim_power_mw(g.state, 0, clock_now_ns() + 1500000000), SIM_IDLE_MW);
    engine_done(&g);

    engine_start(&g, WORDS("--sim-fault", "killed"));
    engine_wait_ready(&g);
    ask_all(&g, "/v1/chat/completions", bodies, 3, 5, x);
    for (int i = 0; i < 3; i++) {
        assert_true(x[i].ending == CUT_OFF || x[i].ending == RESET_BY_PEER);
        answer_done(&x[i]);
    }
    status = engine_wait(&g, NULL);
    assert_true(WIFSIGNALED(status));
    engine_done(&g);
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_processes), cmocka_unit_test(test_bad_start),
        cmocka_unit_test(test_wrong_identity), cmocka_unit_test(test_stop_faults),
        cmocka_unit_test(test_request_faults), cmocka_unit_test(test_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
