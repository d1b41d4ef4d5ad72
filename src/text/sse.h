/* Server-sent events framer (WHATWG HTML, 9.2.6), over bytes split anywhere.
 *
 * Lines end with CR, LF or CRLF and with nothing else; one BOM at the very start is skipped; `data` lines join with LF;
 * comments, `id`, `retry` and unknown fields are skipped (comments are counted). Beyond the standard, an `error:` field is
 * kept (old llama.cpp). An event is dispatched by its empty line.
 *
 * An event that lies whole in one input is given in place, without a copy; one that was split is gathered in an own buffer
 * that starts empty, grows to `event_max` (METHOD: 16 MiB), and is given back to the system after an event above 64 KiB. */
#ifndef JTOK_TEXT_SSE_H
#define JTOK_TEXT_SSE_H

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
    struct span data;     /* the data lines joined with LF, without the last LF; may be empty */
    char event[32];       /* the event field, cut; "" without one */
    bool is_error;        /* an `error:` line was present: `data` holds its value where no data line came */
    bool has_data;        /* at least one `data` line came */
    bool ends_input;      /* the byte that completed it was the last of the input */
    /* Counts, for verdicts. */
    uint64_t events, comments;
    bool any_data_line;   /* ever */
    /* Private. */
    size_t event_max;
    struct buf held, joined;
    bool started, skip_lf, in_event;
    uint8_t bom;
};

void sse_init(struct sse *s, size_t event_max);
void sse_done(struct sse *s);

/* Consumes from the front of *input up to the next event. Events that carry neither data nor error are not reported.
 * O(bytes). */
enum sse_event_kind sse_feed(struct sse *s, struct span *input);

/* The stream has ended: an event that has its last line end but not its empty line is reported (SSE_EVENT), an unfinished
 * line is dropped (SSE_MORE). Call until SSE_MORE. */
enum sse_event_kind sse_eof(struct sse *s);

#endif
