#include "power/lane.h"

#include <string.h>

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

const struct lane_clock lane_real_clock = {NULL, real_now, real_pair};

void lane_init(struct lane *l, struct device *d, const struct sampler_options *o, uint32_t gpu,
               const struct lane_clock *clock)
{
    *l = (struct lane){.device = d, .o = *o, .clock = *clock, .gpu = gpu, .device_gpu = o->gpus[gpu], .grid_mw = -1};
    int64_t stagger_ns = o->stagger_ns == SAMPLER_SPREAD ? o->grid_ns / (int64_t)o->gpu_count : o->stagger_ns;
    int64_t phase_ns = gpu * stagger_ns;
    schedule_init(&l->schedule, o->t0_ns - o->grid_ns + phase_ns, o->grid_ns, o->t0_ns - SAMPLER_LEAD_NS);
    pthread_mutex_init(&l->mutex, NULL);
}

void lane_done(struct lane *l)
{
    pthread_mutex_destroy(&l->mutex);
}

static int64_t now(struct lane *l)
{
    return l->clock.now(l->clock.self);
}

static void tell(struct lane *l, const char *name, int outcome, const char *expected)
{
    struct rec_fact fact = {.t_ns = now(l) - l->o.origin_ns,
                            .name = name,
                            .outcome = outcome,
                            .expected = expected,
                            .seen = l->device->ops->fault(l->device->self, l->device_gpu)};
    l->o.sink->fact(l->o.sink->self, &fact);
}

/* True when the reading is good. What goes wrong for good is told once. */
static bool judge(struct lane *l, enum lane_reading reading, enum read_status status)
{
    static const char *const names[READING_COUNT] = {"power.instant", "power.counter", "power.buffer", "gpu.processes"};
    if (status == READ_LOST && !atomic_exchange(&l->lost, true))
        tell(l, "gpu.lost", CHECK_FAILED, "every GPU can be read to the end of the run");
    if (status == READ_UNSUPPORTED && !l->told[reading]) {
        l->told[reading] = true;
        tell(l, names[reading], CHECK_NOT_RECORDED, "supported by the GPU and its driver");
    }
    return status == READ_OK;
}

static int32_t width(int64_t begin_ns, int64_t end_ns)
{
    int64_t width_ns = end_ns - begin_ns;
    return width_ns > INT32_MAX ? INT32_MAX : (int32_t)width_ns;
}

static void read_instant(struct lane *l, const struct step *step)
{
    int32_t mw = -1;
    int64_t begin_ns = now(l);
    bool good = !l->lost && judge(l, READING_POWER, l->device->ops->power(l->device->self, l->device_gpu, &mw));
    int64_t end_ns = now(l), t_ns = begin_ns + (end_ns - begin_ns) / 2 - l->o.origin_ns;
    bool grid = step->tag == INSTANT_GRID;
    struct rec_instant r = {.t_ns = t_ns,
                            .width_ns = width(begin_ns, end_ns),
                            .mw = good ? mw : -1,
                            .late_ns = grid ? begin_ns - step->deadline_ns : ABSENT_I64,
                            .tag = step->tag};
    l->o.sink->instant(l->o.sink->self, l->gpu, &r);
    if (grid) {
        l->grid_mw = r.mw;
        l->grid_t_ns = t_ns;
    }
    schedule_done(&l->schedule, step, begin_ns, end_ns, -1);
}

static void read_counter(struct lane *l, const struct step *step)
{
    int64_t mj = -1, begin_ns = now(l);
    enum read_status status = l->device->ops->energy(l->device->self, l->device_gpu, &mj);
    int64_t end_ns = now(l);
    bool good = judge(l, READING_COUNTER, status);
    if (status == READ_UNSUPPORTED) {
        l->schedule.counter = false;
        return;
    }
    struct rec_counter r = {.t_ns = begin_ns + (end_ns - begin_ns) / 2 - l->o.origin_ns,
                            .mj = good ? mj : -1,
                            .width_ns = width(begin_ns, end_ns),
                            .why = step->why};
    l->o.sink->counter(l->o.sink->self, l->gpu, &r);
    schedule_done(&l->schedule, step, begin_ns, end_ns, r.mj);
}

/* The pair belongs to the stamps that were just drained, so one is taken with each drain. */
static void write_clock(struct lane *l)
{
    struct clock_pair p = l->clock.pair(l->clock.self);
    struct rec_clock r = {
        .t_ns = p.t_ns - l->o.origin_ns, .offset_ns = p.offset_ns + l->o.origin_ns, .width_ns = p.width_ns};
    l->o.sink->clock(l->o.sink->self, &r);
}

static void drain(struct lane *l)
{
    struct rec_buffer samples[DEVICE_BUFFER_MAX];
    size_t n = 0;
    write_clock(l);
    if (l->lost || !l->schedule.buffer)
        return;
    enum read_status status = l->device->ops->buffer(l->device->self, l->device_gpu, l->buffer_seen_us, samples, &n);
    if (!judge(l, READING_BUFFER, status)) {
        l->schedule.buffer = status != READ_UNSUPPORTED;
        return;
    }
    if (n == 0)
        return;
    l->buffer_seen_us = samples[n - 1].realtime_us;
    l->o.sink->buffer(l->o.sink->self, l->gpu, samples, n);
}

/* Fills in what of `live` depends on the processes; returns their records. */
static size_t read_processes(struct lane *l, int64_t t_ns, struct rec_process *ret_records, struct sampler_live *live)
{
    struct device_process list[DEVICE_PROCESSES_MAX];
    size_t n = 0;
    live->processes = live->foreign = live->unknown = -1;
    if (!judge(l, READING_PROCESSES, l->device->ops->processes(l->device->self, l->device_gpu, list, &n)))
        return 0;
    live->processes = (int32_t)n;
    live->foreign = live->unknown = 0;
    for (size_t i = 0; i < n; i++) {
        int8_t own = l->o.own ? l->o.own(l->o.self, list[i].pid) : -1;
        live->foreign += own == 0;
        live->unknown += own < 0;
        ret_records[i] =
            (struct rec_process){.t_ns = t_ns, .pid = list[i].pid, .memory_bytes = list[i].memory_bytes, .own = own};
    }
    return n;
}

static void read_state(struct lane *l, struct sampler_live *live)
{
    struct rec_process records[DEVICE_PROCESSES_MAX];
    struct rec_gpu_state state = {.memory_used_bytes = ABSENT_I64,
                                  .reasons = ABSENT_I64,
                                  .utilisation = -1,
                                  .sm_mhz = -1,
                                  .temperature_c = -1,
                                  .processes = -1};
    size_t n = 0;
    state.t_ns = now(l) - l->o.origin_ns;
    if (!l->lost) {
        l->device->ops->state(l->device->self, l->device_gpu, &state);
        n = read_processes(l, state.t_ns, records, live);
        state.processes = live->processes;
    }
    live->memory_used_bytes = state.memory_used_bytes;
    live->utilisation = state.utilisation;
    l->o.sink->state(l->o.sink->self, l->gpu, &state, records, n);
}

static void beside(struct lane *l, const struct step *step)
{
    struct sampler_live live = {.t_ns = l->grid_t_ns, .mw = l->grid_mw, .processes = -1, .foreign = -1, .unknown = -1};
    int64_t begin_ns = now(l);
    drain(l);
    read_state(l, &live);
    schedule_done(&l->schedule, step, begin_ns, now(l), -1);
    pthread_mutex_lock(&l->mutex);
    live.sequence = ++l->live_count;
    l->live[(live.sequence - 1) % SAMPLER_RING] = live;
    pthread_mutex_unlock(&l->mutex);
    if (l->o.on_grid)
        l->o.on_grid(l->o.self, l->gpu);
}

static void drain_alone(struct lane *l, const struct step *step)
{
    int64_t begin_ns = now(l);
    drain(l);
    schedule_done(&l->schedule, step, begin_ns, now(l), -1);
}

int64_t lane_turn(struct lane *l, bool marked)
{
    if (marked)
        schedule_mark(&l->schedule);
    if (l->lost)
        l->schedule.counter = l->schedule.buffer = false;
    struct step step = schedule_next(&l->schedule, now(l));
    switch (step.action) {
    case ACTION_WAIT:
        return step.deadline_ns;
    case ACTION_INSTANT:
        read_instant(l, &step);
        break;
    case ACTION_COUNTER:
        read_counter(l, &step);
        break;
    case ACTION_BESIDE:
        beside(l, &step);
        break;
    case ACTION_DRAIN:
        drain_alone(l, &step);
        break;
    }
    return now(l);
}

void lane_finish(struct lane *l)
{
    drain(l);
}

size_t lane_grid_since(struct lane *l, uint64_t after, struct sampler_live *ret_samples, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&l->mutex);
    uint64_t next = after + 1;
    if (l->live_count > SAMPLER_RING && next <= l->live_count - SAMPLER_RING)
        next = l->live_count - SAMPLER_RING + 1;
    for (; next <= l->live_count && n < max; next++)
        ret_samples[n++] = l->live[(next - 1) % SAMPLER_RING];
    pthread_mutex_unlock(&l->mutex);
    return n;
}
