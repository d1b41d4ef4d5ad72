/* From the plan to the command that a runtime is given. */
#include <string.h>
#include "base/must.h"
#include "engine/container.h"

/* A command that grows. */
struct argv {
    struct arena *arena;
    const char **list;
    size_t n, capacity;
};

static void append_word(struct argv *v, const char *word)
{
    if (v->n == v->capacity) {
        size_t capacity = v->capacity ? 2 * v->capacity : 64;
        const char **list = arena_array(v->arena, capacity, sizeof *list);
        if (v->n)
            memcpy(list, v->list, v->n * sizeof *list);
        v->list = list;
        v->capacity = capacity;
    }
    v->list[v->n++] = word;
}

static void add_all(struct argv *v, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        append_word(v, words[i]);
}

static bool has_option(const struct plan *p, const char *name)
{
    size_t i = 0;
    return container_option(p, name, &i);
}

/* By UUID: Docker takes a list in quotes of its own, podman a name of the toolkit's (CDI) for each. */
static void add_gpu_arguments(struct argv *v, const struct plan *p)
{
    if (p->engine.simulated) /* the runtime has no such device */
        return;
    if (p->engine.container.runtime == RUNTIME_DOCKER) {
        const char *list = "";
        for (size_t i = 0; i < p->gpu_count; i++)
            list = arena_format(v->arena, "%s%s%s", list, i ? "," : "", p->gpus[i]);
        append_word(v, arena_format(v->arena, "--gpus=\"device=%s\"", list));
        return;
    }
    for (size_t i = 0; i < p->gpu_count; i++)
        append_word(v, arena_format(v->arena, "--device=nvidia.com/gpu=%s", p->gpus[i]));
}

/* The folder of the hub's cache in which a snapshot's links stay within, or the snapshot itself. */
static const char *folder_to_mount(const char *snapshot, struct arena *a)
{
    const char *at = strstr(snapshot, "/snapshots/");
    return at && hub_model_id(snapshot, a) ? arena_copy(a, snapshot, (size_t)(at - snapshot)) : snapshot;
}

/* Read only, and where it lies outside; not what the options mount already. */
static void add_mount(struct argv *v, const struct plan *p, const char *folder)
{
    if (folder && folder[0] == '/' && strcmp(container_inner_path(p, folder, v->arena), folder) == 0 &&
        !container_mounts(p, folder))
        append_word(v, arena_format(v->arena, "--volume=%s:%s:ro", folder, folder));
}

static void add_mounts(struct argv *v, const struct plan *p, const struct engine_site *site)
{
    const char *snapshot = p->model.snapshot;
    if (snapshot && container_inner_path(p, snapshot, v->arena) == snapshot)
        add_mount(v, p, folder_to_mount(snapshot, v->arena));
    else if (!snapshot)
        add_mount(v, p, site->hub_folder);
}

/* Values of the plan's variables may be secrets, which a command line shows to everybody: those go by name alone. */
static void add_variables(struct argv *v, const struct plan *p, const char *const *variables)
{
    for (; *variables; variables++) {
        size_t n = strcspn(*variables, "=");
        bool of_plan = false;
        for (size_t i = 0; i < p->engine.env_count; i++)
            of_plan =
                of_plan || (strlen(p->engine.env[i].name) == n && memcmp(p->engine.env[i].name, *variables, n) == 0);
        append_word(v, arena_format(v->arena, "--env=%.*s", of_plan ? (int)n : (int)strlen(*variables), *variables));
    }
}

static void add_run_options(struct argv *v, const struct plan *p, const struct engine_site *site)
{
    const struct plan_container *c = &p->engine.container;
    append_word(v, "--rm");
    append_word(v, arena_format(v->arena, "--name=%s", c->name ? c->name : "jtok"));
    if (site->id_file)
        append_word(v, arena_format(v->arena, "--cidfile=%s", site->id_file));
    append_word(v, arena_format(v->arena, "--label=" CONTAINER_LABEL "=%lld", (long long)site->owner));
    append_word(v, "--pull=never");
    if (!has_option(p, "--network") && !has_option(p, "--publish"))
        append_word(v, "--network=host");
    if (!has_option(p, "--ipc") && !has_option(p, "--shm-size"))
        append_word(v, "--ipc=host"); /* the 64 MiB of /dev/shm that it would have else are too few for several GPUs */
}

static const char **removal(const struct plan *p, struct arena *a)
{
    const struct plan_container *c = &p->engine.container;
    struct argv v = {.arena = a};
    add_all(&v, (const char *const *)c->client, c->client_count);
    append_word(&v, "rm");
    append_word(&v, "--force");
    append_word(&v, "--volumes");
    if (c->runtime == RUNTIME_PODMAN)
        append_word(&v, "--time=0"); /* it would wait for 10 s */
    append_word(&v, c->name ? c->name : "jtok");
    append_word(&v, NULL);
    return v.list;
}

void container_wrap(const struct plan *p, const struct engine_site *site, const char *const *variables, struct arena *a,
                    struct engine_launch *l)
{
    const struct plan_container *c = &p->engine.container;
    must(c->image && c->client_count && l->argc);
    struct argv v = {.arena = a};
    size_t skipped = 0;
    add_all(&v, (const char *const *)c->client, c->client_count);
    append_word(&v, "run");
    add_run_options(&v, p, site);
    add_gpu_arguments(&v, p);
    add_mounts(&v, p, site);
    add_variables(&v, p, variables);
    add_all(&v, l->options, c->arg_count);
    if (!c->own_entrypoint && !c->entrypoint_count && l->argv[0][0] != '-' && !has_option(p, "--entrypoint")) {
        append_word(&v, arena_format(a, "--entrypoint=%s", l->argv[0]));
        skipped = 1;
    }
    append_word(&v, c->image_id ? c->image_id : c->image);
    add_all(&v, l->argv + skipped, l->argc - skipped);
    l->argc = v.n;
    append_word(&v, NULL);
    l->argv = v.list;
    l->remove = removal(p, a);
}
