/* The threads, in real time on a fake device of four GPUs: run it under the thread sanitizer. */
#include "check.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/clock.h"
#include "collect.h"
#include "power/sampler.h"

#define MS INT64_C(1000000)

enum { GPUS = 4 };

struct fake {
    atomic_int lost; /* this GPU is lost; -1: none */
    atomic_int grids;
    atomic_int quick_reads;
};

static enum read_status fake_power(void *self, uint32_t gpu, int32_t *ret_mw)
{
    struct fake *f = self;
    if (atomic_load(&f->lost) == (int)gpu)
        return READ_LOST;
    *ret_mw = 1000 * ((int32_t)gpu + 1);
    return READ_OK;
}

static enum read_status fake_energy(void *self, uint32_t gpu, int64_t *ret_mj)
{
    (void)self;
    usleep(2000);
    *ret_mj = clock_now_ns() / (100 * MS) * 100 * (gpu + 1);
    return READ_OK;
}

static enum read_status fake_buffer(void *self, uint32_t gpu, int64_t after_us, struct rec_buffer *ret_samples,
                                    size_t *ret_count)
{
    (void)self;
    int64_t newest = clock_now_ns() / (20 * MS);
    size_t n = 0;
    for (int64_t k = newest - 118; k <= newest; k++)
        if (k * 20000 > after_us)
            ret_samples[n++] = (struct rec_buffer){k * 20000, 1000 * ((int32_t)gpu + 1)};
    *ret_count = n;
    return READ_OK;
}

static enum read_status fake_state(void *self, uint32_t gpu, struct rec_gpu_state *ret_state)
{
    (void)self;
    ret_state->memory_used_bytes = gpu;
    return READ_OK;
}

static enum read_status fake_processes(void *self, uint32_t gpu, struct device_process *ret_list, size_t *ret_count)
{
    (void)self;
    ret_list[0] = (struct device_process){1000 + gpu, 1};
    *ret_count = 1;
    return READ_OK;
}

static const char *fake_fault(void *self, uint32_t gpu)
{
    (void)self;
    (void)gpu;
    return "gone";
}

static const struct device_ops fake_ops = {.power = fake_power,
                                           .energy = fake_energy,
                                           .buffer = fake_buffer,
                                           .state = fake_state,
                                           .processes = fake_processes,
                                           .fault = fake_fault};

static struct device_gpu fake_gpus[4] = {{.caps = {100 * MS, 20 * MS, 119}},
                                         {.caps = {100 * MS, 20 * MS, 119}},
                                         {.caps = {100 * MS, 20 * MS, 119}},
                                         {.caps = {100 * MS, 20 * MS, 119}}};

static void on_grid(void *self, uint32_t gpu)
{
    struct fake *f = self;
    (void)gpu;
    atomic_fetch_add(&f->grids, 1);
}

/* 1.2 s with a grid of 100 ms: lead, one boundary in the middle, one GPU lost on the way. */
static void four_gpus_are_recorded_at_once(void **state)
{
    (void)state;
    struct err e;
    struct collect c;
    struct record_sink sink = collect_sink(&c);
    struct fake fake = {.lost = -1};
    struct device d = {.self = &fake, .ops = &fake_ops, .gpus = fake_gpus, .gpu_count = 4};
    const uint32_t gpus[GPUS] = {3, 0, 1, 2};
    int64_t origin_ns = clock_now_ns();
    struct sampler_options o = {.gpus = gpus,
                                .gpu_count = GPUS,
                                .origin_ns = origin_ns,
                                .t0_ns = origin_ns + 200 * MS,
                                .grid_ns = 100 * MS,
                                .stagger_ns = SAMPLER_SPREAD,
                                .sink = &sink,
                                .self = &fake,
                                .on_grid = on_grid};
    struct sampler *s;
    assert_ok(sampler_open(&d, &o, &s, &e), e);
    clock_sleep_until_ns(origin_ns + 550 * MS);
    sampler_boundary(s);
    assert_int_equal(sampler_lost(s), 0);
    clock_sleep_until_ns(origin_ns + 900 * MS);
    atomic_store(&fake.lost, 2);
    clock_sleep_until_ns(origin_ns + 1200 * MS);
    assert_int_equal(sampler_lost(s), 1);
    struct sampler_live live[SAMPLER_RING];
    uint64_t seen = 0;
    for (uint32_t gpu = 0; gpu < GPUS; gpu++) {
        size_t n = sampler_grid_since(s, gpu, 0, live, SAMPLER_RING);
        assert_in_range(n, 6, 12);
        seen += n;
        assert_int_equal(live[0].mw, 1000 * ((int)gpus[gpu] + 1));
        assert_int_equal(live[0].unknown, 1); /* nobody says whose it is */
    }
    assert_in_range(atomic_load(&fake.grids), seen, seen + GPUS);
    sampler_close(s);
    int marks = 0, afters = 0, boundaries = 0;
    for (int gpu = 0; gpu < GPUS; gpu++) {
        const struct rec_gpu *g = &c.gpus[gpu];
        for (size_t i = 0; i < g->instant_count; i++) {
            marks += g->instant[i].tag == INSTANT_BOUNDARY;
            afters += g->instant[i].tag == INSTANT_BOUNDARY_AFTER;
        }
        for (size_t i = 0; i < g->counter_count; i++)
            boundaries += g->counter[i].why == COUNTER_BOUNDARY;
        for (size_t i = 1; i < g->buffer_count; i++)
            assert_int_equal(g->buffer[i].realtime_us - g->buffer[i - 1].realtime_us, 20000);
    }
    assert_int_equal(marks, GPUS);
    assert_int_equal(afters, GPUS);
    assert_int_equal(boundaries, GPUS);
    assert_int_equal(c.fact_count, 1);
    assert_string_equal(c.facts[0].name, "gpu.lost");
    assert_true(c.clock_count >= 10);
    collect_done(&c);
}

static void stopping_does_not_wait_for_a_deadline(void **state)
{
    (void)state;
    struct err e;
    struct collect c;
    struct record_sink sink = collect_sink(&c);
    struct fake fake = {.lost = -1};
    struct device d = {.self = &fake, .ops = &fake_ops, .gpus = fake_gpus, .gpu_count = 4};
    const uint32_t gpus[] = {0};
    int64_t begin_ns = clock_now_ns();
    struct sampler_options o = {.gpus = gpus,
                                .gpu_count = 1,
                                .origin_ns = begin_ns,
                                .t0_ns = begin_ns + 3600000 * MS,
                                .grid_ns = 1000 * MS,
                                .sink = &sink};
    struct sampler *s;
    assert_ok(sampler_open(&d, &o, &s, &e), e);
    sampler_close(s);
    assert_true(clock_now_ns() - begin_ns < 1000 * MS);
    sampler_close(NULL);
    collect_done(&c);
}

static enum read_status quick_energy(void *self, uint32_t gpu, int64_t *ret_mj)
{
    struct fake *f = self;
    atomic_fetch_add(&f->quick_reads, 1);
    *ret_mj = clock_now_ns() / (100 * MS) * 100 * (gpu + 1);
    return READ_OK;
}

static long sleeps(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_nvcsw;
}

/* Each read has a deadline that is slept for, and nothing is slept for behind it: one sleep a read, and some for the
 * grid. While the counter's step is looked for, there is a read each 5 ms. */
static void nothing_is_slept_behind_a_call(void **state)
{
    (void)state;
    struct err e;
    struct collect c;
    struct record_sink sink = collect_sink(&c);
    struct fake fake = {.lost = -1};
    struct device_ops ops = fake_ops;
    ops.energy = quick_energy;
    struct device d = {.self = &fake, .ops = &ops, .gpus = fake_gpus, .gpu_count = 4};
    const uint32_t gpus[] = {0};
    int64_t begin_ns = clock_now_ns();
    struct sampler_options o = {.gpus = gpus,
                                .gpu_count = 1,
                                .origin_ns = begin_ns,
                                .t0_ns = begin_ns + 1000 * MS,
                                .grid_ns = 1000 * MS,
                                .sink = &sink};
    struct sampler *s;
    long before = sleeps();
    assert_ok(sampler_open(&d, &o, &s, &e), e);
    clock_sleep_until_ns(begin_ns + 250 * MS);
    sampler_close(s);
    long slept = sleeps() - before, reads = atomic_load(&fake.quick_reads);
    assert_true(reads > 10);
    assert_true(slept < reads * 3 / 2);
    collect_done(&c);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    struct sampler *s = NULL;
    struct sampler_options o = {.gpu_count = 0, .grid_ns = MS};
    assert_false(sampler_open(NULL, &o, &s, &e));
    assert_null(s);
    assert_int_equal(e.kind, ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_gpus_are_recorded_at_once), cmocka_unit_test(stopping_does_not_wait_for_a_deadline),
        cmocka_unit_test(nothing_is_slept_behind_a_call), cmocka_unit_test(nonsense_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
