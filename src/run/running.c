#include "run/running.h"

#include <string.h>
#include <unistd.h>
#include "base/must.h"
#include "base/num.h"
#include "base/time.h"
#include "http/address.h"
#include "proc/cgroup.h"
#include "run/container.h"
#include "run/identify.h"

enum { WORDS_MAX = 128, COMMAND_BYTES = 4096 };

/* ---- where it is ---- */

static bool refuse_url(const char *url, struct err *e)
{
    return err_set(
        e, ERR_PLAN,
        "\"%s\" is not the address of a service. Write it like http://127.0.0.1:8000, with the port that the "
        "service listens on.",
        url);
}

/* What stands behind the port: nothing, "/" or "/v1". */
static bool is_base(struct span path)
{
    return path.n == 0 || span_is(path, "/") || span_is(path, "/v1") || span_is(path, "/v1/");
}

/* "HOST:PORT", "[::1]:PORT" or "HOST", which is port 80. */
static bool take_authority(struct plan_engine *g, struct span text, struct arena *a)
{
    size_t host = text.n, end = 0;
    if (text.n && text.p[0] == '[')
        while (end < text.n && text.p[end] != ']')
            end++;
    for (size_t i = end; i < text.n; i++)
        if (text.p[i] == ':')
            host = i;
    g->port = 80;
    if (host < text.n && !num_i64((struct span){text.p + host + 1, text.n - host - 1}, &g->port))
        return false;
    g->host = arena_copy(a, text.p, host);
    return host > 0 && g->port >= 1 && g->port <= 65535;
}

static bool take_url(struct plan *p, struct arena *a, struct err *e)
{
    const char *url = p->attach.url;
    struct span text = span_of(url);
    if (span_starts(text, "unix:")) {
        p->engine.host = url;
        return true;
    }
    if (span_starts(text, "https://"))
        return err_set(e, ERR_REFUSED,
                       "%s is encrypted, so it is a front end and not the engine itself. Give the address that the "
                       "engine listens on, like http://127.0.0.1:8000.",
                       url);
    if (span_starts(text, "http://"))
        text = (struct span){text.p + 7, text.n - 7};
    else if (memmem(text.p, text.n, "://", 3))
        return refuse_url(url, e);
    const char *slash = memchr(text.p, '/', text.n);
    size_t n = slash ? (size_t)(slash - text.p) : text.n;
    return (is_base((struct span){text.p + n, text.n - n}) &&
            take_authority(&p->engine, (struct span){text.p, n}, a)) ||
           refuse_url(url, e);
}

static bool is_here(const struct plan *p, const struct address *list, int n, struct err *e)
{
    for (int i = 0; i < n; i++)
        if (!address_is_local(&list[i]))
            return err_set(e, ERR_REFUSED,
                           "%s is %s, which is not an address of this machine. jtok looks only at services of the "
                           "machine that it runs on: run it on the one that has the GPUs.",
                           p->attach.url, list[i].text);
    return true;
}

/* The command line that runs there, as words: it says what jtok would else be told by a plan. */
static void take_command(struct running *r, struct plan *p, struct arena *a)
{
    struct buf words = {0};
    if (r->serving.root_count == 0)
        return;
    p->attach.pid = r->serving.roots[0].pid;
    proc_words(p->attach.pid, COMMAND_BYTES, &words);
    p->engine.command = arena_array(a, WORDS_MAX, sizeof *p->engine.command);
    p->engine.command_count = 0;
    for (size_t at = 0; at < words.n && p->engine.command_count < WORDS_MAX;) {
        size_t n = strnlen((const char *)words.p + at, words.n - at);
        p->engine.command[p->engine.command_count++] = arena_copy(a, (const char *)words.p + at, n);
        at += n + 1;
    }
    buf_done(&words);
}

bool running_find(struct running *r, struct plan *p, struct arena *a, struct err *e)
{
    must(p->attach.url && !r->open);
    struct address list[ADDRESSES_MAX];
    struct sockaddr_storage where[ADDRESSES_MAX];
    int n = 0;
    if (!take_url(p, a, e) || !address_resolve(p->engine.host, (int)p->engine.port, list, &n, e) ||
        !is_here(p, list, n, e))
        return false;
    for (int i = 0; i < n; i++)
        where[i] = list[i].storage;
    serving_find(&r->serving, where, (size_t)n, engine_is_process);
    r->open = true;
    take_command(r, p, a);
    return true;
}

/* ---- what it says ---- */

/* Before there is a folder an interrupt leaves nothing. */
static bool refuse_interrupted(struct err *e)
{
    return err_set(e, ERR_INTERRUPTED, "Interrupted before anything was measured; nothing was written.");
}

static bool ask_before(struct ask *ask, const char *path, int64_t timeout_ns, struct answer *answer, struct err *e)
{
    return ask_wait(ask, path, timeout_ns, answer) || refuse_interrupted(e);
}

static bool ask_models(struct running *r, struct plan *p, struct ask *ask, struct answer *answer, struct err *e)
{
    if (!ask_before(ask, "/v1/models", 10 * SECOND_NS, answer, e))
        return false;
    if (answer->get.outcome != HTTP_GET_ANSWERED)
        return err_set(e, ERR_ENGINE, "Nothing can be asked at %s: %s Start the service first, or correct the address.",
                       p->attach.url, answer->get.detail ? answer->get.detail : "there was no answer.");
    if (answer->get.status == 401 || answer->get.status == 403)
        return err_set(e, ERR_ENGINE, "%s answers /v1/models with status %d. Give the service's key in JTOK_API_KEY.",
                       p->attach.url, answer->get.status);
    return engine_read_models(p, &r->identity, answer->get.status, buf_span(&answer->body), e);
}

static bool ask_metrics(struct running *r, struct plan *p, struct ask *ask, struct answer *answer, struct err *e)
{
    const char *path = engine_metrics_path(p);
    if (!path)
        return true;
    if (!ask_before(ask, path, 5 * SECOND_NS, answer, e))
        return false;
    if (answer_status(answer) == 200)
        r->source = engine_metrics_source(buf_span(&answer->body));
    struct engine_metrics_answer lacking = ask_metrics_answer(&answer->get);
    if (!r->source)
        r->lack = engine_metrics_lack(p, &lacking, r->identity.arena);
    return true;
}

/* A plan can name some engines; any other is named by its own words. */
static void take_kind(struct running *r, struct plan *p)
{
    const char *name = r->source ? r->source : r->identity.owner;
    int kind = name ? name_index(engine_kind_names, span_of(name)) : -1;
    p->engine.kind = kind >= 0 ? (enum engine_kind)kind : ENGINE_OPENAI;
    if (kind < 0 && r->source)
        r->identity.name = r->source;
}

/* An engine that does not tell all of it can be measured. */
static bool ask_identity(struct running *r, struct plan *p, struct ask *ask, struct answer *answer, struct err *e)
{
    struct err ignored;
    return identify_ask(ask, p, &r->identity, answer, &ignored) != IDENTIFY_BROKEN || refuse_interrupted(e);
}

bool running_ask(struct running *r, struct plan *p, struct ask *ask, struct err *e)
{
    must(r->open);
    struct answer answer = {0};
    engine_identity_init(&r->identity, ask->machine->arena);
    bool asked = ask_models(r, p, ask, &answer, e) && ask_metrics(r, p, ask, &answer, e);
    if (asked)
        take_kind(r, p);
    if (asked && r->source) /* the last answer was that of /metrics */
        engine_read_labels(p, &r->identity, buf_span(&answer.body));
    asked = asked && ask_identity(r, p, ask, &answer, e);
    buf_done(&answer.body);
    if (!asked)
        return false;
    if (!p->engine.served_model)
        p->engine.served_model = r->identity.model;
    if (!p->model.id)
        p->model.id = r->identity.model;
    const char *version = engine_says(&r->identity, PROPERTY_VERSION);
    p->engine.simulated = version && strstr(version, "simulated");
    return p->model.id || err_set(e, ERR_ENGINE,
                                  "%s names no model in /v1/models, so it does not look like an inference service with "
                                  "the OpenAI API. Correct the address.",
                                  p->attach.url);
}

/* ---- its GPUs ---- */

/* On the user's word, where the service's own processes can't be found behind the port. Returns how many. */
static size_t take_stated(struct running *r, const struct device *d, const uint32_t *gpus, size_t n)
{
    size_t taken = 0;
    for (size_t i = 0; i < n; i++) {
        struct device_process list[DEVICE_PROCESSES_MAX];
        size_t count = 0;
        if (d->ops->processes(d->self, gpus[i], list, &count) != READ_OK)
            continue;
        for (size_t k = 0; k < count; k++)
            serving_add(&r->serving, list[k].pid);
        taken += count;
    }
    return taken;
}

static bool holds_gpu(struct running *r, const struct device *d, uint32_t gpu)
{
    struct device_process list[DEVICE_PROCESSES_MAX];
    size_t n = 0;
    bool own = false;
    if (d->gpus[gpu].fault || d->ops->processes(d->self, gpu, list, &n) != READ_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        own = own || serving_owns(&r->serving, list[i].pid) == 1;
    return own;
}

static bool refuse_gpus(const struct running *r, const struct plan *p, struct err *e)
{
    struct buf who = {0};
    serving_describe(&r->serving, &who);
    if (who.n)
        err_set(e, ERR_DEVICE,
                "%s listens at %s, but neither it nor its processes are on a GPU that can be seen from here. If it "
                "passes requests on, give the engine's own address; if the engine runs in a container, name its GPUs "
                "with --gpus.",
                buf_text(&who), p->attach.url);
    else
        err_set(e, ERR_DEVICE,
                "The process that listens at %s can't be seen from here: it is another user's or a container's. Name "
                "its GPUs with --gpus, or run jtok as that user or as root.",
                p->attach.url);
    buf_done(&who);
    return false;
}

/* Do the named GPUs have a process of the service, as far as its processes are known? */
static bool any_is_held(struct running *r, const struct device *d, const uint32_t *gpus, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (holds_gpu(r, d, gpus[i]))
            return true;
    return false;
}

static void find_gpus(struct running *r, struct plan *p, const struct device *d)
{
    for (uint32_t g = 0; g < d->gpu_count; g++)
        if (holds_gpu(r, d, g))
            p->gpus[p->gpu_count++] = d->gpus[g].info.uuid;
}

/* Who listens may only pass on to a container, or be a part of one whose engine has another parent. */
static bool take_container(struct running *r, struct plan *p, struct arena *a)
{
    char id[CONTAINER_ID], own[CONTAINER_ID] = "";
    if (r->serving.root_count == 0)
        return false;
    const char *runtime = container_proxy_runtime(r->serving.listener.name);
    proc_container(getpid(), own);
    bool known = runtime ? container_behind_port(runtime, p->engine.port, a, id)
                         : proc_container(r->serving.listener.pid, id) && strcmp(id, own) != 0;
    if (!known || !serving_take_container(&r->serving, id))
        return false;
    take_command(r, p, a);
    return true;
}

bool running_gpus(struct running *r, struct plan *p, const struct device *d, struct arena *a, struct err *e)
{
    must(r->open && d->gpu_count <= DEVICE_GPUS_MAX);
    p->attach.gpus_stated = p->gpu_count > 0;
    if (p->attach.gpus_stated) {
        uint32_t places[DEVICE_GPUS_MAX];
        size_t n;
        if (!device_select(d, p->gpus, p->gpu_count, places, &n, e))
            return false;
        r->unseen = !any_is_held(r, d, places, n) && take_stated(r, d, places, n) == 0;
        return true;
    }
    p->gpus = arena_array(a, d->gpu_count + 1, sizeof *p->gpus);
    find_gpus(r, p, d);
    if (p->gpu_count == 0 && take_container(r, p, a))
        find_gpus(r, p, d);
    return p->gpu_count > 0 || refuse_gpus(r, p, e);
}

int8_t running_owns(void *self, int64_t pid)
{
    struct running *r = self;
    return serving_owns(&r->serving, pid);
}

void running_done(struct running *r)
{
    if (r->open)
        serving_done(&r->serving);
    r->open = false;
}
