#include "cli/running_args.h"

#include <string.h>
#include "base/must.h"
#include "cli/plan_args.h"

/* Keys that begin so would be passed over. */
struct passed_over {
    const char *beginning;
    bool with_load;  /* with requests of jtok's own, too */
    const char *but; /* null: all of them */
};
static const struct passed_over passed_over[] = {
    {"requests", false, NULL},
    {"loads", false, NULL},
    {"slo", false, NULL},
    {"engine.command", true, NULL},
    {"engine.host", true, NULL},
    {"engine.port", true, NULL},
    {"engine.env", true, NULL},
    {"engine.kind", true, NULL},
    {"engine.settings", true, "engine.settings.thinking"},
    {"engine.settings.thinking", false, NULL},
    {"engine.image", true, NULL},
    {"method.baseline", true, NULL},
    {"method.warmup", true, NULL},
    {"method.hold", true, NULL},
    {"method.release", true, NULL},
    {"limits.ready_s", true, NULL},
    {"limits.stop_s", true, NULL},
};

static bool is_passed_over(const struct passed_over *o, const char *setting, enum run_object object)
{
    return span_starts(span_of(setting), o->beginning) && (o->with_load || object == OBJECT_WATCH) &&
           !(o->but && span_starts(span_of(setting), o->but));
}

static void refuse_keys(const struct args *args, enum run_object object, struct problems *p)
{
    for (size_t i = 0; i < args->many.count; i++)
        for (size_t k = 0; k < sizeof passed_over / sizeof *passed_over; k++)
            if (is_passed_over(&passed_over[k], args->many.items[i], object))
                problems_add_at(p, NULL, 0, 0, NULL,
                                "--set %.*s: The service runs already%s, so this key has no meaning here. Leave it "
                                "out.",
                                (int)strcspn(args->many.items[i], "="), args->many.items[i],
                                passed_over[k].with_load ? "" : " and jtok sends it no request");
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
    refuse_keys(args, object, &problems);
    if (!problems_none(&problems, ERR_PLAN, e))
        return false;
    *ret_plan = plan;
    return true;
}
