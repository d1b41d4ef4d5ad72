#include "model/result.h"

#include <math.h>
#include <string.h>

const char *const stage_names[] = {"baseline",  "startup", "formal",    "release",
                                   "lifecycle", "steady",  "saturated", NULL};
const char *const series_names[] = {"grid", "marks", "counter", "buffer", "precise", "mixed", NULL};
const char *const doubt_source_names[] = {"none", "precise", "counter", "successive", NULL};
const char *const startup_phase_names[] = {"process", "weights", "compile", "graphs", "serving", "rest", NULL};
const char *const token_source_names[] = {"running_counts", "spread", "mixed", "none", NULL};
const char *const curve_source_names[] = {"none", "buffer", "counter", "grid", NULL};
const char *const check_code_names[] = {
    "plan_mismatch",      "identity_wrong",      "identity_unknown",  "preflight_failed",
    "gpu_mismatch",       "foreign_process",     "baseline_not_idle", "not_covered",
    "sample_gap",         "counter_void",        "counter_disagrees", "grid_disagrees",
    "power_out_of_range", "request_unaccounted", "usage_disagrees",   "too_many_failed",
    "release_timed_out",  "release_not_closed",  "engine_failed",     "interrupted",
    "clock_step",         "records_damaged",     "method_shortened",  NULL};
const char *const mark_code_names[] = {"simulated",
                                       "steady_not_reached",
                                       "delivery_lag",
                                       "client_limited",
                                       "repeated_prompts",
                                       "throttled",
                                       "identity_not_verifiable",
                                       "usage_not_verifiable",
                                       "sampler_late",
                                       "averaged_power",
                                       "no_buffer",
                                       "observer_wait",
                                       "hold_restarted",
                                       "page_cache_warmed",
                                       "engine_own_requests",
                                       "arrivals_merged",
                                       NULL};

struct quantity *energy_series(struct energy_set *e, int series)
{
    struct quantity *const all[SERIES_COUNT] = {[SERIES_GRID] = &e->grid,
                                                [SERIES_MARKS] = &e->marks,
                                                [SERIES_COUNTER] = &e->counter,
                                                [SERIES_BUFFER] = &e->buffer,
                                                [SERIES_PRECISE] = &e->precise};
    return all[series];
}

const char *result_latency_fault(const struct result *r)
{
    static const struct {
        int code;
        const char *phrase;
    } faults[] = {{RMARK_CLIENT_LIMITED, "the client was the bottleneck"},
                  {RMARK_ARRIVALS_MERGED, "tokens arrived in pieces, so that their times are not the server's"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if ((size_t)faults[i].code < r->mark_count && r->marks[faults[i].code].outcome == CHECK_FAILED)
            return faults[i].phrase;
    return NULL;
}

const struct result_steady *result_steady_of(const struct result *r, int reading, int k)
{
    for (size_t i = 0; i < r->steady_count; i++)
        if (r->steady_table[i].reading == reading && r->steady_table[i].k == k)
            return &r->steady_table[i];
    return NULL;
}

/* ---- everything absent ---- */

static const struct schema *item_schema(const char *key)
{
    for (size_t i = 0; i < result_schema.count; i++)
        if (strcmp(result_schema.fields[i].key, key) == 0)
            return result_schema.fields[i].sub;
    return NULL;
}

static void *absent_table(const char *key, size_t n, struct arena *a, const char *why)
{
    const struct schema *s = item_schema(key);
    char *table = arena_array(a, n, s->size);
    for (size_t i = 0; i < n; i++)
        schema_absent_as(s, table + i * s->size, 0, why);
    return table;
}

void result_absent(struct result *r, struct arena *a, const char *why)
{
    memset(r, 0, sizeof *r);
    schema_absent_as(&result_schema, r, 0, why);
    r->method_id = METHOD_ID;
    r->method = method_default();
    r->decisions = method_decisions;
    r->decision_count = method_decision_count;
    r->stages = absent_table("stages", r->stage_count = STAGE_COUNT, a, why);
    for (int i = 0; i < STAGE_COUNT; i++) {
        r->stages[i].stage = i;
        r->stages[i].why = why;
    }
    r->attribution.readings = arena_array(a, RULE_COUNT, sizeof *r->attribution.readings);
    r->attribution.reading_count = RULE_COUNT;
    for (int i = 0; i < RULE_COUNT; i++)
        r->attribution.readings[i] = (struct result_reading){.reading = i,
                                                             .attributed_j = quantity_absent(Q_NOT_RECORDED, why),
                                                             .no_generation_j = quantity_absent(Q_NOT_RECORDED, why),
                                                             .closure = quantity_absent(Q_NOT_RECORDED, why),
                                                             .by_interval = ABSENT_I64,
                                                             .cv_min = quantity_absent(Q_NOT_RECORDED, why),
                                                             .cv_max = quantity_absent(Q_NOT_RECORDED, why),
                                                             .cv_min_window = ABSENT_I64,
                                                             .cv_max_window = ABSENT_I64};
    static const int order[K_COUNT] = {K_1, K_2, K_3, K_ALL};
    r->steady_table = absent_table("steady_table", r->steady_count = RULE_COUNT * K_COUNT, a, why);
    for (size_t i = 0; i < r->steady_count; i++) {
        r->steady_table[i].reading = (int)(i / K_COUNT);
        r->steady_table[i].k = order[i % K_COUNT];
        r->steady_table[i].why = why;
    }
    r->steady.reading = r->method.attribution;
    r->steady.k = r->method.k;
    r->steady.why = why;
    r->checks = absent_table("checks", r->check_count = CODE_COUNT, a, why);
    for (int i = 0; i < CODE_COUNT; i++)
        r->checks[i].code = i;
    r->marks = absent_table("marks", r->mark_count = RMARK_COUNT, a, why);
    for (int i = 0; i < RMARK_COUNT; i++)
        r->marks[i].code = i;
}

/* ---- a result that was read ---- */

bool result_is_older(const struct result *r)
{
    return !r->method_id || strcmp(r->method_id, METHOD_ID) != 0;
}

bool result_is_of_unknown_method(const struct result *r)
{
    return result_is_older(r) && (!r->method_id || strcmp(r->method_id, "jtok-1") != 0);
}

/* Enums that a file did not hold, or held under a name of another version, as their first name. False: there was one.
 */
static bool fill_enums(const struct schema *s, char *object)
{
    bool whole = true;
    for (size_t i = 0; i < s->count; i++) {
        const struct field *f = &s->fields[i];
        char *at = object + f->offset;
        if (f->type == FIELD_ENUM && *(int *)(void *)at < 0) {
            *(int *)(void *)at = 0;
            whole = false;
        }
        if (f->type == FIELD_OBJECT)
            whole &= fill_enums(f->sub, at);
        if (f->type != FIELD_LIST || f->item != FIELD_OBJECT)
            continue;
        char *items = *(char **)(void *)at;
        for (size_t k = 0; k < *(const size_t *)(const void *)(object + f->count_offset); k++)
            whole &= fill_enums(f->sub, items + k * f->sub->size);
    }
    return whole;
}

/* A table in the order of its codes: `count` of them, each item's code an int at `code`. Items that are there are put
 * in their places; false where one is there twice or its code is none. `there` says which were. */
static bool place_all(void *ret_table, size_t count, const void *items, size_t n, size_t size, size_t code, bool *there)
{
    for (size_t i = 0; i < n; i++) {
        const char *item = (const char *)items + i * size;
        int at = *(const int *)(const void *)(item + code);
        if (at < 0 || (size_t)at >= count || there[at])
            return false;
        there[at] = true;
        memcpy((char *)ret_table + (size_t)at * size, item, size);
    }
    return true;
}

static bool order_checks(struct result *r, const struct result *blank, const char *unknown, bool *ret_whole)
{
    bool there[CODE_COUNT] = {0};
    if (!place_all(blank->checks, CODE_COUNT, r->checks, r->check_count, sizeof *r->checks,
                   offsetof(struct result_check, code), there))
        return false;
    for (size_t i = 0; i < CODE_COUNT; i++) {
        if (!there[i])
            blank->checks[i].why = unknown;
        *ret_whole = *ret_whole && there[i];
    }
    r->checks = blank->checks;
    r->check_count = CODE_COUNT;
    return true;
}

static bool order_marks(struct result *r, const struct result *blank, const char *unknown, bool *ret_whole)
{
    bool there[RMARK_COUNT] = {0};
    if (!place_all(blank->marks, RMARK_COUNT, r->marks, r->mark_count, sizeof *r->marks,
                   offsetof(struct result_mark, code), there))
        return false;
    for (size_t i = 0; i < RMARK_COUNT; i++) {
        if (!there[i])
            blank->marks[i].why = unknown;
        *ret_whole = *ret_whole && there[i];
    }
    r->marks = blank->marks;
    r->mark_count = RMARK_COUNT;
    return true;
}

static bool order_stages(struct result *r, const struct result *blank, bool *ret_whole)
{
    bool there[STAGE_COUNT] = {0};
    if (!place_all(blank->stages, STAGE_COUNT, r->stages, r->stage_count, sizeof *r->stages,
                   offsetof(struct result_stage, stage), there))
        return false;
    for (size_t i = 0; i < STAGE_COUNT; i++)
        *ret_whole = *ret_whole && there[i];
    r->stages = blank->stages;
    r->stage_count = STAGE_COUNT;
    for (size_t i = 0; i < STAGE_COUNT; i++)
        for (size_t g = 0; g < r->stages[i].gpu_count; g++)
            if (r->stages[i].gpus[g].gpu < 0 || r->stages[i].gpus[g].gpu >= (int64_t)r->gpu_count)
                return false;
    return true;
}

/* Does it say formal where a check of its own excludes it, or the other way round? Older methods are held to what they
 * call failed. */
static bool contradicts_checks(const struct result *r, bool older)
{
    bool excluded = false, failed = false;
    for (size_t i = 0; i < r->check_count; i++) {
        excluded |= check_excludes(r->checks[i].outcome);
        failed |= r->checks[i].outcome == CHECK_FAILED;
    }
    return older ? r->formal && failed : r->formal == excluded;
}

bool result_complete(struct result *r, struct arena *a, const char **ret_why)
{
    bool older = result_is_older(r), whole = true;
    if (result_is_of_unknown_method(r)) {
        *ret_why = r->method_id ? "it was made under a method that this version does not know; use a newer jtok"
                                : "it does not say under which method it was made";
        return false;
    }
    const char *unknown = arena_format(a, "This result was made under %s, which did not look at it.",
                                       r->method_id ? r->method_id : "an unknown method");
    struct result *blank = arena_alloc(a, sizeof *blank);
    result_absent(blank, a, "this result does not hold it");
    /* Codes must be there; other names may be newer than the result. */
    for (size_t i = 0; i < r->check_count; i++)
        whole = whole && r->checks[i].code >= 0;
    for (size_t i = 0; i < r->mark_count; i++)
        whole = whole && r->marks[i].code >= 0;
    for (size_t i = 0; i < r->stage_count; i++)
        whole = whole && r->stages[i].stage >= 0;
    if (!whole) {
        *ret_why = "a check, a mark or a stage in it has no name";
        return false;
    }
    bool named = fill_enums(&result_schema, (char *)r);
    bool stages = r->stage_count == STAGE_COUNT && r->check_count > 0;
    if (!order_checks(r, blank, unknown, &whole) || !order_marks(r, blank, unknown, &whole) ||
        !order_stages(r, blank, &whole)) {
        *ret_why = "a check, a mark or a stage stands in it twice, or a GPU that it does not list";
        return false;
    }
    if (older ? !stages : !(named && whole)) {
        *ret_why = "it lacks what every result of its own version holds";
        return false;
    }
    if (contradicts_checks(r, older)) {
        *ret_why = r->formal ? "it says formal, and a check in it says otherwise"
                             : "it says excluded, and no check in it does";
        return false;
    }
    return true;
}

const char *result_checks_text(const struct result *r, struct arena *a)
{
    static const int order[] = {CHECK_FAILED, CHECK_NOT_STATED, CHECK_NOT_JUDGED, CHECK_NOT_RECORDED,
                                CHECK_NOT_CHECKED};
    static const char *const words[CHECK_OUTCOME_COUNT] = {"not checked",  "passed",     "failed",
                                                           "not recorded", "not stated", "not judged"};
    size_t n[CHECK_OUTCOME_COUNT] = {0};
    for (size_t i = 0; i < r->check_count; i++)
        n[r->checks[i].outcome]++;
    const char *text = arena_format(a, "%zu check%s passed", n[CHECK_PASSED], n[CHECK_PASSED] == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (n[order[i]])
            text = arena_format(a, "%s, %zu %s", text, n[order[i]], words[order[i]]);
    return text;
}

const char *result_gpus_text(const struct result *r, struct arena *a)
{
    const struct result_gpu *g = r->gpus;
    if (!r->gpu_count)
        return "no GPU";
    for (size_t i = 1; i < r->gpu_count; i++)
        if (strcmp(g[i].name ? g[i].name : "", g->name ? g->name : "") != 0 ||
            !(g[i].power_limit_w == g->power_limit_w || (isnan(g[i].power_limit_w) && isnan(g->power_limit_w))))
            return arena_format(a, "%zu GPUs of different kinds", r->gpu_count);
    const char *name = g->name ? g->name : "GPU";
    if (isnan(g->power_limit_w))
        return arena_format(a, "%zu x %s", r->gpu_count, name);
    return arena_format(a, "%zu x %s at %.0f W", r->gpu_count, name, g->power_limit_w);
}
