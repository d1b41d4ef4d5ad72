/* One GPU's part of the sampler without its thread: does what the schedule says, on a clock that tests replace, and
 * writes the records. Private to src/power.
 *
 * The recorder's own thread (or the test) calls gpu_recorder_step; the rest may come from any thread. */
#ifndef JTOK_POWER_GPU_RECORDER_H
#define JTOK_POWER_GPU_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include "base/clock.h"
#include "power/sampler.h"
#include "power/schedule.h"

struct gpu_recorder_clock {
    void *self;
    int64_t (*now)(void *self);
    struct clock_pair (*pair)(void *self);
};

extern const struct gpu_recorder_clock gpu_recorder_real_clock;

enum gpu_sample { GPU_SAMPLE_POWER, GPU_SAMPLE_COUNTER, GPU_SAMPLE_BUFFER, GPU_SAMPLE_PROCESSES, GPU_SAMPLE_COUNT };

struct gpu_recorder {
    struct device *device;
    struct sampler_options o;
    struct gpu_recorder_clock clock;
    uint32_t gpu;        /* place in o.gpus */
    uint32_t device_gpu; /* place in device->gpus */
    struct schedule schedule;
    int64_t buffer_seen_us;
    bool notified[GPU_SAMPLE_COUNT]; /* that this sample is not supported */
    int32_t grid_mw;                 /* of the last grid sample, until its live sample is complete */
    int64_t grid_t_ns;
    atomic_bool lost;
    pthread_mutex_t mutex; /* guards what follows */
    uint64_t live_count;
    struct sampler_live live[SAMPLER_RING]; /* sequence q is at (q - 1) % SAMPLER_RING */
};

void gpu_recorder_init(struct gpu_recorder *g, struct device *d, const struct sampler_options *o, uint32_t gpu,
                       const struct gpu_recorder_clock *clock);
void gpu_recorder_done(struct gpu_recorder *g);

/* Does one thing that is due, so that a boundary never waits for more than one call; returns when to come again,
 * CLOCK_MONOTONIC, which may be at once. `boundary`: a stage boundary has come. */
int64_t gpu_recorder_step(struct gpu_recorder *g, bool boundary);

/* Drains the buffer a last time. */
void gpu_recorder_finish(struct gpu_recorder *g);

size_t gpu_recorder_grid_since(struct gpu_recorder *g, uint64_t after, struct sampler_live *ret_samples, size_t max);

#endif
