/* What jtok tells its caller: one exit code for each kind of ending, the same in every command.
 *
 * A run that is whole but not formal is no failure of the program: it has a code of its own (1), so that a script can
 * tell "excluded" from "nothing was measured". */
#ifndef JTOK_CLI_EXIT_H
#define JTOK_CLI_EXIT_H

#include "base/err.h"

enum exit_code {
    EXIT_OK = 0,       /* done; for a run or a result: it is formal (demo: it went through and its records verify) */
    EXIT_EXCLUDED = 1, /* the records are whole, the run is not formal: its reasons were printed */
    EXIT_USAGE = 2,    /* the command line is wrong */
    EXIT_PLAN = 3,     /* the plan, the request set or another input is wrong */
    EXIT_DEVICE = 4,   /* no NVIDIA driver, or a GPU is missing or can't be measured */
    EXIT_BUSY = 5,     /* the machine isn't in a normal state */
    EXIT_ENGINE = 6,   /* the engine did not start, get ready, or is not what the plan says */
    EXIT_RECORDS = 7,  /* a run folder is damaged, unreadable or inconsistent */
    EXIT_REFUSED = 8,  /* the method forbids it */
    EXIT_SYSTEM = 9,   /* the operating system refused, or a fault in jtok */
    EXIT_GATE_FAILED = 10,  /* gate: the metric is over its limit */
    EXIT_UNDECIDED = 11,    /* gate: the runs do not decide it */
    EXIT_INTERRUPTED = 130, /* stopped by the user */
};

/* The code for an error's kind; ERR_NONE is EXIT_OK. */
int exit_code_of(const struct err *e);

/* Prints "jtok: TEXT" to stderr, made fit to be shown (base/utf8.h). */
void exit_tell(const char *text);

/* The same for an error, once; returns exit_code_of(e). */
int exit_with(const struct err *e);

#endif
