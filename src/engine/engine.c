#include "engine/internal.h"

#include <assert.h>
#include <string.h>

static const char *const vllm_marks[] = {"Resolved architecture",        "Initializing a V1 LLM engine",
                                         "Loading weights took",         "Model loading took",
                                         "torch.compile took",           "GPU KV cache size",
                                         "Graph capturing finished",     "init engine",
                                         "Application startup complete", NULL};
static const char *const no_marks[] = {NULL};

static const struct engine engines[] = {
    [ENGINE_VLLM] = {.name = "vllm",
                     .health_path = "/health",
                     .metrics_path = "/metrics",
                     .version_path = "/version",
                     .log_marks = vllm_marks,
                     .options_are_vllm = true,
                     .read_log = vllm_read_log},
    [ENGINE_OPENAI] = {.name = "openai",
                       .health_path = "/health",
                       .metrics_path = "/metrics",
                       .log_marks = no_marks,
                       .read_log = sglang_read_log},
};

const struct engine *engine_of(int engine_kind)
{
    assert(engine_kind >= 0 && (size_t)engine_kind < sizeof engines / sizeof *engines);
    return &engines[engine_kind];
}

const char *engine_health_path(const struct plan *p)
{
    return p->engine.health_path && *p->engine.health_path ? p->engine.health_path
                                                           : engine_of(p->engine.kind)->health_path;
}

const char *engine_metrics_path(const struct plan *p)
{
    if (!p->engine.metrics_path)
        return engine_of(p->engine.kind)->metrics_path;
    return *p->engine.metrics_path ? p->engine.metrics_path : NULL;
}

const char *engine_version_path(const struct plan *p)
{
    return engine_of(p->engine.kind)->version_path;
}

const char *engine_named_version_path(const struct engine_identity *id)
{
    return id->name && strcmp(id->name, "sglang") == 0 ? "/v1/loads" : NULL;
}

enum engine_answer engine_health_answer(const struct plan *p, int status, struct err *e)
{
    const char *path = engine_health_path(p);
    if (status == 200 || status == 204)
        return ENGINE_READY;
    if (status == 401 || status == 403)
        err_set(e, ERR_ENGINE,
                "The engine answers %s with status %d: it wants a key even there. Set engine.health_path to a path "
                "that is open.",
                path, status);
    else if (status == 404 || status == 405)
        err_set(e, ERR_ENGINE,
                "The engine answers %s with status %d: it has no such path. Set engine.health_path to one that "
                "answers 200 when it is ready, such as /v1/models.",
                path, status);
    else if (status >= 300 && status < 400)
        err_set(e, ERR_ENGINE,
                "The engine answers %s with status %d, a redirect, which jtok does not follow. Set "
                "engine.health_path to the final path.",
                path, status);
    else
        return ENGINE_NOT_YET;
    return ENGINE_WRONG;
}
