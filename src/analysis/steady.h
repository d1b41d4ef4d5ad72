/* Windows of requests in completion order, and where they are steady (METHOD section 6). */
#ifndef JTOK_ANALYSIS_STEADY_H
#define JTOK_ANALYSIS_STEADY_H

#include "analysis/tokens.h"
#include "model/method.h"
#include "model/result.h"

/* Rows of the requests that generate, by (end, id). Memory is the arena's. O(n log n). */
uint32_t *steady_order(const struct streams *s, struct arena *a, size_t *ret_count);

/* Every window of W, sliding by one: CV and level under each reading. `energy_j[reading]` by row; null: that reading
 * has no energy, its CV and level are NaN. O(count * W). */
struct result_window *steady_windows(const struct streams *s, const uint32_t *order, size_t count, int64_t window,
                                     int64_t formal_start_ns, const double *const energy_j[RULE_COUNT], struct arena *a,
                                     size_t *ret_count);

/* Looks for K consecutive non-overlapping windows under the limit. Fills the verdict, the window, its requests and CVs,
 * and the reason where not reached; energy and tokens are left to the caller. `count`: requests in completion order.
 * O(windows). */
void steady_find(const struct result_window *windows, size_t window_count, size_t count, const struct method *m,
                 int reading, int k, struct arena *a, struct result_steady *ret);

/* First and last moment at which at least `share` of the peak number of requests are within their generation interval,
 * both ends of an interval belonging to it. False where no request generates. O(n log n). */
bool steady_saturated(const struct streams *s, double share, struct arena *a, struct result_saturated *ret);

#endif
