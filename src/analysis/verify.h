/* Verification: which runs are formal (METHOD section 8), and which with other loads are valid (section 11).
 *
 * Every check and flag of the method's two tables, decided from the records and the analysis alone. An outcome comes
 * with the numbers behind it as a sentence. What each code means and what to do about it: docs/CHECKS.md. */
#ifndef JTOK_ANALYSIS_VERIFY_H
#define JTOK_ANALYSIS_VERIFY_H

#include <stdbool.h>
#include "base/arena.h"
#include "model/method.h"
#include "model/record.h"
#include "model/result.h"

/* By code, CODE_COUNT and FLAG_COUNT of them. */
struct verdicts {
    struct result_check *checks;
    struct result_flag *flags;
    bool stands; /* every check that is asked of the run's object passed, or leaves the run as it is */
    bool formal; /* the same of a life under the source's burst */
};

/* Is a check asked of this object, where the run is not a life under the source's burst? */
bool verify_asks(enum run_object object, enum check_code code);

/* `result` must be the analysis of these records under this method, but for its checks and flags. Facts that the run
 * wrote down itself (struct rec_fact) count by their group, the name's part before the first dot: plan, identity,
 * preflight, gpu, release. Memory is taken from `a`. O(records but chunks, + requests log requests). */
struct verdicts verify_run(const struct records *r, const struct method *m, const struct result *result,
                           struct arena *a);

/* Of damaged records, and of records without some GPU of the plan, no value may be called measured: each becomes
 * EXCLUDED. O(size of the result). */
void verify_exclude(const struct records *r, struct result *result, struct arena *a);

#endif
