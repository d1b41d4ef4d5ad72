/* A stable merge sort that is fast on what is nearly in order, as records are. */
#ifndef JTOK_BASE_SORT_H
#define JTOK_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>

/* `before(a, b)`: must a come before b? O(n) in order, about O(n) when items are few places off, O(n log n) at worst.
 */
void sort_stable(void *items, size_t count, size_t size, bool (*before)(const void *a, const void *b));

/* Of two int64_t, as qsort asks. */
int compare_i64(const void *a, const void *b);

#endif
