#include "cli/args.h"
#include "cli/commands.h"
#include "cli/evaluate.h"
#include "cli/exit.h"
#include "cli/show.h"

static bool analyze(const char *folder, const struct arg_list *set, const char *format, struct arena *a,
                    bool *ret_formal, struct err *e)
{
    struct method m = method_default();
    for (size_t i = 0; i < set->count; i++)
        if (!method_set(&m, set->items[i], e))
            return false;
    if (!show_knows(format, e))
        return false;
    struct evaluation *v = arena_alloc(a, sizeof *v);
    if (!evaluate_run(folder, &m, a, v, e))
        return false;
    struct buf out = {0};
    bool ok = show_result(&v->result, format, show_colour(), &out, e) && show_flush(&out, e);
    buf_done(&out);
    if (ok)
        *ret_formal = v->result.formal;
    return ok;
}

int cmd_analyze(int argc, char **argv)
{
    const char *format = "text";
    struct arg_list set = {0};
    const struct arg options[] = {
        {"--set", ARG_LIST, "KEY=VALUE",
         "one parameter of the analysis, may be given often; \"jtok method\" lists them", &set, 's'},
        {"--format", ARG_TEXT, "NAME", "text (default), json, csv or none", &format, 'f'},
    };
    const struct args_spec spec = {
        .command = "analyze",
        .operands = "RUN",
        .operands_min = 1,
        .operands_max = 1,
        .summary = "Computes the result of a run again from its records alone, and prints it.",
        .more = "Nothing is written: the stored result stays as it is. Works on a run that broke off, too. Whatever\n"
                "--set changes from the method's own values is shown with the numbers and in the JSON.\n"
                "Exit code: 0 the run is formal, 1 it is excluded, 7 the records can't be read.",
        .example = "jtok analyze runs/20261130T010000Z-llama-8b\n"
                   "jtok analyze runs/20261130T010000Z-llama-8b --set attribution=interval --set k=3",
        .options = options,
        .option_count = sizeof options / sizeof *options,
    };
    struct args args;
    int code;
    if (!args_take(&spec, argc, argv, &args, &code))
        return code;
    struct arena a = {0};
    struct err e = {0};
    bool formal = false;
    if (!analyze(args.operands[0], &set, format, &a, &formal, &e))
        code = exit_with(&e);
    else
        code = formal ? EXIT_OK : EXIT_EXCLUDED;
    arena_done(&a);
    return code;
}
