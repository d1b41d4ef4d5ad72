/* CSV as jtok's records use it: a header line, comma, LF, quotes only where a field holds a comma, a quote, CR or LF; a
 * quote inside is doubled (RFC 4180 but for the line end). Empty fields are absent values. */
#ifndef JTOK_TEXT_CSV_H
#define JTOK_TEXT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"
#include "base/span.h"

/* Appends one field, quoted where needed, and the separator (',' or '\n'). */
void csv_put(struct buf *b, struct span field, char separator);

/* The same for a table that people open in a spreadsheet: made fit to be shown, in one line, and a text that a
 * spreadsheet would take for a formula (its first character but spaces is one of = + - @, or one of their full-width
 * forms, and it is not a number) gets an apostrophe in front. Not for records, which keep the bytes. */
void csv_put_shown(struct buf *b, struct span field, char separator);

struct csv {
    struct span rest;
    size_t line; /* number of the record just read, from 1 */
    bool quoted; /* the record just read held a quoted field: those fields are still quoted, see csv_unquote */
    bool cut;    /* the text ended without a line end: the last record is incomplete and not given */
};

void csv_init(struct csv *c, struct span text);

/* Splits the next record into at most `max` fields, pointing into the text. Returns their number, 0 at the end; a
 * record with more fields gives max + 1 (an error for the caller to name). O(bytes of the record). */
size_t csv_next(struct csv *c, struct span *ret_fields, size_t max);

/* A field without its quotes, appended to b. */
void csv_unquote(struct span field, struct buf *b);

#endif
