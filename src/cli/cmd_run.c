#include <string.h>
#include "cli/command.h"
#include "cli/engines.h"
#include "cli/life.h"
#include "cli/load_args.h"
#include "cli/plan_args.h"
#include "schema/table.h"

struct run_choices {
    struct life_options life;
    struct load_choices load;
    bool despite_preflight;
    const char *engines;
};

static const struct option run_rows[] = {
    {"--gpus", 'g', "LIST", .plan_key = "gpus", .commas = true,
     .doc = "GPUs to use and measure: indexes, UUIDs, PCI addresses, or all."},
    {"--requests", 'r', "FILE", .plan_key = "requests.file",
     .doc = "Request file: JSON Lines with prompt or messages, and optionally max_tokens or other body keys. Plain, "
            "gzip or zstd; a pipe works too."},
    {"--count", 'n', "N", .plan_key = "requests.count",
     .doc = "Number of requests, of each load if there are several. If the file has fewer, it is repeated. Random "
            "prompts need it, unless --for is given."},
    WORK_OPTIONS,
    LOAD_OPTIONS(run_choices),
    {"--engine", 0, "KIND",
     .field =
         TEXT(run_choices, engines,
              "Kind of engine, where openai is any server with that API; found from the command unless given. With "
              "--dry-run several, joined by commas: what the plan's settings become for each, and what differs.",
              .names = engine_kind_names)},
    {"--name", 0, "TEXT", .plan_key = "name", .doc = "Label for people; it becomes part of the folder's name."},
    {"--despite-preflight", 0, NULL,
     .field =
         BOOL(run_choices, despite_preflight, "Run even if the machine is busy; the run is recorded, but excluded.")},
    LIFE_OPTIONS(run_choices),
};

static bool sets_kind(const struct args *args)
{
    bool any = false;
    for (size_t i = 0; i < args->many.count; i++)
        any = any || span_is((struct span){args->many.items[i], strcspn(args->many.items[i], "=")}, "engine.kind");
    return any;
}

/* One engine of --engine is the plan's; several can only be looked at. */
static bool take_engine(const struct run_choices *o, const struct args *args, struct arena *a, struct plan *plan,
                        enum engine_kind ret_kinds[ENGINE_KIND_COUNT], size_t *ret_n, struct err *e)
{
    *ret_n = 0;
    if (o->engines && !engines_read(o->engines, a, ret_kinds, ret_n, e))
        return false;
    if (*ret_n && sets_kind(args))
        return err_set(e, ERR_PLAN, "--engine and --set engine.kind both say the kind of engine. Keep one of them.");
    if (*ret_n > 1 && !o->life.dry_run)
        return err_set(e, ERR_USAGE,
                       "A run is of one engine. Add --dry-run to see what differs between them, and then run each by "
                       "itself: --engine %s, --engine %s.",
                       engine_kind_names[ret_kinds[0]], engine_kind_names[ret_kinds[1]]);
    if (*ret_n)
        plan->engine.kind = ret_kinds[0];
    return true;
}

static bool run_run(struct call *call, struct err *e)
{
    const struct run_choices *o = call->options;
    struct plan *plan = arena_alloc(call->arena, sizeof *plan);
    enum engine_kind kinds[ENGINE_KIND_COUNT];
    size_t n;
    struct life life = {.plan = plan, .options = &o->life, .despite_preflight = o->despite_preflight};
    if (!plan_args_make(call->command, call->args, call->arena, plan, &life.plan_source, e))
        return false;
    if (!take_engine(o, call->args, call->arena, plan, kinds, &n, e))
        return false;
    if (n > 1)
        return engines_show(plan, kinds, n, call->arena, call->out, e);
    if (!load_args_apply(&o->load, args_given(call->command, call->args, "--count"), call->arena, plan, e))
        return false;
    call->code = life_run(&life, call->arena);
    return true;
}

const struct command cmd_run = {
    .name = "run",
    .brief = "measure one whole life of an inference service on real GPUs",
    .operands = "[PLAN.yaml] [-- COMMAND ...]",
    .operands_max = 1,
    .takes_rest = true,
    .summary = "Measures one whole life of an inference service on real GPUs: idle baseline, start, warm-up, all "
               "requests at once or other loads, stop, and release. Writes a new run folder, then prints its path and "
               "the result.",
    .more =
        "Give a plan (a YAML file), an engine command after --, or both; the command then replaces the plan's. Keys "
        "that you leave out have the method's defaults. --dry-run prints every key with its meaning.\n"
        "Before the start, jtok names everything in the request file that it will not send, such as extra columns or "
        "keys that the plan sets.\n"
        "All requests at once is the method's load, and the only one of a formal run. With --concurrency, --rate, "
        "--trace or --loads the run is valid or excluded, never formal, and each load has a result of its own: after "
        "12 s of silence the first one, after 5 s each further one, all in one life. Latencies count from the time at "
        "which a request was meant to be sent.\n"
        "The command may be a docker run or podman run; or name an image in engine.container. The container gets the "
        "GPUs by UUID and the model's folder, its image is run by its id, and nothing is pulled. It is removed "
        "whatever "
        "happens.\n"
        "Ctrl-C stops the engine, waits for its release, and keeps the records. A second Ctrl-C cuts the wait short.",
    .example = "jtok run --gpus 0 --requests prompts.jsonl -- \\\n"
               "    vllm serve meta-llama/Llama-3.1-8B-Instruct\n"
               "jtok run --gpus 0 --input-tokens 1024 --output-tokens 128..512 -n 500 -- \\\n"
               "    vllm serve meta-llama/Llama-3.1-8B-Instruct\n"
               "jtok run plan.yaml --set requests.count=200\n"
               "jtok run settings.yaml --engine vllm,sglang --dry-run\n"
               "jtok run plan.yaml --loads concurrency=1,8,64,burst --for 60s \\\n"
               "    --slo ttft=2s,tpot=50ms",
    .exits = EXIT_BIT(EXIT_EXCLUDED) | EXIT_BIT(EXIT_PLAN) | EXIT_BIT(EXIT_DEVICE) | EXIT_BIT(EXIT_BUSY) |
             EXIT_BIT(EXIT_ENGINE) | EXIT_BIT(EXIT_RECORDS) | EXIT_BIT(EXIT_INTERRUPTED),
    .options = run_rows,
    .option_count = SCHEMA_COUNT(run_rows),
    .options_size = sizeof(struct run_choices),
    .run = run_run,
};
