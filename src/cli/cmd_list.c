#include "app/listing.h"
#include "cli/command.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "schema/table.h"

struct list_options {
    enum format format;
};

static const struct option list_rows[] = {FORMAT_OPTION(list_options, format, format_names_two)};

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
    .example = "jtok list runs",
    .exits = EXIT_BIT(EXIT_RECORDS),
    .options = list_rows,
    .option_count = SCHEMA_COUNT(list_rows),
    .options_size = sizeof(struct list_options),
    .run = run_list,
};
