/* A server of one answer a connection, on 127.0.0.1: what `answer` gives for a request is sent, and the connection is
 * closed. Connections are served one after the other. */
#ifndef JTOK_TESTS_RUN_ANSWER_SERVER_H
#define JTOK_TESTS_RUN_ANSWER_SERVER_H

#include "check.h"
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct answer_server {
    int fd, port;
    pthread_t thread;
    _Atomic bool stop;
    _Atomic int asked; /* requests so far */
    const char *(*answer)(struct answer_server *s, const char *request);
    void *self;
};

static inline void answer_one(struct answer_server *s, int fd)
{
    char text[20000];
    size_t have = 0, need = sizeof text;
    while (have < need && have < sizeof text - 1) {
        ssize_t n = recv(fd, text + have, sizeof text - 1 - have, 0);
        if (n <= 0)
            break;
        have += (size_t)n;
        text[have] = 0;
        const char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length:");
        if (end)
            need = (size_t)(end + 4 - text) + (length && length < end ? strtoul(length + 15, NULL, 10) : 0);
    }
    if (have < need)
        return;
    s->asked++;
    const char *answer = s->answer(s, text);
    size_t n = strlen(answer);
    for (ssize_t sent; n && (sent = send(fd, answer, n, MSG_NOSIGNAL)) > 0; n -= (size_t)sent)
        answer += sent;
    shutdown(fd, SHUT_WR);
}

static inline void *answer_all(void *self)
{
    struct answer_server *s = self;
    while (!s->stop) {
        struct pollfd ready = {.fd = s->fd, .events = POLLIN};
        int fd = poll(&ready, 1, 10) > 0 ? accept(s->fd, NULL, NULL) : -1;
        if (fd < 0)
            continue;
        answer_one(s, fd);
        close(fd);
    }
    return NULL;
}

static inline void answer_server_start(struct answer_server *s,
                                       const char *(*answer)(struct answer_server *s, const char *request), void *self)
{
    *s = (struct answer_server){.answer = answer, .self = self};
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(s->fd, 64), 0);
    getsockname(s->fd, (struct sockaddr *)&a, &n);
    s->port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, answer_all, s), 0);
}

static inline void answer_server_stop(struct answer_server *s)
{
    s->stop = true;
    pthread_join(s->thread, NULL);
    close(s->fd);
}

/* One streamed answer of two tokens. */
#define ANSWER_EVENT(json) "data: " json "\n\n"
#define ANSWER_TWO_TOKENS                                                                                              \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" ANSWER_EVENT(                    \
        "{\"system_fingerprint\":\"fp-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":"  \
        "null}]}") ANSWER_EVENT("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":null}]}")  \
        ANSWER_EVENT("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}")                        \
            ANSWER_EVENT("{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,"                     \
                         "\"total_tokens\":3}}") "data: [DONE]\n\n"

#endif
