/* A record_sink that keeps everything, for tests of the sampler. */
#ifndef JTOK_TESTS_POWER_COLLECT_H
#define JTOK_TESTS_POWER_COLLECT_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "model/sink.h"

enum { COLLECT_GPUS = 8, COLLECT_FACTS = 32 };

struct collect {
    pthread_mutex_t mutex;
    struct rec_gpu gpus[COLLECT_GPUS];
    struct rec_clock *clocks;
    size_t clock_count;
    struct {
        char name[64], seen[256];
        int outcome;
    } facts[COLLECT_FACTS];
    size_t fact_count;
};

#define COLLECT_ADD(items, count, from, n)                                                                             \
    do {                                                                                                               \
        (items) = mem_grow((items), (count) + (n) + 1, sizeof *(items));                                               \
        if ((n) > 0)                                                                                                   \
            memcpy((items) + (count), (from), (n) * sizeof *(items));                                                  \
        (count) += (n);                                                                                                \
    } while (0)

static void collect_clock(void *self, const struct rec_clock *r)
{
    struct collect *c = self;
    pthread_mutex_lock(&c->mutex);
    COLLECT_ADD(c->clocks, c->clock_count, r, (size_t)1);
    pthread_mutex_unlock(&c->mutex);
}

static void collect_fact(void *self, const struct rec_fact *r)
{
    struct collect *c = self;
    pthread_mutex_lock(&c->mutex);
    if (c->fact_count < COLLECT_FACTS) {
        snprintf(c->facts[c->fact_count].name, sizeof c->facts->name, "%s", r->name);
        snprintf(c->facts[c->fact_count].seen, sizeof c->facts->seen, "%s", r->seen ? r->seen : "");
        c->facts[c->fact_count++].outcome = (int)r->outcome;
    }
    pthread_mutex_unlock(&c->mutex);
}

static void collect_instant(void *self, uint32_t gpu, const struct rec_instant *r)
{
    struct collect *c = self;
    COLLECT_ADD(c->gpus[gpu].instant, c->gpus[gpu].instant_count, r, (size_t)1);
}

static void collect_counter(void *self, uint32_t gpu, const struct rec_counter *r)
{
    struct collect *c = self;
    COLLECT_ADD(c->gpus[gpu].counter, c->gpus[gpu].counter_count, r, (size_t)1);
}

static void collect_buffer(void *self, uint32_t gpu, const struct rec_buffer *r, size_t n)
{
    struct collect *c = self;
    COLLECT_ADD(c->gpus[gpu].buffer, c->gpus[gpu].buffer_count, r, n);
}

static void collect_state(void *self, uint32_t gpu, const struct rec_gpu_state *r, const struct rec_process *p,
                          size_t n)
{
    struct collect *c = self;
    COLLECT_ADD(c->gpus[gpu].state, c->gpus[gpu].state_count, r, (size_t)1);
    COLLECT_ADD(c->gpus[gpu].process, c->gpus[gpu].process_count, p, n);
}

/* The series of one GPU are only ever written by its own thread. */
static inline struct record_sink collect_sink(struct collect *c)
{
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->mutex, NULL);
    return (struct record_sink){.self = c,
                                .clock = collect_clock,
                                .fact = collect_fact,
                                .instant = collect_instant,
                                .counter = collect_counter,
                                .buffer = collect_buffer,
                                .state = collect_state};
}

static inline void collect_done(struct collect *c)
{
    for (int i = 0; i < COLLECT_GPUS; i++) {
        free(c->gpus[i].instant);
        free(c->gpus[i].counter);
        free(c->gpus[i].buffer);
        free(c->gpus[i].state);
        free(c->gpus[i].process);
    }
    free(c->clocks);
    pthread_mutex_destroy(&c->mutex);
}

#endif
