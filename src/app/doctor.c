#include "app/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/must.h"
#include "base/sort.h"
#include "http/limits.h"
#include "proc/tree.h"
#include "schema/table.h"

/* What a large run asks for: 15 000 streams, each a file and a port. */
enum { STREAMS = 15000, FILES_BESIDE = 200, CLOCK_READS = 10000, WAKES = 20 };
/* No more than 8 of a GPU beside the library's own, and 8 of the machine. */
enum { ADVICE_MAX = (DEVICE_ADVICE_MAX + 8) * DEVICE_GPUS_MAX + 8 };
static const int64_t clock_read_slow_ns = 200, wake_late_slow_ns = 5000000;

/* ---- tables ---- */

static const char *const advice_kind_names[] = {"blocks", "limits", "note", NULL};

static const struct field advice_fields[] = {
    ENUM(advice, kind, advice_kind, "How much it matters."),
    TEXT(advice, text, "What is so, and how to change it."),
    TEXT(advice, command, "The command that changes it."),
};
static const struct schema advice_schema = SCHEMA(advice, "Something that is missing.");

static const struct field device_process_fields[] = {
    I64(device_process, pid, "Process."),
    I64(device_process, memory_bytes, "GPU memory that it holds.", UNIT("B")),
};
static const struct schema device_process_schema = SCHEMA(device_process, "A process on a GPU.");

static const struct field doctor_instrument_fields[] = {
    TEXT(doctor_instrument, series, "The series of a run that it gives."),
    TEXT(doctor_instrument, source, "What is read."),
    BOOL_AS("supported", doctor_instrument, probe.supported, "GPU and driver have it."),
    I64_AS("period_ns", doctor_instrument, probe.period_ns, "From one new value to the next.", UNIT("ns")),
    I64_AS("call_p50_ns", doctor_instrument, probe.call_p50_ns, "What a call takes, median.", UNIT("ns")),
    I64_AS("call_max_ns", doctor_instrument, probe.call_max_ns, "What a call takes, at most.", UNIT("ns")),
    I64_AS("calls", doctor_instrument, probe.calls, "Calls that were made."),
    I64_AS("missed", doctor_instrument, probe.missed, "Calls that gave nothing."),
};
static const struct schema doctor_instrument_schema = SCHEMA(doctor_instrument, "A power instrument of a GPU.");

static const struct field doctor_gpu_fields[] = {
    I64_AS("index", doctor_gpu, info.index, "The driver's number."),
    TEXT_AS("uuid", doctor_gpu, info.uuid, "What lasts."),
    TEXT_AS("name", doctor_gpu, info.name, "Product."),
    TEXT_AS("pci", doctor_gpu, info.pci, "PCI address."),
    BOOL(doctor_gpu, usable, "A run may select it."),
    TEXT(doctor_gpu, fault, "Why it can't be read."),
    I64_AS("power_limit_mw", doctor_gpu, info.power_limit_mw, "Limit in force.", UNIT("mW")),
    I64_AS("power_limit_default_mw", doctor_gpu, info.power_limit_default_mw, "Its default.", UNIT("mW")),
    I64_AS("power_limit_min_mw", doctor_gpu, info.power_limit_min_mw, "The lowest that may be set.", UNIT("mW")),
    I64_AS("power_limit_max_mw", doctor_gpu, info.power_limit_max_mw, "The highest that may be set.", UNIT("mW")),
    I64_AS("memory_total_bytes", doctor_gpu, info.memory_total_bytes, "Memory of the GPU.", UNIT("B")),
    I64_AS("partitioned", doctor_gpu, info.partitioned, "Split into parts: 1 on, 0 off."),
    I64_AS("persistence", doctor_gpu, info.persistence, "Persistence mode: 1 on, 0 off."),
    I64_AS("architecture", doctor_gpu, info.architecture, "The driver's number of its architecture."),
    TEXT_AS("instant_source", doctor_gpu, info.instant_source, "What gives its power now."),
    I64(doctor_gpu, memory_used_bytes, "Memory in use.", UNIT("B")),
    BOOL(doctor_gpu, processes_known, "Its compute processes could be listed."),
    OBJECTS_AS("compute_processes", doctor_gpu, processes, process_count, device_process, "Its compute processes."),
    OBJECTS(doctor_gpu, instruments, instrument_count, doctor_instrument, "What was measured; none with --quick."),
    I64(doctor_gpu, buffer_depth, "Samples that its buffer holds."),
    I64(doctor_gpu, buffer_age_ns, "Age of the newest of them.", UNIT("ns")),
    I64(doctor_gpu, power_mw, "Mean power while it was measured.", UNIT("mW")),
};
static const struct schema doctor_gpu_schema = SCHEMA(doctor_gpu, "A GPU.");

static const struct field doctor_system_fields[] = {
    TEXT(doctor_system, clock_source, "The kernel's clock source."),
    I64(doctor_system, clock_read_ns, "What a call of the clock takes.", UNIT("ns")),
    I64(doctor_system, wake_late_p50_ns, "How late a deadline is met, median.", UNIT("ns")),
    I64(doctor_system, wake_late_max_ns, "How late a deadline is met, at most.", UNIT("ns")),
    I64_AS("open_files_soft", doctor_system, files_soft, "Limit of open files now."),
    I64_AS("open_files_hard", doctor_system, files_hard, "Limit of open files that jtok may set itself."),
    I64(doctor_system, ports, "Ports for connections to one address."),
    I64_AS("listen_backlog", doctor_system, backlog, "Connections that may wait to be accepted."),
    I64_AS("processors", doctor_system, cpus, "Processors online."),
    BOOL(doctor_system, own_pid_namespace, "Processes of other containers are not seen."),
};
static const struct schema doctor_system_schema = SCHEMA(doctor_system, "The machine.");

static const struct field doctor_fields[] = {
    TEXT(doctor, driver_version, "Version of the driver."),
    TEXT(doctor, library_name, "What the GPUs are read with."),
    TEXT(doctor, library_version, "Its version."),
    TEXT(doctor, library, "The file that was loaded."),
    TEXT(doctor, partition_name, "What a part of a split GPU is called."),
    BOOL(doctor, simulated, "Driver or GPUs are simulated."),
    I64(doctor, usable_gpus, "GPUs that can be measured."),
    OBJECTS(doctor, gpus, gpu_count, doctor_gpu, "The GPUs."),
    OBJECT(doctor, system, doctor_system, "The machine."),
    OBJECTS(doctor, advice, advice_count, advice, "What is missing, and how to get it."),
};
const struct schema doctor_schema = SCHEMA(doctor, "What this machine can measure.");

/* ---- advice ---- */

/* What the looking works on. */
struct look {
    struct doctor *d;
    struct device *device; /* null: no driver */
    struct arena *arena;
};

static void add_advice(struct look *l, enum advice_kind kind, const char *command, const char *text)
{
    struct doctor *d = l->d;
    must(d->advice_count < ADVICE_MAX);
    d->advice[d->advice_count++] = (struct advice){kind, text, command};
}

/* The texts as printf makes them. */
#define FORMAT(l, ...)                        arena_format((l)->arena, __VA_ARGS__)
#define ADVISE(l, kind, ...)                  add_advice(l, kind, NULL, FORMAT(l, __VA_ARGS__))
#define ADVISE_COMMAND(l, kind, command, ...) add_advice(l, kind, command, FORMAT(l, __VA_ARGS__))

/* ---- GPUs ---- */

static void advise_static(struct look *l, const struct device_gpu *g)
{
    const struct rec_gpu *info = &g->info;
    long long i = (long long)info->index;
    if (g->fault) {
        ADVISE(l, ADVICE_BLOCKS, "%s", g->fault);
        return;
    }
    for (size_t k = 0; k < g->advice_count; k++)
        add_advice(l, g->advice[k].kind, arena_keep(l->arena, g->advice[k].command),
                   FORMAT(l, "%s", g->advice[k].text));
    if (!info->instant_source && !device_gpu_blocked(g))
        ADVISE(l, ADVICE_BLOCKS, "GPU %lld does not report its power, so it cannot be measured.", i);
    if (info->power_limit_mw != ABSENT_I64 && info->power_limit_default_mw != ABSENT_I64 &&
        info->power_limit_mw != info->power_limit_default_mw)
        ADVISE(l, ADVICE_NOTE,
               "The power limit of GPU %lld is %lld W; its default is %lld W. Compare its runs only with runs under "
               "the same limit.",
               i, (long long)info->power_limit_mw / 1000, (long long)info->power_limit_default_mw / 1000);
}

static void advise_probe(struct look *l, const struct doctor_gpu *g, const struct probe *p)
{
    long long i = (long long)g->info.index;
    if (p->lost)
        ADVISE(l, ADVICE_BLOCKS, "GPU %lld was lost during the measurement: %s", i,
               l->device->ops->fault(l->device->self, (uint32_t)i));
    if (!p->counter.supported)
        ADVISE(l, ADVICE_LIMITS,
               "GPU %lld has no energy counter. Without it the formal stage has no "
               "headline energy, so no run on this GPU can be formal.",
               i);
    else if (p->counter.period_ns == ABSENT_I64)
        ADVISE(l, ADVICE_LIMITS, "The energy counter of GPU %lld does not change.", i);
    if (!p->buffer.supported)
        ADVISE(l, ADVICE_LIMITS,
               "GPU %lld has no power buffer, so its energy counter cannot be checked against one, and an analysis "
               "with basis=precise is not possible.",
               i);
}

/* A list of processes that can't be read is not an empty one. */
static void read_now(struct look *l, uint32_t gpu)
{
    must(gpu < l->d->gpu_count);
    struct doctor_gpu *g = &l->d->gpus[gpu];
    struct rec_gpu_state state = {.memory_used_bytes = ABSENT_I64};
    const struct device_ops *ops = l->device->ops;
    size_t n = 0;
    g->processes = arena_array(l->arena, DEVICE_PROCESSES_MAX, sizeof *g->processes);
    g->processes_known = ops->processes(l->device->self, gpu, g->processes, &n) == READ_OK;
    if (g->processes_known)
        g->process_count = n;
    else
        ADVISE(l, ADVICE_LIMITS,
               "%s So jtok cannot tell whether other processes use this GPU, and no run on it can be formal.",
               ops->fault(l->device->self, gpu));
    if (ops->state(l->device->self, gpu, &state) == READ_OK)
        g->memory_used_bytes = state.memory_used_bytes;
    if (g->process_count > 0)
        ADVISE(l, ADVICE_LIMITS, "GPU %u is in use by %zu compute process%s; a run needs it idle.", gpu,
               g->process_count, g->process_count == 1 ? "" : "es");
}

/* The device's texts end with its session, before they are printed. */
static struct doctor_gpu gpu_of(const struct device_gpu *x, struct arena *a)
{
    struct doctor_gpu g = {.info = x->info,
                           .fault = arena_keep(a, x->fault),
                           .usable = device_gpu_usable(x),
                           .memory_used_bytes = ABSENT_I64,
                           .buffer_depth = ABSENT_I64,
                           .buffer_age_ns = ABSENT_I64,
                           .power_mw = ABSENT_I64};
    g.info.uuid = arena_keep(a, x->info.uuid);
    g.info.name = arena_keep(a, x->info.name);
    g.info.pci = arena_keep(a, x->info.pci);
    g.info.instant_source = arena_keep(a, x->info.instant_source);
    return g;
}

static void take_probe(struct look *l, struct doctor_gpu *g, const struct probe *p)
{
    must(!g->instruments && l->d->usable_gpus > 0);
    const char *buffer = p->buffer_depth == ABSENT_I64
                             ? "sample buffer"
                             : FORMAT(l, "sample buffer, %lld deep", (long long)p->buffer_depth);
    g->instruments = arena_array(l->arena, DOCTOR_INSTRUMENTS, sizeof *g->instruments);
    g->instrument_count = DOCTOR_INSTRUMENTS;
    g->instruments[0] = (struct doctor_instrument){"instant", g->info.instant_source, p->power};
    g->instruments[1] = (struct doctor_instrument){"counter", "total energy, mJ", p->counter};
    g->instruments[2] = (struct doctor_instrument){"buffer", buffer, p->buffer};
    g->buffer_depth = p->buffer_depth;
    g->buffer_age_ns = p->buffer_age_ns;
    g->power_mw = p->power_mw >= 0 ? p->power_mw : ABSENT_I64;
    g->usable = !p->lost;
    l->d->usable_gpus -= p->lost;
    advise_probe(l, g, p);
}

static bool look_at_gpus(struct look *l, int64_t probe_ns, struct err *e)
{
    uint32_t list[DEVICE_GPUS_MAX] = {0};
    struct probe probes[DEVICE_GPUS_MAX];
    struct doctor *d = l->d;
    size_t usable = 0;
    must(l->device->gpu_count <= DEVICE_GPUS_MAX);
    d->gpu_count = l->device->gpu_count;
    d->gpus = arena_array(l->arena, d->gpu_count, sizeof *d->gpus);
    for (uint32_t gpu = 0; gpu < d->gpu_count; gpu++) {
        struct doctor_gpu *g = &d->gpus[gpu];
        *g = gpu_of(&l->device->gpus[gpu], l->arena);
        advise_static(l, &l->device->gpus[gpu]);
        if (!g->usable)
            continue;
        list[usable++] = gpu;
        read_now(l, gpu);
    }
    d->usable_gpus = (int64_t)usable;
    if (probe_ns == 0)
        return true;
    if (!probe_gpus(l->device, list, usable, probe_ns, probes, e))
        return false;
    for (size_t i = 0; i < usable; i++)
        take_probe(l, &d->gpus[list[i]], &probes[i]);
    return true;
}

/* ---- the system ---- */

/* The first line of a small file, or null. */
static const char *line_of_file(struct look *l, const char *path)
{
    char text[256];
    FILE *f = fopen(path, "re");
    bool good = f && fgets(text, sizeof text, f);
    if (f)
        fclose(f);
    if (!good)
        return NULL;
    text[strcspn(text, "\n")] = 0;
    return arena_text(l->arena, text);
}

static int64_t number_in_file(struct look *l, const char *path)
{
    const char *text = line_of_file(l, path);
    int64_t value;
    return text && num_i64(span_of(text), &value) ? value : ABSENT_I64;
}

/* How late a timer fires says how busy the machine is, in the terms that matter to a sampler. */
static void look_at_clock(struct look *l)
{
    struct doctor_system *s = &l->d->system;
    int64_t late_ns[WAKES], begin_ns = clock_now_ns();
    s->clock_source = line_of_file(l, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    for (int i = 0; i < CLOCK_READS; i++)
        (void)clock_now_ns();
    s->clock_read_ns = (clock_now_ns() - begin_ns) / CLOCK_READS;
    for (int i = 0; i < WAKES; i++) {
        int64_t deadline_ns = clock_now_ns() + 1000000;
        clock_sleep_until_ns(deadline_ns);
        late_ns[i] = clock_now_ns() - deadline_ns;
    }
    qsort(late_ns, WAKES, sizeof *late_ns, compare_i64);
    s->wake_late_p50_ns = late_ns[WAKES / 2];
    s->wake_late_max_ns = late_ns[WAKES - 1];
    if (s->clock_read_ns > clock_read_slow_ns && s->clock_source && strcmp(s->clock_source, "tsc") == 0)
        ADVISE(l, ADVICE_NOTE,
               "Reading the clock takes %lld ns, and every time stamp costs that much, although the clock source is "
               "tsc: a sandbox or a virtual machine handles the call. Measure outside it if you can.",
               (long long)s->clock_read_ns);
    else if (s->clock_read_ns > clock_read_slow_ns)
        ADVISE_COMMAND(l, ADVICE_NOTE, "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
                       "Reading the clock takes %lld ns (clock source %s), and every time stamp costs that much. If "
                       "this machine has a stable time stamp counter, switch to it.",
                       (long long)s->clock_read_ns, s->clock_source ? s->clock_source : "unknown");
    if (s->wake_late_p50_ns > wake_late_slow_ns)
        ADVISE(l, ADVICE_NOTE, "Timers fire %lld ms late, so the machine is busy. Stop other work before a run.",
               (long long)s->wake_late_p50_ns / 1000000);
}

/* No limit is not a number. */
static int64_t limit_of(rlim_t value)
{
    return value == RLIM_INFINITY ? ABSENT_I64 : (int64_t)value;
}

static void look_at_limits(struct look *l)
{
    struct doctor_system *s = &l->d->system;
    struct rlimit files = {RLIM_INFINITY, RLIM_INFINITY};
    long long low, high;
    getrlimit(RLIMIT_NOFILE, &files);
    s->files_soft = limit_of(files.rlim_cur);
    s->files_hard = limit_of(files.rlim_max);
    const char *range = line_of_file(l, "/proc/sys/net/ipv4/ip_local_port_range");
    s->ports = range && sscanf(range, "%lld %lld", &low, &high) == 2 ? high - low + 1 : ABSENT_I64;
    s->backlog = number_in_file(l, "/proc/sys/net/core/somaxconn");
    s->cpus = sysconf(_SC_NPROCESSORS_ONLN);
    s->own_pid_namespace = proc_has_own_ids();
    if (s->files_hard != ABSENT_I64 && s->files_hard < STREAMS + FILES_BESIDE)
        ADVISE_COMMAND(l, ADVICE_LIMITS,
                       FORMAT(l, "ulimit -Hn %d && ulimit -n %d", STREAMS + FILES_BESIDE, STREAMS + FILES_BESIDE),
                       "At most %lld files can be open, enough for about %lld requests at once. Raise the hard limit: "
                       "as root in the shell, with LimitNOFILE= in a service, or with docker run --ulimit nofile=%d.",
                       (long long)s->files_hard, (long long)s->files_hard - FILES_BESIDE, STREAMS + FILES_BESIDE);
    if (s->ports != ABSENT_I64 && s->ports < STREAMS)
        ADVISE_COMMAND(l, ADVICE_LIMITS, LIMITS_PORTS_COMMAND,
                       "%lld ports are available for connections to one address, enough for about as many requests at "
                       "once. Raise the number as root.",
                       (long long)s->ports);
    if (s->own_pid_namespace && l->device)
        ADVISE(
            l, ADVICE_NOTE,
            "This container has its own process ids. The driver does not show compute processes outside it, so a GPU "
            "that others use may look free. Check memory and power too, or start the container with --pid=host.");
}

/* ---- */

static void keep_driver(struct look *l)
{
    struct doctor *d = l->d;
    const struct device *x = l->device;
    d->driver_version = arena_keep(l->arena, x->driver_version);
    d->library_name = x->kind->name;
    d->library_version = arena_keep(l->arena, x->library_version);
    d->library = arena_keep(l->arena, x->library);
    d->partition_name = x->kind->partition;
    d->simulated = x->simulated;
}

bool doctor_look(const char *library, int64_t probe_ns, struct arena *a, struct doctor *ret_doctor, struct err *e)
{
    must(probe_ns >= 0 && a);
    struct doctor d = {.advice = arena_array(a, ADVICE_MAX, sizeof *d.advice)};
    struct look l = {.d = &d, .arena = a};
    struct err why = {0};
    bool good = true;
    if (device_open(&(struct plan_power){.library = library}, &l.device, &why)) {
        keep_driver(&l);
        good = look_at_gpus(&l, probe_ns, e);
        if (good && d.usable_gpus == 0)
            ADVISE(&l, ADVICE_BLOCKS, "No GPU of this machine can be measured.");
    } else {
        ADVISE(&l, ADVICE_BLOCKS, "%s", why.text);
    }
    if (good) {
        look_at_clock(&l);
        look_at_limits(&l);
        *ret_doctor = d;
    }
    device_close(l.device);
    return good;
}
