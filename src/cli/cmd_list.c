#include "app/listing.h"
#include "cli/command.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "schema/csv.h"
#include "schema/table.h"

struct list_options {
    enum format format;
};

static const struct option list_rows[] = {FORMAT_OPTION(list_options, format, format_names_three)};

static void put_csv(const struct listed_run *runs, size_t n, struct buf *out)
{
    schema_csv_header(&listed_run_schema, out);
    for (size_t i = 0; i < n; i++)
        schema_csv_put(&listed_run_schema, &runs[i], 0, CSV_SHOWN, out);
}

static bool run_list(struct call *call, struct err *e)
{
    const struct list_options *o = call->options;
    const char *directory = call->args->operand_count ? call->args->operands[0] : "runs";
    struct listed_run *runs;
    size_t n;
    if (!listing_read(directory, call->arena, &runs, &n, e))
        return false;
    if (o->format == FORMAT_JSON)
        show_list(&listed_run_schema, runs, n, call->out);
    else if (o->format == FORMAT_CSV)
        put_csv(runs, n, call->out);
    else if (n)
        text_listing(runs, n, call->arena, call->out);
    else
        buf_fmt(call->out, "There are no runs in %s.\n", directory);
    return true;
}

const struct command cmd_list = {
    .name = "list",
    .brief = "list the runs in a folder",
    .operands = "[DIR]",
    .operands_max = 1,
    .summary =
        "Lists the runs in a folder (default: runs), oldest first, each with its verdict and its energy per token.",
    .more =
        "J/token is that of the formal stage, or of each load, from the least to the most; of a command its energy in "
        "J. JSON and CSV have all of it, with whole texts.",
    .example = "jtok list runs",
    .exits = EXIT_BIT(EXIT_RECORDS),
    .options = list_rows,
    .option_count = SCHEMA_COUNT(list_rows),
    .options_size = sizeof(struct list_options),
    .run = run_list,
};
