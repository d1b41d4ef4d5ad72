/* One run of any command: its GPUs observed and written down from before its start until power is back (METHOD section
 * 11, "Any command").
 *
 *     stat_open      forks the guardian: before anything that may start a thread; opens the GPUs
 *     stat_execute   look, command, power back, as a list of stages; a folder of records comes of it
 *     stat_close
 *
 * The command is a child like an engine, but for this: it has jtok's own input, output and error, jtok's environment
 * and folder; it is never told to stop, and whatever fails on jtok's side leaves it running to its end. Signals that
 * jtok gets while it runs go to its process group. What it leaves running in another group is told, and left. */
#ifndef JTOK_RUN_STAT_H
#define JTOK_RUN_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "model/plan.h"

enum { STAT_NOT_FOUND = 127, STAT_NOT_EXECUTABLE = 126 }; /* exit statuses, as a shell's */

/* How long power must stay back, how long that is waited for, and the grid (METHOD section 11). */
#define STAT_HOLD_S 5.0
#define STAT_WAIT_S 60.0
#define STAT_GRID_S 0.25

struct stat_outcome {
    const char *folder; /* of the records, unsealed; null: there is none. Memory of the arena */
    bool started;
    int64_t status;     /* the command's, 128 + signal where that ended it; where it can't be started, a shell's 126 or
                           127; ABSENT_I64: it was not come to */
    bool interrupted;   /* a signal came, at any time */
    struct err failure; /* kind ERR_NONE: none */
    struct err unwritten; /* kind ERR_NONE: none. A record could not be written */
};

struct stat_run;

/* `plan` with the object stat and its command, GPUs and folder of runs; borrowed until stat_close. Call from a process
 * without threads. Errors: ERR_DEVICE, ERR_PLAN, ERR_SYSTEM; ERR_ENGINE where the command can't be started, with
 * *ret_status as in the outcome, else that is untouched. */
bool stat_open(const struct plan *plan, struct arena *a, struct stat_run **ret_stat, int64_t *ret_status,
               struct err *e);

/* False: no folder came about, and nothing was started. Blocks until power is back. */
bool stat_execute(struct stat_run *s, struct stat_outcome *ret_outcome, struct err *e);

void stat_close(struct stat_run *s);

#endif
