#include "analysis/compare_rank.h"

#include <math.h>
#include <string.h>
#include "analysis/compare.h"
#include "analysis/order.h"

const char *const size_group_names[] = {"unknown", "up to 50e9", "above 50e9, below 200e9", "from 200e9", NULL};

enum size_group size_group_of(double total_parameters)
{
    if (isnan(total_parameters))
        return GROUP_UNKNOWN;
    return total_parameters <= 50e9 ? GROUP_SMALL : total_parameters < 200e9 ? GROUP_MEDIUM : GROUP_LARGE;
}

static double *sorted_copy(const double *values, size_t n, struct arena *a)
{
    double *copy = arena_array(a, n, sizeof *copy);
    if (n)
        memcpy(copy, values, n * sizeof *copy);
    order_sort_doubles(copy, n);
    return copy;
}

double rank_median(const double *values, size_t n, struct arena *a)
{
    return n ? order_quantile(sorted_copy(values, n, a), n, 0.5) : __builtin_nan("");
}

/* Number of sorted values below `x`, or up to and with it. */
static size_t place(const double *sorted, size_t n, double x, bool with)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < x || (with && sorted[middle] == x))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void rank_average(const double *values, size_t n, struct arena *a, double *ret_ranks)
{
    const double *sorted = sorted_copy(values, n, a);
    for (size_t i = 0; i < n; i++) {
        size_t below = place(sorted, n, values[i], false), upto = place(sorted, n, values[i], true);
        ret_ranks[i] = (double)(below + 1 + upto) / 2;
    }
}

double rank_spearman(const double *x, const double *y, size_t n, struct arena *a)
{
    double *rx = arena_array(a, n, sizeof *rx), *ry = arena_array(a, n, sizeof *ry);
    rank_average(x, n, a, rx);
    rank_average(y, n, a, ry);
    /* Average ranks are multiples of a half and their mean is (n + 1) / 2: the sums are exact. */
    double mean = (double)(n + 1) / 2, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        xx += (rx[i] - mean) * (rx[i] - mean);
        yy += (ry[i] - mean) * (ry[i] - mean);
        xy += (rx[i] - mean) * (ry[i] - mean);
    }
    return n < 2 || xx == 0 || yy == 0 ? __builtin_nan("") : xy / sqrt(xx * yy);
}

static bool usable(const struct quantity *q)
{
    return q->state == Q_MEASURED && !isnan(q->value);
}

static const char *drop_reason(const struct ranking_entry *m, struct arena *a)
{
    bool steady = usable(&m->steady);
    const struct quantity *q = steady ? &m->lifecycle : &m->steady;
    if (steady && usable(q))
        return NULL;
    return arena_format(a, "no %s value%s%s", steady ? "full-lifecycle" : "steady-state", q->why ? ": " : "",
                        q->why ? q->why : "");
}

/* The ranks of `values`, which NaN leaves without one. */
static void rank_column(const double *values, size_t n, struct arena *a, double *ret_ranks)
{
    double *known = arena_array(a, n, sizeof *known), *ranks = arena_array(a, n, sizeof *ranks);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i]))
            known[k++] = values[i];
    rank_average(known, k, a, ranks);
    k = 0;
    for (size_t i = 0; i < n; i++)
        ret_ranks[i] = isnan(values[i]) ? values[i] : ranks[k++];
}

static double place_of(const struct ranking_entry *m)
{
    return isnan(m->lifecycle_rank) ? INFINITY : m->lifecycle_rank;
}

static int by_place(const void *x, const void *y, const void *unused)
{
    const struct ranking_entry *a = x, *b = y;
    (void)unused;
    if (place_of(a) != place_of(b))
        return place_of(a) < place_of(b) ? -1 : 1;
    return strcmp(a->model, b->model);
}

void rank_models(struct ranking *k, struct arena *a)
{
    const double none = __builtin_nan("");
    size_t n = 0, count = k->count;
    double *steady = arena_array(a, count, sizeof *steady), *lifecycle = arena_array(a, count, sizeof *lifecycle),
           *ranks = arena_array(a, 2 * count, sizeof *ranks);
    for (size_t i = 0; i < count; i++) {
        const struct ranking_entry *m = &k->entries[i];
        steady[i] = !m->why && usable(&m->steady) ? m->steady.value : none;
        lifecycle[i] = !m->why && usable(&m->lifecycle) ? m->lifecycle.value : none;
    }
    rank_column(steady, count, a, ranks);
    rank_column(lifecycle, count, a, ranks + count);
    for (size_t i = 0; i < count; i++) {
        struct ranking_entry *m = &k->entries[i];
        m->steady_rank = ranks[i];
        m->lifecycle_rank = ranks[count + i];
        if (!m->why)
            m->why = drop_reason(m, a);
        if (m->why)
            continue;
        steady[n] = steady[i];
        lifecycle[n++] = lifecycle[i];
    }
    k->n = (int64_t)n;
    k->median_steady = rank_median(steady, n, a);
    k->median_lifecycle = rank_median(lifecycle, n, a);
    k->ratio = k->median_lifecycle / k->median_steady;
    k->rho = rank_spearman(steady, lifecycle, n, a);
    order_sort(k->entries, count, sizeof *k->entries, by_place, NULL);
}

/* ---- runs ---- */

enum { REASONS_MAX = 32 };

static void against(struct ranked_runs *k, const char *reason)
{
    if (k->reason_count < REASONS_MAX)
        k->reasons[k->reason_count++] = reason;
}

static const char *text_of(const char *text)
{
    return text ? text : "not stated";
}

static void want_conditions(struct ranked_runs *k, const struct result *first, const struct result *r, struct arena *a)
{
    struct comparison c;
    compare_conditions(first, r, a, &c);
    for (size_t i = 0; i < c.reason_count; i++)
        against(k, arena_format(a, "Runs %s and %s: %s", text_of(first->run_id), text_of(r->run_id), c.reasons[i]));
}

/* Repetitions of one model would count twice in the medians. */
static void want_one_run(struct ranked_runs *k, const struct result *runs, size_t i, struct arena *a)
{
    for (size_t j = 0; j < i; j++)
        if (runs[i].formal && runs[j].formal && strcmp(text_of(runs[i].model), text_of(runs[j].model)) == 0)
            against(k, arena_format(a, "Runs %s and %s are both of model %s: give one run of each model.",
                                    text_of(runs[j].run_id), text_of(runs[i].run_id), text_of(runs[i].model)));
}

static struct ranking_entry entry_of(const struct result *r, struct arena *a)
{
    const char *excluded = compare_not_formal(r, a);
    return (struct ranking_entry){.run_id = r->run_id,
                                  .model = text_of(r->model),
                                  .engine = r->engine_version
                                                ? arena_format(a, "%s %s", text_of(r->engine), r->engine_version)
                                                : text_of(r->engine),
                                  .total_parameters = r->total_parameters,
                                  .steady = r->metrics.steady_j_per_token,
                                  .lifecycle = r->metrics.lifecycle_j_per_token,
                                  .why = excluded ? arena_format(a, "not formal: %s", excluded) : NULL};
}

void rank_runs(const struct result *runs, size_t n, struct arena *a, struct ranked_runs *ret)
{
    static const int order[] = {GROUP_SMALL, GROUP_MEDIUM, GROUP_LARGE, GROUP_UNKNOWN};
    *ret = (struct ranked_runs){.reasons = arena_array(a, REASONS_MAX, sizeof *ret->reasons),
                                .scenario = runs[0].scenario,
                                .hardware = result_gpus_text(&runs[0], a),
                                .simulated = runs[0].simulated};
    for (size_t i = 1; i < n; i++) {
        want_conditions(ret, &runs[0], &runs[i], a);
        want_one_run(ret, runs, i, a);
    }
    if (ret->reason_count)
        return;
    ret->groups = arena_array(a, SCHEMA_COUNT(order), sizeof *ret->groups);
    for (size_t g = 0; g < SCHEMA_COUNT(order); g++) {
        struct ranking *k = &ret->groups[ret->group_count];
        *k = (struct ranking){.group = order[g], .entries = arena_array(a, n, sizeof *k->entries)};
        for (size_t i = 0; i < n; i++)
            if ((int)size_group_of(runs[i].total_parameters) == order[g])
                k->entries[k->count++] = entry_of(&runs[i], a);
        if (!k->count)
            continue;
        rank_models(k, a);
        ret->group_count++;
    }
}

/* ---- as a document ---- */

#define AT(member) .offset = offsetof(struct ranking_entry, member)
static const struct field entry_fields[] = {
    {"run", FIELD_TEXT, AT(run_id), .doc = "The run."},
    {"model", FIELD_TEXT, AT(model), .doc = "Its model."},
    {"engine", FIELD_TEXT, AT(engine), .doc = "Engine and version."},
    {"total_parameters", FIELD_F64, AT(total_parameters), .doc = "Of the model; null: not stated."},
    {"lifecycle_rank", FIELD_F64, AT(lifecycle_rank),
     .doc = "By full-lifecycle energy, from 1; ties share a place; null: not formal, or no value."},
    {"lifecycle_j_per_token", FIELD_QUANTITY, AT(lifecycle), .unit = "J/token", .doc = "Full-lifecycle energy."},
    {"steady_rank", FIELD_F64, AT(steady_rank), .doc = "By steady-state energy, likewise."},
    {"steady_j_per_token", FIELD_QUANTITY, AT(steady), .unit = "J/token", .doc = "Steady-state energy."},
    {"why", FIELD_TEXT, AT(why), .doc = "Why it is in no median and not in rho; null: it is."},
};
static const struct schema entry_schema = {"ranking_entry", sizeof(struct ranking_entry), entry_fields,
                                           SCHEMA_COUNT(entry_fields), "One model."};
#undef AT

#define AT(member)    .offset = offsetof(struct ranking, member)
#define COUNT(member) .count_offset = offsetof(struct ranking, member)
static const struct field ranking_fields[] = {
    {"group", FIELD_ENUM, AT(group), .names = size_group_names, .doc = "Size group, by total parameters."},
    {"n", FIELD_I64, AT(n), .doc = "Models with both values."},
    {"median_lifecycle", FIELD_F64, AT(median_lifecycle), .unit = "J/token", .doc = "Median over these n."},
    {"median_steady", FIELD_F64, AT(median_steady), .unit = "J/token", .doc = "Median over these n."},
    {"ratio", FIELD_F64, AT(ratio), .doc = "Median of the full lifecycle over median of the steady state."},
    {"rho", FIELD_F64, AT(rho),
     .doc = "Spearman's rho between the two orders; null where n is below 2, or all of one order tie."},
    {"models", FIELD_LIST, AT(entries), COUNT(count), .item = FIELD_OBJECT, .sub = &entry_schema,
     .doc = "By full-lifecycle rank; those without one last."},
};
static const struct schema ranking_schema = {"ranking", sizeof(struct ranking), ranking_fields,
                                             SCHEMA_COUNT(ranking_fields), "The models of one size group."};
#undef AT
#undef COUNT

#define AT(member)    .offset = offsetof(struct ranked_runs, member)
#define COUNT(member) .count_offset = offsetof(struct ranked_runs, member)
static const struct field ranked_runs_fields[] = {
    {"scenario", FIELD_TEXT, AT(scenario), .doc = "Scenario of all runs."},
    {"hardware", FIELD_TEXT, AT(hardware), .doc = "GPUs of all runs."},
    {"simulated", FIELD_BOOL, AT(simulated), .doc = "The runs are simulated."},
    {"reasons", FIELD_LIST, AT(reasons), COUNT(reason_count), .item = FIELD_TEXT,
     .doc = "Why they are not ranked; empty: they are."},
    {"groups", FIELD_LIST, AT(groups), COUNT(group_count), .item = FIELD_OBJECT, .sub = &ranking_schema,
     .doc = "The size groups that have runs; none where refused."},
};
const struct schema ranked_runs_schema = {"ranking", sizeof(struct ranked_runs), ranked_runs_fields,
                                          SCHEMA_COUNT(ranked_runs_fields),
                                          "Models ranked by energy per output token."};
