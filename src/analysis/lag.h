/* Delivery lag: did tokens arrive when their energy was spent? (METHOD section 6) */
#ifndef JTOK_ANALYSIS_LAG_H
#define JTOK_ANALYSIS_LAG_H

#include "analysis/attribution.h"
#include "analysis/series.h"
#include "analysis/tokens.h"
#include "model/result.h"

/* One GPU: its lowest 0.1 s mean from ready to formal_end, and its mean over the formal stage, both by the buffer. */
struct gpu_level {
    struct quantity ready_w;
    double formal_mean_w; /* NaN: not known */
};

struct levels {
    struct gpu_level *gpus; /* of each */
    size_t n;
    const char *why; /* null, or why idling can't be told from working by them */
};

/* The level of a GPU in a run without a formal stage. */
struct gpu_level lag_no_level(void);

/* `ready_ns`: from when on the level is looked for, ABSENT_I64: never; [start, end] is the formal stage, or the window
 * of a load. O(samples). */
struct levels lag_levels(const struct run_series *s, const struct records *r, int64_t ready_ns, int64_t start_ns,
                         int64_t end_ns, struct arena *a);

/* Where it is looked for lag, and when a request was outstanding there: stretches in order of time that do not touch;
 * null: all the time, as in a burst. */
struct lag_span {
    int64_t start_ns, end_ns;
    const struct interval *owed;
    size_t owed_count;
    double lag_share;
};

/* Was every GPU idle while a request was outstanding? Over `lag_share` of the span is delivery lag. O(samples). */
struct result_lag lag_judge(const struct token_chains *c, const struct run_series *s, const struct levels *levels,
                            const struct lag_span *span, struct arena *a);

#endif
