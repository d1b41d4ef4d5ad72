/* Release: has power come back to the baseline, for good? (METHOD section 3, "Release")
 *
 * A tick is in band when every GPU has a sample in it within the larger of 5 % and 1 W of its own baseline, limits
 * inclusive. An unbroken row of in-band ticks is the hold; a tick out of band starts it again, and so does a missing
 * sample: a reading that failed, or two samples of a GPU over 2.5 periods apart. A tick that merely lacks a GPU's
 * sample proves nothing. t11 is the time of the row's first tick: its latest sample, from which on every GPU was seen
 * in band. The row is long enough when the earliest sample of a later tick is at least `hold_ns` after t11, so that
 * each GPU was seen in band over the whole of [t11, t11 + hold]. Once closed, t11 stands; the row goes on to be
 * watched. */
#ifndef JTOK_RULES_RELEASE_H
#define JTOK_RULES_RELEASE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "rules/tick.h"

struct release {
    bool closed;
    int64_t recovered_ns; /* t11 of the row that closed it, else of the row going on; ABSENT_I64: out of band now */
    int64_t closed_ns;    /* time of the sample that proved it; ABSENT_I64: not yet */
    int64_t row_start_ns,
        row_end_ns;         /* of the row going on: t11 of it, and its last sample; ABSENT_I64 outside a row */
    uint32_t starts;        /* rows begun */
    int64_t first_row_ns;   /* t11 of the first one; ABSENT_I64: none yet */
    int64_t count_after_ns; /* set by the caller: restarts are counted from here on */
    uint32_t restarts;      /* rows broken by a tick after that, before the hold was proven */
    uint64_t out_of_band;   /* GPUs that were out of band, or whose reading failed, in the last tick: one bit each */
    uint64_t lacking;       /* GPUs without a sample in it */
    double watts[TICK_GPUS_MAX]; /* of the last tick; NaN: missing */
    double baseline_w[TICK_GPUS_MAX];
    /* Private. */
    int64_t hold_ns;
    int64_t seen_ns[TICK_GPUS_MAX]; /* latest sample with power of each GPU */
    struct tick_join join;
};

/* Is a power within the band of a baseline? */
bool release_in_band(double watts, double baseline_w);

void release_init(struct release *r, uint32_t gpus, const double *baseline_w, int64_t period_ns, int64_t hold_ns);

/* Takes the next grid sample of a GPU, from formal_end on. Returns `closed`. O(gpus) a tick. */
bool release_feed(struct release *r, uint32_t gpu, const struct tick_sample *s);

/* The samples have ended (records): judges what is still held. */
bool release_end(struct release *r);

/* Why it is not closed, as a sentence that names the GPUs, their power and their band. */
void release_describe(const struct release *r, const char *(*name)(void *self, uint32_t gpu), void *self,
                      struct buf *b);

#endif
