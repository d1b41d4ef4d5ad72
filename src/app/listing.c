#include "app/listing.h"

#include "app/evaluate.h"
#include "base/must.h"
#include "engine/engine.h"
#include "store/archive.h"

#define AT(member) offsetof(struct listed_run, member)
static const struct field fields[] = {
    {.key = "run", .type = FIELD_TEXT, .offset = AT(id), .doc = "Name of the run folder."},
    {.key = "model", .type = FIELD_TEXT, .offset = AT(model), .doc = "Model that was served."},
    {.key = "engine", .type = FIELD_TEXT, .offset = AT(engine), .doc = "Engine and its version."},
    {.key = "simulated", .type = FIELD_BOOL, .offset = AT(simulated), .doc = "GPU or engine were simulated."},
    {.key = "verdict", .type = FIELD_TEXT, .offset = AT(verdict), .doc = "Formal, or why not."},
    {.key = "output_tokens", .type = FIELD_I64, .offset = AT(output_tokens), .doc = "Tokens of all formal requests."},
    {.key = "steady_j_per_token",
     .type = FIELD_F64,
     .offset = AT(steady_j_per_token),
     .unit = "J/token",
     .doc = "In the steady state."},
    {.key = "formal_j_per_token",
     .type = FIELD_F64,
     .offset = AT(formal_j_per_token),
     .unit = "J/token",
     .doc = "Over the formal stage."},
    {.key = "lifecycle_j_per_token",
     .type = FIELD_F64,
     .offset = AT(lifecycle_j_per_token),
     .unit = "J/token",
     .doc = "Over the whole life of the service."},
};
#undef AT
const struct schema listed_run_schema = {.name = "listed_run",
                                         .size = sizeof(struct listed_run),
                                         .fields = fields,
                                         .count = SCHEMA_COUNT(fields),
                                         .doc = "One run of `jtok list`."};

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

static const char *verdict_text(const struct result *r, struct arena *a)
{
    if (result_is_older(r))
        return arena_format(a, "%s under %s", r->formal ? "formal" : "excluded",
                            r->about.method_id ? r->about.method_id : "?");
    return r->formal ? "formal" : exclusion(r, a);
}

static const char *with_version(const char *engine, const char *version, struct arena *a)
{
    must(a);
    return engine && version ? arena_format(a, "%s %s", engine, version) : engine;
}

static double number_of(const struct quantity *q)
{
    return quantity_has_value(q) ? q->value : __builtin_nan("");
}

static void take_result(struct listed_run *l, const struct result *r, struct arena *a)
{
    l->verdict = verdict_text(r, a);
    l->model = r->about.model;
    l->engine = with_version(r->about.engine, r->about.engine_version, a);
    l->simulated = l->simulated || r->about.simulated;
    l->formal = r->metrics.formal_j_per_token;
    l->lifecycle = r->metrics.lifecycle_j_per_token;
    l->steady = r->metrics.steady_j_per_token;
    l->output_tokens = r->load.output_tokens;
}

/* What a run says of itself counts only where no result says it. */
static void take_documents(struct listed_run *l, const struct archive_entry *x, struct arena *a)
{
    l->verdict = without_result(x);
    l->model = x->plan.model.id;
    l->engine = with_version(plan_engine_name(&x->plan), x->run.engine_version, a);
    l->simulated = x->run.gpu_simulated || x->run.engine_simulated || x->plan.engine.simulated;
}

static struct listed_run list_one(const struct archive_entry *x, struct arena *a)
{
    struct quantity none = quantity_absent(Q_NOT_RECORDED, x->fault ? x->fault : "no result");
    struct listed_run l = {.id = x->id, .formal = none, .lifecycle = none, .steady = none, .output_tokens = ABSENT_I64};
    struct result *r = arena_alloc(a, sizeof *r);
    struct err e;
    if (x->fault) {
        l.verdict = arena_format(a, "unreadable: %s", x->fault);
    } else {
        take_documents(&l, x, a);
        if (x->has_result && evaluate_stored(x->folder, a, r, &e))
            take_result(&l, r, a);
    }
    l.steady_j_per_token = number_of(&l.steady);
    l.formal_j_per_token = number_of(&l.formal);
    l.lifecycle_j_per_token = number_of(&l.lifecycle);
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
