/* What the GPUs show while a run is on: their samples, judged as they come by the rules that judge the records
 * afterwards (src/rules).
 *
 *     observer_open          the sampler; every sample is looked at on the loop's thread
 *     observer_judge_idle    is every GPU idle? (METHOD section 3, "Baseline")
 *     observer_watch_release have power and memory come back? (METHOD section 3, "Release")
 *     observer_close
 *
 * A GPU that is lost fails the run. The rules decide only what a run must act on: when to start, when to end. */
#ifndef JTOK_RUN_OBSERVER_H
#define JTOK_RUN_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "power/device.h"
#include "power/sampler.h"
#include "rules/idle.h"
#include "rules/release.h"
#include "run/stage.h"

struct observer_options {
    struct device *device;
    const uint32_t *gpus; /* places in device->gpus; a GPU is known by its place in this list */
    size_t gpu_count;     /* 1 to TICK_GPUS_MAX */
    int64_t grid_ns;
    int64_t hold_ns; /* how long power must stay at the baseline after the release */
    /* Is this process the engine's? As in power/sampler.h; called on the sampler's threads. */
    int8_t (*own)(void *self, int64_t pid);
    void *self;
};

struct observer {
    struct stage_machine *machine;
    struct observer_options o;
    struct sampler *sampler;
    int64_t t0_ns;                           /* run time: samples before it are the sampler's lead */
    uint64_t seen[TICK_GPUS_MAX];            /* the latest sample of each GPU that was looked at, by its sequence */
    struct sampler_live live[TICK_GPUS_MAX]; /* that sample */
    int64_t memory_before[TICK_GPUS_MAX];    /* in use when the GPUs were idle; ABSENT_I64 */
    struct idle idle;
    bool idle_on;
    struct release release;
    bool release_on;
    int64_t release_from_ns;               /* run time: what was sampled before says nothing about the release */
    int64_t memory_back_ns[TICK_GPUS_MAX]; /* first sample of the release with the GPU's memory back; ABSENT_I64 */
};

/* Starts sampling, with the lead before t0; what `o` names is borrowed until observer_close. */
bool observer_open(struct observer *v, struct stage_machine *m, const struct observer_options *o, struct err *e);

/* Without a sampler: samples come by observer_take alone. For tests, and for samples from elsewhere. */
void observer_init(struct observer *v, struct stage_machine *m, const struct observer_options *o);

/* Takes the last samples and ends the sampler; what was judged stays. observer_done frees; a zeroed struct is fine. */
void observer_close(struct observer *v);
void observer_done(struct observer *v);

/* A grid sample of a GPU, in order of time. O(window) while idleness is judged, else O(GPUs). */
void observer_take(struct observer *v, uint32_t gpu, const struct sampler_live *s);

/* A moment between stages is now: extra samples of every GPU. */
void observer_boundary(struct observer *v);

/* All GPUs' latest samples, summed; NaN: one of them has none. */
double observer_watts(const struct observer *v);

/* "GPU 0 (GPU-4f...)", of the run's arena; `self` is the observer. */
const char *observer_gpu_name(void *self, uint32_t gpu);

/* Judges idleness from here on, until it is decided or observer_stop_idle; see `idle`. */
void observer_judge_idle(struct observer *v, int64_t window_ns, int64_t wait_ns);
bool observer_idle_is_decided(const struct observer *v);

/* Stops judging. The memory in use now is what must come back. */
void observer_stop_idle(struct observer *v);

/* Judges the release by samples of `from_ns` (run time) and later; only the first call counts. The baseline is the idle
 * window judged last. */
void observer_watch_release(struct observer *v, int64_t from_ns);

/* Run time at which every GPU had its memory back and no compute process; ABSENT_I64: not yet. O(GPUs). */
int64_t observer_memory_back_ns(const struct observer *v);

/* Number of GPUs lost so far. */
int observer_lost(const struct observer *v);

#endif
