#include "schema/csv.h"

#include <assert.h>
#include "base/must.h"
#include "schema/parse.h"
#include "text/csv.h"

/* ---- lines ---- */

void schema_csv_header(const struct schema *s, struct buf *b)
{
    for (size_t i = 0; i < s->count; i++) {
        buf_str(b, s->fields[i].key);
        buf_byte(b, i + 1 < s->count ? ',' : '\n');
    }
}

/* Where a column's value stands: beside the object, or in it. A line has no lists. */
static inline struct slot slot_of_cell(const struct field *f, const void *object, uint32_t *aside)
{
    char *at = (char *)(uintptr_t)object + f->offset;
    return (struct slot){f, f->type, f->flags & FIELD_ASIDE ? (void *)aside : (void *)at, NULL};
}

/* Whole numbers and names, which most columns of the long files are, by the shortest way. */
static inline void put_cell(const struct slot *s, enum csv_form form, char separator, struct buf *b)
{
    if (s->type == FIELD_I64) {
        int64_t value = slot_i64(s);
        if (value != ABSENT_I64)
            buf_i64(b, value);
    } else if (s->type == FIELD_ENUM) {
        if (slot_text(s))
            buf_str(b, slot_text(s));
    } else if (s->type == FIELD_TEXT) {
        const char *text = slot_text(s);
        struct span cell = text ? span_of(text) : (struct span){0};
        if (form == CSV_SHOWN)
            csv_put_shown(b, cell, separator);
        else
            csv_put(b, cell, separator);
        return;
    } else {
        slot_put(s, b);
    }
    buf_byte(b, separator);
}

size_t schema_csv_put(const struct schema *s, const void *object, uint32_t aside, enum csv_form form, struct buf *b)
{
    assert(object && s->count > 0);
    size_t filled = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct field *f = &s->fields[i];
        const struct slot slot = slot_of_cell(f, object, &aside);
        size_t start = b->n;
        put_cell(&slot, form, i + 1 < s->count ? ',' : '\n', b);
        filled += b->n > start + 1;
    }
    return filled;
}

/* Columns that jtok has always written are missing only where a file was changed. What such a column may leave absent
 * is read as absent; without any other there is no line. */
bool schema_csv_columns(const struct schema *s, const struct span *names, size_t count, struct csv_columns *ret,
                        void (*note)(void *self, const char *text), void *self)
{
    must(s->count <= CSV_COLUMNS_MAX && note);
    bool there[CSV_COLUMNS_MAX] = {false}, good = count <= CSV_COLUMNS_MAX;
    struct buf text = {0};
    *ret = (struct csv_columns){.schema = s, .count = count};
    if (!good)
        note(self, "the header has too many columns");
    for (size_t i = 0; good && i < count; i++) {
        for (size_t k = 0; k < s->count; k++) {
            if (!span_is(names[i], s->fields[k].key))
                continue;
            if (there[k]) {
                buf_fmt(&text, "the header has the column %s twice", s->fields[k].key);
                note(self, buf_text(&text));
                good = false;
            }
            ret->fields[i] = &s->fields[k];
            there[k] = true;
        }
    }
    for (size_t k = 0; good && k < s->count; k++) {
        if (there[k] || (s->fields[k].flags & FIELD_LATER))
            continue;
        buf_clear(&text);
        buf_fmt(&text, "the header lacks the column %s", s->fields[k].key);
        note(self, buf_text(&text));
        good = field_may_be_absent(&s->fields[k], s->fields[k].type);
    }
    buf_done(&text);
    return good;
}

/* As num_i64, for the short plain numbers that nearly every field is. */
static bool get_integer(struct span s, int64_t *ret_value)
{
    uint64_t value = 0;
    bool minus = s.n && *s.p == '-';
    if (s.n - minus == 0 || s.n - minus > 18)
        return num_i64(s, ret_value);
    for (size_t i = minus; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - '0';
        if (digit > 9)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = minus ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool get_hex(struct span s, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (s.n != 16)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    *ret_value = value;
    return true;
}

static const char *get_text(struct span field, bool quoted, struct arena *a)
{
    if (!quoted || *field.p != '"')
        return arena_copy(a, field.p, field.n);
    struct buf text = {0};
    csv_unquote(field, &text);
    const char *copy = arena_copy(a, text.p ? text.p : "", text.n);
    buf_done(&text);
    return copy;
}

static const char *get_whole(const struct slot *s, struct span field)
{
    int64_t value;
    if (!get_integer(field, &value))
        return "is not a whole number";
    if (!field_takes_i64(s->field, value))
        return "is out of range";
    slot_set_i64(s, value);
    return NULL;
}

static const char *get_real(const struct slot *s, struct span field)
{
    double value;
    if (!num_f64(field, &value))
        return "is not a number";
    if (!field_takes_f64(s->field, value))
        return "is out of range";
    slot_set_f64(s, value);
    return NULL;
}

/* Sets one slot; what is wrong, or null. */
static const char *get_cell(const struct slot *s, struct span field, bool quoted, struct arena *a)
{
    uint64_t hex;
    int index;
    switch (s->type) {
    case FIELD_I64:
        return get_whole(s, field);
    case FIELD_F64:
        return get_real(s, field);
    case FIELD_ENUM:
        if ((index = name_index(s->field->names, field)) < 0)
            return "is not a known name";
        slot_set_enum(s, index);
        return NULL;
    case FIELD_HEX:
        if (!get_hex(field, &hex))
            return "is not 16 hexadecimal digits";
        slot_set_hex(s, hex);
        return NULL;
    case FIELD_TEXT:
        if (!field.n)
            return "is empty";
        slot_set_text(s, get_text(field, quoted, a));
        return NULL;
    case FIELD_BOOL:
    case FIELD_QUANTITY:
    case FIELD_OBJECT:
    case FIELD_LIST:
    case FIELD_MAP:
        break; /* no file has them */
    }
    return "can't be read";
}

bool schema_csv_get(const struct csv_columns *c, const struct span *fields, bool quoted, void *object,
                    struct csv_line *ret_line, struct arena *a)
{
    assert(c->schema && object);
    struct csv_line line = {0};
    bool good = true;
    for (size_t i = 0; good && i < c->count; i++) {
        const struct field *f = c->fields[i];
        if (!f)
            continue;
        line.filled += fields[i].n > 0;
        if (!fields[i].n && field_may_be_absent(f, f->type))
            continue;
        const struct slot slot = slot_of_cell(f, object, &line.aside);
        const char *wrong = get_cell(&slot, fields[i], quoted, a);
        if (!wrong)
            continue;
        line.wrong = wrong;
        line.column = i;
        good = f->flags & FIELD_LENIENT;
        if (good)
            slot_set_absent(&slot);
        line.lenient = good;
    }
    *ret_line = line;
    return good;
}

/* ---- values ---- */

static void put_csv_text(struct buf *b, const char *text, char separator)
{
    csv_put_shown(b, span_of(text ? text : ""), separator);
}

static void put_csv_number(struct buf *b, double value, char separator)
{
    if (!isnan(value))
        num_put_f64(b, value);
    buf_byte(b, separator);
}

/* The state in words; a value that was measured and isn't there was not recorded. */
static void put_state(struct buf *b, const struct quantity *q)
{
    enum q_state state = q->state == Q_MEASURED && isnan(q->value) ? Q_NOT_RECORDED : q->state;
    for (const char *c = q_state_names[state]; *c; c++)
        buf_byte(b, *c == '_' ? ' ' : *c);
    buf_byte(b, ',');
}

static void put_quantity(struct buf *b, const struct quantity *q)
{
    bool has = quantity_has_value(q);
    put_csv_number(b, has ? q->value : NAN, ',');
    put_state(b, q);
    put_csv_text(b, q->why, ',');
    put_csv_number(b, has ? q->instrument : NAN, ',');
    put_csv_number(b, has ? q->calibration : NAN, '\n');
}

static void put_csv_value(void *self, const struct visit *v)
{
    struct buf *b = self, text = {0};
    if (visit_is_left_out(v))
        return;
    put_csv_text(b, v->path, ',');
    put_csv_text(b, v->unit, ',');
    if (v->slot.type == FIELD_QUANTITY) {
        put_quantity(b, slot_quantity(&v->slot));
        return;
    }
    slot_put(&v->slot, &text);
    csv_put_shown(b, buf_span(&text), ',');
    buf_str(b, slot_is_absent(&v->slot) ? "not recorded,,,\n" : "measured,,,\n");
    buf_done(&text);
}

void schema_csv_values_header(struct buf *b)
{
    buf_str(b, "metric,unit,value,state,why,instrument,calibration\n");
}

void schema_csv_values(const struct schema *s, const void *object, const char *prefix, struct buf *b)
{
    must(object && prefix);
    schema_visit(s, object, prefix, &(struct visitor){.self = b, .value = put_csv_value, .named_items = true});
}
