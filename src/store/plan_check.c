#include <math.h>
#include "base/must.h"
#include "schema/set.h"
#include "store/length_law.h"
#include "store/plan_yaml.h"
#include "store/random_prompts.h"
#include "text/json.h"

static void check_lengths(const struct plan_lengths *l, struct problems *p)
{
    struct length_law law = length_law_of_output(l);
    length_law_check(&law, "requests.lengths", p);
    if (law.kind >= LAW_UNIFORM && l->seed == ABSENT_I64)
        problems_add(p, "requests.lengths.seed", "Missing: the kind %s needs a seed. The default is 0.",
                     length_kind_names[l->kind]);
}

/* A key that a load of this kind does without. */
static void check_unused(const char *key, bool is_set, enum load_kind kind, size_t i, struct problems *p)
{
    if (is_set)
        problems_add(p, arena_format(p->arena, "loads.%zu.%s", i, key), "Not used with the kind %s. Leave it out.",
                     load_kind_names[kind]);
}

static void check_rate(const struct plan_load *l, size_t i, struct problems *p)
{
    const char *key = arena_format(p->arena, "loads.%zu.burstiness", i);
    if (isnan(l->rate))
        problems_add(p, arena_format(p->arena, "loads.%zu.rate", i),
                     "Missing: the kind rate needs the number of requests a second, for example 4.");
    if (ENUM_ABSENT(l->arrivals) || l->seed == ABSENT_I64)
        problems_add(p, arena_format(p->arena, "loads.%zu", i),
                     "Arrivals and seed must not be null. Leave the key out for its default.");
    else if (l->arrivals == ARRIVAL_GAMMA && isnan(l->burstiness))
        problems_add(p, key, "Missing: gamma arrivals need the shape of the distances, for example 0.5; 1 is Poisson.");
    else if (l->arrivals != ARRIVAL_GAMMA && !isnan(l->burstiness))
        problems_add(p, key, "Not used with %s arrivals. Leave it out, or set arrivals to gamma.",
                     arrival_kind_names[l->arrivals]);
}

static void check_load(const struct plan *plan, size_t i, struct problems *p)
{
    const struct plan_load *l = &plan->loads[i];
    const char *at = arena_format(p->arena, "loads.%zu", i);
    if (ENUM_ABSENT(l->kind)) {
        problems_add(p, at, "The kind must not be null. Give burst, concurrency, rate or trace.");
        return;
    }
    check_unused("concurrency", l->kind != LOAD_CONCURRENCY && l->concurrency != ABSENT_I64, l->kind, i, p);
    check_unused("rate", l->kind != LOAD_RATE && !isnan(l->rate), l->kind, i, p);
    check_unused("burstiness", l->kind != LOAD_RATE && !isnan(l->burstiness), l->kind, i, p);
    check_unused("file", l->kind != LOAD_TRACE && l->file, l->kind, i, p);
    check_unused("for_s", l->kind == LOAD_BURST && !isnan(l->for_s), l->kind, i, p);
    if (l->kind == LOAD_CONCURRENCY && l->concurrency == ABSENT_I64)
        problems_add(p, arena_format(p->arena, "%s.concurrency", at),
                     "Missing: the kind concurrency needs the number of requests in flight, for example 64.");
    if (l->kind == LOAD_RATE)
        check_rate(l, i, p);
    if (l->kind == LOAD_TRACE && !l->file)
        problems_add(p, arena_format(p->arena, "%s.file", at), "Missing: the kind trace needs a CSV file with times.");
    if (l->kind == LOAD_TRACE && isnan(l->scale))
        problems_add(p, arena_format(p->arena, "%s.scale", at),
                     "It must not be null. Leave the key out for its default.");
    if (l->kind != LOAD_BURST && plan->requests.connect == CONNECT_WITH_REQUEST)
        problems_add(p, "requests.connect",
                     "Only a burst connects with each request: a load of kind %s opens connections ahead.",
                     load_kind_names[l->kind]);
}

/* extra_body is merged into the body that jtok makes; what jtok itself sets can't be set there. */
static void check_extra_body(const char *text, struct problems *p)
{
    static const char *const own[] = {"model", "messages", "prompt", "stream", "stream_options", "max_tokens", NULL};
    struct json j;
    enum json_kind k;
    bool object = false;
    if (!text)
        return;
    json_init(&j, span_of(text));
    while ((k = json_next(&j)) != JSON_END && k != JSON_ERROR) {
        object = object || (k == JSON_OBJECT && j.depth == 1);
        if (k != JSON_KEY || j.depth != 1)
            continue;
        for (int i = 0; own[i]; i++)
            if (json_is(&j, own[i]))
                problems_add(p, "requests.extra_body", "\"%s\" is set by jtok. Leave it out.", own[i]);
    }
    if (k == JSON_ERROR)
        problems_add(p, "requests.extra_body", "This is not JSON: %s at character %zu.", j.fault,
                     json_error_offset(&j) + 1);
    else if (!object)
        problems_add(p, "requests.extra_body", "It must be a JSON object, for example '{\"top_k\": 20}'.");
}

static void check_settings(const struct plan *plan, struct problems *p)
{
    const struct plan_settings *s = &plan->engine.settings;
    if (!ENUM_ABSENT(s->chunked_prefill) && s->chunked_prefill == SWITCH_OFF && s->prefill_tokens != ABSENT_I64)
        problems_add(p, "engine.settings.prefill_tokens",
                     "Not used where chunked_prefill is off. Leave one of them out.");
    if (!ENUM_ABSENT(s->thinking) && s->thinking != THINKING_ON && s->thinking_tokens != ABSENT_I64)
        problems_add(p, "engine.settings.thinking_tokens",
                     "Not used with thinking: %s. Leave it out, or set thinking to on.",
                     thinking_kind_names[s->thinking]);
}

/* Keys that a default fills and that nothing can do without. */
static void check_not_null(const struct plan *plan, struct problems *p)
{
    const struct {
        const char *key;
        bool absent;
    } keys[] = {
        {"engine.host", !plan->engine.host || !*plan->engine.host},
        {"engine.port", plan->engine.port == ABSENT_I64},
        {"engine.health_path", !plan->engine.health_path},
        {"engine.metrics_path", !plan->engine.metrics_path},
        {"engine.tensor_parallel", plan->engine.tensor_parallel == ABSENT_I64},
        {"engine.pipeline_parallel", plan->engine.pipeline_parallel == ABSENT_I64},
        {"engine.data_parallel", plan->engine.data_parallel == ABSENT_I64},
        {"method.baseline_s", isnan(plan->method.baseline_s)},
        {"method.baseline_wait_s", isnan(plan->method.baseline_wait_s)},
        {"method.hold_s", isnan(plan->method.hold_s)},
        {"method.release_wait_s", isnan(plan->method.release_wait_s)},
        {"method.grid_s", isnan(plan->method.grid_s)},
        {"method.warmup_requests", plan->method.warmup_requests == ABSENT_I64},
        {"method.warmup_tokens", plan->method.warmup_tokens == ABSENT_I64},
        {"method.failed_share", isnan(plan->method.failed_share)},
        {"limits.ready_s", isnan(plan->limits.ready_s)},
        {"limits.stop_s", isnan(plan->limits.stop_s)},
        {"limits.connect_s", isnan(plan->limits.connect_s)},
        {"limits.write_s", isnan(plan->limits.write_s)},
        {"limits.head_s", isnan(plan->limits.head_s)},
        {"limits.first_token_s", isnan(plan->limits.first_token_s)},
        {"limits.idle_s", isnan(plan->limits.idle_s)},
        {"limits.total_s", isnan(plan->limits.total_s)},
        {"power.sensor_percent", isnan(plan->power.sensor_percent)},
        {"runs", !plan->runs || !*plan->runs},
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].absent)
            problems_add(p, keys[i].key, "It must not be null or empty. Leave the key out for its default.");
}

static void check_path(const char *key, const char *path, bool may_be_empty, struct problems *p)
{
    if (path && !(may_be_empty && !*path) && *path != '/')
        problems_add(p, key, "The path '%s' must start with '/'.", path);
}

/* A service that runs already says itself what it is, and its GPUs are found: none of that is missing. */
static void check_required(const struct plan *plan, struct problems *p)
{
    const char *word = "";
    struct plan found = *plan;
    if (plan_is_running(plan)) {
        found.model.id = word;
        found.engine.command = found.gpus = &word;
        found.engine.command_count = found.gpu_count = 1;
    }
    schema_check_required(&plan_schema, &found, p);
    if (found.engine.command_count == 0)
        problems_add(
            p, "engine.command",
            "Missing: the program and arguments that start the engine. jtok makes them from engine.kind and the "
            "model, if both are there.");
}

void plan_check(const struct plan *plan, struct problems *p)
{
    must(plan && p && p->arena);
    check_required(plan, p);
    check_not_null(plan, p);
    check_path("engine.health_path", plan->engine.health_path, false, p);
    check_path("engine.metrics_path", plan->engine.metrics_path, true, p);
    check_settings(plan, p);
    check_lengths(&plan->requests.lengths, p);
    random_prompts_check(plan, p);
    check_extra_body(plan->requests.extra_body, p);
    for (size_t i = 0; i < plan->load_count; i++)
        check_load(plan, i, p);
    if (!isnan(plan->cost.price_per_kwh) && !plan->cost.currency)
        problems_add(p, "cost.currency", "Missing: a price needs its currency, for example EUR.");
    for (size_t i = 0; i < plan->engine.env_count; i++)
        if (strchr(plan->engine.env[i].name, '='))
            problems_add(p, "engine.env", "The name '%.*s' of a variable must not contain '='.",
                         (int)strcspn(plan->engine.env[i].name, "="), plan->engine.env[i].name);
}
