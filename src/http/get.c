#include "http/get.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/must.h"
#include "http/conn.h"
#include "http/http1.h"

enum { READ_BUFFER = 16384 };

struct http_get {
    struct conn conn;
    struct conn_means means;
    struct loop *loop;
    struct timer limit;
    struct timer next; /* from the loop: opens the address at address_at, or delivers the result */
    struct address addresses[ADDRESSES_MAX];
    int address_count, address_at;
    struct buf request, body;
    char *path, *header;
    int64_t timeout_ns;
    bool any_refused, finished;
    struct http1 http;
    struct http_get_result result;
    char detail[600];
    void (*done)(void *self, const struct http_get_result *r);
    void *self;
    char buffer[READ_BUFFER];
};

void http_get_cancel(struct http_get *g)
{
    if (!g)
        return;
    conn_close(&g->conn);
    loop_timer_stop(g->loop, &g->limit);
    loop_timer_stop(g->loop, &g->next);
    http1_done(&g->http);
    buf_done(&g->request);
    buf_done(&g->body);
    free(g->path);
    free(g->header);
    free(g);
}

/* The outcome is known. It is delivered by a timer: the connection may still be at work on this g, which ends then. */
static void end_get(struct http_get *g, enum http_get_outcome outcome)
{
    must(!g->finished);
    g->finished = true;
    g->result.outcome = outcome;
    g->result.done_ns = clock_now_ns();
    if (outcome == HTTP_GET_ANSWERED) {
        g->result.status = g->http.status;
        g->result.body = buf_span(&g->body);
        g->result.address = &g->addresses[g->address_at];
        g->result.location = g->http.location;
    } else {
        g->result.detail = g->detail;
    }
    conn_close(&g->conn);
    loop_timer_stop(g->loop, &g->limit);
    loop_timer_set(g->loop, &g->next, g->result.done_ns);
}

__attribute__((format(printf, 3, 4))) static void finish_with(struct http_get *g, enum http_get_outcome outcome,
                                                              const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(g->detail, sizeof g->detail, format, args);
    va_end(args);
    end_get(g, outcome);
}

static const char *where(const struct http_get *g)
{
    return g->addresses[g->address_at].text;
}

/* ---- the answer ---- */

/* False: the outcome is known. */
static bool get_received(struct conn *k, const struct conn_read *r)
{
    struct http_get *g = k->owner;
    struct span bytes = r->bytes;
    for (;;) {
        enum http1_event event = http1_feed(&g->http, &bytes);
        if (event == HTTP1_MORE)
            return true;
        if (event == HTTP1_BODY)
            buf_add(&g->body, g->http.body.p, g->http.body.n);
        if (g->body.overflow)
            finish_with(g, HTTP_GET_FAILED, "The answer of http://%s%s is larger than %zu bytes.", where(g), g->path,
                        g->body.max);
        else if (event == HTTP1_ERROR)
            finish_with(g, HTTP_GET_FAILED, "The answer of http://%s%s is not valid HTTP/1.1: %s.", where(g), g->path,
                        g->http.fault);
        else if (event == HTTP1_DONE)
            end_get(g, HTTP_GET_ANSWERED);
        if (g->finished)
            return false;
    }
}

static void get_ended(struct conn *k, int number, int64_t now_ns)
{
    (void)now_ns;
    struct http_get *g = k->owner;
    if (number)
        finish_with(g, HTTP_GET_FAILED, "The connection to http://%s%s broke: %s.", where(g), g->path,
                    strerror(number));
    else if (http1_eof(&g->http) == HTTP1_DONE)
        end_get(g, HTTP_GET_ANSWERED);
    else
        finish_with(g, HTTP_GET_FAILED,
                    "The server at %s closed the connection before its answer to GET %s was complete.", where(g),
                    g->path);
}

/* ---- the request ---- */

static void get_failed(struct conn *k, int number)
{
    struct http_get *g = k->owner;
    g->any_refused |= number == ECONNREFUSED || number == ENOENT;
    conn_close(&g->conn);
    if (g->address_at + 1 < g->address_count) {
        g->address_at++;
        loop_timer_set(g->loop, &g->next, clock_now_ns());
        return;
    }
    conn_explain(&g->addresses[g->address_at], number, g->detail, sizeof g->detail);
    end_get(g, g->any_refused ? HTTP_GET_REFUSED : HTTP_GET_FAILED);
}

static void put_request(struct http_get *g)
{
    buf_clear(&g->request);
    buf_fmt(&g->request, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: jtok\r\nAccept-Encoding: identity\r\n", g->path,
            g->addresses[g->address_at].host);
    if (g->header)
        buf_fmt(&g->request, "%s\r\n", g->header);
    buf_str(&g->request, "Connection: close\r\n\r\n");
}

static void get_opened(struct conn *k)
{
    struct http_get *g = k->owner;
    g->result.sent_ns = clock_now_ns();
    put_request(g);
    struct span request = buf_span(&g->request);
    conn_send(k, &request, 1, g->result.sent_ns);
}

static void get_written(struct conn *k)
{
    (void)k; /* its answer is all that matters */
}

static const struct conn_events events = {
    .opened = get_opened,
    .failed = get_failed,
    .spoilt = NULL, /* never open without sending */
    .written = get_written,
    .received = get_received,
    .ended = get_ended,
};

static void on_next(struct timer *t)
{
    struct http_get *g = t->owner;
    if (g->finished) {
        g->done(g->self, &g->result);
        http_get_cancel(g);
        return;
    }
    g->result.sent_ns = clock_now_ns();
    conn_init(&g->conn, &g->means, g);
    conn_open(&g->conn, &g->addresses[g->address_at]);
}

static void on_limit(struct timer *t)
{
    struct http_get *g = t->owner;
    finish_with(g, HTTP_GET_TIMEOUT, "The server at http://%s%s gave no complete answer within %g s.", where(g),
                g->path, (double)g->timeout_ns / SECOND_NS);
}

static char *copy(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(mem_alloc(n), text, n);
}

bool http_get_start(struct loop *l, const struct http_get_options *o, struct http_get **ret_get, struct err *e)
{
    must(o->host && o->path && o->done && o->timeout_ns > 0);
    struct address addresses[ADDRESSES_MAX];
    int count;
    if (!address_resolve(o->host, o->port, addresses, &count, e))
        return false;
    struct http_get *g = mem_zero(1, sizeof *g);
    memcpy(g->addresses, addresses, sizeof addresses);
    g->address_count = count;
    g->loop = l;
    g->means = (struct conn_means){.loop = l, .events = &events, .buffer = g->buffer, .size = sizeof g->buffer};
    conn_init(&g->conn, &g->means, g);
    g->done = o->done;
    g->self = o->self;
    g->path = copy(o->path);
    g->timeout_ns = o->timeout_ns;
    g->header = o->header ? copy(o->header) : NULL;
    g->limit = (struct timer){.fire = on_limit, .owner = g};
    g->next = (struct timer){.fire = on_next, .owner = g};
    g->result.status = -1;
    buf_init(&g->body, o->body_max);
    http1_init(&g->http);
    int64_t now = clock_now_ns();
    g->result.sent_ns = now;
    loop_timer_set(l, &g->next, now);
    loop_timer_set(l, &g->limit, now + o->timeout_ns);
    *ret_get = g;
    return true;
}
