#include "cli/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/utf8.h"
#include "cli/args.h"
#include "cli/exit.h"
#include "report/report.h"
#include "report/table.h"
#include "schema/json.h"

bool show_knows(const char *format, struct err *e)
{
    static const char *const names[] = {"text", "json", "csv", "none", NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcmp(format, names[i]) == 0)
            return true;
    const char *near = args_nearest(format, names);
    return err_set(e, ERR_USAGE, "There is no format \"%s\"%s%s%s Give text, json, csv or none.", format,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : ".");
}

bool show_result(const struct result *r, const char *format, const struct report_options *options, struct buf *out,
                 struct err *e)
{
    if (!show_knows(format, e))
        return false;
    if (strcmp(format, "text") == 0)
        show_text(r, SHOW_SCREEN, options, out);
    else if (strcmp(format, "json") == 0)
        schema_json_write(&result_schema, r, out);
    else if (strcmp(format, "csv") == 0)
        report_csv(r, out);
    return true;
}

void show_text(const struct result *r, enum show_text which, const struct report_options *options, struct buf *out)
{
    static void (*const reports[])(const struct result *, const struct report_options *, struct buf *) = {
        [SHOW_SCREEN] = report_screen, [SHOW_FULL] = report_full, [SHOW_CHECKS] = report_checks};
    reports[which](r, options, out);
}

bool show_wanted(bool full, bool checks, const char *format, enum show_text *ret_which, struct err *e)
{
    if (full && checks)
        return err_set(e, ERR_USAGE, "--full has the checks, too. Give --full or --checks, not both.");
    if ((full || checks) && strcmp(format, "text") != 0)
        return err_set(e, ERR_USAGE, "%s is for the text, not for --format %s. Leave out one of the two.",
                       full ? "--full" : "--checks", format);
    *ret_which = full ? SHOW_FULL : checks ? SHOW_CHECKS : SHOW_SCREEN;
    return true;
}

void show_document(const struct schema *s, const void *object, const char *format, struct buf *out)
{
    if (strcmp(format, "json") == 0) {
        schema_json_write(s, object, out);
    } else if (strcmp(format, "csv") == 0) {
        report_csv_header(out);
        report_csv_rows(s, object, "", out);
    }
}

void show_item(const char *text, struct buf *out)
{
    buf_str(out, "  - ");
    text_wrap(out, text, 4, 4, REPORT_COLUMNS);
}

bool show_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_colour && no_colour[0]) && !(term && strcmp(term, "dumb") == 0);
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

typedef bool flush(struct buf *out, struct err *e);

static int command(const struct args_spec *spec, int argc, char **argv, show_print *print, void *self, flush *write)
{
    struct args args;
    int code;
    if (!args_take(spec, argc, argv, &args, &code))
        return code;
    struct arena a = {0};
    struct buf out = {0};
    struct err e = {0}, unwritten = {0};
    code = EXIT_OK;
    bool printed = print(self, &args, &a, &out, &code, &e), written = write(&out, &unwritten);
    if (!printed || !written)
        code = exit_with(printed ? &unwritten : &e);
    buf_done(&out);
    arena_done(&a);
    return code;
}

int show_command(const struct args_spec *spec, int argc, char **argv, show_print *print, void *self)
{
    return command(spec, argc, argv, print, self, show_flush);
}

int show_result_command(const struct args_spec *spec, int argc, char **argv, show_print *print, void *self)
{
    return command(spec, argc, argv, print, self, show_write);
}
