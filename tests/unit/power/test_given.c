/* Which GPUs schedulers, CUDA's variables and containers give to a process. Right values are CUDA's and Slurm's rules.
 */
#include "check.h"

#include "power/given.h"
#include "power/nvml_session.h"

enum { BOARDS = 4 };
static struct device_gpu gpus[BOARDS] = {
    {.info = {.index = 0, .uuid = "GPU-aaaa1111-0000-0000-0000-000000000000", .name = "H200"}},
    {.info = {.index = 1, .uuid = "GPU-aaaa2222-0000-0000-0000-000000000000", .name = "H200"}},
    {.info = {.index = 2, .uuid = "GPU-bbbb3333-0000-0000-0000-000000000000", .name = "H200"}},
    {.info = {.index = 3, .uuid = "GPU-cccc4444-0000-0000-0000-000000000000", .name = "H200"}},
};

struct given_case {
    size_t here; /* GPUs of this machine */
    const char *variables[3];
    const char *variable; /* that decides; null: none */
    const char *list;     /* places; "" with a lack */
    const char *lack;     /* a part of it; null: none */
};

#define AAAA2 "GPU-aaaa2222-0000-0000-0000-000000000000"
#define CUDA  "CUDA_VISIBLE_DEVICES"

static const struct given_case cases[] = {
    {4, {NULL}, NULL, "0123", NULL},
    {4, {"OTHER=1"}, NULL, "0123", NULL},
    {4, {CUDA "=1"}, CUDA, "1", NULL},
    {4, {CUDA "=3,1"}, CUDA, "31", NULL}, /* in the order named */
    {4, {CUDA "= 2 , 0 "}, CUDA, "20", NULL},
    {4, {CUDA "=" AAAA2}, CUDA, "1", NULL},
    {4, {CUDA "=GPU-bbbb,GPU-aaaa1"}, CUDA, "20", NULL},
    {4, {CUDA "=1,1"}, CUDA, "1", NULL},
    /* CUDA: what stands behind -1, or behind any entry that is not there, can't be seen. */
    {4, {CUDA "=1,-1,2"}, CUDA, "1", NULL},
    {4, {CUDA "=1,9,2"}, CUDA, "1", NULL},
    {4, {CUDA "=1,GPU-dddd,2"}, CUDA, "1", NULL},
    {4, {CUDA "=1,,2"}, CUDA, "1", NULL},
    {4, {CUDA "=0-2"}, CUDA, "", "gives jtok none of the 4 GPUs"}, /* no range, to CUDA */
    {4, {CUDA "=-1"}, CUDA, "", "is \"-1\", which gives jtok none"},
    {4, {CUDA "="}, CUDA, "", "is \"\", which gives jtok none"},
    {1, {CUDA "=NoDevFiles"}, CUDA, "", "none of the 1 GPU of this machine"},
    {4, {CUDA "=7"}, CUDA, "", "name a GPU with --gpus"},
    {4, {CUDA "=GPU-aaaa"}, CUDA, "", "none"}, /* fits two */
    {4, {CUDA "=MIG-1234-5678"}, CUDA, "", "gives MIG-1234-5678, a part of a GPU"},
    {4, {CUDA "=0,MIG-GPU-aaaa1111/3/0"}, CUDA, "0", "a part of a GPU"},
    {4, {"GPU_DEVICE_ORDINAL=2"}, "GPU_DEVICE_ORDINAL", "2", NULL},
    /* The nearest word counts. */
    {4, {"SLURM_JOB_GPUS=3", CUDA "=1"}, CUDA, "1", NULL},
    {4, {"SLURM_JOB_GPUS=3", "SLURM_STEP_GPUS=2"}, "SLURM_STEP_GPUS", "2", NULL},
    {4, {"NVIDIA_VISIBLE_DEVICES=all", CUDA "=2"}, CUDA, "2", NULL},
    /* Numbers of the node: as they are where all GPUs are seen; where a cgroup shows as many as are named, those. */
    {4, {"SLURM_JOB_GPUS=3,1"}, "SLURM_JOB_GPUS", "31", NULL},
    {4, {"SLURM_JOB_GPUS=1-3"}, "SLURM_JOB_GPUS", "123", NULL},
    {1, {"SLURM_JOB_GPUS=3"}, "SLURM_JOB_GPUS", "0", NULL},
    {2, {"SLURM_JOB_GPUS=1,3"}, "SLURM_JOB_GPUS", "01", NULL},
    {2, {"SLURM_JOB_GPUS=4-5"}, "SLURM_JOB_GPUS", "01", NULL},
    {3, {"SLURM_JOB_GPUS=1,5"}, "SLURM_JOB_GPUS", "1", "it is not known which of them it means"},
    {3, {"SLURM_JOB_GPUS=7"}, "SLURM_JOB_GPUS", "", "none of the 3"},
    {4, {"SLURM_JOB_GPUS="}, NULL, "0123", NULL},
    /* A container shows what it was given. */
    {2, {"NVIDIA_VISIBLE_DEVICES=all"}, NULL, "01", NULL},
    {2, {"NVIDIA_VISIBLE_DEVICES=none"}, NULL, "01", NULL},
    {2, {"NVIDIA_VISIBLE_DEVICES=void"}, NULL, "01", NULL},
    {2, {"NVIDIA_VISIBLE_DEVICES="}, NULL, "01", NULL},
    {2, {"NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices"}, NULL, "01", NULL},
    {4, {"NVIDIA_VISIBLE_DEVICES=" AAAA2}, "NVIDIA_VISIBLE_DEVICES", "1", NULL},
    {4, {"NVIDIA_VISIBLE_DEVICES=GPU-ffff0000," AAAA2}, "NVIDIA_VISIBLE_DEVICES", "1", NULL}, /* only what is there */
    {1, {"NVIDIA_VISIBLE_DEVICES=5"}, "NVIDIA_VISIBLE_DEVICES", "0", NULL},
    {2, {"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=3"}, "NVIDIA_VISIBLE_DEVICES", "01", NULL},
    {2, {"NVIDIA_VISIBLE_DEVICES=MIG-1"}, "NVIDIA_VISIBLE_DEVICES", "", "a part of a GPU"},
};

static void what_was_given_is_found(void **state)
{
    (void)state;
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct given_case *c = &cases[i];
        struct device d = {.kind = &nvml_kind, .gpus = gpus, .gpu_count = c->here};
        struct gpus_given g;
        char list[DEVICE_GPUS_MAX + 1] = "";
        device_given(&d, c->variables, &a, &g);
        for (size_t k = 0; k < g.count; k++)
            list[k] = (char)('0' + g.list[k]);
        bool same = !c->variable ? !g.variable : g.variable && strcmp(g.variable, c->variable) == 0;
        bool lack = !c->lack ? !g.lack : g.lack && strstr(g.lack, c->lack);
        if (!same || strcmp(list, c->list) != 0 || !lack)
            fail_msg("%s: %s gives \"%s\", %s", c->variables[0] ? c->variables[0] : "nothing",
                     g.variable ? g.variable : "nobody", list, g.lack ? g.lack : "no lack");
        assert_true(g.count > 0 || g.lack);
    }
    arena_done(&a);
}

/* CUDA counts by speed unless told otherwise, which matters only where boards differ and numbers are used. */
static void numbers_are_doubted_where_boards_differ(void **state)
{
    (void)state;
    struct arena a = {0};
    struct device_gpu mixed[2] = {gpus[0], gpus[1]};
    struct device d = {.kind = &nvml_kind, .gpus = mixed, .gpu_count = 2};
    struct gpus_given g;
    const char *numbers[] = {CUDA "=1", NULL}, *uuid[] = {CUDA "=" AAAA2, NULL};
    const char *ordered[] = {CUDA "=1", "CUDA_DEVICE_ORDER=PCI_BUS_ID", NULL};
    const char *by_speed[] = {CUDA "=1", "CUDA_DEVICE_ORDER=FASTEST_FIRST", NULL};
    device_given(&d, numbers, &a, &g);
    assert_null(g.doubt);
    mixed[1].info.name = "L4";
    device_given(&d, numbers, &a, &g);
    assert_non_null(strstr(g.doubt, "without CUDA_DEVICE_ORDER=PCI_BUS_ID they are counted by speed"));
    device_given(&d, by_speed, &a, &g);
    assert_non_null(g.doubt);
    device_given(&d, ordered, &a, &g);
    assert_null(g.doubt);
    device_given(&d, uuid, &a, &g);
    assert_null(g.doubt);
    arena_done(&a);
}

static void a_list_means_the_same_gpus_or_not(void **state)
{
    (void)state;
    struct device d = {.kind = &nvml_kind, .gpus = gpus, .gpu_count = BOARDS};
    const uint32_t two[] = {1, 3};
    static const char *const same[] = {"1,3", "3,1", "GPU-aaaa2,GPU-cccc", AAAA2 ",3", "1, 3", "1,3,1"};
    static const char *const other[] = {"1", "1,2", "1,3,0", "", "1,3,-1", "1,9", "GPU-aaaa,3", "1,MIG-3", "all"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!device_names_same(&d, same[i], two, 2))
            fail_msg("%s", same[i]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (device_names_same(&d, other[i], two, 2))
            fail_msg("%s", other[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_given_is_found),
                                       cmocka_unit_test(numbers_are_doubted_where_boards_differ),
                                       cmocka_unit_test(a_list_means_the_same_gpus_or_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
