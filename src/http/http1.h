/* HTTP/1.1 response decoder: a state machine over spans. It owns no socket and allocates nothing but its head buffer.
 *
 * Fed with bytes as they come, split anywhere; it consumes what belongs to the response and reports head, body pieces
 * and end. Bodies: chunked (extensions and trailers skipped), content-length, close-delimited, none (204, 304); interim
 * responses (1xx) are skipped and counted, but for 101, which is final here since no upgrade is ever asked for. The
 * request was a GET or a POST. What counts as malformed stands in METHOD section 4, "HTTP" and "limits" (header line 8
 * KiB without its line end, also a chunk's line and a trailer; head 64 KiB, also all trailers; 100 interim responses).
 * Folded header lines are unfolded (RFC 9112, 5.2). First bytes that can begin no answer are refused as soon as they
 * differ, without waiting for a line's end; a TLS record and HTTP/2 are named.
 *
 * A content coding (gzip) that nobody asked for is reported after the head, in place of the body: the status decides
 * first. A head may end its lines with LF alone; chunk framing may not. */
#ifndef JTOK_HTTP_HTTP1_H
#define JTOK_HTTP_HTTP1_H

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

/* Private. Their order matters: all up to H1_CHUNK_LINE_LF belong to a size line, all from H1_TRAILER_START to the
 * trailers. Zero is the state of a fresh decoder. */
enum http1_state {
    H1_LINE_START, /* of a line of the head: only its first byte tells whether it continues the one before */
    H1_LINE,
    H1_BODY_LENGTH,
    H1_BODY_CLOSE,
    H1_BODY_CODED,
    H1_CHUNK_START,
    H1_CHUNK_SIZE,
    H1_CHUNK_SPACE,
    H1_CHUNK_EXTENSION,
    H1_CHUNK_LINE_LF,
    H1_CHUNK_DATA,
    H1_CHUNK_DATA_CR,
    H1_CHUNK_DATA_LF,
    H1_TRAILER_START,
    H1_TRAILER,
    H1_TRAILER_CR,
    H1_TRAILER_END_LF,
    H1_DONE,
    H1_FAILED,
};

struct http1 {
    /* Valid from HTTP1_HEAD on. */
    int status;
    bool close; /* the connection ends with this response */
    bool chunked;
    int64_t length;        /* Content-Length, or -1 */
    bool event_stream;     /* Content-Type is text/event-stream */
    char content_type[64]; /* cut, all but printable ASCII replaced by '?'; "" without the field */
    char location[128];    /* of a redirect, likewise */
    bool head_started;     /* at least one byte of a head was seen, interim ones apart */
    struct span body;      /* with HTTP1_BODY; never empty */
    const char *fault;     /* with HTTP1_ERROR: a phrase ("a chunk size over 2^63-1") */
    bool too_large;
    /* Private from here. */
    enum http1_state state;
    int interim; /* 1xx responses skipped so far */
    struct {
        bool status, encoding, length;
        bool coded;                   /* a Content-Encoding that nobody asked for */
        bool old_version, keep_alive; /* HTTP/1.0; Connection: keep-alive */
    } seen;                           /* in the head */
    uint32_t head_bytes, line_bytes;
    int64_t remaining; /* of the body or the chunk */
    struct {
        char *p;
        uint32_t n, capacity;
    } line; /* one header line, unfolded; held from the first byte of a head to its end */
};

/* Ready for one response; the next one on the same connection needs a fresh decoder. A zeroed struct may be given to
 * http1_done; http1_init gives `length` its -1. */
void http1_init(struct http1 *h);
void http1_done(struct http1 *h);

/* Consumes from the front of *input (which is advanced) up to the next event. Call until HTTP1_MORE, HTTP1_DONE or
 * HTTP1_ERROR. O(bytes). */
enum http1_event http1_feed(struct http1 *h, struct span *input);

/* The peer closed: HTTP1_DONE where that ends the body rightly, HTTP1_ERROR ("truncated") where it cuts the response.
 */
enum http1_event http1_eof(struct http1 *h);

#endif
