/* The NVML side against the simulated library, loaded by its path as in a run. */
#include "check.h"

#include <unistd.h>
#include "power/nvml_abi.h"
#include "power/nvml_session.h"
#include "simulated.h"

static const char library[] = SIMULATED_LIBRARY;

/* On a clock that stands still between calls. */
static void world_open(struct simulated *w, const char *gpus, const char *fault)
{
    simulated_open(w, gpus, fault);
    w->set_time(w->state->created_ns);
}

static void at(struct simulated *w, double seconds)
{
    w->set_time(w->state->created_ns + (int64_t)(seconds * 1e9));
}

static void what_does_not_change_is_read(void **state)
{
    (void)state;
    struct simulated w;
    world_open(&w, "3", "");
    assert_int_equal(w.device->gpu_count, 3);
    assert_true(w.device->simulated);
    assert_string_equal(w.device->driver_version, "580.0-simulated");
    assert_string_equal(w.device->toolkit, "CUDA"); /* 13 from driver 580 on */
    assert_int_equal(w.device->toolkit_major, 13);
    const struct rec_gpu *g = &w.device->gpus[2].info;
    assert_null(w.device->gpus[2].fault);
    assert_string_equal(g->uuid, "GPU-00000002-0000-0000-0000-000000000053");
    assert_string_equal(g->name, "Simulated H200");
    assert_string_equal(g->pci, "00000000:37:00.0");
    assert_string_equal(g->instant_source, "field 186 scope 0");
    assert_int_equal(g->index, 2);
    assert_int_equal(g->power_limit_mw, 700000);
    assert_int_equal(g->power_limit_min_mw, 200000);
    assert_int_equal(g->partitioned, 0);
    assert_int_equal(g->architecture, 9);
    assert_int_equal(g->memory_total_bytes, 150754820096);
    simulated_close(&w);
}

static int32_t power(struct simulated *w, uint32_t gpu)
{
    int32_t mw = -7;
    assert_int_equal(w->device->ops->power(w->device->self, gpu, &mw), READ_OK);
    return mw;
}

static int64_t energy(struct simulated *w, uint32_t gpu)
{
    int64_t mj = -7;
    assert_int_equal(w->device->ops->energy(w->device->self, gpu, &mj), READ_OK);
    return mj;
}

/* 700 W from 10.000 s to 10.300 s, idle around it. */
static void samples_follow_the_steps(void **state)
{
    (void)state;
    struct simulated w;
    world_open(&w, "1", "");
    int64_t t0 = w.state->created_ns;
    sim_step_add(w.state, 0, t0 + 10 * SECOND, 700000);
    sim_step_add(w.state, 0, t0 + 10 * SECOND + 300000000, SIM_IDLE_MW);
    /* 78.5 W for 10 s and 0.7 s, 700 W for 0.3 s */
    assert_close(sim_energy_mj(w.state, 0, t0, t0 + 11 * SECOND), 78500 * 10.7 + 700000 * 0.3, 1e-3);
    assert_int_equal(sim_power_mw(w.state, 0, t0 + 10 * SECOND), 700000);
    assert_int_equal(sim_power_mw(w.state, 0, t0 + 10 * SECOND - 1), SIM_IDLE_MW);
    at(&w, 5);
    int64_t before_mj = energy(&w, 0);
    assert_close(power(&w, 0), 78500, 1200);
    at(&w, 10.15); /* the newest value is that of 10.1 s, of a window of 25 ms */
    assert_close(power(&w, 0), 700000, 1200);
    at(&w, 10.09); /* the newest value is that of 10.0 s, before the step */
    assert_close(power(&w, 0), 78500, 1200);
    at(&w, 15);
    int64_t after_mj = energy(&w, 0);
    /* Two samples of a stair of 100.06 ms: each is up to one step behind, all of it idle here. */
    double expected_mj = 78500 * 9.7 + 700000 * 0.3;
    assert_close((double)(after_mj - before_mj), expected_mj, 78500 * 0.101);
    simulated_close(&w);
}

static void the_buffer_gives_each_sample_once(void **state)
{
    (void)state;
    struct simulated w;
    world_open(&w, "1", "");
    struct rec_buffer samples[DEVICE_BUFFER_MAX], more[DEVICE_BUFFER_MAX];
    size_t n = 0, m = 0;
    at(&w, 20);
    assert_int_equal(w.device->ops->buffer(w.device->self, 0, 0, samples, &n), READ_OK);
    assert_int_equal(n, 119);
    assert_int_equal(samples[118].realtime_us - samples[0].realtime_us, 118 * 20000);
    assert_int_equal(w.device->ops->buffer(w.device->self, 0, samples[118].realtime_us, more, &m), READ_OK);
    assert_int_equal(m, 0);
    at(&w, 21);
    assert_int_equal(w.device->ops->buffer(w.device->self, 0, samples[118].realtime_us, more, &m), READ_OK);
    assert_int_equal(m, 50);
    assert_int_equal(more[0].realtime_us - samples[118].realtime_us, 20000);
    double sum = 0, square = 0;
    for (size_t i = 0; i < 118; i++) { /* whole pairs: the noise sums to zero */
        sum += samples[i].mw - SIM_IDLE_MW;
        square += pow(samples[i].mw - SIM_IDLE_MW, 2);
    }
    assert_close(sum / 118, 0, 12);
    assert_close(sqrt(square / 118), 300, 90);
    simulated_close(&w);
}

static void a_counter_read_takes_some_ms(void **state)
{
    (void)state;
    struct simulated w;
    world_open(&w, "1", "");
    at(&w, 1);
    int64_t begin_ns = w.time();
    energy(&w, 0);
    assert_in_range(w.time() - begin_ns, 3500000, 18000000);
    begin_ns = w.time();
    power(&w, 0);
    assert_int_equal(w.time(), begin_ns);
    simulated_close(&w);
}

static void processes_and_memory_are_read(void **state)
{
    (void)state;
    struct simulated w;
    struct device_process list[DEVICE_PROCESSES_MAX];
    struct rec_gpu_state s;
    size_t n = 9;
    world_open(&w, "2", "stride32:1");
    int64_t me = getpid(), parent = getppid();
    for (uint32_t gpu = 0; gpu < 2; gpu++) {
        assert_true(sim_process_set(w.state, gpu, me, 1000 << 20));
        assert_true(sim_process_set(w.state, gpu, parent, 0));
        assert_true(sim_process_set(w.state, gpu, me, 2000 << 20));
        assert_int_equal(w.device->ops->processes(w.device->self, gpu, list, &n), READ_OK);
        assert_int_equal(n, 2); /* with entries of 24 bytes and of 32 */
        assert_int_equal(list[0].pid, me);
        assert_int_equal(list[0].memory_bytes, 2000 << 20);
        assert_int_equal(list[1].pid, parent);
        assert_int_equal(list[1].memory_bytes, 0);
    }
    sim_utilisation_set(w.state, 0, 97);
    assert_int_equal(w.device->ops->state(w.device->self, 0, &s), READ_OK);
    assert_int_equal(s.memory_used_bytes, (615ll + 2000) << 20);
    assert_int_equal(s.utilisation, 97);
    assert_int_equal(s.sm_mhz, 1980);
    assert_int_equal(s.slowdowns, 0);
    /* A process that is gone is let go of, with its memory; no process has this id. */
    assert_true(sim_process_set(w.state, 1, 4194303, 5 << 20));
    sim_process_remove(w.state, 1, me);
    sim_process_remove(w.state, 1, parent);
    assert_int_equal(w.device->ops->processes(w.device->self, 1, list, &n), READ_OK);
    assert_int_equal(n, 0);
    assert_int_equal(w.device->ops->state(w.device->self, 1, &s), READ_OK);
    assert_int_equal(s.memory_used_bytes, 615ll << 20);
    simulated_close(&w);
}

/* What the R535 guard sees: entries 32 bytes apart, with four more fields after those of 24. */
static void a_wrong_stride_is_seen(void **state)
{
    (void)state;
    struct {
        struct nvml_process2 p;
        uint64_t more;
    } wide[3] = {{{100, 5, UINT32_MAX, UINT32_MAX}, 0},
                 {{200, UINT64_MAX, UINT32_MAX, UINT32_MAX}, 0},
                 {{300, 7, UINT32_MAX, UINT32_MAX}, UINT64_MAX}};
    assert_true(nvml_processes_plausible(wide, 3, 32, 1000));
    assert_false(nvml_processes_plausible(wide, 3, 24, 1000));
    assert_true(nvml_processes_plausible(wide, 1, 24, 1000));
    assert_false(nvml_processes_plausible(wide, 3, 32, 6)); /* 7 bytes of 6 */
    struct nvml_process2 narrow[2] = {{100, 5, UINT32_MAX, UINT32_MAX}, {200, 6, 3, 0}};
    assert_true(nvml_processes_plausible(narrow, 1, 24, 0));
    assert_false(nvml_processes_plausible(narrow, 2, 24, 0)); /* a MIG instance, though MIG is off */
}

/* A field that answers 0 mW with success is not a sample: PowerUsage stands in, and says so. */
static void a_field_of_zeros_is_not_taken(void **state)
{
    (void)state;
    struct simulated w;
    int32_t mw = 0;
    world_open(&w, "2", "zero_field186:1");
    assert_string_equal(w.device->gpus[0].info.instant_source, "field 186 scope 0");
    assert_string_equal(w.device->gpus[1].info.instant_source, "power_usage");
    at(&w, 4);
    assert_int_equal(w.device->ops->power(w.device->self, 1, &mw), READ_OK);
    assert_true(mw > 70000);
    simulated_close(&w);
}

static void faults_are_told(void **state)
{
    (void)state;
    struct simulated w;
    int32_t mw = -7;
    int64_t mj = -7;
    size_t n = 9;
    struct rec_buffer samples[DEVICE_BUFFER_MAX];
    struct device_process list[DEVICE_PROCESSES_MAX];
    world_open(&w, "3",
               "lost:0@5s,missed:1@5+1,no_counter:1,no_buffer:1,no_processes:1,counter_back:2@5,no_field186:2");
    const struct device_ops *o = w.device->ops;
    void *d = w.device->self;
    assert_string_equal(w.device->gpus[2].info.instant_source, "power_usage");
    at(&w, 4);
    assert_int_equal(o->power(d, 0, &mw), READ_OK);
    int64_t before_mj = energy(&w, 2);
    at(&w, 5);
    mw = -7;
    assert_int_equal(o->power(d, 0, &mw), READ_LOST);
    assert_int_equal(mw, -7);
    assert_non_null(strstr(o->fault(d, 0),
                           "GPU 0 (GPU-00000000-0000-0000-0000-000000000051): power could not be read: the GPU has "
                           "fallen off the bus"));
    assert_int_equal(o->power(d, 1, &mw), READ_MISSED);
    assert_true(energy(&w, 2) < before_mj);
    at(&w, 6);
    assert_int_equal(o->power(d, 1, &mw), READ_OK);
    assert_int_equal(o->energy(d, 1, &mj), READ_UNSUPPORTED);
    assert_int_equal(o->buffer(d, 1, 0, samples, &n), READ_UNSUPPORTED);
    assert_int_equal(o->processes(d, 1, list, &n), READ_UNSUPPORTED);
    assert_int_equal(mj, -7);
    assert_int_equal(n, 9);
    simulated_close(&w);
}

static void expect_no_device(const char *path, const char *fault, const char *const *words)
{
    struct err e = {0};
    struct device *d = NULL;
    setenv("JTOK_SIM_FAULT", fault, 1);
    assert_false(device_open(&(struct plan_power){.library = path}, &d, &e));
    assert_null(d);
    assert_int_equal(e.kind, ERR_DEVICE);
    for (; *words; words++)
        assert_non_null(strstr(e.text, *words));
}

static void no_driver_says_what_to_do(void **state)
{
    (void)state;
    expect_no_device("/nowhere/libnvidia-ml.so.1", "",
                     (const char *[]){"/nowhere/libnvidia-ml.so.1", "power.library", NULL});
    expect_no_device(library, "no_driver", (const char *[]){"kernel driver is not loaded", "modprobe nvidia", NULL});
    expect_no_device(library, "version_mismatch", (const char *[]){"upgraded", "reboot", NULL});
    expect_no_device("libc.so.6", "", (const char *[]){"not a usable NVML library", "nvml", NULL});
    setenv("JTOK_NVML", "/nowhere/too.so", 1);
    expect_no_device(NULL, "", (const char *[]){"/nowhere/too.so", "JTOK_NVML", NULL});
    unsetenv("JTOK_NVML");
}

/* Each code that a sample can give has its own sentence, and the codes that end a run are lost. */
static void codes_are_mapped(void **state)
{
    (void)state;
    assert_int_equal(nvml_code_status(NVML_SUCCESS), READ_OK);
    assert_int_equal(nvml_code_status(NVML_GPU_IS_LOST), READ_LOST);
    assert_int_equal(nvml_code_status(NVML_OPERATING_SYSTEM), READ_LOST);
    assert_int_equal(nvml_code_status(NVML_NOT_SUPPORTED), READ_UNSUPPORTED);
    assert_int_equal(nvml_code_status(NVML_UNKNOWN), READ_MISSED);
    assert_int_equal(nvml_code_status(NVML_NO_DATA), READ_MISSED);
    assert_non_null(strstr(nvml_code_text(NVML_NO_PERMISSION), "/dev/nvidia"));
}

static void a_child_sees_the_gpus_by_uuid_or_number(void **state)
{
    (void)state;
    struct simulated w;
    struct arena a = {0};
    struct field_pair variables[DEVICE_VARIABLES_MAX];
    world_open(&w, "3", "");
    size_t n = w.device->ops->environment(w.device->self, (const uint32_t[]){2, 0}, 2, GPU_NAMES_UUID, &a, variables);
    assert_int_equal(n, 2);
    assert_string_equal(variables[0].name, "CUDA_VISIBLE_DEVICES");
    assert_string_equal(variables[0].value,
                        "GPU-00000002-0000-0000-0000-000000000053,GPU-00000000-0000-0000-0000-000000000051");
    assert_string_equal(variables[1].name, "CUDA_DEVICE_ORDER");
    assert_string_equal(variables[1].value, "PCI_BUS_ID");
    w.device->ops->environment(w.device->self, (const uint32_t[]){2, 0}, 2, GPU_NAMES_INDEX, &a, variables);
    assert_string_equal(variables[0].value, "2,0"); /* of the order that the second variable asks for */
    assert_string_equal(variables[1].value, "PCI_BUS_ID");
    arena_done(&a);
    simulated_close(&w);
}

static void a_split_gpu_says_how_to_make_it_whole(void **state)
{
    (void)state;
    struct simulated w;
    world_open(&w, "2", "mig:1");
    assert_true(device_gpu_usable(&w.device->gpus[0]));
    assert_null(device_gpu_blocked(&w.device->gpus[0]));
    assert_false(device_gpu_usable(&w.device->gpus[1]));
    assert_int_equal(w.device->gpus[1].info.partitioned, 1);
    assert_string_equal(device_gpu_blocked(&w.device->gpus[1])->command, "nvidia-smi -i 1 -mig 0");
    simulated_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_change_is_read),
        cmocka_unit_test(samples_follow_the_steps),
        cmocka_unit_test(the_buffer_gives_each_sample_once),
        cmocka_unit_test(a_counter_read_takes_some_ms),
        cmocka_unit_test(processes_and_memory_are_read),
        cmocka_unit_test(a_wrong_stride_is_seen),
        cmocka_unit_test(a_field_of_zeros_is_not_taken),
        cmocka_unit_test(faults_are_told),
        cmocka_unit_test(no_driver_says_what_to_do),
        cmocka_unit_test(codes_are_mapped),
        cmocka_unit_test(a_child_sees_the_gpus_by_uuid_or_number),
        cmocka_unit_test(a_split_gpu_says_how_to_make_it_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
