#include <math.h>
#include <string.h>
#include "analysis/compare_rank.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/evaluate.h"
#include "cli/exit.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/report.h"
#include "report/table.h"

static const char *rank_text(struct arena *a, double rank)
{
    return isnan(rank) ? "-" : arena_format(a, "%g", rank);
}

static const char *parameters_text(struct arena *a, double n)
{
    return isnan(n) ? "not stated" : arena_format(a, "%s B", number_text(a, n / 1e9, 3));
}

static void put_group(const struct ranking *k, struct arena *a, struct buf *out)
{
    static const char *const head[] = {"lifecycle", "J/token", "steady", "J/token", "model", "engine", "parameters"};
    struct table t;
    table_init(&t, a, "rdrdlll");
    for (size_t i = 0; i < SCHEMA_COUNT(head); i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < k->count; i++) {
        const struct ranking_entry *m = &k->entries[i];
        table_cell(&t, rank_text(a, m->lifecycle_rank));
        table_cell(&t, number_text_repeatable(a, &m->lifecycle));
        table_cell(&t, rank_text(a, m->steady_rank));
        table_cell(&t, number_text_repeatable(a, &m->steady));
        table_cell(&t, m->model);
        table_cell(&t, m->engine);
        table_cell(&t, parameters_text(a, m->total_parameters));
    }
    buf_fmt(out, "\nTotal parameters: %s\n", size_group_names[k->group]);
    table_put(&t, out, 2);
    for (size_t i = 0; i < k->count; i++)
        if (k->entries[i].why)
            show_item(arena_format(a, "%s (%s) is not in the medians: %s.", k->entries[i].model,
                                   k->entries[i].run_id ? k->entries[i].run_id : "without id", k->entries[i].why),
                      out);
    if (!k->n)
        return;
    const char *medians = arena_format(a, "Medians over %lld: full lifecycle %s, steady state %s J/token, ratio %s.",
                                       (long long)k->n, number_text(a, k->median_lifecycle, NUMBER_DIGITS),
                                       number_text(a, k->median_steady, NUMBER_DIGITS), number_text(a, k->ratio, 4));
    show_item(isnan(k->rho) ? medians : arena_format(a, "%s Spearman's rho between the orders: %.3f.", medians, k->rho),
              out);
}

static void put_text(const struct ranked_runs *k, struct arena *a, struct buf *out)
{
    buf_fmt(out, "Models by energy per output token%s: scenario %s on %s\n", k->simulated ? ", SIMULATED" : "",
            k->scenario ? k->scenario : "not stated", k->hardware);
    if (k->reason_count)
        buf_str(out, "\nNot ranked: the method refuses it.\n");
    for (size_t i = 0; i < k->reason_count; i++)
        show_item(k->reasons[i], out);
    for (size_t i = 0; i < k->group_count; i++)
        put_group(&k->groups[i], a, out);
    if (k->group_count)
        buf_str(out, "\n± is the instrument's own doubt.\n");
}

static bool rank(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code, struct err *e)
{
    const char *format = *(const char **)self;
    if (!show_knows(format, e))
        return false;
    struct result *runs = arena_array(a, args->operand_count, sizeof *runs);
    for (size_t i = 0; i < args->operand_count; i++)
        if (!evaluate_stored(args->operands[i], a, &runs[i], e))
            return false;
    struct ranked_runs k;
    rank_runs(runs, args->operand_count, a, &k);
    if (strcmp(format, "text") == 0)
        put_text(&k, a, out);
    else
        show_document(&ranked_runs_schema, &k, format, out);
    *ret_code = k.reason_count ? EXIT_REFUSED : EXIT_OK;
    return true;
}

int cmd_rank(int argc, char **argv)
{
    const char *format = "text";
    const struct arg options[] = {{"--format", ARG_TEXT, "NAME", "text (default), json or csv", &format, 'f'}};
    const struct args_spec spec = {
        .command = "rank",
        .operands = "RUN...",
        .operands_min = 1,
        .operands_max = ARGS_OPERANDS_MAX,
        .summary =
            "Ranks models by their energy per output token, full lifecycle and steady state, within size groups.",
        .more = "One run of each model, all of the same scenario, request set, hardware and analysis: otherwise every\n"
                "reason against it is named. Runs that are not formal are listed without a rank; those that lack one\n"
                "of the two values are in no median. Exit code: 0 ranked, 8 refused.",
        .example = "jtok rank runs/*",
        .options = options,
        .option_count = 1,
    };
    return show_command(&spec, argc, argv, rank, &format);
}
