/* The energies: not_covered, sample_gap, counter_void, counter_disagrees, power_out_of_range. */
#include "analysis/verify_internal.h"

static const int judged_stages[] = {STAGE_STARTUP, STAGE_FORMAL, STAGE_RELEASE};
enum { JUDGED = sizeof judged_stages / sizeof *judged_stages };

static const struct result_stage *judged(const struct verify *v, size_t i)
{
    return &v->result->stages[judged_stages[i]];
}

static bool happened(const struct result_stage *s)
{
    return s->start_ns != ABSENT_I64 && s->end_ns != ABSENT_I64;
}

static const char *name_of(const struct result_stage *s)
{
    return stage_names[s->stage];
}

static void check_covered(struct verify *v)
{
    for (size_t i = 0; i < JUDGED; i++) {
        const struct result_stage *s = judged(v, i);
        if (s->energy.headline.state == Q_NOT_COVERED) {
            verify_set(v, CODE_NOT_COVERED, CHECK_FAILED, "The %s stage is not covered: %s.", name_of(s),
                       s->energy.headline.why ? s->energy.headline.why : "a boundary has samples on one side only");
            return;
        }
    }
    for (size_t i = 0; i < JUDGED; i++) {
        const struct result_stage *s = judged(v, i);
        if (!happened(s) || s->energy.headline.state == Q_NOT_RECORDED) {
            verify_set(v, CODE_NOT_COVERED, CHECK_NOT_RECORDED, "The %s stage has no energy: %s.", name_of(s),
                       !happened(s) && s->why   ? s->why
                       : s->energy.headline.why ? s->energy.headline.why
                                                : "it was not recorded");
            return;
        }
    }
    verify_set(v, CODE_NOT_COVERED, CHECK_PASSED, "Every stage has samples on both sides of its boundaries.");
}

/* The counter is cumulative: what it lacks is not a gap in the sum, and one that stands still is void. */
static bool headline_gap(const struct result_stage *s)
{
    switch (s->energy.headline_series) {
    case SERIES_GRID:
    case SERIES_MARKS:
        return s->grid_gap;
    case SERIES_BUFFER:
    case SERIES_PRECISE:
        return s->buffer_gap;
    default:
        return false;
    }
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
    size_t stages = 0;
    for (size_t i = 0; i < JUDGED; i++) {
        const struct result_stage *s = judged(v, i);
        stages += happened(s);
        if (happened(s) && headline_gap(s)) {
            verify_set(v, CODE_SAMPLE_GAP, CHECK_FAILED,
                       "The %s stage has a gap of %.3g s in its headline series (%s).", name_of(s), longest_gap(s),
                       series_names[s->energy.headline_series]);
            return;
        }
    }
    if (stages < JUDGED)
        verify_set(v, CODE_SAMPLE_GAP, CHECK_NOT_RECORDED,
                   "%zu of the 3 stages were recorded; none of those has a gap.", stages);
    else
        verify_set(v, CODE_SAMPLE_GAP, CHECK_PASSED, "No stage has a gap in its headline series.");
}

static void check_counter(struct verify *v)
{
    for (size_t i = 0; i < JUDGED; i++) {
        const struct result_stage *s = judged(v, i);
        for (size_t g = 0; g < s->gpu_count; g++)
            if (s->gpus[g].counter_void) {
                verify_set(v, CODE_COUNTER_VOID, CHECK_FAILED, "The counter of %s is void in the %s stage: %s.",
                           verify_gpu_name(v, (size_t)s->gpus[g].gpu), name_of(s), s->gpus[g].counter_void);
                return;
            }
    }
    for (size_t i = 0; i < JUDGED; i++) {
        const struct result_stage *s = judged(v, i);
        if (!happened(s) || !quantity_has_value(&s->energy.counter)) {
            verify_set(v, CODE_COUNTER_VOID, CHECK_NOT_RECORDED, "The %s stage has no counter energy: %s.", name_of(s),
                       s->energy.counter.why ? s->energy.counter.why : "it was not recorded");
            return;
        }
    }
    verify_set(v, CODE_COUNTER_VOID, CHECK_PASSED, "The counter rose on every GPU in every stage.");
}

/* "startup +0.08 %, formal +0.18 %", with what was not judged said so. */
static const char *join_difference(struct verify *v, const char *before, const struct result_stage *s)
{
    const char *text = arena_format(v->a, "%s %+.2f %%%s", name_of(s), 100 * s->buffer_difference.value,
                                    s->duration_s < DISAGREE_MIN_S ? " (under 10 s: reported, not judged)" : "");
    return before ? arena_format(v->a, "%s, %s", before, text) : text;
}

static void check_disagreement(struct verify *v)
{
    int outcome = CHECK_PASSED;
    const char *text = NULL;
    for (size_t i = 0; i < 2; i++) {
        const struct result_stage *s = judged(v, i);
        if (!happened(s) || !quantity_has_value(&s->buffer_difference)) {
            if (outcome == CHECK_PASSED)
                outcome = CHECK_NOT_RECORDED;
            const char *lacking = arena_format(v->a, "%s not recorded by both", name_of(s));
            text = text ? arena_format(v->a, "%s, %s", text, lacking) : lacking;
            continue;
        }
        double d = s->buffer_difference.value;
        if (s->duration_s >= DISAGREE_MIN_S && (d > DISAGREE_LIMIT || d < -DISAGREE_LIMIT))
            outcome = CHECK_FAILED;
        text = join_difference(v, text, s);
    }
    verify_set(v, CODE_COUNTER_DISAGREES, outcome, "Buffer against counter: %s; the limit is 1 %%.", text);
}

/* ---- power ---- */

/* Idle is a band: the larger of 2 % and 1 W, as the baseline's own proof. */
static double idle_floor(double baseline_w)
{
    double band = baseline_w * 0.02;
    return baseline_w - (band > 1 ? band : 1);
}

/* Null: within range. *ret_judged: could be judged at all. */
static const char *range_fault(struct verify *v, const struct result_stage *s, const struct result_stage_gpu *sg,
                               bool *ret_judged)
{
    const struct result_gpu *g = &v->result->gpus[sg->gpu];
    *ret_judged =
        quantity_has_value(&sg->average_w) && quantity_has_value(&g->baseline_w) && !__builtin_isnan(g->power_limit_w);
    if (!*ret_judged)
        return NULL;
    double w = sg->average_w.value, high = POWER_LIMIT_FACTOR * g->power_limit_w;
    if (w < idle_floor(g->baseline_w.value))
        return arena_format(v->a, "%s drew %.1f W on average in the %s stage, below its idle %.1f W",
                            verify_gpu_name(v, (size_t)sg->gpu), w, name_of(s), g->baseline_w.value);
    if (w > high)
        return arena_format(v->a, "%s drew %.1f W on average in the %s stage, above 1.1 times its limit of %.0f W",
                            verify_gpu_name(v, (size_t)sg->gpu), w, name_of(s), g->power_limit_w);
    return NULL;
}

static void check_power(struct verify *v)
{
    size_t judged_count = 0, wanted = 0;
    for (size_t i = 0; i < JUDGED; i++) {
        const struct result_stage *s = judged(v, i);
        wanted += s->gpu_count ? s->gpu_count : 1;
        for (size_t g = 0; g < s->gpu_count; g++) {
            bool is_judged;
            const char *fault = range_fault(v, s, &s->gpus[g], &is_judged);
            judged_count += is_judged;
            if (fault) {
                verify_set(v, CODE_POWER_OUT_OF_RANGE, CHECK_FAILED, "%s.", fault);
                return;
            }
        }
    }
    if (judged_count < wanted)
        verify_set(v, CODE_POWER_OUT_OF_RANGE, CHECK_NOT_RECORDED,
                   "Average power, baseline or power limit is missing for %zu of %zu stages and GPUs.",
                   wanted - judged_count, wanted);
    else
        verify_set(v, CODE_POWER_OUT_OF_RANGE, CHECK_PASSED,
                   "Average power lies between idle and 1.1 times the limit in every stage.");
}

void verify_energy(struct verify *v)
{
    check_covered(v);
    check_gaps(v);
    check_counter(v);
    check_disagreement(v);
    verify_set(v, CODE_GRID_DISAGREES, CHECK_NOT_JUDGED, "Not looked at.");
    check_power(v);
}
