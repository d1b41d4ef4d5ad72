/* The metrics of METHOD section 7 and the estimate E(N), from a result whose other parts are filled. */
#ifndef JTOK_ANALYSIS_METRICS_H
#define JTOK_ANALYSIS_METRICS_H

#include "model/record.h"
#include "model/result.h"

/* Fills result->metrics from stages, load, steady, saturated and lag. Cost and carbon only with the plan's PUE and
 * server factor, of the formal stage: kWh per token = J/token * server factor * PUE / 3.6e6. O(1). */
void metrics_fill(const struct plan *plan, struct result *result);

/* After metrics_fill, where the records lack requests: nothing that is divided by tokens or requests has a value. O(1).
 */
void metrics_lack_requests(struct result *result, const char *why);

/* Fills result->estimate after metrics_fill. Its table: N = 1, 10 ... 10^6 and the run's own count. */
void estimate_fill(struct result *result, struct arena *a);

#endif
