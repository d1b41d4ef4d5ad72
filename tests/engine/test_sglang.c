/* The simulated engine as SGLang: what it says and answers is what a real one was recorded to say and answer, as far as
 * jtok looks at it. */
#include <stdlib.h>
#include <unistd.h>
#include "harness.h"
#include "text/file_read.h"
#include "text/json.h"

#define SGLANG "--flavour", "sglang", "--enable-metrics"

static int status_of(const struct engine *g, const char *path, struct buf *ret_body)
{
    struct answer x;
    ask_one(g, path, NULL, &x);
    int status = x.status;
    if (ret_body && x.body.n)
        buf_add(ret_body, x.body.p, x.body.n);
    answer_done(&x);
    return status;
}

static void wait_until_healthy(struct engine *g)
{
    engine_wait_ready(g);
    double until = seconds_now() + 20;
    while (status_of(g, "/health", NULL) != 200) {
        assert_true(seconds_now() < until);
        usleep(5000);
    }
}

/* It answers before it is ready, as 503 on /health, and then has made one request of 8 tokens a tokenizer worker. */
static void it_serves_before_it_is_ready(void **state)
{
    (void)state;
    struct engine g;
    struct buf models = {0}, log = {0};
    engine_start(&g, WORDS(SGLANG, "--tokenizer-worker-num", "3", "--sim-start-s", "5", "--sim-stop-s", "0.1"));
    engine_wait_ready(&g); /* from here on 6 % of the start, 0.3 s, are left */
    assert_int_equal(status_of(&g, "/health", NULL), 503);
    assert_int_equal(status_of(&g, "/v1/models", &models), 200);
    assert_non_null(strstr(buf_text(&models), "\"id\":\"m/m\""));
    assert_non_null(strstr(buf_text(&models), "\"owned_by\":\"sglang\",\"root\":\"m/m\""));
    engine_log(&g, &log);
    assert_null(strstr(buf_text(&log), "fired up"));
    wait_until_healthy(&g);
    buf_clear(&log);
    engine_log(&g, &log);
    assert_non_null(strstr(buf_text(&log), "The server is fired up and ready to roll!"));
    usleep(50000); /* /metrics shows what was 10 ms ago */
    assert_close(engine_metric(&g, "sglang:generation_tokens_total"), 3 * 8, 0);
    assert_close(engine_metric(&g, "sglang:num_requests_total"), 3, 0);
    assert_int_equal(engine_left(&g), 5); /* main, the scheduler, three tokenizer workers */
    buf_done(&models);
    buf_done(&log);
    engine_done(&g);
}

static void paths_are_its_own(void **state)
{
    (void)state;
    struct engine g;
    struct buf body = {0};
    engine_start(&g, WORDS("--flavour", "sglang", "--skip-server-warmup", "--context-length", "4096"));
    wait_until_healthy(&g);
    assert_int_equal(status_of(&g, "/version", NULL), 404);
    assert_int_equal(status_of(&g, "/load", NULL), 404);
    assert_int_equal(status_of(&g, "/metrics", NULL), 404); /* without --enable-metrics */
    assert_int_equal(status_of(&g, "/v1/loads", &body), 200);
    assert_non_null(strstr(buf_text(&body), "\"version\":\"0.5.16\""));
    buf_clear(&body);
    assert_int_equal(status_of(&g, "/get_server_info", &body), 200);
    assert_non_null(strstr(buf_text(&body), "\"context_length\":4096,\"tp_size\":1"));
    buf_done(&body);
    engine_done(&g);

    engine_start(&g, NULL);
    engine_wait_ready(&g);
    assert_int_equal(status_of(&g, "/v1/loads", NULL), 404);
    assert_int_equal(status_of(&g, "/server_info", NULL), 404);
    engine_done(&g);
}

/* Each key of an answer stands in the recorded one. */
static void keys_are_recorded(struct span ours, const char *recorded)
{
    struct json j;
    json_init(&j, ours);
    for (enum json_kind k; (k = json_next(&j)) != JSON_END;) {
        char key[80];
        assert_int_not_equal(k, JSON_ERROR);
        snprintf(key, sizeof key, "\"%.*s\":", SPAN_ARG(j.raw));
        if (k == JSON_KEY && !strstr(recorded, key))
            fail_msg("%s is in no recorded answer", key);
    }
}

static void keys_and_log_are_those_of_a_recording(void **state)
{
    (void)state;
    static const char *const answers[][2] = {{"/v1/models", "get_v1_models.body"},
                                             {"/v1/loads", "get_v1_loads.body"},
                                             {"/model_info", "get_model_info.body"}};
    /* What jtok reads a start by, in its order. */
    static const char *const lines[] = {"server_args=ServerArgs(model_path='",
                                        "Init torch distributed begin.",
                                        "Load weight begin. avail mem=",
                                        "Load weight end. elapsed=",
                                        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: ",
                                        "Capture target decode CUDA graph begin",
                                        "Capture target decode CUDA graph end",
                                        "max_total_num_tokens=",
                                        "INFO:     Application startup complete.",
                                        "INFO:     Uvicorn running on http://",
                                        "The server is fired up and ready to roll!"};
#define RECORDED JTOK_SHARED "/h200/sglang-0.5.16/"
    if (access(RECORDED "engine.log", R_OK) != 0)
        skip();
    struct engine g;
    struct err e = {0};
    struct buf log = {0}, real = {0};
    engine_start(&g, WORDS(SGLANG));
    wait_until_healthy(&g);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct buf ours = {0}, recorded = {0};
        char path[200];
        snprintf(path, sizeof path, RECORDED "http/%s", answers[i][1]);
        assert_ok(file_read(path, 0, &recorded, &e), e);
        assert_int_equal(status_of(&g, answers[i][0], &ours), 200);
        keys_are_recorded(buf_span(&ours), buf_text(&recorded));
        buf_done(&ours);
        buf_done(&recorded);
    }
    engine_log(&g, &log);
    assert_ok(file_read(RECORDED "engine.log", 0, &real, &e), e);
    const char *at = buf_text(&log), *at_real = buf_text(&real);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        at = strstr(at, lines[i]);
        at_real = strstr(at_real, lines[i]);
        if (!at || !at_real)
            fail_msg("'%s' is not in the %s log, or out of order", lines[i], at ? "recorded" : "simulated");
    }
    buf_done(&log);
    buf_done(&real);
    engine_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_serves_before_it_is_ready),
        cmocka_unit_test(paths_are_its_own),
        cmocka_unit_test(keys_and_log_are_those_of_a_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
