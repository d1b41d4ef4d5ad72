/* Flat structs as lines of CSV (text/csv.h), and any struct as a list of its values.
 *
 * An absent value is an empty field. A reader goes by the header's names: columns that the schema doesn't know are
 * passed over, so files of a newer jtok stay readable. Every field is checked against its range and names as it is
 * read.
 *
 * A FIELD_ASIDE is a column of a struct that doesn't hold it (the `gpu` of a sample): written from, and read into, the
 * variable given. A schema has one at most. */
#ifndef JTOK_SCHEMA_CSV_H
#define JTOK_SCHEMA_CSV_H

#include "base/arena.h"
#include "base/buf.h"
#include "schema/schema.h"

enum { CSV_COLUMNS_MAX = 64 };

/* CSV_EXACT keeps the bytes of a text; CSV_SHOWN is for tables that people open in a spreadsheet (csv_put_shown). */
enum csv_form { CSV_EXACT, CSV_SHOWN };

/* Appends the line of keys. */
void schema_csv_header(const struct schema *s, struct buf *b);

/* Appends one object as a line; returns the number of its fields that are not empty. O(fields). */
size_t schema_csv_put(const struct schema *s, const void *object, uint32_t aside, enum csv_form form, struct buf *b);

/* Which field each column of a file is. */
struct csv_columns {
    const struct schema *schema;
    size_t count;
    const struct field *fields[CSV_COLUMNS_MAX]; /* null: none that is known */
};

/* Reads a header. `note` is told what is wrong with it, a phrase each; false: no line can be read by it. */
bool schema_csv_columns(const struct schema *s, const struct span *names, size_t count, struct csv_columns *ret,
                        void (*note)(void *self, const char *text), void *self);

/* What was found in a line. */
struct csv_line {
    uint32_t aside;
    size_t filled;     /* fields of known columns that are not empty */
    size_t column;     /* of what is wrong */
    bool lenient;      /* a field was wrong, and read as absent since it may be */
    const char *wrong; /* what is wrong with that column's field, a phrase that follows it; null: nothing */
};

/* Reads one line into an object in which all is absent. False: what is wrong keeps the line from being used. Texts go
 * to the arena. */
bool schema_csv_get(const struct csv_columns *c, const struct span *fields, bool quoted, void *object,
                    struct csv_line *ret_line, struct arena *a);

/* Appends the line "metric,unit,value,state,why,instrument,calibration", and then a line for each value of an object,
 * with its key path behind `prefix`. An object in a list is named by its FIELD_NAMES_ITEM fields. */
void schema_csv_values_header(struct buf *b);
void schema_csv_values(const struct schema *s, const void *object, const char *prefix, struct buf *b);

#endif
