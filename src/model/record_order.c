#include "model/record_order.h"

#include "base/must.h"
#include "base/sort.h"

/* One key after the other: the first that differs decides. */
#define BY(key)                                                                                                        \
    if (a->key != b->key)                                                                                              \
    return a->key < b->key

#define BEFORE(type, ...)                                                                                              \
    static bool before_##type(const void *x, const void *y)                                                            \
    {                                                                                                                  \
        const struct rec_##type *a = x, *b = y;                                                                        \
        __VA_ARGS__;                                                                                                   \
        return false;                                                                                                  \
    }

BEFORE(boundary, BY(t_ns); BY(id))
BEFORE(clock, BY(t_ns); BY(offset_ns))
BEFORE(gpu, BY(index))
BEFORE(instant, BY(t_ns); BY(tag); BY(mw); BY(width_ns))
BEFORE(counter, BY(t_ns); BY(mj); BY(width_ns))
BEFORE(buffer, BY(realtime_us); BY(mw))
BEFORE(gpu_state, BY(t_ns); BY(memory_used_bytes); BY(processes))
BEFORE(request, BY(id); BY(submit_ns); BY(end_ns))
BEFORE(chunk, BY(t_ns); BY(request); BY(running); BY(kind); BY(bytes); BY(stamp))

#define ASCENDING(name, type, key)                                                                                     \
    static bool name(const struct rec_##type *list, size_t n)                                                          \
    {                                                                                                                  \
        for (size_t i = 1; i < n; i++)                                                                                 \
            if (list[i].key < list[i - 1].key)                                                                         \
                return false;                                                                                          \
        return true;                                                                                                   \
    }

ASCENDING(boundaries_in_order, boundary, t_ns)
ASCENDING(clocks_in_order, clock, t_ns)
ASCENDING(gpus_in_order, gpu, index)
ASCENDING(instants_in_order, instant, t_ns)
ASCENDING(counters_in_order, counter, t_ns)
ASCENDING(buffers_in_order, buffer, realtime_us)
ASCENDING(states_in_order, gpu_state, t_ns)
ASCENDING(requests_in_order, request, id)

static bool chunks_in_order(const struct rec_chunk *c, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (c[i].t_ns < c[i - 1].t_ns || (c[i].t_ns == c[i - 1].t_ns && c[i].request < c[i - 1].request))
            return false;
    return true;
}

static bool series_in_order(const struct rec_gpu *g)
{
    return instants_in_order(g->instant, g->instant_count) && counters_in_order(g->counter, g->counter_count) &&
           buffers_in_order(g->buffer, g->buffer_count) && states_in_order(g->state, g->state_count);
}

bool records_in_order(const struct records *r)
{
    for (size_t i = 0; i < r->gpu_count; i++)
        if (!series_in_order(&r->gpus[i]))
            return false;
    return boundaries_in_order(r->boundaries, r->boundary_count) && clocks_in_order(r->clocks, r->clock_count) &&
           gpus_in_order(r->gpus, r->gpu_count) && requests_in_order(r->requests, r->request_count) &&
           chunks_in_order(r->chunks, r->chunk_count);
}

void records_order(struct records *r)
{
    must(r);
    if (!boundaries_in_order(r->boundaries, r->boundary_count))
        sort_stable(r->boundaries, r->boundary_count, sizeof *r->boundaries, before_boundary);
    if (!clocks_in_order(r->clocks, r->clock_count))
        sort_stable(r->clocks, r->clock_count, sizeof *r->clocks, before_clock);
    if (!requests_in_order(r->requests, r->request_count))
        sort_stable(r->requests, r->request_count, sizeof *r->requests, before_request);
    if (!chunks_in_order(r->chunks, r->chunk_count))
        sort_stable(r->chunks, r->chunk_count, sizeof *r->chunks, before_chunk);
    sort_stable(r->gpus, r->gpu_count, sizeof *r->gpus, before_gpu);
    for (size_t i = 0; i < r->gpu_count; i++) {
        struct rec_gpu *g = &r->gpus[i];
        if (!instants_in_order(g->instant, g->instant_count))
            sort_stable(g->instant, g->instant_count, sizeof *g->instant, before_instant);
        if (!counters_in_order(g->counter, g->counter_count))
            sort_stable(g->counter, g->counter_count, sizeof *g->counter, before_counter);
        if (!buffers_in_order(g->buffer, g->buffer_count))
            sort_stable(g->buffer, g->buffer_count, sizeof *g->buffer, before_buffer);
        if (!states_in_order(g->state, g->state_count))
            sort_stable(g->state, g->state_count, sizeof *g->state, before_gpu_state);
    }
}
