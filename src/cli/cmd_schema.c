#include <string.h>
#include "analysis/compare.h"
#include "analysis/compare_rank.h"
#include "analysis/gate.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/show.h"
#include "model/plan.h"
#include "model/result.h"
#include "schema/json.h"
#include "store/rows.h"

static bool put_schema(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code,
                       struct err *e)
{
    (void)self, (void)a, (void)ret_code;
    const char *name = args->operands[0];
    static const char *const names[] = {"result", "plan", "comparison", "gate", "ranking", "estimate", "run", NULL};
    const struct schema *const schemas[] = {&result_schema,      &plan_schema,     &comparison_schema, &gate_schema,
                                            &ranked_runs_schema, &estimate_schema, &rec_run_schema};
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        bool is_plan = schemas[i] == &plan_schema;
        struct plan defaults;
        plan_defaults(&defaults);
        schema_jsonschema(schemas[i], is_plan ? &defaults : NULL, is_plan, out);
        return true;
    }
    const char *near = args_nearest(name, names);
    return err_set(
        e, ERR_USAGE,
        "schema: there is no document \"%s\"%s%s%s Give result, plan, comparison, gate, ranking, estimate or "
        "run.",
        name, near ? "; did you mean " : "", near ? near : "", near ? "?" : ".");
}

int cmd_schema(int argc, char **argv)
{
    const struct args_spec spec = {
        .command = "schema",
        .operands = "DOCUMENT",
        .operands_min = 1,
        .operands_max = 1,
        .summary = "Prints the JSON Schema (draft 2020-12) of a document: result (result.json), plan (what a plan file "
                   "may hold), "
                   "comparison, gate, ranking, estimate, run (run.json).",
        .example = "jtok schema result > result.schema.json",
    };
    return show_command(&spec, argc, argv, put_schema, NULL);
}
