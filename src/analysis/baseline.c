#include "analysis/baseline.h"

#include <math.h>
#include "rules/idle.h"
#include "base/must.h"

/* ABSENT_I64 where it is not known, or no time that a run could last. */
int64_t duration_ns(double s)
{
    static const double LONGEST_S = 1e9;
    return s >= 0 && s <= LONGEST_S ? (int64_t)(s * 1e9 + 0.5) : ABSENT_I64;
}

/* The grid samples from a time on, failed ones among them. */
size_t grid_samples(const struct rec_gpu *g, int64_t period_ns, int64_t from_ns, struct tick_sample *to)
{
    must(period_ns > 0);
    size_t n = 0;
    for (size_t i = 0; i < g->instant_count; i++)
        if (g->instant[i].tag == INSTANT_GRID && g->instant[i].t_ns >= from_ns)
            to[n++] = tick_sample_of(g, i, period_ns);
    return n;
}

static int64_t known(int32_t value)
{
    return value < 0 ? ABSENT_I64 : value;
}

static const char *why_not_idle(const struct idle_verdict *v, struct arena *a)
{
    struct buf b = {0};
    idle_describe(v, &b);
    const char *why = v->outcome == CHECK_PASSED ? NULL
                      : b.n                      ? arena_copy(a, b.p, b.n)
                                                 : "utilisation or compute processes were not recorded";
    buf_done(&b);
    return why;
}

static struct gpu_baseline judge_gpu(const struct rec_gpu *g, int64_t period_ns, int64_t start_ns, int64_t end_ns,
                                     struct arena *a)
{
    struct arena scratch = {0};
    struct tick_sample *s = arena_array(&scratch, g->instant_count, sizeof *s);
    size_t n = grid_samples(g, period_ns, INT64_MIN, s);
    struct idle_verdict v = idle_judge(s, n, period_ns, start_ns, end_ns);
    arena_done(&scratch);
    return (struct gpu_baseline){.w = isnan(v.mean_w)
                                          ? quantity_absent(Q_NOT_COVERED, "no grid samples around the baseline window")
                                          : quantity_of(v.mean_w),
                                 .sd_w = v.sigma_w,
                                 .half_1_w = v.first_half_w,
                                 .half_2_w = v.second_half_w,
                                 .utilisation_max = known(v.utilisation_max),
                                 .processes_max = known(v.processes_max),
                                 .idle = v.outcome,
                                 .why = why_not_idle(&v, a)};
}

static struct gpu_baseline no_window(void)
{
    return (struct gpu_baseline){.w = quantity_absent(Q_NOT_RECORDED, "the run did not get that far"),
                                 .sd_w = (double)NAN,
                                 .half_1_w = (double)NAN,
                                 .half_2_w = (double)NAN,
                                 .utilisation_max = ABSENT_I64,
                                 .processes_max = ABSENT_I64,
                                 .idle = CHECK_NOT_RECORDED,
                                 .why = "the run has no baseline window"};
}

struct gpu_baseline *baseline_judge(const struct records *r, struct arena *a)
{
    must(r->gpu_count == 0 || r->gpus);
    int64_t start_ns = records_boundary(r, BOUNDARY_BASELINE_START);
    int64_t end_ns = records_boundary(r, BOUNDARY_BASELINE_END), period_ns = duration_ns(r->plan.method.grid_s);
    bool none = start_ns == ABSENT_I64 || end_ns == ABSENT_I64 || end_ns <= start_ns || period_ns <= 0;
    struct gpu_baseline *list = arena_array(a, r->gpu_count, sizeof *list);
    for (size_t i = 0; i < r->gpu_count; i++)
        list[i] = none ? no_window() : judge_gpu(&r->gpus[i], period_ns, start_ns, end_ns, a);
    return list;
}
