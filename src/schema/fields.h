/* Descriptions of structs: one table serves the YAML reader, the JSON writer and reader, the JSON Schema, help and CSV.
 *
 * A struct that goes to disk has one `struct schema`. Absent values: text null, int64 ABSENT_I64, double NaN; they are
 * written as JSON null (or left out with FIELD_OMIT_ABSENT) and read back the same. */
#ifndef JTOK_SCHEMA_FIELDS_H
#define JTOK_SCHEMA_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/num.h"
#include "base/span.h"

enum field_type {
    FIELD_BOOL,     /* bool */
    FIELD_I64,      /* int64_t */
    FIELD_F64,      /* double */
    FIELD_TEXT,     /* const char * */
    FIELD_ENUM,     /* int, an index into `names` */
    FIELD_QUANTITY, /* struct quantity; as JSON an object with value, state, why, instrument, calibration */
    FIELD_OBJECT,   /* an embedded struct: `sub` */
    FIELD_LIST,     /* T *items at `offset`, size_t count at `count_offset`; T by `item`, with `sub` for objects */
    FIELD_MAP,      /* as a LIST of struct field_pair; as JSON and YAML an object */
};

enum field_flags {
    FIELD_REQUIRED = 1, /* the user must give it */
    FIELD_RESOLVED = 2, /* jtok fills it in; a user may not give it in a plan */
    FIELD_OMIT_ABSENT = 4,
    FIELD_SECRET_VALUES = 8,  /* of a MAP: values may be secrets, never shown in errors */
    FIELD_UNIT_OF_OBJECT = 16 /* its unit is the value of `unit`, a TEXT of this object or of the one around it */
};

struct field_pair {
    const char *name, *value;
};

struct schema;

struct field {
    const char *key;
    enum field_type type;
    size_t offset, count_offset;
    enum field_type item;
    const struct schema *sub;
    const char *const *names; /* ENUM: null-terminated */
    double min, max;          /* I64, F64: inclusive, where min < max */
    unsigned flags;
    const char *unit; /* "s", "J", "tok/s"; null: none */
    const char *doc;  /* one sentence for help and the JSON Schema */
};

struct schema {
    const char *name;
    size_t size;
    const struct field *fields;
    size_t count;
    const char *doc;
};

#define SCHEMA_COUNT(fields) (sizeof(fields) / sizeof *(fields))

/* Sets every field to absent: text null, int64 ABSENT_I64, double NaN, bool false, enum -1, lists empty, quantities not
 * recorded. What no field describes stays. O(fields). */
void fields_absent(const struct schema *s, void *object);

/* The same with enums at `enum_value` and quantities that say `why` they are absent. */
void fields_absent_as(const struct schema *s, void *object, int enum_value, const char *why);

/* Calls `each` for every leaf, in the table's order: its key path (keys joined by dots, valid during the call), its
 * field, and the value as text (empty: absent). Lists give one leaf an item, with the index from 0 as a key; a quantity
 * gives its value under its own path (empty where it has none), then .state, .why, .instrument and .calibration.
 * Objects of lists are walked too. For CSV. O(leaves). */
void fields_flat(const struct schema *s, const void *object,
                 void (*each)(void *self, const char *path, const struct field *f, struct span value), void *self);

/* Size of one item of a LIST or MAP. */
size_t field_item_size(const struct field *f);

/* Index of a name in a null-terminated list, or -1. */
int fields_name_index(const char *const *names, struct span name);

#endif
