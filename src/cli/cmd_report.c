#include <unistd.h>
#include "app/evaluate.h"
#include "app/picture.h"
#include "cli/command.h"
#include "cli/show.h"
#include "schema/table.h"
#include "store/archive.h"
#include "text/json.h"

struct report_choices {
    enum format format;
    bool full, checks, unsealed;
};

static const struct option report_rows[] = {
    FORMAT_OPTION(report_choices, format, format_names_five),
    DETAIL_OPTIONS(report_choices),
    {"--unsealed", 0, NULL,
     .field = BOOL(report_choices, unsealed, "Also accept a folder without a seal, and say so.")},
};

/* The stored document itself, not what this version would make of it. */
static bool put_stored(const char *folder, bool unsealed, struct arena *a, struct buf *out, struct err *e)
{
    struct buf stored = {0};
    bool read = evaluate_document(folder, unsealed, a, &stored, NULL, e);
    if (read)
        json_show(out, buf_span(&stored));
    buf_done(&stored);
    return read;
}

static bool run_report(struct call *call, struct err *e)
{
    const struct report_choices *o = call->options;
    const char *folder = call->args->operands[0];
    enum show_text which;
    if (!show_which(o->full, o->checks, o->format, &which, e))
        return false;
    if (o->format == FORMAT_SVG)
        return picture_draw(folder, o->unsealed, call->arena, call->out, e);
    if (o->format == FORMAT_JSON)
        return put_stored(folder, o->unsealed, call->arena, call->out, e);
    struct result *r = arena_alloc(call->arena, sizeof *r);
    if (!(o->unsealed ? evaluate_unsealed : evaluate_stored)(folder, call->arena, r, e))
        return false;
    const struct report_options look = {
        .colour = show_colour(STDOUT_FILENO), .run = folder, .unsealed = o->unsealed && !archive_is_sealed(folder)};
    show_result(r, o->format, which, &look, call->out);
    return true;
}

const struct command cmd_report = {
    .name = "report",
    .brief = "print the stored result of a run as text, JSON, CSV or a picture",
    .operands = "RUN",
    .operands_min = 1,
    .operands_max = 1,
    .shown = true,
    .summary = "Prints the stored result of a run.",
    .more = "The text fits one screen. JSON is the stored result.json. CSV has one value per line. SVG draws the power "
            "of the GPUs over time, "
            "with the stages; of a run with other loads, the energy per token of each load over its time per token. "
            "Colours appear only on a terminal, and not if NO_COLOR is set.\n"
            "The result must be the one that the folder's seal names.",
    .example = "jtok report runs/20261130T010000Z-llama-8b\n"
               "jtok report runs/20261130T010000Z-llama-8b --format svg > power.svg",
    .exits = EXIT_BIT(EXIT_RECORDS),
    .options = report_rows,
    .option_count = SCHEMA_COUNT(report_rows),
    .options_size = sizeof(struct report_choices),
    .run = run_report,
};
