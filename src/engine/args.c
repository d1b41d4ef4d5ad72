#include "engine/table.h"

#include <string.h>
#include "base/must.h"
#include "base/num.h"

/* What nearly every server has, whatever its kind. */
static const struct engine_option common[] = {
    {"--model", ARGUMENT_MODEL}, {"--model-path", ARGUMENT_MODEL}, {"--host", ARGUMENT_HOST},
    {"--port", ARGUMENT_PORT},   {"--uds", ARGUMENT_UDS},          {"--served-model-name", ARGUMENT_SERVED},
    {NULL, ARGUMENT_MODEL},
};

/* argparse takes '_' for '-', but not in the two that begin an option. */
static bool is_spelled(const char *argument, size_t n, const char *name)
{
    size_t k = 0;
    while (k < n && name[k] && (argument[k] == name[k] || (k > 1 && argument[k] == '_' && name[k] == '-')))
        k++;
    return k == n && !name[k];
}

static const struct engine_option *find_option(const struct engine *g, const char *argument, size_t n)
{
    const struct engine_option *const lists[] = {g->options, common};
    for (size_t i = 0; i < 2; i++)
        for (const struct engine_option *o = lists[i]; o && o->name; o++)
            if (is_spelled(argument, n, o->name))
                return o;
    return NULL;
}

const char *engine_option_name(const struct engine *g, enum argument sets)
{
    const struct engine_option *const lists[] = {g->options, common};
    for (size_t i = 0; i < 2; i++)
        for (const struct engine_option *o = lists[i]; o && o->name; o++)
            if (o->sets == sets)
                return o->name;
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
    must(first);
    c->served_count = 0;
    if (!is_placeholder(first))
        c->served[c->served_count++] = first;
    for (size_t i = 0; i < n && more[i][0] != '-' && c->served_count < 8; i++)
        c->served[c->served_count++] = more[i];
}

static void take_argument(struct command *c, enum argument sets, const char *value)
{
    switch (sets) {
    case ARGUMENT_HOST:
        c->has_host = true;
        c->host = is_placeholder(value) ? NULL : value;
        break;
    case ARGUMENT_PORT:
        c->has_port = true;
        c->port = is_placeholder(value) ? ABSENT_I64 : read_count(value);
        break;
    case ARGUMENT_UDS:
        c->uds = value;
        break;
    case ARGUMENT_MODEL:
        c->model = is_placeholder(value) ? NULL : value;
        break;
    case ARGUMENT_CONTEXT:
        c->context_length = read_count(value);
        break;
    case ARGUMENT_TENSOR:
        c->tensor_parallel = read_count(value);
        break;
    case ARGUMENT_PIPELINE:
        c->pipeline_parallel = read_count(value);
        break;
    case ARGUMENT_DATA:
        c->data_parallel = read_count(value);
        break;
    case ARGUMENT_DTYPE:
        c->dtype = strcmp(value, "auto") == 0 ? NULL : value;
        break;
    case ARGUMENT_QUANTIZATION:
        c->quantization = value;
        break;
    case ARGUMENT_REVISION:
        c->revision = value;
        break;
    case ARGUMENT_CACHE:
    case ARGUMENT_NO_CACHE:
    case ARGUMENT_SERVED:
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
    must(p->engine.command || !p->engine.command_count);
    const struct engine *g = engine_of(p);
    const char *const *argv = (const char *const *)p->engine.command;
    size_t argc = p->engine.command_count;
    for (size_t i = 0; i < argc; i++) {
        const char *argument = argv[i];
        if (g->model_word && strcmp(argument, g->model_word) == 0 && i + 1 < argc && argv[i + 1][0] != '-') {
            take_argument(&c, ARGUMENT_MODEL, argv[++i]);
            continue;
        }
        const char *equals = argument[0] == '-' ? strchr(argument, '=') : NULL;
        const struct engine_option *o =
            find_option(g, argument, equals ? (size_t)(equals - argument) : strlen(argument));
        if (!o)
            continue;
        if (o->sets == ARGUMENT_CACHE || o->sets == ARGUMENT_NO_CACHE) {
            c.prefix_cache = o->sets == ARGUMENT_CACHE;
            continue;
        }
        if (!equals && i + 1 == argc)
            break;
        const char *value = equals ? equals + 1 : argv[++i];
        if (o->sets == ARGUMENT_SERVED)
            take_served(&c, value, argv + i + 1, equals ? 0 : argc - i - 1);
        else
            take_argument(&c, o->sets, value);
    }
    must(c.served_count <= sizeof c.served / sizeof *c.served);
    return c;
}
