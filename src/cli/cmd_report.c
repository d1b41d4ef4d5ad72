#include <string.h>
#include "cli/args.h"
#include "cli/commands.h"
#include "app/evaluate.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/svg.h"
#include "store/archive.h"
#include "text/compress.h"
#include "text/json.h"

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
            const struct quantity *q = &result_stage_of(r, stages[i])->energy.headline;
            notes.stage[i] = quantity_has_value(q) ? arena_format(a, "%s J", number_text_quantity(a, q)) : NULL;
        }
    return notes;
}

static bool put_svg(const char *folder, bool unsealed, struct arena *a, struct buf *out, struct err *e)
{
    struct records *r = arena_alloc(a, sizeof *r);
    if (!records_load(folder, a, r, e))
        return false;
    bool sealed = archive_is_sealed(folder);
    if (!sealed && !unsealed)
        return err_set(e, ERR_RECORDS, "%s is not sealed. Give --unsealed to draw what it holds all the same.", folder);
    if (sealed && r->damage)
        return err_set(e, ERR_RECORDS, "%s is damaged, and its power is not drawn: %s", folder, r->damage);
    struct svg_notes notes = stage_notes(folder, a);
    return svg_power(r, &notes, a, out, e);
}

struct wanted {
    const char *format;
    bool unsealed, full, checks;
};

static bool put_report(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code,
                       struct err *e)
{
    const struct wanted *w = self;
    const char *folder = args->operands[0];
    (void)ret_code;
    enum show_text which;
    if (!show_wanted(w->full, w->checks, w->format, &which, e))
        return false;
    if (strcmp(w->format, "svg") == 0)
        return put_svg(folder, w->unsealed, a, out, e);
    if (!show_knows(w->format, e))
        return false;
    /* The stored document itself, not what this version would make of it. */
    if (strcmp(w->format, "json") == 0) {
        struct buf stored = {0};
        bool read = evaluate_document(folder, w->unsealed, a, &stored, NULL, e);
        if (read)
            json_show(out, buf_span(&stored));
        buf_done(&stored);
        return read;
    }
    struct result *r = arena_alloc(a, sizeof *r);
    if (!(w->unsealed ? evaluate_unsealed : evaluate_stored)(folder, a, r, e))
        return false;
    struct report_options look = {
        .colour = show_colour(), .run = folder, .unsealed = w->unsealed && !archive_is_sealed(folder)};
    if (strcmp(w->format, "text") != 0)
        return show_result(r, w->format, &look, out, e);
    show_text(r, which, &look, out);
    return true;
}

int cmd_report(int argc, char **argv)
{
    struct wanted w = {.format = "text"};
    const struct arg options[] = {
        {"--format", ARG_TEXT, "NAME", "text (default), json, csv, or svg: GPU power over time with the stages",
         &w.format, 'f'},
        {"--full", ARG_FLAG, NULL, "the whole report, for a terminal of 100 columns", &w.full, 0},
        {"--checks", ARG_FLAG, NULL, "each check and flag with the numbers behind it", &w.checks, 0},
        {"--unsealed", ARG_FLAG, NULL, "print also the result of a folder that has no seal, and say so", &w.unsealed,
         0},
    };
    const struct args_spec spec = {
        .command = "report",
        .operands = "RUN",
        .operands_min = 1,
        .operands_max = 1,
        .summary = "Prints the stored result of a run.",
        .more =
            "The text fits one screen of 80 columns and 40 lines, the JSON is the stored result.json, the CSV has one "
            "value a line.\n"
            "Colours only on a terminal, and not with NO_COLOR set. The result must be the one that the folder's seal "
            "names.\n"
            "Exit code: 0, formal or not; 7 where there is no seal or the result is not the one it names.",
        .example = "jtok report runs/20261130T010000Z-llama-8b\n"
                   "jtok report runs/20261130T010000Z-llama-8b --format svg > power.svg",
        .options = options,
        .option_count = sizeof options / sizeof *options,
    };
    return show_result_command(&spec, argc, argv, put_report, &w);
}
