/* What `doctor` finds out, as data; cli/cmd_doctor.c prints it. */
#ifndef JTOK_APP_DOCTOR_H
#define JTOK_APP_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "power/device.h"
#include "power/probe.h"

enum { DOCTOR_ADVICE_MAX = 64 };

struct doctor_gpu {
    const struct device_gpu *gpu;
    bool usable; /* a run may select it */
    bool probed;
    struct probe probe;
    struct device_process processes[DEVICE_PROCESSES_MAX];
    int64_t process_count;     /* ABSENT_I64: the list could not be read */
    int64_t memory_used_bytes; /* ABSENT_I64 */
};

struct doctor_system {
    const char *clock_source;                   /* null: not readable */
    int64_t clock_read_ns;                      /* one reading of the clock */
    int64_t wake_late_p50_ns, wake_late_max_ns; /* behind a deadline, 20 times */
    int64_t files_soft, files_hard;             /* ABSENT_I64: no limit */
    int64_t ports;                              /* outgoing ones to one address; ABSENT_I64 */
    int64_t backlog;                            /* net.core.somaxconn; ABSENT_I64 */
    int64_t cpus;
    bool own_pid_namespace; /* processes of other containers are not seen */
};

struct doctor {
    struct arena arena;
    struct device *device;   /* null: no driver */
    struct doctor_gpu *gpus; /* device->gpu_count of them */
    size_t usable_count;
    struct doctor_system system;
    struct advice advice[DOCTOR_ADVICE_MAX];
    size_t advice_count;
};

/* Looks at everything; `library`: the plan's power.library, or null. probe_ns 0: nothing is measured. A missing driver
 * is no error but advice; false only where the operating system refused. doctor_done frees in both cases. */
bool doctor_look(struct doctor *d, const char *library, int64_t probe_ns, struct err *e);
void doctor_done(struct doctor *d);

#endif
