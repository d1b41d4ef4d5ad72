#include <math.h>
#include <string.h>
#include "base/buf.h"
#include "base/quantity.h"
#include "schema/schema.h"

void schema_absent(const struct schema *s, void *object)
{
    schema_absent_as(s, object, -1, NULL);
}

void schema_absent_as(const struct schema *s, void *object, int enum_value, const char *why)
{
    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        void *at = (char *)object + f->offset;

        switch (f->type) {
        case FIELD_BOOL:
            *(bool *)at = false;
            break;
        case FIELD_I64:
            *(int64_t *)at = ABSENT_I64;
            break;
        case FIELD_F64:
            *(double *)at = NAN;
            break;
        case FIELD_TEXT:
            *(const char **)at = NULL;
            break;
        case FIELD_ENUM:
            *(int *)at = enum_value;
            break;
        case FIELD_QUANTITY:
            *(struct quantity *)at = quantity_absent(Q_NOT_RECORDED, why);
            break;
        case FIELD_OBJECT:
            schema_absent_as(f->sub, at, enum_value, why);
            break;
        case FIELD_LIST:
        case FIELD_MAP:
            *(void **)at = NULL;
            *(size_t *)((char *)object + f->count_offset) = 0;
            break;
        }
    }
}

/* A default of a text or of a list of one text. */
static void set_preset_text(const struct field *f, void *object)
{
    void *at = (char *)object + f->offset;
    if (f->type == FIELD_TEXT) {
        *(const char **)at = f->preset_text;
    } else {
        *(const char *const **)at = &f->preset_text;
        *(size_t *)((char *)object + f->count_offset) = 1;
    }
}

static void set_preset(const struct field *f, void *object)
{
    void *at = (char *)object + f->offset;
    if (f->type == FIELD_OBJECT)
        schema_defaults(f->sub, at);
    else if (f->preset_text)
        set_preset_text(f, object);
    else if (f->has_preset && f->type == FIELD_BOOL)
        *(bool *)at = f->preset != 0;
    else if (f->has_preset && f->type == FIELD_I64)
        *(int64_t *)at = (int64_t)f->preset;
    else if (f->has_preset && f->type == FIELD_F64)
        *(double *)at = f->preset;
    else if (f->has_preset && f->type == FIELD_ENUM)
        *(int *)at = (int)f->preset;
}

void schema_defaults(const struct schema *s, void *object)
{
    schema_absent(s, object);
    for (const struct field *f = s->fields; f < s->fields + s->count; f++)
        set_preset(f, object);
}

int name_index(const char *const *names, struct span name)
{
    for (int i = 0; names[i]; i++)
        if (span_is(name, names[i]))
            return i;
    return -1;
}

struct walk {
    void (*each)(void *self, const char *path, const struct field *f, struct span value);
    void *self;
    struct buf path, value;
};

static void leaf(struct walk *w, const struct field *f)
{
    w->each(w->self, buf_text(&w->path), f, buf_span(&w->value));
    buf_clear(&w->value);
}

static void leaf_f64(struct walk *w, const struct field *f, const char *suffix, double value)
{
    size_t n = w->path.n;

    buf_str(&w->path, suffix);
    if (isfinite(value))
        num_put_f64(&w->value, value);
    leaf(w, f);
    w->path.n = n;
}

static void leaf_text(struct walk *w, const struct field *f, const char *suffix, const char *text)
{
    size_t n = w->path.n;

    buf_str(&w->path, suffix);
    if (text)
        buf_str(&w->value, text);
    leaf(w, f);
    w->path.n = n;
}

static void walk_object(struct walk *w, const struct schema *s, const void *object);

/* One value of `type` at `at`; the path already ends in its key. */
static void walk_value(struct walk *w, const struct field *f, enum field_type type, const void *at)
{
    switch (type) {
    case FIELD_BOOL:
        leaf_text(w, f, "", *(const bool *)at ? "true" : "false");
        break;
    case FIELD_I64:
        if (*(const int64_t *)at != ABSENT_I64)
            buf_i64(&w->value, *(const int64_t *)at);
        leaf(w, f);
        break;
    case FIELD_F64:
        leaf_f64(w, f, "", *(const double *)at);
        break;
    case FIELD_TEXT:
        leaf_text(w, f, "", *(const char *const *)at);
        break;
    case FIELD_ENUM:
        leaf_text(w, f, "", *(const int *)at < 0 ? NULL : f->names[*(const int *)at]);
        break;
    case FIELD_QUANTITY: {
        const struct quantity *q = at;

        leaf_f64(w, f, "", quantity_has_value(q) ? q->value : NAN);
        leaf_text(w, f, ".state", q_state_names[q->state]);
        leaf_text(w, f, ".why", q->why);
        leaf_f64(w, f, ".instrument", q->instrument);
        leaf_f64(w, f, ".calibration", q->calibration);
        break;
    }
    case FIELD_OBJECT:
        walk_object(w, f->sub, at);
        break;
    case FIELD_LIST:
    case FIELD_MAP:
        break; /* lists of lists do not exist */
    }
}

size_t field_item_size(const struct field *f)
{
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
    case FIELD_QUANTITY:
        return sizeof(struct quantity);
    case FIELD_OBJECT:
        return f->sub->size;
    case FIELD_LIST:
    case FIELD_MAP:
        break;
    }
    return 0;
}

static void walk_items(struct walk *w, const struct field *f, const void *object)
{
    const char *items = *(char *const *)((const char *)object + f->offset);
    size_t count = *(const size_t *)((const char *)object + f->count_offset);
    size_t n = w->path.n;

    for (size_t i = 0; i < count; i++) {
        const char *item = items + i * field_item_size(f);

        w->path.n = n;
        if (f->type == FIELD_MAP) {
            buf_fmt(&w->path, ".%s", ((const struct field_pair *)item)->name);
            leaf_text(w, f, "", ((const struct field_pair *)item)->value);
        } else {
            buf_fmt(&w->path, ".%zu", i);
            walk_value(w, f, f->item, item);
        }
    }
    w->path.n = n;
}

static void walk_object(struct walk *w, const struct schema *s, const void *object)
{
    size_t n = w->path.n;

    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        w->path.n = n;
        if (n)
            buf_byte(&w->path, '.');
        buf_str(&w->path, f->key);
        if (f->type == FIELD_LIST || f->type == FIELD_MAP)
            walk_items(w, f, object);
        else
            walk_value(w, f, f->type, (const char *)object + f->offset);
    }
    w->path.n = n;
}

void schema_flat(const struct schema *s, const void *object,
                 void (*each)(void *self, const char *path, const struct field *f, struct span value), void *self)
{
    struct walk w = {.each = each, .self = self};

    walk_object(&w, s, object);
    buf_done(&w.path);
    buf_done(&w.value);
}
