#include "analysis/about.h"

#include <math.h>
#include <string.h>
#include "base/num.h"

/* What a fact saw; null: there is no such fact, or it saw nothing. The last one counts. */
static const char *seen(const struct records *r, const char *name)
{
    for (size_t i = r->fact_count; i-- > 0;)
        if (r->facts[i].name && strcmp(r->facts[i].name, name) == 0)
            return r->facts[i].seen && r->facts[i].seen[0] ? r->facts[i].seen : NULL;
    return NULL;
}

/* A value and who says it. */
struct sourced_value {
    const char *source, *value;
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* The first of them that says anything; both null: none does. */
static struct sourced_value first_said(const struct sourced_value *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].value && list[i].value[0])
            return list[i];
    return (struct sourced_value){0};
}

static struct sourced_value model_said(const struct records *r)
{
    const struct sourced_value list[] = {{"plan", r->plan.model.id}, {"snapshot", seen(r, "snapshot.model_id")}};
    return first_said(list, COUNT(list));
}

static struct sourced_value precision_said(const struct records *r)
{
    const struct sourced_value list[] = {{"plan", r->plan.model.precision},
                                         {"engine", seen(r, "identity.precision")},
                                         {"snapshot", seen(r, "snapshot.precision")}};
    return first_said(list, COUNT(list));
}

static struct sourced_value version_said(const struct records *r)
{
    const struct sourced_value list[] = {
        {"engine", r->run.engine_version}, {"engine", seen(r, "identity.version")}, {"plan", r->plan.engine.version}};
    return first_said(list, COUNT(list));
}

static struct sourced_value revision_said(const struct records *r)
{
    const struct sourced_value list[] = {{"plan", r->plan.model.revision}, {"engine", seen(r, "identity.revision")}};
    return first_said(list, COUNT(list));
}

static struct sourced_value thinking_said(const struct records *r)
{
    const struct sourced_value list[] = {{"plan", r->plan.requests.thinking}, {"engine", seen(r, "identity.thinking")}};
    return first_said(list, COUNT(list));
}

static double parameters_of(const struct records *r, const char **ret_source)
{
    const char *counted = seen(r, "snapshot.parameters");
    int64_t parameters;
    *ret_source = "plan";
    if (!isnan(r->plan.model.total_parameters))
        return r->plan.model.total_parameters;
    *ret_source = "snapshot";
    if (counted && num_i64(span_of(counted), &parameters) && parameters > 0)
        return (double)parameters;
    *ret_source = r->given_parameters > 0 ? "analyze" : NULL;
    return r->given_parameters > 0 ? r->given_parameters : (double)NAN;
}

static bool is_identity(const struct rec_fact *f)
{
    return f->name && span_starts(span_of(f->name), "identity.");
}

static struct result_identity *identity_of(const struct records *r, struct arena *a, size_t *ret_count)
{
    size_t n = 0;
    for (size_t i = 0; i < r->fact_count; i++)
        n += is_identity(&r->facts[i]);
    struct result_identity *list = arena_array(a, n, sizeof *list);
    *ret_count = n;
    n = 0;
    for (size_t i = 0; i < r->fact_count; i++) {
        const struct rec_fact *f = &r->facts[i];
        if (is_identity(f))
            list[n++] =
                (struct result_identity){f->name + strlen("identity."), f->outcome, f->expected, f->seen, f->source};
    }
    return list;
}

struct result_about about_of(const struct records *r, struct arena *a)
{
    const struct plan *p = &r->plan;
    const struct sourced_value model = model_said(r), precision = precision_said(r), version = version_said(r);
    const struct sourced_value revision = revision_said(r);
    const char *parameters_source;
    double parameters = parameters_of(r, &parameters_source);
    size_t identity_count;
    struct result_identity *identity = identity_of(r, a, &identity_count);
    return (struct result_about){.identity = identity,
                                 .identity_count = identity_count,
                                 .run_id = r->run.id,
                                 .method_id = METHOD_ID,
                                 .jtok_version = JTOK_VERSION,
                                 .records_method_id = r->run.method_id,
                                 .records_jtok_version = r->run.jtok_version,
                                 .decisions = method_decisions,
                                 .decision_count = method_decision_count,
                                 .name = p->name,
                                 .scenario = p->scenario ? p->scenario : p->requests.file,
                                 .model = model.value,
                                 .revision = revision.value,
                                 .engine = plan_engine_name(p),
                                 .engine_version = version.value,
                                 .precision = precision.value,
                                 .thinking = thinking_said(r).value,
                                 .total_parameters = parameters,
                                 .model_source = model.source,
                                 .revision_source = revision.source,
                                 .precision_source = precision.source,
                                 .engine_version_source = version.source,
                                 .total_parameters_source = parameters_source,
                                 .image_digest = p->engine.image_digest,
                                 .plan_sha256 = r->run.plan_sha256,
                                 .requests_sha256 = p->requests.sha256,
                                 .work_sha256 = p->requests.work_sha256,
                                 .simulated = r->run.gpu_simulated || r->run.engine_simulated || p->engine.simulated};
}
