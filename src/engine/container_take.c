/* From a person's `docker run ...` to the plan. */
#include <string.h>
#include "base/file.h"
#include "base/must.h"
#include "base/num.h"
#include "engine/container.h"
#include "text/words.h"

/* ---- options ---- */

/* Options of the run command and of the client itself that take no value; "--x=true" is another way to write them. */
static const char *const run_switches[] = {"--detach",
                                           "--disable-content-trust",
                                           "--env-host",
                                           "--help",
                                           "--init",
                                           "--interactive",
                                           "--no-healthcheck",
                                           "--no-hostname",
                                           "--no-hosts",
                                           "--oom-kill-disable",
                                           "--passwd",
                                           "--privileged",
                                           "--publish-all",
                                           "--quiet",
                                           "--read-only",
                                           "--read-only-tmpfs",
                                           "--replace",
                                           "--rm",
                                           "--rmi",
                                           "--rootfs",
                                           "--sig-proxy",
                                           "--tls-verify",
                                           "--tty",
                                           "--unsetenv-all",
                                           "--use-api-socket",
                                           "--http-proxy",
                                           NULL};
static const char *const client_switches[] = {
    "--debug", "--tls", "--tlsverify", "--remote", "--noout", "--trace", "--transient-store", "--syslog", NULL};

/* Short names, and other long ones. */
static const char *const run_names[][2] = {
    {"-a", "--attach"},   {"-c", "--cpu-shares"},  {"-d", "--detach"},  {"-e", "--env"},
    {"-h", "--hostname"}, {"-i", "--interactive"}, {"-l", "--label"},   {"-m", "--memory"},
    {"-p", "--publish"},  {"-P", "--publish-all"}, {"-q", "--quiet"},   {"-t", "--tty"},
    {"-u", "--user"},     {"-v", "--volume"},      {"-w", "--workdir"}, {"--net", "--network"},
    {NULL, NULL}};
static const char *const client_names[][2] = {{"-D", "--debug"},   {"-H", "--host"},   {"-l", "--log-level"},
                                              {"-c", "--context"}, {"-r", "--remote"}, {NULL, NULL}};

/* How the options of one command are written. */
struct manner {
    const char *const *switches;
    const char *const (*names)[2];
};
static const struct manner of_run = {run_switches, run_names}, of_client = {client_switches, client_names};

/* The words of a command, gone through option by option. */
struct words {
    const char *const *list;
    size_t count, at;
    const char *cluster; /* what is left of "-it" */
    struct arena *arena;
};

struct run_option {
    const char *name, *value; /* the long name; null: it has no value */
};

static bool is_listed(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list;
}

static const char *long_name(const struct manner *m, const char *name)
{
    for (size_t i = 0; m->names[i][0]; i++)
        if (strcmp(name, m->names[i][0]) == 0)
            return m->names[i][1];
    return name;
}

static const char *next_word(struct words *w)
{
    return w->at < w->count ? w->list[w->at++] : NULL;
}

/* "--name", "--name=value" or "--name value". */
static struct run_option long_option(struct words *w, const struct manner *m, const char *word)
{
    const char *equals = strchr(word, '=');
    const char *name = long_name(m, arena_copy(w->arena, word, equals ? (size_t)(equals - word) : strlen(word)));
    if (equals)
        return (struct run_option){name, equals + 1};
    return (struct run_option){name, is_listed(m->switches, name) ? NULL : next_word(w)};
}

/* One letter of "-it", or "-p8000:80", "-p=8000:80" or "-p 8000:80". */
static struct run_option short_option(struct words *w, const struct manner *m, const char *letters)
{
    const char *name = long_name(m, arena_format(w->arena, "-%c", letters[0])), *rest = letters + 1;
    bool is_switch = is_listed(m->switches, name);
    w->cluster = is_switch && *rest && *rest != '=' ? rest : NULL;
    if (w->cluster)
        return (struct run_option){name, NULL};
    if (*rest)
        return (struct run_option){name, *rest == '=' ? rest + 1 : rest};
    return (struct run_option){name, is_switch ? NULL : next_word(w)};
}

/* The next option; false: the next word is none, or there is no more. */
static bool next_run_option(struct words *w, const struct manner *m, struct run_option *ret_option)
{
    if (w->cluster) {
        *ret_option = short_option(w, m, w->cluster);
        return true;
    }
    const char *word = w->at < w->count ? w->list[w->at] : NULL;
    if (!word || word[0] != '-' || !word[1])
        return false;
    w->at++;
    if (strcmp(word, "--") == 0)
        return false;
    *ret_option = word[1] == '-' ? long_option(w, m, word) : short_option(w, m, word + 1);
    return true;
}

/* ---- what becomes of each ---- */

struct taking {
    struct plan *plan;
    struct arena *arena;
    struct err *err;
    const char **args; /* that stay */
    size_t arg_count;
    struct field_pair *env; /* the plan's, then the command's */
    size_t env_count;
    const char *gpus; /* as an option names them; null: none does */
};

static bool is_value(const struct run_option *o, const char *const *values)
{
    return is_listed(values, o->value ? o->value : "true");
}

/* Options that a measurement can't have, but for these values; those that say what jtok says anyway are left out. */
static const struct rule {
    const char *name;
    const char *but[5]; /* null-terminated; none: whatever its value */
    const char *why;
} rules[] = {
    {"--detach", {"false"}, "jtok reads the engine's output and waits for its end, so the container stays in front"},
    {"--tty", {"false"}, "with a terminal of its own the container gets no signal to stop"},
    {"--sig-proxy", {"true"}, "the container would get no signal to stop"},
    {"--publish-all", {"false"}, "jtok has to know the port on this machine before: write -p HOST:CONTAINER"},
    {"--cidfile", {NULL}, "jtok finds the container's processes by a file of its own"},
    {"--rm", {"true"}, "nothing may be left of the container after a run"},
    {"--replace", {"false"}, "another container of that name would be removed"},
    {"--restart", {"no", ""}, "an engine that was stopped would come back"},
    {"--pull",
     {"never", "missing", "false"},
     "a download would be measured as the engine's start: pull the image before"},
    {"--interactive", {"true", "false"}, ""},
    {"--quiet", {"true", "false"}, ""},
    {"--help", {"false"}, "it runs no engine"},
    {"--env-host", {"false"}, "a container has jtok's variables and those of engine.env, and no others"},
};

static const struct rule *option_rule(const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].name, name) == 0)
            return &rules[i];
    return NULL;
}

static bool refuse_option(const struct taking *t, const struct run_option *o, const char *why)
{
    return err_set(t->err, ERR_PLAN, "The container's option %s%s%s can't be used: %s. Leave it out.", o->name,
                   o->value ? "=" : "", o->value ? o->value : "", why);
}

static void keep_option(struct taking *t, const struct run_option *o)
{
    t->args[t->arg_count++] = o->value ? arena_format(t->arena, "%s=%s", o->name, o->value) : o->name;
}

/* Which GPUs `--gpus all`, `2`, `device=0,1`, `"device=0,1"` or `driver=nvidia,"device=0"` means: "all", a number or a
 * list. */
static const char *gpus_of_value(const char *value, struct arena *a)
{
    const char *device = strstr(value, "device=");
    if (!device) {
        if (strncmp(value, "count=", 6) == 0)
            value += 6;
        value += value[0] == '"';
        return arena_copy(a, value, strcspn(value, ",\""));
    }
    bool quoted = device > value && device[-1] == '"';
    device += strlen("device=");
    return arena_copy(a, device, strcspn(device, quoted ? "\"" : ",\""));
}

static void add_gpus(struct taking *t, const char *gpus)
{
    t->gpus = arena_join(t->arena, t->gpus, ",", gpus);
}

static bool take_env(struct taking *t, const struct run_option *o)
{
    const char *equals = o->value ? strchr(o->value, '=') : NULL;
    if (!equals) {
        keep_option(t, o);
        return true;
    }
    struct field_pair v = {arena_copy(t->arena, o->value, (size_t)(equals - o->value)), equals + 1};
    if (strcmp(v.name, "NVIDIA_VISIBLE_DEVICES") == 0) {
        add_gpus(t, v.value);
        return true;
    }
    for (size_t i = 0; i < t->env_count; i++)
        if (strcmp(t->env[i].name, v.name) == 0 && i < t->plan->engine.env_count &&
            strcmp(t->env[i].value, v.value) != 0)
            return err_set(t->err, ERR_PLAN,
                           "engine.env and the container's -e give %s two values. Leave one of them out.", v.name);
    t->env[t->env_count++] = v;
    return true;
}

static bool take_container_name(struct taking *t, const struct run_option *o)
{
    t->plan->engine.container.name = o->value;
    return o->value || refuse_option(t, o, "it has no value");
}

static bool take_device(struct taking *t, const struct run_option *o)
{
    static const char KIND[] = "nvidia.com/gpu=";
    if (o->value && strncmp(o->value, KIND, strlen(KIND)) == 0)
        add_gpus(t, o->value + strlen(KIND));
    else
        keep_option(t, o);
    return true;
}

static bool take_gpus(struct taking *t, const struct run_option *o)
{
    if (!o->value)
        return refuse_option(t, o, "it has no value");
    add_gpus(t, gpus_of_value(o->value, t->arena));
    return true;
}

static const struct {
    const char *name;
    bool (*take)(struct taking *t, const struct run_option *o);
} takers[] = {{"--env", take_env}, {"--name", take_container_name}, {"--device", take_device}, {"--gpus", take_gpus}};

static bool take_run_option(struct taking *t, const struct run_option *o)
{
    const struct rule *r = option_rule(o->name);
    if (r)
        return is_value(o, r->but) || refuse_option(t, o, r->why);
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        if (strcmp(takers[i].name, o->name) == 0)
            return takers[i].take(t, o);
    keep_option(t, o);
    return true;
}

/* ---- GPUs ---- */

/* In any order. */
static bool same_set(const char *const *x, size_t n, const char *const *y, size_t m)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++)
            found += strcmp(x[i], y[k]) == 0;
    return n == m && found == n;
}

/* All that there are: what the plan says where it says nothing. */
static bool leaves_gpus_open(const struct plan *p)
{
    return p->gpu_count == 0 || (p->gpu_count == 1 && strcmp(p->gpus[0], "all") == 0);
}

/* `--gpus 2` and the list of one GPU look alike; where the plan names as many, it is theirs. */
static bool settle_count(struct taking *t, int64_t count)
{
    return (!leaves_gpus_open(t->plan) && (size_t)count == t->plan->gpu_count) ||
           err_set(t->err, ERR_PLAN,
                   "The container's --gpus %lld leaves open which GPUs it gets. Name them: --gpus device=0, or jtok's "
                   "own --gpus.",
                   (long long)count);
}

static bool settle_gpus(struct taking *t, bool is_count)
{
    struct plan *p = t->plan;
    size_t n;
    int64_t count;
    if (!t->gpus || strcmp(t->gpus, "all") == 0)
        return true;
    if (is_count && num_i64(span_of(t->gpus), &count))
        return settle_count(t, count);
    const char **list = words_by_comma(t->gpus, t->arena, &n);
    if (leaves_gpus_open(p)) {
        p->gpus = list;
        p->gpu_count = n;
        return true;
    }
    return same_set((const char *const *)p->gpus, p->gpu_count, list, n) ||
           err_set(t->err, ERR_PLAN,
                   "The plan's GPUs are others than the container's options give it: %s. Leave one of them out.",
                   t->gpus);
}

/* ---- the whole command ---- */

/* The client's own options, then "run" or "container run". False: it runs no image. */
static bool skip_client(struct words *w)
{
    struct run_option o;
    while (next_run_option(w, &of_client, &o))
        ;
    const char *verb = next_word(w);
    if (verb && strcmp(verb, "container") == 0)
        verb = next_word(w);
    return verb && strcmp(verb, "run") == 0;
}

/* A client of another machine's daemon. */
static bool is_on_this_machine(struct words w, struct err *e)
{
    struct run_option o;
    w.at = 1;
    while (next_run_option(&w, &of_client, &o))
        if ((strcmp(o.name, "--host") == 0 || strcmp(o.name, "--url") == 0) && o.value &&
            strncmp(o.value, "unix:", 5) != 0)
            return err_set(
                e, ERR_PLAN,
                "The container would run on another machine (%s %s), whose GPUs can't be measured from here. "
                "Run jtok on that machine.",
                o.name, o.value);
    return true;
}

static bool take_options(struct taking *t, struct words *w)
{
    struct run_option o;
    size_t before = t->plan->engine.env_count;
    bool is_count = false;
    t->args = arena_array(t->arena, 4 * w->count + 64, sizeof *t->args);
    t->env = arena_array(t->arena, before + w->count + 1, sizeof *t->env);
    if (before)
        memcpy(t->env, t->plan->engine.env, before * sizeof *t->env);
    t->env_count = before;
    while (next_run_option(w, &of_run, &o)) {
        is_count = is_count || (strcmp(o.name, "--gpus") == 0 && o.value && !strstr(o.value, "device="));
        if (!take_run_option(t, &o))
            return false;
    }
    struct plan_engine *g = &t->plan->engine;
    g->env = t->env;
    g->env_count = t->env_count;
    g->container.args = t->args;
    g->container.arg_count = t->arg_count;
    return settle_gpus(t, is_count);
}

static bool take_client(struct taking *t, struct words *w)
{
    struct plan_engine *g = &t->plan->engine;
    g->container.client = arena_array(t->arena, w->at, sizeof *g->container.client);
    g->container.client_count = 0;
    while (g->container.client_count + 1 < w->at) { /* all but "run" */
        g->container.client[g->container.client_count] = w->list[g->container.client_count];
        g->container.client_count++;
    }
    if (!take_options(t, w))
        return false;
    g->container.image = next_word(w);
    g->container.own_entrypoint = true;
    g->command = (const char **)w->list + w->at;
    g->command_count = w->count - w->at;
    return g->container.image || err_set(t->err, ERR_PLAN,
                                         "The engine's command %s run names no image. Write it as in a shell: options, "
                                         "then the image, then the engine's arguments.",
                                         w->list[0]);
}

bool container_take(struct plan *p, struct arena *a, struct err *e)
{
    must(p && a);
    struct plan_engine *g = &p->engine;
    struct taking t = {.plan = p, .arena = a, .err = e};
    struct words w = {.list = (const char *const *)g->command, .count = g->command_count, .arena = a};
    const char *program = next_word(&w);
    int runtime = program ? name_index(container_runtime_names, span_of(path_name(program))) : -1;
    bool runs = runtime >= 0 && skip_client(&w);
    if (runs && g->container.image)
        return err_set(e, ERR_PLAN,
                       "The plan's engine.container.image is %s, and the command begins with %s run. Take one of them "
                       "out: with engine.container, the command is the engine's own.",
                       g->container.image, program);
    if (runs) {
        g->container.runtime = (enum container_runtime)runtime;
        return is_on_this_machine(w, e) && take_client(&t, &w);
    }
    if (!g->container.image)
        return true;
    if (ENUM_ABSENT(g->container.runtime))
        g->container.runtime = RUNTIME_DOCKER;
    struct words args = {.list = (const char *const *)g->container.args, .count = g->container.arg_count, .arena = a};
    if (!g->container.client_count) {
        g->container.client = arena_array(a, 1, sizeof *g->container.client);
        g->container.client[g->container.client_count++] = container_runtime_names[g->container.runtime];
    }
    if (!take_options(&t, &args))
        return false;
    return args.at == args.count || err_set(e, ERR_PLAN,
                                            "engine.container.args holds \"%s\", which is not an option. The image "
                                            "belongs to engine.container.image, the command to engine.command.",
                                            args.list[args.at]);
}
