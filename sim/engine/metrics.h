/* The engine's counters, and how numbers stand in the text of /metrics. */
#ifndef JTOK_SIM_ENGINE_METRICS_H
#define JTOK_SIM_ENGINE_METRICS_H

#include <stdint.h>
#include "base/buf.h"
#include "options.h"

/* A histogram without its buckets. */
struct observed {
    double sum_s;
    int64_t count;
};

/* Counters are kept where chunks are delivered, as vLLM's front end does: when that lags, so do they. */
struct metrics {
    int64_t running, waiting;
    double kv_usage; /* 0 to 1 */
    int64_t preemptions;
    int64_t prompt_tokens, generation_tokens;
    int64_t cache_queries, cache_hits; /* tokens */
    int64_t stopped, length, aborted;  /* finished requests by reason */
    struct observed ttft, queue, prefill, tpot, itl, e2e;
    int64_t drafts, accepted; /* speculative decoding: steps of a request, tokens beyond one a step */
};

void metrics_observe(struct observed *h, int64_t ns);

/* A float as prometheus_client writes it: 537.0, 1.021227e+06. */
void metrics_put_float(struct buf *b, double value);

#endif
