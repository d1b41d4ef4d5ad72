#include "analysis/verify.h"

#include <stdarg.h>
#include <string.h>
#include "analysis/analyze.h"
#include "analysis/verify_internal.h"
#include "schema/visit.h"

void verify_set(struct verify *v, int check_code, int outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    v->result->checks[check_code] =
        (struct result_check){.code = check_code, .outcome = outcome, .why = arena_vformat(v->a, format, arguments)};
    va_end(arguments);
}

void verify_flag(struct verify *v, int flag_code, int outcome, double value, double limit, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    v->result->flags[flag_code] = (struct result_flag){.code = flag_code,
                                                       .outcome = outcome,
                                                       .why = arena_vformat(v->a, format, arguments),
                                                       .value = value,
                                                       .limit = limit};
    va_end(arguments);
}

double verify_seconds(int64_t t_ns)
{
    return t_ns == ABSENT_I64 ? __builtin_nan("") : (double)t_ns / 1e9;
}

const char *verify_gpu_name(struct verify *v, size_t gpu)
{
    const struct rec_gpu *g = &v->r->gpus[gpu];
    return arena_format(v->a, "GPU %lld (%.12s)", (long long)g->index, g->uuid ? g->uuid : "no UUID");
}

static const char *join_fact(struct arena *a, const char *before, const struct rec_fact *f)
{
    const char *seen = f->seen ? f->seen : "nothing";
    const char *text = f->expected
                           ? arena_format(a, "%s is \"%s\" where \"%s\" was expected", f->name, seen, f->expected)
                           : arena_format(a, "%s: %s", f->name, seen);
    return before ? arena_format(a, "%s; %s", before, text) : text;
}

/* Of the engine's identity jtok-1 wrote passed where the plan states nothing, and not recorded where the engine gives
 * no way to see a property. */
static enum check_outcome outcome_of(const struct rec_fact *f)
{
    bool identity = span_starts(span_of(f->name), "identity.");
    if (f->outcome >= CHECK_OUTCOME_COUNT)
        return CHECK_NOT_RECORDED;
    if (identity && f->outcome == CHECK_PASSED && !(f->expected && f->expected[0]))
        return CHECK_NOT_STATED;
    return identity && f->outcome == CHECK_NOT_RECORDED ? CHECK_NOT_JUDGED : f->outcome;
}

static void add_name(struct arena *a, const char **list, const char *name)
{
    const char *dot = strchr(name, '.');
    *list = *list ? arena_format(a, "%s, %s", *list, dot ? dot + 1 : name) : dot ? dot + 1 : name;
}

struct fact_group verify_facts(struct verify *v, const char *group)
{
    struct fact_group g = {0};
    const char *prefix = arena_format(v->a, "%s.", group);
    for (size_t i = 0; i < v->r->fact_count; i++) {
        const struct rec_fact *f = &v->r->facts[i];
        if (!f->name || !span_starts(span_of(f->name), prefix))
            continue;
        g.count++;
        int outcome = outcome_of(f);
        g.by_outcome[outcome]++;
        if (outcome == CHECK_FAILED)
            g.failed = join_fact(v->a, g.failed, f);
        else if (check_excludes(outcome))
            add_name(v->a, &g.open, f->name);
        else if (outcome == CHECK_NOT_STATED)
            add_name(v->a, &g.unstated, f->name);
        else if (outcome == CHECK_NOT_JUDGED)
            add_name(v->a, &g.unjudged, f->name);
    }
    return g;
}

void verify_run(const struct records *r, const struct method *m, struct arena *a, struct result *result)
{
    struct verify v = {.r = r, .m = m, .a = a, .result = result};
    result->check_count = CODE_COUNT;
    result->checks = arena_array(a, CODE_COUNT, sizeof *result->checks);
    result->flag_count = FLAG_COUNT;
    result->flags = arena_array(a, FLAG_COUNT, sizeof *result->flags);
    verify_setup(&v);
    verify_energy(&v);
    verify_requests(&v);
    verify_course(&v);
    verify_flags(&v);
    result->formal = true;
    for (size_t i = 0; i < CODE_COUNT; i++)
        if (check_excludes(result->checks[i].outcome))
            result->formal = false;
}

/* A measured value as excluded. */
static void exclude(void *self, const struct visit *v)
{
    const char *const *why = self;
    if (v->slot.type != FIELD_QUANTITY || slot_quantity(&v->slot)->state != Q_MEASURED)
        return;
    slot_quantity(&v->slot)->state = Q_EXCLUDED;
    slot_quantity(&v->slot)->why = *why;
}

/* Why no value of a result is a measurement, whatever it is; null: it may be. */
static const char *why_not_measured(const struct records *r, struct arena *a)
{
    if (r->damage)
        return "the records are damaged or contradict each other";
    for (size_t i = 0; i < r->plan.gpu_count; i++) {
        const char *uuid = r->plan.gpus[i];
        bool there = !uuid || !span_starts(span_of(uuid), "GPU-");
        for (size_t g = 0; !there && g < r->gpu_count; g++)
            there = r->gpus[g].uuid && strcmp(r->gpus[g].uuid, uuid) == 0;
        if (!there)
            return arena_format(a, "%s of the plan is not in the records", uuid);
    }
    return NULL;
}

bool analyze_and_verify(const struct records *r, const struct method *m, struct arena *a, struct result *ret_result,
                        struct err *e)
{
    if (!analyze(r, m, a, ret_result, e))
        return false;
    verify_run(r, m, a, ret_result);
    const char *why = why_not_measured(r, a);
    if (why)
        schema_visit(&result_schema, ret_result, "", &(struct visitor){.self = &why, .value = exclude});
    return true;
}

const char *check_code_meaning(int check_code)
{
    static const char *const meanings[CODE_COUNT] = {
        [CODE_PLAN_MISMATCH] = "What ran is not what the plan says.",
        [CODE_IDENTITY_WRONG] = "The engine is not, or does not serve, what the plan says.",
        [CODE_IDENTITY_UNKNOWN] =
            "Model id, precision or engine version is known from neither plan, snapshot nor engine.",
        [CODE_PREFLIGHT_FAILED] = "The machine was not in a normal state before the start, and the user went on.",
        [CODE_GPU_MISMATCH] = "The GPUs that the engine used are not exactly the plan's.",
        [CODE_FOREIGN_PROCESS] = "A compute process that is not the engine's was on a selected GPU.",
        [CODE_BASELINE_NOT_IDLE] = "The GPUs were not idle in the baseline window.",
        [CODE_NOT_COVERED] = "A stage has a boundary without samples on both sides.",
        [CODE_SAMPLE_GAP] = "A stage's headline series has a gap.",
        [CODE_COUNTER_VOID] = "The energy counter went backward or stood still.",
        [CODE_COUNTER_DISAGREES] = "Counter and buffer of a GPU differ by over 1 % on a stage of 10 s or more.",
        [CODE_GRID_DISAGREES] = "Grid and counter of a GPU differ by more than sampling explains.",
        [CODE_POWER_OUT_OF_RANGE] =
            "A stage's average power is below idle or above 1.1 times the limit, or a sensor does not follow the load.",
        [CODE_REQUEST_UNACCOUNTED] = "A request is missing, recorded twice, or not recorded in full.",
        [CODE_USAGE_DISAGREES] = "The engine's own token count is not the sum of the requests' usage.",
        [CODE_TOO_MANY_FAILED] = "More requests failed than the plan allows.",
        [CODE_RELEASE_TIMED_OUT] = "The release did not end within the maximum wait.",
        [CODE_RELEASE_NOT_CLOSED] = "Exit, memory or power of the release was not proven.",
        [CODE_ENGINE_FAILED] = "The run gave up, or the engine ended before it was told to.",
        [CODE_INTERRUPTED] = "The run was stopped from outside.",
        [CODE_CLOCK_STEP] = "The system's clock was set during the run.",
        [CODE_RECORDS_DAMAGED] = "The records are not whole, sealed and in order.",
        [CODE_METHOD_SHORTENED] = "The plan shortened a duration of the method.",
    };
    return check_code >= 0 && check_code < CODE_COUNT ? meanings[check_code] : "";
}

const char *flag_code_meaning(int flag_code)
{
    static const char *const meanings[FLAG_COUNT] = {
        [FLAG_SIMULATED] = "GPU or engine was simulated: no figure is a measurement of hardware.",
        [FLAG_STEADY_NOT_REACHED] = "No steady state: there is no steady-state value.",
        [FLAG_DELIVERY_LAG] = "Tokens arrived later than the GPUs made them.",
        [FLAG_CLIENT_LIMITED] = "The client was the bottleneck: latencies are partly its own.",
        [FLAG_REPEATED_PROMPTS] = "Prompts repeat and the engine's prefix cache is on.",
        [FLAG_THROTTLED] = "A thermal, power-brake or hardware slowdown was active in the formal stage.",
        [FLAG_IDENTITY_NOT_VERIFIABLE] = "The engine gives no way to check part of its identity.",
        [FLAG_USAGE_NOT_VERIFIABLE] = "The engine keeps no token count of its own to check against.",
        [FLAG_SAMPLER_LATE] = "A power sample came over half a period late.",
        [FLAG_AVERAGED_POWER] =
            "The power readings are one-second averages: startup and release lag by about a second.",
        [FLAG_NO_BUFFER] = "The board has no power buffer: grid and counter alone check each other.",
        [FLAG_OBSERVER_WAIT] = "jtok's own waits took over 2 % of a stage's energy.",
        [FLAG_HOLD_RESTARTED] = "Power left its band again after the release seemed over.",
        [FLAG_PAGE_CACHE_WARMED] = "Reading the weights for their digest left them in the page cache.",
        [FLAG_ENGINE_OWN_REQUESTS] = "The engine generated tokens for itself, and their number is explained.",
        [FLAG_ARRIVALS_MERGED] = "Tokens arrived many at a time: TPOT and ITL are not the server's.",
    };
    return flag_code >= 0 && flag_code < FLAG_COUNT ? meanings[flag_code] : "";
}
