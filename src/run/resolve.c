#include "run/resolve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/must.h"
#include "base/time.h"
#include "engine/engine.h"
#include "http/address.h"
#include "http/limits.h"
#include "proc/child.h"
#include "proc/tree.h"
#include "rules/tick.h"
#include "run/container.h"
#include "run/resolving.h"
#include "run/template.h"
#include "run/vocabulary.h"
#include "store/plan_yaml.h"
#include "store/random_prompts.h"
#include "store/work_digest.h"

extern char **environ;

/* Of a service that runs already, what it calls its model's place stands in for a snapshot that nobody names. */
static struct plan with_its_files(const struct resolving *v)
{
    struct plan seen = *v->plan;
    const char *root = v->r->running.open ? v->r->running.identity.found[PROPERTY_ROOT].value : NULL;
    if (root && !seen.model.snapshot) {
        bool here = root[0] == '/' && access(arena_format(v->arena, "%s/config.json", root), R_OK) == 0;
        seen.model.snapshot = here ? root : NULL;
        seen.model.id = root[0] == '/' ? seen.model.id : root;
    }
    return seen;
}

static bool resolve_vocabulary(struct resolving *v, struct err *e)
{
    struct plan seen = with_its_files(v);
    if (!vocabulary_resolve(&seen, v->arena, e))
        return false;
    v->plan->requests.random = seen.requests.random;
    return true;
}

/* Random prompts, of which each load sends as many as its own count, time or trace says: the set has no number. */
static bool goes_on(const struct plan *p)
{
    bool own = p->load_count > 0 && plan_is_random(p) && p->requests.count == ABSENT_I64;
    for (size_t i = 0; i < p->load_count; i++) {
        const struct plan_load *l = &p->loads[i];
        own = own && (l->kind == LOAD_TRACE || l->count != ABSENT_I64 || !isnan(l->for_s));
    }
    return own;
}

static bool resolve_requests(struct resolving *v, struct err *e)
{
    struct plan_requests *q = &v->plan->requests;
    struct request_set *set = &v->r->set;
    struct problems problems;
    problems_init(&problems, v->arena, NULL);
    if (!engine_check_extra_body(v->plan, e))
        return false;
    bool random = plan_is_random(v->plan);
    struct plan seen = with_its_files(v);
    struct engine_template known = template_read(&seen, v->arena);
    const char *note;
    if (!engine_set_thinking(v->plan, &known, v->arena, &note, e))
        return false;
    if (note)
        preflight_warn(&v->r->preflight, "preflight.thinking", NULL, v->plan->requests.thinking, note);
    if (random && !resolve_vocabulary(v, e))
        return false;
    struct stat st;
    bool piped = !random && stat(q->file, &st) == 0 && !S_ISREG(st.st_mode);
    if (!request_set_load(set, v->plan, v->o->signals->watch.fd, &problems) || problems.count)
        return signals_none(v->o->signals, e) && problems_none(&problems, ERR_PLAN, e);
    if (q->lengths.kind == LENGTH_LINES && !set->has_lengths)
        q->lengths.kind = LENGTH_NATURAL;
    q->sha256 = random ? NULL : arena_text(v->arena, set->sha256);
    if (!goes_on(v->plan))
        q->count = (int64_t)set->count;
    const char *slash = random ? NULL : strrchr(q->file, '/');
    if (!v->plan->scenario)
        v->plan->scenario = random  ? random_prompts_name(q, v->arena)
                            : piped ? "piped requests"
                            : slash ? slash + 1
                                    : q->file;
    char work[DIGEST_HEX];
    work_digest(v->plan, set, work);
    q->work_sha256 = arena_text(v->arena, work);
    return true;
}

/* ---- loads ---- */

/* How many requests a load sends at most: its count, or what its time allows; a closed loop's requests are taken to
 * last a second at least. And how many of them may be open at once: of an open loop two seconds' worth, where the
 * server keeps up. */
static double load_requests(const struct plan_load *l, double *ret_open)
{
    double count = l->count == ABSENT_I64 ? INFINITY : (double)l->count, by_time = INFINITY, open = count;
    if (!isnan(l->for_s) && l->kind == LOAD_CONCURRENCY)
        by_time = (double)l->concurrency * l->for_s;
    if (!isnan(l->for_s) && l->kind == LOAD_RATE)
        by_time = l->rate * l->for_s;
    if (l->kind == LOAD_CONCURRENCY)
        open = 2 * (double)l->concurrency;
    if (l->kind == LOAD_RATE)
        open = fmin(count, 2 * l->rate + 64);
    if (l->kind == LOAD_TRACE)
        open = fmin(count, 1024);
    *ret_open = open;
    return fmin(count, by_time);
}

size_t resolve_count_requests(const struct plan *p, const struct request_set *set, size_t *ret_open)
{
    *ret_open = set->count;
    if (p->load_count == 0)
        return set->count;
    double sum = 0, open = 0;
    for (size_t i = 0; i < p->load_count; i++) {
        double open_now;
        sum += load_requests(&p->loads[i], &open_now);
        open = fmax(open, open_now);
    }
    *ret_open = (size_t)fmin(open, 1e9);
    return (size_t)fmin(sum, 1e12);
}

/* What a load leaves open: its number of requests where neither that nor a time is stated, and a trace's. */
static bool resolve_load(struct resolving *v, size_t i, struct plan_load *l, struct err *e)
{
    if (l->kind == LOAD_TRACE) {
        struct trace *t = &v->r->traces[i];
        if (!trace_load(l->file, l->scale, v->o->signals->watch.fd, t, e)) {
            if (e->kind == ERR_SYSTEM) /* a file that can't be read is the plan's fault */
                e->kind = ERR_PLAN;
            signals_none(v->o->signals, e);
            return false;
        }
        l->sha256 = arena_text(v->arena, t->sha256);
        if (l->count == ABSENT_I64 || (size_t)l->count > t->count)
            l->count = (int64_t)t->count;
    } else if (l->count == ABSENT_I64 && isnan(l->for_s)) {
        l->count = (int64_t)v->r->set.count;
    }
    return true;
}

static bool resolve_loads(struct resolving *v, struct err *e)
{
    struct plan *p = v->plan;
    if (p->load_count == 0)
        return true;
    struct plan_load *loads = arena_array(v->arena, p->load_count, sizeof *loads);
    v->r->traces = arena_array(v->arena, p->load_count, sizeof *v->r->traces);
    memset(v->r->traces, 0, p->load_count * sizeof *v->r->traces);
    v->r->trace_count = p->load_count;
    for (size_t i = 0; i < p->load_count; i++) {
        loads[i] = p->loads[i];
        if (!resolve_load(v, i, &loads[i], e))
            return false;
    }
    p->loads = loads;
    return true;
}

bool resolve_port(struct resolving *v, struct err *e)
{
    struct plan_engine *engine = &v->plan->engine;
    if (strncmp(engine->host, "unix:", 5) == 0)
        return preflight_unix_socket(&v->r->preflight, engine->host + 5, e);
    if (engine->port < 0 || engine->port > 65535)
        return err_set(e, ERR_PLAN, "The engine's port %lld is not between 1 and 65535. Correct --port or engine.port.",
                       (long long)engine->port);
    if (engine->port != 0)
        return preflight_port(&v->r->preflight, engine->host, engine->port, e);
    if (!engine_port_is_free(v->plan))
        return err_set(e, ERR_PLAN,
                       "The plan does not say which port the engine listens on. Set engine.port, or write "
                       "{port} in the command where it belongs.");
    return preflight_free_port(engine->host, &engine->port, e);
}

/* What would stop the formal requests after an hour of starting is told now. */
bool resolve_can_connect(struct resolving *v, struct err *e)
{
    struct address list[ADDRESSES_MAX];
    int n;
    size_t open;
    resolve_count_requests(v->plan, &v->r->set, &open);
    return address_resolve(v->plan->engine.host, (int)v->plan->engine.port, list, &n, e) &&
           limits_ports(&list[0], open, e);
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
    return !signals_none(self, NULL);
}

bool resolve_snapshot(struct resolving *v, struct err *e)
{
    struct plan_model *model = &v->plan->model;
    struct snapshot *s = &v->r->snapshot;
    struct preflight *preflight = &v->r->preflight;
    if (!model->snapshot)
        return true;
    preflight->digests =
        (struct weights_memory){.path = digest_memory(v->arena), .stopped = hashing_stopped, .self = v->o->signals};
    bool hashed = preflight_snapshot(preflight, v->plan, s, e);
    preflight->digests.stopped = NULL; /* what is read again later is small */
    if (!hashed)
        return false;
    model->snapshot_digest = arena_text(v->arena, s->digest);
    model->snapshot_sha256 = arena_text(v->arena, s->sha256);
    if (!model->revision)
        model->revision = s->revision;
    return true;
}

/* A word of the command as the engine must get it, which runs in a folder of its own: what names something here, or
 * below ~, by itself or behind `--option=`, is made absolute. Links stay: a link to a program or into a cache of models
 * says more than what it leads to. */
static const char *absolute_word(struct resolving *v, const char *word, const char *model, const char *here)
{
    const char *equals = word[0] == '-' ? strchr(word, '=') : NULL, *path = equals ? equals + 1 : word;
    const char *home = strncmp(path, "~/", 2) == 0 ? getenv("HOME") : NULL;
    if (path[0] == '/' || (!home && !strchr(path, '/') && path != model))
        return word;
    const char *folder = home ? home : here, *rest = home ? path + 2 : path;
    while (strncmp(rest, "./", 2) == 0)
        rest += 2;
    const char *whole = arena_format(v->arena, "%s/%s", folder, rest);
    return access(whole, F_OK) == 0 ? arena_format(v->arena, "%.*s%s", (int)(path - word), word, whole) : word;
}

static void make_paths_absolute(struct resolving *v)
{
    struct plan_engine *e = &v->plan->engine;
    const char **words = arena_array(v->arena, e->command_count, sizeof *words),
               *model = engine_model_argument(v->plan);
    char *here = getcwd(NULL, 0);
    for (size_t i = 0; i < e->command_count; i++)
        words[i] = here ? absolute_word(v, e->command[i], model, here) : e->command[i];
    free(here);
    e->command = words;
}

double resolved_load_s(const struct resolved *r, size_t number)
{
    must(number < r->plan->load_count);
    const struct plan_load *l = &r->plan->loads[number];
    double by_count = (double)NAN;
    if (l->kind == LOAD_RATE && l->count != ABSENT_I64)
        by_count = (double)l->count / l->rate;
    if (l->kind == LOAD_TRACE && l->count >= 1)
        by_count = time_s(r->traces[number].times_ns[l->count - 1]);
    return fmin(by_count, l->for_s); /* of one NaN the other */
}

const char *const *resolved_warnings(const struct resolved *r, struct arena *a, size_t *ret_count)
{
    const char **list = arena_array(a, r->preflight.fact_count + r->set.warning_count + 1, sizeof *list);
    size_t n = 0;
    bool loads = plan_has_loads(r->plan); /* of them METHOD section 11 asks no normal state before */
    for (size_t i = 0; i < r->set.warning_count; i++)
        list[n++] = r->set.warnings[i];
    for (size_t i = 0; i < r->preflight.fact_count; i++) {
        const struct rec_fact *f = &r->preflight.facts[i];
        if (r->preflight.advice[i] && f->outcome != CHECK_FAILED)
            list[n++] = r->preflight.advice[i];
        if (f->outcome == CHECK_FAILED)
            list[n++] = arena_format(a, "The machine is not in a normal state, %s. Expected: %s. Seen: %s",
                                     loads ? "and what else runs can change what the loads take"
                                           : "so this run will be excluded (preflight_failed)",
                                     f->expected, f->seen);
    }
    *ret_count = n;
    return list;
}

/* What would stop the engine's start is told now, not after the baseline. */
bool resolve_can_launch(struct resolving *v, struct err *e)
{
    struct engine_site site = v->r->site;
    site.cache_folder = "/";
    struct engine_launch launch;
    if (!engine_launch_make(v->plan, &site, v->arena, &launch, e))
        return false;
    struct child_spec spec = {.argv = launch.argv, .env = launch.env};
    if (!child_can_start(&spec, e))
        return false;
    if (!v->plan->engine.container.image) /* whose Python can't be seen */
        preflight_driver(&v->r->preflight, v->r->device, launch.argv, launch.env);
    return true;
}

/* Never stored. The caller's own key counts before the one that the server was told to ask for. */
static void find_secrets(struct resolving *v)
{
    struct resolved *r = v->r;
    r->api_key = v->o->api_key ? v->o->api_key : engine_api_key(v->plan, (const char *const *)environ, v->arena);
    secrets_add_environ(&r->secrets, environ);
    secrets_add_plan(&r->secrets, v->plan);
    if (r->api_key)
        secrets_add(&r->secrets, "api_key", span_of(r->api_key));
}

/* What of engine.settings does not hold is told, and stored, setting by setting. */
static bool make_command(struct resolving *v, struct err *e)
{
    const char *const *notes;
    if (!engine_make_command(v->plan, v->arena, &notes, e))
        return false;
    for (; *notes; notes++)
        preflight_warn(&v->r->preflight, "preflight.settings", NULL, "not as the plan sets them", *notes);
    return true;
}

/* Before anything of the machine is looked at: what plan, command and request set say. */
bool resolve_texts(struct resolving *v, struct err *e)
{
    struct problems problems;
    problems_init(&problems, v->arena, NULL);
    if (!container_resolve(&v->r->preflight, v->plan, e) || !make_command(v, e))
        return false;
    if (!v->plan->engine.container.own_entrypoint)
        make_paths_absolute(v);
    if (!engine_complete_plan(v->plan, v->arena, e))
        return false;
    engine_state_settings(v->plan, v->arena);
    plan_check(v->plan, &problems);
    if (!problems_none(&problems, ERR_PLAN, e) || !resolve_requests(v, e) || !resolve_loads(v, e) ||
        !signals_none(v->o->signals, e))
        return false;
    find_secrets(v);
    return true;
}

/* ---- a service that runs already ---- */

/* What watch can't do without: nothing else says how many tokens its users got. */
static bool has_count(const struct resolving *v, struct err *e)
{
    const struct running *r = &v->r->running;
    return r->source ||
           err_set(e, ERR_ENGINE, "%s gives no count of generated tokens, by which jtok watch counts. Its %s: %s.",
                   v->plan->attach.url, engine_metrics_path(v->plan) ? engine_metrics_path(v->plan) : "metrics",
                   r->lack ? r->lack : "not read");
}

/* What its requests are, told before anybody is asked. */
static bool check_running(struct resolving *v, struct err *e)
{
    struct problems problems;
    problems_init(&problems, v->arena, NULL);
    if (v->plan->object == OBJECT_ATTACH)
        plan_check(v->plan, &problems);
    return problems_none(&problems, ERR_PLAN, e);
}

/* What jtok sends to it, and whether that can be sent. */
static bool resolve_its_load(struct resolving *v, struct err *e)
{
    size_t open = 0;
    if (v->plan->object == OBJECT_WATCH)
        return preflight_open_files(&v->r->preflight, 0, NULL, e);
    if (!resolve_requests(v, e) || !resolve_loads(v, e))
        return false;
    resolve_count_requests(v->plan, &v->r->set, &open);
    return preflight_open_files(&v->r->preflight, (int64_t)open, NULL, e) && resolve_can_connect(v, e);
}

static bool resolve_running(struct resolving *v, struct err *e)
{
    struct resolved *r = v->r;
    struct plan *p = v->plan;
    struct ask ask;
    if (!check_running(v, e) || !running_find(&r->running, p, v->arena, e))
        return false;
    find_secrets(v);
    ask_open(&ask, v->o->machine, &p->engine, r->api_key);
    bool asked = running_ask(&r->running, p, &ask, e);
    ask_close(&ask);
    if (!asked || (p->object == OBJECT_WATCH && !has_count(v, e)) || !signals_none(v->o->signals, e))
        return false;
    if (!device_open(&p->power, &r->device, e) || !running_gpus(&r->running, p, r->device, v->arena, e) ||
        !resolve_gpu_names(p, v->arena, r, e) || !resolve_its_load(v, e) || !look_at_disk(v, e) ||
        !signals_none(v->o->signals, e))
        return false;
    r->plan = p;
    return true;
}

bool resolve(const struct plan *given, const struct resolve_options *o, struct arena *a, struct resolved *r,
             struct err *e)
{
    must(given && e && o->signals && !r->plan);
    struct plan *plan = arena_alloc(a, sizeof *plan);
    *plan = *given;
    *r = (struct resolved){0};
    preflight_init(&r->preflight, a);
    struct resolving v = {.o = o, .arena = a, .plan = plan, .r = r};
    if (plan_is_running(plan))
        return resolve_running(&v, e);
    if (!preflight_go(&v, e))
        return false;
    r->plan = plan;
    return true;
}

bool resolve_stat(const struct plan *given, struct arena *a, struct resolved *r, struct err *e)
{
    must(given && e && !r->plan);
    must(given->object == OBJECT_STAT && given->stat.command_count > 0);
    struct plan *plan = arena_alloc(a, sizeof *plan);
    *plan = *given;
    *r = (struct resolved){0};
    preflight_init(&r->preflight, a);
    struct resolving v = {.arena = a, .plan = plan, .r = r};
    if (!resolve_gpus(&v, e) || !look_at_disk(&v, e))
        return false;
    secrets_add_environ(&r->secrets, environ);
    secrets_add_plan(&r->secrets, plan);
    r->plan = plan;
    return true;
}

void resolved_done(struct resolved *r)
{
    device_close(r->device);
    request_set_done(&r->set);
    preflight_done(&r->preflight);
    secrets_done(&r->secrets);
    running_done(&r->running);
    for (size_t i = 0; i < r->trace_count; i++)
        trace_done(&r->traces[i]);
    *r = (struct resolved){0};
}
