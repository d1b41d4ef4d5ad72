/* Where a server listens: a name or number turned into socket addresses, once, before any stage that is measured.
 *
 * Only what needs no network is resolved: numeric IPv4 and IPv6 (with or without brackets), names in the machine's
 * hosts file
 * ("localhost"), and Unix sockets ("unix:/path"). A name server is never asked: a look-up in the middle of a stage
 * would cost what nobody measured. */
#ifndef JTOK_HTTP_ADDRESS_H
#define JTOK_HTTP_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include "base/err.h"

enum { ADDRESSES_MAX = 4 };

struct address {
    struct sockaddr_storage storage;
    socklen_t length;
    char text[160]; /* for people: "127.0.0.1:8000", "[::1]:8000", "unix:/run/engine.sock" */
    char host[160]; /* value of the Host field; "localhost" for a Unix socket */
};

/* All addresses of `host`, in the order in which they should be tried ("localhost" has two: a server may listen on one
 * only). `port` is ignored for "unix:". ERR_PLAN where the name isn't known here or the path is too long. O(hosts
 * file). */
bool address_resolve(const char *host, int port, struct address ret_list[ADDRESSES_MAX], int *ret_count, struct err *e);

/* Is it an address of this machine: loopback, a Unix socket, "any", or one of an interface? O(interfaces). */
bool address_is_local(const struct address *a);

/* 127.x.x.x: connections to it may come from any other such address. */
bool address_is_loopback_v4(const struct address *a);

static inline bool address_is_unix(const struct address *a)
{
    return a->storage.ss_family == AF_UNIX;
}

#endif
