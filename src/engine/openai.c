/* Any server with the OpenAI interface, started by the user's own command. Nothing is known of it but what nearly every
 * server has; which engine it is may come out as it speaks. */
#include "engine/table.h"

/* Of servers that have no file of their own. */
static const struct engine_metric metrics[] = {
    {"llamacpp:requests_processing", FIGURE_RUNNING},
    {"llamacpp:requests_deferred", FIGURE_WAITING},
    {"llamacpp:kv_cache_usage_ratio", FIGURE_KV_CACHE_USED},
    {"llamacpp:prompt_tokens_total", FIGURE_PROMPT_TOKENS},
    {"llamacpp:tokens_predicted_total", FIGURE_GENERATION_TOKENS},
    {"lmdeploy:num_requests_running", FIGURE_RUNNING},
    {"lmdeploy:num_requests_waiting", FIGURE_WAITING},
    {"lmdeploy:gpu_cache_usage_perc", FIGURE_KV_CACHE_USED},
    {"lmdeploy:generation_tokens_total", FIGURE_GENERATION_TOKENS},
    {"tgi_queue_size", FIGURE_WAITING},
    {"tgi_batch_current_size", FIGURE_RUNNING},
    {NULL, FIGURE_RUNNING},
};

static const struct engine_metrics_hint metrics_hints[] = {
    {501, "start llama-server with --metrics"},
    {0, NULL},
};

const struct engine engine_openai = {
    .name = "openai",
    .any_server = true,
    .put_length = put_length_min_tokens,
    .health_path = "/health",
    .metrics_path = "/metrics",
    .metrics = metrics,
    .metrics_hints = metrics_hints,
};
