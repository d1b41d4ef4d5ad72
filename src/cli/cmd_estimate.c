#include <math.h>
#include <string.h>
#include "analysis/analyze.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "app/evaluate.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/report.h"
#include "report/table.h"
#include "schema/json.h"
#include "text/json.h"

static bool read_counts(const struct arg_list *list, int64_t *ret_counts, struct err *e)
{
    for (size_t i = 0; i < list->count; i++)
        if (!num_i64(span_of(list->items[i]), &ret_counts[i]) || ret_counts[i] < 1)
            return err_set(e, ERR_USAGE, "estimate: --requests takes a whole number from 1, not \"%s\".",
                           list->items[i]);
    return list->count ||
           err_set(e, ERR_USAGE, "estimate: for how many requests? Give --requests N, as often as you like.");
}

static void put_text(const struct result *r, const struct estimate *list, size_t n, struct arena *a, struct buf *out)
{
    const struct result_estimate *x = &r->estimate;
    buf_fmt(out, "Run %s%s%s\n", r->about.run_id ? r->about.run_id : "without id",
            r->about.simulated ? ", SIMULATED" : "", r->formal ? ", formal" : ", excluded from the formal results");
    buf_fmt(out, "E(N) = %s J + N x %s J; per request by: %s.\n\n", number_text_instrument(a, &x->fixed_j),
            number_text_instrument(a, &x->e_request_j), x->source ? x->source : "not recorded");
    struct table t;
    table_init(&t, a, "rrrrrrl");
    static const char *const head[] = {"N", "E(N), J", "J/request", "J/token", "overhead J/request", "overhead"};
    for (size_t i = 0; i < 6; i++)
        table_cell(&t, head[i]);
    table_cell(&t, x->ranged ? "range of E(N), J" : "");
    for (size_t i = 0; i < n; i++) {
        const struct estimate *s = &list[i];
        table_cell(&t, number_text_i64(a, s->requests));
        table_cell(&t, number_text_instrument(a, &s->total_j));
        table_cell(&t, number_text_quantity(a, &s->per_request_j));
        table_cell(&t, number_text_quantity(a, &s->j_per_token));
        table_cell(&t, number_text_quantity(a, &s->overhead_per_request_j));
        table_cell(&t, quantity_has_value(&s->overhead_share)
                           ? arena_format(a, "%.2f %%", 100 * s->overhead_share.value)
                           : number_text_quantity(a, &s->overhead_share));
        table_cell(&t, isnan(s->low_j)
                           ? ""
                           : arena_format(a, "%s to %s", number_text(a, s->low_j, 5), number_text(a, s->high_j, 5)));
    }
    table_put(&t, out, 0);
    if (x->ranged)
        buf_str(out, "\nThe three ways to the energy of a request differ by over 10 %, so the range is given.\n");
    buf_str(out, "\n± is the instrument doubt; the assumed limit of the sensors is the JSON's `calibration`.\nHolds "
                 "for this load "
                 "and configuration, without idle gaps between requests. A measured value takes "
                 "precedence.\n");
}

static void put_json(const struct estimate *list, size_t n, struct buf *out)
{
    struct json_writer w;
    json_writer_init(&w, out, 2);
    json_put_array(&w);
    for (size_t i = 0; i < n; i++)
        schema_json_put(&estimate_schema, &list[i], &w);
    json_put_array_end(&w);
    buf_byte(out, '\n');
}

struct wanted {
    struct arg_list requests;
    const char *format;
};

static bool estimate(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code,
                     struct err *e)
{
    const struct wanted *w = self;
    const struct arg_list *requests = &w->requests;
    const char *format = w->format, *folder = args->operands[0];
    int64_t counts[ARGS_LIST_MAX];
    (void)ret_code;
    bool json = strcmp(format, "json") == 0, csv = strcmp(format, "csv") == 0;
    if (!json && !csv && strcmp(format, "text") != 0)
        return err_set(e, ERR_USAGE, "estimate: there is no format \"%s\". Give text, json or csv.", format);
    if (!read_counts(requests, counts, e))
        return false;
    struct result *r = arena_alloc(a, sizeof *r);
    if (!evaluate_stored(folder, a, r, e))
        return false;
    const struct result_estimate *x = &r->estimate;
    const struct quantity *lacking = !quantity_has_value(&x->fixed_j)       ? &x->fixed_j
                                     : !quantity_has_value(&x->e_request_j) ? &x->e_request_j
                                                                            : NULL;
    if (lacking)
        return err_set(e, ERR_REFUSED, "%s: no estimate, because %s is %s: %s.", folder,
                       lacking == &x->fixed_j ? "the energy of startup and release" : "the energy per request",
                       quantity_state_words(lacking), lacking->why ? lacking->why : "no reason was recorded");
    struct estimate *list = arena_array(a, requests->count, sizeof *list);
    for (size_t i = 0; i < requests->count; i++)
        list[i] = estimate_for(r, counts[i]);
    if (json) {
        put_json(list, requests->count, out);
    } else if (csv) {
        report_csv_header(out);
        for (size_t i = 0; i < requests->count; i++)
            report_csv_rows(&estimate_schema, &list[i], arena_format(a, "estimate.%lld", (long long)counts[i]), out);
    } else {
        put_text(r, list, requests->count, a, out);
    }
    return true;
}

int cmd_estimate(int argc, char **argv)
{
    struct wanted w = {.format = "text"};
    const struct arg options[] = {
        {"--requests", ARG_LIST, "N",
         "how many requests the service handles between start and release; may be given often", &w.requests, 'n'},
        {"--format", ARG_TEXT, "NAME", "text (default), json or csv", &w.format, 'f'},
    };
    const struct args_spec spec = {
        .command = "estimate",
        .operands = "RUN",
        .operands_min = 1,
        .operands_max = 1,
        .summary = "Estimates the lifecycle energy of a service that is started once, handles N requests like the "
                   "run's, and is stopped: "
                   "E(N) = E(startup) + N e + E(release).",
        .more = "e is the steady-state energy of a request; where no steady state was reached, the formal stage's "
                "energy over\n"
                "its requests, and the output says so.",
        .example = "jtok estimate runs/20261130T010000Z-llama-8b --requests 1000 --requests 1000000",
        .options = options,
        .option_count = sizeof options / sizeof *options,
    };
    return show_command(&spec, argc, argv, estimate, &w);
}
