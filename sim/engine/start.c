#include "start.h"

#include <stdio.h>

#include "wire.h"

enum { W = 1000, CONTEXT_MIB = 553 };

/* What a moment may log. */
enum words {
    SAY_NOTHING,
    SAY_BANNER,
    SAY_MODEL,
    SAY_CORE,
    SAY_WEIGHTS,
    SAY_DYNAMO,
    SAY_COMPILED,
    SAY_KV,
    SAY_GRAPHS,
    SAY_INITIALIZED,
    SAY_READY,
};

/* At a share of the start-up time: power from here on (0: as before) and memory held (GiB: context, then shares of
 * weights and KV cache; negative: as before). */
struct moment {
    double at;
    int64_t mw;
    double context, weights, kv;
    enum words say;
};

static const struct moment moments[] = {
    {0.00, 0, -1, 0, 0, SAY_BANNER},
    {0.30, 0, -1, 0, 0, SAY_MODEL},
    {0.40, 0, -1, 0, 0, SAY_CORE},
    {0.42, SIM_CONTEXT_MW, 1, 0, 0, SAY_NOTHING},
    {0.47, 137 * W, 1, 0.3, 0, SAY_NOTHING},
    {0.51, 137 * W, 1, 1, 0, SAY_WEIGHTS},
    {0.52, SIM_CONTEXT_MW, -1, 0, 0, SAY_NOTHING},
    {0.57, SIM_CONTEXT_MW, -1, 0, 0, SAY_DYNAMO},
    {0.58, 480 * W, -1, 0, 0, SAY_NOTHING},
    {0.59, SIM_CONTEXT_MW, -1, 0, 0, SAY_NOTHING},
    {0.64, 300 * W, -1, 0, 0, SAY_NOTHING},
    {0.66, SIM_CONTEXT_MW, -1, 0, 0, SAY_NOTHING},
    {0.72, SIM_CONTEXT_MW, -1, 0, 0, SAY_COMPILED},
    {0.73, 690 * W, 2, 1, 0, SAY_NOTHING},
    {0.745, SIM_CONTEXT_MW, 2, 1, 1, SAY_KV},
    {0.77, 330 * W, 2, 1, 1, SAY_NOTHING},
    {0.82, 300 * W, 2.5, 1, 1, SAY_NOTHING},
    {0.85, SIM_CONTEXT_MW, 3, 1, 1, SAY_GRAPHS},
    {0.88, 410 * W, 3, 1, 1, SAY_NOTHING},
    {0.91, SIM_CONTEXT_MW, 3, 1, 1, SAY_NOTHING},
    {0.94, SIM_CONTEXT_MW, -1, 0, 0, SAY_INITIALIZED},
    {1.00, SIM_CONTEXT_MW, -1, 0, 0, SAY_READY},
};

enum { MOMENTS = sizeof moments / sizeof *moments };

void start_init(struct start *s, const struct options *o, const struct tree *t, struct gpus *g, int64_t began_ns)
{
    *s =
        (struct start){.options = o, .tree = t, .gpus = g, .began_ns = began_ns, .total_ns = options_ns(o, o->start_s)};
}

int64_t start_due_ns(const struct start *s)
{
    if (s->done == MOMENTS)
        return INT64_MAX;
    return s->began_ns + (int64_t)(moments[s->done].at * (double)s->total_ns);
}

static double seconds(const struct start *s, double share)
{
    return share * (double)s->total_ns / 1e9;
}

#define API(source, ...)  tree_log(s->tree, SPEAKER_API, "INFO", source, __VA_ARGS__)
#define CORE(source, ...) tree_log(s->tree, SPEAKER_CORE, "INFO", source, __VA_ARGS__)

static void say_banner(const struct start *s)
{
    const struct options *o = s->options;
    if (o->sglang)
        tree_log(s->tree, SPEAKER_MAIN, "", NULL,
                 "server_args=ServerArgs(model_path='%s', tokenizer_worker_num=%lld, detokenizer_worker_num=1, "
                 "dp_size=1, skip_server_warmup=False, enable_metrics=True)",
                 o->model, (long long)o->sglang);
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
    CORE("monitor.py:81", "Initial profiling/warmup run took %.2f s", seconds(s, 0.015));
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

static void say(const struct start *s, enum words words)
{
    const struct options *o = s->options;
    switch (words) {
    case SAY_NOTHING:
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
        CORE("default_loader.py:430", "Loading weights took %.2f seconds", seconds(s, 0.04));
        CORE("model_runner.py:302", "Model loading took %.1f GiB and %.6f seconds", o->weights_gib, seconds(s, 0.09));
        break;
    case SAY_DYNAMO:
        CORE("backends.py:1089",
             "Using cache directory: /nonexistent/torch_compile_cache/rank_0_0/backbone for vLLM's torch.compile");
        CORE("backends.py:1148", "Dynamo bytecode transform time: %.2f s", seconds(s, 0.05));
        break;
    case SAY_COMPILED:
        CORE("monitor.py:53", "torch.compile took %.2f s in total", seconds(s, 0.2));
        break;
    case SAY_KV:
        say_kv(s);
        break;
    case SAY_GRAPHS:
        CORE("model_runner.py:726", "Graph capturing finished in %.0f secs, took 0.98 GiB", seconds(s, 0.08));
        break;
    case SAY_INITIALIZED:
        CORE("core.py:337", "init engine (profile, create kv cache, warmup model) took %.2f s (compilation: %.2f s)",
             seconds(s, 0.43), seconds(s, 0.2));
        break;
    case SAY_READY:
        say_ready(s);
        break;
    }
}

static void say_last_words(const struct start *s)
{
    tree_log(s->tree, SPEAKER_CORE, "ERROR", "core.py:1108", "EngineCore failed to start.");
    tree_log(s->tree, SPEAKER_CORE, "ERROR", "core.py:1108", "Traceback (most recent call last):");
    tree_log(s->tree, SPEAKER_CORE, "ERROR", "core.py:1108",
             "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB.");
    tree_log(s->tree, SPEAKER_MAIN, "", NULL, "Traceback (most recent call last):");
    tree_log(s->tree, SPEAKER_MAIN, "", NULL,
             "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}");
}

enum start_result start_go(struct start *s, int64_t now_ns)
{
    while (start_due_ns(s) <= now_ns) {
        const struct moment *m = &moments[s->done];
        if (m->say == SAY_WEIGHTS && options_strike(s->options, FAULT_EXIT_AT_START, 0)) {
            say_last_words(s);
            return START_FAILED;
        }
        if (m->say == SAY_READY && options_strike(s->options, FAULT_NEVER_READY, 0)) {
            s->done = MOMENTS;
            return START_GOES_ON;
        }
        s->done++;
        if (m->context >= 0)
            gpus_memory(s->gpus, m->context * CONTEXT_MIB / 1024 * s->gpus->count +
                                     m->weights * s->options->weights_gib + m->kv * s->options->kv_gib);
        if (m->mw) {
            gpus_power(s->gpus, m->mw, true);
            gpus_utilisation(s->gpus, m->mw > SIM_CONTEXT_MW ? 100 : 0);
        }
        say(s, m->say);
        if (m->say == SAY_READY)
            return START_READY;
    }
    return START_GOES_ON;
}
