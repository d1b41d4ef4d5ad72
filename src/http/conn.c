#include "http/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/must.h"
#include "http/limits.h"

enum {
    SOURCES_MAX = 16,
    FULL_READS = 4, /* of one connection in one turn of the loop */
    /* Readiness for writing is asked for all along: with edge triggering it costs nothing until the socket is full. */
    WATCHED = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
    READABLE = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR,
    CLOSING = EPOLLRDHUP | EPOLLHUP | EPOLLERR,
};
static const int64_t RETRY_NS = 5000000, DOUBTFUL_BACK_NS = 1000;

/* ---- states ---- */

#define TO(state) (1u << (state))

static const unsigned legal_moves[CONN_STATES] = {
    [CONN_NEW] = TO(CONN_CONNECTING) | TO(CONN_GONE),
    [CONN_CONNECTING] = TO(CONN_OPEN) | TO(CONN_GONE),
    [CONN_OPEN] = TO(CONN_SENDING) | TO(CONN_CONNECTING) | TO(CONN_GONE),
    [CONN_SENDING] = TO(CONN_RECEIVING) | TO(CONN_GONE),
    [CONN_RECEIVING] = TO(CONN_GONE),
    [CONN_GONE] = 0,
};

bool conn_may_move(enum conn_state from, enum conn_state to)
{
    return from <= CONN_GONE && to <= CONN_GONE && legal_moves[from] & TO(to);
}

void conn_move(struct conn *k, enum conn_state to)
{
    must(conn_may_move(k->state, to));
    k->state = to;
}

/* ---- closing ---- */

static void close_socket(struct conn *k)
{
    if (k->watch.fd < 0)
        return;
    loop_remove(k->means->loop, &k->watch);
    close(k->watch.fd);
    k->watch.fd = -1;
}

void conn_close(struct conn *k)
{
    if (k->state == CONN_GONE)
        return;
    close_socket(k);
    loop_timer_stop(k->means->loop, &k->retry);
    conn_move(k, CONN_GONE);
}

/* ---- opening ---- */

void conn_explain(const struct address *to, int number, char *ret_text, size_t size)
{
    if (number == EADDRNOTAVAIL)
        snprintf(ret_text, size,
                 "No local port is left for a connection to %s. Allow more of them, as root: `" LIMITS_PORTS_COMMAND
                 "`.",
                 to->text);
    else if (number == EMFILE || number == ENFILE)
        snprintf(ret_text, size,
                 "No file descriptor is left for a connection to %s. Raise the limit of open files (`ulimit -Hn`).",
                 to->text);
    else
        snprintf(ret_text, size, "The connection to %s failed: %s.", to->text, strerror(number));
}

static void is_open(struct conn *k)
{
    conn_move(k, CONN_OPEN);
    k->means->events->opened(k);
}

/* Connects; where no port is left, from the next address of this machine's loopback, of which there are millions: a
 * close that this side makes first keeps its port for a minute. */
static int connect_from(struct conn *k)
{
    int *source = k->means->source;
    bool loopback = source && address_is_loopback_v4(k->to);
    for (int tries = 0;; tries++) {
        if (loopback && *source > 0) {
            int on = 1;
            struct sockaddr_in from = {.sin_family = AF_INET,
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)*source)};
            setsockopt(k->watch.fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
            if (bind(k->watch.fd, (const struct sockaddr *)&from, sizeof from))
                return -1;
        }
        int result = connect(k->watch.fd, (const struct sockaddr *)&k->to->storage, k->to->length);
        if (result == 0 || errno != EADDRNOTAVAIL || !loopback || tries == SOURCES_MAX)
            return result;
        *source = (*source + 1) % SOURCES_MAX;
    }
}

static void try_connect(struct conn *k)
{
    struct loop *l = k->means->loop;
    int family = k->to->storage.ss_family;
    k->watch.fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (k->watch.fd < 0) {
        k->means->events->failed(k, errno);
        return;
    }
    int on = 1;
    if (family != AF_UNIX)
        setsockopt(k->watch.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (k->means->stamps)
        stamps_ask(k->watch.fd);
    struct err ignored;
    if (!loop_add(l, &k->watch, WATCHED, &ignored)) {
        k->means->events->failed(k, errno);
        return;
    }
    if (connect_from(k) == 0) {
        is_open(k);
    } else if (errno == EAGAIN) { /* a Unix socket whose backlog is full does not wait by itself */
        close_socket(k);
        loop_timer_set(l, &k->retry, clock_now_ns() + RETRY_NS);
    } else if (errno != EINPROGRESS) {
        k->means->events->failed(k, errno);
    }
}

static void on_retry(struct timer *t)
{
    try_connect(t->owner);
}

void conn_open(struct conn *k, const struct address *to)
{
    must(k->state == CONN_NEW && to);
    conn_move(k, CONN_CONNECTING);
    k->to = to;
    try_connect(k);
}

void conn_reopen(struct conn *k)
{
    must(k->state == CONN_OPEN);
    close_socket(k);
    conn_move(k, CONN_CONNECTING);
    try_connect(k);
}

static void on_handshake(struct conn *k, uint32_t events)
{
    if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
        return;
    int number = 0;
    socklen_t n = sizeof number;
    if (getsockopt(k->watch.fd, SOL_SOCKET, SO_ERROR, &number, &n))
        number = errno;
    if (number)
        k->means->events->failed(k, number);
    else
        is_open(k);
}

bool conn_is_spoilt(const struct conn *k)
{
    must(k->state == CONN_OPEN);
    char byte;
    ssize_t n = recv(k->watch.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

/* ---- reading ---- */

static ssize_t receive(struct conn *k, struct conn_read *r)
{
    const struct conn_means *m = k->means;
    *r = (struct conn_read){.bytes = {.p = m->buffer}};
    ssize_t n;
    if (m->stamps) {
        n = stamps_receive(m->stamps, k->watch.fd, m->buffer, m->size, &r->t_ns, &r->read_ns, &r->stamped);
    } else {
        n = recv(k->watch.fd, m->buffer, m->size, MSG_DONTWAIT);
        r->t_ns = r->read_ns = clock_now_ns();
    }
    r->bytes.n = n > 0 ? (size_t)n : 0;
    r->waited_ns = r->read_ns - r->t_ns;
    return n;
}

/* Stamps of one connection never go back, whatever order its segments came in. */
static void keep_order(struct conn *k, struct conn_read *r)
{
    if (r->t_ns < k->arrival_ns) {
        r->doubtful |= k->arrival_ns - r->t_ns > DOUBTFUL_BACK_NS;
        r->t_ns = k->arrival_ns;
    }
    k->arrival_ns = r->t_ns;
}

/* Reads until the socket is empty: one call where the read is short of the buffer and the peer has not closed. A close
 * that is queued behind the data may have lent it its stamp. A peer that fills the buffer again and again must not keep
 * the loop from timers and other connections: the rest waits for the next turn, for which the edge is armed anew. */
static void read_all(struct conn *k, uint32_t events)
{
    bool closing = events & CLOSING;
    for (int full = 0; full < FULL_READS;) {
        struct conn_read r;
        ssize_t n = receive(k, &r);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            /* A failed write has taken the reset off the socket. */
            int number = n < 0 ? errno : k->write_error == ECONNRESET ? ECONNRESET : 0;
            k->means->events->ended(k, number, r.read_ns);
            return;
        }
        bool filled = r.bytes.n == k->means->size;
        r.doubtful = filled || closing;
        keep_order(k, &r);
        if (!k->means->events->received(k, &r))
            return;
        if (!filled && !closing)
            return;
        full += filled;
    }
    loop_change(k->means->loop, &k->watch, WATCHED);
}

/* ---- writing ---- */

/* What of the parts is not written yet. */
static size_t left_of(const struct conn *k, struct iovec ret_left[CONN_PARTS])
{
    size_t n = 0, skip = k->written;
    for (size_t i = 0; i < CONN_PARTS; i++) {
        struct span part = k->parts[i];
        size_t cut = skip < part.n ? skip : part.n;
        skip -= cut;
        if (cut < part.n)
            ret_left[n++] = (struct iovec){(void *)(uintptr_t)(part.p + cut), part.n - cut};
    }
    return n;
}

static void write_rest(struct conn *k)
{
    struct iovec left[CONN_PARTS];
    for (size_t n; (n = left_of(k, left)) > 0;) {
        struct msghdr m = {.msg_iov = left, .msg_iovlen = n};
        ssize_t sent = sendmsg(k->watch.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0) {
            k->write_error = errno;
            read_all(k, EPOLLIN | EPOLLRDHUP);
            return;
        }
        k->written += (size_t)sent;
        k->progress_ns = clock_now_ns();
    }
    conn_move(k, CONN_RECEIVING);
    k->means->events->written(k);
}

void conn_send(struct conn *k, const struct span *parts, size_t n, int64_t now_ns)
{
    must(k->state == CONN_OPEN && n <= CONN_PARTS);
    for (size_t i = 0; i < CONN_PARTS; i++)
        k->parts[i] = i < n ? parts[i] : (struct span){0};
    k->written = 0;
    k->progress_ns = now_ns;
    conn_move(k, CONN_SENDING);
    write_rest(k);
}

/* ---- from the loop ---- */

static void on_ready(struct watch *w, uint32_t events)
{
    struct conn *k = w->owner;
    if (k->state == CONN_CONNECTING) {
        on_handshake(k, events); /* the same edge may tell that the server has spoken already */
        if (k->state == CONN_CONNECTING || k->watch.fd < 0)
            return;
    }
    if (k->state == CONN_OPEN) {
        if (events & READABLE && conn_is_spoilt(k))
            k->means->events->spoilt(k);
        return;
    }
    if (k->state == CONN_SENDING && events & EPOLLOUT && !k->write_error) {
        write_rest(k);
        if (k->watch.fd < 0)
            return;
    }
    if (events & READABLE)
        read_all(k, events);
}

void conn_init(struct conn *k, const struct conn_means *means, void *owner)
{
    must(means->loop && means->events && means->buffer && means->size);
    *k = (struct conn){.state = CONN_NEW, .means = means, .owner = owner};
    k->watch = (struct watch){.fd = -1, .ready = on_ready, .owner = k};
    k->retry = (struct timer){.fire = on_retry, .owner = k};
}
