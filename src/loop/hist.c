#include "loop/hist.h"

#include <assert.h>
#include "base/must.h"

/* The largest value that falls into bucket i. */
static int64_t bucket_top(unsigned i)
{
    assert(i < HIST_BUCKETS);
    unsigned shift = i >> HIST_FINE_BITS;
    if (shift <= 1) /* the first two blocks hold single values */
        return i;
    shift--;
    uint64_t fine = i - (shift << HIST_FINE_BITS);
    return (int64_t)(((fine + 1) << shift) - 1);
}

int64_t hist_quantile(const struct hist *h, double q)
{
    must(q >= 0 && q <= 1);
    if (!h->count)
        return 0;
    int64_t rank = (int64_t)(q * (double)h->count), seen = 0;
    if (rank >= h->count)
        rank = h->count - 1;
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        seen += h->bucket[i];
        if (seen > rank) {
            int64_t top = bucket_top(i);
            return top < h->max && i < HIST_BUCKETS - 1 ? top : h->max;
        }
    }
    return h->max;
}
