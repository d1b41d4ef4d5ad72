#include "schema/parse.h"

#include <assert.h>
#include "base/must.h"
#include "text/nearest.h"
#include "text/words.h"

/* ---- what is allowed ---- */

static void put_keys(const struct schema *s, struct buf *b)
{
    bool first = true;
    for (size_t i = 0; i < s->count; i++) {
        if (s->fields[i].flags & FIELD_RESOLVED)
            continue;
        buf_fmt(b, "%s%s", first ? "" : ", ", s->fields[i].key);
        first = false;
    }
}

static void put_allowed_number(const struct field *f, const char *kind, struct buf *b)
{
    buf_str(b, kind);
    if (f->min < f->max) {
        buf_str(b, " from ");
        num_put_f64(b, f->min);
        buf_str(b, " to ");
        num_put_f64(b, f->max);
    }
    if (f->unit)
        buf_fmt(b, " (%s)", f->unit);
}

void put_allowed(const struct field *f, enum field_type type, struct buf *b)
{
    assert(f);
    switch (type) {
    case FIELD_BOOL:
        buf_str(b, "true or false");
        break;
    case FIELD_I64:
        put_allowed_number(f, "a whole number", b);
        break;
    case FIELD_F64:
        put_allowed_number(f, "a number", b);
        break;
    case FIELD_TEXT:
        buf_str(b, "a text");
        break;
    case FIELD_ENUM:
        buf_str(b, "one of ");
        for (int i = 0; f->names[i]; i++)
            buf_fmt(b, "%s%s", i ? ", " : "", f->names[i]);
        break;
    case FIELD_OBJECT:
        buf_str(b, "a section with ");
        put_keys(f->sub, b);
        break;
    case FIELD_LIST:
        buf_str(b, f->item == FIELD_TEXT ? "a list of texts, or one text that is split into words" : "a list");
        break;
    case FIELD_MAP:
        buf_str(b, "a section of names with texts");
        break;
    case FIELD_HEX:
        buf_str(b, "16 hexadecimal digits");
        break;
    case FIELD_QUANTITY:
        buf_str(b, "a quantity");
        break;
    }
}

bool field_takes_i64(const struct field *f, int64_t value)
{
    return !(f->min < f->max) ||
           ((f->min <= -0x1p63 || value >= (int64_t)f->min) && (f->max >= 0x1p63 || value <= (int64_t)f->max));
}

bool field_takes_f64(const struct field *f, double value)
{
    return !(f->min < f->max) || (value >= f->min && value <= f->max);
}

/* ---- problems ---- */

/* The path of a field with exactly this key anywhere below that a user may give, appended to b. */
static bool find_below(const struct schema *s, struct span key, struct buf *b)
{
    size_t n = b->n;
    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        b->n = n;
        if (f->flags & FIELD_RESOLVED)
            continue;
        if (n)
            buf_byte(b, '.');
        buf_str(b, f->key);
        if (span_is(key, f->key) || (f->type == FIELD_OBJECT && find_below(f->sub, key, b)))
            return true;
    }
    b->n = n;
    return false;
}

static const char *nearest_key(const struct schema *s, struct span key)
{
    const char *nearest = NULL;
    size_t limit = nearest_limit(key);
    for (const struct field *f = s->fields; f < s->fields + s->count; f++)
        if (!(f->flags & FIELD_RESOLVED) && nearest_is_nearer(key, f->key, &limit))
            nearest = f->key;
    return nearest;
}

void problem_unknown_key(const struct schema *root, const struct schema *here, struct span key, const struct spot *at,
                         struct problems *p)
{
    must(at->path);
    const char *near = nearest_key(here, key);
    struct buf text = {0}, elsewhere = {0};
    buf_str(&text, "There is no such key. ");
    if (find_below(root, key, &elsewhere))
        buf_fmt(&text, "Did you mean %s? ", buf_text(&elsewhere));
    else if (near)
        buf_fmt(&text, "Did you mean %.*s%s? ", (int)(strlen(at->path) - key.n), at->path, near);
    buf_str(&text, "Allowed here: ");
    put_keys(here, &text);
    buf_byte(&text, '.');
    problems_add_at(p, SPOT_ARG(at), "%s", buf_text(&text));
    buf_done(&text);
    buf_done(&elsewhere);
}

bool problem_wrong_value(const struct field *f, enum field_type type, struct span text, const struct spot *at,
                         struct problems *p)
{
    enum { SHOWN = 80 };
    bool hide = f->flags & FIELD_SECRET_VALUES;
    int shown = hide ? 0 : text.n > SHOWN ? SHOWN : (int)text.n;
    const char *rest = hide || text.n > SHOWN ? "..." : "";
    struct buf allowed = {0};
    put_allowed(f, type, &allowed);
    problems_add_at(p, SPOT_ARG(at), "'%.*s%s' is not allowed here. Allowed: %s.", shown, text.p ? text.p : "", rest,
                    buf_text(&allowed));
    buf_done(&allowed);
    return false;
}

/* ---- values ---- */

bool parse_text(const char **ret_text, struct span text, const struct spot *at, struct problems *p)
{
    if (memchr(text.p ? text.p : "", 0, text.n)) {
        problems_add_at(p, SPOT_ARG(at), "The text contains a NUL byte, which is not allowed here.");
        return false;
    }
    *ret_text = arena_copy(p->arena, text.p, text.n);
    return true;
}

bool parse_value(const struct slot *s, struct span text, bool plain, const struct spot *at, struct problems *p)
{
    assert(s && p && p->arena);
    const struct field *f = s->field;
    int64_t whole;
    double real;
    const char *copy;
    bool takes = false;
    if (plain && (text.n == 0 || span_is(text, "null") || span_is(text, "~"))) {
        if (!field_may_be_absent(f, s->type))
            return problem_wrong_value(f, s->type, span_of("null"), at, p);
        slot_set_absent(s);
        return true;
    }
    switch (s->type) {
    case FIELD_BOOL:
        if ((takes = span_is(text, "true") || span_is(text, "false")))
            slot_set_bool(s, text.p[0] == 't');
        break;
    case FIELD_I64:
        if ((takes = num_i64(text, &whole) && whole != ABSENT_I64 && field_takes_i64(f, whole)))
            slot_set_i64(s, whole);
        break;
    case FIELD_F64:
        if ((takes = num_f64(text, &real) && field_takes_f64(f, real)))
            slot_set_f64(s, real);
        break;
    case FIELD_ENUM:
        if ((takes = name_index(f->names, text) >= 0))
            slot_set_enum(s, name_index(f->names, text));
        break;
    case FIELD_TEXT:
        if (!parse_text(&copy, text, at, p))
            return false;
        slot_set_text(s, copy);
        return true;
    case FIELD_HEX:
    case FIELD_QUANTITY:
    case FIELD_OBJECT:
    case FIELD_LIST:
    case FIELD_MAP:
        break;
    }
    return takes || problem_wrong_value(f, s->type, text, at, p);
}

void *list_push(struct arena *a, void **items, size_t *count, size_t item_size)
{
    must(item_size > 0);
    /* Full at each power of two from 8 on: then twice the room. */
    if (*count == 0 || (*count >= 8 && (*count & (*count - 1)) == 0)) {
        void *grown = arena_array(a, *count ? *count * 2 : 8, item_size);
        if (*count)
            memcpy(grown, *items, *count * item_size);
        *items = grown;
    }
    return (char *)*items + (*count)++ * item_size;
}

bool parse_words(struct span text, const char ***ret_words, size_t *ret_count, const struct spot *at,
                 struct problems *p)
{
    must(ret_words && ret_count);
    char quote = words_split(text, p->arena, ret_words, ret_count);
    if (quote)
        problems_add_at(p, SPOT_ARG(at), "A %c quote is not closed. Close it, or write a list with one word per item.",
                        quote);
    return !quote;
}
