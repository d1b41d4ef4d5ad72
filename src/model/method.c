#include "model/method.h"

#include <math.h>
#include <string.h>
#include "base/buf.h"
#include "base/num.h"
#include "model/limits.h"

const char *const basis_names[] = {"benchmark-1.5", "precise", NULL};
const char *const reading_names[] = {"gap", "interval", "request", "words", NULL};
const char *const k_names[] = {"all", "1", "2", "3", NULL};

#define AT(member) .offset = offsetof(struct method, member)

static const struct field method_fields[] = {
    {"basis", FIELD_ENUM, AT(basis), .names = basis_names,
     .doc =
         "Instrument of each stage: the source's (1 s grid for startup and release, counter else), or the 20 ms buffer "
         "scaled by one factor per GPU."},
    {"attribution", FIELD_ENUM, AT(attribution), .names = reading_names,
     .doc = "Where the tokens of a chunk were generated: in the gap before it, evenly over the request's generation "
            "interval, over the whole request, or at its arrival."},
    {"k", FIELD_ENUM, AT(k), .names = k_names, .doc = "Consecutive non-overlapping windows that make a steady state."},
    {"window", FIELD_I64, AT(window), .min = 2, .max = 1000000, .doc = "Requests in a window."},
    {"cv_limit", FIELD_F64, AT(cv_limit), .min = 0, .max = 100, .doc = "A window qualifies when its CV is below this."},
    {"saturated_share", FIELD_F64, AT(saturated_share), .min = 0.01, .max = 1,
     .doc = "Share of the peak concurrency at which a service counts as saturated."},
    {"lag_share", FIELD_F64, AT(lag_share), .min = 0, .max = 1,
     .doc = "Share of the formal stage idle while owed above which a run is marked delivery_lag."},
    {"merged_tokens", FIELD_I64, AT(merged_tokens), .min = 1, .max = 1000000,
     .doc = "A later chunk with more tokens than this counts as merged."},
};

const struct schema method_schema = {"method", sizeof(struct method), method_fields, SCHEMA_COUNT(method_fields),
                                     "Parameters of the analysis; the defaults are the method."};

struct method method_default(void)
{
    return (struct method){.basis = BASIS_BENCHMARK,
                           .attribution = READING_GAP,
                           .k = K_2,
                           .window = 100,
                           .cv_limit = 0.03,
                           .saturated_share = METHOD_SATURATED_SHARE,
                           .lag_share = METHOD_LAG_SHARE,
                           .merged_tokens = 8};
}

/* ---- key=value ---- */

static size_t edit_distance(const char *a, size_t n, const char *b)
{
    size_t row[64], m = strlen(b);
    if (n >= 63 || m >= 63)
        return n > m ? n : m;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = above;
        }
    }
    return row[m];
}

static bool unknown_key(struct span key, struct err *e)
{
    const char *nearest = NULL;
    size_t best = 4;
    struct buf all = {0};
    for (size_t i = 0; i < method_schema.count; i++) {
        size_t d = edit_distance(key.p, key.n, method_fields[i].key);
        if (d < best) {
            best = d;
            nearest = method_fields[i].key;
        }
        buf_fmt(&all, "%s%s", i ? ", " : "", method_fields[i].key);
    }
    if (nearest)
        err_set(e, ERR_USAGE, "--set: \"%.*s\" is no parameter of the method. Did you mean %s? All of them: %s.",
                SPAN_ARG(key), nearest, buf_text(&all));
    else
        err_set(e, ERR_USAGE, "--set: \"%.*s\" is no parameter of the method. They are: %s.", SPAN_ARG(key),
                buf_text(&all));
    buf_done(&all);
    return false;
}

static bool set_enum(const struct field *f, struct span value, int *ret, struct err *e)
{
    struct buf all = {0};
    for (int i = 0; f->names[i]; i++) {
        if (span_is(value, f->names[i])) {
            *ret = i;
            buf_done(&all);
            return true;
        }
        buf_fmt(&all, "%s%s", i ? ", " : "", f->names[i]);
    }
    err_set(e, ERR_USAGE, "--set %s: \"%.*s\" is not allowed. Give one of: %s.", f->key, SPAN_ARG(value),
            buf_text(&all));
    buf_done(&all);
    return false;
}

bool method_set(struct method *m, const char *assignment, struct err *e)
{
    const char *equals = strchr(assignment, '=');
    if (!equals)
        return err_set(e, ERR_USAGE, "--set \"%s\": write it as key=value, for example k=3.", assignment);
    struct span key = {assignment, (size_t)(equals - assignment)}, value = span_of(equals + 1);
    const struct field *f = NULL;
    for (size_t i = 0; i < method_schema.count && !f; i++)
        if (span_is(key, method_fields[i].key))
            f = &method_fields[i];
    if (!f)
        return unknown_key(key, e);
    void *at = (char *)m + f->offset;
    if (f->type == FIELD_ENUM)
        return set_enum(f, value, at, e);
    int64_t whole = 0;
    double number;
    bool ok = f->type == FIELD_I64 ? num_i64(value, &whole) : num_f64(value, &number);
    if (f->type == FIELD_I64)
        number = (double)whole;
    if (!ok || number < f->min || number > f->max)
        return err_set(e, ERR_USAGE, "--set %s: \"%.*s\" is not allowed. Give %s from %g to %g.", f->key,
                       SPAN_ARG(value), f->type == FIELD_I64 ? "a whole number" : "a number", f->min, f->max);
    if (f->type == FIELD_I64)
        *(int64_t *)at = whole;
    else
        *(double *)at = number;
    return true;
}

static void put_value(const struct field *f, const struct method *m, struct buf *b)
{
    const void *at = (const char *)m + f->offset;
    if (f->type == FIELD_ENUM)
        buf_str(b, f->names[*(const int *)at]);
    else if (f->type == FIELD_I64)
        buf_i64(b, *(const int64_t *)at);
    else
        num_put_f64(b, *(const double *)at);
}

const char *method_differences(const struct method *m, struct arena *a)
{
    struct method standard = method_default();
    struct buf b = {0}, own = {0}, theirs = {0};
    for (size_t i = 0; i < method_schema.count; i++) {
        buf_clear(&own);
        buf_clear(&theirs);
        put_value(&method_fields[i], m, &own);
        put_value(&method_fields[i], &standard, &theirs);
        if (strcmp(buf_text(&own), buf_text(&theirs)) != 0)
            buf_fmt(&b, "%s%s=%s", b.n ? ", " : "", method_fields[i].key, buf_text(&own));
    }
    const char *text = b.n ? arena_copy(a, b.p, b.n) : NULL;
    buf_done(&b);
    buf_done(&own);
    buf_done(&theirs);
    return text;
}

/* ---- decisions ---- */

const struct method_decision method_decisions[] = {
    {"clock.step", "1",
     "A change of the realtime offset by over 1 ms between two readings is a clock step: stamps between them are "
     "marked, and a timing that uses one is null."},
    {"energy.counter_interpolation", "2",
     "The counter is interpolated linearly between its change points, each stamped at the "
     "middle of the call that first saw the new value."},
    {"energy.counter_lock", "2",
     "Counter reads are locked to the counter's own step, so that a change point is right to about "
     "10 ms rather than 100 ms."},
    {"energy.precise", "2",
     "Basis `precise`: the 20 ms buffer's integral times one factor per GPU and run, counter over buffer from "
     "service_start to release_end with the counter evaluated L later; L from 0 to 150 ms in steps of 5 ms "
     "leaves the least squared residual between counter steps and the buffer's integral over them."},
    {"energy.marks", "2",
     "Extra samples at each stage mark and 0.2 s after it make `benchmark-1.5+marks`, shown beside; headline and "
     "rules use the 1 s grid only, and a mark sample without its partner is dropped."},
    {"energy.uncertainty", "2",
     "Two figures, k = 2: instrument (sampling, stamps, cliffs at the ends) and absolute (an assumed "
     "limit of the board's sensor: the larger of 6 % and 5 W, or the plan's calibration)."},
    {"energy.uncertainty_sum", "2",
     "Repeatability adds linearly over GPUs for the two instant series, which share a phase, and as the "
     "root of the sum of squares for counter and buffer, and over stages; the absolute limit adds "
     "linearly."},
    {"stage.release_end", "3",
     "release_end is the latest of exit, memory released and power recovered; the 30 s of proof are stored "
     "and not counted."},
    {"stage.baseline_halves", "3",
     "A baseline's halves must agree within the larger of 2 % and 1 W, and its population standard "
     "deviation stay within the same limit."},
    {"stage.baseline_window", "3",
     "A window starts at the latest sample of a tick, so that every GPU is covered, and the last one starts at most "
     "120 s "
     "after the first; 2 % is of the window's mean. Utilisation or processes that can't be read at any of its samples "
     "make "
     "it not recorded, at some of them a failure."},
    {"stage.ticks", "3",
     "GPUs are sampled at phases of their own; samples belong to one tick when they are nearest to it, up to half a "
     "period "
     "late. t11 is the latest sample of the first tick in band; the hold ends with a later tick's earliest sample."},
    {"stage.ready_counter", "3",
     "The engine is stopped when its token counter, asked for after the formal stage, has given the same value twice, "
     "0.2 s "
     "apart, or after 10 s; at once where it has no such counter."},
    {"stage.expectations", "3",
     "A plan that states no expectation of the engine passes that check; one that the engine gives no way to see is "
     "not "
     "recorded."},
    {"stage.warmup", "3", "Warm-up: 8 requests at once from a built-in set, 64 output tokens each."},
    {"stage.page_cache", "3", "The page cache is left as it is; how much of the snapshot was resident is recorded."},
    {"request.connect_ahead", "4",
     "Connections are opened before the formal stage; then all requests are written in one sweep."},
    {"request.tpot_first_chunk", "4", "Where the first chunk is known to carry n1 tokens, TPOT divides by n - n1."},
    {"request.itl", "4",
     "Where running counts are known, each of a chunk's k tokens has an ITL of one k-th of the chunk's gap; else the "
     "chunk gap itself is shown under its own name."},
    {"request.chunk_tokens", "4",
     "Without running counts a request's usage is spread over its token chunks in proportion to their "
     "bytes: floors, largest remainders, then one token for each chunk left empty."},
    {"request.repeated_prompts", "4",
     "A run with repeated prompts and the prefix cache on is compared only with its like."},
    {"request.verdicts", "4", "One reason per failed request: the first fault in time."},
    {"attribution.curve", "5",
     "E(t) is the buffer, scaled once so that the formal stage equals its counter energy; else the counter's "
     "change points; else the trapezoid over the grid."},
    {"attribution.readings", "5",
     "Four readings of where tokens were generated are computed and listed; `gap` is the basis."},
    {"steady.cv", "6", "CV is the population standard deviation over the mean."},
    {"steady.k", "6", "K = 2 consecutive windows; 1, 2, 3 and all are listed beside."},
    {"steady.start", "6",
     "The steady window starts at the completion of the first request of the first qualifying window."},
    {"steady.saturated", "6",
     "Saturated: from the first to the last moment at or above 85 % of the peak number of requests within "
     "their generation interval; shown beside, never instead."},
    {"steady.delivery_lag", "6",
     "Delivery lag: over 1 % of the formal stage in which requests are outstanding while every GPU is below "
     "1.15 times its ready level, counted from 1 s after the start; a buffer sample stands for the time until the "
     "next, and a request is outstanding until formal_end."},
    {"metrics.e_ss", "7",
     "The estimate's energy per request is steady-state J/token times the mean output tokens of all successful "
     "formal requests."},
    {"metrics.beside", "7",
     "Formal-stage J/token, J/request, tokens per kWh, J per input and output token, and the N at which overhead "
     "falls under 1, 5 and 10 % are shown beside the source's metrics."},
    {"check.counter_disagrees", "8",
     "Counter and buffer over 1 % apart on startup or formal exclude a run; stages under 10 s are "
     "reported, not judged."},
    {"check.usage", "8",
     "Server-side generated tokens equal client usage where no request failed, and are within 2 % else."},
    {"check.failed", "8", "More failed requests than the plan's limit (1 %) exclude a run."},
    {"check.gpu_memory", "8",
     "The engine holds a GPU when its used memory is over 64 MiB above what it was before the start, the limit of the "
     "release."},
    {"check.counter_gap", "8",
     "A gap in the counter's readings is no sample_gap: the counter is cumulative, and one that stands still is void."},
    {"check.power_floor", "8",
     "Power is below idle when it is below the GPU's baseline by more than the larger of 2 % and 1 W."},
    {"check.usage_before", "8",
     "The engine's count before the formal stage is its last answer after the warm-up; without one, the usage of "
     "readiness and warm-up, as a cold engine counts from zero."},
    {"check.not_verifiable", "8",
     "A property that the engine gives no way to check is a mark; the check passes when another one could be checked, "
     "and that of usage when the engine keeps no count."},
    {"check.client_limited", "8",
     "The client was the bottleneck when its loop used over 90 % of a core, handled arrivals over 20 ms late at P99, "
     "or "
     "needed over 1 s from first to last submission."},
    {"compare.boards", "9",
     "On the same boards the sensors' limit cancels in a ratio and scales a difference; on others both limits add."},
    {"compare.repetitions", "9",
     "With repetitions: mean, sample standard deviation, a bootstrap 95 % interval, and for a pair of engines "
     "a permutation test."},
};
const size_t method_decision_count = SCHEMA_COUNT(method_decisions);

static const struct field decision_fields[] = {
    {"id", FIELD_TEXT, .offset = offsetof(struct method_decision, id), .doc = "Name of the decision."},
    {"section", FIELD_TEXT, .offset = offsetof(struct method_decision, section), .doc = "Section of the method."},
    {"text", FIELD_TEXT, .offset = offsetof(struct method_decision, text), .doc = "What was decided."},
};
const struct schema method_decision_schema = {"decision", sizeof(struct method_decision), decision_fields,
                                              SCHEMA_COUNT(decision_fields), "One decision of jtok's own, marked [D]."};
