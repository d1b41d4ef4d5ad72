#include "analysis/release.h"

#include <assert.h>
#include <math.h>
#include "model/limits.h"
#include "rules/release.h"
#include "base/time.h"
#include "base/must.h"

/* ---- memory ---- */

/* The first state after formal_end without a compute process and with used memory back within 64 MiB of before
 * service_start; ABSENT_I64 and the reason where there is none. */
static int64_t memory_released(const struct rec_gpu *g, int64_t service_start_ns, int64_t formal_end_ns,
                               struct arena *a, const char **ret_why)
{
    int64_t before = ABSENT_I64;
    const struct rec_gpu_state *last = NULL;
    for (size_t i = 0; i < g->state_count; i++) {
        const struct rec_gpu_state *s = &g->state[i];
        if (s->t_ns <= service_start_ns && s->memory_used_bytes != ABSENT_I64)
            before = s->memory_used_bytes;
        if (s->t_ns <= formal_end_ns || s->memory_used_bytes == ABSENT_I64 || s->processes < 0)
            continue;
        last = s;
        if (before != ABSENT_I64 && s->processes == 0 && s->memory_used_bytes <= before + METHOD_MEMORY_BYTES)
            return s->t_ns;
    }
    if (before == ABSENT_I64 || !last)
        *ret_why =
            arena_format(a, "memory and processes of GPU %lld were not recorded before the start and after the end",
                         (long long)g->index);
    else if (last->processes > 0)
        *ret_why = arena_format(a, "%d compute process%s still on GPU %lld, %lld MiB over before", last->processes,
                                last->processes > 1 ? "es" : "", (long long)g->index,
                                (long long)((last->memory_used_bytes - before) >> 20));
    else
        *ret_why = arena_format(a, "GPU %lld still holds %lld MiB over before", (long long)g->index,
                                (long long)((last->memory_used_bytes - before) >> 20));
    return ABSENT_I64;
}

/* ---- power ---- */

static const char *gpu_name(void *self, uint32_t gpu)
{
    const struct rec_gpu *gpus = self;
    return gpus[gpu].uuid ? gpus[gpu].uuid : "GPU";
}

struct recovery release_power(const struct plan_method *plan, const struct rec_gpu *recorded,
                              const struct gpu_baseline *baseline, size_t n, int64_t formal_end_ns,
                              int64_t count_after_ns, struct arena *a)
{
    must(count_after_ns >= formal_end_ns);
    struct recovery ret = {.t11_ns = ABSENT_I64, .first_ns = ABSENT_I64};
    struct arena scratch = {0};
    int64_t period_ns = duration_ns(plan->grid_s), hold_ns = duration_ns(plan->hold_s);
    if (n == 0 || n > TICK_GPUS_MAX || period_ns <= 0 || hold_ns == ABSENT_I64) {
        ret.why = n == 0 ? "no GPU was recorded" : "the stored plan's grid or hold can't be used";
        return ret;
    }
    double *baseline_w = arena_array(&scratch, n, sizeof *baseline_w);
    struct tick_sample **s = arena_array(&scratch, n, sizeof *s);
    size_t *count = arena_array(&scratch, n, sizeof *count), *at = arena_array(&scratch, n, sizeof *at);
    for (size_t g = 0; g < n; g++) {
        baseline_w[g] = baseline[g].w.value;
        s[g] = arena_array(&scratch, recorded[g].instant_count, sizeof **s);
        count[g] = grid_samples(&recorded[g], period_ns, formal_end_ns, s[g]);
    }
    struct release *rule = arena_alloc(&scratch, sizeof *rule);
    release_init(rule, (uint32_t)n, baseline_w, period_ns, hold_ns);
    rule->count_after_ns = count_after_ns;
    for (bool more = true; more;) {
        size_t next = n;
        for (size_t g = 0; g < n; g++)
            if (at[g] < count[g] && (next == n || s[g][at[g]].t_ns < s[next][at[next]].t_ns))
                next = g;
        more = next < n && !release_feed(rule, (uint32_t)next, &s[next][at[next]]);
        if (next < n)
            at[next]++;
    }
    if (rule->closed || release_end(rule)) {
        ret.t11_ns = rule->recovered_ns;
    } else {
        struct buf b = {0};
        release_describe(rule, gpu_name, (void *)(uintptr_t)recorded, &b);
        /* A reason is a phrase within somebody's sentence. */
        size_t length = b.n && b.p[b.n - 1] == '.' ? b.n - 1 : b.n;
        ret.why = length ? arena_copy(a, b.p, length) : "power did not stay at the baseline for the hold";
        buf_done(&b);
    }
    ret.first_ns = rule->first_row_ns;
    ret.restarts = rule->restarts;
    arena_done(&scratch);
    return ret;
}

/* ---- release ---- */

static struct quantity seconds_after(int64_t t_ns, int64_t formal_end_ns, const char *why)
{
    assert(t_ns != ABSENT_I64 || why);
    return t_ns == ABSENT_I64 ? quantity_absent(Q_NOT_REACHED, why) : quantity_of(time_s(t_ns - formal_end_ns));
}

/* Where the watch ended without a release: the last grid sample that every GPU has, and no later than the run's own
 * boundary. */
static int64_t end_of_watch(const struct records *r, int64_t formal_end_ns)
{
    static const enum boundary ends[] = {BOUNDARY_HOLD_END, BOUNDARY_RELEASE_END, BOUNDARY_RELEASE_TIMEOUT};
    int64_t last = INT64_MAX;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (records_boundary(r, ends[i]) != ABSENT_I64)
            last = records_boundary(r, ends[i]);
    for (size_t g = 0; g < r->gpu_count; g++) {
        int64_t seen = ABSENT_I64;
        for (size_t i = 0; i < r->gpus[g].instant_count; i++)
            if (r->gpus[g].instant[i].tag == INSTANT_GRID && r->gpus[g].instant[i].mw >= 0)
                seen = r->gpus[g].instant[i].t_ns;
        last = seen < last ? seen : last;
    }
    return last == INT64_MAX || last <= formal_end_ns ? ABSENT_I64 : last;
}

/* The run watches memory faster than the grid: its own boundary counts where the states agree with it. */
static int64_t released_by_boundary(const struct records *r, int64_t by_states, int64_t formal_end_ns)
{
    int64_t seen_ns = records_boundary(r, BOUNDARY_MEMORY_RELEASED);
    if (by_states == ABSENT_I64 || seen_ns == ABSENT_I64 || seen_ns <= formal_end_ns || seen_ns > by_states)
        return by_states;
    for (size_t g = 0; g < r->gpu_count; g++)
        for (size_t i = 0; i < r->gpus[g].state_count; i++) {
            const struct rec_gpu_state *s = &r->gpus[g].state[i];
            if (s->t_ns >= seen_ns && s->t_ns < by_states && s->processes > 0)
                return by_states;
        }
    return seen_ns;
}

/* t11 is a grid sample: power may have been back up to one period before. */
static struct quantity resolution_j(const struct plan_method *plan, const struct gpu_baseline *baseline, size_t n)
{
    double w = 0;
    for (size_t i = 0; i < n; i++) {
        if (!quantity_has_value(&baseline[i].w))
            return baseline[i].w;
        w += baseline[i].w.value;
    }
    return n ? quantity_of(plan->grid_s * w) : quantity_absent(Q_NOT_RECORDED, "no GPU was recorded");
}

/* What ends the release, each ABSENT_I64 where it was not seen or not proven. */
struct release_ends {
    int64_t exit_ns, memory_ns, power_ns;
    const char *memory_why, *power_why;
};

static const char NO_EXIT[] = "the engine's exit was not seen", NO_GPU[] = "no GPU was recorded";

/* Null: all three came, and in time. */
static const char *why_open(const struct release_ends *e, bool timed_out)
{
    if (e->exit_ns == ABSENT_I64)
        return NO_EXIT;
    if (e->memory_ns == ABSENT_I64)
        return e->memory_why ? e->memory_why : NO_GPU;
    if (e->power_ns == ABSENT_I64)
        return e->power_why;
    return timed_out ? "the release reached its end after the maximum wait" : NULL;
}

/* Each GPU by itself; *ret_ns is when the last one gave its memory back. */
static struct gpu_release *judge_gpus(const struct records *r, const struct gpu_baseline *baseline, int64_t start_ns,
                                      int64_t end_ns, struct arena *a, int64_t *ret_ns, const char **ret_why)
{
    struct gpu_release *list = arena_array(a, r->gpu_count, sizeof *list);
    int64_t memory_ns = r->gpu_count ? INT64_MIN + 1 : ABSENT_I64;
    *ret_why = NULL;
    for (size_t i = 0; i < r->gpu_count; i++) {
        const char *why = NULL;
        int64_t t = memory_released(&r->gpus[i], start_ns, end_ns, a, &why);
        memory_ns = t == ABSENT_I64 || memory_ns == ABSENT_I64 ? ABSENT_I64 : time_later(memory_ns, t);
        *ret_why = why && !*ret_why ? why : *ret_why;
        struct recovery own = release_power(&r->plan.method, &r->gpus[i], &baseline[i], 1, end_ns, INT64_MAX, a);
        list[i] = (struct gpu_release){.memory_released_s = seconds_after(t, end_ns, why),
                                       .power_recovered_s = seconds_after(own.t11_ns, end_ns, own.why)};
    }
    *ret_ns = memory_ns;
    return list;
}

static struct quantity end_s(int64_t end_ns, int64_t formal_end_ns, const char *why)
{
    if (!why)
        return seconds_after(end_ns, formal_end_ns, NULL);
    struct quantity s = quantity_absent(end_ns == ABSENT_I64 ? Q_NOT_RECORDED : Q_NOT_CLOSED, why);
    if (end_ns != ABSENT_I64)
        s.value = time_s(end_ns - formal_end_ns);
    return s;
}

static struct release_verdict not_reached(size_t gpus, struct arena *a)
{
    struct gpu_release *list = arena_array(a, gpus, sizeof *list);
    for (size_t i = 0; i < gpus; i++)
        list[i].memory_released_s = list[i].power_recovered_s =
            quantity_absent(Q_NOT_RECORDED, "the run did not get that far");
    const struct quantity none = quantity_absent(Q_NOT_RECORDED, "the run did not reach the formal stage");
    return (struct release_verdict){.why = "the run did not reach the end of the formal stage",
                                    .exit_s = none,
                                    .memory_released_s = none,
                                    .power_recovered_s = none,
                                    .end_s = none,
                                    .first_in_band_s = none,
                                    .resolution_j = none,
                                    .end_ns = ABSENT_I64,
                                    .hold_restarts = ABSENT_I64,
                                    .gpus = list};
}

struct release_verdict release_judge(const struct records *r, const struct gpu_baseline *baseline, struct arena *a)
{
    must(r->gpu_count == 0 || baseline);
    int64_t formal_end_ns = records_boundary(r, BOUNDARY_FORMAL_END);
    int64_t start_ns = records_boundary(r, BOUNDARY_SERVICE_START);
    if (formal_end_ns == ABSENT_I64 || start_ns == ABSENT_I64)
        return not_reached(r->gpu_count, a);
    struct release_ends e = {.exit_ns = records_boundary(r, BOUNDARY_EXIT)};
    struct gpu_release *gpus = judge_gpus(r, baseline, start_ns, formal_end_ns, a, &e.memory_ns, &e.memory_why);
    e.memory_ns = released_by_boundary(r, e.memory_ns, formal_end_ns);
    int64_t gone =
        e.exit_ns == ABSENT_I64 || e.memory_ns == ABSENT_I64 ? INT64_MAX : time_later(e.exit_ns, e.memory_ns);
    struct recovery all = release_power(&r->plan.method, r->gpus, baseline, r->gpu_count, formal_end_ns, gone, a);
    e.power_ns = all.t11_ns;
    e.power_why = all.why;
    bool timed_out = records_boundary(r, BOUNDARY_RELEASE_TIMEOUT) != ABSENT_I64;
    const char *why = why_open(&e, timed_out);
    int64_t end_ns = why ? end_of_watch(r, formal_end_ns) : time_later(time_later(e.exit_ns, e.memory_ns), e.power_ns);
    return (struct release_verdict){
        .closed = !why,
        .timed_out = timed_out,
        .why = why,
        .exit_s = seconds_after(e.exit_ns, formal_end_ns, NO_EXIT),
        .memory_released_s = seconds_after(e.memory_ns, formal_end_ns, e.memory_why ? e.memory_why : NO_GPU),
        .power_recovered_s = seconds_after(e.power_ns, formal_end_ns, e.power_why),
        .end_s = end_s(end_ns, formal_end_ns, why),
        .first_in_band_s = seconds_after(all.first_ns, formal_end_ns, "power never came back into its band"),
        .resolution_j = resolution_j(&r->plan.method, baseline, r->gpu_count),
        .end_ns = end_ns,
        .hold_restarts = all.restarts,
        .gpus = gpus};
}
