#include "run/container.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/must.h"
#include "base/num.h"
#include "base/time.h"
#include "proc/tool.h"
#include "proc/tree.h"
#include "text/file_read.h"

enum { QUESTION_WORDS = 8, LEFT_SHOWN = 8 };
#define QUESTION_NS (20 * SECOND_NS)

/* Asks the runtime's program: its own options, then `words`. */
static bool ask_runtime(const struct plan *p, const char *const words[QUESTION_WORDS], struct arena *a,
                        struct tool_answer *ret_answer, struct err *e)
{
    const struct plan_container *c = &p->engine.container;
    const char **argv = arena_array(a, c->client_count + QUESTION_WORDS + 1, sizeof *argv);
    for (size_t i = 0; i < c->client_count; i++)
        argv[i] = c->client[i];
    for (size_t i = 0; i < QUESTION_WORDS && words[i]; i++)
        argv[c->client_count + i] = words[i];
    return tool_run(argv, NULL, QUESTION_NS, a, ret_answer, e);
}

/* "podman --runtime runc", for a command that a person can type. */
static const char *client_text(const struct plan *p, struct arena *a)
{
    const struct plan_container *c = &p->engine.container;
    const char *text = c->client[0];
    for (size_t i = 1; i < c->client_count; i++)
        text = arena_format(a, "%s %s", text, c->client[i]);
    return text;
}

/* ---- the image ---- */

static const char *first_words(const char *text, struct arena *a)
{
    text += strspn(text, " \n");
    return arena_copy(a, text, strcspn(text, "\n"));
}

static bool refuse_image(const struct plan *p, const struct tool_answer *answer, struct arena *a, struct err *e)
{
    static const char *const absent[] = {"o such image", "mage not known", "not found", "nable to find"};
    const char *image = p->engine.container.image, *client = client_text(p, a);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (strstr(answer->err, absent[i]))
            return err_set(
                e, ERR_ENGINE,
                "The image %s is not on this machine, and nothing is downloaded while something is measured. "
                "Get it with \"%s pull %s\", then start again.",
                image, client, image);
    if (strstr(answer->err, "ermission denied"))
        return err_set(e, ERR_ENGINE,
                       "%s may not be used by this user: %s. Join the group that may (often: docker), or use podman, "
                       "which needs no daemon.",
                       client, first_words(answer->err, a));
    return err_set(e, ERR_ENGINE,
                   "%s could not say what the image %s is: %s. Check \"%s image inspect %s\" in a shell.", client,
                   image, *answer->err ? first_words(answer->err, a) : "it ended without a word", client, image);
}

static bool pin_image(struct preflight *f, struct plan *p, struct err *e)
{
    struct arena *a = f->arena;
    const char *image = p->engine.container.image;
    struct tool_answer answer;
    struct container_image seen;
    if (!ask_runtime(p, (const char *const[QUESTION_WORDS]){"image", "inspect", image}, a, &answer, e))
        return false;
    if (answer.status != 0)
        return refuse_image(p, &answer, a, e);
    if (!container_read_image(span_of(answer.out), a, &seen))
        return err_set(e, ERR_ENGINE, "The answer of \"%s image inspect %s\" is not understood. Check it in a shell.",
                       client_text(p, a), image);
    if (!container_settle(p, &seen, a, e))
        return false;
    preflight_fact(f, "preflight.container_image", CHECK_PASSED, image,
                   arena_format(a, "%s, id %s", p->engine.image_digest, seen.id));
    return true;
}

/* ---- its name ---- */

static bool settle_name(struct preflight *f, struct plan *p, struct err *e)
{
    struct plan_container *c = &p->engine.container;
    struct tool_answer answer;
    if (!c->name) {
        c->name = arena_format(f->arena, "jtok-%lld-%llx", (long long)getpid(),
                               (unsigned long long)clock_realtime_ns() & 0xffffffffULL);
        return true;
    }
    if (!ask_runtime(p, (const char *const[QUESTION_WORDS]){"container", "inspect", c->name}, f->arena, &answer, e))
        return false;
    return answer.status != 0 || err_set(e, ERR_BUSY,
                                         "A container named %s exists already. Remove it with \"%s rm --force %s\", or "
                                         "leave --name out.",
                                         c->name, client_text(p, f->arena), c->name);
}

/* ---- what was left behind ---- */

/* Is the jtok that the label names still there? Then the container is another run's. */
static bool is_owned(const char *line)
{
    const char *label = strstr(line, CONTAINER_LABEL);
    struct proc owner;
    long long pid = label ? strtoll(label + strlen(CONTAINER_LABEL) + 1, NULL, 10) : 0;
    return pid > 0 && proc_read(pid, &owner) && strcmp(owner.name, "jtok") == 0;
}

/* Each line: a name, and labels as the runtime writes them. */
static void look_for_left_containers(struct preflight *f, const struct plan *p)
{
    struct tool_answer answer;
    struct buf names = {0};
    const char *const question[QUESTION_WORDS] = {
        "ps", "--all", "--filter", ("label=" CONTAINER_LABEL), "--format", "{{.Names}} {{.Labels}}"};
    if (!ask_runtime(p, question, f->arena, &answer, NULL) || answer.status != 0) {
        preflight_fact(f, "preflight.containers", CHECK_NOT_JUDGED, "no container of jtok left behind", NULL);
        return;
    }
    size_t left = 0;
    for (const char *line = answer.out; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (*line != '\n' && !is_owned(arena_copy(f->arena, line, strcspn(line, "\n"))) && left++ < LEFT_SHOWN)
            buf_fmt(&names, "%s%.*s", left > 1 ? " " : "", (int)strcspn(line, " \n"), line);
    preflight_fact(f, "preflight.containers", left ? CHECK_FAILED : CHECK_PASSED, "no container of jtok left behind",
                   left ? arena_format(f->arena, "%s. Remove with \"%s rm --force %s\"", buf_text(&names),
                                       client_text(p, f->arena), buf_text(&names))
                        : "none");
    buf_done(&names);
}

/* ---- GPUs ---- */

/* Does some description of devices (CDI) name NVIDIA's? */
static bool has_cdi(void)
{
    static const char *const patterns[] = {"/etc/cdi/*", "/var/run/cdi/*"};
    glob_t files = {0};
    bool found = false;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc && !found; i++) {
        struct buf text = {0};
        struct err ignored;
        found = file_read(files.gl_pathv[i], 0, &text, &ignored) && strstr(buf_text(&text), "nvidia.com/gpu");
        buf_done(&text);
    }
    globfree(&files);
    return found;
}

static bool gpus_have_names(struct preflight *f, const struct plan *p, struct err *e)
{
    if (p->engine.simulated || p->engine.container.runtime != RUNTIME_PODMAN)
        return true;
    bool found = has_cdi();
    preflight_fact(f, "preflight.container_gpus", found ? CHECK_PASSED : CHECK_FAILED, "GPUs that podman can name",
                   found ? "described" : "none");
    return found || err_set(e, ERR_ENGINE,
                            "podman can't give a GPU to a container here: /etc/cdi and /var/run/cdi describe none. "
                            "Install nvidia-container-toolkit and run \"nvidia-ctk cdi generate "
                            "--output=/etc/cdi/nvidia.yaml\" as root.");
}

/* ---- all of it ---- */

/* The runtime's program runs in a folder of its own. */
static void make_mounts_absolute(struct plan *p, struct arena *a)
{
    static const char VOLUME[] = "--volume=";
    struct plan_container *c = &p->engine.container;
    for (size_t i = 0; i < c->arg_count; i++) {
        const char *host = c->args[i] + strlen(VOLUME);
        if (strncmp(c->args[i], VOLUME, strlen(VOLUME)) != 0 || host[0] != '.')
            continue;
        size_t n = strcspn(host, ":");
        char *absolute = realpath(arena_copy(a, host, n), NULL);
        if (absolute)
            c->args[i] = arena_format(a, "%s%s%s", VOLUME, absolute, host + n);
        free(absolute);
    }
}

bool container_resolve(struct preflight *f, struct plan *p, struct err *e)
{
    must(f->arena);
    if (!container_take(p, f->arena, e))
        return false;
    if (!container_is_used(p))
        return true;
    make_mounts_absolute(p, f->arena);
    if (!gpus_have_names(f, p, e) || !pin_image(f, p, e) || !settle_name(f, p, e))
        return false;
    look_for_left_containers(f, p);
    return true;
}

/* ---- a container that runs already ---- */

const char *container_proxy_runtime(const char *name)
{
    static const char *const proxies[][2] = {{"docker-proxy", "docker"},
                                             {"conmon", "podman"},
                                             {"rootlessport", "podman"},
                                             {"pasta", "podman"},
                                             {"slirp4netns", "podman"}};
    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++)
        if (strncmp(name, proxies[i][0], strlen(proxies[i][0])) == 0)
            return proxies[i][1];
    return NULL;
}

/* Each line: an id, and "0.0.0.0:9000->8000/tcp, :::9000->8000/tcp". */
bool container_behind_port(const char *runtime, int64_t port, struct arena *a, char ret_id[CONTAINER_ID])
{
    const char *const question[] = {runtime, "ps", "--no-trunc", "--format", "{{.ID}} {{.Ports}}", NULL};
    struct tool_answer answer;
    if (!tool_run(question, NULL, QUESTION_NS, a, &answer, NULL) || answer.status != 0)
        return false;
    const char *published = arena_format(a, ":%lld->", (long long)port);
    for (const char *line = answer.out; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *text = arena_copy(a, line, strcspn(line, "\n"));
        if (strstr(text, published) && cgroup_container(span_of(text), ret_id))
            return true;
    }
    return false;
}

const char *container_hub_folder(struct arena *a)
{
    const char *own = getenv("HF_HOME"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat st;
    const char *folder = own && *own       ? own
                         : cache && *cache ? arena_format(a, "%s/huggingface", cache)
                         : home && *home   ? arena_format(a, "%s/.cache/huggingface", home)
                                           : NULL;
    return folder && folder[0] == '/' && stat(folder, &st) == 0 && S_ISDIR(st.st_mode) ? folder : NULL;
}
