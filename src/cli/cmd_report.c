#include <string.h>
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/evaluate.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/svg.h"
#include "store/archive.h"
#include "text/compress.h"

/* "15 057 J" below each stage's name, where there is a stored result to take it from. */
static struct svg_notes stage_notes(const char *folder, struct arena *a)
{
    static const int stages[SVG_STAGES] = {STAGE_BASELINE, STAGE_STARTUP, STAGE_FORMAL, STAGE_RELEASE, -1};
    struct svg_notes notes = {0};
    struct result *r = arena_alloc(a, sizeof *r);
    struct err none;
    if (!evaluate_stored(folder, a, r, &none))
        return notes;
    for (size_t i = 0; i < SVG_STAGES; i++)
        if (stages[i] >= 0 && (size_t)stages[i] < r->stage_count) {
            const struct quantity *q = &r->stages[stages[i]].energy.headline;
            notes.stage[i] = quantity_has_value(q) ? arena_format(a, "%s J", number_text_quantity(a, q)) : NULL;
        }
    return notes;
}

static bool put_svg(const char *folder, struct arena *a, struct buf *out, struct err *e)
{
    struct records *r = arena_alloc(a, sizeof *r);
    if (!records_load(folder, a, r, e))
        return false;
    struct svg_notes notes = stage_notes(folder, a);
    return svg_power(r, &notes, a, out, e);
}

static bool put_report(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code,
                       struct err *e)
{
    const char *format = *(const char **)self, *folder = args->operands[0];
    (void)ret_code;
    if (strcmp(format, "svg") == 0)
        return put_svg(folder, a, out, e);
    if (!show_knows(format, e))
        return false;
    struct result *r = arena_alloc(a, sizeof *r);
    if (!evaluate_stored(folder, a, r, e))
        return false;
    /* The stored document itself, not what this version would make of it. */
    if (strcmp(format, "json") == 0)
        return file_read(arena_format(a, "%s/result.json", folder), 0, out, e);
    return show_result(r, format, show_colour(), out, e);
}

int cmd_report(int argc, char **argv)
{
    const char *format = "text";
    const struct arg options[] = {{"--format", ARG_TEXT, "NAME",
                                   "text (default), json, csv, or svg: GPU power over time with the stages", &format,
                                   'f'}};
    const struct args_spec spec = {
        .command = "report",
        .operands = "RUN",
        .operands_min = 1,
        .operands_max = 1,
        .summary = "Prints the stored result of a run.",
        .more = "The text is for a terminal of 100 columns, the JSON is the stored result.json, the CSV has one value "
                "a line.\n"
                "Colours only on a terminal, and not with NO_COLOR set. Exit code: 0, formal or not.",
        .example = "jtok report runs/20261130T010000Z-llama-8b\n"
                   "jtok report runs/20261130T010000Z-llama-8b --format svg > power.svg",
        .options = options,
        .option_count = 1,
    };
    return show_command(&spec, argc, argv, put_report, &format);
}
