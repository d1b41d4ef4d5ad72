/* The GPUs of this machine as something that can be read, whoever made them: a small vtable behind a registry of device
 * libraries, so that a second maker is one file and one row, and tests put a fake in a library's place.
 *
 * Invariants
 * - One session is held open from device_open to device_close. Only what reads is resolved from a library: there is no
 * setter, and no compute context is ever made (METHOD section 2: on an H200 a context costs 46 W).
 * - A GPU is known by its place in `gpus`, which is the library's index; what lasts is its UUID.
 * - A value that is not there is absent, never zero: ABSENT_I64, -1, or a status other than READ_OK.
 * - Different GPUs may be read in different threads at once; one GPU may not.
 * - A child process must not use the session: fork only to exec.
 * - Nothing outside src/power knows a library's codes, bits, tools or variables: what it needs of them is here, in
 * neutral fields (model/record.h: slowdowns, partitioned) or as words of the library (advice, variables). What does not
 * change while the session is open is data, not a call. docs/internals/NEW-DEVICE.md: how to add a library. */
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
    DEVICE_PROCESSES_MAX = 256,
    DEVICE_ADVICE_MAX = 8,   /* of one GPU */
    DEVICE_VARIABLES_MAX = 4 /* that choose the GPUs of a process */
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

/* What a GPU's instruments can do, as far as the library's author knows: the sampler sets its pace by it. */
struct device_caps {
    int64_t counter_period_ns; /* the energy counter has a new value this often; 0: there is no counter */
    int64_t buffer_period_ns;  /* from one sample of the power buffer to the next; 0: there is no buffer */
    int64_t buffer_depth;      /* samples that it holds before it forgets the oldest */
};

enum advice_kind {
    ADVICE_BLOCKS, /* nothing, or this GPU, can be measured */
    ADVICE_LIMITS, /* something of a run would be missing, or its size is limited */
    ADVICE_NOTE,   /* good to know */
};

/* A state of the machine that a person should know or change, in the library's own words. */
struct advice {
    enum advice_kind kind;
    const char *text;    /* what is so, and how to change it: full sentences */
    const char *command; /* that changes it; null: none */
};

struct device_gpu {
    struct rec_gpu info; /* the static part; the series stay empty. Texts belong to the device */
    struct device_caps caps;
    int64_t ecc, ecc_next; /* error correction: 1 on, 0 off; now, and after the next reset; ABSENT_I64 */
    const char *fault;     /* null: can be read. Else a sentence, and info may hold no more than the index */
    size_t advice_count;   /* of a GPU that can be read */
    struct advice advice[DEVICE_ADVICE_MAX];
};

struct device_ops {
    /* Board power now, mW; info.instant_source says which instrument gives it. */
    enum read_status (*power)(void *self, uint32_t gpu, int32_t *ret_mw);
    /* The energy counter, mJ since the driver was loaded. Takes 4 to 18 ms on an H200. Null: caps has no counter. */
    enum read_status (*energy)(void *self, uint32_t gpu, int64_t *ret_mj);
    /* The samples of the power buffer stamped after `after_us`, oldest first, at most DEVICE_BUFFER_MAX. Null: caps has
     * no buffer. */
    enum read_status (*buffer)(void *self, uint32_t gpu, int64_t after_us, struct rec_buffer *ret_samples,
                               size_t *ret_count);
    /* Everything of rec_gpu_state but t_ns and processes; what can't be read is absent. Slowdowns as enum slowdown. */
    enum read_status (*state)(void *self, uint32_t gpu, struct rec_gpu_state *ret_state);
    /* Compute processes, at most DEVICE_PROCESSES_MAX. In a container the driver may leave out those of other pid
     * namespaces. */
    enum read_status (*processes)(void *self, uint32_t gpu, struct device_process *ret_list, size_t *ret_count);
    /* Why the last sample of this GPU failed, a sentence; valid until its next sample. */
    const char *(*fault)(void *self, uint32_t gpu);
    /* The environment by which a process sees these GPUs and no other, in this order, called by UUID or by number;
     * texts in the arena. ret_variables has room for DEVICE_VARIABLES_MAX; returns their number. */
    size_t (*environment)(void *self, const uint32_t *gpus, size_t gpu_count, enum gpu_names names, struct arena *a,
                          struct field_pair *ret_variables);
    void (*close)(void *self);
};

struct device {
    void *self;
    const struct device_ops *ops;
    const struct device_kind *kind;
    struct device_gpu *gpus;
    size_t gpu_count;
    const char *driver_version, *library_version, *library; /* library: the path or name that was loaded */
    /* What programs for these GPUs are built with ("CUDA"), and its newest major version that the driver serves; null
     * and 0: not known. One built with an older version runs, too. */
    const char *toolkit;
    int toolkit_major;
    bool simulated; /* the driver's version or a GPU's name says that it is a simulation */
};

struct given_variable; /* power/given.h */

/* A row of the registry: one device library. */
struct device_kind {
    const char *name;                   /* "NVML": as messages name the library */
    const char *file;                   /* how the names of its files begin: "libnvidia-ml" */
    const char *tool;                   /* the command that shows what runs on the GPUs: "nvidia-smi" */
    const char *partition;              /* what a part of a split GPU is called: "MIG"; null: they can't be split */
    const struct given_variable *given; /* by which a process is given its GPUs; null: none is known */
    struct field_pair order;            /* the variable and value with which such numbers are the driver's; null */
    /* Loads the library, opens the session and reads what does not change of every GPU. `library` is the path or name
     * to load; null: the library's usual places. Errors are ERR_DEVICE and say what to install or do. */
    bool (*open)(const char *library, struct device **ret_device, struct err *e);
};

/* The rows, in the order in which they are tried. */
extern const struct device_kind *const device_kinds[];
extern const size_t device_kind_count;

/* Opens the GPUs of this machine. With power->library, its row is the one whose `file` that name begins with, else the
 * first; without, the first row that opens. Errors are ERR_DEVICE: the rows' own. device_close takes null too. */
bool device_open(const struct plan_power *power, struct device **ret_device, struct err *e);

/* The same over other rows. */
bool device_open_kinds(const struct device_kind *const *kinds, size_t kind_count, const struct plan_power *power,
                       struct device **ret_device, struct err *e);
void device_close(struct device *d);

/* For the rows: number `index` of which nothing is known yet; and one more piece of advice about it, at most
 * DEVICE_ADVICE_MAX. */
void device_gpu_init(struct device_gpu *g, uint32_t index);
void device_advise(struct device_gpu *g, enum advice_kind kind, const char *text, const char *command);

/* The first advice of a GPU that blocks measuring it, or null. */
const struct advice *device_gpu_blocked(const struct device_gpu *g);

/* Can it be read and measured: no fault, nothing that blocks, and it gives its power. */
bool device_gpu_usable(const struct device_gpu *g);

/* Does a name or an entry of a list mean a part of a split GPU ("MIG-...", "MIG:...")? */
bool device_is_part(const struct device *d, const char *name);

/* The one GPU that a name means, as below without "all"; false: none, or several. */
bool device_find(const struct device *d, const char *name, uint32_t *ret_gpu);

/* Which GPUs `names` mean: each an index ("0"), a UUID, a unique beginning of a UUID (at least 4 characters behind
 * "GPU-" or bare), a PCI address ("0000:17:00.0", "17:00.0"), or "all". No names at all mean "all". The list has no
 * doubles and is in the order named. Refused, as ERR_DEVICE, naming what exists: an unknown or ambiguous name, a GPU
 * that can't be read or measured, a part of a GPU (its power and energy are the whole board's). ret_list has room for
 * DEVICE_GPUS_MAX. O(names x GPUs). */
bool device_select(const struct device *d, const char **names, size_t name_count, uint32_t *ret_list, size_t *ret_count,
                   struct err *e);

#endif
