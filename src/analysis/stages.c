#include "analysis/stages.h"

#include <math.h>
#include "model/limits.h"
#include "rules/idle.h"
#include "rules/release.h"

static double offset_s(int64_t t_ns, int64_t from_ns)
{
    return (double)(t_ns - from_ns) * 1e-9;
}

/* ABSENT_I64 where it is not known, or no time that a run could last. */
static int64_t to_ns(double s)
{
    static const double LONGEST_S = 1e9;
    return s >= 0 && s <= LONGEST_S ? (int64_t)(s * 1e9 + 0.5) : ABSENT_I64;
}

/* The grid samples from a time on, failed ones among them. */
static size_t grid_samples(const struct rec_gpu *g, int64_t period_ns, int64_t from_ns, struct tick_sample *to)
{
    size_t n = 0;
    for (size_t i = 0; i < g->instant_count; i++)
        if (g->instant[i].tag == INSTANT_GRID && g->instant[i].t_ns >= from_ns)
            to[n++] = tick_sample_of(g, i, period_ns);
    return n;
}

/* ---- baseline ---- */

static int64_t known(int32_t value)
{
    return value < 0 ? ABSENT_I64 : value;
}

static void judge_gpu(const struct rec_gpu *g, int64_t period_ns, int64_t start_ns, int64_t end_ns,
                      struct result_gpu *ret, struct arena *a)
{
    struct arena scratch = {0};
    struct tick_sample *s = arena_array(&scratch, g->instant_count, sizeof *s);
    size_t n = grid_samples(g, period_ns, INT64_MIN, s);
    struct idle_verdict v = idle_judge(s, n, period_ns, start_ns, end_ns);
    ret->baseline_w = isnan(v.mean_w) ? quantity_absent(Q_NOT_COVERED, "no grid samples around the baseline window")
                                      : quantity_of(v.mean_w);
    ret->baseline_sd_w = v.sigma_w;
    ret->baseline_half_1_w = v.first_half_w;
    ret->baseline_half_2_w = v.second_half_w;
    ret->baseline_utilisation_max = known(v.utilisation_max);
    ret->baseline_processes_max = known(v.processes_max);
    ret->baseline_idle = v.outcome;
    struct buf b = {0};
    idle_describe(&v, &b);
    ret->baseline_why = v.outcome == CHECK_PASSED ? NULL
                        : b.n                     ? arena_copy(a, b.p, b.n)
                                                  : "utilisation or compute processes were not recorded";
    buf_done(&b);
    arena_done(&scratch);
}

void stages_judge_baseline(const struct records *r, struct result_gpu *gpus, struct arena *a)
{
    int64_t start_ns = records_boundary(r, BOUNDARY_BASELINE_START),
            end_ns = records_boundary(r, BOUNDARY_BASELINE_END);
    int64_t period_ns = to_ns(r->plan.method.grid_s);
    for (size_t i = 0; i < r->gpu_count; i++) {
        if (start_ns == ABSENT_I64 || end_ns == ABSENT_I64 || end_ns <= start_ns || period_ns <= 0) {
            gpus[i].baseline_idle = CHECK_NOT_RECORDED;
            gpus[i].baseline_why = "the run has no baseline window";
            continue;
        }
        judge_gpu(&r->gpus[i], period_ns, start_ns, end_ns, &gpus[i], a);
    }
}

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
    const struct result_gpu *gpus = self;
    return gpus[gpu].uuid ? gpus[gpu].uuid : "GPU";
}

/* How power came back. */
struct recovery {
    int64_t t11_ns;   /* ABSENT_I64: it did not, or that was not proven */
    int64_t first_ns; /* the first sample in band */
    int64_t restarts; /* of the hold, after `count_after_ns` */
    const char *why;  /* no t11: the reason */
};

/* Of n GPUs together, their samples fed in order of time. */
static struct recovery power_recovered(const struct plan_method *plan, const struct rec_gpu *recorded,
                                       struct result_gpu *gpus, size_t n, int64_t formal_end_ns, int64_t count_after_ns,
                                       struct arena *a)
{
    struct recovery ret = {.t11_ns = ABSENT_I64, .first_ns = ABSENT_I64};
    struct arena scratch = {0};
    int64_t period_ns = to_ns(plan->grid_s), hold_ns = to_ns(plan->hold_s);
    if (n == 0 || n > TICK_GPUS_MAX || period_ns <= 0 || hold_ns == ABSENT_I64) {
        ret.why = n == 0 ? "no GPU was recorded" : "the stored plan's grid or hold can't be used";
        return ret;
    }
    double *baseline = arena_array(&scratch, n, sizeof *baseline);
    struct tick_sample **s = arena_array(&scratch, n, sizeof *s);
    size_t *count = arena_array(&scratch, n, sizeof *count), *at = arena_array(&scratch, n, sizeof *at);
    for (size_t g = 0; g < n; g++) {
        baseline[g] = gpus[g].baseline_w.value;
        s[g] = arena_array(&scratch, recorded[g].instant_count, sizeof **s);
        count[g] = grid_samples(&recorded[g], period_ns, formal_end_ns, s[g]);
    }
    struct release *rule = arena_alloc(&scratch, sizeof *rule);
    release_init(rule, (uint32_t)n, baseline, period_ns, hold_ns);
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
        release_describe(rule, gpu_name, gpus, &b);
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

static struct quantity after(int64_t t_ns, int64_t formal_end_ns, const char *why)
{
    return t_ns == ABSENT_I64 ? quantity_absent(Q_NOT_REACHED, why) : quantity_of(offset_s(t_ns, formal_end_ns));
}

static int64_t later(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* Where the watch ended without a release: the last grid sample that every GPU has, and no later than the run's own
 * mark. */
static int64_t end_of_watch(const struct records *r, int64_t formal_end_ns)
{
    static const int ends[] = {BOUNDARY_HOLD_END, BOUNDARY_RELEASE_END, BOUNDARY_RELEASE_TIMEOUT};
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

/* The run watches memory faster than the grid: its own mark counts where the states agree with it. */
static int64_t released_by_mark(const struct records *r, int64_t by_states, int64_t formal_end_ns)
{
    int64_t mark = records_boundary(r, BOUNDARY_MEMORY_RELEASED);
    if (by_states == ABSENT_I64 || mark == ABSENT_I64 || mark <= formal_end_ns || mark > by_states)
        return by_states;
    for (size_t g = 0; g < r->gpu_count; g++)
        for (size_t i = 0; i < r->gpus[g].state_count; i++) {
            const struct rec_gpu_state *s = &r->gpus[g].state[i];
            if (s->t_ns >= mark && s->t_ns < by_states && s->processes > 0)
                return by_states;
        }
    return mark;
}

/* t11 is a grid sample: power may have been back up to one period before. */
static struct quantity resolution_j(const struct plan_method *plan, const struct result_gpu *gpus, size_t n)
{
    double w = 0;
    for (size_t i = 0; i < n; i++) {
        if (!quantity_has_value(&gpus[i].baseline_w))
            return gpus[i].baseline_w;
        w += gpus[i].baseline_w.value;
    }
    return n ? quantity_of(plan->grid_s * w) : quantity_absent(Q_NOT_RECORDED, "no GPU was recorded");
}

void stages_judge_release(const struct records *r, struct result_gpu *gpus, struct arena *a, struct result_release *ret)
{
    int64_t end_ns = records_boundary(r, BOUNDARY_FORMAL_END), start_ns = records_boundary(r, BOUNDARY_SERVICE_START);
    if (end_ns == ABSENT_I64 || start_ns == ABSENT_I64) {
        ret->why = "the run did not reach the end of the formal stage";
        return;
    }
    const char *memory_why = NULL, *power_why, *exit_why = "the engine's exit was not seen";
    int64_t exit = records_boundary(r, BOUNDARY_EXIT), memory = r->gpu_count ? INT64_MIN + 1 : ABSENT_I64;
    for (size_t i = 0; i < r->gpu_count; i++) {
        const char *why = NULL;
        int64_t t = memory_released(&r->gpus[i], start_ns, end_ns, a, &why);
        gpus[i].memory_released_s = after(t, end_ns, why);
        memory = t == ABSENT_I64 || memory == ABSENT_I64 ? ABSENT_I64 : later(memory, t);
        memory_why = why && !memory_why ? why : memory_why;
        struct recovery own = power_recovered(&r->plan.method, &r->gpus[i], &gpus[i], 1, end_ns, INT64_MAX, a);
        gpus[i].power_recovered_s = after(own.t11_ns, end_ns, own.why);
    }
    memory = released_by_mark(r, memory, end_ns);
    int64_t gone = exit == ABSENT_I64 || memory == ABSENT_I64 ? INT64_MAX : later(exit, memory);
    struct recovery all = power_recovered(&r->plan.method, r->gpus, gpus, r->gpu_count, end_ns, gone, a);
    int64_t power = all.t11_ns;
    power_why = all.why;
    ret->hold_restarts = all.restarts;
    ret->first_in_band_s = after(all.first_ns, end_ns, "power never came back into its band");
    ret->resolution_j = resolution_j(&r->plan.method, gpus, r->gpu_count);
    ret->exit_s = after(exit, end_ns, exit_why);
    ret->memory_released_s = after(memory, end_ns, memory_why ? memory_why : "no GPU was recorded");
    ret->power_recovered_s = after(power, end_ns, power_why);
    ret->timed_out = records_boundary(r, BOUNDARY_RELEASE_TIMEOUT) != ABSENT_I64;
    ret->closed = exit != ABSENT_I64 && memory != ABSENT_I64 && power != ABSENT_I64 && !ret->timed_out;
    ret->why = ret->closed            ? NULL
               : exit == ABSENT_I64   ? exit_why
               : memory == ABSENT_I64 ? memory_why ? memory_why : "no GPU was recorded"
               : power == ABSENT_I64  ? power_why
                                      : "the release reached its end after the maximum wait";
    ret->end_ns = ret->closed ? later(later(exit, memory), power) : end_of_watch(r, end_ns);
    if (ret->closed)
        ret->end_s = after(ret->end_ns, end_ns, NULL);
    else if (ret->end_ns == ABSENT_I64)
        ret->end_s = quantity_absent(Q_NOT_RECORDED, ret->why);
    else {
        ret->end_s = quantity_absent(Q_NOT_CLOSED, ret->why);
        ret->end_s.value = offset_s(ret->end_ns, end_ns);
    }
}

void stages_bounds(const struct records *r, const struct result_release *release, struct result_stage *stages)
{
    static const struct {
        int stage, from, to;
        const char *why;
    } bounds[] = {
        {STAGE_BASELINE, BOUNDARY_BASELINE_START, BOUNDARY_BASELINE_END, "the run has no baseline window"},
        {STAGE_STARTUP, BOUNDARY_SERVICE_START, BOUNDARY_FORMAL_START, "the run did not reach the formal stage"},
        {STAGE_FORMAL, BOUNDARY_FORMAL_START, BOUNDARY_FORMAL_END, "the run did not reach the end of the formal stage"},
        {STAGE_RELEASE, BOUNDARY_FORMAL_END, -1, "the run did not reach the end of the formal stage"}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        struct result_stage *s = &stages[bounds[i].stage];
        int64_t from = records_boundary(r, bounds[i].from),
                to = bounds[i].to < 0 ? release->end_ns : records_boundary(r, bounds[i].to);
        if (from == ABSENT_I64 || to == ABSENT_I64 || to <= from) {
            s->why = from != ABSENT_I64 && bounds[i].to < 0   ? "nothing was recorded after the formal stage"
                     : from != ABSENT_I64 && to != ABSENT_I64 ? "the stage has no duration"
                                                              : bounds[i].why;
            continue;
        }
        s->start_ns = from;
        s->end_ns = to;
        s->duration_s = offset_s(to, from);
        s->why = NULL;
    }
}
