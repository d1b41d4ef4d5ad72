/* What jtok tells its caller: one exit code for each kind of ending, the same in every command.
 *
 * A run that is whole but excluded is not a failure of the program: it has a code of its own (1), so that a script
 * can tell "excluded" from "nothing was measured". */
#ifndef JTOK_CLI_EXIT_H
#define JTOK_CLI_EXIT_H

#include <stddef.h>
#include "base/err.h"

enum exit_code {
    EXIT_OK = 0,
    EXIT_EXCLUDED = 1,
    EXIT_USAGE = 2,
    EXIT_PLAN = 3,
    EXIT_DEVICE = 4,
    EXIT_BUSY = 5,
    EXIT_ENGINE = 6,
    EXIT_RECORDS = 7,
    EXIT_REFUSED = 8,
    EXIT_SYSTEM = 9,
    EXIT_GATE_FAILED = 10,
    EXIT_UNDECIDED = 11,
    EXIT_INTERRUPTED = 130,
};

/* A code in a set of them. */
#define EXIT_BIT(code) (1U << ((code) == EXIT_INTERRUPTED ? 31 : (code)))

/* The table of help and man pages: each code with its sentence, in order. */
struct exit_row {
    enum exit_code code;
    const char *doc;
};
extern const struct exit_row exit_rows[];
extern const size_t exit_row_count;

/* The code for an error's kind; ERR_NONE is EXIT_OK. */
enum exit_code exit_code_of(const struct err *e);

/* Prints "jtok: TEXT" to stderr, made fit to be shown (base/utf8.h). */
void exit_notify(const char *text);

/* The same for an error, once; returns exit_code_of(e). */
enum exit_code exit_with(const struct err *e);

#endif
