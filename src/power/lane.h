/* One GPU's part of the sampler without its thread: does what the schedule says, on a clock that tests replace, and
 * writes the records. Private to src/power.
 *
 * A lane's own thread (or the test) calls lane_turn; the rest may come from any thread. */
#ifndef JTOK_POWER_LANE_H
#define JTOK_POWER_LANE_H

#include <pthread.h>
#include <stdatomic.h>
#include "base/clock.h"
#include "power/sampler.h"
#include "power/schedule.h"

struct lane_clock {
    void *self;
    int64_t (*now)(void *self);
    struct clock_pair (*pair)(void *self);
};

extern const struct lane_clock lane_real_clock;

enum lane_reading { READING_POWER, READING_COUNTER, READING_BUFFER, READING_PROCESSES, READING_COUNT };

struct lane {
    struct device *device;
    struct sampler_options o;
    struct lane_clock clock;
    uint32_t gpu;        /* place in o.gpus */
    uint32_t device_gpu; /* place in device->gpus */
    struct schedule schedule;
    int64_t buffer_seen_us;
    bool told[READING_COUNT]; /* that this reading is not supported */
    int32_t grid_mw;          /* of the last grid sample, until its live sample is complete */
    int64_t grid_t_ns;
    atomic_bool lost;
    pthread_mutex_t mutex; /* guards what follows */
    uint64_t live_count;
    struct sampler_live live[SAMPLER_RING]; /* sequence q is at (q - 1) % SAMPLER_RING */
};

void lane_init(struct lane *l, struct device *d, const struct sampler_options *o, uint32_t gpu,
               const struct lane_clock *clock);
void lane_done(struct lane *l);

/* Does one thing that is due, so that a mark never waits for more than one call; returns when to come again,
 * CLOCK_MONOTONIC, which may be at once. `marked`: a stage boundary has come. */
int64_t lane_turn(struct lane *l, bool marked);

/* Drains the buffer a last time. */
void lane_finish(struct lane *l);

size_t lane_grid_since(struct lane *l, uint64_t after, struct sampler_live *ret_samples, size_t max);

#endif
