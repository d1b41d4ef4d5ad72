/* One response, without a socket: from bytes to chunks, times and a verdict (METHOD section 4).
 *
 * Bytes go in as they come, split anywhere, each piece with its arrival time; out come struct rec_chunk (one an event)
 * and a filled struct rec_request. The owner of the socket adds what bytes can't say: end of the connection, reset,
 * time-outs. The verdict is the first fault in time; once `over` is set it never changes. What may still follow (the
 * close after [DONE], the body of an error) is counted and fills `detail`, and is never judged.
 *
 * Decisions within METHOD's table, where its words leave room:
 *   - at the end of a stream several things may be wrong at one moment; they are asked in the table's order: no token
 * chunk, finish, usage;
 *   - without [DONE], a stream with a finish reason whose only usage came before it is `no_usage`;
 *   - an answer whose usage came with or after its finish reason is whole: a cut, a reset or silence behind it is
 * judged as an end in order is, so a usage that can't be used is `bad_usage` there, too;
 *   - an event with empty data carries nothing to read and is no fault; one whose data is no JSON object is
 * `bad_event`;
 *   - visible output is all output but reasoning: tool calls and refusals are visible. `content` may be a list of
 * parts;
 *   - a token chunk that only raises the running count needs an earlier count to rise against;
 *   - `running` is absent where the count is no integer from 0 to 2^31-1; only the last usage is judged;
 *   - a fault inside a stream that goes on ends the request: its owner closes the connection.
 *
 * No allocation a chunk, but for an event that is split over reads (struct sse's own buffer, which is kept). */
#ifndef JTOK_HTTP_RESPONSE_H
#define JTOK_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/span.h"
#include "model/record.h"
#include "http/event_shape.h"
#include "http/http1.h"
#include "http/sse.h"

enum {
    RESPONSE_EVENT_MAX = 16 << 20, /* METHOD: limits */
    RESPONSE_ERROR_BODY_MAX = 64 << 10,
    RESPONSE_DETAIL_MAX = 600, /* bytes of a failure's sentence */
};

/* When the bytes of one read came. */
struct response_arrival {
    int64_t t_ns;
    bool no_stamp; /* the kernel gave none: t_ns is the read time */
    bool doubtful; /* the read filled its buffer, or the peer's close was queued with it: the stamp may be a later
                      segment's */
};

/* Who takes the chunks; `chunk` null: nobody. `stamp` is set by METHOD's rule: SHARED for every event but one that ends
 * its read; that one is KERNEL, or READ without a stamp, or SHARED where the arrival is doubtful. The line end that
 * closes an HTTP chunk belongs to the event before it, unless this stream has been seen to bring it apart. */
struct response_out {
    void (*chunk)(void *self, const struct rec_chunk *c);
    void *self;
    /* An event carries a system_fingerprint, as it stands between its quotes; valid during the call. May be null. */
    void (*fingerprint)(void *self, struct span fingerprint);
    struct event_shapes *shapes; /* of this server's events; null: each event is read in full */
};

struct response {
    /* Filled as bytes come; times of connecting and sending are the owner's to fill. finish_reason and detail point
     * into this response and live as long. */
    struct rec_request record;
    bool over;        /* the verdict stands and record.end_ns is set */
    bool closing;     /* over, and nothing more is worth reading: close the connection */
    bool have_tokens; /* the first token chunk has come */
    bool head_begun, head_ended;
    int64_t last_event_ns; /* of the last event; ABSENT_I64 before it */
    int64_t running;       /* highest completion_tokens seen; ABSENT_I64 */
    /* Private from here. */
    struct http1 http;
    struct sse sse;
    struct {
        struct buf bytes;
        bool begun, gather;
    } plain;            /* the body, while it may be an error in JSON */
    int64_t body_bytes; /* until the verdict stands */
    char finish[24];
    char *detail;
    bool done_seen, framing_apart, event_at_edge;
    struct {
        bool have, after_finish;
        const char *fault;
        int64_t count;
    } usage; /* the last one */
};

/* Ready for one response. The record's id, stage, max_tokens and prompt_digest are the owner's to set, before the first
 * byte. */
void response_init(struct response *r, size_t event_max);
void response_done(struct response *r);

/* Bytes of one read. O(bytes). */
void response_feed(struct response *r, struct span bytes, struct response_arrival a, const struct response_out *out);

/* The peer has closed in order. Before a whole head: connect_failed; within the body: what the table says. An event
 * that lacks only its empty line still counts. */
void response_eof(struct response *r, int64_t t_ns, const struct response_out *out);

/* The connection broke (errno `number`): connect_failed before a whole head, reset behind it, a note after [DONE]; a
 * whole answer ended with its last event. */
void response_broken(struct response *r, int64_t t_ns, int number);

/* A limit of `limit_s` passed: the verdict is `v`, unless the answer is whole and only [DONE] is missing: then it ended
 * with its last event. */
void response_timeout(struct response *r, enum verdict v, int64_t t_ns, double limit_s);

/* Nothing more will be fed: what came of an error's body goes into the detail. */
void response_close(struct response *r);

/* Any other fault. Does nothing when the stream is over. */
void response_fail(struct response *r, enum verdict v, int64_t t_ns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
