/* The order of records: GPUs by index, their series by time, requests by id, chunks by (time, request). Who loads or
 * makes records puts them in order once; who reads them asserts it. */
#ifndef JTOK_MODEL_RECORD_ORDER_H
#define JTOK_MODEL_RECORD_ORDER_H

#include <stdbool.h>
#include "model/record.h"

/* Sorts in place every list of *r that is not in order; one that is stays as it is, and keeps the sequence within one
 * stamp. Where that is lost (shuffled records) the content stands in for it, so that any permutation gives the same
 * records (METHOD section 1). O(n), or O(n log n) for what is not in order. */
void records_order(struct records *r);

/* Is every list in order? O(n). */
bool records_in_order(const struct records *r);

#endif
