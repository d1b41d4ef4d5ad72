#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "http/conn.h"

static const int64_t RETRY_NS = 5000000;

static void on_ready(struct watch *w, uint32_t events);
static void on_timer(struct timer *t);

void conn_init(struct conn *k, struct client *c, const struct client_request *r)
{
    *k = (struct conn){.client = c, .request = r, .state = CONN_NEW};
    k->watch = (struct watch){.fd = -1, .ready = on_ready, .owner = k};
    k->timer = (struct timer){.fire = on_timer, .owner = k};
    response_init(&k->response, c->o.event_max);
    struct rec_request *q = &k->response.record;
    q->id = r->id;
    q->stage = (uint8_t)c->o.stage;
    q->max_tokens = r->max_tokens;
    q->prompt_digest = r->prompt_digest;
    q->body_bytes = (int64_t)r->body.n;
}

static void close_socket(struct conn *k)
{
    if (k->watch.fd < 0)
        return;
    loop_remove(k->client->loop, &k->watch);
    close(k->watch.fd);
    k->watch.fd = -1;
}

void conn_done(struct conn *k)
{
    close_socket(k);
    loop_timer_stop(k->client->loop, &k->timer);
    response_done(&k->response);
}

static void gone(struct conn *k)
{
    response_close(&k->response);
    close_socket(k);
    loop_timer_stop(k->client->loop, &k->timer);
    k->state = CONN_GONE;
    client_on_gone(k);
    response_done(&k->response);
}

/* ---- limits of time ---- */

struct limit {
    int64_t at_ns;
    enum verdict verdict;
    double limit_s;
};

static void sooner(struct limit *l, int64_t from_ns, double limit_s, enum verdict v)
{
    if (!(limit_s > 0) || limit_s > 1e9)
        return;
    int64_t at = from_ns + (int64_t)(limit_s * 1e9);
    if (at < l->at_ns)
        *l = (struct limit){at, v, limit_s};
}

/* The earliest limit of METHOD's timers that applies now. */
static struct limit next_limit(const struct conn *k)
{
    const struct plan_limits *p = &k->client->o.limits;
    const struct response *r = &k->response;
    struct limit l = {.at_ns = INT64_MAX};
    int64_t origin = k->client->o.origin_ns;
    if (r->over) {
        l.at_ns = k->over_ns + k->client->o.linger_ns;
        return l;
    }
    if (k->state == CONN_CONNECTING)
        sooner(&l, k->opened_ns, p->connect_s, VERDICT_CONNECT_TIMEOUT);
    if (r->record.submit_ns != ABSENT_I64)
        sooner(&l, r->record.submit_ns + origin, p->total_s, VERDICT_TOTAL_TIMEOUT);
    if (k->state == CONN_SENDING && !(k->write_error && r->have_tokens)) /* then it is the silence that counts */
        sooner(&l, k->progress_ns, p->write_s, VERDICT_WRITE_TIMEOUT);
    if (r->head_begun && !r->head_ended)
        sooner(&l, k->head_begun_ns, p->head_s, VERDICT_HEAD_TIMEOUT);
    if (k->state == CONN_RECEIVING && !r->have_tokens)
        sooner(&l, r->record.sent_ns + origin, p->first_token_s, VERDICT_FIRST_TOKEN_TIMEOUT);
    if (r->have_tokens)
        sooner(&l, r->last_event_ns + origin, p->idle_s, VERDICT_IDLE_TIMEOUT);
    return l;
}

static void arm(struct conn *k)
{
    struct limit l = next_limit(k);
    if (l.at_ns != INT64_MAX)
        loop_timer_set(k->client->loop, &k->timer, l.at_ns);
    else
        loop_timer_stop(k->client->loop, &k->timer);
}

/* After anything that may have ended the request or the need for its connection. False: the connection is gone. */
static bool settle(struct conn *k, bool was_over, int64_t now)
{
    if (k->response.over && !was_over) {
        k->over_ns = now;
        client_on_ended(k);
    }
    if (k->response.closing) {
        gone(k);
        return false;
    }
    if (k->response.over && !was_over)
        arm(k);
    return true;
}

static void try_connect(struct conn *k);

static void on_timer(struct timer *t)
{
    struct conn *k = t->owner;
    int64_t now = clock_now_ns();
    struct limit l = next_limit(k);
    if (k->state == CONN_CONNECTING && k->watch.fd < 0 && now < l.at_ns) {
        try_connect(k);
        return;
    }
    if (now < l.at_ns) {
        arm(k);
        return;
    }
    if (k->response.over) {
        k->response.closing = true;
        gone(k);
        return;
    }
    bool opening = k->state == CONN_CONNECTING;
    response_timeout(&k->response, l.verdict, run_time(k->client, now), l.limit_s);
    if (opening)
        client_on_opened(k);
    settle(k, false, now);
}

void conn_cancel(struct conn *k)
{
    if (k->state == CONN_GONE)
        return;
    bool was_over = k->response.over;
    int64_t now = clock_now_ns();
    response_fail(&k->response, VERDICT_CANCELLED, run_time(k->client, now), "The run was stopped.");
    k->response.closing = true;
    if (k->state == CONN_CONNECTING)
        client_on_opened(k);
    settle(k, was_over, now);
}

/* ---- opening ---- */

static void open_failed(struct conn *k, int number)
{
    struct client *c = k->client;
    const char *to = c->o.address.text;
    int64_t now = clock_now_ns(), t = run_time(c, now);
    bool was_over = k->response.over;
    if (number == EADDRNOTAVAIL)
        response_fail(&k->response, VERDICT_CONNECT_FAILED, t,
                      "No local port is left for a connection to %s: raise their number, as root: `sysctl -w "
                      "net.ipv4.ip_local_port_range=\"1024 65535\"`.",
                      to);
    else if (number == EMFILE || number == ENFILE)
        response_fail(&k->response, VERDICT_CONNECT_FAILED, t,
                      "No file descriptor is left for a connection to %s: raise the limit (`ulimit -Hn`).", to);
    else
        response_fail(&k->response, VERDICT_CONNECT_FAILED, t, "No connection to %s: %s.", to, strerror(number));
    client_on_opened(k);
    settle(k, was_over, now);
}

static void write_request(struct conn *k);
static void read_answer(struct conn *k, uint32_t events);

static void opened(struct conn *k)
{
    k->response.record.connected_ns = run_time(k->client, clock_now_ns());
    k->state = CONN_OPEN;
    loop_timer_stop(k->client->loop, &k->timer);
    client_on_opened(k);
    if (k->wanted)
        conn_submit(k);
}

/* Readiness for writing is asked for all along: with edge triggering it costs nothing until the socket has been full.
 */
static void try_connect(struct conn *k)
{
    struct client *c = k->client;
    const struct address *to = &c->o.address;
    int family = to->storage.ss_family;
    k->watch.fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (k->watch.fd < 0) {
        open_failed(k, errno);
        return;
    }
    int on = 1;
    if (family != AF_UNIX)
        setsockopt(k->watch.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    stamps_ask(k->watch.fd);
    struct err ignored;
    if (!loop_add(c->loop, &k->watch, WATCHED, &ignored)) {
        open_failed(k, errno);
        return;
    }
    if (connect(k->watch.fd, (const struct sockaddr *)&to->storage, to->length) == 0) {
        opened(k);
    } else if (errno == EINPROGRESS) {
        arm(k);
    } else if (errno == EAGAIN) { /* a Unix socket whose backlog is full does not wait by itself */
        close_socket(k);
        loop_timer_set(c->loop, &k->timer, clock_now_ns() + RETRY_NS);
    } else {
        open_failed(k, errno);
    }
}

void conn_open(struct conn *k)
{
    k->opened_ns = clock_now_ns();
    k->response.record.connect_ns = run_time(k->client, k->opened_ns);
    k->response.record.connected_ns = ABSENT_I64;
    k->state = CONN_CONNECTING;
    try_connect(k);
}

static void on_handshake(struct conn *k, uint32_t events)
{
    int number = 0;
    socklen_t n = sizeof number;
    if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
        return;
    if (getsockopt(k->watch.fd, SOL_SOCKET, SO_ERROR, &number, &n))
        number = errno;
    if (number)
        open_failed(k, number);
    else
        opened(k);
}

/* A connection opened ahead that is of no use any more: nothing was sent on it, so another one takes its place. */
static void reopen(struct conn *k)
{
    close_socket(k);
    if (k->reopened++ == REOPEN_MAX) {
        int64_t now = clock_now_ns();
        response_fail(&k->response, VERDICT_CONNECT_FAILED, run_time(k->client, now),
                      "The server closed the connection %d times before the request was sent.", REOPEN_MAX + 1);
        settle(k, false, now);
        return;
    }
    k->response.record.notes |= NOTE_REOPENED;
    conn_open(k);
}

/* Has the server closed or broken the connection, or spoken unasked (408 before it closes)? */
static bool spoilt_ahead(struct conn *k)
{
    char byte;
    ssize_t n = recv(k->watch.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

/* ---- writing ---- */

static void write_request(struct conn *k)
{
    struct client *c = k->client;
    char length[48];
    size_t n = (size_t)snprintf(length, sizeof length, "%zu\r\n\r\n", k->request->body.n);
    struct iovec all[] = {
        {c->head.p, c->head.n}, {length, n}, {(void *)(uintptr_t)k->request->body.p, k->request->body.n}};
    size_t total = c->head.n + n + k->request->body.n;
    while (k->sent_bytes < total) {
        struct iovec left[3];
        size_t parts = 0, skip = k->sent_bytes;
        for (int i = 0; i < 3; i++) {
            size_t cut = skip < all[i].iov_len ? skip : all[i].iov_len;
            skip -= cut;
            if (cut < all[i].iov_len)
                left[parts++] = (struct iovec){(char *)all[i].iov_base + cut, all[i].iov_len - cut};
        }
        struct msghdr m = {.msg_iov = left, .msg_iovlen = parts};
        ssize_t sent = sendmsg(k->watch.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0) {
            k->write_error = errno;
            read_answer(k, EPOLLIN | EPOLLRDHUP);
            return;
        }
        k->sent_bytes += (size_t)sent;
        k->progress_ns = clock_now_ns();
    }
    k->response.record.sent_ns = run_time(c, k->progress_ns);
    k->state = CONN_RECEIVING;
    arm(k);
}

void conn_submit(struct conn *k)
{
    struct client *c = k->client;
    k->wanted = true;
    int64_t now = clock_now_ns();
    if (k->response.record.submit_ns == ABSENT_I64) {
        k->response.record.submit_ns = run_time(c, now);
        if (c->first_submit_ns == ABSENT_I64)
            c->first_submit_ns = now;
        c->last_submit_ns = now;
        c->progress.running++;
    }
    if (k->state == CONN_NEW)
        conn_open(k);
    if (k->state != CONN_OPEN)
        return;
    if (c->o.connect == CONNECT_AHEAD && spoilt_ahead(k)) {
        reopen(k);
        return;
    }
    k->state = CONN_SENDING;
    k->progress_ns = now;
    arm(k);
    write_request(k);
}

/* ---- reading ---- */

/* One read's bytes go to the stream. False: the connection is gone. */
static bool take_bytes(struct conn *k, struct span bytes, struct response_arrival a, int64_t now)
{
    struct client *c = k->client;
    struct response *r = &k->response;
    bool was_over = r->over, had_tokens = r->have_tokens, head = r->head_begun && !r->head_ended;
    response_feed(r, bytes, a, &c->out);
    bool head_now = r->head_begun && !r->head_ended;
    if (head_now && !head)
        k->head_begun_ns = now;
    if (!settle(k, was_over, now))
        return false;
    if (!r->over && (head_now != head || had_tokens != r->have_tokens))
        arm(k);
    return true;
}

/* Stamps of one stream never go back, whatever order its segments came in. */
static struct response_arrival arrival(struct conn *k, int64_t t_ns, bool stamped, bool doubtful)
{
    if (t_ns < k->arrival_ns) {
        doubtful |= k->arrival_ns - t_ns > 1000;
        t_ns = k->arrival_ns;
    }
    k->arrival_ns = t_ns;
    return (struct response_arrival){.t_ns = run_time(k->client, t_ns), .no_stamp = !stamped, .doubtful = doubtful};
}

/* Reads until the socket is empty: one call where the read is short of the buffer and the peer has not closed. A close
 * that is queued behind the data may have lent it its stamp. A peer that fills the buffer again and again must not keep
 * the loop from timers and other streams: the rest waits for the next turn, for which the edge is armed anew. */
static void read_answer(struct conn *k, uint32_t events)
{
    struct client *c = k->client;
    bool closing = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    for (int full = 0; full < FULL_READS;) {
        int64_t t, now;
        bool stamped;
        ssize_t n = stamps_receive(&c->stamps, k->watch.fd, c->buffer, RECEIVE_BUFFER, &t, &now, &stamped);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        bool was_over = k->response.over;
        if (n <= 0) {
            if (n == 0 && k->write_error == ECONNRESET) /* the failed write has taken the reset off the socket */
                response_broken(&k->response, run_time(c, now), ECONNRESET);
            else if (n == 0)
                response_eof(&k->response, run_time(c, now), &c->out);
            else
                response_broken(&k->response, run_time(c, now), errno);
            k->response.closing = true;
            settle(k, was_over, now);
            return;
        }
        c->seen.reads += !c->frozen;
        if (stamped)
            hist_add(&c->handled, now - t);
        bool filled = n == RECEIVE_BUFFER;
        struct span bytes = {c->buffer, (size_t)n};
        if (!take_bytes(k, bytes, arrival(k, t, stamped, filled || closing), now))
            return;
        if (!filled && !closing)
            return;
        full += filled;
    }
    loop_change(c->loop, &k->watch, WATCHED);
}

static void on_ready(struct watch *w, uint32_t events)
{
    struct conn *k = w->owner;
    if (k->state == CONN_CONNECTING) {
        on_handshake(k, events); /* the same edge may tell that the server has spoken already */
        if (k->state == CONN_CONNECTING || k->watch.fd < 0)
            return;
    }
    if (k->state == CONN_OPEN) {
        if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR) && spoilt_ahead(k))
            reopen(k);
        return;
    }
    if (k->state == CONN_SENDING && events & EPOLLOUT && !k->write_error) {
        write_request(k);
        if (k->watch.fd < 0)
            return;
    }
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        read_answer(k, events);
}
