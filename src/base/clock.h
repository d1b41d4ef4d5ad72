/* The one place that reads clocks (METHOD section 1).
 *
 * Everything is CLOCK_MONOTONIC in nanoseconds; a run subtracts its origin. Realtime stamps (the GPUs' buffer, the
 * kernel's receive stamps) are converted with a pair taken close by. */
#ifndef JTOK_BASE_CLOCK_H
#define JTOK_BASE_CLOCK_H

#include <stdint.h>
#include "base/time.h"

/* CLOCK_MONOTONIC now, ns. About 20 ns. */
int64_t clock_now_ns(void);

/* CLOCK_REALTIME now, ns since 1970: for names, dates and the answer to "when", never for durations. */
int64_t clock_realtime_ns(void);

/* REALTIME - MONOTONIC at one moment: realtime read between two calls of the monotonic clock, the tightest of three
 * tries. */
struct clock_pair {
    int64_t t_ns;      /* monotonic, the middle of the two calls */
    int64_t offset_ns; /* realtime minus monotonic */
    int64_t width_ns;  /* distance of the two calls: the pair's uncertainty */
};

struct clock_pair clock_pair_read(void);

/* Sleeps to an absolute monotonic deadline, through interruptions by signals. */
void clock_sleep_until_ns(int64_t deadline_ns);

/* CPU time of the calling thread (user and system). */
int64_t clock_thread_cpu_ns(void);

#endif
