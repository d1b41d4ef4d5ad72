#include "metrics.h"

#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "wire.h"

void metrics_put_float(struct buf *b, double value)
{
    struct buf text = {0};
    num_put_f64(&text, value);
    const char *digits = buf_text(&text);
    size_t whole = strcspn(digits, ".");
    if (strchr(digits, 'e') || (whole <= 6 && strchr(digits, '.'))) {
        buf_str(b, digits);
    } else if (whole <= 6) {
        buf_fmt(b, "%s.0", digits);
    } else {
        /* 1021227 -> 1.021227e+06, trailing zeros away */
        char mantissa[64];
        int n = snprintf(mantissa, sizeof mantissa, "%c.%.*s%s", digits[0], (int)whole - 1, digits + 1,
                         digits[whole] ? digits + whole + 1 : "");
        while (n > 1 && (mantissa[n - 1] == '0' || mantissa[n - 1] == '.'))
            n--;
        buf_fmt(b, "%.*se+%02zu", n, mantissa, whole - 1);
    }
    buf_done(&text);
}

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

/* SGLang's names for what both have. */
static void put_sglang(const struct metrics *m, struct buf *b)
{
    const struct {
        const char *name;
        double value;
    } list[] = {{"num_running_reqs", (double)m->running},
                {"num_queue_reqs", (double)m->waiting},
                {"token_usage", m->kv_usage},
                {"prompt_tokens_total", (double)m->prompt_tokens},
                {"generation_tokens_total", (double)m->generation_tokens},
                {"num_requests_total", (double)(m->stopped + m->length)}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        buf_fmt(b, "sglang:%s{model_name=\"simulated\"} ", list[i].name);
        metrics_put_float(b, list[i].value);
        buf_byte(b, '\n');
    }
}

void metrics_put(const struct metrics *m, const struct options *o, struct buf *b)
{
    if (o->sglang) {
        put_sglang(m, b);
        return;
    }
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
    put_head(b, "request_success_total", "counter", "Count of successfully processed requests.");
    put_sample(b, o, "request_success_total", "finished_reason=\"stop\",", (double)m->stopped);
    put_sample(b, o, "request_success_total", "finished_reason=\"length\",", (double)m->length);
    put_sample(b, o, "request_success_total", "finished_reason=\"abort\",", (double)m->aborted);
    put_sample(b, o, "request_success_total", "finished_reason=\"error\",", 0);
}
