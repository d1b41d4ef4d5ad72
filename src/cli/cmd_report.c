#include "app/evaluate.h"
#include "cli/command.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/svg.h"
#include "schema/table.h"
#include "store/archive.h"
#include "text/json.h"

struct report_choices {
    enum format format;
    bool full, checks, unsealed;
};

static const struct option options[] = {
    FORMAT_OPTION(report_choices, format, format_names_five),
    DETAIL_OPTIONS(report_choices),
    {"--unsealed", 0, NULL,
     .field = BOOL(report_choices, unsealed, "Also accept a folder without a seal, and say so.")},
};

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

static bool run(struct call *call, struct err *e)
{
    const struct report_choices *o = call->options;
    const char *folder = call->args->operands[0];
    enum show_text which;
    if (!show_which(o->full, o->checks, o->format, &which, e))
        return false;
    if (o->format == FORMAT_SVG)
        return put_svg(folder, o->unsealed, call->arena, call->out, e);
    if (o->format == FORMAT_JSON)
        return put_stored(folder, o->unsealed, call->arena, call->out, e);
    struct result *r = arena_alloc(call->arena, sizeof *r);
    if (!(o->unsealed ? evaluate_unsealed : evaluate_stored)(folder, call->arena, r, e))
        return false;
    const struct report_options look = {
        .colour = show_colour(), .run = folder, .unsealed = o->unsealed && !archive_is_sealed(folder)};
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
            "with the stages. Colours appear only on a terminal, and not if NO_COLOR is set.\n"
            "The result must be the one that the folder's seal names.",
    .example = "jtok report runs/20261130T010000Z-llama-8b\n"
               "jtok report runs/20261130T010000Z-llama-8b --format svg > power.svg",
    .exits = EXIT_BIT(EXIT_RECORDS),
    .options = options,
    .option_count = SCHEMA_COUNT(options),
    .options_size = sizeof(struct report_choices),
    .run = run,
};
