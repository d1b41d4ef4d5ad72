#include "schema/visit.h"

#include <assert.h>
#include "base/arena.h"
#include "base/must.h"

int name_index(const char *const *names, struct span name)
{
    assert(names);
    for (int i = 0; names[i]; i++)
        if (span_is(name, names[i]))
            return i;
    return -1;
}

/* ---- slots ---- */

const struct field *schema_find(const struct schema *s, struct span key)
{
    for (const struct field *f = s->fields; f < s->fields + s->count; f++)
        if (span_is(key, f->key))
            return f;
    return NULL;
}

bool slot_find(const struct schema *s, const void *object, struct span key, struct slot *ret_slot)
{
    const struct field *f = schema_find(s, key);
    if (f)
        *ret_slot = slot_of(f, object);
    return f;
}

bool slot_at(const struct schema *s, const void *object, const char *path, struct slot *ret_slot)
{
    must(s && path);
    struct slot slot;
    for (;;) {
        size_t n = strcspn(path, ".");
        if (!slot_find(s, object, (struct span){path, n}, &slot))
            return false;
        if (!path[n])
            break;
        if (slot.type != FIELD_OBJECT)
            return false;
        s = slot.field->sub;
        object = slot_object(&slot);
        path += n + 1;
    }
    *ret_slot = slot;
    return true;
}

size_t field_item_size(const struct field *f)
{
    must(f->type == FIELD_LIST || f->type == FIELD_MAP);
    if (f->type == FIELD_MAP)
        return sizeof(struct field_pair);
    switch (f->item) {
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_I64:
        return sizeof(int64_t);
    case FIELD_F64:
        return sizeof(double);
    case FIELD_TEXT:
        return sizeof(char *);
    case FIELD_ENUM:
        return sizeof(int);
    case FIELD_HEX:
        return sizeof(uint64_t);
    case FIELD_QUANTITY:
        return sizeof(struct quantity);
    case FIELD_OBJECT:
        return f->sub->size;
    case FIELD_LIST:
    case FIELD_MAP:
        break; /* lists of lists do not exist */
    }
    return 0;
}

struct slot slot_item(const struct slot *s, size_t i)
{
    assert(slot_is_many(s) && i < slot_count(s));
    char *item = *(char **)s->at + i * field_item_size(s->field);
    if (s->type == FIELD_MAP)
        return (struct slot){s->field, FIELD_TEXT, &((struct field_pair *)(void *)item)->value, NULL};
    return (struct slot){s->field, s->field->item, item, NULL};
}

const char *slot_item_name(const struct slot *s, size_t i)
{
    assert(s->type == FIELD_MAP && i < slot_count(s));
    return (*(struct field_pair **)s->at)[i].name;
}

bool field_may_be_absent(const struct field *f, enum field_type type)
{
    if (f->flags & FIELD_NEEDED)
        return false;
    switch (type) {
    case FIELD_I64:
        return !f->is_unsigned;
    case FIELD_F64:
    case FIELD_TEXT:
    case FIELD_HEX:
    case FIELD_LIST:
    case FIELD_MAP:
        return true;
    case FIELD_ENUM:
        return f->flags & FIELD_OPEN;
    case FIELD_BOOL:
    case FIELD_OBJECT:
    case FIELD_QUANTITY:
        break;
    }
    return false;
}

bool slot_is_absent(const struct slot *s)
{
    switch (s->type) {
    case FIELD_I64:
        return slot_i64(s) == ABSENT_I64;
    case FIELD_F64:
        return !isfinite(slot_f64(s));
    case FIELD_TEXT:
        return !slot_text(s);
    case FIELD_ENUM:
        return slot_enum(s) < 0;
    case FIELD_HEX:
        return !slot_hex(s);
    case FIELD_LIST:
    case FIELD_MAP:
        return slot_count(s) == 0;
    case FIELD_BOOL:
    case FIELD_OBJECT:
    case FIELD_QUANTITY:
        break;
    }
    return false;
}

void slot_set_bool(const struct slot *s, bool value)
{
    assert(s->type == FIELD_BOOL);
    *(bool *)s->at = value;
}

void slot_set_i64(const struct slot *s, int64_t value)
{
    assert(s->type == FIELD_I64);
    bool absent = value == ABSENT_I64;
    switch (s->field->width) {
    case 4:
        memcpy(s->at, &(uint32_t){absent ? UINT32_MAX : (uint32_t)value}, 4);
        break;
    case 2:
        memcpy(s->at, &(uint16_t){(uint16_t)value}, 2);
        break;
    case 1:
        *(int8_t *)s->at = absent ? -1 : (int8_t)value;
        break;
    default:
        memcpy(s->at, &value, 8);
    }
}

void slot_set_f64(const struct slot *s, double value)
{
    assert(s->type == FIELD_F64);
    *(double *)s->at = value;
}

void slot_set_hex(const struct slot *s, uint64_t value)
{
    assert(s->type == FIELD_HEX);
    *(uint64_t *)s->at = value;
}

void slot_set_enum(const struct slot *s, int index)
{
    assert(s->type == FIELD_ENUM);
    if (s->field->width == 1)
        *(uint8_t *)s->at = (uint8_t)index;
    else
        *(int *)s->at = index;
}

void slot_set_text(const struct slot *s, const char *text)
{
    assert(s->type == FIELD_TEXT);
    *(const char **)s->at = text ? text : s->field->flags & FIELD_EMPTY_TEXT ? "" : NULL;
}

void slot_set_items(const struct slot *s, const void *items, size_t count)
{
    must(slot_is_many(s) && s->count && (items || count == 0));
    *(const void **)s->at = items;
    *s->count = count;
}

/* As absent as the type can be, with enums at `enum_value` and quantities with their reason. */
static void set_absent(const struct slot *s, int enum_value, const char *why)
{
    switch (s->type) {
    case FIELD_BOOL:
        slot_set_bool(s, false);
        break;
    case FIELD_I64:
        slot_set_i64(s, s->field->is_unsigned ? 0 : ABSENT_I64);
        break;
    case FIELD_F64:
        slot_set_f64(s, NAN);
        break;
    case FIELD_TEXT:
        slot_set_text(s, NULL);
        break;
    case FIELD_ENUM:
        slot_set_enum(s, enum_value);
        break;
    case FIELD_HEX:
        slot_set_hex(s, 0);
        break;
    case FIELD_QUANTITY:
        *slot_quantity(s) = quantity_absent(Q_NOT_RECORDED, why);
        break;
    case FIELD_OBJECT:
        schema_absent_as(s->field->sub, slot_object(s), enum_value, why);
        break;
    case FIELD_LIST:
    case FIELD_MAP:
        slot_set_items(s, NULL, 0);
        break;
    }
}

void slot_set_absent(const struct slot *s)
{
    set_absent(s, -1, NULL);
}

void slot_put(const struct slot *s, struct buf *b)
{
    switch (s->type) {
    case FIELD_BOOL:
        buf_str(b, slot_bool(s) ? "true" : "false");
        break;
    case FIELD_I64:
        if (slot_i64(s) != ABSENT_I64)
            buf_i64(b, slot_i64(s));
        break;
    case FIELD_F64:
        if (isfinite(slot_f64(s)))
            num_put_f64(b, slot_f64(s));
        break;
    case FIELD_TEXT:
    case FIELD_ENUM:
        if (slot_text(s))
            buf_str(b, slot_text(s));
        break;
    case FIELD_HEX:
        if (slot_hex(s))
            buf_fmt(b, "%016llx", (unsigned long long)slot_hex(s));
        break;
    case FIELD_QUANTITY:
    case FIELD_OBJECT:
    case FIELD_LIST:
    case FIELD_MAP:
        break;
    }
}

/* ---- whole objects ---- */

void schema_absent_as(const struct schema *s, void *object, int enum_value, const char *why)
{
    must(object);
    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        struct slot slot = slot_of(f, object);
        if (!(f->flags & FIELD_ASIDE))
            set_absent(&slot, enum_value, why);
    }
}

void schema_absent(const struct schema *s, void *object)
{
    schema_absent_as(s, object, -1, NULL);
}

/* Copies of the items: those of a default, or of another object, must not be changed. */
void slot_own_items(const struct slot *s, struct arena *a)
{
    must(slot_is_many(s));
    size_t count = slot_count(s), size = field_item_size(s->field);
    void *items = arena_array(a, count, size);
    if (count)
        memcpy(items, *(void **)s->at, count * size);
    slot_set_items(s, items, count);
}

static void set_default(const struct slot *s)
{
    const struct field *f = s->field;
    slot_set_absent(s);
    if (f->type == FIELD_OBJECT)
        schema_defaults(f->sub, slot_object(s));
    else if (f->preset_text && f->type == FIELD_LIST)
        slot_set_items(s, &f->preset_text, 1);
    else if (f->preset_text)
        slot_set_text(s, f->preset_text);
    if (!f->has_preset)
        return;
    if (f->type == FIELD_BOOL)
        slot_set_bool(s, f->preset != 0);
    else if (f->type == FIELD_I64)
        slot_set_i64(s, (int64_t)f->preset);
    else if (f->type == FIELD_F64)
        slot_set_f64(s, f->preset);
    else if (f->type == FIELD_ENUM)
        slot_set_enum(s, (int)f->preset);
}

void schema_defaults(const struct schema *s, void *object)
{
    must(object);
    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        struct slot slot = slot_of(f, object);
        if (!(f->flags & FIELD_ASIDE))
            set_default(&slot);
    }
}

/* ---- visiting ---- */

struct visiting {
    const struct visitor *visitor;
    struct buf path;
    const char *unit; /* of the nearest object that has one */
    size_t depth;
};

static void walk_object(struct visiting *w, const struct schema *s, const void *object);
static void walk_items(struct visiting *w, const struct slot *list);

static void walk_slot(struct visiting *w, struct slot slot, const char *key, bool item, bool last)
{
    const struct visitor *o = w->visitor;
    const struct field *f = slot.field;
    struct visit v = {.slot = slot,
                      .key = key,
                      .path = buf_text(&w->path),
                      .unit = f->flags & FIELD_UNIT_OF_OBJECT ? w->unit : f->unit,
                      .depth = w->depth,
                      .item = item,
                      .last = last};
    if (slot.type != FIELD_OBJECT && slot.type != FIELD_LIST && slot.type != FIELD_MAP) {
        if (o->value)
            o->value(o->self, &v);
        return;
    }
    if (o->enter && !o->enter(o->self, &v))
        return;
    w->depth++;
    if (slot.type == FIELD_OBJECT)
        walk_object(w, f->sub, slot_object(&slot));
    else
        walk_items(w, &slot);
    w->depth--;
    v.path = buf_text(&w->path);
    if (o->leave)
        o->leave(o->self, &v);
}

/* ".gap.2" for a row of the table over rules and K; ".17" for an object that nothing names. */
static void put_item_name(struct visiting *w, const struct slot *item, size_t i)
{
    size_t n = w->path.n;
    const struct schema *s = item->type == FIELD_OBJECT && w->visitor->named_items ? item->field->sub : NULL;
    for (const struct field *f = s ? s->fields : NULL; s && f < s->fields + s->count; f++) {
        struct slot name = slot_of(f, slot_object(item));
        if (!(f->flags & FIELD_NAMES_ITEM) || slot_is_absent(&name))
            continue;
        buf_byte(&w->path, '.');
        slot_put(&name, &w->path);
    }
    if (w->path.n == n)
        buf_fmt(&w->path, ".%zu", i);
}

static void walk_items(struct visiting *w, const struct slot *list)
{
    size_t n = w->path.n, count = slot_count(list);
    for (size_t i = 0; i < count; i++) {
        struct slot item = slot_item(list, i);
        const char *name = list->type == FIELD_MAP ? slot_item_name(list, i) : NULL;
        if (name)
            buf_fmt(&w->path, ".%s", name);
        else
            put_item_name(w, &item, i);
        walk_slot(w, item, name, true, i + 1 == count);
        w->path.n = n;
    }
}

static void walk_object(struct visiting *w, const struct schema *s, const void *object)
{
    size_t n = w->path.n;
    const char *outer = w->unit;
    struct slot unit;
    if (slot_find(s, object, span_of("unit"), &unit) && unit.type == FIELD_TEXT)
        w->unit = slot_text(&unit);
    for (size_t i = 0; i < s->count; i++) {
        if (s->fields[i].flags & FIELD_ASIDE)
            continue;
        if (n)
            buf_byte(&w->path, '.');
        buf_str(&w->path, s->fields[i].key);
        walk_slot(w, slot_of(&s->fields[i], object), s->fields[i].key, false, i + 1 == s->count);
        w->path.n = n;
    }
    w->unit = outer;
}

void schema_visit(const struct schema *s, const void *object, const char *prefix, const struct visitor *visitor)
{
    must(object && prefix && visitor);
    struct visiting w = {.visitor = visitor};
    buf_str(&w.path, prefix);
    walk_object(&w, s, object);
    buf_done(&w.path);
}

bool visit_is_left_out(const struct visit *v)
{
    return !v->item && (v->slot.field->flags & FIELD_OMIT_ABSENT) && slot_is_absent(&v->slot);
}
