/* The simulated engine alone: what jtok's lifecycle rests on. Its faults: test_engine_faults.c. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "harness.h"
#include "sim/state.h"
#include "sim/truth.h"
#include "text/file_read.h"
#include "text/json.h"

/* Tokens are words: each begins with a space. */
static int64_t words_in(const struct buf *b)
{
    int64_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->p[i] == ' ';
    return n;
}

static void test_lifecycle(void **state)
{
    (void)state;
    struct engine g;
    engine_start(&g, NULL);
    assert_false(engine_accepts(&g));
    assert_int_equal(power_now(&g), SIM_IDLE_MW);
    engine_wait_ready(&g);
    assert_int_equal(power_now(&g), SIM_CONTEXT_MW);
    assert_true(core_pid(&g) > 0 && core_pid(&g) != g.pid);
    assert_close((double)memory(&g) / 0x1p30, 15 + 112.28 + 3 * 553.0 / 1024, 0.01);
    assert_int_equal(engine_left(&g), 2);

    struct answer x;
    ask_one(&g, "/health", NULL, &x);
    assert_int_equal(x.status, 200);
    assert_int_equal(x.body.n, 0);
    answer_done(&x);
    ask_one(&g, "/version", NULL, &x);
    assert_string_equal(buf_text(&x.body), "{\"version\":\"0.24.0-simulated\"}");
    answer_done(&x);
    ask_one(&g, "/v1/models", NULL, &x);
    assert_non_null(strstr(buf_text(&x.body), "\"id\":\"m/m\""));
    assert_non_null(strstr(buf_text(&x.body), "\"root\":\"/models/m\""));
    assert_non_null(strstr(buf_text(&x.body), "\"max_model_len\":8192"));
    answer_done(&x);

    int64_t before_ns = clock_now_ns();
    char *body = body_of("hello", ",\"max_tokens\":30,\"ignore_eos\":true");
    ask_one(&g, "/v1/chat/completions", body, &x);
    free(body);
    assert_int_equal(x.status, 200);
    assert_int_equal(x.ending, COMPLETE);
    assert_true(x.done);
    assert_string_equal(x.finish, "length");
    assert_int_equal(x.usage, 30);
    assert_int_equal(words_in(&x.text), 30);
    assert_int_equal(x.chunks, 30);
    answer_done(&x);
    /* 29 decoding steps of 6.043 ms at 348 W and one for the prompt, the rest at 122 W. */
    usleep(20000);
    int64_t after_ns = clock_now_ns();
    double extra_j =
        (sim_energy_mj(g.state, 0, before_ns, after_ns) - 122.0 * (double)(after_ns - before_ns) / 1e6) / 1e3;
    assert_close(extra_j, 29 * 0.006043 * 226.5, 3.5);
    assert_int_equal(power_now(&g), SIM_CONTEXT_MW);

    double took_s;
    int status = engine_stop(&g, &took_s);
    int64_t exit_ns = clock_now_ns();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(took_s >= 0.59 && took_s < 2);
    assert_int_equal(engine_left(&g), 0);
    assert_int_equal(memory(&g), 0);
    assert_int_equal(core_pid(&g), 0);
    assert_int_equal(sim_power_mw(g.state, 0, exit_ns + 1500000000), SIM_IDLE_MW);
    assert_true(sim_power_mw(g.state, 0, exit_ns + 500000000) > SIM_IDLE_MW);
    engine_done(&g);
}

/* The recorded log and the simulated one have these in the same order. */
static void test_log(void **state)
{
    (void)state;
    static const char *const order[] = {"non-default args:",
                                        "Using max model len 8192",
                                        "Chunked prefill is enabled with max_num_batched_tokens=8192",
                                        "Initializing a V1 LLM engine (v0.24.0",
                                        "dtype=torch.bfloat16, max_seq_len=8192",
                                        "tensor_parallel_size=1",
                                        "Loading weights took ",
                                        "Model loading took 15.0 GiB and ",
                                        "Using cache directory",
                                        "Dynamo bytecode transform time: ",
                                        "torch.compile took ",
                                        "Available KV cache memory: 112.28 GiB",
                                        "GPU KV cache size: 919,",
                                        "Maximum concurrency for 8,192 tokens per request: 112.28x",
                                        "Graph capturing finished in ",
                                        "init engine (profile, create kv cache, warmup model) took ",
                                        "Starting vLLM server on http://",
                                        "Application startup complete."};
    struct engine g;
    struct buf log = {0}, recorded = {0};
    struct err e = {0};
    engine_start(&g, NULL);
    engine_wait_ready(&g);
    engine_log(&g, &log);
    bool have = file_read(JTOK_SHARED "/h200/vllm-0.24.0/front1/engine.log", 0, &recorded, &e);
    const char *at = buf_text(&log), *at_recorded = buf_text(&recorded);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const char *here = strstr(at, order[i]), *there = strstr(at_recorded, order[i]);
        if (!here || (have && !there)) {
            print_error("'%s' is not in the log, or not in its place: %s", order[i], here ? "recorded" : "simulated");
            fail();
            break;
        }
        at = here;
        at_recorded = have ? there : at_recorded;
    }
    buf_done(&log);
    buf_done(&recorded);
    engine_done(&g);
}

/* An event's keys, kinds and the values that are the same for every request. */
static void shape(struct span text, struct buf *out)
{
    struct json j;
    bool keep = false;
    json_init(&j, text);
    for (enum json_kind k; (k = json_next(&j)) != JSON_END;) {
        assert_int_not_equal(k, JSON_ERROR);
        bool literal = k == JSON_KEY || (k == JSON_STRING && keep);
        buf_fmt(out, "%d%.*s ", k, literal ? (int)j.raw.n : 0, literal ? j.raw.p : "");
        keep = k == JSON_KEY && (json_is(&j, "object") || json_is(&j, "role") || json_is(&j, "finish_reason") ||
                                 json_is(&j, "type") || json_is(&j, "param"));
    }
    buf_byte(out, '\n');
}

/* Chunks of a recorded answer (head, then HTTP chunks), or its plain body. */
static void shape_answer(struct span text, bool stream, struct buf *out)
{
    if (!stream) {
        shape(text, out);
        return;
    }
    for (const char *at = text.p, *end = text.p + text.n; (at = memmem(at, (size_t)(end - at), "data: ", 6));) {
        at += 6;
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct span event = {at, (size_t)(stop - at)};
        if (span_is(event, "[DONE]"))
            buf_str(out, "[DONE]\n");
        else
            shape(event, out);
    }
}

/* Each kind of answer has the events, keys, order of keys, nulls and finish reasons of the recorded one. */
static void test_shapes(void **state)
{
    (void)state;
#define MESSAGES "{\"model\":\"m/m\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],\"ignore_eos\":true"
    static const struct {
        const char *recorded, *path, *body;
        bool stream;
    } cases[] = {
        {"chat-continuous-usage", "/v1/chat/completions",
         MESSAGES ",\"stream\":true,\"max_tokens\":4,\"stream_options\":{\"include_usage\":true,\"continuous_usage_"
                  "stats\":true}}",
         true},
        {"chat-no-stream-options", "/v1/chat/completions", MESSAGES ",\"stream\":true,\"max_tokens\":4}", true},
        {"chat-not-streamed", "/v1/chat/completions", MESSAGES ",\"max_tokens\":3}", false},
        {"one-token", "/v1/chat/completions",
         MESSAGES ",\"stream\":true,\"max_tokens\":1,\"stream_options\":{\"include_usage\":true}}", true},
        {"completions-continuous-usage", "/v1/completions",
         "{\"model\":\"m/"
         "m\",\"prompt\":\"hello\",\"ignore_eos\":true,\"stream\":true,\"max_tokens\":4,\"stream_options\":"
         "{\"include_usage\":true,\"continuous_usage_stats\":true}}",
         true},
        {"no-messages", "/v1/chat/completions", "{\"model\":\"m/m\",\"stream\":true}", false},
        {"unknown-model", "/v1/chat/completions", "{\"model\":\"nope\",\"messages\":[]}", false},
        {"unknown-path", "/v1/nothing", NULL, false},
    };
    if (access(JTOK_SHARED "/h200", R_OK) != 0)
        skip(); /* before the engine runs: skipping leaves the test at once */
    struct engine g;
    engine_start(&g, NULL);
    engine_wait_ready(&g);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[200];
        struct buf recorded = {0}, right = {0}, ours = {0};
        struct err e = {0};
        snprintf(file, sizeof file, JTOK_SHARED "/h200/vllm-0.24.0/http/%s.http", cases[i].recorded);
        assert_ok(file_read(file, 0, &recorded, &e), e);
        const char *body = strstr(buf_text(&recorded), "\r\n\r\n") + 4;
        shape_answer((struct span){body, (size_t)(recorded.p + recorded.n - body)}, cases[i].stream, &right);
        struct answer x;
        ask_one(&g, cases[i].path, cases[i].body, &x);
        shape_answer(buf_span(&x.body), cases[i].stream, &ours);
        assert_string_equal(buf_text(&ours), buf_text(&right));
        assert_int_equal(x.status, atoi(buf_text(&recorded) + 9));
        answer_done(&x);
        buf_done(&recorded);
        buf_done(&right);
        buf_done(&ours);
    }
    engine_done(&g);
}

/* These are the recorded bodies to the letter. */
static void test_refusals(void **state)
{
    (void)state;
    struct engine g;
    struct answer x;
    engine_start(&g, NULL);
    engine_wait_ready(&g);
    char prompt[40001];
    memset(prompt, 'x', sizeof prompt - 1);
    prompt[sizeof prompt - 1] = 0;
    char *long_prompt = body_of(prompt, ",\"max_tokens\":3"), *many = body_of("hello", ",\"max_tokens\":100000000");
    char *two = body_of("hello", ",\"n\":2");
    ask_one(&g, "/v1/chat/completions", long_prompt, &x);
    assert_int_equal(x.status, 400);
    assert_string_equal(
        buf_text(&x.body),
        "{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens. However, you requested 3 output "
        "tokens "
        "and your prompt contains at least 8190 input tokens, for a total of at least 8193 tokens. Please reduce the "
        "length of "
        "the input prompt or the number of requested output tokens. (parameter=input_tokens, value=8190)\",\"type\":"
        "\"BadRequestError\",\"param\":\"input_tokens\",\"code\":400}}");
    answer_done(&x);
    ask_one(&g, "/v1/chat/completions", many, &x);
    assert_int_equal(x.status, 400);
    assert_string_equal(
        buf_text(&x.body),
        "{\"error\":{\"message\":\"max_tokens=100000000 cannot be greater than max_model_len=max_total_tokens="
        "8192. Please request fewer output tokens. (parameter=max_tokens, value=100000000)\",\"type\":"
        "\"BadRequestError\",\"param\":\"max_tokens\",\"code\":400}}");
    answer_done(&x);
    ask_one(&g, "/v1/chat/completions", "{\"model\": nope}", &x);
    assert_int_equal(x.status, 400);
    assert_non_null(strstr(buf_text(&x.body), "JSON decode error"));
    answer_done(&x);
    ask_one(&g, "/v1/chat/completions", two, &x);
    assert_int_equal(x.status, 400);
    answer_done(&x);
    /* Nothing of it was generated. */
    usleep(300000);
    assert_close(engine_metric(&g, "vllm:generation_tokens_total"), 0, 0);
    free(long_prompt);
    free(many);
    free(two);
    engine_done(&g);
}

enum { MANY = 200 };

static void ask_many(const struct engine *g, const char *more, struct answer *x)
{
    const char *bodies[MANY];
    for (int i = 0; i < MANY; i++) {
        char prompt[40];
        snprintf(prompt, sizeof prompt, "question number %d", i);
        bodies[i] = body_of(prompt, more);
    }
    ask_all(g, "/v1/chat/completions", bodies, MANY, 30, x);
    for (int i = 0; i < MANY; i++)
        free((void *)(uintptr_t)bodies[i]);
}

/* Counters settle a moment after the last chunk. */
static double settled(const struct engine *g, const char *name)
{
    usleep(300000);
    return engine_metric(g, name);
}

/* What /metrics says of times agrees with itself: a request's parts are no longer than the whole. */
static void check_times(const struct engine *g, int64_t requests, int64_t tokens)
{
    static const char *const each[] = {"time_to_first_token_seconds", "request_queue_time_seconds",
                                       "request_prefill_time_seconds", "request_time_per_output_token_seconds",
                                       "e2e_request_latency_seconds"};
    char name[128];
    double sum[5];
    for (size_t i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "vllm:%s_count", each[i]);
        assert_close(engine_metric(g, name), (double)requests, 0);
        snprintf(name, sizeof name, "vllm:%s_sum", each[i]);
        sum[i] = engine_metric(g, name);
        assert_true(sum[i] > 0);
    }
    double itl = engine_metric(g, "vllm:inter_token_latency_seconds_sum"), slack = 0.1 * (double)requests;
    assert_close(engine_metric(g, "vllm:inter_token_latency_seconds_count"), (double)(tokens - requests), 0);
    assert_true(sum[0] > sum[1] + sum[2] && sum[0] < sum[1] + sum[2] + slack);
    assert_true(sum[4] > sum[1] + sum[2] + itl && sum[4] < sum[1] + sum[2] + itl + slack);
}

static void test_concurrent(void **state)
{
    (void)state;
    struct engine g;
    static struct answer first[MANY], second[MANY];
    engine_start(
        &g, WORDS("--max-num-seqs", "64", "--sim-median-tokens", "30", "--sim-held", "0.05", "--sim-step-s", "0.002"));
    engine_wait_ready(&g);
    ask_many(&g, "", first);
    int64_t tokens = 0, prompts = 0, stopped = 0;
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(first[i].status, 200);
        assert_int_equal(first[i].ending, COMPLETE);
        assert_true(first[i].done);
        assert_int_equal(words_in(&first[i].text), first[i].usage);
        tokens += first[i].usage;
        prompts += first[i].prompt_tokens;
        stopped += strcmp(first[i].finish, "stop") == 0;
    }
    assert_int_equal(stopped, MANY);
    assert_close(settled(&g, "vllm:generation_tokens_total"), (double)tokens, 0);
    assert_close(engine_metric(&g, "vllm:prompt_tokens_total"), (double)prompts, 0);
    assert_close(engine_metric(&g, "vllm:prefix_cache_queries_total"), (double)prompts, 0);
    assert_close(engine_metric(&g, "vllm:prefix_cache_hits_total"), 0, 0);
    assert_close(engine_metric(&g, "vllm:request_success_total"), MANY, 0);
    assert_close(engine_metric(&g, "vllm:num_requests_running"), 0, 0);
    assert_close(engine_metric(&g, "vllm:num_requests_waiting"), 0, 0);
    assert_close(engine_metric(&g, "vllm:kv_cache_usage_perc"), 0, 0);
    assert_close(engine_metric(&g, "vllm:num_preemptions_total"), 0, 0);
    check_times(&g, MANY, tokens);

    /* Lengths are log-normal with median 30 and sigma 0.8: the mean is 30 * exp(0.32) = 41.3, its standard error 2.8.
     */
    assert_close((double)tokens / MANY, 41.3, 9);

    /* The same again gives the same, now with hits in the prefix cache: 16 tokens a block, none for a prompt below 17.
     */
    ask_many(&g, "", second);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(first[i].usage, second[i].usage);
        assert_string_equal(buf_text(&first[i].text), buf_text(&second[i].text));
        answer_done(&first[i]);
        answer_done(&second[i]);
    }
    assert_close(settled(&g, "vllm:generation_tokens_total"), 2 * (double)tokens, 0);
    engine_done(&g);
}

/* Held-back text: the count rises, the text is empty, and comes with the next chunk. */
static void test_held_reasoning_and_wide_chunks(void **state)
{
    (void)state;
    struct engine g;
    struct answer x;
    engine_start(
        &g, WORDS("--sim-held", "0.5", "--sim-reasoning", "0.5", "--sim-step-tokens", "3", "--sim-step-s", "0.001"));
    engine_wait_ready(&g);
    char *body = body_of("hello", ",\"max_tokens\":100,\"ignore_eos\":true");
    char *at = strstr(body, "\"include_usage\"");
    struct buf running = {0};
    buf_fmt(&running, "%.*s\"continuous_usage_stats\":true,%s", (int)(at - body), body, at);
    ask_one(&g, "/v1/chat/completions", buf_text(&running), &x);
    assert_int_equal(x.usage, 100);
    assert_int_equal(x.largest, 3);
    assert_int_equal(x.chunks, 34); /* 1 + 33 * 3 */
    assert_close(settled(&g, "vllm:generation_tokens_total"), 100, 0);
    assert_close(engine_metric(&g, "vllm:spec_decode_num_drafts_total"), 33, 0);
    assert_close(engine_metric(&g, "vllm:spec_decode_num_draft_tokens_total"), 66, 0);
    assert_close(engine_metric(&g, "vllm:spec_decode_num_accepted_tokens_total"), 66, 0);
    assert_int_equal(words_in(&x.text), 50);
    assert_int_equal(words_in(&x.reasoning), 50);
    answer_done(&x);
    free(body);
    buf_done(&running);
    engine_done(&g);
}

/* 20 requests of 60 tokens need 60 steps of about 7 ms, but 600 chunks a second take almost 2 s: the GPU is done long
 * before.
 */
static void test_lagging_front_end(void **state)
{
    (void)state;
    enum { REQUESTS = 20, TOKENS = 60 };
    struct engine g;
    static struct answer x[REQUESTS];
    const char *bodies[REQUESTS];
    engine_start(&g, WORDS("--sim-front-tokens-per-s", "600", "--sim-front-merge", "0.3"));
    engine_wait_ready(&g);
    for (int i = 0; i < REQUESTS; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "{\"model\":\"m/m\",\"prompt\":\"number %d\",\"stream\":true,\"max_tokens\":%d,\"ignore_eos\":true,"
                 "\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true}}",
                 i, TOKENS);
        bodies[i] = strdup(text);
    }
    int64_t began_ns = clock_now_ns();
    ask_all(&g, "/v1/completions", bodies, REQUESTS, 20, x);
    int64_t chunks = 0, largest = 0, last_ns = 0;
    for (int i = 0; i < REQUESTS; i++) {
        assert_int_equal(x[i].usage, TOKENS);
        assert_int_equal(words_in(&x[i].text), TOKENS);
        chunks += x[i].chunks;
        largest = x[i].largest > largest ? x[i].largest : largest;
        last_ns = x[i].last_ns > last_ns ? x[i].last_ns : last_ns;
        answer_done(&x[i]);
        free((void *)(uintptr_t)bodies[i]);
    }
    assert_true(largest > 8);
    assert_true(chunks < REQUESTS * TOKENS);
    assert_close((double)(last_ns - began_ns) / 1e9, (double)chunks / 600, 0.3);
    assert_int_equal(sim_power_mw(g.state, 0, began_ns + 150000000) > SIM_CONTEXT_MW, 1);
    assert_int_equal(sim_power_mw(g.state, 0, began_ns + 1000000000), SIM_CONTEXT_MW);
    assert_close(settled(&g, "vllm:generation_tokens_total"), REQUESTS * TOKENS, 0);
    engine_done(&g);
}

/* One connection, four requests: two at once, a stream, and one that is sent while the stream runs. */
static void test_kept_connection(void **state)
{
    (void)state;
    struct engine g;
    engine_start(&g, NULL);
    engine_wait_ready(&g);
    char *body = body_of("hello", ",\"max_tokens\":30,\"ignore_eos\":true");
    struct buf out = {0}, in = {0};
    buf_str(&out, "GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET /version HTTP/1.1\r\nHost: a\r\n\r\n");
    buf_fmt(&out, "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    buf_str(&out, "GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n");
    engine_raw(&g, buf_span(&out), &in);
    const char *at = buf_text(&in);
    static const char *const order[] = {"HTTP/1.1 200 OK",
                                        "content-length: 0",
                                        "{\"version\":",
                                        "HTTP/1.1 200 OK",
                                        "data: [DONE]\n\n\r\n0\r\n\r\nHTTP/1.1 404 Not Found",
                                        "connection: close"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        at = strstr(at, order[i]);
        assert_non_null(at);
        at += strlen(order[i]);
    }
    free(body);
    buf_done(&out);
    buf_done(&in);
    engine_done(&g);
}

/* A client that goes away frees its place. */
static void test_client_goes(void **state)
{
    (void)state;
    struct engine g;
    struct answer x;
    engine_start(&g, NULL);
    engine_wait_ready(&g);
    char *body = body_of("hello", ",\"max_tokens\":8000,\"ignore_eos\":true");
    ask_all(&g, "/v1/chat/completions", (const char *const *)&body, 1, 0.2, &x);
    assert_int_equal(x.ending, STILL_OPEN);
    assert_true(x.chunks > 0);
    answer_done(&x);
    assert_close(settled(&g, "vllm:num_requests_running"), 0, 0);
    assert_close(engine_metric(&g, "vllm:request_success_total"), 1, 0);
    assert_int_equal(power_now(&g), SIM_CONTEXT_MW);
    free(body);
    engine_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lifecycle),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_concurrent),
        cmocka_unit_test(test_held_reasoning_and_wide_chunks),
        cmocka_unit_test(test_lagging_front_end),
        cmocka_unit_test(test_kept_connection),
        cmocka_unit_test(test_client_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
