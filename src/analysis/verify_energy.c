/* The energies: not_covered, sample_gap, counter_void, counter_disagrees, grid_disagrees, power_out_of_range; the flags
 * averaged_power and no_buffer. */
#include "analysis/verify_internal.h"
#include "base/must.h"

#include <assert.h>
#include <string.h>

/* What is judged: startup, formal stage and release, or the window of each load that was reached. */
static const enum stage_id judged_stages[] = {STAGE_STARTUP, STAGE_FORMAL, STAGE_RELEASE};
enum { JUDGED = sizeof judged_stages / sizeof *judged_stages };

static size_t judged_count(const struct verify *v)
{
    if (!result_has_loads(v->result))
        return JUDGED;
    size_t n = 0;
    for (size_t i = 0; i < v->result->loads.point_count; i++)
        n += v->result->loads.points[i].reached;
    return n;
}

static const struct result_point *judged_point(const struct verify *v, size_t i)
{
    const struct result_point *p = v->result->loads.points;
    for (; !p->reached || i > 0; p++)
        i -= p->reached;
    return p;
}

static const struct result_stage *judged(const struct verify *v, size_t i)
{
    must(i < judged_count(v));
    if (result_has_loads(v->result))
        return &judged_point(v, i)->window;
    must(i < JUDGED);
    return result_stage_of(v->result, judged_stages[i]);
}

/* "formal", "window of load 2": what stands before the word stage, or alone. */
static const char *judged_name(struct verify *v, size_t i)
{
    if (!result_has_loads(v->result))
        return stage_id_names[judged_stages[i]];
    return v->result->loads.point_count == 1
               ? "window"
               : arena_format(v->a, "window of load %lld", (long long)judged_point(v, i)->number);
}

/* "formal stage", "window of load 2". */
static const char *judged_words(struct verify *v, size_t i)
{
    return result_has_loads(v->result) ? judged_name(v, i) : arena_format(v->a, "%s stage", judged_name(v, i));
}

/* Of a run with other loads, of which none was reached: why there is nothing to judge; else null. */
static const char *nothing_judged(struct verify *v)
{
    return judged_count(v) ? NULL : "No load has a window, so there is nothing to judge.";
}

static bool took_place(const struct result_stage *s)
{
    return s->start_ns != ABSENT_I64 && s->end_ns != ABSENT_I64;
}

static void check_formal_covered(struct verify *v)
{
    const size_t n = judged_count(v);
    if (nothing_judged(v)) {
        verify_set(v, CODE_NOT_COVERED, CHECK_NOT_RECORDED, "%s", nothing_judged(v));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct result_stage *s = judged(v, i);
        if (s->energy.headline.state == Q_NOT_COVERED) {
            verify_set(v, CODE_NOT_COVERED, CHECK_FAILED, "The %s is not covered: %s.", judged_words(v, i),
                       s->energy.headline.why ? s->energy.headline.why : "a boundary has samples on one side only");
            return;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const struct result_stage *s = judged(v, i);
        if (!took_place(s) || s->energy.headline.state == Q_NOT_RECORDED) {
            verify_set(v, CODE_NOT_COVERED, CHECK_NOT_RECORDED, "The %s has no energy: %s.", judged_words(v, i),
                       !took_place(s) && s->why ? s->why
                       : s->energy.headline.why ? s->energy.headline.why
                                                : "it was not recorded");
            return;
        }
    }
    verify_set(v, CODE_NOT_COVERED, CHECK_PASSED, "Every %s has samples on both sides of its boundaries.",
               result_has_loads(v->result) ? "window" : "stage");
}

/* The counter is cumulative: what it lacks is not a gap in the sum, and one that stands still is void. */
static bool headline_gap(const struct result_stage *s)
{
    switch (s->energy.headline_series) {
    case SERIES_GRID:
    case SERIES_BOUNDARY:
        return s->grid_gap;
    case SERIES_BUFFER:
    case SERIES_PRECISE:
        return s->buffer_gap;
    case SERIES_COUNTER:
    case HEADLINE_MIXED:
        break;
    }
    return false;
}

static double longest_gap(const struct result_stage *s)
{
    double longest = 0;
    bool buffer = s->energy.headline_series == SERIES_BUFFER || s->energy.headline_series == SERIES_PRECISE;
    for (size_t i = 0; i < s->gpu_count; i++) {
        double gap = buffer ? s->gpus[i].buffer_gap_s : s->gpus[i].grid_gap_s;
        longest = gap > longest ? gap : longest;
    }
    return longest;
}

static void check_gaps(struct verify *v)
{
    const size_t n = judged_count(v);
    size_t stages = 0;
    if (nothing_judged(v)) {
        verify_set(v, CODE_SAMPLE_GAP, CHECK_NOT_RECORDED, "%s", nothing_judged(v));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct result_stage *s = judged(v, i);
        stages += took_place(s);
        if (took_place(s) && headline_gap(s)) {
            verify_set(v, CODE_SAMPLE_GAP, CHECK_FAILED, "The %s has a gap of %.3g s in its headline series (%s).",
                       judged_words(v, i), longest_gap(s), series_id_names[s->energy.headline_series]);
            return;
        }
    }
    if (stages < n)
        verify_set(v, CODE_SAMPLE_GAP, CHECK_NOT_RECORDED,
                   "%zu of the %zu stages were recorded; none of those has a gap.", stages, n);
    else
        verify_set(v, CODE_SAMPLE_GAP, CHECK_PASSED, "No %s has a gap in its headline series.",
                   result_has_loads(v->result) ? "window" : "stage");
}

static void check_counter(struct verify *v)
{
    const size_t n = judged_count(v);
    if (nothing_judged(v)) {
        verify_set(v, CODE_COUNTER_VOID, CHECK_NOT_RECORDED, "%s", nothing_judged(v));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct result_stage *s = judged(v, i);
        for (size_t g = 0; g < s->gpu_count; g++)
            if (s->gpus[g].counter_void) {
                verify_set(v, CODE_COUNTER_VOID, CHECK_FAILED, "The counter of %s is void in the %s: %s.",
                           verify_gpu_name(v, (size_t)s->gpus[g].gpu), judged_words(v, i), s->gpus[g].counter_void);
                return;
            }
    }
    for (size_t i = 0; i < n; i++) {
        const struct result_stage *s = judged(v, i);
        if (!took_place(s) || !quantity_has_value(&s->energy.counter)) {
            verify_set(v, CODE_COUNTER_VOID, CHECK_NOT_RECORDED, "The %s has no counter energy: %s.",
                       judged_words(v, i), s->energy.counter.why ? s->energy.counter.why : "it was not recorded");
            return;
        }
    }
    verify_set(v, CODE_COUNTER_VOID, CHECK_PASSED, "The counter rose on every GPU in every %s.",
               result_has_loads(v->result) ? "window" : "stage");
}

/* ---- instruments against each other, each GPU by itself ---- */

/* What has been found so far over GPUs and stages: the worst outcome, and a sentence of all of it. */
struct finding {
    enum check_outcome outcome;
    const char *text;
};

static int severity(enum check_outcome outcome)
{
    return outcome == CHECK_FAILED ? 3 : outcome == CHECK_NOT_RECORDED ? 2 : outcome == CHECK_PASSED ? 1 : 0;
}

static void find(struct verify *v, struct finding *f, enum check_outcome outcome, const char *text)
{
    assert(text && outcome < CHECK_OUTCOME_COUNT);
    f->outcome = severity(outcome) > severity(f->outcome) ? outcome : f->outcome;
    f->text = f->text ? arena_format(v->a, "%s; %s", f->text, text) : text;
}

/* "formal", or "formal of GPU 1 (...)" where there are several. */
static const char *of_gpu(struct verify *v, size_t i, size_t g)
{
    const struct result_stage *s = judged(v, i);
    must(g < s->gpu_count);
    return s->gpu_count > 1
               ? arena_format(v->a, "%s of %s", judged_name(v, i), verify_gpu_name(v, (size_t)s->gpus[g].gpu))
               : judged_name(v, i);
}

static bool has_buffer(const struct verify *v, size_t gpu)
{
    must(gpu < v->r->gpu_count);
    return v->r->gpus[gpu].buffer_count > 0;
}

/* One GPU in one stage, against a limit. A stage under 10 s is told and not judged; so is an excess beside a hole in
 * the buffer, which the trapezoid can only bridge by a guess. */
static void judge_difference(struct verify *v, struct finding *f, size_t i, size_t g, const struct quantity *difference,
                             double limit, bool hole)
{
    const struct result_stage *s = judged(v, i);
    must(g < s->gpu_count && limit > 0);
    const char *who = of_gpu(v, i, g);
    if (!quantity_has_value(difference)) {
        find(v, f, CHECK_NOT_RECORDED,
             arena_format(v->a, "%s: %s", who, difference->why ? difference->why : "not recorded by both"));
        return;
    }
    double d = difference->value;
    bool over = d > limit || d < -limit, shorter = s->duration_s < METHOD_JUDGED_S;
    enum check_outcome outcome = shorter ? CHECK_NOT_JUDGED
                                 : !over ? CHECK_PASSED
                                 : hole  ? CHECK_NOT_RECORDED
                                         : CHECK_FAILED;
    find(v, f, outcome,
         arena_format(v->a, "%s %+.2f %%%s", who, 100 * d,
                      shorter        ? " (under 10 s: reported, not judged)"
                      : over && hole ? " across a gap in the buffer, which proves nothing"
                                     : ""));
}

static void check_disagreement(struct verify *v)
{
    const size_t n = result_has_loads(v->result) ? judged_count(v) : 2; /* not the release */
    struct finding f = {.outcome = CHECK_NOT_JUDGED};
    if (nothing_judged(v)) {
        verify_set(v, CODE_COUNTER_DISAGREES, CHECK_NOT_RECORDED, "%s", nothing_judged(v));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct result_stage *s = judged(v, i);
        if (!took_place(s) || !s->gpu_count)
            find(v, &f, CHECK_NOT_RECORDED, arena_format(v->a, "%s was not recorded", judged_name(v, i)));
        for (size_t g = 0; took_place(s) && g < s->gpu_count; g++) {
            const struct result_stage_gpu *x = &s->gpus[g];
            if (!has_buffer(v, (size_t)x->gpu))
                find(v, &f, CHECK_NOT_JUDGED, arena_format(v->a, "%s: no buffer (no_buffer)", of_gpu(v, i, g)));
            else
                judge_difference(v, &f, i, g, &x->counter_disagreement, METHOD_COUNTER_DISAGREES, x->buffer_gap);
        }
    }
    verify_set(v, CODE_COUNTER_DISAGREES, f.outcome,
               "Buffer against counter, shifted by the counter's delay: %s; the limit is 1 %%.", f.text);
}

static void check_grid(struct verify *v)
{
    const bool loads = result_has_loads(v->result);
    const size_t first = loads ? 0 : 1, end = loads ? judged_count(v) : 2; /* the formal stage */
    struct finding f = {.outcome = CHECK_NOT_JUDGED};
    double limit = 0;
    for (size_t i = first; i < end; i++) {
        const struct result_stage *s = judged(v, i);
        for (size_t g = 0; took_place(s) && g < s->gpu_count; g++) {
            const struct result_stage_gpu *x = &s->gpus[g];
            limit = x->grid_disagreement_limit > limit ? x->grid_disagreement_limit : limit;
            judge_difference(v, &f, i, g, &x->grid_disagreement, x->grid_disagreement_limit, false);
        }
    }
    if (!f.text)
        verify_set(v, CODE_GRID_DISAGREES, CHECK_NOT_RECORDED, "%s",
                   loads ? "No load has a window with a GPU." : "The formal stage was not recorded.");
    else
        verify_set(
            v, CODE_GRID_DISAGREES, f.outcome,
            "Grid against counter: %s; the limit is the larger of 10 %% and twice what sampling explains (%.3g %%).",
            f.text, 100 * limit);
}

/* ---- power ---- */

/* The band in which a level counts as the same. */
static double idle_band_w(double level_w)
{
    double band = level_w * METHOD_IDLE_SHARE;
    return band > METHOD_IDLE_W ? band : METHOD_IDLE_W;
}

/* Null: within range. *ret_judged: could be judged at all. */
static const char *range_fault(struct verify *v, size_t i, const struct result_stage_gpu *sg, bool *ret_judged)
{
    must(sg->gpu >= 0 && (size_t)sg->gpu < v->result->gpu_count);
    const struct result_gpu *g = &v->result->gpus[sg->gpu];
    *ret_judged = quantity_has_value(&sg->average_w) && quantity_has_value(&g->baseline_w) && !isnan(g->power_limit_w);
    if (!*ret_judged)
        return NULL;
    double w = sg->average_w.value, idle = g->baseline_w.value, high = METHOD_POWER_FACTOR * g->power_limit_w;
    if (w < idle - idle_band_w(idle))
        return arena_format(v->a, "%s drew %.1f W on average in the %s, below its idle %.1f W",
                            verify_gpu_name(v, (size_t)sg->gpu), w, judged_words(v, i), idle);
    if (w > high)
        return arena_format(v->a, "%s drew %.1f W on average in the %s, above 1.1 times its limit of %.0f W",
                            verify_gpu_name(v, (size_t)sg->gpu), w, judged_words(v, i), g->power_limit_w);
    return NULL;
}

/* A sensor that does not follow the load. Tokens were generated, so each GPU that the engine holds memory on was above
 * its baseline, and all of them together above the level at which they waited for requests. Null: they were.
 * *ret_said: how far that was judged, the end of a sentence. */
static const char *sensor_fault(struct verify *v, const struct result_stage *s, int64_t tokens, const char **ret_said)
{
    double total = 0, ready = 0;
    bool known = true;
    *ret_said = "; no token was generated, so whether it follows the load was not judged";
    if (!took_place(s) || !(tokens > 0))
        return NULL;
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct result_gpu *g = &v->result->gpus[s->gpus[i].gpu];
        const struct quantity *w = &s->gpus[i].average_w;
        known = known && quantity_has_value(w) && quantity_has_value(&g->ready_level_w);
        total += w->value;
        ready += g->ready_level_w.value;
        if (!quantity_has_value(w) || !quantity_has_value(&g->baseline_w) ||
            verify_holds_memory(v, (size_t)s->gpus[i].gpu) != 1)
            continue;
        double idle = g->baseline_w.value;
        if (!(w->value > idle + idle_band_w(idle)))
            return arena_format(v->a,
                                "%s drew %.1f W on average while tokens were generated, and %.1f W idle: its sensor "
                                "does not follow the load",
                                verify_gpu_name(v, (size_t)s->gpus[i].gpu), w->value, idle);
    }
    *ret_said = known ? ", and above idle while tokens were generated"
                      : ", and above idle while tokens were generated; against the level at which the service waits it "
                        "was not judged, as that is not known";
    if (known && !(total > ready + idle_band_w(ready)))
        return arena_format(v->a,
                            "the GPUs drew %.1f W on average while tokens were generated, and %.1f W while the service "
                            "waited: the sensors do not follow the load",
                            total, ready);
    return NULL;
}

/* The same of the formal stage, or of the window of each load. */
static const char *loads_fault(struct verify *v, const char **ret_said)
{
    if (!result_has_loads(v->result))
        return sensor_fault(v, judged(v, 1), v->result->load.output_tokens, ret_said);
    const char *fault = NULL;
    for (size_t i = 0; i < judged_count(v) && !fault; i++)
        fault = sensor_fault(v, judged(v, i), judged_point(v, i)->tokens.output, ret_said);
    return fault;
}

/* Was the level of every GPU without a service looked at? */
static bool has_baselines(const struct verify *v)
{
    bool all = true;
    for (size_t i = 0; i < v->result->gpu_count; i++)
        all = all && quantity_has_value(&v->result->gpus[i].baseline_w);
    return all;
}

static void check_power(struct verify *v)
{
    size_t known = 0, wanted = 0;
    if (nothing_judged(v)) {
        verify_set(v, CODE_POWER_OUT_OF_RANGE, CHECK_NOT_RECORDED, "%s", nothing_judged(v));
        return;
    }
    if (result_has_loads(v->result) && v->result->loads.object != OBJECT_LIFE && !has_baselines(v)) {
        verify_set(v, CODE_POWER_OUT_OF_RANGE, CHECK_NOT_JUDGED,
                   "No baseline was taken: what the GPUs draw without the service is not known.");
        return;
    }
    for (size_t i = 0; i < judged_count(v); i++) {
        const struct result_stage *s = judged(v, i);
        wanted += s->gpu_count ? s->gpu_count : 1;
        for (size_t g = 0; g < s->gpu_count; g++) {
            bool is_judged;
            const char *fault = range_fault(v, i, &s->gpus[g], &is_judged);
            known += is_judged;
            if (fault) {
                verify_set(v, CODE_POWER_OUT_OF_RANGE, CHECK_FAILED, "%s.", fault);
                return;
            }
        }
    }
    const char *said = "", *fault = loads_fault(v, &said);
    if (fault)
        verify_set(v, CODE_POWER_OUT_OF_RANGE, CHECK_FAILED, "%c%s.", fault[0] == 't' ? 'T' : fault[0], fault + 1);
    else if (known < wanted)
        verify_set(v, CODE_POWER_OUT_OF_RANGE, CHECK_NOT_RECORDED,
                   "Average power, baseline or power limit is missing for %zu of %zu stages and GPUs.", wanted - known,
                   wanted);
    else
        verify_set(v, CODE_POWER_OUT_OF_RANGE, CHECK_PASSED,
                   "Average power lies between idle and 1.1 times the limit in every %s%s.",
                   result_has_loads(v->result) ? "window" : "stage", said);
}

/* ---- instruments that are missing ---- */

static void flag_averaged(struct verify *v)
{
    const struct result *x = v->result;
    const char *averaged = NULL, *unknown = NULL;
    for (size_t g = 0; g < x->gpu_count; g++) {
        const char *source = x->gpus[g].instant_source;
        if (!source)
            unknown = verify_gpu_name(v, g);
        else if (power_source_is_averaged(source))
            averaged = averaged ? averaged : verify_gpu_name(v, g);
    }
    if (averaged)
        verify_flag_bare(
            v, FLAG_AVERAGED_POWER, CHECK_FAILED,
            "%s does not report instantaneous power: a mean over about one second is used instead, so startup and "
            "release by the grid lag by about a second.",
            averaged);
    else if (unknown || !x->gpu_count)
        verify_flag_bare(v, FLAG_AVERAGED_POWER, CHECK_NOT_RECORDED, "%s.",
                         unknown
                             ? arena_format(v->a, "Which kind of power the grid of %s holds was not recorded", unknown)
                             : "No GPU was recorded");
    else
        verify_flag_bare(v, FLAG_AVERAGED_POWER, CHECK_PASSED, "The grid holds instantaneous power.");
}

static void flag_no_buffer(struct verify *v)
{
    size_t lacking = 0, first = 0;
    for (size_t g = v->r->gpu_count; g-- > 0;)
        if (!has_buffer(v, g)) {
            lacking++;
            first = g;
        }
    if (lacking)
        verify_flag(v, FLAG_NO_BUFFER, CHECK_FAILED, (double)lacking, 0,
                    "%s%s recorded no power buffer: its energies rest on grid and counter alone, and nothing finer "
                    "checks them.",
                    verify_gpu_name(v, first), lacking > 1 ? arena_format(v->a, " and %zu more", lacking - 1) : "");
    else if (!v->r->gpu_count)
        verify_flag_bare(v, FLAG_NO_BUFFER, CHECK_NOT_RECORDED, "No GPU was recorded.");
    else
        verify_flag(v, FLAG_NO_BUFFER, CHECK_PASSED, 0, 0, "Every GPU has its power buffer.");
}

void verify_energy(struct verify *v)
{
    check_formal_covered(v);
    check_gaps(v);
    check_counter(v);
    check_disagreement(v);
    check_grid(v);
    check_power(v);
    flag_averaged(v);
    flag_no_buffer(v);
}
