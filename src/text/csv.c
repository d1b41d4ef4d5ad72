#include "text/csv.h"

#include <assert.h>
#include "base/num.h"
#include "base/utf8.h"

void csv_put(struct buf *b, struct span field, char separator)
{
    assert(separator == ',' || separator == '\n');
    bool plain = true;
    for (size_t i = 0; i < field.n && plain; i++)
        plain = field.p[i] != ',' && field.p[i] != '"' && field.p[i] != '\n' && field.p[i] != '\r';
    if (plain) {
        buf_add(b, field.p, field.n);
    } else {
        buf_byte(b, '"');
        for (size_t i = 0; i < field.n; i++) {
            if (field.p[i] == '"')
                buf_byte(b, '"');
            buf_byte(b, field.p[i]);
        }
        buf_byte(b, '"');
    }
    buf_byte(b, separator);
}

/* Would a spreadsheet compute this cell? */
static bool is_formula(struct span cell)
{
    static const char *const openings[] = {"=",           "+", "-", "@", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
                                           "\xef\xbc\xa0"};
    struct span text = span_trim(cell), number = text;
    double ignored;
    if (span_starts(number, "+"))
        number = (struct span){number.p + 1, number.n - 1};
    if (num_f64(number, &ignored))
        return false;
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++)
        if (span_starts(text, openings[i]))
            return true;
    return false;
}

void csv_put_shown(struct buf *b, struct span field, char separator)
{
    struct buf shown = {0};
    utf8_show(&shown, field, false);
    struct buf cell = {0};
    if (is_formula(buf_span(&shown)))
        buf_byte(&cell, '\'');
    buf_add(&cell, shown.p, shown.n);
    csv_put(b, buf_span(&cell), separator);
    buf_done(&cell);
    buf_done(&shown);
}

void csv_init(struct csv *c, struct span text)
{
    *c = (struct csv){.rest = text};
}

/* The separator that ends the field at p, or end. */
static const char *field_end(const char *p, const char *end)
{
    if (p == end || *p != '"') {
        while (p < end && *p != ',' && *p != '\n')
            p++;
        return p;
    }
    /* Each quote turns quoting on or off; a doubled one does both and so changes nothing. */
    for (bool inside = false; p < end; p++) {
        if (*p == '"')
            inside = !inside;
        else if (!inside && (*p == ',' || *p == '\n'))
            break;
    }
    return p;
}

size_t csv_next(struct csv *c, struct span *ret_fields, size_t max)
{
    assert(max > 0);
    const char *p = c->rest.p, *end = p + c->rest.n;
    if (c->rest.n == 0)
        return 0;
    bool quoted = false;
    size_t n = 0;
    for (;; n++) {
        const char *stop = field_end(p, end);
        if (stop == end) {
            c->cut = true;
            c->rest = (struct span){end, 0};
            return 0;
        }
        quoted |= *p == '"';
        if (n < max)
            ret_fields[n] = (struct span){p, (size_t)(stop - p)};
        p = stop + 1;
        if (*stop == '\n')
            break;
    }
    c->quoted = quoted;
    c->line++;
    c->rest = (struct span){p, (size_t)(end - p)};
    return n < max ? n + 1 : max + 1;
}

void csv_unquote(struct span field, struct buf *b)
{
    assert(field.p || field.n == 0);
    if (field.n == 0 || field.p[0] != '"') {
        buf_add(b, field.p, field.n);
        return;
    }
    bool after_quote = false;
    for (size_t i = 1; i < field.n; i++) {
        bool quote = field.p[i] == '"' && !after_quote;
        if (!quote)
            buf_byte(b, field.p[i]);
        after_quote = quote;
    }
}
