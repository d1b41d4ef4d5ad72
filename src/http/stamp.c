#include "http/stamp.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/must.h"

static const int64_t STEP_NS = 1000000, DELIVER_NS = SECOND_NS, OLD_NS = 100000000, EARLY_NS = 20000;

static void deliver(struct stamps *s, struct clock_pair p)
{
    s->delivered_ns = p.t_ns;
    if (!s->sink->clock)
        return;
    struct rec_clock c = {
        .t_ns = p.t_ns - s->origin_ns, .offset_ns = p.offset_ns + s->origin_ns, .width_ns = p.width_ns};
    s->sink->clock(s->sink->self, &c);
}

bool stamps_ask(int fd)
{
    assert(fd >= 0);
    int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
}

void stamps_open(struct stamps *s, int64_t origin_ns, const struct record_sink *sink)
{
    must(sink && origin_ns >= 0);
    *s = (struct stamps){.origin_ns = origin_ns, .sink = sink, .pair = clock_pair_read()};
    s->hold_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s->hold_fd >= 0)
        stamps_ask(s->hold_fd);
    deliver(s, s->pair);
}

void stamps_close(struct stamps *s)
{
    if (s->hold_fd >= 0)
        close(s->hold_fd);
    s->hold_fd = -1;
}

void stamps_refresh(struct stamps *s)
{
    struct clock_pair before = s->pair;
    s->pair = clock_pair_read();
    bool step = llabs(s->pair.offset_ns - before.offset_ns) > STEP_NS;
    if (step && s->delivered_ns != before.t_ns)
        deliver(s, before);
    if (step || s->pair.t_ns - s->delivered_ns >= DELIVER_NS)
        deliver(s, s->pair);
}

static bool stamp_of(struct msghdr *m, int64_t *ret_realtime_ns)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(c), sizeof t);
            *ret_realtime_ns = t.tv_sec * SECOND_NS + t.tv_nsec;
            return true;
        }
    }
    return false;
}

/* A stamp that seems to come from the future, or from long ago, may only show that the clock was stepped since the last
 * pair: a fresh one decides. */
static bool convert(struct stamps *s, int64_t realtime_ns, int64_t now, int64_t *ret_ns)
{
    int64_t t = realtime_ns - s->pair.offset_ns;
    if (t > now + EARLY_NS || t < now - OLD_NS) {
        stamps_refresh(s);
        t = realtime_ns - s->pair.offset_ns;
        if (t > now + EARLY_NS)
            return false;
    }
    *ret_ns = t < now ? t : now;
    return true;
}

ssize_t stamps_receive(struct stamps *s, int fd, void *buffer, size_t n, int64_t *ret_ns, int64_t *ret_read_ns,
                       bool *ret_stamped)
{
    assert(fd >= 0 && n > 0);
    char control[CMSG_SPACE(sizeof(struct timespec)) + 32] __attribute__((aligned(16)));
    struct iovec part = {buffer, n};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &m, MSG_DONTWAIT);
    int64_t now = clock_now_ns(), realtime;
    *ret_read_ns = *ret_ns = now;
    *ret_stamped = got > 0 && stamp_of(&m, &realtime) && convert(s, realtime, now, ret_ns);
    return got;
}
