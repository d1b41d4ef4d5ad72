/* vLLM 0.24.0, as it was recorded on an H200. */
#include <stdio.h>
#include <time.h>
#include "flavour.h"
#include "wire.h"

/* ---- log ---- */

static void put_speaker(const struct tree *t, enum speaker s)
{
    bool many = t->options->api_servers > 1;
    if (s == SPEAKER_CORE)
        printf("(EngineCore pid=%d) ", t->core);
    else if (!many)
        printf("(APIServer pid=%d) ", t->main);
    else if (s == SPEAKER_API)
        printf("(ApiServer_0 pid=%d) ", t->servers[0]);
}

static void put_line_head(const struct tree *t, enum speaker s, const char *level, const char *source)
{
    put_speaker(t, s);
    if (!source)
        return;
    time_t now = time(NULL);
    struct tm local;
    char date[32];
    strftime(date, sizeof date, "%m-%d %H:%M:%S", localtime_r(&now, &local));
    printf("%s %s [%s] ", level, date, source);
}

#define API(source, ...)  tree_log(s->tree, SPEAKER_API, "INFO", source, __VA_ARGS__)
#define CORE(source, ...) tree_log(s->tree, SPEAKER_CORE, "INFO", source, __VA_ARGS__)

static void say_banner(const struct start *s)
{
    const struct options *o = s->options;
    tree_log(s->tree, SPEAKER_MAIN, "INFO", "api_utils.py:339", "  simulated engine  version %s", WIRE_VERSION);
    tree_log(s->tree, SPEAKER_MAIN, "INFO", "api_utils.py:339", "  model   %s", o->model);
    tree_log(s->tree, SPEAKER_MAIN, "INFO", "api_utils.py:273",
             "non-default args: {'model_tag': '%s', 'api_server_count': %lld, 'model': '%s', 'max_model_len': %lld, "
             "'served_model_name': ['%s']}",
             o->model, (long long)o->api_servers, o->model, (long long)o->max_model_len, o->served_name);
    if (o->api_servers > 1)
        tree_log(s->tree, SPEAKER_MAIN, "INFO", "utils.py:241", "Started %lld API server processes",
                 (long long)o->api_servers);
}

static void say_core(const struct start *s)
{
    const struct options *o = s->options;
    CORE("core.py:114",
         "Initializing a V1 LLM engine (v%s) with config: model='%s', speculative_config=None, tokenizer='%s', "
         "skip_tokenizer_init=False, tokenizer_mode=auto, revision=%s, tokenizer_revision=None, "
         "trust_remote_code=False, "
         "dtype=torch.%s, max_seq_len=%lld, download_dir=None, load_format=auto, tensor_parallel_size=%lld, "
         "pipeline_parallel_size=1, data_parallel_size=1, decode_context_parallel_size=1, "
         "disable_custom_all_reduce=False, quantization=%s, quantization_config=None, enforce_eager=False, "
         "kv_cache_dtype=auto, device_config=cuda, seed=0, served_model_name=%s, enable_prefix_caching=%s, "
         "enable_chunked_prefill=True, pooler_config=None",
         WIRE_VERSION, o->model, o->model, o->revision, o->dtype, (long long)o->max_model_len,
         (long long)o->tensor_parallel, o->quantization, o->served_name, o->prefix_cache ? "True" : "False");
    CORE("parallel_state.py:1588", "world_size=%lld rank=0 local_rank=0 backend=nccl", (long long)o->tensor_parallel);
    CORE("model_runner.py:281", "Loading model from scratch...");
    CORE("cuda.py:480", "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'TRITON_ATTN'].");
}

/* 919824 as 919,824. */
static const char *grouped(int64_t n, char *ret_text, size_t size)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)n);
    size_t at = 0;
    for (int i = 0; i < length && at + 2 < size; i++) {
        if (i && (length - i) % 3 == 0)
            ret_text[at++] = ',';
        ret_text[at++] = digits[i];
    }
    ret_text[at] = 0;
    return ret_text;
}

static void say_kv(const struct start *s)
{
    const struct options *o = s->options;
    char tokens[32], length[32];
    CORE("monitor.py:81", "Initial profiling/warmup run took %.2f s", start_seconds(s, 0.015));
    CORE("gpu_worker.py:508", "Available KV cache memory: %.2f GiB", o->kv_gib);
    CORE("kv_cache_utils.py:2146", "GPU KV cache size: %s tokens", grouped(o->kv_tokens, tokens, sizeof tokens));
    CORE("kv_cache_utils.py:2147", "Maximum concurrency for %s tokens per request: %.2fx",
         grouped(o->max_model_len, length, sizeof length), (double)o->kv_tokens / (double)o->max_model_len);
}

static void say_ready(const struct start *s)
{
    const struct options *o = s->options;
    API("api_server.py:577", "Supported tasks: ['generate']");
    if (o->uds)
        API("api_server.py:581", "Starting vLLM server on unix:%s", o->uds);
    else
        API("api_server.py:581", "Starting vLLM server on http://%s:%lld", o->host, (long long)o->port);
    API("launcher.py:37", "Available routes are:");
    static const char *const routes[] = {"/load, Methods: GET",           "/version, Methods: GET",
                                         "/health, Methods: GET",         "/metrics, Methods: GET",
                                         "/v1/models, Methods: GET",      "/ping, Methods: GET",
                                         "/ping, Methods: POST",          "/v1/chat/completions, Methods: POST",
                                         "/v1/completions, Methods: POST"};
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        API("launcher.py:46", "Route: %s", routes[i]);
    for (int i = 0; i < o->api_servers; i++) {
        tree_log(s->tree, SPEAKER_API, "", NULL, "INFO:     Started server process [%d]",
                 o->api_servers > 1 ? s->tree->servers[i] : s->tree->main);
        tree_log(s->tree, SPEAKER_API, "", NULL, "INFO:     Waiting for application startup.");
        tree_log(s->tree, SPEAKER_API, "", NULL, "INFO:     Application startup complete.");
    }
}

static void say(const struct start *s, enum log_line line)
{
    const struct options *o = s->options;
    switch (line) {
    case SAY_NOTHING:
    case SAY_OWN:
        break;
    case SAY_BANNER:
        say_banner(s);
        break;
    case SAY_MODEL:
        API("model.py:598", "Resolved architecture: LlamaForCausalLM");
        API("model.py:1725", "Using max model len %lld", (long long)o->max_model_len);
        API("scheduler.py:252", "Chunked prefill is enabled with max_num_batched_tokens=%lld.",
            (long long)o->batched_tokens);
        API("vllm.py:1006", "Asynchronous scheduling is enabled.");
        break;
    case SAY_CORE:
        say_core(s);
        break;
    case SAY_WEIGHTS:
        CORE("default_loader.py:430", "Loading weights took %.2f seconds", start_seconds(s, 0.04));
        CORE("model_runner.py:302", "Model loading took %.1f GiB and %.6f seconds", o->weights_gib,
             start_seconds(s, 0.09));
        break;
    case SAY_DYNAMO:
        CORE("backends.py:1089",
             "Using cache directory: /nonexistent/torch_compile_cache/rank_0_0/backbone for vLLM's torch.compile");
        CORE("backends.py:1148", "Dynamo bytecode transform time: %.2f s", start_seconds(s, 0.05));
        break;
    case SAY_COMPILED:
        CORE("monitor.py:53", "torch.compile took %.2f s in total", start_seconds(s, 0.2));
        break;
    case SAY_KV:
        say_kv(s);
        break;
    case SAY_GRAPHS:
        CORE("model_runner.py:726", "Graph capturing finished in %.0f secs, took 0.98 GiB", start_seconds(s, 0.08));
        break;
    case SAY_INITIALIZED:
        CORE("core.py:337", "init engine (profile, create kv cache, warmup model) took %.2f s (compilation: %.2f s)",
             start_seconds(s, 0.43), start_seconds(s, 0.2));
        break;
    case SAY_READY:
        say_ready(s);
        break;
    }
}

static void say_load(const struct tree *t, const struct metrics *now, const struct metrics *before, double seconds)
{
    if (t->options->api_servers > 1)
        return;
    tree_log(t, SPEAKER_API, "INFO", "loggers.py:273",
             "Engine 000: Avg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f tokens/s, Running: "
             "%lld reqs, Waiting: %lld reqs, GPU KV cache usage: %.1f%%, Prefix cache hit rate: %.1f%%",
             (double)(now->prompt_tokens - before->prompt_tokens) / seconds,
             (double)(now->generation_tokens - before->generation_tokens) / seconds, (long long)now->running,
             (long long)now->waiting, 100 * now->kv_usage,
             now->cache_queries ? 100 * (double)now->cache_hits / (double)now->cache_queries : 0);
}

/* ---- metrics: its names, labels engine and model_name, and Python's way of writing floats ---- */

static void put_head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_fmt(b, "# HELP vllm:%s %s\n# TYPE vllm:%s %s\n", name, help, name, type);
}

static void put_sample(struct buf *b, const struct options *o, const char *name, const char *label, double value)
{
    buf_fmt(b, "vllm:%s{engine=\"0\",%smodel_name=", name, label);
    wire_text(b, o->served_name);
    buf_str(b, "} ");
    metrics_put_float(b, value);
    buf_byte(b, '\n');
}

static void put(struct buf *b, const struct options *o, const char *name, const char *type, const char *help,
                double value)
{
    put_head(b, name, type, help);
    put_sample(b, o, name, "", value);
}

/* With its last bucket alone. */
static void put_histogram(struct buf *b, const struct options *o, const char *name, const char *help,
                          const struct observed *h)
{
    struct buf part = {0};
    put_head(b, name, "histogram", help);
    buf_fmt(&part, "%s_bucket", name);
    put_sample(b, o, buf_text(&part), "le=\"+Inf\",", (double)h->count);
    buf_clear(&part);
    buf_fmt(&part, "%s_count", name);
    put_sample(b, o, buf_text(&part), "", (double)h->count);
    buf_clear(&part);
    buf_fmt(&part, "%s_sum", name);
    put_sample(b, o, buf_text(&part), "", h->sum_s);
    buf_done(&part);
}

static void put_times(const struct metrics *m, const struct options *o, struct buf *b)
{
    put_histogram(b, o, "time_to_first_token_seconds", "Histogram of time to first token in seconds.", &m->ttft);
    put_histogram(b, o, "inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", &m->itl);
    put_histogram(b, o, "request_time_per_output_token_seconds",
                  "Histogram of time_per_output_token_seconds per request.", &m->tpot);
    put_histogram(b, o, "e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", &m->e2e);
    put_histogram(b, o, "request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.",
                  &m->queue);
    put_histogram(b, o, "request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.",
                  &m->prefill);
    if (o->step_tokens <= 1)
        return;
    put(b, o, "spec_decode_num_drafts_total", "counter", "Number of spec decoding drafts.", (double)m->drafts);
    put(b, o, "spec_decode_num_draft_tokens_total", "counter", "Number of draft tokens.",
        (double)(m->drafts * (o->step_tokens - 1)));
    put(b, o, "spec_decode_num_accepted_tokens_total", "counter", "Number of accepted tokens.", (double)m->accepted);
}

static void put_metrics(const struct metrics *m, const struct options *o, struct buf *b)
{
    put(b, o, "num_requests_running", "gauge", "Number of requests in model execution batches.", (double)m->running);
    put(b, o, "num_requests_waiting", "gauge", "Number of requests waiting to be processed.", (double)m->waiting);
    put_head(b, "num_requests_waiting_by_reason", "gauge", "Number of requests waiting, by reason.");
    put_sample(b, o, "num_requests_waiting_by_reason", "reason=\"capacity\",", (double)m->waiting);
    put_sample(b, o, "num_requests_waiting_by_reason", "reason=\"deferred\",", 0);
    put(b, o, "kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.", m->kv_usage);
    put(b, o, "prefix_cache_queries_total", "counter", "Prefix cache queries, in terms of number of queried tokens.",
        (double)m->cache_queries);
    put(b, o, "prefix_cache_hits_total", "counter", "Prefix cache hits, in terms of number of cached tokens.",
        (double)m->cache_hits);
    put(b, o, "num_preemptions_total", "counter", "Cumulative number of preemption from the engine.",
        (double)m->preemptions);
    put(b, o, "prompt_tokens_total", "counter", "Number of prefill tokens processed.", (double)m->prompt_tokens);
    put(b, o, "generation_tokens_total", "counter", "Number of generation tokens processed.",
        (double)m->generation_tokens);
    put_head(b, "cache_config_info", "gauge", "Information of the LLMEngine CacheConfig");
    put_sample(b, o, "cache_config_info",
               o->prefix_cache ? "cache_dtype=\"auto\",enable_prefix_caching=\"True\","
                               : "cache_dtype=\"auto\",enable_prefix_caching=\"False\",",
               1);
    put_head(b, "request_success_total", "counter", "Count of successfully processed requests.");
    put_sample(b, o, "request_success_total", "finished_reason=\"stop\",", (double)m->stopped);
    put_sample(b, o, "request_success_total", "finished_reason=\"length\",", (double)m->length);
    put_sample(b, o, "request_success_total", "finished_reason=\"abort\",", (double)m->aborted);
    put_sample(b, o, "request_success_total", "finished_reason=\"error\",", 0);
    put_times(m, o, b);
}

static bool answer(const struct options *o, struct span path, int64_t owed, struct buf *b)
{
    (void)o;
    if (span_is(path, "/version"))
        buf_str(b, "{\"version\":\"" WIRE_VERSION "\"}");
    else if (span_is(path, "/load"))
        buf_fmt(b, "{\"server_load\":%lld}", (long long)owed);
    else
        return false;
    return true;
}

const struct flavour flavour_vllm = {
    .name = "vllm",
    .fingerprint = WIRE_FINGERPRINT,
    .has_permission = true,
    .stop = ",\"stop_reason\":null",
    .usage = "",
    .loading = "",
    .core = "VLLM::EngineCore",
    .worker = "VLLM::Worker_TP",
    .server = "VLLM::APIServer_",
    .put_head = put_line_head,
    .say = say,
    .say_load = say_load,
    .put_metrics = put_metrics,
    .answer = answer,
};
