/* Aligned columns of text for a terminal. Widths are columns of the terminal (base/columns.h). */
#ifndef JTOK_REPORT_TABLE_H
#define JTOK_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "base/buf.h"

enum { TABLE_COLUMNS_MAX = 12 };

struct table {
    struct arena *arena; /* of the cells' memory */
    size_t columns;
    char align[TABLE_COLUMNS_MAX + 1]; /* 'l', 'r', or 'd' for each column */
    const char **cells;                /* row by row */
    size_t count, capacity;
};

/* `align` has one letter a column: left, right, or numbers by their decimal point (other text: right).
 * TABLE_COLUMNS_MAX at most. */
void table_init(struct table *t, struct arena *a, const char *align);

/* The next cell, left to right, row by row: one line, made fit to be shown (base/utf8.h). The text must stay until
 * table_put. */
void table_cell(struct table *t, const char *text);
void table_fmt(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fills the row up with empty cells. */
void table_end_row(struct table *t);

/* All rows, of which the last must be full (table_end_row): `indent` spaces before each, two spaces between columns,
 * none at a line's end. O(cells). */
void table_put(const struct table *t, struct buf *out, size_t indent);

#endif
