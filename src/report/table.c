#include "report/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/columns.h"
#include "base/must.h"
#include "base/utf8.h"

void table_init(struct table *t, struct arena *a, const char *align)
{
    must(strlen(align) > 0 && strlen(align) <= TABLE_COLUMNS_MAX && strspn(align, "lrd") == strlen(align));
    *t = (struct table){.arena = a, .columns = strlen(align)};
    memcpy(t->align, align, t->columns + 1);
}

void table_cell(struct table *t, const char *text)
{
    must(t->columns > 0 && text);
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 64;
        const char **cells = arena_array(t->arena, capacity, sizeof *cells);
        if (t->count)
            memcpy(cells, t->cells, t->count * sizeof *cells);
        t->cells = cells;
        t->capacity = capacity;
    }
    t->cells[t->count++] = utf8_line(t->arena, text);
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

static void put_spaces(struct buf *out, size_t n)
{
    buf_fmt(out, "%*s", (int)n, "");
}

/* Columns of a cell from its decimal point on, or behind its last digit where it has none ("14 910*" has 1). */
static bool starts_with_number(const char *cell, size_t *ret_fraction)
{
    const char *digits = cell + (*cell == '-' || *cell == '+');
    if (*digits < '0' || *digits > '9')
        return false;
    const char *point = digits + strspn(digits, "0123456789 ");
    while (point > digits && point[-1] == ' ')
        point--;
    *ret_fraction = columns_text(point);
    return true;
}

struct column_width {
    size_t width, fraction; /* widest cell; widest part from the decimal point on */
};

static void measure(const struct table *t, struct column_width *ret_columns)
{
    size_t whole[TABLE_COLUMNS_MAX] = {0};
    for (size_t i = 0; i < t->count; i++) {
        size_t c = i % t->columns, n = columns_text(t->cells[i]), fraction;
        struct column_width *column = &ret_columns[c];
        column->width = n > column->width ? n : column->width;
        if (t->align[c] != 'd' || !starts_with_number(t->cells[i], &fraction))
            continue;
        column->fraction = fraction > column->fraction ? fraction : column->fraction;
        whole[c] = n - fraction > whole[c] ? n - fraction : whole[c];
    }
    for (size_t c = 0; c < t->columns; c++)
        if (whole[c] + ret_columns[c].fraction > ret_columns[c].width)
            ret_columns[c].width = whole[c] + ret_columns[c].fraction;
}

static void put_cells(const struct table *t, const char *const *row, const struct column_width *columns,
                      struct buf *out)
{
    size_t last = t->columns;
    while (last && !*row[last - 1])
        last--;
    for (size_t c = 0; c < last; c++) {
        size_t pad = columns[c].width - columns_text(row[c]), behind = 0, fraction;
        if (t->align[c] == 'l')
            behind = pad;
        else if (t->align[c] == 'd' && starts_with_number(row[c], &fraction))
            behind = columns[c].fraction - fraction;
        put_spaces(out, pad - behind);
        buf_str(out, row[c]);
        if (c + 1 < last)
            put_spaces(out, 2 + behind);
    }
}

void table_put(const struct table *t, struct buf *out, size_t indent)
{
    struct column_width columns[TABLE_COLUMNS_MAX] = {0};
    must(t->columns > 0 && t->count % t->columns == 0);
    measure(t, columns);
    for (size_t i = 0; i + t->columns <= t->count; i += t->columns) {
        put_spaces(out, indent);
        put_cells(t, t->cells + i, columns, out);
        buf_byte(out, '\n');
    }
}
