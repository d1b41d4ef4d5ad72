/* The stage machine: in which stage a run is, what ended it, and the one way to wait.
 *
 * A run is a list of stages that are gone through in order. A stage is a function: it enters itself by stage_enter when
 * it begins (the formal stage begins with its first request, not with its call), waits with stage_wait for what the
 * other parts bring, and says whether it came through. An ordinary stage is left out once one before it has not come
 * through; a stage of the way out is gone through whatever went before, where there is something to leave. So a shorter
 * or longer list is another kind of run, and whatever was started is ended by the same stages.
 *
 * What can happen meanwhile: a part fails (stage_fail; the first failure counts and is written down), or the user
 * interrupts (stage_interrupt). On the way there either ends every wait; on the way out only a second interrupt does.
 *
 * Everything here runs on the loop's thread. Nothing is owned but the state: loop, records and arena are borrowed, and
 * outlive the machine. A zeroed struct that was given to stage_init can be used at once; before stage_begin nothing is
 * written down. */
#ifndef JTOK_RUN_STAGE_H
#define JTOK_RUN_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/time.h"
#include "base/err.h"
#include "loop/loop.h"
#include "model/sink.h"
#include "run/run.h"

struct stage_machine {
    struct loop *loop;
    struct arena *arena;        /* of texts that live as long as the run; the loop thread's */
    struct record_sink records; /* null functions: nothing is recorded, before stage_begin and after stage_finish */
    int64_t origin_ns;          /* CLOCK_MONOTONIC of the run's begin */
    enum run_stage stage;
    int64_t stage_start_ns; /* run time */
    int interrupts;
    bool leaving; /* the way out: neither a failure nor the first interrupt ends a wait */
    bool asks;    /* the first signal is a wish to end well: `asked`, not an interrupt */
    bool asked;
    struct err failure; /* the first; kind ERR_NONE: none */
    void *self;
    void (*changed)(void *self); /* a stage was entered, or the first interrupt came; may be null */
};

struct stage {
    /* Goes through it. False: it did not come through; then the machine has a failure or an interrupt. */
    bool (*go)(void *self);
    /* Null: an ordinary stage. Else one of the way out, gone through where this says that there is something to leave.
     */
    bool (*needed)(void *self);
};

void stage_init(struct stage_machine *m, struct loop *l, struct arena *a);

/* From here on there are records, and run time counts from `origin_ns`. */
void stage_begin(struct stage_machine *m, struct record_sink records, int64_t origin_ns);

/* The records are closed: what still comes is written down no more. */
void stage_finish(struct stage_machine *m);

/* Goes through a list in order. *ret_through: every ordinary stage came through. Returns whether all that were gone
 * through did, those of the way out included. */
bool stage_run(struct stage_machine *m, const struct stage *list, size_t count, void *self, bool *ret_through);

/* Run time now, ns. */
int64_t stage_now_ns(const struct stage_machine *m);

void stage_enter(struct stage_machine *m, enum run_stage stage);

/* From here on failures and the first interrupt no longer end a wait. */
void stage_leave(struct stage_machine *m);

/* Something that a stage may wait for has changed: its condition is looked at again. */
void stage_wake(struct stage_machine *m);

/* Ends the run with a failure: the first one counts and is recorded as BOUNDARY_FAILED. Returns false. */
bool stage_fail(struct stage_machine *m, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool stage_fail_with(struct stage_machine *m, const struct err *e);

/* The user asks to stop: the first time it is recorded as BOUNDARY_INTERRUPTED. In a stage that lasts until its user
 * ends it (`asks`) the first is no interrupt: it sets `asked` and wakes what waits. */
void stage_interrupt(struct stage_machine *m);

/* Drives the loop until `done` says so. False at the deadline (run time; INT64_MAX: none), or when the run failed or
 * was interrupted; on the way out: at the second interrupt. `done` may be null: false at the deadline. */
bool stage_wait(struct stage_machine *m, bool (*done)(void *self), void *self, int64_t deadline_ns);

/* As stage_wait, deaf to failures and to any number of interrupts. */
bool stage_wait_deaf(struct stage_machine *m, bool (*done)(void *self), void *self, int64_t deadline_ns);

/* Lets `ns` go by. False when that was cut short. */
bool stage_pause(struct stage_machine *m, int64_t ns);

/* Writes down a moment between stages (run time), or something that was looked at. The texts are copied. */
void stage_boundary(struct stage_machine *m, enum boundary id, int64_t t_ns, const char *note);
void stage_fact(struct stage_machine *m, const char *name, enum check_outcome outcome, const char *expected,
                const char *seen);

#endif
