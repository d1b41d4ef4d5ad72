/* What one load of the formal stage says: the split of its energy, its windows, its lag and its requests. Today a
 * formal stage is one burst of requests, so there is one. */
#ifndef JTOK_ANALYSIS_LOAD_H
#define JTOK_ANALYSIS_LOAD_H

#include "analysis/assemble.h"
#include "analysis/stages.h"

struct load_findings {
    struct result_attribution attribution;
    struct window_list windows;
    struct result_steady *steady_table; /* RULE_COUNT * K_COUNT */
    size_t steady_count;
    struct result_saturated saturated;
    struct result_stage steady_stage, saturated_stage;
    struct quantity peak_concurrency;
    struct levels levels; /* `gpus` null: there was no load */
    struct result_lag lag;
    struct result_request *requests;
};

/* O(chunks + samples + requests log requests). */
struct load_findings load_look(const struct formal *f, const struct run_series *s, const struct request_table *table,
                               struct arena *a);

/* Of a run without a formal stage: nothing, as `absent` (result_absent) says it. */
struct load_findings load_missing(const struct result *absent, const struct request_table *table);

#endif
