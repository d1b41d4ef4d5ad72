#include <assert.h>
#include <math.h>
#include "base/num.h"
#include "base/utf8.h"
#include "text/json.h"

void json_writer_init(struct json_writer *w, struct buf *out, int indent)
{
    *w = (struct json_writer){.out = out, .indent = indent};
}

static uint64_t level_bit(const struct json_writer *w)
{
    assert(w->depth > 0);
    return UINT64_C(1) << (w->depth - 1);
}

static void line_break(struct json_writer *w)
{
    if (w->indent == 0)
        return;
    buf_byte(w->out, '\n');
    for (int i = 0; i < w->depth * w->indent; i++)
        buf_byte(w->out, ' ');
}

static void next_member(struct json_writer *w)
{
    if (w->nonempty & level_bit(w))
        buf_byte(w->out, ',');
    w->nonempty |= level_bit(w);
    line_break(w);
}

static void before_value(struct json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
    } else if (w->depth) {
        assert(!(w->is_object & level_bit(w)) && "a value where a key belongs");
        next_member(w);
    } else {
        assert(!w->complete && "a second outermost value");
    }
    w->complete = true;
}

static void write_open(struct json_writer *w, bool object)
{
    before_value(w);
    assert(w->depth < JSON_DEPTH_MAX);
    buf_byte(w->out, object ? '{' : '[');
    w->depth++;
    w->nonempty &= ~level_bit(w);
    w->is_object = object ? w->is_object | level_bit(w) : w->is_object & ~level_bit(w);
}

static void write_close(struct json_writer *w, bool object)
{
    assert(!w->after_key && "a key without its value");
    assert(!!(w->is_object & level_bit(w)) == object);
    bool nonempty = w->nonempty & level_bit(w);
    w->depth--;
    if (nonempty)
        line_break(w);
    buf_byte(w->out, object ? '}' : ']');
}

void json_put_object(struct json_writer *w)
{
    write_open(w, true);
}

void json_put_object_end(struct json_writer *w)
{
    write_close(w, true);
}

void json_put_array(struct json_writer *w)
{
    write_open(w, false);
}

void json_put_array_end(struct json_writer *w)
{
    write_close(w, false);
}

static void put_control(struct buf *b, unsigned char c)
{
    static const char names[32] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    if (names[c]) {
        buf_byte(b, '\\');
        buf_byte(b, names[c]);
    } else {
        buf_fmt(b, "\\u%04x", c);
    }
}

/* Characters that a reader's terminal could obey, or that it would not show: the same text, harmless where it is shown.
 */
static void put_escape_code(struct buf *b, uint32_t code)
{
    if (code > 0xffff)
        buf_fmt(b, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    else
        buf_fmt(b, "\\u%04x", code);
}

static void put_string(struct buf *b, struct span text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    buf_byte(b, '"');
    for (size_t i = 0, from = 0; from < text.n; from = i) {
        while (i < text.n && p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\')
            i++;
        buf_add(b, p + from, i - from);
        if (i == text.n)
            break;
        if (p[i] < 0x20) {
            put_control(b, p[i++]);
        } else if (p[i] < 0x7f) {
            buf_byte(b, '\\');
            buf_byte(b, (char)p[i++]);
        } else {
            size_t n;
            uint32_t code = utf8_first((struct span){text.p + i, text.n - i}, &n);
            if (code == UTF8_ILL_FORMED)
                buf_str(b, "\xef\xbf\xbd");
            else if (utf8_is_unsafe(code))
                put_escape_code(b, code);
            else
                buf_add(b, p + i, n);
            i += n;
        }
    }
    buf_byte(b, '"');
}

void json_show(struct buf *out, struct span document)
{
    for (size_t n; document.n; document.p += n, document.n -= n) {
        uint32_t code = utf8_first(document, &n);
        bool space = code == '\n' || code == '\r' || code == '\t'; /* between values: no string holds them */
        if (code == UTF8_ILL_FORMED)
            buf_str(out, "\xef\xbf\xbd");
        else if (utf8_is_unsafe(code) && !space)
            put_escape_code(out, code);
        else
            buf_add(out, document.p, n);
    }
}

void json_put_key(struct json_writer *w, const char *key)
{
    assert(!w->after_key && "a key where a value belongs");
    assert(w->is_object & level_bit(w));
    next_member(w);
    put_string(w->out, span_of(key));
    buf_str(w->out, w->indent ? ": " : ":");
    w->after_key = true;
}

void json_put_string(struct json_writer *w, struct span text)
{
    before_value(w);
    put_string(w->out, text);
}

void json_put_text(struct json_writer *w, const char *text)
{
    if (text)
        json_put_string(w, span_of(text));
    else
        json_put_null(w);
}

void json_put_i64(struct json_writer *w, int64_t value)
{
    before_value(w);
    buf_i64(w->out, value);
}

void json_put_f64(struct json_writer *w, double value)
{
    assert(!isinf(value));
    before_value(w);
    if (isnan(value))
        buf_str(w->out, "null");
    else
        num_put_f64(w->out, value);
}

void json_put_bool(struct json_writer *w, bool value)
{
    before_value(w);
    buf_str(w->out, value ? "true" : "false");
}

void json_put_null(struct json_writer *w)
{
    before_value(w);
    buf_str(w->out, "null");
}

void json_put_raw(struct json_writer *w, struct span json)
{
    before_value(w);
    buf_add(w->out, json.p, json.n);
}
