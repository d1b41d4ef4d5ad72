/* The event loop: epoll with nanosecond timers, one thread.
 *
 * libuv was weighed and not taken: its timers have millisecond grain and its loop reads the clock once a turn, while
 * METHOD section 4 asks for a pause of the loop that is short, exact and below 1 ms. Callbacks run on the thread that
 * calls loop_run; only loop_wake may be called from others. */
#ifndef JTOK_LOOP_LOOP_H
#define JTOK_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

struct loop;

/* What is watched: embed it in the owner's struct; the loop keeps a pointer while it is added. */
struct watch {
    int fd;
    void (*ready)(struct watch *w, uint32_t epoll_events);
    void *owner;
};

/* A one-shot timer: embed it; a zeroed struct is a timer that is not set. */
struct timer {
    int64_t deadline_ns; /* CLOCK_MONOTONIC */
    void (*fire)(struct timer *t);
    void *owner;
    uint32_t heap_index; /* private; 0: not set */
};

bool loop_open(struct loop **ret_loop, struct err *e);
void loop_close(struct loop *l);

bool loop_add(struct loop *l, struct watch *w, uint32_t epoll_events, struct err *e);
void loop_change(struct loop *l, struct watch *w, uint32_t epoll_events);
void loop_remove(struct loop *l, struct watch *w); /* before its fd is closed */

void loop_timer_set(struct loop *l, struct timer *t, int64_t deadline_ns); /* sets or moves it: O(log timers) */
void loop_timer_stop(struct loop *l, struct timer *t);

/* Runs until loop_stop is called from a callback, or until `deadline_ns` (INT64_MAX: none). */
void loop_run(struct loop *l, int64_t deadline_ns);
void loop_stop(struct loop *l);

/* Wakes a loop that waits, from any thread: its `woken` callback runs on the loop's thread. */
void loop_on_wake(struct loop *l, void (*woken)(void *self), void *self);
void loop_wake(struct loop *l);

/* The one timer that waits for no batch: it is looked at behind each event, not only behind the last one, and firing it
 * does not end a pause. Null: none. The loop keeps the pointer. */
void loop_prompt(struct loop *l, struct timer *t);

/* After each batch of events, sleep until `pause_ns` have gone by since the batch before began (METHOD section 4: below
 * 1 ms; 0 turns it off): fewer, fuller wakeups at a known cost in latency. */
void loop_pause(struct loop *l, int64_t pause_ns);

/* How late the loop was since loop_lag_start: each pass of callbacks and each overdue timer, in ns. `passes`: wakeups
 * that found something to read or write. */
struct loop_lag {
    int64_t passes, p50_ns, p99_ns, max_ns;
};
void loop_lag_start(struct loop *l);
struct loop_lag loop_lag_read(struct loop *l);

#endif
