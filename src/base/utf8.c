#include "base/utf8.h"

#include <assert.h>

static const uint32_t replacement = 0xfffd;

uint32_t utf8_first(struct span s, size_t *ret_bytes)
{
    assert(s.n > 0);
    const unsigned char *p = (const unsigned char *)s.p;
    *ret_bytes = 1;
    if (p[0] < 0x80)
        return p[0];
    size_t length = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (length == 0)
        return UTF8_ILL_FORMED;
    /* The second byte's range keeps out over-long forms, surrogates and what lies above U+10FFFF. */
    unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    uint32_t code = p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (i >= s.n || p[i] < low || p[i] > high)
            return UTF8_ILL_FORMED;
        code = code << 6 | (p[i] & 0x3f);
        *ret_bytes = i + 1;
        low = 0x80;
        high = 0xbf;
    }
    return code;
}

/* Do zero bytes stand at just those places that the first characters of a text, all of them ASCII, leave empty? */
static bool has_zeros(struct span text, size_t width, size_t filled)
{
    enum { CHARACTERS = 16 };
    size_t n = text.n < CHARACTERS * width ? text.n - text.n % width : CHARACTERS * width;
    for (size_t i = 0; i < n; i++)
        if ((text.p[i] != 0) != (i % width == filled))
            return false;
    return n >= 2 * width;
}

const char *utf8_other_encoding(struct span text)
{
    static const struct {
        const char *name;
        size_t width, filled, mark_bytes;
        char mark[4];
    } encodings[] = {
        /* UTF-32 first: its little-endian mark begins as that of UTF-16. */
        {"UTF-32LE", 4, 0, 4, {'\xff', '\xfe', 0, 0}},
        {"UTF-32BE", 4, 3, 4, {0, 0, '\xfe', '\xff'}},
        {"UTF-16LE", 2, 0, 2, {'\xff', '\xfe'}},
        {"UTF-16BE", 2, 1, 2, {'\xfe', '\xff'}},
    };
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++)
        if ((text.n >= encodings[i].mark_bytes && memcmp(text.p, encodings[i].mark, encodings[i].mark_bytes) == 0) ||
            has_zeros(text, encodings[i].width, encodings[i].filled))
            return encodings[i].name;
    return NULL;
}

struct span utf8_without_mark(struct span text)
{
    return span_starts(text, "\xef\xbb\xbf") ? (struct span){text.p + 3, text.n - 3} : text;
}

size_t utf8_valid(struct span s)
{
    size_t at = 0;
    for (size_t n; at < s.n; at += n)
        if (utf8_first((struct span){s.p + at, s.n - at}, &n) == UTF8_ILL_FORMED)
            break;
    return at;
}

size_t utf8_encode(uint32_t code, char ret_bytes[4])
{
    assert(code <= 0x10ffff);
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        ret_bytes[i] = (char)(0x80 | (code & 0x3f));
    ret_bytes[0] = (char)(n == 1 ? code : lead[n] | code);
    return n;
}

void utf8_put(struct buf *b, uint32_t code)
{
    char bytes[4];
    buf_add(b, bytes, utf8_encode(code, bytes));
}

static bool shown_as_space(uint32_t code)
{
    return code < ' ' || code == 0x7f || code == 0x85 || code == 0x2028 || code == 0x2029;
}

bool utf8_is_unsafe(uint32_t code)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},
        {0x2060, 0x206f}, {0xd800, 0xdfff}, {0xfdd0, 0xfdef}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };
    if (code >= ' ' && code < 0x7f)
        return false;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i].from && code <= ranges[i].to)
            return true;
    return (code & 0xfffe) == 0xfffe || code > 0x10ffff;
}

/* The character in front of `rest`, as it is shown; takes it off. */
static uint32_t next_shown(struct span *rest, bool lines)
{
    size_t n;
    uint32_t code = utf8_first(*rest, &n);
    rest->p += n;
    rest->n -= n;
    if (code == '\n' && lines)
        return code;
    if (shown_as_space(code))
        return ' ';
    return utf8_is_unsafe(code) ? replacement : code;
}

void utf8_ascii(struct span text, char *ret_text, size_t size)
{
    size_t n = text.n < size - 1 ? text.n : size - 1;
    for (size_t i = 0; i < n; i++)
        ret_text[i] = text.p[i] >= ' ' && text.p[i] <= '~' ? text.p[i] : '?';
    ret_text[n] = 0;
}

void utf8_show(struct buf *b, struct span text, bool lines)
{
    while (text.n)
        utf8_put(b, next_shown(&text, lines));
}

/* Bytes in front of the first that would be changed. */
static size_t fit(struct span text, bool lines)
{
    struct span rest = text;
    while (rest.n) {
        struct span at = rest;
        size_t n;
        uint32_t code = utf8_first(at, &n);
        if (next_shown(&rest, lines) != code)
            return (size_t)(at.p - text.p);
    }
    return text.n;
}

void utf8_show_from(struct buf *b, size_t from, bool lines)
{
    struct span text = {b->p + from, b->n - from};
    size_t kept = fit(text, lines);
    if (kept == text.n)
        return;
    struct buf shown = {0};
    utf8_show(&shown, (struct span){text.p + kept, text.n - kept}, lines);
    b->n = from + kept;
    buf_add(b, shown.p, shown.n);
    buf_done(&shown);
}

const char *utf8_line(struct arena *a, const char *text)
{
    if (!text || fit(span_of(text), false) == strlen(text))
        return text;
    struct buf b = {0};
    utf8_show(&b, span_of(text), false);
    const char *line = arena_text(a, buf_text(&b));
    buf_done(&b);
    return line;
}
