#include "batch.h"

#include <assert.h>
#include <stdlib.h>
#include "base/arena.h"

enum { NONE = -1 };

static void list_add(struct batch *b, struct job_list *l, int32_t id, bool front)
{
    struct job *j = &b->jobs[id];
    j->previous = front ? NONE : l->last;
    j->next = front ? l->first : NONE;
    *(j->previous == NONE ? &l->first : &b->jobs[j->previous].next) = id;
    *(j->next == NONE ? &l->last : &b->jobs[j->next].previous) = id;
    l->count++;
}

static void list_remove(struct batch *b, struct job_list *l, int32_t id)
{
    struct job *j = &b->jobs[id];
    *(j->previous == NONE ? &l->first : &b->jobs[j->previous].next) = j->next;
    *(j->next == NONE ? &l->last : &b->jobs[j->next].previous) = j->previous;
    l->count--;
}

void batch_init(struct batch *b, struct batch_limits limits)
{
    struct job_list empty = {NONE, NONE, 0};
    *b = (struct batch){.limits = limits, .waiting = empty, .running = empty, .free = empty};
}

void batch_done(struct batch *b)
{
    free(b->jobs);
    *b = (struct batch){0};
}

static void grow(struct batch *b)
{
    int32_t old = b->capacity;
    b->capacity = old ? 2 * old : 256;
    b->jobs = mem_grow(b->jobs, (size_t)b->capacity, sizeof *b->jobs);
    for (int32_t id = old; id < b->capacity; id++) {
        b->jobs[id] = (struct job){.state = JOB_FREE};
        list_add(b, &b->free, id, false);
    }
}

int32_t batch_add(struct batch *b, void *owner, int64_t prompt_tokens, int64_t cached_tokens, int64_t total_tokens)
{
    assert(prompt_tokens > 0 && cached_tokens >= 0 && cached_tokens < prompt_tokens && total_tokens > 0);
    if (b->free.first == NONE)
        grow(b);
    int32_t id = b->free.first;
    list_remove(b, &b->free, id);
    b->jobs[id] = (struct job){.state = JOB_WAITING,
                               .owner = owner,
                               .prompt_tokens = prompt_tokens,
                               .cached_tokens = cached_tokens,
                               .total_tokens = total_tokens};
    list_add(b, &b->waiting, id, false);
    return id;
}

static void leave_running(struct batch *b, int32_t id)
{
    list_remove(b, &b->running, id);
    b->kv_used -= b->jobs[id].computed;
    b->jobs[id].computed = 0;
    b->jobs[id].stepping = false;
}

void batch_remove(struct batch *b, int32_t id)
{
    struct job *j = &b->jobs[id];
    assert(j->state != JOB_FREE);
    if (j->state == JOB_WAITING)
        list_remove(b, &b->waiting, id);
    else if (j->state == JOB_RUNNING)
        leave_running(b, id);
    j->state = JOB_FREE;
    list_add(b, &b->free, id, true);
}

static void preempt(struct batch *b, int32_t id)
{
    leave_running(b, id);
    b->jobs[id].state = JOB_WAITING;
    b->jobs[id].cached_tokens = 0;
    list_add(b, &b->waiting, id, true);
    b->preemptions++;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void compute(struct batch *b, struct job *j, int64_t tokens)
{
    j->computed += tokens;
    b->kv_used += tokens;
}

/* Gives a running request its share of the step; returns the tokens taken from the budget. */
static int64_t plan(struct batch *b, struct job *j, int64_t budget, struct step *s)
{
    /* The newest token's keys and values are computed when the next one is made. */
    int64_t missing = j->prompt_tokens + j->generated - (j->generated > 0) - j->computed;
    int64_t part = least(missing, budget);
    compute(b, j, part);
    s->prefill += part;
    j->stepping = part == missing;
    if (!j->stepping || !j->generated)
        return part;
    int64_t more = least(b->limits.step_tokens, j->total_tokens - j->generated);
    compute(b, j, more);
    s->decoding++;
    return part + more;
}

static int64_t plan_running(struct batch *b, struct step *s)
{
    int64_t budget = b->limits.step_budget;
    for (int32_t id = b->running.first; id != NONE; id = b->jobs[id].next) {
        b->jobs[id].stepping = false;
        while (b->kv_used + b->limits.step_tokens > b->limits.kv_tokens && b->running.last != id)
            preempt(b, b->running.last);
        if (budget > 0)
            budget -= plan(b, &b->jobs[id], budget, s);
    }
    return budget;
}

bool batch_begin(struct batch *b, struct step *ret_step)
{
    struct step s = {0};
    int64_t preemptions = b->preemptions;
    int64_t budget = plan_running(b, &s);
    while (budget > 0 && preemptions == b->preemptions && b->running.count < b->limits.max_running &&
           b->waiting.first != NONE) {
        int32_t id = b->waiting.first;
        struct job *j = &b->jobs[id];
        if (b->running.count && b->kv_used + j->prompt_tokens + j->generated > b->limits.kv_tokens)
            break;
        list_remove(b, &b->waiting, id);
        list_add(b, &b->running, id, false);
        j->state = JOB_RUNNING;
        s.admitted++;
        j->computed = j->cached_tokens;
        b->kv_used += j->computed;
        budget -= plan(b, j, budget, &s);
    }
    if (!b->running.count)
        return false;
    *ret_step = s;
    return true;
}

void batch_end(struct batch *b, void (*got)(void *self, int32_t job), void *self)
{
    for (int32_t id = b->running.first, next; id != NONE; id = next) {
        struct job *j = &b->jobs[id];
        next = j->next;
        if (!j->stepping)
            continue;
        j->stepping = false;
        int64_t more = j->generated ? b->limits.step_tokens : 1;
        j->generated += least(more, j->total_tokens - j->generated);
        if (j->generated == j->total_tokens) {
            leave_running(b, id);
            j->state = JOB_DONE;
        }
        got(self, id);
    }
}
