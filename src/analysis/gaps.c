#include "analysis/gaps.h"

#include <math.h>
#include <string.h>
#include "analysis/order.h"

/* A bucket is the exponent and the first MANTISSA bits of the gap in ns as a double: it is monotonic for values >= 0.
 */
enum { MANTISSA = 10, BUCKETS = 64 << MANTISSA, RANKS = 8 };

struct gap {
    double ns;
    uint64_t weight;
};

static uint32_t bucket_of(double ns)
{
    if (ns < 1)
        return 0;
    uint64_t bits;
    memcpy(&bits, &ns, sizeof bits);
    uint64_t b = (bits >> (52 - MANTISSA)) - (UINT64_C(1023) << MANTISSA) + 1;
    return b < BUCKETS ? (uint32_t)b : BUCKETS - 1;
}

struct cursor {
    uint64_t at;
    int64_t before_ns;
    bool known, shared;
};

/* Calls BODY with `g` for every gap. */
struct gap_walk {
    const struct streams *s;
    struct cursor *cursors;
    bool per_token;
    size_t i;
};

static struct gap_walk gap_walk(const struct streams *s, struct cursor *cursors, bool per_token)
{
    for (size_t i = 0; i < s->request_count; i++)
        cursors[i] = (struct cursor){.at = s->streams[i].begin};
    return (struct gap_walk){s, cursors, per_token, 0};
}

static inline bool next_gap(struct gap_walk *w, struct gap *ret)
{
    const struct streams *s = w->s;
    while (w->i < s->chunk_count) {
        const struct rec_chunk *c = &s->chunks[w->i++];
        uint32_t row = streams_row(s, c->request);
        if (row == STREAM_NONE || !chunk_has_tokens(c) || !s->streams[row].success)
            continue;
        struct cursor *q = &w->cursors[row];
        uint64_t at = q->at++;
        uint32_t tokens = s->tokens[at];
        bool shared = c->stamp == STAMP_SHARED, merged = w->per_token && (s->where[at] & STREAM_MERGED);
        bool usable = q->known && !q->shared && !shared && !merged && (!w->per_token || tokens > 0);
        double ns = usable ? (double)(c->t_ns - q->before_ns) : 0;
        q->known = true;
        q->shared = shared;
        q->before_ns = c->t_ns;
        if (!usable)
            continue;
        *ret = w->per_token ? (struct gap){ns / tokens, tokens} : (struct gap){ns, 1};
        return true;
    }
    return false;
}

static int compare_gaps(const void *x, const void *y, const void *context)
{
    (void)context;
    const struct gap *a = x, *b = y;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* The value at a rank (from 0) of the whole, from the sorted gaps of its bucket, before which `skipped` values lie. */
static double value_at(const struct gap *gaps, size_t n, uint64_t rank, uint64_t skipped)
{
    for (size_t i = 0; i < n; i++) {
        skipped += gaps[i].weight;
        if (rank < skipped)
            return gaps[i].ns;
    }
    return gaps[n - 1].ns;
}

struct wanted {
    uint32_t bucket;
    uint64_t rank, skipped;
    double value;
};

static void find_buckets(const uint64_t *weights, struct wanted *wanted)
{
    uint64_t skipped = 0;
    size_t k = 0;
    for (uint32_t b = 0; b < BUCKETS && k < RANKS; b++) {
        for (; k < RANKS && wanted[k].rank < skipped + weights[b]; k++) {
            wanted[k].bucket = b;
            wanted[k].skipped = skipped;
        }
        skipped += weights[b];
    }
}

struct percentiles gaps_percentiles(const struct streams *s, bool per_token, struct arena *a)
{
    static const double quantiles[RANKS / 2] = {0.50, 0.90, 0.95, 0.99};
    (void)a;
    struct arena scratch = {0};
    struct cursor *cursors = arena_array(&scratch, s->request_count, sizeof *cursors);
    uint64_t *weights = arena_array(&scratch, BUCKETS, sizeof *weights),
             *counts = arena_array(&scratch, BUCKETS, sizeof *counts);
    struct gap g;
    uint64_t total = 0;
    double most = 0;
    struct sum sum = {0};
    for (struct gap_walk w = gap_walk(s, cursors, per_token); next_gap(&w, &g);) {
        uint32_t b = bucket_of(g.ns);
        weights[b] += g.weight;
        counts[b]++;
        total += g.weight;
        most = g.ns > most ? g.ns : most;
        sum_add(&sum, g.ns * (double)g.weight);
    }
    if (total == 0) {
        arena_done(&scratch);
        return order_percentiles(NULL, 0, "no request has two token chunks with stamps of their own");
    }
    struct wanted wanted[RANKS];
    double positions[RANKS / 2];
    for (size_t i = 0; i < RANKS / 2; i++) {
        positions[i] = (double)(total - 1) * quantiles[i];
        wanted[2 * i].rank = (uint64_t)positions[i];
        wanted[2 * i + 1].rank = wanted[2 * i].rank + 1 < total ? wanted[2 * i].rank + 1 : total - 1;
    }
    /* Ranks ascend but for overlaps in tiny samples: the next one's lower rank may lie below this one's upper. */
    struct wanted in_order[RANKS];
    memcpy(in_order, wanted, sizeof in_order);
    for (size_t i = 1; i < RANKS; i++)
        for (size_t j = i; j > 0 && in_order[j].rank < in_order[j - 1].rank; j--) {
            struct wanted swap = in_order[j];
            in_order[j] = in_order[j - 1];
            in_order[j - 1] = swap;
        }
    find_buckets(weights, in_order);
    uint32_t *slot = arena_array(&scratch, BUCKETS, sizeof *slot); /* 1 + index of the list of a wanted bucket */
    struct gap *lists[RANKS];
    size_t lengths[RANKS] = {0};
    uint32_t slots = 0;
    for (size_t i = 0; i < RANKS; i++)
        if (!slot[in_order[i].bucket]) {
            lists[slots] = arena_array(&scratch, counts[in_order[i].bucket], sizeof **lists);
            slot[in_order[i].bucket] = ++slots;
        }
    for (struct gap_walk w = gap_walk(s, cursors, per_token); next_gap(&w, &g);) {
        uint32_t k = slot[bucket_of(g.ns)];
        if (k)
            lists[k - 1][lengths[k - 1]++] = g;
    }
    for (uint32_t k = 0; k < slots; k++)
        order_sort(lists[k], lengths[k], sizeof *lists[k], compare_gaps, NULL);
    for (size_t i = 0; i < RANKS; i++) {
        uint32_t k = slot[in_order[i].bucket] - 1;
        in_order[i].value = value_at(lists[k], lengths[k], in_order[i].rank, in_order[i].skipped);
    }
    double values[RANKS / 2];
    for (size_t i = 0; i < RANKS / 2; i++) {
        double pair[2] = {0, 0};
        for (size_t j = 0; j < RANKS; j++)
            for (int end = 0; end < 2; end++)
                if (in_order[j].rank == wanted[2 * i + (size_t)end].rank)
                    pair[end] = in_order[j].value;
        values[i] = pair[0] + (positions[i] - (double)wanted[2 * i].rank) * (pair[1] - pair[0]);
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
