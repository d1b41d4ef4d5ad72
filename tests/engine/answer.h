/* An answer of the simulated engine, judged without jtok's own readers: HTTP and events by hand and strictly (only what
 * this engine is meant to send passes), their JSON by jansson. A fault that both sides shared would pass otherwise. */
#ifndef JTOK_TESTS_ENGINE_ANSWER_H
#define JTOK_TESTS_ENGINE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

enum ending { STILL_OPEN, COMPLETE, CUT_OFF, RESET_BY_PEER };

struct answer {
    int status; /* 0 without a head */
    enum ending ending;
    struct buf body;        /* whole; of a stream: its bytes without the HTTP framing */
    bool done;              /* data: [DONE] came */
    bool error;             /* an error object came */
    int64_t events, chunks; /* chunks: with output text or a risen count */
    int64_t usage;          /* last completion_tokens, -1 without any */
    int64_t prompt_tokens;
    int64_t largest; /* most tokens that one chunk added, by running counts */
    char finish[16];
    struct buf text; /* content and text joined */
    struct buf reasoning;
    int64_t first_ns, last_ns; /* arrival of the first and the last text */
    /* Private. */
    struct {
        struct buf raw; /* not taken apart yet */
        bool event_stream, chunked;
        int64_t length;  /* -1: to the close */
        size_t events_n; /* bytes of the body that whole events have taken */
        int64_t counted; /* the running count so far */
    } in;
};

void answer_init(struct answer *a);
void answer_done(struct answer *a);

/* Bytes that came at t_ns; anything that is not as it should be fails the test. */
void answer_feed(struct answer *a, const char *bytes, size_t n, int64_t t_ns);

/* The engine has closed the connection in order. */
void answer_closed(struct answer *a, int64_t t_ns);

#endif
