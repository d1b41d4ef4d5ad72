/* A second device library: a row of its own with other abilities, opened through the registry and recorded by the same
 * sampler, in real time. Its board draws 100 W for ever; its counter has a new value each 10 ms; it has no buffer. */
#include "check.h"

#include "base/clock.h"
#include "collect.h"
#include "power/probe.h"
#include "power/sampler.h"

#define MS INT64_C(1000000)

enum { BOARD_MW = 100000, COUNTER_STEP_MS = 10 };

static enum read_status power(void *self, uint32_t gpu, int32_t *ret_mw)
{
    (void)self;
    (void)gpu;
    *ret_mw = BOARD_MW;
    return READ_OK;
}

/* 100 W for 10 ms are 1000 mJ. */
static enum read_status energy(void *self, uint32_t gpu, int64_t *ret_mj)
{
    (void)self;
    (void)gpu;
    *ret_mj = clock_now_ns() / (COUNTER_STEP_MS * MS) * 1000;
    return READ_OK;
}

static enum read_status state_of(void *self, uint32_t gpu, struct rec_gpu_state *ret_state)
{
    (void)self;
    (void)gpu;
    ret_state->slowdowns = SLOWDOWN_POWER_CAP;
    return READ_OK;
}

static enum read_status processes(void *self, uint32_t gpu, struct device_process *ret_list, size_t *ret_count)
{
    (void)self;
    (void)gpu;
    (void)ret_list;
    *ret_count = 0;
    return READ_OK;
}

static const char *fault(void *self, uint32_t gpu)
{
    (void)self;
    (void)gpu;
    return "Nothing ever fails here.";
}

static size_t environment(void *self, const uint32_t *gpus, size_t gpu_count, enum gpu_names names, struct arena *a,
                          struct field_pair *ret_variables)
{
    (void)self, (void)names;
    const char *list = "";
    for (size_t i = 0; i < gpu_count; i++)
        list = arena_format(a, "%s%s%u", list, i ? ";" : "", gpus[i]);
    ret_variables[0] = (struct field_pair){"SECOND_DEVICES", list};
    return 1;
}

static int closed;

static void close_device(void *self)
{
    (void)self;
    closed++;
}

static const struct device_ops ops = {.power = power,
                                      .energy = energy,
                                      .state = state_of,
                                      .processes = processes,
                                      .fault = fault,
                                      .environment = environment,
                                      .close = close_device};
static struct device_gpu gpus[] = {
    {.info = {.index = 0, .uuid = "GPU-2nd-0", .instant_source = "socket power"}, .caps = {10 * MS, 0, 0}},
    {.info = {.index = 1, .uuid = "GPU-2nd-1", .instant_source = "socket power"}, .caps = {10 * MS, 0, 0}}};
static struct device second = {.ops = &ops, .gpus = gpus, .gpu_count = 2};

static bool second_open(const char *library, struct device **ret_device, struct err *e)
{
    (void)e;
    second.library = library;
    *ret_device = &second;
    return true;
}

static bool first_open(const char *library, struct device **ret_device, struct err *e)
{
    (void)ret_device;
    return err_set(e, ERR_DEVICE, "The first library %s is not here.", library ? library : "(anywhere)");
}

static bool third_open(const char *library, struct device **ret_device, struct err *e)
{
    (void)library;
    (void)ret_device;
    return err_set(e, ERR_DEVICE, "Nor is the third.");
}

static const struct device_kind first_kind = {.name = "First", .file = "libfirst", .tool = "first", .open = first_open};
static const struct device_kind second_kind = {
    .name = "Second", .file = "libsecond", .tool = "second-info", .open = second_open};
static const struct device_kind third_kind = {.name = "Third", .file = "libthird", .tool = "third", .open = third_open};
static const struct device_kind *const kinds[] = {&first_kind, &second_kind};
static const struct device_kind *const absent_kinds[] = {&first_kind, &third_kind};

static void a_row_is_found_by_its_library(void **state)
{
    (void)state;
    struct err e = {0};
    struct device *d = NULL;
    struct plan_power p = {.library = "/opt/second/libsecond.so.7"};
    assert_ok(device_open_kinds(kinds, 2, &p, &d, &e), e);
    assert_ptr_equal(d->kind, &second_kind);
    assert_string_equal(d->library, "/opt/second/libsecond.so.7");
    int before = closed;
    device_close(d);
    assert_int_equal(closed, before + 1);
    device_close(NULL);

    /* Named by nobody: the first row's. Without a name: the first row that opens. */
    p.library = "/opt/other.so";
    d = NULL;
    assert_false(device_open_kinds(kinds, 2, &p, &d, &e));
    assert_null(d);
    assert_string_equal(e.text, "The first library /opt/other.so is not here.");
    p.library = NULL;
    assert_ok(device_open_kinds(kinds, 2, &p, &d, &e), e);
    assert_ptr_equal(d->kind, &second_kind);
    assert_null(d->library);
    d = NULL;
    assert_false(device_open_kinds(absent_kinds, 2, &p, &d, &e));
    assert_null(d);
    assert_int_equal(e.kind, ERR_DEVICE);
    assert_string_equal(e.text, "The first library (anywhere) is not here. Nor is the third.");
}

/* Grid 100 ms, lead and 1.2 s: what a run writes of a device with other abilities. */
static void the_sampler_records_it(void **state)
{
    (void)state;
    struct err e;
    struct collect c;
    struct record_sink sink = collect_sink(&c);
    struct device *d;
    assert_ok(device_open_kinds(kinds, 2, &(struct plan_power){0}, &d, &e), e);
    uint32_t list[DEVICE_GPUS_MAX];
    size_t count;
    assert_ok(device_select(d, NULL, 0, list, &count, &e), e);
    assert_int_equal(count, 2);
    int64_t origin_ns = clock_now_ns();
    struct sampler_options o = {.gpus = list,
                                .gpu_count = count,
                                .origin_ns = origin_ns,
                                .t0_ns = origin_ns + 200 * MS,
                                .grid_ns = 100 * MS,
                                .stagger_ns = SAMPLER_SPREAD,
                                .sink = &sink};
    struct sampler *s;
    assert_ok(sampler_open(d, &o, &s, &e), e);
    clock_sleep_until_ns(origin_ns + 700 * MS);
    sampler_boundary(s);
    clock_sleep_until_ns(origin_ns + 1200 * MS);
    assert_int_equal(sampler_lost(s), 0);
    sampler_close(s);
    for (size_t gpu = 0; gpu < count; gpu++) {
        const struct rec_gpu *g = &c.gpus[gpu];
        assert_in_range(g->instant_count, 10, 14); /* 11 of the grid, the boundary, and 0.2 s behind it */
        assert_int_equal(g->buffer_count, 0);
        assert_int_equal(g->state[0].slowdowns, SLOWDOWN_POWER_CAP);
        assert_in_range(g->counter_count, 11, 16); /* ten a second from the start on, and at the boundary */
        const struct rec_counter *first = &g->counter[0], *last = &g->counter[g->counter_count - 1];
        double truth_mj = BOARD_MW * (double)(last->t_ns - first->t_ns) / 1e9;
        assert_true(last->t_ns - first->t_ns > 800 * MS);
        assert_close((double)(last->mj - first->mj), truth_mj, 1100); /* a step on either end, and the calls' width */
    }
    /* Told once for each GPU, by the sampler itself. */
    assert_int_equal(c.fact_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(c.facts[i].name, "power.buffer");
        assert_int_equal(c.facts[i].outcome, CHECK_NOT_RECORDED);
        assert_string_equal(c.facts[i].seen, "The device library has no such instrument.");
    }
    collect_done(&c);
    device_close(d);
}

static void doctor_measures_its_instruments(void **state)
{
    (void)state;
    struct err e;
    struct probe p;
    const uint32_t gpu = 1;
    struct device *d;
    assert_ok(device_open_kinds(kinds, 2, &(struct plan_power){0}, &d, &e), e);
    assert_ok(probe_gpus(d, &gpu, 1, 500 * MS, &p, &e), e);
    assert_true(p.counter.supported);
    assert_false(p.buffer.supported);
    assert_int_equal(p.power_mw, BOARD_MW);
    assert_close((double)p.counter.period_ns, COUNTER_STEP_MS * 1e6, 1e6);
    device_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_is_found_by_its_library),
                                       cmocka_unit_test(the_sampler_records_it),
                                       cmocka_unit_test(doctor_measures_its_instruments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
