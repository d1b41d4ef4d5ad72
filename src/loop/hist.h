/* Durations counted in buckets of 3 % width: quantiles of any number of values in fixed memory, O(1) a value. */
#ifndef JTOK_LOOP_HIST_H
#define JTOK_LOOP_HIST_H

#include <stdint.h>

enum { HIST_FINE_BITS = 5, HIST_OCTAVES = 40, HIST_BUCKETS = (HIST_OCTAVES + 1) << HIST_FINE_BITS };

/* A zeroed struct is empty. */
struct hist {
    int64_t count, max;
    uint32_t bucket[HIST_BUCKETS];
};

/* Negative values count as 0; values above 2^45 ns as the last bucket. */
static inline void hist_add(struct hist *h, int64_t value)
{
    uint64_t v = value < 0 ? 0 : (uint64_t)value;
    unsigned shift = v >> HIST_FINE_BITS ? 63 - (unsigned)__builtin_clzll(v) - HIST_FINE_BITS : 0;
    uint64_t i = ((uint64_t)shift << HIST_FINE_BITS) + (v >> shift);
    h->bucket[i < HIST_BUCKETS ? i : HIST_BUCKETS - 1]++;
    h->count++;
    if ((int64_t)v > h->max)
        h->max = (int64_t)v;
}

/* An upper bound, at most 3 % above, of the value below which the share q of all values lies; 0 when empty. O(buckets).
 */
int64_t hist_quantile(const struct hist *h, double q);

#endif
