#include "synthetic.h"

#include <math.h>
#include <string.h>

enum { RUNNING = 1024 };
static const int64_t STEP_NS = 25000000, SPREAD_NS = 8000, FORMAL_NS = 10000000000;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct slot {
    uint32_t request;
    int32_t done, length;
};

static void fill_power(struct records *r, int64_t end_ns, struct arena *a)
{
    struct rec_gpu *g = r->gpus = arena_array(a, 1, sizeof *g);
    r->gpu_count = 1;
    g->uuid = "GPU-0";
    int64_t span = end_ns + 10000000000;
    g->buffer = arena_array(a, (size_t)(span / 20000000) + 1, sizeof *g->buffer);
    g->counter = arena_array(a, (size_t)(span / 100000000) + 1, sizeof *g->counter);
    g->instant = arena_array(a, (size_t)(span / 1000000000) + 1, sizeof *g->instant);
    uint64_t random = 99;
    for (int64_t t = 0; t < span; t += 20000000) {
        int32_t mw = t < FORMAL_NS || t > end_ns ? 120000 : 400000 + (int32_t)(next_random(&random) % 300000);
        g->buffer[g->buffer_count++] = (struct rec_buffer){t / 1000, mw};
    }
    int64_t uj = 0;
    for (size_t i = 1; i < g->buffer_count; i++) {
        uj += (int64_t)(g->buffer[i].mw + g->buffer[i - 1].mw) * 10;
        if (i % 5 == 0)
            g->counter[g->counter_count++] =
                (struct rec_counter){(int64_t)i * 20000000, uj / 1000, 4000000, COUNTER_LOCKED};
        if (i % 50 == 0)
            g->instant[g->instant_count++] =
                (struct rec_instant){(int64_t)i * 20000000, 2000, g->buffer[i].mw, 0, INSTANT_GRID};
    }
}

static void add_request(struct records *r, uint32_t id, int64_t first_ns, int32_t length)
{
    struct rec_request q = rec_request_absent();
    q.id = id;
    q.stage = REQUEST_FORMAL;
    q.verdict = VERDICT_OK;
    q.submit_ns = FORMAL_NS;
    q.first_ns = first_ns;
    q.completion_tokens = length;
    q.prompt_tokens = 100;
    q.prompt_digest = id + 1;
    r->requests[id] = q;
}

void synthetic_make(size_t chunks, bool counts, struct arena *a, struct records *ret)
{
    struct records r = {0};
    uint64_t random = 1;
    struct slot slots[RUNNING] = {0};
    plan_defaults(&r.plan);
    r.plan.requests.continuous_usage = counts;
    r.chunks = arena_array(a, chunks, sizeof *r.chunks);
    r.requests = arena_array(a, chunks / 50 + 2 * RUNNING, sizeof *r.requests);
    int64_t t = FORMAL_NS + 1000000000, last = t;
    while (r.chunk_count < chunks) {
        for (size_t i = 0; i < RUNNING && r.chunk_count < chunks; i++) {
            struct slot *s = &slots[i];
            int64_t at = t + (int64_t)i * SPREAD_NS;
            if (s->done == s->length) {
                *s = (struct slot){(uint32_t)r.request_count++, 0, 100 + (int32_t)(next_random(&random) % 600)};
                add_request(&r, s->request, at, s->length);
            }
            s->done++;
            r.chunks[r.chunk_count++] = (struct rec_chunk){.t_ns = at,
                                                           .request = s->request,
                                                           .running = counts ? s->done : -1,
                                                           .bytes = 1 + (uint32_t)(next_random(&random) % 8),
                                                           .kind = CHUNK_TEXT};
            r.requests[s->request].last_ns = r.requests[s->request].end_ns = at;
            r.requests[s->request].token_chunks++;
            last = at;
        }
        t += STEP_NS;
    }
    /* Whoever was cut off ends with what it has. */
    for (size_t i = 0; i < RUNNING; i++)
        if (slots[i].length)
            r.requests[slots[i].request].completion_tokens = slots[i].done;
    struct rec_boundary boundaries[] = {
        {1000000000, BOUNDARY_BASELINE_START, NULL}, {5000000000, BOUNDARY_BASELINE_END, NULL},
        {5000000000, BOUNDARY_SERVICE_START, NULL},  {8000000000, BOUNDARY_READY, NULL},
        {FORMAL_NS, BOUNDARY_FORMAL_START, NULL},    {last + 1000000, BOUNDARY_FORMAL_END, NULL},
        {last + 2000000000, BOUNDARY_EXIT, NULL}};
    r.boundary_count = sizeof boundaries / sizeof *boundaries;
    r.boundaries = arena_array(a, r.boundary_count, sizeof *r.boundaries);
    memcpy(r.boundaries, boundaries, sizeof boundaries);
    r.clocks = arena_array(a, 1, sizeof *r.clocks);
    r.clock_count = 1;
    fill_power(&r, last + 1000000, a);
    *ret = r;
}
