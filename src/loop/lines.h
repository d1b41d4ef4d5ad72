/* Bytes of a program's output into lines.
 *
 * A line ends with LF, CR or CRLF (progress bars use CR alone); which bytes come together does not matter. A line over
 * LINES_MAX comes in pieces of LINES_MAX bytes, each but the last with `cut` set: nothing is lost, memory stays
 * bounded. */
#ifndef JTOK_LOOP_LINES_H
#define JTOK_LOOP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/span.h"

enum { LINES_MAX = 65536 };

struct lines {
    void (*deliver)(void *self, int64_t t_ns, struct span line, bool cut);
    void *self;
    /* Private. */
    char *held; /* LINES_MAX bytes */
    size_t n;
    bool after_cr; /* the line ended with CR: an LF right behind belongs to it */
};

void lines_init(struct lines *l, void (*deliver)(void *self, int64_t t_ns, struct span line, bool cut), void *self);
void lines_done(struct lines *l);

/* Where the next bytes may be put, and how many: at least one. */
char *lines_room(struct lines *l, size_t *ret_n);

/* So many bytes were put there at t_ns: delivers the lines that they end. O(n). */
void lines_added(struct lines *l, size_t n, int64_t t_ns);

/* The output has ended: delivers a last line without an end. */
void lines_end(struct lines *l, int64_t t_ns);

#endif
