#include "analysis/compare.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/sort.h"
#include "model/limits.h"
#include "schema/table.h"
#include "schema/visit.h"
#include "base/must.h"

const char *const compare_verdict_names[] = {"none", "no_difference", "lower", "higher", NULL};

#define METRIC(key, name, unit, kind, member)                                                                          \
    {                                                                                                                  \
        key, name, unit, kind, #member                                                                                 \
    }
const struct compare_metric compare_metrics[COMPARE_METRICS] = {
    METRIC("steady_j_per_token", "steady-state energy", "J/token", METRIC_STEADY, metrics.steady_j_per_token),
    METRIC("lifecycle_j_per_token", "full-lifecycle energy", "J/token", METRIC_ENERGY, metrics.lifecycle_j_per_token),
    METRIC("formal_j_per_token", "formal-stage energy", "J/token", METRIC_ENERGY, metrics.formal_j_per_token),
    METRIC("saturated_j_per_token", "saturated energy", "J/token", METRIC_STEADY, metrics.saturated_j_per_token),
    METRIC("startup_j", "startup energy", "J", METRIC_ENERGY, metrics.startup_j),
    METRIC("release_j", "release energy", "J", METRIC_ENERGY, metrics.release_j),
    METRIC("j_per_request", "energy per request", "J", METRIC_ENERGY, metrics.j_per_request),
    METRIC("throughput_tok_s", "output throughput", "tok/s", METRIC_OTHER, metrics.throughput_tok_s),
    METRIC("formal_w", "average power, formal", "W", METRIC_ENERGY, metrics.formal_w),
    METRIC("steady_w", "average power, steady", "W", METRIC_STEADY, metrics.steady_w),
    METRIC("lifecycle_w", "average power, lifecycle", "W", METRIC_ENERGY, metrics.lifecycle_w),
    METRIC("ttft_p50_s", "TTFT P50", "s", METRIC_TTFT, load.ttft_s.p50),
    METRIC("ttft_p99_s", "TTFT P99", "s", METRIC_TTFT, load.ttft_s.p99),
    METRIC("tpot_p50_s", "TPOT P50", "s", METRIC_TPOT, load.tpot_s.p50),
    METRIC("tpot_p99_s", "TPOT P99", "s", METRIC_TPOT, load.tpot_s.p99),
};

struct side {
    const struct compare_run *runs;
    size_t count;
};

struct compare {
    struct side x, y;
    struct arena *a;
    struct comparison *out;
};

static const struct compare_run *all_at(const struct compare *c, size_t i)
{
    return i < c->x.count ? &c->x.runs[i] : &c->y.runs[i - c->x.count];
}

static const struct result *run_at(const struct compare *c, size_t i)
{
    return all_at(c, i)->result;
}

static size_t runs_of(const struct compare *c)
{
    return c->x.count + c->y.count;
}

static void note(struct compare *c, const char *text)
{
    assert(text);
    sentences_add(&c->out->notes, c->a, text);
}

/* ---- may they be compared? ---- */

static void take(struct compare *c, const struct findings *f)
{
    for (size_t i = 0; i < f->reasons.count; i++)
        sentences_add(&c->out->reasons, c->a, f->reasons.items[i]);
    for (size_t i = 0; i < f->notes.count; i++)
        note(c, f->notes.items[i]);
}

static void want_other_runs(struct compare *c)
{
    for (size_t i = 1; i < runs_of(c); i++)
        for (size_t j = 0; j < i; j++)
            if (compare_same_run(all_at(c, i), all_at(c, j)))
                sentences_add(&c->out->reasons, c->a,
                              arena_format(c->a, "It is the same run twice: %s.", compare_id(run_at(c, i))));
}

/* The first of each side as a pair; the others by being its repetitions, and by what each run has of its own. */
static void want_pair(struct compare *c)
{
    struct findings f = {0};
    want_other_runs(c);
    compare_pair(&c->x.runs[0], &c->y.runs[0], c->a, &f);
    const struct side *const sides[] = {&c->x, &c->y};
    for (int s = 0; s < 2; s++)
        for (size_t i = 1; i < sides[s]->count; i++) {
            const struct result *r = sides[s]->runs[i].result;
            const char *why = compare_not_formal(r, c->a);
            if (why)
                sentences_add(&f.reasons, c->a, arena_format(c->a, "Run %s is not formal: %s.", compare_id(r), why));
            compare_repetition(&sides[s]->runs[0], &sides[s]->runs[i], c->a, &f);
        }
    take(c, &f);
}

/* The two runs that are farthest apart. */
static void want_tokens(struct compare *c)
{
    struct quantity *worst = &c->out->tokens_difference;
    *worst = compare_tokens_difference(c->x.runs[0].result, c->y.runs[0].result);
    for (size_t i = 0; i < c->x.count; i++)
        for (size_t j = 0; j < c->y.count; j++) {
            struct quantity q = compare_tokens_difference(c->x.runs[i].result, c->y.runs[j].result);
            if (q.state != Q_MEASURED || (worst->state == Q_MEASURED && q.value > worst->value))
                *worst = q;
        }
    /* The first of both were looked at as a pair. */
    if (c->x.count == 1 && c->y.count == 1)
        return;
    if (worst->state != Q_MEASURED)
        sentences_add(&c->out->reasons, c->a, "A run has no output tokens.");
    else if (worst->value > METHOD_TOKENS_SHARE)
        sentences_add(
            &c->out->reasons, c->a,
            arena_format(c->a,
                         "The output tokens of two runs differ by %.1f %%; runs over 20 %% apart are not compared.",
                         100 * worst->value));
}

/* ---- in what order were they taken? ---- */

struct begun {
    int64_t t_ns;
    char side;
};

static bool before_begun(const void *x, const void *y)
{
    const struct begun *a = x, *b = y;
    return a->t_ns < b->t_ns;
}

static void find_order(struct compare *c)
{
    size_t n = runs_of(c);
    struct begun *begun = arena_array(c->a, n, sizeof *begun);
    for (size_t i = 0; i < n; i++) {
        const struct compare_run *r = all_at(c, i);
        if (!r->run || r->run->began_realtime_ns == ABSENT_I64)
            return;
        begun[i] = (struct begun){r->run->began_realtime_ns, i < c->x.count ? 'A' : 'B'};
    }
    sort_stable(begun, n, sizeof *begun, before_begun);
    char *order = arena_alloc(c->a, n + 1);
    for (size_t i = 0; i < n; i++)
        order[i] = begun[i].side;
    c->out->order = order;
    c->out->in_turn = compare_in_turn(order);
}

bool compare_in_turn(const char *order)
{
    must(order);
    int64_t places[2] = {0}, n[2] = {0};
    for (int64_t i = 0; order[i]; i++) {
        places[order[i] == 'B'] += i;
        n[order[i] == 'B']++;
    }
    if (!n[0] || !n[1])
        return false;
    /* |mean place of A - mean place of B| against half of (n + m) / 2, all times the two numbers. */
    int64_t apart = places[0] * n[1] - places[1] * n[0];
    return 4 * (apart < 0 ? -apart : apart) <= (n[0] + n[1]) * n[0] * n[1];
}

static void note_order(struct compare *c)
{
    const char *order = c->out->order;
    if (c->x.count < 2 || c->y.count < 2 || c->out->in_turn)
        return;
    if (!order) {
        note(c, "When the runs were taken is not recorded, so a drift of the machine can't be told from a difference.");
        return;
    }
    char first = order[0], last = first == 'A' ? 'B' : 'A';
    bool apart = strchr(order, last) > strrchr(order, first);
    note(c, arena_format(c->a,
                         "%s runs of %c came before those of %c (%s): a drift of the machine would look like a "
                         "difference. Take them in turn: A B B A.",
                         apart ? "All" : "Most", first, last, order));
}

/* ---- the rows ---- */

static double relative(double doubt, double value)
{
    assert(!(doubt < 0));
    return value != 0 ? fabs(doubt / value) : __builtin_nan("");
}

/* The larger one; NaN where either is. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static struct quantity difference_of(const struct comparison *out, const struct quantity *a, const struct quantity *b)
{
    assert(quantity_has_value(a) && quantity_has_value(b));
    struct quantity d = quantity_of(b->value - a->value);
    d.instrument = sqrt(a->instrument * a->instrument + b->instrument * b->instrument);
    double high = larger(relative(a->calibration, a->value), relative(b->calibration, b->value));
    d.calibration = out->same_boards ? fabs(d.value) * high : a->calibration + b->calibration;
    return d;
}

static struct quantity ratio_of(const struct comparison *out, double ratio, const struct quantity *a,
                                const struct quantity *b)
{
    if (isnan(ratio))
        return quantity_absent(Q_UNDEFINED, "a value is not above 0");
    struct quantity q = quantity_of(ratio);
    double ra = relative(a->instrument, a->value), rb = relative(b->instrument, b->value);
    q.instrument = ratio * sqrt(ra * ra + rb * rb);
    double sa = relative(a->calibration, a->value), sb = relative(b->calibration, b->value);
    /* NaN stays NaN: a value without a calibration has none in its ratio either. */
    q.calibration = out->same_boards ? 0 * (sa + sb) : ratio * (sa + sb);
    return q;
}

static const struct quantity *value_of(const struct result *r, const struct compare_metric *m)
{
    struct slot slot;
    bool there = slot_at(&result_schema, r, m->path, &slot);
    must(there && slot.type == FIELD_QUANTITY);
    return slot_quantity(&slot);
}

/* Why this run has no such value to compare, or null. */
static const char *run_fault(const struct result *r, const struct compare_metric *m, struct arena *a)
{
    bool latency = m->kind == METRIC_TTFT || m->kind == METRIC_TPOT;
    const struct quantity *q = value_of(r, m);
    if (m->kind == METRIC_STEADY && result_carries(r, FLAG_DELIVERY_LAG))
        return arena_format(a, "run %s has delivery lag", compare_id(r));
    if (latency && result_latency_fault(r))
        return arena_format(a, "run %s: %s", compare_id(r), result_latency_fault(r));
    if (q->state != Q_MEASURED || isnan(q->value))
        return arena_format(a, "run %s: %s", compare_id(r), q->why ? q->why : "not recorded");
    return NULL;
}

/* Mean over the runs of a side, with the mean of their doubts: what a reading is off by, all of them may be. */
static struct quantity side_mean(const struct side *s, const struct compare_metric *m, const struct sample *values)
{
    assert(s->count > 0);
    struct quantity q = quantity_of(values->mean);
    q.instrument = q.calibration = 0;
    for (size_t i = 0; i < s->count; i++) {
        q.instrument += value_of(s->runs[i].result, m)->instrument / (double)s->count;
        q.calibration += value_of(s->runs[i].result, m)->calibration / (double)s->count;
    }
    return q;
}

static double *values_of(const struct side *s, const struct compare_metric *m, struct arena *a)
{
    assert(s->count > 0);
    double *values = arena_array(a, s->count, sizeof *values);
    for (size_t i = 0; i < s->count; i++)
        values[i] = value_of(s->runs[i].result, m)->value;
    return values;
}

static enum compare_verdict verdict_of(const struct between_runs *b)
{
    assert(!(b->low > b->high));
    if (isnan(b->low))
        return COMPARED_NONE;
    return b->low > 1 ? COMPARED_HIGHER : b->high < 1 ? COMPARED_LOWER : COMPARED_ALIKE;
}

static void compare_values(struct compare *c, const struct compare_metric *m, struct comparison_row *r)
{
    size_t n = c->x.count, k = c->y.count;
    const double *x = values_of(&c->x, m, c->a), *y = values_of(&c->y, m, c->a);
    r->a_runs = sample_of(x, n);
    r->b_runs = sample_of(y, k);
    r->a = side_mean(&c->x, m, &r->a_runs);
    r->b = side_mean(&c->y, m, &r->b_runs);
    struct sample_ratio w = sample_ratio_of(x, n, y, k, c->a);
    r->difference = difference_of(c->out, &r->a, &r->b);
    r->ratio = ratio_of(c->out, w.ratio, &r->a, &r->b);
    r->between = (struct between_runs){.low = w.low,
                                       .high = w.high,
                                       .degrees = w.degrees ? w.degrees : ABSENT_I64,
                                       .p = sample_permutation(x, n, y, k, c->a),
                                       .p_least = sample_permutation_least(n, k)};
    if (n >= COMPARE_DECIDES && k >= COMPARE_DECIDES)
        r->verdict = verdict_of(&r->between);
    c->out->compared += r->verdict != COMPARED_NONE;
}

static void row(struct compare *c, const struct compare_metric *m, struct comparison_row *r)
{
    const double none = __builtin_nan("");
    *r = (struct comparison_row){.key = m->key, .metric = m->name, .unit = m->unit};
    for (size_t i = 0; i < runs_of(c) && !r->why; i++)
        r->why = run_fault(run_at(c, i), m, c->a);
    if (!r->why) {
        compare_values(c, m, r);
        return;
    }
    /* One run a side: its own value and state. */
    struct quantity absent = quantity_absent(Q_UNDEFINED, r->why);
    r->a = c->x.count == 1 ? *value_of(c->x.runs[0].result, m) : absent;
    r->b = c->y.count == 1 ? *value_of(c->y.runs[0].result, m) : absent;
    r->a_runs = r->b_runs = sample_of(NULL, 0);
    r->difference = r->ratio = absent;
    r->between = (struct between_runs){none, none, ABSENT_I64, none, none};
}

/* ---- notes ---- */

static void note_flag(struct compare *c, enum flag_code flag)
{
    assert(flag < FLAG_COUNT);
    const char *ids = NULL, *why = NULL;
    for (size_t i = 0; i < runs_of(c); i++) {
        const struct result *r = run_at(c, i);
        if (!result_carries(r, flag))
            continue;
        ids = ids ? arena_format(c->a, "%s, %s", ids, compare_id(r)) : compare_id(r);
        why = why ? why : r->flags[flag].why;
    }
    if (ids)
        note(c, arena_format(c->a, "Flagged %s: %s.%s%s", flag_code_names[flag], ids, why ? " " : "", why ? why : ""));
}

static void note_runs(struct compare *c)
{
    struct comparison *out = c->out;
    if (c->x.count == 1 && c->y.count == 1)
        note(c, "One run each: spread between runs unknown; no statement about the set-ups.");
    else if (c->x.count < COMPARE_DECIDES || c->y.count < COMPARE_DECIDES)
        note(c, arena_format(c->a, "Under %d runs a side: no statement about the set-ups.", COMPARE_DECIDES));
    note_order(c);
    double none_false = 1;
    for (int64_t i = 0; i < out->compared; i++)
        none_false *= 0.95;
    out->chance = 1 - none_false;
}

static void notes(struct compare *c)
{
    struct comparison *out = c->out;
    note_runs(c);
    for (int flag = 0; flag < FLAG_COUNT; flag++)
        if (flag != FLAG_SIMULATED && flag != FLAG_STEADY_NOT_REACHED)
            note_flag(c, (enum flag_code)flag);
    if (!out->same_boards)
        note(c, "The boards differ, so the calibration of both is in the ratios, too.");
    const struct compare_run *x = &c->x.runs[0], *y = &c->y.runs[0];
    if (x->plan && y->plan) {
        compare_differences(x, y, c->a, &out->differences, &out->notes);
        if (!out->differences.count)
            note(c, "Both sides have the same plan, but for what names a run or a place.");
    }
    if (x->result->about.simulated)
        note(c, "All runs are simulated.");
}

static const char **ids_of(const struct side *s, struct arena *a)
{
    const char **ids = arena_array(a, s->count, sizeof *ids);
    for (size_t i = 0; i < s->count; i++)
        ids[i] = s->runs[i].result->about.run_id;
    return ids;
}

void compare_sides(const struct compare_run *x, size_t n, const struct compare_run *y, size_t m, struct arena *a,
                   struct comparison *ret)
{
    must(n > 0 && m > 0);
    *ret = (struct comparison){.a_count = n, .b_count = m, .chance = __builtin_nan("")};
    struct compare c = {{x, n}, {y, m}, a, ret};
    ret->a_ids = ids_of(&c.x, a);
    ret->b_ids = ids_of(&c.y, a);
    want_pair(&c);
    want_tokens(&c);
    if (ret->reasons.count) {
        ret->notes.count = 0;
        return;
    }
    ret->same_boards = true;
    for (size_t i = 1; i < n + m; i++)
        ret->same_boards = ret->same_boards && compare_same_boards(run_at(&c, 0), run_at(&c, i));
    find_order(&c);
    ret->row_count = COMPARE_METRICS;
    ret->rows = arena_array(a, ret->row_count, sizeof *ret->rows);
    for (size_t i = 0; i < ret->row_count; i++)
        row(&c, &compare_metrics[i], &ret->rows[i]);
    notes(&c);
}

/* ---- as a document ---- */

static const struct field sample_fields[] = {
    I64(sample, n, "Runs."),
    F64(sample, mean, "Mean.", FLAGS(FIELD_UNIT_OF_OBJECT)),
    F64(sample, sd, "Sample standard deviation; null: one run.", FLAGS(FIELD_UNIT_OF_OBJECT)),
    F64(sample, low, "Lower end of Student's 95 % interval of the mean; null: one run.", FLAGS(FIELD_UNIT_OF_OBJECT)),
    F64(sample, high, "Upper end.", FLAGS(FIELD_UNIT_OF_OBJECT)),
};
static const struct schema sample_schema = SCHEMA(sample, "One metric over the runs of a side.");

static const struct field between_runs_fields[] = {
    F64(between_runs, low, "Lower end of Welch's 95 % interval of b / a; null: under two runs a side."),
    F64(between_runs, high, "Upper end."),
    I64(between_runs, degrees, "Degrees of freedom, by Welch and Satterthwaite, rounded down."),
    F64(between_runs, p, "Two-sided permutation test of the means; decides nothing."),
    F64(between_runs, p_least, "The least that p can be with so many runs."),
};
static const struct schema between_runs_schema = SCHEMA(between_runs, "The doubt between runs, of b / a.");

static const struct field comparison_row_fields[] = {
    TEXT(comparison_row, key, "Key of the metric; it stays the same in later versions.", FLAGS(FIELD_NAMES_ITEM)),
    TEXT(comparison_row, metric, "The same in English."),
    TEXT(comparison_row, unit, "Its unit."),
    QUANTITY(comparison_row, a, "Of the first side: mean over its runs.", FLAGS(FIELD_UNIT_OF_OBJECT)),
    QUANTITY(comparison_row, b, "Of the second side: mean over its runs.", FLAGS(FIELD_UNIT_OF_OBJECT)),
    OBJECT(comparison_row, a_runs, sample, "Spread of the first side."),
    OBJECT(comparison_row, b_runs, sample, "Spread of the second side."),
    QUANTITY(comparison_row, difference, "b - a.", FLAGS(FIELD_UNIT_OF_OBJECT)),
    QUANTITY(comparison_row, ratio, "b / a; with several runs, of the geometric means."),
    OBJECT_AS("between_runs", comparison_row, between, between_runs, "The doubt between runs."),
    ENUM(comparison_row, verdict, compare_verdict,
         "b against a, by Welch's interval from three runs a side on; none: fewer, or no value."),
    TEXT(comparison_row, why, "Why this metric is not compared; null: it is."),
};
static const struct schema comparison_row_schema = SCHEMA(comparison_row, "One metric of both sides.");

static const struct field plan_difference_fields[] = {
    TEXT(plan_difference, key, "Key of the plan, or environment.NAME.", FLAGS(FIELD_NAMES_ITEM)),
    TEXT(plan_difference, a, "Of the first side's first run."),
    TEXT(plan_difference, b, "Of the second side's first run."),
};
static const struct schema plan_difference_schema = SCHEMA(plan_difference, "One difference of the plans.");

static const struct field comparison_fields[] = {
    TEXTS_AS("a_runs", comparison, a_ids, a_count, "Runs of the first side."),
    TEXTS_AS("b_runs", comparison, b_ids, b_count, "Runs of the second side."),
    TEXTS_AS("reasons", comparison, reasons.items, reasons.count, "Why they are not compared; empty: they are."),
    TEXTS_AS("notes", comparison, notes.items, notes.count, "What a reader must know."),
    BOOL(comparison, same_boards, "Same GPUs by UUID: the calibration cancels in ratios."),
    QUANTITY(comparison, tokens_difference,
             "|T1 - T2| / max(T1, T2) of the output tokens, of the two runs farthest apart."),
    TEXT(comparison, order, "The runs in order of time, a letter each; null: not recorded."),
    BOOL(comparison, in_turn, "They were taken in turn, so that a drift of the machine cancels."),
    OBJECTS_AS("differences", comparison, differences.items, differences.count, plan_difference,
               "Where the plans of both sides differ."),
    I64(comparison, compared, "Metrics with a verdict."),
    F64(comparison, chance, "1 - 0.95^compared: of a false difference among them, at most."),
    OBJECTS(comparison, rows, row_count, comparison_row, "The metrics; none where refused."),
};
const struct schema comparison_schema = SCHEMA(comparison, "Two set-ups side by side.");
