#include "run/observer.h"

#include <assert.h>
#include <math.h>
#include "base/must.h"
#include "model/limits.h"
#include "run/gpu_check.h"

/* From the sampler's start to the end of its lead, and a little for its threads to begin. */
enum { START_NS = SAMPLER_LEAD_NS + 100000000 };

void observer_init(struct observer *v, struct stage_machine *m, const struct observer_options *o)
{
    must(m && o->device && o->gpu_count > 0 && o->gpu_count <= TICK_GPUS_MAX && o->grid_ns > 0 && o->hold_ns >= 0);
    *v = (struct observer){.machine = m, .o = *o};
    for (size_t g = 0; g < TICK_GPUS_MAX; g++)
        v->memory_before[g] = v->memory_back_ns[g] = ABSENT_I64;
}

/* ---- samples ---- */

static void take_memory(struct observer *v, uint32_t gpu, const struct sampler_live *s)
{
    bool back = s->processes <= 0 && s->memory_used_bytes != ABSENT_I64 && v->memory_before[gpu] != ABSENT_I64 &&
                s->memory_used_bytes <= v->memory_before[gpu] + METHOD_MEMORY_BYTES;
    if (back && v->memory_back_ns[gpu] == ABSENT_I64)
        v->memory_back_ns[gpu] = s->t_ns;
}

void observer_take(struct observer *v, uint32_t gpu, const struct sampler_live *s)
{
    assert(gpu < v->o.gpu_count);
    v->live[gpu] = *s;
    struct tick_sample sample = {.t_ns = s->t_ns,
                                 .watts = s->mw < 0 ? NAN : s->mw / 1e3,
                                 .utilisation = s->utilisation,
                                 .processes = s->processes};
    if (v->idle_on && s->t_ns >= v->t0_ns)
        idle_feed(&v->idle, gpu, &sample);
    if (v->release_on && s->t_ns >= v->release_from_ns) {
        release_feed(&v->release, gpu, &sample);
        take_memory(v, gpu, s);
    }
}

static void on_samples(void *self)
{
    struct observer *v = self;
    if (!v->sampler)
        return;
    for (uint32_t g = 0; g < v->o.gpu_count; g++) {
        struct sampler_live fresh[SAMPLER_RING];
        size_t n = sampler_grid_since(v->sampler, g, v->seen[g], fresh, SAMPLER_RING);
        for (size_t i = 0; i < n; i++)
            observer_take(v, g, &fresh[i]);
        if (n) {
            v->seen[g] = fresh[n - 1].sequence;
            stage_wake(v->machine); /* every condition that a stage waits for may have changed */
        }
    }
    if (sampler_lost(v->sampler))
        stage_fail(
            v->machine, ERR_DEVICE,
            "A GPU was lost during the run (it fell off the bus, or access was taken away): see gpu.lost in facts.csv, "
            "then look at dmesg for Xid messages. The records up to here are kept.");
}

/* On the sampler's threads. */
static void on_grid(void *self, uint32_t gpu)
{
    (void)gpu;
    struct observer *v = self;
    loop_wake(v->machine->loop);
}

static int8_t ask_own(void *self, int64_t pid)
{
    struct observer *v = self;
    return v->o.own ? v->o.own(v->o.self, pid) : -1;
}

bool observer_open(struct observer *v, struct stage_machine *m, const struct observer_options *o, struct err *e)
{
    observer_init(v, m, o);
    v->t0_ns = stage_now_ns(m) + START_NS;
    loop_on_wake(m->loop, on_samples, v);
    struct sampler_options s = {
        .gpus = o->gpus,
        .gpu_count = o->gpu_count,
        .origin_ns = m->origin_ns,
        .t0_ns = v->t0_ns + m->origin_ns,
        .grid_ns = o->grid_ns,
        .stagger_ns = SAMPLER_SPREAD,
        .sink = &m->records,
        .self = v,
        .own = ask_own,
        .on_grid = on_grid,
    };
    return sampler_open(o->device, &s, &v->sampler, e);
}

void observer_close(struct observer *v)
{
    sampler_close(v->sampler);
    v->sampler = NULL;
}

void observer_done(struct observer *v)
{
    observer_close(v);
    idle_done(&v->idle);
}

void observer_boundary(struct observer *v)
{
    must(v->sampler);
    sampler_boundary(v->sampler);
}

/* ---- what they show ---- */

double observer_watts(const struct observer *v)
{
    double watts = 0;
    for (size_t g = 0; g < v->o.gpu_count; g++) {
        if (v->live[g].sequence == 0 || v->live[g].mw < 0)
            return NAN;
        watts += v->live[g].mw / 1e3;
    }
    return watts;
}

const char *observer_gpu_name(void *self, uint32_t gpu)
{
    struct observer *v = self;
    must(gpu < v->o.gpu_count);
    return gpu_label(&v->o.device->gpus[v->o.gpus[gpu]].info, v->machine->arena);
}

int observer_lost(const struct observer *v)
{
    return v->sampler ? sampler_lost(v->sampler) : 0;
}

/* ---- baseline ---- */

void observer_judge_idle(struct observer *v, int64_t window_ns, int64_t wait_ns)
{
    must(!v->idle_on && !v->release_on);
    must(window_ns > 0 && wait_ns >= 0);
    idle_done(&v->idle);
    idle_init(&v->idle, (uint32_t)v->o.gpu_count, v->o.grid_ns, window_ns, wait_ns);
    v->idle_on = true;
}

bool observer_idle_is_decided(const struct observer *v)
{
    return v->idle.state != IDLE_WATCHING;
}

void observer_stop_idle(struct observer *v)
{
    v->idle_on = false;
    for (size_t g = 0; g < v->o.gpu_count; g++)
        v->memory_before[g] = v->live[g].sequence ? v->live[g].memory_used_bytes : ABSENT_I64;
}

/* ---- release ---- */

void observer_watch_release(struct observer *v, int64_t from_ns)
{
    if (v->release_on)
        return;
    double baseline_w[TICK_GPUS_MAX];
    for (size_t g = 0; g < v->o.gpu_count; g++)
        baseline_w[g] = v->idle.verdict[g].mean_w;
    release_init(&v->release, (uint32_t)v->o.gpu_count, baseline_w, v->o.grid_ns, v->o.hold_ns);
    v->release_from_ns = from_ns;
    v->release_on = true;
}

int64_t observer_memory_back_ns(const struct observer *v)
{
    int64_t latest = ABSENT_I64;
    for (size_t g = 0; g < v->o.gpu_count; g++) {
        if (v->memory_back_ns[g] == ABSENT_I64)
            return ABSENT_I64;
        if (v->memory_back_ns[g] > latest)
            latest = v->memory_back_ns[g];
    }
    return latest;
}
