/* What is looked at before a run, in order. */
#include <stdio.h>
#include <string.h>
#include "base/must.h"
#include "run/resolving.h"

#define PREFIX "preflight."

static bool has_gpus(const struct resolving *v)
{
    return v->r->gpu_count > 0;
}

static bool has_port(const struct resolving *v)
{
    return v->plan->engine.port > 0 || strncmp(v->plan->engine.host, "unix:", 5) == 0;
}

static bool can_be_launched(const struct resolving *v)
{
    return has_gpus(v) && has_port(v);
}

static bool shares_memory(const struct resolving *v)
{
    return v->r->gpu_count > 1 && !v->plan->engine.container.image && !v->plan->engine.simulated;
}

static bool names_snapshot(const struct resolving *v)
{
    return v->plan->model.snapshot != NULL;
}

static bool comes_from_hub(const struct resolving *v)
{
    const char *fetch;
    const struct plan *p = v->plan;
    return !p->model.snapshot && !p->engine.container.image && !p->engine.simulated &&
           engine_hub_model(p, v->arena, &fetch);
}

static bool has_model_folder(const struct resolving *v)
{
    return resolve_model_folder(v) != NULL;
}

static bool has_snapshot(const struct resolving *v)
{
    return v->r->snapshot.folder != NULL;
}

static bool look_for_leftovers(struct resolving *v, struct err *e)
{
    (void)e;
    preflight_leftovers(&v->r->preflight, v->r->device, v->r->gpus, v->r->gpu_count, NULL);
    return true;
}

static bool look_at_open_files(struct resolving *v, struct err *e)
{
    size_t open;
    resolve_count_requests(v->plan, &v->r->set, &open);
    return preflight_open_files(&v->r->preflight, (int64_t)open, NULL, e);
}

bool look_at_disk(struct resolving *v, struct err *e)
{
    size_t open;
    const struct request_set *set = &v->r->set;
    int64_t count = (int64_t)resolve_count_requests(v->plan, set, &open), tokens = set->total_max_tokens;
    if (tokens != ABSENT_I64 && v->plan->load_count > 0) /* the set's requests, again and again */
        tokens = (int64_t)((double)tokens / (double)set->count * (double)count);
    return preflight_disk(&v->r->preflight, v->plan->runs, preflight_record_bytes(count, tokens), e) ||
           (v->o && v->o->despite_preflight);
}

static bool look_at_memory(struct resolving *v, struct err *e)
{
    (void)e;
    preflight_memory(&v->r->preflight, v->r->snapshot.largest_bytes);
    return true;
}

static bool look_at_shared_memory(struct resolving *v, struct err *e)
{
    (void)e;
    preflight_shared_memory(&v->r->preflight, "/dev/shm");
    return true;
}

static bool look_at_page_cache(struct resolving *v, struct err *e)
{
    (void)e;
    const struct snapshot *s = &v->r->snapshot;
    preflight_fact(&v->r->preflight, PREFIX "page_cache", CHECK_NOT_JUDGED, NULL,
                   s->resident_bytes == ABSENT_I64
                       ? NULL
                       : arena_format(v->arena, "%.3g of %.3g GB of the snapshot", (double)s->resident_bytes / 1e9,
                                      (double)s->bytes / 1e9));
    return true;
}

const struct preflight_row preflight_rows[] = {
    {"plan", "Plan", "complete", NULL, resolve_texts},
    {"settings", "Settings", NULL, NULL, NULL},
    {"thinking", "Thinking", NULL, NULL, NULL},
    {"container_image", "Image", NULL, NULL, NULL},
    {"containers", "Containers left", NULL, NULL, NULL},
    {"container_gpus", "GPUs for podman", NULL, NULL, NULL},
    {"gpus", "GPUs", "whole GPUs that can be measured", NULL, resolve_gpus},
    {"gpus_given", "Scheduler's GPUs", NULL, NULL, NULL},
    {"parallel_sizes", "Parallel sizes", "as many GPUs as the engine uses", has_gpus, look_at_sizes},
    {"gpu_busy", "GPUs idle", NULL, has_gpus, look_whether_busy},
    {"leftovers", "Engines left", NULL, NULL, look_for_leftovers},
    {"persistence", "Persistence mode", NULL, has_gpus, look_at_persistence},
    {"ecc", "ECC", NULL, has_gpus, look_at_ecc},
    {"power_limit", "Power limit", NULL, has_gpus, look_at_power_limit},
    {"clocks", "Clocks", NULL, has_gpus, look_at_clocks},
    {"protection", "Thermal state", NULL, has_gpus, look_at_protection},
    {"open_files", "Open files", NULL, NULL, look_at_open_files},
    {"port", "Port", "a free port", NULL, resolve_port},
    {"connect", "Connections", "as many ports as requests at once", has_port, resolve_can_connect},
    {"command", "Engine's command", "a program that can be started", can_be_launched, resolve_can_launch},
    {"driver", "Driver", NULL, NULL, NULL},
    {"disk", "Disk", NULL, NULL, look_at_disk},
    {"weights", "Weights", NULL, comes_from_hub, look_at_weights},
    {"snapshot_files", "Model's files", NULL, has_model_folder, look_at_snapshot_files},
    {"tokenizer", "Tokenizer", NULL, NULL, NULL},
    {"config", "config.json", NULL, NULL, NULL},
    {"snapshot", "Snapshot", "a whole snapshot", names_snapshot, resolve_snapshot},
    {"revision", "Revision", NULL, NULL, NULL},
    {"snapshot_sha256", "Snapshot's hash", NULL, NULL, NULL},
    {"snapshot_digest", "Snapshot's digest", NULL, NULL, NULL},
    {"page_cache", "Page cache", NULL, has_snapshot, look_at_page_cache},
    {"memory", "Memory", NULL, has_snapshot, look_at_memory},
    {"shared_memory", "/dev/shm", NULL, shares_memory, look_at_shared_memory},
};
const size_t preflight_row_count = sizeof preflight_rows / sizeof *preflight_rows;

/* The last fact of a row from number `from` on; the count: none. */
static size_t place_of_fact(const struct preflight *p, const struct preflight_row *row, size_t from)
{
    size_t at = p->fact_count;
    for (size_t i = from; i < p->fact_count; i++)
        if (strcmp(p->facts[i].name + strlen(PREFIX), row->name) == 0 &&
            strncmp(p->facts[i].name, PREFIX, strlen(PREFIX)) == 0)
            at = i;
    return at;
}

static const char *fact_name(const struct resolving *v, const struct preflight_row *row)
{
    return arena_format(v->arena, PREFIX "%s", row->name);
}

static void note_passed(struct resolving *v, const struct preflight_row *row, size_t from)
{
    struct preflight *p = &v->r->preflight;
    if (row->wanted && place_of_fact(p, row, from) == p->fact_count)
        preflight_fact(p, fact_name(v, row), CHECK_PASSED, row->wanted, row->wanted);
}

/* The error is said in place of what a failed fact would say. */
static void note_failed(struct resolving *v, const struct preflight_row *row, size_t from, const struct err *e)
{
    struct preflight *p = &v->r->preflight;
    size_t at = place_of_fact(p, row, from);
    if (at == p->fact_count)
        preflight_fact(p, fact_name(v, row), CHECK_FAILED, row->wanted ? row->wanted : "passed", "no");
    p->facts[at].outcome = CHECK_FAILED;
    p->advice[at] = arena_text(v->arena, e->text);
}

static bool look_at_row(struct resolving *v, const struct preflight_row *row, struct err *e)
{
    struct err why = {0};
    size_t from = v->r->preflight.fact_count;
    if (!row->look || (row->applies && !row->applies(v)))
        return true;
    if (row->look(v, &why) && signals_none(v->o->signals, &why)) {
        note_passed(v, row, from);
        return true;
    }
    bool ends = !v->o->look_through || why.kind == ERR_INTERRUPTED;
    if (ends) {
        *e = why;
        return false;
    }
    note_failed(v, row, from, &why);
    if (v->r->stopped.kind == ERR_NONE)
        v->r->stopped = why;
    return true;
}

bool preflight_go(struct resolving *v, struct err *e)
{
    for (size_t i = 0; i < preflight_row_count; i++) {
        if (!look_at_row(v, &preflight_rows[i], e))
            return false;
        if (i == 0 && v->r->stopped.kind != ERR_NONE)
            return true; /* of a plan that can't be completed nothing more can be said */
    }
    return true;
}

/* ---- for people ---- */

static const char *label_of(const char *name)
{
    for (size_t i = 0; i < preflight_row_count; i++)
        if (strcmp(preflight_rows[i].name, name) == 0)
            return preflight_rows[i].label;
    return name;
}

static struct preflight_line line_of(const struct preflight *p, size_t i, struct arena *a)
{
    const struct rec_fact *f = &p->facts[i];
    bool failed = f->outcome == CHECK_FAILED;
    const char *name = f->name + strlen(PREFIX), *advice = p->advice[i];
    if (failed && !advice)
        advice = arena_format(a, "Expected: %s.", f->expected ? f->expected : "nothing of the kind");
    return (struct preflight_line){.name = name,
                                   .label = label_of(name),
                                   .state = failed   ? PREFLIGHT_FAILED
                                            : advice ? PREFLIGHT_WARNED
                                                     : PREFLIGHT_PASSED,
                                   .seen = f->seen,
                                   .advice = advice};
}

const char *const preflight_state_names[PREFLIGHT_FAILED + 2] = {
    [PREFLIGHT_PASSED] = "passed", [PREFLIGHT_WARNED] = "warned", [PREFLIGHT_FAILED] = "failed"};

void preflight_lines(const struct preflight *p, struct arena *a, struct preflight_line **ret_list, size_t *ret_count)
{
    struct preflight_line *list = arena_array(a, p->fact_count + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < p->fact_count; i++)
        if (strncmp(p->facts[i].name, PREFIX, strlen(PREFIX)) == 0)
            list[n++] = line_of(p, i, a);
    *ret_list = list;
    *ret_count = n;
}
