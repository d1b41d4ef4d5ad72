/* When to read the energy counter so that its change points are right to about 10 ms (METHOD section 2). Pure: samples
 * in, the next deadline out.
 *
 * The counter is a stair: it stands still for a while, then jumps. How long, its device knows about (device_caps): 100
 * ms on NVIDIA's, and the figures here are for these. Searching: reads 5 ms apart until two changes were seen; that
 * gives a moment of change and the period. Locked: each read has its middle 5 ms behind the expected change; when
 * nothing has changed yet it is repeated 10 ms later, up to three times. On a faster counter these three are shorter in
 * proportion (from 4 ms), and of its steps one each 100 ms is read. One with a step of at most 10 ms needs no lock: any
 * read of it is right to that, so it is read each 100 ms.
 *
 * A read that comes too early shows itself (nothing has changed), one that comes late does not. So the expectation is
 * kept early on purpose: by `margin` a step, the largest error of the period that the changes seen so far allow (10 ms
 * over their number, at least 0.1 ms). Sooner or later a read is too early, its repeat finds the change within 10 ms,
 * and that corrects both the moment and the period. Between corrections a change point is at most 10 ms behind the true
 * change; corrections cost one more read in about fifty.
 *
 * Three steps in a row without a change start a new search; a search of 15 periods without one goes over to a read each
 * period, but no faster than ten a second, until something changes. */
#ifndef JTOK_POWER_COUNTER_LOCK_H
#define JTOK_POWER_COUNTER_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include "model/record.h"

enum lock_phase { LOCK_SEARCH, LOCK_LOCKED, LOCK_STANDING, LOCK_NEEDLESS };

struct counter_lock {
    int64_t deadline_ns;  /* when the next scheduled read should begin */
    enum counter_why why; /* of that read */
    enum lock_phase phase;
    /* private */
    int64_t nominal_ns;       /* the period that the device promises */
    int64_t grain_ns;         /* how closely a change is to be known: 10 ms, or a tenth of a shorter period */
    int64_t last_mj, last_ns; /* value and middle of the last good read; -1 value: none yet */
    int64_t search_begin_ns;
    int64_t change_ns; /* SEARCH: the first change seen, ABSENT_I64: none. LOCKED: the last one, as expected */
    int64_t anchor_ns; /* the change that the period is counted from */
    int64_t period_ns, margin_ns;
    int64_t half_width_ns; /* of a call, smoothed */
    int repeats, lost_steps;
};

/* The first read is due at start_ns; the counter has a new value about every nominal_ns, above 0. */
void counter_lock_init(struct counter_lock *l, int64_t start_ns, int64_t nominal_ns);

/* What a scheduled read with this middle is recorded as: `why` of its schedule, but COUNTER_SEARCH where it came so
 * late that the change it shows may be over 10 ms older than its doubt allows. Before counter_lock_take. O(1). */
enum counter_why counter_lock_why(const struct counter_lock *l, enum counter_why why, int64_t middle_ns);

/* A read was made in [begin_ns, end_ns], scheduled or not (at a boundary, say); mj -1: it failed. Sets the next
 * deadline. O(1). */
void counter_lock_take(struct counter_lock *l, int64_t begin_ns, int64_t end_ns, int64_t mj, bool scheduled);

#endif
