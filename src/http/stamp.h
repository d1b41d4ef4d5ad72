/* The kernel's receive stamps as monotonic time (private to http). */
#ifndef JTOK_HTTP_STAMP_H
#define JTOK_HTTP_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/clock.h"
#include "model/sink.h"

enum { STAMPS_REFRESH_NS = 100000000 };

struct stamps {
    int hold_fd; /* a socket that asks for stamps: the kernel starts to take them with the first such socket */
    struct clock_pair pair;
    int64_t origin_ns, delivered_ns;
    const struct record_sink *sink;
};

/* Without a socket to hold (no memory, no descriptors) stamps are still used where they come. */
void stamps_open(struct stamps *s, int64_t origin_ns, const struct record_sink *sink);
void stamps_close(struct stamps *s);

/* Asks for stamps on a socket; false where the kernel won't. */
bool stamps_ask(int fd);

/* Reads the clock pair again; to be called each STAMPS_REFRESH_NS. Delivers a pair to the sink each second, and both
 * sides of a step of over 1 ms. */
void stamps_refresh(struct stamps *s);

/* One read from a socket. Returns recvmsg's result (errno is set), and when these bytes came: `ret_ns` on
 * CLOCK_MONOTONIC, `ret_read_ns` the time after the read. Without a usable stamp `ret_ns` is the read time and
 * `ret_stamped` false. */
ssize_t stamps_receive(struct stamps *s, int fd, void *buffer, size_t n, int64_t *ret_ns, int64_t *ret_read_ns,
                       bool *ret_stamped);

#endif
