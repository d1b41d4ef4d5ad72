/* What jtok's power sampling costs the service that it measures (METHOD section 2: the observer's own cost).
 *
 *     bench_observer ADDRESS PORT MODEL [--in-flight N] [--window S] [--rounds N] [--gpu NAME] [--input N] [--output N]
 *
 * One closed loop of jtok's own client runs all the time. Beside it windows follow one another, each under one of three
 * arms: `off` (nothing but the energy counter, read as the window begins and ends), `default` (the sampler as in a
 * run), and `fast` (the sampler with a grid as fast as the calls allow). A window's edges are steps of the counter, so
 * that the counter's age is no part of them. The order within rounds turns around each time, so that a drift does not
 * look like an arm. Printed: each window, then J/token, tok/s and W of each arm against `off` of the same round, as
 * mean difference with Student's 95 % interval. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/sample.h"
#include "base/clock.h"
#include "base/arena.h"
#include "http/client.h"
#include "power/sampler.h"

enum arm { ARM_OFF, ARM_DEFAULT, ARM_FAST, ARMS };
static const char *const arm_names[] = {"off", "default", "fast"};
static const int64_t arm_grid_ns[] = {0, SECOND_NS, SECOND_NS / 1000};
enum { ROUNDS_MAX = 100, SLOTS = 1 << 16, PROMPT_MAX = 8192, SETTLE_S = 10 };

struct setting {
    const char *address, *model, *gpu;
    int port;
    int64_t in_flight, input, output, rounds;
    double window_s;
};

struct window {
    double j, s, tokens, samples;
};

struct observer {
    struct setting set;
    struct loop *loop;
    struct client *client;
    struct device *device;
    uint32_t gpu;
    uint32_t next_id;
    int32_t running[SLOTS]; /* last running count of the request in this slot */
    atomic_llong tokens, samples, failed;
    atomic_bool over;
    struct window windows[ROUNDS_MAX][ARMS];
};

static void fatal(const struct err *e)
{
    fprintf(stderr, "bench_observer: %s\n", e->text);
    exit(1);
}

/* ---- the load, on the loop's thread ---- */

static bool draw(void *self, struct client_request *ret_request, int64_t *ret_intended_ns, struct buf *body)
{
    struct observer *o = self;
    if (atomic_load(&o->over))
        return false;
    uint32_t id = o->next_id++;
    int64_t length = o->set.output * 3 / 4 + (id * 2654435761u >> 16) % (uint32_t)(o->set.output / 2 + 1);
    o->running[id % SLOTS] = 0;
    buf_fmt(body, "{\"model\":\"%s\",\"prompt\":[", o->set.model);
    for (int64_t i = 0; i < o->set.input; i++)
        buf_fmt(body, "%s%lld", i ? "," : "", (long long)(1000 + (id * 7919 + (uint32_t)i * 104729) % 90000));
    buf_fmt(body,
            "],\"max_tokens\":%lld,\"ignore_eos\":true,\"temperature\":0,\"stream\":true,"
            "\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true}}",
            (long long)length);
    *ret_request = (struct client_request){.id = id, .body = buf_span(body), .max_tokens = length};
    *ret_intended_ns = 0;
    return true;
}

static void on_chunks(void *self, const struct rec_chunk *c, size_t n)
{
    struct observer *o = self;
    long long more = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t *last = &o->running[c[i].request % SLOTS];
        if (c[i].running > *last) {
            more += c[i].running - *last;
            *last = c[i].running;
        }
    }
    atomic_fetch_add(&o->tokens, more);
}

static void on_request(void *self, const struct rec_request *r)
{
    struct observer *o = self;
    if (r->verdict != VERDICT_OK && r->verdict != VERDICT_CANCELLED && !atomic_fetch_add(&o->failed, 1))
        fprintf(stderr, "bench_observer: the first request that failed: %s\n", r->detail);
}

static void on_closed(void *self)
{
    struct observer *o = self;
    loop_stop(o->loop);
}

/* ---- the windows, on a thread of their own ---- */

static void on_instant(void *self, uint32_t gpu, const struct rec_instant *i)
{
    (void)gpu;
    (void)i;
    struct observer *o = self;
    atomic_fetch_add(&o->samples, 1);
}

static void ignore_clock(void *self, const struct rec_clock *c)
{
    (void)self;
    (void)c;
}

static void ignore_fact(void *self, const struct rec_fact *f)
{
    (void)self;
    (void)f;
}

static void ignore_counter(void *self, uint32_t gpu, const struct rec_counter *c)
{
    (void)self;
    (void)gpu;
    (void)c;
}

static void ignore_buffer(void *self, uint32_t gpu, const struct rec_buffer *b, size_t n)
{
    (void)self;
    (void)gpu;
    (void)b;
    (void)n;
}

static void ignore_state(void *self, uint32_t gpu, const struct rec_gpu_state *s, const struct rec_process *p, size_t n)
{
    (void)self;
    (void)gpu;
    (void)s;
    (void)p;
    (void)n;
}

struct edge {
    int64_t t_ns, mj, tokens;
};

static int64_t counter_read(struct observer *o)
{
    int64_t mj;
    if (o->device->ops->energy(o->device->self, o->gpu, &mj) != READ_OK) {
        fprintf(stderr, "bench_observer: The energy counter can't be read: %s\n",
                o->device->ops->fault(o->device->self, o->gpu));
        exit(1);
    }
    return mj;
}

/* The next step of the counter. */
static struct edge edge_wait(struct observer *o)
{
    int64_t before = counter_read(o);
    for (;;) {
        int64_t t_ns = clock_now_ns();
        struct edge e = {t_ns, counter_read(o), atomic_load(&o->tokens)};
        if (e.mj != before)
            return e;
    }
}

static struct sampler *sampler_start(struct observer *o, enum arm arm, const struct record_sink *sink)
{
    if (arm == ARM_OFF)
        return NULL;
    int64_t now = clock_now_ns();
    struct sampler_options s = {.gpus = &o->gpu,
                                .gpu_count = 1,
                                .origin_ns = now,
                                .t0_ns = now + SAMPLER_LEAD_NS,
                                .grid_ns = arm_grid_ns[arm],
                                .stagger_ns = SAMPLER_SPREAD,
                                .sink = sink,
                                .self = o};
    struct sampler *sampler;
    struct err e;
    if (!sampler_open(o->device, &s, &sampler, &e))
        fatal(&e);
    return sampler;
}

static struct window window_measure(struct observer *o, enum arm arm)
{
    const struct record_sink sink = {.self = o,
                                     .instant = on_instant,
                                     .clock = ignore_clock,
                                     .fact = ignore_fact,
                                     .counter = ignore_counter,
                                     .buffer = ignore_buffer,
                                     .state = ignore_state};
    atomic_store(&o->samples, 0);
    struct edge begin = edge_wait(o);
    struct sampler *sampler = sampler_start(o, arm, &sink);
    clock_sleep_until_ns(begin.t_ns + (int64_t)(o->set.window_s * 1e9));
    sampler_close(sampler);
    struct edge end = edge_wait(o);
    return (struct window){.j = (double)(end.mj - begin.mj) * 1e-3,
                           .s = (double)(end.t_ns - begin.t_ns) * 1e-9,
                           .tokens = (double)(end.tokens - begin.tokens),
                           .samples = (double)atomic_load(&o->samples)};
}

static void *measure(void *self)
{
    struct observer *o = self;
    clock_sleep_until_ns(clock_now_ns() + SETTLE_S * SECOND_NS);
    for (int64_t r = 0; r < o->set.rounds; r++)
        for (int i = 0; i < ARMS; i++) {
            enum arm arm = (enum arm)(r % 2 ? ARMS - 1 - i : i);
            struct window w = window_measure(o, arm);
            o->windows[r][arm] = w;
            printf("round %lld %-7s %7.3f s %9.2f J %9.0f tokens %8.2f W %9.2f tok/s %.6f J/token %6.0f samples of "
                   "power\n",
                   (long long)(r + 1), arm_names[arm], w.s, w.j, w.tokens, w.j / w.s, w.tokens / w.s, w.j / w.tokens,
                   w.samples);
            fflush(stdout);
        }
    atomic_store(&o->over, true);
    return NULL;
}

/* ---- what came ---- */

static double figure_of(const struct window *w, int figure)
{
    return figure == 0 ? w->j / w->tokens : figure == 1 ? w->tokens / w->s : w->j / w->s;
}

static void print_differences(const struct observer *o)
{
    static const char *const names[] = {"J/token", "tok/s", "W"};
    for (enum arm arm = ARM_DEFAULT; arm < ARMS; arm++)
        for (int f = 0; f < 3; f++) {
            double d[ROUNDS_MAX];
            for (int64_t r = 0; r < o->set.rounds; r++)
                d[r] = (figure_of(&o->windows[r][arm], f) / figure_of(&o->windows[r][ARM_OFF], f) - 1) * 100;
            struct sample s = sample_of(d, (size_t)o->set.rounds);
            printf("%-7s against off, %-7s: %+.3f %% (95 %%: %+.3f to %+.3f, sd %.3f, n %lld)\n", arm_names[arm],
                   names[f], s.mean, s.low, s.high, s.sd, (long long)s.n);
        }
    printf("%lld requests failed\n", (long long)atomic_load(&o->failed));
}

static bool setting_read(int argc, char **argv, struct setting *s)
{
    if (argc < 4)
        return false;
    *s = (struct setting){.address = argv[1],
                          .port = atoi(argv[2]),
                          .model = argv[3],
                          .gpu = "0",
                          .in_flight = 64,
                          .input = 128,
                          .output = 256,
                          .rounds = 6,
                          .window_s = 20};
    for (int i = 4; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (strcmp(name, "--gpu") == 0)
            s->gpu = value;
        else if (strcmp(name, "--in-flight") == 0)
            s->in_flight = atoll(value);
        else if (strcmp(name, "--input") == 0)
            s->input = atoll(value);
        else if (strcmp(name, "--output") == 0)
            s->output = atoll(value);
        else if (strcmp(name, "--rounds") == 0)
            s->rounds = atoll(value);
        else if (strcmp(name, "--window") == 0)
            s->window_s = atof(value);
        else
            return false;
    }
    return argc % 2 == 0 && s->rounds >= 2 && s->rounds <= ROUNDS_MAX && s->in_flight > 0 && s->in_flight < SLOTS / 4 &&
           s->input > 0 && s->input <= PROMPT_MAX && s->output > 0 && s->window_s >= 3;
}

static void gpu_open(struct observer *o)
{
    struct err e;
    struct plan_power power = {0};
    const char *names[] = {o->set.gpu};
    uint32_t list[DEVICE_GPUS_MAX];
    size_t n;
    if (!device_open(&power, &o->device, &e) || !device_select(o->device, names, 1, list, &n, &e))
        fatal(&e);
    o->gpu = list[0];
}

static void client_start(struct observer *o, const struct record_sink *sink)
{
    struct err e;
    struct address list[ADDRESSES_MAX];
    int n;
    if (!address_resolve(o->set.address, o->set.port, list, &n, &e) || !loop_open(&o->loop, &e))
        fatal(&e);
    struct client_options c;
    client_defaults(&c);
    c.address = list[0];
    c.path = "/v1/completions";
    c.sink = sink;
    c.chunks = true;
    c.load = 0;
    c.self = o;
    c.closed = on_closed;
    struct client_pace pace = {
        .in_flight = o->set.in_flight, .for_ns = INT64_MAX, .ahead_ns = SECOND_NS, .self = o, .next = draw};
    if (!client_open_paced(o->loop, &c, &pace, &o->client, &e))
        fatal(&e);
    client_begin(o->client, clock_now_ns() + client_lead_ns(&pace));
}

int main(int argc, char **argv)
{
    struct observer *o = mem_zero(1, sizeof *o);
    if (!setting_read(argc, argv, &o->set)) {
        fprintf(stderr,
                "usage: bench_observer ADDRESS PORT MODEL [--in-flight N] [--window S] [--rounds N] [--gpu NAME] "
                "[--input N] [--output N]\n");
        return 2;
    }
    const struct record_sink sink = {.self = o, .request = on_request, .chunk = on_chunks};
    gpu_open(o);
    client_start(o, &sink);
    pthread_t thread;
    if (pthread_create(&thread, NULL, measure, o)) {
        perror("bench_observer");
        return 1;
    }
    loop_run(o->loop, INT64_MAX);
    client_close(o->client);
    pthread_join(thread, NULL);
    print_differences(o);
    loop_close(o->loop);
    device_close(o->device);
    free(o);
    return 0;
}
