/* The lagging front end's queue: what was generated and not yet delivered, first in, first out. */
#ifndef JTOK_SIM_ENGINE_FRONT_H
#define JTOK_SIM_ENGINE_FRONT_H

#include <stddef.h>
#include <stdint.h>

struct front_item {
    uint64_t serial; /* of the request */
    int32_t fd;      /* of its connection, which may have gone since */
    int64_t generated;
};

/* A zeroed struct is an empty queue. */
struct front {
    struct front_item *ring;
    size_t first, count, capacity;
    int64_t next_ns; /* when the first one is delivered */
};

void front_push(struct front *f, struct front_item item, int64_t now_ns);
struct front_item front_pop(struct front *f); /* of a queue that is not empty */
void front_done(struct front *f);

#endif
