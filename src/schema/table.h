/* Constructors for tables of fields: one line a field, and the compiler checks that the member has the row's type.
 *
 *     static const struct field lamp_fields[] = {
 *         TEXT(lamp, name, "What people call it.", FLAGS(FIELD_REQUIRED)),
 *         F64(lamp, power_w, "Power at full light.", UNIT("W"), RANGE(0, 1000), DEFAULT(60)),
 *         ENUM(lamp, socket, socket_kind, "What it is screwed into."),     enum socket_kind, socket_kind_names
 *         OBJECT(lamp, shade, lamp_shade, "The shade."),                   struct lamp_shade, lamp_shade_schema
 *         OBJECTS(lamp, wires, wire_count, wire, "Its wires."),            struct wire *, size_t, wire_schema
 *     };
 *     const struct schema lamp_schema = SCHEMA(lamp, "A lamp.");
 *
 * A row is: struct, member, what the type needs, one sentence, and then in any order what else there is to say. The key
 * is the member's name; with the ending _AS another one comes first: F64_AS("level", lamp, levels[0], "..."). For .c
 * files that hold a table; no header includes this. */
#ifndef JTOK_SCHEMA_TABLE_H
#define JTOK_SCHEMA_TABLE_H

#include "schema/schema.h"

#define UNIT(text)         .unit = (text)
#define RANGE(least, most) .min = (least), .max = (most) /* inclusive */
#define DEFAULT(number)    .preset = (number), .has_preset = true
#define DEFAULT_TEXT(text) .preset_text = (text)
#define FLAGS(bits)        .flags = (bits)

/* The member's offset; an error of the compiler where its type is not one of those listed. */
#define MEMBER_POINTER(s, m)       (typeof(((struct s *)0)->m) *)0
#define OFFSET_OF_TYPE(s, m, type) _Generic(MEMBER_POINTER(s, m), type * : offsetof(struct s, m))
#define OFFSET_OF_EITHER(s, m, type, other)                                                                            \
    _Generic(MEMBER_POINTER(s, m), type * : offsetof(struct s, m), other * : offsetof(struct s, m))
/* A visitor reads enums of these two sizes; any other is a division by zero. */
#define ENUM_WIDTH(e)      (sizeof(enum e) / (sizeof(enum e) == 1 || sizeof(enum e) == sizeof(int)))
#define COUNT_OFFSET(s, m) .count_offset = OFFSET_OF_TYPE(s, m, size_t)

typedef const char *table_text;

/* clang-format off */
#define SCALAR(key_, type_, s, m, c_type, text, ...)                                                                   \
    {.key = key_, .type = type_, .offset = OFFSET_OF_TYPE(s, m, c_type), .doc = text, __VA_ARGS__}
#define WHOLE(key, type, s, m, c_type, text, ...)                                                                      \
    SCALAR(key, type, s, m, c_type, text, .width = sizeof(c_type), __VA_ARGS__)
#define LIST(key_, item_, s, m, n, c_type, text, ...)                                                                  \
    {.key = key_, .type = FIELD_LIST, .offset = OFFSET_OF_EITHER(s, m, c_type *, const c_type *),                      \
     COUNT_OFFSET(s, n), .item = item_, .doc = text, __VA_ARGS__}

#define BOOL_AS(key, s, m, ...)     SCALAR(key, FIELD_BOOL, s, m, bool, __VA_ARGS__)
#define I64_AS(key, s, m, ...)      WHOLE(key, FIELD_I64, s, m, int64_t, __VA_ARGS__)
#define F64_AS(key, s, m, ...)      SCALAR(key, FIELD_F64, s, m, double, __VA_ARGS__)
#define TEXT_AS(key, s, m, ...)     SCALAR(key, FIELD_TEXT, s, m, table_text, __VA_ARGS__)
#define QUANTITY_AS(key, s, m, ...) SCALAR(key, FIELD_QUANTITY, s, m, struct quantity, __VA_ARGS__)
#define ENUM_AS(key, s, m, e, text, ...)                                                                               \
    SCALAR(key, FIELD_ENUM, s, m, enum e, text, .width = ENUM_WIDTH(e), .names = e##_names, __VA_ARGS__)
#define OBJECT_AS(key, s, m, sub_, text, ...)                                                                          \
    SCALAR(key, FIELD_OBJECT, s, m, struct sub_, text, .sub = &sub_##_schema, __VA_ARGS__)
#define TEXTS_AS(key, s, m, n, ...) LIST(key, FIELD_TEXT, s, m, n, table_text, __VA_ARGS__)
#define F64S_AS(key, s, m, n, ...)  LIST(key, FIELD_F64, s, m, n, double, __VA_ARGS__)
#define OBJECTS_AS(key, s, m, n, sub_, text, ...)                                                                      \
    LIST(key, FIELD_OBJECT, s, m, n, struct sub_, text, .sub = &sub_##_schema, __VA_ARGS__)
#define MAP_AS(key_, s, m, n, text, ...)                                                                               \
    {.key = key_, .type = FIELD_MAP, .offset = OFFSET_OF_TYPE(s, m, struct field_pair *), COUNT_OFFSET(s, n),          \
     .doc = text, __VA_ARGS__}

#define BOOL(s, m, ...)     BOOL_AS(#m, s, m, __VA_ARGS__)
#define I64(s, m, ...)      I64_AS(#m, s, m, __VA_ARGS__)
#define F64(s, m, ...)      F64_AS(#m, s, m, __VA_ARGS__)
#define TEXT(s, m, ...)     TEXT_AS(#m, s, m, __VA_ARGS__)
#define QUANTITY(s, m, ...) QUANTITY_AS(#m, s, m, __VA_ARGS__)
#define ENUM(s, m, ...)     ENUM_AS(#m, s, m, __VA_ARGS__)
#define OBJECT(s, m, ...)   OBJECT_AS(#m, s, m, __VA_ARGS__)
#define TEXTS(s, m, ...)    TEXTS_AS(#m, s, m, __VA_ARGS__)
#define F64S(s, m, ...)     F64S_AS(#m, s, m, __VA_ARGS__)
#define OBJECTS(s, m, ...)  OBJECTS_AS(#m, s, m, __VA_ARGS__)
#define MAP(s, m, ...)      MAP_AS(#m, s, m, __VA_ARGS__)

/* Whole numbers of a packed record; I32 and I8 are absent at -1, the unsigned ones never. */
#define I32(s, m, ...) WHOLE(#m, FIELD_I64, s, m, int32_t, __VA_ARGS__)
#define I8(s, m, ...)  WHOLE(#m, FIELD_I64, s, m, int8_t, __VA_ARGS__)
#define U32(s, m, ...) WHOLE(#m, FIELD_I64, s, m, uint32_t, __VA_ARGS__, .is_unsigned = true)
#define U16(s, m, ...) WHOLE(#m, FIELD_I64, s, m, uint16_t, __VA_ARGS__, .is_unsigned = true)
/* A column of CSV that stands beside the struct. */
#define ASIDE(key_, text, ...)                                                                                         \
    {.key = key_, .type = FIELD_I64, .width = 4, .is_unsigned = true, .flags = FIELD_ASIDE, .doc = text, __VA_ARGS__}
#define HEX(s, m, ...) SCALAR(#m, FIELD_HEX, s, m, uint64_t, __VA_ARGS__)

/* The schema of a struct, from its table S_fields. */
#define SCHEMA(s, text)                                                                                                \
    {.name = #s, .size = sizeof(struct s), .fields = s##_fields, .count = SCHEMA_COUNT(s##_fields), .doc = text}
/* clang-format on */

#endif
