/* Another program's answer: runs it, takes what it prints and waits for its end. For short questions to a command-line
 * tool, before anything is measured; not on the loop, which stands still meanwhile. */
#ifndef JTOK_PROC_TOOL_H
#define JTOK_PROC_TOOL_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"

struct tool_answer {
    int status;            /* exit code, or 128 + the signal that ended it */
    const char *out, *err; /* at most 4 MiB each, of the arena */
};

/* Runs argv (null-terminated; argv[0] is looked up in jtok's own PATH) with this environment (null: jtok's own) and
 * nothing to read. False where it can't be started, or was ended because it took longer than limit_ns; *e says which
 * and what to do. A status other than 0 is an answer. */
bool tool_run(const char *const *argv, const char *const *env, int64_t limit_ns, struct arena *a,
              struct tool_answer *ret_answer, struct err *e);

#endif
