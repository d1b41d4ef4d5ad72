#include "power/nvml_session.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "base/must.h"

/* No board draws more: a sample above is garbage that came with success. */
enum { POWER_MAX_MW = 20000000, PID_MAX = 1 << 22, PROCESS_STRIDE_MAX = 32 };

static enum read_status nvml_failed(struct nvml_session *n, uint32_t gpu, const char *what, int code)
{
    assert(code != NVML_SUCCESS);
    n->gpus[gpu].what = what;
    n->gpus[gpu].code = code;
    return nvml_code_status(code);
}

/* ---- power ---- */

static bool value_i64(const union nvml_value *v, int type, int64_t *ret_value)
{
    switch (type) {
    case NVML_VALUE_DOUBLE:
        if (!(v->d >= 0 && v->d < 9e18))
            return false;
        *ret_value = (int64_t)v->d;
        return true;
    case NVML_VALUE_UINT:
        *ret_value = v->ui;
        return true;
    case NVML_VALUE_ULONG:
    case NVML_VALUE_ULL:
    case NVML_VALUE_SLL:
        *ret_value = v->sll;
        return true;
    case NVML_VALUE_SINT:
        *ret_value = v->si;
        return true;
    case NVML_VALUE_USHORT:
        *ret_value = v->us;
        return true;
    default:
        return false;
    }
}

static bool power_sane(int64_t mw)
{
    return mw >= 0 && mw <= POWER_MAX_MW;
}

/* The call succeeds when any field was filled in, so the field's own code decides. */
static int read_field_power(struct nvml_session *n, uint32_t gpu, int64_t *ret_mw)
{
    struct nvml_field field = {.id = NVML_FIELD_POWER_INSTANT, .code = NVML_NO_DATA};
    int code = n->f.fields(n->gpus[gpu].handle, 1, &field);
    if (code == NVML_SUCCESS)
        code = field.code;
    if (code == NVML_SUCCESS && !value_i64(&field.value, field.value_type, ret_mw))
        code = NVML_UNKNOWN;
    return code;
}

static int read_power_usage(struct nvml_session *n, uint32_t gpu, int64_t *ret_mw)
{
    unsigned value = 0;
    int code = n->f.power_usage ? n->f.power_usage(n->gpus[gpu].handle, &value) : NVML_FUNCTION_NOT_FOUND;
    if (code == NVML_SUCCESS)
        *ret_mw = value;
    return code;
}

void nvml_choose_power(struct nvml_session *n, uint32_t gpu)
{
    must(gpu < n->device.gpu_count && n->gpus[gpu].handle);
    int64_t mw = 0;
    int code = n->f.fields ? read_field_power(n, gpu, &mw) : NVML_FUNCTION_NOT_FOUND;
    n->gpus[gpu].has_field_power = nvml_code_status(code) != READ_UNSUPPORTED;
    /* Some drivers answer a field that they don't know with 0 and success. No board that is on draws nothing. */
    int64_t usage_mw = 0;
    if (code == NVML_SUCCESS && mw == 0 && read_power_usage(n, gpu, &usage_mw) == NVML_SUCCESS && usage_mw > 0)
        n->gpus[gpu].has_field_power = false;
    struct rec_gpu *info = &n->device.gpus[gpu].info;
    if (n->gpus[gpu].has_field_power)
        info->instant_source = NVML_SOURCE_INSTANT;
    else if (nvml_code_status(read_power_usage(n, gpu, &mw)) != READ_UNSUPPORTED)
        info->instant_source = NVML_SOURCE_USAGE;
}

static enum read_status read_power(void *self, uint32_t gpu, int32_t *ret_mw)
{
    struct nvml_session *n = self;
    assert(gpu < n->device.gpu_count);
    int64_t mw = -1;
    int code = n->gpus[gpu].has_field_power ? read_field_power(n, gpu, &mw) : read_power_usage(n, gpu, &mw);
    if (code == NVML_SUCCESS && !power_sane(mw))
        code = NVML_UNKNOWN;
    if (code != NVML_SUCCESS)
        return nvml_failed(n, gpu, "power", code);
    *ret_mw = (int32_t)mw;
    return READ_OK;
}

static enum read_status read_energy(void *self, uint32_t gpu, int64_t *ret_mj)
{
    struct nvml_session *n = self;
    assert(gpu < n->device.gpu_count);
    unsigned long long mj = 0;
    int code = n->f.energy ? n->f.energy(n->gpus[gpu].handle, &mj) : NVML_FUNCTION_NOT_FOUND;
    if (code == NVML_SUCCESS && mj > INT64_MAX)
        code = NVML_UNKNOWN;
    if (code != NVML_SUCCESS)
        return nvml_failed(n, gpu, "the energy counter", code);
    *ret_mj = (int64_t)mj;
    return READ_OK;
}

/* The driver may give stamps up to and including `after_us` again, and an empty buffer as NOT_FOUND. */
static enum read_status read_buffer(void *self, uint32_t gpu, int64_t after_us, struct rec_buffer *ret_samples,
                                    size_t *ret_count)
{
    struct nvml_session *n = self;
    assert(gpu < n->device.gpu_count);
    struct nvml_sample samples[DEVICE_BUFFER_MAX] = {0};
    unsigned count = DEVICE_BUFFER_MAX;
    int type = NVML_VALUE_UINT;
    int code = n->f.samples ? n->f.samples(n->gpus[gpu].handle, NVML_SAMPLES_TOTAL_POWER, (unsigned long long)after_us,
                                           &type, &count, samples)
                            : NVML_FUNCTION_NOT_FOUND;
    if (code == NVML_NOT_FOUND || code == NVML_NO_DATA) {
        *ret_count = 0;
        return READ_OK;
    }
    if (code != NVML_SUCCESS)
        return nvml_failed(n, gpu, "the power buffer", code);
    size_t kept = 0;
    for (unsigned i = 0; i < count && i < DEVICE_BUFFER_MAX; i++) {
        int64_t mw, us = (int64_t)samples[i].realtime_us;
        if (us <= after_us || !value_i64(&samples[i].value, type, &mw) || !power_sane(mw))
            continue;
        ret_samples[kept++] = (struct rec_buffer){us, (int32_t)mw};
        after_us = us;
    }
    *ret_count = kept;
    return READ_OK;
}

/* ---- what is read beside power ---- */

static int64_t memory_used(struct nvml_session *n, nvml_handle h)
{
    struct nvml_memory memory = {0};
    struct nvml_memory2 memory2 = {.version = NVML_MEMORY2_VERSION};
    if (n->f.memory && n->f.memory(h, &memory) == NVML_SUCCESS)
        return (int64_t)memory.used;
    if (n->f.memory2 && n->f.memory2(h, &memory2) == NVML_SUCCESS)
        return (int64_t)(memory2.used + memory2.reserved);
    return ABSENT_I64;
}

static int32_t temperature(struct nvml_session *n, nvml_handle h)
{
    struct nvml_temperature t = {.version = NVML_TEMPERATURE_VERSION, .sensor = NVML_TEMPERATURE_GPU};
    unsigned celsius;
    if (n->f.temperature_v && n->f.temperature_v(h, &t) == NVML_SUCCESS)
        return t.celsius;
    if (n->f.temperature && n->f.temperature(h, NVML_TEMPERATURE_GPU, &celsius) == NVML_SUCCESS)
        return (int32_t)celsius;
    return -1;
}

/* The record's bits are NVML's own (model/record.h), those of a newer NVML included: they are kept as they came. */
static int64_t slowdowns_of(unsigned long long reasons)
{
    static const struct {
        unsigned long long nvml;
        int64_t neutral;
    } bits[] = {{NVML_REASON_IDLE, SLOWDOWN_IDLE},
                {NVML_REASON_CLOCK_SETTING, SLOWDOWN_CLOCK_SETTING},
                {NVML_REASON_SW_POWER_CAP, SLOWDOWN_POWER_CAP},
                {NVML_REASON_HW_SLOWDOWN, SLOWDOWN_HARDWARE},
                {NVML_REASON_SYNC_BOOST, SLOWDOWN_SYNC},
                {NVML_REASON_SW_THERMAL, SLOWDOWN_THERMAL_SOFTWARE},
                {NVML_REASON_HW_THERMAL, SLOWDOWN_THERMAL_HARDWARE},
                {NVML_REASON_HW_POWER_BRAKE, SLOWDOWN_POWER_BRAKE},
                {NVML_REASON_DISPLAY, SLOWDOWN_DISPLAY}};
    int64_t slowdowns = 0;
    unsigned long long rest = reasons;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        slowdowns |= reasons & bits[i].nvml ? bits[i].neutral : 0;
        rest &= ~bits[i].nvml;
    }
    return slowdowns | (int64_t)(rest & INT64_MAX);
}

static enum read_status read_state(void *self, uint32_t gpu, struct rec_gpu_state *ret_state)
{
    struct nvml_session *n = self;
    assert(gpu < n->device.gpu_count);
    nvml_handle h = n->gpus[gpu].handle;
    struct nvml_utilisation utilisation;
    unsigned long long reasons;
    unsigned mhz;
    ret_state->memory_used_bytes = memory_used(n, h);
    ret_state->temperature_c = temperature(n, h);
    bool known = n->f.utilisation && n->f.utilisation(h, &utilisation) == NVML_SUCCESS;
    ret_state->utilisation = known ? (int32_t)utilisation.gpu : -1;
    known = n->f.reasons && n->f.reasons(h, &reasons) == NVML_SUCCESS;
    ret_state->slowdowns = known ? slowdowns_of(reasons) : ABSENT_I64;
    known = n->f.clock && n->f.clock(h, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS;
    ret_state->sm_mhz = known ? (int32_t)mhz : -1;
    return READ_OK;
}

/* ---- compute processes ---- */

static struct nvml_process2 process_at(const void *list, size_t i, size_t stride)
{
    struct nvml_process2 p = {.gpu_instance = NVML_NO_INSTANCE, .compute_instance = NVML_NO_INSTANCE};
    memcpy(&p, (const char *)list + i * stride, stride < sizeof p ? stride : sizeof p);
    return p;
}

int nvml_processes_plausible(const void *list, size_t count, size_t stride, uint64_t total_bytes)
{
    must(stride >= sizeof(struct nvml_process1) && stride <= PROCESS_STRIDE_MAX);
    for (size_t i = 0; i < count; i++) {
        struct nvml_process2 p = process_at(list, i, stride);
        bool memory = p.memory == NVML_MEMORY_NOT_AVAILABLE || total_bytes == 0 || p.memory <= total_bytes;
        if (p.pid == 0 || p.pid > PID_MAX || !memory || p.gpu_instance != NVML_NO_INSTANCE)
            return 0;
    }
    return 1;
}

static void take_processes(const void *list, size_t count, size_t stride, struct device_process *ret_list)
{
    assert(count <= DEVICE_PROCESSES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct nvml_process2 p = process_at(list, i, stride);
        int64_t memory = p.memory == NVML_MEMORY_NOT_AVAILABLE ? ABSENT_I64 : (int64_t)p.memory;
        ret_list[i] = (struct device_process){p.pid, memory};
    }
}

static enum read_status read_processes(void *self, uint32_t gpu, struct device_process *ret_list, size_t *ret_count)
{
    struct nvml_session *n = self;
    struct nvml_gpu *g = &n->gpus[gpu];
    const struct {
        int (*read)(nvml_handle, unsigned *, void *);
        size_t strides[2];
    } forms[] = {{n->f.processes3, {sizeof(struct nvml_process2), PROCESS_STRIDE_MAX}},
                 {n->f.processes2, {sizeof(struct nvml_process2), 0}},
                 {n->f.processes1, {sizeof(struct nvml_process1), 0}}};
    int code = NVML_FUNCTION_NOT_FOUND;
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        if (!forms[form].read)
            continue;
        uint64_t list[DEVICE_PROCESSES_MAX * PROCESS_STRIDE_MAX / sizeof(uint64_t)] = {0};
        unsigned count = DEVICE_PROCESSES_MAX;
        code = forms[form].read(g->handle, &count, list);
        if (nvml_code_status(code) == READ_UNSUPPORTED)
            continue;
        if (code != NVML_SUCCESS || count > DEVICE_PROCESSES_MAX)
            break;
        for (int i = 0; i < 2 && forms[form].strides[i]; i++) {
            if (!nvml_processes_plausible(list, count, forms[form].strides[i], g->memory_total))
                continue;
            take_processes(list, count, forms[form].strides[i], ret_list);
            *ret_count = count;
            return READ_OK;
        }
        code = NVML_UNKNOWN; /* in no layout that is known: an older form may still be right */
    }
    return nvml_failed(n, gpu, "the list of compute processes", code == NVML_SUCCESS ? NVML_UNKNOWN : code);
}

static const char *last_fault(void *self, uint32_t gpu)
{
    struct nvml_session *n = self;
    struct nvml_gpu *g = &n->gpus[gpu];
    const char *uuid = n->device.gpus[gpu].info.uuid;
    snprintf(g->fault, sizeof g->fault, "GPU %u (%s): %s could not be read: %s (NVML code %d).", gpu,
             uuid ? uuid : "no UUID", g->what ? g->what : "nothing", nvml_code_text(g->code), g->code);
    return g->fault;
}

static size_t make_environment(void *self, const uint32_t *gpus, size_t gpu_count, enum gpu_names names,
                               struct arena *a, struct field_pair *ret_variables)
{
    struct nvml_session *n = self;
    const char *list = "";
    must(gpu_count > 0);
    for (size_t i = 0; i < gpu_count; i++) {
        must(gpus[i] < n->device.gpu_count && n->device.gpus[gpus[i]].info.uuid);
        const char *uuid = n->device.gpus[gpus[i]].info.uuid, *number = arena_format(a, "%u", gpus[i]);
        list = arena_format(a, "%s%s%s", list, i ? "," : "", names == GPU_NAMES_INDEX ? number : uuid);
    }
    ret_variables[0] = (struct field_pair){"CUDA_VISIBLE_DEVICES", list};
    ret_variables[1] = (struct field_pair){"CUDA_DEVICE_ORDER", "PCI_BUS_ID"};
    return 2;
}

const struct device_ops nvml_ops = {.power = read_power,
                                    .energy = read_energy,
                                    .buffer = read_buffer,
                                    .state = read_state,
                                    .processes = read_processes,
                                    .fault = last_fault,
                                    .environment = make_environment,
                                    .close = nvml_session_close};
