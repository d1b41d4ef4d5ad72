#include "analysis/compare.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/sort.h"
#include "model/limits.h"
#include "analysis/compare_load.h"
#include "schema/table.h"
#include "schema/visit.h"
#include "base/must.h"

const char *const compare_verdict_names[] = {"none", "no_difference", "lower", "higher", NULL};

#define METRIC(key, name, unit, kind, member)                                                                          \
    {                                                                                                                  \
        key, name, unit, kind, #member, 0                                                                              \
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

enum {
    OF_LIFE = 1 << OBJECT_LIFE,
    OF_WATCH = 1 << OBJECT_WATCH,
    OF_STAT = 1 << OBJECT_STAT,
    OF_LOADS = OF_LIFE | 1 << OBJECT_ATTACH, /* requests of jtok's own */
    OF_TOKENS = OF_LOADS | OF_WATCH
};
#define LOAD_METRIC(key, name, unit, kind, member, objects)                                                            \
    {                                                                                                                  \
        key, name, unit, kind, #member, objects                                                                        \
    }
const struct compare_metric compare_load_metrics[COMPARE_LOAD_METRICS] = {
    LOAD_METRIC("j_per_token", "energy per output token", "J/token", METRIC_ENERGY, j_per_token, OF_TOKENS),
    LOAD_METRIC("j_per_good_token", "energy per good token", "J/token", METRIC_GOOD, j_per_good_token, OF_LOADS),
    LOAD_METRIC("j_per_request", "energy per request", "J", METRIC_ENERGY, j_per_request, OF_LOADS),
    LOAD_METRIC("energy_j", "energy of the command", "J", METRIC_ENERGY, window.energy.headline, OF_STAT),
    LOAD_METRIC("duration_s", "duration", "s", METRIC_OTHER, window.duration_s, OF_STAT),
    LOAD_METRIC("average_w", "average power", "W", METRIC_ENERGY, window.average_w, OF_TOKENS | OF_STAT),
    LOAD_METRIC("throughput_tok_s", "output throughput", "tok/s", METRIC_OTHER, rates.output_tok_s, OF_TOKENS),
    LOAD_METRIC("throughput_req_s", "requests that ended well", "1/s", METRIC_OTHER, rates.request_s, OF_LOADS),
    LOAD_METRIC("in_flight", "mean requests in flight", "", METRIC_OTHER, flight.mean, OF_TOKENS),
    LOAD_METRIC("goodput_share", "good requests of those sent", "", METRIC_GOOD, goodput_share, OF_LOADS),
    LOAD_METRIC("ttft_p50_s", "TTFT P50", "s", METRIC_TTFT, times.ttft_s.p50, OF_LOADS),
    LOAD_METRIC("ttft_p99_s", "TTFT P99", "s", METRIC_TTFT, times.ttft_s.p99, OF_LOADS),
    LOAD_METRIC("tpot_p50_s", "TPOT P50", "s", METRIC_TPOT, times.tpot_s.p50, OF_LOADS),
    LOAD_METRIC("tpot_p99_s", "TPOT P99", "s", METRIC_TPOT, times.tpot_s.p99, OF_LOADS),
};

struct side {
    const struct compare_run *runs;
    size_t count;
};

struct compare {
    struct side x, y;
    struct arena *a;
    struct comparison *out;
    int64_t at_x, at_y; /* the point of each side's runs that is looked at; WHOLE_RUN: the run itself; -1: none */
};
enum { WHOLE_RUN = -2 };

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

/* Of runs that are not a life under one burst: bits of 1 << enum run_object. */
static int objects_of(const struct compare *c)
{
    int objects = 0;
    for (size_t i = 0; i < runs_of(c); i++)
        if (result_has_loads(run_at(c, i)))
            objects |= 1 << run_at(c, i)->loads.object;
    return objects;
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
    if (!ENUM_ABSENT(c->out->object))
        compare_loads(&c->x.runs[0], &c->y.runs[0], c->a, &f);
    const struct side *const sides[] = {&c->x, &c->y};
    for (int s = 0; s < 2; s++)
        for (size_t i = 1; i < sides[s]->count; i++) {
            const char *why = compare_unfit(&sides[s]->runs[i], c->a);
            if (why)
                sentences_add(&f.reasons, c->a, why);
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

/* The point of a run that is looked at. */
static int64_t number_in_side(const struct compare *c, const struct side *s)
{
    return s == &c->x ? c->at_x : c->at_y;
}

/* Durations are plain numbers in a result. */
static struct quantity metric_value(const struct result *r, int64_t at, const struct compare_metric *m)
{
    if (at >= 0 ? (size_t)at >= r->loads.point_count : at != WHOLE_RUN)
        return quantity_absent(Q_NOT_RECORDED, "it has no such load");
    struct slot slot;
    bool there = at == WHOLE_RUN ? slot_at(&result_schema, r, m->path, &slot)
                                 : slot_at(&result_point_schema, &r->loads.points[at], m->path, &slot);
    must(there && (slot.type == FIELD_QUANTITY || slot.type == FIELD_F64));
    return slot.type == FIELD_F64 ? quantity_of(slot_f64(&slot)) : *slot_quantity(&slot);
}

/* Why this run has no such value to compare, or null. */
static const char *run_fault(const struct result *r, int64_t at, const struct compare_metric *m, struct arena *a)
{
    bool latency = m->kind == METRIC_TTFT || m->kind == METRIC_TPOT;
    const struct quantity q = metric_value(r, at, m);
    if (m->kind == METRIC_STEADY && result_carries(r, FLAG_DELIVERY_LAG))
        return arena_format(a, "run %s has delivery lag", compare_id(r));
    if (latency && result_latency_fault(r))
        return arena_format(a, "run %s: %s", compare_id(r), result_latency_fault(r));
    if (q.state != Q_MEASURED || isnan(q.value))
        return arena_format(a, "run %s: %s", compare_id(r), q.why ? q.why : "not recorded");
    return NULL;
}

/* Why one of all runs has none. */
static const char *any_fault(const struct compare *c, const struct compare_metric *m)
{
    const char *why = NULL;
    for (size_t i = 0; i < runs_of(c) && !why; i++)
        why = run_fault(run_at(c, i), i < c->x.count ? c->at_x : c->at_y, m, c->a);
    return why;
}

/* Mean over the runs of a side, with the mean of their doubts: what a reading is off by, all of them may be. */
static struct quantity side_mean(const struct compare *c, const struct side *s, const struct compare_metric *m,
                                 const struct sample *values)
{
    assert(s->count > 0);
    struct quantity mean = quantity_of(values->mean);
    mean.instrument = mean.calibration = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct quantity q = metric_value(s->runs[i].result, number_in_side(c, s), m);
        mean.instrument += q.instrument / (double)s->count;
        mean.calibration += q.calibration / (double)s->count;
    }
    return mean;
}

static double *values_of(const struct compare *c, const struct side *s, const struct compare_metric *m)
{
    assert(s->count > 0);
    double *values = arena_array(c->a, s->count, sizeof *values);
    for (size_t i = 0; i < s->count; i++)
        values[i] = metric_value(s->runs[i].result, number_in_side(c, s), m).value;
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
    const double *x = values_of(c, &c->x, m), *y = values_of(c, &c->y, m);
    r->a_runs = sample_of(x, n);
    r->b_runs = sample_of(y, k);
    r->a = side_mean(c, &c->x, m, &r->a_runs);
    r->b = side_mean(c, &c->y, m, &r->b_runs);
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

/* Without a value of some run, or where it may not be compared: what each side says, and nothing between them. Of
 * several runs the mean, where all have a value. */
static struct quantity shown_of(const struct compare *c, const struct side *s, const struct compare_metric *m,
                                const char *why, struct sample *ret_runs)
{
    *ret_runs = sample_of(NULL, 0);
    if (s->count == 1)
        return metric_value(s->runs[0].result, number_in_side(c, s), m);
    for (size_t i = 0; i < s->count; i++) {
        const struct quantity q = metric_value(s->runs[i].result, number_in_side(c, s), m);
        if (!c->out->anyway || !quantity_has_value(&q))
            return quantity_absent(Q_UNDEFINED, why);
    }
    *ret_runs = sample_of(values_of(c, s, m), s->count);
    return side_mean(c, s, m, ret_runs);
}

static void row(struct compare *c, const struct compare_metric *m, struct comparison_row *r)
{
    const double none = __builtin_nan("");
    *r = (struct comparison_row){.key = m->key, .metric = m->name, .unit = m->unit};
    r->why = c->out->anyway ? "the method does not allow the comparison" : any_fault(c, m);
    if (!r->why) {
        compare_values(c, m, r);
        return;
    }
    r->a = shown_of(c, &c->x, m, r->why, &r->a_runs);
    r->b = shown_of(c, &c->y, m, r->why, &r->b_runs);
    r->difference = r->ratio = quantity_absent(Q_UNDEFINED, r->why);
    r->between = (struct between_runs){none, none, ABSENT_I64, none, none};
}

/* ---- loads ---- */

static struct quantity answer_tokens(const struct result *r, int64_t at)
{
    if ((size_t)at >= r->loads.point_count)
        return quantity_absent(Q_NOT_RECORDED, "a run has no such load");
    const struct result_point *p = &r->loads.points[at];
    const struct result_point_tokens *t = &p->tokens;
    int64_t answers = p->requests.all - p->requests.all_failed;
    if (p->requests.all == ABSENT_I64 || t->output == ABSENT_I64 || t->before == ABSENT_I64 || t->after == ABSENT_I64 ||
        answers <= 0)
        return quantity_absent(Q_NOT_RECORDED, "a run has no output tokens");
    return quantity_of((double)(t->before + t->output + t->after) / (double)answers);
}

/* (9.1) of the tokens of an answer: a load that ends by its time has as many answers as the engine is fast. */
static struct quantity answer_difference(const struct compare *c)
{
    struct quantity worst = quantity_of(0);
    for (size_t i = 0; i < c->x.count; i++)
        for (size_t j = 0; j < c->y.count; j++) {
            struct quantity t = answer_tokens(c->x.runs[i].result, c->at_x),
                            u = answer_tokens(c->y.runs[j].result, c->at_y);
            if (t.state != Q_MEASURED || u.state != Q_MEASURED)
                return t.state != Q_MEASURED ? t : u;
            double share = fabs(t.value - u.value) / fmax(t.value, u.value);
            worst.value = fmax(worst.value, share);
        }
    return worst;
}

/* Why the loads of all runs at hand are not compared, or null. */
static const char *why_not_compared(const struct compare *c, const struct quantity *answers)
{
    for (size_t i = 0; i < runs_of(c); i++) {
        const struct result *r = run_at(c, i);
        size_t at = (size_t)(i < c->x.count ? c->at_x : c->at_y);
        if (at >= r->loads.point_count)
            return arena_format(c->a, "run %s has no such load", compare_id(r));
        if (!r->loads.points[at].reached)
            return arena_format(c->a, "run %s: %s", compare_id(r),
                                r->loads.points[at].why ? r->loads.points[at].why : "there is no window");
    }
    if (!((OF_LOADS)&1 << c->out->object))
        return NULL;
    if (answers->state != Q_MEASURED)
        return answers->why;
    return answers->value > METHOD_TOKENS_SHARE
               ? arena_format(c->a,
                              "the output tokens per request differ by %.1f %%, and loads over 20 %% apart are not "
                              "compared",
                              100 * answers->value)
               : NULL;
}

static void put_load_rows(struct compare *c, struct compared_load *l)
{
    const int objects = objects_of(c);
    l->rows = arena_array(c->a, COMPARE_LOAD_METRICS, sizeof *l->rows);
    for (size_t i = 0; i < COMPARE_LOAD_METRICS; i++) {
        const struct compare_metric *m = &compare_load_metrics[i];
        if ((m->objects & objects) && (m->kind != METRIC_GOOD || plan_slo_is_set(&c->x.runs[0].result->loads.slo)))
            row(c, m, &l->rows[l->row_count++]);
    }
}

static const char *setting_at(const struct side *s, int64_t at)
{
    const struct result_loads *l = &s->runs[0].result->loads;
    return at < 0 || (size_t)at >= l->point_count ? NULL : l->points[at].setting ? l->points[at].setting : "not stated";
}

static void add_compared_load(struct compare *c, const struct load_pair *p, struct compared_load *l)
{
    c->at_x = p->x;
    c->at_y = p->y;
    const char *a = setting_at(&c->x, p->x), *b = setting_at(&c->y, p->y);
    *l = (struct compared_load){.setting = a ? a : "none",
                                .b_setting = a && b && strcmp(a, b) == 0 ? NULL
                                             : b                         ? b
                                                                         : "none",
                                .answer_difference = quantity_absent(Q_UNDEFINED, "these are not compared by it")};
    l->number = (int64_t)c->out->load_count++;
    if (!c->out->anyway) {
        l->b_setting = NULL; /* the same, but for where a trace lies */
        if (OF_LOADS & 1 << c->out->object)
            l->answer_difference = answer_difference(c);
        l->why = why_not_compared(c, &l->answer_difference);
    }
    if (!l->why)
        put_load_rows(c, l);
}

static void add_compared_loads(struct compare *c)
{
    bool anyway = c->out->anyway;
    struct load_pairs p = compare_load_pairs(&c->x.runs[0], &c->y.runs[0], anyway, c->a);
    size_t n = anyway ? p.count : p.same;
    c->out->loads = arena_array(c->a, n, sizeof *c->out->loads);
    for (size_t i = 0; i < n; i++)
        add_compared_load(c, &p.items[i], &c->out->loads[i]);
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

/* The object of all runs; absent where one is formal, or where they differ. */
static enum run_object object_of(const struct compare *c)
{
    const enum run_object object = run_at(c, 0)->loads.object;
    for (size_t i = 1; i < runs_of(c); i++)
        if (run_at(c, i)->loads.object != object)
            return (enum run_object) - 1;
    return object;
}

static struct compare begin(struct side x, struct side y, struct arena *a, struct comparison *ret)
{
    const struct quantity none = quantity_absent(Q_UNDEFINED, "runs with loads are compared by each load's answers");
    *ret = (struct comparison){
        .a_count = x.count, .b_count = y.count, .tokens_difference = none, .chance = __builtin_nan("")};
    struct compare c = {x, y, a, ret, WHOLE_RUN, WHOLE_RUN};
    ret->object = object_of(&c);
    ret->a_ids = ids_of(&c.x, a);
    ret->b_ids = ids_of(&c.y, a);
    want_pair(&c);
    if (!objects_of(&c))
        want_tokens(&c);
    ret->same_boards = true;
    for (size_t i = 1; i < runs_of(&c); i++)
        ret->same_boards = ret->same_boards && compare_same_boards(run_at(&c, 0), run_at(&c, i));
    return c;
}

static void add_rows(struct compare *c)
{
    struct comparison *out = c->out;
    out->row_count = COMPARE_METRICS;
    out->rows = arena_array(c->a, out->row_count, sizeof *out->rows);
    for (size_t i = 0; i < out->row_count; i++)
        row(c, &compare_metrics[i], &out->rows[i]);
}

static void fill_comparison(struct compare *c)
{
    find_order(c);
    if (ENUM_ABSENT(c->out->object))
        add_rows(c);
    else
        add_compared_loads(c);
    notes(c);
}

void compare_sides(const struct compare_run *x, size_t n, const struct compare_run *y, size_t m, struct arena *a,
                   struct comparison *ret)
{
    must(n > 0 && m > 0);
    struct compare c = begin((struct side){x, n}, (struct side){y, m}, a, ret);
    if (ret->reasons.count) {
        ret->notes.count = 0;
        ret->same_boards = false;
        return;
    }
    fill_comparison(&c);
}

void compare_anyway(const struct compare_run *x, size_t n, const struct compare_run *y, size_t m, struct arena *a,
                    struct comparison *ret)
{
    must(n > 0 && m > 0);
    struct compare c = begin((struct side){x, n}, (struct side){y, m}, a, ret);
    ret->anyway = ret->reasons.count > 0;
    if (!ret->anyway) {
        fill_comparison(&c);
        return;
    }
    ret->notes.count = 0;
    struct sentences unsaid = {0}; /* of environments: no reason to compare or not */
    if (x[0].plan && y[0].plan)
        compare_differences(&x[0], &y[0], a, &ret->differences, &unsaid);
    if (!result_has_loads(run_at(&c, 0)) || !result_has_loads(run_at(&c, n)))
        add_rows(&c);
    add_compared_loads(&c);
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

static const struct field compared_load_fields[] = {
    I64(compared_load, number, "From 0, in the order of the first side.", FLAGS(FIELD_NAMES_ITEM)),
    TEXT(compared_load, setting, "The load in words; of a command, the command; none: only the other side has one."),
    TEXT(compared_load, b_setting, "Of the second side, where another one is shown beside it; null: the same."),
    QUANTITY(compared_load, answer_difference,
             "|t1 - t2| / max(t1, t2) of the output tokens per request, of the two runs farthest apart."),
    TEXT(compared_load, why, "Why this load is not compared; null: it is."),
    OBJECTS(compared_load, rows, row_count, comparison_row, "The metrics; none where it is not compared."),
};
static const struct schema compared_load_schema = SCHEMA(compared_load, "One load of both sides.");

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
    ENUM(comparison, object, run_object, "What all runs look at, where they are not formal.", FLAGS(FIELD_OMIT_ABSENT)),
    BOOL(comparison, anyway,
         "Reasons stand against it, so the values are only shown, and nothing follows from their difference."),
    OBJECTS(comparison, rows, row_count, comparison_row, "The metrics of formal runs; none where refused."),
    OBJECTS(comparison, loads, load_count, compared_load, "The loads that both sides have, where runs are not formal."),
};
const struct schema comparison_schema = SCHEMA(comparison, "Two set-ups side by side.");
