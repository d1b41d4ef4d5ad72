/* The recording of METHOD section 2: a thread for each GPU, three series and what is read beside them, into a
 * record_sink.
 *
 * From t0 - 1 s to sampler_close each thread makes
 * - `instant`: one sample at each deadline t0 + k * grid + phase, k from -1; `late_ns` is the start of the call behind
 * it. A deadline that is missed by a whole period is skipped, never made up for by a burst;
 * - `counter`: locked to the counter's step (counter_lock.h), and at every boundary;
 * - `buffer`: drained at each tick and before it is full (NVIDIA's at least every 1.9 s); only stamps not seen before;
 * - `state` and the compute processes at each tick;
 * - a pair of clocks at each drain.
 * Times in records are since `origin_ns`; rec_clock.offset_ns is realtime minus that time, so realtime - offset =
 * record time.
 *
 * Phases. GPU number g of n is read at phase g * grid / n by default: over n GPUs sampled at one instant the aliasing
 * of a periodic load adds up linearly, spread over the second it adds in quadrature (recorded on four H200: 1.98 %
 * against 1.31 %).
 *
 * A sample that fails is recorded as absent. A GPU that is lost is reported once, as the fact "gpu.lost", its further
 * grid samples are absent, and it is not called again.
 *
 * Threads: sampler_boundary, sampler_grid_since and sampler_lost may be called from any thread; they never wait for an
 * instrument. */
#ifndef JTOK_POWER_SAMPLER_H
#define JTOK_POWER_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "model/sink.h"
#include "power/device.h"
#include "model/limits.h"

enum { SAMPLER_LEAD_NS = 1000000000, SAMPLER_BOUNDARY_AFTER_NS = METHOD_AFTER_NS, SAMPLER_RING = 64 };
enum { SAMPLER_SPREAD = -1 };

struct sampler_options {
    const uint32_t *gpus; /* places in device->gpus; the sink's gpu number is the place in this list. Copied */
    size_t gpu_count;
    int64_t origin_ns; /* CLOCK_MONOTONIC of the run's begin */
    int64_t t0_ns; /* CLOCK_MONOTONIC of the baseline's start: at least SAMPLER_LEAD_NS from now, or the first second is
                      missing. The driver's first samples after a pause may be stale: the lead is for that too */
    int64_t grid_ns;                /* 1 s by METHOD */
    int64_t stagger_ns;             /* phase of GPU g is g * stagger_ns; SAMPLER_SPREAD: grid / GPUs */
    const struct record_sink *sink; /* borrowed until sampler_close */
    void *self; /* first argument of the callbacks below, which are called on the sampler's threads */
    /* Is this compute process the engine's? 1 yes, 0 no, -1 can't be told (another pid namespace). Null: -1 always. */
    int8_t (*own)(void *self, int64_t pid);
    /* A grid sample was taken: a hint to call sampler_grid_since (loop_wake is a fitting body). May be null. */
    void (*on_grid)(void *self, uint32_t gpu);
};

/* One grid sample with what was read at the same tick, for the idle and release rules and for progress. */
struct sampler_live {
    uint64_t sequence;         /* from 1, one more for each grid sample of this GPU */
    int64_t t_ns;              /* since the run began */
    int32_t mw;                /* -1 */
    int32_t utilisation;       /* -1 */
    int64_t memory_used_bytes; /* ABSENT_I64 */
    int32_t processes;         /* -1 */
    int32_t foreign;           /* those of them that are certainly not the engine's; -1: the list could not be read */
    int32_t unknown;           /* those that can't be told; -1 as well */
};

struct sampler;

bool sampler_open(struct device *d, const struct sampler_options *o, struct sampler **ret_sampler, struct err *e);

/* A stage boundary is now: every GPU gets an extra instant (INSTANT_BOUNDARY) and a counter sample (COUNTER_BOUNDARY)
 * at once, and an instant 0.2 s later (INSTANT_BOUNDARY_AFTER). Boundaries that come before a thread has got to the
 * last one share a sample. */
void sampler_boundary(struct sampler *s);

/* The grid samples of a GPU with a sequence over `after`, oldest first; the last SAMPLER_RING are kept. ret_samples has
 * room for `max`; returns their number. `gpu` is the place in options.gpus. */
size_t sampler_grid_since(struct sampler *s, uint32_t gpu, uint64_t after, struct sampler_live *ret_samples,
                          size_t max);

/* Number of GPUs lost so far. */
int sampler_lost(struct sampler *s);

/* Drains the buffers a last time and ends the threads. Call it two ticks after the last boundary: it needs a sample
 * behind it, and the sample 0.2 s after a boundary is not waited for. Takes null too. */
void sampler_close(struct sampler *s);

#endif
