/* When the requests of an open loop are meant to be sent (METHOD section 11): ns from the load's start, the first at 0,
 * rising.
 *
 * rate, constant: request i at i / rate. poisson: distances -ln(u) / rate. gamma: distances of a gamma distribution
 * with the shape `burstiness` and the mean 1 / rate (Marsaglia and Tsang 2000), as vLLM's client has it; with the shape
 * 1 it is a Poisson process. The distance before request i is drawn from seed and i alone (store/draw.h), rounded to
 * whole ns: equal seeds give equal times on every machine, and a longer load begins as a shorter one does. trace: the
 * times of a file, less its first, times the scale. */
#ifndef JTOK_STORE_ARRIVALS_H
#define JTOK_STORE_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>
#include "model/plan.h"
#include "store/trace.h"

struct arrivals {
    const struct plan_load *load;
    const struct trace *trace; /* of a load of kind trace */
    uint64_t next;             /* number of the next request */
    int64_t at_ns;             /* of the one before */
};

/* `load` is of kind rate or trace and has passed plan_check; both are borrowed. */
struct arrivals arrivals_begin(const struct plan_load *load, const struct trace *trace);

/* The next time. False: the trace has no further one. O(1). */
bool arrivals_next(struct arrivals *a, int64_t *ret_ns);

#endif
