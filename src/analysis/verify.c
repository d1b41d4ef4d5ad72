#include "analysis/verify.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>
#include "analysis/verify_internal.h"
#include "base/must.h"
#include "schema/visit.h"

void verify_set(struct verify *v, enum check_code code, enum check_outcome outcome, const char *format, ...)
{
    must(code < CODE_COUNT && outcome < CHECK_OUTCOME_COUNT);
    va_list arguments;
    va_start(arguments, format);
    v->checks[code] =
        (struct result_check){.code = code, .outcome = outcome, .why = arena_vformat(v->a, format, arguments)};
    va_end(arguments);
}

static void set_flag(struct verify *v, struct result_flag flag)
{
    must(flag.code < FLAG_COUNT && flag.outcome < CHECK_OUTCOME_COUNT);
    v->flags[flag.code] = flag;
}

void verify_flag(struct verify *v, enum flag_code code, enum check_outcome outcome, double value, double limit,
                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_flag(v, (struct result_flag){code, outcome, arena_vformat(v->a, format, arguments), value, limit});
    va_end(arguments);
}

void verify_flag_bare(struct verify *v, enum flag_code code, enum check_outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_flag(v, (struct result_flag){code, outcome, arena_vformat(v->a, format, arguments), NO_NUMBER, NO_NUMBER});
    va_end(arguments);
}

double verify_seconds(int64_t t_ns)
{
    return t_ns == ABSENT_I64 ? NO_NUMBER : (double)t_ns / 1e9;
}

const char *verify_gpu_name(struct verify *v, size_t gpu)
{
    must(gpu < v->r->gpu_count);
    const struct rec_gpu *g = &v->r->gpus[gpu];
    return arena_format(v->a, "GPU %lld (%.12s)", (long long)g->index, g->uuid ? g->uuid : "no UUID");
}

static const char *join_fact(struct arena *a, const char *before, const struct rec_fact *f)
{
    assert(f->name);
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
    must(group && group[0]);
    struct fact_group g = {0};
    const char *prefix = arena_format(v->a, "%s.", group);
    for (size_t i = 0; i < v->r->fact_count; i++) {
        const struct rec_fact *f = &v->r->facts[i];
        if (!f->name || !span_starts(span_of(f->name), prefix))
            continue;
        g.count++;
        enum check_outcome outcome = outcome_of(f);
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

/* ---- by object ---- */

/* Which checks a run of each object has to pass, where it is not a life under the source's burst (METHOD section 11):
 * bits of 1 << enum run_object. The others are not judged. docs/CHECKS.md shows the same as a table. */
enum {
    OF_LIFE = 1 << OBJECT_LIFE,
    OF_ATTACH = 1 << OBJECT_ATTACH,
    OF_WATCH = 1 << OBJECT_WATCH,
    OF_STAT = 1 << OBJECT_STAT,
    OF_ALL = OF_LIFE | OF_ATTACH | OF_WATCH | OF_STAT
};
static const int asked_of[CODE_COUNT] = {
    [CODE_PLAN_MISMATCH] = OF_LIFE,
    [CODE_IDENTITY_WRONG] = OF_LIFE,
    [CODE_IDENTITY_UNKNOWN] = OF_LIFE,
    [CODE_PREFLIGHT_FAILED] = 0,
    [CODE_GPU_MISMATCH] = OF_LIFE | OF_ATTACH | OF_WATCH,
    [CODE_FOREIGN_PROCESS] = OF_ALL,
    [CODE_BASELINE_NOT_IDLE] = OF_LIFE,
    [CODE_NOT_COVERED] = OF_ALL,
    [CODE_SAMPLE_GAP] = OF_ALL,
    [CODE_COUNTER_VOID] = OF_ALL,
    [CODE_COUNTER_DISAGREES] = OF_ALL,
    [CODE_GRID_DISAGREES] = OF_ALL,
    [CODE_POWER_OUT_OF_RANGE] = OF_ALL,
    [CODE_REQUEST_UNACCOUNTED] = OF_LIFE | OF_ATTACH,
    [CODE_USAGE_DISAGREES] = OF_LIFE,
    [CODE_TOO_MANY_FAILED] = OF_LIFE | OF_ATTACH,
    [CODE_RELEASE_TIMED_OUT] = 0,
    [CODE_RELEASE_NOT_CLOSED] = 0,
    [CODE_ENGINE_FAILED] = OF_LIFE,
    [CODE_INTERRUPTED] = OF_ALL,
    [CODE_CLOCK_STEP] = OF_ALL,
    [CODE_RECORDS_DAMAGED] = OF_ALL,
    [CODE_METHOD_SHORTENED] = 0,
};

bool verify_asks(enum run_object object, enum check_code code)
{
    must(object <= OBJECT_STAT && code < CODE_COUNT);
    return asked_of[code] & 1 << object;
}

/* Takes back what is not asked of this object; what was seen stays in the sentence. */
static void leave_out_checks(struct verify *v, enum run_object object)
{
    static const char *const words[] = {[OBJECT_LIFE] = "a life with other loads",
                                        [OBJECT_ATTACH] = "a service that runs already",
                                        [OBJECT_WATCH] = "a service under its users' load",
                                        [OBJECT_STAT] = "a command"};
    for (size_t i = 0; i < CODE_COUNT; i++)
        if (!verify_asks(object, (enum check_code)i))
            verify_set(v, (enum check_code)i, CHECK_NOT_JUDGED, "Not asked of %s. %s", words[object], v->checks[i].why);
}

struct verdicts verify_run(const struct records *r, const struct method *m, const struct result *result,
                           struct arena *a)
{
    must(result->gpu_count == r->gpu_count);
    struct verdicts x = {.checks = arena_array(a, CODE_COUNT, sizeof *x.checks),
                         .flags = arena_array(a, FLAG_COUNT, sizeof *x.flags),
                         .stands = true};
    struct verify v = {.r = r, .m = m, .a = a, .result = result, .checks = x.checks, .flags = x.flags};
    verify_setup(&v);
    verify_energy(&v);
    verify_requests(&v);
    verify_sequence(&v);
    verify_flags(&v);
    if (result_has_loads(result))
        leave_out_checks(&v, result->loads.object);
    for (size_t i = 0; i < CODE_COUNT; i++) {
        must(x.checks[i].code == i && x.checks[i].why); /* somebody decided it */
        x.stands = x.stands && !check_excludes(x.checks[i].outcome);
    }
    x.formal = x.stands && !result_has_loads(result);
    for (size_t i = 0; i < FLAG_COUNT; i++)
        must(x.flags[i].code == i && x.flags[i].why);
    return x;
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

void verify_exclude(const struct records *r, struct result *result, struct arena *a)
{
    must(result->check_count == CODE_COUNT);
    const char *why = why_not_measured(r, a);
    if (why)
        schema_visit(&result_schema, result, "", &(struct visitor){.self = &why, .value = exclude});
}
