/* What stands in the way of a plan on this machine, without a run. */
#ifndef JTOK_APP_DOCTOR_PLAN_H
#define JTOK_APP_DOCTOR_PLAN_H

#include "model/plan.h"
#include "run/preflight.h"
#include "schema/schema.h"

struct doctor_plan {
    int64_t passed, warned, failed;
    struct preflight_line *lines;
    size_t line_count;
    struct err stopped; /* what `jtok run` would end with before its start; kind ERR_NONE: nothing */
};

extern const struct schema preflight_line_schema, doctor_plan_schema;

/* Counts the lines; what they are made of is borrowed. */
struct doctor_plan doctor_plan_of(struct preflight_line *lines, size_t count);

/* Looks at all that `jtok run` looks at before it starts anything (run/preflight.h), also behind what would stop it. A
 * snapshot that is not known yet is read for its digest. Everything lives in the arena. Call from a process without
 * threads. */
bool doctor_look_at_plan(const struct plan *plan, struct arena *a, struct doctor_plan *ret_found, struct err *e);

#endif
