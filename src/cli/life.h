/* What `run` and `demo` share: one plan's life on the terminal, with progress, warnings, the folder and the result. */
#ifndef JTOK_CLI_LIFE_H
#define JTOK_CLI_LIFE_H

#include <stdbool.h>
#include "app/measure.h"
#include "cli/exit.h"

struct life {
    struct plan *plan;
    struct arena *arena;
    const char *plan_source; /* null: none */
    const char *format;      /* "text", "json", "csv", "none" */
    bool dry_run, quiet, despite_preflight;
    /* The exit code of a life that has its result, in the arena; null: EXIT_OK where the result is formal, else
     * EXIT_EXCLUDED. */
    int (*judge)(const struct measurement *m, struct arena *a);
};

/* Prints the run folder's path and the result to stdout, progress and errors to stderr; gives the exit code. */
int life_run(const struct life *l);

#endif
