/* Records made by hand for tests: times in seconds, one function a record. */
#ifndef JTOK_TESTS_MADE_H
#define JTOK_TESTS_MADE_H

#include <string.h>
#include "base/arena.h"
#include "model/record.h"

enum { MADE_ROOM = 4096 };

struct made {
    struct arena arena;
    struct records r;
};

static inline int64_t at_s(double s)
{
    return (int64_t)(s * 1e9 + (s < 0 ? -0.5 : 0.5));
}

static inline void made_init(struct made *m, size_t gpus)
{
    memset(m, 0, sizeof *m);
    struct records *r = &m->r;
    plan_defaults(&r->plan);
    r->plan.requests.continuous_usage = true;
    r->boundaries = arena_array(&m->arena, MADE_ROOM, sizeof *r->boundaries);
    r->clocks = arena_array(&m->arena, MADE_ROOM, sizeof *r->clocks);
    r->clocks[r->clock_count++] = (struct rec_clock){0, 0, 100};
    r->requests = arena_array(&m->arena, MADE_ROOM, sizeof *r->requests);
    r->chunks = arena_array(&m->arena, MADE_ROOM, sizeof *r->chunks);
    r->gpus = arena_array(&m->arena, gpus, sizeof *r->gpus);
    r->gpu_count = gpus;
    for (size_t i = 0; i < gpus; i++) {
        struct rec_gpu *g = &r->gpus[i];
        g->index = (int64_t)i;
        g->uuid = arena_format(&m->arena, "GPU-%zu", i);
        g->power_limit_mw = 700000;
        g->instant = arena_array(&m->arena, MADE_ROOM, sizeof *g->instant);
        g->counter = arena_array(&m->arena, MADE_ROOM, sizeof *g->counter);
        g->buffer = arena_array(&m->arena, MADE_ROOM, sizeof *g->buffer);
        g->state = arena_array(&m->arena, MADE_ROOM, sizeof *g->state);
    }
    r->run.engine_exit_status = r->run.prefix_cache = ABSENT_I64;
}

static inline void made_done(struct made *m)
{
    arena_done(&m->arena);
}

static inline void made_mark(struct made *m, double t, enum boundary id)
{
    m->r.boundaries[m->r.boundary_count++] = (struct rec_boundary){at_s(t), id, NULL};
}

static inline void made_instant(struct made *m, size_t gpu, double t, double w, int tag)
{
    struct rec_gpu *g = &m->r.gpus[gpu];
    g->instant[g->instant_count++] =
        (struct rec_instant){at_s(t), 0, w < 0 ? -1 : (int32_t)(w * 1000 + 0.5), 0, (uint8_t)tag};
}

static inline void made_buffer(struct made *m, size_t gpu, double t, double w)
{
    struct rec_gpu *g = &m->r.gpus[gpu];
    g->buffer[g->buffer_count++] = (struct rec_buffer){at_s(t) / 1000, (int32_t)(w * 1000 + 0.5)};
}

static inline void made_counter(struct made *m, size_t gpu, double t, double j)
{
    struct rec_gpu *g = &m->r.gpus[gpu];
    g->counter[g->counter_count++] =
        (struct rec_counter){at_s(t), j < 0 ? -1 : (int64_t)(j * 1000 + 0.5), 0, COUNTER_LOCKED};
}

/* A successful request with n output tokens. */
static inline struct rec_request *made_request(struct made *m, uint32_t id, double submit, double end, int64_t n)
{
    struct rec_request *q = &m->r.requests[m->r.request_count++];
    *q = rec_request_absent();
    q->id = id;
    q->stage = REQUEST_FORMAL;
    q->status = 200;
    q->submit_ns = at_s(submit);
    q->end_ns = at_s(end);
    q->completion_tokens = n;
    q->prompt_tokens = 10;
    q->prompt_digest = id + 1;
    return q;
}

/* A text chunk; running -1: no count. */
static inline void made_chunk(struct made *m, uint32_t request, double t, int32_t running, uint32_t bytes)
{
    m->r.chunks[m->r.chunk_count++] =
        (struct rec_chunk){.t_ns = at_s(t), .request = request, .running = running, .bytes = bytes, .kind = CHUNK_TEXT};
}

#endif
