/* What METHOD asks of the formal stage: stamps that are exact or marked, nothing allocated a chunk, memory bounded. */
#include <fcntl.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include "base/arena.h"
#include "base/clock.h"
#include "http/client.h"
#include "events.h"
#include "script_server.h"

/* ---- allocations of the loop's thread (the linker wraps the allocator) ---- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

static _Thread_local struct {
    bool on;
    int64_t calls, live_bytes;
    size_t last_bytes; /* of the last call, for whoever has to find it */
} heap;

static void *counted(void *p)
{
    if (heap.on) {
        heap.calls++;
        heap.last_bytes = malloc_usable_size(p);
        heap.live_bytes += (int64_t)heap.last_bytes;
    }
    return p;
}

static void released(void *p)
{
    if (heap.on && p)
        heap.live_bytes -= (int64_t)malloc_usable_size(p);
}

void *__wrap_malloc(size_t n)
{
    return counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    released(p);
    return counted(__real_realloc(p, n));
}

void __wrap_free(void *p)
{
    released(p);
    __real_free(p);
}

/* ---- a server that streams to all of its connections from one thread, at a fixed rhythm ---- */

enum { STREAMS_MAX = 256, CHUNKS_MAX = 400 };

struct rhythm {
    struct script_server listener;
    int streams, chunks;
    int64_t step_ns;
    int fds[STREAMS_MAX];
    _Atomic int ready;
    pthread_t thread;
    struct {
        int64_t before_ns, after_ns; /* of the call that sent the chunk */
        bool held;
    } sent[STREAMS_MAX][CHUNKS_MAX];
};

static void hand_over(struct script_server *s, int fd, const char *request)
{
    struct rhythm *r = s->self;
    const char *id = strstr(request, "\"id\":");
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    r->fds[atoi(id + 5)] = dup(fd);
    r->ready++;
}

static void send_chunk(struct rhythm *r, int stream, int i)
{
    char text[400], chunk[500];
    int n = snprintf(
        text, sizeof text,
        "data: {\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
        "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" t%d\"},\"logprobs\":null,\"finish_reason\":%s}]}\n\n",
        i, i == r->chunks - 1 ? "\"stop\"" : "null");
    int all = snprintf(chunk, sizeof chunk, "%x\r\n%s\r\n", (unsigned)n, text);
    r->sent[stream][i].before_ns = clock_now_ns();
    send_all(r->fds[stream], chunk, (size_t)all);
    r->sent[stream][i].after_ns = clock_now_ns();
    /* a client that stalls acknowledges late, and a sender with ten segments in flight holds the next one back: it
     * arrives later for a true reason */
    int unsent = 0;
    r->sent[stream][i].held = ioctl(r->fds[stream], SIOCOUTQNSD, &unsent) == 0 && unsent > 0;
}

static void *stream_all(void *arg)
{
    struct rhythm *r = arg;
    while (r->ready < r->streams)
        usleep(500);
    for (int s = 0; s < r->streams; s++)
        send_all(r->fds[s], STREAM_HEAD, strlen(STREAM_HEAD));
    int64_t start = clock_now_ns() + 5000000;
    for (int i = 0; i < r->chunks; i++) {
        clock_sleep_until_ns(start + i * r->step_ns);
        for (int s = 0; s < r->streams; s++)
            send_chunk(r, s, i);
    }
    clock_sleep_until_ns(start + (r->chunks + 3) * r->step_ns);
    char last[400];
    snprintf(last, sizeof last, USAGE(777) DONE);
    memcpy(strstr(last, "777"), "  2", 3);
    char all[500];
    int n = snprintf(all, sizeof all, "%zx\r\n%s\r\n0\r\n\r\n", strlen(last), last);
    for (int s = 0; s < r->streams; s++) {
        send_all(r->fds[s], all, (size_t)n);
        close(r->fds[s]);
    }
    return NULL;
}

/* ---- the load ---- */

struct formal {
    struct loop *loop;
    struct client *client;
    struct record_sink sink;
    struct rhythm *rhythm;
    struct timer timer;
    int64_t origin_ns, stall_ns;
    int seen[STREAMS_MAX]; /* chunks so far */
    struct rec_chunk got[STREAMS_MAX][CHUNKS_MAX];
    int ok, wrong_unmarked, wrong_marked, exact_marked, exact, read_time, held;
    int64_t worst_ns;
    int64_t chunks, calls_from, calls_to, chunks_from, chunks_to, live_bytes;
    size_t last_bytes;
};

/* Tolerance: the width of a clock pair. Loopback stamps within the sender's own call. */
static void judge_stamp(struct formal *f, const struct rec_chunk *c, int i)
{
    int64_t t = c->t_ns + f->origin_ns;
    int64_t before = f->rhythm->sent[c->request][i].before_ns, after = f->rhythm->sent[c->request][i].after_ns;
    if (f->rhythm->sent[c->request][i].held) {
        f->held++;
        return;
    }
    if (c->stamp == STAMP_READ) {
        f->read_time++;
        return;
    }
    bool right = t >= before - 30000 && t <= after + 30000;
    assert_true(t >= before - 30000);
    if (!right && t - after > f->worst_ns && c->stamp == STAMP_KERNEL)
        f->worst_ns = t - after;
    if (right) {
        f->exact++;
        f->exact_marked += c->stamp == STAMP_SHARED;
    } else {
        f->wrong_marked += c->stamp == STAMP_SHARED;
        f->wrong_unmarked += c->stamp == STAMP_KERNEL;
    }
}

/* The allocations are read at the batches nearest to a tenth and nine tenths of all chunks. */
static void on_chunks(void *self, const struct rec_chunk *c, size_t n)
{
    struct formal *f = self;
    int64_t all = (int64_t)f->rhythm->streams * f->rhythm->chunks;
    f->chunks += (int64_t)n;
    if (f->chunks >= all / 10 && !f->chunks_from) {
        f->chunks_from = f->chunks;
        f->calls_from = heap.calls;
    }
    if (f->chunks <= all * 9 / 10) {
        f->chunks_to = f->chunks;
        f->calls_to = heap.calls;
        f->live_bytes = heap.live_bytes;
        f->last_bytes = heap.last_bytes;
    }
    for (size_t i = 0; i < n; i++)
        if (chunk_has_tokens(&c[i]))
            f->got[c[i].request][f->seen[c[i].request]++] = c[i];
}

static void on_request(void *self, const struct rec_request *r)
{
    struct formal *f = self;
    f->ok += r->verdict == VERDICT_OK;
    if (r->verdict != VERDICT_OK)
        print_error("%s\n", r->detail);
}

static void on_connected(void *self)
{
    struct formal *f = self;
    client_submit(f->client);
}

static void on_closed(void *self)
{
    struct formal *f = self;
    loop_stop(f->loop);
}

/* Each 60 ms the loop stands still for stall_ns. */
static void on_timer(struct timer *t)
{
    struct formal *f = t->owner;
    clock_sleep_until_ns(clock_now_ns() + f->stall_ns);
    loop_timer_set(f->loop, t, clock_now_ns() + 60000000);
}

static struct formal *formal_run(struct rhythm *r, int64_t stall_ns)
{
    struct formal *f = mem_zero(1, sizeof *f);
    struct err e;
    struct client_options o;
    struct address a[ADDRESSES_MAX];
    int n;
    f->rhythm = r;
    f->stall_ns = stall_ns;
    f->origin_ns = clock_now_ns();
    f->sink = (struct record_sink){.self = f, .request = on_request, .chunk = on_chunks};
    f->timer = (struct timer){.fire = on_timer, .owner = f};
    r->listener.own = hand_over;
    r->listener.self = r;
    script_server_start(&r->listener, AF_INET, NULL, 0);
    assert_int_equal(pthread_create(&r->thread, NULL, stream_all, r), 0);
    assert_ok(loop_open(&f->loop, &e), e);
    assert_ok(address_resolve("127.0.0.1", r->listener.port, a, &n, &e), e);
    client_defaults(&o);
    o.address = a[0];
    o.sink = &f->sink;
    o.chunks = true;
    o.self = f;
    o.origin_ns = f->origin_ns;
    o.silence_ns = 50000000;
    o.connected = on_connected;
    o.closed = on_closed;
    struct client_request *requests = mem_zero((size_t)r->streams, sizeof *requests);
    char(*bodies)[32] = mem_zero((size_t)r->streams, sizeof *bodies);
    for (int i = 0; i < r->streams; i++) {
        snprintf(bodies[i], sizeof bodies[i], "{\"id\":%d}", i);
        requests[i] = (struct client_request){(uint32_t)i, span_of(bodies[i]), ABSENT_I64, 0, 0};
    }
    memset(&heap, 0, sizeof heap);
    heap.on = true;
    assert_ok(client_open(f->loop, &o, requests, (size_t)r->streams, &f->client, &e), e);
    client_connect(f->client);
    if (stall_ns)
        loop_timer_set(f->loop, &f->timer, clock_now_ns() + 60000000);
    loop_run(f->loop, clock_now_ns() + INT64_C(30000000000));
    heap.on = false;
    pthread_join(r->thread, NULL);
    for (int k = 0; k < r->streams; k++)
        for (int i = 0; i < f->seen[k]; i++)
            judge_stamp(f, &f->got[k][i], i);
    script_server_stop(&r->listener);
    loop_timer_stop(f->loop, &f->timer);
    client_close(f->client);
    loop_close(f->loop);
    free(requests);
    free(bodies);
    assert_int_equal(f->ok, r->streams);
    return f;
}

/* ---- tests ---- */

static void nothing_is_allocated_a_chunk(void **state)
{
    (void)state;
    static struct rhythm r = {.streams = 200, .chunks = 100, .step_ns = 10000000};
    struct formal *f = formal_run(&r, 0);
    assert_true(f->chunks_to - f->chunks_from >= 10000);
    if (f->calls_to != f->calls_from)
        print_error("the last allocation had %zu bytes\n", f->last_bytes);
    assert_int_equal(f->calls_to, f->calls_from);
    /* with the shared receive buffer, the batch of chunks and the loop's timers spread over the streams */
    print_message("%lld bytes a stream\n", (long long)(f->live_bytes / r.streams));
    assert_true(f->live_bytes > 0 && f->live_bytes / r.streams <= 4096);
    assert_int_equal(f->wrong_unmarked, 0);
    free(f);
}

/* Chunks 2 ms apart, and a loop that stands still for 20 ms again and again: what is wrong is marked, every single one.
 */
static void a_stalled_loop_marks_what_is_wrong(void **state)
{
    (void)state;
    static struct rhythm r = {.streams = 8, .chunks = 400, .step_ns = 2000000};
    struct formal *f = formal_run(&r, 20000000);
    print_message("exact %d (marked %d), wrong and marked %d, wrong unmarked %d, read time %d, held back %d\n",
                  f->exact, f->exact_marked, f->wrong_marked, f->wrong_unmarked, f->read_time, f->held);
    assert_int_equal(f->wrong_unmarked, 0);
    assert_int_equal(f->read_time, 0);
    assert_int_equal(f->exact + f->wrong_marked + f->held, 8 * 400);
    assert_true(f->wrong_marked > 8 * 400 / 20); /* a stall of 20 ms covers ten chunks */
    assert_true(f->exact - f->exact_marked > 8); /* and between stalls they come one by one */
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_a_chunk),
        cmocka_unit_test(a_stalled_loop_marks_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
