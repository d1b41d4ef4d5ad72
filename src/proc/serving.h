/* A server that runs already: which processes listen at an address, and which others are the same server's.
 *
 * Whoever holds the listening socket belongs to it, and whatever is below the topmost process of it: from a listener
 * upward, as long as the process above is a part of the same server (an engine with several API servers listens in its
 * children). What it is below (a shell, a container's init) does not belong to it.
 *
 * Only looked at: no signal is sent to any of them. */
#ifndef JTOK_PROC_SERVING_H
#define JTOK_PROC_SERVING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include "base/buf.h"
#include "proc/known.h"
#include "proc/tree.h"

enum { SERVING_ROOTS_MAX = 16 };

struct serving {
    struct proc
        roots[SERVING_ROOTS_MAX]; /* topmost processes, each once; none: nobody that can be seen listens there */
    size_t root_count;
    struct proc listener; /* one that holds the socket; valid with a root */
    bool listens;         /* some socket listens there, whoever holds it */
    struct known known;   /* processes that were seen to be the server's, also after their end */
};

/* Looks who listens at one of these addresses (IPv4, IPv6 or Unix). `is_engine` says of a process, by its name and its
 * command line, whether it looks like an inference engine's. serving_done afterwards. O(processes x their
 * descriptors). */
void serving_find(struct serving *s, const struct sockaddr_storage *addresses, size_t count,
                  bool (*is_engine)(const char *name, const char *command));

/* The server's processes are those of this container (proc/cgroup.h), since who listens only passes on to it: takes the
 * topmost ones for the roots. False: none can be seen, and nothing changes. O(processes). */
bool serving_take_container(struct serving *s, const char *id);

/* A zeroed struct is accepted. */
void serving_done(struct serving *s);

/* This process is the server's, whoever its parents are: on its user's word. A process that can't be seen from here
 * (another pid namespace) is known by its number alone. */
void serving_add(struct serving *s, int64_t pid);

/* Is it the server's? 1: it is, or was; 0: it is not; -1: nothing is known of the server's processes. Any thread.
 * O(depth of the tree + processes known). */
int8_t serving_owns(struct serving *s, int64_t pid);

/* Are the topmost processes still those that were found? True too where none were. */
bool serving_lives(const struct serving *s);

/* "pid 12 (name)" of the listener, or "" where it can't be seen. Appends. */
void serving_describe(const struct serving *s, struct buf *b);

#endif
