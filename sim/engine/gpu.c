#include "gpu.h"

#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "sim/state.h"

enum { SETTLE_NS = 20 * 1000000, SETTLE_MW = 10000, TEARDOWN_MW = 88000 };

/* The place that an entry of CUDA_VISIBLE_DEVICES means: an index, or a simulated UUID, whose first group is the index.
 */
static uint32_t place_of(const char *entry)
{
    return strncmp(entry, "GPU-", 4) == 0 ? (uint32_t)strtoul(entry + 4, NULL, 16) : (uint32_t)strtoul(entry, NULL, 10);
}

static uint32_t visible(const struct sim_state *s, uint32_t ret_index[SIM_GPUS_MAX])
{
    uint32_t n = 0;
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    for (uint32_t i = 0; !list && i < s->gpu_count; i++)
        ret_index[n++] = i;
    while (list && *list && n < SIM_GPUS_MAX) {
        uint32_t place = place_of(list);
        if (place >= s->gpu_count)
            break; /* as CUDA does: what follows an unknown device can't be seen */
        ret_index[n++] = place;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return n;
}

bool gpus_open(struct gpus *g, uint32_t count, struct err *e)
{
    *g = (struct gpus){.count = count, .mw = SIM_IDLE_MW};
    if (!getenv("JTOK_SIM_STATE"))
        return true;
    if (!sim_state_open(NULL, 0, &g->state, e))
        return false;
    uint32_t seen = visible(g->state, g->index);
    if (seen >= count)
        return true;
    gpus_close(g);
    return err_set(e, ERR_DEVICE, "%u GPUs are needed, %u are visible (CUDA_VISIBLE_DEVICES=%s).", count, seen,
                   getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "");
}

void gpus_close(struct gpus *g)
{
    sim_state_close(g->state);
    g->state = NULL;
}

void gpus_power(struct gpus *g, int64_t mw, bool sharp)
{
    int64_t now_ns = clock_now_ns();
    if (mw == g->mw || (!sharp && (llabs(mw - g->mw) < SETTLE_MW || now_ns - g->changed_ns < SETTLE_NS)))
        return;
    g->mw = mw;
    g->changed_ns = now_ns;
    for (uint32_t i = 0; g->state && i < g->count; i++)
        sim_step_add(g->state, g->index[i], now_ns, mw);
}

int64_t gpus_step_mw(int64_t decoding, int64_t prefill)
{
    double busy = (double)decoding / (double)(decoding + 12);
    double decode_mw = 320e3 + 370e3 * busy;
    return prefill >= 512 ? SIM_LIMIT_MW : (int64_t)(decode_mw + (SIM_LIMIT_MW - decode_mw) * (double)prefill / 512);
}

void gpus_memory(struct gpus *g, double gib)
{
    g->held = true;
    int64_t bytes = (int64_t)(gib / g->count * 0x1p30) & ~((int64_t)0xfffff);
    for (uint32_t i = 0; g->state && i < g->count; i++)
        sim_process_set(g->state, g->index[i], g->pid[i], bytes);
}

void gpus_utilisation(struct gpus *g, int64_t percent)
{
    for (uint32_t i = 0; g->state && i < g->count; i++)
        sim_utilisation_set(g->state, g->index[i], percent);
}

void gpus_release(struct gpus *g, int64_t release_ns)
{
    if (!g->held)
        return;
    g->held = false;
    gpus_utilisation(g, 0);
    for (uint32_t i = 0; g->state && i < g->count; i++)
        sim_process_remove(g->state, g->index[i], g->pid[i]);
    if (release_ns > 0)
        gpus_power(g, TEARDOWN_MW, true);
    for (uint32_t i = 0; g->state && i < g->count; i++)
        sim_step_add(g->state, g->index[i], clock_now_ns() + release_ns, SIM_IDLE_MW);
    g->mw = SIM_IDLE_MW;
}
