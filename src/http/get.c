#include "http/get.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "http/http1.h"

struct http_get {
    struct loop *loop;
    struct watch watch;
    struct timer limit, start; /* `start` opens the next address, from the loop */
    struct address addresses[ADDRESSES_MAX];
    int address_count, address_at;
    struct buf request, body;
    char *path, *header;
    size_t sent;
    bool writing_over, any_refused;
    struct http1 http;
    struct http_get_result result;
    char detail[400];
    void (*done)(void *self, const struct http_get_result *r);
    void *self;
};

static void close_socket(struct http_get *g)
{
    if (g->watch.fd < 0)
        return;
    loop_remove(g->loop, &g->watch);
    close(g->watch.fd);
    g->watch.fd = -1;
}

void http_get_cancel(struct http_get *g)
{
    if (!g)
        return;
    close_socket(g);
    loop_timer_stop(g->loop, &g->limit);
    loop_timer_stop(g->loop, &g->start);
    http1_done(&g->http);
    buf_done(&g->request);
    buf_done(&g->body);
    free(g->path);
    free(g->header);
    free(g);
}

__attribute__((format(printf, 3, 4))) static void finish(struct http_get *g, enum http_get_outcome outcome,
                                                         const char *format, ...)
{
    g->result.outcome = outcome;
    g->result.done_ns = clock_now_ns();
    g->result.body = (struct span){0};
    if (outcome == HTTP_GET_ANSWERED) {
        g->result.status = g->http.status;
        g->result.body = buf_span(&g->body);
        g->result.address = &g->addresses[g->address_at];
        g->result.location = g->http.location;
    } else {
        va_list args;
        va_start(args, format);
        vsnprintf(g->detail, sizeof g->detail, format, args);
        va_end(args);
        g->result.detail = g->detail;
    }
    close_socket(g);
    g->done(g->self, &g->result);
    http_get_cancel(g);
}

static const char *where(const struct http_get *g)
{
    return g->addresses[g->address_at].text;
}

/* ---- the answer ---- */

static void take_bytes(struct http_get *g, struct span bytes)
{
    for (;;) {
        enum http1_event event = http1_feed(&g->http, &bytes);
        if (event == HTTP1_MORE)
            return;
        if (event == HTTP1_BODY)
            buf_add(&g->body, g->http.body.p, g->http.body.n);
        if (g->body.overflow) {
            finish(g, HTTP_GET_FAILED, "The answer of http://%s%s is larger than %zu bytes.", where(g), g->path,
                   g->body.max);
            return;
        }
        if (event == HTTP1_ERROR) {
            finish(g, HTTP_GET_FAILED, "The answer of http://%s%s is no valid HTTP/1.1: %s.", where(g), g->path,
                   g->http.fault);
            return;
        }
        if (event == HTTP1_DONE) {
            finish(g, HTTP_GET_ANSWERED, " ");
            return;
        }
    }
}

static void read_answer(struct http_get *g)
{
    char buffer[16384];
    ssize_t n;
    do
        n = recv(g->watch.fd, buffer, sizeof buffer, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n > 0) {
        take_bytes(g, (struct span){buffer, (size_t)n});
        return;
    }
    int number = errno;
    if (n < 0)
        finish(g, HTTP_GET_FAILED, "The connection to http://%s%s broke: %s.", where(g), g->path, strerror(number));
    else if (http1_eof(&g->http) == HTTP1_DONE)
        finish(g, HTTP_GET_ANSWERED, " ");
    else
        finish(g, HTTP_GET_FAILED, "The server at %s closed the connection before a whole answer to GET %s.", where(g),
               g->path);
}

/* ---- the request ---- */

static void next_address(struct http_get *g, int number)
{
    bool refused = number == ECONNREFUSED || number == ENOENT;
    close_socket(g);
    g->any_refused |= refused;
    if (g->address_at + 1 < g->address_count) {
        g->address_at++;
        loop_timer_set(g->loop, &g->start, clock_now_ns());
        return;
    }
    finish(g, g->any_refused ? HTTP_GET_REFUSED : HTTP_GET_FAILED, "No connection to %s: %s.", where(g),
           strerror(number));
}

static void write_request(struct http_get *g)
{
    while (g->sent < g->request.n) {
        ssize_t n = send(g->watch.fd, g->request.p + g->sent, g->request.n - g->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) /* what the server still says decides */
            break;
        g->sent += (size_t)n;
    }
    g->writing_over = true;
    loop_change(g->loop, &g->watch, EPOLLIN);
}

static void on_ready(struct watch *w, uint32_t events)
{
    struct http_get *g = w->owner;
    if (!g->writing_over && g->sent == 0) {
        int number = 0;
        socklen_t n = sizeof number;
        if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &number, &n))
            number = errno;
        if (number) {
            next_address(g, number);
            return;
        }
        g->result.sent_ns = clock_now_ns();
    }
    if (!g->writing_over && events & EPOLLOUT)
        write_request(g);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        read_answer(g);
}

static void put_request(struct http_get *g)
{
    buf_clear(&g->request);
    buf_fmt(&g->request, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: jtok\r\nAccept-Encoding: identity\r\n", g->path,
            g->addresses[g->address_at].host);
    if (g->header)
        buf_fmt(&g->request, "%s\r\n", g->header);
    buf_str(&g->request, "Connection: close\r\n\r\n");
    g->sent = 0;
}

static void on_start(struct timer *t)
{
    struct http_get *g = t->owner;
    const struct address *a = &g->addresses[g->address_at];
    struct err e;
    put_request(g);
    g->watch.fd = socket(a->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (g->watch.fd < 0) {
        int number = errno;
        if (number == EAFNOSUPPORT)
            next_address(g, number);
        else
            finish(g, HTTP_GET_FAILED, "No socket could be made: %s.", strerror(number));
        return;
    }
    g->result.sent_ns = clock_now_ns();
    if (connect(g->watch.fd, (const struct sockaddr *)&a->storage, a->length) && errno != EINPROGRESS) {
        int number = errno;
        close(g->watch.fd);
        g->watch.fd = -1;
        next_address(g, number);
        return;
    }
    if (!loop_add(g->loop, &g->watch, EPOLLIN | EPOLLOUT, &e)) {
        close(g->watch.fd);
        g->watch.fd = -1;
        finish(g, HTTP_GET_FAILED, "%s", e.text);
    }
}

static void on_limit(struct timer *t)
{
    struct http_get *g = t->owner;
    finish(g, HTTP_GET_TIMEOUT, "No whole answer from http://%s%s came within the limit.", where(g), g->path);
}

static char *copy(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(mem_alloc(n), text, n);
}

bool http_get_start(struct loop *l, const struct http_get_options *o, struct http_get **ret_get, struct err *e)
{
    struct address addresses[ADDRESSES_MAX];
    int count;
    if (!address_resolve(o->host, o->port, addresses, &count, e))
        return false;
    struct http_get *g = mem_zero(1, sizeof *g);
    memcpy(g->addresses, addresses, sizeof addresses);
    g->address_count = count;
    g->loop = l;
    g->done = o->done;
    g->self = o->self;
    g->path = copy(o->path);
    g->header = o->header ? copy(o->header) : NULL;
    g->watch = (struct watch){.fd = -1, .ready = on_ready, .owner = g};
    g->limit = (struct timer){.fire = on_limit, .owner = g};
    g->start = (struct timer){.fire = on_start, .owner = g};
    g->result.status = -1;
    buf_init(&g->body, o->body_max);
    http1_init(&g->http);
    int64_t now = clock_now_ns();
    g->result.sent_ns = now;
    loop_timer_set(l, &g->start, now);
    loop_timer_set(l, &g->limit, now + o->timeout_ns);
    *ret_get = g;
    return true;
}
