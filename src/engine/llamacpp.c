/* llama.cpp's server, as its documentation and source of 2026 have it (github.com/ggml-org/llama.cpp, tools/server);
 * none was recorded yet. */
#include "engine/table.h"

/* ---- command ---- */

static const struct engine_start starts[] = {{"llama-server", NULL}, {NULL, NULL}};

/* Its parser takes each spelling whole, and the value as the next word. Not --ctx-size: it is shared by the slots, and
 * what one request may have is in /props. */
static const struct engine_option options[] = {
    {"--model", ARGUMENT_MODEL},
    {"-m", ARGUMENT_MODEL},
    {"--hf-repo", ARGUMENT_REPOSITORY},
    {"-hf", ARGUMENT_REPOSITORY},
    {"-hfr", ARGUMENT_REPOSITORY},
    {"--alias", ARGUMENT_SERVED},
    {"-a", ARGUMENT_SERVED},
    {"--cache-type-k", ARGUMENT_KV_CACHE_DTYPE},
    {"-ctk", ARGUMENT_KV_CACHE_DTYPE},
    {"--cache-prompt", ARGUMENT_CACHE},
    {"--no-cache-prompt", ARGUMENT_NO_CACHE},
    {NULL, ARGUMENT_MODEL},
};

static const char *const formats[][2] = {{"bfloat16", "bf16"}, {"float16", "f16"}, {"float32", "f32"}, {NULL, NULL}};

/* Its builds change daily, so no defaults are stated but those that its documentation of 2026 gives. */
static const struct engine_setting settings[] = {
    {SETTING_CONTEXT, FORM_SLOTS, "--ctx-size", NULL, NULL, NULL, NULL},
    {SETTING_CONTEXT, FORM_SLOTS, "-c", NULL, NULL, NULL, NULL},
    {SETTING_KV_DTYPE, FORM_BOTH, "--cache-type-k", "--cache-type-v", "float16", formats, NULL},
    {SETTING_KV_DTYPE, FORM_BOTH, "-ctk", "-ctv", NULL, formats, NULL},
    {SETTING_MAX_RUNNING, FORM_VALUE, "--parallel", NULL, NULL, NULL, NULL},
    {SETTING_MAX_RUNNING, FORM_VALUE, "-np", NULL, NULL, NULL, NULL},
    {SETTING_PREFIX_CACHE, FORM_SWITCH, "--cache-prompt", "--no-cache-prompt", "on", NULL, NULL},
    {SETTING_PREFILL_TOKENS, FORM_VALUE, "--batch-size", NULL, "2048", NULL, "of prompts and answers a step"},
    {SETTING_PREFILL_TOKENS, FORM_VALUE, "-b", NULL, NULL, NULL, NULL},
    {SETTING_SEED, FORM_VALUE, "--seed", NULL, "drawn anew by each start", NULL, NULL},
    {SETTING_SEED, FORM_VALUE, "-s", NULL, NULL, NULL, NULL},
    {SETTING_COUNT, FORM_VALUE, NULL, NULL, NULL, NULL, NULL},
};
static const char *const launch[] = {"llama-server", NULL};

static const char *const process_names[] = {"llama-server", NULL};
static const char *const key_options[] = {"--api-key", NULL};
static const char *const key_variables[] = {"LLAMA_API_KEY", NULL};
static const struct engine_variable variables[] = {{"LLAMA_ARG_OFFLINE", "1"}, {NULL, NULL}};
static const struct engine_variable model_caches[] = {{"LLAMA_CACHE", "llama.cpp"}, {NULL, NULL}};

/* ---- requests ---- */

/* It has no min_tokens. */
static void put_length(const struct engine_request *r, struct json_writer *w)
{
    (void)r; /* max_tokens is sent already */
    json_put_key(w, "ignore_eos");
    json_put_bool(w, true);
}

/* ---- answers ---- */

static const struct engine_question questions[] = {{"/props", NULL, true}, {NULL, NULL, false}};

static const struct engine_place places[] = {
    {PROPERTY_VERSION, SOURCE_ANSWER, TAKE_TEXT, "/props", "build_info", NULL, false},
    {PROPERTY_ROOT, SOURCE_ANSWER, TAKE_TEXT, "/props", "model_path", NULL, false},
    {PROPERTY_CONTEXT, SOURCE_ANSWER, TAKE_COUNT, "/props", "default_generation_settings.n_ctx", NULL, false},
    {PROPERTY_QUANTIZATION, SOURCE_ANSWER, TAKE_TEXT, "/props", "model_ftype", NULL, false},
    {PROPERTY_MAX_RUNNING, SOURCE_ANSWER, TAKE_COUNT, "/props", "total_slots", NULL, false},
    {PROPERTY_MAX_RUNNING, SOURCE_COMMAND, TAKE_COUNT, "--parallel", NULL, NULL, false},
    {PROPERTY_MAX_RUNNING, SOURCE_COMMAND, TAKE_COUNT, "-np", NULL, NULL, false},
    {PROPERTY_MODEL, SOURCE_ANSWER, TAKE_TEXT, NULL, NULL, NULL, false},
};

/* ---- output ---- */

static const char *const progress[] = {"load_model: loading model", "constructing llama_context",
                                       "warming up the model with an empty run", "server is listening on http", NULL};

/* It binds its port first, and says "HTTP server is listening" of that; these words come when the model is there. */
static const struct engine_milestone_phrase milestones[] = {
    {MILESTONE_WEIGHTS, "constructing llama_context"},
    {MILESTONE_SERVING, "server is listening on http"},
    {MILESTONE_WEIGHTS, NULL},
};

/* ---- metrics ---- */

static const struct engine_metric metrics[] = {
    {"llamacpp:requests_processing", FIGURE_RUNNING},
    {"llamacpp:requests_deferred", FIGURE_WAITING},
    {"llamacpp:kv_cache_usage_ratio", FIGURE_KV_CACHE_USED},
    {"llamacpp:prompt_tokens_total", FIGURE_PROMPT_TOKENS},
    {"llamacpp:tokens_predicted_total", FIGURE_GENERATION_TOKENS},
    {"llamacpp:spec_decode_num_drafts_total", FIGURE_DRAFTS},
    {"llamacpp:spec_decode_num_draft_tokens_total", FIGURE_DRAFTED_TOKENS},
    {"llamacpp:spec_decode_num_accepted_tokens_total", FIGURE_ACCEPTED_TOKENS},
    {NULL, FIGURE_RUNNING},
};

static const struct engine_metrics_hint metrics_hints[] = {
    {501, "start llama-server with --metrics"},
    {0, NULL},
};

/* ---- row ---- */

static const int good_exits[] = {0, -1};

const struct engine engine_llamacpp = {
    .name = "llamacpp",
    .process_names = process_names,
    .starts = starts,
    .options = options,
    .takes_address = true,
    .socket_option = "--host", /* a path that ends in .sock */
    .launch = launch,
    .metrics_option = "--metrics",
    .settings = settings,
    .keys.options = key_options,
    .keys.variables = key_variables,
    .keys.by_comma = true,
    .environment.variables = variables,
    .environment.model_caches = model_caches,
    .put_length = put_length,
    .health_path = "/health", /* 503 while it loads the model */
    .metrics.path = "/metrics",
    .questions = questions,
    .places = places,
    .hides_formats = true, /* older builds don't tell model_ftype */
    .root_is_model = true,
    .metrics.names = metrics,
    .metrics.hints = metrics_hints,
    .metrics.counts_at_end = true, /* a slot's tokens are added when it is released */
    .output.progress = progress,
    .output.milestones = milestones,
    .good_exits = good_exits,
    .fetches = "llama-server -hf",
};
