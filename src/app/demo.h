/* The main job on the built-in simulation: the same code path, a real child process, real sockets, a real dlopen. Only
 * demo.c knows where the simulation lies; it reaches the run through ordinary plan fields. */
#ifndef JTOK_APP_DEMO_H
#define JTOK_APP_DEMO_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/err.h"
#include "model/plan.h"

enum { DEMO_PROMPTS = 600, DEMO_GPUS_MAX = 8, DEMO_VOCABULARY = 128256 };

struct demo_options {
    int64_t count, gpus; /* requests, and simulated GPUs */
    bool quick;          /* the method's durations shortened */
    bool lagging;        /* a front end that delivers more slowly than the GPU generates */
};

/* Makes a folder for the demo's prompts and the simulated GPUs' state, and the plan of a run on them; sets the
 * environment that the simulation reads. Problems of the plan are in `e` (ERR_PLAN). demo_close removes the folder
 * (null: nothing). Texts live in the arena. */
bool demo_open(const struct demo_options *o, struct arena *a, struct plan *plan, const char **ret_folder,
               struct err *e);

/* What the simulation has no snapshot to tell: the size of its vocabulary, where the prompts are random. */
void demo_complete(struct plan *plan);

void demo_close(const char *folder);

#endif
