#include "text/canonical.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/num.h"
#include "text/json.h"

void canonical_put_string(struct buf *out, struct span text)
{
    static const char names[32] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    buf_byte(out, '"');
    for (size_t i = 0, from = 0; from < text.n; from = ++i) {
        while (i < text.n && (unsigned char)text.p[i] >= ' ' && text.p[i] != '"' && text.p[i] != '\\')
            i++;
        buf_add(out, text.p + from, i - from);
        if (i == text.n)
            break;
        unsigned char c = (unsigned char)text.p[i];
        if (c < ' ' && !names[c])
            buf_fmt(out, "\\u%04x", c);
        else
            buf_fmt(out, "\\%c", c < ' ' ? names[c] : c);
    }
    buf_byte(out, '"');
}

void canonical_put_f64(struct buf *out, double value)
{
    assert(isfinite(value));
    /* 2^63 and above are not 64-bit integers, and what is below is exact. */
    if (value == floor(value) && value >= -0x1p63 && value < 0x1p63)
        buf_i64(out, (int64_t)value);
    else
        num_put_f64(out, value);
}

static void put_plain_number(struct buf *out, const struct json *j)
{
    int64_t integer;
    double value;
    if (json_i64(j, &integer))
        buf_i64(out, integer);
    else if (json_f64(j, &value))
        canonical_put_f64(out, value);
    else
        buf_add(out, j->raw.p, j->raw.n);
}

static bool put_canonical(struct buf *out, struct json *j);

/* A member in `bytes`: its name, decoded, then its value in its canonical spelling. */
struct member {
    size_t at, name_n, value_n, order;
    const struct buf *bytes;
};

static struct span member_name(const struct member *m)
{
    return (struct span){m->bytes->p + m->at, m->name_n};
}

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    struct span p = member_name(x), q = member_name(y);
    size_t n = p.n < q.n ? p.n : q.n;
    int c = n ? memcmp(p.p, q.p, n) : 0;
    if (c)
        return c;
    if (p.n != q.n)
        return p.n < q.n ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static bool read_member(struct json *j, struct buf *bytes, struct member *ret)
{
    struct member m = {.at = bytes->n, .bytes = bytes};
    struct buf name = {0};
    json_text(j, &name);
    buf_add(bytes, name.p, name.n);
    m.name_n = name.n;
    buf_done(&name);
    bool good = json_next(j) != JSON_ERROR && put_canonical(bytes, j);
    m.value_n = bytes->n - m.at - m.name_n;
    *ret = m;
    return good;
}

static void put_members(struct buf *out, struct member *members, size_t count)
{
    if (count)
        qsort(members, count, sizeof *members, compare_members);
    buf_byte(out, '{');
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        struct span name = member_name(&members[i]);
        bool again = i + 1 < count && members[i + 1].name_n == name.n &&
                     (name.n == 0 || memcmp(member_name(&members[i + 1]).p, name.p, name.n) == 0);
        if (again)
            continue;
        if (!first)
            buf_byte(out, ',');
        first = false;
        canonical_put_string(out, name);
        buf_byte(out, ':');
        buf_add(out, name.p + name.n, members[i].value_n);
    }
    buf_byte(out, '}');
}

static bool put_object(struct buf *out, struct json *j)
{
    struct buf bytes = {0};
    struct member *members = NULL;
    size_t count = 0, capacity = 0;
    bool good = true;
    while (good && json_next(j) == JSON_KEY) {
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 8;
            members = mem_grow(members, capacity, sizeof *members);
        }
        good = read_member(j, &bytes, &members[count]);
        members[count].order = count;
        count++;
    }
    good = good && j->kind == JSON_OBJECT_END;
    if (good)
        put_members(out, members, count);
    free(members);
    buf_done(&bytes);
    return good;
}

static bool put_array(struct buf *out, struct json *j)
{
    buf_byte(out, '[');
    for (bool first = true; json_next(j) != JSON_ARRAY_END; first = false) {
        if (!first)
            buf_byte(out, ',');
        if (j->kind == JSON_ERROR || !put_canonical(out, j))
            return false;
    }
    buf_byte(out, ']');
    return true;
}

/* The value whose first token was just read. */
static bool put_canonical(struct buf *out, struct json *j)
{
    switch (j->kind) {
    case JSON_OBJECT:
        return put_object(out, j);
    case JSON_ARRAY:
        return put_array(out, j);
    case JSON_STRING: {
        struct buf text = {0};
        json_text(j, &text);
        canonical_put_string(out, buf_span(&text));
        buf_done(&text);
        return true;
    }
    case JSON_NUMBER:
        put_plain_number(out, j);
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        buf_str(out, j->kind == JSON_TRUE ? "true" : "false");
        return true;
    case JSON_NULL:
        buf_str(out, "null");
        return true;
    case JSON_ARRAY_END:
    case JSON_END:
    case JSON_ERROR:
    case JSON_KEY:
    case JSON_OBJECT_END:
    default:
        return false;
    }
}

bool canonical_put(struct buf *out, struct span json)
{
    struct json j;
    size_t before = out->n;
    json_init(&j, json);
    bool good = json_next(&j) != JSON_ERROR && put_canonical(out, &j) && json_next(&j) == JSON_END;
    if (!good)
        out->n = before;
    return good;
}
