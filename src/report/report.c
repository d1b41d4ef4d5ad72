/* The pieces that the text reports are made of. */
#include "report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/columns.h"
#include "base/must.h"
#include "base/utf8.h"
#include "report/internal.h"
#include "text/wrap.h"

static void put_escape(struct report *p, const char *escape)
{
    if (p->escape_count == p->escape_capacity) {
        p->escape_capacity = p->escape_capacity ? 2 * p->escape_capacity : 64;
        p->escapes = mem_grow(p->escapes, p->escape_capacity, sizeof *p->escapes);
    }
    p->escapes[p->escape_count++] = (struct report_escape){p->out->n, escape};
}

void report_look(struct report *p, enum report_look look, const char *text)
{
    static const char *const codes[] = {[LOOK_HEADING] = "\033[1m",
                                        [LOOK_GOOD] = "\033[1;32m",
                                        [LOOK_BAD] = "\033[1;31m",
                                        [LOOK_MARK] = "\033[33m",
                                        [LOOK_FAINT] = "\033[2m"};
    must((size_t)look < sizeof codes / sizeof *codes);
    put_escape(p, codes[look]);
    buf_str(p->out, text);
    put_escape(p, "\033[0m");
}

/* The whole text made fit to be shown, then the colours between its pieces: no escape in it is anybody's but ours. */
static void put_shown(const struct report *p, bool colour, struct buf *out)
{
    struct span text = buf_span(p->out);
    size_t from = 0;
    for (size_t i = 0; colour && i < p->escape_count; from = p->escapes[i++].at) {
        utf8_show(out, (struct span){text.p + from, p->escapes[i].at - from}, true);
        buf_str(out, p->escapes[i].code);
    }
    utf8_show(out, (struct span){text.p + from, text.n - from}, true);
}

void report_heading(struct report *p, const char *format, ...)
{
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    must(n >= 0 && (size_t)n < sizeof text);
    buf_byte(p->out, '\n');
    report_look(p, LOOK_HEADING, text);
    buf_byte(p->out, '\n');
}

void report_item(struct report *p, size_t left, size_t indent, const char *name, const char *text)
{
    must(left <= indent && name && text);
    size_t end = left + columns_text(name), at = end < indent ? indent : end + 1;
    buf_fmt(p->out, "%*s%s%*s", (int)left, "", name, (int)(at - end), "");
    text_wrap(p->out, text, at, indent, REPORT_COLUMNS);
}

void report_line(struct report *p, const char *text)
{
    must(text);
    buf_str(p->out, "  ");
    text_wrap(p->out, text, 2, 4, REPORT_COLUMNS);
}

const char *report_cell(struct report *p, const struct quantity *q)
{
    return number_text_quantity(&p->arena, q);
}

const char *report_percent(struct report *p, const struct quantity *q, bool sign)
{
    if (!quantity_has_value(q) || isnan(q->value))
        return report_cell(p, q);
    /* Neither "-0.00" nor "+0.00". */
    if (fabs(q->value) < 0.00005)
        return "0.00 %";
    return arena_format(&p->arena, sign ? "%+.2f %%" : "%.2f %%", 100 * q->value);
}

const char *report_or(struct report *p, const char *text, const char *absent)
{
    must(absent);
    return text && text[0] ? utf8_line(&p->arena, text) : absent;
}

void report_init(struct report *p, const struct result *r)
{
    /* As result_complete and result_absent leave it: each check and flag at its code's place. */
    must(r->check_count == CODE_COUNT && r->flag_count == FLAG_COUNT);
    must(r->checks[CODE_COUNT - 1].code == CODE_COUNT - 1 && r->flags[FLAG_COUNT - 1].code == FLAG_COUNT - 1);
    *p = (struct report){.r = r, .out = &p->text};
}

void report_seal(struct report *p, const struct report_options *options)
{
    must(options && p->out->n == 0);
    if (!options->unsealed)
        return;
    report_look(p, LOOK_BAD, "NOT SEALED");
    buf_str(p->out, ": nothing proves that the following is what the run gave.\n\n");
}

void report_done(struct report *p, bool colour, struct buf *out)
{
    must(p->out == &p->text && out != p->out);
    put_shown(p, colour, out);
    free(p->escapes);
    buf_done(&p->text);
    arena_done(&p->arena);
}
