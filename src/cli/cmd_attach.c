#include "base/must.h"
#include "cli/command.h"
#include "cli/life.h"
#include "cli/load_args.h"
#include "cli/plan_args.h"
#include "cli/running_args.h"
#include "schema/table.h"

struct attach_choices {
    struct life_options life;
    struct load_choices load;
    bool no_load;
};

static const struct option attach_rows[] = {
    LOAD_OPTIONS(attach_choices),
    {"--no-load", 0, NULL,
     .field = BOOL(attach_choices, no_load,
                   "Send no request: measure the service under its users' load, as \"jtok watch\" does.")},
    {"--requests", 'r', "FILE", .plan_key = "requests.file",
     .doc = "Request file: JSON Lines with prompt or messages, and optionally max_tokens or other body keys. Plain, "
            "gzip or zstd; a pipe works too."},
    {"--count", 'n', "N", .plan_key = "requests.count",
     .doc = "Number of requests of each load; without it and without --for, each line of the file once. If the file "
            "has fewer, it is repeated. Random prompts need it, unless --for is given."},
    WORK_OPTIONS,
    {"--snapshot", 0, "FOLDER", .plan_key = "model.snapshot",
     .doc = "Of random prompts: the folder with the model's config.json, where the service does not tell it."},
    RUNNING_OPTIONS,
    LIFE_OPTIONS(attach_choices),
};

/* A load that nobody asked for must not meet a service that has users. */
static bool take_loads(struct call *call, struct plan *plan, struct err *e)
{
    const struct attach_choices *o = call->options;
    if (!load_args_apply(&o->load, args_given(call->command, call->args, "--count"), call->arena, plan, e))
        return false;
    return plan->load_count > 0 ||
           err_set(e, ERR_PLAN,
                   "Say which load to send: for example --concurrency 8 --for 60s, --rate 4 --for 5m, or "
                   "--loads concurrency=1,8,64 --for 60s; --loads burst sends all requests at once. --no-load sends "
                   "none and measures what the service's users do.");
}

/* Options that say what is sent have no meaning beside --no-load. */
static bool take_window(struct call *call, struct plan *plan, struct err *e)
{
    static const char *const sending[] = {
        "--concurrency", "--rate",  "--arrivals", "--burstiness",   "--trace",         "--loads",         "--slo",
        "--requests",    "--count", "--snapshot", "--input-tokens", "--prefix-tokens", "--output-tokens", "--thinking"};
    const char *how_long = ((const struct attach_choices *)call->options)->load.how_long;
    for (size_t i = 0; i < sizeof sending / sizeof *sending; i++)
        if (args_given(call->command, call->args, sending[i]))
            return err_set(e, ERR_PLAN,
                           "With --no-load jtok sends no request, so %s has no meaning. Leave one of the two out.",
                           sending[i]);
    return !how_long || load_args_for(how_long, &plan->attach.for_s, e);
}

static bool run_attach(struct call *call, struct err *e)
{
    const struct attach_choices *o = call->options;
    struct plan *plan = arena_alloc(call->arena, sizeof *plan);
    enum run_object object = o->no_load ? OBJECT_WATCH : OBJECT_ATTACH;
    if (!running_args_make(call->command, call->args, call->arena, object, plan, e))
        return false;
    if (!(o->no_load ? take_window(call, plan, e) : take_loads(call, plan, e)))
        return false;
    call->code = life_run(&(struct life){.plan = plan, .options = &o->life}, call->arena);
    return true;
}

const struct command cmd_attach = {
    .name = "attach",
    .brief = "measure a running service under a load that jtok sends",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Puts a load on a service that runs already, and measures energy, latency and tokens of it; several "
               "loads give the curve of energy against load. Writes a run folder, then prints its path and the result.",
    .more =
        "URL is the address that the engine listens on, for example http://127.0.0.1:8000 or unix:/run/engine.sock. It "
        "must be on this machine, since its energy is measured here. Its GPUs are those of the processes behind the "
        "port; name them with --gpus where these can't be seen, for example in a container. JTOK_API_KEY holds the "
        "service's key, if it asks for one.\n"
        "You choose the load. Power is looked at for 2 s first, then each load is sent; 5 s of silence lie between "
        "two. Nothing is sent as a warm-up: if the service has just started, send it a few requests before. Others' "
        "requests "
        "share its energy: they are seen by the engine's own count and named, and J/token is then not to be used.\n"
        "Ctrl-C ends the load: what is in flight runs to its end, and the result follows. A second Ctrl-C cuts that "
        "short. The service is left as it is: jtok sends no signal to a process that it did not start.",
    .example = "jtok attach http://127.0.0.1:8000 --concurrency 8 --for 60s \\\n"
               "    --input-tokens 1024 --output-tokens 256\n"
               "jtok attach http://127.0.0.1:8000 --requests prompts.jsonl --rate 4 --for 5m\n"
               "jtok attach http://127.0.0.1:8000 --requests prompts.jsonl \\\n"
               "    --loads concurrency=1,8,64 --for 60s --slo ttft=2s,tpot=50ms",
    .exits = EXIT_BIT(EXIT_EXCLUDED) | EXIT_BIT(EXIT_PLAN) | EXIT_BIT(EXIT_DEVICE) | EXIT_BIT(EXIT_ENGINE) |
             EXIT_BIT(EXIT_RECORDS) | EXIT_BIT(EXIT_REFUSED) | EXIT_BIT(EXIT_INTERRUPTED),
    .options = attach_rows,
    .option_count = SCHEMA_COUNT(attach_rows),
    .options_size = sizeof(struct attach_choices),
    .run = run_attach,
};
