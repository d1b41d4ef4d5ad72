#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "http.h"
#include "words.h"

static void watch(struct server *s, struct peer *c, int operation)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (c->wants_write ? EPOLLOUT : 0), .data.fd = c->fd};
    epoll_ctl(s->sockets.epoll, operation, c->fd, &event);
}

void peer_open(struct server *s, int fd, const char *address)
{
    if (fd >= s->peer_capacity) {
        int old = s->peer_capacity;
        s->peer_capacity = fd < 1024 ? 1024 : 2 * fd;
        s->peers = mem_grow(s->peers, (size_t)s->peer_capacity, sizeof(void *));
        memset(s->peers + old, 0, (size_t)(s->peer_capacity - old) * sizeof(void *));
    }
    struct peer *c = mem_zero(1, sizeof *c);
    c->fd = fd;
    c->job = -1;
    memcpy(c->address, address, strlen(address));
    s->peers[fd] = c;
    watch(s, c, EPOLL_CTL_ADD);
}

static void forget_delayed(struct server *s, const struct peer *c)
{
    for (struct peer **p = &s->delayed; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            return;
        }
}

static void request_gone(struct server *s, struct peer *c)
{
    if (c->answer.total_tokens)
        s->owed--;
    c->answer.total_tokens = 0;
    s->telling.dirty = true;
}

void peer_close(struct server *s, struct peer *c, bool reset)
{
    if (c->dead)
        return;
    if (c->job >= 0)
        batch_remove(&s->batch, c->job);
    if (c->answer.total_tokens) {
        s->telling.live.aborted++;
        request_gone(s, c);
    }
    if (c->delayed.n)
        forget_delayed(s, c);
    if (reset) {
        struct linger at_once = {.l_onoff = 1};
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    s->peers[c->fd] = NULL;
    close(c->fd);
    c->dead = true;
    c->next = s->dead;
    s->dead = c;
}

void peer_sweep(struct server *s)
{
    for (struct peer *c; (c = s->dead);) {
        s->dead = c->next;
        buf_done(&c->in);
        buf_done(&c->out);
        buf_done(&c->delayed);
        free(c);
    }
}

void peer_send(struct server *s, struct peer *c, struct span bytes)
{
    if (c->dead)
        return;
    while (!c->out.n && bytes.n) {
        ssize_t n = send(c->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            peer_close(s, c, false);
            return;
        }
        if (n < 0 && errno == EAGAIN)
            break;
        bytes.p += n > 0 ? n : 0;
        bytes.n -= n > 0 ? (size_t)n : 0;
    }
    if (!bytes.n)
        return;
    buf_add(&c->out, bytes.p, bytes.n);
    if (!c->wants_write) {
        c->wants_write = true;
        watch(s, c, EPOLL_CTL_MOD);
    }
}

void peer_output(struct server *s, struct peer *c)
{
    while (c->out.n) {
        ssize_t n = send(c->fd, c->out.p, c->out.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) {
            peer_close(s, c, false);
            return;
        }
        buf_consume(&c->out, (size_t)n);
    }
    buf_done(&c->out);
    if (c->close_when_sent) {
        peer_close(s, c, false);
        return;
    }
    c->wants_write = false;
    watch(s, c, EPOLL_CTL_MOD);
}

void peer_log(struct server *s, struct peer *c, const char *method, const char *path, int status)
{
    tree_log(&s->tree, SPEAKER_API, "", NULL, "INFO:     %s - \"%s %s HTTP/1.1\" %d %s", c->address, method, path,
             status, http_reason(status));
}

static void answer(struct server *s, struct peer *c, const struct http_head *h, int status, const char *type,
                   struct span body)
{
    char method[16], path[256];
    snprintf(method, sizeof method, "%.*s", SPAN_ARG(h->method));
    snprintf(path, sizeof path, "%.*s", SPAN_ARG(h->path));
    peer_log(s, c, method, path, status);
    struct buf out = {0};
    http_answer(&out, status, type, body, c->close);
    peer_send(s, c, buf_span(&out));
    buf_done(&out);
    peer_request_over(s, c);
}

static void answer_json(struct server *s, struct peer *c, const struct http_head *h, int status, const char *text)
{
    answer(s, c, h, status, "application/json", span_of(text));
}

static void put_permission(struct buf *b, uint64_t serial, long long now_s)
{
    buf_fmt(b,
            ",\"permission\":[{\"id\":\"modelperm-%016llx\",\"object\":\"model_permission\",\"created\":%lld,"
            "\"allow_create_engine\":false,\"allow_sampling\":true,\"allow_logprobs\":true,\"allow_search_indices\":"
            "false,\"allow_view\":true,\"allow_fine_tuning\":false,\"organization\":\"*\",\"group\":null,"
            "\"is_blocking\":false}]",
            (unsigned long long)serial, now_s);
}

static void answer_models(struct server *s, struct peer *c, const struct http_head *h)
{
    const struct options *o = s->options;
    const struct flavour *f = o->flavour;
    bool wrong_model = options_strike(o, FAULT_WRONG_MODEL, 0), wrong_length = options_strike(o, FAULT_WRONG_LENGTH, 0);
    long long now_s = clock_realtime_ns() / 1000000000;
    struct buf b = {0};
    buf_str(&b, "{\"object\":\"list\",\"data\":[{\"id\":");
    wire_text(&b, wrong_model ? "somebody/else" : o->served_name);
    buf_fmt(&b, ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"%s\"", now_s, f->name);
    long long length = wrong_length ? o->max_model_len / 2 : o->max_model_len;
    if (f->has_no_root) {
        buf_fmt(&b, ",\"meta\":{\"n_ctx_train\":%lld}", length);
    } else {
        buf_str(&b, ",\"root\":");
        wire_text(&b, wrong_model ? "/nonexistent/somebody/else" : f->root_is_name ? o->served_name : o->model);
        buf_fmt(&b, ",\"parent\":null,\"max_model_len\":%lld", length);
    }
    if (f->has_permission)
        put_permission(&b, ++s->serials, now_s);
    buf_str(&b, "}]}");
    answer_json(s, c, h, 200, buf_text(&b));
    buf_done(&b);
}

static double metrics_delay_s(const struct server *s)
{
    if (options_strike(s->options, FAULT_SLOW_METRICS, 0))
        return (double)s->options->fault[FAULT_SLOW_METRICS];
    /* The lagging front end answers this too: recorded were 0.2 to 4 s. */
    return s->options->front_rate > 0 && s->front.count ? 0.2 : 0;
}

static void answer_metrics(struct server *s, struct peer *c, const struct http_head *h)
{
    struct buf b = {0};
    s->options->flavour->put_metrics(&s->telling.shown, s->options, &b);
    double delay_s = metrics_delay_s(s);
    if (delay_s > 0) {
        http_answer(&c->delayed, 200, "text/plain; version=0.0.4; charset=utf-8", buf_span(&b), c->close);
        c->due_ns = clock_now_ns() + options_ns(s->options, delay_s);
        c->next = s->delayed;
        s->delayed = c;
    } else {
        answer(s, c, h, 200, "text/plain; version=0.0.4; charset=utf-8", buf_span(&b));
    }
    buf_done(&b);
}

int64_t peer_delayed_ns(const struct server *s)
{
    int64_t due_ns = INT64_MAX;
    for (const struct peer *c = s->delayed; c; c = c->next)
        if (c->due_ns < due_ns)
            due_ns = c->due_ns;
    return due_ns;
}

void peer_delayed_go(struct server *s, int64_t now_ns)
{
    for (struct peer *c = s->delayed, *next; c; c = next) {
        next = c->next;
        if (c->due_ns > now_ns)
            continue;
        forget_delayed(s, c);
        struct buf out = c->delayed;
        c->delayed = (struct buf){0};
        peer_log(s, c, "GET", "/metrics", 200);
        peer_send(s, c, buf_span(&out));
        buf_done(&out);
        peer_request_over(s, c);
        peer_next(s, c);
        return; /* the list may have changed */
    }
}

static int struck_status(const struct options *o, int64_t number)
{
    return options_strike(o, FAULT_HTTP_400, number)   ? 400
           : options_strike(o, FAULT_HTTP_429, number) ? 429
           : options_strike(o, FAULT_HTTP_500, number) ? 500
                                                       : 200;
}

static void generate(struct server *s, struct peer *c, const struct http_head *h, bool chat, struct span body)
{
    const struct options *o = s->options;
    struct buf error = {0};
    struct ask ask;
    c->number = s->posts++;
    int status = struck_status(o, c->number);
    if (status != 200)
        http_error_body(&error, status, status == 400 ? "BadRequestError" : http_reason(status), NULL,
                        "The simulated engine was told to refuse this request.");
    else
        status = ask_read(&ask, chat, body, o, &error);
    if (status == 200) {
        answer_init(&c->answer, o, &ask, words_mix(o->seed, ++s->serials), clock_realtime_ns() / 1000000000);
        deliver_start(s, c);
    } else {
        answer(s, c, h, status, "application/json", buf_span(&error));
    }
    buf_done(&error);
}

static bool has_metrics(const struct options *o)
{
    return o->enable_metrics || !o->flavour->metrics_off;
}

static void refuse_metrics(struct server *s, struct peer *c, const struct http_head *h)
{
    int status = s->options->flavour->metrics_off;
    struct buf error = {0};
    http_error_body(&error, status, "not_supported_error", NULL, "This server does not support metrics endpoint.");
    answer(s, c, h, status, "application/json", buf_span(&error));
    buf_done(&error);
}

/* What only this flavour has, or nothing. */
static void answer_own(struct server *s, struct peer *c, const struct http_head *h)
{
    struct buf b = {0};
    if (span_is(h->method, "GET") && s->options->flavour->answer(s->options, h->path, s->owed, &b))
        answer_json(s, c, h, 200, buf_text(&b));
    else
        answer_json(s, c, h, 404, "{\"detail\":\"Not Found\"}");
    buf_done(&b);
}

static void route(struct server *s, struct peer *c, const struct http_head *h, struct span body)
{
    bool get = span_is(h->method, "GET"), post = span_is(h->method, "POST");
    bool chat = span_is(h->path, "/v1/chat/completions");
    if (chat || span_is(h->path, "/v1/completions")) {
        if (post)
            generate(s, c, h, chat, body);
        else
            answer_json(s, c, h, 405, "{\"detail\":\"Method Not Allowed\"}");
    } else if (get && span_is(h->path, "/health")) {
        answer(s, c, h, s->ready ? 200 : 503, NULL, span_of(s->ready ? "" : s->options->flavour->loading));
    } else if (span_is(h->path, "/ping")) {
        answer(s, c, h, 200, NULL, span_of(""));
    } else if (get && span_is(h->path, "/v1/models")) {
        answer_models(s, c, h);
    } else if (get && span_is(h->path, "/metrics") && has_metrics(s->options)) {
        answer_metrics(s, c, h);
    } else if (get && span_is(h->path, "/metrics") && s->options->flavour->metrics_off != 404) {
        refuse_metrics(s, c, h);
    } else {
        answer_own(s, c, h);
    }
}

/* Takes the next request from the input, if a whole one is there and none is in progress. */
static bool take_request(struct server *s, struct peer *c)
{
    struct http_head h;
    enum http_read got = http_read_head(buf_span(&c->in), &h);
    if (got == HTTP_READ_BAD) {
        c->busy = c->close = true;
        answer(s, c, &(struct http_head){.method = span_of("?"), .path = span_of("?")}, 400,
               "text/plain; charset=utf-8", span_of("Invalid HTTP request received."));
        return false;
    }
    if (got == HTTP_READ_MORE)
        return false;
    if (c->in.n < h.head_bytes + h.body_bytes) {
        if (h.expects_continue && c->in.n == h.head_bytes)
            peer_send(s, c, span_of("HTTP/1.1 100 Continue\r\n\r\n"));
        return false;
    }
    c->busy = true;
    c->close = h.close;
    c->serial = ++s->serials;
    /* The spans of the head point into c->in, which nothing changes until the request is consumed. */
    route(s, c, &h, (struct span){c->in.p + h.head_bytes, h.body_bytes});
    if (!c->dead)
        buf_consume(&c->in, h.head_bytes + h.body_bytes);
    return !c->dead;
}

void peer_request_over(struct server *s, struct peer *c)
{
    c->busy = false;
    request_gone(s, c);
    if (!c->dead && c->close && c->out.n)
        c->close_when_sent = true;
    else if (!c->dead && c->close)
        peer_close(s, c, false);
}

void peer_next(struct server *s, struct peer *c)
{
    while (!c->busy && !c->dead && !c->close_when_sent && s->stop_ns == INT64_MAX && take_request(s, c))
        ;
}

void peer_input(struct server *s, struct peer *c)
{
    enum { PIECE = 16 * 1024 };
    for (;;) {
        buf_reserve(&c->in, PIECE);
        ssize_t n = recv(c->fd, c->in.p + c->in.n, PIECE, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) {
            peer_close(s, c, false);
            return;
        }
        c->in.n += (size_t)n;
        if (n < PIECE)
            break;
    }
    peer_next(s, c);
    if (!c->dead && !c->in.n)
        buf_done(&c->in);
}
