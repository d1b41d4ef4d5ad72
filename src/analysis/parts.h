/* Parts of a stage: jtok's own waits, and the startup by phase (METHOD section 3). Both only explain: nothing is
 * subtracted, and the parts of a whole add up to it. Their energy is by basis `precise` where the whole stage has it,
 * else by the counter, so that all parts of one stage are of one kind. */
#ifndef JTOK_ANALYSIS_PARTS_H
#define JTOK_ANALYSIS_PARTS_H

#include "analysis/energy.h"
#include "model/record.h"
#include "model/result.h"

/* The series that the parts of a stage are measured by: SERIES_PRECISE or SERIES_COUNTER. */
int parts_series(const struct result_stage *s);

/* Fills wait_s, wait_j and wait_share of startup ([warmup_end, formal_start]) and release ([formal_end, stop]), from
 * the marks. wait_share leaves the silence before the formal start out, where connections were opened ahead. */
void parts_waits(const struct records *r, const struct meters *m, struct result *ret, struct arena *a);

/* Cuts the startup where the first GPU is used and at the milestones of the engine's log. A mark that is missing, comes
 * outside the startup or not after those before it in enum startup_phase cuts nothing: its time belongs to the next one
 * that does. Records in order. O(facts + states of the GPUs). */
void parts_phases(const struct records *r, const struct meters *m, struct result *ret, struct arena *a);

#endif
