/* The user-space cost of one chunk without a socket: HTTP, SSE, JSON and the stream's state.
 *
 *     bench_parse [CHUNKS [STREAMS [full]]]
 *
 * One stream: all is in the nearest cache. Thousands: each chunk finds its stream where the last one left it. full:
 * each event read in full, none by its shape. */
#include "base/clock.h"
#include "bench.h"
#include "http/response.h"

static void count(void *self, const struct rec_chunk *c)
{
    *(int64_t *)self += c->bytes;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 2000000;
    static const char chunk[] =
        "111\r\ndata: {\"id\":\"chatcmpl-bde5a4f45da82c7e\",\"object\":\"chat.completion.chunk\",\"created\":1795991"
        "756,\"model\":\"mock\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"logpr"
        "obs\":null,\"finish_reason\":null,\"token_ids\":null}],\"t\":\"000000000123456789                             "
        "  \"}\n\n\r\n";
    size_t streams = argc > 2 ? (size_t)atol(argv[2]) : 1, at = 0;
    struct response *all = calloc(streams, sizeof *all);
    int64_t bytes = 0, chunks = 0;
    static struct event_shapes shapes;
    struct response_out out = {.chunk = count, .self = &bytes, .shapes = argc > 3 ? NULL : &shapes};
    for (size_t i = 0; i < streams; i++) {
        response_init(&all[i], RESPONSE_EVENT_MAX);
        response_feed(&all[i], (struct span){bench_head, sizeof bench_head - 1}, (struct response_arrival){0}, &out);
    }
    int64_t took = 0, best = INT64_MAX;
    enum {
        SLICE = 10000,
        STEP = 7919
    }; /* the best slice is what the code costs where nobody else uses the core's units */
    n -= n % SLICE;
    for (long i = 0; i < n; i += SLICE) {
        int64_t start = clock_thread_cpu_ns();
        for (long k = 0; k < SLICE; k++) {
            at = (at + STEP) % streams;
            response_feed(&all[at], (struct span){chunk, sizeof chunk - 1}, (struct response_arrival){.t_ns = i}, &out);
        }
        int64_t slice = clock_thread_cpu_ns() - start;
        took += slice;
        best = slice < best ? slice : best;
    }
    for (size_t i = 0; i < streams; i++) {
        chunks += all[i].record.token_chunks;
        if (all[i].over)
            printf("stream %zu ended!\n", i);
        response_done(&all[i]);
    }
    printf(
        "%ld chunks of %zu bytes in %zu streams, %lld bytes of text, %lld token chunks: %.1f ns a chunk, best %.1f\n",
        n, sizeof chunk - 1, streams, (long long)bytes, (long long)chunks, (double)took / (double)n,
        (double)best / SLICE);
    free(all);
    return 0;
}
