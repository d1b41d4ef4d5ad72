/* A run's power as a picture takes it: by the same series, on the same clock, as every energy of its result. */
#ifndef JTOK_ANALYSIS_PICTURE_H
#define JTOK_ANALYSIS_PICTURE_H

#include "base/arena.h"
#include "base/err.h"
#include "model/power_series.h"
#include "model/record.h"

/* The 20 ms buffer of each GPU, or its grid where there is no buffer, as lowest, mean and highest of each of `columns`
 * equal stretches, so that no burst is lost. ERR_RECORDS where no power or no time was recorded. Records in order;
 * texts are theirs, the rest is the arena's. O(samples). */
bool picture_series(const struct records *r, size_t columns, struct arena *a, struct power_series *ret_series,
                    struct err *e);

#endif
