#include "analysis/compare.h"

#include <math.h>
#include <string.h>

struct compare {
    const struct result *x, *y;
    struct arena *a;
    struct comparison *out;
};

enum { REASONS_MAX = 16, NOTES_MAX = 16, ROWS_MAX = 24 };

static void against(struct compare *c, const char *reason)
{
    if (c->out->reason_count < REASONS_MAX)
        c->out->reasons[c->out->reason_count++] = reason;
}

static void note(struct compare *c, const char *text)
{
    if (c->out->note_count < NOTES_MAX)
        c->out->notes[c->out->note_count++] = text;
}

static int mark_outcome(const struct result *r, int code)
{
    return (size_t)code < r->mark_count ? r->marks[code].outcome : CHECK_NOT_CHECKED;
}

static bool carries(const struct result *r, int code)
{
    return mark_outcome(r, code) == CHECK_FAILED;
}

static const char *text_of(const char *text)
{
    return text ? text : "not stated";
}

/* ---- is it a pair? ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static void want_same(struct compare *c, const char *what, const char *a, const char *b)
{
    if (!same_text(a, b))
        against(c, arena_format(c->a, "The %s differs: %s and %s.", what, text_of(a), text_of(b)));
}

const char *compare_not_formal(const struct result *r, struct arena *a)
{
    const char *text = NULL;
    for (size_t i = 0; i < r->check_count; i++)
        if (check_excludes(r->checks[i].outcome))
            text = arena_format(a, "%s%s%s (%s)", text ? text : "", text ? ", " : "",
                                check_code_names[r->checks[i].code], check_outcome_names[r->checks[i].outcome]);
    return r->formal ? NULL : text ? text : "not verified";
}

static void want_formal(struct compare *c, const struct result *r)
{
    const char *why = compare_not_formal(r, c->a);
    if (why)
        against(c, arena_format(c->a, "Run %s is not formal: %s.", text_of(r->run_id), why));
}

static bool has_uuid(const struct result *r, const char *uuid)
{
    for (size_t i = 0; i < r->gpu_count; i++)
        if (same_text(r->gpus[i].uuid, uuid))
            return true;
    return false;
}

static const char *limit_text(struct arena *a, double w)
{
    return isnan(w) ? "an unknown limit" : arena_format(a, "%.0f W", w);
}

/* The same number of boards of the same name and power limit, in any order; for a pair the same boards by UUID will do.
 */
static void want_same_gpus(struct compare *c, bool pair)
{
    const struct result *x = c->x, *y = c->y;
    if (x->gpu_count != y->gpu_count) {
        against(c, arena_format(c->a, "The number of GPUs differs: %zu and %zu.", x->gpu_count, y->gpu_count));
        return;
    }
    c->out->same_boards = x->gpu_count > 0;
    for (size_t i = 0; i < x->gpu_count; i++)
        c->out->same_boards = c->out->same_boards && has_uuid(y, x->gpus[i].uuid);
    if (c->out->same_boards && pair)
        return;
    for (size_t i = 0; i < x->gpu_count; i++)
        for (size_t j = 0; j < y->gpu_count; j++) {
            const struct result_gpu *g = &x->gpus[i], *h = &y->gpus[j];
            if (same_text(g->name, h->name) && g->power_limit_w == h->power_limit_w)
                continue;
            against(c, arena_format(c->a, "The GPUs differ: %s at %s and %s at %s.", text_of(g->name),
                                    limit_text(c->a, g->power_limit_w), text_of(h->name),
                                    limit_text(c->a, h->power_limit_w)));
            return;
        }
    if (!c->out->same_boards)
        note(c, "The boards differ, so the sensors' limit of both is in the ratios, too.");
}

static void want_same_tokens(struct compare *c)
{
    int64_t t = c->x->load.output_tokens, u = c->y->load.output_tokens;
    if (t == ABSENT_I64 || u == ABSENT_I64 || t <= 0 || u <= 0) {
        c->out->tokens_difference = quantity_absent(Q_NOT_RECORDED, "a run has no output tokens");
        against(c, "A run has no output tokens.");
        return;
    }
    int64_t high = t > u ? t : u, apart = t > u ? t - u : u - t;
    double share = (double)apart / (double)high;
    c->out->tokens_difference = quantity_of(share);
    if (share > COMPARE_TOKENS_LIMIT)
        against(c,
                arena_format(c->a, "The output tokens differ by %.1f %% (%lld and %lld); over 20 %% is no comparison.",
                             100 * share, (long long)t, (long long)u));
}

static void want_alike(struct compare *c)
{
    const struct result *x = c->x, *y = c->y;
    if (x->simulated != y->simulated)
        against(c, arena_format(c->a, "Run %s is simulated and the other is real.",
                                text_of(x->simulated ? x->run_id : y->run_id)));
    if (mark_outcome(x, RMARK_REPEATED_PROMPTS) != mark_outcome(y, RMARK_REPEATED_PROMPTS))
        against(c, "One run repeats prompts with the prefix cache on (repeated_prompts) and the other does not.");
    if (!same_text(x->method_id, y->method_id))
        against(c, arena_format(c->a, "The method differs: %s and %s.", text_of(x->method_id), text_of(y->method_id)));
    if (strcmp(x->differences ? x->differences : "", y->differences ? y->differences : "") != 0)
        against(c, arena_format(c->a, "The analyses differ: \"%s\" and \"%s\".",
                                x->differences ? x->differences : "the method's defaults",
                                y->differences ? y->differences : "the method's defaults"));
}

/* The same work on the same hardware. */
static void want_same_work(struct compare *c, bool pair)
{
    want_same(c, "scenario", c->x->scenario, c->y->scenario);
    want_same(c, "request set (SHA-256)", c->x->requests_sha256, c->y->requests_sha256);
    want_same_gpus(c, pair);
}

static void want_pair(struct compare *c)
{
    const struct result *x = c->x, *y = c->y;
    if (same_text(x->run_id, y->run_id))
        against(c, "It is the same run twice.");
    want_formal(c, x);
    want_formal(c, y);
    want_same(c, "model", x->model, y->model);
    /* A revision that neither run states can't be told to differ. */
    if (x->revision || y->revision)
        want_same(c, "model's revision", x->revision, y->revision);
    want_same_work(c, true);
    want_same_tokens(c);
    want_alike(c);
}

void compare_conditions(const struct result *x, const struct result *y, struct arena *a, struct comparison *ret)
{
    *ret = (struct comparison){.reasons = arena_array(a, REASONS_MAX, sizeof *ret->reasons),
                               .notes = arena_array(a, NOTES_MAX, sizeof *ret->notes)};
    struct compare c = {x, y, a, ret};
    want_same_work(&c, false);
    want_alike(&c);
}

/* ---- the rows ---- */

enum row_kind { ROW_ENERGY, ROW_STEADY, ROW_LATENCY, ROW_OTHER };

static double relative(double uncertainty, double value)
{
    return value != 0 ? fabs(uncertainty / value) : __builtin_nan("");
}

/* The larger one; NaN where either is. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static struct quantity difference_of(const struct comparison *out, const struct quantity *a, const struct quantity *b)
{
    struct quantity d = quantity_of(b->value - a->value);
    d.instrument = sqrt(a->instrument * a->instrument + b->instrument * b->instrument);
    double high = larger(relative(a->calibration, a->value), relative(b->calibration, b->value));
    d.calibration = out->same_boards ? fabs(d.value) * high : a->calibration + b->calibration;
    return d;
}

static struct quantity ratio_of(const struct comparison *out, const struct quantity *a, const struct quantity *b)
{
    if (a->value == 0)
        return quantity_absent(Q_UNDEFINED, "the first value is 0");
    struct quantity q = quantity_of(b->value / a->value);
    double ra = relative(a->instrument, a->value), rb = relative(b->instrument, b->value);
    q.instrument = fabs(q.value) * sqrt(ra * ra + rb * rb);
    double sa = relative(a->calibration, a->value), sb = relative(b->calibration, b->value);
    /* NaN stays NaN: a value without a sensor's limit has none in its ratio either. */
    q.calibration = out->same_boards ? 0 * (sa + sb) : fabs(q.value) * (sa + sb);
    return q;
}

/* Why this row is not compared, or null. */
static const char *row_fault(struct compare *c, enum row_kind kind, const struct quantity *a, const struct quantity *b)
{
    const struct result *marked = carries(c->x, RMARK_DELIVERY_LAG)   ? c->x
                                  : carries(c->y, RMARK_DELIVERY_LAG) ? c->y
                                                                      : NULL;
    if (kind == ROW_STEADY && marked)
        return arena_format(c->a, "run %s has delivery lag", text_of(marked->run_id));
    marked = carries(c->x, RMARK_CLIENT_LIMITED) ? c->x : carries(c->y, RMARK_CLIENT_LIMITED) ? c->y : NULL;
    if (kind == ROW_LATENCY && marked)
        return arena_format(c->a, "the client was the bottleneck of run %s", text_of(marked->run_id));
    const struct quantity *without = a->state != Q_MEASURED ? a : b->state != Q_MEASURED ? b : NULL;
    if (!without)
        return NULL;
    return arena_format(c->a, "run %s: %s", text_of(without == a ? c->x->run_id : c->y->run_id),
                        without->why ? without->why : "not recorded");
}

static void row(struct compare *c, enum row_kind kind, const char *metric, const char *unit, const struct quantity *a,
                const struct quantity *b)
{
    struct comparison_row *r = &c->out->rows[c->out->row_count++];
    *r = (struct comparison_row){.metric = metric, .unit = unit, .a = *a, .b = *b, .why = row_fault(c, kind, a, b)};
    if (r->why) {
        r->difference = r->ratio = quantity_absent(Q_UNDEFINED, r->why);
    } else {
        r->difference = difference_of(c->out, a, b);
        r->ratio = ratio_of(c->out, a, b);
    }
}

static void rows(struct compare *c)
{
    const struct result_metrics *m = &c->x->metrics, *n = &c->y->metrics;
    const struct result_load *l = &c->x->load, *k = &c->y->load;
    row(c, ROW_STEADY, "steady-state energy", "J/token", &m->steady_j_per_token, &n->steady_j_per_token);
    row(c, ROW_ENERGY, "full-lifecycle energy", "J/token", &m->lifecycle_j_per_token, &n->lifecycle_j_per_token);
    row(c, ROW_ENERGY, "formal-stage energy", "J/token", &m->formal_j_per_token, &n->formal_j_per_token);
    row(c, ROW_STEADY, "saturated energy", "J/token", &m->saturated_j_per_token, &n->saturated_j_per_token);
    row(c, ROW_ENERGY, "startup energy", "J", &m->startup_j, &n->startup_j);
    row(c, ROW_ENERGY, "release energy", "J", &m->release_j, &n->release_j);
    row(c, ROW_ENERGY, "energy per request", "J", &m->j_per_request, &n->j_per_request);
    row(c, ROW_OTHER, "output throughput", "tok/s", &m->throughput_tok_s, &n->throughput_tok_s);
    row(c, ROW_ENERGY, "average power, formal", "W", &m->formal_w, &n->formal_w);
    row(c, ROW_STEADY, "average power, steady", "W", &m->steady_w, &n->steady_w);
    row(c, ROW_ENERGY, "average power, lifecycle", "W", &m->lifecycle_w, &n->lifecycle_w);
    row(c, ROW_LATENCY, "TTFT P50", "s", &l->ttft_s.p50, &k->ttft_s.p50);
    row(c, ROW_LATENCY, "TTFT P99", "s", &l->ttft_s.p99, &k->ttft_s.p99);
    row(c, ROW_LATENCY, "TPOT P50", "s", &l->tpot_s.p50, &k->tpot_s.p50);
    row(c, ROW_LATENCY, "TPOT P99", "s", &l->tpot_s.p99, &k->tpot_s.p99);
}

static void notes(struct compare *c)
{
    for (int i = 0; i < 2; i++) {
        const struct result *r = i ? c->y : c->x;
        if (carries(r, RMARK_DELIVERY_LAG))
            note(c, arena_format(c->a, "Run %s has delivery lag: its formal and lifecycle values carry the mark.",
                                 text_of(r->run_id)));
        if (carries(r, RMARK_THROTTLED))
            note(c, arena_format(c->a, "Run %s was throttled: %s", text_of(r->run_id), r->marks[RMARK_THROTTLED].why));
        if (carries(r, RMARK_IDENTITY_NOT_VERIFIABLE))
            note(c, arena_format(c->a, "Run %s: %s", text_of(r->run_id), r->marks[RMARK_IDENTITY_NOT_VERIFIABLE].why));
    }
    if (!c->x->revision && !c->y->revision)
        note(c, "Neither plan states the model's revision, so it was not compared.");
    note(c, "One run per configuration: mean, standard deviation, interval and test over repetitions are absent.");
    if (c->x->simulated)
        note(c, "Both runs are simulated.");
}

void compare_runs(const struct result *x, const struct result *y, struct arena *a, struct comparison *ret)
{
    *ret = (struct comparison){.a_id = x->run_id,
                               .b_id = y->run_id,
                               .reasons = arena_array(a, REASONS_MAX, sizeof *ret->reasons),
                               .notes = arena_array(a, NOTES_MAX, sizeof *ret->notes),
                               .rows = arena_array(a, ROWS_MAX, sizeof *ret->rows)};
    struct compare c = {x, y, a, ret};
    want_pair(&c);
    if (ret->reason_count) {
        ret->note_count = 0;
        return;
    }
    rows(&c);
    notes(&c);
}

/* ---- as a document ---- */

#define AT(member) .offset = offsetof(struct comparison_row, member)
static const struct field row_fields[] = {
    {"metric", FIELD_TEXT, AT(metric), .doc = "Metric."},
    {"unit", FIELD_TEXT, AT(unit), .doc = "Its unit."},
    {"a", FIELD_QUANTITY, AT(a), .doc = "Of the first run."},
    {"b", FIELD_QUANTITY, AT(b), .doc = "Of the second run."},
    {"difference", FIELD_QUANTITY, AT(difference), .doc = "b - a, in the metric's unit."},
    {"ratio", FIELD_QUANTITY, AT(ratio), .doc = "b / a."},
    {"why", FIELD_TEXT, AT(why), .doc = "Why this metric is not compared."},
};
static const struct schema row_schema = {"comparison_row", sizeof(struct comparison_row), row_fields,
                                         SCHEMA_COUNT(row_fields), "One metric of both runs."};
#undef AT

#define AT(member)    .offset = offsetof(struct comparison, member)
#define COUNT(member) .count_offset = offsetof(struct comparison, member)
static const struct field comparison_fields[] = {
    {"a", FIELD_TEXT, AT(a_id), .doc = "The first run."},
    {"b", FIELD_TEXT, AT(b_id), .doc = "The second run."},
    {"reasons", FIELD_LIST, AT(reasons), COUNT(reason_count), .item = FIELD_TEXT,
     .doc = "Why they are not compared; empty: they are."},
    {"notes", FIELD_LIST, AT(notes), COUNT(note_count), .item = FIELD_TEXT, .doc = "What a reader must know."},
    {"same_boards", FIELD_BOOL, AT(same_boards), .doc = "Same GPUs by UUID: the sensors' limit cancels in ratios."},
    {"tokens_difference", FIELD_QUANTITY, AT(tokens_difference),
     .doc = "|T1 - T2| / max(T1, T2) of the output tokens."},
    {"rows", FIELD_LIST, AT(rows), COUNT(row_count), .item = FIELD_OBJECT, .sub = &row_schema,
     .doc = "The metrics; none where refused."},
};
const struct schema comparison_schema = {"comparison", sizeof(struct comparison), comparison_fields,
                                         SCHEMA_COUNT(comparison_fields), "Two runs side by side."};
