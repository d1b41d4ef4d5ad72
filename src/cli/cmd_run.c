#include <stdio.h>
#include <string.h>
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/life.h"
#include "model/plan.h"
#include "schema/set.h"
#include "store/plan_yaml.h"

struct choices {
    const char *gpus, *requests, *runs, *name, *format, *engine;
    int64_t count, max_tokens;
    struct arg_list set;
    bool dry_run, quiet, despite_preflight;
};

/* Key paths that the command line has set, each with the words that did it: none is set twice. */
struct set_keys {
    struct {
        struct span key;
        const char *words;
    } items[ARGS_LIST_MAX + 16];
    size_t count;
};

static bool set_once(struct set_keys *k, struct span key, const char *words, struct problems *problems)
{
    for (size_t i = 0; i < k->count; i++)
        if (k->items[i].key.n == key.n && memcmp(k->items[i].key.p, key.p, key.n) == 0) {
            problems_add_at(problems, NULL, 0, 0, NULL, "\"%s\" and \"%s\" both set %.*s; keep one of them",
                            k->items[i].words, words, SPAN_ARG(key));
            return false;
        }
    k->items[k->count].key = key;
    k->items[k->count++].words = words;
    return true;
}

/* One option as the plan key that it stands for, typed and told as --set would be. */
static void set_key(struct plan *p, struct set_keys *k, const char *option, const char *key, const char *value,
                    struct problems *problems)
{
    if (value && set_once(k, span_of(key), arena_format(problems->arena, "%s %s", option, value), problems))
        schema_set(&plan_schema, p, option, 1, span_of(key), span_of(value), problems);
}

static void set_argument(struct plan *p, struct set_keys *k, const char *argument, struct problems *problems)
{
    struct span key = {argument, strcspn(argument, "=")};
    int shown = strncmp(argument, "engine.env", 10) == 0 ? (int)key.n : (int)strlen(argument); /* may be a secret */
    if (set_once(k, span_trim(key), arena_format(problems->arena, "--set %.*s", shown, argument), problems))
        schema_set_argument(&plan_schema, p, argument, problems);
}

static void apply(struct plan *p, const struct choices *c, struct arena *a, struct problems *problems)
{
    struct set_keys keys = {0}, *k = &keys;
    set_key(p, k, "--gpus", "gpus", c->gpus ? arena_format(a, "[%s]", c->gpus) : NULL, problems);
    set_key(p, k, "--requests", "requests.file", c->requests, problems);
    set_key(p, k, "--runs", "runs", c->runs, problems);
    set_key(p, k, "--name", "name", c->name, problems);
    set_key(p, k, "--engine", "engine.kind", c->engine, problems);
    if (c->count != ABSENT_I64)
        set_key(p, k, "--count", "requests.count", arena_format(a, "%lld", (long long)c->count), problems);
    if (c->max_tokens != ABSENT_I64) {
        set_key(p, k, "--output-tokens", "requests.lengths.kind", "fixed", problems);
        set_key(p, k, "--output-tokens", "requests.lengths.tokens", arena_format(a, "%lld", (long long)c->max_tokens),
                problems);
        set_key(p, k, "--output-tokens", "requests.lengths.ignore_eos", "true", problems);
    }
    for (size_t i = 0; i < c->set.count; i++)
        set_argument(p, k, c->set.items[i], problems);
}

static void take_command(struct plan *p, const struct args *args, struct arena *a)
{
    p->engine.command = arena_array(a, args->rest_count, sizeof *p->engine.command);
    p->engine.command_count = args->rest_count;
    for (size_t i = 0; i < args->rest_count; i++)
        p->engine.command[i] = args->rest[i];
}

int cmd_run(int argc, char **argv)
{
    struct choices c = {.format = "text", .count = ABSENT_I64, .max_tokens = ABSENT_I64};
    const struct arg options[] = {
        {"--gpus", ARG_TEXT, "LIST", "GPUs to use and measure: indexes, UUIDs, PCI addresses, or all", &c.gpus, 'g'},
        {"--requests", ARG_TEXT, "FILE",
         "formal requests: JSON Lines with prompt or messages, each with its own max_tokens or body keys where it has "
         "some; "
         "plain, gzip or zstd, also a pipe",
         &c.requests, 'r'},
        {"--count", ARG_I64, "N", "number of formal requests; more than the file holds repeats it", &c.count, 'n'},
        {"--output-tokens", ARG_I64, "N", "force every answer to N tokens (ignore_eos)", &c.max_tokens, 0},
        {"--engine", ARG_TEXT, "KIND", "vllm (default) or openai: any server with that interface", &c.engine, 0},
        {"--set", ARG_LIST, "KEY=VALUE", "set any key of the plan; may be given often", &c.set, 's'},
        {"--runs", ARG_TEXT, "FOLDER", "where run folders are made (default: runs)", &c.runs, 'o'},
        {"--name", ARG_TEXT, "TEXT", "a label for people; becomes part of the folder's name", &c.name, 0},
        {"--format", ARG_TEXT, "NAME", "of the result on stdout: text (default), json, csv or none", &c.format, 0},
        {"--dry-run", ARG_FLAG, NULL, "resolve the plan, print it, start nothing", &c.dry_run, 0},
        {"--despite-preflight", ARG_FLAG, NULL, "go on on a busy machine; the run is recorded and excluded",
         &c.despite_preflight, 0},
        {"--quiet", ARG_FLAG, NULL, "no progress", &c.quiet, 'q'},
    };
    const struct args_spec spec = {
        .command = "run",
        .operands = "[PLAN.yaml] [-- COMMAND ...]",
        .operands_max = 1,
        .summary =
            "Takes one inference service through one whole life on real GPUs: idle baseline, start, warm-up, all "
            "requests at once, stop, release. Leaves one new run folder, prints its path and the result.",
        .more =
            "The plan may be a YAML file, or an engine command behind --, or both (the command wins).\n"
            "Keys that are not given have the method's defaults; --dry-run prints them all, each with its meaning.\n"
            "What of the request file is not sent (columns of the set, keys that the plan sets) is told before the "
            "start,\n"
            "in a dry run likewise. An option that takes one value is given once.\n"
            "Ctrl-C stops the engine, watches its release and keeps the records; twice cuts that short.\n"
            "Exit code: 0 formal, 1 recorded but excluded (reasons are printed), 3 plan, 4 no GPU, 5 busy, 6 engine,\n"
            "7 records, 9 system, 130 interrupted.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .example = "jtok run --gpus 0 --requests prompts.jsonl -- vllm serve meta-llama/Llama-3.1-8B-Instruct\n"
                   "jtok run plan.yaml --set requests.count=200",
        .takes_rest = true,
    };
    struct args args;
    int code;
    if (!args_take(&spec, argc, argv, &args, &code))
        return code;
    struct err e = {0};
    struct arena a = {0};
    struct plan *plan = arena_alloc(&a, sizeof *plan);
    plan_defaults(plan);
    struct problems problems;
    problems_init(&problems, &a, NULL);
    struct span source = {0};
    if (args.operand_count == 0 && args.rest_count == 0)
        err_set(&e, ERR_USAGE, "jtok run needs a plan file, or an engine command behind \"--\". See jtok run --help.");
    if (args.operand_count)
        plan_yaml_load(plan, args.operands[0], &source, &problems);
    if (args.rest_count)
        take_command(plan, &args, &a);
    apply(plan, &c, &a, &problems);
    if (e.kind != ERR_NONE || !problems_none(&problems, ERR_PLAN, &e)) {
        code = exit_with(&e);
    } else {
        code = life_run(&(struct life){.plan = plan,
                                       .arena = &a,
                                       .plan_source = source.n ? arena_copy(&a, source.p, source.n) : NULL,
                                       .format = c.format,
                                       .dry_run = c.dry_run,
                                       .quiet = c.quiet,
                                       .despite_preflight = c.despite_preflight});
    }
    arena_done(&a);
    return code;
}
