#include <string.h>
#include "base/must.h"
#include "engine/container.h"
#include "engine/env.h"
#include "engine/table.h"

/* Where the engine is told to listen, or where it is found. */
struct place {
    const char *host;
    int64_t port;
};

static struct place public_place(const struct plan *p)
{
    return (struct place){p->engine.host, p->engine.port};
}

/* The same but for a container whose port is published: there it listens on all addresses. */
static struct place inside(const struct plan *p)
{
    bool published = container_is_used(p) && p->engine.container.port != ABSENT_I64;
    return published ? (struct place){"0.0.0.0", p->engine.container.port} : public_place(p);
}

static bool fill_words(const struct plan *p, struct place place, const char *text, const char *where, struct arena *a,
                       const char **ret_text, struct err *e)
{
    const char *port = arena_format(a, "%lld", (long long)place.port);
    const char *const names[][2] = {{"{port}", port},
                                    {"{host}", place.host},
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
        ok = names[i][1] || err_set(e, ERR_PLAN, "%s uses %s, but the plan doesn't say what that is. Set %s.", where,
                                    names[i][0], i == 3 ? "model.snapshot" : "engine.served_model");
        if (ok)
            buf_str(&b, names[i][1]);
        text += strlen(names[i][0]);
    }
    *ret_text = arena_copy(a, b.p, b.n);
    buf_done(&b);
    return ok;
}

bool fill_placeholders(const struct plan *p, const char *text, const char *where, struct arena *a,
                       const char **ret_text, struct err *e)
{
    return fill_words(p, inside(p), text, where, a, ret_text, e);
}

static size_t add_argument(const struct engine *g, enum argument sets, const char *value, const char **argv)
{
    if (!value)
        return 0;
    argv[0] = engine_option_name(g, sets);
    must(argv[0]);
    argv[1] = value;
    return 2;
}

/* Of a host "unix:PATH"; null: it is an address. */
static const char *socket_path(const struct plan *p)
{
    return strncmp(p->engine.host, "unix:", 5) == 0 ? p->engine.host + 5 : NULL;
}

/* What the command leaves open of where the engine listens and what it calls the model. */
static size_t add_address(const struct plan *p, struct arena *a, const char **argv)
{
    const struct engine *g = engine_of(p);
    struct engine_command c = command_read(p, a);
    const char *uds = socket_path(p);
    struct place place = inside(p);
    size_t n = 0;
    if (c.in_shell)
        return 0; /* a word behind the text of `sh -c` is no argument of the engine */
    if (!c.has_host && !uds)
        n += add_argument(g, ARGUMENT_HOST, place.host, argv + n);
    if (!c.has_port && !uds)
        n += add_argument(g, ARGUMENT_PORT, arena_format(a, "%lld", (long long)place.port), argv + n);
    if (uds && !c.uds && !c.has_host) {
        argv[n++] = g->socket_option;
        argv[n++] = uds;
    }
    if (!c.served_count)
        n += add_argument(g, ARGUMENT_SERVED, p->engine.served_model, argv + n);
    return n;
}

static bool make_argv(const struct plan *p, struct arena *a, struct engine_launch *l, struct err *e)
{
    enum { ADDED_MAX = 8 }; /* four options and their values */
    const struct engine *g = engine_of(p);
    if (g->takes_address && socket_path(p) && !g->socket_option)
        return err_set(
            e, ERR_PLAN,
            "The plan's engine.host is %s, but %s can't listen on a Unix socket. Give it an address, such as "
            "127.0.0.1.",
            p->engine.host, g->name);
    l->argv = arena_array(a, p->engine.command_count + ADDED_MAX + 1, sizeof *l->argv);
    for (size_t i = 0; i < p->engine.command_count; i++)
        if (!fill_placeholders(p, p->engine.command[i], "The engine's command", a, &l->argv[l->argc++], e))
            return false;
    if (g->takes_address)
        l->argc += add_address(p, a, l->argv + l->argc);
    must(l->argc <= p->engine.command_count + ADDED_MAX);
    return true;
}

static bool make_options(const struct plan *p, struct arena *a, struct engine_launch *l, struct err *e)
{
    const struct plan_container *c = &p->engine.container;
    l->options = arena_array(a, c->arg_count + 1, sizeof *l->options);
    for (size_t i = 0; i < c->arg_count; i++)
        if (!fill_words(p, public_place(p), c->args[i], "An option of the container", a, &l->options[i], e))
            return false;
    return true;
}

/* Inside, the engine has jtok's variables and the plan's; the runtime's program the inherited ones and the plan's. */
static bool make_contained(const struct plan *p, const struct engine_site *site, struct arena *a,
                           struct engine_launch *l, struct err *e)
{
    struct engine_site inner = *site;
    struct environment of_engine, of_client;
    inner.cache_folder = CONTAINER_CACHE;
    inner.environment = container_inherits(p, site, a);
    if (!make_options(p, a, l, e) || !environment_make(p, &inner, a, &of_engine, e) ||
        !environment_of_client(p, site, a, &of_client, e))
        return false;
    container_wrap(p, site, of_engine.list, a, l);
    l->env = of_client.list;
    l->env_count = of_client.n;
    l->cache_folders = of_client.cache_folders;
    return true;
}

static bool make_bare(const struct plan *p, const struct engine_site *site, struct arena *a, struct engine_launch *l,
                      struct err *e)
{
    struct environment v;
    if (!environment_make(p, site, a, &v, e))
        return false;
    l->env = v.list;
    l->env_count = v.n;
    l->cache_folders = v.cache_folders;
    return true;
}

bool engine_launch_make(const struct plan *p, const struct engine_site *site, struct arena *a,
                        struct engine_launch *ret_launch, struct err *e)
{
    must(p->engine.command_count && p->engine.host && p->engine.served_model); /* a completed plan */
    must(p->engine.port > 0 || strncmp(p->engine.host, "unix:", 5) == 0 || !engine_of(p)->takes_address);
    struct engine_launch l = {0};
    if (!make_argv(p, a, &l, e) ||
        !(container_is_used(p) ? make_contained(p, site, a, &l, e) : make_bare(p, site, a, &l, e)))
        return false;
    *ret_launch = l;
    return true;
}
