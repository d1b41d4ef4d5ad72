/* Numbers as text: strict, locale-free, whole-span. */
#ifndef JTOK_BASE_NUM_H
#define JTOK_BASE_NUM_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/span.h"

/* An optional minus and decimal digits, nothing else; false where empty, out of range or followed by anything. O(n). */
bool num_i64(struct span s, int64_t *ret_value);
bool num_u64(struct span s, uint64_t *ret_value);

/* A decimal number as JSON writes it (no leading '+', hex, inf or nan; "1.", ".5" and "01" are refused). Correctly
 * rounded. False where it overflows to infinity. Spans over 400 bytes are refused. */
bool num_f64(struct span s, double *ret_value);

static inline bool num_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The shortest decimal text that reads back as the same double ("0.1", "1e+22"); integers up to 2^53 carry no exponent.
 * The value must be finite. */
void num_put_f64(struct buf *b, double value);

/* An integer that is absent (METHOD section 1: never zero). */
#define ABSENT_I64 INT64_MIN

#endif
