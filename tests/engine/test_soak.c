/* One load after another in one process, on the simulated engine: nothing is left behind by any of them. The long form,
 * with timings and for hours, is `bench/client/run.py soak`. */
#include <dirent.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "harness.h"
#include "http/client.h"

enum { STREAMS = 300, TOKENS = 30, ROUNDS = 8 };

struct load {
    struct loop *loop;
    struct client *client;
    struct record_sink sink;
    struct client_request requests[STREAMS];
    char *body;
    int64_t succeeded, tokens, token_chunks;
};

static void on_request(void *self, const struct rec_request *r)
{
    struct load *l = self;
    if (r->verdict != VERDICT_OK)
        print_error("%s\n", r->detail);
    l->succeeded += r->verdict == VERDICT_OK;
    l->tokens += r->completion_tokens;
}

static void on_chunks(void *self, const struct rec_chunk *c, size_t n)
{
    struct load *l = self;
    for (size_t i = 0; i < n; i++)
        l->token_chunks += chunk_has_tokens(&c[i]);
}

static void on_connected(void *self)
{
    struct load *l = self;
    client_submit(l->client);
}

static void on_closed(void *self)
{
    struct load *l = self;
    loop_stop(l->loop);
}

static void run_load(struct load *l, const struct engine *g)
{
    struct client_options o;
    struct address a[ADDRESSES_MAX];
    struct err e;
    int n;
    client_defaults(&o);
    assert_ok(address_resolve("127.0.0.1", g->port, a, &n, &e), e);
    o.address = a[0];
    o.sink = &l->sink;
    o.chunks = true;
    o.silence_ns = 20000000;
    o.self = l;
    o.connected = on_connected;
    o.closed = on_closed;
    l->succeeded = l->tokens = l->token_chunks = 0;
    assert_ok(client_open(l->loop, &o, l->requests, STREAMS, &l->client, &e), e);
    client_connect(l->client);
    loop_run(l->loop, clock_now_ns() + INT64_C(60000000000));
    client_close(l->client);
}

static int files_of(pid_t process)
{
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

/* The engine closes its side of the last connections in its own time. */
static int settled_files(const struct engine *g, int expected)
{
    int n = 0;
    for (int i = 0; i < 100 && (n = files_of(g->pid)) != expected; i++)
        clock_sleep_until_ns(clock_now_ns() + 20000000);
    return n;
}

/* Files of the idle engine: it may still be about to close the connection that asked whether it is ready. */
static int idle_files(const struct engine *g)
{
    int n = files_of(g->pid);
    for (int still = 0; still < 10; still++) {
        clock_sleep_until_ns(clock_now_ns() + 20000000);
        int now = files_of(g->pid);
        still = now == n ? still : 0;
        n = now;
    }
    return n;
}

static void nothing_is_left_behind(void **state)
{
    (void)state;
    struct engine g;
    struct err e;
    engine_start(&g, WORDS("--max-num-seqs", "300", "--sim-step-s", "0.004", "--sim-step-request-s", "0.00001"));
    engine_wait_ready(&g);
    struct load *l = mem_zero(1, sizeof *l);
    l->sink = (struct record_sink){.self = l, .request = on_request, .chunk = on_chunks};
    l->body = body_of("hello", ",\"max_tokens\":30,\"ignore_eos\":true");
    for (uint32_t i = 0; i < STREAMS; i++)
        l->requests[i] = (struct client_request){.id = i, .body = span_of(l->body), .max_tokens = TOKENS};
    assert_ok(loop_open(&l->loop, &e), e);

    size_t in_use = 0;
    int files = 0, engine_files = idle_files(&g);
    for (int round = 1; round <= ROUNDS; round++) {
        run_load(l, &g);
        assert_int_equal(l->succeeded, STREAMS);
        assert_int_equal(l->tokens, STREAMS * TOKENS);
        assert_int_equal(l->token_chunks, STREAMS * TOKENS);
        if (round == 1) { /* what is kept for good, as the loop's timers, has grown now */
            in_use = mallinfo2().uordblks;
            files = files_of(getpid());
        }
        assert_int_equal(mallinfo2().uordblks, in_use);
        assert_int_equal(files_of(getpid()), files);
        assert_int_equal(settled_files(&g, engine_files), engine_files);
    }
    loop_close(l->loop);
    free(l->body);
    free(l);
    engine_stop(&g, &(double){0});
    engine_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_left_behind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
