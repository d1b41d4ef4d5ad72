/* The main job: a plan's run through one whole life, sealed, with its result stored. Prints nothing: what happens on
 * the way reaches the caller through callbacks, what came of it through a struct.
 *
 *     run_open, run_resolve      src/run: the plan is complete, nothing is started yet
 *     measure                    the life, the seal, the result
 *     run_close */
#ifndef JTOK_APP_MEASURE_H
#define JTOK_APP_MEASURE_H

#include "app/evaluate.h"
#include "run/run.h"

struct measurement {
    struct run_outcome outcome;          /* its folder is there in any case */
    const struct evaluation *evaluation; /* sealed and stored; null: there is no result */
    struct err
        no_result; /* why there is none. Its kind is that of the run's own failure where this is what it led to */
};

/* Executes the run, seals its records, computes the result from the files alone, and stores it. `recorded` (may be
 * null) hears the folder as soon as the run is over, before its evaluation, which takes seconds. False: no run folder
 * came about. Everything lives in the arena, the folder's name in the run. */
bool measure(struct run *run, void *self, void (*recorded)(void *self, const char *folder), struct arena *a,
             struct measurement *ret_measurement, struct err *e);

#endif
