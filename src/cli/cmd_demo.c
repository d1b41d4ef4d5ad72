/* The main job on the built-in simulation: the same code path, a real child process, real sockets, a real dlopen. Only
 * this file knows where the simulation lies; it reaches the run through ordinary plan fields. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/life.h"
#include "app/prove.h"
#include "schema/set.h"
#include "store/plan_yaml.h"

enum { PROMPTS = 600 };

/* The folder of this executable. */
static bool own_folder(struct arena *a, const char **ret_folder, struct err *e)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "The program's own path can't be read from /proc/self/exe");
    path[n] = 0;
    *strrchr(path, '/') = 0;
    *ret_folder = arena_text(a, path);
    return true;
}

static bool find_part(struct arena *a, const char *folder, const char *name, const char **ret_path, struct err *e)
{
    const char *path = arena_format(a, "%s/%s", folder, name);
    if (access(path, R_OK) != 0)
        return err_set(e, ERR_SYSTEM,
                       "The simulation is not beside the program: %s is missing. Build the target \"all\", or "
                       "install the package's simulation.",
                       path);
    *ret_path = path;
    return true;
}

/* Prompts of many lengths that share no opening, the same in every demo. */
static bool write_prompts(const char *path, struct err *e)
{
    static const char *const tasks[] = {"Explain",   "Summarise", "Translate", "Compare",  "Write a test for",
                                        "Criticise", "Draft",     "Outline",   "Estimate", "Describe"};
    static const char *const things[] = {"a heat pump",      "the tides",     "a parser",      "the grid at noon",
                                         "a chess opening",  "supply chains", "a sorting bug", "the water cycle",
                                         "a rail timetable", "photosynthesis"};
    FILE *f = fopen(path, "we");
    if (!f)
        return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be written", path);
    for (int i = 0; i < PROMPTS; i++) {
        fprintf(f, "{\"prompt\":\"%d: %s %s", i, tasks[i % 10], things[i / 10 % 10]);
        for (int k = 0; k < i % 37; k++)
            fprintf(f, ", point %d in detail", k);
        fprintf(f, ".\"}\n");
    }
    if (fclose(f) != 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be written", path);
    return true;
}

struct demo {
    const char *runs, *format;
    struct arg_list set;
    int64_t count, gpus;
    bool quick, quiet, dry_run, lagging;
};

static bool make_plan(const struct demo *d, struct plan *p, struct arena *a, const char *scratch, struct err *e)
{
    const char *folder = NULL, *engine = NULL, *library = NULL;
    if (!own_folder(a, &folder, e) || !find_part(a, folder, "jtok-sim-engine", &engine, e) ||
        !find_part(a, folder, "libnvidia-ml.so.1", &library, e))
        return false;
    const char *prompts = arena_format(a, "%s/demo-prompts.jsonl", scratch);
    if (!write_prompts(prompts, e))
        return false;
    setenv("JTOK_SIM_STATE", arena_format(a, "%s/gpu-state", scratch), 0);
    setenv("JTOK_SIM_GPUS", arena_format(a, "%lld", (long long)d->gpus), 0);

    const char *text = arena_format(
        a,
        "name: demo\n"
        "model: {id: simulated/llama-8b-shape, precision: bfloat16, total_parameters: 8.03e9}\n"
        "engine:\n"
        "  kind: vllm\n"
        "  simulated: true\n"
        "  command: [%s, serve, simulated/llama-8b-shape, --max-model-len, 8192, --tensor-parallel-size, %lld,\n"
        "            --sim-start-s, %s, --sim-stop-s, 0.6, --sim-release-s, 1%s]\n"
        "requests:\n"
        "  file: %s\n"
        "  count: %lld\n"
        "  lengths: {kind: lognormal, median: 120, sigma: 0.6, min: 16, max: 400, seed: 1, ignore_eos: true}\n"
        "power: {library: %s}\n"
        "%s",
        engine, (long long)d->gpus, d->quick ? "1.5" : "5", d->lagging ? ", --sim-front-tokens-per-s, 3000" : "",
        prompts, (long long)d->count, library, d->quick ? "method: {baseline_s: 3, hold_s: 3, grid_s: 0.25}\n" : "");
    struct problems problems;
    problems_init(&problems, a, NULL);
    plan_yaml_read(p, "demo", span_of(text), &problems);
    p->runs = d->runs;
    for (size_t i = 0; i < d->set.count; i++)
        schema_set_argument(&plan_schema, p, d->set.items[i], &problems);
    return problems_none(&problems, ERR_PLAN, e);
}

static void remove_scratch(const char *folder)
{
    static const char *const names[] = {"demo-prompts.jsonl", "gpu-state"};
    char path[4200];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* Going through and proving its records is what counts, not being formal. */
static int judge_demo(const struct measurement *m, struct arena *a)
{
    struct err e;
    if (!m->outcome.went_through)
        return EXIT_EXCLUDED;
    return prove_records(m->outcome.folder, m->evaluation, a, &e) ? EXIT_OK : exit_with(&e);
}

int cmd_demo(int argc, char **argv)
{
    struct demo d = {.runs = "runs", .format = "text", .count = PROMPTS, .gpus = 1};
    const struct arg options[] = {
        {"--quick", ARG_FLAG, NULL, "shorten the method's durations: some 20 s, excluded as method_shortened", &d.quick,
         0},
        {"--count", ARG_I64, "N", "number of formal requests (default 600)", &d.count, 'n'},
        {"--gpus", ARG_I64, "N", "number of simulated GPUs (default 1)", &d.gpus, 0},
        {"--lagging", ARG_FLAG, NULL, "a front end that delivers more slowly than the GPU generates", &d.lagging, 0},
        {"--set", ARG_LIST, "KEY=VALUE", "set any key of the plan; may be given often", &d.set, 's'},
        {"--runs", ARG_TEXT, "FOLDER", "where run folders are made (default: runs)", &d.runs, 'o'},
        {"--format", ARG_TEXT, "NAME", "of the result on stdout: text (default), json, csv or none", &d.format, 0},
        {"--dry-run", ARG_FLAG, NULL, "print the resolved plan, start nothing", &d.dry_run, 0},
        {"--quiet", ARG_FLAG, NULL, "no progress", &d.quiet, 'q'},
    };
    const struct args_spec spec = {
        .command = "demo",
        .summary =
            "The main job on the built-in simulated engine and GPU: same code path, no hardware. Every output carries "
            "the mark \"simulated\".",
        .more = "Exit code: 0 when the lifecycle went through and its records verify.",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .example = "jtok demo --quick",
    };
    struct args args;
    int code;
    if (!args_take(&spec, argc, argv, &args, &code))
        return code;
    struct err e = {0};
    struct arena a = {0};
    struct plan *plan = arena_alloc(&a, sizeof *plan);
    plan_defaults(plan);
    const char *base = getenv("TMPDIR");
    char *scratch = arena_format(&a, "%s/jtok-demo-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(scratch)) {
        err_set_errno(&e, ERR_SYSTEM, errno, "No folder for the demo's scratch files: %s", scratch);
        code = exit_with(&e);
    } else if (d.gpus < 1 || d.gpus > 8) {
        err_set(&e, ERR_USAGE, "--gpus %lld: the simulation has 1 to 8 GPUs.", (long long)d.gpus);
        code = exit_with(&e);
    } else if (!make_plan(&d, plan, &a, scratch, &e)) {
        code = exit_with(&e);
    } else {
        code = life_run(&(struct life){.plan = plan,
                                       .arena = &a,
                                       .format = d.format,
                                       .dry_run = d.dry_run,
                                       .quiet = d.quiet,
                                       .judge = judge_demo});
    }
    remove_scratch(scratch);
    arena_done(&a);
    return code;
}
