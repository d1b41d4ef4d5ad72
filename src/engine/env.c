#include "engine/env.h"

#include <string.h>
#include "base/must.h"
#include "engine/table.h"

/* METHOD section 3, "Cold start": caches of libraries that engines share; an engine's own are in its row. */
static const struct engine_variable shared_caches[] = {
    {"TORCHINDUCTOR_CACHE_DIR", "torchinductor"},
    {"TRITON_CACHE_DIR", "triton"},
    {"XDG_CACHE_HOME", "xdg"},
    {"CUDA_CACHE_PATH", "cuda"},
    {"FLASHINFER_WORKSPACE_BASE", "flashinfer"},
    {"TVM_FFI_CACHE_DIR", "tvm-ffi"},
    {NULL, NULL},
};

/* `why`: a plan may not set another value, and why not; null: it may. */
static const struct {
    const char *name, *value, *why;
} fixed[] = {
    {"HF_HUB_OFFLINE", "1", "downloads during a start would be measured as its energy"},
    {"TRANSFORMERS_OFFLINE", "1", "downloads during a start would be measured as its energy"},
    {"DO_NOT_TRACK", "1", NULL},
    {"PYTHONUNBUFFERED", "1", NULL},
};
enum { FIXED = sizeof fixed / sizeof *fixed };

/* An engine talks to its own processes over HTTP, and to nobody else. */
static const char *const dropped[] = {"http_proxy", "https_proxy", "all_proxy",
                                      "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};

/* An environment that grows. */
struct growing {
    struct arena *arena;
    const char **list;
    size_t n, capacity;
};

static size_t name_length(const char *entry)
{
    const char *equals = strchr(entry, '=');
    return equals ? (size_t)(equals - entry) : strlen(entry);
}

static const char **find_entry(struct growing *v, const char *name, size_t n)
{
    for (size_t i = 0; i < v->n; i++)
        if (name_length(v->list[i]) == n && memcmp(v->list[i], name, n) == 0)
            return &v->list[i];
    return NULL;
}

static const char *variable_value(struct growing *v, const char *name)
{
    const char **at = find_entry(v, name, strlen(name));
    return at ? *at + strlen(name) + 1 : NULL;
}

static void append(struct growing *v, const char *entry)
{
    must(v->n <= v->capacity);
    if (v->n == v->capacity) {
        size_t capacity = v->capacity ? 2 * v->capacity : 128;
        const char **list = arena_array(v->arena, capacity, sizeof *list);
        if (v->n)
            memcpy(list, v->list, v->n * sizeof *list);
        v->list = list;
        v->capacity = capacity;
    }
    v->list[v->n++] = entry;
}

static void put_entry(struct growing *v, const char *entry)
{
    const char **at = find_entry(v, entry, name_length(entry));
    if (at)
        *at = entry;
    else
        append(v, entry);
}

static void put(struct growing *v, const char *name, const char *value)
{
    put_entry(v, arena_format(v->arena, "%s=%s", name, value));
}

static void inherit(struct growing *v, const char *const *environment)
{
    for (; environment && *environment; environment++) {
        bool drop = !strchr(*environment, '=');
        for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
            drop = drop || (name_length(*environment) == strlen(dropped[i]) &&
                            strncmp(*environment, dropped[i], strlen(dropped[i])) == 0);
        if (!drop)
            put_entry(v, *environment);
    }
}

/* What lies below XDG_CACHE_HOME and is no cache of compiled code: models, and the programs themselves. Moving that
 * folder would hide them, so that they would be downloaded anew within a measured start. */
static const struct engine_variable kept[] = {
    {"HF_HOME", "huggingface"}, {"TORCH_HOME", "torch"}, {"UV_CACHE_DIR", "uv"}, {"PIP_CACHE_DIR", "pip"}, {NULL, NULL},
};

static void keep_model_folders(struct growing *v, const struct engine_variable *list)
{
    const char *cache = variable_value(v, "XDG_CACHE_HOME"), *home = variable_value(v, "HOME");
    for (; list && list->name; list++) {
        if (variable_value(v, list->name))
            continue;
        if (cache && *cache)
            put(v, list->name, arena_format(v->arena, "%s/%s", cache, list->value));
        else if (home)
            put(v, list->name, arena_format(v->arena, "%s/.cache/%s", home, list->value));
    }
}

/* Of all engines: which one a command starts is not always known. */
static void keep_models(struct growing *v)
{
    const struct engine *g;
    keep_model_folders(v, kept);
    for (size_t i = 0; (g = engine_row(i)); i++)
        keep_model_folders(v, g->environment.model_caches);
}

/* ---- caches ---- */

/* List 0 is what engines share, list i + 1 is row i's own (often null). False behind the last. */
static bool cache_list(size_t i, const struct engine_variable **ret_list)
{
    const struct engine *row = i ? engine_row(i - 1) : NULL;
    *ret_list = row ? row->environment.caches : shared_caches;
    return i == 0 || row;
}

static bool is_cache(const char *name)
{
    const struct engine_variable *c;
    for (size_t i = 0; cache_list(i, &c); i++)
        for (; c && c->name; c++)
            if (strcmp(name, c->name) == 0)
                return true;
    return false;
}

/* All caches below `folder`, also those of other engines: which one a command starts is not always known. */
static const char **put_caches(struct growing *v, const char *folder)
{
    const struct engine_variable *c;
    size_t n = 0;
    for (size_t i = 0; cache_list(i, &c); i++)
        for (; c && c->name; c++)
            n++;
    const char **folders = arena_array(v->arena, n + 1, sizeof *folders);
    n = 0;
    for (size_t i = 0; cache_list(i, &c); i++)
        for (; c && c->name; c++) {
            folders[n] = arena_format(v->arena, "%s/%s", folder, c->value);
            put(v, c->name, folders[n++]);
        }
    return folders;
}

/* ---- all of it ---- */

/* Why a plan may not set a variable to another value than jtok does; null: it may. */
static const char *why_not_another(const struct engine_site *site, const char *name)
{
    for (size_t i = 0; i < site->gpu_variable_count; i++)
        if (strcmp(name, site->gpu_variables[i].name) == 0)
            return "the run's GPUs are those of the plan (gpus)";
    for (size_t i = 0; i < FIXED; i++)
        if (strcmp(name, fixed[i].name) == 0)
            return fixed[i].why;
    return is_cache(name) ? "each run starts cold, with compile caches of its own" : NULL;
}

static bool put_plan_variable(struct growing *v, const struct plan *p, const struct engine_site *site,
                              const struct field_pair *f, struct err *e)
{
    if (!*f->name || strchr(f->name, '='))
        return err_set(e, ERR_PLAN, "engine.env has a variable named \"%s\". A name can't be empty or contain '='.",
                       f->name);
    const char *have = variable_value(v, f->name), *why = why_not_another(site, f->name), *value;
    const char *where = arena_format(v->arena, "The variable %s of engine.env", f->name);
    if (!fill_placeholders(p, f->value, where, v->arena, &value, e))
        return false;
    if (why && have && strcmp(have, value) != 0)
        return err_set(e, ERR_PLAN, "engine.env sets %s, which jtok sets itself: %s. Take it out of the plan.", f->name,
                       why);
    put(v, f->name, value);
    return true;
}

/* Ends both lists. */
static struct environment finished(struct growing *v, const char **folders)
{
    append(v, NULL); /* the end, which is not counted */
    return (struct environment){
        .list = v->list, .n = v->n - 1, .cache_folders = folders ? folders : arena_array(v->arena, 1, sizeof *folders)};
}

bool environment_of_client(const struct plan *p, const struct engine_site *site, struct arena *a,
                           struct environment *ret_environment, struct err *e)
{
    struct growing v = {.arena = a};
    const char *value;
    inherit(&v, site->environment);
    for (size_t i = 0; i < p->engine.env_count; i++) {
        const struct field_pair *f = &p->engine.env[i];
        if (!fill_placeholders(p, f->value, "engine.env", a, &value, e))
            return false;
        put(&v, f->name, value);
    }
    *ret_environment = finished(&v, NULL);
    return true;
}

bool environment_make(const struct plan *p, const struct engine_site *site, struct arena *a,
                      struct environment *ret_environment, struct err *e)
{
    must(!site->cache_folder || site->cache_folder[0] == '/');
    struct growing v = {.arena = a};
    const char **folders = NULL;
    inherit(&v, site->environment);
    if (site->cache_folder) {
        keep_models(&v);
        folders = put_caches(&v, site->cache_folder);
    }
    for (size_t i = 0; i < FIXED; i++)
        put(&v, fixed[i].name, fixed[i].value);
    const struct engine *row;
    for (size_t i = 0; (row = engine_row(i)); i++)
        for (const struct engine_variable *own = row->environment.variables; own && own->name; own++)
            put(&v, own->name, own->value);
    for (size_t i = 0; i < site->gpu_variable_count; i++)
        put(&v, site->gpu_variables[i].name, site->gpu_variables[i].value);
    for (size_t i = 0; i < p->engine.env_count; i++)
        if (!put_plan_variable(&v, p, site, &p->engine.env[i], e))
            return false;
    *ret_environment = finished(&v, folders);
    return true;
}
