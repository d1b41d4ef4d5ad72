#include "report/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void table_init(struct table *t, struct arena *a, const char *align)
{
    *t = (struct table){.arena = a, .columns = strlen(align)};
    memcpy(t->align, align, t->columns + 1);
}

void table_cell(struct table *t, const char *text)
{
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 64;
        const char **cells = arena_array(t->arena, capacity, sizeof *cells);
        if (t->count)
            memcpy(cells, t->cells, t->count * sizeof *cells);
        t->cells = cells;
        t->capacity = capacity;
    }
    t->cells[t->count++] = text;
}

void table_fmt(struct table *t, const char *format, ...)
{
    char text[500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    table_cell(t, arena_text(t->arena, text));
}

void table_end_row(struct table *t)
{
    while (t->count % t->columns)
        table_cell(t, "");
}

size_t text_columns(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void put_spaces(struct buf *out, size_t n)
{
    buf_fmt(out, "%*s", (int)n, "");
}

static void put_row(const struct table *t, const char *const *row, const size_t *width, struct buf *out)
{
    size_t last = t->columns;
    while (last && !*row[last - 1])
        last--;
    for (size_t c = 0; c < last; c++) {
        size_t pad = width[c] - text_columns(row[c]);
        if (t->align[c] == 'r')
            put_spaces(out, pad);
        buf_str(out, row[c]);
        if (c + 1 < last)
            put_spaces(out, 2 + (t->align[c] == 'r' ? 0 : pad));
    }
}

void table_put(const struct table *t, struct buf *out, size_t indent)
{
    size_t width[TABLE_COLUMNS_MAX] = {0};
    for (size_t i = 0; i < t->count; i++) {
        size_t n = text_columns(t->cells[i]);
        if (n > width[i % t->columns])
            width[i % t->columns] = n;
    }
    for (size_t i = 0; i + t->columns <= t->count; i += t->columns) {
        put_spaces(out, indent);
        put_row(t, t->cells + i, width, out);
        buf_byte(out, '\n');
    }
}

void text_wrap(struct buf *out, const char *text, size_t at, size_t indent, size_t columns)
{
    bool first = true;
    while (*text) {
        size_t n = strcspn(text, " ");
        size_t width = 0;
        for (size_t i = 0; i < n; i++)
            width += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (!first && at + 1 + width > columns) {
            buf_byte(out, '\n');
            put_spaces(out, indent);
            at = indent;
        } else if (!first) {
            buf_byte(out, ' ');
            at++;
        }
        first = false;
        buf_add(out, text, n);
        at += width;
        text += n;
        text += strspn(text, " ");
    }
    buf_byte(out, '\n');
}
