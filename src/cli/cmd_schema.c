#include <string.h>
#include "analysis/compare.h"
#include "analysis/compare_rank.h"
#include "analysis/gate.h"
#include "cli/command.h"
#include "schema/json.h"
#include "store/rows.h"

static const struct document_schema {
    const char *name;
    const struct schema *schema;
} documents[] = {
    {"result", &result_schema}, {"plan", &plan_schema},           {"comparison", &comparison_schema},
    {"gate", &gate_schema},     {"ranking", &ranked_runs_schema}, {"estimate", &estimate_schema},
    {"run", &rec_run_schema},
};
enum { DOCUMENTS = sizeof documents / sizeof *documents };

static void put_schema(const struct schema *s, struct buf *out)
{
    bool is_plan = s == &plan_schema;
    struct plan defaults;
    plan_defaults(&defaults);
    schema_jsonschema(s, is_plan ? &defaults : NULL, is_plan, out);
}

static bool run_schema(struct call *call, struct err *e)
{
    const char *name = call->args->operands[0], *names[DOCUMENTS + 1] = {0};
    for (size_t i = 0; i < DOCUMENTS; i++) {
        names[i] = documents[i].name;
        if (strcmp(name, names[i]) == 0) {
            put_schema(documents[i].schema, call->out);
            return true;
        }
    }
    const char *near = args_nearest(name, names);
    return err_set(e, ERR_USAGE,
                   "There is no document \"%s\"%s%s%s Give result, plan, comparison, gate, ranking, estimate or run.",
                   name, near ? "; did you mean " : "", near ? near : "", near ? "?" : ".");
}

const struct command cmd_schema = {
    .name = "schema",
    .brief = "print the JSON Schema of a document that jtok writes",
    .operands = "DOCUMENT",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Prints the JSON Schema (draft 2020-12) of a document: result (result.json), plan (what a plan file may "
               "hold), comparison, gate, ranking, estimate, run (run.json).",
    .example = "jtok schema result > result.schema.json",
    .run = run_schema,
};
