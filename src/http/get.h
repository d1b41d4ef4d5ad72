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

/* Starts GET path at host:port ("unix:/path": the port is ignored). Each address of the host is tried in turn, while
 * one refuses. `header` is null or one more header line without its line end ("Authorization: Bearer ..."); it is
 * copied and never shows in `detail`. The limit covers everything. `done` runs exactly once, from the loop, never from
 * within this call; the http_get is freed behind it. Fails (ERR_PLAN, ERR_SYSTEM) only where nothing was started: the
 * host is unknown. */
bool http_get_start(struct loop *l, const char *host, int port, const char *path, const char *header,
                    int64_t timeout_ns, size_t body_max, void (*done)(void *self, const struct http_get_result *r),
                    void *self, struct http_get **ret_get, struct err *e);

/* Gives up: `done` is not called, the memory is freed. Not from within `done`. */
void http_get_cancel(struct http_get *g);

#endif
