/* What the sampler costs of this machine, beside threads that do nothing at the same times.
 *
 *     bench_sampler [SECONDS [ROUNDS]]
 *
 * Simulated GPUs, one and then eight, each round under three arms for so long:
 * - `sampler`: as in a run, into the recorder, which writes to a scratch folder under /tmp. When it was in a call of
 * the device, and how long, is noted;
 * - `calls`: a thread a GPU that makes the same calls at the same times and throws away what comes;
 * - `empty`: a thread a GPU that sleeps until the same times and, where a call slept, for as long and as often as it
 * did. So `empty` is the price of the timers, `calls` less `empty` the simulated driver's own work, and `sampler` less
 * `calls` ours. CPU is the whole process's, of a core; the main thread sleeps. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include "base/arena.h"
#include "base/clock.h"
#include "power/sampler.h"
#include "run/recorder.h"

enum { GPUS = 8, ROUNDS_MAX = 20, CALLS_MAX = 1 << 16 };
enum arm { ARM_EMPTY, ARM_CALLS, ARM_SAMPLER, ARMS };
static const char *const arm_names[] = {"empty", "calls", "sampler"};

/* The first second is the lead, and in the next the counter's step is looked for. A call that took longer than this has
 * slept: the simulated driver's quickest that does takes 0.4 ms. */
static const int64_t SETTLE_NS = 3 * SECOND_NS, SLEPT_NS = 200000;

enum call { CALL_POWER, CALL_ENERGY, CALL_BUFFER, CALL_STATE, CALL_PROCESSES };

struct noted {
    int64_t begin_ns, end_ns; /* since the sampler was opened */
    enum call call;
};

/* The device with a note of each call; one GPU's are made by one thread. */
struct noting {
    struct device *real;
    int64_t opened_ns;
    struct noted *calls[GPUS];
    size_t counts[GPUS];
};

struct bench {
    struct noting noting;
    struct device device; /* calls through `noting` */
    uint32_t gpus[GPUS];
    size_t gpu_count;
    int64_t window_ns;
};

struct cost {
    double share, wakes; /* of a core; a second */
};

static void note(struct noting *n, uint32_t gpu, enum call call, int64_t begin_ns)
{
    if (n->counts[gpu] < CALLS_MAX)
        n->calls[gpu][n->counts[gpu]++] = (struct noted){begin_ns - n->opened_ns, clock_now_ns() - n->opened_ns, call};
}

static enum read_status on_power(void *self, uint32_t gpu, int32_t *ret_mw)
{
    struct noting *n = self;
    int64_t begin_ns = clock_now_ns();
    enum read_status status = n->real->ops->power(n->real->self, gpu, ret_mw);
    note(n, gpu, CALL_POWER, begin_ns);
    return status;
}

static enum read_status on_energy(void *self, uint32_t gpu, int64_t *ret_mj)
{
    struct noting *n = self;
    int64_t begin_ns = clock_now_ns();
    enum read_status status = n->real->ops->energy(n->real->self, gpu, ret_mj);
    note(n, gpu, CALL_ENERGY, begin_ns);
    return status;
}

static enum read_status on_buffer(void *self, uint32_t gpu, int64_t after_us, struct rec_buffer *ret_samples,
                                  size_t *ret_count)
{
    struct noting *n = self;
    int64_t begin_ns = clock_now_ns();
    enum read_status status = n->real->ops->buffer(n->real->self, gpu, after_us, ret_samples, ret_count);
    note(n, gpu, CALL_BUFFER, begin_ns);
    return status;
}

static enum read_status on_state(void *self, uint32_t gpu, struct rec_gpu_state *ret_state)
{
    struct noting *n = self;
    int64_t begin_ns = clock_now_ns();
    enum read_status status = n->real->ops->state(n->real->self, gpu, ret_state);
    note(n, gpu, CALL_STATE, begin_ns);
    return status;
}

static enum read_status on_processes(void *self, uint32_t gpu, struct device_process *ret_list, size_t *ret_count)
{
    struct noting *n = self;
    int64_t begin_ns = clock_now_ns();
    enum read_status status = n->real->ops->processes(n->real->self, gpu, ret_list, ret_count);
    note(n, gpu, CALL_PROCESSES, begin_ns);
    return status;
}

static const char *on_fault(void *self, uint32_t gpu)
{
    struct noting *n = self;
    return n->real->ops->fault(n->real->self, gpu);
}

static const struct device_ops noting_ops = {.power = on_power,
                                             .energy = on_energy,
                                             .buffer = on_buffer,
                                             .state = on_state,
                                             .processes = on_processes,
                                             .fault = on_fault};

static void fatal(const struct err *e)
{
    fprintf(stderr, "bench_sampler: %s\n", e->text);
    exit(1);
}

/* ---- the arms ---- */

/* What this process has used of the machine. */
static struct cost used(void)
{
    struct timespec t;
    struct rusage u;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    getrusage(RUSAGE_SELF, &u);
    return (struct cost){(double)t.tv_sec + (double)t.tv_nsec * 1e-9, (double)u.ru_nvcsw};
}

static struct cost cost_over(const struct bench *b, int64_t begin_ns)
{
    clock_sleep_until_ns(begin_ns);
    struct cost before = used();
    clock_sleep_until_ns(begin_ns + b->window_ns);
    struct cost after = used();
    double s = (double)(clock_now_ns() - begin_ns) * 1e-9;
    return (struct cost){(after.share - before.share) / s, (after.wakes - before.wakes) / s};
}

static struct cost cost_sampler(struct bench *b)
{
    char folder[] = "/tmp/jtok_bench_XXXXXX", command[64];
    struct recorder *recorder;
    struct sampler *sampler;
    struct err e;
    if (!mkdtemp(folder) || !recorder_open(&recorder, folder, NULL, &e))
        fatal(&e);
    struct record_sink sink = recorder_sink(recorder);
    int64_t now = clock_now_ns();
    struct sampler_options o = {.gpus = b->gpus,
                                .gpu_count = b->gpu_count,
                                .origin_ns = now,
                                .t0_ns = now + SAMPLER_LEAD_NS,
                                .grid_ns = SECOND_NS,
                                .stagger_ns = SAMPLER_SPREAD,
                                .sink = &sink};
    b->noting.opened_ns = now;
    for (size_t i = 0; i < GPUS; i++)
        b->noting.counts[i] = 0;
    if (!sampler_open(&b->device, &o, &sampler, &e))
        fatal(&e);
    struct cost c = cost_over(b, now + SETTLE_NS);
    sampler_close(sampler);
    if (!recorder_close(recorder, NULL, &e))
        fatal(&e);
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command))
        fprintf(stderr, "bench_sampler: %s stays.\n", folder);
    return c;
}

struct again {
    struct bench *bench;
    pthread_t thread;
    int64_t opened_ns;
    uint32_t gpu;
    bool calls;
};

static void call_again(const struct device *d, uint32_t gpu, enum call call)
{
    struct device_process processes[DEVICE_PROCESSES_MAX];
    struct rec_buffer samples[DEVICE_BUFFER_MAX];
    struct rec_gpu_state state = {0};
    int64_t mj;
    int32_t mw;
    size_t n;
    switch (call) {
    case CALL_POWER:
        d->ops->power(d->self, gpu, &mw);
        break;
    case CALL_ENERGY:
        d->ops->energy(d->self, gpu, &mj);
        break;
    case CALL_BUFFER: /* all that it holds: somewhat more than was asked for */
        d->ops->buffer(d->self, gpu, 0, samples, &n);
        break;
    case CALL_STATE:
        d->ops->state(d->self, gpu, &state);
        break;
    case CALL_PROCESSES:
        d->ops->processes(d->self, gpu, processes, &n);
        break;
    }
}

static void sleep_until(int64_t t_ns)
{
    if (t_ns > clock_now_ns())
        clock_sleep_until_ns(t_ns);
}

/* The simulated counter sleeps twice: up to the moment that it tells of, and behind it. */
static void sleep_through(const struct noted *c, int64_t opened_ns)
{
    int64_t took_ns = c->end_ns - c->begin_ns;
    if (c->call == CALL_ENERGY)
        sleep_until(opened_ns + c->begin_ns + took_ns / 2);
    if (took_ns > SLEPT_NS)
        sleep_until(opened_ns + c->end_ns);
}

/* Calls that followed one another without a sleep between them are one wake. */
static void *go_through(void *self)
{
    const struct again *a = self;
    const struct noting *n = &a->bench->noting;
    for (size_t i = 0; i < n->counts[a->gpu]; i++) {
        const struct noted *c = &n->calls[a->gpu][i];
        if (i == 0 || c->begin_ns - c[-1].end_ns > SLEPT_NS)
            sleep_until(a->opened_ns + c->begin_ns);
        if (a->calls)
            call_again(n->real, a->gpu, c->call);
        else
            sleep_through(c, a->opened_ns);
    }
    return NULL;
}

static struct cost cost_again(struct bench *b, bool calls)
{
    struct again all[GPUS];
    int64_t now = clock_now_ns();
    for (size_t i = 0; i < b->gpu_count; i++) {
        all[i] = (struct again){.bench = b, .opened_ns = now, .gpu = (uint32_t)i, .calls = calls};
        if (pthread_create(&all[i].thread, NULL, go_through, &all[i]))
            exit(1);
    }
    struct cost c = cost_over(b, now + SETTLE_NS);
    for (size_t i = 0; i < b->gpu_count; i++)
        pthread_join(all[i].thread, NULL);
    return c;
}

/* ---- the table ---- */

static int compare_cost(const void *a, const void *b)
{
    double x = ((const struct cost *)a)->share, y = ((const struct cost *)b)->share;
    return (x > y) - (x < y);
}

static void bench_gpus(struct bench *b, size_t gpu_count, int rounds)
{
    struct cost costs[ARMS][ROUNDS_MAX];
    b->gpu_count = gpu_count;
    for (int r = 0; r < rounds; r++) {
        costs[ARM_SAMPLER][r] = cost_sampler(b);
        costs[ARM_CALLS][r] = cost_again(b, true);
        costs[ARM_EMPTY][r] = cost_again(b, false);
    }
    for (int arm = 0; arm < ARMS; arm++)
        qsort(costs[arm], (size_t)rounds, sizeof costs[arm][0], compare_cost);
    for (int arm = 0; arm < ARMS; arm++) {
        const struct cost *c = &costs[arm][rounds / 2];
        printf("%4zu  %-8s %10.3f %12.0f %12.2f\n", gpu_count, arm_names[arm], c->share * 100, c->wakes,
               c->share / costs[ARM_EMPTY][rounds / 2].share);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 10;
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
    struct bench b = {.window_ns = (int64_t)(seconds * 1e9)};
    struct err e;
    if (seconds <= 0 || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_sampler [SECONDS [ROUNDS]], of at most %d rounds\n", ROUNDS_MAX);
        return 2;
    }
    setenv("JTOK_SIM_GPUS", "8", 1);
    unsetenv("JTOK_SIM_STATE");
    if (!device_open(&(struct plan_power){.library = SIMULATED_LIBRARY}, &b.noting.real, &e))
        fatal(&e);
    b.device = *b.noting.real;
    b.device.self = &b.noting;
    b.device.ops = &noting_ops;
    for (uint32_t i = 0; i < GPUS; i++) {
        b.gpus[i] = i;
        b.noting.calls[i] = mem_alloc(sizeof *b.noting.calls[i] * CALLS_MAX);
    }
    printf("GPUs  arm       %% of a core  wakes a s.  over empty\n");
    bench_gpus(&b, 1, rounds);
    bench_gpus(&b, GPUS, rounds);
    for (uint32_t i = 0; i < GPUS; i++)
        free(b.noting.calls[i]);
    device_close(b.noting.real);
    return 0;
}
