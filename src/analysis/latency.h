/* Times, counts and failures of the formal requests (METHOD section 4). */
#ifndef JTOK_ANALYSIS_LATENCY_H
#define JTOK_ANALYSIS_LATENCY_H

#include "analysis/series.h"
#include "analysis/tokens.h"
#include "model/result.h"

/* The per-request table, by row, without order and energies. Times beside a clock step are absent; their requests are
 * counted in *ret_nulled. O(requests). */
struct result_request *latency_table(const struct streams *s, const struct clock_line *clocks, int64_t formal_start_ns,
                                     struct arena *a, int64_t *ret_nulled);

/* Fills everything of *ret from the table but timings_nulled, clock_steps and peak_concurrency. Expected O(chunks +
 * requests log requests). */
void latency_load(const struct streams *s, const struct result_request *table, struct arena *a,
                  struct result_load *ret);

#endif
