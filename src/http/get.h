/* A small GET on the loop: readiness polls, identity, /metrics. One connection each, closed behind the answer; no
 * redirects followed; nothing blocks. */
#ifndef JTOK_HTTP_GET_H
#define JTOK_HTTP_GET_H

#include "base/span.h"
#include "http/address.h"
#include "loop/loop.h"

struct http_get;

enum http_get_outcome {
    HTTP_GET_ANSWERED, /* `status` and `body` are set: any status, also an error's */
    HTTP_GET_REFUSED,  /* nobody listens there (refused, no such socket file) */
    HTTP_GET_TIMEOUT,  /* no whole answer within the limit */
    HTTP_GET_FAILED,   /* reset, cut, malformed, too large, no address */
};

struct http_get_result {
    enum http_get_outcome outcome;
    int status;                    /* -1 without an answer */
    struct span body;              /* valid during the callback only */
    int64_t sent_ns, done_ns;      /* CLOCK_MONOTONIC: the request handed over (of the last try), the outcome known */
    const struct address *address; /* who answered; null without an answer. Valid during the callback */
    const char *location; /* of a redirect; "" without one, null without an answer. Valid during the callback */
    const char *detail;   /* a sentence about what went wrong; null when answered */
};

/* What is asked, where, and who takes the answer. The texts are copied. */
struct http_get_options {
    const char *host; /* a name or number, or "unix:/path" */
    int port;         /* ignored with "unix:" */
    const char *path; /* "/metrics" */
    /* Null, or one more header line without its line end ("Authorization: Bearer ..."); never shows in `detail`. */
    const char *header;
    int64_t timeout_ns; /* for everything, from the call to the whole answer */
    size_t body_max;    /* bytes; a larger body fails */
    void (*done)(void *self, const struct http_get_result *r);
    void *self;
};

/* Starts the GET. Each address of the host is tried in turn, while one refuses. `done` runs exactly once, from the
 * loop, never from within this call; the http_get is freed behind it. Fails (ERR_PLAN, ERR_SYSTEM) only where nothing
 * was started: the host is unknown. */
bool http_get_start(struct loop *l, const struct http_get_options *o, struct http_get **ret_get, struct err *e);

/* Gives up: `done` is not called, the memory is freed. Not from within `done`. */
void http_get_cancel(struct http_get *g);

#endif
