/* What a few values of one quantity say (METHOD section 9): mean, spread, Student's t, Welch's interval of a ratio, a
 * permutation test. Pure, and the same on every machine: + - * / and the square root only, no libm. */
#ifndef JTOK_ANALYSIS_SAMPLE_H
#define JTOK_ANALYSIS_SAMPLE_H

#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

enum { SAMPLE_SPLITS_MAX = 20000, SAMPLE_SPLITS_DRAWN = 5000 };

/* Natural logarithm of a finite x > 0, and the exponential of a finite |x| < 700: right to 1e-14 of the value. O(1). */
double sample_log(double x);
double sample_exp(double x);

/* Student's t: 97.5 % of the distribution lie below it, so +- t holds 95 %. Degrees of freedom from 1 on; right to
 * 1e-7. O(1). */
double sample_t(int64_t degrees);

/* Of n values: mean, sample standard deviation (n - 1), Student's 95 % interval of the mean. With n = 1 only the mean
 * is there, with n = 0 nothing: the rest is NaN, absent, not 0. */
struct sample {
    int64_t n;
    double mean, sd, low, high;
};
struct sample sample_of(const double *values, size_t n);

/* y over x as a ratio of geometric means, with Welch's 95 % interval on logarithms. The degrees of freedom are Welch
 * and Satterthwaite's, rounded down. Below two values on a side the interval is NaN and `degrees` 0; where a value is
 * not above 0 all is NaN. Without any spread the interval has no width. O(n + m). */
struct sample_ratio {
    double ratio, low, high;
    int64_t degrees;
};
struct sample_ratio sample_ratio_of(const double *x, size_t n, const double *y, size_t m, struct arena *a);

/* Two-sided permutation test for a difference of means: the share of all splits of the n + m values into groups of n
 * and m whose means differ by at least as much as these. Exact up to SAMPLE_SPLITS_MAX splits; beyond,
 * SAMPLE_SPLITS_DRAWN random ones from a fixed seed, counted with the observed one: (hits + 1) / (splits + 1). NaN
 * where a side has fewer than two values. */
double sample_permutation(const double *x, size_t n, const double *y, size_t m, struct arena *a);

/* The least p that the test can give for n and m values: 2 of the splits where n = m (a split and its mirror), else 1;
 * NaN as above. */
double sample_permutation_least(size_t n, size_t m);

#endif
