#include "front.h"

#include <assert.h>
#include <stdlib.h>
#include "base/arena.h"

static void grow(struct front *f)
{
    size_t capacity = f->capacity ? 2 * f->capacity : 4096;
    struct front_item *ring = mem_zero(capacity, sizeof *ring);
    for (size_t i = 0; i < f->count; i++)
        ring[i] = f->ring[(f->first + i) % f->capacity];
    free(f->ring);
    f->ring = ring;
    f->capacity = capacity;
    f->first = 0;
}

void front_push(struct front *f, struct front_item item, int64_t now_ns)
{
    if (f->count == f->capacity)
        grow(f);
    if (f->count == 0 && f->next_ns < now_ns)
        f->next_ns = now_ns;
    f->ring[(f->first + f->count++) % f->capacity] = item;
}

struct front_item front_pop(struct front *f)
{
    assert(f->count > 0);
    struct front_item item = f->ring[f->first];
    f->first = (f->first + 1) % f->capacity;
    f->count--;
    return item;
}

void front_done(struct front *f)
{
    free(f->ring);
    *f = (struct front){0};
}
