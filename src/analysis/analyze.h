/* From records to a result: the whole of METHOD, as one pure function.
 *
 * No clock, no file, no global; the same records and method give the same bytes on any machine. The records
 * are in order (model/record_order.h): whoever loads them sees to that, so a permutation changes nothing. */
#ifndef JTOK_ANALYSIS_ANALYZE_H
#define JTOK_ANALYSIS_ANALYZE_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/err.h"
#include "model/method.h"
#include "model/record.h"
#include "model/result.h"

/* The whole result of a run, as result.json holds it. Whatever the records lack is absent in it with its reason; of
 * records that are damaged or lack a GPU of the plan no value is called measured. False only for records that can't be
 * numbered (over 2^32 chunks, or ids far beyond their number). O(chunks + samples + requests log requests); besides the
 * records it needs 8 bytes a chunk. Memory is taken from `a`, the result points into it and into the records. */
bool analyze(const struct records *r, const struct method *m, struct arena *a, struct result *ret, struct err *e);

/* E(N) = fixed + N * e_request (METHOD section 7) from a result. */
struct estimate estimate_for(const struct result *r, int64_t requests);

#endif
