/* The metrics of METHOD section 7 and the estimate E(N), from the other parts of a result. */
#ifndef JTOK_ANALYSIS_METRICS_H
#define JTOK_ANALYSIS_METRICS_H

#include "base/arena.h"
#include "model/plan.h"
#include "model/result.h"

/* From the stages, load, steady, saturated and lag of *x. Cost and carbon only with the plan's PUE and server factor,
 * of the formal stage: kWh per token = J/token * server factor * PUE / 3.6e6. `lack_requests`: null, or which requests
 * the records lack; nothing that is divided by tokens or requests has a value then. O(1). */
struct result_metrics metrics_of(const struct result *x, const struct plan_cost *cost, const char *lack_requests);

/* From the stages, load, steady and metrics of *x and the energy of startup and release. Its table: N = 1, 10 ... 10^6
 * and the run's own count. */
struct result_estimate estimate_of(const struct result *x, struct quantity fixed_j, struct arena *a);

#endif
