/* event_read for streams whose events repeat each other (private to http).
 *
 * One server's token events are equal byte for byte but for a few values: id, time, text, running counts. A shape is an
 * event with holes for those. A later event that equals it outside the holes, and has a whole string or a plain integer
 * in each of them, is the same sequence of JSON tokens: what it says follows from the lengths and values in the holes,
 * without reading the rest again. Everything else is read in full, and learnt from. A whole event costs about a sixth
 * of event_read then (bench_parse). */
#ifndef JTOK_HTTP_EVENT_SHAPE_H
#define JTOK_HTTP_EVENT_SHAPE_H

#include "http/event.h"

enum { SHAPES = 4, SHAPE_HOLES = 8, SHAPE_BYTES = 1024 };

struct event_shape {
    struct event_said said; /* of its literal bytes alone */
    uint16_t n;             /* literal bytes */
    uint8_t holes;
    struct {
        uint8_t kind;
        uint16_t at; /* literal bytes before it */
    } hole[SHAPE_HOLES];
    char text[SHAPE_BYTES];
};

/* The latest shapes, shared by all streams of one server. Zeroed: none yet. No resources behind it. */
struct event_shapes {
    unsigned count, latest, next; /* next: the one to be replaced */
    uint32_t misses;              /* since an event last had a known shape */
    struct event_shape shape[SHAPES];
};

/* Exactly what event_read gives for the same text. Spans of *ret_said point into `text`. O(bytes). */
bool event_shapes_read(struct event_shapes *s, struct span text, struct event_said *ret_said);

#endif
