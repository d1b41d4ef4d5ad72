/* Repetitions of a configuration, and two configurations with repetitions (METHOD section 9, [D]).
 *
 * Deterministic: resampling draws from splitmix64 with a fixed seed, so the same values always give the same interval.
 */
#ifndef JTOK_ANALYSIS_COMPARE_REPEATS_H
#define JTOK_ANALYSIS_COMPARE_REPEATS_H

#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "model/result.h"

enum { REPEATS_RESAMPLES = 10000, REPEATS_SPLITS_MAX = 100000 };

/* Of n values: mean, sample standard deviation (n - 1), and the 95 % percentile interval of the mean over
 * REPEATS_RESAMPLES bootstrap resamples. With n = 1 only the mean is there, the rest is NaN: absent, not 0. */
struct repeats {
    int64_t n;
    double mean, sd, low, high;
};
void repeats_of(const double *values, size_t n, struct arena *a, struct repeats *ret);

/* Two-sided permutation test for a difference of means: the share of all splits of the n + m values into groups of n
 * and m whose means differ by at least as much as these. Exact up to REPEATS_SPLITS_MAX splits; beyond, that many
 * random ones, counted with the observed one: (hits + 1) / (splits + 1). NaN where a side has fewer than two values. */
double repeats_permutation(const double *x, size_t n, const double *y, size_t m, struct arena *a);

struct repeated_row {
    const char *metric, *unit;
    struct repeats a, b;
    double ratio;    /* of the means, b / a */
    double p;        /* repeats_permutation */
    const char *why; /* not compared: the reason; null: it is */
};

struct repeated {
    const char **reasons; /* against comparing; none: compared */
    size_t reason_count;
    struct repeated_row *rows;
    size_t row_count;
};

/* x: runs of one configuration, y: runs of another; n and m at least 1. Every run must form a pair with every other,
 * and the runs of one side must have the same engine and version. O(n m). */
void compare_repeated(const struct result *x, size_t n, const struct result *y, size_t m, struct arena *a,
                      struct repeated *ret);

extern const struct schema repeated_schema;

#endif
