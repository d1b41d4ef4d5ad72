#include "analysis/stages.h"

#include <assert.h>
#include <math.h>
#include "analysis/parts.h"
#include "base/must.h"
#include "model/limits.h"
#include "base/time.h"

const char NO_FORMAL[] = "the run did not reach the formal stage";
const char OF_LOADS[] = "the run has other loads, and each has a window of its own";
const char NO_GENERATION[] = "no request has a generation interval";

static bool has_begun(const struct bounds *b)
{
    return b->from_ns != ABSENT_I64;
}

/* ---- bounds ---- */

/* [from, to], which `what` says are not there. */
static struct bounds bounds_of(int64_t from_ns, int64_t to_ns, const char *what)
{
    const char *why = from_ns == ABSENT_I64 || to_ns == ABSENT_I64 ? what
                      : to_ns <= from_ns                           ? "the stage has no duration"
                                                                   : NULL;
    return why ? (struct bounds){ABSENT_I64, ABSENT_I64, why} : (struct bounds){from_ns, to_ns, NULL};
}

static struct bounds boundaries_of(const struct records *r, enum boundary from, enum boundary to, const char *what)
{
    return bounds_of(records_boundary(r, from), records_boundary(r, to), what);
}

static struct bounds release_bounds(const struct records *r, int64_t end_ns, const char *no_formal_end)
{
    int64_t from_ns = records_boundary(r, BOUNDARY_FORMAL_END);
    if (from_ns == ABSENT_I64)
        return bounds_of(from_ns, end_ns, no_formal_end);
    /* One that ends where it began was not recorded, either. */
    return end_ns <= from_ns ? bounds_of(from_ns, ABSENT_I64, "nothing was recorded after the formal stage")
                             : bounds_of(from_ns, end_ns, NULL);
}

/* The first that did not happen, or null. */
static const struct bounds *first_absent(const struct bounds *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!has_begun(list[i]))
            return list[i];
    return NULL;
}

struct stage_bounds stages_bounds(const struct records *r, const struct release_verdict *release)
{
    static const char NO_END[] = "the run did not reach the end of the formal stage";
    struct stage_bounds b = {
        .baseline = boundaries_of(r, BOUNDARY_BASELINE_START, BOUNDARY_BASELINE_END, "the run has no baseline window"),
        .startup = boundaries_of(r, BOUNDARY_SERVICE_START, BOUNDARY_FORMAL_START, NO_FORMAL),
        .formal = boundaries_of(r, BOUNDARY_FORMAL_START, BOUNDARY_FORMAL_END, NO_END),
        .release = release_bounds(r, release->end_ns, NO_END)};
    if (plan_has_loads(&r->plan)) { /* which begin and end in silence: the stages do not touch */
        b.startup = boundaries_of(r, BOUNDARY_SERVICE_START, BOUNDARY_WARMUP_END, "the run did not reach its loads");
        b.formal = (struct bounds){ABSENT_I64, ABSENT_I64, OF_LOADS};
    }
    const struct bounds *absent = first_absent((const struct bounds *const[]){&b.startup, &b.formal, &b.release}, 3);
    b.lifecycle = absent ? *absent : (struct bounds){b.startup.from_ns, b.release.to_ns, NULL};
    return b;
}

/* ---- the instruments ---- */

int64_t stages_last_of_both(const struct meters *m, int64_t end_ns)
{
    int64_t last = end_ns == ABSENT_I64 ? INT64_MAX : end_ns;
    for (size_t i = 0; i < m->gpu_count; i++) {
        const struct curve *b = &m->gpus[i].buffer;
        const struct counter *c = &m->gpus[i].counter;
        if (b->n == 0 || c->n == 0)
            continue;
        last = b->t_ns[b->n - 1] < last ? b->t_ns[b->n - 1] : last;
        int64_t counted = c->t_ns[c->n - 1] - METHOD_COUNTER_DELAY_MAX_NS;
        last = counted < last ? counted : last;
    }
    return last == INT64_MAX ? ABSENT_I64 : last;
}

int64_t stages_first_of_both(const struct meters *m)
{
    int64_t first = ABSENT_I64;
    for (size_t i = 0; i < m->gpu_count; i++) {
        const struct curve *b = &m->gpus[i].buffer;
        const struct counter *c = &m->gpus[i].counter;
        if (b->n == 0 || c->n == 0)
            continue;
        int64_t own = time_later(b->t_ns[0], c->t_ns[0] - METHOD_LAG_FIRST_NS);
        first = first == ABSENT_I64 ? own : time_later(first, own);
    }
    return first;
}

struct meters stages_meters(const struct run_series *s, const struct plan *plan, const struct stage_bounds *bounds,
                            const struct release_verdict *release, struct arena *a)
{
    must(s->gpu_count == 0 || s->gpus);
    const struct meters m = meters_make(s, plan, a);
    int64_t from_ns = bounds->startup.from_ns, to_ns = release->end_ns;
    /* Without a start of jtok's own, and without a release, the fit goes as far as the records do. */
    if (plan_object(plan) != OBJECT_LIFE)
        from_ns = stages_first_of_both(&m);
    bool loaded = has_begun(&bounds->formal) || bounds->formal.why == OF_LOADS;
    int64_t fit_to_ns = !release->closed && loaded ? stages_last_of_both(&m, to_ns) : to_ns;
    if (from_ns == ABSENT_I64 || fit_to_ns == ABSENT_I64)
        return m;
    return meters_fitted(m, from_ns, to_ns == ABSENT_I64 ? fit_to_ns : to_ns, fit_to_ns, a);
}

/* ---- one stage ---- */

enum series_id headline_series(enum headline headline, enum stage_id stage)
{
    must(stage <= STAGE_WINDOW && headline < HEADLINE_COUNT);
    if (headline == HEADLINE_PRECISE)
        return SERIES_PRECISE;
    if (stage == STAGE_LIFECYCLE)
        return HEADLINE_MIXED;
    return stage == STAGE_BASELINE || stage == STAGE_STARTUP || stage == STAGE_RELEASE ? SERIES_GRID : SERIES_COUNTER;
}

static struct result_stage stage_absent(enum stage_id stage, const char *why, enum headline headline,
                                        const struct wait *wait)
{
    assert(why);
    const struct quantity none = quantity_absent(stage == STAGE_STEADY || stage == STAGE_WINDOW ? Q_NOT_REACHED
                                                 : stage == STAGE_SATURATED                     ? Q_UNDEFINED
                                                                                                : Q_NOT_RECORDED,
                                                 why);
    enum series_id series = headline_series(headline, stage == STAGE_LIFECYCLE ? STAGE_FORMAL : stage);
    return (struct result_stage){.stage = stage,
                                 .start_ns = ABSENT_I64,
                                 .end_ns = ABSENT_I64,
                                 .duration_s = (double)NAN,
                                 .why = why,
                                 .energy = {none, series, none, none, none, none, none},
                                 .average_w = none,
                                 .sampling_error = none,
                                 .grid_difference = none,
                                 .buffer_difference = none,
                                 .wait_s = wait->s,
                                 .wait_j = wait->j,
                                 .wait_share = wait->share};
}

/* jtok's own wait in a stage; of others there is none. */
static struct wait wait_in(enum stage_id stage, const struct bounds *b, const struct energy_set *e,
                           const struct meters *m, const struct records *r, struct arena *a)
{
    if (stage == STAGE_STARTUP)
        return parts_wait_before(b->from_ns, b->to_ns, e, m, r, a);
    if (stage == STAGE_RELEASE)
        return parts_wait_after(b->from_ns, b->to_ns, e, m, r, a);
    const struct quantity none = quantity_absent(Q_NOT_RECORDED, "jtok does not wait in this stage");
    return (struct wait){(double)NAN, none, none};
}

static struct result_stage stage_there(const struct meters *m, enum stage_id stage, const struct measure *what,
                                       const struct records *r, struct arena *a)
{
    assert(what->from_ns < what->to_ns);
    struct result_stage_gpu *gpus = arena_array(a, m->gpu_count, sizeof *gpus);
    struct energy_set e = meters_energy(m, what, gpus, a);
    if (stage == STAGE_WINDOW)
        meters_widen(m, what->from_ns, what->to_ns, gpus, &e);
    const struct bounds b = {what->from_ns, what->to_ns, NULL};
    const struct wait wait = wait_in(stage, &b, &e, m, r, a);
    bool grid_gap = false, buffer_gap = false, counter_void = false;
    for (size_t i = 0; i < m->gpu_count; i++) {
        grid_gap |= gpus[i].grid_gap;
        buffer_gap |= gpus[i].buffer_gap;
        counter_void |= gpus[i].counter_void != NULL;
    }
    double duration_s = time_s(b.to_ns - b.from_ns);
    return (struct result_stage){.stage = stage,
                                 .start_ns = b.from_ns,
                                 .end_ns = b.to_ns,
                                 .duration_s = duration_s,
                                 .energy = e,
                                 .average_w = quantity_over(&e.headline, duration_s, "the stage has no duration"),
                                 .sampling_error = quantity_difference(&e.headline, &e.precise),
                                 .grid_difference = quantity_difference(&e.grid, &e.counter),
                                 .buffer_difference = quantity_difference(&e.buffer, &e.counter),
                                 .grid_gap = grid_gap,
                                 .buffer_gap = buffer_gap,
                                 .counter_void = counter_void,
                                 .contradiction = meters_contradiction(gpus, m->gpu_count, a),
                                 .gpus = gpus,
                                 .gpu_count = m->gpu_count,
                                 .wait_s = wait.s,
                                 .wait_j = wait.j,
                                 .wait_share = wait.share};
}

struct result_stage stage_measure(const struct meters *m, enum stage_id stage, const struct bounds *b,
                                  const struct stage_rules *rules, const struct records *r, struct arena *a)
{
    must(stage <= STAGE_WINDOW && stage != STAGE_LIFECYCLE);
    if (!has_begun(b)) {
        const struct wait wait = wait_in(stage, b, NULL, m, r, a);
        return stage_absent(stage, b->why, rules->headline, &wait);
    }
    const struct measure what = {.from_ns = b->from_ns,
                                 .to_ns = b->to_ns,
                                 .sampled = stage == STAGE_STARTUP || stage == STAGE_FORMAL,
                                 .headline = headline_series(rules->headline, stage),
                                 .not_closed = stage == STAGE_RELEASE ? rules->not_closed : NULL};
    return stage_there(m, stage, &what, r, a);
}

/* ---- all of them ---- */

static struct part part_of_stage(const struct bounds *b, enum headline headline, enum stage_id stage)
{
    assert(b->from_ns != ABSENT_I64);
    return (struct part){b->from_ns, b->to_ns, headline_series(headline, stage)};
}

/* One interval by every instrument; its headline is the sum of its parts'. */
static struct result_stage measure_lifecycle(const struct meters *m, const struct stage_bounds *b,
                                             const struct stage_rules *rules, const struct records *r, struct arena *a)
{
    enum { PARTS = 3 };
    if (!has_begun(&b->lifecycle)) {
        const struct wait wait = wait_in(STAGE_LIFECYCLE, &b->lifecycle, NULL, m, r, a);
        return stage_absent(STAGE_LIFECYCLE, b->lifecycle.why, rules->headline, &wait);
    }
    const struct part parts[PARTS] = {part_of_stage(&b->startup, rules->headline, STAGE_STARTUP),
                                      part_of_stage(&b->formal, rules->headline, STAGE_FORMAL),
                                      part_of_stage(&b->release, rules->headline, STAGE_RELEASE)};
    const struct measure what = {.from_ns = b->lifecycle.from_ns,
                                 .to_ns = b->lifecycle.to_ns,
                                 .sampled = true,
                                 .headline = headline_series(rules->headline, STAGE_LIFECYCLE),
                                 .parts = parts,
                                 .part_count = PARTS,
                                 .not_closed = rules->not_closed};
    return stage_there(m, STAGE_LIFECYCLE, &what, r, a);
}

static struct quantity measure_fixed(const struct meters *m, const struct stage_bounds *b,
                                     const struct stage_rules *rules, struct arena *a)
{
    enum { PARTS = 2 };
    const struct bounds *absent = first_absent((const struct bounds *const[]){&b->startup, &b->release}, PARTS);
    if (absent)
        return quantity_absent(Q_NOT_RECORDED, absent->why);
    const struct part parts[PARTS] = {part_of_stage(&b->startup, rules->headline, STAGE_STARTUP),
                                      part_of_stage(&b->release, rules->headline, STAGE_RELEASE)};
    const struct quantity fixed = meters_parts(m, parts, PARTS, false, METERS_ALL, a);
    return rules->not_closed ? quantity_marked(fixed, Q_NOT_CLOSED, rules->not_closed) : fixed;
}

/* What the release would have taken, had its first sample in band been the recovery. */
static struct quantity measure_first_in_band(const struct meters *m, const struct bounds *b,
                                             const struct release_verdict *x, enum headline headline, struct arena *a)
{
    if (!has_begun(b) || !quantity_has_value(&x->first_in_band_s))
        return quantity_absent(Q_NOT_REACHED, b->why ? b->why : x->first_in_band_s.why);
    double end_s = x->first_in_band_s.value;
    const struct quantity *const others[] = {&x->exit_s, &x->memory_released_s};
    for (size_t i = 0; i < 2; i++)
        end_s = quantity_has_value(others[i]) ? fmax(end_s, others[i]->value) : end_s;
    const struct part part = {b->from_ns, b->from_ns + (int64_t)(end_s * 1e9 + 0.5),
                              headline_series(headline, STAGE_RELEASE)};
    return meters_parts(m, &part, 1, false, METERS_ALL, a);
}

struct energies stages_measure(const struct meters *m, const struct stage_bounds *bounds,
                               const struct release_verdict *release, enum headline headline, const struct records *r,
                               struct arena *a)
{
    must(release->closed == !release->why);
    const struct stage_rules rules = {headline, release->closed ? NULL : release->why};
    const struct result_stage startup = stage_measure(m, STAGE_STARTUP, &bounds->startup, &rules, r, a);
    struct result_phase *phases = NULL;
    size_t phase_count = has_begun(&bounds->startup) ? parts_phases(&startup, m, r, a, &phases) : 0;
    return (struct energies){.baseline = stage_measure(m, STAGE_BASELINE, &bounds->baseline, &rules, r, a),
                             .startup = startup,
                             .formal = stage_measure(m, STAGE_FORMAL, &bounds->formal, &rules, r, a),
                             .release = stage_measure(m, STAGE_RELEASE, &bounds->release, &rules, r, a),
                             .lifecycle = measure_lifecycle(m, bounds, &rules, r, a),
                             .fixed_j = measure_fixed(m, bounds, &rules, a),
                             .first_in_band_j = measure_first_in_band(m, &bounds->release, release, headline, a),
                             .phases = phases,
                             .phase_count = phase_count};
}
