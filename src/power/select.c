#include "power/device.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/buf.h"
#include "base/must.h"

enum { UUID_PREFIX_MIN = 4 };
static const char uuid_head[] = "GPU-";

static void list_gpus(const struct device *d, struct buf *b)
{
    for (size_t i = 0; i < d->gpu_count; i++) {
        const struct rec_gpu *g = &d->gpus[i].info;
        buf_fmt(b, "%s%zu = %s", i ? ", " : "", i, g->uuid ? g->uuid : "(can't be read)");
        if (g->pci)
            buf_fmt(b, " at %s", g->pci);
    }
}

static bool refuse(const struct device *d, const char *name, const char *why, struct err *e)
{
    struct buf b = {0};
    list_gpus(d, &b);
    err_set(e, ERR_DEVICE, "GPU \"%s\" %s. This machine has: %s.", name, why, buf_text(&b));
    buf_done(&b);
    return false;
}

static bool is_index(const char *name, size_t *ret_index)
{
    int64_t value;
    if (!num_i64(span_of(name), &value) || value < 0 || value >= DEVICE_GPUS_MAX || strlen(name) > 2)
        return false;
    *ret_index = (size_t)value;
    return true;
}

/* Libraries write the domain with 8 digits, other tools with 4 or not at all. */
static bool is_pci(const char *name, const char *pci)
{
    if (!pci || !strchr(name, ':'))
        return false;
    size_t n = strlen(name), m = strlen(pci);
    return m >= n && strcasecmp(name, pci + (m - n)) == 0 && (m == n || pci[m - n - 1] == ':' || pci[m - n - 1] == '0');
}

static bool begins_uuid(const char *name, const char *uuid)
{
    if (!uuid)
        return false;
    if (strncasecmp(name, uuid_head, sizeof uuid_head - 1) != 0)
        uuid += strncasecmp(uuid, uuid_head, sizeof uuid_head - 1) == 0 ? sizeof uuid_head - 1 : 0;
    return strncasecmp(name, uuid, strlen(name)) == 0;
}

static bool long_enough(const char *name)
{
    size_t n = strlen(name), head = strncasecmp(name, uuid_head, sizeof uuid_head - 1) ? 0 : sizeof uuid_head - 1;
    return n >= head + UUID_PREFIX_MIN;
}

bool device_is_part(const struct device *d, const char *name)
{
    must(name);
    const char *part = d->kind->partition;
    size_t n = part ? strlen(part) : 0;
    return n && strncasecmp(name, part, n) == 0 && (name[n] == '-' || name[n] == ':');
}

static bool find_gpu(const struct device *d, const char *name, uint32_t *ret_gpu, struct err *e)
{
    size_t index, found = 0, matches = 0;
    if (device_is_part(d, name))
        return refuse(d, name, "is a part of a GPU: power and energy can only be measured for a whole board", e);
    if (is_index(name, &index)) {
        if (index >= d->gpu_count)
            return refuse(d, name, "does not exist", e);
        *ret_gpu = (uint32_t)index;
        return true;
    }
    for (size_t i = 0; i < d->gpu_count; i++) {
        const struct rec_gpu *g = &d->gpus[i].info;
        if (!is_pci(name, g->pci) && !(long_enough(name) && begins_uuid(name, g->uuid)))
            continue;
        found = i;
        matches++;
    }
    if (matches != 1)
        return refuse(d, name, matches ? "fits more than one GPU: write more of its UUID or address" : "does not exist",
                      e);
    *ret_gpu = (uint32_t)found;
    return true;
}

bool device_find(const struct device *d, const char *name, uint32_t *ret_gpu)
{
    struct err ignored;
    return find_gpu(d, name, ret_gpu, &ignored);
}

static bool check_usable(const struct device *d, uint32_t gpu, struct err *e)
{
    must(gpu < d->gpu_count);
    const struct device_gpu *g = &d->gpus[gpu];
    if (g->fault)
        return err_set(e, ERR_DEVICE, "%s Repair it, or choose other GPUs with --gpus.", g->fault);
    const struct advice *blocked = device_gpu_blocked(g);
    if (blocked)
        return blocked->command
                   ? err_set(e, ERR_DEVICE, "%s The command for it: '%s'.", blocked->text, blocked->command)
                   : err_set(e, ERR_DEVICE, "%s", blocked->text);
    if (!g->info.instant_source)
        return err_set(
            e, ERR_DEVICE,
            "GPU %u (%s, %s) does not report its power, so it can't be measured. Choose other GPUs with --gpus.", gpu,
            g->info.uuid, g->info.name ? g->info.name : "no name");
    return true;
}

bool device_select(const struct device *d, const char **names, size_t name_count, uint32_t *ret_list, size_t *ret_count,
                   struct err *e)
{
    must(d && d->kind && d->gpu_count <= DEVICE_GPUS_MAX);
    must(ret_list && ret_count && (names || name_count == 0));
    uint32_t list[DEVICE_GPUS_MAX];
    bool taken[DEVICE_GPUS_MAX] = {false};
    size_t count = 0;
    const char *all[] = {"all"};
    if (d->gpu_count == 0)
        return err_set(e, ERR_DEVICE, "There is no GPU on this machine. Check with '%s'.", d->kind->tool);
    if (name_count == 0) {
        names = all;
        name_count = 1;
    }
    for (size_t i = 0; i < name_count; i++) {
        bool every = strcasecmp(names[i], "all") == 0;
        uint32_t first = 0, last = (uint32_t)d->gpu_count - 1;
        if (!every) {
            if (!find_gpu(d, names[i], &first, e))
                return false;
            last = first;
        }
        for (uint32_t gpu = first; gpu <= last; gpu++) {
            if (taken[gpu])
                continue;
            if (!check_usable(d, gpu, e))
                return false;
            taken[gpu] = true;
            list[count++] = gpu;
        }
    }
    memcpy(ret_list, list, count * sizeof *list);
    must(count > 0);
    *ret_count = count;
    return true;
}
