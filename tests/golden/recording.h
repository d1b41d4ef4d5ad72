/* A recording of a real service's life (a folder with marks.csv, power.csv.xz, chunks.csv.xz, requests.csv, memory.csv,
 * metrics.csv) as the records of a run. What the recording lacks stays absent. */
#ifndef JTOK_TESTS_RECORDING_H
#define JTOK_TESTS_RECORDING_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/err.h"
#include "model/record.h"

/* Reads a recording; *.csv.xz goes through `xz -dc`. Times become ns on the recording's own clock. Texts and series are
 * the arena's. A request without usage has the verdict NOT_RECORDED (there is no status); prompts are taken as equal
 * where the whole sequence of prompt lengths repeats (the recordings send a prompt set "in order, repeated"). */
bool recording_load(const char *dir, struct arena *a, struct records *ret, struct err *e);

/* Reads a file of power alone (lines "series,t,gpu,value": counter_mj, instant_mw, sample_mw; t in seconds): the GPUs
 * and one clock pair, nothing else. */
bool recording_load_power(const char *path, struct arena *a, struct records *ret, struct err *e);

#endif
