/* The table of engines, and what is asked of it as a whole. */
#include <string.h>
#include "base/must.h"
#include "engine/table.h"

#define ROW_OF(KIND, name, keeps_count, doc) [ENGINE_##KIND] = &engine_##name,
static const struct engine *const kinds[] = {ENGINE_KINDS(ROW_OF)};

const struct engine *engine_row(size_t i)
{
    return i < ENGINE_KIND_COUNT ? kinds[i] : NULL;
}

/* A program of another name that takes a known engine's words: `my-vllm serve MODEL`. */
static const struct engine *of_this_form(const struct command_words *w)
{
    const struct engine *g;
    for (size_t k = 0; (g = engine_row(k)); k++)
        for (size_t i = 0; g->model_word && i + 1 < w->n; i++)
            if (strcmp(w->list[i], g->model_word) == 0 && w->list[i + 1][0] != '-')
                return g;
    return NULL;
}

enum engine_kind engine_kind_of(const struct plan *p)
{
    if (!ENUM_ABSENT(p->engine.kind)) {
        must((size_t)p->engine.kind < ENGINE_KIND_COUNT);
        return p->engine.kind;
    }
    struct arena a = {0};
    struct command_words w = command_words(p, &a);
    size_t first;
    const struct engine *g = command_engine(&w, &first);
    if (!g)
        g = of_this_form(&w);
    arena_done(&a);
    for (size_t i = 0; i < ENGINE_KIND_COUNT; i++)
        if (kinds[i] == g)
            return (enum engine_kind)i;
    return ENGINE_OPENAI;
}

const struct engine *engine_of(const struct plan *p)
{
    return kinds[engine_kind_of(p)];
}

const struct engine *engine_named(const char *name)
{
    const struct engine *g;
    for (size_t i = 0; name && (g = engine_row(i)); i++)
        if (strcmp(g->name, name) == 0)
            return g;
    return NULL;
}

const struct engine *engine_candidate(const struct plan *p, size_t i)
{
    const struct engine *own = engine_of(p);
    must(own->any_server || i < 2); /* the caller stops at the first null */
    return own->any_server ? engine_row(i) : i == 0 ? own : NULL;
}

/* ---- processes ---- */

static bool begins_with_one(const char *text, const char *const *list)
{
    for (; list && *list; list++)
        if (strncmp(text, *list, strlen(*list)) == 0)
            return true;
    return false;
}

static bool holds_one(const char *text, const char *const *list)
{
    for (; list && *list; list++)
        if (strstr(text, *list))
            return true;
    return false;
}

bool engine_is_process(const char *name, const char *command)
{
    must(name && command);
    const struct engine *g;
    for (size_t i = 0; (g = engine_row(i)); i++)
        if (begins_with_one(name, g->process_names) || holds_one(command, g->command_parts))
            return true;
    return false;
}

/* ---- output ---- */

void engine_read_log(const struct plan *p, struct engine_identity *id, struct span line)
{
    const struct engine *own = engine_of(p), *g;
    if (own->output.read_log)
        own->output.read_log(id, line);
    for (size_t i = 0; own->any_server && (g = engine_row(i)); i++)
        if (g->output.recognise)
            g->output.recognise(id, line);
    for (size_t i = 0; (g = engine_candidate(p, i)); i++)
        places_read_line(id, g, line);
}

const char *engine_progress(const struct plan *p, const char *line)
{
    must(line);
    const char *last = NULL;
    for (const char *const *part = engine_of(p)->output.progress; part && *part; part++) {
        const char *at = strstr(line, *part);
        last = at ? at : last;
    }
    return last;
}

int engine_milestone(struct span line)
{
    enum { LONGEST = 600 }; /* bytes: lines with news are short */
    const struct engine *g;
    for (size_t i = 0; line.n <= LONGEST && (g = engine_row(i)); i++)
        for (const struct engine_milestone_phrase *m = g->output.milestones; m && m->phrase; m++)
            if (span_behind(line, m->phrase).p)
                return (int)m->milestone;
    return -1;
}

int64_t engine_own_request_tokens(const struct plan *p, const struct engine_identity *id)
{
    const struct engine *g = id->name ? engine_named(id->name) : engine_of(p);
    const char *version = engine_says(id, PROPERTY_VERSION);
    for (const struct engine_own_tokens *t = g ? g->output.own_tokens : NULL; t && t->version && version; t++)
        if (version_same(t->version, version))
            return t->tokens;
    return ABSENT_I64;
}

int64_t engine_own_pending(const struct engine_identity *id)
{
    int64_t done = id->own_answered > id->own_ready ? id->own_answered : id->own_ready;
    return id->own_fronts == ABSENT_I64 || done >= id->own_fronts ? 0 : id->own_fronts - done;
}

/* ---- end ---- */

const char *engine_good_exits(const struct plan *p, struct arena *a)
{
    const char *text = NULL;
    for (const int *status = engine_of(p)->good_exits; status && *status >= 0; status++)
        text = text ? arena_format(a, "%s or %d", text, *status) : arena_format(a, "%d", *status);
    return text;
}

/* ORG/NAME, and not a path. */
static bool is_repository(const char *model)
{
    const char *slash = model && model[0] != '.' && model[0] != '~' ? strchr(model, '/') : NULL;
    return slash && slash > model && slash[1] && !strchr(slash + 1, '/');
}

static const char *fetch_command(const struct plan *p, const char *model, struct arena *a)
{
    const char *fetches = engine_of(p)->fetches, *revision = p->model.revision;
    bool pinned = !fetches && revision;
    return arena_format(a, "%s %s%s%s", fetches ? fetches : "hf download", model, pinned ? " --revision " : "",
                        pinned ? revision : "");
}

const char *engine_hub_model(const struct plan *p, struct arena *a, const char **ret_fetch)
{
    const struct engine *g = engine_of(p);
    const char *model = engine_model_argument(p);
    if (!g->takes_address || g->fetches || !is_repository(model) || strchr(model, ':')) /* ORG/NAME:FILE, s3: */
        return NULL;
    *ret_fetch = fetch_command(p, model, a);
    return model;
}

bool engine_loads_elsewhere(const struct plan *p, struct arena *a)
{
    static const char *const words[] = {"--download-dir", "--load-format", "--download_dir", "--load_format",
                                        "MODELSCOPE",     "HF_HOME=",      "HF_HUB_CACHE="};
    struct command_words w = command_words(p, a);
    bool found = w.in_shell;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        for (size_t k = 0; k < w.n; k++)
            found = found || strstr(w.list[k], words[i]);
        for (size_t k = 0; k < p->engine.env_count; k++)
            found = found || strstr(p->engine.env[k].name, words[i]);
    }
    return found;
}

/* As the hub's library, transformers and llama.cpp say it. */
static const char *const offline_phrases[] = {
    "LocalEntryNotFound", "OfflineModeIsEnabled", "outgoing traffic", "offline mode",
    "HF_HUB_OFFLINE",     "TRANSFORMERS_OFFLINE", "local_files_only", "couldn't connect to 'https://huggingface.co'"};

const char *engine_offline_advice(const struct plan *p, const char *words, struct arena *a)
{
    bool said = false;
    for (size_t i = 0; i < sizeof offline_phrases / sizeof *offline_phrases; i++)
        said = said || strcasestr(words, offline_phrases[i]);
    if (!said)
        return NULL;
    const char *argument = engine_model_argument(p);
    const char *model = is_repository(argument) ? argument : is_repository(p->model.id) ? p->model.id : "ORG/MODEL";
    return arena_format(a,
                        "jtok forbids downloads during a run (HF_HUB_OFFLINE=1), since they would be measured as the "
                        "start's energy. Fetch the model first, without jtok: `%s`.",
                        fetch_command(p, model, a));
}

/* As Python, C++ and Rust complain of a text that should have been a number. */
static const char *const number_phrases[] = {
    "int()", "base 10", "stoi", "stol", "stoul", "integer", "not a number", "invalid digit", "invalid literal", "atoi"};

const char *engine_gpu_names_advice(const struct plan *p, const char *words, struct arena *a)
{
    bool said = false;
    for (size_t i = 0; i < sizeof number_phrases / sizeof *number_phrases; i++)
        said = said || strcasestr(words, number_phrases[i]);
    if (!said || p->engine.gpu_names == GPU_NAMES_INDEX)
        return NULL;
    for (size_t i = 0; i < p->gpu_count; i++)
        if (strstr(words, p->gpus[i]))
            return arena_format(a,
                                "jtok names the GPUs to the engine by UUID (%s), and this engine reads numbers there. "
                                "Set engine.gpu_names: index.",
                                p->gpus[i]);
    return NULL;
}

/* ---- readiness ---- */

const char *engine_health_path(const struct plan *p)
{
    const char *own = p->engine.health_path;
    return own && *own ? own : engine_of(p)->health_path;
}

const char *engine_metrics_path(const struct plan *p)
{
    const char *own = p->engine.metrics_path;
    if (!own)
        return engine_of(p)->metrics.path;
    return *own ? own : NULL;
}

enum engine_answer engine_health_answer(const struct plan *p, int status, struct err *e)
{
    const char *path = engine_health_path(p);
    must(path && status >= 0);
    if (status == 200 || status == 204)
        return ENGINE_READY;
    if (status == 401 || status == 403)
        err_set(e, ERR_ENGINE,
                "The engine answers %s with status %d: it asks for an API key even there. Set engine.health_path to "
                "a path that needs none.",
                path, status);
    else if (status == 404 || status == 405)
        err_set(e, ERR_ENGINE,
                "The engine answers %s with status %d: it has no such path. Set engine.health_path to one that "
                "answers 200 when the engine is ready, such as /v1/models.",
                path, status);
    else if (status >= 300 && status < 400)
        err_set(e, ERR_ENGINE,
                "The engine answers %s with status %d, a redirect, which jtok doesn't follow. Set "
                "engine.health_path to the path that it leads to.",
                path, status);
    else
        return ENGINE_NOT_YET;
    return ENGINE_WRONG;
}
