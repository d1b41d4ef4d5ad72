/* The simulated engine's parts that need no process: its command line, its choice of GPUs, its numbers. */
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "check.h"
#include "sim/engine/gpu.h"
#include "sim/engine/http.h"
#include "sim/engine/metrics.h"
#include "sim/engine/options.h"
#include "sim/engine/words.h"
#include "sim/state.h"
#include "sim/truth.h"

static bool read_words(struct options *o, struct err *e, const char *const *words)
{
    int n = 0;
    while (words[n])
        n++;
    return options_read(o, n, (char **)(uintptr_t)words, e);
}

#define READ(...) read_words(&o, &e, (const char *const[]){__VA_ARGS__, NULL})

static void test_options(void **state)
{
    (void)state;
    struct options o;
    struct err e = {0};
    assert_ok(READ("serve", "/models/a", "--gpu-memory-utilization", "0.9", "--enforce-eager", "--port=18000",
                   "--tensor-parallel-size", "2", "--no-enable-prefix-caching", "--api-server-count", "4",
                   "--trust-remote-code"),
              e);
    assert_string_equal(o.model, "/models/a");
    assert_string_equal(o.served_name, "/models/a");
    assert_int_equal(o.port, 18000);
    assert_int_equal(o.gpus, 2);
    assert_false(o.prefix_cache);
    assert_close(o.stop_s, 3.1, 0);
    assert_int_equal(o.kv_tokens, 919792);
    assert_int_equal(options_ns(&o, 1.5), 1500000000);

    assert_ok(READ("serve", "m", "--sim-fault", "cut=3,crash,no-usage", "--sim-fault", "slow-metrics=7"), e);
    assert_true(options_strike(&o, FAULT_CUT, 3) && !options_strike(&o, FAULT_CUT, 2));
    assert_true(options_strike(&o, FAULT_CRASH, 0) && !options_strike(&o, FAULT_CRASH, 1));
    assert_true(options_strike(&o, FAULT_NO_USAGE, 12345));
    assert_true(options_strike(&o, FAULT_SLOW_METRICS, 0) && o.fault[FAULT_SLOW_METRICS] == 7);
    assert_false(options_strike(&o, FAULT_ORPHAN, 0));

    assert_false(READ("serve", "m", "--sim-nothing", "1"));
    assert_non_null(strstr(e.text, "--sim-nothing is not an option"));
    assert_false(READ("serve", "m", "--port", "seventy"));
    assert_non_null(strstr(e.text, "--port: 'seventy' is not a number from 0 to 65535."));
    assert_false(READ("serve", "m", "--max-model-len", "10.5"));
    assert_false(READ("serve", "m", "--sim-fault", "cut=x"));
    assert_false(READ("serve", "m", "--sim-fault", "cut="));
    assert_false(READ("serve", "m", "n"));
    assert_false(READ("serve", "m", "--port"));
    assert_false(READ("serve"));
    assert_false(READ("bench"));
    assert_false(READ("serve", "m", "--sim-kv-tokens", "100"));
}

static void test_choice_of_gpus(void **state)
{
    (void)state;
    char path[] = "/tmp/jtok-parts-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    struct err e = {0};
    struct sim_state *s;
    struct gpus g;
    assert_ok(sim_state_open(path, 4, &s, &e), e);
    setenv("JTOK_SIM_STATE", path, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_ok(gpus_open(&g, 2, &e), e);
    assert_int_equal(g.index[1], 1);
    gpus_close(&g);
    setenv("CUDA_VISIBLE_DEVICES", "GPU-00000003-0000-0000-0000-000000000054,1", 1);
    assert_ok(gpus_open(&g, 2, &e), e);
    assert_int_equal(g.index[0], 3);
    assert_int_equal(g.index[1], 1);
    g.pid[0] = g.pid[1] = getpid();
    gpus_memory(&g, 10);
    assert_int_equal(atomic_load(&s->gpus[3].memory_bytes), (int64_t)5 << 30);
    assert_int_equal(atomic_load(&s->gpus[0].memory_bytes), 0);

    /* Small and quick changes are left out, sharp ones never. */
    gpus_power(&g, 400000, true);
    gpus_power(&g, 600000, false);
    assert_int_equal(sim_power_mw(s, 3, clock_now_ns()), 400000);
    usleep(25000);
    gpus_power(&g, 405000, false);
    assert_int_equal(sim_power_mw(s, 3, clock_now_ns()), 400000);
    gpus_power(&g, 600000, false);
    assert_int_equal(sim_power_mw(s, 1, clock_now_ns()), 600000);

    gpus_release(&g, 300000000);
    int64_t now_ns = clock_now_ns();
    assert_int_equal(atomic_load(&s->gpus[3].memory_bytes), 0);
    assert_int_equal(sim_power_mw(s, 3, now_ns), 88000);
    assert_int_equal(sim_power_mw(s, 3, now_ns + 300000000), SIM_IDLE_MW);
    gpus_close(&g);

    setenv("CUDA_VISIBLE_DEVICES", "2", 1);
    assert_false(gpus_open(&g, 2, &e));
    assert_string_equal(e.text, "2 GPUs are needed, 1 are visible (CUDA_VISIBLE_DEVICES=2).");
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("JTOK_SIM_STATE");
    sim_state_close(s);
    unlink(path);
}

static void test_power_of_a_step(void **state)
{
    (void)state;
    assert_close((double)gpus_step_mw(1, 0), 348461, 1); /* 320 + 370 / 13 */
    assert_true(gpus_step_mw(1024, 0) > 685000 && gpus_step_mw(1024, 0) < 690000);
    assert_int_equal(gpus_step_mw(0, 512), SIM_LIMIT_MW);
    assert_int_equal(gpus_step_mw(300, 8192), SIM_LIMIT_MW);
    for (int64_t n = 0; n < 2000; n++)
        assert_true(gpus_step_mw(n, 0) < gpus_step_mw(n + 1, 0) + (n > 1000) && gpus_step_mw(n, 100) <= SIM_LIMIT_MW);
}

static void test_python_floats(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0.0"},           {537, "537.0"},
                 {999999, "999999.0"}, {1021227, "1.021227e+06"},
                 {2000000, "2e+06"},   {0.25, "0.25"},
                 {12345.5, "12345.5"}, {10000000.5, "1.00000005e+07"},
                 {1e15, "1e+15"},      {0.05220219871973286, "0.05220219871973286"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = {0};
        metrics_put_float(&b, cases[i].value);
        assert_string_equal(buf_text(&b), cases[i].text);
        buf_done(&b);
    }
}

static void test_natural_lengths(void **state)
{
    (void)state;
    enum { N = 20000 };
    double sum_log = 0, sum_square = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = log((double)words_length(words_mix(i, 7), 300));
        sum_log += x;
        sum_square += x * x;
    }
    double mean = sum_log / N, sigma = sqrt(sum_square / N - mean * mean);
    assert_close(mean, log(300), 0.03);
    assert_close(sigma, 0.8, 0.02);
}

static void test_request_heads(void **state)
{
    (void)state;
    static const char good[] =
        "POST /v1/completions?x=1 HTTP/1.1\r\nHost: a\r\nCONTENT-LENGTH:  12 \r\nConnection: close\r\n\r\n{";
    struct http_head h;
    for (size_t n = 0; n < sizeof good - 2; n++)
        assert_int_equal(http_read_head((struct span){good, n}, &h), HTTP_READ_MORE);
    assert_int_equal(http_read_head(span_of(good), &h), HTTP_READ_HEAD);
    assert_true(span_is(h.path, "/v1/completions") && h.body_bytes == 12 && h.close && h.head_bytes == sizeof good - 2);
    assert_int_equal(http_read_head(span_of("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), &h),
                     HTTP_READ_BAD);
    assert_int_equal(http_read_head(span_of("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), &h), HTTP_READ_BAD);
    assert_int_equal(http_read_head(span_of("nonsense\r\n\r\n"), &h), HTTP_READ_BAD);
    assert_int_equal(http_read_head(span_of("GET / HTTP/1.1\r\nno colon\r\n\r\n"), &h), HTTP_READ_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),         cmocka_unit_test(test_choice_of_gpus),
        cmocka_unit_test(test_power_of_a_step), cmocka_unit_test(test_python_floats),
        cmocka_unit_test(test_natural_lengths), cmocka_unit_test(test_request_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
