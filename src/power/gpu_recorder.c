#include "power/gpu_recorder.h"

#include <assert.h>
#include <string.h>
#include "base/must.h"

static int64_t real_now(void *self)
{
    (void)self;
    return clock_now_ns();
}

static struct clock_pair real_pair(void *self)
{
    (void)self;
    return clock_pair_read();
}

const struct gpu_recorder_clock gpu_recorder_real_clock = {NULL, real_now, real_pair};

void gpu_recorder_init(struct gpu_recorder *g, struct device *d, const struct sampler_options *o, uint32_t gpu,
                       const struct gpu_recorder_clock *clock)
{
    must(d && clock && o->sink);
    must(gpu < o->gpu_count && o->gpus[gpu] < d->gpu_count);
    must(o->grid_ns > 0);
    *g = (struct gpu_recorder){
        .device = d, .o = *o, .clock = *clock, .gpu = gpu, .device_gpu = o->gpus[gpu], .grid_mw = -1};
    int64_t stagger_ns = o->stagger_ns == SAMPLER_SPREAD ? o->grid_ns / (int64_t)o->gpu_count : o->stagger_ns;
    int64_t phase_ns = gpu * stagger_ns;
    schedule_init(&g->schedule, o->t0_ns - o->grid_ns + phase_ns, o->grid_ns, o->t0_ns - SAMPLER_LEAD_NS,
                  &d->gpus[g->device_gpu].caps);
    pthread_mutex_init(&g->mutex, NULL);
}

void gpu_recorder_done(struct gpu_recorder *g)
{
    pthread_mutex_destroy(&g->mutex);
}

static int64_t now(struct gpu_recorder *g)
{
    return g->clock.now(g->clock.self);
}

static void notify(struct gpu_recorder *g, const char *name, enum check_outcome outcome, const char *expected,
                   const char *seen)
{
    struct rec_fact fact = {
        .t_ns = now(g) - g->o.origin_ns, .name = name, .outcome = outcome, .expected = expected, .seen = seen};
    g->o.sink->fact(g->o.sink->self, &fact);
}

static const char *fault_of(struct gpu_recorder *g)
{
    return g->device->ops->fault(g->device->self, g->device_gpu);
}

static bool library_has(const struct gpu_recorder *g, enum gpu_sample sample)
{
    const struct device_ops *ops = g->device->ops;
    return (sample != GPU_SAMPLE_COUNTER || ops->energy) && (sample != GPU_SAMPLE_BUFFER || ops->buffer);
}

/* True when the sample is good. What goes wrong for good is notified once. */
static bool judge_sample(struct gpu_recorder *g, enum gpu_sample sample, enum read_status status)
{
    static const char *const names[GPU_SAMPLE_COUNT] = {"power.instant", "power.counter", "power.buffer",
                                                        "gpu.processes"};
    if (status == READ_LOST && !atomic_exchange(&g->lost, true))
        notify(g, "gpu.lost", CHECK_FAILED, "every GPU can be read to the end of the run", fault_of(g));
    if (status == READ_UNSUPPORTED && !g->notified[sample]) {
        g->notified[sample] = true;
        notify(g, names[sample], CHECK_NOT_RECORDED, "supported by the GPU and its driver",
               library_has(g, sample) ? fault_of(g) : "The device library has no such instrument.");
    }
    return status == READ_OK;
}

static int32_t width(int64_t begin_ns, int64_t end_ns)
{
    assert(end_ns >= begin_ns);
    int64_t width_ns = end_ns - begin_ns;
    return width_ns > INT32_MAX ? INT32_MAX : (int32_t)width_ns;
}

static void read_instant(struct gpu_recorder *g, const struct step *step)
{
    int32_t mw = -1;
    int64_t begin_ns = now(g);
    bool good =
        !g->lost && judge_sample(g, GPU_SAMPLE_POWER, g->device->ops->power(g->device->self, g->device_gpu, &mw));
    int64_t end_ns = now(g), t_ns = begin_ns + (end_ns - begin_ns) / 2 - g->o.origin_ns;
    bool grid = step->tag == INSTANT_GRID;
    struct rec_instant r = {.t_ns = t_ns,
                            .width_ns = width(begin_ns, end_ns),
                            .mw = good ? mw : -1,
                            .late_ns = grid ? begin_ns - step->deadline_ns : ABSENT_I64,
                            .tag = step->tag};
    g->o.sink->instant(g->o.sink->self, g->gpu, &r);
    if (grid) {
        g->grid_mw = r.mw;
        g->grid_t_ns = t_ns;
    }
    schedule_done(&g->schedule, step, begin_ns, end_ns, -1);
}

static void read_counter(struct gpu_recorder *g, const struct step *step)
{
    int64_t mj = -1, begin_ns = now(g);
    enum read_status status = library_has(g, GPU_SAMPLE_COUNTER)
                                  ? g->device->ops->energy(g->device->self, g->device_gpu, &mj)
                                  : READ_UNSUPPORTED;
    int64_t end_ns = now(g);
    bool good = judge_sample(g, GPU_SAMPLE_COUNTER, status);
    if (status == READ_UNSUPPORTED) {
        g->schedule.counter = false;
        return;
    }
    int64_t middle_ns = begin_ns + (end_ns - begin_ns) / 2;
    struct rec_counter r = {.t_ns = middle_ns - g->o.origin_ns,
                            .mj = good ? mj : -1,
                            .width_ns = width(begin_ns, end_ns),
                            .why = counter_lock_why(&g->schedule.lock, step->why, middle_ns)};
    g->o.sink->counter(g->o.sink->self, g->gpu, &r);
    schedule_done(&g->schedule, step, begin_ns, end_ns, r.mj);
}

/* The pair belongs to the stamps that were just drained, so one is taken with each drain. */
static void write_clock(struct gpu_recorder *g)
{
    struct clock_pair p = g->clock.pair(g->clock.self);
    assert(p.width_ns >= 0);
    struct rec_clock r = {
        .t_ns = p.t_ns - g->o.origin_ns, .offset_ns = p.offset_ns + g->o.origin_ns, .width_ns = p.width_ns};
    g->o.sink->clock(g->o.sink->self, &r);
}

static void drain_buffer(struct gpu_recorder *g)
{
    struct rec_buffer samples[DEVICE_BUFFER_MAX];
    size_t n = 0;
    write_clock(g);
    if (g->lost || !g->schedule.buffer)
        return;
    enum read_status status = library_has(g, GPU_SAMPLE_BUFFER) ? g->device->ops->buffer(g->device->self, g->device_gpu,
                                                                                         g->buffer_seen_us, samples, &n)
                                                                : READ_UNSUPPORTED;
    if (!judge_sample(g, GPU_SAMPLE_BUFFER, status)) {
        g->schedule.buffer = status != READ_UNSUPPORTED;
        return;
    }
    if (n == 0)
        return;
    must(n <= DEVICE_BUFFER_MAX);
    assert(samples[0].realtime_us > g->buffer_seen_us); /* or a sample would be recorded twice */
    g->buffer_seen_us = samples[n - 1].realtime_us;
    g->o.sink->buffer(g->o.sink->self, g->gpu, samples, n);
}

/* Fills in what of `live` depends on the processes; returns their records. */
static size_t sample_processes(struct gpu_recorder *g, int64_t t_ns, struct rec_process *ret_records,
                               struct sampler_live *live)
{
    struct device_process list[DEVICE_PROCESSES_MAX];
    size_t n = 0;
    live->processes = live->foreign = live->unknown = -1;
    if (!judge_sample(g, GPU_SAMPLE_PROCESSES, g->device->ops->processes(g->device->self, g->device_gpu, list, &n)))
        return 0;
    must(n <= DEVICE_PROCESSES_MAX);
    live->processes = (int32_t)n;
    live->foreign = live->unknown = 0;
    for (size_t i = 0; i < n; i++) {
        int8_t own = g->o.own ? g->o.own(g->o.self, list[i].pid) : -1;
        live->foreign += own == 0;
        live->unknown += own < 0;
        ret_records[i] =
            (struct rec_process){.t_ns = t_ns, .pid = list[i].pid, .memory_bytes = list[i].memory_bytes, .own = own};
    }
    return n;
}

static void sample_state(struct gpu_recorder *g, struct sampler_live *live)
{
    struct rec_process records[DEVICE_PROCESSES_MAX];
    struct rec_gpu_state state = {.memory_used_bytes = ABSENT_I64,
                                  .slowdowns = ABSENT_I64,
                                  .utilisation = -1,
                                  .sm_mhz = -1,
                                  .temperature_c = -1,
                                  .processes = -1};
    size_t n = 0;
    state.t_ns = now(g) - g->o.origin_ns;
    if (!g->lost) {
        g->device->ops->state(g->device->self, g->device_gpu, &state);
        n = sample_processes(g, state.t_ns, records, live);
        state.processes = live->processes;
    }
    live->memory_used_bytes = state.memory_used_bytes;
    live->utilisation = state.utilisation;
    g->o.sink->state(g->o.sink->self, g->gpu, &state, records, n);
}

static void tick_extras(struct gpu_recorder *g, const struct step *step)
{
    struct sampler_live live = {.t_ns = g->grid_t_ns, .mw = g->grid_mw, .processes = -1, .foreign = -1, .unknown = -1};
    int64_t begin_ns = now(g);
    drain_buffer(g);
    sample_state(g, &live);
    schedule_done(&g->schedule, step, begin_ns, now(g), -1);
    pthread_mutex_lock(&g->mutex);
    live.sequence = ++g->live_count; /* from 1: 0 is what a reader has before the first */
    g->live[(live.sequence - 1) % SAMPLER_RING] = live;
    pthread_mutex_unlock(&g->mutex);
    if (g->o.on_grid)
        g->o.on_grid(g->o.self, g->gpu);
}

static void drain_alone(struct gpu_recorder *g, const struct step *step)
{
    int64_t begin_ns = now(g);
    drain_buffer(g);
    schedule_done(&g->schedule, step, begin_ns, now(g), -1);
}

int64_t gpu_recorder_step(struct gpu_recorder *g, bool boundary)
{
    if (boundary)
        schedule_boundary(&g->schedule);
    if (g->lost)
        g->schedule.counter = g->schedule.buffer = false;
    struct step step = schedule_next(&g->schedule, now(g));
    switch (step.action) {
    case ACTION_WAIT:
        return step.deadline_ns;
    case ACTION_INSTANT:
        read_instant(g, &step);
        break;
    case ACTION_COUNTER:
        read_counter(g, &step);
        break;
    case ACTION_TICK_EXTRAS:
        tick_extras(g, &step);
        break;
    case ACTION_DRAIN:
        drain_alone(g, &step);
        break;
    }
    return now(g);
}

void gpu_recorder_finish(struct gpu_recorder *g)
{
    drain_buffer(g);
}

size_t gpu_recorder_grid_since(struct gpu_recorder *g, uint64_t after, struct sampler_live *ret_samples, size_t max)
{
    assert(ret_samples || max == 0);
    size_t n = 0;
    pthread_mutex_lock(&g->mutex);
    assert(after <= g->live_count);
    uint64_t next = after + 1;
    if (g->live_count > SAMPLER_RING && next <= g->live_count - SAMPLER_RING)
        next = g->live_count - SAMPLER_RING + 1;
    for (; next <= g->live_count && n < max; next++)
        ret_samples[n++] = g->live[(next - 1) % SAMPLER_RING];
    pthread_mutex_unlock(&g->mutex);
    return n;
}
