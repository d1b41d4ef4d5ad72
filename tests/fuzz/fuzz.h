/* What the fuzz targets share. A target is one function over bytes; libFuzzer calls it, or replay.c does for files. */
#ifndef JTOK_TESTS_FUZZ_H
#define JTOK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/span.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A property that must hold for every input, in every build. */
#define FUZZ_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* An account of what a parser said, as a running hash of FNV-1a's shape over words: the same calls give the same
 * account. */
struct account {
    uint64_t hash;
};

static inline void account_word(struct account *a, uint64_t word)
{
    a->hash = (a->hash ^ word) * UINT64_C(1099511628211);
    a->hash ^= a->hash >> 32;
}

static inline void account_bytes(struct account *a, struct span s)
{
    account_word(a, s.n);
    for (; s.n >= 8; s.p += 8, s.n -= 8) {
        uint64_t word;
        memcpy(&word, s.p, 8);
        account_word(a, word);
    }
    for (; s.n; s.p++, s.n--)
        account_word(a, (unsigned char)*s.p);
}

/* How an input is cut into pieces: every `step` bytes, from `first` on. The pieces are parts of one block: an exact
 * copy of each would cost more than the parsers do, and the unit tests make it. */
struct cuts {
    size_t first, step;
};

typedef void fuzz_run(struct span text, struct cuts cuts, struct account *a);

static inline struct span fuzz_piece(struct span *rest, size_t n)
{
    struct span piece = {rest->p, n < rest->n ? n : rest->n};
    rest->p += piece.n;
    rest->n -= piece.n;
    return piece;
}

/* Whole, in two, and in steps (byte by byte when short): the account must be the same. The places depend on the input
 * alone, so that a finding repeats. */
static inline void fuzz_splits(struct span text, fuzz_run *run)
{
    struct account seed = {1}, whole = {1}, two = {1}, steps = {1};
    account_bytes(&seed, text);
    run(text, (struct cuts){text.n, text.n + 1}, &whole);
    run(text, (struct cuts){seed.hash % (text.n + 1), text.n + 1}, &two);
    FUZZ_CHECK(two.hash == whole.hash);
    run(text, (struct cuts){1 + (seed.hash >> 8 & 3), text.n <= 64 ? 1 : 1 + (seed.hash >> 12 & 63)}, &steps);
    FUZZ_CHECK(steps.hash == whole.hash);
}

#endif
