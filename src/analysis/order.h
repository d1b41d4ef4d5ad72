/* Sums, orders and order statistics that do not depend on compiler, processor or library. */
#ifndef JTOK_ANALYSIS_ORDER_H
#define JTOK_ANALYSIS_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "model/result.h"

/* A compensated sum (Neumaier): `high + low` is right to about 2^-100 of the sum of magnitudes. Zeroed: 0. */
struct sum {
    double high, low;
};

static inline void sum_add(struct sum *s, double x)
{
    double t = s->high + x;
    /* The two-sum of Knuth: no branch on magnitudes. */
    double b = t - s->high;
    s->low += (s->high - (t - b)) + (x - b);
    s->high = t;
}

static inline double sum_value(const struct sum *s)
{
    return s->high + s->low;
}

static inline double square(double x)
{
    return x * x;
}

/* a - b, without losing what the high parts have in common. */
static inline double sum_since(const struct sum *a, const struct sum *b)
{
    return (a->high - b->high) + (a->low - b->low);
}

/* Ascending, no NaN in it. */
void order_sort_doubles(double *x, size_t n);
void order_sort_times(int64_t *t_ns, size_t n);

/* Quantile q of n sorted values by linear interpolation, type 7: position (n - 1) q. n > 0. */
double order_quantile(const double *sorted, size_t n, double q);

/* Mean, P50, P90, P95, P99 and maximum. Sorts x. `why` is the reason where n is 0. O(n log n). */
struct percentiles order_percentiles(double *x, size_t n, const char *why);

#endif
