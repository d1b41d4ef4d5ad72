/* Where a run's model lies on this machine, and whether it is whole. */
#include <string.h>
#include <unistd.h>
#include "base/must.h"
#include "engine/engine.h"
#include "run/resolving.h"
#include "run/vocabulary.h"

/* Where the model is, or would be, in the hub's cache; null: the engine takes it from elsewhere. */
static const char *hub_place(const struct resolving *v, const char **ret_model, const char **ret_fetch)
{
    struct plan named = *v->plan;
    const char *model = engine_hub_model(v->plan, v->arena, ret_fetch);
    if (!model)
        return NULL;
    named.model.id = *ret_model = model;
    named.model.snapshot = NULL;
    return vocabulary_folder(&named, v->arena);
}

static bool holds_config(const struct resolving *v, const char *folder)
{
    return folder && access(arena_format(v->arena, "%s/config.json", folder), R_OK) == 0;
}

const char *resolve_model_folder(const struct resolving *v)
{
    const struct plan *p = v->plan;
    const char *model = NULL, *fetch = NULL, *folder = p->model.snapshot;
    if (!folder && !p->engine.container.image && !p->engine.simulated)
        folder = hub_place(v, &model, &fetch);
    return holds_config(v, folder) ? folder : NULL;
}

bool look_at_weights(struct resolving *v, struct err *e)
{
    const char *model = NULL, *fetch = NULL, *folder = hub_place(v, &model, &fetch);
    must(model);
    if (folder && access(folder, R_OK) == 0) { /* config.json is not in every one: Mistral's have params.json */
        preflight_fact(&v->r->preflight, "preflight.weights", CHECK_PASSED, model, folder);
        return true;
    }
    const char *advice =
        arena_format(v->arena,
                     "%s is not in the hub's cache (%s), and jtok forbids downloads during a run, since "
                     "they would be measured as the start's energy. Fetch it first, without jtok: `%s`.",
                     model, folder ? folder : "which has no place here", fetch);
    if (engine_loads_elsewhere(v->plan, v->arena)) {
        preflight_warn(&v->r->preflight, "preflight.weights", model, "not in the hub's cache", advice);
        return true;
    }
    preflight_fact(&v->r->preflight, "preflight.weights", CHECK_FAILED, model, "not in the hub's cache");
    return err_set(e, ERR_PLAN, "%s", advice);
}

bool look_at_snapshot_files(struct resolving *v, struct err *e)
{
    const char *model = NULL, *fetch = NULL, *folder = resolve_model_folder(v);
    must(folder);
    if (!v->plan->model.snapshot)
        hub_place(v, &model, &fetch);
    if (!preflight_weights(&v->r->preflight, folder, fetch, e))
        return false;
    /* Of a snapshot that the plan names, its own row tells. */
    if (!v->plan->model.snapshot && !preflight_model(&v->r->preflight, folder, e))
        return false;
    preflight_tokenizer(&v->r->preflight, folder);
    preflight_config(&v->r->preflight, folder, v->plan->engine.context_length);
    return true;
}
