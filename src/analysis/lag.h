/* Delivery lag: did tokens arrive when their energy was spent? (METHOD section 6) */
#ifndef JTOK_ANALYSIS_LAG_H
#define JTOK_ANALYSIS_LAG_H

#include "analysis/series.h"
#include "analysis/tokens.h"
#include "model/result.h"

/* Fills *ret and the GPUs' ready_level_w and formal_mean_w. The buffers must be those of `gpus`, in the same order.
 * O(samples). */
void lag_judge(const struct streams *s, const struct gpu_series *series, struct result_gpu *gpus, size_t gpu_count,
               int64_t ready_ns, int64_t formal_start_ns, int64_t formal_end_ns, const struct method *m,
               struct arena *a, struct result_lag *ret);

#endif
