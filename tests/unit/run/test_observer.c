/* Samples made by hand, on a fake device: when the machine is idle, when the release is over. The rules themselves are
 * tested in unit.rules; here it counts which samples reach them. */
#include "fake_device.h"
#include "made.h"
#include "model/limits.h"
#include "run/gpu_check.h"
#include "run/observer.h"

struct observed {
    struct made d;
    struct fake_device device;
    struct observer v;
    int64_t sequence[2];
};

static const uint32_t places[] = {2, 0}; /* the plan's GPUs: places in the device */

/* pids 100 and up are the engine's, 50 to 99 can't be told. */
static int8_t owns(void *self, int64_t pid)
{
    (void)self;
    return pid >= 100 ? 1 : pid >= 50 ? -1 : 0;
}

static struct observer_options options(struct observed *o)
{
    return (struct observer_options){.device = &o->device.device,
                                     .gpus = places,
                                     .gpu_count = 2,
                                     .grid_ns = SECOND_NS,
                                     .hold_ns = 3 * SECOND_NS,
                                     .own = owns};
}

static void open_observed(struct observed *o)
{
    memset(o, 0, sizeof *o);
    made_open(&o->d);
    made_begin(&o->d);
    fake_device_init(&o->device);
    struct observer_options options_ = options(o);
    observer_init(&o->v, &o->d.machine, &options_);
}

static void close_observed(struct observed *o)
{
    observer_done(&o->v);
    made_close(&o->d);
}

/* A sample of both GPUs at second `s`. */
static void give(struct observed *o, double s, int32_t mw, int64_t memory_bytes, int32_t processes)
{
    for (uint32_t g = 0; g < 2; g++)
        observer_take(&o->v, g,
                      &(struct sampler_live){.sequence = (uint64_t)++o->sequence[g],
                                             .t_ns = (int64_t)(s * 1e9),
                                             .mw = mw,
                                             .utilisation = 0,
                                             .memory_used_bytes = memory_bytes,
                                             .processes = processes});
}

/* From second 0 to `until`, then the window is closed. */
static void idle_until(struct observed *o, int until)
{
    observer_judge_idle(&o->v, 5 * SECOND_NS, 10 * SECOND_NS);
    for (int s = 0; s <= until && !observer_idle_is_decided(&o->v); s++)
        give(o, s, 80000, 1000, 0);
    observer_stop_idle(&o->v);
}

/* ---- baseline ---- */

static void an_idle_machine_is_accepted(void **state)
{
    (void)state;
    struct observed o;
    open_observed(&o);
    idle_until(&o, 30);
    assert_int_equal(o.v.idle.state, IDLE_ACCEPTED);
    assert_int_equal(o.v.idle.end_ns - o.v.idle.start_ns, 5 * SECOND_NS);
    assert_close(o.v.idle.verdict[0].mean_w, 80, 1e-9);
    assert_close(o.v.idle.verdict[1].mean_w, 80, 1e-9);
    assert_int_equal(o.v.memory_before[1], 1000);
    close_observed(&o);
}

/* The driver's first samples after a pause may be stale: what comes before t0 is not judged. */
static void the_lead_is_not_judged(void **state)
{
    (void)state;
    struct observed o;
    open_observed(&o);
    o.v.t0_ns = 2 * SECOND_NS;
    observer_judge_idle(&o.v, 5 * SECOND_NS, 0);
    give(&o, 0, 300000, 1000, 0);
    give(&o, 1, 300000, 1000, 0);
    for (int s = 2; s < 12 && !observer_idle_is_decided(&o.v); s++)
        give(&o, s, 80000, 1000, 0);
    assert_int_equal(o.v.idle.state, IDLE_ACCEPTED);
    assert_int_equal(o.v.idle.start_ns, 2 * SECOND_NS);
    close_observed(&o);
}

static void a_busy_machine_is_refused(void **state)
{
    (void)state;
    struct observed o;
    open_observed(&o);
    observer_judge_idle(&o.v, 5 * SECOND_NS, 10 * SECOND_NS);
    int s = 0;
    for (; s < 60 && !observer_idle_is_decided(&o.v); s++)
        give(&o, s, 80000, 1000, 1);
    assert_int_equal(o.v.idle.state, IDLE_REFUSED);
    assert_true(s >= 15 && s <= 18); /* the wait, the window of the last one, and what a tick needs behind it */
    struct buf b = {0};
    idle_refusal(&o.v.idle, observer_gpu_name, &o.v, &b);
    assert_non_null(strstr(buf_text(&b), "GPU 2 (GPU-cccc)")); /* as the device calls the plan's first */
    assert_non_null(strstr(buf_text(&b), "GPU 0 (GPU-aaaa)"));
    buf_done(&b);
    close_observed(&o);
}

static void power_is_the_sum_once_every_gpu_was_seen(void **state)
{
    (void)state;
    struct observed o;
    open_observed(&o);
    assert_true(isnan(observer_watts(&o.v)));
    observer_take(&o.v, 0, &(struct sampler_live){.sequence = 1, .mw = 81500});
    assert_true(isnan(observer_watts(&o.v)));
    observer_take(&o.v, 1, &(struct sampler_live){.sequence = 1, .mw = 400000});
    assert_close(observer_watts(&o.v), 481.5, 1e-9);
    observer_take(&o.v, 1, &(struct sampler_live){.sequence = 2, .mw = -1});
    assert_true(isnan(observer_watts(&o.v)));
    close_observed(&o);
}

/* ---- release ---- */

static void power_and_memory_come_back(void **state)
{
    (void)state;
    struct observed o;
    open_observed(&o);
    idle_until(&o, 30);
    observer_watch_release(&o.v, 100 * SECOND_NS);
    observer_watch_release(&o.v, 200 * SECOND_NS); /* the first one counts */
    give(&o, 99, 80000, 1000, 0);                  /* before: says nothing about the release */
    assert_int_equal(observer_memory_back_ns(&o.v), ABSENT_I64);
    give(&o, 100, 300000, METHOD_MEMORY_BYTES * 10, 1);
    give(&o, 101, 80000, METHOD_MEMORY_BYTES * 10, 1);
    assert_int_equal(observer_memory_back_ns(&o.v), ABSENT_I64);
    give(&o, 102, 80000, METHOD_MEMORY_BYTES + 1001, 0); /* a byte over what may stay */
    assert_int_equal(observer_memory_back_ns(&o.v), ABSENT_I64);
    give(&o, 103, 80000, METHOD_MEMORY_BYTES + 1000, 1); /* a process is still there */
    assert_int_equal(observer_memory_back_ns(&o.v), ABSENT_I64);
    for (int s = 104; s < 112; s++)
        give(&o, s, 80000, METHOD_MEMORY_BYTES + 1000, 0);
    assert_int_equal(observer_memory_back_ns(&o.v), 104 * SECOND_NS); /* the first sample of it */
    assert_int_equal(o.v.release.recovered_ns, 101 * SECOND_NS);
    assert_true(o.v.release.closed);
    close_observed(&o);
}

/* Memory is back when the last GPU's is. */
static void the_last_gpu_counts(void **state)
{
    (void)state;
    struct observed o;
    open_observed(&o);
    idle_until(&o, 30);
    observer_watch_release(&o.v, 100 * SECOND_NS);
    struct sampler_live s = {.sequence = 99, .t_ns = 101 * SECOND_NS, .mw = 80000, .memory_used_bytes = 1000};
    observer_take(&o.v, 0, &s);
    assert_int_equal(observer_memory_back_ns(&o.v), ABSENT_I64);
    s.t_ns = 107 * SECOND_NS;
    observer_take(&o.v, 1, &s);
    s.t_ns = 108 * SECOND_NS;
    observer_take(&o.v, 0, &s);
    assert_int_equal(observer_memory_back_ns(&o.v), 107 * SECOND_NS);
    close_observed(&o);
}

/* ---- with the sampler ---- */

static bool idle_is_decided(void *self)
{
    return observer_idle_is_decided(self);
}

static bool is_lost(void *self)
{
    return observer_lost(self) > 0;
}

static void samples_come_by_themselves(void **state)
{
    (void)state;
    struct observed o;
    struct err e;
    open_observed(&o);
    struct observer_options fast = options(&o);
    fast.grid_ns = 50 * MS; /* a machine that is busy with other tests is late by more than that, now and then */
    assert_ok(observer_open(&o.v, &o.d.machine, &fast, &e), e);
    observer_judge_idle(&o.v, 300 * MS, 60 * SECOND_NS);
    assert_true(stage_wait(&o.d.machine, idle_is_decided, &o.v, 90 * SECOND_NS));
    assert_int_equal(o.v.idle.state, IDLE_ACCEPTED);
    assert_true(o.v.idle.start_ns >= o.v.t0_ns);
    assert_close(observer_watts(&o.v), 160, 1e-9);
    observer_boundary(&o.v);
    o.device.mw[0] = -1; /* it falls off the bus */
    assert_false(stage_wait(&o.d.machine, made_never, NULL, 20 * SECOND_NS));
    assert_true(is_lost(&o.v));
    assert_int_equal(o.d.machine.failure.kind, ERR_DEVICE);
    observer_close(&o.v);
    assert_true(o.d.instants > 10);
    assert_true(made_find(&o.d, "gpu.lost", 0) >= 0);
    close_observed(&o);
}

/* ---- who holds memory ---- */

static void fact_is(const struct observed *o, const char *name, int n, enum check_outcome outcome, const char *seen)
{
    int i = made_find(&o->d, name, n);
    assert_true(i >= 0);
    assert_string_equal(o->d.facts[i].seen, seen);
    assert_int_equal(o->d.facts[i].outcome, outcome);
}

static void the_engine_holds_the_plans_gpus_and_no_other(void **state)
{
    (void)state;
    struct observed o;
    open_observed(&o);
    o.device.processes[2][0] = (struct device_process){100, INT64_C(3) << 20};
    o.device.processes[2][1] = (struct device_process){101, INT64_C(4) << 20};
    o.device.process_count[2] = 2;
    o.device.processes[1][0] = (struct device_process){12, INT64_C(512) << 20};
    o.device.processes[1][1] = (struct device_process){14, ABSENT_I64};
    o.device.process_count[1] = 2;
    gpu_check(&o.v);
    fact_is(&o, "gpu.other_memory", 0, CHECK_PASSED, "GPU 1: none; of others: pid 12 (512 MiB), pid 14");
    fact_is(&o, "gpu.memory", 0, CHECK_PASSED, "GPU 2: 2 of its processes, 7 MiB");
    fact_is(&o, "gpu.memory", 1, CHECK_FAILED, "GPU 0: 0 of its processes, 0 MiB");
    assert_int_equal(o.d.fact_count, 3);
    o.device.processes[1][1].pid = 103;
    gpu_check(&o.v);
    fact_is(&o, "gpu.other_memory", 1, CHECK_FAILED, "GPU 1: 1 of its processes; of others: pid 12 (512 MiB)");
    close_observed(&o);
}

static void processes_that_cannot_be_told_apart(void **state)
{
    (void)state;
    struct observed o;
    open_observed(&o);
    o.device.processes[2][0] = o.device.processes[1][0] = (struct device_process){50, INT64_C(3) << 20};
    o.device.process_count[2] = o.device.process_count[1] = 1;
    o.device.process_count[0] = -1;
    o.v.memory_before[0] = INT64_C(10) << 20;
    o.v.live[0].memory_used_bytes = (INT64_C(11) << 20) + METHOD_MEMORY_BYTES;
    o.v.memory_before[1] = INT64_C(10) << 20;
    o.v.live[1].memory_used_bytes = (INT64_C(10) << 20) + METHOD_MEMORY_BYTES; /* what may be there anyhow */
    gpu_check(&o.v);
    fact_is(&o, "gpu.other_memory", 0, CHECK_NOT_JUDGED,
            "GPU 1: its processes can't be told from others; of others: pid 50 (3 MiB)");
    fact_is(&o, "gpu.memory", 0, CHECK_PASSED, "GPU 2: +65 MiB in all");
    fact_is(&o, "gpu.memory", 1, CHECK_FAILED, "GPU 0: +64 MiB in all");
    o.v.live[1].memory_used_bytes = ABSENT_I64;
    gpu_check(&o.v);
    fact_is(&o, "gpu.memory", 3, CHECK_NOT_RECORDED, "");
    close_observed(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_machine_is_accepted),
        cmocka_unit_test(the_lead_is_not_judged),
        cmocka_unit_test(a_busy_machine_is_refused),
        cmocka_unit_test(power_is_the_sum_once_every_gpu_was_seen),
        cmocka_unit_test(power_and_memory_come_back),
        cmocka_unit_test(the_last_gpu_counts),
        cmocka_unit_test(samples_come_by_themselves),
        cmocka_unit_test(the_engine_holds_the_plans_gpus_and_no_other),
        cmocka_unit_test(processes_that_cannot_be_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
