#include "schema/json.h"
#include <math.h>
#include "base/buf.h"
#include "base/quantity.h"
#include "schema/parse.h"

/* ---- writer ---- */

static void put_f64(struct json_writer *w, double value)
{
    json_put_f64(w, isfinite(value) ? value : NAN);
}

static void put_quantity(struct json_writer *w, const struct quantity *q)
{
    json_put_object(w);
    json_put_key(w, "value");
    put_f64(w, quantity_has_value(q) ? q->value : NAN);
    json_put_key(w, "state");
    json_put_text(w, q_state_names[q->state]);
    json_put_key(w, "why");
    json_put_text(w, q->why);
    json_put_key(w, "instrument");
    put_f64(w, q->instrument);
    json_put_key(w, "calibration");
    put_f64(w, q->calibration);
    json_put_object_end(w);
}

static void put_value(struct json_writer *w, const struct field *f, enum field_type type, const void *at)
{
    switch (type) {
    case FIELD_BOOL:
        json_put_bool(w, *(const bool *)at);
        break;
    case FIELD_I64:
        if (*(const int64_t *)at == ABSENT_I64)
            json_put_null(w);
        else
            json_put_i64(w, *(const int64_t *)at);
        break;
    case FIELD_F64:
        put_f64(w, *(const double *)at);
        break;
    case FIELD_TEXT:
        json_put_text(w, *(const char *const *)at);
        break;
    case FIELD_ENUM:
        json_put_text(w, *(const int *)at < 0 ? NULL : f->names[*(const int *)at]);
        break;
    case FIELD_QUANTITY:
        put_quantity(w, at);
        break;
    case FIELD_OBJECT:
        schema_json_put(f->sub, at, w);
        break;
    case FIELD_LIST:
    case FIELD_MAP:
        break; /* lists of lists do not exist */
    }
}

static void put_items(struct json_writer *w, const struct field *f, const void *object)
{
    const char *items = *(char *const *)((const char *)object + f->offset);
    size_t count = *(const size_t *)((const char *)object + f->count_offset);

    if (f->type == FIELD_MAP) {
        const struct field_pair *pairs = (const struct field_pair *)items;

        json_put_object(w);
        for (size_t i = 0; i < count; i++) {
            json_put_key(w, pairs[i].name);
            json_put_text(w, pairs[i].value);
        }
        json_put_object_end(w);
        return;
    }
    json_put_array(w);
    for (size_t i = 0; i < count; i++)
        put_value(w, f, f->item, items + i * field_item_size(f));
    json_put_array_end(w);
}

static bool field_is_absent(const struct field *f, const void *object)
{
    const void *at = (const char *)object + f->offset;

    switch (f->type) {
    case FIELD_I64:
        return *(const int64_t *)at == ABSENT_I64;
    case FIELD_F64:
        return !isfinite(*(const double *)at);
    case FIELD_TEXT:
        return !*(const char *const *)at;
    case FIELD_ENUM:
        return *(const int *)at < 0;
    case FIELD_LIST:
    case FIELD_MAP:
        return *(const size_t *)((const char *)object + f->count_offset) == 0;
    case FIELD_BOOL:
    case FIELD_OBJECT:
    case FIELD_QUANTITY:
    default:
        return false;
    }
}

void schema_json_put(const struct schema *s, const void *object, struct json_writer *w)
{
    json_put_object(w);
    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        if ((f->flags & FIELD_OMIT_ABSENT) && field_is_absent(f, object))
            continue;
        json_put_key(w, f->key);
        if (f->type == FIELD_LIST || f->type == FIELD_MAP)
            put_items(w, f, object);
        else
            put_value(w, f, f->type, (const char *)object + f->offset);
    }
    json_put_object_end(w);
}

void schema_json_write(const struct schema *s, const void *object, struct buf *b)
{
    struct json_writer w;

    json_writer_init(&w, b, 2);
    schema_json_put(s, object, &w);
    buf_byte(b, '\n');
}

/* ---- reader ---- */

struct reader {
    struct json j;
    struct arena *arena;
    const char *source;
    struct buf path, text;
    struct err *e;
};

static bool fault(struct reader *r, const struct field *f, enum field_type type)
{
    struct buf allowed = {0};

    if (r->j.kind == JSON_ERROR) {
        err_set(r->e, ERR_RECORDS, "%s: this is no JSON: %s, at byte %zu", r->source, r->j.fault,
                json_error_offset(&r->j));
        return false;
    }
    typing_allowed(f, type, &allowed);
    err_set(r->e, ERR_RECORDS, "%s%s%s: the value is wrong; expected: %s", r->source, r->path.n ? ": " : "",
            buf_text(&r->path), buf_text(&allowed));
    buf_done(&allowed);
    return false;
}

/* The string just read, in the arena. */
static const char *take_text(struct reader *r)
{
    buf_clear(&r->text);
    json_text(&r->j, &r->text);
    return arena_copy(r->arena, r->text.p, r->text.n);
}

static bool read_object(struct reader *r, const struct schema *s, void *object);

/* Where a number of a quantity belongs, by the key just read; null: elsewhere. Results made under jtok-1 call the two
 * doubts repeatability and absolute. */
static double *quantity_number(const struct json *j, struct quantity *q)
{
    if (json_is(j, "value"))
        return &q->value;
    if (json_is(j, "instrument") || json_is(j, "repeatability"))
        return &q->instrument;
    return json_is(j, "calibration") || json_is(j, "absolute") ? &q->calibration : NULL;
}

static bool read_quantity(struct reader *r, const struct field *f, struct quantity *ret)
{
    struct quantity q = quantity_absent(Q_NOT_RECORDED, NULL);
    enum json_kind k;

    if (r->j.kind != JSON_OBJECT)
        return fault(r, f, FIELD_QUANTITY);
    while ((k = json_next(&r->j)) == JSON_KEY) {
        double *number = quantity_number(&r->j, &q);
        bool state = json_is(&r->j, "state"), why = json_is(&r->j, "why");

        k = json_next(&r->j);
        if (k == JSON_ERROR)
            break;
        if (number && k == JSON_NUMBER) {
            if (!json_f64(&r->j, number))
                return fault(r, f, FIELD_QUANTITY);
        } else if (state && k == JSON_STRING) {
            int i = name_index(q_state_names, r->j.raw);

            if (i < 0)
                return fault(r, f, FIELD_QUANTITY);
            q.state = (enum q_state)i;
        } else if (why && k == JSON_STRING) {
            q.why = take_text(r);
        } else if ((number || state || why) && k != JSON_NULL) {
            return fault(r, f, FIELD_QUANTITY);
        } else if (k == JSON_OBJECT || k == JSON_ARRAY) {
            json_skip(&r->j);
        }
    }
    if (k != JSON_OBJECT_END)
        return fault(r, f, FIELD_QUANTITY);
    *ret = q;
    return true;
}

/* A stored number obeys its field's range as one that a user writes does: it may become a length or a divisor. */
static bool in_range(const struct field *f, double value)
{
    return !(f->min < f->max) || (value >= f->min && value <= f->max);
}

/* The value whose first token was just read. */
static bool read_value(struct reader *r, const struct field *f, enum field_type type, void *at)
{
    enum json_kind k = r->j.kind;
    int index;

    switch (type) {
    case FIELD_BOOL:
        if (k != JSON_TRUE && k != JSON_FALSE)
            return fault(r, f, type);
        *(bool *)at = k == JSON_TRUE;
        return true;
    case FIELD_I64:
        return (k == JSON_NUMBER && json_i64(&r->j, at) && in_range(f, (double)*(const int64_t *)at)) ||
               fault(r, f, type);
    case FIELD_F64:
        return (k == JSON_NUMBER && json_f64(&r->j, at) && in_range(f, *(const double *)at)) || fault(r, f, type);
    case FIELD_TEXT:
        if (k != JSON_STRING)
            return fault(r, f, type);
        *(const char **)at = take_text(r);
        return true;
    case FIELD_ENUM:
        if (k != JSON_STRING || (index = name_index(f->names, r->j.raw)) < 0)
            return fault(r, f, type);
        *(int *)at = index;
        return true;
    case FIELD_QUANTITY:
        return read_quantity(r, f, at);
    case FIELD_OBJECT:
        return k == JSON_OBJECT ? read_object(r, f->sub, at) : fault(r, f, type);
    case FIELD_LIST:
    case FIELD_MAP:
        break;
    }
    return fault(r, f, type);
}

/* A null in a list, where the type has an absent value. */
static bool item_absent(enum field_type type, void *item)
{
    if (type == FIELD_I64)
        *(int64_t *)item = ABSENT_I64;
    else if (type == FIELD_F64)
        *(double *)item = NAN;
    else if (type == FIELD_TEXT)
        *(const char **)item = NULL;
    else if (type == FIELD_ENUM)
        *(int *)item = -1;
    else
        return false;
    return true;
}

static bool read_list(struct reader *r, const struct field *f, void *object)
{
    size_t n = r->path.n, count = 0, size = field_item_size(f);
    void *items = NULL;

    if (r->j.kind != JSON_ARRAY)
        return fault(r, f, f->type);
    for (;;) {
        enum json_kind k = json_next(&r->j);

        if (k == JSON_ARRAY_END)
            break;
        if (k == JSON_ERROR)
            return fault(r, f, f->type);
        buf_fmt(&r->path, ".%zu", count);
        void *item = typing_push(r->arena, &items, &count, size);

        if (!(k == JSON_NULL && item_absent(f->item, item)) && !read_value(r, f, f->item, item))
            return false;
        r->path.n = n;
    }
    *(void **)((char *)object + f->offset) = items;
    *(size_t *)((char *)object + f->count_offset) = count;
    return true;
}

static bool read_map(struct reader *r, const struct field *f, void *object)
{
    void *items = NULL;
    size_t count = 0;
    enum json_kind k;

    if (r->j.kind != JSON_OBJECT)
        return fault(r, f, f->type);
    while ((k = json_next(&r->j)) == JSON_KEY) {
        struct field_pair *pair = typing_push(r->arena, &items, &count, sizeof *pair);

        pair->name = take_text(r);
        k = json_next(&r->j);
        if (k != JSON_STRING && k != JSON_NULL)
            return fault(r, f, f->type);
        pair->value = k == JSON_NULL ? NULL : take_text(r);
    }
    if (k != JSON_OBJECT_END)
        return fault(r, f, f->type);
    *(void **)((char *)object + f->offset) = items;
    *(size_t *)((char *)object + f->count_offset) = count;
    return true;
}

static const struct field *find_key(const struct schema *s, const struct json *j)
{
    for (const struct field *f = s->fields; f < s->fields + s->count; f++)
        if (json_is(j, f->key))
            return f;
    return NULL;
}

/* An object whose start was just read. */
static bool read_object(struct reader *r, const struct schema *s, void *object)
{
    size_t n = r->path.n;

    schema_absent(s, object);
    while (json_next(&r->j) == JSON_KEY) {
        const struct field *f = find_key(s, &r->j);
        bool good = true;

        if (!f) {
            if (json_skip(&r->j) == JSON_ERROR)
                break;
            continue;
        }
        if (n)
            buf_byte(&r->path, '.');
        buf_str(&r->path, f->key);
        if (json_next(&r->j) == JSON_ERROR)
            break;
        if (r->j.kind == JSON_NULL)
            good = f->type != FIELD_BOOL || fault(r, f, f->type);
        else if (f->type == FIELD_LIST)
            good = read_list(r, f, object);
        else if (f->type == FIELD_MAP)
            good = read_map(r, f, object);
        else
            good = read_value(r, f, f->type, (char *)object + f->offset);
        if (!good)
            return false;
        r->path.n = n;
    }
    return r->j.kind == JSON_OBJECT_END || fault(r, &(struct field){.sub = s}, FIELD_OBJECT);
}

bool schema_json_read(const struct schema *s, void *object, const char *source, struct span text, struct arena *a,
                      struct err *e)
{
    struct reader r = {.arena = a, .source = source, .e = e};
    bool good;

    json_init(&r.j, text);
    buf_str(&r.path, "");
    good = json_next(&r.j) == JSON_OBJECT ? read_object(&r, s, object)
                                          : fault(&r, &(struct field){.sub = s}, FIELD_OBJECT);
    if (good && json_next(&r.j) != JSON_END)
        good = fault(&r, &(struct field){.sub = s}, FIELD_OBJECT);
    buf_done(&r.path);
    buf_done(&r.text);
    return good;
}
