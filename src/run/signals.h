/* SIGINT, SIGTERM and SIGHUP as something that is read: blocked before any thread or child exists, so that a signal
 * comes through the descriptor and by no other way. SIGHUP is left alone where it is ignored (nohup). SIGPIPE is
 * ignored from signals_open on. */
#ifndef JTOK_RUN_SIGNALS_H
#define JTOK_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include "loop/loop.h"
#include "run/stage.h"

struct signals {
    struct watch watch;
    bool watched;
    /* May be null: each signal that comes, once it is watched, after the machine has heard of it. */
    void (*heard)(void *self, int number);
    void *self;
};

/* Two steps, since a child that is forked between them must not inherit the mask: what will be blocked, and blocking.
 */
sigset_t signals_prepare(void);
bool signals_open(struct signals *s, const sigset_t *set, struct err *e);

/* The mask stays: what is pending is not to kill the process while it cleans up. A zeroed struct is fine. */
void signals_close(struct signals *s, struct loop *l);

/* Has one come, without a loop? Then false, with the error (ERR_INTERRUPTED); may be null. Takes it. */
bool signals_none(struct signals *s, struct err *e);

/* From here on each one interrupts the machine. */
bool signals_watch(struct signals *s, struct stage_machine *m, struct err *e);
void signals_unwatch(struct signals *s, struct loop *l);

#endif
