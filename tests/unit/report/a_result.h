/* A result made by hand, for the reports' tests. */
#ifndef JTOK_TESTS_A_RESULT_H
#define JTOK_TESTS_A_RESULT_H

#include "check.h"
#include "model/result.h"

static inline struct quantity q(double value, double instrument)
{
    struct quantity k = quantity_of(value);
    k.instrument = instrument;
    k.calibration = 0.06 * value;
    return k;
}

static inline void stage(struct result *r, enum stage_id id, double start_s, double end_s, double counter, double grid,
                         double buffer)
{
    struct result_stage *s = &r->stages[id];
    s->stage = id;
    s->start_ns = (int64_t)(start_s * 1e9);
    s->end_ns = (int64_t)(end_s * 1e9);
    s->duration_s = end_s - start_s;
    s->energy.counter = q(counter, counter / 4000);
    s->energy.grid = q(grid, grid / 100);
    s->energy.buffer = q(buffer, buffer / 3000);
    s->energy.precise = q(buffer * 0.9989, buffer / 3000);
    s->energy.boundary = quantity_absent(Q_NOT_RECORDED, "no mark samples were taken");
    bool by_counter = id == STAGE_FORMAL || id == STAGE_SATURATED || id == STAGE_STEADY;
    s->energy.headline = by_counter ? s->energy.counter : s->energy.grid;
    s->energy.headline_series = by_counter ? SERIES_COUNTER : SERIES_GRID;
    s->average_w = q(s->energy.headline.value / s->duration_s, s->energy.headline.instrument / s->duration_s);
    s->grid_difference = quantity_of(grid / counter - 1);
    s->buffer_difference = quantity_of(buffer / counter - 1);
    s->sampling_error = quantity_of(s->energy.headline.value / s->energy.precise.value - 1);
}

static inline struct percentiles percentiles_of(double middle)
{
    return (struct percentiles){2499,
                                quantity_of(middle * 1.02),
                                quantity_of(middle),
                                quantity_of(middle * 1.7),
                                quantity_of(middle * 1.8),
                                quantity_of(middle * 1.9),
                                quantity_of(middle * 2)};
}

/* A run like a recorded one: excluded for its baseline, no steady state. */
static inline struct result a_result(struct arena *a)
{
    struct result r;
    result_absent(&r, a, "not in this test");
    r.about.run_id = "20261130T010000Z-llama-8b";
    r.about.method_id = "jtok-1";
    r.about.jtok_version = "0.1.0";
    r.method = method_default();
    r.about.name = "llama 8B, four API servers";
    r.about.model = "kit/llama-8b-shape";
    r.about.engine = "vllm";
    r.about.engine_version = "0.24.0";
    r.about.scenario = "arena-hard";
    stage(&r, STAGE_BASELINE, 0, 20, 1590.6, 1596.8, 1589.8);
    stage(&r, STAGE_STARTUP, 20, 158.79, 15057.1, 14906.5, 15064.6);
    stage(&r, STAGE_FORMAL, 158.79, 227.36, 44168.5, 44435.8, 44246.6);
    stage(&r, STAGE_RELEASE, 227.36, 231.22, 495.6, 535.9, 477.3);
    result_stage_of(&r, STAGE_STARTUP)->wait_s = 0.512;
    result_stage_of(&r, STAGE_STARTUP)->wait_j = q(62.4, 1.2);
    result_stage_of(&r, STAGE_STARTUP)->wait_share = quantity_of(0.0017);
    result_stage_of(&r, STAGE_RELEASE)->wait_s = 0.014;
    result_stage_of(&r, STAGE_RELEASE)->wait_j = q(1.71, 0.3);
    result_stage_of(&r, STAGE_RELEASE)->wait_share = quantity_of(0.0036);
    r.startup_phase_count = 3;
    r.startup_phases = arena_array(a, 3, sizeof *r.startup_phases);
    static const enum startup_phase phases[] = {PHASE_PROCESS, PHASE_WEIGHTS, PHASE_REST};
    for (int i = 0; i < 3; i++)
        r.startup_phases[i] = (struct result_phase){.phase = phases[i],
                                                    .duration_s = 20 + i,
                                                    .energy_j = q(2000 + i, 5),
                                                    .average_w = q((2000 + i) / (20.0 + i), 0.2)};
    stage(&r, STAGE_SATURATED, 164.6, 205.2, 26337.6, 26400, 26390);
    result_stage_of(&r, STAGE_LIFECYCLE)->stage = STAGE_LIFECYCLE;
    result_stage_of(&r, STAGE_STEADY)->stage = STAGE_STEADY;
    result_stage_of(&r, STAGE_STEADY)->why = "no steady state under gap and K = 2";
    r.gpu_count = 1;
    r.gpus = arena_array(a, 1, sizeof *r.gpus);
    r.gpus[0] = (struct result_gpu){.uuid = "GPU-5f0c0d4e-1111-2222-3333-444444444444",
                                    .name = "NVIDIA H200",
                                    .index = 0,
                                    .power_limit_w = 700,
                                    .baseline_w = q(79.53, 0.4),
                                    .baseline_sd_w = 10.3,
                                    .formal_mean_w = 644.1,
                                    .ready_level_w = quantity_of(124.3)};
    r.load.requests = 2500;
    r.load.successful = 2499;
    r.load.failed = 1;
    r.load.output_tokens = 1042561;
    r.load.prompt_tokens = 345678;
    r.load.token_chunks = 987654;
    r.load.repeated_prompts = 1750;
    r.load.token_source = TOKENS_RUNNING;
    r.load.ttft_s = percentiles_of(18.075);
    r.load.tpot_s = percentiles_of(0.05267);
    r.load.e2e_s = percentiles_of(40.1);
    r.load.itl_per_token = false;
    r.load.itl_s = percentiles_of(0.051);
    r.load.failures = arena_array(a, 1, sizeof *r.load.failures);
    r.load.failure_count = 1;
    r.load.failures[0] = (struct result_failure){VERDICT_HTTP_STATUS, 1, 2483, 400,
                                                 "HTTP 400: This model's maximum context length is 8192 tokens."};
    r.metrics.formal_j_per_token = q(0.0423653, 0.000106);
    r.metrics.saturated_j_per_token = q(0.0336423, 0.0000084);
    r.metrics.lifecycle_j_per_token = q(0.0571787, 0.00016);
    r.metrics.steady_j_per_token =
        quantity_absent(Q_NOT_REACHED, "no 2 consecutive windows under CV 0.03: lowest 0.0144 in window 2110");
    r.metrics.startup_j = q(14906.5, 149);
    r.metrics.release_j = q(535.9, 80);
    r.metrics.throughput_tok_s = quantity_of(15204.2);
    r.metrics.formal_w = q(644.1, 0.16);
    r.steady.why = "no 2 consecutive windows under CV 0.03: lowest 0.0144 in window 2110";
    r.checks[CODE_BASELINE_NOT_IDLE] = (struct result_check){
        CODE_BASELINE_NOT_IDLE, CHECK_FAILED,
        "Not idle in the baseline window: GPU 0: the standard deviation 10.3 W is over its limit of 1.6 W."};
    r.checks[CODE_USAGE_DISAGREES] =
        (struct result_check){CODE_USAGE_DISAGREES, CHECK_NOT_RECORDED,
                              "No two readings of the engine's count after the formal stage agree."};
    for (enum check_code i = 0; i < CODE_COUNT; i++)
        if (r.checks[i].outcome == CHECK_NOT_CHECKED)
            r.checks[i] = (struct result_check){i, CHECK_PASSED, "As it should be."};
    for (enum flag_code i = 0; i < FLAG_COUNT; i++)
        r.flags[i] = (struct result_flag){
            i, i == FLAG_STEADY_NOT_REACHED || i == FLAG_REPEATED_PROMPTS ? CHECK_FAILED : CHECK_PASSED, "The reason.",
            NAN, NAN};
    return r;
}

#endif
