#include "base/must.h"
#include "cli/command.h"
#include "cli/gate_rule.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "schema/table.h"

struct gate_options {
    enum format format;
    struct gate_words words;
};

static const struct option gate_rows[] = {
    {"--metric", 'm', "KEY",
     .field = TEXT_AS("metric", gate_options, words.metric, "The metric to judge, by its key in \"jtok compare\".")},
    {"--load", 'l', "LOAD",
     .field = TEXT_AS("load", gate_options, words.load,
                      "Of runs with several loads, the one to judge: as --loads names it (concurrency=64), or its "
                      "number in \"jtok compare\", from 0.")},
    {"--max-rise", 0, "P%",
     .field = TEXT_AS("max_rise", gate_options, words.rise, "How far the metric may rise, in percent of BASE.")},
    {"--max-fall", 0, "P%",
     .field =
         TEXT_AS("max_fall", gate_options, words.fall, "How far it may fall, for metrics such as throughput_tok_s.")},
    {"--spread", 0, "S%",
     .field = TEXT_AS("spread", gate_options, words.spread,
                      "Known standard deviation between runs. With fewer than three runs per side, the interval is "
                      "then 2 S sqrt(1/n + 1/m) wide on each side.")},
    FORMAT_OPTION(gate_options, format, format_names_four),
};

static enum exit_code gate_code(enum gate_outcome outcome)
{
    static const enum exit_code codes[] = {[GATE_UNDECIDED] = EXIT_UNDECIDED,
                                           [GATE_PASSED] = EXIT_OK,
                                           [GATE_FAILED] = EXIT_GATE_FAILED,
                                           [GATE_REFUSED] = EXIT_REFUSED};
    must((size_t)outcome < sizeof codes / sizeof *codes);
    return codes[outcome];
}

static bool run_gate(struct call *call, struct err *e)
{
    const struct gate_options *o = call->options;
    struct gate g;
    struct run_list base, candidate;
    if (!gate_rule_read(&o->words, call->arena, &g, e) ||
        !run_list_read_side(call->args->operands[0], call->arena, &base, e) ||
        !run_list_read_side(call->args->operands[1], call->arena, &candidate, e))
        return false;
    compare_sides(base.runs, base.count, candidate.runs, candidate.count, call->arena, &g.comparison);
    gate_judge(&g, call->arena);
    if (o->format == FORMAT_TEXT)
        text_gate(&g, &base, &candidate, call->arena, call->out);
    else
        show_document(&gate_schema, &g, o->format, call->out);
    call->code = gate_code((enum gate_outcome)g.outcome);
    return true;
}

const struct command cmd_gate = {
    .name = "gate",
    .brief = "pass or fail a candidate against a base, by one metric and a limit",
    .operands = "BASE CANDIDATE",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "Passes or fails a candidate against a base, by one metric and a limit; made for scripts.",
    .more = "BASE and CANDIDATE are each one run folder, or several separated by commas, as in \"jtok compare\".\n"
            "The gate passes if the upper end of the 95 % interval between runs is within the limit, and fails if its "
            "lower end is beyond it; otherwise it is undecided. With fewer than three runs per side it is undecided, "
            "unless --spread says how much repeated runs differ.",
    .example = "jtok gate runs/old-1,runs/old-2,runs/old-3 runs/new-1,runs/new-2,runs/new-3 \\\n"
               "    --metric formal_j_per_token --max-rise 5%\n"
               "jtok gate runs/old runs/new --metric throughput_tok_s --max-fall 3% \\\n"
               "    --spread 1.5%\n"
               "jtok gate runs/old runs/new --metric j_per_token --load concurrency=64 \\\n"
               "    --max-rise 5% --spread 1.5%",
    .exits = EXIT_BIT(EXIT_RECORDS) | EXIT_BIT(EXIT_REFUSED) | EXIT_BIT(EXIT_GATE_FAILED) | EXIT_BIT(EXIT_UNDECIDED),
    .options = gate_rows,
    .option_count = SCHEMA_COUNT(gate_rows),
    .options_size = sizeof(struct gate_options),
    .run = run_gate,
};
