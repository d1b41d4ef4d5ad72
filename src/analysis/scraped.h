/* What the engine says of itself over one load, beside what its clients saw (METHOD section 10). It explains a run, and
 * no other number depends on it. */
#ifndef JTOK_ANALYSIS_SCRAPED_H
#define JTOK_ANALYSIS_SCRAPED_H

#include "analysis/latency.h"

struct scraped_span {
    int64_t start_ns, end_ns;          /* of the load: first submission, last end; or of a window */
    int64_t until_ns;                  /* nothing else was asked of the engine up to then; INT64_MAX: ever */
    int64_t from_ns, to_ns;            /* gauges: answers within; ABSENT_I64: none */
    int32_t load;                      /* number of the load that the requests of `table` carry; -1: none */
    const struct request_table *table; /* of this load's requests, in their order; null: no request is jtok's */
};

/* Counts and sums are those between two scrapes: the last one answered by the start, and the last one asked for from
 * the end on and answered by `until_ns` (without requests of jtok's: the last one answered by the end, as a window
 * ends with one). Absent with its reason: what either lacks, and what fell between them. What jtok's requests and the
 * engine's do not agree in number on, by over METHOD_SAME_REQUESTS_SHARE, has no difference. Records in order.
 * O(scrapes + requests). */
struct result_engine scraped_of(const struct records *r, const struct scraped_span *s, struct arena *a);

#endif
