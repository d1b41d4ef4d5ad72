#include "proc/outside.h"

#include <stdlib.h>
#include <string.h>
#include "base/must.h"

void outside_init(struct outside *o)
{
    *o = (struct outside){0};
    pthread_mutex_init(&o->lock, NULL);
}

void outside_done(struct outside *o)
{
    pthread_mutex_destroy(&o->lock);
}

void outside_add_container(struct outside *o, const char *id)
{
    must(strlen(id) == CONTAINER_ID - 1);
    pthread_mutex_lock(&o->lock);
    memcpy(o->container, id, CONTAINER_ID);
    pthread_mutex_unlock(&o->lock);
}

static bool is_root(const struct outside *o, const struct proc *p)
{
    for (size_t i = 0; i < o->root_count; i++)
        if (o->roots[i].pid == p->pid && o->roots[i].start_ticks == p->start_ticks)
            return true;
    return false;
}

void outside_add_root(struct outside *o, const struct proc *root)
{
    must(root->pid > 1);
    pthread_mutex_lock(&o->lock);
    if (!is_root(o, root) && o->root_count < OUTSIDE_ROOTS_MAX)
        o->roots[o->root_count++] = *root;
    pthread_mutex_unlock(&o->lock);
}

bool outside_is_used(struct outside *o)
{
    pthread_mutex_lock(&o->lock);
    bool used = o->container[0] || o->root_count;
    pthread_mutex_unlock(&o->lock);
    return used;
}

bool outside_owns(struct outside *o, const struct proc *p)
{
    pthread_mutex_lock(&o->lock);
    bool owns = is_root(o, p) || (o->container[0] && proc_is_in_container(p->pid, o->container));
    for (size_t i = 0; i < o->root_count && !owns; i++)
        owns = proc_is_below(p, o->roots[i].pid);
    pthread_mutex_unlock(&o->lock);
    return owns;
}

size_t outside_list(struct outside *o, struct proc **ret_list)
{
    struct proc *all = NULL;
    size_t n = outside_is_used(o) ? proc_all(&all) : 0, kept = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].state != 'Z' && outside_owns(o, &all[i]))
            all[kept++] = all[i];
    if (!kept) {
        free(all);
        all = NULL;
    }
    *ret_list = all;
    return kept;
}

void outside_signal(struct outside *o, int number)
{
    struct proc *list;
    size_t n = outside_list(o, &list);
    for (size_t i = 0; i < n; i++)
        proc_signal(&list[i], number);
    free(list);
}
