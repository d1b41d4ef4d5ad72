#include "analysis/gaps.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "analysis/order.h"
#include "base/sort.h"
#include "base/must.h"

/* A bucket is the exponent and the first MANTISSA bits of the gap in ns as a double: it is monotonic for values >= 0.
 */
enum { MANTISSA = 10, BUCKETS = 64 << MANTISSA, QUANTILES = 4 };

struct gap {
    double ns;
    uint64_t weight;
};

static uint32_t bucket_of(double ns)
{
    assert(ns >= 0);
    if (ns < 1)
        return 0;
    uint64_t bits;
    memcpy(&bits, &ns, sizeof bits);
    uint64_t b = (bits >> (52 - MANTISSA)) - (UINT64_C(1023) << MANTISSA) + 1;
    return b < BUCKETS ? (uint32_t)b : BUCKETS - 1;
}

/* A pass over all gaps in order of time. */
struct gap_walk {
    const struct rec_chunk *chunks;
    const uint32_t *tokens, *next; /* tokens null: each gap counts once */
    size_t i, n;
};

static struct gap_walk gap_walk(const struct token_chains *s, bool per_token)
{
    return (struct gap_walk){s->chunks, per_token ? s->tokens : NULL, s->next, 0, s->chunk_count};
}

static inline bool next_gap(struct gap_walk *w, struct gap *ret)
{
    while (w->i < w->n) {
        size_t i = w->i++;
        uint32_t next = w->next[i];
        if (next == 0 || next == CHAIN_SKIP)
            continue;
        const struct rec_chunk *from = &w->chunks[i], *to = &w->chunks[next];
        uint32_t tokens = w->tokens ? w->tokens[next] : 1;
        if (from->stamp == STAMP_SHARED || to->stamp == STAMP_SHARED || tokens == 0)
            continue;
        *ret = (struct gap){(double)(to->t_ns - from->t_ns) / tokens, tokens};
        return true;
    }
    return false;
}

/* ---- the few that are wanted ---- */

/* A bucket that holds a wanted rank: its gaps, and what lies before it. */
struct bucket {
    uint32_t number;
    uint64_t skipped; /* weight of the buckets before */
    size_t n, room;
    struct gap *gaps;
};

static bool before_gap(const void *x, const void *y)
{
    const struct gap *a = x, *b = y;
    return a->ns < b->ns;
}

/* Runs of equal gaps are kept as one. */
static void bucket_add(struct bucket *b, struct gap g, struct arena *scratch)
{
    if (b->n && b->gaps[b->n - 1].ns == g.ns) {
        b->gaps[b->n - 1].weight += g.weight;
        return;
    }
    if (b->n == b->room) {
        size_t room = b->room ? 2 * b->room : 256;
        struct gap *wider = arena_array(scratch, room, sizeof *wider);
        if (b->n)
            memcpy(wider, b->gaps, b->n * sizeof *wider);
        b->gaps = wider;
        b->room = room;
    }
    b->gaps[b->n++] = g;
}

/* The buckets that hold n ascending ranks. */
static size_t find_buckets(const uint64_t *weights, const uint64_t *ranks, size_t n, struct bucket *ret)
{
    assert(n > 0);
    uint64_t skipped = 0;
    size_t found = 0, k = 0;
    for (uint32_t b = 0; b < BUCKETS && k < n; b++) {
        if (ranks[k] < skipped + weights[b])
            ret[found++] = (struct bucket){.number = b, .skipped = skipped};
        skipped += weights[b];
        while (k < n && ranks[k] < skipped)
            k++;
    }
    return found;
}

/* The value at a rank (from 0) of the whole. */
static double value_at(const struct bucket *buckets, size_t n, uint64_t rank)
{
    assert(n > 0);
    size_t b = 0;
    while (b + 1 < n && buckets[b + 1].skipped <= rank)
        b++;
    uint64_t before = buckets[b].skipped;
    for (size_t i = 0; i < buckets[b].n; i++) {
        before += buckets[b].gaps[i].weight;
        if (rank < before)
            return buckets[b].gaps[i].ns;
    }
    return buckets[b].gaps[buckets[b].n - 1].ns;
}

static void collect(struct gap_walk w, struct bucket *buckets, size_t n, struct arena *scratch)
{
    uint8_t *slot = arena_array(scratch, BUCKETS, sizeof *slot); /* 1 + index */
    for (size_t i = 0; i < n; i++)
        slot[buckets[i].number] = (uint8_t)(i + 1);
    for (struct gap g; next_gap(&w, &g);) {
        uint8_t k = slot[bucket_of(g.ns)];
        if (k)
            bucket_add(&buckets[k - 1], g, scratch);
    }
    for (size_t i = 0; i < n; i++)
        sort_stable(buckets[i].gaps, buckets[i].n, sizeof *buckets[i].gaps, before_gap);
}

struct percentiles gaps_percentiles(const struct token_chains *s, bool per_token)
{
    must(s->chunk_count == 0 || (s->next && s->tokens));
    static const double quantiles[QUANTILES] = {0.50, 0.90, 0.95, 0.99};
    struct arena scratch = {0};
    uint64_t *weights = arena_array(&scratch, BUCKETS, sizeof *weights), total = 0;
    double most = 0;
    struct sum sum = {0};
    struct gap_walk w = gap_walk(s, per_token);
    for (struct gap g; next_gap(&w, &g);) {
        weights[bucket_of(g.ns)] += g.weight;
        total += g.weight;
        most = g.ns > most ? g.ns : most;
        sum_add(&sum, g.ns * (double)g.weight);
    }
    if (total == 0) {
        arena_done(&scratch);
        return order_percentiles(NULL, 0, "no request has two token chunks with stamps of their own");
    }
    /* Type 7: between the values at the ranks around (total - 1) q. Sorted, since they overlap in tiny samples. */
    double ranks[2 * QUANTILES], values[QUANTILES];
    uint64_t whole[2 * QUANTILES];
    for (size_t i = 0; i < QUANTILES; i++) {
        ranks[2 * i] = floor((double)(total - 1) * quantiles[i]);
        ranks[2 * i + 1] = fmin(ranks[2 * i] + 1, (double)(total - 1));
    }
    order_sort_doubles(ranks, 2 * QUANTILES);
    for (size_t i = 0; i < 2 * QUANTILES; i++)
        whole[i] = (uint64_t)ranks[i];
    struct bucket buckets[2 * QUANTILES];
    size_t n = find_buckets(weights, whole, 2 * QUANTILES, buckets);
    collect(gap_walk(s, per_token), buckets, n, &scratch);
    for (size_t i = 0; i < QUANTILES; i++) {
        double at = (double)(total - 1) * quantiles[i];
        uint64_t low = (uint64_t)at, high = low + 1 < total ? low + 1 : low;
        double below = value_at(buckets, n, low);
        values[i] = below + (at - (double)low) * (value_at(buckets, n, high) - below);
    }
    struct percentiles p = {.n = (int64_t)total,
                            .mean = quantity_of(sum_value(&sum) / (double)total * 1e-9),
                            .p50 = quantity_of(values[0] * 1e-9),
                            .p90 = quantity_of(values[1] * 1e-9),
                            .p95 = quantity_of(values[2] * 1e-9),
                            .p99 = quantity_of(values[3] * 1e-9),
                            .max = quantity_of(most * 1e-9)};
    arena_done(&scratch);
    return p;
}
