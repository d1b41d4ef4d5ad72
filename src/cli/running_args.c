#include "cli/running_args.h"

#include "base/must.h"
#include "cli/plan_args.h"

bool running_args_make(const struct command *c, const struct args *args, struct arena *a, enum run_object object,
                       struct plan *ret_plan, struct err *e)
{
    must(c->operands_max == 1 && args->operand_count == 1);
    struct plan plan;
    struct problems problems;
    plan_defaults(&plan);
    plan.gpu_count = 0;
    plan.object = object;
    plan.attach.url = args->operands[0];
    problems_init(&problems, a, NULL);
    plan_args_set(c, args, &plan, &problems);
    if (!problems_none(&problems, ERR_PLAN, e))
        return false;
    *ret_plan = plan;
    return true;
}
