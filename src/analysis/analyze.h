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

/* Fills *ret but for `checks`, `marks` and `formal`, which verification decides from it. Whatever the records lack is
 * absent in the result with its reason; false only for records that contradict themselves (a chunk of a request that is
 * not there). O(chunks + samples + requests log requests); besides the records it needs 8 bytes a chunk. Memory is
 * taken from `a`, the result points into it and into the records. */
bool analyze(const struct records *r, const struct method *m, struct arena *a, struct result *ret, struct err *e);

/* E(N) = fixed + N * e_request (METHOD section 7) from a result. */
struct estimate estimate_for(const struct result *r, int64_t requests);

#endif
