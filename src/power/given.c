#include "power/given.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/must.h"
#include "base/variable.h"
#include "base/num.h"

enum { ENTRY_BYTES = 128 };

/* What is read: one variable's list. */
struct given_list {
    const struct device *d;
    struct gpus_given *g;
    struct arena *arena;
    enum given_form form;
    size_t outside; /* entries that name no GPU that is here */
    bool numbers;
    const char *part; /* the first entry that is a part of a GPU */
};

/* The next entry of a list with commas, without spaces around it; false: it ends. */
static bool next_entry(const char **list, char ret_entry[ENTRY_BYTES])
{
    const char *from = *list;
    if (!from)
        return false;
    size_t n = strcspn(from, ",");
    *list = from[n] ? from + n + 1 : NULL;
    for (; n && isspace((unsigned char)*from); n--)
        from++;
    while (n && isspace((unsigned char)from[n - 1]))
        n--;
    snprintf(ret_entry, ENTRY_BYTES, "%.*s", (int)(n < ENTRY_BYTES ? n : ENTRY_BYTES - 1), from);
    return true;
}

static bool add_given(struct gpus_given *g, uint32_t gpu)
{
    if (!device_is_given(g, gpu)) {
        must(g->count < DEVICE_GPUS_MAX);
        g->list[g->count++] = gpu;
    }
    return true;
}

/* "3", and of a node "0-3" too; false: it is no number. What is not here is counted. */
static bool take_numbers(struct given_list *r, const char *entry)
{
    int64_t first, last;
    const char *dash = r->form == GIVEN_TO_PROCESS ? NULL : strchr(entry, '-');
    struct span low = {entry, dash ? (size_t)(dash - entry) : strlen(entry)};
    if (!num_i64(low, &first) || first < 0)
        return false;
    last = first;
    if (dash && (!num_i64(span_of(dash + 1), &last) || last < first))
        return false;
    for (int64_t i = first; i <= last && i - first < DEVICE_GPUS_MAX; i++) {
        if (i < (int64_t)r->d->gpu_count)
            add_given(r->g, (uint32_t)i);
        else
            r->outside++;
    }
    r->numbers = true;
    return true;
}

/* One entry; false: it ends the list. */
static bool take_given_entry(struct given_list *r, const char *entry)
{
    size_t before = r->outside;
    uint32_t gpu;
    if (device_is_part(r->d, entry)) {
        r->part = r->part ? r->part : arena_text(r->arena, entry);
    } else if (!take_numbers(r, entry)) {
        if (device_find(r->d, entry, &gpu))
            add_given(r->g, gpu);
        else
            r->outside++;
    }
    return r->form != GIVEN_TO_PROCESS || r->outside == before;
}

static void take_all(struct gpus_given *g, const struct device *d)
{
    g->count = 0;
    for (uint32_t i = 0; i < d->gpu_count; i++)
        add_given(g, i);
}

/* Numbers of a node, or of a host around a container, are not those of the GPUs that are here, where not all of them
 * are: then those that are here were given. A container shows what it was given, by whatever name. */
static void take_the_visible(struct given_list *r)
{
    size_t named = r->g->count + r->outside;
    bool translated = r->form != GIVEN_TO_PROCESS && r->numbers && r->outside && named == r->d->gpu_count;
    if (translated || (r->form == GIVEN_TO_CONTAINER && r->g->count == 0 && !r->part))
        take_all(r->g, r->d);
}

/* CUDA's order is by speed unless it is told otherwise: the same as the driver's where all boards are alike. */
static const char *doubt_of(const struct given_list *r, const char *const *environment)
{
    const struct field_pair *order = &r->d->kind->order;
    const char *set = order->name ? variable_in(environment, order->name) : NULL;
    bool alike = true;
    for (size_t i = 1; i < r->d->gpu_count; i++) {
        const char *first = r->d->gpus[0].info.name, *name = r->d->gpus[i].info.name;
        alike = alike && first && name && strcmp(first, name) == 0;
    }
    if (r->form != GIVEN_TO_PROCESS || !r->numbers || alike || !order->name || (set && strcmp(set, order->value) == 0))
        return NULL;
    return arena_format(r->arena,
                        "The numbers of %s may mean other GPUs than the driver's: boards of this machine differ, and "
                        "without %s=%s they are counted by speed. Set that, or name GPUs by UUID with --gpus.",
                        r->g->variable, order->name, order->value);
}

/* "none", "void" and a path (volumes) leave the choice to others; nothing does so of a container. */
static bool names_no_gpus(enum given_form form, const char *value)
{
    return form != GIVEN_TO_PROCESS &&
           (!*value || *value == '/' || strcasecmp(value, "none") == 0 || strcasecmp(value, "void") == 0);
}

static const char *lack_of(const struct given_list *r)
{
    const struct gpus_given *g = r->g;
    if (r->part)
        return arena_format(
            r->arena,
            "%s gives %s, a part of a GPU: power and energy can only be measured for a whole board. Ask "
            "the scheduler for a whole GPU.",
            g->variable, r->part);
    if (g->count == 0)
        return arena_format(
            r->arena,
            "%s is \"%s\", which gives jtok none of the %zu GPU%s of this machine. Ask the scheduler for "
            "one, unset the variable, or name a GPU with --gpus.",
            g->variable, g->value, r->d->gpu_count, r->d->gpu_count == 1 ? "" : "s");
    if (r->form == GIVEN_ON_NODE && r->outside)
        return arena_format(r->arena,
                            "%s is \"%s\", but %zu GPU%s can be seen here, so it is not known which of them it means. "
                            "Name them with --gpus.",
                            g->variable, g->value, r->d->gpu_count, r->d->gpu_count == 1 ? "" : "s");
    return NULL;
}

static void read_given(struct given_list *r)
{
    const char *list = r->g->value;
    char entry[ENTRY_BYTES];
    while (next_entry(&list, entry) && *entry && take_given_entry(r, entry))
        continue;
    take_the_visible(r);
}

void device_given(const struct device *d, const char *const *environment, struct arena *a, struct gpus_given *ret)
{
    must(d && d->kind && d->gpu_count <= DEVICE_GPUS_MAX && a);
    struct gpus_given g = {0};
    const struct given_variable *v = d->kind->given;
    const char *value = NULL;
    for (; v && v->name; v++)
        if ((value = variable_in(environment, v->name)) && !names_no_gpus(v->form, value))
            break;
    if (!v || !v->name || (v->form != GIVEN_TO_PROCESS && strcasecmp(value, "all") == 0)) {
        take_all(&g, d);
        *ret = g;
        return;
    }
    g.variable = v->name;
    g.value = arena_text(a, value);
    struct given_list r = {.d = d, .g = &g, .arena = a, .form = v->form};
    read_given(&r);
    bool all_here = g.count == d->gpu_count;
    g.lack = lack_of(&r);
    if (g.lack && all_here && !r.part)
        g.lack = NULL;
    g.doubt = doubt_of(&r, environment);
    *ret = g;
}

bool device_is_given(const struct gpus_given *g, uint32_t gpu)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->list[i] == gpu)
            return true;
    return false;
}

bool device_names_same(const struct device *d, const char *list, const uint32_t *gpus, size_t gpu_count)
{
    must(d && list && gpus);
    struct gpus_given named = {0};
    char entry[ENTRY_BYTES];
    uint32_t gpu;
    while (next_entry(&list, entry)) {
        if (!device_find(d, entry, &gpu))
            return false;
        add_given(&named, gpu);
    }
    for (size_t i = 0; i < gpu_count; i++)
        if (!device_is_given(&named, gpus[i]))
            return false;
    return named.count == gpu_count;
}
