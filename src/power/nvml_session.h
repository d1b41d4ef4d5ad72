/* NVML behind the device vtable. Private to src/power. */
#ifndef JTOK_POWER_NVML_SESSION_H
#define JTOK_POWER_NVML_SESSION_H

#include "base/arena.h"
#include "power/device.h"
#include "power/nvml_abi.h"

struct nvml_gpu {
    nvml_handle handle;
    bool has_field_power; /* field 186 answers; else PowerUsage */
    uint64_t memory_total;
    /* Of the last sample that failed: written and read by the thread that reads this GPU. */
    const char *what;
    int code;
    char fault[400];
};

struct nvml_session {
    struct device device;
    void *library;
    struct nvml_table f;
    struct arena arena;
    struct nvml_gpu gpus[DEVICE_GPUS_MAX];
};

/* The instruments that can answer as power now, as rec_gpu.instant_source names them. */
#define NVML_SOURCE_INSTANT "field 186 scope 0"
#define NVML_SOURCE_USAGE   "power_usage"

extern const struct device_kind nvml_kind; /* nvml.c: the row of the registry */
extern const struct device_ops nvml_ops;   /* nvml_read.c */
void nvml_session_close(void *self);

/* What a code means for a person and what to do; static text. */
const char *nvml_code_text(int code);
enum read_status nvml_code_status(int code);

/* Power and its source: called once at open, when nothing else reads the GPU. */
void nvml_choose_power(struct nvml_session *n, uint32_t gpu);

#endif
