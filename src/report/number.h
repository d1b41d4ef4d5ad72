/* Numbers for people: as many digits as the uncertainty supports, digits in groups of three from five on, never an
 * exponent.
 *
 * By the usual rule for stating uncertainty, the uncertainty is rounded to two significant digits and the value to the
 * same decimal place: 44168.53 with 12.34 is "44 169 ± 12". Without an uncertainty a value shows five significant
 * digits. */
#ifndef JTOK_REPORT_NUMBER_H
#define JTOK_REPORT_NUMBER_H

#include <stdint.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/quantity.h"

enum { NUMBER_DIGITS = 5 };

/* Decimal places at which an uncertainty has two significant digits: 12.34 gives 0, 0.0996 gives 2 (it rounds to 0.10),
 * 2650 gives -2. The value must be above 0. */
int number_places(double uncertainty);

/* The value at `places` decimal places; negative places round to tens, hundreds and so on. */
void number_put(struct buf *out, double value, int places);

/* The value with `digits` significant digits, zeros kept ("0.042365", "12.300"). */
void number_put_digits(struct buf *out, double value, int digits);

/* A whole number with its groups. ABSENT_I64: "not recorded". */
void number_put_i64(struct buf *out, int64_t value);

/* A quantity without its unit: the value rounded by its instrument's doubt where known; where there is none to show,
 * its state in words ("not reached"), without the reason. */
void number_put_quantity(struct buf *out, const struct quantity *q);

/* "± 12" at the same place as the value, or "" where the uncertainty isn't known. */
void number_put_uncertainty(struct buf *out, double uncertainty);

/* Each of these as text of the arena. */
const char *number_text(struct arena *a, double value, int digits);
const char *number_text_i64(struct arena *a, int64_t value);
const char *number_text_quantity(struct arena *a, const struct quantity *q);
const char *number_text_uncertainty(struct arena *a, double uncertainty);
const char *number_text_instrument(struct arena *a,
                                   const struct quantity *q); /* with its instrument's doubt, if it has one */

#endif
