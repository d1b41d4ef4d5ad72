/* From the user's plan to the frozen one: everything that can be known before anything starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "http/limits.h"
#include "run/internal.h"
#include "store/plan_yaml.h"
#include "store/work_digest.h"

extern char **environ;

static bool load_requests(struct run *r, struct err *e)
{
    struct plan_requests *q = &r->plan->requests;
    struct problems problems;
    problems_init(&problems, r->arena, NULL);
    if (!engine_check_extra_body(r->plan, e))
        return false;
    struct stat st;
    bool piped = stat(q->file, &st) == 0 && !S_ISREG(st.st_mode);
    if (!request_set_load(&r->set, r->plan, r->signals.fd, &problems) || problems.count)
        return run_signalled(r, e) ? false : problems_none(&problems, ERR_PLAN, e);
    if (q->lengths.kind == LENGTH_LINES && !r->set.has_lengths)
        q->lengths.kind = LENGTH_NATURAL;
    q->sha256 = arena_text(r->arena, r->set.sha256);
    q->count = (int64_t)r->set.count;
    const char *slash = strrchr(q->file, '/');
    if (!r->plan->scenario)
        r->plan->scenario = piped ? "piped requests" : slash ? slash + 1 : q->file;
    char work[DIGEST_HEX];
    work_digest(r->plan, &r->set, work);
    q->work_sha256 = arena_text(r->arena, work);
    return true;
}

/* A compute process on a GPU of the plan would be in every joule: told at once, not after two minutes of waiting for
 * idle. */
static bool gpus_are_free(struct run *r, struct err *e)
{
    for (size_t g = 0; g < r->gpu_count; g++) {
        struct device_process list[DEVICE_PROCESSES_MAX];
        size_t n = 0;
        if (r->device->ops->processes(r->device->self, r->gpu_list[g], list, &n) != READ_OK || n == 0)
            continue;
        struct buf b = {0};
        for (size_t i = 0; i < n; i++) {
            char path[64], name[64] = "not visible from here";
            snprintf(path, sizeof path, "/proc/%lld/comm", (long long)list[i].pid);
            FILE *f = fopen(path, "re");
            if (f) {
                if (fgets(name, sizeof name, f))
                    name[strcspn(name, "\n")] = 0;
                fclose(f);
            }
            buf_fmt(&b, "%spid %lld (%s)", i ? ", " : "", (long long)list[i].pid, name);
        }
        err_set(
            e, ERR_BUSY,
            "%s is in use by %zu compute process%s: %s. Stop %s, or choose other GPUs with --gpus; an idle machine is "
            "part of the measurement.",
            run_gpu_name(r, (uint32_t)g), n, n == 1 ? "" : "es", buf_text(&b), n == 1 ? "it" : "them");
        buf_done(&b);
        return false;
    }
    return true;
}

static bool open_gpus(struct run *r, struct err *e)
{
    if (!device_open(&r->plan->power, &r->device, e) ||
        !device_select(r->device, r->plan->gpus, r->plan->gpu_count, r->gpu_list, &r->gpu_count, e))
        return false;
    if (r->gpu_count > TICK_GPUS_MAX)
        return err_set(e, ERR_PLAN, "The plan names %zu GPUs; at most %d can be measured in one run.", r->gpu_count,
                       TICK_GPUS_MAX);
    r->plan->gpus = arena_array(r->arena, r->gpu_count, sizeof *r->plan->gpus);
    r->plan->gpu_count = r->gpu_count;
    for (size_t g = 0; g < r->gpu_count; g++)
        r->plan->gpus[g] = r->device->gpus[r->gpu_list[g]].info.uuid;
    return true;
}

static bool resolve_port(struct run *r, struct err *e)
{
    const char *host = r->plan->engine.host;
    if (strncmp(host, "unix:", 5) == 0)
        return preflight_unix_socket(&r->preflight, host + 5, e);
    if (r->plan->engine.port < 0 || r->plan->engine.port > 65535)
        return err_set(e, ERR_PLAN, "The engine's port %lld is not between 1 and 65535. Correct --port or engine.port.",
                       (long long)r->plan->engine.port);
    if (r->plan->engine.port != 0)
        return preflight_port(&r->preflight, host, r->plan->engine.port, e);
    if (!engine_port_is_free(r->plan))
        return err_set(e, ERR_PLAN,
                       "The plan does not say which port the engine listens on. Set engine.port, or write "
                       "{port} in the command where it belongs.");
    return preflight_free_port(host, &r->plan->engine.port, e);
}

/* What would stop the formal requests after an hour of starting is told now. */
static bool can_connect(struct run *r, struct err *e)
{
    struct address list[ADDRESSES_MAX];
    int n;
    return address_resolve(r->plan->engine.host, (int)r->plan->engine.port, list, &n, e) &&
           limits_ports(&list[0], r->set.count, e);
}

/* Where digests of large files are remembered; null: the user has no place for caches. */
static const char *digest_memory(struct arena *a)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] != '/')
        cache = NULL;
    if (!cache && !(home && home[0] == '/'))
        return NULL;
    cache = cache ? cache : arena_format(a, "%s/.cache", home);
    const char *folder = arena_format(a, "%s/jtok", cache);
    mkdir(cache, 0700);
    mkdir(folder, 0700);
    return arena_format(a, "%s/digests", folder);
}

static bool hashing_stopped(void *self)
{
    return run_signalled(self, NULL);
}

static bool resolve_snapshot(struct run *r, struct err *e)
{
    if (!r->plan->model.snapshot)
        return true;
    r->preflight.digests =
        (struct weights_memory){.path = digest_memory(r->arena), .stopped = hashing_stopped, .self = r};
    bool hashed = preflight_snapshot(&r->preflight, r->plan, &r->snapshot, e);
    r->preflight.digests.stopped = NULL; /* what is read again later is small */
    if (!hashed)
        return false;
    r->has_snapshot = true;
    r->plan->model.snapshot_digest = arena_text(r->arena, r->snapshot.digest);
    r->plan->model.snapshot_sha256 = arena_text(r->arena, r->snapshot.sha256);
    if (!r->plan->model.revision)
        r->plan->model.revision = r->snapshot.revision;
    return true;
}

/* The engine runs in a folder of its own: words of its command that name something here are made absolute. */
static void make_paths_absolute(struct run *r)
{
    struct plan_engine *e = &r->plan->engine;
    for (size_t i = 0; i < e->command_count; i++) {
        char *absolute = e->command[i][0] != '/' && strchr(e->command[i], '/') ? realpath(e->command[i], NULL) : NULL;
        if (absolute)
            e->command[i] = arena_text(r->arena, absolute);
        free(absolute);
    }
}

const char *const *run_warnings(const struct run *r, size_t *ret_count)
{
    const char **list = arena_array(r->arena, r->preflight.fact_count + r->set.warning_count + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < r->set.warning_count; i++)
        list[n++] = r->set.warnings[i];
    for (size_t i = 0; i < r->preflight.fact_count; i++) {
        const struct rec_fact *f = &r->preflight.facts[i];
        if (f->outcome == CHECK_FAILED)
            list[n++] = arena_format(r->arena,
                                     "The machine is not in a normal state, so this run will be excluded "
                                     "(preflight_failed). Expected: %s. Seen: %s",
                                     f->expected, f->seen);
    }
    *ret_count = n;
    return list;
}

/* GPUs that the engine will leave alone, or that it lacks, would exclude the run: told before the baseline where the
 * plan's parallel sizes say so. */
static bool sizes_fit(const struct run *r, struct err *e)
{
    const struct plan_engine *g = &r->plan->engine;
    int64_t tensor = g->tensor_parallel, pipeline = g->pipeline_parallel, data = g->data_parallel;
    if (!engine_states_sizes(r->plan) || tensor < 1 || pipeline < 1 || data < 1 || tensor > 1024 || pipeline > 1024 ||
        data > 1024 || tensor * pipeline * data == (int64_t)r->gpu_count)
        return true;
    return err_set(
        e, ERR_PLAN,
        "The plan names %zu GPU%s, but the engine's sizes (tensor %lld, pipeline %lld, data %lld) make it use "
        "%lld. Name as many GPUs with --gpus as the engine uses, or change its sizes.",
        r->gpu_count, r->gpu_count == 1 ? "" : "s", (long long)tensor, (long long)pipeline, (long long)data,
        (long long)(tensor * pipeline * data));
}

/* What would stop the engine's start is told now, not after the baseline. */
static bool can_launch(struct run *r, struct err *e)
{
    struct engine_site site = {.cache_folder = "/", .environment = (const char *const *)environ};
    struct engine_launch launch;
    if (!engine_launch_make(r->plan, &site, r->arena, &launch, e))
        return false;
    struct child_spec spec = {.argv = launch.argv, .env = launch.env};
    return child_can_start(&spec, e);
}

bool run_resolve(struct run *r, struct err *e)
{
    struct problems problems;
    problems_init(&problems, r->arena, NULL);
    make_paths_absolute(r);
    if (!engine_complete_plan(r->plan, r->arena, e))
        return false;
    plan_check(r->plan, &problems);
    if (!problems_none(&problems, ERR_PLAN, e) || !load_requests(r, e) || run_signalled(r, e))
        return false;
    /* Never stored. The caller's own counts before the one that the server was told to ask for. */
    r->api_key = r->options->api_key ? r->options->api_key : engine_api_key(r->plan, (const char *const *)environ);
    secrets_add_environ(&r->secrets, environ);
    secrets_add_plan(&r->secrets, r->plan);
    if (r->api_key)
        secrets_add(&r->secrets, "api_key", span_of(r->api_key));
    if (!open_gpus(r, e) || !sizes_fit(r, e) || run_signalled(r, e))
        return false;
    bool free_gpus = gpus_are_free(r, e);
    preflight_fact(&r->preflight, "preflight.gpu_busy", free_gpus ? CHECK_PASSED : CHECK_FAILED, "no compute process",
                   free_gpus ? "none" : arena_text(r->arena, e->text));
    if (!free_gpus && !r->options->despite_preflight)
        return false;
    preflight_leftovers(&r->preflight, NULL);
    return preflight_open_files(&r->preflight, (int64_t)r->set.count, NULL, e) && resolve_port(r, e) &&
           can_connect(r, e) && can_launch(r, e) && resolve_snapshot(r, e) && !run_signalled(r, e);
}
