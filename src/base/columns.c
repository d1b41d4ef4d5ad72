#include "base/columns.h"

#include <string.h>
#include "base/must.h"
#include "base/utf8.h"

struct range {
    uint32_t first, last;
    unsigned columns;
};

/* In order. Blocks in which some characters are wide count as wide; marks that are not here count as letters. */
static const struct range ranges[] = {
    {0x0300, 0x036f, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05bd, 0},   {0x064b, 0x065f, 0},   {0x1100, 0x11ff, 2},
    {0x1ab0, 0x1ace, 0},   {0x1dc0, 0x1dff, 0},   {0x200c, 0x200d, 0},   {0x20d0, 0x20f0, 0},   {0x231a, 0x231b, 2},
    {0x2329, 0x232a, 2},   {0x23e9, 0x23f3, 2},   {0x25fd, 0x25fe, 2},   {0x2600, 0x27bf, 2},   {0x2b1b, 0x2b55, 2},
    {0x2e80, 0xa4cf, 2},   {0xa960, 0xa97c, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0e, 0},
    {0xfe10, 0xfe19, 2},   {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
    {0x16fe0, 0x1b2ff, 2}, {0x1d300, 0x1d376, 2}, {0x1f000, 0x1fbff, 2}, {0x20000, 0x3fffd, 2}, {0xe0100, 0xe01ef, 0},
};

size_t columns_of(uint32_t code)
{
    size_t from = 0, to = sizeof ranges / sizeof *ranges;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (code > ranges[middle].last)
            from = middle + 1;
        else if (code < ranges[middle].first)
            to = middle;
        else
            return ranges[middle].columns;
    }
    return 1;
}

size_t columns_fit(struct span text, size_t limit)
{
    size_t at = 0, bytes;
    for (size_t used = 0; at < text.n; at += bytes) {
        used += columns_of(utf8_first((struct span){text.p + at, text.n - at}, &bytes));
        if (used > limit)
            break;
    }
    return at;
}

size_t columns_count(struct span text)
{
    size_t n = 0, bytes;
    for (size_t at = 0; at < text.n; at += bytes)
        n += columns_of(utf8_first((struct span){text.p + at, text.n - at}, &bytes));
    return n;
}

size_t columns_text(const char *text)
{
    return columns_count(span_of(text));
}

const char *columns_cut(struct arena *a, const char *text, size_t limit)
{
    must(limit > 0);
    struct span s = span_of(text);
    if (columns_fit(s, limit) == s.n)
        return text;
    return arena_format(a, "%.*s…", (int)columns_fit(s, limit - 1), text);
}

const char *columns_cut_front(struct arena *a, const char *text, size_t limit)
{
    must(limit > 0);
    struct span s = span_of(text);
    size_t over = columns_count(s), bytes;
    if (over <= limit)
        return text;
    while (over > limit - 1) {
        over -= columns_of(utf8_first(s, &bytes));
        s.p += bytes;
        s.n -= bytes;
    }
    return arena_format(a, "…%.*s", (int)s.n, s.p);
}
