#include "cli/command.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "schema/table.h"

struct rank_options {
    enum format format;
};

static const struct option rank_rows[] = {FORMAT_OPTION(rank_options, format, format_names_four)};

static bool run_rank(struct call *call, struct err *e)
{
    const struct rank_options *o = call->options;
    struct run_list runs;
    if (!run_list_read(call->args->operands, call->args->operand_count, call->arena, &runs, e))
        return false;
    struct ranked_runs k;
    rank_runs(runs.runs, runs.count, call->arena, &k);
    if (o->format == FORMAT_TEXT)
        text_ranking(&k, call->arena, call->out);
    else
        show_document(&ranked_runs_schema, &k, o->format, call->out);
    call->code = k.reasons.count ? EXIT_REFUSED : k.ranked ? EXIT_OK : EXIT_EXCLUDED;
    return true;
}

const struct command cmd_rank = {
    .name = "rank",
    .brief = "rank models by energy per output token, within size groups",
    .operands = "RUN...",
    .operands_min = 1,
    .operands_max = ARGS_OPERANDS_MAX,
    .summary = "Ranks models by their energy per output token, over the full lifecycle and in the steady state, within "
               "size groups.",
    .more = "All formal runs must share scenario, requests, machine and analysis; otherwise every reason against the "
            "ranking is printed. Several runs of one model on one engine must be repetitions; their mean counts. Runs "
            "that are not formal, and models of unknown size, are listed without a rank. Runs that lack one of the two "
            "values are left out of the medians.",
    .example = "jtok rank runs/*",
    .exits = EXIT_BIT(EXIT_EXCLUDED) | EXIT_BIT(EXIT_RECORDS) | EXIT_BIT(EXIT_REFUSED),
    .options = rank_rows,
    .option_count = SCHEMA_COUNT(rank_rows),
    .options_size = sizeof(struct rank_options),
    .run = run_rank,
};
