#include "analysis/compare_same.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/sort.h"
#include "model/limits.h"
#include "base/buf.h"
#include "schema/visit.h"
#include "base/must.h"

void sentences_add(struct sentences *s, struct arena *a, const char *text)
{
    must(text);
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->items[i], text) == 0)
            return;
    if (s->count == s->capacity) {
        const char **grown = arena_array(a, s->capacity ? 2 * s->capacity : 8, sizeof *grown);
        if (s->count)
            memcpy(grown, s->items, s->count * sizeof *grown);
        s->items = grown;
        s->capacity = s->capacity ? 2 * s->capacity : 8;
    }
    s->items[s->count++] = text;
}

struct same {
    const struct compare_run *x, *y;
    struct arena *a;
    struct findings *f;
};

static void against(struct same *s, const char *reason)
{
    assert(reason);
    sentences_add(&s->f->reasons, s->a, reason);
}

static void add_note(struct same *s, const char *text)
{
    assert(text);
    sentences_add(&s->f->notes, s->a, text);
}

static const char *text_of(const char *text)
{
    return text && *text ? text : "not stated";
}

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

const char *compare_id(const struct result *r)
{
    return r->about.run_id ? r->about.run_id : "without id";
}

bool compare_same_run(const struct compare_run *x, const struct compare_run *y)
{
    must(x->result && y->result);
    return same_text(x->result->about.run_id, y->result->about.run_id) &&
           !(x->run && y->run && x->run->began_realtime_ns != y->run->began_realtime_ns);
}

static void want_same(struct same *s, const char *what, const char *a, const char *b)
{
    if (!same_text(a, b))
        against(s, arena_format(s->a, "The %s differs: %s and %s.", what, text_of(a), text_of(b)));
}

/* What only some runs state: said by neither, it can't be told to differ. */
static void want_same_if_stated(struct same *s, const char *what, const char *a, const char *b)
{
    if (a || b)
        want_same(s, what, a, b);
    else
        add_note(s, arena_format(s->a, "Neither run states the %s, so it was not compared.", what));
}

/* ---- formal ---- */

const char *compare_not_formal(const struct result *r, struct arena *a)
{
    must(r->checks || r->check_count == 0);
    const char *text = NULL;
    for (size_t i = 0; i < r->check_count; i++)
        if (check_excludes(r->checks[i].outcome))
            text = arena_join(a, text, ", ",
                              arena_format(a, "%s (%s)", check_code_names[r->checks[i].code],
                                           check_outcome_names[r->checks[i].outcome]));
    if (!text && result_standing(r) == STANDING_VALID)
        return "it is not the method's life under one burst, and only that can be";
    return r->formal ? NULL : text ? text : "not verified";
}

const char *compare_unfit(const struct compare_run *r, struct arena *a)
{
    must(r->result);
    const enum run_standing standing = result_standing(r->result);
    const char *id = compare_id(r->result);
    if (standing == STANDING_EXCLUDED || !(r->result->formal || result_has_loads(r->result)))
        return arena_format(a, "Run %s is not %s: %s.", id, result_has_loads(r->result) ? "valid" : "formal",
                            compare_not_formal(r->result, a));
    if (r->result->loads.ended_early)
        return arena_format(a, "Run %s was ended early (%s), so its loads are not those of its plan.", id,
                            r->result->loads.ended_early);
    if (r->result->loads.shortened)
        return arena_format(a, "Run %s is shortened. %s", id, r->result->loads.shortened);
    return NULL;
}

static void want_fit(struct same *s, const struct compare_run *r)
{
    const char *why = compare_unfit(r, s->a);
    if (why)
        against(s, why);
}

/* ---- the same object ---- */

static const char *object_words(const struct result *r)
{
    static const char *const words[] = {[OBJECT_LIFE] = "a life with other loads",
                                        [OBJECT_ATTACH] = "a running service under loads of jtok's",
                                        [OBJECT_WATCH] = "a service under its users' load",
                                        [OBJECT_STAT] = "a command"};
    return result_has_loads(r) ? words[r->loads.object] : "a life under one burst";
}

/* Where it is not, what either was asked can't be alike either. */
static bool want_same_object(struct same *s)
{
    const struct result *x = s->x->result, *y = s->y->result;
    bool same =
        result_has_loads(x) == result_has_loads(y) && (!result_has_loads(x) || x->loads.object == y->loads.object);
    if (!same)
        against(s, arena_format(s->a, "Run %s is %s, and run %s is %s: these are never compared.", compare_id(x),
                                object_words(x), compare_id(y), object_words(y)));
    return same;
}

/* Was anything asked by jtok? */
static bool has_work(const struct result *r)
{
    return !result_has_loads(r) || r->loads.object == OBJECT_LIFE || r->loads.object == OBJECT_ATTACH;
}

static bool is_command(const struct result *r)
{
    return result_has_loads(r) && r->loads.object == OBJECT_STAT;
}

static void want_same_command(struct same *s)
{
    const struct compare_run *both[] = {s->x, s->y};
    const char *commands[2] = {0}, *ends[2];
    for (int i = 0; i < 2; i++) {
        const struct result_loads *l = &both[i]->result->loads;
        commands[i] = l->point_count ? l->points[0].setting : NULL;
        ends[i] =
            both[i]->exit_status == ABSENT_I64 ? NULL : arena_format(s->a, "%lld", (long long)both[i]->exit_status);
    }
    want_same(s, "command", commands[0], commands[1]);
    want_same(s, "exit status of the command", ends[0], ends[1]);
}

static void want_same_limit(struct same *s, const char *name, double x, double y)
{
    if (x == y || (isnan(x) && isnan(y)))
        return;
    want_same(s, arena_format(s->a, "limit of %s that a good request keeps", name),
              isnan(x) ? NULL : arena_format(s->a, "%g s", x), isnan(y) ? NULL : arena_format(s->a, "%g s", y));
}

static void want_same_limits(struct same *s)
{
    const struct plan_slo *x = &s->x->result->loads.slo, *y = &s->y->result->loads.slo;
    want_same_limit(s, "TTFT", x->ttft_s, y->ttft_s);
    want_same_limit(s, "TPOT", x->tpot_s, y->tpot_s);
    want_same_limit(s, "E2E", x->e2e_s, y->e2e_s);
}

/* ---- plans, as leaves ---- */

struct leaf {
    const char *path, *value;
};

struct leaves {
    struct leaf *items;
    size_t count, capacity;
    struct arena *a;
};

static void add_leaf(void *self, const struct visit *v)
{
    struct leaves *l = self;
    struct buf value = {0};
    slot_put(&v->slot, &value);
    if (l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 128;
        struct leaf *grown = arena_array(l->a, l->capacity, sizeof *grown);
        if (l->count)
            memcpy(grown, l->items, l->count * sizeof *grown);
        l->items = grown;
    }
    l->items[l->count++] = (struct leaf){arena_text(l->a, v->path), arena_copy(l->a, value.p, value.n)};
    buf_done(&value);
}

static struct leaves leaves_of(const struct plan *p, struct arena *a)
{
    struct leaves l = {.a = a};
    schema_visit(&plan_schema, p, "", &(struct visitor){.self = &l, .value = add_leaf});
    return l;
}

static const struct leaf *leaf_at(const struct leaves *l, const char *path)
{
    assert(path);
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i].path, path) == 0)
            return &l->items[i];
    return NULL;
}

/* "" where the plan has no such key: an absent value and an absent item of a list are alike. */
static const char *leaf_value(const struct leaves *l, const char *path)
{
    const struct leaf *leaf = leaf_at(l, path);
    return leaf ? leaf->value : "";
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- the same work ---- */

/* Of the keys under requests: what is no part of what is asked. */
static bool is_request_packing(const char *path)
{
    static const char *const keys[] = {"requests.file", "requests.sha256", "requests.work_sha256",
                                       "requests.continuous_usage", "requests.connect"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(path, keys[i]) == 0)
            return true;
    return false;
}

/* Names each request setting that differs; how many. */
static size_t name_settings(struct same *s)
{
    struct leaves x = leaves_of(s->x->plan, s->a), y = leaves_of(s->y->plan, s->a);
    size_t n = 0;
    for (size_t i = 0; i < x.count; i++) {
        const char *path = x.items[i].path, *value = leaf_value(&y, path);
        if (!begins(path, "requests.") || is_request_packing(path) || strcmp(x.items[i].value, value) == 0)
            continue;
        against(s, arena_format(s->a, "What was asked differs: %s is %s and %s.", path, text_of(x.items[i].value),
                                text_of(value)));
        n++;
    }
    return n;
}

/* Digests of the work where both runs have them; they cover texts, lengths, sampling, API, extra body. */
static void want_same_work(struct same *s)
{
    const struct result *x = s->x->result, *y = s->y->result;
    bool plans = s->x->plan && s->y->plan;
    if (x->about.work_sha256 && y->about.work_sha256) {
        if (strcmp(x->about.work_sha256, y->about.work_sha256) != 0 && !(plans && name_settings(s)))
            against(s, arena_format(s->a,
                                    "What was asked differs, in the texts, their order or their lengths (digests %.12s "
                                    "and %.12s).",
                                    x->about.work_sha256, y->about.work_sha256));
        return;
    }
    want_same(s, "request file (SHA-256)", x->about.requests_sha256, y->about.requests_sha256);
    if (plans)
        name_settings(s);
    else
        against(s, arena_format(s->a,
                                "Whether the same was asked can't be told: run %s has no digest of its work, and run "
                                "%s no plan.json.",
                                compare_id(x->about.work_sha256 ? y : x), compare_id(s->x->plan ? y : x)));
    if (!x->about.work_sha256)
        add_note(s, arena_format(s->a, "Run %s has no digest of its work: request file and request settings stand in.",
                                 compare_id(x)));
    if (!y->about.work_sha256)
        add_note(s, arena_format(s->a, "Run %s has no digest of its work: request file and request settings stand in.",
                                 compare_id(y)));
}

/* ---- the same machine ---- */

static bool has_uuid(const struct result *r, const char *uuid)
{
    for (size_t i = 0; i < r->gpu_count; i++)
        if (same_text(r->gpus[i].uuid, uuid))
            return true;
    return false;
}

bool compare_same_boards(const struct result *x, const struct result *y)
{
    must((x->gpu_count == 0 || x->gpus) && (y->gpu_count == 0 || y->gpus));
    bool same = x->gpu_count > 0 && x->gpu_count == y->gpu_count;
    for (size_t i = 0; same && i < x->gpu_count; i++)
        same = has_uuid(y, x->gpus[i].uuid);
    return same;
}

/* All of a board that counts, so that equal texts are equal boards. */
static const char *board_text(const struct result_gpu *g, struct arena *a)
{
    const char *limit = isnan(g->power_limit_w) ? "an unknown limit" : arena_format(a, "%g W", g->power_limit_w);
    return arena_format(a, "%s at %s%s, power by %s", text_of(g->name), limit,
                        g->partitioned == 1 ? " split into parts" : "",
                        g->instant_source ? g->instant_source : "an unknown source");
}

static bool before_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y) < 0;
}

static const char **boards_of(const struct result *r, struct arena *a)
{
    const char **texts = arena_array(a, r->gpu_count, sizeof *texts);
    for (size_t i = 0; i < r->gpu_count; i++)
        texts[i] = board_text(&r->gpus[i], a);
    sort_stable(texts, r->gpu_count, sizeof *texts, before_text);
    return texts;
}

/* What is unknown can't be told to be the same. */
static void want_known_boards(struct same *s, const struct result *r)
{
    for (size_t i = 0; i < r->gpu_count; i++) {
        const struct result_gpu *g = &r->gpus[i];
        const char *what = !g->name                  ? "model"
                           : isnan(g->power_limit_w) ? "power limit"
                           : !g->instant_source      ? "source of the instant power"
                                                     : NULL;
        if (what)
            against(s, arena_format(s->a,
                                    "Run %s does not say the %s of GPU %zu, so the machines can't be told to be "
                                    "the same.",
                                    compare_id(r), what, i));
    }
}

static const char *uuids_of(const struct result *r, struct arena *a)
{
    const char *text = "";
    for (size_t i = 0; i < r->gpu_count; i++)
        text = arena_format(a, "%s%s%s", text, i ? ", " : "", text_of(r->gpus[i].uuid));
    return text;
}

static void show_host(struct same *s, const char *what, const char *a, const char *b)
{
    if (a && b && strcmp(a, b) != 0)
        add_note(s, arena_format(s->a, "Runs %s and %s differ in %s: %s and %s.", compare_id(s->x->result),
                                 compare_id(s->y->result), what, a, b));
}

static void want_same_machine(struct same *s)
{
    const struct result *x = s->x->result, *y = s->y->result;
    want_known_boards(s, x);
    want_known_boards(s, y);
    if (x->gpu_count != y->gpu_count || !x->gpu_count) {
        against(s, arena_format(s->a, "The number of GPUs differs or is 0: %zu and %zu.", x->gpu_count, y->gpu_count));
        return;
    }
    const char **a = boards_of(x, s->a), **b = boards_of(y, s->a);
    for (size_t i = 0; i < x->gpu_count; i++)
        if (strcmp(a[i], b[i]) != 0) {
            against(s, arena_format(s->a, "The GPUs differ: %s and %s.", a[i], b[i]));
            break;
        }
    if (result_carries(x, FLAG_AVERAGED_POWER) != result_carries(y, FLAG_AVERAGED_POWER))
        against(s,
                "The power readings of one run are averages over a second (averaged_power) and the other's are not.");
    if (!compare_same_boards(x, y))
        add_note(s, arena_format(s->a, "Runs %s and %s ran on other boards: %s and %s.", compare_id(x), compare_id(y),
                                 uuids_of(x, s->a), uuids_of(y, s->a)));
    if (s->x->run && s->y->run) {
        show_host(s, "the host", s->x->run->host, s->y->run->host);
        show_host(s, "the driver", s->x->run->driver_version, s->y->run->driver_version);
        show_host(s, "the CPU", s->x->run->cpu, s->y->run->cpu);
    }
}

/* Settings that make an engine work otherwise; what it serves is compared by itself. */
static void show_settings(struct same *s)
{
    static const char *const elsewhere[] = {"model",   "root",         "snapshot", "revision",
                                            "version", "image_digest", "precision"};
    const struct result_about *x = &s->x->result->about, *y = &s->y->result->about;
    for (size_t i = 0; i < x->identity_count; i++) {
        const struct result_identity *a = &x->identity[i];
        bool setting = a->name != NULL;
        for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere && setting; k++)
            setting = strcmp(a->name, elsewhere[k]) != 0;
        for (size_t k = 0; k < y->identity_count && setting; k++)
            if (same_text(a->name, y->identity[k].name))
                show_host(s, arena_format(s->a, "the engine's %s", a->name), a->seen, y->identity[k].seen);
    }
}

/* ---- conditions and pairs ---- */

static void want_alike(struct same *s)
{
    const struct result *x = s->x->result, *y = s->y->result;
    if (x->about.simulated != y->about.simulated)
        against(s, arena_format(s->a, "Run %s is simulated and the other is real.",
                                compare_id(x->about.simulated ? x : y)));
    if (result_carries(x, FLAG_REPEATED_PROMPTS) != result_carries(y, FLAG_REPEATED_PROMPTS))
        against(s, "One run repeats prompts with the prefix cache on (repeated_prompts) and the other does not.");
    if (!same_text(x->about.method_id, y->about.method_id))
        against(s, arena_format(s->a, "The method differs: %s and %s.", text_of(x->about.method_id),
                                text_of(y->about.method_id)));
    const char *a = x->about.differences ? x->about.differences : "the method's defaults",
               *b = y->about.differences ? y->about.differences : "the method's defaults";
    if (strcmp(a, b) != 0)
        against(s, arena_format(s->a, "The analyses differ: \"%s\" and \"%s\".", a, b));
}

void compare_conditions(const struct compare_run *x, const struct compare_run *y, struct arena *a, struct findings *f)
{
    must(x->result && y->result);
    struct same s = {x, y, a, f};
    if (has_work(x->result) && has_work(y->result)) {
        want_same(&s, "scenario", x->result->about.scenario, y->result->about.scenario);
        want_same_work(&s);
    }
    want_same_machine(&s);
    show_settings(&s);
    want_alike(&s);
}

struct quantity compare_tokens_difference(const struct result *x, const struct result *y)
{
    must(x && y);
    int64_t t = x->load.output_tokens, u = y->load.output_tokens;
    if (t == ABSENT_I64 || u == ABSENT_I64 || t <= 0 || u <= 0)
        return quantity_absent(Q_NOT_RECORDED, "a run has no output tokens");
    int64_t high = t > u ? t : u, apart = t > u ? t - u : u - t;
    return quantity_of((double)apart / (double)high);
}

static void want_same_tokens(struct same *s)
{
    const struct result *x = s->x->result, *y = s->y->result;
    struct quantity share = compare_tokens_difference(x, y);
    if (share.state != Q_MEASURED)
        against(s, "A run has no output tokens.");
    else if (share.value > METHOD_TOKENS_SHARE)
        against(s, arena_format(
                       s->a,
                       "The output tokens differ by %.1f %% (%lld and %lld); runs over 20 %% apart are not compared.",
                       100 * share.value, (long long)x->load.output_tokens, (long long)y->load.output_tokens));
}

/* As known from plan, engine or snapshot; results made under jtok-1 leave it to the plan. */
static const char *precision_of(const struct compare_run *r)
{
    return r->result->about.precision ? r->result->about.precision : r->plan ? r->plan->model.precision : NULL;
}

/* What requests ask is in the digest of the work; where they ask nothing, how each server is set decides, if it is
 * known of both. */
static void want_same_thinking(struct same *s)
{
    const char *x = s->x->result->about.thinking, *y = s->y->result->about.thinking;
    if (x && y)
        want_same(s, "thinking setting", x, y);
    else if (x || y)
        add_note(s, arena_format(s->a, "The thinking setting of run %s is not known; that of the other is %s.",
                                 compare_id(x ? s->y->result : s->x->result), x ? x : y));
}

/* What a service that jtok did not start is can't always be seen. */
static void want_same_model(struct same *s)
{
    const struct result *x = s->x->result, *y = s->y->result;
    bool started = !result_has_loads(x) || x->loads.object == OBJECT_LIFE;
    (started ? want_same : want_same_if_stated)(s, "model", x->about.model, y->about.model);
    want_same_if_stated(s, "model's revision", x->about.revision, y->about.revision);
    if ((s->x->plan && s->y->plan) || (x->about.precision && y->about.precision))
        want_same_if_stated(s, "precision", precision_of(s->x), precision_of(s->y));
    else
        add_note(s, arena_format(s->a, "Run %s has no plan.json, so the precision was not compared.",
                                 compare_id(s->x->plan ? y : x)));
}

void compare_pair(const struct compare_run *x, const struct compare_run *y, struct arena *a, struct findings *f)
{
    must(x->result && y->result);
    struct same s = {x, y, a, f};
    want_fit(&s, x);
    want_fit(&s, y);
    bool same = want_same_object(&s);
    if (same && is_command(x->result))
        want_same_command(&s);
    else if (same)
        want_same_model(&s);
    want_same_thinking(&s);
    compare_conditions(x, y, a, f);
    if (same && result_has_loads(x->result))
        want_same_limits(&s);
    else if (same)
        want_same_tokens(&s);
}

/* ---- differences of plans ---- */

/* What one plan calls places, and stays out of a comparison of texts. */
struct places {
    const char *run_id, *snapshot, *requests; /* null: none */
    int64_t port;                             /* 0: none */
};

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool ends_name(char c)
{
    return !is_word(c) && c != '-' && c != '.';
}

/* Length of `name` at text[i] where it stands as a whole name there; else 0. */
static size_t name_at(const char *text, size_t i, const char *name)
{
    assert(i <= strlen(text));
    size_t n = name ? strlen(name) : 0;
    if (!n || strncmp(text + i, name, n) != 0 || (i && !ends_name(text[i - 1]) && name[0] != '/') ||
        (i && name[0] == '/' && is_word(text[i - 1])))
        return 0;
    return ends_name(text[i + n]) ? n : 0;
}

/* Length of the number at text[i] where it is this port's; else 0. */
static size_t port_at(const char *text, size_t i, int64_t port)
{
    assert(i <= strlen(text));
    int64_t value = 0;
    size_t n = 0;
    if (port <= 0 || (i && (is_word(text[i - 1]) || text[i - 1] == '.')))
        return 0;
    for (; text[i + n] >= '0' && text[i + n] <= '9' && n < 6; n++)
        value = 10 * value + (text[i + n] - '0');
    return value == port && text[i] != '0' && ends_name(text[i + n]) ? n : 0;
}

/* Drops what stands before: the folders that lead to the run's. */
static void drop_path(struct buf *out)
{
    while (out->n && out->p[out->n - 1] && !strchr(" :,;=\"'", out->p[out->n - 1]))
        out->n--;
}

/* The text with a name in place of each place. */
static const char *without_places(const char *text, const struct places *p, struct arena *a)
{
    struct buf out = {0};
    for (size_t i = 0, n; text[i]; i += n) {
        if ((n = name_at(text, i, p->snapshot))) {
            buf_str(&out, "{snapshot}");
        } else if ((n = name_at(text, i, p->requests))) {
            buf_str(&out, "{requests}");
        } else if ((n = name_at(text, i, p->run_id))) {
            drop_path(&out);
            buf_str(&out, "{run}");
        } else if ((n = port_at(text, i, p->port))) {
            buf_str(&out, "{port}");
        } else {
            n = 1;
            buf_byte(&out, text[i]);
        }
    }
    const char *copy = arena_copy(a, out.p, out.n);
    buf_done(&out);
    return copy;
}

struct plans {
    struct leaves x, y;
    struct places at_x, at_y;
    bool same_requests, same_snapshot; /* by their digests */
    struct arena *a;
    struct plan_differences *out;
};

/* The digest that covers the weights decides where either plan has it, else the older one, which covers small files. */
static bool snapshots_agree(const struct plans *p)
{
    static const char *const keys[] = {"model.snapshot_digest", "model.snapshot_sha256"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *x = leaf_value(&p->x, keys[i]), *y = leaf_value(&p->y, keys[i]);
        if (*x || *y)
            return strcmp(x, y) == 0;
    }
    return false;
}

static bool is_request_digest(const char *path)
{
    return strcmp(path, "requests.sha256") == 0 || strcmp(path, "requests.work_sha256") == 0;
}

/* The work's digest decides where both have it; the file's stands in. */
static bool requests_agree(const struct plans *p)
{
    const char *x = leaf_value(&p->x, "requests.work_sha256"), *y = leaf_value(&p->y, "requests.work_sha256");
    if (*x && *y)
        return strcmp(x, y) == 0;
    x = leaf_value(&p->x, "requests.sha256");
    return *x && strcmp(x, leaf_value(&p->y, "requests.sha256")) == 0;
}

/* Every maker's variable of this kind ends alike: CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES. */
static bool chooses_gpus(const char *name)
{
    static const char end[] = "_VISIBLE_DEVICES";
    size_t n = strlen(name), m = sizeof end - 1;
    return n > m && strcmp(name + n - m, end) == 0;
}

/* The path of a load's trace, where the trace's digest decides: loads.3.file beside loads.3.sha256. */
static bool is_known_trace(const struct plans *p, const char *path)
{
    static const char end[] = ".file";
    size_t n = strlen(path), m = sizeof end - 1;
    if (!begins(path, "loads.") || n <= m || strcmp(path + n - m, end) != 0)
        return false;
    const char *digest = arena_format(p->a, "%.*s.sha256", (int)(n - m), path);
    return *leaf_value(&p->x, digest) && strcmp(leaf_value(&p->x, digest), leaf_value(&p->y, digest)) == 0;
}

/* What names a run or a place, or ends a run without changing it. GPUs are compared as a machine. */
static bool is_place(const struct plans *p, const char *path)
{
    static const char *const keys[] = {"name",
                                       "runs",
                                       "engine.port",
                                       "stat.repetition",
                                       "attach.url",
                                       "attach.pid",
                                       "attach.gpus_stated",
                                       "attach.for_s",
                                       "engine.container.name"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(path, keys[i]) == 0)
            return true;
    if (begins(path, "engine.env.") && chooses_gpus(path))
        return true;
    if (begins(path, "limits.") || begins(path, "cost.") || begins(path, "gpus."))
        return true;
    if (is_known_trace(p, path))
        return true;
    if (p->same_requests && (strcmp(path, "requests.file") == 0 || is_request_digest(path)))
        return true;
    return p->same_snapshot && strcmp(path, "model.snapshot") == 0;
}

static bool differ(const struct plans *p, const char *x, const char *y)
{
    return strcmp(x, y) != 0 && strcmp(without_places(x, &p->at_x, p->a), without_places(y, &p->at_y, p->a)) != 0;
}

static void add_difference(struct plans *p, const char *key, const char *x, const char *y)
{
    assert(key);
    struct plan_differences *out = p->out;
    if (out->count == out->capacity) {
        out->capacity = out->capacity ? 2 * out->capacity : 8;
        struct plan_difference *grown = arena_array(p->a, out->capacity, sizeof *grown);
        if (out->count)
            memcpy(grown, out->items, out->count * sizeof *grown);
        out->items = grown;
    }
    out->items[out->count++] = (struct plan_difference){key, text_of(x), text_of(y)};
}

/* What a setting is, without who says it: "on (default)" and "on (command)". */
static bool same_setting(const char *x, const char *y)
{
    const char *end_x = strrchr(x, '('), *end_y = strrchr(y, '(');
    size_t n = end_x ? (size_t)(end_x - x) : strlen(x), m = end_y ? (size_t)(end_y - y) : strlen(y);
    return n == m && memcmp(x, y, n) == 0;
}

/* What holds of each setting follows from the command; it is told where both plans state it. */
static bool is_said_elsewhere(const char *path, const char *x, const char *y)
{
    return begins(path, "engine.in_force.") && (!*x || !*y || same_setting(x, y));
}

static void compare_leaf(struct plans *p, const char *path, const char *x, const char *y)
{
    if (begins(path, "engine.command.") || is_place(p, path) || !differ(p, x, y))
        return;
    /* A digest that one plan lacks, where another one shows that the weights are the same. */
    if (p->same_snapshot && begins(path, "model.snapshot_") && (!*x || !*y))
        return;
    if (!is_said_elsewhere(path, x, y))
        add_difference(p, path, x, y);
}

/* A document may hold null where a word belongs. */
static const char *word_at(const struct plan *plan, size_t i)
{
    return plan->engine.command[i] ? plan->engine.command[i] : "";
}

static const char *command_text(const struct plan *plan, struct arena *a)
{
    const char *text = "";
    for (size_t i = 0; i < plan->engine.command_count; i++)
        text = arena_format(a, "%s%s%s", text, i ? " " : "", word_at(plan, i));
    return text;
}

/* Word by word, and told as a whole. */
static void compare_commands(struct plans *p, const struct plan *x, const struct plan *y)
{
    bool same = x->engine.command_count == y->engine.command_count;
    for (size_t i = 0; same && i < x->engine.command_count; i++)
        same = !differ(p, word_at(x, i), word_at(y, i));
    if (!same)
        add_difference(p, "engine.command", command_text(x, p->a), command_text(y, p->a));
}

/* Variables that can change an engine's work. Which GPUs it sees is compared as a machine. */
static bool is_counted(const char *name)
{
    static const char *const families[] = {"VLLM_", "SGL",  "NCCL_", "CUDA_",  "TORCH", "PYTORCH_",    "TRITON_",
                                           "HF_",   "OMP_", "LD_",   "LLAMA_", "GGML_", "FLASHINFER_", "TVM_"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (begins(name, families[i]))
            return !chooses_gpus(name);
    return false;
}

static const char *variable_of_run(const struct rec_run *r, const char *name)
{
    for (size_t i = 0; i < r->environment_count; i++)
        if (strcmp(r->environment[i].name, name) == 0)
            return r->environment[i].value;
    return NULL;
}

/* One variable; the names of those that only are shown are added to *shown. */
static void compare_variable(struct plans *p, const char *name, const char *x, const char *y, const char **shown)
{
    if ((x && y && !differ(p, x, y)) || (!x && !y))
        return;
    if (is_counted(name))
        add_difference(p, arena_format(p->a, "environment.%s", name), x ? x : "not set", y ? y : "not set");
    else
        *shown = arena_format(p->a, "%s%s%s (%.40s and %.40s)", *shown, **shown ? ", " : "", name, x ? x : "not set",
                              y ? y : "not set");
}

static void compare_environments(struct plans *p, const struct compare_run *x, const struct compare_run *y,
                                 struct sentences *notes)
{
    const char *ids[] = {compare_id(x->result), compare_id(y->result)};
    const struct rec_run *runs[] = {x->run, y->run};
    if (is_command(x->result)) {
        sentences_add(notes, p->a, "The environment of a command is not recorded, so it was not compared.");
        return;
    }
    bool recorded = true;
    for (int i = 0; i < 2; i++)
        if (!runs[i] || !runs[i]->environment_count) {
            recorded = false;
            sentences_add(notes, p->a,
                          arena_format(p->a,
                                       "The environment of run %s was not recorded; of variables "
                                       "only those of the plan were compared.",
                                       ids[i]));
        }
    if (!recorded)
        return;
    const char *shown = "";
    for (size_t i = 0; i < x->run->environment_count; i++) {
        const struct field_pair *v = &x->run->environment[i];
        compare_variable(p, v->name, v->value, variable_of_run(y->run, v->name), &shown);
    }
    for (size_t i = 0; i < y->run->environment_count; i++) {
        const struct field_pair *v = &y->run->environment[i];
        if (!variable_of_run(x->run, v->name))
            compare_variable(p, v->name, NULL, v->value, &shown);
    }
    if (*shown)
        sentences_add(notes, p->a,
                      arena_format(p->a,
                                   "Variables of runs %s and %s that differ and are not counted: "
                                   "%s.",
                                   ids[0], ids[1], shown));
}

static struct places places_of(const struct plans *p, const struct compare_run *r)
{
    return (struct places){.run_id = r->result->about.run_id,
                           .snapshot = p->same_snapshot ? r->plan->model.snapshot : NULL,
                           .requests = p->same_requests ? r->plan->requests.file : NULL,
                           .port = r->plan->engine.port};
}

void compare_differences(const struct compare_run *x, const struct compare_run *y, struct arena *a,
                         struct plan_differences *ret, struct sentences *notes)
{
    must(x->plan && y->plan);
    *ret = (struct plan_differences){0};
    struct plans p = {.x = leaves_of(x->plan, a), .y = leaves_of(y->plan, a), .a = a, .out = ret};
    p.same_requests = requests_agree(&p);
    p.same_snapshot = snapshots_agree(&p);
    p.at_x = places_of(&p, x);
    p.at_y = places_of(&p, y);
    compare_commands(&p, x->plan, y->plan);
    for (size_t i = 0; i < p.x.count; i++)
        compare_leaf(&p, p.x.items[i].path, p.x.items[i].value, leaf_value(&p.y, p.x.items[i].path));
    for (size_t i = 0; i < p.y.count; i++)
        if (!leaf_at(&p.x, p.y.items[i].path))
            compare_leaf(&p, p.y.items[i].path, "", p.y.items[i].value);
    compare_environments(&p, x, y, notes);
}

/* ---- repetitions ---- */

void compare_repetition(const struct compare_run *x, const struct compare_run *y, struct arena *a, struct findings *f)
{
    must(x->result && y->result);
    const char *runs =
        arena_format(a, "Run %s is not a repetition of %s", compare_id(y->result), compare_id(x->result));
    struct findings conditions = {0};
    struct same s = {x, y, a, f};
    compare_conditions(x, y, a, &conditions);
    for (size_t i = 0; i < conditions.reasons.count; i++)
        against(&s, arena_format(a, "%s. %s", runs, conditions.reasons.items[i]));
    for (size_t i = 0; i < conditions.notes.count; i++)
        add_note(&s, conditions.notes.items[i]);
    /* As found, too: a plan may be silent. */
    const char *const found[][3] = {
        {"engine", x->result->about.engine, y->result->about.engine},
        {"engine's version", x->result->about.engine_version, y->result->about.engine_version},
        {"model", x->result->about.model, y->result->about.model},
        {"model's revision", x->result->about.revision, y->result->about.revision},
        {"precision", x->result->about.precision, y->result->about.precision},
        {"thinking setting", x->result->about.thinking, y->result->about.thinking}};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        if (strcmp(text_of(found[i][1]), text_of(found[i][2])) != 0)
            against(&s, arena_format(a, "%s: the %s is %s and %s.", runs, found[i][0], text_of(found[i][1]),
                                     text_of(found[i][2])));
    const struct compare_run *both[] = {x, y};
    for (int i = 0; i < 2; i++)
        if (!both[i]->plan || !both[i]->run)
            against(&s, arena_format(a, "%s: run %s has no %s, so it can't be told.", runs, compare_id(both[i]->result),
                                     both[i]->plan ? "run.json" : "plan.json"));
    if (!x->plan || !y->plan)
        return;
    struct plan_differences d;
    compare_differences(x, y, a, &d, &f->notes);
    for (size_t i = 0; i < d.count; i++)
        against(&s, arena_format(a, "%s: %s is \"%s\" and \"%s\".", runs, d.items[i].key, d.items[i].a, d.items[i].b));
}
