/* HTTP/1.1 response decoder: a state machine over spans. It owns no socket and allocates nothing but its head buffer.
 *
 * Fed with bytes as they come, split anywhere; it consumes what belongs to the response and reports head, body pieces and
 * end. Bodies: chunked (extensions and trailers skipped), content-length, close-delimited; interim responses (1xx) are
 * skipped and counted. What counts as malformed stands in METHOD section 4, "HTTP" and "limits" (header line 8 KiB, head
 * 64 KiB, 100 interim responses). Folded header lines are unfolded (RFC 9112, 5.2). */
#ifndef JTOK_TEXT_HTTP1_H
#define JTOK_TEXT_HTTP1_H

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"

enum http1_event {
    HTTP1_MORE,  /* everything given was consumed; give more */
    HTTP1_HEAD,  /* the head of the final response is complete: status and fields are set */
    HTTP1_BODY,  /* `body` points into the bytes given */
    HTTP1_DONE,  /* the response is complete; further bytes are left unconsumed */
    HTTP1_ERROR, /* and for ever after: `fault` says what, `too_large` whether a limit was passed */
};

struct http1 {
    /* Valid from HTTP1_HEAD on. */
    int status;
    bool close;           /* the connection ends with this response */
    bool chunked;
    int64_t length;       /* Content-Length, or -1 */
    bool event_stream;    /* Content-Type is text/event-stream */
    char content_type[64];/* cut, control bytes replaced; "" without the field */
    char location[128];   /* of a redirect, likewise */
    int interim;          /* 1xx responses skipped so far */
    bool head_started;    /* at least one byte of a head was seen */
    struct span body;     /* with HTTP1_BODY */
    const char *fault;    /* with HTTP1_ERROR: a phrase */
    bool too_large;
    /* Private from here. */
    uint8_t state;
    bool head_request;
    bool have_length, have_encoding, bad_encoding;
    uint8_t line_seen;
    uint32_t head_bytes, line_bytes;
    int64_t remaining;
    char *line;           /* one header line, allocated when the first byte comes, freed by http1_done */
    uint32_t line_n, line_capacity;
};

/* Ready for one response. A connection that is kept calls http1_reset between responses. */
void http1_init(struct http1 *h);
void http1_reset(struct http1 *h);
void http1_done(struct http1 *h);

/* Consumes from the front of *input (which is advanced) up to the next event. Call until HTTP1_MORE, HTTP1_DONE or
 * HTTP1_ERROR. O(bytes). */
enum http1_event http1_feed(struct http1 *h, struct span *input);

/* The peer closed: HTTP1_DONE where that ends the body rightly, HTTP1_ERROR ("truncated") where it cuts the response. */
enum http1_event http1_eof(struct http1 *h);

#endif
