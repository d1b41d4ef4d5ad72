#include "analysis/sorted.h"

#include <string.h>
#include "analysis/order.h"

#define COMPARE(x, y)                                                                                                  \
    if ((x) != (y))                                                                                                    \
    return (x) < (y) ? -1 : 1

#define COMPARATOR(name, type, BODY)                                                                                   \
    static int compare_##name(const void *x, const void *y, const void *context)                                       \
    {                                                                                                                  \
        (void)context;                                                                                                 \
        const struct type *a = x, *b = y;                                                                              \
        BODY;                                                                                                          \
        return 0;                                                                                                      \
    }

COMPARATOR(marks, rec_mark, {
    COMPARE(a->t_ns, b->t_ns);
    COMPARE(a->id, b->id);
})
COMPARATOR(clocks, rec_clock, {
    COMPARE(a->t_ns, b->t_ns);
    COMPARE(a->offset_ns, b->offset_ns);
})
COMPARATOR(gpus, rec_gpu, { COMPARE(a->index, b->index); })
COMPARATOR(instants, rec_instant, {
    COMPARE(a->t_ns, b->t_ns);
    COMPARE(a->tag, b->tag);
    COMPARE(a->mw, b->mw);
    COMPARE(a->width_ns, b->width_ns);
})
COMPARATOR(counters, rec_counter, {
    COMPARE(a->t_ns, b->t_ns);
    COMPARE(a->mj, b->mj);
    COMPARE(a->width_ns, b->width_ns);
})
COMPARATOR(buffers, rec_buffer, {
    COMPARE(a->realtime_us, b->realtime_us);
    COMPARE(a->mw, b->mw);
})
COMPARATOR(states, rec_gpu_state, {
    COMPARE(a->t_ns, b->t_ns);
    COMPARE(a->memory_used_bytes, b->memory_used_bytes);
    COMPARE(a->processes, b->processes);
})
COMPARATOR(requests, rec_request, {
    COMPARE(a->id, b->id);
    COMPARE(a->submit_ns, b->submit_ns);
    COMPARE(a->end_ns, b->end_ns);
})
COMPARATOR(chunks, rec_chunk, {
    COMPARE(a->t_ns, b->t_ns);
    COMPARE(a->request, b->request);
    COMPARE(a->running, b->running);
    COMPARE(a->kind, b->kind);
    COMPARE(a->bytes, b->bytes);
    COMPARE(a->stamp, b->stamp);
})

/* The list itself where `in_order` says so or there is nothing in it, else a sorted copy. */
static void *sorted(const void *list, size_t n, size_t size, bool in_order, order_compare *compare, struct arena *a)
{
    if (in_order || n == 0)
        return (void *)(uintptr_t)list;
    void *copy = arena_array(a, n, size);
    memcpy(copy, list, n * size);
    order_sort(copy, n, size, compare, NULL);
    return copy;
}

/* Is no element before the one in front of it, by one key? */
#define ASCENDING(list, n, key, ret)                                                                                   \
    do {                                                                                                               \
        (ret) = true;                                                                                                  \
        for (size_t i_ = 1; i_ < (n) && (ret); i_++)                                                                   \
            (ret) = (list)[i_ - 1].key <= (list)[i_].key;                                                              \
    } while (0)

#define SORT(list, n, key, compare)                                                                                    \
    do {                                                                                                               \
        bool in_order_;                                                                                                \
        ASCENDING((list), (n), key, in_order_);                                                                        \
        (list) = sorted((list), (n), sizeof *(list), in_order_, (compare), a);                                         \
    } while (0)

static bool chunks_in_order(const struct rec_chunk *c, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (c[i].t_ns < c[i - 1].t_ns || (c[i].t_ns == c[i - 1].t_ns && c[i].request < c[i - 1].request))
            return false;
    return true;
}

struct records records_sorted(const struct records *r, struct arena *a)
{
    struct records s = *r;
    SORT(s.marks, s.mark_count, t_ns, compare_marks);
    SORT(s.clocks, s.clock_count, t_ns, compare_clocks);
    SORT(s.requests, s.request_count, id, compare_requests);
    s.chunks =
        sorted(s.chunks, s.chunk_count, sizeof *s.chunks, chunks_in_order(s.chunks, s.chunk_count), compare_chunks, a);
    s.gpus = sorted(s.gpus, s.gpu_count, sizeof *s.gpus, false, compare_gpus, a);
    for (size_t i = 0; i < s.gpu_count; i++) {
        struct rec_gpu *g = &s.gpus[i];
        SORT(g->instant, g->instant_count, t_ns, compare_instants);
        SORT(g->counter, g->counter_count, t_ns, compare_counters);
        SORT(g->buffer, g->buffer_count, realtime_us, compare_buffers);
        SORT(g->state, g->state_count, t_ns, compare_states);
    }
    return s;
}
