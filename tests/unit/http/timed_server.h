/* A server for paced loads: one thread, one epoll, an answer of two chunks to each request, a fixed time after it came.
 * It can stand still for a while, as a garbage collection does, and counts what is open at once. */
#ifndef JTOK_TESTS_TIMED_SERVER_H
#define JTOK_TESTS_TIMED_SERVER_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "check.h"

enum { TIMED_FILES = 65536 };

struct timed_due {
    int64_t at_ns;
    int fd;
};

struct timed_server {
    int fd, epoll, port;
    pthread_t thread;
    int64_t answer_ns;       /* from a request's arrival to its answer */
    int64_t even_ns, odd_ns; /* added for every second request */
    _Atomic int64_t stall_from_ns, stall_to_ns;
    _Atomic bool stop;
    _Atomic int accepted, asked, answered, most; /* most: asked and not answered, at once */
    bool seen[TIMED_FILES];
    struct timed_due *due; /* a heap would be too much: scanned, some hundred at most */
    size_t due_count, due_capacity;
};

static const char timed_answer[] =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n"
    "data: [DONE]\n\n";

static void timed_answer_due(struct timed_server *s, int64_t now)
{
    for (size_t i = 0; i < s->due_count;) {
        if (s->due[i].at_ns > now) {
            i++;
            continue;
        }
        int fd = s->due[i].fd;
        s->due[i] = s->due[--s->due_count];
        s->answered++;
        send(fd, timed_answer, sizeof timed_answer - 1, MSG_NOSIGNAL);
        s->seen[fd] = false;
        close(fd);
    }
}

static void timed_read(struct timed_server *s, int fd)
{
    char text[8192];
    ssize_t n = recv(fd, text, sizeof text, MSG_DONTWAIT);
    if (n <= 0) {
        if (!s->seen[fd])
            close(fd);
        return;
    }
    if (s->seen[fd])
        return;
    s->seen[fd] = true;
    int open = ++s->asked - s->answered;
    if (open > s->most)
        s->most = open;
    if (s->due_count == s->due_capacity) {
        s->due_capacity = s->due_capacity ? 2 * s->due_capacity : 256;
        s->due = mem_grow(s->due, s->due_capacity, sizeof *s->due);
    }
    int64_t more = s->asked % 2 ? s->odd_ns : s->even_ns;
    s->due[s->due_count++] = (struct timed_due){clock_now_ns() + s->answer_ns + more, fd};
}

static void *timed_serve(void *arg)
{
    struct timed_server *s = arg;
    while (!s->stop) {
        struct epoll_event events[256];
        int n = epoll_wait(s->epoll, events, 256, s->due_count ? 1 : 20);
        int64_t now = clock_now_ns();
        if (now >= s->stall_from_ns && now < s->stall_to_ns)
            clock_sleep_until_ns(s->stall_to_ns);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd != s->fd) {
                timed_read(s, events[i].data.fd);
                continue;
            }
            for (int fd; (fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
                s->accepted++;
                assert_true(fd < TIMED_FILES);
                s->seen[fd] = false;
                epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.fd = fd});
            }
        }
        timed_answer_due(s, clock_now_ns());
    }
    return NULL;
}

static struct timed_server *timed_server_start(int64_t answer_ns)
{
    struct timed_server *s = mem_zero(1, sizeof *s);
    s->answer_ns = answer_ns;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 4096), 0);
    socklen_t n = sizeof a;
    getsockname(s->fd, (struct sockaddr *)&a, &n);
    s->port = ntohs(a.sin_port);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->fd, &(struct epoll_event){.events = EPOLLIN, .data.fd = s->fd});
    assert_int_equal(pthread_create(&s->thread, NULL, timed_serve, s), 0);
    return s;
}

static void timed_server_stop(struct timed_server *s)
{
    s->stop = true;
    pthread_join(s->thread, NULL);
    close(s->epoll);
    close(s->fd);
    free(s->due);
    free(s);
}

#endif
