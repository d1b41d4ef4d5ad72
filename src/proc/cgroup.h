/* Containers as /proc shows them: a runtime (docker, podman, containerd) gives each container a cgroup of its own,
 * whose path holds the container's id, 64 hexadecimal digits. Whoever started it, and whatever is above its processes,
 * all of them are in it. No memory; safe from any thread. */
#ifndef JTOK_PROC_CGROUP_H
#define JTOK_PROC_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/span.h"

enum { CONTAINER_ID = 65 }; /* bytes of an id, its zero byte included */

/* The id in the text of a /proc/PID/cgroup, the innermost one where containers are nested. False: there is none. */
bool cgroup_container(struct span text, char ret_id[CONTAINER_ID]);

/* The id of the container that a process is in; false: it is in none, or can't be seen. One small read. */
bool proc_container(int64_t pid, char ret_id[CONTAINER_ID]);

/* Is it in this container, or in one within it? */
bool proc_is_in_container(int64_t pid, const char *id);

#endif
