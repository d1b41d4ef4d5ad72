#include "sim.h"

#include <string.h>
#include "sim/truth.h"
#include "sim/mix.h"

#define MS INT64_C(1000000)

static const int64_t counter_step_ns = 100060000, counter_phase_ns = 13 * MS;
static const int64_t instant_step_ns = 100 * MS, instant_window_ns = 25 * MS, average_window_ns = 1000 * MS;
static const int64_t buffer_step_ns = 20 * MS;
static const int64_t counter_base_mj = 5000000; /* since the driver was loaded: not 0 */
static const int64_t late_steps_ns = 1000 * MS; /* the engine may write a step down this much later than its time */
static const double noise_sigma_mw = 300;
static const int64_t not_idle_step_ns = 700 * MS, not_idle_mw = SIM_CONTEXT_MW - SIM_IDLE_MW;

enum noise_stream { NOISE_INSTANT, NOISE_AVERAGE, NOISE_BUFFER };

void sensors_init(struct sensors *s, struct sim_state *state)
{
    s->state = state;
    for (int i = 0; i < SIM_GPUS_MAX; i++) {
        pthread_mutex_init(&s->gpus[i].mutex, NULL);
        s->gpus[i].summed_to_ns = state->created_ns;
        s->gpus[i].summed_mj = 0;
        s->gpus[i].last_mj = 0;
    }
}

void sensors_done(struct sensors *s)
{
    for (int i = 0; s->state && i < SIM_GPUS_MAX; i++)
        pthread_mutex_destroy(&s->gpus[i].mutex);
    s->state = NULL;
}

/* Samples 2k and 2k + 1 are opposite. */
static double noise_mw(uint32_t gpu, enum noise_stream stream, int64_t n)
{
    uint64_t bits = sim_mix(sim_mix((uint64_t)gpu << 8 | stream) ^ (uint64_t)(n >> 1));
    return (n & 1 ? -1 : 1) * sim_deviate(bits) * noise_sigma_mw;
}

/* What FAULT_NOT_IDLE adds: a square wave that the true energy does not know. */
static double disturbance_mw(const struct sensors *s, uint32_t gpu, int64_t t_ns)
{
    bool high = (t_ns - s->state->created_ns) / not_idle_step_ns % 2 == 0;
    return high && fault_active(s, FAULT_NOT_IDLE, gpu, t_ns) ? (double)not_idle_mw : 0;
}

static double mean_mw(const struct sensors *s, uint32_t gpu, int64_t from_ns, int64_t to_ns)
{
    double mean = sim_energy_mj(s->state, gpu, from_ns, to_ns) / ((double)(to_ns - from_ns) / 1e9);
    return mean + disturbance_mw(s, gpu, to_ns);
}

static int64_t round_mw(double mw)
{
    return mw < 0 ? 0 : (int64_t)(mw + 0.5);
}

/* Whole steps gone by since `from`; also right before it. */
static int64_t steps_since(int64_t from_ns, int64_t step_ns, int64_t now_ns)
{
    int64_t d = now_ns - from_ns;
    return d >= 0 ? d / step_ns : -((-d + step_ns - 1) / step_ns);
}

int64_t sensor_instant_mw(const struct sensors *s, uint32_t gpu, int64_t now_ns)
{
    int64_t n = steps_since(s->state->created_ns, instant_step_ns, now_ns);
    int64_t end_ns = s->state->created_ns + n * instant_step_ns;
    return round_mw(mean_mw(s, gpu, end_ns - instant_window_ns, end_ns) + noise_mw(gpu, NOISE_INSTANT, n));
}

int64_t sensor_average_mw(const struct sensors *s, uint32_t gpu, int64_t now_ns)
{
    int64_t n = steps_since(s->state->created_ns, instant_step_ns, now_ns);
    int64_t end_ns = s->state->created_ns + n * instant_step_ns;
    return round_mw(mean_mw(s, gpu, end_ns - average_window_ns, end_ns) + noise_mw(gpu, NOISE_AVERAGE, n));
}

int64_t sensor_counter_mj(struct sensors *s, uint32_t gpu, int64_t now_ns)
{
    struct sensor_gpu *g = &s->gpus[gpu];
    int64_t created_ns = s->state->created_ns, phase_ns = counter_phase_ns * (int64_t)gpu;
    int64_t n = steps_since(created_ns + phase_ns, counter_step_ns, now_ns);
    int64_t to_ns = created_ns + phase_ns + n * counter_step_ns;
    pthread_mutex_lock(&g->mutex);
    int64_t settled_ns = to_ns - late_steps_ns;
    if (settled_ns > g->summed_to_ns) {
        g->summed_mj += sim_energy_mj(s->state, gpu, g->summed_to_ns, settled_ns);
        g->summed_to_ns = settled_ns;
    }
    double mj = g->summed_mj;
    if (to_ns > g->summed_to_ns)
        mj += sim_energy_mj(s->state, gpu, g->summed_to_ns, to_ns);
    int64_t value = counter_base_mj + (int64_t)mj;
    /* A step that was written down late may lower what was already shown; a real counter does not go back. */
    if (value < g->last_mj || fault_active(s, FAULT_COUNTER_STUCK, gpu, now_ns))
        value = g->last_mj ? g->last_mj : value;
    g->last_mj = value;
    pthread_mutex_unlock(&g->mutex);
    return fault_active(s, FAULT_COUNTER_BACK, gpu, now_ns) ? value - counter_base_mj : value;
}

int64_t sensor_buffer_newest(const struct sensors *s, int64_t now_ns)
{
    return steps_since(s->state->created_ns, buffer_step_ns, now_ns);
}

int64_t sensor_buffer_time_ns(const struct sensors *s, int64_t n)
{
    return s->state->created_ns + n * buffer_step_ns;
}

int64_t sensor_buffer_mw(const struct sensors *s, uint32_t gpu, int64_t n)
{
    int64_t end_ns = sensor_buffer_time_ns(s, n);
    return round_mw(mean_mw(s, gpu, end_ns - buffer_step_ns, end_ns) + noise_mw(gpu, NOISE_BUFFER, n));
}
