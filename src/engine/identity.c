#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/must.h"
#include "base/utf8.h"
#include "engine/table.h"

void engine_identity_init(struct engine_identity *id, struct arena *a)
{
    must(a);
    *id = (struct engine_identity){.arena = a,
                                   .context_length = ABSENT_I64,
                                   .tensor_parallel = ABSENT_I64,
                                   .pipeline_parallel = ABSENT_I64,
                                   .data_parallel = ABSENT_I64,
                                   .prefix_cache = -1,
                                   .weights_s = NAN,
                                   .model_loading_s = NAN,
                                   .compile_s = NAN,
                                   .graphs_s = NAN,
                                   .init_s = NAN,
                                   .model_gib = NAN,
                                   .kv_cache_tokens = ABSENT_I64,
                                   .own_requests_max = ABSENT_I64,
                                   .own_fronts = ABSENT_I64};
}

/* ---- answers ---- */

enum { SHOWN = 300 }; /* bytes of an answer in an error */

struct span span_behind(struct span line, const char *phrase)
{
    assert(*phrase); /* a line of output is read for each of many */
    size_t n = strlen(phrase);
    const char *at = line.n >= n ? memmem(line.p, line.n, phrase, n) : NULL;
    return at ? (struct span){at + n, (size_t)(line.p + line.n - at) - n} : (struct span){0};
}

/* Is the text that ends in front of `at` the beginning of a setting? */
static bool begins_setting(struct span text, const char *at)
{
    return at == text.p || at[-1] == ' ' || at[-1] == '(';
}

struct span log_setting(struct span text, const char *name)
{
    must(*name);
    size_t n = strlen(name);
    struct span at = {text.p, text.n};
    do
        at = span_behind(at, name);
    while (at.p && (!begins_setting(text, at.p - n) || !span_starts(at, "=")));
    if (!at.p)
        return at;
    char first = at.n > 1 ? at.p[1] : 0, end = first == '\'' || first == '"' ? first : ',';
    size_t skipped = end == ',' ? 1 : 2;
    struct span value = {at.p + skipped, at.n - skipped};
    const char *stop = memchr(value.p, end, value.n);
    value.n = stop ? (size_t)(stop - value.p) : value.n;
    return end == ',' && span_is(value, "None") ? (struct span){0} : value;
}

const char *body_beginning(struct span body, size_t most, struct arena *a)
{
    must(most > 0 && a);
    struct buf b = {0};
    utf8_show(&b, span_trim((struct span){body.p, body.n < most ? body.n : most}), false);
    if (body.n > most)
        buf_str(&b, "...");
    const char *text = arena_text(a, buf_text(&b));
    buf_done(&b);
    return text;
}

struct model_entry {
    const char *id, *root;
    int64_t context_length;
};

/* One member of "data", whose `{` was just read. False on a fault. */
static bool read_model_entry(struct json *j, struct arena *a, struct model_entry *m)
{
    *m = (struct model_entry){.context_length = ABSENT_I64};
    enum json_kind k;
    while ((k = json_next(j)) == JSON_KEY) {
        bool is_id = json_is(j, "id"), is_root = json_is(j, "root"), is_length = json_is(j, "max_model_len");
        if (!is_id && !is_root && !is_length) {
            if (json_skip(j) == JSON_ERROR)
                return false;
            continue;
        }
        k = json_next(j);
        if (k == JSON_STRING && (is_id || is_root))
            *(is_id ? &m->id : &m->root) = json_copy(j, a);
        else if (k == JSON_NUMBER && is_length)
            json_i64(j, &m->context_length);
        else if ((k == JSON_OBJECT || k == JSON_ARRAY) && json_skip(j) == JSON_ERROR)
            return false;
        else if (k == JSON_ERROR)
            return false;
    }
    return k == JSON_OBJECT_END;
}

/* A LoRA adapter is an entry of its own; the one that requests name counts. */
static void take_entry(const struct plan *p, struct engine_identity *id, const struct model_entry *m)
{
    if (!m->id)
        return;
    bool wanted = p->engine.served_model && strcmp(m->id, p->engine.served_model) == 0;
    id->models = id->models ? arena_format(id->arena, "%s, %s", id->models, m->id) : m->id;
    if (id->model && !wanted)
        return;
    id->model = m->id;
    id->root = m->root;
    if (m->context_length != ABSENT_I64)
        id->context_length = m->context_length;
}

static bool read_entries(const struct plan *p, struct json *j, struct engine_identity *id)
{
    enum json_kind k = json_next(j);
    if (k != JSON_ARRAY)
        return false;
    while ((k = json_next(j)) == JSON_OBJECT) {
        struct model_entry m;
        if (!read_model_entry(j, id->arena, &m))
            return false;
        take_entry(p, id, &m);
    }
    return k == JSON_ARRAY_END;
}

bool engine_read_models(const struct plan *p, struct engine_identity *id, int status, struct span body, struct err *e)
{
    must(id->arena);
    if (status != 200)
        return err_set(e, ERR_ENGINE,
                       "The engine answers /v1/models with status %d instead of 200, so jtok can't see which model it "
                       "serves.%s",
                       status, status == 401 ? " It asks for an API key: give it in JTOK_API_KEY." : "");
    struct json j;
    json_init(&j, body);
    bool found = false, ok = json_next(&j) == JSON_OBJECT;
    while (ok && json_next(&j) == JSON_KEY) {
        if (json_is(&j, "data"))
            ok = found = read_entries(p, &j, id);
        else
            ok = json_skip(&j) != JSON_ERROR;
    }
    if (!ok || j.kind != JSON_OBJECT_END || !found || !id->model)
        return err_set(e, ERR_ENGINE,
                       "The engine's answer to /v1/models is not a list of models. Is another server on the engine's "
                       "port? It answers: %s",
                       body_beginning(body, SHOWN, id->arena));
    id->models_answered = true;
    return true;
}

/* The row that says where more can be asked: the plan's, or that of an engine which its output named. */
static const struct engine *about_row(const struct plan *p, const struct engine_identity *id)
{
    const struct engine *own = engine_of(p);
    return own->about_path ? own : engine_named(id->name);
}

const char *engine_about_path(const struct plan *p, const struct engine_identity *id)
{
    const struct engine *g = about_row(p, id);
    return g ? g->about_path : NULL;
}

bool read_about_version(struct engine_identity *id, struct span body)
{
    struct json j;
    json_init(&j, body);
    if (json_next(&j) != JSON_OBJECT)
        return false;
    while (json_next(&j) == JSON_KEY) {
        if (json_is(&j, "version") && json_next(&j) == JSON_STRING) {
            id->version = json_copy(&j, id->arena);
            return true;
        }
        if (json_skip(&j) == JSON_ERROR)
            break;
    }
    return false;
}

bool engine_read_about(const struct plan *p, struct engine_identity *id, int status, struct span body, struct err *e)
{
    const struct engine *g = about_row(p, id);
    must(id->arena && g && g->read_about);
    if (status != 200 || g->read_about(id, body))
        return true; /* another status: it does not say */
    return err_set(e, ERR_ENGINE,
                   "The engine's answer to %s doesn't tell its version. Is another server on the engine's port? It "
                   "answers: %s",
                   g->about_path, body_beginning(body, SHOWN, id->arena));
}

/* ---- checks ---- */

struct facts {
    const struct engine_identity *id;
    int64_t t_ns;
    struct rec_fact *list;
    size_t n;
};
enum { FACTS_MAX = 16 };

/* Expectation null: the plan states nothing, so nothing was compared. Seen null: the engine gives no way to see it. */
static void check(struct facts *f, const char *name, const char *expected, const char *seen, bool equal)
{
    must(f->n < FACTS_MAX);
    enum check_outcome outcome = !expected ? CHECK_NOT_STATED
                                 : equal   ? CHECK_PASSED
                                 : seen    ? CHECK_FAILED
                                           : CHECK_NOT_JUDGED;
    f->list[f->n++] =
        (struct rec_fact){.t_ns = f->t_ns, .name = name, .outcome = outcome, .expected = expected, .seen = seen};
}

static void check_text(struct facts *f, const char *name, const char *expected, const char *seen)
{
    check(f, name, expected, seen, expected && seen && strcmp(expected, seen) == 0);
}

static const char *number_or_null(const struct facts *f, int64_t value)
{
    return value == ABSENT_I64 ? NULL : arena_format(f->id->arena, "%lld", (long long)value);
}

static size_t without_slash(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

static bool same_path(const char *a, const char *b)
{
    return a && b && without_slash(a) == without_slash(b) && memcmp(a, b, without_slash(a)) == 0;
}

/* What is served must be what the command names: an id can be given to anything. */
static void check_root(struct facts *f, const struct plan *p)
{
    const char *seen = f->id->root ? f->id->root : f->id->log_model;
    const char *expected = engine_of(p)->root_is_model ? command_read(p, f->id->arena).model : NULL;
    if (expected && strchr(expected, '{'))
        expected = NULL;
    /* Offline, vLLM puts the folder in its cache in the place of the repository that the command names. */
    const char *hub = seen ? hub_model_id(seen, f->id->arena) : NULL;
    bool equal = same_path(expected, seen) || (expected && hub && strcmp(expected, hub) == 0) ||
                 (expected && expected[0] != '/' && same_path(seen, p->model.snapshot));
    check(f, "identity.root", expected, seen, equal);
}

static void check_snapshot(struct facts *f, const struct plan *p)
{
    const char *seen = f->id->root ? f->id->root : f->id->log_model;
    const char *expected = p->model.snapshot;
    if (seen && seen[0] != '/')
        seen = NULL; /* the name of a repository, not the folder that it was read from */
    check(f, "identity.snapshot", expected, seen, same_path(expected, seen));
}

/* "int4" is what both AWQ and GPTQ give; compressed-tensors does not say which format it holds. */
static void check_precision(struct facts *f, const struct plan *p)
{
    const struct engine_identity *id = f->id;
    const char *expected = p->model.precision, *seen = NULL;
    bool quantized = id->quantization && strcmp(id->quantization, "none") != 0;
    if (quantized)
        seen = precision_name(id->quantization);
    else if (id->dtype)
        seen = precision_name(id->dtype);
    bool equal = expected && seen && strcasecmp(precision_name(expected), seen) == 0;
    if (expected && seen && quantized && (strcmp(seen, "awq") == 0 || strcmp(seen, "gptq") == 0))
        equal = equal || strcasecmp(expected, "int4") == 0;
    if (expected && seen && !equal && quantized && strcmp(seen, "compressed-tensors") == 0)
        seen = NULL;
    check(f, "identity.precision", expected, seen, equal);
}

static const char *parallel_text(struct arena *a, int64_t tensor, int64_t pipeline, int64_t data)
{
    return arena_format(a, "tensor %lld, pipeline %lld, data %lld", (long long)tensor, (long long)pipeline,
                        (long long)data);
}

static void check_parallel(struct facts *f, const struct plan *p)
{
    const struct engine_identity *id = f->id;
    const struct plan_engine *g = &p->engine;
    const char *expected = parallel_text(id->arena, g->tensor_parallel, g->pipeline_parallel, g->data_parallel);
    const char *seen = NULL;
    if (id->tensor_parallel != ABSENT_I64 && id->pipeline_parallel != ABSENT_I64)
        seen = parallel_text(id->arena, id->tensor_parallel, id->pipeline_parallel,
                             id->data_parallel == ABSENT_I64 ? 1 : id->data_parallel);
    check_text(f, "identity.parallel", engine_states_sizes(p) ? expected : NULL, seen);
}

static void check_revision(struct facts *f, const struct plan *p)
{
    const struct engine_identity *id = f->id;
    const char *seen = id->revision ? id->revision : snapshot_revision(id->root, id->arena);
    if (!seen)
        seen = snapshot_revision(id->log_model, id->arena);
    check_text(f, "identity.revision", p->model.revision, seen);
}

/* The digest of an image as a command names it: NAME@sha256:<64 hex digits>. */
static const char *image_digest_in(const struct plan *p, struct arena *a)
{
    static const char ALGORITHM[] = "@sha256:";
    for (size_t i = 0; i < p->engine.command_count; i++) {
        const char *at = strstr(p->engine.command[i], ALGORITHM);
        if (at && strspn(at + strlen(ALGORITHM), "0123456789abcdefABCDEF") == 64)
            return arena_copy(a, at + 1, strlen(ALGORITHM) - 1 + 64);
    }
    return NULL;
}

/* What a container runs can't be seen from outside it; a command that pins the image is held to it by its runtime. */
static void check_image(struct facts *f, const struct plan *p)
{
    const char *expected = p->engine.image_digest, *seen = image_digest_in(p, f->id->arena);
    /* With or without "sha256:" before the digits. */
    const char *digits = expected && strncasecmp(expected, "sha256:", 7) == 0 ? expected + 7 : expected;
    check(f, "identity.image_digest", expected, seen, digits && seen && strcasecmp(digits, seen + 7) == 0);
}

static void check_prefix_cache(struct facts *f, const struct plan *p)
{
    static const char *const names[] = {"off", "on"};
    int said = engine_prefix_cache_argument(p), is = f->id->prefix_cache;
    check_text(f, "identity.prefix_cache", said < 0 ? NULL : names[said], is < 0 ? NULL : names[is]);
}

void engine_identity_facts(const struct plan *p, const struct engine_identity *id, int64_t t_ns,
                           struct rec_fact **ret_facts, size_t *ret_n)
{
    must(id->arena);
    struct facts f = {.id = id, .t_ns = t_ns, .list = arena_array(id->arena, FACTS_MAX, sizeof *f.list)};
    bool served = id->model && p->engine.served_model && strcmp(id->model, p->engine.served_model) == 0;
    check(&f, "identity.model", p->engine.served_model, id->models, served);
    check_root(&f, p);
    check_snapshot(&f, p);
    check_text(&f, "identity.context_length",
               p->engine.context_length == ABSENT_I64 ? NULL : number_or_null(&f, p->engine.context_length),
               number_or_null(&f, id->context_length));
    check_text(&f, "identity.version", p->engine.version, id->version);
    check_precision(&f, p);
    check_parallel(&f, p);
    check_revision(&f, p);
    check_prefix_cache(&f, p);
    check_image(&f, p);
    *ret_facts = f.list;
    *ret_n = f.n;
}

bool engine_identity_judge(const struct rec_fact *facts, size_t n, struct err *e)
{
    struct buf b = {0};
    for (size_t i = 0; i < n; i++)
        if (facts[i].outcome == CHECK_FAILED) {
            must(strncmp(facts[i].name, "identity.", 9) == 0 && facts[i].expected && facts[i].seen);
            buf_fmt(&b, " %s: the plan says %s, the engine says %s.", facts[i].name + strlen("identity."),
                    facts[i].expected, facts[i].seen);
        }
    bool ok = b.n == 0;
    if (!ok)
        err_set(e, ERR_ENGINE,
                "The engine that runs is not the one in the plan.%s Change the command or the plan so that they agree.",
                buf_text(&b));
    buf_done(&b);
    return ok;
}
