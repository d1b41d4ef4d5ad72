/* Process trees as /proc shows them. No memory but the lists; safe from any thread. */
#ifndef JTOK_PROC_TREE_H
#define JTOK_PROC_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

struct proc {
    int64_t pid, ppid, group, session;
    uint64_t start_ticks; /* since boot */
    char state;
    char name[64];
};

/* One process; false when there is none. One small read. */
bool proc_read(int64_t pid, struct proc *ret_proc);

/* All processes that can be seen, in order of pid. The list is malloc'd; null where /proc can't be read. O(processes).
 */
size_t proc_all(struct proc **ret_list);

/* All processes below `root` (not root itself, its children's children included), in order of pid. The list is
 * malloc'd; empty: null. O(processes of the machine * depth). */
size_t proc_below(int64_t root, struct proc **ret_list);

/* Is it below root? Walks up, at most 128 levels. */
bool proc_is_below(const struct proc *p, int64_t root);

/* Sends a signal to just this process: not to another that got its pid since. */
void proc_signal(const struct proc *p, int number);

/* SIGKILL to every process below root that has not ended yet. */
void proc_kill_below(int64_t root);

/* Reaps every child of this process that has ended, without waiting; false: none is left. Where `pid` is one of them
 * *ret_ended becomes true and *ret_status its exit code, or 128 + the signal that ended it; else both stay untouched.
 */
bool proc_reap(int64_t pid, bool *ret_ended, int *ret_status);

/* Has this process a namespace of its own process ids, as in a container? Then others have other ids for its processes,
 * and some processes are not seen. */
bool proc_has_own_ids(void);

/* The arguments joined by spaces, at most `max` bytes, control bytes as '?'; empty for zombies and kernel threads. */
void proc_command(int64_t pid, size_t max, struct buf *b);

/* The arguments as they are, each with its zero byte, at most `max` bytes. Appends; nothing for zombies and kernel
 * threads. */
void proc_words(int64_t pid, size_t max, struct buf *b);

#endif
