#include "analysis/parts.h"

#include <string.h>
#include "model/limits.h"

int parts_series(const struct result_stage *s)
{
    return quantity_has_value(&s->energy.precise) ? SERIES_PRECISE : SERIES_COUNTER;
}

static struct quantity energy_between(const struct meters *m, int series, int64_t a_ns, int64_t b_ns, struct arena *a)
{
    return meters_parts(m, &(struct part){a_ns, b_ns, series}, 1, false, METERS_ALL, a);
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) * 1e-9;
}

/* ---- waits ---- */

/* The wait [from, to] in stage `s`, whose last `silence_ns` METHOD asks for. */
static void wait_of(struct result_stage *s, int64_t from_ns, int64_t to_ns, int64_t silence_ns, const struct meters *m,
                    struct arena *a)
{
    if (s->start_ns == ABSENT_I64 || from_ns == ABSENT_I64 || to_ns == ABSENT_I64) {
        s->wait_j = s->wait_share = quantity_absent(Q_NOT_RECORDED, "the run did not come so far");
        return;
    }
    if (from_ns < s->start_ns || to_ns > s->end_ns || to_ns < from_ns) {
        s->wait_j = s->wait_share = quantity_absent(Q_NOT_RECORDED, "its marks lie outside the stage");
        return;
    }
    int series = parts_series(s);
    const struct quantity *whole = energy_series(&s->energy, series);
    s->wait_s = seconds(from_ns, to_ns);
    s->wait_j = to_ns == from_ns ? quantity_of(0) : energy_between(m, series, from_ns, to_ns, a);
    int64_t counted_ns = to_ns - from_ns > silence_ns ? to_ns - silence_ns : from_ns;
    struct quantity counted = counted_ns == from_ns ? quantity_of(0)
                              : silence_ns          ? energy_between(m, series, from_ns, counted_ns, a)
                                                    : s->wait_j;
    const struct quantity *const inputs[] = {&counted, whole};
    s->wait_share = quantity_has_value(whole) && !(whole->value > 0)
                        ? quantity_absent(Q_UNDEFINED, "the stage took no energy")
                        : quantity_from(counted.value / whole->value, inputs, 2);
}

void parts_waits(const struct records *r, const struct meters *m, struct result *ret, struct arena *a)
{
    int64_t silence_ns = r->plan.requests.connect == CONNECT_AHEAD ? METHOD_SILENCE_NS : 0;
    wait_of(result_stage_of(ret, STAGE_STARTUP), records_boundary(r, BOUNDARY_WARMUP_END),
            records_boundary(r, BOUNDARY_FORMAL_START), silence_ns, m, a);
    wait_of(result_stage_of(ret, STAGE_RELEASE), records_boundary(r, BOUNDARY_FORMAL_END),
            records_boundary(r, BOUNDARY_STOP), 0, m, a);
}

/* ---- phases ---- */

/* The first state on this GPU, after `start_ns`, with a compute process or with memory that it did not hold before. */
static int64_t first_use(const struct rec_gpu *g, int64_t start_ns)
{
    int64_t before = ABSENT_I64;
    for (size_t i = 0; i < g->state_count; i++) {
        const struct rec_gpu_state *s = &g->state[i];
        if (s->t_ns <= start_ns) {
            if (s->memory_used_bytes != ABSENT_I64)
                before = s->memory_used_bytes;
            continue;
        }
        bool more = before != ABSENT_I64 && s->memory_used_bytes != ABSENT_I64 &&
                    s->memory_used_bytes > before + METHOD_MEMORY_BYTES;
        if (s->processes > 0 || more)
            return s->t_ns;
    }
    return ABSENT_I64;
}

static int64_t earlier(int64_t x, int64_t y)
{
    return x == ABSENT_I64 || (y != ABSENT_I64 && y < x) ? y : x;
}

static int64_t milestone_ns(const struct records *r, int milestone)
{
    int64_t first = ABSENT_I64;
    for (size_t i = 0; i < r->fact_count; i++)
        if (r->facts[i].name && strcmp(r->facts[i].name, milestone_names[milestone]) == 0)
            first = earlier(first, r->facts[i].t_ns);
    return first;
}

/* When each phase but the rest ends; ABSENT_I64: nothing says so. */
static void phase_ends(const struct records *r, int64_t start_ns, int64_t *ret_ends)
{
    static const int milestones[PHASE_REST] = {[PHASE_WEIGHTS] = MILESTONE_WEIGHTS,
                                               [PHASE_COMPILE] = MILESTONE_COMPILED,
                                               [PHASE_GRAPHS] = MILESTONE_GRAPHS,
                                               [PHASE_SERVING] = MILESTONE_SERVING};
    ret_ends[PHASE_PROCESS] = ABSENT_I64;
    for (size_t g = 0; g < r->gpu_count; g++)
        ret_ends[PHASE_PROCESS] = earlier(ret_ends[PHASE_PROCESS], first_use(&r->gpus[g], start_ns));
    for (int p = PHASE_WEIGHTS; p < PHASE_REST; p++)
        ret_ends[p] = milestone_ns(r, milestones[p]);
}

void parts_phases(const struct records *r, const struct meters *m, struct result *ret, struct arena *a)
{
    const struct result_stage *s = result_stage_of(ret, STAGE_STARTUP);
    ret->startup_phase_count = 0;
    if (s->start_ns == ABSENT_I64)
        return;
    int64_t ends[PHASE_COUNT], from_ns = s->start_ns;
    phase_ends(r, s->start_ns, ends);
    ends[PHASE_REST] = s->end_ns;
    ret->startup_phases = arena_array(a, PHASE_COUNT, sizeof *ret->startup_phases);
    for (int p = 0; p < PHASE_COUNT; p++) {
        if (ends[p] == ABSENT_I64 || ends[p] <= from_ns || (p != PHASE_REST && ends[p] >= s->end_ns))
            continue;
        struct result_phase *x = &ret->startup_phases[ret->startup_phase_count++];
        *x = (struct result_phase){.phase = p,
                                   .start_ns = from_ns,
                                   .end_ns = ends[p],
                                   .start_s = seconds(s->start_ns, from_ns),
                                   .duration_s = seconds(from_ns, ends[p]),
                                   .energy_j = energy_between(m, parts_series(s), from_ns, ends[p], a)};
        x->average_w = quantity_over(&x->energy_j, x->duration_s, "the phase has no duration");
        from_ns = ends[p];
    }
}
