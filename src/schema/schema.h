/* Descriptions of structs: one table serves the YAML reader, the JSON writer and reader, the JSON Schema, help and CSV.
 *
 * A struct that goes to disk has one `struct schema`, written with the constructors of schema/table.h. Only this folder
 * knows where a field lies in its struct; everybody else walks with schema_visit or takes one value as a slot
 * (schema/visit.h). */
#ifndef JTOK_SCHEMA_SCHEMA_H
#define JTOK_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/num.h"
#include "base/span.h"

/* Absent values are written as JSON null (or left out with FIELD_OMIT_ABSENT), as an empty CSV field, and read back the
 * same. */
enum field_type {
    FIELD_BOOL,     /* bool; never absent */
    FIELD_I64,      /* a whole number of `width` bytes; absent: ABSENT_I64, or -1 where shorter; unsigned: never */
    FIELD_F64,      /* double; absent: NaN */
    FIELD_TEXT,     /* const char *; absent: null, or "" with FIELD_EMPTY_TEXT */
    FIELD_ENUM,     /* an enum of `width` bytes, an index into `names`; absent: ENUM_ABSENT */
    FIELD_HEX,      /* uint64_t, as 16 hexadecimal digits; absent: 0 */
    FIELD_QUANTITY, /* struct quantity; as JSON an object with value, state, why, instrument, calibration */
    FIELD_OBJECT,   /* an embedded struct: `sub` */
    FIELD_LIST,     /* T *items at `offset`, size_t count at `count_offset`; T by `item`, with `sub` for objects */
    FIELD_MAP,      /* as a LIST of struct field_pair; as JSON and YAML an object */
};

enum field_flags {
    FIELD_REQUIRED = 1, /* the user must give it */
    FIELD_RESOLVED = 2, /* jtok fills it in; a user may not give it in a plan */
    FIELD_OMIT_ABSENT = 4,
    FIELD_SECRET_VALUES = 8,   /* of a MAP: values may be secrets, never shown in errors */
    FIELD_UNIT_OF_OBJECT = 16, /* its unit is the value of `unit`, a TEXT of this object or of the one around it */
    FIELD_EMPTY_TEXT = 32,     /* of a TEXT: absent is "" */
    FIELD_NAMES_ITEM = 64, /* its value names the object in a list of them, where a table has a line for each value */
    FIELD_NEGATIVE_ABSENT = 128, /* of an I64: any negative one is absent */
    FIELD_NEEDED = 256,          /* it can't be absent: null is refused, and a line of CSV without it is none */
    FIELD_LATER = 512,           /* of a CSV column: older versions did not write it at all */
    FIELD_ASIDE = 1024,          /* of a CSV column: a U32 that stands beside the struct (schema/csv.h) */
    FIELD_LENIENT = 2048,        /* a value that can't be right may be read as absent */
    FIELD_OPEN = 4096            /* of an ENUM: a plan may leave it open, as null */
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
    unsigned char width; /* I64, ENUM: bytes */
    bool is_unsigned;    /* I64 */
    bool has_preset;
    const struct schema *sub;
    const char *const *names; /* ENUM: null-terminated */
    double min, max;          /* I64, F64: inclusive, where min < max */
    unsigned flags;
    double preset;           /* BOOL, I64, F64, ENUM: the default, with has_preset; without, the default is absent */
    const char *preset_text; /* TEXT: the default; a LIST of TEXT: its only item; null: absent */
    const char *unit;        /* "s", "J", "tok/s"; null: none */
    const char *doc;         /* one sentence for help and the JSON Schema */
};

struct schema {
    const char *name;
    size_t size;
    const struct field *fields;
    size_t count;
    const char *doc;
};

#define SCHEMA_COUNT(fields) (sizeof(fields) / sizeof *(fields))

/* Has an enum member no value? (All bits are set then.) */
#define ENUM_ABSENT(member) (sizeof(member) == 1 ? (uint8_t)(member) == UINT8_MAX : (int)(member) == -1)

/* Sets every field to absent: text null, int64 ABSENT_I64, double NaN, bool false, enums absent, lists empty,
 * quantities not recorded. What no field describes stays. O(fields). */
void schema_absent(const struct schema *s, void *object);

/* The same with enums at `enum_value` and quantities that say `why` they are absent. */
void schema_absent_as(const struct schema *s, void *object, int enum_value, const char *why);

/* Sets every field to its default, absent where it has none. */
void schema_defaults(const struct schema *s, void *object);

/* The field with that key, or null. O(fields). */
const struct field *schema_find(const struct schema *s, struct span key);

/* Size of one item of a LIST or MAP. */
size_t field_item_size(const struct field *f);

/* Index of a name in a null-terminated list, or -1. */
int name_index(const char *const *names, struct span name);

#endif
