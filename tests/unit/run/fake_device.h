/* GPUs that show what a test says: power, memory and processes, without counter and buffer. */
#ifndef JTOK_TESTS_RUN_FAKE_DEVICE_H
#define JTOK_TESTS_RUN_FAKE_DEVICE_H

#include <stdatomic.h>
#include "power/device.h"

enum { FAKE_GPUS = 3, FAKE_PROCESSES = 4 };

struct fake_device {
    struct device device;
    struct device_gpu gpus[FAKE_GPUS];
    _Atomic int32_t mw[FAKE_GPUS]; /* -1: lost */
    _Atomic int64_t memory_bytes[FAKE_GPUS];
    struct device_process processes[FAKE_GPUS][FAKE_PROCESSES]; /* before the sampler begins */
    _Atomic int process_count[FAKE_GPUS];                       /* -1: the list can't be read */
};

static enum read_status fake_power(void *self, uint32_t gpu, int32_t *ret_mw)
{
    struct fake_device *f = self;
    if (f->mw[gpu] < 0)
        return READ_LOST;
    *ret_mw = f->mw[gpu];
    return READ_OK;
}

static enum read_status fake_state(void *self, uint32_t gpu, struct rec_gpu_state *ret_state)
{
    struct fake_device *f = self;
    *ret_state = (struct rec_gpu_state){
        .memory_used_bytes = f->memory_bytes[gpu], .slowdowns = ABSENT_I64, .sm_mhz = -1, .temperature_c = -1};
    return READ_OK;
}

static enum read_status fake_processes(void *self, uint32_t gpu, struct device_process *ret_list, size_t *ret_count)
{
    struct fake_device *f = self;
    if (f->process_count[gpu] < 0)
        return READ_UNSUPPORTED;
    *ret_count = (size_t)f->process_count[gpu];
    for (size_t i = 0; i < *ret_count; i++)
        ret_list[i] = f->processes[gpu][i];
    return READ_OK;
}

static const char *fake_fault(void *self, uint32_t gpu)
{
    (void)self, (void)gpu;
    return "The fake GPU was lost.";
}

static size_t fake_environment(void *self, const uint32_t *gpus, size_t gpu_count, enum gpu_names names,
                               struct arena *a, struct field_pair *ret_variables)
{
    (void)self, (void)gpus, (void)gpu_count, (void)names, (void)a, (void)ret_variables;
    return 0;
}

static void fake_close(void *self)
{
    (void)self;
}

static inline void fake_device_init(struct fake_device *f)
{
    static const struct device_ops ops = {.power = fake_power,
                                          .state = fake_state,
                                          .processes = fake_processes,
                                          .fault = fake_fault,
                                          .environment = fake_environment,
                                          .close = fake_close};
    static const char *const uuids[FAKE_GPUS] = {"GPU-aaaa", "GPU-bbbb", "GPU-cccc"};
    *f = (struct fake_device){.device = {.self = f,
                                         .ops = &ops,
                                         .kind = device_kinds[0],
                                         .gpus = f->gpus,
                                         .gpu_count = FAKE_GPUS,
                                         .library = "fake"}};
    for (int g = 0; g < FAKE_GPUS; g++) {
        f->gpus[g].info = (struct rec_gpu){.uuid = uuids[g], .name = "Fake", .index = g, .instant_source = "fake"};
        f->mw[g] = 80000;
    }
}

#endif
