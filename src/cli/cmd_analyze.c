#include <math.h>
#include <unistd.h>
#include "app/evaluate.h"
#include "app/stat.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "schema/set.h"
#include "schema/table.h"

struct analyze_options {
    enum format format;
    bool full, checks, store;
    double total_parameters; /* NaN: not given */
};

static const struct option analyze_rows[] = {
    FORMAT_OPTION(analyze_options, format, format_names_four),
    DETAIL_OPTIONS(analyze_options),
    {"--set", 's', "KEY=VALUE", .many = true,
     .doc = "Change a parameter of the analysis; may be repeated. \"jtok method\" lists the parameters."},
    {"--store", 0, NULL,
     .field = BOOL(analyze_options, store, "Keep the result in the folder, beside one made under an older method.")},
    {"--total-parameters", 0, "NUMBER",
     .field = F64(analyze_options, total_parameters,
                  "Total parameters of the model, such as 8.03e9, if neither the plan nor the snapshot has them.",
                  RANGE(1, 1e15))},
};

static bool check_store(const struct analyze_options *o, const struct method *m, struct arena *a, struct err *e)
{
    const char *differences = method_differences(m, a);
    if (o->store && differences)
        return err_set(
            e, ERR_USAGE,
            "--store keeps the method's own evaluation, but this one differs from it: %s. Leave out --set or --store.",
            differences);
    return !o->store || isnan(o->total_parameters) ||
           err_set(e, ERR_USAGE,
                   "--store keeps what the records alone give, but --total-parameters is not in them. Leave out one of "
                   "the two.");
}

/* The run of a command: its report again. It has no variants, and nothing that is stored. */
static bool analyze_stat(struct call *call, struct err *e)
{
    const struct analyze_options *o = call->options;
    struct stat_result x;
    if (o->full || o->checks || o->store || call->args->many.count || !isnan(o->total_parameters))
        return err_set(e, ERR_USAGE,
                       "%s is the run of a command (jtok stat): of the options only --format applies to it.",
                       call->args->operands[0]);
    if (!stat_read(call->args->operands[0], call->arena, &x, e))
        return false;
    if (o->format == FORMAT_TEXT)
        text_stat(&x, NULL, call->arena, call->out);
    else
        show_document(&stat_result_schema, &x, o->format, call->out);
    utf8_show_from(call->out, 0, true);
    call->code = x.runs[0].valid ? EXIT_OK : EXIT_EXCLUDED;
    return true;
}

static bool run_analyze(struct call *call, struct err *e)
{
    const struct analyze_options *o = call->options;
    const char *folder = call->args->operands[0];
    if (stat_is_recorded(folder, call->arena))
        return analyze_stat(call, e);
    struct method m = method_default();
    for (size_t i = 0; i < call->args->many.count; i++)
        if (!schema_set_or_err(&method_schema, &m, call->args->many.items[i], call->arena, e))
            return false;
    struct evaluation *v = arena_alloc(call->arena, sizeof *v);
    enum show_text which;
    if (!show_which(o->full, o->checks, o->format, &which, e) || !check_store(o, &m, call->arena, e) ||
        !evaluate_given(folder, &m, isnan(o->total_parameters) ? 0 : o->total_parameters, call->arena, v, e))
        return false;
    if (o->store && v->records.damage)
        return err_set(e, ERR_RECORDS, "%s is damaged, so its result is not stored: %s", folder, v->records.damage);
    if (o->store && !evaluate_store(folder, &v->result, e))
        return false;
    call->code = result_standing(&v->result) != STANDING_EXCLUDED ? EXIT_OK : EXIT_EXCLUDED;
    show_result(&v->result, o->format, which,
                &(struct report_options){.colour = show_colour(STDOUT_FILENO), .run = folder}, call->out);
    return true;
}

const struct command cmd_analyze = {
    .name = "analyze",
    .brief = "compute a result again from the records, with any variant of the method",
    .operands = "RUN",
    .operands_min = 1,
    .operands_max = 1,
    .shown = true,
    .summary = "Computes the result of a run again, from its records alone, and prints it.",
    .more = "Nothing is written without --store, and nothing is ever overwritten: a result under this method goes "
            "beside one made under an older method (result-jtok-2.json). A run that broke off can be analyzed, too. "
            "Every parameter that differs from the method's own value is shown with the numbers and in the JSON.",
    .example = "jtok analyze runs/20261130T010000Z-llama-8b\njtok analyze runs/20261130T010000Z-llama-8b --set k=3",
    .exits = EXIT_BIT(EXIT_EXCLUDED) | EXIT_BIT(EXIT_RECORDS),
    .options = analyze_rows,
    .option_count = SCHEMA_COUNT(analyze_rows),
    .options_size = sizeof(struct analyze_options),
    .run = run_analyze,
};
