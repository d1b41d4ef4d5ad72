/* Parts of a stage: jtok's own waits, and the startup by phase (METHOD section 3). Both only explain: nothing is
 * subtracted, and the parts of a whole add up to it. Their energy is by basis `precise` where the whole stage has it,
 * else by the counter, so that all parts of one stage are of one kind. */
#ifndef JTOK_ANALYSIS_PARTS_H
#define JTOK_ANALYSIS_PARTS_H

#include "analysis/energy.h"
#include "model/record.h"
#include "model/result.h"

/* The series that the parts of a stage are measured by: SERIES_PRECISE or SERIES_COUNTER. */
enum series_id parts_series(const struct energy_set *e);

/* One of jtok's own waits. `share` is of the stage by the same series: what is not METHOD's silence before the start.
 */
struct wait {
    double s;
    struct quantity j, share;
};

/* The waits of a startup ([warmup_end, formal_start]) and of a release ([formal_end, stop]) that lies in [start, end]
 * and took `e`; ABSENT_I64 where there is no such stage. The silence before the formal start is not counted in the
 * share where connections were opened ahead. */
struct wait parts_wait_before(int64_t start_ns, int64_t end_ns, const struct energy_set *e, const struct meters *m,
                              const struct records *r, struct arena *a);
struct wait parts_wait_after(int64_t start_ns, int64_t end_ns, const struct energy_set *e, const struct meters *m,
                             const struct records *r, struct arena *a);

/* Cuts a startup where the first GPU is used, at the milestones of the engine's log, where the service is ready and
 * where the warm-up is answered: how many phases, to *ret_phases. One that is missing, comes outside the startup or not
 * after those before it in enum startup_phase cuts nothing: its time belongs to the next one that does. There is no
 * rest where the last one ends with the startup. Records in order. O(facts + states of the GPUs). */
size_t parts_phases(const struct result_stage *startup, const struct meters *m, const struct records *r,
                    struct arena *a, struct result_phase **ret_phases);

#endif
