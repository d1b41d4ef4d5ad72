/* Records in METHOD's order: by time, then request or GPU, then sequence. */
#ifndef JTOK_ANALYSIS_SORTED_H
#define JTOK_ANALYSIS_SORTED_H

#include "base/arena.h"
#include "model/record.h"

/* Everything of *r that the analysis reads, in order: GPUs by index with their series by time, requests by id, chunks
 * by (time, request). What is in order already is shared, not copied. Where the sequence within one stamp is lost
 * (shuffled records) the content stands in for it, so that any permutation gives the same. O(n), or O(n log n) for what
 * is not. */
struct records records_sorted(const struct records *r, struct arena *a);

#endif
