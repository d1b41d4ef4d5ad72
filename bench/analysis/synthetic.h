/* A made-up run of any size: `running` requests at a time, an engine step every 25 ms, each step's tokens delivered
 * over a few milliseconds, output lengths 100 to 700. */
#ifndef JTOK_BENCH_SYNTHETIC_H
#define JTOK_BENCH_SYNTHETIC_H

#include "base/arena.h"
#include "model/record.h"

/* About `chunks` chunks (a whole number of steps), in order. With `counts` they carry running counts. */
void synthetic_make(size_t chunks, bool counts, struct arena *a, struct records *ret);

#endif
