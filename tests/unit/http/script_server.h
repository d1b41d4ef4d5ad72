/* A server that plays cases on real sockets: one thread a connection. The request's body names the case by its number
 * ({"case":12,...}); without a number in the list it is the turn of `own`. */
#ifndef JTOK_TESTS_SCRIPT_SERVER_H
#define JTOK_TESTS_SCRIPT_SERVER_H

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "check.h"
#include "server_cases.h"

struct script_server {
    int fd, port;
    char path[108]; /* of a Unix socket; "" for TCP */
    pthread_t thread;
    const struct server_case *cases;
    size_t count;
    /* Runs a connection itself where set; `request` holds what was read of it. */
    void (*own)(struct script_server *s, int fd, const char *request);
    _Atomic int to_close; /* close that many connections at once, unread */
    _Atomic int accepted, running;
    _Atomic bool stop;
    int to_echo; /* for `own` */
    void *self;
};

struct script_peer {
    struct script_server *server;
    int fd;
};

static void send_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        p += sent;
        n -= (size_t)sent;
    }
}

static void reset_peer(int fd)
{
    struct linger l = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
}

/* Plays the steps; the socket is closed by the caller. */
static void play(int fd, const struct server_case *c)
{
    char size[32];
    for (const struct step *s = c->steps; s->kind != STEP_END && s->kind != STEP_SILENT; s++) {
        if (s->kind == STEP_CHUNK)
            send_all(fd, size, (size_t)snprintf(size, sizeof size, "%zx\r\n", s->text.n));
        if (s->kind == STEP_SEND || s->kind == STEP_CHUNK)
            send_all(fd, s->text.p, s->text.n);
        if (s->kind == STEP_CHUNK)
            send_all(fd, "\r\n", 2);
        for (int64_t k = 0; s->kind == STEP_REPEAT && k < s->n; k++)
            send_all(fd, s->text.p, s->text.n);
        if (s->kind == STEP_WAIT)
            usleep((useconds_t)s->n * 1000);
        if (s->kind == STEP_RESET)
            reset_peer(fd);
        if (s->kind == STEP_SHUT)
            shutdown(fd, SHUT_WR);
        if (s->kind == STEP_RESET || s->kind == STEP_CLOSE)
            return;
        if (s->kind == STEP_SHUT)
            break;
    }
    /* kept open until the client closes */
    char rest[4096];
    while (recv(fd, rest, sizeof rest, 0) > 0)
        ;
}

/* Reads a request up to the end of its body (or what fits). Returns false where the peer closed first. */
static bool read_request(int fd, char *text, size_t size)
{
    size_t have = 0;
    for (;;) {
        text[have] = 0;
        const char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length:");
        if (end) {
            size_t need = (size_t)(end + 4 - text) + (length && length < end ? strtoul(length + 15, NULL, 10) : 0);
            if (have >= need || have + 1 >= size)
                return true;
        }
        ssize_t n = recv(fd, text + have, size - 1 - have, 0);
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
}

static void *serve_peer(void *arg)
{
    struct script_peer *p = arg;
    struct script_server *s = p->server;
    char *text = malloc(70000);
    if (read_request(p->fd, text, 70000)) {
        const char *number = strstr(text, "\"case\":");
        int i = number ? atoi(number + 7) : -1;
        if (i >= 0 && (size_t)i < s->count)
            play(p->fd, &s->cases[i]);
        else if (s->own)
            s->own(s, p->fd, text);
    }
    free(text);
    close(p->fd);
    free(p);
    s->running--;
    return NULL;
}

static void *serve(void *arg)
{
    struct script_server *s = arg;
    while (!s->stop) {
        struct pollfd ready = {.fd = s->fd, .events = POLLIN};
        if (poll(&ready, 1, 20) <= 0)
            continue;
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0)
            continue;
        s->accepted++;
        if (s->to_close > 0) {
            s->to_close--;
            close(fd);
            continue;
        }
        struct script_peer *p = malloc(sizeof *p);
        *p = (struct script_peer){s, fd};
        s->running++;
        pthread_t t;
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 256 << 10);
        pthread_create(&t, &small, serve_peer, p);
        pthread_detach(t);
        pthread_attr_destroy(&small);
    }
    return NULL;
}

/* On 127.0.0.1, ::1 (family AF_INET6) or a Unix socket (AF_UNIX). */
static void script_server_start(struct script_server *s, int family, const struct server_case *cases, size_t count)
{
    s->cases = cases;
    s->count = count;
    s->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->fd >= 0);
    struct sockaddr_storage a = {.ss_family = (sa_family_t)family};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&a;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a;
    struct sockaddr_un *un = (struct sockaddr_un *)&a;
    socklen_t n = sizeof *v4;
    if (family == AF_INET) {
        v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else if (family == AF_INET6) {
        v6->sin6_addr = in6addr_loopback;
        n = sizeof *v6;
    } else {
        snprintf(s->path, sizeof s->path, "/tmp/jtok-test-%d.sock", getpid());
        unlink(s->path);
        snprintf(un->sun_path, sizeof un->sun_path, "%s", s->path);
        n = sizeof *un;
    }
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(s->fd, 4096), 0);
    n = sizeof a;
    getsockname(s->fd, (struct sockaddr *)&a, &n);
    s->port = family == AF_INET ? ntohs(v4->sin_port) : family == AF_INET6 ? ntohs(v6->sin6_port) : 0;
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void script_server_stop(struct script_server *s)
{
    s->stop = true;
    pthread_join(s->thread, NULL);
    for (int i = 0; i < 500 && s->running; i++)
        usleep(10000);
    assert_int_equal(s->running, 0);
    close(s->fd);
    if (s->path[0])
        unlink(s->path);
}

#endif
