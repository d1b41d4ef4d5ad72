#include "text/wrap.h"

#include <string.h>
#include "base/arena.h"
#include "base/columns.h"
#include "base/must.h"
#include "base/utf8.h"

void text_wrap(struct buf *out, const char *text, size_t at, size_t indent, size_t columns)
{
    must(text && indent < columns);
    bool first = true;
    struct arena a = {0};
    text = utf8_line(&a, text);
    while (*text) {
        size_t n = strcspn(text, " ");
        size_t width = columns_count((struct span){text, n});
        if (!first && at + 1 + width > columns) {
            buf_byte(out, '\n');
            buf_fmt(out, "%*s", (int)indent, "");
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
    arena_done(&a);
}
