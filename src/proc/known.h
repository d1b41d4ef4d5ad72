/* Processes that were seen in the engine's tree, also after they have ended: a GPU's driver names them for a moment
 * longer. Any thread. Private to proc. */
#ifndef JTOK_PROC_KNOWN_H
#define JTOK_PROC_KNOWN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proc/tree.h"

struct known_process;

struct known {
    pthread_mutex_t lock;
    struct known_process *list;
    size_t n, capacity;
};

void known_init(struct known *k);
void known_done(struct known *k);

/* Up to 65 536 processes; further ones are not remembered. O(known). */
void known_add(struct known *k, const struct proc *p);

/* Was it seen? `now`: the process that has this pid now, or null; another one with a pid used again was not. O(known).
 */
bool known_has(struct known *k, int64_t pid, const struct proc *now);

#endif
