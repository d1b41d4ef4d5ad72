#include "proc/known.h"

#include <stdlib.h>
#include "base/arena.h"
#include "base/must.h"

enum { KNOWN_MAX = 1 << 16 };

/* The start says whether the pid still means the same process. */
struct known_process {
    int64_t pid;
    uint64_t start_ticks;
};

void known_init(struct known *k)
{
    *k = (struct known){0};
    pthread_mutex_init(&k->lock, NULL);
}

void known_done(struct known *k)
{
    pthread_mutex_destroy(&k->lock);
    free(k->list);
    k->list = NULL;
}

static bool has(const struct known *k, int64_t pid, uint64_t start_ticks)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->list[i].pid == pid && k->list[i].start_ticks == start_ticks)
            return true;
    return false;
}

void known_add(struct known *k, const struct proc *p)
{
    must(p->pid > 0);
    pthread_mutex_lock(&k->lock);
    if (k->n < KNOWN_MAX && !has(k, p->pid, p->start_ticks)) {
        if (k->n == k->capacity) {
            k->capacity = k->capacity ? 2 * k->capacity : 64;
            k->list = mem_grow(k->list, k->capacity, sizeof *k->list);
        }
        k->list[k->n++] = (struct known_process){.pid = p->pid, .start_ticks = p->start_ticks};
    }
    pthread_mutex_unlock(&k->lock);
}

bool known_has(struct known *k, int64_t pid, const struct proc *now)
{
    pthread_mutex_lock(&k->lock);
    bool found = now && has(k, pid, now->start_ticks);
    for (size_t i = 0; i < k->n && !now && !found; i++)
        found = k->list[i].pid == pid;
    pthread_mutex_unlock(&k->lock);
    return found;
}
