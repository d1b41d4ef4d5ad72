#include "analysis/known.h"

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

struct source {
    const char *name, *value;
};

static void take(const struct source *sources, size_t n, const char **ret_value, const char **ret_source)
{
    for (size_t i = 0; i < n; i++)
        if (sources[i].value && sources[i].value[0]) {
            *ret_value = sources[i].value;
            *ret_source = sources[i].name;
            return;
        }
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

void known_fill(const struct records *r, struct result_about *ret)
{
    const struct plan_model *m = &r->plan.model;
    const struct source model[] = {{"plan", m->id}, {"snapshot", seen(r, "snapshot.model_id")}};
    const struct source precision[] = {
        {"plan", m->precision}, {"engine", seen(r, "identity.precision")}, {"snapshot", seen(r, "snapshot.precision")}};
    const struct source version[] = {
        {"engine", r->run.engine_version}, {"engine", seen(r, "identity.version")}, {"plan", r->plan.engine.version}};
    const struct source revision[] = {{"plan", m->revision}, {"engine", seen(r, "identity.revision")}};
    take(model, COUNT(model), &ret->model, &ret->model_source);
    take(precision, COUNT(precision), &ret->precision, &ret->precision_source);
    take(version, COUNT(version), &ret->engine_version, &ret->engine_version_source);
    take(revision, COUNT(revision), &ret->revision, &ret->revision_source);
    const char *counted = seen(r, "snapshot.parameters");
    int64_t parameters;
    ret->total_parameters = m->total_parameters;
    ret->total_parameters_source = isnan(m->total_parameters) ? NULL : "plan";
    if (isnan(ret->total_parameters) && counted && num_i64(span_of(counted), &parameters) && parameters > 0) {
        ret->total_parameters = (double)parameters;
        ret->total_parameters_source = "snapshot";
    }
    if (isnan(ret->total_parameters) && r->given_parameters > 0) {
        ret->total_parameters = r->given_parameters;
        ret->total_parameters_source = "analyze";
    }
}
