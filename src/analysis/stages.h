/* When each stage was, whether the GPUs were idle before, and whether the release closed (METHOD section 3). */
#ifndef JTOK_ANALYSIS_STAGES_H
#define JTOK_ANALYSIS_STAGES_H

#include "model/record.h"
#include "model/result.h"

/* Judges the baseline window [baseline_start, baseline_end] of every GPU by rules/idle, into the GPUs' baseline_*
 * fields. Records in order (model/record_order.h). O(samples). */
void stages_judge_baseline(const struct records *r, struct result_gpu *gpus, struct arena *a);

/* t9, t10 and t11 again from the records, by rules/release and the GPUs' baselines; fills *ret and the GPUs' own times.
 * O(samples log states). */
void stages_judge_release(const struct records *r, struct result_gpu *gpus, struct arena *a,
                          struct result_release *ret);

/* Start and end of every stage that has both; steady, saturated and lifecycle are left alone. */
void stages_bounds(const struct records *r, const struct result_release *release, struct result_stage *stages);

#endif
