#include "power/device.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "base/must.h"
#include "power/given.h"
#include "power/nvml_session.h"

/* As recorded on an H200 (METHOD section 2); what a GPU does not have says so when it is read. */
static const struct device_caps caps = {
    .counter_period_ns = 100000000, .buffer_period_ns = 20000000, .buffer_depth = 119};

const char *nvml_code_text(int code)
{
    switch (code) {
    case NVML_UNINITIALIZED:
        return "the NVML session is not open";
    case NVML_INVALID_ARGUMENT:
        return "the driver does not know this sensor";
    case NVML_NOT_SUPPORTED:
        return "the GPU does not have this sensor";
    case NVML_NO_PERMISSION:
        return "no permission: run as a user who may use /dev/nvidia*, or give the container this GPU";
    case NVML_NOT_FOUND:
    case NVML_GPU_NOT_FOUND:
        return "there is no such GPU any more";
    case NVML_INSUFFICIENT_SIZE:
        return "the driver has more to say than fits";
    case NVML_INSUFFICIENT_POWER:
        return "a power cable of the GPU is not connected";
    case NVML_DRIVER_NOT_LOADED:
        return "the NVIDIA kernel driver is not loaded: 'modprobe nvidia', or install the driver of this kernel and "
               "reboot";
    case NVML_TIMEOUT:
        return "the driver did not answer in time";
    case NVML_IRQ_ISSUE:
        return "the kernel has an interrupt problem with the GPU: see 'dmesg'";
    case NVML_LIBRARY_NOT_FOUND:
        return "a library of the driver is missing: install the driver again";
    case NVML_FUNCTION_NOT_FOUND:
        return "the driver is too old for this sensor";
    case NVML_CORRUPTED_INFOROM:
        return "the GPU's inforom is corrupted: see 'nvidia-smi -q'";
    case NVML_GPU_IS_LOST:
        return "the GPU has fallen off the bus: see 'dmesg' for its Xid, then reset it or reboot";
    case NVML_RESET_REQUIRED:
        return "the GPU needs a reset: 'nvidia-smi --gpu-reset', or reboot";
    case NVML_OPERATING_SYSTEM:
        return "the operating system blocked the GPU (in a container often after 'systemctl daemon-reload'): start the "
               "container again";
    case NVML_VERSION_MISMATCH:
        return "the driver's library and kernel module have different versions: the driver was upgraded, so reboot";
    case NVML_IN_USE:
        return "the GPU is in use";
    case NVML_MEMORY:
    case NVML_INSUFFICIENT_RESOURCES:
        return "the driver ran out of memory";
    case NVML_NO_DATA:
        return "the driver has no data yet";
    case NVML_ARGUMENT_VERSION_MISMATCH:
    case NVML_DEPRECATED:
        return "the driver no longer offers this sensor in this form";
    case NVML_NOT_READY:
        return "the driver is not ready yet";
    default:
        return "an error that NVML does not explain";
    }
}

enum read_status nvml_code_status(int code)
{
    switch (code) {
    case NVML_SUCCESS:
        return READ_OK;
    case NVML_INVALID_ARGUMENT:
    case NVML_NOT_SUPPORTED:
    case NVML_FUNCTION_NOT_FOUND:
    case NVML_ARGUMENT_VERSION_MISMATCH:
    case NVML_DEPRECATED:
        return READ_UNSUPPORTED;
    case NVML_UNINITIALIZED:
    case NVML_NO_PERMISSION:
    case NVML_NOT_FOUND:
    case NVML_INSUFFICIENT_POWER:
    case NVML_DRIVER_NOT_LOADED:
    case NVML_IRQ_ISSUE:
    case NVML_GPU_IS_LOST:
    case NVML_RESET_REQUIRED:
    case NVML_OPERATING_SYSTEM:
    case NVML_VERSION_MISMATCH:
    case NVML_GPU_NOT_FOUND:
        return READ_LOST;
    default:
        return READ_MISSED;
    }
}

/* ---- loading ---- */

/* Never the name without a version: that is a link for developers, and sometimes CUDA's stub. */
static const char *const library_places[] = {"libnvidia-ml.so.1",
                                             "/usr/lib64/libnvidia-ml.so.1",
                                             "/usr/lib64/nvidia/libnvidia-ml.so.1",
                                             "/usr/lib/libnvidia-ml.so.1",
                                             "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                                             "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
                                             "/usr/lib/wsl/lib/libnvidia-ml.so.1"};

static bool load_library(struct nvml_session *n, const char *library, struct err *e)
{
    const char *from = "power.library";
    if (!library || !*library) {
        library = getenv("JTOK_NVML");
        from = "JTOK_NVML";
    }
    if (library && *library) {
        n->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (!n->library)
            return err_set(
                e, ERR_DEVICE,
                "The NVML library %s that %s names could not be loaded (%s). Correct the path, or leave it out to "
                "use the driver's own.",
                library, from, dlerror());
        n->device.library = arena_text(&n->arena, library);
        return true;
    }
    for (size_t i = 0; i < sizeof library_places / sizeof *library_places && !n->library; i++) {
        n->library = dlopen(library_places[i], RTLD_NOW | RTLD_LOCAL);
        n->device.library = library_places[i];
    }
    if (n->library)
        return true;
    return err_set(
        e, ERR_DEVICE,
        "No NVIDIA driver: libnvidia-ml.so.1 is not on this machine. Install the driver ('apt install "
        "nvidia-driver' on Debian, 'ubuntu-drivers install' on Ubuntu, NVIDIA's .run file elsewhere) and check "
        "that 'nvidia-smi' works; in a container, start it with the GPUs ('docker run --gpus all'); where the "
        "library lies elsewhere, set JTOK_NVML to its path.");
}

/* The first of `names` that the library has. */
static void *find_symbol(void *library, const char *const *names, size_t count)
{
    void *symbol = NULL;
    for (size_t i = 0; i < count && !symbol; i++)
        symbol = dlsym(library, names[i]);
    return symbol;
}

static bool load_symbols(struct nvml_session *n, struct err *e)
{
    const char *missing = NULL;
#define NVML_LOAD(place, needed, result, arguments, ...)                                                               \
    {                                                                                                                  \
        static const char *const names[] = {__VA_ARGS__};                                                              \
        void *symbol = find_symbol(n->library, names, sizeof names / sizeof *names);                                   \
        memcpy(&n->f.place, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */           \
        if (needed && !symbol)                                                                                         \
            missing = names[0];                                                                                        \
    }
    NVML_FUNCTIONS(NVML_LOAD)
#undef NVML_LOAD
    if (missing)
        return err_set(e, ERR_DEVICE, "%s is not a usable NVML library: it has no %s. Install NVIDIA's driver again.",
                       n->device.library, missing);
    return true;
}

/* ---- what does not change of a GPU ---- */

static const char *short_text(struct nvml_session *n, int code, const char *text)
{
    return code == NVML_SUCCESS ? arena_text(&n->arena, text) : NULL;
}

static int64_t milliwatts(int (*read)(nvml_handle, unsigned *), nvml_handle h)
{
    unsigned value = 0;
    return read && read(h, &value) == NVML_SUCCESS ? (int64_t)value : ABSENT_I64;
}

static void read_limits(struct nvml_session *n, nvml_handle h, struct rec_gpu *info)
{
    unsigned low, high;
    info->power_limit_mw = milliwatts(n->f.limit_enforced, h);
    info->power_limit_default_mw = milliwatts(n->f.limit_default, h);
    if (n->f.limit_range && n->f.limit_range(h, &low, &high) == NVML_SUCCESS) {
        info->power_limit_min_mw = low;
        info->power_limit_max_mw = high;
    }
}

static void advise(struct nvml_session *n, uint32_t gpu)
{
    struct device_gpu *g = &n->device.gpus[gpu];
    struct arena *a = &n->arena;
    if (g->info.partitioned == 1)
        device_advise(
            g, ADVICE_BLOCKS,
            arena_format(a,
                         "GPU %u (%s) is in MIG mode: its power and energy are those of the whole board and can't "
                         "be told apart. Turn MIG off, as root, or choose other GPUs.",
                         gpu, g->info.uuid),
            arena_format(a, "nvidia-smi -i %u -mig 0", gpu));
    else if (g->info.instant_source && strcmp(g->info.instant_source, NVML_SOURCE_USAGE) == 0)
        device_advise(
            g, ADVICE_LIMITS,
            arena_format(
                a,
                "GPU %u does not report its power of the moment (field 186): PowerUsage stands in, on Ampere and "
                "later a mean of one second. A driver of the 535 series or newer has it.",
                gpu),
            NULL);
    if (g->info.persistence == 0)
        device_advise(
            g, ADVICE_NOTE,
            arena_format(
                a,
                "GPU %u is not in persistence mode: while no program uses it the driver switches it off, and "
                "its first readings after that are wrong. jtok keeps it on during a run; turn the mode on to be sure.",
                gpu),
            arena_format(a, "nvidia-smi -i %u -pm 1", gpu));
}

static void read_static(struct nvml_session *n, uint32_t gpu)
{
    struct rec_gpu *info = &n->device.gpus[gpu].info;
    nvml_handle h = n->gpus[gpu].handle;
    char text[128] = "";
    struct nvml_pci pci = {0};
    struct nvml_memory memory = {0};
    unsigned value, pending;
    int mode;
    if (n->f.name)
        info->name = short_text(n, n->f.name(h, text, 96), text);
    if (n->f.pci && n->f.pci(h, &pci) == NVML_SUCCESS)
        info->pci = arena_text(&n->arena, pci.bus_id);
    if (n->f.memory && n->f.memory(h, &memory) == NVML_SUCCESS) {
        info->memory_total_bytes = (int64_t)memory.total;
        n->gpus[gpu].memory_total = memory.total;
    }
    if (n->f.mig && n->f.mig(h, &value, &pending) == NVML_SUCCESS)
        info->partitioned = value != 0;
    if (n->f.persistence && n->f.persistence(h, &mode) == NVML_SUCCESS)
        info->persistence = mode;
    int pending_ecc;
    if (n->f.ecc && n->f.ecc(h, &mode, &pending_ecc) == NVML_SUCCESS) {
        n->device.gpus[gpu].ecc = mode != 0;
        n->device.gpus[gpu].ecc_next = pending_ecc != 0;
    }
    if (n->f.architecture && n->f.architecture(h, &value) == NVML_SUCCESS)
        info->architecture = value;
    read_limits(n, h, info);
    nvml_choose_power(n, gpu);
    n->device.gpus[gpu].caps = caps;
    advise(n, gpu);
}

static void enumerate_one(struct nvml_session *n, uint32_t gpu)
{
    struct device_gpu *g = &n->device.gpus[gpu];
    char uuid[96] = "";
    device_gpu_init(g, gpu);
    int code = n->f.by_index(gpu, &n->gpus[gpu].handle);
    if (code == NVML_SUCCESS)
        code = n->f.uuid(n->gpus[gpu].handle, uuid, sizeof uuid);
    if (code != NVML_SUCCESS) {
        g->fault = arena_format(&n->arena, "GPU %u can't be read: %s (NVML code %d).", gpu, nvml_code_text(code), code);
        return;
    }
    g->info.uuid = arena_text(&n->arena, uuid);
    read_static(n, gpu);
    if (g->info.name && strstr(g->info.name, "Simulated"))
        n->device.simulated = true;
}

/* The first driver that serves each major version of CUDA (NVIDIA, "CUDA Compatibility", minor version compatibility).
 */
static int cuda_of_driver(const char *version)
{
    static const int firsts[][2] = {{580, 13}, {525, 12}, {450, 11}};
    int driver = version ? atoi(version) : 0;
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
        if (driver >= firsts[i][0])
            return firsts[i][1];
    return 0;
}

static bool enumerate(struct nvml_session *n, struct err *e)
{
    char text[80] = "";
    unsigned count = 0;
    if (n->f.driver_version)
        n->device.driver_version = short_text(n, n->f.driver_version(text, sizeof text), text);
    if (n->f.library_version)
        n->device.library_version = short_text(n, n->f.library_version(text, sizeof text), text);
    n->device.toolkit_major = cuda_of_driver(n->device.driver_version);
    n->device.toolkit = n->device.toolkit_major ? "CUDA" : NULL;
    n->device.simulated = n->device.driver_version && strstr(n->device.driver_version, "simulated");
    int code = n->f.count(&count);
    if (code != NVML_SUCCESS)
        return err_set(e, ERR_DEVICE, "NVML could not count the GPUs: %s (code %d).", nvml_code_text(code), code);
    if (count == 0)
        return err_set(
            e, ERR_DEVICE,
            "The NVIDIA driver %s shows no GPU. Check 'nvidia-smi' and 'lspci | grep -i nvidia'; in a container, "
            "start it with the GPUs.",
            n->device.driver_version ? n->device.driver_version : "(version unknown)");
    n->device.gpu_count = count < DEVICE_GPUS_MAX ? count : DEVICE_GPUS_MAX;
    n->device.gpus = arena_array(&n->arena, n->device.gpu_count, sizeof *n->device.gpus);
    for (uint32_t gpu = 0; gpu < n->device.gpu_count; gpu++)
        enumerate_one(n, gpu);
    return true;
}

/* ---- open and close ---- */

static void session_free(struct nvml_session *n)
{
    if (n->library)
        dlclose(n->library);
    arena_done(&n->arena);
    free(n);
}

static bool session_open(const char *library, struct device **ret_device, struct err *e)
{
    struct nvml_session *n = mem_zero(1, sizeof *n);
    n->device.self = n;
    n->device.ops = &nvml_ops;
    if (!load_library(n, library, e) || !load_symbols(n, e)) {
        session_free(n);
        return false;
    }
    int code = n->f.init();
    if (code != NVML_SUCCESS) {
        err_set(e, ERR_DEVICE, "NVML (%s) could not be opened: %s (code %d).", n->device.library, nvml_code_text(code),
                code);
        session_free(n);
        return false;
    }
    if (!enumerate(n, e)) {
        nvml_session_close(n);
        return false;
    }
    *ret_device = &n->device;
    return true;
}

void nvml_session_close(void *self)
{
    struct nvml_session *n = self;
    must(n && n->library);
    n->f.shutdown();
    session_free(n);
}

/* CUDA's own word comes first: Slurm's and a container's are what it was made from. */
static const struct given_variable given[] = {
    {"CUDA_VISIBLE_DEVICES", GIVEN_TO_PROCESS},
    {"GPU_DEVICE_ORDINAL", GIVEN_TO_PROCESS},
    {"SLURM_STEP_GPUS", GIVEN_ON_NODE},
    {"SLURM_JOB_GPUS", GIVEN_ON_NODE},
    {"NVIDIA_VISIBLE_DEVICES", GIVEN_TO_CONTAINER},
    {NULL, GIVEN_TO_PROCESS},
};

const struct device_kind nvml_kind = {.name = "NVML",
                                      .file = "libnvidia-ml",
                                      .tool = "nvidia-smi",
                                      .partition = "MIG",
                                      .given = given,
                                      .order = {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                                      .open = session_open};
