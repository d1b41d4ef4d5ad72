#include "cli/running_args.h"

#include <string.h>
#include "base/must.h"
#include "cli/plan_args.h"

/* Keys of a service that jtok starts, or of requests that it sends: here they would be passed over. */
static void refuse_keys(const struct args *args, struct problems *p)
{
    static const char *const beginnings[] = {"requests",    "loads",       "slo",        "engine.command",
                                             "engine.host", "engine.port", "engine.env", "engine.kind"};
    for (size_t i = 0; i < args->many.count; i++)
        for (size_t k = 0; k < sizeof beginnings / sizeof *beginnings; k++)
            if (span_starts(span_of(args->many.items[i]), beginnings[k]))
                problems_add_at(p, NULL, 0, 0, NULL,
                                "--set %.*s: The service runs already and jtok sends it no request, so this key has no "
                                "meaning here. Leave it out.",
                                (int)strcspn(args->many.items[i], "="), args->many.items[i]);
}

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
    refuse_keys(args, &problems);
    if (!problems_none(&problems, ERR_PLAN, e))
        return false;
    *ret_plan = plan;
    return true;
}
