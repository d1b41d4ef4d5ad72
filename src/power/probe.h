/* What each power instrument of this machine really does: how often it has a new value, and what a call costs. For
 * `doctor`. */
#ifndef JTOK_POWER_PROBE_H
#define JTOK_POWER_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "power/device.h"

struct probe_instrument {
    bool supported;
    int64_t calls, missed;
    int64_t period_ns;                /* from one new value to the next; ABSENT_I64: no two changes were seen */
    int64_t call_p50_ns, call_max_ns; /* ABSENT_I64 without a good call */
};

struct probe {
    struct probe_instrument power, counter, buffer; /* buffer: period is the distance of its samples */
    int64_t buffer_depth;                           /* samples in the first drain; ABSENT_I64 */
    int64_t buffer_span_ns;                         /* from the oldest of them to the newest */
    int64_t buffer_age_ns;                          /* of the newest, at the end of the call; ABSENT_I64 */
    int32_t power_mw;                               /* mean of the samples; -1 */
    bool lost;
};

/* Reads the GPUs `gpus` for duration_ns, each in a thread of its own: power and counter 5 ms apart (of a fast
 * counter a twentieth of its period, at least 1 ms), so that their periods are right to about that over the number of
 * changes. ret_probes has room for gpu_count. False: a thread could not be started. */
bool probe_gpus(struct device *d, const uint32_t *gpus, size_t gpu_count, int64_t duration_ns, struct probe *ret_probes,
                struct err *e);

#endif
