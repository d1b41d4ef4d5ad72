/* vLLM, as its version 0.24.0 was recorded on an H200. */
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "engine/table.h"

/* ---- command ---- */

static const struct engine_option options[] = {
    {"--max-model-len", ARGUMENT_CONTEXT},
    {"--tensor-parallel-size", ARGUMENT_TENSOR},
    {"-tp", ARGUMENT_TENSOR},
    {"--pipeline-parallel-size", ARGUMENT_PIPELINE},
    {"-pp", ARGUMENT_PIPELINE},
    {"--data-parallel-size", ARGUMENT_DATA},
    {"-dp", ARGUMENT_DATA},
    {"--dtype", ARGUMENT_DTYPE},
    {"--quantization", ARGUMENT_QUANTIZATION},
    {"-q", ARGUMENT_QUANTIZATION},
    {"--kv-cache-dtype", ARGUMENT_KV_CACHE_DTYPE},
    {"--revision", ARGUMENT_REVISION},
    {"--enable-prefix-caching", ARGUMENT_CACHE},
    {"--no-enable-prefix-caching", ARGUMENT_NO_CACHE},
    {NULL, ARGUMENT_MODEL},
};

/* Of 0.24.0: vllm/engine/arg_utils.py (get_batch_defaults), vllm/config/cache.py, model.py, compilation.py, and the
 * recorded start on an H200 (1024 requests, 8192 tokens a step, graphs up to 512). */
static const struct engine_setting settings[] = {
    {SETTING_CONTEXT, FORM_VALUE, "--max-model-len", NULL, "the model's own", NULL, NULL},
    {SETTING_TENSOR, FORM_VALUE, "--tensor-parallel-size", NULL, "1", NULL, NULL},
    {SETTING_PIPELINE, FORM_VALUE, "--pipeline-parallel-size", NULL, "1", NULL, NULL},
    {SETTING_DATA, FORM_VALUE, "--data-parallel-size", NULL, "1", NULL, NULL},
    {SETTING_EXPERT, FORM_EXPERTS, "--enable-expert-parallel", NULL, "1", NULL, NULL},
    {SETTING_DTYPE, FORM_VALUE, "--dtype", NULL, "the model's own", NULL, NULL},
    {SETTING_QUANTIZATION, FORM_VALUE, "--quantization", NULL, "the model's own", NULL, NULL},
    {SETTING_KV_DTYPE, FORM_VALUE, "--kv-cache-dtype", NULL, "the model's own", NULL, NULL},
    {SETTING_MEMORY, FORM_VALUE, "--gpu-memory-utilization", NULL, "0.92", NULL, "of the GPU for all that it uses"},
    {SETTING_MAX_RUNNING, FORM_VALUE, "--max-num-seqs", NULL,
     "1024 on GPUs of 70 GiB or more but the A100, 256 on others", NULL, NULL},
    {SETTING_PREFIX_CACHE, FORM_SWITCH, "--enable-prefix-caching", "--no-enable-prefix-caching", "on", NULL, NULL},
    {SETTING_CHUNKED_PREFILL, FORM_SWITCH, "--enable-chunked-prefill", "--no-enable-chunked-prefill", "on", NULL, NULL},
    {SETTING_PREFILL_TOKENS, FORM_VALUE, "--max-num-batched-tokens", NULL,
     "8192 on GPUs of 70 GiB or more but the A100, 2048 on others", NULL, "of prompts and answers a step"},
    {SETTING_FRONT_ENDS, FORM_COPIES, "--api-server-count", NULL, "1", NULL, NULL},
    {SETTING_SEED, FORM_VALUE, "--seed", NULL, "0", NULL, NULL},
    {SETTING_GRAPHS, FORM_VALUE, "--max-cudagraph-capture-size", NULL, "twice max_running, 512 at most", NULL, NULL},
    {SETTING_COUNT, FORM_VALUE, NULL, NULL, NULL, NULL, NULL},
};
/* Without them it answers a request with a limit by an error (vllm/v1/engine/input_processor.py). */
static const char *const thinking_needs[] = {"--reasoning-parser", "--reasoning-config", NULL};
static const char *const launch[] = {"vllm", "serve", NULL};

static const struct engine_start starts[] = {
    {"vllm", "serve"},
    {"-m", "vllm.entrypoints."},
    {"vllm/entrypoints/openai/api_server.py", NULL},
    {NULL, NULL},
};
static const char *const switches[] = {"--enable-",           "--disable-",      "--no-",
                                       "--trust-remote-code", "--enforce-eager", "--async-scheduling",
                                       "--headless",          "--omni",          NULL};
static const char *const process_names[] = {"VLLM::", NULL};
static const char *const command_parts[] = {"vllm serve", "vllm.entrypoints.", NULL};
static const char *const key_options[] = {"--api-key", NULL};
static const char *const key_variables[] = {"VLLM_API_KEY", NULL};
static const struct engine_variable caches[] = {{"VLLM_CACHE_ROOT", "vllm"}, {NULL, NULL}};
static const struct engine_variable variables[] = {{"VLLM_NO_USAGE_STATS", "1"}, {NULL, NULL}};

/* ---- output ---- */

enum { LONGEST_NEWS = 600 }; /* bytes of the lines about durations; the configuration's is longer */

/* The number at the front, digit groups in commas allowed. */
static bool number(struct span s, double *ret_value)
{
    char digits[64];
    size_t n = 0;
    for (size_t i = 0; i < s.n && n < sizeof digits; i++) {
        char c = s.p[i];
        bool group = c == ',' && i + 1 < s.n && s.p[i + 1] >= '0' && s.p[i + 1] <= '9';
        if ((c < '0' || c > '9') && c != '.' && !group)
            break;
        if (!group)
            digits[n++] = c;
    }
    return num_f64((struct span){digits, n}, ret_value);
}

static void take_number(struct span line, const char *phrase, double *field)
{
    struct span at = span_behind(line, phrase);
    if (at.p)
        number(at, field);
}

static void read_vllm_log(struct engine_identity *id, struct span line)
{
    if (line.n > LONGEST_NEWS)
        return;
    double tokens;
    struct span size = span_behind(line, "KV cache size: ");
    if (size.p && number(size, &tokens))
        id->kv_cache_tokens = (int64_t)tokens;
    take_number(line, "Loading weights took ", &id->weights_s);
    take_number(line, "torch.compile took ", &id->compile_s);
    take_number(line, "Graph capturing finished in ", &id->graphs_s);
    struct span loading = span_behind(line, "Model loading took ");
    if (loading.p) {
        number(loading, &id->model_gib);
        take_number(loading, " and ", &id->model_loading_s);
    }
    struct span start = span_behind(line, "init engine");
    if (start.p)
        take_number(start, " took ", &id->init_s);
}

static const char *const progress[] = {"Resolved architecture",        "Initializing a V1 LLM engine",
                                       "Loading weights took",         "Model loading took",
                                       "torch.compile took",           "GPU KV cache size",
                                       "Graph capturing finished",     "init engine",
                                       "Application startup complete", NULL};

static const struct engine_milestone_phrase milestones[] = {
    {MILESTONE_WEIGHTS, "Loading weights took "},        {MILESTONE_WEIGHTS, "Model loading took "},
    {MILESTONE_COMPILED, "torch.compile took "},         {MILESTONE_GRAPHS, "Graph capturing finished in "},
    {MILESTONE_SERVING, "Application startup complete"}, {MILESTONE_WEIGHTS, NULL},
};

/* ---- identity ---- */

#define CONFIGURATION "LLM engine (v" /* the line in which it tells all of it */

static const struct engine_question questions[] = {{"/version", NULL, true}, {NULL, NULL, false}};

static const struct engine_place places[] = {
    {PROPERTY_VERSION, SOURCE_ANSWER, TAKE_TEXT, "/version", "version", NULL, false},
    {PROPERTY_KV_DTYPE, SOURCE_METRICS, TAKE_TEXT, "vllm:cache_config_info", "cache_dtype", NULL, false},
    {PROPERTY_PREFIX_CACHE, SOURCE_METRICS, TAKE_ON, "vllm:cache_config_info", "enable_prefix_caching", NULL, false},
    {PROPERTY_VERSION, SOURCE_OUTPUT, TAKE_TEXT, CONFIGURATION, NULL, ")", false},
    {PROPERTY_ROOT, SOURCE_OUTPUT, TAKE_TEXT, CONFIGURATION, "model", NULL, false},
    {PROPERTY_REVISION, SOURCE_OUTPUT, TAKE_TEXT, CONFIGURATION, "revision", NULL, false},
    {PROPERTY_DTYPE, SOURCE_OUTPUT, TAKE_TEXT, CONFIGURATION, "dtype", NULL, false},
    {PROPERTY_QUANTIZATION, SOURCE_OUTPUT, TAKE_TEXT_OR_NONE, CONFIGURATION, "quantization", NULL, false},
    {PROPERTY_KV_DTYPE, SOURCE_OUTPUT, TAKE_TEXT, CONFIGURATION, "kv_cache_dtype", NULL, false},
    {PROPERTY_CONTEXT, SOURCE_OUTPUT, TAKE_COUNT, CONFIGURATION, "max_seq_len", NULL, false},
    {PROPERTY_TENSOR, SOURCE_OUTPUT, TAKE_COUNT, CONFIGURATION, "tensor_parallel_size", NULL, false},
    {PROPERTY_PIPELINE, SOURCE_OUTPUT, TAKE_COUNT, CONFIGURATION, "pipeline_parallel_size", NULL, false},
    {PROPERTY_DATA, SOURCE_OUTPUT, TAKE_COUNT, CONFIGURATION, "data_parallel_size", NULL, false},
    {PROPERTY_PREFIX_CACHE, SOURCE_OUTPUT, TAKE_ON, CONFIGURATION, "enable_prefix_caching", NULL, false},
    {PROPERTY_CHUNKED_PREFILL, SOURCE_OUTPUT, TAKE_ON, CONFIGURATION, "enable_chunked_prefill", NULL, false},
    {PROPERTY_ATTENTION, SOURCE_OUTPUT, TAKE_TEXT, "] Using ", NULL, " attention backend", false},
    {PROPERTY_MAX_RUNNING, SOURCE_OUTPUT, TAKE_COUNT, "'max_num_seqs': ", NULL, NULL, false},
    {PROPERTY_EXPERT, SOURCE_OUTPUT, TAKE_ON, "'enable_expert_parallel': ", NULL, NULL, false},
    {PROPERTY_ATTENTION, SOURCE_COMMAND, TAKE_TEXT, "--attention-backend", NULL, NULL, false},
    {PROPERTY_CHUNKED_PREFILL, SOURCE_COMMAND, TAKE_ON, "--enable-chunked-prefill", NULL, NULL, false},
    {PROPERTY_CHUNKED_PREFILL, SOURCE_COMMAND, TAKE_OFF, "--no-enable-chunked-prefill", NULL, NULL, false},
    {PROPERTY_MAX_RUNNING, SOURCE_COMMAND, TAKE_COUNT, "--max-num-seqs", NULL, NULL, false},
    {PROPERTY_EXPERT, SOURCE_COMMAND, TAKE_ON, "--enable-expert-parallel", NULL, NULL, false},
    {PROPERTY_THINKING, SOURCE_COMMAND, TAKE_ON, "--default-chat-template-kwargs", NULL, "enable_thinking", false},
    {PROPERTY_THINKING, SOURCE_COMMAND, TAKE_ON, "--default-chat-template-kwargs", NULL, "thinking", false},
    {PROPERTY_MODEL, SOURCE_ANSWER, TAKE_TEXT, NULL, NULL, NULL, false},
};

/* ---- metrics ---- */

static const struct engine_metric metrics[] = {
    {"vllm:num_requests_running", FIGURE_RUNNING},
    {"vllm:num_requests_waiting", FIGURE_WAITING},
    {"vllm:kv_cache_usage_perc", FIGURE_KV_CACHE_USED},
    {"vllm:gpu_cache_usage_perc", FIGURE_KV_CACHE_USED},
    {"vllm:num_preemptions_total", FIGURE_PREEMPTIONS},
    {"vllm:prompt_tokens_total", FIGURE_PROMPT_TOKENS},
    {"vllm:generation_tokens_total", FIGURE_GENERATION_TOKENS},
    {"vllm:prefix_cache_queries_total", FIGURE_PREFIX_QUERIES},
    {"vllm:gpu_prefix_cache_queries_total", FIGURE_PREFIX_QUERIES},
    {"vllm:prefix_cache_hits_total", FIGURE_PREFIX_HITS},
    {"vllm:gpu_prefix_cache_hits_total", FIGURE_PREFIX_HITS},
    {"vllm:request_success_total", FIGURE_REQUESTS_ENDED},
    ENGINE_HISTOGRAM("vllm:time_to_first_token_seconds", FIGURE_TTFT),
    ENGINE_HISTOGRAM("vllm:request_queue_time_seconds", FIGURE_QUEUE),
    ENGINE_HISTOGRAM("vllm:request_prefill_time_seconds", FIGURE_PREFILL),
    ENGINE_HISTOGRAM("vllm:request_time_per_output_token_seconds", FIGURE_TPOT), /* 0 for a request of one token */
    ENGINE_HISTOGRAM("vllm:inter_token_latency_seconds", FIGURE_ITL),            /* of a step, whatever it brought */
    ENGINE_HISTOGRAM("vllm:time_per_output_token_seconds", FIGURE_ITL),          /* its name before 0.11 */
    ENGINE_HISTOGRAM("vllm:e2e_request_latency_seconds", FIGURE_E2E),
    {"vllm:spec_decode_num_drafts_total", FIGURE_DRAFTS},
    {"vllm:spec_decode_num_draft_tokens_total", FIGURE_DRAFTED_TOKENS},
    {"vllm:spec_decode_num_accepted_tokens_total", FIGURE_ACCEPTED_TOKENS},
    {NULL, FIGURE_RUNNING},
};

/* ---- row ---- */

static const int good_exits[] = {0, -1};

const struct engine engine_vllm = {
    .name = "vllm",
    .process_names = process_names,
    .command_parts = command_parts,
    .starts = starts,
    .options = options,
    .model_word = "serve",
    .switches = switches,
    .abbreviates = true,
    .takes_address = true,
    .socket_option = "--uds",
    .states_sizes = true,
    .launch = launch,
    .settings = settings,
    .settings_version = "0.24.0",
    .keys.options = key_options,
    .keys.variables = key_variables,
    .environment.caches = caches,
    .environment.variables = variables,
    .forces_lengths = true,
    .put_length = put_length_min_tokens,
    .thinking = {.limit = "thinking_token_budget", .needs = thinking_needs},
    .health_path = "/health",
    .metrics.path = "/metrics",
    .questions = questions,
    .places = places,
    .root_is_model = true,
    .metrics.names = metrics,
    .output.read_log = read_vllm_log,
    .output.progress = progress,
    .output.milestones = milestones,
    .good_exits = good_exits,
};
