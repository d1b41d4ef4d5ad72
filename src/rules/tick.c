#include "rules/tick.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static struct tick tick_empty(int64_t number)
{
    return (struct tick){.number = number, .first_ns = ABSENT_I64, .last_ns = ABSENT_I64};
}

void tick_init(struct tick_join *j, uint32_t gpus, int64_t period_ns)
{
    assert(gpus >= 1 && gpus <= TICK_GPUS_MAX && period_ns > 0);
    *j = (struct tick_join){.gpus = gpus, .period_ns = period_ns, .origin_ns = ABSENT_I64, .newest = -1};
    for (uint32_t g = 0; g < gpus; g++)
        j->gpu_origin_ns[g] = ABSENT_I64;
    for (int i = 0; i < TICK_HELD; i++)
        j->held[i] = tick_empty(i);
}

static int64_t number_of(struct tick_join *j, uint32_t gpu, int64_t t_ns)
{
    if (j->origin_ns == ABSENT_I64)
        j->origin_ns = t_ns;
    if (j->gpu_origin_ns[gpu] == ABSENT_I64)
        j->gpu_origin_ns[gpu] = t_ns;
    int64_t phase = j->gpu_origin_ns[gpu] - j->origin_ns;
    return floor_div(t_ns - j->gpu_origin_ns[gpu] + j->period_ns / 2, j->period_ns) + floor_div(phase, j->period_ns);
}

static void place_sample(struct tick_join *j, uint32_t gpu, const struct tick_sample *s, int64_t number)
{
    struct tick *t = &j->held[number % TICK_HELD];
    uint64_t bit = UINT64_C(1) << gpu;
    if (number > j->newest)
        j->newest = number;
    if (isnan(s->watts))
        t->failed |= bit;
    if (isnan(s->watts) || (t->present & bit))
        return;
    t->sample[gpu] = *s;
    t->present |= bit;
    t->first_ns = t->first_ns == ABSENT_I64 || s->t_ns < t->first_ns ? s->t_ns : t->first_ns;
    t->last_ns = s->t_ns > t->last_ns ? s->t_ns : t->last_ns;
}

void tick_feed(struct tick_join *j, uint32_t gpu, const struct tick_sample *s)
{
    assert(gpu < j->gpus);
    assert(gpu < j->gpus && !j->has_pending);
    int64_t number = number_of(j, gpu, s->t_ns);
    if (number < j->next) {
        j->ignored++;
    } else if (number < j->next + TICK_HELD) {
        place_sample(j, gpu, s, number);
    } else {
        j->has_pending = true;
        j->pending = *s;
        j->pending_gpu = gpu;
        j->newest = number;
    }
}

static void give(struct tick_join *j, struct tick *ret_tick)
{
    struct tick *t = &j->held[j->next % TICK_HELD];
    *ret_tick = *t;
    uint64_t all = j->gpus == 64 ? ~UINT64_C(0) : (UINT64_C(1) << j->gpus) - 1;
    ret_tick->whole = t->present == all;
    *t = tick_empty(j->next + TICK_HELD);
    j->next++;
    if (j->has_pending) {
        int64_t number = number_of(j, j->pending_gpu, j->pending.t_ns);
        if (number < j->next + TICK_HELD) {
            j->has_pending = false;
            place_sample(j, j->pending_gpu, &j->pending, number);
        }
    }
}

bool tick_next(struct tick_join *j, struct tick *ret_tick)
{
    const struct tick *t = &j->held[j->next % TICK_HELD];
    uint64_t all = j->gpus == 64 ? ~UINT64_C(0) : (UINT64_C(1) << j->gpus) - 1;
    if (t->present != all && j->newest < j->next + 2)
        return false;
    give(j, ret_tick);
    return true;
}

bool tick_flush(struct tick_join *j, struct tick *ret_tick)
{
    if (j->next > j->newest)
        return false;
    give(j, ret_tick);
    return true;
}

/* The state record nearest to t, or null without any. */
static const struct rec_gpu_state *state_near(const struct rec_gpu *gpu, int64_t t_ns)
{
    size_t low = 0, high = gpu->state_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gpu->state[middle].t_ns < t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == gpu->state_count)
        return low ? &gpu->state[low - 1] : NULL;
    if (low && t_ns - gpu->state[low - 1].t_ns <= gpu->state[low].t_ns - t_ns)
        low--;
    return &gpu->state[low];
}

struct tick_sample tick_sample_of(const struct rec_gpu *gpu, size_t i, int64_t period_ns)
{
    assert(i < gpu->instant_count);
    const struct rec_instant *s = &gpu->instant[i];
    struct tick_sample r = {
        .t_ns = s->t_ns, .watts = s->mw < 0 ? NAN : s->mw / 1000.0, .utilisation = -1, .processes = -1};
    const struct rec_gpu_state *state = state_near(gpu, s->t_ns);
    if (state && 2 * llabs(state->t_ns - s->t_ns) <= period_ns) {
        r.utilisation = state->utilisation;
        r.processes = state->processes;
    }
    return r;
}
