/* The simulated NVML as a device, with its hooks: for tests in virtual time. */
#ifndef JTOK_TESTS_POWER_SIMULATED_H
#define JTOK_TESTS_POWER_SIMULATED_H

#include <dlfcn.h>
#include <stdlib.h>
#include "check.h"
#include "power/device.h"
#include "power/gpu_recorder.h"
#include "sim/state.h"
#include "sim/truth.h"

#define SIMULATED_LIBRARY JTOK_BIN "/libnvidia-ml.so.1"
#define MS                INT64_C(1000000)
#define SECOND            INT64_C(1000000000)

struct simulated {
    struct device *device;
    struct sim_state *state;
    void (*set_time)(int64_t t_ns);
    int64_t (*time)(void);
    int64_t (*realtime_offset)(void);
    void *handle;
};

static inline void *simulated_symbol(const struct simulated *s, const char *name)
{
    void *p = dlsym(s->handle, name);
    assert_non_null(p);
    return p;
}

/* A private machine with so many GPUs and these faults, on the real clock. */
static inline void simulated_open(struct simulated *s, const char *gpus, const char *fault)
{
    struct err e;
    struct sim_state *(*get_state)(void);
    setenv("JTOK_SIM_GPUS", gpus, 1);
    setenv("JTOK_SIM_FAULT", fault, 1);
    unsetenv("JTOK_SIM_STATE");
    assert_ok(device_open(&(struct plan_power){.library = SIMULATED_LIBRARY}, &s->device, &e), e);
    s->handle = dlopen(SIMULATED_LIBRARY, RTLD_NOW);
    assert_non_null(s->handle);
    *(void **)&get_state = simulated_symbol(s, "jtok_sim_state");
    *(void **)&s->set_time = simulated_symbol(s, "jtok_sim_set_time_ns");
    *(void **)&s->time = simulated_symbol(s, "jtok_sim_time_ns");
    *(void **)&s->realtime_offset = simulated_symbol(s, "jtok_sim_realtime_offset_ns");
    s->state = get_state();
}

static inline void simulated_close(struct simulated *s)
{
    device_close(s->device);
    s->set_time(0);
    dlclose(s->handle);
}

static inline int64_t simulated_now(void *self)
{
    return ((struct simulated *)self)->time();
}

static inline struct clock_pair simulated_pair(void *self)
{
    return (struct clock_pair){simulated_now(self), ((struct simulated *)self)->realtime_offset(), 50};
}

/* Records the first GPU from `from_ns` to `until_ns` (CLOCK_MONOTONIC) in virtual time, as one sampler thread would. */
static inline void simulated_record(struct simulated *s, const struct record_sink *sink, int64_t origin_ns,
                                    int64_t t0_ns, int64_t from_ns, int64_t until_ns)
{
    static const uint32_t gpus[] = {0};
    struct gpu_recorder recorder;
    struct sampler_options o = {.gpus = gpus,
                                .gpu_count = 1,
                                .origin_ns = origin_ns,
                                .t0_ns = t0_ns,
                                .grid_ns = SECOND,
                                .stagger_ns = SAMPLER_SPREAD,
                                .sink = sink};
    s->set_time(from_ns);
    gpu_recorder_init(&recorder, s->device, &o, 0, &(struct gpu_recorder_clock){s, simulated_now, simulated_pair});
    while (s->time() < until_ns) {
        int64_t next_ns = gpu_recorder_step(&recorder, false);
        if (next_ns > s->time())
            s->set_time(next_ns);
    }
    gpu_recorder_finish(&recorder);
    gpu_recorder_done(&recorder);
}

#endif
