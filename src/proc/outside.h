/* Processes of the engine that are not below jtok's guardian: a daemon started them for the engine's command, a
 * container's for example. They are known by their container, or by their topmost process. Any thread. Private to
 * proc. */
#ifndef JTOK_PROC_OUTSIDE_H
#define JTOK_PROC_OUTSIDE_H

#include <pthread.h>
#include "proc/cgroup.h"
#include "proc/tree.h"

enum { OUTSIDE_ROOTS_MAX = 16 };

struct outside {
    pthread_mutex_t lock;
    char container[CONTAINER_ID]; /* "": none */
    struct proc roots[OUTSIDE_ROOTS_MAX];
    size_t root_count;
};

void outside_init(struct outside *o);
void outside_done(struct outside *o);

/* All processes of this container are the engine's; one container at most. */
void outside_add_container(struct outside *o, const char *id);

/* This process is, with all below it. More than OUTSIDE_ROOTS_MAX are left out. */
void outside_add_root(struct outside *o, const struct proc *root);

/* Is anything known to be outside? */
bool outside_is_used(struct outside *o);

/* Does it belong there? */
bool outside_owns(struct outside *o, const struct proc *p);

/* Those that have not ended, in order of pid. The list is malloc'd; empty: null. O(processes of the machine). */
size_t outside_list(struct outside *o, struct proc **ret_list);

/* A signal to each of them, as far as this user may. */
void outside_signal(struct outside *o, int number);

#endif
