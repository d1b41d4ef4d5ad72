#include "app/demo.h"
#include "app/prove.h"
#include "cli/command.h"
#include "cli/life.h"
#include "cli/load_args.h"
#include "cli/plan_args.h"
#include "schema/table.h"

struct demo_choices {
    struct life_options life;
    struct load_choices load;
    struct demo_options demo;
};

static const struct option demo_rows[] = {
    {"--quick", 0, NULL,
     .field =
         BOOL_AS("quick", demo_choices, demo.quick,
                 "Shorten the method's durations to about 20 s in all; the run is then excluded (method_shortened).")},
    {"--count", 'n', "N",
     .field = I64_AS("count", demo_choices, demo.count, "Number of requests; of each load, if there are loads.",
                     RANGE(1, 1e9), DEFAULT(DEMO_PROMPTS))},
    {"--gpus", 'g', "N",
     .field =
         I64_AS("gpus", demo_choices, demo.gpus, "Number of simulated GPUs.", RANGE(1, DEMO_GPUS_MAX), DEFAULT(1))},
    {"--lagging", 0, NULL,
     .field = BOOL_AS("lagging", demo_choices, demo.lagging,
                      "Simulate a front end that delivers more slowly than the GPU generates.")},
    WORK_OPTIONS,
    LOAD_OPTIONS(demo_choices),
    LIFE_OPTIONS(demo_choices),
};

/* Going through and proving its records is what counts, not being formal. */
static enum exit_code judge_demo(const struct measurement *m, struct arena *a)
{
    struct err e;
    if (!m->outcome.went_through)
        return EXIT_EXCLUDED;
    return prove_records(m->outcome.folder, m->evaluation, a, &e) ? EXIT_OK : exit_with(&e);
}

static bool run_demo(struct call *call, struct err *e)
{
    const struct demo_choices *o = call->options;
    struct plan *plan = arena_alloc(call->arena, sizeof *plan);
    const char *folder;
    if (!demo_open(&o->demo, call->arena, plan, &folder, e))
        return false;
    struct problems problems;
    problems_init(&problems, call->arena, NULL);
    plan_args_set(call->command, call->args, plan, &problems);
    demo_complete(plan);
    bool good = problems_none(&problems, ERR_PLAN, e) &&
                load_args_apply(&o->load, args_given(call->command, call->args, "--count"), call->arena, plan, e);
    if (good)
        call->code = life_run(&(struct life){.plan = plan, .options = &o->life, .judge = judge_demo}, call->arena);
    demo_close(folder);
    return good;
}

const struct command cmd_demo = {
    .name = "demo",
    .brief = "run the main job on a built-in simulation, without a GPU",
    .summary = "Runs the main job on a built-in simulated engine and GPU: the same code path, without the hardware. "
               "Every output says that it is simulated.",
    .more = "Success means that the service went through its whole life and that the records verify.\n"
            "With --concurrency, --rate, --trace or --loads it sends other loads than all requests at once, as \"jtok "
            "run\" does; several of them give the curve of energy against load.",
    .example = "jtok demo --quick\n"
               "jtok demo --quick --loads concurrency=1,8,64 --for 10s --slo ttft=2s,tpot=50ms",
    .exits = EXIT_BIT(EXIT_EXCLUDED) | EXIT_BIT(EXIT_PLAN) | EXIT_BIT(EXIT_BUSY) | EXIT_BIT(EXIT_ENGINE) |
             EXIT_BIT(EXIT_RECORDS) | EXIT_BIT(EXIT_INTERRUPTED),
    .options = demo_rows,
    .option_count = SCHEMA_COUNT(demo_rows),
    .options_size = sizeof(struct demo_choices),
    .run = run_demo,
};
