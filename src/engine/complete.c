#include "engine/container.h"
#include "engine/table.h"

#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/must.h"
#include "base/variable.h"

/* A plan that is being completed. */
struct completing {
    struct plan *plan;
    const struct engine *engine;
    struct engine_command command;
    struct arena *arena;
    struct err *err;
};

static bool disagree(struct completing *c, const char *key, const char *plan, const char *option, const char *command)
{
    return err_set(c->err, ERR_PLAN,
                   "The plan says %s: %s, but the engine's command says %s %s. Make them agree, or leave one out.", key,
                   plan, option, command);
}

/* `option`: how the command says it. */
static bool complete_text(struct completing *c, const char **field, const char *value, const char *key,
                          const char *option)
{
    if (!value || (*field && strcmp(*field, value) == 0))
        return true;
    if (*field)
        return disagree(c, key, *field, option, value);
    *field = value;
    return true;
}

/* Numbers up to `open_up_to` are the plan's defaults, and so is an absent one. */
static bool complete_number(struct completing *c, int64_t *field, int64_t open_up_to, int64_t value, const char *key,
                            enum argument option)
{
    must(value == ABSENT_I64 || engine_option_name(c->engine, option));
    if (value == ABSENT_I64 || *field == value)
        return true;
    if (*field != ABSENT_I64 && *field > open_up_to)
        return disagree(c, key, arena_format(c->arena, "%lld", (long long)*field),
                        engine_option_name(c->engine, option), arena_format(c->arena, "%lld", (long long)value));
    *field = value;
    return true;
}

/* A host can be the path of a Unix socket, as llama.cpp has it. */
static bool is_socket(const char *host)
{
    static const char ENDING[] = ".sock";
    size_t n = host ? strlen(host) : 0, ending = strlen(ENDING);
    return n > ending && strcmp(host + n - ending, ENDING) == 0;
}

/* A Unix socket takes the place of host and port. */
static bool complete_host(struct completing *c)
{
    struct plan_engine *g = &c->plan->engine;
    const char *host = c->command.host, *uds = c->command.uds;
    bool is_default = g->host && strcmp(g->host, "127.0.0.1") == 0;
    if (host && (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 || strcmp(host, "localhost") == 0))
        host = NULL; /* any of them answers on loopback */
    if (!uds && is_socket(host)) {
        uds = host;
        host = NULL;
    }
    if (is_default && (uds || host))
        g->host = NULL;
    if (uds)
        return complete_text(c, &g->host, arena_format(c->arena, "unix:%s", uds), "engine.host",
                             engine_option_name(c->engine, uds == c->command.uds ? ARGUMENT_UDS : ARGUMENT_HOST));
    if (!complete_text(c, &g->host, host, "engine.host", engine_option_name(c->engine, ARGUMENT_HOST)))
        return false;
    if (!g->host)
        g->host = "127.0.0.1";
    return true;
}

static bool complete_served(struct completing *c)
{
    const char **served = &c->plan->engine.served_model;
    for (size_t i = 0; i < c->command.served_count && *served; i++)
        if (strcmp(c->command.served[i], *served) == 0)
            return true;
    if (c->command.served_count)
        return complete_text(c, served, c->command.served[0], "engine.served_model",
                             engine_option_name(c->engine, ARGUMENT_SERVED));
    if (!*served)
        *served = c->plan->model.id;
    return true;
}

/* A model of one file: its name without the ending, and without the number of a part. Null: it is a folder. */
static const char *file_model_id(const char *path, struct arena *a)
{
    static const char ENDING[] = ".gguf", PART[] = "-00001-of-";
    const char *name = path_name(path);
    size_t n = strlen(name), ending = strlen(ENDING);
    if (n <= ending || strcasecmp(name + n - ending, ENDING) != 0)
        return NULL;
    const char *part = strstr(name, PART);
    return arena_copy(a, name, part > name ? (size_t)(part - name) : n - ending);
}

static bool complete_id(struct completing *c)
{
    struct plan_model *m = &c->plan->model;
    const char *model = c->command.model, *file = model ? file_model_id(model, c->arena) : NULL;
    bool is_path = model && (file || model[0] == '/' || model[0] == '.' || model[0] == '~');
    if (!is_path)
        return complete_text(c, &m->id, model ? model : c->command.repository, "model.id", "the model");
    if (!m->snapshot && !file && model[0] == '/')
        m->snapshot = container_is_used(c->plan) ? container_outer_path(c->plan, model, c->arena) : model;
    if (!m->revision && file)
        m->revision = snapshot_revision(model, c->arena);
    if (!m->id)
        m->id = hub_model_id(model, c->arena);
    if (!m->id)
        m->id = c->command.served_count ? c->command.served[0] : file ? file : model;
    return true;
}

static bool complete_precision(struct completing *c)
{
    struct plan_model *m = &c->plan->model;
    enum argument said = c->command.quantization ? ARGUMENT_QUANTIZATION : ARGUMENT_DTYPE;
    const char *value = c->command.quantization ? c->command.quantization : c->command.dtype;
    const char *precision = value ? precision_name(value) : NULL;
    if (precision && m->precision && strcmp(precision_name(m->precision), precision) == 0)
        return true; /* the plan's own spelling stays */
    return complete_text(c, &m->precision, precision, "model.precision", engine_option_name(c->engine, said));
}

static bool complete_model(struct completing *c)
{
    struct plan_model *m = &c->plan->model;
    if (!complete_id(c))
        return false;
    if (!m->id && c->plan->engine.served_model)
        m->id = c->plan->engine.served_model;
    return complete_precision(c) &&
           complete_text(c, &m->revision, c->command.revision, "model.revision",
                         engine_option_name(c->engine, ARGUMENT_REVISION)) &&
           complete_text(c, &m->revision, snapshot_revision(m->snapshot, c->arena), "model.revision",
                         "a snapshot folder of");
}

static bool complete_numbers(struct completing *c)
{
    struct plan_engine *g = &c->plan->engine;
    const struct engine_command *k = &c->command;
    return complete_number(c, &g->port, 0, k->port, "engine.port", ARGUMENT_PORT) &&
           complete_number(c, &g->context_length, 0, k->context_length, "engine.context_length", ARGUMENT_CONTEXT) &&
           complete_number(c, &g->tensor_parallel, 1, k->tensor_parallel, "engine.tensor_parallel", ARGUMENT_TENSOR) &&
           complete_number(c, &g->pipeline_parallel, 1, k->pipeline_parallel, "engine.pipeline_parallel",
                           ARGUMENT_PIPELINE) &&
           complete_number(c, &g->data_parallel, 1, k->data_parallel, "engine.data_parallel", ARGUMENT_DATA);
}

/* The word that tells the engine: behind Python's -m (-um) the next one. */
static const char *telling_word(const struct command_words *w, size_t first)
{
    const char *word = w->list[first];
    bool next = word[0] == '-' && word[strlen(word) - 1] == 'm' && first + 1 < w->n;
    return next ? w->list[first + 1] : word;
}

/* A kind that stands for any server may be said of each; another than the command's is a mistake. */
static bool complete_kind(struct completing *c)
{
    struct plan *p = c->plan;
    size_t first;
    struct command_words w = command_words(p, c->arena);
    enum engine_kind kind = engine_kind_of(p);
    const struct engine *started = command_engine(&w, &first);
    p->engine.kind = kind;
    if (!started || engine_of(p)->any_server || started == engine_of(p))
        return true;
    return err_set(c->err, ERR_PLAN,
                   "The plan says engine.kind: %s, but the engine's command starts %s (%s). Make them agree, or leave "
                   "engine.kind out.",
                   engine_kind_names[kind], started->name, telling_word(&w, first));
}

bool engine_complete_plan(struct plan *p, struct arena *a, struct err *e)
{
    must(a);
    if (p->engine.command_count == 0)
        return err_set(e, ERR_PLAN,
                       "The plan has no command that starts the engine. Write it after --, as in `jtok run -- vllm "
                       "serve MODEL`, or set engine.command.");
    struct completing c = {.plan = p, .arena = a, .err = e};
    if (!complete_kind(&c))
        return false;
    c.engine = engine_of(p);
    c.command = command_read(p, a);
    if (container_is_used(p) && !container_address(p, &c.command, a, e))
        return false;
    return complete_model(&c) && complete_served(&c) && complete_host(&c) && complete_numbers(&c);
}

bool engine_port_is_free(const struct plan *p)
{
    if (container_is_used(p) && p->engine.container.port != ABSENT_I64)
        return container_port_is_free(p);
    for (size_t i = 0; i < p->engine.command_count; i++)
        if (strstr(p->engine.command[i], "{port}"))
            return true;
    for (size_t i = 0; i < p->engine.env_count; i++)
        if (strstr(p->engine.env[i].value, "{port}"))
            return true;
    struct arena a = {0};
    struct engine_command c = command_read(p, &a);
    arena_done(&a);
    return engine_of(p)->takes_address && !c.has_port && !c.in_shell;
}

const char *engine_model_argument(const struct plan *p)
{
    struct arena a = {0};
    struct engine_command c = command_read(p, &a);
    arena_done(&a);
    return c.in_shell ? NULL : c.model; /* of the plan, not of the arena */
}

int engine_prefix_cache_argument(const struct plan *p)
{
    struct arena a = {0};
    struct engine_command c = command_read(p, &a);
    arena_done(&a);
    return c.prefix_cache;
}

bool engine_states_sizes(const struct plan *p)
{
    const struct plan_engine *g = &p->engine;
    return engine_of(p)->states_sizes || g->tensor_parallel > 1 || g->pipeline_parallel > 1 || g->data_parallel > 1;
}

int64_t engine_gpu_count(const struct plan *p)
{
    enum { MOST = 1024 };
    const struct plan_engine *g = &p->engine;
    const int64_t sizes[] = {g->tensor_parallel, g->pipeline_parallel, g->data_parallel};
    for (size_t i = 0; i < 3; i++)
        if (sizes[i] < 1 || sizes[i] > MOST)
            return ABSENT_I64;
    struct arena a = {0};
    bool within = command_read(p, &a).data_within;
    arena_done(&a);
    return engine_states_sizes(p) ? sizes[0] * sizes[1] * (within ? 1 : sizes[2]) : ABSENT_I64;
}

/* The first of a list: any of them is let in. */
static const char *first_key(const struct engine *g, const char *keys, struct arena *a)
{
    size_t n = g->keys.by_comma ? strcspn(keys, ",") : strlen(keys);
    return strpbrk(keys, "$`") ? NULL : arena_copy(a, keys, n); /* a shell's variable is not known here */
}

/* In each form in which an option may stand, also in a shell's text; the last one counts. */
static const char *key_in_command(const struct command_words *w, const struct engine *g, const char *option,
                                  struct arena *a)
{
    const char *key = NULL, *value;
    for (size_t i = 0; i < w->n; i++) {
        if (!option_stands_at(g, w->list[i], option, &value))
            continue;
        if (value || i + 1 < w->n)
            key = value ? value : w->list[i + 1];
    }
    return key ? first_key(g, key, a) : NULL;
}

static const char *key_in_environment(const struct plan *p, const char *name, const char *const *environment)
{
    for (size_t i = 0; i < p->engine.env_count; i++)
        if (strcmp(p->engine.env[i].name, name) == 0)
            return p->engine.env[i].value;
    return variable_in(environment, name);
}

const char *engine_api_key(const struct plan *p, const char *const *environment, struct arena *a)
{
    must(a && (p->engine.command || !p->engine.command_count));
    struct command_words w = command_words(p, a);
    const char *key = NULL;
    const struct engine *g;
    for (size_t i = 0; !key && (g = engine_candidate(p, i)); i++)
        for (const char *const *o = g->keys.options; !key && o && *o; o++)
            key = key_in_command(&w, g, *o, a);
    for (size_t i = 0; !key && (g = engine_candidate(p, i)); i++)
        for (const char *const *v = g->keys.variables; !key && v && *v; v++) {
            const char *keys = key_in_environment(p, *v, environment);
            key = keys ? first_key(g, keys, a) : NULL;
        }
    return key;
}
