#include "sim/truth.h"

/* Number of steps that begin at or before t. */
static uint64_t steps_until(const struct sim_gpu *g, uint64_t n, int64_t t_ns)
{
    uint64_t low = 0, high = n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (g->steps[middle].t_ns <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t power_of(const struct sim_gpu *g, uint64_t steps_begun)
{
    return steps_begun ? g->steps[steps_begun - 1].mw : SIM_IDLE_MW;
}

int64_t sim_power_mw(const struct sim_state *s, uint32_t gpu, int64_t t_ns)
{
    const struct sim_gpu *g = &s->gpus[gpu];
    uint64_t begun = steps_until(g, atomic_load_explicit(&g->step_count, memory_order_acquire), t_ns);
    return (int64_t)((double)power_of(g, begun) * s->power_factor + 0.5);
}

double sim_energy_mj(const struct sim_state *s, uint32_t gpu, int64_t from_ns, int64_t to_ns)
{
    const struct sim_gpu *g = &s->gpus[gpu];
    uint64_t n = atomic_load_explicit(&g->step_count, memory_order_acquire);
    uint64_t next = steps_until(g, n, from_ns);
    double mj = 0;
    for (int64_t t_ns = from_ns; t_ns < to_ns; next++) {
        int64_t end_ns = next < n && g->steps[next].t_ns < to_ns ? g->steps[next].t_ns : to_ns;
        mj += (double)power_of(g, next) * ((double)(end_ns - t_ns) / 1e9);
        t_ns = end_ns;
    }
    return mj * s->power_factor;
}
