#include "schema/set.h"
#include <math.h>
#include <stdint.h>
#include "base/buf.h"
#include "schema/parse.h"

enum { DISTANCE_MAX = 128 };

size_t edit_distance(struct span a, struct span b)
{
    size_t rows[3][DISTANCE_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];

    if (a.n >= DISTANCE_MAX || b.n >= DISTANCE_MAX)
        return a.n > b.n ? a.n : b.n;
    for (size_t j = 0; j <= b.n; j++)
        last[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t best = last[j - 1] + (a.p[i - 1] != b.p[j - 1]);

            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[b.n];
}

const struct field *schema_find(const struct schema *s, struct span key)
{
    for (const struct field *f = s->fields; f < s->fields + s->count; f++)
        if (span_is(key, f->key))
            return f;
    return NULL;
}

const struct field *schema_nearest(const struct schema *s, struct span key)
{
    const struct field *nearest = NULL;
    size_t limit = key.n < 4 ? 1 : key.n / 3 + 1;

    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        size_t d = edit_distance(key, span_of(f->key));

        if (d <= limit && d < strlen(f->key)) {
            nearest = f;
            limit = d ? d - 1 : 0;
        }
    }
    return nearest;
}

/* The path of a field with exactly this key anywhere below, appended to b. */
static bool find_below(const struct schema *s, struct span key, struct buf *b)
{
    size_t n = b->n;

    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        b->n = n;
        if (n)
            buf_byte(b, '.');
        buf_str(b, f->key);
        if (span_is(key, f->key) || (f->type == FIELD_OBJECT && find_below(f->sub, key, b)))
            return true;
    }
    b->n = n;
    return false;
}

void typing_unknown(const struct schema *root, const struct schema *here, struct span key, const struct spot *at,
                    struct problems *p)
{
    const struct field *near = schema_nearest(here, key);
    struct buf text = {0}, elsewhere = {0};

    buf_str(&text, "there is no such key; ");
    if (find_below(root, key, &elsewhere)) {
        buf_fmt(&text, "%.*s stands at %s; ", SPAN_ARG(key), buf_text(&elsewhere));
    } else if (near) {
        size_t above = strlen(at->path) - key.n;

        buf_fmt(&text, "the nearest is %.*s%s; ", (int)above, at->path, near->key);
    }
    buf_str(&text, "allowed here: ");
    for (size_t i = 0; i < here->count; i++)
        if (!(here->fields[i].flags & FIELD_RESOLVED))
            buf_fmt(&text, "%s%s", i ? ", " : "", here->fields[i].key);
    problems_add_at(p, SPOT_ARG(at), "%s", buf_text(&text));
    buf_done(&text);
    buf_done(&elsewhere);
}

void typing_allowed(const struct field *f, enum field_type type, struct buf *b)
{
    switch (type) {
    case FIELD_BOOL:
        buf_str(b, "true or false");
        break;
    case FIELD_I64:
    case FIELD_F64:
        buf_str(b, type == FIELD_I64 ? "a whole number" : "a number");
        if (f->min < f->max) {
            buf_str(b, " from ");
            num_put_f64(b, f->min);
            buf_str(b, " to ");
            num_put_f64(b, f->max);
        }
        if (f->unit)
            buf_fmt(b, " (%s)", f->unit);
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
        for (size_t i = 0; i < f->sub->count; i++)
            if (!(f->sub->fields[i].flags & FIELD_RESOLVED))
                buf_fmt(b, "%s%s", i ? ", " : "", f->sub->fields[i].key);
        break;
    case FIELD_LIST:
        buf_str(b, f->item == FIELD_TEXT ? "a list of texts, or one text that is split into words" : "a list");
        break;
    case FIELD_MAP:
        buf_str(b, "names with texts");
        break;
    case FIELD_QUANTITY:
        buf_str(b, "a quantity");
        break;
    }
}

static bool wrong(const struct field *f, enum field_type type, struct span text, const struct spot *at,
                  struct problems *p)
{
    struct buf allowed = {0};
    bool hide = f->flags & FIELD_SECRET_VALUES;

    typing_allowed(f, type, &allowed);
    problems_add_at(p, SPOT_ARG(at), "'%.*s%s' is not allowed here; allowed: %s",
                    hide ? 0 : (int)(text.n > 80 ? 80 : text.n), text.p ? text.p : "", hide || text.n > 80 ? "..." : "",
                    buf_text(&allowed));
    buf_done(&allowed);
    return false;
}

static bool in_range(const struct field *f, double value)
{
    return !(f->min < f->max) || (value >= f->min && value <= f->max);
}

static bool scalar_absent(const struct field *f, enum field_type type, void *value, const struct spot *at,
                          struct problems *p)
{
    switch (type) {
    case FIELD_TEXT:
        *(const char **)value = NULL;
        return true;
    case FIELD_I64:
        *(int64_t *)value = ABSENT_I64;
        return true;
    case FIELD_F64:
        *(double *)value = NAN;
        return true;
    case FIELD_BOOL:
    case FIELD_ENUM:
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_OBJECT:
    case FIELD_QUANTITY:
    default:
        return wrong(f, type, (struct span){"null", 4}, at, p);
    }
}

bool typing_scalar(const struct field *f, enum field_type type, void *value, struct span text, bool plain,
                   const struct spot *at, struct problems *p)
{
    int64_t integer;
    double real;
    int index;

    if (plain && (text.n == 0 || span_is(text, "null") || span_is(text, "~")))
        return scalar_absent(f, type, value, at, p);
    switch (type) {
    case FIELD_BOOL:
        if (!span_is(text, "true") && !span_is(text, "false"))
            return wrong(f, type, text, at, p);
        *(bool *)value = text.p[0] == 't';
        return true;
    case FIELD_I64:
        if (!num_i64(text, &integer) || integer == ABSENT_I64 || !in_range(f, (double)integer))
            return wrong(f, type, text, at, p);
        *(int64_t *)value = integer;
        return true;
    case FIELD_F64:
        if (!num_f64(text, &real) || !in_range(f, real))
            return wrong(f, type, text, at, p);
        *(double *)value = real;
        return true;
    case FIELD_TEXT:
        if (memchr(text.p ? text.p : "", 0, text.n)) {
            problems_add_at(p, SPOT_ARG(at), "the text holds a zero byte, which nothing it is for can take");
            return false;
        }
        *(const char **)value = arena_copy(p->arena, text.p, text.n);
        return true;
    case FIELD_ENUM:
        index = name_index(f->names, text);
        if (index < 0)
            return wrong(f, type, text, at, p);
        *(int *)value = index;
        return true;
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_OBJECT:
    case FIELD_QUANTITY:
    default:
        return wrong(f, type, text, at, p);
    }
}

void *typing_push(struct arena *a, void **items, size_t *count, size_t item_size)
{
    /* Full at each power of two from 8 on: then twice the room. */
    if (*count == 0 || (*count >= 8 && (*count & (*count - 1)) == 0)) {
        void *grown = arena_array(a, *count ? *count * 2 : 8, item_size);

        if (*count)
            memcpy(grown, *items, *count * item_size);
        *items = grown;
    }
    return (char *)*items + (*count)++ * item_size;
}

bool typing_words(struct span text, const char ***ret_words, size_t *ret_count, const struct spot *at,
                  struct problems *p)
{
    struct buf word = {0};
    void *words = NULL;
    size_t count = 0;
    char quote = 0;
    bool inside = false;

    for (size_t i = 0; i <= text.n; i++) {
        char c = i < text.n ? text.p[i] : ' ';

        if (i == text.n && quote)
            break;
        if (quote ? c == quote : (c == '\'' || c == '"')) {
            quote = quote ? 0 : c;
            inside = true;
        } else if (c == '\\' && quote != '\'' && i + 1 < text.n &&
                   (!quote || text.p[i + 1] == '"' || text.p[i + 1] == '\\')) {
            buf_byte(&word, text.p[++i]);
            inside = true;
        } else if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
            if (inside)
                *(const char **)typing_push(p->arena, &words, &count, sizeof(char *)) =
                    arena_copy(p->arena, word.p, word.n);
            buf_clear(&word);
            inside = false;
        } else {
            buf_byte(&word, c);
            inside = true;
        }
    }
    buf_done(&word);
    if (quote) {
        problems_add_at(p, SPOT_ARG(at), "a %c quote is not closed; close it, or write a list, one word an item",
                        quote);
        return false;
    }
    *ret_words = (const char **)words;
    *ret_count = count;
    return true;
}

static bool set_map_entry(const struct field *f, void *object, struct span name, struct span value,
                          const struct spot *at, struct problems *p)
{
    struct field_pair **items = (struct field_pair **)((char *)object + f->offset), *pair = NULL;
    size_t *count = (size_t *)((char *)object + f->count_offset);
    const struct field text = {.key = f->key, .type = FIELD_TEXT, .flags = f->flags};
    const char *typed;

    if (!typing_scalar(&text, FIELD_TEXT, &typed, value, false, at, p))
        return false;
    /* A fresh list: the old one may be a constant of the defaults. */
    struct field_pair *list = arena_array(p->arena, *count + 1, sizeof *list);

    for (size_t i = 0; i < *count; i++) {
        list[i] = (*items)[i];
        if (span_is(name, list[i].name))
            pair = &list[i];
    }
    if (!pair) {
        pair = &list[(*count)++];
        pair->name = arena_copy(p->arena, name.p, name.n);
    }
    pair->value = typed;
    *items = list;
    return true;
}

static bool set_list(const struct field *f, void *object, struct span value, const struct spot *at, struct problems *p)
{
    const char **words;
    size_t count;

    if (f->item != FIELD_TEXT)
        return wrong(f, f->type, value, at, p);
    if (!typing_words(value, &words, &count, at, p))
        return false;
    *(const char ***)((char *)object + f->offset) = words;
    *(size_t *)((char *)object + f->count_offset) = count;
    return true;
}

static bool set_field(const struct schema *root, const struct field *f, void *object, struct span value,
                      const struct spot *at, struct problems *p)
{
    bool flow = value.n && (value.p[0] == '[' || value.p[0] == '{');

    if (f->flags & FIELD_RESOLVED) {
        problems_add_at(p, SPOT_ARG(at), "jtok fills this in itself; leave it out");
        return false;
    }
    if (f->type == FIELD_OBJECT || f->type == FIELD_MAP) {
        if (flow)
            return yaml_read_value(root, f, object, at, value, p);
        return wrong(f, f->type, value, at, p);
    }
    if (f->type == FIELD_LIST)
        return flow ? yaml_read_value(root, f, object, at, value, p) : set_list(f, object, value, at, p);
    return typing_scalar(f, f->type, (char *)object + f->offset, value, value.n > 0, at, p);
}

bool schema_set(const struct schema *s, void *object, const char *source, size_t column, struct span key_path,
                struct span value, struct problems *p)
{
    const struct schema *here = s;
    struct span rest = key_path;
    size_t count_before = p->count;

    for (;;) {
        const char *dot = rest.n ? memchr(rest.p, '.', rest.n) : NULL;
        struct span key = {rest.p, dot ? (size_t)(dot - rest.p) : rest.n};
        const struct field *f = schema_find(here, key);
        size_t path_length = (size_t)(key.p - key_path.p) + key.n;
        const struct spot at = {source, 0, column + (size_t)(key.p - key_path.p),
                                arena_copy(p->arena, key_path.p, path_length)};
        const struct spot whole = {source, 0, column, arena_copy(p->arena, key_path.p, key_path.n)};

        if (!f) {
            typing_unknown(s, here, key, &at, p);
            return false;
        }
        if (!dot) {
            problems_place(p, source, 0, column, whole.path);
            return set_field(s, f, object, value, &whole, p) && p->count == count_before;
        }
        rest.p += key.n + 1;
        rest.n -= key.n + 1;
        if (f->type == FIELD_MAP) {
            problems_place(p, source, 0, column, whole.path);
            return set_map_entry(f, object, rest, value, &whole, p);
        }
        if (f->type != FIELD_OBJECT) {
            problems_add_at(p, SPOT_ARG(&at), "this key has no keys below it; set it as a whole");
            return false;
        }
        object = (char *)object + f->offset;
        here = f->sub;
    }
}

bool schema_set_argument(const struct schema *s, void *object, const char *argument, struct problems *p)
{
    const char *equals = strchr(argument, '=');

    if (!equals || equals == argument) {
        problems_add_at(p, arena_format(p->arena, "--set %.60s", argument), 0, 0, NULL,
                        "expected KEY=VALUE, for example --set requests.count=100");
        return false;
    }
    /* The value may be a secret, so the place shows the key alone. */
    const char *source = arena_format(p->arena, "--set %.*s", (int)(equals - argument), argument);

    return schema_set(s, object, source, 1, (struct span){argument, (size_t)(equals - argument)}, span_of(equals + 1),
                      p);
}

static bool is_absent(const struct field *f, const void *object)
{
    const void *at = (const char *)object + f->offset;

    switch (f->type) {
    case FIELD_TEXT:
        return !*(const char *const *)at;
    case FIELD_I64:
        return *(const int64_t *)at == ABSENT_I64;
    case FIELD_F64:
        return isnan(*(const double *)at);
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

static void check_required(const struct schema *s, const void *object, struct buf *path, struct problems *p)
{
    size_t n = path->n;

    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        path->n = n;
        if (n)
            buf_byte(path, '.');
        buf_str(path, f->key);
        if (f->type == FIELD_OBJECT)
            check_required(f->sub, (const char *)object + f->offset, path, p);
        else if ((f->flags & FIELD_REQUIRED) && is_absent(f, object))
            problems_add(p, buf_text(path), "is missing: %s", f->doc);
    }
    path->n = n;
}

void schema_check_required(const struct schema *s, const void *object, struct problems *p)
{
    struct buf path = {0};

    check_required(s, object, &path, p);
    buf_done(&path);
}
