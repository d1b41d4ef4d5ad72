#include "app/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/num.h"
#include "http/limits.h"

/* What a large run asks for: 15 000 streams, each a file and a port. */
enum { STREAMS = 15000, FILES_BESIDE = 200, CLOCK_READS = 10000, WAKES = 20 };
static const int64_t clock_read_slow_ns = 200, wake_late_slow_ns = 5000000;
static const ino_t first_pid_namespace = 0xEFFFFFFC; /* fixed in Linux */

static void advise(struct doctor *d, enum advice_kind kind, const char *command, const char *text)
{
    if (d->advice_count < DOCTOR_ADVICE_MAX)
        d->advice[d->advice_count++] = (struct advice){kind, text, command};
}

/* The texts as printf makes them. */
#define FORMAT(d, ...)                        arena_format(&(d)->arena, __VA_ARGS__)
#define ADVISE(d, kind, ...)                  advise(d, kind, NULL, FORMAT(d, __VA_ARGS__))
#define ADVISE_COMMAND(d, kind, command, ...) advise(d, kind, command, FORMAT(d, __VA_ARGS__))

/* ---- GPUs ---- */

static void advise_static(struct doctor *d, const struct device_gpu *g)
{
    const struct rec_gpu *info = &g->info;
    long long i = (long long)info->index;
    if (g->fault) {
        ADVISE(d, ADVICE_BLOCKS, "%s", g->fault);
        return;
    }
    for (size_t k = 0; k < g->advice_count; k++)
        advise(d, g->advice[k].kind, g->advice[k].command, g->advice[k].text);
    if (!info->instant_source && !device_gpu_blocked(g))
        ADVISE(d, ADVICE_BLOCKS, "GPU %lld gives no reading of its power.", i);
    if (info->power_limit_mw != ABSENT_I64 && info->power_limit_default_mw != ABSENT_I64 &&
        info->power_limit_mw != info->power_limit_default_mw)
        ADVISE(d, ADVICE_NOTE, "GPU %lld is limited to %lld W, by default it is %lld W: compare only with its like.", i,
               (long long)info->power_limit_mw / 1000, (long long)info->power_limit_default_mw / 1000);
}

static void advise_probe(struct doctor *d, const struct doctor_gpu *g)
{
    long long i = (long long)g->gpu->info.index;
    if (g->probe.lost)
        ADVISE(d, ADVICE_BLOCKS, "GPU %lld was lost while it was read: %s", i,
               d->device->ops->fault(d->device->self, (uint32_t)i));
    if (!g->probe.counter.supported)
        ADVISE(d, ADVICE_LIMITS,
               "GPU %lld has no energy counter (Volta and later have one): the formal stage has no headline energy, so "
               "no run on it is formal.",
               i);
    else if (g->probe.counter.period_ns == ABSENT_I64)
        ADVISE(d, ADVICE_LIMITS, "GPU %lld's energy counter stands still.", i);
    if (!g->probe.buffer.supported)
        ADVISE(d, ADVICE_LIMITS,
               "GPU %lld has no power buffer: no check of the counter against it, no basis `precise`.", i);
}

static void read_now(struct doctor *d, uint32_t gpu)
{
    struct doctor_gpu *g = &d->gpus[gpu];
    struct rec_gpu_state state = {.memory_used_bytes = ABSENT_I64};
    size_t n = 0;
    if (d->device->ops->processes(d->device->self, gpu, g->processes, &n) == READ_OK)
        g->process_count = (int64_t)n;
    else
        ADVISE(d, ADVICE_LIMITS,
               "%s So it can't be told whether something else runs there, and no run on it is formal.",
               d->device->ops->fault(d->device->self, gpu));
    if (d->device->ops->state(d->device->self, gpu, &state) == READ_OK)
        g->memory_used_bytes = state.memory_used_bytes;
    if (n > 0)
        ADVISE(d, ADVICE_LIMITS, "GPU %u is in use by %zu compute process%s: a run needs it idle.", gpu, n,
               n == 1 ? "" : "es");
}

static bool look_at_gpus(struct doctor *d, int64_t probe_ns, struct err *e)
{
    uint32_t list[DEVICE_GPUS_MAX] = {0};
    struct probe probes[DEVICE_GPUS_MAX];
    d->gpus = arena_array(&d->arena, d->device->gpu_count, sizeof *d->gpus);
    for (uint32_t gpu = 0; gpu < d->device->gpu_count; gpu++) {
        struct doctor_gpu *g = &d->gpus[gpu];
        g->gpu = &d->device->gpus[gpu];
        g->process_count = g->memory_used_bytes = ABSENT_I64;
        g->usable = device_gpu_usable(g->gpu);
        advise_static(d, g->gpu);
        if (!g->usable)
            continue;
        list[d->usable_count++] = gpu;
        read_now(d, gpu);
    }
    if (probe_ns == 0)
        return true;
    if (!probe_gpus(d->device, list, d->usable_count, probe_ns, probes, e))
        return false;
    size_t usable = d->usable_count;
    for (size_t i = 0; i < usable; i++) {
        struct doctor_gpu *g = &d->gpus[list[i]];
        g->probed = true;
        g->probe = probes[i];
        g->usable = !g->probe.lost;
        d->usable_count -= g->probe.lost;
        advise_probe(d, g);
    }
    return true;
}

/* ---- the system ---- */

/* The first line of a small file, or null. */
static const char *first_line(struct doctor *d, const char *path)
{
    char text[256];
    FILE *f = fopen(path, "re");
    bool good = f && fgets(text, sizeof text, f);
    if (f)
        fclose(f);
    if (!good)
        return NULL;
    text[strcspn(text, "\n")] = 0;
    return arena_text(&d->arena, text);
}

static int64_t first_number(struct doctor *d, const char *path)
{
    const char *text = first_line(d, path);
    int64_t value;
    return text && num_i64(span_of(text), &value) ? value : ABSENT_I64;
}

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void look_at_clock(struct doctor *d)
{
    struct doctor_system *s = &d->system;
    int64_t late_ns[WAKES], begin_ns = clock_now_ns();
    s->clock_source = first_line(d, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
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
    if (s->clock_read_ns > clock_read_slow_ns)
        ADVISE_COMMAND(d, ADVICE_NOTE, "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
                       "One reading of the clock takes %lld ns (source %s): every time stamp costs that. Where the "
                       "machine has a stable time stamp counter, choose it.",
                       (long long)s->clock_read_ns, s->clock_source ? s->clock_source : "unknown");
    if (s->wake_late_p50_ns > wake_late_slow_ns)
        ADVISE(d, ADVICE_NOTE, "Deadlines are met %lld ms late: the machine is busy, so end other work before a run.",
               (long long)s->wake_late_p50_ns / 1000000);
}

static int64_t limit_of(rlim_t value)
{
    return value == RLIM_INFINITY ? ABSENT_I64 : (int64_t)value;
}

static void look_at_limits(struct doctor *d)
{
    struct doctor_system *s = &d->system;
    struct rlimit files = {RLIM_INFINITY, RLIM_INFINITY};
    struct stat st;
    long long low, high;
    getrlimit(RLIMIT_NOFILE, &files);
    s->files_soft = limit_of(files.rlim_cur);
    s->files_hard = limit_of(files.rlim_max);
    const char *range = first_line(d, "/proc/sys/net/ipv4/ip_local_port_range");
    s->ports = range && sscanf(range, "%lld %lld", &low, &high) == 2 ? high - low + 1 : ABSENT_I64;
    s->backlog = first_number(d, "/proc/sys/net/core/somaxconn");
    s->cpus = sysconf(_SC_NPROCESSORS_ONLN);
    s->own_pid_namespace = stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != first_pid_namespace;
    if (s->files_hard != ABSENT_I64 && s->files_hard < STREAMS + FILES_BESIDE)
        ADVISE_COMMAND(d, ADVICE_LIMITS,
                       FORMAT(d, "ulimit -Hn %d && ulimit -n %d", STREAMS + FILES_BESIDE, STREAMS + FILES_BESIDE),
                       "At most %lld open files: room for about %lld requests at once. Raise the hard limit: as root "
                       "in the shell, by LimitNOFILE= of a service, or docker run --ulimit nofile=%d.",
                       (long long)s->files_hard, (long long)s->files_hard - FILES_BESIDE, STREAMS + FILES_BESIDE);
    if (s->ports != ABSENT_I64 && s->ports < STREAMS)
        ADVISE_COMMAND(d, ADVICE_LIMITS, LIMITS_PORTS_COMMAND,
                       "%lld ports for outgoing connections to one address: room for about that many requests at once. "
                       "Raise it, as root.",
                       (long long)s->ports);
    if (s->own_pid_namespace && d->device)
        ADVISE(d, ADVICE_NOTE,
               "This is a container with its own process ids: the driver does not show compute processes outside it, "
               "so a GPU that others use may look free. Look at memory and power too, or start it with --pid=host.");
}

/* ---- */

bool doctor_look(struct doctor *d, const char *library, int64_t probe_ns, struct err *e)
{
    struct err why = {0};
    *d = (struct doctor){0};
    if (!device_open(&(struct plan_power){.library = library}, &d->device, &why))
        ADVISE(d, ADVICE_BLOCKS, "%s", why.text);
    else if (!look_at_gpus(d, probe_ns, e))
        return false;
    if (d->device && d->usable_count == 0)
        ADVISE(d, ADVICE_BLOCKS, "No GPU of this machine can be measured.");
    look_at_clock(d);
    look_at_limits(d);
    return true;
}

void doctor_done(struct doctor *d)
{
    device_close(d->device);
    arena_done(&d->arena);
}
