#include "app/listing.h"

#include <math.h>
#include "app/evaluate.h"
#include "app/stat.h"
#include "base/must.h"
#include "engine/engine.h"
#include "schema/table.h"
#include "store/archive.h"

static const struct field listed_run_fields[] = {
    TEXT_AS("run", listed_run, id, "Name of the run folder."),
    TEXT(listed_run, model, "Model that was served."),
    TEXT(listed_run, engine, "Engine and its version."),
    BOOL(listed_run, simulated, "GPU or engine were simulated."),
    TEXT(listed_run, verdict, "Formal, valid, or why not."),
    ENUM(listed_run, object, run_object, "What was looked at."),
    I64(listed_run, loads, "Number of its loads; 0: a life under one burst, or no load of jtok's own."),
    TEXT(listed_run, load, "The load, if there is one alone; of a command, the command."),
    BOOL(listed_run, shortened, "With loads: the baseline or the warm-up before them is less than the method's."),
    I64(listed_run, output_tokens, "Tokens of all requests, or of all formal ones."),
    F64(listed_run, steady_j_per_token, "In the steady state.", UNIT("J/token")),
    F64(listed_run, formal_j_per_token, "Over the formal stage.", UNIT("J/token")),
    F64(listed_run, lifecycle_j_per_token, "Over the whole life of the service.", UNIT("J/token")),
    F64(listed_run, low_j_per_token, "Of the load that has the least.", UNIT("J/token")),
    F64(listed_run, high_j_per_token, "Of the load that has the most.", UNIT("J/token")),
    F64(listed_run, low_w, "Average power of the load or command that has the least.", UNIT("W")),
    F64(listed_run, high_w, "Of the one that has the most.", UNIT("W")),
    F64(listed_run, energy_j, "Of a command.", UNIT("J")),
    F64(listed_run, duration_s, "Of a command.", UNIT("s")),
    TEXT(listed_run, thinking, "What was asked of a model that thinks; null: nothing."),
};
const struct schema listed_run_schema = SCHEMA(listed_run, "A run of a listing.");

/* Why a folder has no result that can be used. */
static const char *without_result(const struct archive_entry *x)
{
    if (!x->sealed)
        return x->has_result ? "not sealed" : "running or broken off";
    return x->has_result ? "damaged" : "no result";
}

/* The first failed check by name, the others by their number: one line a run. */
static const char *exclusion(const struct result *r, struct arena *a)
{
    size_t failed = 0, open = 0;
    const char *first = NULL;
    for (size_t i = 0; i < r->check_count; i++) {
        bool fails = r->checks[i].outcome == CHECK_FAILED;
        if (!check_excludes(r->checks[i].outcome))
            continue;
        /* What cut a run short explains the rest. */
        bool cause = i == CODE_INTERRUPTED || i == CODE_ENGINE_FAILED;
        first = fails && (!first || cause) ? check_code_names[r->checks[i].code] : first;
        failed += fails;
        open += !fails;
    }
    if (!failed)
        return arena_format(a, "excluded: %zu undecided", open);
    return failed == 1 ? arena_format(a, "excluded: %s", first)
                       : arena_format(a, "excluded: %s and %zu more", first, failed - 1);
}

static const char *listed_verdict(const struct result *r, struct arena *a)
{
    if (result_is_older(r))
        return arena_format(a, "%s under %s", run_standing_names[result_standing(r)],
                            r->about.method_id ? r->about.method_id : "?");
    const enum run_standing standing = result_standing(r);
    return standing == STANDING_EXCLUDED ? exclusion(r, a) : run_standing_names[standing];
}

static const char *with_version(const char *engine, const char *version, struct arena *a)
{
    must(a);
    return engine && version ? arena_format(a, "%s %s", engine, version) : engine;
}

static double number_or_nan(const struct quantity *q)
{
    return quantity_has_value(q) ? q->value : __builtin_nan("");
}

static void widen_range(double *low, double *high, const struct quantity *q)
{
    double value = q->state == Q_MEASURED ? q->value : (double)NAN;
    *low = fmin(*low, value); /* of a number and NaN it is the number */
    *high = fmax(*high, value);
}

static void take_points(struct listed_run *l, const struct result *r)
{
    const struct result_loads *x = &r->loads;
    for (size_t i = 0; i < x->point_count; i++) {
        widen_range(&l->low_j_per_token, &l->high_j_per_token, &x->points[i].j_per_token);
        widen_range(&l->low_w, &l->high_w, &x->points[i].window.average_w);
    }
    bool sends = result_has_loads(r) && (x->object == OBJECT_LIFE || x->object == OBJECT_ATTACH);
    l->loads = sends ? (int64_t)x->point_count : 0;
    l->object = result_has_loads(r) ? x->object : l->object;
    l->shortened = x->shortened;
    l->load = x->point_count == 1 && x->object != OBJECT_WATCH ? x->points[0].setting : NULL;
}

static void take_result(struct listed_run *l, const struct result *r, struct arena *a)
{
    l->verdict = listed_verdict(r, a);
    l->model = r->about.model;
    l->thinking = r->about.thinking;
    l->engine = with_version(r->about.engine, r->about.engine_version, a);
    l->simulated = l->simulated || r->about.simulated;
    l->formal = r->metrics.formal_j_per_token;
    l->lifecycle = r->metrics.lifecycle_j_per_token;
    l->steady = r->metrics.steady_j_per_token;
    l->output_tokens = r->load.output_tokens;
    take_points(l, r);
}

/* Its result is not stored. */
static void take_stat(struct listed_run *l, const char *folder, struct arena *a)
{
    struct compare_run run;
    struct err e;
    if (!stat_read_run(folder, a, &run, &e)) {
        l->verdict = "damaged";
        return;
    }
    const struct result_point *p = &run.result->loads.points[0];
    l->verdict = listed_verdict(run.result, a);
    l->energy_j = number_or_nan(&p->window.energy.headline);
    l->duration_s = p->window.duration_s;
    take_points(l, run.result);
}

/* What a run says of itself counts only where no result says it. */
static void take_documents(struct listed_run *l, const struct archive_entry *x, struct arena *a)
{
    l->verdict = without_result(x);
    l->object = plan_object(&x->plan);
    l->model = x->plan.model.id;
    l->thinking = x->plan.requests.thinking;
    l->engine = with_version(plan_engine_name(&x->plan), x->run.engine_version, a);
    l->simulated = x->run.gpu_simulated || x->run.engine_simulated || x->plan.engine.simulated;
}

static struct listed_run list_one(const struct archive_entry *x, struct arena *a)
{
    struct quantity none = quantity_absent(Q_NOT_RECORDED, x->fault ? x->fault : "no result");
    struct listed_run l;
    schema_absent(&listed_run_schema, &l);
    l.id = x->id;
    l.formal = l.lifecycle = l.steady = none;
    struct result *r = arena_alloc(a, sizeof *r);
    struct err e;
    if (x->fault) {
        l.verdict = arena_format(a, "unreadable: %s", x->fault);
    } else {
        take_documents(&l, x, a);
        if (l.object == OBJECT_STAT && x->sealed)
            take_stat(&l, x->folder, a);
        else if (x->has_result && evaluate_stored(x->folder, a, r, &e))
            take_result(&l, r, a);
    }
    l.steady_j_per_token = number_or_nan(&l.steady);
    l.formal_j_per_token = number_or_nan(&l.formal);
    l.lifecycle_j_per_token = number_or_nan(&l.lifecycle);
    return l;
}

bool listing_read(const char *directory, struct arena *a, struct listed_run **ret_runs, size_t *ret_count,
                  struct err *e)
{
    must(directory && a);
    struct archive_entry *entries;
    size_t n;
    if (!archive_list(directory, a, &entries, &n, e))
        return false;
    struct listed_run *runs = arena_array(a, n, sizeof *runs);
    for (size_t i = 0; i < n; i++)
        runs[i] = list_one(&entries[i], a);
    *ret_runs = runs;
    *ret_count = n;
    return true;
}
