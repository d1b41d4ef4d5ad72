#include "analysis/gate.h"
#include "schema/table.h"
#include "base/must.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *const gate_change_names[] = {"rise", "fall", NULL};
const char *const gate_outcome_names[] = {"undecided", "passed", "failed", "refused", NULL};

const struct compare_metric *gate_metric(const char *key)
{
    must(key);
    for (size_t i = 0; i < COMPARE_METRICS; i++)
        if (strcmp(compare_metrics[i].key, key) == 0)
            return &compare_metrics[i];
    return NULL;
}

static const struct comparison_row *gate_row(const struct gate *g)
{
    for (size_t i = 0; i < g->comparison.row_count; i++)
        if (strcmp(g->comparison.rows[i].key, g->metric) == 0)
            return &g->comparison.rows[i];
    return NULL;
}

/* The interval of b / a. */
static void find_interval(struct gate *g, const struct comparison_row *r, double *low, double *high)
{
    size_t n = g->comparison.a_count, m = g->comparison.b_count;
    if (n >= COMPARE_DECIDES && m >= COMPARE_DECIDES) {
        *low = r->between.low;
        *high = r->between.high;
        g->interval = "Welch's 95 % interval between runs";
    } else if (!isnan(g->spread)) {
        double factor = sample_exp(2 * g->spread * sqrt(1 / (double)n + 1 / (double)m));
        *low = r->ratio.value / factor;
        *high = r->ratio.value * factor;
        g->interval = "the spread that was stated, times 2 sqrt(1/n + 1/m)";
    }
}

static const char *percent(double share, struct arena *a)
{
    assert(!isnan(share));
    return arena_format(a, "%+.2f %%", 100 * share);
}

void gate_judge(struct gate *g, struct arena *a)
{
    must(g->metric);
    const double none = __builtin_nan("");
    g->value = g->low = g->high = none;
    g->interval = NULL;
    g->outcome = GATE_UNDECIDED;
    const struct comparison_row *r = gate_row(g);
    if (!r) {
        g->outcome = GATE_REFUSED;
        g->why = "The runs may not be compared.";
        return;
    }
    if (r->why || r->ratio.state != Q_MEASURED) {
        g->why = arena_format(a, "The metric is not compared, because %s.", r->why ? r->why : r->ratio.why);
        return;
    }
    double low = none, high = none;
    find_interval(g, r, &low, &high);
    bool rise = g->change == GATE_RISE;
    g->value = rise ? r->ratio.value - 1 : 1 - r->ratio.value;
    g->low = rise ? low - 1 : 1 - high;
    g->high = rise ? high - 1 : 1 - low;
    const char *limit = percent(g->limit, a);
    if (isnan(g->low)) {
        g->why = arena_format(a,
                              "Under %d runs a side, and no spread between runs is stated: the difference of these "
                              "runs says nothing about the set-ups.",
                              COMPARE_DECIDES);
    } else if (g->high < g->limit) {
        g->outcome = GATE_PASSED;
        g->why = arena_format(a, "The upper end, %s, is under the limit of %s.", percent(g->high, a), limit);
    } else if (g->low > g->limit) {
        g->outcome = GATE_FAILED;
        g->why = arena_format(a, "The lower end, %s, is over the limit of %s.", percent(g->low, a), limit);
    } else {
        g->why = arena_format(a, "The limit of %s lies between the ends, %s and %s: take more runs of both.", limit,
                              percent(g->low, a), percent(g->high, a));
    }
}

/* ---- as a document ---- */

static const struct field gate_fields[] = {
    ENUM(gate, outcome, gate_outcome, "What came out."),
    TEXT(gate, metric, "Key of the metric, named beforehand."),
    ENUM(gate, change, gate_change, "What is limited: its rise or its fall."),
    F64(gate, limit, "The limit, as a share of the base."),
    F64(gate, spread, "Spread between runs that was stated (k = 1), as a share; null: none."),
    F64(gate, value, "The rise or fall, as a share; null: not compared."),
    F64(gate, low, "Lower end of its interval; null: there is none."),
    F64(gate, high, "Upper end."),
    TEXT(gate, interval, "Which interval it is."),
    TEXT(gate, why, "Why this came out."),
    OBJECT(gate, comparison, comparison, "The comparison behind it: a is the base, b the candidate."),
};
const struct schema gate_schema = SCHEMA(gate, "One metric of a candidate against a base, and a limit.");
