#include "check.h"

#include "power/device.h"

static struct device_gpu gpus[] = {
    {.info = {.index = 0,
              .uuid = "GPU-aaaa1111-0000-0000-0000-000000000000",
              .pci = "00000000:17:00.0",
              .partitioned = 0,
              .name = "H200",
              .instant_source = "field 186 scope 0"}},
    {.info = {.index = 1,
              .uuid = "GPU-aaaa2222-0000-0000-0000-000000000000",
              .pci = "00000000:27:00.0",
              .partitioned = 0,
              .name = "H200",
              .instant_source = "field 186 scope 0"}},
    {.info = {.index = 2,
              .uuid = "GPU-bbbb3333-0000-0000-0000-000000000000",
              .pci = "00010000:17:00.0",
              .partitioned = 1,
              .name = "H200",
              .instant_source = "field 186 scope 0"},
     .advice_count = 2,
     .advice = {{ADVICE_NOTE, "GPU 2 is warm.", NULL},
                {ADVICE_BLOCKS, "GPU 2 is in MIG mode. Turn it off.", "nvidia-smi -i 2 -mig 0"}}},
    {.info = {.index = 3}, .fault = "GPU 3 can't be read: no permission."},
    {.info = {.index = 4,
              .uuid = "GPU-cccc4444-0000-0000-0000-000000000000",
              .pci = "00000000:47:00.0",
              .partitioned = ABSENT_I64,
              .name = "Old"}},
};
static const struct device_kind kind = {.name = "NVML", .tool = "nvidia-smi", .partition = "MIG"};
static struct device machine = {.kind = &kind, .gpus = gpus, .gpu_count = 5};

static void expect(const char **names, size_t n, const uint32_t *right, size_t right_count)
{
    struct err e;
    uint32_t list[DEVICE_GPUS_MAX];
    size_t count = 0;
    assert_ok(device_select(&machine, names, n, list, &count, &e), e);
    assert_int_equal(count, right_count);
    assert_memory_equal(list, right, right_count * sizeof *right);
}

static void gpus_are_named_in_many_ways(void **state)
{
    (void)state;
    expect((const char *[]){"1"}, 1, (uint32_t[]){1}, 1);
    expect((const char *[]){"GPU-aaaa2222-0000-0000-0000-000000000000"}, 1, (uint32_t[]){1}, 1);
    expect((const char *[]){"GPU-aaaa2"}, 1, (uint32_t[]){1}, 1);
    expect((const char *[]){"gpu-AAAA2"}, 1, (uint32_t[]){1}, 1);
    expect((const char *[]){"aaaa1"}, 1, (uint32_t[]){0}, 1);
    expect((const char *[]){"0000:27:00.0"}, 1, (uint32_t[]){1}, 1);
    expect((const char *[]){"27:00.0"}, 1, (uint32_t[]){1}, 1);
    expect((const char *[]){"00000000:17:00.0"}, 1, (uint32_t[]){0}, 1);
    expect((const char *[]){"1", "aaaa1", "GPU-aaaa2"}, 3, (uint32_t[]){1, 0}, 2); /* in the order named, once each */
}

static void all_means_every_one(void **state)
{
    (void)state;
    struct device two = {.kind = &kind, .gpus = gpus, .gpu_count = 2};
    struct err e;
    uint32_t list[DEVICE_GPUS_MAX];
    size_t count = 0;
    const char *all[] = {"all"};
    assert_ok(device_select(&two, all, 1, list, &count, &e), e);
    assert_int_equal(count, 2);
    count = 0;
    assert_ok(device_select(&two, NULL, 0, list, &count, &e), e);
    assert_int_equal(count, 2);
}

static void refuse(const char *name, const char *const *words)
{
    struct err e = {0};
    uint32_t list[DEVICE_GPUS_MAX];
    size_t count = 77;
    assert_false(device_select(&machine, &name, 1, list, &count, &e));
    assert_int_equal(e.kind, ERR_DEVICE);
    assert_int_equal(count, 77);
    for (; *words; words++)
        if (!strstr(e.text, *words)) {
            print_error("\"%s\" is not in: %s\n", *words, e.text);
            fail();
        }
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    refuse("7", (const char *[]){"\"7\" does not exist", "1 = GPU-aaaa2222", "at 00000000:27:00.0", NULL});
    refuse("-1", (const char *[]){"does not exist", NULL});
    refuse("GPU-dddd", (const char *[]){"\"GPU-dddd\" does not exist", NULL});
    refuse("aaaa", (const char *[]){"more than one GPU", NULL});
    refuse("GPU-a", (const char *[]){"does not exist", NULL}); /* too short to be meant */
    refuse("17:00.0", (const char *[]){"more than one", NULL});
    refuse("", (const char *[]){"does not exist", NULL});
    refuse("MIG-abc", (const char *[]){"whole board", NULL});
    refuse("2", (const char *[]){"MIG mode", "nvidia-smi -i 2 -mig 0", NULL});
    refuse("3", (const char *[]){"no permission", NULL});
    refuse("4", (const char *[]){"does not report its power", NULL});
    refuse("all", (const char *[]){"MIG mode", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gpus_are_named_in_many_ways),
                                       cmocka_unit_test(all_means_every_one), cmocka_unit_test(what_is_wrong_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
