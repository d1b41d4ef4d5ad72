#include <math.h>
#include <string.h>
#include "analysis/gate.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/show.h"
#include "cli/sides.h"
#include "report/number.h"
#include "report/report.h"
#include "report/table.h"

struct gate_options {
    const char *metric, *rise, *fall, *spread, *format;
};

static bool known_metric(const char *key, struct arena *a, struct err *e)
{
    if (gate_metric(key))
        return true;
    const char *names[COMPARE_METRICS + 1] = {0}, *list = "";
    for (size_t i = 0; i < COMPARE_METRICS; i++) {
        names[i] = compare_metrics[i].key;
        list = arena_format(a, "%s%s%s", list, i ? ", " : "", names[i]);
    }
    const char *near = args_nearest(key, names);
    return err_set(e, ERR_USAGE, "gate: there is no metric \"%s\"%s%s%s Give one of %s.", key,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : ".", list);
}

/* "5%" as 0.05. A number without its sign might be meant either way. */
static bool read_percent(const char *option, const char *text, double *ret_share, struct err *e)
{
    size_t n = strlen(text);
    double percent;
    if (n < 2 || text[n - 1] != '%' || !num_f64((struct span){text, n - 1}, &percent))
        return err_set(e, ERR_USAGE, "gate: %s takes a percentage such as 5%%, not \"%s\".", option, text);
    *ret_share = percent / 100;
    return true;
}

static bool read_rule(const struct gate_options *o, struct arena *a, struct gate *ret_gate, struct err *e)
{
    struct gate g = {.metric = o->metric, .change = o->fall ? GATE_FALL : GATE_RISE, .spread = NAN};
    if (!o->metric)
        return err_set(e, ERR_USAGE,
                       "gate: --metric is missing: a gate names its one metric beforehand, such as "
                       "--metric formal_j_per_token.");
    if (!known_metric(o->metric, a, e))
        return false;
    if (!o->rise == !o->fall)
        return err_set(e, ERR_USAGE, "gate: give one limit, either --max-rise or --max-fall, such as --max-rise 5%%.");
    if (!read_percent(o->rise ? "--max-rise" : "--max-fall", o->rise ? o->rise : o->fall, &g.limit, e))
        return false;
    if (o->spread && !read_percent("--spread", o->spread, &g.spread, e))
        return false;
    if (o->spread && !(g.spread > 0))
        return err_set(e, ERR_USAGE, "gate: --spread takes a percentage above 0, not \"%s\": repeated runs do differ.",
                       o->spread);
    *ret_gate = g;
    return true;
}

static void put_text(const struct gate *g, const struct run_list *base, const struct run_list *candidate,
                     struct arena *a, struct buf *out)
{
    buf_fmt(out, "%s: %s may %s by at most %.4g %%\n", gate_outcome_names[g->outcome], g->metric,
            gate_change_names[g->change], 100 * g->limit);
    sides_put("A", base, a, out);
    sides_put("B", candidate, a, out);
    if (g->outcome == GATE_REFUSED) {
        sides_put_refusal(&g->comparison.reasons, out);
        return;
    }
    if (!isnan(g->value))
        show_item(arena_format(a, "%s of B against A: %+.2f %%", gate_change_names[g->change], 100 * g->value), out);
    if (g->interval)
        show_item(arena_format(a, "%+.2f to %+.2f %% by %s", 100 * g->low, 100 * g->high, g->interval), out);
    show_item(g->why, out);
    sides_put_items(&g->comparison.notes, out);
}

static int code_of(int outcome)
{
    static const int codes[] = {[GATE_UNDECIDED] = EXIT_UNDECIDED,
                                [GATE_PASSED] = EXIT_OK,
                                [GATE_FAILED] = EXIT_GATE_FAILED,
                                [GATE_REFUSED] = EXIT_REFUSED};
    return codes[outcome];
}

static bool judge(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code, struct err *e)
{
    const struct gate_options *o = self;
    struct gate g;
    struct run_list base, candidate;
    if (!show_knows(o->format, e) || !read_rule(o, a, &g, e) || !run_list_read_side(args->operands[0], a, &base, e) ||
        !run_list_read_side(args->operands[1], a, &candidate, e))
        return false;
    compare_sides(base.runs, base.count, candidate.runs, candidate.count, a, &g.comparison);
    gate_judge(&g, a);
    if (strcmp(o->format, "text") == 0)
        put_text(&g, &base, &candidate, a, out);
    else
        show_document(&gate_schema, &g, o->format, out);
    *ret_code = code_of(g.outcome);
    return true;
}

int cmd_gate(int argc, char **argv)
{
    struct gate_options o = {.format = "text"};
    const struct arg options[] = {
        {"--metric", ARG_TEXT, "KEY", "the one metric that is judged, by its key in `jtok compare`", &o.metric, 'm'},
        {"--max-rise", ARG_TEXT, "P%", "how far it may rise, in per cent of BASE", &o.rise, 0},
        {"--max-fall", ARG_TEXT, "P%", "how far it may fall (throughput_tok_s)", &o.fall, 0},
        {"--spread", ARG_TEXT, "S%",
         "standard deviation between runs, where it is known from elsewhere: under three runs a side the interval is "
         "then 2 S sqrt(1/n + 1/m) wide to each side",
         &o.spread, 0},
        {"--format", ARG_TEXT, "NAME", "text (default), json, csv or none", &o.format, 'f'},
    };
    const struct args_spec spec = {
        .command = "gate",
        .operands = "BASE CANDIDATE",
        .operands_min = 2,
        .operands_max = 2,
        .summary = "Passes or fails a candidate against a base by one metric and a limit, for scripts.",
        .more = "BASE and CANDIDATE are each one run folder, or several with commas between, as in `jtok compare`.\n"
                "passed: the upper end of the 95 % interval between runs is under the limit; failed: its lower end is\n"
                "over it; else undecided. Under three runs a side it is undecided, unless --spread states how far\n"
                "repeated runs differ.\n"
                "Exit code: 0 passed, 10 failed, 11 undecided; 2 the command is wrong, 7 a run's result can't be used, "
                "8 refused\n"
                "(the runs may not be compared).",
        .example = "jtok gate runs/old-1,runs/old-2,runs/old-3 runs/new-1,runs/new-2,runs/new-3 \\\n"
                   "    --metric formal_j_per_token --max-rise 5%\n"
                   "jtok gate runs/old runs/new --metric throughput_tok_s --max-fall 3% --spread 1.5%",
        .options = options,
        .option_count = sizeof options / sizeof *options,
    };
    return show_command(&spec, argc, argv, judge, &o);
}
