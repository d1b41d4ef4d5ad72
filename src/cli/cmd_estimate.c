#include "app/estimates.h"
#include "cli/command.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "report/report.h"
#include "schema/csv.h"
#include "schema/table.h"

struct estimate_options {
    enum format format;
};

static const struct option estimate_rows[] = {
    {"--requests", 'n', "N", .many = true, .doc = "Number of requests between start and release; may be repeated."},
    FORMAT_OPTION(estimate_options, format, format_names_three),
};

static bool read_counts(const struct arg_list *list, int64_t *ret_counts, struct err *e)
{
    for (size_t i = 0; i < list->count; i++)
        if (!num_i64(span_of(list->items[i]), &ret_counts[i]) || ret_counts[i] < 1)
            return err_set(e, ERR_USAGE, "--requests takes a whole number from 1, not \"%s\".", list->items[i]);
    return list->count ||
           err_set(e, ERR_USAGE, "--requests is missing. Say for how many requests; the option may be repeated.");
}

static void put_estimates(const struct estimate *list, size_t n, struct arena *a, struct buf *out)
{
    schema_csv_values_header(out);
    for (size_t i = 0; i < n; i++)
        schema_csv_values(&estimate_schema, &list[i], arena_format(a, "estimate.%lld", (long long)list[i].requests),
                          out);
}

static bool run_estimate(struct call *call, struct err *e)
{
    const struct estimate_options *o = call->options;
    const struct arg_list *requests = &call->args->many;
    int64_t counts[ARGS_LIST_MAX];
    const struct result *r;
    struct estimate *list;
    size_t n = requests->count;
    if (!read_counts(requests, counts, e) ||
        !estimates_make(call->args->operands[0], counts, n, call->arena, &r, &list, e))
        return false;
    if (o->format == FORMAT_JSON)
        show_list(&estimate_schema, list, n, call->out);
    else if (o->format == FORMAT_CSV)
        put_estimates(list, n, call->arena, call->out);
    else
        text_estimates(r, list, n, call->arena, call->out);
    return true;
}

const struct command cmd_estimate = {
    .name = "estimate",
    .brief = "estimate the energy of a service that handles N requests",
    .operands = "RUN",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Estimates the energy of a service that is started once, handles N requests like those of the run, and "
               "is stopped: E(N) = E(startup) + N e + E(release).",
    .more = "Here e is the energy of a request in the steady state. If no steady state was reached, it is the energy "
            "of the formal stage divided by its requests, and the output says so.",
    .example = "jtok estimate runs/20261130T010000Z-llama-8b -n 1000 -n 1000000",
    .exits = EXIT_BIT(EXIT_RECORDS) | EXIT_BIT(EXIT_REFUSED),
    .options = estimate_rows,
    .option_count = SCHEMA_COUNT(estimate_rows),
    .options_size = sizeof(struct estimate_options),
    .run = run_estimate,
};
