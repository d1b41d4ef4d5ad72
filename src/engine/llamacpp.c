/* llama.cpp's server, as its documentation and source of 2026 have it (github.com/ggml-org/llama.cpp, tools/server);
 * none was recorded yet. */
#include "engine/table.h"

#include <string.h>

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

static int64_t slot_context(struct span props)
{
    int64_t context = ABSENT_I64;
    struct json j;
    json_init(&j, json_member(json_member(props, span_of("default_generation_settings")), span_of("n_ctx")));
    if (json_next(&j) == JSON_NUMBER)
        json_i64(&j, &context);
    return context;
}

static const char *text_member(struct span object, const char *name, struct arena *a)
{
    struct json j;
    json_init(&j, json_member(object, span_of(name)));
    return json_next(&j) == JSON_STRING ? json_copy(&j, a) : NULL;
}

/* "Q4_K - Medium" as files and commands have it: Q4_K_M. */
static const char *format_name(const char *ftype, struct arena *a)
{
    const char *dash = ftype ? strstr(ftype, " - ") : NULL;
    if (!dash)
        return ftype;
    const char *size = dash + strlen(" - ");
    bool sized = strcmp(size, "Small") == 0 || strcmp(size, "Medium") == 0 || strcmp(size, "Large") == 0;
    return arena_format(a, sized ? "%.*s_%c" : "%.*s", (int)(dash - ftype), ftype, *size);
}

/* /props: its build, the file, the file's number format, and the context of one slot. */
static bool read_about(struct engine_identity *id, struct span body)
{
    const char *build = text_member(body, "build_info", id->arena);
    if (!build)
        return false;
    id->version = build;
    id->log_model = text_member(body, "model_path", id->arena);
    const char *ftype = text_member(body, "model_ftype", id->arena);
    if (ftype)
        id->quantization = format_name(ftype, id->arena);
    int64_t context = slot_context(body);
    if (context > 0)
        id->context_length = context;
    return true;
}

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

const struct engine engine_llamacpp = {
    .name = "llamacpp",
    .process_names = process_names,
    .starts = starts,
    .options = options,
    .takes_address = true,
    .socket_option = "--host", /* a path that ends in .sock */
    .key_options = key_options,
    .key_variables = key_variables,
    .variables = variables,
    .model_caches = model_caches,
    .put_length = put_length,
    .health_path = "/health", /* 503 while it loads the model */
    .metrics_path = "/metrics",
    .about_path = "/props",
    .read_about = read_about,
    .root_is_model = true,
    .metrics = metrics,
    .metrics_hints = metrics_hints,
    .counts_at_end = true, /* a slot's tokens are added when it is released */
    .progress = progress,
    .milestones = milestones,
};
