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

/* How power came back. */
struct recovery {
    int64_t t11_ns;   /* ABSENT_I64: it did not, or that was not proven */
    int64_t first_ns; /* the first sample in band */
    int64_t restarts; /* of the hold, after `count_after_ns` */
    const char *why;  /* no t11: the reason */
};

/* Of n GPUs together, by the plan's grid and hold: their samples from a time on, fed in order of time. `baseline` and
 * `recorded` have n each. */
struct recovery release_power(const struct plan_method *plan, const struct rec_gpu *recorded,
                              const struct gpu_baseline *baseline, size_t n, int64_t formal_end_ns,
                              int64_t count_after_ns, struct arena *a);

/* Records in order. O(samples log states). */
struct release_verdict release_judge(const struct records *r, const struct gpu_baseline *baseline, struct arena *a);

#endif
