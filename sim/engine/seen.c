#include "seen.h"

#include <stdlib.h>
#include "base/arena.h"

static bool add(uint64_t *hashes, size_t capacity, uint64_t hash)
{
    size_t at = hash & (capacity - 1);
    for (; hashes[at]; at = (at + 1) & (capacity - 1))
        if (hashes[at] == hash)
            return false;
    hashes[at] = hash;
    return true;
}

static void grow(struct seen *s)
{
    size_t capacity = s->capacity ? 2 * s->capacity : 1024;
    uint64_t *hashes = mem_zero(capacity, sizeof *hashes);
    for (size_t i = 0; i < s->capacity; i++)
        if (s->hashes[i])
            add(hashes, capacity, s->hashes[i]);
    free(s->hashes);
    s->hashes = hashes;
    s->capacity = capacity;
}

bool seen_before(struct seen *s, uint64_t hash)
{
    if (2 * s->count >= s->capacity)
        grow(s);
    bool added = add(s->hashes, s->capacity, hash + (hash == 0));
    s->count += added;
    return !added;
}

void seen_done(struct seen *s)
{
    free(s->hashes);
    *s = (struct seen){0};
}
