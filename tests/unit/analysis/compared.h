/* Runs for tests of comparisons: a formal result with its plan and what is known about the run, by hand. */
#ifndef JTOK_TESTS_COMPARED_H
#define JTOK_TESTS_COMPARED_H

#include "check.h"
#include "analysis/compare.h"

/* One run, with room to spoil any part of it. */
struct made {
    struct result result;
    struct plan plan;
    struct rec_run run;
    struct compare_run as;
};

static inline struct quantity q(double value, double instrument, double calibration)
{
    struct quantity k = quantity_of(value);
    k.instrument = instrument;
    k.calibration = calibration;
    return k;
}

/* Run `id`, the `place`-th in time. */
static inline struct made *made_run(struct arena *a, const char *id, int place, double j_per_token)
{
    struct made *m = arena_alloc(a, sizeof *m);
    struct result *r = &m->result;
    result_absent(r, a, "not in this test");
    r->about.run_id = id;
    r->about.model = "example/Model-8B";
    r->about.revision = "0123";
    r->about.scenario = "chat";
    r->about.requests_sha256 = "aa";
    r->about.work_sha256 = "ww";
    r->about.engine = "vllm";
    r->about.engine_version = "1.0";
    r->about.total_parameters = 8e9;
    r->formal = true;
    r->gpu_count = 1;
    r->gpus = arena_array(a, 1, sizeof *r->gpus);
    r->gpus[0] = (struct result_gpu){.uuid = "GPU-1",
                                     .name = "NVIDIA H200",
                                     .power_limit_w = 700,
                                     .partitioned = 0,
                                     .instant_source = "field 186 scope 0"};
    for (size_t i = 0; i < r->check_count; i++)
        r->checks[i].outcome = CHECK_PASSED;
    for (size_t i = 0; i < r->flag_count; i++)
        r->flags[i].outcome = CHECK_PASSED;
    r->load.output_tokens = 1000000;
    r->metrics.steady_j_per_token = q(j_per_token, 0.003, 0.06 * j_per_token);
    r->metrics.formal_j_per_token = q(j_per_token, 0.004, 0.06 * j_per_token);
    r->metrics.throughput_tok_s = quantity_of(15000);
    r->load.ttft_s.p50 = quantity_of(18);
    r->load.tpot_s.p50 = quantity_of(0.02);

    const char **command = arena_array(a, 6, sizeof *command);
    const char *const words[] = {"vllm", "serve", "/models/m", "--port", "8000", "--quick"};
    memcpy(command, words, sizeof words);
    struct field_pair *env = arena_array(a, 1, sizeof *env);
    env[0] = (struct field_pair){"VLLM_USE_V1", "1"};
    const char **gpus = arena_array(a, 1, sizeof *gpus);
    gpus[0] = "GPU-1";
    struct plan *p = &m->plan;
    plan_defaults(p);
    p->name = id;
    p->scenario = "chat";
    p->model.id = "example/Model-8B";
    p->model.revision = "0123";
    p->model.precision = "bf16";
    p->model.snapshot = "/models/m";
    p->model.snapshot_sha256 = "ss";
    p->engine.command = command;
    p->engine.command_count = 6;
    p->engine.env = env;
    p->engine.env_count = 1;
    p->engine.port = 8000;
    p->gpus = gpus;
    p->gpu_count = 1;
    p->requests.file = "/data/prompts.jsonl";
    p->requests.sha256 = "aa";
    p->requests.work_sha256 = "ww";
    p->requests.temperature = 0.7;

    struct field_pair *inherited = arena_array(a, 3, sizeof *inherited);
    inherited[0] = (struct field_pair){"VLLM_CACHE_ROOT", arena_format(a, "/runs/%s/cache", id)};
    inherited[1] = (struct field_pair){"HOME", "/root"};
    inherited[2] = (struct field_pair){"NCCL_P2P_DISABLE", "1"};
    m->run = (struct rec_run){.id = id,
                              .began_realtime_ns = INT64_C(1790000000000000000) + place * INT64_C(100000000000),
                              .host = "node1",
                              .driver_version = "580",
                              .cpu = "EPYC",
                              .environment = inherited,
                              .environment_count = 3};
    m->as = (struct compare_run){&m->result, &m->plan, &m->run, ABSENT_I64};
    return m;
}

static inline bool told(const struct sentences *s, const char *part)
{
    for (size_t i = 0; i < s->count; i++)
        if (strstr(s->items[i], part))
            return true;
    return false;
}

static inline void assert_told(const struct sentences *s, const char *part)
{
    if (told(s, part))
        return;
    print_error("\"%s\" is in none of %zu:\n", part, s->count);
    for (size_t i = 0; i < s->count; i++)
        print_error("  %s\n", s->items[i]);
    fail();
}

/* Deterministic draws: splitmix64 and Box and Muller. */
static inline double draw_uniform(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static inline double draw_normal(uint64_t *state)
{
    double r = sqrt(-2 * log(draw_uniform(state)));
    return r * cos(6.283185307179586 * draw_uniform(state));
}

#endif
