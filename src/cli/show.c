#include "cli/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/must.h"
#include "base/utf8.h"
#include "report/table.h"
#include "schema/csv.h"
#include "schema/json.h"
#include "text/wrap.h"

const char *const format_names_two[] = {"text", "json", NULL};
const char *const format_names_three[] = {"text", "json", "csv", NULL};
const char *const format_names_four[] = {"text", "json", "csv", "none", NULL};
const char *const format_names_five[] = {"text", "json", "csv", "none", "svg", NULL};

bool show_which(bool full, bool checks, enum format format, enum show_text *ret_which, struct err *e)
{
    must(format <= FORMAT_SVG);
    if (full && checks)
        return err_set(e, ERR_USAGE, "--full includes the checks. Give --full or --checks, not both.");
    if ((full || checks) && format != FORMAT_TEXT)
        return err_set(e, ERR_USAGE,
                       "%s only works with --format text, not with --format %s. Leave out one of the two.",
                       full ? "--full" : "--checks", format_names_five[format]);
    *ret_which = full ? SHOW_FULL : checks ? SHOW_CHECKS : SHOW_SCREEN;
    return true;
}

void show_result(const struct result *r, enum format format, enum show_text which, const struct report_options *look,
                 struct buf *out)
{
    static void (*const reports[])(const struct result *, const struct report_options *, struct buf *) = {
        [SHOW_SCREEN] = report_screen, [SHOW_FULL] = report_full, [SHOW_CHECKS] = report_checks};
    must(format != FORMAT_SVG);
    if (format == FORMAT_TEXT)
        reports[which](r, look, out);
    else if (format == FORMAT_JSON)
        schema_json_write(&result_schema, r, out);
    else if (format == FORMAT_CSV)
        report_csv(r, out);
}

void show_document(const struct schema *s, const void *object, enum format format, struct buf *out)
{
    must(format != FORMAT_TEXT && format != FORMAT_SVG);
    if (format == FORMAT_JSON) {
        schema_json_write(s, object, out);
    } else if (format == FORMAT_CSV) {
        schema_csv_values_header(out);
        schema_csv_values(s, object, "", out);
    }
}

void show_list(const struct schema *s, const void *objects, size_t count, struct buf *out)
{
    must(objects || !count);
    struct json_writer w;
    json_writer_init(&w, out, 2);
    json_put_array(&w);
    for (size_t i = 0; i < count; i++)
        schema_json_put(s, (const char *)objects + i * s->size, &w);
    json_put_array_end(&w);
    buf_byte(out, '\n');
}

void show_item(const char *text, struct buf *out)
{
    must(text);
    buf_str(out, "  - ");
    text_wrap(out, text, 4, 4, SCREEN_COLUMNS);
}

bool show_is_terminal(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

bool show_colour(int fd)
{
    const char *no_colour = getenv("NO_COLOR");
    return show_is_terminal(fd) && !(no_colour && no_colour[0]);
}

bool show_write(struct buf *out, struct err *e)
{
    bool written = (out->n == 0 || fwrite(out->p, 1, out->n, stdout) == out->n) && fflush(stdout) == 0;
    int number = errno;
    buf_clear(out);
    return written || err_set_errno(e, ERR_SYSTEM, number, "The output could not be written to stdout");
}

bool show_flush(struct buf *out, struct err *e)
{
    utf8_show_from(out, 0, true);
    return show_write(out, e);
}
