/* Verification: which runs are formal (METHOD section 8).
 *
 * Every check and mark of the method's two tables, decided from the records and the analysis alone. An outcome comes
 * with the numbers behind it as a sentence. What each code means and what to do about it: docs/CHECKS.md. */
#ifndef JTOK_ANALYSIS_VERIFY_H
#define JTOK_ANALYSIS_VERIFY_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/err.h"
#include "model/method.h"
#include "model/record.h"
#include "model/result.h"

/* Fills result->checks (CODE_COUNT of them, by code), result->marks (FLAG_COUNT) and result->formal: true when every
 * check passed. `result` must be the analysis of these records under this method; it is not changed otherwise. Facts
 * that the run wrote down itself (struct rec_fact) count by their group, the name's part before the first dot: plan,
 * identity, preflight, gpu, release. Memory is taken from `a`. O(records but chunks, + requests log requests). */
void verify_run(const struct records *r, const struct method *m, struct arena *a, struct result *result);

/* analyze() and verify_run(): the whole result of a run, as result.json holds it. Of damaged records, and of
 * records without some GPU of the plan, no value is called measured: each is excluded. */
bool analyze_and_verify(const struct records *r, const struct method *m, struct arena *a, struct result *ret_result,
                        struct err *e);

/* One sentence a code: what it means when a run carries it. Static text. */
const char *check_code_meaning(int check_code);
const char *flag_code_meaning(int flag_code);

#endif
