/* The simulated libnvidia-ml.so.1: NVML's names over the simulated sensors. Its layouts are declared here anew, not
 * shared with the program, so that a wrong one shows. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "sim.h"

/* The library's functions have no header. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

#define MS INT64_C(1000000)

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID = 2,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    NOT_FOUND = 6,
    TOO_SMALL = 7,
    NO_DRIVER = 9,
    LOST = 15,
    VERSION_MISMATCH = 18,
    UNKNOWN = 999
};

static const uint64_t memory_total = 150754820096, memory_reserved = 615ull << 20;
static const int64_t context_bytes = 553ll << 20;
static const int64_t virtual_offset_ns = INT64_C(1800000000000000000);

/* A C interface without a session argument has to keep one. */
static struct {
    pthread_mutex_t mutex;
    int opened;
    struct sensors sensors;
    int64_t realtime_offset_ns;
    _Atomic int64_t virtual_ns; /* 0: the real clock */
    _Atomic uint64_t calls;
} lib = {.mutex = PTHREAD_MUTEX_INITIALIZER};

struct device {
    uint32_t gpu;
};

static struct device devices[SIM_GPUS_MAX] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};

/* ---- time ---- */

/* For tests: from now on the library's clock (monotonic) stands at t_ns and moves on only by the time that its calls
 * take. 0: back to the real clock. */
EXPORT void jtok_sim_set_time_ns(int64_t t_ns)
{
    atomic_store(&lib.virtual_ns, t_ns);
}

EXPORT int64_t jtok_sim_time_ns(void)
{
    int64_t t_ns = atomic_load(&lib.virtual_ns);
    return t_ns ? t_ns : clock_now_ns();
}

/* Realtime minus monotonic of the stamps. */
EXPORT int64_t jtok_sim_realtime_offset_ns(void)
{
    return atomic_load(&lib.virtual_ns) ? virtual_offset_ns : lib.realtime_offset_ns;
}

/* The state in use; null while no session is open. */
EXPORT struct sim_state *jtok_sim_state(void)
{
    return lib.sensors.state;
}

static void take_time(int64_t ns)
{
    if (atomic_load(&lib.virtual_ns)) {
        atomic_fetch_add(&lib.virtual_ns, ns);
        return;
    }
    clock_sleep_until_ns(clock_now_ns() + ns);
}

/* 3.6 to 4.7 ms, each 211th call 18 ms, as recorded. */
static int64_t counter_call_ns(uint32_t gpu)
{
    uint64_t n = atomic_fetch_add(&lib.calls, 1);
    if (fault_active(&lib.sensors, FAULT_SLOW_COUNTER, gpu, jtok_sim_time_ns()))
        return 40 * MS;
    return n % 211 == 210 ? 18 * MS : 3600000 + (int64_t)(n * 7919 % 1100) * 1000;
}

/* ---- session ---- */

static int session_open(void)
{
    struct err e;
    struct sim_state *state;
    const char *fault = getenv("JTOK_SIM_FAULT"), *replay = getenv("JTOK_SIM_REPLAY");
    const char *offset = getenv("JTOK_SIM_REPLAY_OFFSET");
    if (!faults_parse(&lib.sensors.faults, fault ? fault : "")) {
        fprintf(stderr, "simulated NVML: JTOK_SIM_FAULT=%s is not understood (sim/README.md)\n", fault);
        return INVALID;
    }
    if (fault_active(&lib.sensors, FAULT_NO_DRIVER, 0, 0))
        return NO_DRIVER;
    if (fault_active(&lib.sensors, FAULT_VERSION_MISMATCH, 0, 0))
        return VERSION_MISMATCH;
    if (!sim_state_open(NULL, 0, &state, &e)) {
        fprintf(stderr, "simulated NVML: %s\n", e.text);
        return UNKNOWN;
    }
    if (replay && *replay && !replay_load(state, replay, offset ? strtod(offset, NULL) : 0)) {
        fprintf(stderr, "simulated NVML: JTOK_SIM_REPLAY=%s holds no power samples\n", replay);
        sim_state_close(state);
        return UNKNOWN;
    }
    sensors_init(&lib.sensors, state);
    lib.realtime_offset_ns = clock_pair_read().offset_ns;
    return SUCCESS;
}

EXPORT int nvmlInit_v2(void)
{
    pthread_mutex_lock(&lib.mutex);
    int code = lib.opened ? SUCCESS : session_open();
    lib.opened += code == SUCCESS;
    pthread_mutex_unlock(&lib.mutex);
    return code;
}

EXPORT int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

EXPORT int nvmlShutdown(void)
{
    pthread_mutex_lock(&lib.mutex);
    int code = lib.opened ? SUCCESS : UNINITIALIZED;
    if (lib.opened && --lib.opened == 0) {
        struct sim_state *state = lib.sensors.state;
        sensors_done(&lib.sensors);
        sim_state_close(state);
    }
    pthread_mutex_unlock(&lib.mutex);
    return code;
}

EXPORT const char *nvmlErrorString(int code)
{
    return code == SUCCESS ? "Success" : "Simulated error";
}

static int text_out(char *to, unsigned n, const char *text)
{
    if (strlen(text) + 1 > n)
        return TOO_SMALL;
    memcpy(to, text, strlen(text) + 1);
    return SUCCESS;
}

EXPORT int nvmlSystemGetDriverVersion(char *to, unsigned n)
{
    return text_out(to, n, "580.0-simulated");
}

EXPORT int nvmlSystemGetNVMLVersion(char *to, unsigned n)
{
    return text_out(to, n, "13.580.0-simulated");
}

/* ---- devices ---- */

/* What every call on a device begins with; also lets go of processes that have died. */
static int check(const struct device *d)
{
    if (!lib.sensors.state)
        return UNINITIALIZED;
    if (!d || d->gpu >= lib.sensors.state->gpu_count)
        return INVALID;
    int64_t now_ns = jtok_sim_time_ns();
    if (fault_active(&lib.sensors, FAULT_LOST, d->gpu, now_ns))
        return LOST;
    sim_processes_reap(lib.sensors.state, d->gpu, now_ns);
    return SUCCESS;
}

static bool is_on(enum fault_kind kind, const struct device *d)
{
    return fault_active(&lib.sensors, kind, d->gpu, jtok_sim_time_ns());
}

#define CHECK(d)                                                                                                       \
    do {                                                                                                               \
        int code_ = check(d);                                                                                          \
        if (code_ != SUCCESS)                                                                                          \
            return code_;                                                                                              \
    } while (0)

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    if (!lib.sensors.state)
        return UNINITIALIZED;
    *count = lib.sensors.state->gpu_count;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **d)
{
    if (!lib.sensors.state)
        return UNINITIALIZED;
    if (index >= lib.sensors.state->gpu_count)
        return INVALID;
    if (fault_active(&lib.sensors, FAULT_NO_PERMISSION, index, jtok_sim_time_ns()))
        return NO_PERMISSION;
    *d = &devices[index];
    return SUCCESS;
}

static void uuid_of(uint32_t gpu, char text[48])
{
    snprintf(text, 48, "GPU-%08x-0000-0000-0000-%012x", gpu, 0x51u + gpu);
}

EXPORT int nvmlDeviceGetUUID(struct device *d, char *to, unsigned n)
{
    char text[48];
    CHECK(d);
    uuid_of(d->gpu, text);
    return text_out(to, n, text);
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, struct device **d)
{
    char text[48];
    for (uint32_t gpu = 0; lib.sensors.state && gpu < lib.sensors.state->gpu_count; gpu++) {
        uuid_of(gpu, text);
        if (strcmp(text, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2(gpu, d);
    }
    return lib.sensors.state ? NOT_FOUND : UNINITIALIZED;
}

EXPORT int nvmlDeviceGetIndex(struct device *d, unsigned *index)
{
    CHECK(d);
    *index = d->gpu;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetName(struct device *d, char *to, unsigned n)
{
    CHECK(d);
    return text_out(to, n, "Simulated H200");
}

struct pci {
    char legacy[16];
    uint32_t domain, bus, device, id, subsystem;
    char bus_id[32];
};

EXPORT int nvmlDeviceGetPciInfo_v3(struct device *d, struct pci *pci)
{
    CHECK(d);
    *pci = (struct pci){.bus = 0x17 + d->gpu * 16, .id = 0x233510de};
    snprintf(pci->legacy, sizeof pci->legacy, "0000:%02X:00.0", pci->bus);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetArchitecture(struct device *d, unsigned *architecture)
{
    CHECK(d);
    *architecture = 9;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPersistenceMode(struct device *d, int *mode)
{
    CHECK(d);
    *mode = 1;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetEccMode(struct device *d, int *current, int *pending)
{
    CHECK(d);
    *current = *pending = 1;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMigMode(struct device *d, unsigned *current, unsigned *pending)
{
    CHECK(d);
    *current = *pending = is_on(FAULT_MIG, d);
    return SUCCESS;
}

static int limit_out(struct device *d, unsigned *mw, unsigned value)
{
    CHECK(d);
    *mw = value;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(struct device *d, unsigned *mw)
{
    return limit_out(d, mw, SIM_LIMIT_MW);
}

EXPORT int nvmlDeviceGetPowerManagementLimit(struct device *d, unsigned *mw)
{
    return limit_out(d, mw, SIM_LIMIT_MW);
}

EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(struct device *d, unsigned *mw)
{
    return limit_out(d, mw, SIM_LIMIT_MW);
}

EXPORT int nvmlDeviceGetPowerManagementLimitConstraints(struct device *d, unsigned *low, unsigned *high)
{
    CHECK(d);
    *low = 200000;
    *high = SIM_LIMIT_MW;
    return SUCCESS;
}

/* ---- power ---- */

/* The value is that of the middle of the call. */
EXPORT int nvmlDeviceGetTotalEnergyConsumption(struct device *d, unsigned long long *mj)
{
    CHECK(d);
    if (is_on(FAULT_NO_COUNTER, d))
        return NOT_SUPPORTED;
    int64_t call_ns = counter_call_ns(d->gpu);
    take_time(call_ns / 2);
    *mj = (unsigned long long)sensor_counter_mj(&lib.sensors, d->gpu, jtok_sim_time_ns());
    if (is_on(FAULT_MODULE_COUNTER, d))
        *mj = *mj * 3 / 2;
    take_time(call_ns - call_ns / 2);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPowerUsage(struct device *d, unsigned *mw)
{
    CHECK(d);
    if (is_on(FAULT_MISSED, d))
        return UNKNOWN;
    *mw = (unsigned)sensor_average_mw(&lib.sensors, d->gpu, jtok_sim_time_ns());
    return SUCCESS;
}

struct field {
    uint32_t id, scope;
    int64_t realtime_us, latency_us;
    int32_t type, code;
    uint64_t value; /* little-endian: a narrower member lies at its beginning */
};

enum { TYPE_UINT = 1, TYPE_ULL = 3 };

static void fill_field(struct device *d, struct field *f)
{
    int64_t now_ns = jtok_sim_time_ns();
    f->realtime_us = (now_ns + jtok_sim_realtime_offset_ns()) / 1000;
    f->latency_us = 0;
    f->code = SUCCESS;
    f->type = TYPE_UINT;
    if (f->id == 83) {
        unsigned long long mj = 0;
        f->code = nvmlDeviceGetTotalEnergyConsumption(d, &mj);
        f->type = TYPE_ULL;
        f->value = mj;
    } else if (f->scope != 0 || (f->id != 185 && f->id != 186) || (f->id == 186 && is_on(FAULT_NO_FIELD186, d))) {
        f->code = NOT_SUPPORTED;
    } else if (is_on(FAULT_MISSED, d)) {
        f->code = UNKNOWN;
    } else {
        bool zero = f->id == 186 && is_on(FAULT_ZERO_FIELD186, d);
        f->value = (uint64_t)(zero           ? 0
                              : f->id == 186 ? sensor_instant_mw(&lib.sensors, d->gpu, now_ns)
                                             : sensor_average_mw(&lib.sensors, d->gpu, now_ns));
    }
}

/* Succeeds when any field was filled in, as the real one. */
EXPORT int nvmlDeviceGetFieldValues(struct device *d, int n, struct field *fields)
{
    CHECK(d);
    bool any = false;
    for (int i = 0; i < n; i++) {
        fill_field(d, &fields[i]);
        any |= fields[i].code == SUCCESS;
    }
    return any || n == 0 ? SUCCESS : fields[0].code;
}

struct sample {
    uint64_t realtime_us, value;
};

EXPORT int nvmlDeviceGetSamples(struct device *d, int kind, unsigned long long after_us, int *type, unsigned *count,
                                struct sample *samples)
{
    CHECK(d);
    if (kind != 0 || is_on(FAULT_NO_BUFFER, d))
        return NOT_SUPPORTED;
    take_time(400000);
    int64_t newest = sensor_buffer_newest(&lib.sensors, jtok_sim_time_ns());
    unsigned room = *count, kept = 0;
    *type = TYPE_UINT;
    for (int64_t n = newest - BUFFER_DEPTH + 1; n <= newest; n++) {
        int64_t us = (sensor_buffer_time_ns(&lib.sensors, n) + jtok_sim_realtime_offset_ns()) / 1000;
        if (us <= (int64_t)after_us)
            continue;
        if (samples && kept == room)
            return TOO_SMALL;
        if (samples)
            samples[kept] = (struct sample){(uint64_t)us, (uint64_t)sensor_buffer_mw(&lib.sensors, d->gpu, n)};
        kept++;
    }
    *count = kept;
    return kept ? SUCCESS : NOT_FOUND;
}

/* ---- beside ---- */

struct memory {
    uint64_t total, free, used;
};

struct memory2 {
    uint32_t version;
    uint64_t total, reserved, free, used;
};

static uint64_t memory_used(const struct device *d)
{
    int64_t bytes = atomic_load(&lib.sensors.state->gpus[d->gpu].memory_bytes);
    return (uint64_t)(bytes + (is_on(FAULT_BUSY_PROCESS, d) ? context_bytes : 0));
}

EXPORT int nvmlDeviceGetMemoryInfo(struct device *d, struct memory *m)
{
    CHECK(d);
    uint64_t used = memory_used(d) + memory_reserved;
    *m = (struct memory){memory_total, memory_total - used, used};
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(struct device *d, struct memory2 *m)
{
    CHECK(d);
    uint64_t used = memory_used(d);
    *m = (struct memory2){m->version, memory_total, memory_reserved, memory_total - memory_reserved - used, used};
    return SUCCESS;
}

struct utilisation {
    uint32_t gpu, memory;
};

static bool has_process(const struct device *d)
{
    for (int i = 0; i < SIM_PROCESSES_MAX; i++)
        if (atomic_load(&lib.sensors.state->gpus[d->gpu].pids[i]) != 0)
            return true;
    return is_on(FAULT_BUSY_PROCESS, d);
}

EXPORT int nvmlDeviceGetUtilizationRates(struct device *d, struct utilisation *u)
{
    CHECK(d);
    u->gpu = (uint32_t)atomic_load(&lib.sensors.state->gpus[d->gpu].utilisation);
    u->memory = u->gpu / 2;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetClockInfo(struct device *d, int kind, unsigned *mhz)
{
    CHECK(d);
    *mhz = kind == 2 ? 3201 : has_process(d) ? 1980 : 345;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPerformanceState(struct device *d, int *state)
{
    CHECK(d);
    *state = 0;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(struct device *d, unsigned long long *reasons)
{
    CHECK(d);
    *reasons = has_process(d) ? 0 : 1;
    return SUCCESS;
}

/* 26 degrees and one more for each 18 W, as on the recorded GPU once warm. */
static int celsius(const struct device *d)
{
    return 26 + (int)(sensor_average_mw(&lib.sensors, d->gpu, jtok_sim_time_ns()) / 18000);
}

EXPORT int nvmlDeviceGetTemperature(struct device *d, int sensor, unsigned *t)
{
    CHECK(d);
    if (sensor != 0)
        return INVALID;
    *t = (unsigned)celsius(d);
    return SUCCESS;
}

struct temperature {
    uint32_t version;
    int32_t sensor, celsius;
};

EXPORT int nvmlDeviceGetTemperatureV(struct device *d, struct temperature *t)
{
    CHECK(d);
    if (t->version != 0x0100000c)
        return 25;
    t->celsius = celsius(d);
    return SUCCESS;
}

struct process {
    uint32_t pid;
    uint64_t memory;
    uint32_t gpu_instance, compute_instance;
};

/* The processes of the state, and with FAULT_BUSY_PROCESS process 1 with a bare context. */
static unsigned collect(const struct device *d, struct process list[SIM_PROCESSES_MAX + 1])
{
    const struct sim_gpu *g = &lib.sensors.state->gpus[d->gpu];
    unsigned n = 0;
    for (int i = 0; i < SIM_PROCESSES_MAX; i++) {
        int64_t pid = atomic_load(&g->pids[i]);
        if (pid)
            list[n++] =
                (struct process){(uint32_t)pid, (uint64_t)atomic_load(&g->pid_bytes[i]), UINT32_MAX, UINT32_MAX};
    }
    if (is_on(FAULT_BUSY_PROCESS, d))
        list[n++] = (struct process){1, (uint64_t)context_bytes, UINT32_MAX, UINT32_MAX};
    return n;
}

static int list_processes(struct device *d, unsigned *count, char *to, size_t stride)
{
    struct process list[SIM_PROCESSES_MAX + 1];
    CHECK(d);
    if (is_on(FAULT_NO_PROCESSES, d))
        return NOT_SUPPORTED;
    take_time(1 * MS);
    unsigned n = collect(d, list), room = *count;
    *count = n;
    if (n > room)
        return TOO_SMALL;
    for (unsigned i = 0; i < n; i++) {
        memset(to + i * stride, 0, stride);
        memcpy(to + i * stride, &list[i], sizeof list[i] < stride ? sizeof list[i] : stride);
    }
    return SUCCESS;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct device *d, unsigned *count, void *to)
{
    CHECK(d);
    return list_processes(d, count, to, is_on(FAULT_STRIDE32, d) ? 32 : sizeof(struct process));
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(struct device *d, unsigned *count, void *to)
{
    return list_processes(d, count, to, sizeof(struct process));
}

EXPORT int nvmlDeviceGetComputeRunningProcesses(struct device *d, unsigned *count, void *to)
{
    return list_processes(d, count, to, 16);
}
