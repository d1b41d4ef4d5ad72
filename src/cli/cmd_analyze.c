#include "cli/args.h"
#include "cli/commands.h"
#include "app/evaluate.h"
#include "cli/exit.h"
#include "cli/show.h"

struct wanted {
    struct arg_list set;
    const char *format;
    bool store, full, checks;
    double total_parameters; /* 0: not given */
};

static bool analyze(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code, struct err *e)
{
    const struct wanted *w = self;
    struct method m = method_default();
    for (size_t i = 0; i < w->set.count; i++)
        if (!method_set(&m, w->set.items[i], e))
            return false;
    const char *folder = args->operands[0], *differences = method_differences(&m, a);
    if (w->store && differences)
        return err_set(
            e, ERR_USAGE,
            "--store keeps the method's own evaluation, and this one differs from it: %s. Leave out --set, or "
            "--store.",
            differences);
    if (w->total_parameters != 0 && !(w->total_parameters >= 1 && w->total_parameters <= 1e15))
        return err_set(e, ERR_USAGE, "--total-parameters is a number of parameters, such as 8.03e9, not %g.",
                       w->total_parameters);
    if (w->store && w->total_parameters > 0)
        return err_set(e, ERR_USAGE,
                       "--store keeps what the records alone give, and --total-parameters is not in them. Leave out "
                       "one of the two.");
    struct evaluation *v = arena_alloc(a, sizeof *v);
    enum show_text which;
    if (!show_knows(w->format, e) || !show_wanted(w->full, w->checks, w->format, &which, e) ||
        !evaluate_given(folder, &m, w->total_parameters, a, v, e))
        return false;
    if (w->store && v->records.damage)
        return err_set(e, ERR_RECORDS, "%s is damaged, and its result is not stored: %s", folder, v->records.damage);
    if (w->store && !evaluate_store(folder, &v->result, e))
        return false;
    *ret_code = v->result.formal ? EXIT_OK : EXIT_EXCLUDED;
    struct report_options look = {.colour = show_colour(), .run = folder};
    if (strcmp(w->format, "text") != 0)
        return show_result(&v->result, w->format, &look, out, e);
    show_text(&v->result, which, &look, out);
    return true;
}

int cmd_analyze(int argc, char **argv)
{
    struct wanted w = {.format = "text"};
    const struct arg options[] = {
        {"--set", ARG_LIST, "KEY=VALUE",
         "one parameter of the analysis, may be given often; \"jtok method\" lists them", &w.set, 's'},
        {"--store", ARG_FLAG, NULL, "keep the result in the folder, beside one that was made under an older method",
         &w.store, 0},
        {"--total-parameters", ARG_F64, "NUMBER",
         "all parameters of the model, where neither plan nor snapshot tells them: 8.03e9", &w.total_parameters, 0},
        {"--full", ARG_FLAG, NULL, "the whole report, not one screen", &w.full, 0},
        {"--checks", ARG_FLAG, NULL, "each check and flag with the numbers behind it", &w.checks, 0},
        {"--format", ARG_TEXT, "NAME", "text (default), json, csv or none", &w.format, 'f'},
    };
    const struct args_spec spec = {
        .command = "analyze",
        .operands = "RUN",
        .operands_min = 1,
        .operands_max = 1,
        .summary = "Computes the result of a run again from its records alone, and prints it.",
        .more =
            "Nothing is written but with --store, and nothing is overwritten: a result under this method goes beside\n"
            "one of an older (result-jtok-2.json). Works on a run that broke off, too. Whatever\n"
            "--set changes from the method's own values is shown with the numbers and in the JSON.\n"
            "Exit code: 0 the run is formal, 1 it is excluded, 7 the records can't be read.",
        .example = "jtok analyze runs/20261130T010000Z-llama-8b\n"
                   "jtok analyze runs/20261130T010000Z-llama-8b --set attribution=interval --set k=3",
        .options = options,
        .option_count = sizeof options / sizeof *options,
    };
    return show_result_command(&spec, argc, argv, analyze, &w);
}
