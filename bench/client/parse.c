/* The user-space cost of one chunk without a socket: HTTP, SSE, JSON and the stream's state.
 *
 *     bench_parse [CHUNKS [full]]      full: each event read in full, none by its shape
 */
#include "base/clock.h"
#include "bench.h"
#include "net/stream.h"

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
    struct stream s;
    int64_t bytes = 0;
    static struct event_shapes shapes;
    struct stream_out out = {.chunk = count, .self = &bytes, .shapes = argc > 2 ? NULL : &shapes};
    stream_init(&s, STREAM_EVENT_MAX);
    stream_feed(&s, (struct span){bench_head, sizeof bench_head - 1}, (struct stream_arrival){0}, &out);
    int64_t took = 0, best = INT64_MAX;
    enum { SLICE = 10000 }; /* the best slice is what the code costs where nobody else uses the core's units */
    n -= n % SLICE;
    for (long i = 0; i < n; i += SLICE) {
        int64_t start = clock_thread_cpu_ns();
        for (long k = 0; k < SLICE; k++)
            stream_feed(&s, (struct span){chunk, sizeof chunk - 1}, (struct stream_arrival){.t_ns = i}, &out);
        int64_t slice = clock_thread_cpu_ns() - start;
        took += slice;
        best = slice < best ? slice : best;
    }
    printf("%ld chunks of %zu bytes, %lld bytes of text, %lld token chunks%s: %.1f ns a chunk, best %.1f\n", n,
           sizeof chunk - 1, (long long)bytes, (long long)s.record.token_chunks, s.over ? " (ended!)" : "",
           (double)took / (double)n, (double)best / SLICE);
    stream_done(&s);
    return 0;
}
