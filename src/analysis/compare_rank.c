#include "analysis/compare_rank.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "analysis/order.h"
#include "base/sort.h"
#include "schema/table.h"
#include "base/must.h"

const char *const size_group_names[] = {"unknown", "up to 50e9", "above 50e9, below 200e9", "from 200e9", NULL};

enum size_group size_group_of(double total_parameters)
{
    if (!(total_parameters > 0))
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
    must(n == 0 || values);
    return n ? order_quantile(sorted_copy(values, n, a), n, 0.5) : __builtin_nan("");
}

/* Number of sorted values below `x`, or up to and with it. */
static size_t place_in(const double *sorted, size_t n, double x, bool with)
{
    assert(n > 0);
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
    must(n == 0 || (values && ret_ranks));
    const double *sorted = sorted_copy(values, n, a);
    for (size_t i = 0; i < n; i++) {
        size_t below = place_in(sorted, n, values[i], false), upto = place_in(sorted, n, values[i], true);
        ret_ranks[i] = (double)(below + 1 + upto) / 2;
    }
}

double rank_spearman(const double *x, const double *y, size_t n, struct arena *a)
{
    must(n == 0 || (x && y));
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

/* Why an entry or a run with these values is in no median; null: it is. */
static const char *drop_reason(const struct quantity *steady, const struct quantity *lifecycle, struct arena *a)
{
    bool has = usable(steady);
    const struct quantity *q = has ? lifecycle : steady;
    if (has && usable(q))
        return NULL;
    return arena_format(a, "no %s value%s%s", has ? "full-lifecycle" : "steady-state", q->why ? ": " : "",
                        q->why ? q->why : "");
}

/* The ranks of `values`, which NaN leaves without one. */
static void rank_column(const double *values, size_t n, struct arena *a, double *ret_ranks)
{
    assert(n == 0 || (values && ret_ranks));
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

static double rank_of(const struct ranking_entry *m)
{
    return isnan(m->lifecycle_rank) ? INFINITY : m->lifecycle_rank;
}

static bool before_entry(const void *x, const void *y)
{
    const struct ranking_entry *a = x, *b = y;
    return rank_of(a) != rank_of(b) ? rank_of(a) < rank_of(b) : strcmp(a->model, b->model) < 0;
}

struct rank_figures rank_figures_of(const struct ranking_entry *entries, size_t n, struct arena *a)
{
    must(n == 0 || entries);
    struct rank_figures f = {0};
    double *steady = arena_array(a, n, sizeof *steady), *lifecycle = arena_array(a, n, sizeof *lifecycle);
    for (size_t i = 0; i < n; i++)
        if (entries[i].n && usable(&entries[i].steady) && usable(&entries[i].lifecycle)) {
            steady[f.n] = entries[i].steady.value;
            lifecycle[f.n++] = entries[i].lifecycle.value;
        }
    f.median_steady = rank_median(steady, (size_t)f.n, a);
    f.median_lifecycle = rank_median(lifecycle, (size_t)f.n, a);
    f.ratio = f.median_lifecycle / f.median_steady;
    f.rho = rank_spearman(steady, lifecycle, (size_t)f.n, a);
    return f;
}

void rank_models(struct ranking *k, struct arena *a)
{
    const double none = __builtin_nan("");
    size_t count = k->count;
    bool known = k->group != GROUP_UNKNOWN;
    double *steady = arena_array(a, count, sizeof *steady), *lifecycle = arena_array(a, count, sizeof *lifecycle),
           *ranks = arena_array(a, 2 * count, sizeof *ranks);
    for (size_t i = 0; i < count; i++) {
        const struct ranking_entry *m = &k->entries[i];
        steady[i] = known && m->n && usable(&m->steady) ? m->steady.value : none;
        lifecycle[i] = known && m->n && usable(&m->lifecycle) ? m->lifecycle.value : none;
    }
    rank_column(steady, count, a, ranks);
    rank_column(lifecycle, count, a, ranks + count);
    for (size_t i = 0; i < count; i++) {
        struct ranking_entry *m = &k->entries[i];
        m->steady_rank = ranks[i];
        m->lifecycle_rank = ranks[count + i];
        if (!m->why)
            m->why = drop_reason(&m->steady, &m->lifecycle, a);
        if (!m->why && !known)
            m->why = "its total parameters are unknown, so it has no rank";
    }
    k->figures = rank_figures_of(k->entries, known ? count : 0, a);
    sort_stable(k->entries, count, sizeof *k->entries, before_entry);
}

/* ---- runs ---- */

static const char *text_or_none(const char *text)
{
    return text ? text : "not stated";
}

struct ranker {
    const struct compare_run *runs;
    size_t count;
    struct arena *a;
    struct ranked_runs *out;
    struct ranking_entry *entries;
    size_t entry_count;
};

static bool same_subject(const struct result *x, const struct result *y)
{
    return strcmp(text_or_none(x->about.model), text_or_none(y->about.model)) == 0 &&
           strcmp(text_or_none(x->about.engine), text_or_none(y->about.engine)) == 0 &&
           strcmp(text_or_none(x->about.thinking), text_or_none(y->about.thinking)) == 0;
}

static const struct compare_run *first_formal(const struct ranker *k)
{
    for (size_t i = 0; i < k->count; i++)
        if (k->runs[i].result->formal)
            return &k->runs[i];
    return NULL;
}

/* What is not formal is only listed, so it need not be alike. */
static void want_conditions(struct ranker *k)
{
    const struct compare_run *first = first_formal(k);
    for (size_t i = 0; i < k->count; i++) {
        const struct compare_run *r = &k->runs[i];
        struct findings f = {0};
        if (!r->result->formal || r == first)
            continue;
        compare_conditions(first, r, k->a, &f);
        for (size_t n = 0; n < f.reasons.count; n++)
            sentences_add(&k->out->reasons, k->a,
                          arena_format(k->a, "Runs %s and %s: %s", compare_id(first->result), compare_id(r->result),
                                       f.reasons.items[n]));
        for (size_t n = 0; n < f.notes.count; n++)
            sentences_add(&k->out->notes, k->a, f.notes.items[n]);
    }
}

/* Several formal runs of one model on one engine stand for one, as their mean. */
static void want_repetitions(struct ranker *k)
{
    for (size_t i = 0; i < k->count; i++) {
        const struct result *r = k->runs[i].result;
        struct findings f = {0};
        for (size_t j = 0; j < i; j++) {
            if (compare_same_run(&k->runs[i], &k->runs[j]))
                sentences_add(&f.reasons, k->a, arena_format(k->a, "It is the same run twice: %s.", r->about.run_id));
        }
        for (size_t j = 0; r->formal && j < i; j++)
            if (k->runs[j].result->formal && same_subject(k->runs[j].result, r)) {
                compare_repetition(&k->runs[j], &k->runs[i], k->a, &f);
                break;
            }
        for (size_t n = 0; n < f.reasons.count; n++)
            sentences_add(&k->out->reasons, k->a, f.reasons.items[n]);
        for (size_t n = 0; n < f.notes.count; n++)
            sentences_add(&k->out->notes, k->a, f.notes.items[n]);
    }
}

/* Statuses by which a server says that it can't do what is asked, whoever asks and whenever. */
static bool is_unsupported(int64_t status)
{
    return status == 400 || status == 404 || status == 405 || status == 415 || status == 422 || status == 501;
}

static const char *not_formal_reason(const struct result *r, struct arena *a)
{
    const struct result_load *l = &r->load;
    if (l->requests > 0 && l->successful == 0 && l->failure_count == 1 &&
        l->failures[0].verdict == VERDICT_HTTP_STATUS && is_unsupported(l->failures[0].status))
        return arena_format(a, "not applicable: the engine refused every request with HTTP %lld%s%s",
                            (long long)l->failures[0].status, l->failures[0].detail ? ": " : "",
                            l->failures[0].detail ? l->failures[0].detail : "");
    const char *excluded = compare_not_formal(r, a);
    return excluded ? arena_format(a, "not formal: %s", excluded) : NULL;
}

static void drop(struct ranker *k, const struct result *r, const char *why)
{
    assert(why);
    k->out->dropped[k->out->dropped_count++] =
        (struct ranking_drop){r->about.run_id, text_or_none(r->about.model), why};
}

/* Mean of one value over the runs of an entry, with the mean of their doubts. Absent as in the first run where none
 * has it. */
static struct quantity mean_over(const struct result *const *runs, size_t n, bool lifecycle)
{
    assert(n > 0);
    struct quantity mean = quantity_of(0);
    mean.instrument = mean.calibration = 0;
    size_t has = 0;
    for (size_t i = 0; i < n; i++) {
        const struct result_metrics *m = &runs[i]->metrics;
        const struct quantity *q = lifecycle ? &m->lifecycle_j_per_token : &m->steady_j_per_token;
        if (!usable(q))
            continue;
        has++;
        mean.value += q->value;
        mean.instrument += q->instrument;
        mean.calibration += q->calibration;
    }
    if (!has)
        return lifecycle ? runs[0]->metrics.lifecycle_j_per_token : runs[0]->metrics.steady_j_per_token;
    mean.value /= (double)has;
    mean.instrument /= (double)has;
    mean.calibration /= (double)has;
    return mean;
}

/* All runs of the model and engine of run `first`. Those with both values make the mean; only where there is none,
 * those with one. */
static void add_entry(struct ranker *k, size_t first)
{
    const struct result *head = k->runs[first].result;
    const struct result **formal = arena_array(k->a, k->count, sizeof *formal),
                        **both = arena_array(k->a, k->count, sizeof *both);
    const char **ids = arena_array(k->a, k->count, sizeof *ids), *excluded = NULL;
    size_t n = 0, whole = 0, all = 0;
    for (size_t i = first; i < k->count; i++) {
        const struct result *r = k->runs[i].result;
        if (!same_subject(head, r))
            continue;
        const char *why = r->formal
                              ? drop_reason(&r->metrics.steady_j_per_token, &r->metrics.lifecycle_j_per_token, k->a)
                              : not_formal_reason(r, k->a);
        ids[all++] = r->about.run_id;
        if (r->formal)
            formal[n++] = r;
        else
            excluded = excluded ? excluded : why;
        if (why)
            drop(k, r, why);
        else
            both[whole++] = r;
    }
    const struct result **used = whole ? both : formal;
    size_t count = whole ? whole : n;
    struct ranking_entry *e = &k->entries[k->entry_count++];
    *e = (struct ranking_entry){.ids = ids,
                                .id_count = count ? count : all,
                                .model = text_or_none(head->about.model),
                                .thinking = head->about.thinking,
                                .total_parameters = head->about.total_parameters,
                                .n = (int64_t)count,
                                .why = count ? NULL : excluded};
    for (size_t i = 0; i < count; i++)
        ids[i] = used[i]->about.run_id;
    const struct result *shown = count ? used[0] : head;
    e->engine = shown->about.engine_version
                    ? arena_format(k->a, "%s %s", text_or_none(shown->about.engine), shown->about.engine_version)
                    : text_or_none(shown->about.engine);
    e->total_parameters = shown->about.total_parameters;
    e->steady = count ? mean_over(used, count, false) : head->metrics.steady_j_per_token;
    e->lifecycle = count ? mean_over(used, count, true) : head->metrics.lifecycle_j_per_token;
}

static void make_entries(struct ranker *k)
{
    k->entries = arena_array(k->a, k->count, sizeof *k->entries);
    for (size_t i = 0; i < k->count; i++) {
        size_t j = 0;
        while (j < i && !same_subject(k->runs[i].result, k->runs[j].result))
            j++;
        if (j == i)
            add_entry(k, i);
    }
}

static void make_groups(struct ranker *k)
{
    static const enum size_group order[] = {GROUP_SMALL, GROUP_MEDIUM, GROUP_LARGE, GROUP_UNKNOWN};
    struct ranked_runs *out = k->out;
    out->groups = arena_array(k->a, SCHEMA_COUNT(order), sizeof *out->groups);
    for (size_t g = 0; g < SCHEMA_COUNT(order); g++) {
        struct ranking *r = &out->groups[out->group_count];
        *r = (struct ranking){.group = order[g], .entries = arena_array(k->a, k->entry_count, sizeof *r->entries)};
        for (size_t i = 0; i < k->entry_count; i++)
            if (size_group_of(k->entries[i].total_parameters) == order[g])
                r->entries[r->count++] = k->entries[i];
        if (!r->count)
            continue;
        rank_models(r, k->a);
        for (size_t i = 0; i < r->count; i++)
            out->ranked += !isnan(r->entries[i].lifecycle_rank) || !isnan(r->entries[i].steady_rank);
        out->group_count++;
    }
}

void rank_runs(const struct compare_run *runs, size_t n, struct arena *a, struct ranked_runs *ret)
{
    must(n == 0 || runs);
    *ret = (struct ranked_runs){.caveat = "Grouping does not imply equal computation.",
                                .dropped = arena_array(a, n, sizeof *ret->dropped)};
    struct ranker k = {.runs = runs, .count = n, .a = a, .out = ret};
    const struct compare_run *first = first_formal(&k);
    const struct result *shown = first ? first->result : runs[0].result;
    ret->scenario = shown->about.scenario;
    ret->hardware = result_gpus_text(shown, a);
    ret->simulated = shown->about.simulated;
    ret->all = rank_figures_of(NULL, 0, a);
    want_conditions(&k);
    want_repetitions(&k);
    if (ret->reasons.count)
        return;
    make_entries(&k);
    ret->all = rank_figures_of(k.entries, k.entry_count, a);
    make_groups(&k);
}

/* ---- as a document ---- */

static const struct field ranking_entry_fields[] = {
    TEXTS_AS("runs", ranking_entry, ids, id_count, "The runs in the mean; of a model without a formal run, its runs."),
    TEXT(ranking_entry, model, "Its model."),
    TEXT(ranking_entry, thinking, "What was asked of a model that thinks; null: nothing.", FLAGS(FIELD_OMIT_ABSENT)),
    TEXT(ranking_entry, engine, "Engine and version."),
    F64(ranking_entry, total_parameters, "Of the model; null: unknown."),
    I64(ranking_entry, n, "Runs in the mean; 0: none is formal."),
    F64(ranking_entry, lifecycle_rank,
        "By full-lifecycle energy, from 1; ties share a place; null: not formal, no value, or size unknown."),
    QUANTITY_AS("lifecycle_j_per_token", ranking_entry, lifecycle, "Full-lifecycle energy, mean.", UNIT("J/token")),
    F64(ranking_entry, steady_rank, "By steady-state energy, likewise."),
    QUANTITY_AS("steady_j_per_token", ranking_entry, steady, "Steady-state energy, mean.", UNIT("J/token")),
    TEXT(ranking_entry, why, "Why it has no rank or is in no median; null: neither."),
};
static const struct schema ranking_entry_schema = SCHEMA(ranking_entry, "One model on one engine.");

static const struct field rank_figures_fields[] = {
    I64(rank_figures, n, "Models with both values."),
    F64(rank_figures, median_lifecycle, "Median over these n.", UNIT("J/token")),
    F64(rank_figures, median_steady, "Median over these n.", UNIT("J/token")),
    F64(rank_figures, ratio, "Median of the full lifecycle over median of the steady state."),
    F64(rank_figures, rho, "Spearman's rho between the two orders; null where n is below 2, or all of one order tie."),
};
static const struct schema rank_figures_schema = SCHEMA(rank_figures, "Figures over several models.");

static const struct field ranking_fields[] = {
    ENUM(ranking, group, size_group, "Size group, by total parameters.", FLAGS(FIELD_NAMES_ITEM)),
    I64_AS("n", ranking, figures.n, "Models with both values."),
    F64_AS("median_lifecycle", ranking, figures.median_lifecycle, "Median over these n.", UNIT("J/token")),
    F64_AS("median_steady", ranking, figures.median_steady, "Median over these n.", UNIT("J/token")),
    F64_AS("ratio", ranking, figures.ratio, "Median of the full lifecycle over median of the steady state."),
    F64_AS("rho", ranking, figures.rho,
           "Spearman's rho between the two orders; null where n is below 2, or all of one order tie."),
    OBJECTS_AS("models", ranking, entries, count, ranking_entry, "By full-lifecycle rank; those without one last."),
};
static const struct schema ranking_schema = SCHEMA(ranking, "The models of one size group.");

static const struct field ranking_drop_fields[] = {
    TEXT_AS("run", ranking_drop, run_id, "The run."),
    TEXT(ranking_drop, model, "Its model."),
    TEXT(ranking_drop, why, "Why it is in no median."),
};
static const struct schema ranking_drop_schema = SCHEMA(ranking_drop, "A run that is in no median.");

static const struct field ranked_runs_fields[] = {
    TEXT(ranked_runs, scenario, "Scenario of all runs."),
    TEXT(ranked_runs, hardware, "GPUs of all runs."),
    BOOL(ranked_runs, simulated, "The runs are simulated."),
    TEXTS_AS("reasons", ranked_runs, reasons.items, reasons.count, "Why they are not ranked; empty: they are."),
    TEXTS_AS("notes", ranked_runs, notes.items, notes.count, "What a reader must know."),
    TEXT(ranked_runs, caveat, "Holds for every ranking."),
    I64(ranked_runs, ranked, "Models with a rank."),
    OBJECT(ranked_runs, all, rank_figures, "Over all models of the scenario, those of unknown size too."),
    OBJECTS(ranked_runs, groups, group_count, ranking, "The size groups that have runs; none where refused."),
    OBJECTS(ranked_runs, dropped, dropped_count, ranking_drop, "Runs that are in no median."),
};
const struct schema ranked_runs_schema = {.name = "ranking",
                                          .size = sizeof(struct ranked_runs),
                                          .fields = ranked_runs_fields,
                                          .count = SCHEMA_COUNT(ranked_runs_fields),
                                          .doc = "Models ranked by energy per output token."};
