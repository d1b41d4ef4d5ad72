/* SGLang 0.5.16, as it was recorded on an H200. Its version carries no mark of the simulation: what jtok knows of an
 * engine's own requests goes by it. */
#include <stdio.h>
#include <time.h>
#include "flavour.h"
#include "wire.h"

#define VERSION "0.5.16"

/* ---- log ---- */

static void put_line_head(const struct tree *t, enum speaker s, const char *level, const char *source)
{
    (void)t, (void)s, (void)level;
    if (!source)
        return;
    time_t now = time(NULL);
    struct tm local;
    char date[32];
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &local));
    printf("[%s] ", date);
}

/* A dated line; there is no place in the code in front of it. */
#define SAY(...)   tree_log(s->tree, SPEAKER_MAIN, "", "", __VA_ARGS__)
#define PLAIN(...) tree_log(s->tree, SPEAKER_MAIN, "", NULL, __VA_ARGS__)

static const char *python_bool(bool value)
{
    return value ? "True" : "False";
}

static void say_arguments(const struct start *s)
{
    const struct options *o = s->options;
    SAY("server_args=ServerArgs(model_path='%s', tokenizer_path='%s', tokenizer_mode='auto', "
        "tokenizer_worker_num=%lld, "
        "detokenizer_worker_num=1, skip_tokenizer_init=False, context_length=%lld, revision=%s, host='%s', port=%lld, "
        "skip_server_warmup=%s, dtype='%s', quantization=%s, tp_size=%lld, pp_size=1, served_model_name='%s', "
        "enable_metrics=%s, dp_size=1, disable_radix_cache=%s)",
        o->model, o->model, (long long)o->api_servers, (long long)o->max_model_len, o->revision, o->host,
        (long long)o->port, python_bool(o->skip_warmup), o->dtype, o->quantization, (long long)o->tensor_parallel,
        o->served_name, python_bool(o->enable_metrics), python_bool(!o->prefix_cache));
}

static void say_serving(const struct start *s)
{
    const struct options *o = s->options;
    SAY("max_total_num_tokens=%lld, chunked_prefill_size=%lld, max_running_requests=%lld, context_len=%lld",
        (long long)o->kv_tokens, (long long)o->batched_tokens, (long long)o->max_running, (long long)o->max_model_len);
    SAY("INFO:     Started server process [%d]", s->tree->main);
    SAY("INFO:     Waiting for application startup.");
    SAY("INFO:     Application startup complete.");
    SAY("INFO:     Uvicorn running on http://%s:%lld (Press CTRL+C to quit)", o->host, (long long)o->port);
}

/* Of one front end. */
static void say_warmed_up(const struct start *s)
{
    if (!s->options->skip_warmup)
        PLAIN("INFO:     %s:0 - \"POST /generate HTTP/1.1\" 200 OK", s->options->host);
    SAY("The server is fired up and ready to roll!");
}

static void say(const struct start *s, enum log_line line)
{
    const struct options *o = s->options;
    switch (line) {
    case SAY_BANNER:
        say_arguments(s);
        break;
    case SAY_CORE:
        SAY("Init torch distributed begin.");
        SAY("Load weight begin. avail mem=139.13 GB");
        break;
    case SAY_WEIGHTS:
        SAY("Load weight end. elapsed=%.2f s, type=LlamaForCausalLM, avail mem=%.2f GB, mem usage=%.2f GB.",
            start_seconds(s, 0.09), 139.13 - o->weights_gib, o->weights_gib);
        break;
    case SAY_KV:
        SAY("KV Cache is allocated. dtype: torch.%s, #tokens: %lld, K size: %.2f GB, V size: %.2f GB", o->dtype,
            (long long)o->kv_tokens, o->kv_gib / 2, o->kv_gib / 2);
        SAY("Capture target decode CUDA graph begin. This can take up to several minutes.");
        break;
    case SAY_GRAPHS:
        SAY("Capture target decode CUDA graph end. elapsed=%.2f s, mem usage=0.24 GB.", start_seconds(s, 0.08));
        break;
    case SAY_INITIALIZED:
        say_serving(s);
        break;
    case SAY_READY:
        for (int64_t i = o->own_after_s > 0 ? 1 : 0; i < o->api_servers; i++)
            say_warmed_up(s);
        break;
    case SAY_OWN:
        say_warmed_up(s);
        break;
    case SAY_NOTHING:
    case SAY_MODEL:
    case SAY_DYNAMO:
    case SAY_COMPILED:
        break;
    }
}

static void say_load(const struct tree *t, const struct metrics *now, const struct metrics *before, double seconds)
{
    tree_log(t, SPEAKER_CORE, "", "",
             "Decode batch. #running-req: %lld, token usage: %.2f, gen throughput (token/s): %.2f, #queue-req: %lld",
             (long long)now->running, now->kv_usage,
             (double)(now->generation_tokens - before->generation_tokens) / seconds, (long long)now->waiting);
}

/* ---- metrics ---- */

static void put_metrics(const struct metrics *m, const struct options *o, struct buf *b)
{
    const struct {
        const char *name, *type;
        double value;
    } list[] = {{"num_running_reqs", "gauge", (double)m->running},
                {"num_queue_reqs", "gauge", (double)m->waiting},
                {"token_usage", "gauge", m->kv_usage},
                {"num_retracted_requests_total", "counter", (double)m->preemptions},
                {"prompt_tokens_total", "counter", (double)m->prompt_tokens},
                {"generation_tokens_total", "counter", (double)m->generation_tokens},
                {"num_requests_total", "counter", (double)(m->stopped + m->length)},
                {"cached_tokens_total", "counter", (double)m->cache_hits},
                {"time_to_first_token_seconds_sum", NULL, m->ttft.sum_s},
                {"time_to_first_token_seconds_count", NULL, (double)m->ttft.count},
                {"queue_time_seconds_sum", NULL, m->queue.sum_s},
                {"queue_time_seconds_count", NULL, (double)m->queue.count},
                {"inter_token_latency_seconds_sum", NULL, m->itl.sum_s},
                {"inter_token_latency_seconds_count", NULL, (double)m->itl.count},
                {"e2e_request_latency_seconds_sum", NULL, m->e2e.sum_s},
                {"e2e_request_latency_seconds_count", NULL, (double)m->e2e.count}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (list[i].type)
            buf_fmt(b, "# TYPE sglang:%s %s\n", list[i].name, list[i].type);
        buf_fmt(b, "sglang:%s{model_name=", list[i].name);
        wire_text(b, o->served_name);
        buf_str(b, "} ");
        metrics_put_float(b, list[i].value);
        buf_byte(b, '\n');
    }
}

/* ---- paths ---- */

static void put_server_info(const struct options *o, struct buf *b)
{
    buf_str(b, "{\"model_path\":");
    wire_text(b, o->model);
    buf_fmt(b,
            ",\"context_length\":%lld,\"tp_size\":%lld,\"pp_size\":1,\"dp_size\":1,\"tokenizer_worker_num\":%lld,"
            "\"enable_metrics\":%s,\"skip_server_warmup\":%s,\"max_total_num_tokens\":%lld,\"served_model_name\":",
            (long long)o->max_model_len, (long long)o->tensor_parallel, (long long)o->api_servers,
            o->enable_metrics ? "true" : "false", o->skip_warmup ? "true" : "false", (long long)o->kv_tokens);
    wire_text(b, o->served_name);
    buf_str(b, ",\"dtype\":");
    wire_text(b, o->dtype);
    buf_fmt(b,
            ",\"revision\":null,\"quantization\":null,\"kv_cache_dtype\":\"auto\",\"attention_backend\":\"triton\","
            "\"disable_radix_cache\":%s,\"chunked_prefill_size\":%lld,\"max_running_requests\":null,\"ep_size\":1",
            o->prefix_cache ? "false" : "true", (long long)o->batched_tokens);
    buf_str(b, ",\"version\":\"" VERSION "\"}");
}

static bool answer(const struct options *o, struct span path, int64_t owed, struct buf *b)
{
    if (span_is(path, "/v1/loads")) {
        buf_fmt(b, "{\"timestamp\":\"\",\"version\":\"" VERSION "\",\"loads\":[{\"num_running_reqs\":%lld}]}",
                (long long)owed);
    } else if (span_is(path, "/server_info") || span_is(path, "/get_server_info")) {
        put_server_info(o, b);
    } else if (span_is(path, "/model_info") || span_is(path, "/get_model_info")) {
        buf_str(b, "{\"model_path\":");
        wire_text(b, o->model);
        buf_str(b, ",\"is_generation\":true,\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"]}");
    } else {
        return false;
    }
    return true;
}

const struct flavour flavour_sglang = {
    .name = "sglang",
    .root_is_name = true,
    .metrics_off = 404,
    .ends_by_kill = true,
    .bare_id = true,
    .finish_apart = true,
    .stop = ",\"matched_stop\":null",
    .usage = ",\"reasoning_tokens\":0",
    .serves_early = true,
    .loading = "",
    .core = "sglang::scheduler",
    .worker = "sglang::scheduler_TP",
    .server = "sglang::tokenizer_worker:",
    .warms_itself_up = true,
    .put_head = put_line_head,
    .say = say,
    .say_load = say_load,
    .put_metrics = put_metrics,
    .answer = answer,
};
