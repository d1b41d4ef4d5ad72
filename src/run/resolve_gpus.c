/* The GPUs of a run: which they are, and in what state. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/must.h"
#include "engine/engine.h"
#include "power/given.h"
#include "proc/tree.h"
#include "rules/tick.h"
#include "run/container.h"
#include "run/gpu_check.h"
#include "run/resolving.h"

extern char **environ;

/* A compute process on a GPU of the plan would be in every joule: told at once, not after two minutes of waiting for
 * idle. */
static bool gpus_are_free(struct resolving *v, struct err *e)
{
    const struct device *d = v->r->device;
    for (size_t g = 0; g < v->r->gpu_count; g++) {
        struct device_process list[DEVICE_PROCESSES_MAX];
        size_t n = 0;
        if (d->ops->processes(d->self, v->r->gpus[g], list, &n) != READ_OK || n == 0)
            continue;
        must(n <= DEVICE_PROCESSES_MAX);
        struct buf b = {0};
        for (size_t i = 0; i < n; i++) {
            struct proc p;
            bool seen = proc_read(list[i].pid, &p);
            buf_fmt(&b, "%spid %lld (%s)", i ? ", " : "", (long long)list[i].pid,
                    seen ? p.name : "not visible from here");
        }
        err_set(
            e, ERR_BUSY,
            "%s is in use by %zu compute process%s: %s. Stop %s, or choose other GPUs with --gpus; an idle machine is "
            "part of the measurement.",
            gpu_label(&d->gpus[v->r->gpus[g]].info, v->arena), n, n == 1 ? "" : "es", buf_text(&b),
            n == 1 ? "it" : "them");
        buf_done(&b);
        return false;
    }
    return true;
}

bool resolve_gpu_names(struct plan *p, struct arena *a, struct resolved *r, struct err *e)
{
    must(r->device && a);
    if (!device_select(r->device, p->gpus, p->gpu_count, r->gpus, &r->gpu_count, e))
        return false;
    if (r->gpu_count > TICK_GPUS_MAX)
        return err_set(e, ERR_PLAN, "The plan names %zu GPUs; at most %d can be measured in one run.", r->gpu_count,
                       TICK_GPUS_MAX);
    p->gpus = arena_array(a, r->gpu_count, sizeof *p->gpus);
    p->gpu_count = r->gpu_count;
    for (size_t g = 0; g < r->gpu_count; g++)
        p->gpus[g] = r->device->gpus[r->gpus[g]].info.uuid;
    return true;
}

/* The default set: what a scheduler gave to jtok, else all. */
static bool take_given(struct resolving *v, const struct gpus_given *given, struct err *e)
{
    const struct device *d = v->r->device;
    if (v->plan->gpu_count > 0 || !given->variable)
        return true;
    if (given->lack)
        return err_set(e, ERR_DEVICE, "%s", given->lack);
    v->plan->gpus = arena_array(v->arena, given->count, sizeof *v->plan->gpus);
    v->plan->gpu_count = given->count;
    for (size_t i = 0; i < given->count; i++) /* one that can't be read has no UUID, and is refused by its number */
        v->plan->gpus[i] = d->gpus[given->list[i]].info.uuid ? d->gpus[given->list[i]].info.uuid
                                                             : arena_format(v->arena, "%u", given->list[i]);
    return true;
}

/* Others than those that were given may be somebody else's. */
static void judge_given(struct resolving *v, const struct gpus_given *given, bool named)
{
    const struct resolved *r = v->r;
    struct preflight *p = &v->r->preflight;
    if (!given->variable)
        return;
    const char *others = NULL, *value = arena_format(v->arena, "%s=%s", given->variable, given->value);
    for (size_t g = 0; g < r->gpu_count; g++)
        if (!device_is_given(given, r->gpus[g]))
            others = arena_join(v->arena, others, ", ", gpu_label(&r->device->gpus[r->gpus[g]].info, v->arena));
    if (others)
        preflight_warn(
            p, "preflight.gpus_given", value, others,
            arena_format(v->arena,
                         "The plan names %s, which %s does not give to jtok: another user may have been given "
                         "it. Leave gpus (--gpus) out to take what was given.",
                         others, value));
    else if (given->doubt && !named)
        preflight_warn(p, "preflight.gpus_given", value, "numbers", given->doubt);
    else
        preflight_fact(p, "preflight.gpus_given", CHECK_PASSED, value, "GPUs that were given");
}

/* By which the engine sees the plan's GPUs. A container has no others, so that numbers begin anew in it. */
static size_t gpu_variables(const struct resolving *v, struct field_pair *variables)
{
    const struct resolved *r = v->r;
    const struct plan_engine *g = &v->plan->engine;
    uint32_t inside[DEVICE_GPUS_MAX];
    for (uint32_t i = 0; i < r->gpu_count; i++)
        inside[i] = i;
    bool anew = g->container.image && g->gpu_names == GPU_NAMES_INDEX;
    size_t n = r->device->ops->environment(r->device->self, anew ? inside : r->gpus, r->gpu_count, g->gpu_names,
                                           v->arena, variables);
    must(n > 0 && n <= DEVICE_VARIABLES_MAX);
    return n;
}

/* A choice of the plan's own variables that means the same GPUs is as good: some engines read only numbers. */
static void take_plan_choice(const struct resolving *v, struct field_pair *variables, size_t n)
{
    const struct plan_engine *g = &v->plan->engine;
    const struct resolved *r = v->r;
    for (size_t i = 0; i < n && !g->container.image; i++)
        for (size_t k = 0; k < g->env_count; k++)
            if (strcmp(g->env[k].name, variables[i].name) == 0 &&
                device_names_same(r->device, g->env[k].value, r->gpus, r->gpu_count))
                variables[i].value = g->env[k].value;
}

static void note_gpus(struct resolving *v)
{
    const struct resolved *r = v->r;
    const char *list = NULL;
    for (size_t g = 0; g < r->gpu_count; g++)
        list = arena_join(v->arena, list, ", ", gpu_label(&r->device->gpus[r->gpus[g]].info, v->arena));
    preflight_fact(&v->r->preflight, "preflight.gpus", CHECK_PASSED, "whole GPUs that can be measured", list);
}

bool resolve_gpus(struct resolving *v, struct err *e)
{
    struct resolved *r = v->r;
    struct gpus_given given;
    bool named = v->plan->gpu_count > 0;
    if (!device_open(&v->plan->power, &r->device, e))
        return false;
    device_given(r->device, (const char *const *)environ, v->arena, &given);
    if (!take_given(v, &given, e) || !resolve_gpu_names(v->plan, v->arena, r, e))
        return false;
    judge_given(v, &given, named);
    struct field_pair *variables = arena_array(v->arena, DEVICE_VARIABLES_MAX, sizeof *variables);
    size_t n = gpu_variables(v, variables);
    take_plan_choice(v, variables, n);
    r->site = (struct engine_site){.environment = (const char *const *)environ,
                                   .gpu_variables = variables,
                                   .gpu_variable_count = n,
                                   .hub_folder = container_hub_folder(v->arena),
                                   .owner = getpid()};
    note_gpus(v);
    return true;
}

/* GPUs that the engine will leave alone, or that it lacks, would exclude the run: told before the baseline where the
 * plan's parallel sizes say so. */
bool look_at_sizes(struct resolving *v, struct err *e)
{
    const struct plan_engine *g = &v->plan->engine;
    size_t gpus = v->r->gpu_count;
    int64_t needed = engine_gpu_count(v->plan);
    if (needed == ABSENT_I64 || needed == (int64_t)gpus)
        return true;
    return err_set(
        e, ERR_PLAN,
        "The plan names %zu GPU%s, but the engine's sizes (tensor %lld, pipeline %lld, data %lld) make it use "
        "%lld. Name as many GPUs with --gpus as the engine uses, or change its sizes.",
        gpus, gpus == 1 ? "" : "s", (long long)g->tensor_parallel, (long long)g->pipeline_parallel,
        (long long)g->data_parallel, (long long)needed);
}

bool look_whether_busy(struct resolving *v, struct err *e)
{
    bool free_gpus = gpus_are_free(v, e);
    preflight_fact(&v->r->preflight, "preflight.gpu_busy", free_gpus ? CHECK_PASSED : CHECK_FAILED,
                   "no compute process", free_gpus ? "none" : arena_text(v->arena, e->text));
    return free_gpus || v->o->despite_preflight;
}

/* ---- their state ---- */

/* What one GPU's state is, short, and what to do about it; null: nothing. */
struct gpu_word {
    const char *seen, *advice;
};

/* One fact for all GPUs of the plan: what each shows, and what to do where one is not as it should be. */
static bool note_state(struct resolving *v, const char *name, const char *expected,
                       struct gpu_word (*word)(const struct resolving *v, uint32_t gpu))
{
    const char *seen = NULL, *advice = NULL;
    for (size_t g = 0; g < v->r->gpu_count; g++) {
        struct gpu_word w = word(v, v->r->gpus[g]);
        if (w.seen)
            seen = arena_join(v->arena, seen, ", ", arena_format(v->arena, "GPU %u: %s", v->r->gpus[g], w.seen));
        if (w.advice)
            advice = arena_join(v->arena, advice, " ", w.advice);
    }
    if (advice)
        preflight_warn(&v->r->preflight, name, expected, seen, advice);
    else
        preflight_fact(&v->r->preflight, name, seen ? CHECK_PASSED : CHECK_NOT_JUDGED, expected, seen);
    return true;
}

static const struct rec_gpu *info_of(const struct resolving *v, uint32_t gpu)
{
    must(gpu < v->r->device->gpu_count);
    return &v->r->device->gpus[gpu].info;
}

static struct gpu_word persistence_of(const struct resolving *v, uint32_t gpu)
{
    int64_t on = info_of(v, gpu)->persistence;
    if (on == ABSENT_I64)
        return (struct gpu_word){0};
    return (struct gpu_word){
        on ? "on" : "off",
        on ? NULL
           : arena_format(v->arena,
                          "GPU %u is not in persistence mode, so the driver switches it off while no "
                          "program uses it. Turn the mode on; \"jtok doctor\" shows how.",
                          gpu)};
}

bool look_at_persistence(struct resolving *v, struct err *e)
{
    (void)e;
    return note_state(v, "preflight.persistence", "on", persistence_of);
}

static struct gpu_word power_limit_of(const struct resolving *v, uint32_t gpu)
{
    const struct rec_gpu *i = info_of(v, gpu);
    struct gpu_word w = {0};
    if (i->power_limit_mw == ABSENT_I64)
        return w;
    w.seen = arena_format(v->arena, "%lld W", (long long)i->power_limit_mw / 1000);
    if (i->power_limit_default_mw != ABSENT_I64 && i->power_limit_mw != i->power_limit_default_mw)
        w.advice =
            arena_format(v->arena,
                         "The power limit of GPU %u is %lld W, its default %lld W. The run is compared only with "
                         "runs under the same limit.",
                         gpu, (long long)i->power_limit_mw / 1000, (long long)i->power_limit_default_mw / 1000);
    return w;
}

bool look_at_power_limit(struct resolving *v, struct err *e)
{
    (void)e;
    return note_state(v, "preflight.power_limit", "the default", power_limit_of);
}

static bool state_of(const struct resolving *v, uint32_t gpu, struct rec_gpu_state *ret_state)
{
    const struct device *d = v->r->device;
    *ret_state = (struct rec_gpu_state){.slowdowns = ABSENT_I64, .temperature_c = -1, .sm_mhz = -1};
    return d->ops->state(d->self, gpu, ret_state) == READ_OK;
}

static struct gpu_word clocks_of(const struct resolving *v, uint32_t gpu)
{
    struct rec_gpu_state s;
    struct gpu_word w = {0};
    if (!state_of(v, gpu, &s) || s.slowdowns == ABSENT_I64)
        return w;
    bool set = s.slowdowns & (SLOWDOWN_CLOCK_SETTING | SLOWDOWN_SYNC);
    w.seen = set ? "held by a setting" : "not held";
    if (set)
        w.advice = arena_format(v->arena,
                                "The clock of GPU %u is held by a setting (locked or application clocks). Reset it, or "
                                "compare only with runs under the same setting.",
                                gpu);
    return w;
}

bool look_at_clocks(struct resolving *v, struct err *e)
{
    (void)e;
    return note_state(v, "preflight.clocks", "not held by a setting", clocks_of);
}

static struct gpu_word protection_of(const struct resolving *v, uint32_t gpu)
{
    struct rec_gpu_state s;
    struct gpu_word w = {0};
    if (!state_of(v, gpu, &s))
        return w;
    if (s.temperature_c >= 0)
        w.seen = arena_format(v->arena, "%d C", (int)s.temperature_c);
    if (s.slowdowns != ABSENT_I64 && (s.slowdowns & SLOWDOWNS_PROTECTIVE)) {
        w.seen = w.seen ? arena_format(v->arena, "%s, slowed down", w.seen) : "slowed down";
        w.advice =
            arena_format(v->arena,
                         "GPU %u slows itself down to protect the board (heat, power supply or hardware) although "
                         "it is idle. Let it cool, and look at its fans and cables.",
                         gpu);
    }
    return w;
}

bool look_at_protection(struct resolving *v, struct err *e)
{
    (void)e;
    return note_state(v, "preflight.protection", "no slowdown that protects the board", protection_of);
}

static struct gpu_word ecc_of(const struct resolving *v, uint32_t gpu)
{
    const struct device_gpu *g = &v->r->device->gpus[gpu];
    struct gpu_word w = {0};
    if (g->ecc == ABSENT_I64)
        return w;
    w.seen = g->ecc ? "on" : "off";
    if (g->ecc_next != ABSENT_I64 && g->ecc_next != g->ecc)
        w.advice =
            arena_format(v->arena,
                         "ECC of GPU %u is %s now and will be %s after its next reset. Reset it before a series of "
                         "runs, since speed and power differ.",
                         gpu, g->ecc ? "on" : "off", g->ecc_next ? "on" : "off");
    return w;
}

bool look_at_ecc(struct resolving *v, struct err *e)
{
    (void)e;
    return note_state(v, "preflight.ecc", "as it will stay", ecc_of);
}
