#include "app/demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/must.h"
#include "schema/problems.h"
#include "store/plan_yaml.h"
#include "text/json.h"

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
                       "The simulation is not next to the program: %s is missing. Build the target \"all\", or install "
                       "the simulation of the package.",
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
    for (int i = 0; i < DEMO_PROMPTS; i++) {
        fprintf(f, "{\"prompt\":\"%d: %s %s", i, tasks[i % 10], things[i / 10 % 10]);
        for (int k = 0; k < i % 37; k++)
            fprintf(f, ", point %d in detail", k);
        fprintf(f, ".\"}\n");
    }
    if (fclose(f) != 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be written", path);
    return true;
}

/* A path may hold what means something to YAML; a JSON text is one of YAML's. */
static const char *quoted(const char *path, struct arena *a)
{
    struct buf b = {0};
    struct json_writer w;
    json_writer_init(&w, &b, 0);
    json_put_text(&w, path);
    const char *text = arena_text(a, buf_text(&b));
    buf_done(&b);
    return text;
}

/* The demo's plan is an ordinary plan file, so that whatever a plan can do is tried by it. */
static const char *plan_text(const struct demo_options *o, const char *engine, const char *library, const char *prompts,
                             struct arena *a)
{
    return arena_format(
        a,
        "name: demo\nmodel: {id: simulated/llama-8b-shape, precision: bfloat16, total_parameters: 8.03e9}\nengine:\n  "
        "kind: vllm\n  simulated: true\n  command: [%s, serve, simulated/llama-8b-shape, --max-model-len, 8192, "
        "--tensor-parallel-size, %lld,\n            --sim-start-s, %s, --sim-stop-s, 0.6, --sim-release-s, "
        "1%s]\nrequests:\n  file: %s\n  count: %lld\n  lengths: {kind: lognormal, median: 120, sigma: 0.6, min: 16, "
        "max: 400, seed: 1, ignore_eos: true}\npower: {library: %s}\n%s",
        quoted(engine, a), (long long)o->gpus, o->quick ? "1.5" : "5",
        o->lagging ? ", --sim-front-tokens-per-s, 3000" : "", quoted(prompts, a), (long long)o->count,
        quoted(library, a), o->quick ? "method: {baseline_s: 3, hold_s: 3, grid_s: 0.25}\n" : "");
}

static bool make_plan(const struct demo_options *o, const char *scratch, struct arena *a, struct plan *plan,
                      struct err *e)
{
    const char *folder = NULL, *engine = NULL, *library = NULL;
    if (!own_folder(a, &folder, e) || !find_part(a, folder, "jtok-sim-engine", &engine, e) ||
        !find_part(a, folder, "libnvidia-ml.so.1", &library, e))
        return false;
    const char *prompts = arena_format(a, "%s/demo-prompts.jsonl", scratch);
    if (!write_prompts(prompts, e))
        return false;
    setenv("JTOK_SIM_STATE", arena_format(a, "%s/gpu-state", scratch), 0);
    setenv("JTOK_SIM_GPUS", arena_format(a, "%lld", (long long)o->gpus), 0);
    struct problems problems;
    problems_init(&problems, a, NULL);
    plan_defaults(plan);
    plan_yaml_read(plan, "demo", span_of(plan_text(o, engine, library, prompts, a)), &problems);
    return problems_none(&problems, ERR_PLAN, e);
}

bool demo_open(const struct demo_options *o, struct arena *a, struct plan *plan, const char **ret_folder, struct err *e)
{
    must(o->gpus >= 1 && o->gpus <= DEMO_GPUS_MAX && o->count >= 1);
    struct path folder;
    if (!file_scratch_folder("demo", &folder, e))
        return false;
    const char *scratch = arena_text(a, folder.text);
    if (!make_plan(o, scratch, a, plan, e)) {
        demo_close(scratch);
        return false;
    }
    *ret_folder = scratch;
    return true;
}

void demo_complete(struct plan *plan)
{
    struct plan_random *r = &plan->requests.random;
    if (plan_is_random(plan) && r->vocabulary == ABSENT_I64)
        r->vocabulary = DEMO_VOCABULARY;
}

void demo_close(const char *folder)
{
    static const char *const names[] = {"demo-prompts.jsonl", "gpu-state"};
    char path[4200];
    if (!folder)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}
