#include "schema/json.h"

#include "base/must.h"
#include "schema/parse.h"

/* ---- writer ---- */

static void put_f64(struct json_writer *w, double value)
{
    json_put_f64(w, isfinite(value) ? value : NAN);
}

static void put_quantity_object(struct json_writer *w, const struct quantity *q)
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

static void put_hex(struct json_writer *w, const struct slot *s)
{
    struct buf text = {0};
    slot_put(s, &text);
    json_put_text(w, text.n ? buf_text(&text) : NULL);
    buf_done(&text);
}

static void put_slot(struct json_writer *w, const struct slot *s)
{
    switch (s->type) {
    case FIELD_BOOL:
        json_put_bool(w, slot_bool(s));
        break;
    case FIELD_I64:
        if (slot_is_absent(s))
            json_put_null(w);
        else
            json_put_i64(w, slot_i64(s));
        break;
    case FIELD_F64:
        put_f64(w, slot_f64(s));
        break;
    case FIELD_TEXT:
    case FIELD_ENUM:
        json_put_text(w, slot_text(s));
        break;
    case FIELD_HEX:
        put_hex(w, s);
        break;
    case FIELD_QUANTITY:
        put_quantity_object(w, slot_quantity(s));
        break;
    case FIELD_OBJECT:
    case FIELD_LIST:
    case FIELD_MAP:
        break; /* entered */
    }
}

/* The key, where there is one; false: the value is left out. */
static bool put_member_key(struct json_writer *w, const struct visit *v)
{
    if (visit_is_left_out(v))
        return false;
    if (v->key)
        json_put_key(w, v->key);
    return true;
}

static bool enter(void *self, const struct visit *v)
{
    if (!put_member_key(self, v))
        return false;
    if (v->slot.type == FIELD_LIST)
        json_put_array(self);
    else
        json_put_object(self);
    return true;
}

static void leave(void *self, const struct visit *v)
{
    if (v->slot.type == FIELD_LIST)
        json_put_array_end(self);
    else
        json_put_object_end(self);
}

static void value(void *self, const struct visit *v)
{
    if (put_member_key(self, v))
        put_slot(self, &v->slot);
}

void schema_json_put(const struct schema *s, const void *object, struct json_writer *w)
{
    must(object);
    json_put_object(w);
    schema_visit(s, object, "", &(struct visitor){.self = w, .enter = enter, .value = value, .leave = leave});
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

struct json_reader {
    struct json j;
    struct arena *arena;
    const char *source;
    struct buf path, text;
    struct err *e;
};

static bool type_fault(struct json_reader *r, const struct field *f, enum field_type type)
{
    struct buf allowed = {0};
    if (r->j.kind == JSON_ERROR)
        return err_set(r->e, ERR_RECORDS, "%s: This is not JSON: %s at byte %zu.", r->source, r->j.fault,
                       json_error_offset(&r->j));
    put_allowed(f, type, &allowed);
    err_set(r->e, ERR_RECORDS, "%s%s%s: The value is wrong. Expected: %s.", r->source, r->path.n ? ": " : "",
            buf_text(&r->path), buf_text(&allowed));
    buf_done(&allowed);
    return false;
}

/* The string just read, in the arena. */
static const char *take_text(struct json_reader *r)
{
    buf_clear(&r->text);
    json_text(&r->j, &r->text);
    return arena_copy(r->arena, r->text.p, r->text.n);
}

static bool read_object(struct json_reader *r, const struct schema *s, void *object);

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

static bool read_quantity(struct json_reader *r, const struct field *f, struct quantity *ret)
{
    struct quantity q = quantity_absent(Q_NOT_RECORDED, NULL);
    enum json_kind k;
    if (r->j.kind != JSON_OBJECT)
        return type_fault(r, f, FIELD_QUANTITY);
    while ((k = json_next(&r->j)) == JSON_KEY) {
        double *number = quantity_number(&r->j, &q);
        bool state = json_is(&r->j, "state"), why = json_is(&r->j, "why");
        k = json_next(&r->j);
        if (k == JSON_ERROR)
            break;
        if (number && k == JSON_NUMBER) {
            if (!json_f64(&r->j, number))
                return type_fault(r, f, FIELD_QUANTITY);
        } else if (state && k == JSON_STRING) {
            int i = name_index(q_state_names, r->j.raw);
            if (i < 0)
                return type_fault(r, f, FIELD_QUANTITY);
            q.state = (enum q_state)i;
        } else if (why && k == JSON_STRING) {
            q.why = take_text(r);
        } else if ((number || state || why) && k != JSON_NULL) {
            return type_fault(r, f, FIELD_QUANTITY);
        } else if (k == JSON_OBJECT || k == JSON_ARRAY) {
            json_skip(&r->j);
        }
    }
    if (k != JSON_OBJECT_END)
        return type_fault(r, f, FIELD_QUANTITY);
    *ret = q;
    return true;
}

static bool read_number(struct json_reader *r, const struct slot *s)
{
    int64_t whole;
    double real;
    if (r->j.kind != JSON_NUMBER)
        return false;
    if (s->type == FIELD_I64) {
        if (!json_i64(&r->j, &whole) || !field_takes_i64(s->field, whole))
            return false;
        slot_set_i64(s, whole);
        return true;
    }
    if (!json_f64(&r->j, &real) || !field_takes_f64(s->field, real))
        return false;
    slot_set_f64(s, real);
    return true;
}

static bool read_enum(struct json_reader *r, const struct slot *s)
{
    int index = r->j.kind == JSON_STRING ? name_index(s->field->names, r->j.raw) : -1;
    if (index >= 0)
        slot_set_enum(s, index);
    return index >= 0;
}

/* The value whose first token was just read. A stored number obeys its field's range as one that a user writes does: it
 * may become a length or a divisor. */
static bool read_value(struct json_reader *r, const struct slot *s)
{
    enum json_kind k = r->j.kind;
    bool good = false;
    switch (s->type) {
    case FIELD_BOOL:
        if ((good = k == JSON_TRUE || k == JSON_FALSE))
            slot_set_bool(s, k == JSON_TRUE);
        break;
    case FIELD_I64:
    case FIELD_F64:
        good = read_number(r, s);
        break;
    case FIELD_TEXT:
        if ((good = k == JSON_STRING))
            slot_set_text(s, take_text(r));
        break;
    case FIELD_ENUM:
        good = read_enum(r, s);
        break;
    case FIELD_QUANTITY:
        return read_quantity(r, s->field, slot_quantity(s));
    case FIELD_OBJECT:
        return k == JSON_OBJECT ? read_object(r, s->field->sub, slot_object(s)) : type_fault(r, s->field, s->type);
    case FIELD_HEX:
    case FIELD_LIST:
    case FIELD_MAP:
        break;
    }
    return good || type_fault(r, s->field, s->type);
}

static bool read_list(struct json_reader *r, const struct slot *list)
{
    const struct field *f = list->field;
    size_t n = r->path.n, count = 0;
    void *items = NULL;
    if (r->j.kind != JSON_ARRAY)
        return type_fault(r, f, f->type);
    for (;;) {
        enum json_kind k = json_next(&r->j);
        if (k == JSON_ARRAY_END)
            break;
        if (k == JSON_ERROR)
            return type_fault(r, f, f->type);
        buf_fmt(&r->path, ".%zu", count);
        const struct slot item = {f, f->item, list_push(r->arena, &items, &count, field_item_size(f)), NULL};
        if (k == JSON_NULL && field_may_be_absent(f, f->item))
            slot_set_absent(&item);
        else if (!read_value(r, &item))
            return false;
        r->path.n = n;
    }
    slot_set_items(list, items, count);
    return true;
}

static bool read_map(struct json_reader *r, const struct slot *map)
{
    const struct field *f = map->field;
    void *items = NULL;
    size_t count = 0;
    enum json_kind k;
    if (r->j.kind != JSON_OBJECT)
        return type_fault(r, f, f->type);
    while ((k = json_next(&r->j)) == JSON_KEY) {
        struct field_pair *pair = list_push(r->arena, &items, &count, sizeof *pair);
        pair->name = take_text(r);
        k = json_next(&r->j);
        if (k != JSON_STRING && k != JSON_NULL)
            return type_fault(r, f, f->type);
        pair->value = k == JSON_NULL ? NULL : take_text(r);
    }
    if (k != JSON_OBJECT_END)
        return type_fault(r, f, f->type);
    slot_set_items(map, items, count);
    return true;
}

static const struct field *find_key(const struct schema *s, const struct json *j)
{
    for (const struct field *f = s->fields; f < s->fields + s->count; f++)
        if (json_is(j, f->key))
            return f;
    return NULL;
}

/* What belongs to a key that the table knows; a null leaves the value absent. */
static bool read_field(struct json_reader *r, const struct slot *s)
{
    if (r->j.kind == JSON_NULL)
        return s->type != FIELD_BOOL || type_fault(r, s->field, s->type);
    if (s->type == FIELD_LIST)
        return read_list(r, s);
    return s->type == FIELD_MAP ? read_map(r, s) : read_value(r, s);
}

/* An object whose start was just read. */
static bool read_object(struct json_reader *r, const struct schema *s, void *object)
{
    size_t n = r->path.n;
    schema_absent(s, object);
    while (json_next(&r->j) == JSON_KEY) {
        const struct field *f = find_key(s, &r->j);
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
        struct slot slot = slot_of(f, object);
        if (!read_field(r, &slot))
            return false;
        r->path.n = n;
    }
    return r->j.kind == JSON_OBJECT_END || type_fault(r, &(struct field){.sub = s}, FIELD_OBJECT);
}

bool schema_json_read(const struct schema *s, void *object, const char *source, struct span text, struct arena *a,
                      struct err *e)
{
    must(object && source && a);
    struct json_reader r = {.arena = a, .source = source, .e = e};
    const struct field root = {.sub = s};
    json_init(&r.j, text);
    buf_str(&r.path, "");
    bool good = json_next(&r.j) == JSON_OBJECT ? read_object(&r, s, object) : type_fault(&r, &root, FIELD_OBJECT);
    if (good && json_next(&r.j) != JSON_END)
        good = type_fault(&r, &root, FIELD_OBJECT);
    buf_done(&r.path);
    buf_done(&r.text);
    return good;
}
