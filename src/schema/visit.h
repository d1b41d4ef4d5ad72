/* Values of objects by their schema: one at a time as a slot, or all of them by a visitor. Nobody else knows where a
 * field lies in its struct. */
#ifndef JTOK_SCHEMA_VISIT_H
#define JTOK_SCHEMA_VISIT_H

#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/quantity.h"
#include "schema/schema.h"

/* Where one value stands: that of a field, or an item of its LIST or MAP (a MAP's item is a TEXT). A slot of a const
 * object must not be set. */
struct slot {
    const struct field *field;
    enum field_type type; /* the field's, or its item's */
    void *at;
    size_t *count; /* LIST, MAP */
};

static inline struct slot slot_of(const struct field *f, const void *object)
{
    char *at = (char *)(uintptr_t)object;
    bool many = f->type == FIELD_LIST || f->type == FIELD_MAP;
    return (struct slot){f, f->type, at + f->offset, many ? (size_t *)(void *)(at + f->count_offset) : NULL};
}

/* The slot of the field with that key; false: there is none. O(fields). */
bool slot_find(const struct schema *s, const void *object, struct span key, struct slot *ret_slot);

/* The same for keys joined by dots, down through OBJECTs: "requests.lengths.kind". */
bool slot_at(const struct schema *s, const void *object, const char *path, struct slot *ret_slot);

/* Item i of a LIST; of a MAP its value as a TEXT, named by slot_item_name. i below slot_count. */
struct slot slot_item(const struct slot *s, size_t i);
const char *slot_item_name(const struct slot *s, size_t i);
static inline bool slot_is_many(const struct slot *s)
{
    return s->type == FIELD_LIST || s->type == FIELD_MAP;
}
static inline size_t slot_count(const struct slot *s)
{
    assert(s->count);
    return *s->count;
}

/* Each for its own type only. slot_i64 gives ABSENT_I64, slot_enum -1, slot_text null where the value is absent.
 * Members of packed records need not be aligned. */
static inline bool slot_bool(const struct slot *s)
{
    assert(s->type == FIELD_BOOL);
    return *(const bool *)s->at;
}

static inline int64_t slot_i64(const struct slot *s)
{
    assert(s->type == FIELD_I64);
    union {
        int64_t i64;
        int32_t i32;
        uint32_t u32;
        uint16_t u16;
    } v;
    switch (s->field->width) {
    case 4:
        memcpy(&v, s->at, 4);
        return s->field->is_unsigned ? v.u32 : v.i32 == -1 ? ABSENT_I64 : v.i32;
    case 2:
        memcpy(&v, s->at, 2);
        return v.u16;
    case 1:
        return *(const int8_t *)s->at == -1 ? ABSENT_I64 : *(const int8_t *)s->at;
    default:
        memcpy(&v, s->at, 8);
        return (s->field->flags & FIELD_NEGATIVE_ABSENT) && v.i64 < 0 ? ABSENT_I64 : v.i64;
    }
}

static inline double slot_f64(const struct slot *s)
{
    assert(s->type == FIELD_F64);
    return *(const double *)s->at;
}

static inline uint64_t slot_hex(const struct slot *s)
{
    assert(s->type == FIELD_HEX);
    return *(const uint64_t *)s->at;
}

static inline int slot_enum(const struct slot *s)
{
    assert(s->type == FIELD_ENUM);
    if (s->field->width == 1)
        return *(const uint8_t *)s->at == UINT8_MAX ? -1 : *(const uint8_t *)s->at;
    return *(const int *)s->at;
}

/* Of a TEXT; of an ENUM its name. */
static inline const char *slot_text(const struct slot *s)
{
    if (s->type == FIELD_ENUM)
        return slot_enum(s) < 0 ? NULL : s->field->names[slot_enum(s)];
    const char *text = *(const char *const *)s->at;
    return text && !text[0] && (s->field->flags & FIELD_EMPTY_TEXT) ? NULL : text;
}

static inline struct quantity *slot_quantity(const struct slot *s)
{
    assert(s->type == FIELD_QUANTITY);
    return s->at;
}

/* The embedded struct of an OBJECT. */
static inline void *slot_object(const struct slot *s)
{
    assert(s->type == FIELD_OBJECT);
    return s->at;
}

/* No value? Lists and maps: none with an item. A BOOL, an OBJECT and a QUANTITY always have one. */
bool slot_is_absent(const struct slot *s);

/* Can the type be absent? */
bool field_may_be_absent(const struct field *f, enum field_type type);

void slot_set_bool(const struct slot *s, bool value);
void slot_set_i64(const struct slot *s, int64_t value); /* ABSENT_I64 where the type has it */
void slot_set_f64(const struct slot *s, double value);
void slot_set_hex(const struct slot *s, uint64_t value);
void slot_set_enum(const struct slot *s, int index);
void slot_set_text(const struct slot *s, const char *text);
void slot_set_items(const struct slot *s, const void *items, size_t count);
void slot_set_absent(const struct slot *s);

/* Gives a LIST or MAP an array of its own, with equal items, which may then be set. */
void slot_own_items(const struct slot *s, struct arena *a);

/* Appends the value as text; nothing where it is absent. Not for lists, maps, objects and quantities. */
void slot_put(const struct slot *s, struct buf *b);

/* Where a visitor is. */
struct visit {
    struct slot slot;
    const char *key;  /* the field's, or the name of a MAP's item; null: an item of a LIST */
    const char *path; /* the keys down to here, joined by dots; an item of a LIST by its number */
    const char *unit; /* FIELD_UNIT_OF_OBJECT: what the nearest `unit` says; else the field's own */
    size_t depth;     /* number of objects, lists and maps around it, the root not counted */
    bool item;        /* of a LIST or MAP, no field */
    bool last;        /* of its object, list or map */
};

/* Is it a field that is not written where it has no value (FIELD_OMIT_ABSENT), and has none? */
bool visit_is_left_out(const struct visit *v);

/* Each may be null. An OBJECT, LIST or MAP is entered and left; false passes over what is in it, and it is not left.
 * Everything else is a value. */
struct visitor {
    void *self;
    bool (*enter)(void *self, const struct visit *v);
    void (*value)(void *self, const struct visit *v);
    void (*leave)(void *self, const struct visit *v);
    bool named_items; /* the path names an object of a LIST by the values of its FIELD_NAMES_ITEM fields, if it has any
                       */
};

/* Goes through an object in its table's order. `prefix` is what each path begins with, "" for none. O(values). */
void schema_visit(const struct schema *s, const void *object, const char *prefix, const struct visitor *visitor);

#endif
