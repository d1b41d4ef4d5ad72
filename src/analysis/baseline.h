/* Were the GPUs idle before? The baseline window of each, judged by rules/idle (METHOD section 3). */
#ifndef JTOK_ANALYSIS_BASELINE_H
#define JTOK_ANALYSIS_BASELINE_H

#include "base/arena.h"
#include "base/quantity.h"
#include "model/record.h"
#include "rules/tick.h"

struct gpu_baseline {
    struct quantity w;
    double sd_w, half_1_w, half_2_w;
    int64_t utilisation_max, processes_max; /* ABSENT_I64: not recorded */
    enum check_outcome idle;
    const char *why; /* not idle, or not known: the reason */
};

/* [baseline_start, baseline_end] of every GPU. Records in order. O(samples). */
struct gpu_baseline *baseline_judge(const struct records *r, struct arena *a);

/* The GPU's grid samples from a time on, failed ones among them, to `ret` (instant_count of room): how many. */
size_t grid_samples(const struct rec_gpu *g, int64_t period_ns, int64_t from_ns, struct tick_sample *ret);

/* Seconds of a plan as nanoseconds; ABSENT_I64 where they are not known, or longer than a run could last. */
int64_t duration_ns(double s);

#endif
