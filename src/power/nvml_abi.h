/* What of NVML's binary interface is used: numbers and layouts, on LP64. Private to src/power. */
#ifndef JTOK_POWER_NVML_ABI_H
#define JTOK_POWER_NVML_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct nvml_opaque *nvml_handle; /* as opaque in NVML: the one typedef, for the function types */

enum nvml_code {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_INSUFFICIENT_POWER = 8,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_IRQ_ISSUE = 11,
    NVML_LIBRARY_NOT_FOUND = 12,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_CORRUPTED_INFOROM = 14,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_OPERATING_SYSTEM = 17,
    NVML_VERSION_MISMATCH = 18,
    NVML_IN_USE = 19,
    NVML_MEMORY = 20,
    NVML_NO_DATA = 21,
    NVML_INSUFFICIENT_RESOURCES = 23,
    NVML_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_DEPRECATED = 26,
    NVML_NOT_READY = 27,
    NVML_GPU_NOT_FOUND = 28,
    NVML_UNKNOWN = 999
};

enum { NVML_INIT_NO_GPUS = 1 };
enum { NVML_FIELD_POWER_INSTANT = 186, NVML_FIELD_POWER_AVERAGE = 185 };
enum { NVML_SAMPLES_TOTAL_POWER = 0 };
enum { NVML_CLOCK_SM = 1 };
enum { NVML_TEMPERATURE_GPU = 0 };

/* Why clocks are not at their highest. */
enum nvml_reason {
    NVML_REASON_IDLE = 0x1,
    NVML_REASON_CLOCK_SETTING = 0x2,
    NVML_REASON_SW_POWER_CAP = 0x4,
    NVML_REASON_HW_SLOWDOWN = 0x8,
    NVML_REASON_SYNC_BOOST = 0x10,
    NVML_REASON_SW_THERMAL = 0x20,
    NVML_REASON_HW_THERMAL = 0x40,
    NVML_REASON_HW_POWER_BRAKE = 0x80,
    NVML_REASON_DISPLAY = 0x100
};

enum nvml_value_type {
    NVML_VALUE_DOUBLE,
    NVML_VALUE_UINT,
    NVML_VALUE_ULONG,
    NVML_VALUE_ULL,
    NVML_VALUE_SLL,
    NVML_VALUE_SINT,
    NVML_VALUE_USHORT
};

union nvml_value {
    double d;
    uint32_t ui;
    unsigned long ul;
    uint64_t ull;
    int64_t sll;
    int32_t si;
    uint16_t us;
};

struct nvml_pci {
    char bus_id_legacy[16];
    uint32_t domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct nvml_memory {
    uint64_t total, free, used; /* used includes what the driver reserves */
};

struct nvml_memory2 {
    uint32_t version;
    uint64_t total, reserved, free, used;
};

struct nvml_process1 {
    uint32_t pid;
    uint64_t memory;
};

/* Of both _v2 and _v3. */
struct nvml_process2 {
    uint32_t pid;
    uint64_t memory;
    uint32_t gpu_instance, compute_instance;
};

struct nvml_sample {
    uint64_t realtime_us;
    union nvml_value value;
};

struct nvml_field {
    uint32_t id, scope;
    int64_t realtime_us, latency_us;
    int32_t value_type, code;
    union nvml_value value;
};

struct nvml_utilisation {
    uint32_t gpu, memory;
};

struct nvml_temperature {
    uint32_t version;
    int32_t sensor, celsius;
};

enum { NVML_MEMORY2_VERSION = 0x02000028, NVML_TEMPERATURE_VERSION = 0x0100000c };
/* A process's memory that the driver does not tell, and the instance of a process on a GPU that is not split. */
#define NVML_MEMORY_NOT_AVAILABLE UINT64_MAX
#define NVML_NO_INSTANCE          UINT32_MAX

_Static_assert(sizeof(void *) == 8 && sizeof(unsigned long) == 8, "32-bit NVML returns garbage with success");
_Static_assert(sizeof(union nvml_value) == 8, "NVML's value");
_Static_assert(sizeof(struct nvml_pci) == 68 && offsetof(struct nvml_pci, domain) == 16 &&
                   offsetof(struct nvml_pci, subsystem_id) == 32 && offsetof(struct nvml_pci, bus_id) == 36,
               "NVML's PciInfo, third version");
_Static_assert(sizeof(struct nvml_memory) == 24 && offsetof(struct nvml_memory, used) == 16, "NVML's Memory");
_Static_assert(sizeof(struct nvml_memory2) == 40 && offsetof(struct nvml_memory2, total) == 8 &&
                   offsetof(struct nvml_memory2, used) == 32 &&
                   NVML_MEMORY2_VERSION == (sizeof(struct nvml_memory2) | 2u << 24),
               "NVML's Memory, second version");
_Static_assert(sizeof(struct nvml_process1) == 16 && offsetof(struct nvml_process1, memory) == 8, "NVML's ProcessInfo");
_Static_assert(sizeof(struct nvml_process2) == 24 && offsetof(struct nvml_process2, memory) == 8 &&
                   offsetof(struct nvml_process2, gpu_instance) == 16,
               "NVML's ProcessInfo, second version");
_Static_assert(sizeof(struct nvml_sample) == 16 && offsetof(struct nvml_sample, value) == 8, "NVML's Sample");
_Static_assert(sizeof(struct nvml_field) == 40 && offsetof(struct nvml_field, realtime_us) == 8 &&
                   offsetof(struct nvml_field, value_type) == 24 && offsetof(struct nvml_field, code) == 28 &&
                   offsetof(struct nvml_field, value) == 32,
               "NVML's FieldValue");
_Static_assert(sizeof(struct nvml_utilisation) == 8, "NVML's Utilization");
_Static_assert(sizeof(struct nvml_temperature) == 12 &&
                   NVML_TEMPERATURE_VERSION == (sizeof(struct nvml_temperature) | 1u << 24),
               "NVML's Temperature");

/* Every function that is used: F(place in the table, is it needed, result, arguments, newest name, older names...). The
 * older names have the same prototype; where an older one differs it is an entry of its own. Readings only: no setter
 * is ever resolved. */
#define NVML_FUNCTIONS(F)                                                                                              \
    F(init, 1, int, (void), "nvmlInit_v2", "nvmlInit")                                                                 \
    F(shutdown, 1, int, (void), "nvmlShutdown")                                                                        \
    F(error_string, 0, const char *, (int), "nvmlErrorString")                                                         \
    F(driver_version, 0, int, (char *, unsigned), "nvmlSystemGetDriverVersion")                                        \
    F(library_version, 0, int, (char *, unsigned), "nvmlSystemGetNVMLVersion")                                         \
    F(count, 1, int, (unsigned *), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount")                                      \
    F(by_index, 1, int, (unsigned, nvml_handle *), "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex")      \
    F(uuid, 1, int, (nvml_handle, char *, unsigned), "nvmlDeviceGetUUID")                                              \
    F(name, 0, int, (nvml_handle, char *, unsigned), "nvmlDeviceGetName")                                              \
    F(pci, 0, int, (nvml_handle, struct nvml_pci *), "nvmlDeviceGetPciInfo_v3")                                        \
    F(architecture, 0, int, (nvml_handle, unsigned *), "nvmlDeviceGetArchitecture")                                    \
    F(persistence, 0, int, (nvml_handle, int *), "nvmlDeviceGetPersistenceMode")                                       \
    F(mig, 0, int, (nvml_handle, unsigned *, unsigned *), "nvmlDeviceGetMigMode")                                      \
    F(ecc, 0, int, (nvml_handle, int *, int *), "nvmlDeviceGetEccMode")                                                \
    F(limit_enforced, 0, int, (nvml_handle, unsigned *), "nvmlDeviceGetEnforcedPowerLimit")                            \
    F(limit_default, 0, int, (nvml_handle, unsigned *), "nvmlDeviceGetPowerManagementDefaultLimit")                    \
    F(limit_range, 0, int, (nvml_handle, unsigned *, unsigned *), "nvmlDeviceGetPowerManagementLimitConstraints")      \
    F(energy, 0, int, (nvml_handle, unsigned long long *), "nvmlDeviceGetTotalEnergyConsumption")                      \
    F(power_usage, 0, int, (nvml_handle, unsigned *), "nvmlDeviceGetPowerUsage")                                       \
    F(fields, 0, int, (nvml_handle, int, struct nvml_field *), "nvmlDeviceGetFieldValues")                             \
    F(samples, 0, int, (nvml_handle, int, unsigned long long, int *, unsigned *, struct nvml_sample *),                \
      "nvmlDeviceGetSamples")                                                                                          \
    F(memory, 0, int, (nvml_handle, struct nvml_memory *), "nvmlDeviceGetMemoryInfo")                                  \
    F(memory2, 0, int, (nvml_handle, struct nvml_memory2 *), "nvmlDeviceGetMemoryInfo_v2")                             \
    F(utilisation, 0, int, (nvml_handle, struct nvml_utilisation *), "nvmlDeviceGetUtilizationRates")                  \
    F(clock, 0, int, (nvml_handle, int, unsigned *), "nvmlDeviceGetClockInfo")                                         \
    F(reasons, 0, int, (nvml_handle, unsigned long long *), "nvmlDeviceGetCurrentClocksEventReasons",                  \
      "nvmlDeviceGetCurrentClocksThrottleReasons")                                                                     \
    F(temperature, 0, int, (nvml_handle, int, unsigned *), "nvmlDeviceGetTemperature")                                 \
    F(temperature_v, 0, int, (nvml_handle, struct nvml_temperature *), "nvmlDeviceGetTemperatureV")                    \
    F(processes3, 0, int, (nvml_handle, unsigned *, void *), "nvmlDeviceGetComputeRunningProcesses_v3")                \
    F(processes2, 0, int, (nvml_handle, unsigned *, void *), "nvmlDeviceGetComputeRunningProcesses_v2")                \
    F(processes1, 0, int, (nvml_handle, unsigned *, void *), "nvmlDeviceGetComputeRunningProcesses")

struct nvml_table {
#define NVML_POINTER(place, needed, result, arguments, ...) result(*place) arguments;
    NVML_FUNCTIONS(NVML_POINTER)
#undef NVML_POINTER
};

/* The process list that the driver filled in, entries `stride` bytes apart, as it really is: some R535 drivers wrote
 * entries of 32 bytes where 24 are declared. True when, read at `stride`, every pid is above 0, every memory is within
 * total_bytes or not available, and no instance is named (MIG is off). The array was zeroed before the call. */
int nvml_processes_plausible(const void *list, size_t count, size_t stride, uint64_t total_bytes);

#endif
