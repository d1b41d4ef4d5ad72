#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/must.h"
#include "base/utf8.h"
#include "engine/container.h"
#include "engine/table.h"

void engine_identity_init(struct engine_identity *id, struct arena *a)
{
    must(a);
    *id = (struct engine_identity){.arena = a,
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
#define MODELS_PATH "/v1/models"

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
    value.n -= !stop && value.n && value.p[value.n - 1] == ')'; /* the end of the list */
    return end == ',' && span_is(value, "None") ? (struct span){0} : value;
}

const char *body_beginning(struct span body, size_t most, struct arena *a)
{
    must(most > 0 && a);
    struct buf b = {0};
    utf8_show(&b, span_trim((struct span){body.p, body.n < most ? body.n : most}), false);
    if (body.n > most)
        buf_str(&b, "...");
    if (b.n == 0)
        buf_str(&b, "(nothing)");
    const char *text = arena_text(a, buf_text(&b));
    buf_done(&b);
    return text;
}

struct model_entry {
    const char *id, *root, *owner;
    int64_t context_length;
};

/* One member of "data", whose `{` was just read. False on a fault. */
static bool read_model_entry(struct json *j, struct arena *a, struct model_entry *m)
{
    *m = (struct model_entry){.context_length = ABSENT_I64};
    const struct {
        const char *key, **text;
    } texts[] = {{"id", &m->id}, {"root", &m->root}, {"owned_by", &m->owner}};
    enum json_kind k;
    while ((k = json_next(j)) == JSON_KEY) {
        const char **text = NULL;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            text = json_is(j, texts[i].key) ? texts[i].text : text;
        bool is_length = json_is(j, "max_model_len");
        if (!text && !is_length) {
            if (json_skip(j) == JSON_ERROR)
                return false;
            continue;
        }
        k = json_next(j);
        if (k == JSON_STRING && text)
            *text = json_copy(j, a);
        else if (k == JSON_NUMBER && is_length)
            json_i64(j, &m->context_length);
        else if ((k == JSON_OBJECT || k == JSON_ARRAY) && json_skip(j) == JSON_ERROR)
            return false;
        else if (k == JSON_ERROR)
            return false;
    }
    return k == JSON_OBJECT_END;
}

/* What a list of models has been found to hold. */
struct models {
    struct model_entry entry; /* that requests will carry, else the first */
    size_t count;
    bool wanted;
};

enum { MODELS_LISTED = 16 };

static const char *join_names(const char *list, const char *name, struct arena *a)
{
    return list ? arena_format(a, "%s, %s", list, name) : name;
}

/* A LoRA adapter is an entry of its own; the one that requests name counts. */
static void take_model(const struct plan *p, struct engine_identity *id, const struct model_entry *m,
                       struct models *all)
{
    if (!m->id || span_trim(span_of(m->id)).n == 0)
        return;
    bool wanted = p->engine.served_model && strcmp(m->id, p->engine.served_model) == 0;
    if (all->count < MODELS_LISTED)
        id->models = join_names(id->models, body_beginning(span_of(m->id), SHOWN, id->arena), id->arena);
    if (all->count++ == 0 || (wanted && !all->wanted))
        all->entry = *m;
    all->wanted = all->wanted || wanted;
}

static bool read_entries(const struct plan *p, struct json *j, struct engine_identity *id, struct models *all)
{
    enum json_kind k = json_next(j);
    if (k != JSON_ARRAY)
        return false;
    while ((k = json_next(j)) == JSON_OBJECT) {
        struct model_entry m;
        if (!read_model_entry(j, id->arena, &m))
            return false;
        take_model(p, id, &m, all);
    }
    return k == JSON_ARRAY_END;
}

static void take_models(const struct plan *p, struct engine_identity *id, const struct models *all)
{
    const struct model_entry *m = &all->entry;
    const char *length = m->context_length > 0 ? arena_format(id->arena, "%lld", (long long)m->context_length) : "";
    id->models_answered = true;
    id->model = m->id;
    if (all->count > MODELS_LISTED)
        id->models = arena_format(id->arena, "%s and %zu more", id->models, all->count - MODELS_LISTED);
    if (engine_named(m->owner))
        id->owner = m->owner;
    if (!id->name && engine_of(p)->any_server)
        id->name = id->owner;
    const struct engine *g = id->owner ? engine_named(id->owner) : engine_found(p, id);
    const char *root = m->root && (g->any_server || g->root_is_model) ? m->root : ""; /* else the served name again */
    property_found(id, PROPERTY_MODEL, SOURCE_ANSWER, span_of(m->id), MODELS_PATH ", id");
    property_found(id, PROPERTY_ROOT, SOURCE_ANSWER, span_of(root), MODELS_PATH ", root");
    property_found(id, PROPERTY_CONTEXT, SOURCE_ANSWER, span_of(length), MODELS_PATH ", max_model_len");
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
    struct models all = {.count = 0};
    const char *before = id->models;
    bool found = false, ok = json_next(&j) == JSON_OBJECT;
    while (ok && json_next(&j) == JSON_KEY) {
        if (json_is(&j, "data"))
            ok = found = read_entries(p, &j, id, &all);
        else
            ok = json_skip(&j) != JSON_ERROR;
    }
    if (!ok || j.kind != JSON_OBJECT_END || !found || all.count == 0) {
        id->models = before; /* nothing of a half answer is kept */
        return err_set(e, ERR_ENGINE,
                       "The engine's answer to /v1/models is not a list of models. Is another server on the engine's "
                       "port? It answers: %s",
                       body_beginning(body, SHOWN, id->arena));
    }
    take_models(p, id, &all);
    return true;
}

/* ---- properties: what is stated, what is seen, and whether they agree ---- */

/* A value that was seen, and where; null: it was not. */
struct said {
    const char *value, *source;
};

/* One property. What is stated and seen is by default what the command's places and the engine's say. */
struct property_row {
    const char *fact;                                             /* its name in the records */
    const char *label;                                            /* for people */
    bool (*alike)(struct arena *a, const char *x, const char *y); /* null: the same text */
    const char *(*stated)(const struct plan *p, const struct engine_identity *id);
    struct said (*seen)(const struct plan *p, const struct engine_identity *id);
    bool (*agrees)(const struct plan *p, const struct engine_identity *id, const char *stated, const char *seen);
};

static bool same_path(const char *a, const char *b)
{
    return a && b && span_equal(span_without_slash(span_of(a)), span_without_slash(span_of(b)));
}

/* Offline, vLLM puts the folder in its cache in the place of the repository that the command names. */
static bool alike_root(struct arena *a, const char *x, const char *y)
{
    const char *hub_x = hub_model_id(x, a), *hub_y = hub_model_id(y, a);
    return same_path(x, y) || (hub_x && strcmp(hub_x, y) == 0) || (hub_y && strcmp(hub_y, x) == 0);
}

static bool alike_path(struct arena *a, const char *x, const char *y)
{
    (void)a;
    return same_path(x, y);
}

static bool alike_version(struct arena *a, const char *x, const char *y)
{
    (void)a;
    return version_same(x, y);
}

static bool alike_dtype(struct arena *a, const char *x, const char *y)
{
    (void)a;
    return strcasecmp(precision_name(x), precision_name(y)) == 0;
}

/* An engine makes the method that a command names more precise: awq is awq_marlin, mxfp4 is gpt_oss_mxfp4. */
static bool alike_quantization(struct arena *a, const char *x, const char *y)
{
    return alike_dtype(a, x, y) || strcasestr(x, y) || strcasestr(y, x);
}

/* On NVIDIA's GPUs fp8 alone is e4m3. */
static const char *kv_dtype_name(const char *text)
{
    static const char *const names[][2] = {{"fp8", "fp8_e4m3"},
                                           {"float8_e4m3fn", "fp8_e4m3"},
                                           {"float8_e4m3", "fp8_e4m3"},
                                           {"float8_e5m2", "fp8_e5m2"},
                                           {"float4_e2m1fn_x2", "fp4_e2m1"}};
    text = precision_name(text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(text, names[i][0]) == 0)
            return names[i][1];
    return text;
}

static bool alike_kv_dtype(struct arena *a, const char *x, const char *y)
{
    (void)a;
    return strcasecmp(kv_dtype_name(x), kv_dtype_name(y)) == 0;
}

/* FLASH_ATTN is flash-attn. */
static bool alike_word(struct arena *a, const char *x, const char *y)
{
    (void)a;
    for (; *x && *y; x++, y++) {
        bool both_join = (*x == '_' || *x == '-') && (*y == '_' || *y == '-');
        char pair[2][2] = {{*x, 0}, {*y, 0}};
        if (!both_join && strcasecmp(pair[0], pair[1]) != 0)
            return false;
    }
    return *x == *y;
}

/* ---- each property's own ways ---- */

static struct said found_of(const struct engine_identity *id, enum engine_property property)
{
    return (struct said){id->found[property].value, id->found[property].source};
}

static const char *text_of_number(const struct engine_identity *id, int64_t value)
{
    return value == ABSENT_I64 ? NULL : arena_format(id->arena, "%lld", (long long)value);
}

static const char *stated_model(const struct plan *p, const struct engine_identity *id)
{
    (void)id;
    return p->engine.served_model;
}

static struct said seen_model(const struct plan *p, const struct engine_identity *id)
{
    (void)p;
    return (struct said){id->models, id->found[PROPERTY_MODEL].source};
}

static bool agrees_model(const struct plan *p, const struct engine_identity *id, const char *stated, const char *seen)
{
    (void)p, (void)seen;
    return id->model && strcmp(id->model, stated) == 0;
}

/* What is served must be what the command names: an id can be given to anything. */
static const char *stated_root(const struct plan *p, const struct engine_identity *id)
{
    const char *model = engine_found(p, id)->root_is_model ? command_read(p, id->arena).model : NULL;
    return model && !strchr(model, '{') ? model : NULL;
}

static bool agrees_root(const struct plan *p, const struct engine_identity *id, const char *stated, const char *seen)
{
    return alike_root(id->arena, stated, seen) || (stated[0] != '/' && same_path(seen, p->model.snapshot));
}

static const char *stated_snapshot(const struct plan *p, const struct engine_identity *id)
{
    return p->model.snapshot && container_is_used(p) ? container_inner_path(p, p->model.snapshot, id->arena)
                                                     : p->model.snapshot;
}

/* Not the name of a repository, but the folder that it was read from. */
static struct said seen_snapshot(const struct plan *p, const struct engine_identity *id)
{
    (void)p;
    const struct engine_finding *root = &id->found[PROPERTY_ROOT];
    if (root->value && root->value[0] == '/')
        return (struct said){root->value, root->source};
    bool other = root->other && root->other[0] == '/';
    return (struct said){other ? root->other : NULL, other ? root->other_source : NULL};
}

static const char *stated_revision(const struct plan *p, const struct engine_identity *id)
{
    (void)id;
    return p->model.revision;
}

static struct said seen_revision(const struct plan *p, const struct engine_identity *id)
{
    struct said own = found_of(id, PROPERTY_REVISION), folder = seen_snapshot(p, id);
    const char *commit = folder.value ? snapshot_revision(folder.value, id->arena) : NULL;
    return own.value || !commit ? own : (struct said){commit, folder.source};
}

static const char *stated_version(const struct plan *p, const struct engine_identity *id)
{
    (void)id;
    return p->engine.version;
}

static const char *stated_image(const struct plan *p, const struct engine_identity *id)
{
    (void)id;
    return p->engine.image_digest;
}

/* The digest of an image as a command names it: NAME@sha256:<64 hex digits>. What a container runs can't be seen from
 * outside it; a command that pins the image is held to it by its runtime. */
static struct said seen_image(const struct plan *p, const struct engine_identity *id)
{
    static const char ALGORITHM[] = "@sha256:";
    if (p->engine.container.image_id) /* it is run by its id, whose digest the runtime has stated */
        return (struct said){p->engine.image_digest, "image, by the container's runtime"};
    for (size_t i = 0; i < p->engine.command_count; i++) {
        const char *at = strstr(p->engine.command[i], ALGORITHM);
        if (at && strspn(at + strlen(ALGORITHM), "0123456789abcdefABCDEF") == 64)
            return (struct said){arena_copy(id->arena, at + 1, strlen(ALGORITHM) - 1 + 64), "command, held by the "
                                                                                            "container's runtime"};
    }
    return found_of(id, PROPERTY_IMAGE);
}

/* With or without "sha256:" before the digits. */
static bool alike_digest(struct arena *a, const char *x, const char *y)
{
    (void)a;
    x += strncasecmp(x, "sha256:", 7) == 0 ? 7 : 0;
    y += strncasecmp(y, "sha256:", 7) == 0 ? 7 : 0;
    return strcasecmp(x, y) == 0;
}

static const char *stated_context(const struct plan *p, const struct engine_identity *id)
{
    return text_of_number(id, p->engine.context_length);
}

static const char *stated_tensor(const struct plan *p, const struct engine_identity *id)
{
    return engine_states_sizes(p) ? text_of_number(id, p->engine.tensor_parallel) : NULL;
}

static const char *stated_pipeline(const struct plan *p, const struct engine_identity *id)
{
    return engine_states_sizes(p) ? text_of_number(id, p->engine.pipeline_parallel) : NULL;
}

static const char *stated_data(const struct plan *p, const struct engine_identity *id)
{
    return engine_states_sizes(p) ? text_of_number(id, p->engine.data_parallel) : NULL;
}

static const char *stated_precision(const struct plan *p, const struct engine_identity *id)
{
    (void)id;
    return p->model.precision;
}

static bool is_quantized(const struct engine_identity *id)
{
    const char *quantization = engine_says(id, PROPERTY_QUANTIZATION);
    return quantization && strcmp(quantization, "none") != 0;
}

/* "int4" is what both AWQ and GPTQ give. */
static bool agrees_precision(const struct plan *p, const struct engine_identity *id, const char *stated,
                             const char *seen)
{
    (void)p;
    bool four_bits = is_quantized(id) && (strcmp(seen, "awq") == 0 || strcmp(seen, "gptq") == 0);
    return strcasecmp(precision_name(stated), seen) == 0 || (four_bits && strcasecmp(stated, "int4") == 0);
}

/* The quantization's, where there is one: compressed-tensors does not say which format it holds. */
static struct said seen_precision(const struct plan *p, const struct engine_identity *id)
{
    bool quantized = is_quantized(id);
    struct said from = found_of(id, quantized ? PROPERTY_QUANTIZATION : PROPERTY_DTYPE);
    if (!from.value || (!quantized && !engine_says(id, PROPERTY_QUANTIZATION) && engine_found(p, id)->hides_formats))
        return (struct said){0};
    from.value = precision_name(from.value);
    const char *stated = p->model.precision;
    bool unclear = quantized && strcmp(from.value, "compressed-tensors") == 0;
    return unclear && stated && !agrees_precision(p, id, stated, from.value) ? (struct said){0} : from;
}

/* torch.bfloat16 is told as bfloat16, as other engines and people write it: else two engines would seem to differ. */
static struct said seen_format(const struct engine_identity *id, enum engine_property property)
{
    static const char prefix[] = "torch.";
    struct said from = found_of(id, property);
    if (from.value && strncmp(from.value, prefix, sizeof prefix - 1) == 0)
        from.value += sizeof prefix - 1;
    return from;
}

static struct said seen_dtype(const struct plan *p, const struct engine_identity *id)
{
    (void)p;
    return seen_format(id, PROPERTY_DTYPE);
}

static struct said seen_kv_dtype(const struct plan *p, const struct engine_identity *id)
{
    (void)p;
    return seen_format(id, PROPERTY_KV_DTYPE);
}

static const char *stated_dtype(const struct plan *p, const struct engine_identity *id)
{
    (void)id;
    return command_read(p, id->arena).dtype;
}

static const char *stated_quantization(const struct plan *p, const struct engine_identity *id)
{
    (void)id;
    return command_read(p, id->arena).quantization;
}

static const char *stated_kv_dtype(const struct plan *p, const struct engine_identity *id)
{
    const char *said = command_read(p, id->arena).kv_cache_dtype;
    return said && strcmp(said, "auto") != 0 ? said : NULL;
}

static const char *stated_prefix_cache(const struct plan *p, const struct engine_identity *id)
{
    (void)id;
    int said = engine_prefix_cache_argument(p);
    return said < 0 ? NULL : said ? "on" : "off";
}

/* ---- the table ---- */

static const struct property_row rows[PROPERTY_COUNT] = {
    [PROPERTY_MODEL] = {"identity.model", "model", NULL, stated_model, seen_model, agrees_model},
    [PROPERTY_ROOT] = {"identity.root", "served from", alike_root, stated_root, NULL, agrees_root},
    [PROPERTY_SNAPSHOT] = {"identity.snapshot", "snapshot", alike_path, stated_snapshot, seen_snapshot, NULL},
    [PROPERTY_REVISION] = {"identity.revision", "revision", NULL, stated_revision, seen_revision, NULL},
    [PROPERTY_VERSION] = {"identity.version", "engine version", alike_version, stated_version, NULL, NULL},
    [PROPERTY_IMAGE] = {"identity.image_digest", "image digest", alike_digest, stated_image, seen_image, NULL},
    [PROPERTY_CONTEXT] = {"identity.context_length", "context length", NULL, stated_context, NULL, NULL},
    [PROPERTY_TENSOR] = {"identity.tensor_parallel", "tensor parallel", NULL, stated_tensor, NULL, NULL},
    [PROPERTY_PIPELINE] = {"identity.pipeline_parallel", "pipeline parallel", NULL, stated_pipeline, NULL, NULL},
    [PROPERTY_DATA] = {"identity.data_parallel", "data parallel", NULL, stated_data, NULL, NULL},
    [PROPERTY_EXPERT] = {"identity.expert_parallel", "expert parallel", NULL, NULL, NULL, NULL},
    [PROPERTY_PRECISION] = {"identity.precision", "precision", alike_dtype, stated_precision, seen_precision,
                            agrees_precision},
    [PROPERTY_DTYPE] = {"identity.dtype", "computes in", alike_dtype, stated_dtype, seen_dtype, NULL},
    [PROPERTY_QUANTIZATION] = {"identity.quantization", "quantization", alike_quantization, stated_quantization, NULL,
                               NULL},
    [PROPERTY_KV_DTYPE] = {"identity.kv_cache_dtype", "KV-cache precision", alike_kv_dtype, stated_kv_dtype,
                           seen_kv_dtype, NULL},
    [PROPERTY_ATTENTION] = {"identity.attention_backend", "attention backend", alike_word, NULL, NULL, NULL},
    [PROPERTY_PREFIX_CACHE] = {"identity.prefix_cache", "prefix cache", NULL, stated_prefix_cache, NULL, NULL},
    [PROPERTY_CHUNKED_PREFILL] = {"identity.chunked_prefill", "chunked prefill", NULL, NULL, NULL, NULL},
    [PROPERTY_MAX_RUNNING] = {"identity.max_running", "requests at once", NULL, NULL, NULL, NULL},
    [PROPERTY_THINKING] = {"identity.thinking", "thinking", NULL, NULL, NULL, NULL},
};

bool property_alike(enum engine_property property, const char *a, const char *b, struct arena *arena)
{
    must(property < PROPERTY_COUNT && a && b);
    const struct property_row *row = &rows[property];
    return row->alike ? row->alike(arena, a, b) : strcmp(a, b) == 0;
}

const char *engine_property_label(const char *fact)
{
    must(fact);
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (strcmp(rows[i].fact, fact) == 0)
            return rows[i].label;
    return NULL;
}

/* Where it was seen, and what a place that is trusted less says otherwise. */
static const char *source_of(const struct engine_identity *id, enum engine_property property, const struct said *seen)
{
    const struct engine_finding *f = &id->found[property];
    if (!f->other || !seen->value)
        return seen->source;
    return arena_format(id->arena, "%s; %s says %s", seen->source, f->other_source, f->other);
}

static struct rec_fact fact_of(const struct plan *p, const struct engine_identity *id, enum engine_property property)
{
    const struct property_row *row = &rows[property];
    const char *stated =
        row->stated ? row->stated(p, id) : place_in_command(p, engine_found(p, id), property, id->arena);
    struct said seen = row->seen ? row->seen(p, id) : found_of(id, property);
    bool both = stated && seen.value;
    bool equal = both && (row->agrees ? row->agrees(p, id, stated, seen.value)
                                      : property_alike(property, stated, seen.value, id->arena));
    return (struct rec_fact){.name = row->fact,
                             .outcome = !stated       ? CHECK_NOT_STATED
                                        : !seen.value ? CHECK_NOT_JUDGED
                                        : equal       ? CHECK_PASSED
                                                      : CHECK_FAILED,
                             .expected = stated,
                             .seen = seen.value,
                             .source = source_of(id, property, &seen)};
}

void engine_identity_facts(const struct plan *p, const struct engine_identity *id, int64_t t_ns,
                           struct rec_fact **ret_facts, size_t *ret_n)
{
    must(id->arena);
    struct rec_fact *list = arena_array(id->arena, PROPERTY_COUNT, sizeof *list);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        list[i] = fact_of(p, id, (enum engine_property)i);
        list[i].t_ns = t_ns;
    }
    *ret_facts = list;
    *ret_n = PROPERTY_COUNT;
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
