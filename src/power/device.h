/* The GPUs of this machine as something that can be read: a small vtable, so that tests put a fake in NVML's place.
 *
 * Invariants
 * - One session is held open from device_open_nvml to device_close. Only what reads is resolved from the library: there
 * is no setter, and no CUDA context is ever made (METHOD section 2: a context costs 46 W).
 * - A GPU is known by its place in `gpus`, which is NVML's index; what lasts is its UUID.
 * - A value that is not there is absent, never zero: ABSENT_I64, -1, or a status other than READ_OK.
 * - Different GPUs may be read in different threads at once; one GPU may not.
 * - A child process must not use the session: fork only to exec. */
#ifndef JTOK_POWER_DEVICE_H
#define JTOK_POWER_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "model/record.h"

enum {
    DEVICE_GPUS_MAX = 64,
    DEVICE_BUFFER_MAX = 512, /* NVML's ring is 119 deep on an H200 */
    DEVICE_PROCESSES_MAX = 256
};

enum read_status {
    READ_OK,
    READ_UNSUPPORTED, /* for good: this GPU or driver does not have it */
    READ_MISSED,      /* this time: try again at the next deadline */
    READ_LOST         /* the GPU is gone (fell off the bus, needs a reset, access taken away): stop reading it */
};

struct device_process {
    int64_t pid;
    int64_t memory_bytes; /* ABSENT_I64: the driver does not tell */
};

struct device_gpu {
    struct rec_gpu info; /* the static part; the series stay empty. Texts belong to the device */
    const char *fault;   /* null: can be read. Else a sentence, and info may hold no more than the index */
};

struct device_ops {
    /* Board power now, mW: field 186 scope 0, or PowerUsage where that is not supported (info.instant_source says
     * which). */
    enum read_status (*power)(void *self, uint32_t gpu, int32_t *ret_mw);
    /* The energy counter, mJ since the driver was loaded. Takes 4 to 18 ms on an H200. */
    enum read_status (*energy)(void *self, uint32_t gpu, int64_t *ret_mj);
    /* The samples of NVML's power buffer stamped after `after_us`, oldest first, at most DEVICE_BUFFER_MAX. */
    enum read_status (*buffer)(void *self, uint32_t gpu, int64_t after_us, struct rec_buffer *ret_samples,
                               size_t *ret_count);
    /* Everything of rec_gpu_state but t_ns and processes; what can't be read is absent. */
    enum read_status (*state)(void *self, uint32_t gpu, struct rec_gpu_state *ret_state);
    /* Compute processes, at most DEVICE_PROCESSES_MAX. In a container the driver leaves out those of other pid
     * namespaces. */
    enum read_status (*processes)(void *self, uint32_t gpu, struct device_process *ret_list, size_t *ret_count);
    /* Why the last sample of this GPU failed, a sentence; valid until its next sample. */
    const char *(*fault)(void *self, uint32_t gpu);
    void (*close)(void *self);
};

struct device {
    void *self;
    const struct device_ops *ops;
    struct device_gpu *gpus;
    size_t gpu_count;
    const char *driver_version, *nvml_version, *library; /* library: the path or name that was loaded */
    bool simulated; /* the driver's version or a GPU's name says that it is a simulation */
};

/* Loads NVML, opens the session and reads what does not change of every GPU. `library` is the plan's power.library or
 * null; null: the environment's JTOK_NVML, else libnvidia-ml.so.1, else the same name in the usual absolute places.
 * Errors are ERR_DEVICE and say what to install or do. device_close takes null too. */
bool device_open_nvml(const char *library, struct device **ret_device, struct err *e);
void device_close(struct device *d);

/* Which GPUs `names` mean: each an index ("0"), a UUID, a unique beginning of a UUID (at least 4 characters behind
 * "GPU-" or bare), a PCI address ("0000:17:00.0", "17:00.0"), or "all". No names at all mean "all". The list has no
 * doubles and is in the order named. Refused, as ERR_DEVICE, naming what exists: an unknown or ambiguous name, a GPU
 * that can't be read, a GPU in MIG mode (its power and energy are the whole board's). ret_list has room for
 * DEVICE_GPUS_MAX. O(names x GPUs). */
bool device_select(const struct device *d, const char **names, size_t name_count, uint32_t *ret_list, size_t *ret_count,
                   struct err *e);

#endif
