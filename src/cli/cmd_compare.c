#include "cli/command.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "schema/table.h"

struct compare_options {
    enum format format;
    bool anyway;
};

static const struct option compare_rows[] = {
    {"--anyway", 0, NULL,
     .field = BOOL(compare_options, anyway,
                   "Where a comparison is refused, show the values side by side with the reasons, and still exit with "
                   "code 8.")},
    FORMAT_OPTION(compare_options, format, format_names_four),
};

static bool run_compare(struct call *call, struct err *e)
{
    const struct compare_options *o = call->options;
    struct run_list x, y;
    if (!run_list_read_side(call->args->operands[0], call->arena, &x, e) ||
        !run_list_read_side(call->args->operands[1], call->arena, &y, e))
        return false;
    struct comparison c;
    (o->anyway ? compare_anyway : compare_sides)(x.runs, x.count, y.runs, y.count, call->arena, &c);
    if (o->format == FORMAT_TEXT)
        text_comparison(&c, &x, &y, call->arena, call->out);
    else
        show_document(&comparison_schema, &c, o->format, call->out);
    call->code = c.reasons.count ? EXIT_REFUSED : EXIT_OK;
    return true;
}

const struct command cmd_compare = {
    .name = "compare",
    .brief = "compare two set-ups, by one run each or by repetitions",
    .operands = "A B",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "Compares two set-ups, with each difference and its uncertainty, if the method allows the comparison.",
    .more = "A and B are each one run folder, or several separated by commas: repetitions of one plan. All runs must "
            "be formal and must match: the same model, revision, precision, scenario, requests and machine, and output "
            "tokens at most 20 % apart. Otherwise every reason against the comparison is printed.\n"
            "Valid runs are compared with their like: lives with other loads, running services under loads, watched "
            "services, or commands (jtok stat --keep). Loads are compared one by one, those that both sides have: the "
            "same kind, setting, count, time and seed. Formal and valid runs are never mixed.\n"
            "--anyway shows also what is not comparable, such as a shortened, simulated or excluded run beside another "
            "one: both columns and the reasons, without a difference or a statement.\n"
            "With one run per side you get the difference and the instrument's uncertainty, but no statement about the "
            "set-ups. From three runs per side, Welch's 95 % interval between runs decides whether they differ. "
            "Alternate the runs (A B B A), so that a drift of the machine does not look like a difference.\n"
            "Runs are repetitions if their plans differ only in names, places, time limits and cost, and if their "
            "engines had the same values of the variables that can change their work.\n"
            "Each row has a fixed key, such as formal_j_per_token; of a load, j_per_token.",
    .example = "jtok compare runs/20261130T010000Z-vllm runs/20261130T020000Z-sglang\n"
               "jtok compare runs/vllm-1,runs/vllm-2,runs/vllm-3 \\\n"
               "    runs/sglang-1,runs/sglang-2,runs/sglang-3",
    .exits = EXIT_BIT(EXIT_RECORDS) | EXIT_BIT(EXIT_REFUSED),
    .options = compare_rows,
    .option_count = SCHEMA_COUNT(compare_rows),
    .options_size = sizeof(struct compare_options),
    .run = run_compare,
};
