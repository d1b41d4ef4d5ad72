#include "engine/engine.h"

#include <math.h>
#include <stddef.h>
#include "base/utf8.h"
#include "text/prom.h"

struct metric {
    const char *name;
    size_t offset;
};

#define AT(field) offsetof(struct rec_metrics, field)

/* New names before old ones: a server that still gives both counts once (the first that has a sample). */
static const struct metric metrics[] = {
    {"vllm:num_requests_running", AT(running)},
    {"vllm:num_requests_waiting", AT(waiting)},
    {"vllm:kv_cache_usage_perc", AT(kv_cache_used)},
    {"vllm:gpu_cache_usage_perc", AT(kv_cache_used)},
    {"vllm:num_preemptions_total", AT(preemptions)},
    {"vllm:prompt_tokens_total", AT(prompt_tokens)},
    {"vllm:generation_tokens_total", AT(generation_tokens)},
    {"vllm:prefix_cache_queries_total", AT(prefix_queries)},
    {"vllm:gpu_prefix_cache_queries_total", AT(prefix_queries)},
    {"vllm:prefix_cache_hits_total", AT(prefix_hits)},
    {"vllm:gpu_prefix_cache_hits_total", AT(prefix_hits)},
    {"vllm:request_success_total", AT(requests_ended)},
    {"sglang:num_running_reqs", AT(running)},
    {"sglang:num_queue_reqs", AT(waiting)},
    {"sglang:token_usage", AT(kv_cache_used)},
    {"sglang:num_retracted_requests_total", AT(preemptions)},
    {"sglang:num_retracted_reqs", AT(preemptions)},
    {"sglang:prompt_tokens_total", AT(prompt_tokens)},
    {"sglang:generation_tokens_total", AT(generation_tokens)},
    {"sglang:num_requests_total", AT(requests_ended)},
    {"llamacpp:requests_processing", AT(running)},
    {"llamacpp:requests_deferred", AT(waiting)},
    {"llamacpp:kv_cache_usage_ratio", AT(kv_cache_used)},
    {"llamacpp:prompt_tokens_total", AT(prompt_tokens)},
    {"llamacpp:tokens_predicted_total", AT(generation_tokens)},
    {"lmdeploy:num_requests_running", AT(running)},
    {"lmdeploy:num_requests_waiting", AT(waiting)},
    {"lmdeploy:gpu_cache_usage_perc", AT(kv_cache_used)},
    {"lmdeploy:generation_tokens_total", AT(generation_tokens)},
    {"tgi_queue_size", AT(waiting)},
    {"tgi_batch_current_size", AT(running)},
};
static const double FIGURE_MAX = 9007199254740992.0; /* whole numbers are exact up to here; none is beyond */

enum { METRICS = sizeof metrics / sizeof *metrics };

/* vLLM counts by what ended a request, and among its "successes" those that were aborted or failed. */
static bool ended_badly(const struct prom_sample *s)
{
    struct span reason;
    return prom_label(s->labels, "finished_reason", &reason) && (span_is(reason, "abort") || span_is(reason, "error"));
}

struct rec_metrics engine_read_metrics(struct span text)
{
    double sum[METRICS] = {0};
    unsigned count[METRICS] = {0};
    struct prom_sample s;
    while (prom_next(&text, &s, NULL))
        for (size_t i = 0; i < METRICS; i++)
            if (span_is(s.name, metrics[i].name) && isfinite(s.value) && !ended_badly(&s)) {
                sum[i] += s.value;
                count[i]++;
            }
    struct rec_metrics m = {.t_ns = ABSENT_I64,
                            .took_ns = ABSENT_I64,
                            .running = NAN,
                            .waiting = NAN,
                            .kv_cache_used = NAN,
                            .preemptions = NAN,
                            .prompt_tokens = NAN,
                            .generation_tokens = NAN,
                            .prefix_queries = NAN,
                            .prefix_hits = NAN,
                            .requests_ended = NAN};
    for (size_t i = 0; i < METRICS; i++) {
        double *field = (double *)((char *)&m + metrics[i].offset);
        if (!count[i] || !isnan(*field))
            continue;
        /* A share does not add up over engines: their mean. */
        double value = metrics[i].offset == AT(kv_cache_used) ? sum[i] / count[i] : sum[i];
        if (value >= 0 && value <= FIGURE_MAX)
            *field = value;
    }
    return m;
}

/* "status 501 ("This server does not support metrics.")": the body's beginning, where there is one. */
static const char *status_text(const struct engine_metrics_answer *answer, struct arena *a)
{
    enum { SHOWN = 120 };
    struct buf b = {0};
    struct span body = answer->body;
    size_t n = body.n < SHOWN ? body.n : SHOWN;
    buf_fmt(&b, "status %d", answer->status);
    if (n) {
        buf_str(&b, " (\"");
        utf8_show(&b, span_trim((struct span){body.p, n}), false);
        buf_str(&b, n < body.n ? "...\")" : "\")");
    }
    const char *text = arena_text(a, buf_text(&b));
    buf_done(&b);
    return text;
}

const char *engine_metrics_lack(const struct plan *p, const struct engine_metrics_answer *answer, struct arena *a)
{
    const char *path = engine_metrics_path(p), *status = status_text(answer, a);
    if (answer->status < 0)
        return arena_format(a, "no answer: %s", answer->detail ? answer->detail : "it is not known why");
    if (answer->status == 200)
        return arena_format(a, "%s, which holds no count of generated tokens that jtok knows", status);
    if (answer->status >= 300 && answer->status < 400)
        return answer->location && answer->location[0]
                   ? arena_format(a, "status %d, which points to %s: set engine.metrics_path to that", answer->status,
                                  answer->location)
                   : arena_format(
                         a, "%s, a redirect to nowhere: set engine.metrics_path to where the engine has its metrics",
                         status);
    if (answer->status == 501)
        return arena_format(a, "%s: start llama-server with --metrics", status);
    if (answer->status == 404)
        return arena_format(a,
                            "%s: start SGLang with --enable-metrics, or set engine.metrics_path to where the engine "
                            "has its metrics (asked: %s)",
                            status, path ? path : "nothing");
    if (answer->status == 401 || answer->status == 403)
        return arena_format(a, "%s: give the server's key in JTOK_API_KEY", status);
    return status;
}
