#include "engine/internal.h"

#include <string.h>

/* METHOD section 3, "Cold start". */
static const char *const caches[][2] = {
    {"VLLM_CACHE_ROOT", "vllm"},    {"TORCHINDUCTOR_CACHE_DIR", "torchinductor"},
    {"TRITON_CACHE_DIR", "triton"}, {"XDG_CACHE_HOME", "xdg"},
    {"CUDA_CACHE_PATH", "cuda"},    {"FLASHINFER_WORKSPACE_BASE", "flashinfer"},
    {"SGLANG_CACHE_DIR", "sglang"}, {"TVM_FFI_CACHE_DIR", "tvm-ffi"},
};
enum { CACHES = sizeof caches / sizeof *caches };

static const char *const fixed[][2] = {
    {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"HF_HUB_OFFLINE", "1"}, {"TRANSFORMERS_OFFLINE", "1"},
    {"VLLM_NO_USAGE_STATS", "1"},        {"DO_NOT_TRACK", "1"},   {"PYTHONUNBUFFERED", "1"},
};
enum { FIXED = sizeof fixed / sizeof *fixed };

/* An engine talks to its own processes over HTTP, and to nobody else. */
static const char *const dropped[] = {"http_proxy", "https_proxy", "all_proxy",
                                      "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};

struct environment {
    struct arena *arena;
    const char **list;
    size_t n, capacity;
};

static size_t name_length(const char *entry)
{
    const char *equals = strchr(entry, '=');
    return equals ? (size_t)(equals - entry) : strlen(entry);
}

static const char **find(struct environment *v, const char *name, size_t n)
{
    for (size_t i = 0; i < v->n; i++)
        if (name_length(v->list[i]) == n && memcmp(v->list[i], name, n) == 0)
            return &v->list[i];
    return NULL;
}

static const char *value_of(struct environment *v, const char *name)
{
    const char **at = find(v, name, strlen(name));
    return at ? *at + strlen(name) + 1 : NULL;
}

static void put_entry(struct environment *v, const char *entry)
{
    const char **at = find(v, entry, name_length(entry));
    if (at) {
        *at = entry;
        return;
    }
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

static void put(struct environment *v, const char *name, const char *value)
{
    put_entry(v, arena_format(v->arena, "%s=%s", name, value));
}

static void inherit(struct environment *v, const char *const *environment)
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

static const char *gpu_list(const struct plan *p, struct arena *a)
{
    const char *text = "";
    for (size_t i = 0; i < p->gpu_count; i++)
        text = arena_format(a, "%s%s%s", text, i ? "," : "", p->gpus[i]);
    return text;
}

/* Moving XDG_CACHE_HOME would hide the models that lie in the Hugging Face cache below it. */
static void keep_models(struct environment *v)
{
    if (value_of(v, "HF_HOME"))
        return;
    const char *cache = value_of(v, "XDG_CACHE_HOME"), *home = value_of(v, "HOME");
    if (cache && *cache)
        put(v, "HF_HOME", arena_format(v->arena, "%s/huggingface", cache));
    else if (home)
        put(v, "HF_HOME", arena_format(v->arena, "%s/.cache/huggingface", home));
}

static bool plan_variable_is_allowed(struct environment *v, const struct field_pair *f, struct err *e)
{
    if (!*f->name || strchr(f->name, '='))
        return err_set(e, ERR_PLAN,
                       "engine.env has a variable named \"%s\", which no program can read. Names have no '='.",
                       f->name);
    const char *have = value_of(v, f->name);
    bool ours = strcmp(f->name, "CUDA_VISIBLE_DEVICES") == 0;
    const char *why = "the run's GPUs are those of the plan (gpus)";
    for (size_t i = 0; i < 3 && !ours; i++)
        if (strcmp(f->name, fixed[i][0]) == 0) {
            ours = true;
            why = i ? "downloads during a start would be measured as its energy"
                    : "GPUs are told apart by their PCI order";
        }
    for (size_t i = 0; i < CACHES && !ours; i++)
        if (strcmp(f->name, caches[i][0]) == 0) {
            ours = true;
            why = "each run starts cold, with compile caches of its own";
        }
    if (!ours || !have || strcmp(have, f->value) == 0)
        return true;
    return err_set(e, ERR_PLAN, "engine.env sets %s, which jtok sets itself: %s. Take it out of the plan.", f->name,
                   why);
}

static bool make_environment(const struct plan *p, const struct engine_site *site, struct environment *v,
                             const char **cache_folders, struct err *e)
{
    inherit(v, site->environment);
    if (site->cache_folder) {
        keep_models(v);
        for (size_t i = 0; i < CACHES; i++) {
            cache_folders[i] = arena_format(v->arena, "%s/%s", site->cache_folder, caches[i][1]);
            put(v, caches[i][0], cache_folders[i]);
        }
    }
    for (size_t i = 0; i < FIXED; i++)
        put(v, fixed[i][0], fixed[i][1]);
    put(v, "CUDA_VISIBLE_DEVICES", gpu_list(p, v->arena));
    for (size_t i = 0; i < p->engine.env_count; i++) {
        if (!plan_variable_is_allowed(v, &p->engine.env[i], e))
            return false;
        put(v, p->engine.env[i].name, p->engine.env[i].value);
    }
    return true;
}

/* ---- arguments ---- */

static bool fill_argument(const struct plan *p, const char *text, struct arena *a, const char **ret_text, struct err *e)
{
    const char *port = arena_format(a, "%lld", (long long)p->engine.port);
    const char *const names[][2] = {{"{port}", port},
                                    {"{host}", p->engine.host},
                                    {"{model}", p->engine.served_model},
                                    {"{snapshot}", p->model.snapshot}};
    if (!strchr(text, '{')) {
        *ret_text = text;
        return true;
    }
    struct buf b = {0};
    bool ok = true;
    while (*text && ok) {
        size_t i = 0;
        while (i < 4 && strncmp(text, names[i][0], strlen(names[i][0])) != 0)
            i++;
        if (i == 4) {
            buf_byte(&b, *text++);
            continue;
        }
        ok = names[i][1] || err_set(e, ERR_PLAN, "The engine's command uses %s, but the plan does not say it. Set %s.",
                                    names[i][0], i == 3 ? "model.snapshot" : "engine.served_model");
        if (ok)
            buf_str(&b, names[i][1]);
        text += strlen(names[i][0]);
    }
    *ret_text = arena_copy(a, b.p, b.n);
    buf_done(&b);
    return ok;
}

static bool make_argv(const struct plan *p, struct arena *a, struct engine_launch *l, struct err *e)
{
    struct command c = command_read(p);
    bool vllm = engine_of(p->engine.kind)->options_are_vllm;
    const char *uds = strncmp(p->engine.host, "unix:", 5) == 0 ? p->engine.host + 5 : NULL;
    l->argv = arena_array(a, p->engine.command_count + 7, sizeof *l->argv);
    for (size_t i = 0; i < p->engine.command_count; i++)
        if (!fill_argument(p, p->engine.command[i], a, &l->argv[l->argc++], e))
            return false;
    const struct {
        bool missing;
        const char *option, *value;
    } more[] = {{!c.has_host && !uds, "--host", p->engine.host},
                {!c.has_port && !uds, "--port", arena_format(a, "%lld", (long long)p->engine.port)},
                {!c.uds, "--uds", uds},
                {c.served_count == 0, "--served-model-name", p->engine.served_model}};
    for (size_t i = 0; i < sizeof more / sizeof *more && vllm; i++) {
        if (!more[i].missing || !more[i].value)
            continue;
        l->argv[l->argc++] = more[i].option;
        l->argv[l->argc++] = more[i].value;
    }
    return true;
}

bool engine_launch_make(const struct plan *p, const struct engine_site *site, struct arena *a,
                        struct engine_launch *ret_launch, struct err *e)
{
    struct engine_launch l = {.cache_folders = arena_array(a, CACHES + 1, sizeof *l.cache_folders)};
    struct environment v = {.arena = a};
    if (!make_argv(p, a, &l, e) || !make_environment(p, site, &v, l.cache_folders, e))
        return false;
    l.env = arena_array(a, v.n + 1, sizeof *l.env);
    if (v.n)
        memcpy(l.env, v.list, v.n * sizeof *l.env);
    l.env_count = v.n;
    *ret_launch = l;
    return true;
}
