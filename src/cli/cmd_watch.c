#include "cli/command.h"
#include "cli/life.h"
#include "cli/load_args.h"
#include "cli/plan_args.h"
#include "cli/running_args.h"
#include "schema/table.h"

struct watch_choices {
    struct life_options life;
    const char *how_long;
};

static const struct option watch_rows[] = {
    {"--for", 0, "TIME",
     .field = TEXT_AS("for", watch_choices, how_long,
                      "Length of the window: 90s, 10m, 1h. Without it the window lasts until you press Ctrl-C.")},
    RUNNING_OPTIONS,
    LIFE_OPTIONS(watch_choices),
};

static bool run_watch(struct call *call, struct err *e)
{
    const struct watch_choices *o = call->options;
    struct plan *plan = arena_alloc(call->arena, sizeof *plan);
    if (!running_args_make(call->command, call->args, call->arena, OBJECT_WATCH, plan, e))
        return false;
    if (o->how_long && !load_args_for(o->how_long, &plan->attach.for_s, e))
        return false;
    call->code = life_run(&(struct life){.plan = plan, .options = &o->life}, call->arena);
    return true;
}

const struct command cmd_watch = {
    .name = "watch",
    .brief = "measure a running service under its users' load, without sending a request",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Measures a service that runs already while its users use it, and sends no request of its own. Tokens "
               "are counted by the engine itself (its /metrics), energy by the GPUs' counters. Prints a line each 10 "
               "seconds, writes a run folder, and prints the result at the end.",
    .more =
        "URL is the address that the engine listens on, for example http://127.0.0.1:8000. It must be on this machine, "
        "since its energy is measured here. Its GPUs are those of the processes behind the port; name them with "
        "--gpus where these can't be seen, for example in a container.\n"
        "Ctrl-C ends the window, and the result follows. The service is left as it is: jtok sends no signal to a "
        "process that it did not start.",
    .example = "jtok watch http://127.0.0.1:8000\n"
               "jtok watch http://127.0.0.1:8000 --for 10m --gpus 0,1",
    .exits = EXIT_BIT(EXIT_EXCLUDED) | EXIT_BIT(EXIT_PLAN) | EXIT_BIT(EXIT_DEVICE) | EXIT_BIT(EXIT_ENGINE) |
             EXIT_BIT(EXIT_RECORDS) | EXIT_BIT(EXIT_REFUSED) | EXIT_BIT(EXIT_INTERRUPTED),
    .options = watch_rows,
    .option_count = SCHEMA_COUNT(watch_rows),
    .options_size = sizeof(struct watch_choices),
    .run = run_watch,
};
