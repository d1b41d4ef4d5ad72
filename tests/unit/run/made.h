/* A stage machine without a run: a loop, and a sink that keeps what is recorded. */
#ifndef JTOK_TESTS_RUN_MADE_H
#define JTOK_TESTS_RUN_MADE_H

#include "check.h"
#include <pthread.h>
#include <stdlib.h>
#include "base/buf.h"
#include "run/stage.h"

#define MS INT64_C(1000000)

enum { MADE_MAX = 64 };

struct made {
    struct arena arena;
    struct loop *loop;
    struct stage_machine machine;
    pthread_mutex_t mutex; /* facts come from a sampler's threads, too */
    struct {
        enum boundary id;
        int64_t t_ns;
        char note[400];
    } boundaries[MADE_MAX];
    size_t boundary_count;
    struct {
        char name[64], expected[200], seen[400];
        enum check_outcome outcome;
    } facts[MADE_MAX];
    size_t fact_count;
    struct buf log;            /* lines: "o text\n" */
    int64_t log_first_ns;      /* run time of the first */
    size_t scrapes;            /* of /metrics */
    struct rec_metrics scrape; /* the last one */
    size_t instants, requests[3], chunks;
};

static void made_boundary(void *self, const struct rec_boundary *b)
{
    struct made *d = self;
    assert_true(d->boundary_count < MADE_MAX);
    size_t i = d->boundary_count++;
    d->boundaries[i].id = b->id;
    d->boundaries[i].t_ns = b->t_ns;
    snprintf(d->boundaries[i].note, sizeof d->boundaries[i].note, "%s", b->note ? b->note : "");
}

static void made_fact(void *self, const struct rec_fact *f)
{
    struct made *d = self;
    pthread_mutex_lock(&d->mutex);
    assert_true(d->fact_count < MADE_MAX);
    size_t i = d->fact_count++;
    snprintf(d->facts[i].name, sizeof d->facts[i].name, "%s", f->name);
    snprintf(d->facts[i].expected, sizeof d->facts[i].expected, "%s", f->expected ? f->expected : "");
    snprintf(d->facts[i].seen, sizeof d->facts[i].seen, "%s", f->seen ? f->seen : "");
    d->facts[i].outcome = f->outcome;
    pthread_mutex_unlock(&d->mutex);
}

static void made_log(void *self, int64_t t_ns, char stream, struct span line)
{
    struct made *d = self;
    if (d->log.n == 0)
        d->log_first_ns = t_ns;
    buf_fmt(&d->log, "%c %.*s\n", stream, SPAN_ARG(line));
}

static void made_metrics(void *self, const struct rec_metrics *m, struct span raw)
{
    (void)raw;
    struct made *d = self;
    d->scrapes++;
    d->scrape = *m;
}

static void made_request(void *self, const struct rec_request *q)
{
    struct made *d = self;
    d->requests[q->stage]++;
}

static void made_chunk(void *self, const struct rec_chunk *c, size_t n)
{
    (void)c;
    struct made *d = self;
    d->chunks += n;
}

static void made_clock(void *self, const struct rec_clock *c)
{
    (void)self, (void)c;
}

static void made_instant(void *self, uint32_t gpu, const struct rec_instant *i)
{
    (void)gpu, (void)i;
    struct made *d = self;
    pthread_mutex_lock(&d->mutex);
    d->instants++;
    pthread_mutex_unlock(&d->mutex);
}

static void made_state(void *self, uint32_t gpu, const struct rec_gpu_state *s, const struct rec_process *p, size_t n)
{
    (void)self, (void)gpu, (void)s, (void)p, (void)n;
}

static inline struct record_sink made_sink(struct made *d)
{
    return (struct record_sink){.self = d,
                                .boundary = made_boundary,
                                .clock = made_clock,
                                .fact = made_fact,
                                .instant = made_instant,
                                .state = made_state,
                                .request = made_request,
                                .chunk = made_chunk,
                                .metrics = made_metrics,
                                .log = made_log};
}

static inline void made_open(struct made *d)
{
    struct err e;
    *d = (struct made){.mutex = PTHREAD_MUTEX_INITIALIZER};
    assert_ok(loop_open(&d->loop, &e), e);
    stage_init(&d->machine, d->loop, &d->arena);
}

/* Records from now on; run time begins now. */
static inline void made_begin(struct made *d)
{
    stage_begin(&d->machine, made_sink(d), clock_now_ns());
}

static inline void made_close(struct made *d)
{
    loop_close(d->loop);
    buf_done(&d->log);
    arena_done(&d->arena);
}

/* The time of the boundary; fails where there is none, or more than one. */
static inline int64_t made_boundary_ns(const struct made *d, enum boundary id)
{
    size_t found = 0, at = 0;
    for (size_t i = 0; i < d->boundary_count; i++)
        if (d->boundaries[i].id == id) {
            found++;
            at = i;
        }
    assert_int_equal(found, 1);
    return d->boundaries[at].t_ns;
}

/* The n-th fact of this name, from 0; -1: there is none. */
static inline int made_find(const struct made *d, const char *name, int n)
{
    for (size_t i = 0; i < d->fact_count; i++)
        if (strcmp(d->facts[i].name, name) == 0 && n-- == 0)
            return (int)i;
    return -1;
}

static inline bool made_never(void *self)
{
    (void)self;
    return false;
}

/* Lets the loop run for so long, whatever happens. */
static inline void made_run(struct made *d, int64_t ns)
{
    stage_wait_deaf(&d->machine, made_never, NULL, stage_now_ns(&d->machine) + ns);
}

#endif
