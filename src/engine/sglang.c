/* SGLang, as its version 0.5.16 was recorded on an H200. */
#include <string.h>
#include "base/num.h"
#include "engine/table.h"

/* ---- command ---- */

static const struct engine_start starts[] = {
    {"sglang", "serve"}, {"-m", "sglang.launch_server"}, {"-m", "sglang"}, {"sglang/launch_server.py", NULL},
    {NULL, NULL},
};

static const struct engine_option options[] = {
    {"--model-path", ARGUMENT_MODEL},
    {"--context-length", ARGUMENT_CONTEXT},
    {"--tensor-parallel-size", ARGUMENT_TENSOR},
    {"--tp-size", ARGUMENT_TENSOR},
    {"--tp", ARGUMENT_TENSOR},
    {"--pipeline-parallel-size", ARGUMENT_PIPELINE},
    {"--pp-size", ARGUMENT_PIPELINE},
    {"--pp", ARGUMENT_PIPELINE},
    {"--data-parallel-size", ARGUMENT_DATA},
    {"--dp-size", ARGUMENT_DATA},
    {"--dp", ARGUMENT_DATA},
    {"--enable-dp-attention", ARGUMENT_DATA_WITHIN},
    {"--dtype", ARGUMENT_DTYPE},
    {"--quantization", ARGUMENT_QUANTIZATION},
    {"--kv-cache-dtype", ARGUMENT_KV_CACHE_DTYPE},
    {"--revision", ARGUMENT_REVISION},
    {"--disable-radix-cache", ARGUMENT_NO_CACHE},
    {NULL, ARGUMENT_MODEL},
};

/* Of 0.5.16: sglang/srt/server_args.py (_handle_gpu_memory_settings), and the recorded start on an H200 (a share of
 * 0.903, 4096 requests, 8192 tokens of a prompt, graphs up to 256). */
static const struct engine_setting settings[] = {
    {SETTING_CONTEXT, FORM_VALUE, "--context-length", NULL, "the model's own", NULL, NULL},
    {SETTING_TENSOR, FORM_VALUE, "--tensor-parallel-size", NULL, "1", NULL, NULL},
    {SETTING_PIPELINE, FORM_VALUE, "--pipeline-parallel-size", NULL, "1", NULL, NULL},
    {SETTING_DATA, FORM_VALUE, "--data-parallel-size", NULL, "1", NULL, NULL},
    {SETTING_EXPERT, FORM_VALUE, "--ep-size", NULL, "1", NULL, NULL},
    {SETTING_EXPERT, FORM_VALUE, "--expert-parallel-size", NULL, "1", NULL, NULL},
    {SETTING_EXPERT, FORM_VALUE, "--ep", NULL, "1", NULL, NULL},
    {SETTING_DTYPE, FORM_VALUE, "--dtype", NULL, "the model's own", NULL, NULL},
    {SETTING_QUANTIZATION, FORM_VALUE, "--quantization", NULL, "the model's own", NULL, NULL},
    {SETTING_KV_DTYPE, FORM_VALUE, "--kv-cache-dtype", NULL, "the model's own", NULL, NULL},
    {SETTING_MEMORY, FORM_VALUE, "--mem-fraction-static", NULL,
     "what its estimate of the rest leaves (0.903 on an H200)", NULL, "of the GPU for weights and KV cache"},
    {SETTING_MAX_RUNNING, FORM_VALUE, "--max-running-requests", NULL, "by the KV cache's size, 4096 at most", NULL,
     NULL},
    {SETTING_PREFIX_CACHE, FORM_SWITCH, NULL, "--disable-radix-cache", "on", NULL, NULL},
    {SETTING_CHUNKED_PREFILL, FORM_SWITCH, NULL, "--chunked-prefill-size=-1", "on", NULL, NULL},
    {SETTING_PREFILL_TOKENS, FORM_VALUE, "--chunked-prefill-size", NULL, "by the GPU's memory (8192 from 60 to 160 GB)",
     NULL, "of a prompt"},
    {SETTING_FRONT_ENDS, FORM_VALUE, "--tokenizer-worker-num", NULL, "1", NULL, NULL},
    {SETTING_SEED, FORM_VALUE, "--random-seed", NULL, "drawn anew by each start", NULL, NULL},
    {SETTING_GRAPHS, FORM_VALUE, "--cuda-graph-max-bs-decode", NULL, "by the GPU's memory (256 from 60 to 160 GB)",
     NULL, NULL},
    {SETTING_GRAPHS, FORM_VALUE, "--cuda-graph-max-bs", NULL, NULL, NULL, NULL},
    {SETTING_COUNT, FORM_VALUE, NULL, NULL, NULL, NULL, NULL},
};
static const char *const launch[] = {"python3", "-m", "sglang.launch_server", NULL};

/* ---- output ---- */

static int64_t positive_setting(struct span arguments, const char *name)
{
    int64_t value;
    struct span s = log_setting(arguments, name);
    return s.p && num_i64(s, &value) && value > 0 ? value : ABSENT_I64;
}

/* Each tokenizer worker makes one request, of as many prompts as there are data-parallel ranks, each of which is a
 * request to the engine's counts. */
static int64_t warmup_requests(struct span arguments)
{
    int64_t workers = positive_setting(arguments, "tokenizer_worker_num"),
            ranks = positive_setting(arguments, "dp_size");
    struct span skipped = log_setting(arguments, "skip_server_warmup");
    if (span_is(skipped, "True"))
        return 0;
    return span_is(skipped, "False") && workers < 10000 && workers > 0 && ranks < 10000 && ranks > 0 ? workers * ranks
                                                                                                     : ABSENT_I64;
}

/* What its settings say of that. Each front end answers its own request and then says that it is ready; its access log
 * may be off, or the request may go to another path, so either sign counts. */
static void read_own_requests(struct engine_identity *id, struct span arguments)
{
    struct span skipped = log_setting(arguments, "skip_server_warmup");
    id->own_requests_max = warmup_requests(arguments);
    id->own_fronts = span_is(skipped, "False") ? positive_setting(arguments, "tokenizer_worker_num") : ABSENT_I64;
}

static void count_own_requests(struct engine_identity *id, struct span line)
{
    enum { LONGEST = 300 }; /* bytes of such a line */
    if (line.n > LONGEST || id->own_fronts == ABSENT_I64)
        return;
    struct span asked = span_behind(line, "\"POST /generate HTTP");
    if (asked.p && span_behind(asked, "200 OK").p)
        id->own_answered++;
    if (span_behind(line, "The server is fired up and ready to roll").p)
        id->own_ready++;
}

#define ARGUMENTS "server_args=ServerArgs(" /* the line in which it tells all of it */

/* Its name, and how many requests it makes to warm itself up. */
static void recognise(struct engine_identity *id, struct span line)
{
    struct span arguments = span_behind(line, ARGUMENTS);
    if (arguments.p && !id->name) {
        id->name = "sglang";
        read_own_requests(id, arguments);
    }
    count_own_requests(id, line);
}

static void read_sglang_log(struct engine_identity *id, struct span line)
{
    struct span arguments = span_behind(line, ARGUMENTS);
    if (arguments.p)
        read_own_requests(id, arguments);
    count_own_requests(id, line);
}

static const char *const progress[] = {"Init torch distributed begin",
                                       "Load weight begin",
                                       "Load weight end",
                                       "KV Cache is allocated",
                                       "Capture target prefill CUDA graph begin",
                                       "Capture target decode CUDA graph begin",
                                       "Capture target decode CUDA graph end",
                                       "Application startup complete",
                                       "The server is fired up and ready to roll",
                                       NULL};

/* It says that it serves by the same words as vLLM, and warms itself up after that. */
static const struct engine_milestone_phrase milestones[] = {
    {MILESTONE_WEIGHTS, "Load weight end"},
    {MILESTONE_GRAPHS, "Capture target decode CUDA graph end"},
    {MILESTONE_GRAPHS, "Capture cuda graph end"},
    {MILESTONE_SERVING, "Application startup complete"},
    {MILESTONE_WEIGHTS, NULL},
};

/* 8 tokens: http_server's warm-up asks for max_new_tokens 8. On the recorded run its count of 542 tokens was 512 of a
 * warm-up, 22 of seven single requests and 8 of its own; the three /health and /health_generate that were asked, of one
 * token each, are not in it. */
static const struct engine_own_tokens own_tokens[] = {{"0.5.16", 8}, {NULL, 0}};

/* ---- identity ---- */

static const struct engine_question questions[] = {
    {"/server_info", "/get_server_info", false},
    {"/model_info", "/get_model_info", false},
    {"/v1/loads", NULL, false},
    {NULL, NULL, false},
};

/* The arguments are what was asked of it: what it made of them stands where it says "auto" or None. */
static const struct engine_place places[] = {
    {PROPERTY_VERSION, SOURCE_ANSWER, TAKE_TEXT, "/server_info", "version", NULL, false},
    {PROPERTY_ROOT, SOURCE_ANSWER, TAKE_TEXT, "/server_info", "model_path", NULL, false},
    {PROPERTY_REVISION, SOURCE_ANSWER, TAKE_TEXT, "/server_info", "revision", NULL, false},
    {PROPERTY_CONTEXT, SOURCE_ANSWER, TAKE_COUNT, "/server_info", "context_length", NULL, false},
    {PROPERTY_TENSOR, SOURCE_ANSWER, TAKE_COUNT, "/server_info", "tp_size", NULL, false},
    {PROPERTY_PIPELINE, SOURCE_ANSWER, TAKE_COUNT, "/server_info", "pp_size", NULL, false},
    {PROPERTY_DATA, SOURCE_ANSWER, TAKE_COUNT, "/server_info", "dp_size", NULL, false},
    {PROPERTY_EXPERT, SOURCE_ANSWER, TAKE_COUNT, "/server_info", "ep_size", NULL, false},
    {PROPERTY_DTYPE, SOURCE_ANSWER, TAKE_TEXT, "/server_info", "dtype", NULL, false},
    {PROPERTY_QUANTIZATION, SOURCE_ANSWER, TAKE_TEXT, "/server_info", "quantization", NULL, false},
    {PROPERTY_KV_DTYPE, SOURCE_ANSWER, TAKE_TEXT, "/server_info", "kv_cache_dtype", NULL, false},
    {PROPERTY_ATTENTION, SOURCE_ANSWER, TAKE_TEXT, "/server_info", "attention_backend", NULL, false},
    {PROPERTY_PREFIX_CACHE, SOURCE_ANSWER, TAKE_OFF, "/server_info", "disable_radix_cache", NULL, false},
    {PROPERTY_CHUNKED_PREFILL, SOURCE_ANSWER, TAKE_SIZE, "/server_info", "chunked_prefill_size", NULL, false},
    {PROPERTY_MAX_RUNNING, SOURCE_ANSWER, TAKE_COUNT, "/server_info", "max_running_requests", NULL, false},
    {PROPERTY_THINKING, SOURCE_ANSWER, TAKE_ON, "/server_info", "default_chat_template_kwargs.enable_thinking", NULL,
     false},
    {PROPERTY_THINKING, SOURCE_ANSWER, TAKE_ON, "/server_info", "default_chat_template_kwargs.thinking", NULL, false},
    {PROPERTY_THINKING, SOURCE_ANSWER, TAKE_ON, "/server_info", "default_chat_template_kwargs", "enable_thinking",
     false},
    {PROPERTY_ROOT, SOURCE_ANSWER, TAKE_TEXT, "/model_info", "model_path", NULL, false},
    {PROPERTY_VERSION, SOURCE_ANSWER, TAKE_TEXT, "/v1/loads", "version", NULL, false},
    {PROPERTY_MAX_RUNNING, SOURCE_ANSWER, TAKE_COUNT, "/v1/loads", "loads.max_running_requests", NULL, true},
    {PROPERTY_ROOT, SOURCE_OUTPUT, TAKE_TEXT, ARGUMENTS, "model_path", NULL, false},
    {PROPERTY_REVISION, SOURCE_OUTPUT, TAKE_TEXT, ARGUMENTS, "revision", NULL, false},
    {PROPERTY_CONTEXT, SOURCE_OUTPUT, TAKE_COUNT, ARGUMENTS, "context_length", NULL, false},
    {PROPERTY_TENSOR, SOURCE_OUTPUT, TAKE_COUNT, ARGUMENTS, "tp_size", NULL, false},
    {PROPERTY_PIPELINE, SOURCE_OUTPUT, TAKE_COUNT, ARGUMENTS, "pp_size", NULL, false},
    {PROPERTY_DATA, SOURCE_OUTPUT, TAKE_COUNT, ARGUMENTS, "dp_size", NULL, false},
    {PROPERTY_EXPERT, SOURCE_OUTPUT, TAKE_COUNT, ARGUMENTS, "ep_size", NULL, false},
    {PROPERTY_DTYPE, SOURCE_OUTPUT, TAKE_TEXT, ARGUMENTS, "dtype", NULL, false},
    {PROPERTY_QUANTIZATION, SOURCE_OUTPUT, TAKE_TEXT, ARGUMENTS, "quantization", NULL, false},
    {PROPERTY_KV_DTYPE, SOURCE_OUTPUT, TAKE_TEXT, ARGUMENTS, "kv_cache_dtype", NULL, false},
    {PROPERTY_ATTENTION, SOURCE_OUTPUT, TAKE_TEXT, ARGUMENTS, "attention_backend", NULL, false},
    {PROPERTY_PREFIX_CACHE, SOURCE_OUTPUT, TAKE_OFF, ARGUMENTS, "disable_radix_cache", NULL, false},
    {PROPERTY_CHUNKED_PREFILL, SOURCE_OUTPUT, TAKE_SIZE, ARGUMENTS, "chunked_prefill_size", NULL, false},
    {PROPERTY_MAX_RUNNING, SOURCE_OUTPUT, TAKE_COUNT, ARGUMENTS, "max_running_requests", NULL, false},
    /* What the checkpoint's own files say (get_quantization_config_log_str), which its settings don't tell: "quant=fp8,
     * fmt=e4m3". Where the word is missing the files could also not be read, so that proves nothing. */
    {PROPERTY_QUANTIZATION, SOURCE_OUTPUT, TAKE_TEXT, "Load weight end.", "quant", NULL, false},
    {PROPERTY_KV_DTYPE, SOURCE_OUTPUT, TAKE_TEXT, "KV Cache is allocated. dtype: ", NULL, ",", false},
    {PROPERTY_ATTENTION, SOURCE_COMMAND, TAKE_TEXT, "--attention-backend", NULL, NULL, false},
    {PROPERTY_CHUNKED_PREFILL, SOURCE_COMMAND, TAKE_SIZE, "--chunked-prefill-size", NULL, NULL, false},
    {PROPERTY_MAX_RUNNING, SOURCE_COMMAND, TAKE_COUNT, "--max-running-requests", NULL, NULL, false},
    {PROPERTY_EXPERT, SOURCE_COMMAND, TAKE_COUNT, "--ep-size", NULL, NULL, false},
    {PROPERTY_EXPERT, SOURCE_COMMAND, TAKE_COUNT, "--expert-parallel-size", NULL, NULL, false},
    {PROPERTY_EXPERT, SOURCE_COMMAND, TAKE_COUNT, "--ep", NULL, NULL, false},
    {PROPERTY_THINKING, SOURCE_COMMAND, TAKE_ON, "--default-chat-template-kwargs", NULL, "enable_thinking", false},
    {PROPERTY_MODEL, SOURCE_ANSWER, TAKE_TEXT, NULL, NULL, NULL, false},
};

/* ---- metrics ---- */

static const struct engine_metric metrics[] = {
    {"sglang:num_running_reqs", FIGURE_RUNNING},
    {"sglang:num_queue_reqs", FIGURE_WAITING},
    {"sglang:token_usage", FIGURE_KV_CACHE_USED},
    {"sglang:num_retracted_requests_total", FIGURE_PREEMPTIONS},
    {"sglang:num_retracted_reqs", FIGURE_PREEMPTIONS},
    {"sglang:prompt_tokens_total", FIGURE_PROMPT_TOKENS},
    {"sglang:generation_tokens_total", FIGURE_GENERATION_TOKENS},
    {"sglang:num_requests_total", FIGURE_REQUESTS_ENDED},
    {"sglang:prompt_tokens_total", FIGURE_PREFIX_QUERIES}, /* each prompt is looked up whole */
    {"sglang:cached_tokens_total", FIGURE_PREFIX_HITS}, /* a label says where they were kept: device, host, storage */
    ENGINE_HISTOGRAM("sglang:time_to_first_token_seconds", FIGURE_TTFT),
    ENGINE_HISTOGRAM("sglang:queue_time_seconds", FIGURE_QUEUE),
    ENGINE_HISTOGRAM("sglang:inter_token_latency_seconds", FIGURE_ITL),
    ENGINE_HISTOGRAM("sglang:time_per_output_token_seconds", FIGURE_ITL), /* its older name */
    ENGINE_HISTOGRAM("sglang:e2e_request_latency_seconds", FIGURE_E2E),
    {"sglang:spec_accept_rate", FIGURE_ACCEPTED_SHARE},
    {"sglang:spec_accept_length", FIGURE_ACCEPTED_LENGTH},
    {NULL, FIGURE_RUNNING},
};

static const struct engine_metrics_hint metrics_hints[] = {
    {404, "start SGLang with --enable-metrics"},
    {0, NULL},
};

/* ---- row ---- */

static const int good_exits[] = {0, 137, -1}; /* it ends its processes and itself by SIGKILL */

static const char *const process_names[] = {"sglang::", NULL};
static const char *const command_parts[] = {"sglang.launch_server", "sglang serve", NULL};
static const char *const key_options[] = {"--api-key", NULL};
static const struct engine_variable caches[] = {{"SGLANG_CACHE_DIR", "sglang"}, {NULL, NULL}};

const struct engine engine_sglang = {
    .name = "sglang",
    .process_names = process_names,
    .command_parts = command_parts,
    .starts = starts,
    .options = options,
    .abbreviates = true,
    .takes_address = true,
    .states_sizes = true,
    .launch = launch,
    .metrics_option = "--enable-metrics",
    .settings = settings,
    .settings_version = "0.5.16",
    .keys.options = key_options,
    .environment.caches = caches,
    .forces_lengths = true, /* the recorded warm-up of 8 has 8 times 64 tokens */
    .put_length = put_length_min_tokens,
    .health_path = "/health", /* it runs a generation of one token, when nothing else runs */
    .metrics.path = "/metrics",
    .questions = questions,
    .places = places,
    .hides_formats = true,
    .metrics.names = metrics,
    .metrics.hints = metrics_hints,
    .metrics.counts_at_end = true, /* the count stood 61 % low over 41 s of a recorded burst */
    .output.read_log = read_sglang_log,
    .output.recognise = recognise,
    .output.progress = progress,
    .output.milestones = milestones,
    .output.own_tokens = own_tokens,
    .good_exits = good_exits,
};
