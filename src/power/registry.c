#include <string.h>
#include "base/buf.h"
#include "base/file.h"
#include "base/must.h"
#include "power/device.h"
#include "power/nvml_session.h"

const struct device_kind *const device_kinds[] = {&nvml_kind};
const size_t device_kind_count = sizeof device_kinds / sizeof *device_kinds;

/* Whose library a path names. One that no row knows (a simulation, a copy under another name) is the first row's. */
static const struct device_kind *kind_of_library(const struct device_kind *const *kinds, size_t n, const char *library)
{
    const char *file = path_name(library);
    for (size_t i = 0; i < n; i++)
        if (strncmp(file, kinds[i]->file, strlen(kinds[i]->file)) == 0)
            return kinds[i];
    return kinds[0];
}

/* A row keeps what device.h promises of each GPU. */
static void must_gpu(const struct device_ops *ops, const struct device_gpu *g)
{
    must(g->advice_count <= DEVICE_ADVICE_MAX);
    must(g->fault || g->info.uuid);
    must(g->caps.counter_period_ns == 0 || ops->energy);
    must((g->caps.buffer_period_ns == 0 || ops->buffer) && g->caps.buffer_depth <= DEVICE_BUFFER_MAX);
}

static bool open_kind(const struct device_kind *kind, const char *library, struct device **ret_device, struct err *e)
{
    struct device *d;
    if (!kind->open(library, &d, e))
        return false;
    must(d->ops && d->ops->power && d->ops->state && d->ops->processes && d->ops->fault && d->ops->environment &&
         d->ops->close);
    must(d->gpu_count <= DEVICE_GPUS_MAX && (d->gpus || d->gpu_count == 0));
    for (size_t i = 0; i < d->gpu_count; i++)
        must_gpu(d->ops, &d->gpus[i]);
    d->kind = kind;
    *ret_device = d;
    return true;
}

bool device_open_kinds(const struct device_kind *const *kinds, size_t kind_count, const struct plan_power *power,
                       struct device **ret_device, struct err *e)
{
    must(kinds && kind_count > 0);
    must(power && ret_device);
    if (power->library && *power->library)
        return open_kind(kind_of_library(kinds, kind_count, power->library), power->library, ret_device, e);
    struct buf why = {0};
    bool opened = false;
    for (size_t i = 0; i < kind_count && !opened; i++) {
        struct err one;
        opened = open_kind(kinds[i], NULL, ret_device, &one);
        if (!opened)
            buf_fmt(&why, "%s%s", i ? " " : "", one.text);
    }
    if (!opened)
        err_set(e, ERR_DEVICE, "%s", buf_text(&why));
    buf_done(&why);
    return opened;
}

bool device_open(const struct plan_power *power, struct device **ret_device, struct err *e)
{
    return device_open_kinds(device_kinds, device_kind_count, power, ret_device, e);
}

void device_close(struct device *d)
{
    if (d)
        d->ops->close(d->self);
}

void device_gpu_init(struct device_gpu *g, uint32_t index)
{
    must(g && index < DEVICE_GPUS_MAX);
    *g = (struct device_gpu){.ecc = ABSENT_I64,
                             .ecc_next = ABSENT_I64,
                             .info = {.index = index,
                                      .power_limit_mw = ABSENT_I64,
                                      .power_limit_default_mw = ABSENT_I64,
                                      .power_limit_min_mw = ABSENT_I64,
                                      .power_limit_max_mw = ABSENT_I64,
                                      .memory_total_bytes = ABSENT_I64,
                                      .partitioned = ABSENT_I64,
                                      .persistence = ABSENT_I64,
                                      .architecture = ABSENT_I64}};
}

void device_advise(struct device_gpu *g, enum advice_kind kind, const char *text, const char *command)
{
    must(g->advice_count < DEVICE_ADVICE_MAX && text);
    g->advice[g->advice_count++] = (struct advice){kind, text, command};
}

const struct advice *device_gpu_blocked(const struct device_gpu *g)
{
    must(g && g->advice_count <= DEVICE_ADVICE_MAX);
    for (size_t i = 0; i < g->advice_count; i++)
        if (g->advice[i].kind == ADVICE_BLOCKS)
            return &g->advice[i];
    return NULL;
}

bool device_gpu_usable(const struct device_gpu *g)
{
    return !g->fault && !device_gpu_blocked(g) && g->info.instant_source;
}
