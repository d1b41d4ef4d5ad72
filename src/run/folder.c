#include "run/folder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/file.h"
#include "base/must.h"
#include "model/method.h"
#include "run/ending.h"
#include "run/host.h"
#include "run/service.h"
#include "store/archive.h"
#include "store/work_digest.h"
#include "text/digest.h"

enum { RESIDENCY_SLACK_BYTES = 64 << 20 }; /* the kernel may keep more of a file than was asked of it */

/* ---- making it ---- */

static struct rec_run describe(const struct folder *f)
{
    const struct resolved *r = f->resolved;
    struct host host = host_read(f->arena);
    return (struct rec_run){
        .id = archive_id(f->path, f->arena),
        .jtok_version = JTOK_VERSION,
        .method_id = METHOD_ID,
        .began_realtime_ns = clock_realtime_ns(),
        .host = host.name,
        .kernel = host.kernel,
        .cpu = host.cpu,
        .driver_version = r->device->driver_version,
        .library_version = r->device->library_version,
        .gpu_simulated = r->device->simulated,
        .engine_simulated = r->plan->engine.simulated,
        .engine_exit_status = ABSENT_I64,
        .prefix_cache = ABSENT_I64,
        .snapshot_bytes = r->snapshot.folder ? r->snapshot.bytes : ABSENT_I64,
        .snapshot_resident_bytes = ABSENT_I64,
        .own_request_tokens = ABSENT_I64,
        .own_requests_max = ABSENT_I64,
    };
}

/* plan.json and plan.yaml, without their secrets. */
static bool write_plan(struct folder *f, const char *source, struct err *e)
{
    struct resolved *r = f->resolved;
    size_t places = 0;
    struct plan masked = secrets_mask_plan(&r->secrets, r->plan, f->arena, &places);
    char sha256[DIGEST_HEX];
    if (!archive_write_plan(f->path, &masked, sha256, e))
        return false;
    if (source) {
        struct buf text = {0};
        places += secrets_replace(&r->secrets, span_of(source), &text);
        bool written = archive_write_file(f->path, "plan.yaml", buf_span(&text), e);
        buf_done(&text);
        if (!written)
            return false;
    }
    f->record.plan_sha256 = arena_text(f->arena, sha256);
    f->record.secrets_replaced = (int64_t)places;
    return true;
}

static bool write_gpus(const struct folder *f, struct err *e)
{
    const struct resolved *r = f->resolved;
    struct rec_gpu *gpus = arena_array(f->arena, r->gpu_count, sizeof *gpus);
    for (size_t g = 0; g < r->gpu_count; g++)
        gpus[g] = r->device->gpus[r->gpus[g]].info;
    return archive_write_gpus(f->path, gpus, r->gpu_count, e);
}

bool folder_make(struct folder *f, struct resolved *r, const struct folder_options *o, struct arena *a, struct err *e)
{
    must(r->plan && r->gpu_count > 0);
    *f = (struct folder){.arena = a, .resolved = r};
    const char *label = r->plan->name ? r->plan->name : r->plan->model.id;
    if (!archive_create(r->plan->runs, label, clock_realtime_ns(), a, &f->path, e))
        return false;
    f->origin_ns = clock_now_ns();
    f->record = describe(f);
    return write_plan(f, o->plan_source, e) && write_gpus(f, e) && archive_write_run(f->path, &f->record, e) &&
           recorder_open(&f->recorder, f->path, &(struct recorder_options){.secrets = &r->secrets}, e);
}

void folder_done(struct folder *f)
{
    recorder_close(f->recorder, NULL, NULL);
    f->recorder = NULL;
}

/* ---- on the way ---- */

void folder_note_resolved(const struct folder *f, struct stage_machine *m)
{
    must(m->records.fact);
    const struct resolved *r = f->resolved;
    for (size_t i = 0; i < r->preflight.fact_count; i++)
        m->records.fact(m->records.self, &r->preflight.facts[i]);
    for (size_t g = 0; g < r->gpu_count; g++)
        stage_fact(m, "gpu.uuid", CHECK_PASSED, r->plan->gpus[g], r->device->gpus[r->gpus[g]].info.uuid);
}

void folder_note_environment(struct folder *f, const struct engine_launch *launch)
{
    must(!f->record.environment);
    f->record.environment = arena_array(f->arena, launch->env_count, sizeof *f->record.environment);
    for (size_t i = 0; i < launch->env_count; i++) {
        const char *equals = strchr(launch->env[i], '=');
        if (!equals) /* no variable: a program may be given any strings */
            continue;
        struct span name = {launch->env[i], (size_t)(equals - launch->env[i])};
        struct buf value = {0};
        if (secrets_is_name(name) && equals[1])
            buf_fmt(&value, "[secret:%.*s]", SPAN_ARG(name));
        else
            f->record.secrets_replaced += (int64_t)secrets_replace(&f->resolved->secrets, span_of(equals + 1), &value);
        f->record.environment[f->record.environment_count++] =
            (struct field_pair){arena_copy(f->arena, name.p, name.n), arena_text(f->arena, buf_text(&value))};
        buf_done(&value);
    }
}

void folder_note_residency(struct folder *f, struct stage_machine *m)
{
    must(f->path && m->records.fact);
    const struct snapshot *s = &f->resolved->snapshot;
    f->record.snapshot_resident_bytes = s->folder ? s->resident_bytes : ABSENT_I64;
    if (!s->folder)
        return;
    int64_t before = s->resident_bytes, now = snapshot_resident_bytes(s);
    bool known = before != ABSENT_I64 && now != ABSENT_I64;
    stage_fact(m, "snapshot.page_cache",
               !known                                 ? CHECK_NOT_RECORDED
               : now - before > RESIDENCY_SLACK_BYTES ? CHECK_FAILED
                                                      : CHECK_PASSED,
               before == ABSENT_I64 ? NULL : arena_format(f->arena, "%lld bytes", (long long)before),
               now == ABSENT_I64 ? NULL : arena_format(f->arena, "%lld bytes", (long long)now));
}

void folder_note_engine(struct folder *f, const struct engine_identity *id, int64_t exit_status)
{
    struct rec_run *record = &f->record;
    record->engine_version = engine_says(id, PROPERTY_VERSION);
    record->engine_fingerprint = id->fingerprint;
    record->engine_name = id->name;
    record->engine_exit_status = exit_status;
    record->own_request_tokens = engine_own_request_tokens(f->resolved->plan, id);
    record->own_requests_max = id->own_requests_max;
    const char *cache = engine_says(id, PROPERTY_PREFIX_CACHE);
    if (cache)
        record->prefix_cache = strcmp(cache, "on") == 0;
    else if (engine_prefix_cache_argument(f->resolved->plan) >= 0)
        record->prefix_cache = engine_prefix_cache_argument(f->resolved->plan);
}

/* ---- the end ---- */

static void compare(struct stage_machine *m, const char *name, const char *expected, const char *seen)
{
    enum check_outcome outcome = !seen ? CHECK_NOT_RECORDED : strcmp(expected, seen) == 0 ? CHECK_PASSED : CHECK_FAILED;
    stage_fact(m, name, outcome, expected, seen);
}

/* 0: the plan does not tell, as a load may end by time. */
static size_t planned_requests(const struct resolved *r)
{
    size_t sum = 0;
    for (size_t i = 0; i < r->plan->load_count; i++) {
        if (!isnan(r->plan->loads[i].for_s))
            return 0;
        sum += (size_t)r->plan->loads[i].count;
    }
    return r->plan->load_count > 0 ? sum : r->set.count;
}

/* The requests are those that were read once, before the start, and are asked for again here, from memory: the file may
 * have been a pipe, and what became of it since changes nothing. What the engine says of itself are the identity facts.
 */
void folder_check_plan(struct folder *f, struct stage_machine *m, size_t sent)
{
    must(f->path && f->recorder);
    struct resolved *r = f->resolved;
    const struct plan *p = r->plan;
    char work[DIGEST_HEX];
    work_digest(p, &r->set, work);
    if (!plan_is_random(p))
        compare(m, "plan.requests_sha256", p->requests.sha256, r->set.sha256);
    compare(m, "plan.work_sha256", p->requests.work_sha256, work);
    size_t planned = planned_requests(r);
    if (planned > 0 && !m->asked)
        compare(m, "plan.requests_count", arena_format(f->arena, "%zu", planned), arena_format(f->arena, "%zu", sent));
    if (!r->snapshot.folder)
        return;
    char sha256[DIGEST_HEX], digest[DIGEST_HEX];
    bool read = snapshot_again(&r->preflight, &r->snapshot, sha256, digest, NULL);
    compare(m, "plan.snapshot_sha256", p->model.snapshot_sha256, read ? sha256 : NULL);
    compare(m, "plan.snapshot_digest", p->model.snapshot_digest, read ? digest : NULL);
}

bool folder_finish(struct folder *f, const struct rec_client *client)
{
    must(f->path && f->recorder);
    if (client)
        f->record.stamp_source = client->stamps_kernel > 0 ? "kernel" : "read";
    bool written = ending_write(f->recorder, f->path, client, &f->record, &f->unwritten);
    f->recorder = NULL;
    return written;
}

void folder_remove_caches(const struct folder *f)
{
    must(f->path && *f->path);
    file_remove_folder(arena_format(f->arena, "%s/" ENGINE_CACHE, f->path));
    rmdir(arena_format(f->arena, "%s/" ENGINE_WORK, f->path));
}
