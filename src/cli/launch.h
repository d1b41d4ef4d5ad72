/* The main job, shared by `run` and `demo`: one plan through one life, sealed, with its result. */
#ifndef JTOK_CLI_LAUNCH_H
#define JTOK_CLI_LAUNCH_H

#include <stdbool.h>
#include "base/arena.h"
#include "model/plan.h"

struct launch {
    struct plan *plan;
    struct arena *arena;
    const char *plan_source; /* null: none */
    const char *format;      /* "text", "json", "csv", "none" */
    bool dry_run, quiet, despite_preflight;
    bool demo; /* going through and verifying is what counts, not being formal */
};

/* Prints the run folder's path and the result to stdout, progress and errors to stderr; returns the exit code. */
int launch_run(const struct launch *l);

#endif
