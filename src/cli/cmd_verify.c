#include "app/prove.h"
#include "cli/command.h"
#include "cli/texts.h"
#include "schema/table.h"

struct verify_options {
    bool quiet;
};

static const struct option verify_rows[] = {
    {"--quiet", 'q', NULL, .field = BOOL(verify_options, quiet, "Print nothing; only the exit code tells.")},
};

static bool run_verify(struct call *call, struct err *e)
{
    const struct verify_options *o = call->options;
    const char *folder = call->args->operands[0];
    struct proof p;
    bool read = prove(folder, call->arena, &p, e);
    if (!o->quiet)
        text_proof(&p, folder, call->arena, call->out);
    if (read)
        call->code = !proof_is_sound(&p)                                           ? EXIT_RECORDS
                     : result_standing(&p.evaluation->result) == STANDING_EXCLUDED ? EXIT_EXCLUDED
                                                                                   : EXIT_OK;
    return read;
}

const struct command cmd_verify = {
    .name = "verify",
    .brief = "check a run's seal and records, and recompute its result byte for byte",
    .operands = "RUN",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Checks a run folder: every hash of its seal, the consistency of its records, and its result, which is "
               "computed again and compared byte for byte.",
    .more = "A result made by another version of jtok is shown beside the new one; that is not damage.",
    .example = "jtok verify runs/20261130T010000Z-llama-8b",
    .exits = EXIT_BIT(EXIT_EXCLUDED) | EXIT_BIT(EXIT_RECORDS),
    .options = verify_rows,
    .option_count = SCHEMA_COUNT(verify_rows),
    .options_size = sizeof(struct verify_options),
    .run = run_verify,
};
