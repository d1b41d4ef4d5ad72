#include "analysis/compare.h"
#include "analysis/compare_rank.h"
#include "analysis/gate.h"
#include "analysis/stat.h"
#include "cli/help.h"
#include "schema/json.h"

static const char *const document_names[] = {"result",   "plan", "comparison", "gate", "ranking",
                                             "estimate", "run",  "stat",       NULL};
static const struct schema *const document_schemas[] = {&result_schema,  &plan_schema,        &comparison_schema,
                                                        &gate_schema,    &ranked_runs_schema, &estimate_schema,
                                                        &rec_run_schema, &stat_result_schema};

static void put_schema(const struct schema *s, struct buf *out)
{
    schema_jsonschema(s, s == &plan_schema, out);
}

static bool run_schema(struct call *call, struct err *e)
{
    const char *name = call->args->operands[0];
    int place = name_index(document_names, span_of(name));
    if (place >= 0) {
        put_schema(document_schemas[place], call->out);
        return true;
    }
    struct buf all = {0};
    help_put_names(document_names, -1, &all);
    const char *near = args_nearest(name, document_names);
    err_set(e, ERR_USAGE, "There is no document \"%s\"%s%s%s Give %s.", name, near ? "; did you mean " : "",
            near ? near : "", near ? "?" : ".", buf_text(&all));
    buf_done(&all);
    return false;
}

const struct command cmd_schema = {
    .name = "schema",
    .brief = "print the JSON Schema of a document that jtok writes",
    .operands = "DOCUMENT",
    .operands_min = 1,
    .operands_max = 1,
    .operand_names = document_names,
    .summary = "Prints the JSON Schema (draft 2020-12) of a document: result (result.json), plan (what a plan file may "
               "hold), comparison, gate, ranking, estimate, run (run.json), stat.",
    .example = "jtok schema result > result.schema.json",
    .run = run_schema,
};
