/* Did the release close: t9, t10 and t11 again from the records, by rules/release and the GPUs' baselines (METHOD
 * section 3). */
#ifndef JTOK_ANALYSIS_RELEASE_H
#define JTOK_ANALYSIS_RELEASE_H

#include "analysis/baseline.h"

/* One GPU by itself, from formal_end. */
struct gpu_release {
    struct quantity memory_released_s, power_recovered_s;
};

struct release_verdict {
    bool closed, timed_out;
    const char *why; /* not closed: what is missing, on which GPU */
    struct quantity exit_s, memory_released_s, power_recovered_s, end_s, first_in_band_s; /* from formal_end */
    struct quantity resolution_j;
    int64_t end_ns;           /* latest of exit, memory, power; the end of the watch where not closed; ABSENT_I64 */
    int64_t hold_restarts;    /* ABSENT_I64: there was no release */
    struct gpu_release *gpus; /* of each */
};

/* Records in order. O(samples log states). */
struct release_verdict release_judge(const struct records *r, const struct gpu_baseline *baseline, struct arena *a);

#endif
