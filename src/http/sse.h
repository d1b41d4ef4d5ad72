/* Server-sent events framer (WHATWG HTML, 9.2.6), over bytes split anywhere.
 *
 * Lines end with CR, LF or CRLF and with nothing else; one BOM at the very start is skipped; `data` lines join with LF;
 * comments, `id`, `retry` and unknown fields are skipped (comments are counted). Beyond the standard, an `error:` field
 * is kept (old llama.cpp). An event is dispatched by its empty line.
 *
 * An event that lies whole in one input is given in place, without a copy; one that was split is gathered in an own
 * buffer that starts empty, grows to `event_max` (METHOD: 16 MiB), and is given back to the system after an event above
 * 64 KiB. The limit holds for an event's data so far and the line that is being read, together: the same bytes pass it
 * however they are split, and comments between events never add up. */
#ifndef JTOK_HTTP_SSE_H
#define JTOK_HTTP_SSE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/span.h"

enum sse_event_kind {
    SSE_MORE,      /* everything given was consumed */
    SSE_EVENT,     /* `data`, `event` and `is_error` are set, valid until the next call */
    SSE_TOO_LARGE, /* the event passes event_max; the framer is done */
};

struct sse {
    /* With SSE_EVENT. */
    struct span data; /* the data lines joined with LF, without the last LF; may be empty */
    char event[32];   /* the event field, cut; "" without one */
    bool is_error;    /* an `error:` line (`data` holds its value where no data line came), or `event: error` */
    bool has_data;    /* at least one `data` line came */
    /* Counts, for verdicts. */
    uint64_t events, comments;
    bool any_data_line; /* ever */
    /* Private. */
    size_t event_max;
    struct buf held;   /* a line that is not complete yet */
    struct buf joined; /* the data of an event of several lines, or of several inputs */
    bool started;      /* the first line is behind us: no BOM any more */
    bool skip_lf;      /* the last input ended with CR */
    bool line_open;    /* held is in use */
    bool in_place;     /* data points into the input or into held */
    bool reported, too_large;
};

void sse_init(struct sse *s, size_t event_max);
void sse_done(struct sse *s);

/* Consumes from the front of *input up to the next event. Events that carry neither data nor error are not reported
 * (one named "error" is, also without data). O(bytes). */
enum sse_event_kind sse_feed(struct sse *s, struct span *input);

/* The stream has ended: an event that has its last line end but not its empty line is reported (SSE_EVENT). A last line
 * without its line end is complete where the end was `orderly` (the sender said that this is all: METHOD section 4);
 * else it was cut, and its event is dropped (SSE_MORE). Call until SSE_MORE. */
enum sse_event_kind sse_eof(struct sse *s, bool orderly);

#endif
