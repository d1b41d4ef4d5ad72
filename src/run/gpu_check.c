#include "run/gpu_check.h"

#include "base/must.h"
#include "model/limits.h"

const char *gpu_label(const struct rec_gpu *gpu, struct arena *a)
{
    must(gpu->uuid);
    return arena_format(a, "GPU %lld (%s)", (long long)gpu->index, gpu->uuid);
}

/* What the processes on one GPU hold: the engine's own, those of others, and those that can't be told apart. */
struct gpu_holders {
    bool listed; /* the list could be read, and each process told apart */
    int64_t own_bytes;
    size_t own, others;
    struct buf text; /* of the others: "pid 12 (512 MiB), pid 14" */
};

static struct gpu_holders holders_of(const struct observer *v, uint32_t place)
{
    struct gpu_holders h = {.listed = true};
    struct device_process list[DEVICE_PROCESSES_MAX];
    size_t n = 0;
    if (v->o.device->ops->processes(v->o.device->self, place, list, &n) != READ_OK) {
        h.listed = false;
        return h;
    }
    must(n <= DEVICE_PROCESSES_MAX);
    for (size_t i = 0; i < n; i++) {
        int own = v->o.own ? v->o.own(v->o.self, list[i].pid) : -1;
        h.listed = h.listed && own >= 0;
        if (own > 0) {
            h.own++;
            h.own_bytes += list[i].memory_bytes == ABSENT_I64 ? 0 : list[i].memory_bytes;
            continue;
        }
        buf_fmt(&h.text, "%spid %lld", h.others++ ? ", " : "", (long long)list[i].pid);
        if (list[i].memory_bytes != ABSENT_I64)
            buf_fmt(&h.text, " (%lld MiB)", (long long)(list[i].memory_bytes >> 20));
    }
    return h;
}

/* By the sum of what a GPU holds, where its processes can't be told apart (another namespace of process ids). */
static enum check_outcome by_sum(int64_t before, int64_t now)
{
    return before == ABSENT_I64 || now == ABSENT_I64 ? CHECK_NOT_RECORDED
           : now - before > METHOD_MEMORY_BYTES      ? CHECK_PASSED
                                                     : CHECK_FAILED;
}

/* A GPU of the plan: the engine must hold memory on it. */
static void check_own(const struct observer *v, size_t g)
{
    struct arena *a = v->machine->arena;
    uint32_t place = v->o.gpus[g];
    long long index = (long long)v->o.device->gpus[place].info.index;
    struct gpu_holders h = holders_of(v, place);
    int64_t before = v->memory_before[g], now = v->live[g].memory_used_bytes;
    if (h.listed)
        stage_fact(
            v->machine, "gpu.memory", h.own ? CHECK_PASSED : CHECK_FAILED, "memory of the engine's own processes",
            arena_format(a, "GPU %lld: %zu of its processes, %lld MiB", index, h.own, (long long)(h.own_bytes >> 20)));
    else
        stage_fact(v->machine, "gpu.memory", by_sum(before, now), "new memory",
                   by_sum(before, now) == CHECK_NOT_RECORDED
                       ? NULL
                       : arena_format(a, "GPU %lld: %+lld MiB in all", index, (long long)((now - before) / (1 << 20))));
    buf_done(&h.text);
}

/* Any other GPU: the engine must hold none. What another user's process holds there is named, and judged by nobody. */
static void check_other(const struct observer *v, uint32_t place)
{
    struct arena *a = v->machine->arena;
    struct gpu_holders h = holders_of(v, place);
    enum check_outcome outcome = h.own ? CHECK_FAILED : h.listed ? CHECK_PASSED : CHECK_NOT_JUDGED;
    const char *engine = h.own      ? arena_format(a, "%zu of its processes", h.own)
                         : h.listed ? "none"
                                    : "its processes can't be told from others";
    const char *others = h.others ? arena_format(a, "; of others: %s", buf_text(&h.text)) : "";
    stage_fact(v->machine, "gpu.other_memory", outcome, "no process of the engine",
               arena_format(a, "GPU %lld: %s%s", (long long)v->o.device->gpus[place].info.index, engine, others));
    buf_done(&h.text);
}

void gpu_check(const struct observer *v)
{
    const struct device *d = v->o.device;
    must(d->gpu_count <= DEVICE_GPUS_MAX);
    for (uint32_t place = 0; place < d->gpu_count; place++) {
        bool own = false;
        for (size_t g = 0; g < v->o.gpu_count; g++)
            own |= v->o.gpus[g] == place;
        if (!own && !d->gpus[place].fault)
            check_other(v, place);
    }
    for (size_t g = 0; g < v->o.gpu_count; g++)
        check_own(v, g);
}
