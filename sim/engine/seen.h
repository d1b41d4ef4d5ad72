/* Prompts that were sent before, for the prefix cache: a set of hashes that only grows. */
#ifndef JTOK_SIM_ENGINE_SEEN_H
#define JTOK_SIM_ENGINE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is an empty set. */
struct seen {
    uint64_t *hashes; /* open addressing; 0: a free place */
    size_t count, capacity;
};

/* Was this hash here before? It is from now on. Amortised O(1). */
bool seen_before(struct seen *s, uint64_t hash);
void seen_done(struct seen *s);

#endif
