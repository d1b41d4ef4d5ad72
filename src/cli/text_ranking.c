#include "cli/texts.h"

#include <math.h>
#include "base/utf8.h"
#include "cli/show.h"
#include "cli/sides.h"
#include "report/number.h"
#include "report/table.h"

static const char *rank_text(struct arena *a, double rank)
{
    return isnan(rank) ? "-" : arena_format(a, "%g", rank);
}

static const char *parameters_text(struct arena *a, double n)
{
    return isnan(n) ? "not stated" : arena_format(a, "%s B", number_text(a, n / 1e9, 3));
}

static void put_figures(const char *over, const struct rank_figures *f, struct arena *a, struct buf *out)
{
    if (!f->n)
        return;
    const char *medians =
        arena_format(a, "Medians over %s, n = %lld: full lifecycle %s, steady state %s J/token, ratio %s.", over,
                     (long long)f->n, number_text(a, f->median_lifecycle, NUMBER_DIGITS),
                     number_text(a, f->median_steady, NUMBER_DIGITS), number_text(a, f->ratio, 4));
    show_item(isnan(f->rho) ? medians : arena_format(a, "%s Spearman's rho between the orders: %.3f.", medians, f->rho),
              out);
}

static void put_group(const struct ranking *k, const char *caveat, struct arena *a, struct buf *out)
{
    static const char *const head[] = {"lifecycle", "J/token", "steady", "J/token",
                                       "n",         "model",   "engine", "parameters"};
    struct table t;
    table_init(&t, a, "rdrdrlll");
    for (size_t i = 0; i < SCHEMA_COUNT(head); i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < k->count; i++) {
        const struct ranking_entry *m = &k->entries[i];
        table_cell(&t, rank_text(a, m->lifecycle_rank));
        table_cell(&t, number_text_instrument(a, &m->lifecycle));
        table_cell(&t, rank_text(a, m->steady_rank));
        table_cell(&t, number_text_instrument(a, &m->steady));
        table_fmt(&t, "%lld", (long long)m->n);
        table_cell(&t, m->thinking ? arena_format(a, "%s, thinking %s", m->model, m->thinking) : m->model);
        table_cell(&t, m->engine);
        table_cell(&t, parameters_text(a, m->total_parameters));
    }
    buf_fmt(out, "\nTotal parameters: %s\n", size_group_names[k->group]);
    table_put(&t, out, 2);
    for (size_t i = 0; i < k->count; i++)
        if (k->entries[i].why)
            show_item(arena_format(a, "%s (%s): %s.", k->entries[i].model, k->entries[i].engine, k->entries[i].why),
                      out);
    put_figures("this group", &k->figures, a, out);
    buf_fmt(out, "  %s\n", caveat);
}

void text_ranking(const struct ranked_runs *k, struct arena *a, struct buf *out)
{
    buf_fmt(out, "Models by energy per output token%s: scenario %s on %s\n", k->simulated ? ", SIMULATED" : "",
            k->scenario ? utf8_line(a, k->scenario) : "not stated", utf8_line(a, k->hardware));
    if (k->reasons.count) {
        buf_str(out, "\nNot ranked, because the method does not allow it:\n");
        sides_put_items(&k->reasons, out);
        return;
    }
    if (!k->ranked)
        buf_str(out, "\nNo model has a rank, because none of the runs is formal, has a value and states the size of "
                     "its model.\n");
    for (size_t i = 0; i < k->group_count; i++)
        put_group(&k->groups[i], k->caveat, a, out);
    buf_str(out, "\nAll models of the scenario\n");
    put_figures("all models", &k->all, a, out);
    if (!k->all.n)
        show_item("No model has both values, so there are no medians.", out);
    for (size_t i = 0; i < k->dropped_count; i++)
        show_item(arena_format(a, "Left out of the medians: %s (%s): %s.",
                               k->dropped[i].run_id ? k->dropped[i].run_id : "without id", k->dropped[i].model,
                               k->dropped[i].why),
                  out);
    sides_put_items(&k->notes, out);
    buf_str(out, "\n± is the instrument's own uncertainty; n is the number of runs in a mean.\n");
}
