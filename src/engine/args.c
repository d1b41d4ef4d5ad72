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

/* How many of an argument's n bytes an option's name begins with. argparse takes '_' for '-', but not in the two that
 * begin an option. */
static size_t common_bytes(const char *argument, size_t n, const char *name)
{
    size_t k = 0;
    while (k < n && name[k] && (argument[k] == name[k] || (k > 1 && argument[k] == '_' && name[k] == '-')))
        k++;
    return k;
}

bool option_is(const char *argument, size_t n, const char *name)
{
    return common_bytes(argument, n, name) == n && !name[n];
}

/* Is it the beginning of a long option? */
static bool abbreviates(const char *argument, size_t n, const char *name)
{
    enum { SHORTEST = 4 }; /* "--tp" is a name of its own */
    return n > SHORTEST && name[1] == '-' && common_bytes(argument, n, name) == n;
}

bool option_stands_at(const struct engine *g, const char *word, const char *option, const char **ret_value)
{
    const char *equals = word[0] == '-' ? strchr(word, '=') : NULL;
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    *ret_value = equals ? equals + 1 : NULL;
    return option_is(word, n, option) || (g->abbreviates && abbreviates(word, n, option));
}

static const struct engine_option *row_of_option(const struct engine *g, const char *argument, size_t n)
{
    const struct engine_option *const lists[] = {g->options, common}, *shortened = NULL;
    for (size_t i = 0; i < 2; i++)
        for (const struct engine_option *o = lists[i]; o && o->name; o++) {
            if (option_is(argument, n, o->name))
                return o;
            if (g->abbreviates && abbreviates(argument, n, o->name))
                shortened = o;
        }
    return shortened;
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

int64_t argument_count(const char *text)
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

/* Of jtok, or of a shell that jtok does not ask. */
static bool is_placeholder(const char *text)
{
    return text[0] == '{' || strpbrk(text, "$`") != NULL;
}

/* Several values may follow; those given are the ones until the next option. Some engines want them in one word, with
 * commas. */
static void take_served(struct engine_command *c, const char *first, const char *const *more, size_t n, struct arena *a)
{
    enum { MOST = sizeof c->served / sizeof *c->served };
    must(first);
    c->served_count = 0;
    for (const char *at = is_placeholder(first) ? "" : first; *at && c->served_count < MOST; at += *at == ',') {
        size_t length = strcspn(at, ",");
        c->served[c->served_count++] = arena_copy(a, at, length);
        at += length;
    }
    for (size_t i = 0; i < n && more[i][0] != '-' && c->served_count < MOST; i++)
        c->served[c->served_count++] = more[i];
}

/* As engines write that they choose themselves. */
static const char *unless_open(const char *value)
{
    static const char *const open[] = {"auto", "none", "latest"};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (strcasecmp(value, open[i]) == 0)
            return NULL;
    return value;
}

/* The tag names the format, but "latest" takes what is there. */
static void take_repository(struct engine_command *c, const char *value, struct arena *a)
{
    const char *tag = is_placeholder(value) ? NULL : strrchr(value, ':');
    c->repository = is_placeholder(value) ? NULL : tag ? arena_copy(a, value, (size_t)(tag - value)) : value;
    c->quantization = tag ? unless_open(tag + 1) : NULL;
}

static void take_argument(struct engine_command *c, enum argument sets, const char *value, struct arena *a)
{
    switch (sets) {
    case ARGUMENT_HOST:
        c->has_host = true;
        c->host = is_placeholder(value) ? NULL : value;
        break;
    case ARGUMENT_PORT:
        c->has_port = true;
        c->port = is_placeholder(value) ? ABSENT_I64 : argument_count(value);
        break;
    case ARGUMENT_UDS:
        c->uds = value;
        break;
    case ARGUMENT_MODEL:
        c->model = is_placeholder(value) ? NULL : value;
        break;
    case ARGUMENT_REPOSITORY:
        take_repository(c, value, a);
        break;
    case ARGUMENT_CONTEXT:
        c->context_length = argument_count(value);
        break;
    case ARGUMENT_TENSOR:
        c->tensor_parallel = argument_count(value);
        break;
    case ARGUMENT_PIPELINE:
        c->pipeline_parallel = argument_count(value);
        break;
    case ARGUMENT_DATA:
        c->data_parallel = argument_count(value);
        break;
    case ARGUMENT_DTYPE:
        c->dtype = unless_open(value);
        break;
    case ARGUMENT_QUANTIZATION:
        c->quantization = unless_open(value);
        break;
    case ARGUMENT_KV_CACHE_DTYPE:
        c->kv_cache_dtype = unless_open(value);
        break;
    case ARGUMENT_REVISION:
        c->revision = value;
        break;
    case ARGUMENT_DATA_WITHIN:
    case ARGUMENT_CACHE:
    case ARGUMENT_NO_CACHE:
    case ARGUMENT_SERVED:
        break;
    }
}

/* The spelling of the option that an argument begins with; *ret_value: what stands in the same word behind `=` or a
 * short option's letters, or null. */
static const struct engine_option *option_of(const struct engine *g, const char *argument, const char **ret_value)
{
    const char *equals = argument[0] == '-' ? strchr(argument, '=') : NULL;
    const struct engine_option *o = row_of_option(g, argument, equals ? (size_t)(equals - argument) : strlen(argument));
    *ret_value = equals ? equals + 1 : NULL;
    if (o || argument[0] != '-' || argument[1] == '-')
        return o;
    size_t letters = strcspn(argument, "0123456789");
    bool joined = argument[letters] && !argument[letters + strspn(argument + letters, "0123456789")];
    *ret_value = argument + letters;
    return joined ? row_of_option(g, argument, letters) : NULL;
}

static struct engine_command nothing_said(void)
{
    return (struct engine_command){.port = ABSENT_I64,
                                   .context_length = ABSENT_I64,
                                   .tensor_parallel = ABSENT_I64,
                                   .pipeline_parallel = ABSENT_I64,
                                   .data_parallel = ABSENT_I64,
                                   .prefix_cache = -1};
}

/* An option that takes no value. */
static bool take_switch(struct engine_command *c, enum argument sets)
{
    if (sets == ARGUMENT_CACHE || sets == ARGUMENT_NO_CACHE)
        c->prefix_cache = sets == ARGUMENT_CACHE;
    else if (sets == ARGUMENT_DATA_WITHIN)
        c->data_within = true;
    else
        return false;
    return true;
}

/* Does an option that has no row take no value, by how it begins? */
static bool is_switch(const struct engine *g, const char *word)
{
    for (const char *const *s = g->switches; s && *s; s++)
        if (strncmp(word, *s, strlen(*s)) == 0)
            return true;
    return strchr(word, '=') != NULL;
}

/* The first word from i on that is an option, or n. */
static size_t next_option(const struct command_words *w, size_t i)
{
    while (i < w->n && w->list[i][0] != '-')
        i++;
    return i;
}

/* An option that has a row, at word i. Returns the last word that it takes. */
static size_t take_option(struct engine_command *c, const struct engine_option *o, const char *value,
                          const struct command_words *w, size_t i, struct arena *a)
{
    bool own_word = !value;
    if (take_switch(c, o->sets) || (own_word && i + 1 == w->n))
        return i;
    value = own_word ? w->list[++i] : value;
    if (o->sets != ARGUMENT_SERVED) {
        take_argument(c, o->sets, value, a);
        return i;
    }
    take_served(c, value, w->list + i + 1, own_word ? w->n - i - 1 : 0, a);
    return own_word ? next_option(w, i + 1) - 1 : i;
}

struct engine_command command_read(const struct plan *p, struct arena *a)
{
    struct engine_command c = nothing_said();
    must(a && (p->engine.command || !p->engine.command_count));
    const struct engine *g = engine_of(p);
    struct command_words w = command_words(p, a);
    size_t first = 0;
    bool awaits_model = false; /* the model is the first word behind `serve` that is no option's */
    command_engine(&w, &first);
    c.in_shell = w.in_shell;
    for (size_t i = first; i < w.n; i++) {
        const char *argument = w.list[i], *value;
        const struct engine_option *o = option_of(g, argument, &value);
        if (o) {
            i = take_option(&c, o, value, &w, i, a);
        } else if (argument[0] == '-') {
            i = is_switch(g, argument) ? i : next_option(&w, i + 1) - 1; /* what follows may be its values */
        } else if (awaits_model) {
            take_argument(&c, ARGUMENT_MODEL, argument, a);
            awaits_model = false;
        } else if (g->model_word && strcmp(argument, g->model_word) == 0) {
            awaits_model = true;
        }
    }
    must(c.served_count <= sizeof c.served / sizeof *c.served);
    return c;
}

const char *command_option(const struct plan *p, const char *option, bool takes_value, struct arena *a, size_t *ret_at)
{
    must(a && option);
    const struct engine *g = engine_of(p);
    const struct engine_option *known = row_of_option(g, option, strlen(option)), *o;
    struct command_words w = command_words(p, a);
    const char *last = NULL, *value;
    size_t first = 0;
    command_engine(&w, &first);
    for (size_t i = first; i < w.n; i++) {
        bool is = known ? (o = option_of(g, w.list[i], &value)) && o->sets == known->sets
                        : option_stands_at(g, w.list[i], option, &value);
        if (!is || (takes_value && !value && i + 1 == w.n))
            continue;
        *ret_at = i;
        last = value ? value : takes_value ? w.list[++i] : "";
    }
    return last;
}
