/* Any server with the OpenAI interface, started by the user's own command. Nothing is known of it but what nearly every
 * server has; which engine it is may come out as it speaks. */
#include "engine/table.h"

/* Of servers that have no file of their own. */
static const struct engine_metric metrics[] = {
    {"lmdeploy:num_requests_running", FIGURE_RUNNING},
    {"lmdeploy:num_requests_waiting", FIGURE_WAITING},
    {"lmdeploy:gpu_cache_usage_perc", FIGURE_KV_CACHE_USED},
    {"lmdeploy:generation_tokens_total", FIGURE_GENERATION_TOKENS},
    {"tgi_queue_size", FIGURE_WAITING},
    {"tgi_batch_current_size", FIGURE_RUNNING},
    {NULL, FIGURE_RUNNING},
};

const struct engine engine_openai = {
    .name = "openai",
    .any_server = true,
    .put_length = put_length_min_tokens,
    .health_path = "/health",
    .metrics.path = "/metrics",
    .metrics.names = metrics,
};
