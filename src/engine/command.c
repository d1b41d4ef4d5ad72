#include "engine/internal.h"

#include <stdio.h>
#include <string.h>
#include "base/num.h"

enum option_id {
    OPTION_MODEL,
    OPTION_HOST,
    OPTION_PORT,
    OPTION_UDS,
    OPTION_SERVED,
    OPTION_CONTEXT,
    OPTION_TP,
    OPTION_PP,
    OPTION_DP,
    OPTION_DTYPE,
    OPTION_QUANTIZATION,
    OPTION_REVISION,
    OPTION_CACHE,
    OPTION_NO_CACHE,
};

struct option {
    const char *name; /* as argparse normalises it: '-' for '_' */
    enum option_id id;
    bool any_engine; /* read from every command, not from vLLM's alone */
};

static const struct option options[] = {
    {"--model", OPTION_MODEL, true},
    {"--model-path", OPTION_MODEL, true},
    {"--host", OPTION_HOST, true},
    {"--port", OPTION_PORT, true},
    {"--uds", OPTION_UDS, true},
    {"--served-model-name", OPTION_SERVED, true},
    {"--max-model-len", OPTION_CONTEXT, false},
    {"--tensor-parallel-size", OPTION_TP, false},
    {"-tp", OPTION_TP, false},
    {"--pipeline-parallel-size", OPTION_PP, false},
    {"-pp", OPTION_PP, false},
    {"--data-parallel-size", OPTION_DP, false},
    {"-dp", OPTION_DP, false},
    {"--dtype", OPTION_DTYPE, false},
    {"--quantization", OPTION_QUANTIZATION, false},
    {"-q", OPTION_QUANTIZATION, false},
    {"--revision", OPTION_REVISION, false},
    {"--enable-prefix-caching", OPTION_CACHE, false},
    {"--no-enable-prefix-caching", OPTION_NO_CACHE, false},
};

static const struct option *find_option(const char *argument, size_t n, bool vllm)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *name = options[i].name;
        size_t k = 0;
        while (k < n && name[k] && (argument[k] == name[k] || (k > 1 && argument[k] == '_' && name[k] == '-')))
            k++;
        if (k == n && !name[k] && (vllm || options[i].any_engine))
            return &options[i];
    }
    return NULL;
}

/* Whole numbers, and vLLM's 25.6k (thousands), 32K (1024s), likewise m, M, g, G. */
static int64_t read_count(const char *text)
{
    size_t n = strlen(text);
    double scale = 1, value;
    const char *unit = n ? strchr("kKmMgG", text[n - 1]) : NULL;
    if (unit && *unit) {
        static const double scales[] = {1e3, 1024, 1e6, 1048576, 1e9, 1073741824};
        scale = scales[unit - "kKmMgG"];
        n--;
    }
    if (!num_f64((struct span){text, n}, &value) || !(value > 0) || value * scale > 1e15)
        return ABSENT_I64;
    return (int64_t)(value * scale);
}

static bool is_placeholder(const char *text)
{
    return text[0] == '{';
}

/* Several values may follow; those given are the ones until the next option. */
static void take_served(struct command *c, const char *first, const char *const *more, size_t n)
{
    c->served_count = 0;
    if (!is_placeholder(first))
        c->served[c->served_count++] = first;
    for (size_t i = 0; i < n && more[i][0] != '-' && c->served_count < 8; i++)
        c->served[c->served_count++] = more[i];
}

static void take(struct command *c, enum option_id id, const char *value)
{
    switch (id) {
    case OPTION_HOST:
        c->has_host = true;
        c->host = is_placeholder(value) ? NULL : value;
        break;
    case OPTION_PORT:
        c->has_port = true;
        c->port = is_placeholder(value) ? ABSENT_I64 : read_count(value);
        break;
    case OPTION_UDS:
        c->uds = value;
        break;
    case OPTION_MODEL:
        c->model = is_placeholder(value) ? NULL : value;
        break;
    case OPTION_CONTEXT:
        c->context_length = read_count(value);
        break;
    case OPTION_TP:
        c->tensor_parallel = read_count(value);
        break;
    case OPTION_PP:
        c->pipeline_parallel = read_count(value);
        break;
    case OPTION_DP:
        c->data_parallel = read_count(value);
        break;
    case OPTION_DTYPE:
        c->dtype = strcmp(value, "auto") == 0 ? NULL : value;
        break;
    case OPTION_QUANTIZATION:
        c->quantization = value;
        break;
    case OPTION_REVISION:
        c->revision = value;
        break;
    case OPTION_CACHE:
    case OPTION_NO_CACHE:
    case OPTION_SERVED:
    default:
        break;
    }
}

struct command command_read(const struct plan *p)
{
    struct command c = {.port = ABSENT_I64,
                        .context_length = ABSENT_I64,
                        .tensor_parallel = ABSENT_I64,
                        .pipeline_parallel = ABSENT_I64,
                        .data_parallel = ABSENT_I64,
                        .prefix_cache = -1};
    bool vllm = engine_of(p->engine.kind)->options_are_vllm;
    const char *const *argv = (const char *const *)p->engine.command;
    size_t argc = p->engine.command_count;
    for (size_t i = 0; i < argc; i++) {
        const char *argument = argv[i];
        if (vllm && strcmp(argument, "serve") == 0 && i + 1 < argc && argv[i + 1][0] != '-') {
            take(&c, OPTION_MODEL, argv[++i]);
            continue;
        }
        const char *equals = argument[0] == '-' ? strchr(argument, '=') : NULL;
        const struct option *o = find_option(argument, equals ? (size_t)(equals - argument) : strlen(argument), vllm);
        if (!o)
            continue;
        if (o->id == OPTION_CACHE || o->id == OPTION_NO_CACHE) {
            c.prefix_cache = o->id == OPTION_CACHE;
            continue;
        }
        if (!equals && i + 1 == argc)
            break;
        const char *value = equals ? equals + 1 : argv[++i];
        if (o->id == OPTION_SERVED)
            take_served(&c, value, argv + i + 1, equals ? 0 : argc - i - 1);
        else
            take(&c, o->id, value);
    }
    return c;
}

const char *precision_name(const char *text)
{
    static const char *const names[][2] = {
        {"bfloat16", "bf16"}, {"float16", "fp16"},       {"half", "fp16"},        {"float32", "fp32"},
        {"float", "fp32"},    {"awq_marlin", "awq"},     {"gptq_marlin", "gptq"}, {"bitsandbytes", "bnb"},
        {"modelopt", "fp8"},  {"modelopt_fp4", "nvfp4"}, {"fbgemm_fp8", "fp8"},   {"ptpc_fp8", "fp8"},
        {"fp8", "fp8"},       {"nvfp4", "nvfp4"},
    };
    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(text, names[i][0]) == 0)
            return names[i][1];
    return text;
}

/* Where `part` stands last in a path, or null. */
static const char *last_of(const char *path, const char *part)
{
    const char *last = NULL;
    for (const char *at = path; at && (at = strstr(at, part)); at++)
        last = at;
    return last;
}

const char *snapshot_revision(const char *path, struct arena *a)
{
    const char *at = last_of(path, "/snapshots/");
    if (!at)
        return NULL;
    at += strlen("/snapshots/");
    size_t n = strspn(at, "0123456789abcdef");
    return n == 40 && (at[n] == 0 || at[n] == '/') ? arena_copy(a, at, n) : NULL;
}

/* ---- the plan ---- */

static bool disagree(struct err *e, const char *key, const char *plan, const char *option, const char *command)
{
    return err_set(e, ERR_PLAN,
                   "The plan says %s: %s, but the engine's command says %s %s. Make them agree, or leave one out.", key,
                   plan, option, command);
}

static bool complete_text(const char **field, const char *value, const char *key, const char *option, struct err *e)
{
    if (!value || (*field && strcmp(*field, value) == 0))
        return true;
    if (*field)
        return disagree(e, key, *field, option, value);
    *field = value;
    return true;
}

static bool complete_number(int64_t *field, int64_t value, bool open, const char *key, const char *option,
                            struct err *e)
{
    if (value == ABSENT_I64 || *field == value)
        return true;
    if (!open) {
        char plan[24], command[24];
        snprintf(plan, sizeof plan, "%lld", (long long)*field);
        snprintf(command, sizeof command, "%lld", (long long)value);
        return disagree(e, key, plan, option, command);
    }
    *field = value;
    return true;
}

/* A Unix socket takes the place of host and port. */
static bool complete_host(struct plan *p, const struct command *c, struct arena *a, struct err *e)
{
    if (p->engine.host && strcmp(p->engine.host, "127.0.0.1") == 0 && c->uds)
        p->engine.host = NULL;
    if (c->uds)
        return complete_text(&p->engine.host, arena_format(a, "unix:%s", c->uds), "engine.host", "--uds", e);
    const char *host = c->host;
    if (!host || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 || strcmp(host, "localhost") == 0)
        host = NULL; /* any of them answers on loopback */
    if (p->engine.host && strcmp(p->engine.host, "127.0.0.1") == 0 && host)
        p->engine.host = NULL;
    if (!complete_text(&p->engine.host, host, "engine.host", "--host", e))
        return false;
    if (!p->engine.host)
        p->engine.host = "127.0.0.1";
    return true;
}

static bool complete_served(struct plan *p, const struct command *c, struct err *e)
{
    for (size_t i = 0; i < c->served_count && p->engine.served_model; i++)
        if (strcmp(c->served[i], p->engine.served_model) == 0)
            return true;
    if (c->served_count)
        return complete_text(&p->engine.served_model, c->served[0], "engine.served_model", "--served-model-name", e);
    if (!p->engine.served_model)
        p->engine.served_model = p->model.id;
    return true;
}

static bool is_path(const char *model)
{
    return model[0] == '/' || model[0] == '.' || model[0] == '~';
}

const char *hub_model_id(const char *path, struct arena *a)
{
    const char *at = last_of(path, "/models--");
    const char *end = at ? strchr(at + 1, '/') : NULL;
    if (!end)
        return NULL;
    at += strlen("/models--");
    struct buf b = {0};
    for (; at < end; at++) {
        bool mark = at[0] == '-' && at[1] == '-' && at + 1 < end;
        buf_byte(&b, mark ? '/' : *at);
        at += mark;
    }
    const char *id = arena_copy(a, b.p, b.n);
    buf_done(&b);
    return id;
}

static bool complete_model(struct plan *p, const struct command *c, struct arena *a, struct err *e)
{
    struct plan_model *m = &p->model;
    const char *model = c->model;
    if (model && is_path(model)) {
        if (!m->snapshot && model[0] == '/')
            m->snapshot = model;
        if (!m->id)
            m->id = hub_model_id(model, a);
        if (!m->id)
            m->id = c->served_count ? c->served[0] : model;
    } else if (!complete_text(&m->id, model, "model.id", "the model", e)) {
        return false;
    }
    if (!m->id && p->engine.served_model)
        m->id = p->engine.served_model;
    const char *precision = c->quantization ? precision_name(c->quantization)
                            : c->dtype      ? precision_name(c->dtype)
                                            : NULL;
    if (precision && m->precision && strcmp(precision_name(m->precision), precision) == 0)
        precision = NULL;
    return complete_text(&m->precision, precision, "model.precision", c->quantization ? "--quantization" : "--dtype",
                         e) &&
           complete_text(&m->revision, c->revision, "model.revision", "--revision", e) &&
           complete_text(&m->revision, snapshot_revision(m->snapshot, a), "model.revision", "a snapshot folder of", e);
}

bool engine_complete_plan(struct plan *p, struct arena *a, struct err *e)
{
    if (p->engine.command_count == 0)
        return err_set(e, ERR_PLAN,
                       "The plan has no command that starts the engine. Write it behind --, as in `jtok run -- vllm "
                       "serve MODEL`, or set engine.command.");
    struct command c = command_read(p);
    struct plan_engine *g = &p->engine;
    return complete_model(p, &c, a, e) && complete_served(p, &c, e) && complete_host(p, &c, a, e) &&
           complete_number(&g->port, c.port, g->port == 0, "engine.port", "--port", e) &&
           complete_number(&g->context_length, c.context_length, g->context_length == ABSENT_I64,
                           "engine.context_length", "--max-model-len", e) &&
           complete_number(&g->tensor_parallel, c.tensor_parallel, g->tensor_parallel <= 1, "engine.tensor_parallel",
                           "--tensor-parallel-size", e) &&
           complete_number(&g->pipeline_parallel, c.pipeline_parallel, g->pipeline_parallel <= 1,
                           "engine.pipeline_parallel", "--pipeline-parallel-size", e) &&
           complete_number(&g->data_parallel, c.data_parallel, g->data_parallel <= 1, "engine.data_parallel",
                           "--data-parallel-size", e);
}

bool engine_port_is_free(const struct plan *p)
{
    for (size_t i = 0; i < p->engine.command_count; i++)
        if (strstr(p->engine.command[i], "{port}"))
            return true;
    return engine_of(p->engine.kind)->options_are_vllm && !command_read(p).has_port;
}

int engine_prefix_cache_argument(const struct plan *p)
{
    return command_read(p).prefix_cache;
}
