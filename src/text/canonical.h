/* One spelling for each JSON value, so that equal values have equal bytes.
 *
 *     no white space; the members of an object in order of their names' UTF-8 bytes, of equal names the last;
 *     strings with the fewest escapes: \" and \\, \b \f \n \r \t, other characters below U+0020 as \u00xx, all else as
 * it is; a number whose value is a 64-bit integer in decimal digits (5.0, 5e0: 5; -0: 0), any other as the shortest
 * decimal that reads back as the same double, written as C's %g does ("0.1", "1e+22", "1e-05"); beyond a double: as it
 * stands
 *
 * In Python, for a value v of json.loads:
 *
 *     def number(x):                     # every int and float inside v, but bool
 *         if isinstance(x, float) and x.is_integer() and -2**63 <= x < 2**63: return int(x)
 *         return float(x) if isinstance(x, int) and not -2**63 <= x < 2**63 else x
 *     json.dumps(v, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
 *
 * Lone surrogates and ill-formed UTF-8 inside strings are kept as bytes. */
#ifndef JTOK_TEXT_CANONICAL_H
#define JTOK_TEXT_CANONICAL_H

#include "base/buf.h"
#include "base/span.h"

/* Appends one whole JSON value; false, with nothing appended, where `json` isn't one. O(bytes, and n log n for an
 * object of n members). */
bool canonical_put(struct buf *out, struct span json);

/* Appends a text as a JSON string of that spelling, and a number that is not JSON text yet. */
void canonical_put_string(struct buf *out, struct span text);
void canonical_put_f64(struct buf *out, double value);

#endif
