#include "run/vocabulary.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/buf.h"
#include "base/must.h"
#include "engine/model_files.h"
#include "run/weights.h"
#include "text/file_read.h"

enum { FILE_MOST = 64 << 20 };

/* ---- where the model lies ---- */

/* As the engine will see it. */
static const char *plan_variable(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->engine.env_count; i++)
        if (strcmp(p->engine.env[i].name, name) == 0)
            return *p->engine.env[i].value ? p->engine.env[i].value : NULL;
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static const char *hub_folder(const struct plan *p, struct arena *a)
{
    const char *hub = plan_variable(p, "HF_HUB_CACHE"), *home = plan_variable(p, "HF_HOME");
    if (!hub)
        hub = plan_variable(p, "HUGGINGFACE_HUB_CACHE"); /* its older name */
    const char *cache = plan_variable(p, "XDG_CACHE_HOME"), *user = plan_variable(p, "HOME");
    if (hub)
        return hub;
    if (home)
        return arena_format(a, "%s/hub", home);
    if (cache)
        return arena_format(a, "%s/huggingface/hub", cache);
    return user ? arena_format(a, "%s/.cache/huggingface/hub", user) : NULL;
}

/* The commit that a branch of the hub's copy stands at; null. */
static const char *commit_of(const char *model, const char *branch, struct arena *a)
{
    struct buf text = {0};
    const char *commit = NULL;
    if (file_read(arena_format(a, "%s/refs/%s", model, branch), 200, &text, NULL)) {
        struct span line = span_trim(buf_span(&text));
        commit = line.n ? arena_copy(a, line.p, line.n) : NULL;
    }
    buf_done(&text);
    return commit;
}

/* The model's folder in the hub's cache: models--ORG--NAME/snapshots/COMMIT; null. */
static const char *hub_snapshot(const struct plan *p, struct arena *a)
{
    const char *hub = hub_folder(p, a), *id = p->model.id, *slash = id ? strchr(id, '/') : NULL;
    if (!hub || !slash || slash == id || strchr(slash + 1, '/'))
        return NULL;
    const char *model = arena_format(a, "%s/models--%.*s--%s", hub, (int)(slash - id), id, slash + 1);
    const char *revision = p->model.revision ? p->model.revision : "main";
    const char *commit = commit_of(model, revision, a);
    return arena_format(a, "%s/snapshots/%s", model, commit ? commit : revision);
}

const char *vocabulary_folder(const struct plan *p, struct arena *a)
{
    must(a);
    return p->model.snapshot ? p->model.snapshot : hub_snapshot(p, a);
}

/* ---- what it says ---- */

static void read_model_file(struct model_vocabulary *v, const char *folder, const char *name, struct arena *a)
{
    const char *path = arena_format(a, "%s/%s", folder, name);
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 2 || st.st_size > FILE_MOST)
        return;
    char *text = mem_alloc((size_t)st.st_size + 1);
    int64_t n = weights_front(path, (unsigned char *)text, (size_t)st.st_size);
    text[n < 0 ? 0 : n] = 0;
    if (n > 0)
        model_vocabulary_read(v, (struct span){text, (size_t)n});
    free(text);
}

static bool choose_words(struct plan_random *r, const struct model_vocabulary *v, const char *folder, struct err *e)
{
    if (r->vocabulary == ABSENT_I64 && v->size == ABSENT_I64)
        return err_set(
            e, ERR_PLAN,
            "The size of the model's vocabulary is not known, so no random token ids can be drawn: %s%s. Set "
            "model.snapshot to the folder with config.json, or requests.random.vocabulary to vocab_size.",
            folder ? "there is no vocab_size in the config.json of " : "the plan names no snapshot",
            folder ? folder : "");
    if (r->vocabulary == ABSENT_I64)
        r->vocabulary = v->size;
    if (v->size != ABSENT_I64 && r->vocabulary > v->size)
        return err_set(e, ERR_PLAN,
                       "requests.random.vocabulary is %lld, but the model has %lld tokens, by the config.json of %s. "
                       "Leave the key out.",
                       (long long)r->vocabulary, (long long)v->size, folder);
    if (!model_vocabulary_range(v, r->vocabulary, &r->first_id, &r->last_id))
        return err_set(
            e, ERR_PLAN,
            "Of the model's %lld token ids none is left to draw from, since special ones lie everywhere. Set "
            "a smaller requests.random.vocabulary, or give the requests in a file.",
            (long long)r->vocabulary);
    return true;
}

bool vocabulary_resolve(struct plan *p, struct arena *a, struct err *e)
{
    must(plan_is_random(p) && a && e);
    static const char *const files[] = {"config.json", "generation_config.json", "tokenizer_config.json"};
    const char *folder = vocabulary_folder(p, a);
    struct model_vocabulary v = {.size = ABSENT_I64};
    for (size_t i = 0; folder && i < sizeof files / sizeof *files; i++)
        read_model_file(&v, folder, files[i], a);
    bool good = choose_words(&p->requests.random, &v, folder, e);
    model_vocabulary_done(&v);
    return good;
}
