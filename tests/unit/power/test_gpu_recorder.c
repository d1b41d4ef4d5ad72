/* A GPU's recorder on a fake device and a fake clock, worked by hand. The fake's counter read takes 4 ms, its drain 0.5
 * ms, its process list 1 ms, the rest nothing. Power is the time in ms, the counter a stair of 100 ms. */
#include "check.h"

#include "collect.h"
#include "power/gpu_recorder.h"

#define MS     INT64_C(1000000)
#define SECOND INT64_C(1000000000)

enum { ORIGIN_S = 1000 };

struct fake {
    int64_t now_ns;
    enum read_status power, energy, buffer, processes;
    int calls_after_loss;
    int64_t buffer_asked_us;
    size_t process_count;
};

static enum read_status fake_power(void *self, uint32_t gpu, int32_t *ret_mw)
{
    struct fake *f = self;
    (void)gpu;
    f->calls_after_loss += f->power == READ_LOST;
    if (f->power == READ_OK)
        *ret_mw = (int32_t)((f->now_ns - ORIGIN_S * SECOND) / MS);
    return f->power;
}

static enum read_status fake_energy(void *self, uint32_t gpu, int64_t *ret_mj)
{
    struct fake *f = self;
    (void)gpu;
    f->now_ns += 2 * MS;
    if (f->energy == READ_OK)
        *ret_mj = f->now_ns / (100 * MS) * 7850;
    f->now_ns += 2 * MS;
    return f->energy;
}

/* Samples each 20 ms at whole 20 ms of the clock, realtime = monotonic + 5 s; gives the last asked again, as some
 * drivers do. */
static enum read_status fake_buffer(void *self, uint32_t gpu, int64_t after_us, struct rec_buffer *ret_samples,
                                    size_t *ret_count)
{
    struct fake *f = self;
    (void)gpu;
    f->now_ns += MS / 2;
    f->buffer_asked_us = after_us;
    if (f->buffer != READ_OK)
        return f->buffer;
    int64_t newest = f->now_ns / (20 * MS);
    size_t n = 0;
    for (int64_t k = newest - 118; k <= newest; k++)
        if (k * 20000 + 5000000 > after_us)
            ret_samples[n++] = (struct rec_buffer){k * 20000 + 5000000, 78000};
    *ret_count = n;
    return READ_OK;
}

static enum read_status fake_state(void *self, uint32_t gpu, struct rec_gpu_state *ret_state)
{
    (void)self;
    (void)gpu;
    ret_state->memory_used_bytes = 123;
    ret_state->utilisation = 4;
    return READ_OK;
}

static enum read_status fake_processes(void *self, uint32_t gpu, struct device_process *ret_list, size_t *ret_count)
{
    struct fake *f = self;
    (void)gpu;
    f->now_ns += MS;
    if (f->processes != READ_OK)
        return f->processes;
    for (size_t i = 0; i < f->process_count; i++)
        ret_list[i] = (struct device_process){(int64_t)(100 + i), i ? ABSENT_I64 : 7};
    *ret_count = f->process_count;
    return READ_OK;
}

static const char *fake_fault(void *self, uint32_t gpu)
{
    (void)self;
    (void)gpu;
    return "GPU 0 (GPU-x): power could not be read: broken.";
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

static int64_t fake_now(void *self)
{
    return ((struct fake *)self)->now_ns;
}

static struct clock_pair fake_pair(void *self)
{
    return (struct clock_pair){fake_now(self), 5 * SECOND, 40};
}

struct bench {
    struct fake fake;
    struct device device;
    struct collect c;
    struct record_sink sink;
    struct gpu_recorder recorder;
    uint32_t gpus[4];
    int grids;
};

static int8_t own(void *self, int64_t pid)
{
    (void)self;
    return pid == 100 ? 1 : pid == 101 ? 0 : -1;
}

static void on_grid(void *self, uint32_t gpu)
{
    struct bench *b = self;
    (void)gpu;
    b->grids++;
}

/* The run began at 1000 s, now it is 1001 s, the baseline starts at 1003 s. */
static void bench_open(struct bench *b, uint32_t gpu, size_t gpu_count)
{
    memset(b, 0, sizeof *b);
    b->fake.now_ns = (ORIGIN_S + 1) * SECOND;
    b->device = (struct device){.self = &b->fake, .ops = &fake_ops, .gpus = fake_gpus, .gpu_count = 4};
    b->sink = collect_sink(&b->c);
    for (uint32_t i = 0; i < 4; i++)
        b->gpus[i] = i;
    struct sampler_options o = {.gpus = b->gpus,
                                .gpu_count = gpu_count,
                                .origin_ns = ORIGIN_S * SECOND,
                                .t0_ns = (ORIGIN_S + 3) * SECOND,
                                .grid_ns = SECOND,
                                .stagger_ns = SAMPLER_SPREAD,
                                .sink = &b->sink,
                                .self = b,
                                .own = own,
                                .on_grid = on_grid};
    gpu_recorder_init(&b->recorder, &b->device, &o, gpu, &(struct gpu_recorder_clock){&b->fake, fake_now, fake_pair});
}

static void bench_close(struct bench *b)
{
    gpu_recorder_done(&b->recorder);
    collect_done(&b->c);
}

/* On until `run_ms` since the run began; a boundary at `boundary_ms` (negative: none). */
static void go(struct bench *b, int64_t run_ms, int64_t boundary_ms)
{
    int64_t end_ns = ORIGIN_S * SECOND + run_ms * MS,
            boundary_ns = boundary_ms < 0 ? INT64_MAX : ORIGIN_S * SECOND + boundary_ms * MS;
    while (b->fake.now_ns < end_ns) {
        bool boundary = b->fake.now_ns >= boundary_ns;
        if (boundary)
            boundary_ns = INT64_MAX;
        int64_t next_ns = gpu_recorder_step(&b->recorder, boundary);
        next_ns = next_ns > end_ns ? end_ns : next_ns > boundary_ns ? boundary_ns : next_ns;
        if (next_ns > b->fake.now_ns)
            b->fake.now_ns = next_ns;
    }
}

static void nothing_before_the_lead(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, 0, 1);
    go(&b, 2000, -1);
    assert_int_equal(b.c.gpus[0].instant_count + b.c.gpus[0].counter_count + b.c.gpus[0].buffer_count, 0);
    go(&b, 2001, -1);
    assert_int_equal(b.c.gpus[0].instant_count, 1);
    assert_int_equal(b.c.gpus[0].instant[0].t_ns, 2 * SECOND);
    bench_close(&b);
}

/* Ticks at 2, 3, ... s for the first GPU, 0.75 s later for the fourth of four. */
static void the_grid_has_absolute_deadlines_and_phases(void **state)
{
    (void)state;
    for (uint32_t gpu = 0; gpu < 4; gpu += 3) {
        struct bench b;
        bench_open(&b, gpu, 4);
        go(&b, 10000, -1);
        struct rec_gpu *g = &b.c.gpus[gpu];
        assert_int_equal(g->instant_count, 8);
        for (size_t i = 0; i < 8; i++) {
            int64_t due_ns = (2 + (int64_t)i) * SECOND + gpu * 250 * MS;
            assert_int_equal(g->instant[i].tag, INSTANT_GRID);
            assert_in_range(g->instant[i].late_ns, 0, 6 * MS); /* never more than one counter read */
            assert_int_equal(g->instant[i].t_ns, due_ns + g->instant[i].late_ns);
            assert_int_equal(g->instant[i].mw, g->instant[i].t_ns / MS);
            assert_int_equal(g->instant[i].width_ns, 0);
        }
        assert_int_equal(g->state_count, 8);
        assert_int_equal(b.grids, 8);
        assert_true(b.c.clock_count > 0);
        bench_close(&b);
    }
}

/* A stall of 2.5 s: the tick in it is made once, late; those missed are not made up for. */
static void missed_deadlines_are_skipped(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, 0, 1);
    go(&b, 4500, -1);
    size_t before = b.c.gpus[0].instant_count;
    assert_int_equal(before, 3);
    b.fake.now_ns += 2500 * MS;
    go(&b, 8500, -1);
    struct rec_instant *r = b.c.gpus[0].instant + before;
    assert_int_equal(b.c.gpus[0].instant_count, before + 2);
    assert_int_equal(r[0].t_ns, 7000 * MS);
    assert_int_equal(r[0].late_ns, 2000 * MS); /* due at 5 s; 6 s and 7 s are skipped with it */
    assert_in_range(r[1].t_ns, 8000 * MS, 8006 * MS);
    bench_close(&b);
}

static void change_points_come_from_locked_reads(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, 0, 1);
    go(&b, 20000, -1);
    struct rec_gpu *g = &b.c.gpus[0];
    int locked = 0;
    for (size_t i = 1; i < g->counter_count; i++) {
        assert_int_equal(g->counter[i].width_ns, 4 * MS);
        if (g->counter[i].t_ns < 2500 * MS)
            continue;
        assert_true(g->counter[i].why == COUNTER_LOCKED || g->counter[i].why == COUNTER_REPEAT);
        if (g->counter[i].mj == g->counter[i - 1].mj)
            continue;
        locked++;
        assert_int_equal(g->counter[i].mj, g->counter[i - 1].mj + 7850);
        assert_in_range(g->counter[i].t_ns % (100 * MS), 0, 12 * MS); /* 10 ms, and 1.5 ms where a tick came between */
    }
    assert_in_range(locked, 173, 176);
    bench_close(&b);
}

/* Drained at each tick, each stamp once, without a hole; and at least each 1.9 s where the grid is coarser. */
static void the_buffer_is_whole(void **state)
{
    (void)state;
    for (int64_t grid_s = 1; grid_s <= 10; grid_s += 9) {
        struct bench b;
        bench_open(&b, 0, 1);
        b.recorder.schedule.grid_ns = grid_s * SECOND;
        go(&b, 30000, -1);
        gpu_recorder_finish(&b.recorder);
        struct rec_gpu *g = &b.c.gpus[0];
        assert_in_range(g->buffer_count, 28 * 50 + 118 - 5, 28 * 50 + 120);
        for (size_t i = 1; i < g->buffer_count; i++)
            assert_int_equal(g->buffer[i].realtime_us - g->buffer[i - 1].realtime_us, 20000);
        assert_in_range(b.c.clock_count, 28 / 2, 40);
        /* Realtime is 5 s ahead of monotonic, which is 1000 s at the run's begin. */
        assert_int_equal(b.c.clocks[0].offset_ns, (5 + ORIGIN_S) * SECOND);
        /* While the step is searched, the tick's extras wait for 50 ms. */
        assert_in_range(b.c.clocks[0].t_ns, 2 * SECOND, 2 * SECOND + 60 * MS);
        bench_close(&b);
    }
}

/* A boundary at 5.050 s: power and counter are sampled at once, the second sample 0.2 s after the first. */
static void a_boundary_gets_its_samples(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, 0, 1);
    go(&b, 8000, 5050);
    struct rec_gpu *g = &b.c.gpus[0];
    int64_t power_ns = 0, after_ns = 0, counter_ns = 0;
    for (size_t i = 0; i < g->instant_count; i++) {
        if (g->instant[i].tag == INSTANT_GRID)
            continue;
        assert_int_equal(g->instant[i].late_ns, ABSENT_I64);
        *(g->instant[i].tag == INSTANT_BOUNDARY ? &power_ns : &after_ns) = g->instant[i].t_ns;
    }
    for (size_t i = 0; i < g->counter_count; i++)
        if (g->counter[i].why == COUNTER_BOUNDARY)
            counter_ns = g->counter[i].t_ns;
    assert_int_equal(power_ns, 5050 * MS);
    assert_int_equal(counter_ns, 5052 * MS);
    assert_in_range(after_ns, 5250 * MS, 5254 * MS); /* a counter read may be in the way */
    assert_int_equal(b.c.gpus[0].instant_count, 6 + 2);
    bench_close(&b);
}

static void processes_are_judged(void **state)
{
    (void)state;
    struct bench b;
    struct sampler_live live[4];
    bench_open(&b, 0, 1);
    b.fake.process_count = 3;
    go(&b, 3500, -1);
    struct rec_gpu *g = &b.c.gpus[0];
    assert_int_equal(g->state[0].processes, 3);
    assert_int_equal(g->process_count, 6);
    assert_int_equal(g->process[0].own, 1);
    assert_int_equal(g->process[1].own, 0);
    assert_int_equal(g->process[2].own, -1);
    assert_int_equal(g->process[0].memory_bytes, 7);
    assert_int_equal(g->process[1].memory_bytes, ABSENT_I64);
    assert_int_equal(g->process[4].t_ns, g->state[1].t_ns);
    assert_int_equal(gpu_recorder_grid_since(&b.recorder, 0, live, 4), 2);
    assert_int_equal(live[0].sequence, 1);
    assert_int_equal(live[0].foreign, 1);
    assert_int_equal(live[0].unknown, 1);
    assert_int_equal(live[1].t_ns, g->instant[1].t_ns);
    assert_int_equal(live[1].mw, g->instant[1].mw);
    assert_int_equal(live[1].memory_used_bytes, 123);
    assert_int_equal(gpu_recorder_grid_since(&b.recorder, 1, live, 4), 1);
    assert_int_equal(live[0].sequence, 2);
    assert_int_equal(gpu_recorder_grid_since(&b.recorder, 2, live, 4), 0);
    bench_close(&b);
}

static void the_ring_keeps_the_newest(void **state)
{
    (void)state;
    struct bench b;
    struct sampler_live live[100];
    bench_open(&b, 0, 1);
    go(&b, 2000 + 99500, -1);
    assert_int_equal(gpu_recorder_grid_since(&b.recorder, 0, live, 100), SAMPLER_RING);
    assert_int_equal(live[0].sequence, 100 - SAMPLER_RING + 1);
    assert_int_equal(live[SAMPLER_RING - 1].sequence, 100);
    assert_int_equal(gpu_recorder_grid_since(&b.recorder, 97, live, 2), 2);
    assert_int_equal(live[1].sequence, 99);
    bench_close(&b);
}

static void a_failed_sample_is_absent(void **state)
{
    (void)state;
    struct bench b;
    struct sampler_live live[1];
    bench_open(&b, 0, 1);
    b.fake.power = b.fake.energy = b.fake.buffer = b.fake.processes = READ_MISSED;
    go(&b, 3500, -1);
    struct rec_gpu *g = &b.c.gpus[0];
    assert_int_equal(g->instant_count, 2);
    assert_int_equal(g->instant[1].mw, -1);
    assert_int_equal(g->counter[0].mj, -1);
    assert_int_equal(g->buffer_count, 0);
    assert_int_equal(g->state[1].processes, -1);
    assert_int_equal(b.c.fact_count, 0);
    assert_int_equal(gpu_recorder_grid_since(&b.recorder, 1, live, 1), 1);
    assert_int_equal(live[0].processes, -1);
    assert_int_equal(live[0].foreign, -1);
    bench_close(&b);
}

static void what_is_not_supported_is_told_once(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, 0, 1);
    b.fake.energy = b.fake.buffer = b.fake.processes = READ_UNSUPPORTED;
    go(&b, 8500, 6000);
    assert_int_equal(b.c.gpus[0].counter_count, 0);
    assert_int_equal(b.c.gpus[0].instant_count, 7 + 2);
    assert_int_equal(b.c.fact_count, 3);
    assert_string_equal(b.c.facts[0].seen, "GPU 0 (GPU-x): power could not be read: broken.");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(b.c.facts[i].outcome, CHECK_NOT_RECORDED);
    bench_close(&b);
}

static void a_lost_gpu_is_told_once_and_left(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, 0, 1);
    go(&b, 4500, -1);
    b.fake.power = b.fake.energy = READ_LOST;
    size_t counters = b.c.gpus[0].counter_count;
    go(&b, 8500, 7000);
    assert_true(b.recorder.lost);
    assert_int_equal(b.c.fact_count, 1);
    assert_string_equal(b.c.facts[0].name, "gpu.lost");
    assert_int_equal(b.c.facts[0].outcome, CHECK_FAILED);
    assert_int_equal(b.fake.calls_after_loss, 0);
    assert_int_equal(b.c.gpus[0].counter_count, counters + 1);
    assert_int_equal(b.c.gpus[0].counter[counters].mj, -1);
    struct rec_gpu *g = &b.c.gpus[0];
    assert_int_equal(g->instant[g->instant_count - 1].mw, -1);
    assert_int_equal(g->state[g->state_count - 1].memory_used_bytes, ABSENT_I64);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_before_the_lead),
        cmocka_unit_test(the_grid_has_absolute_deadlines_and_phases),
        cmocka_unit_test(missed_deadlines_are_skipped),
        cmocka_unit_test(change_points_come_from_locked_reads),
        cmocka_unit_test(the_buffer_is_whole),
        cmocka_unit_test(a_boundary_gets_its_samples),
        cmocka_unit_test(processes_are_judged),
        cmocka_unit_test(the_ring_keeps_the_newest),
        cmocka_unit_test(a_failed_sample_is_absent),
        cmocka_unit_test(what_is_not_supported_is_told_once),
        cmocka_unit_test(a_lost_gpu_is_told_once_and_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
