#include "analysis/gate.h"
#include "schema/table.h"
#include "base/must.h"
#include "base/num.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *const gate_change_names[] = {"rise", "fall", NULL};
const char *const gate_outcome_names[] = {"undecided", "passed", "failed", "refused", NULL};

static const struct compare_metric *metric_in(const struct compare_metric *list, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].key, key) == 0)
            return &list[i];
    return NULL;
}

const struct compare_metric *gate_metric(const char *key)
{
    must(key);
    const struct compare_metric *m = metric_in(compare_metrics, COMPARE_METRICS, key);
    return m ? m : metric_in(compare_load_metrics, COMPARE_LOAD_METRICS, key);
}

/* ---- which value ---- */

static const struct comparison_row *row_in(const struct comparison_row *rows, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].key, key) == 0)
            return &rows[i];
    return NULL;
}

/* Does the text name this load? As its number, or as --loads would: "concurrency=64" is "concurrency 64, for 60 s", and
 * "rate=4" is "rate 4/s, poisson". */
static bool is_load_named(const struct compared_load *l, const char *name)
{
    int64_t number;
    if (num_i64(span_of(name), &number))
        return number == l->number;
    size_t i = 0;
    for (; name[i]; i++)
        if (l->setting[i] != (name[i] == '=' ? ' ' : name[i]))
            return false;
    return !l->setting[i] || l->setting[i] == ',' || strncmp(l->setting + i, "/s", 2) == 0;
}

static const char *loads_text(const struct comparison *c, struct arena *a)
{
    const char *text = NULL;
    for (size_t i = 0; i < c->load_count; i++)
        text = arena_join(a, text, ", ",
                          arena_format(a, "%lld is \"%s\"", (long long)c->loads[i].number, c->loads[i].setting));
    return text;
}

/* The load that the rule means; null, and why not, where it is not one. */
static const struct compared_load *load_to_judge(struct gate *g, struct arena *a)
{
    const struct comparison *c = &g->comparison;
    const struct compared_load *found = NULL;
    size_t named = 0;
    for (size_t i = 0; i < c->load_count; i++)
        if (!g->load || is_load_named(&c->loads[i], g->load)) {
            found = &c->loads[i];
            named++;
        }
    if (named == 1)
        return found;
    g->why = g->load ? arena_format(a, "--load %s names %s of the loads that both sides have: %s.", g->load,
                                    named ? "several" : "none", loads_text(c, a))
                     : arena_format(a, "The runs have several loads; name one with --load: %s.", loads_text(c, a));
    return NULL;
}

/* The row that the rule names; null, and why, where there is none. */
static const struct comparison_row *gate_row(struct gate *g, struct arena *a)
{
    const struct comparison *c = &g->comparison;
    const struct comparison_row *row;
    if (c->reasons.count) {
        g->why = "The runs may not be compared.";
        return NULL;
    }
    if (!c->load_count) {
        row = g->load ? NULL : row_in(c->rows, c->row_count, g->metric);
        g->why = g->load ? "Formal runs have one burst and no list of loads: leave out --load."
                         : arena_format(a, "Formal runs have no metric %s, which is one of a load.", g->metric);
        return row;
    }
    const struct compared_load *l = load_to_judge(g, a);
    if (!l)
        return NULL;
    row = row_in(l->rows, l->row_count, g->metric);
    g->why = l->why ? arena_format(a, "The load is not compared, because %s.", l->why)
                    : arena_format(a, "These runs have no metric %s.", g->metric);
    return row;
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
    const struct comparison_row *r = gate_row(g, a);
    if (!r) {
        g->outcome = GATE_REFUSED;
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
    TEXT(gate, load, "Of runs with loads: which one; null: the only one.", FLAGS(FIELD_OMIT_ABSENT)),
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
