/* What this machine can measure, as data: the driver, its GPUs, what each power instrument does, the system, and what
 * is missing. */
#ifndef JTOK_APP_DOCTOR_H
#define JTOK_APP_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "power/device.h"
#include "power/probe.h"
#include "schema/schema.h"

/* One power instrument of a GPU, as it was seen for some seconds. */
struct doctor_instrument {
    const char *series; /* "instant", "counter", "buffer" */
    const char *source; /* "field 186 scope 0"; null: not known */
    struct probe_instrument probe;
};

enum { DOCTOR_INSTRUMENTS = 3 };

struct doctor_gpu {
    struct rec_gpu info;       /* without its series */
    const char *fault;         /* null: can be read */
    bool usable;               /* a run may select it */
    int64_t memory_used_bytes; /* ABSENT_I64 */
    bool processes_known;
    struct device_process *processes;
    size_t process_count;
    struct doctor_instrument *instruments;
    size_t instrument_count;             /* 0: nothing was measured */
    int64_t buffer_depth, buffer_age_ns; /* ABSENT_I64 */
    int64_t power_mw;                    /* mean while it was measured; ABSENT_I64 */
};

struct doctor_system {
    const char *clock_source;                   /* null: not readable */
    int64_t clock_read_ns;                      /* one call of the clock */
    int64_t wake_late_p50_ns, wake_late_max_ns; /* behind a deadline, 20 times */
    int64_t files_soft, files_hard;             /* ABSENT_I64: no limit */
    int64_t ports;                              /* outgoing ones to one address; ABSENT_I64 */
    int64_t backlog;                            /* net.core.somaxconn; ABSENT_I64 */
    int64_t cpus;
    bool own_pid_namespace; /* processes of other containers are not seen */
};

struct doctor {
    const char *driver_version, *library_name, *library_version, *library; /* library null: no driver */
    const char *partition_name; /* what a part of a split GPU is called, "MIG"; null: they can't be split */
    bool simulated;
    int64_t usable_gpus;
    struct doctor_gpu *gpus;
    size_t gpu_count;
    struct doctor_system system;
    struct advice *advice;
    size_t advice_count;
};

extern const struct schema doctor_schema;

/* Looks at everything; `library`: the plan's power.library, or null. probe_ns 0: nothing is measured; else it takes so
 * long, for all GPUs at once. A missing driver is advice rather than an error; false only where the operating system
 * refused. Everything lives in the arena. */
bool doctor_look(const char *library, int64_t probe_ns, struct arena *a, struct doctor *ret_doctor, struct err *e);

#endif
