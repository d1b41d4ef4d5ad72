#include "model/result.h"

#include <math.h>
#include <string.h>
#include "base/must.h"
#include "schema/table.h"

const char *const stage_id_names[] = {"baseline", "startup",   "formal", "release", "lifecycle",
                                      "steady",   "saturated", "window", NULL};
const char *const run_standing_names[] = {"excluded", "valid", "formal", NULL};
const char *const series_id_names[] = {"grid", "marks", "counter", "buffer", "precise", "mixed", NULL};
const char *const doubt_source_names[] = {"none", "precise", "counter", "successive", NULL};
const char *const startup_phase_names[] = {"process", "weights", "compile", "graphs", "serving",
                                           "ready",   "warmup",  "rest",    NULL};
const char *const token_source_names[] = {"running_counts", "spread", "mixed", "none", NULL};
const char *const curve_source_names[] = {"none", "buffer", "counter", "grid", NULL};

/* ---- the table: each field once ---- */

static const struct field energy_set_fields[] = {
    QUANTITY(energy_set, headline, "By the method's headline instrument.", UNIT("J")),
    ENUM(energy_set, headline_series, series_id, "The series that the headline is."),
    QUANTITY(energy_set, grid, "Trapezoid over the 1 s grid of instantaneous power.", UNIT("J")),
    QUANTITY_AS("marks", energy_set, boundary, "The same with the boundary samples.", UNIT("J")),
    QUANTITY(energy_set, counter, "Energy counter, between change points.", UNIT("J")),
    QUANTITY(energy_set, buffer, "Trapezoid over the 20 ms buffer.", UNIT("J")),
    QUANTITY(energy_set, precise, "Buffer times the factor of GPU and run.", UNIT("J")),
};
const struct schema energy_set_schema = SCHEMA(energy_set, "Energy of one stretch of time by every instrument.");

static const struct field result_stage_gpu_fields[] = {
    I64(result_stage_gpu, gpu, "Position in `gpus`."),
    OBJECT(result_stage_gpu, energy, energy_set, "Energy of this GPU."),
    QUANTITY(result_stage_gpu, average_w, "Headline energy over duration.", UNIT("W")),
    F64(result_stage_gpu, grid_gap_s, "Longest distance of grid samples that touches the stage.", UNIT("s")),
    F64(result_stage_gpu, buffer_gap_s, "The same of the buffer.", UNIT("s")),
    F64(result_stage_gpu, counter_gap_s, "The same of counter change points.", UNIT("s")),
    BOOL(result_stage_gpu, grid_gap, "Over 2.5 periods."),
    BOOL(result_stage_gpu, buffer_gap, "Over 60 ms."),
    TEXT(result_stage_gpu, counter_void, "Why the counter is void in this stage."),
    ENUM(result_stage_gpu, grid_doubt, doubt_source, "What the grid's instrument doubt was found against."),
    QUANTITY(result_stage_gpu, counter_disagreement, "Unscaled buffer over the counter at t + L, minus 1."),
    QUANTITY(result_stage_gpu, grid_disagreement, "Grid over counter, minus 1."),
    F64(result_stage_gpu, grid_disagreement_limit, "The larger of 10 % and twice the grid's successive differences."),
};
static const struct schema result_stage_gpu_schema = SCHEMA(result_stage_gpu, "One GPU in one stage.");

static const struct field result_stage_fields[] = {
    ENUM(result_stage, stage, stage_id, "Name.", FLAGS(FIELD_NAMES_ITEM)),
    I64(result_stage, start_ns, "Since the run began.", UNIT("ns")),
    I64(result_stage, end_ns, "Since the run began.", UNIT("ns")),
    F64(result_stage, duration_s, "End minus start.", UNIT("s")),
    TEXT(result_stage, why, "Why the stage is missing."),
    OBJECT(result_stage, energy, energy_set, "All GPUs together."),
    QUANTITY(result_stage, average_w, "Headline over duration, all GPUs together.", UNIT("W")),
    QUANTITY(result_stage, sampling_error, "Headline over precise, minus 1."),
    QUANTITY(result_stage, grid_difference, "Grid over counter, minus 1."),
    QUANTITY(result_stage, buffer_difference, "Buffer over counter, minus 1."),
    BOOL(result_stage, grid_gap, "A gap in the grid on some GPU."),
    BOOL(result_stage, buffer_gap, "A gap in the buffer on some GPU."),
    BOOL(result_stage, counter_void, "A void counter on some GPU."),
    TEXT(result_stage, contradiction, "Two instruments further apart than their doubts."),
    OBJECTS(result_stage, gpus, gpu_count, result_stage_gpu, "Each GPU."),
    F64(result_stage, wait_s, "jtok's own waits: warm-up to formal start, formal end to stop.", UNIT("s")),
    QUANTITY(result_stage, wait_j, "Energy of the waits: precise, else counter.", UNIT("J")),
    QUANTITY(result_stage, wait_share,
             "Of the stage's energy by the same basis, without the silence before the formal start."),
};
static const struct schema result_stage_schema = SCHEMA(result_stage, "One stage of the run.");

static const struct field result_identity_fields[] = {
    TEXT(result_identity, name, "The property."),
    ENUM_AS("state", result_identity, state, check_outcome,
            "passed: verified; failed: wrong; not_judged: not verifiable; or not_stated."),
    TEXT(result_identity, stated, "What the plan states."),
    TEXT(result_identity, seen, "What the engine says."),
    TEXT(result_identity, source, "Where it says it, and what another place says otherwise."),
};
static const struct schema result_identity_schema = SCHEMA(result_identity, "A property of the engine.");

static const struct field result_phase_fields[] = {
    ENUM(result_phase, phase, startup_phase, "Name: what it ends with; or the rest.", FLAGS(FIELD_NAMES_ITEM)),
    I64(result_phase, start_ns, "Since the run began.", UNIT("ns")),
    I64(result_phase, end_ns, "Since the run began.", UNIT("ns")),
    F64(result_phase, start_s, "From service_start.", UNIT("s")),
    F64(result_phase, duration_s, "End minus start.", UNIT("s")),
    QUANTITY(result_phase, energy_j, "Precise where the startup has it, else counter.", UNIT("J")),
    QUANTITY(result_phase, average_w, "Energy over duration.", UNIT("W")),
};
static const struct schema result_phase_schema = SCHEMA(result_phase, "One phase of the startup.");

static const struct field result_gpu_fields[] = {
    TEXT(result_gpu, uuid, "UUID."),
    TEXT(result_gpu, name, "Product name."),
    I64(result_gpu, index, "Index as the driver gives it."),
    F64(result_gpu, power_limit_w, "Enforced limit.", UNIT("W")),
    I64_AS("mig", result_gpu, partitioned,
           "1: split into parts that share its power (MIG); 0: whole; null: it can't be split, or not recorded."),
    TEXT(result_gpu, instant_source, "Which of the device's powers the grid holds."),
    QUANTITY(result_gpu, factor, "Counter over buffer from service_start to release_end."),
    QUANTITY(result_gpu, counter_lag_s, "L, the delay of the counter.", UNIT("s")),
    QUANTITY(result_gpu, baseline_w, "Time-weighted mean of the accepted window.", UNIT("W")),
    F64(result_gpu, baseline_sd_w, "Population standard deviation of its samples.", UNIT("W")),
    F64(result_gpu, baseline_half_1_w, "Mean of the first half.", UNIT("W")),
    F64(result_gpu, baseline_half_2_w, "Mean of the second half.", UNIT("W")),
    I64(result_gpu, baseline_utilisation_max, "Highest utilisation in it.", UNIT("%")),
    I64(result_gpu, baseline_processes_max, "Most compute processes in it."),
    ENUM(result_gpu, baseline_idle, check_outcome, "Was this GPU idle?"),
    TEXT(result_gpu, baseline_why, "What was not idle."),
    QUANTITY(result_gpu, memory_released_s, "From formal_end.", UNIT("s")),
    QUANTITY(result_gpu, power_recovered_s, "From formal_end; this GPU alone.", UNIT("s")),
    QUANTITY(result_gpu, ready_level_w, "Lowest 0.1 s mean from ready to formal_end.", UNIT("W")),
    F64(result_gpu, formal_mean_w, "Mean over the formal stage by the buffer.", UNIT("W")),
    I64(result_gpu, buffer_marked, "Buffer stamps left out beside a clock step."),
};
static const struct schema result_gpu_schema = SCHEMA(result_gpu, "One GPU over the run.");

static const struct field result_release_fields[] = {
    BOOL(result_release, closed, "Exit, memory and power all reached."),
    BOOL(result_release, timed_out, "The maximum wait passed first."),
    TEXT(result_release, why, "What is missing."),
    QUANTITY(result_release, exit_s, "From formal_end.", UNIT("s")),
    QUANTITY(result_release, memory_released_s, "From formal_end, all GPUs.", UNIT("s")),
    QUANTITY(result_release, power_recovered_s, "From formal_end, all GPUs.", UNIT("s")),
    QUANTITY(result_release, end_s, "From formal_end: the latest of the three.", UNIT("s")),
    I64(result_release, end_ns, "Since the run began.", UNIT("ns")),
    I64(result_release, hold_restarts, "Times that the hold began again after exit and memory."),
    QUANTITY(result_release, first_in_band_s, "From formal_end: the first sample in band.", UNIT("s")),
    QUANTITY(result_release, first_in_band_j, "Release energy up to that, had it been the recovery.", UNIT("J")),
    QUANTITY(result_release, resolution_j,
             "Of the recovery's moment: one period at the baseline's power, apart from the doubt.", UNIT("J")),
};
static const struct schema result_release_schema = SCHEMA(result_release, "How the release went.");

static const struct field percentiles_fields[] = {
    I64(percentiles, n, "Values."),
    QUANTITY(percentiles, mean, "Mean."),
    QUANTITY(percentiles, p50, "Median."),
    QUANTITY(percentiles, p90, "90th percentile."),
    QUANTITY(percentiles, p95, "95th percentile."),
    QUANTITY(percentiles, p99, "99th percentile."),
    QUANTITY(percentiles, max, "Largest."),
};
static const struct schema percentiles_schema = SCHEMA(percentiles, "Order statistics, type 7.");

static const struct field result_failure_fields[] = {
    ENUM(result_failure, verdict, verdict, "Reason.", FLAGS(FIELD_NAMES_ITEM)),
    I64(result_failure, count, "Requests."),
    I64(result_failure, first_request, "Lowest id."),
    I64(result_failure, status, "HTTP status, where all of them have the same."),
    TEXT(result_failure, detail, "What was seen in the first."),
};
static const struct schema result_failure_schema = SCHEMA(result_failure, "Failed requests of one reason.");

static const struct field result_load_fields[] = {
    I64(result_load, requests, "Submitted."),
    I64(result_load, successful, "Succeeded."),
    I64(result_load, failed, "Failed."),
    I64(result_load, prompt_tokens, "Of successful requests.", UNIT("tokens")),
    I64(result_load, output_tokens, "Of successful requests, by usage.", UNIT("tokens")),
    I64(result_load, reasoning_tokens, "Of successful requests, where the engine says.", UNIT("tokens")),
    I64(result_load, visible_tokens, "Output less reasoning.", UNIT("tokens")),
    I64(result_load, token_chunks, "Of successful requests."),
    I64(result_load, no_interval, "Successful requests with fewer than two distinct token times."),
    I64(result_load, repeated_prompts, "Requests whose prompt an earlier one had."),
    ENUM(result_load, token_source, token_source, "How the tokens of a chunk are known."),
    I64(result_load, shared_stamps, "Token chunks with an upper bound of a stamp."),
    I64(result_load, read_stamps, "Token chunks with a read time."),
    I64_AS("tpot_spread", result_load, tpot_allotted,
           "Requests whose tokens of the first stamp were allotted, not counted by the engine."),
    I64(result_load, later_tokens, "Beyond each request's first stamp, and in only ones of over `merged_limit`.",
        UNIT("tokens")),
    I64(result_load, merged_tokens,
        "In stamps of over `merged_limit` of one request, beyond its first stamp or in its only one.", UNIT("tokens")),
    I64(result_load, merged_limit, "The larger of 8 and twice the stated stream interval.", UNIT("tokens")),
    I64(result_load, timings_nulled, "Requests with a time beside a clock step."),
    I64(result_load, clock_steps, "Clock steps over the run."),
    OBJECT(result_load, ttft_s, percentiles, "Time to first token, s."),
    OBJECT(result_load, tpot_s, percentiles, "Time per output token, s."),
    OBJECT(result_load, e2e_s, percentiles, "Submission to end, s."),
    OBJECT(result_load, ttft_visible_s, percentiles, "Time to first visible output, s."),
    OBJECT(result_load, itl_s, percentiles, "Inter-token latency or chunk gap, s."),
    BOOL(result_load, itl_per_token, "False: `itl_s` holds chunk gaps."),
    QUANTITY_AS("submit_spread_s", result_load, submit_window_s, "First to last submission.", UNIT("s")),
    QUANTITY(result_load, peak_concurrency, "Most requests within their generation interval."),
    OBJECTS(result_load, failures, failure_count, result_failure, "By reason."),
};
static const struct schema result_load_schema = SCHEMA(result_load, "The formal requests.");

static const struct field result_rule_fields[] = {
    ENUM_AS("reading", result_rule, rule, rule, "Rule of attribution.", FLAGS(FIELD_NAMES_ITEM)),
    QUANTITY(result_rule, attributed_j, "Given to requests.", UNIT("J")),
    QUANTITY(result_rule, no_generation_j, "Stretches in which nobody generates.", UNIT("J")),
    QUANTITY(result_rule, closure, "Relative remainder."),
    BOOL(result_rule, closed, "Remainder at most 1e-9."),
    I64(result_rule, by_interval, "Requests that use `interval` because the first chunk holds most tokens."),
    QUANTITY(result_rule, cv_min, "Lowest CV of a window."),
    QUANTITY(result_rule, cv_max, "Highest CV of a window."),
    I64(result_rule, cv_min_window, "Window of the lowest."),
    I64(result_rule, cv_max_window, "Window of the highest."),
};
static const struct schema result_rule_schema = SCHEMA(result_rule, "Attribution under one rule.");

static const struct field result_attribution_fields[] = {
    ENUM(result_attribution, source, curve_source, "Series of E(t)."),
    QUANTITY(result_attribution, scale, "Counter over buffer on the formal stage."),
    QUANTITY(result_attribution, formal_j, "Energy that was split.", UNIT("J")),
    QUANTITY(result_attribution, failed_active_j, "Stretches in which a failed request was active.", UNIT("J")),
    OBJECTS_AS("readings", result_attribution, rules, rule_count, result_rule, "Each rule of attribution."),
};
static const struct schema result_attribution_schema =
    SCHEMA(result_attribution, "How the energy of the formal stage was split.");

static const struct field result_steady_fields[] = {
    ENUM_AS("reading", result_steady, rule, rule, "Rule of attribution.", FLAGS(FIELD_NAMES_ITEM)),
    ENUM(result_steady, k, steady_k, "Consecutive windows.", FLAGS(FIELD_NAMES_ITEM)),
    BOOL(result_steady, reached, "Found."),
    TEXT(result_steady, why, "Not reached: the reason."),
    I64(result_steady, window, "First qualifying window."),
    I64(result_steady, windows, "Windows that had to qualify."),
    I64(result_steady, first_request, "Completed first in the steady window."),
    I64(result_steady, last_request, "Completed last in it."),
    I64(result_steady, requests, "Completed in it."),
    I64(result_steady, start_ns, "Since the run began.", UNIT("ns")),
    I64(result_steady, end_ns, "Since the run began.", UNIT("ns")),
    F64(result_steady, start_s, "From formal_start.", UNIT("s")),
    F64(result_steady, end_s, "From formal_start.", UNIT("s")),
    QUANTITY(result_steady, energy_j, "In the window.", UNIT("J")),
    QUANTITY(result_steady, average_w, "Energy over duration.", UNIT("W")),
    QUANTITY(result_steady, j_per_token, "Energy over arrived tokens.", UNIT("J/token")),
    QUANTITY(result_steady, mean_request_j, "Mean attributed energy of its requests.", UNIT("J")),
    I64(result_steady, tokens, "That arrived in the window.", UNIT("tokens")),
    F64(result_steady, edge_j_per_token, "Of the instrument doubt, what edges that cut streams add.", UNIT("J/token")),
    F64S(result_steady, cvs, cv_count, "CV of each qualifying window."),
    F64(result_steady, lowest_cv, "Over all windows."),
    I64(result_steady, lowest_cv_window, "Where."),
    I64(result_steady, longest_stretch, "Most neighbouring windows under the limit."),
    I64(result_steady, longest_stretch_window, "Its first window."),
};
static const struct schema result_steady_schema = SCHEMA(result_steady, "Steady state under one rule and K.");

static const struct field result_saturated_fields[] = {
    QUANTITY(result_saturated, j_per_token, "Energy over arrived tokens.", UNIT("J/token")),
    QUANTITY(result_saturated, energy_j, "In the window.", UNIT("J")),
    QUANTITY(result_saturated, average_w, "Energy over duration.", UNIT("W")),
    I64(result_saturated, start_ns, "Since the run began.", UNIT("ns")),
    I64(result_saturated, end_ns, "Since the run began.", UNIT("ns")),
    I64(result_saturated, tokens, "That arrived in it.", UNIT("tokens")),
    F64(result_saturated, edge_j_per_token, "Of the instrument doubt, what edges that cut streams add.",
        UNIT("J/token")),
    I64(result_saturated, peak, "Most requests within their generation interval."),
    I64(result_saturated, level, "Fewest that count as saturated."),
    F64(result_saturated, start_s, "From formal_start.", UNIT("s")),
    F64(result_saturated, end_s, "From formal_start.", UNIT("s")),
    BOOL(result_saturated, meaningful, "Requests waited while others ran."),
    F64(result_saturated, waiting_share, "Share of the engine's scrapes in the window with requests waiting."),
    QUANTITY(result_saturated, tail_energy_share, "Of the formal stage, after the window."),
    QUANTITY(result_saturated, tail_token_share, "Of the tokens."),
    QUANTITY(result_saturated, tail_time_share, "Of the time."),
};
static const struct schema result_saturated_schema =
    SCHEMA(result_saturated, "At or above the share of peak concurrency.");

static const struct field result_lag_fields[] = {
    BOOL(result_lag, measurable, "The GPUs idle clearly below their load."),
    TEXT(result_lag, why, "Why not."),
    QUANTITY(result_lag, idle_owed_s, "Every GPU idle while a request is outstanding.", UNIT("s")),
    QUANTITY(result_lag, idle_owed_j, "Energy of that time.", UNIT("J")),
    QUANTITY(result_lag, idle_owed_share, "Of the formal stage."),
    I64(result_lag, merged_chunks, "Later chunks with more tokens than the limit."),
    I64(result_lag, largest_chunk, "Of all.", UNIT("tokens")),
    I64(result_lag, largest_later_chunk, "Of those beyond the first.", UNIT("tokens")),
    BOOL(result_lag, delivery_lag, "Over the limit."),
};
static const struct schema result_lag_schema = SCHEMA(result_lag, "Did the tokens arrive when the energy was spent?");

static const struct field result_silence_fields[] = {
    I64(result_silence, before, "Number of the load that follows; null: none follows."),
    I64(result_silence, start_ns, "Since the run began.", UNIT("ns")),
    I64(result_silence, end_ns, "Since the run began.", UNIT("ns")),
    F64(result_silence, duration_s, "End minus start.", UNIT("s")),
    QUANTITY(result_silence, average_w, "All GPUs together, by the counter.", UNIT("W")),
    QUANTITY(result_silence, others, "Requests in the engine then, on a service that runs already: those of others."),
};
static const struct schema result_silence_schema = SCHEMA(result_silence, "Load 0: nobody asks for anything.");

static const struct field result_engine_mean_fields[] = {
    I64(result_engine_mean, n, "Observations."),
    QUANTITY(result_engine_mean, mean, "Their sum over their number.", UNIT("s")),
};
static const struct schema result_engine_mean_schema = SCHEMA(result_engine_mean, "A mean over observations.");

static const struct field result_engine_times_fields[] = {
    OBJECT(result_engine_times, ttft_s, result_engine_mean, "The engine's time to first token."),
    OBJECT(result_engine_times, queue_s, result_engine_mean, "Time in its queue."),
    OBJECT(result_engine_times, prefill_s, result_engine_mean, "Time from its queue to the first token."),
    OBJECT(result_engine_times, tpot_s, result_engine_mean, "Time per output token, each the mean of a request."),
    OBJECT(result_engine_times, itl_s, result_engine_mean, "Time between tokens, or between the steps of a request."),
    OBJECT(result_engine_times, e2e_s, result_engine_mean, "Time from a request's arrival to its end."),
    OBJECT(result_engine_times, client_ttft_s, result_engine_mean, "TTFT of jtok's requests, from submission."),
    OBJECT(result_engine_times, client_tpot_s, result_engine_mean, "TPOT of jtok's requests."),
    OBJECT(result_engine_times, client_e2e_s, result_engine_mean, "E2E of jtok's requests, from submission."),
    QUANTITY(result_engine_times, ttft_difference_s, "jtok's mean TTFT less the engine's.", UNIT("s")),
    QUANTITY(result_engine_times, tpot_difference_s, "jtok's mean TPOT less the engine's.", UNIT("s")),
    QUANTITY(result_engine_times, e2e_difference_s, "jtok's mean E2E less the engine's.", UNIT("s")),
    QUANTITY(result_engine_times, front_end_s, "The engine's TTFT less queue and prefill.", UNIT("s")),
    QUANTITY(result_engine_times, queue_share, "Of the engine's TTFT, in its queue."),
};
static const struct schema result_engine_times_schema =
    SCHEMA(result_engine_times, "The engine's own times beside jtok's.");

static const struct field result_engine_gauge_fields[] = {
    QUANTITY(result_engine_gauge, mean, "Over the scrapes."),
    QUANTITY(result_engine_gauge, max, "Largest."),
};
static const struct schema result_engine_gauge_schema = SCHEMA(result_engine_gauge, "What a gauge showed.");

static const struct field result_engine_fields[] = {
    I64(result_engine, first_ns, "The last scrape before was asked for.", UNIT("ns")),
    I64(result_engine, last_ns, "The last scrape behind was asked for.", UNIT("ns")),
    TEXT(result_engine, why, "Why there are no two scrapes."),
    I64(result_engine, scrapes, "Answers in the window: what gauges are taken over."),
    OBJECT(result_engine, times, result_engine_times, "Times."),
    OBJECT(result_engine, running, result_engine_gauge, "Requests that it generates for."),
    OBJECT(result_engine, waiting, result_engine_gauge, "Requests in its queue."),
    OBJECT(result_engine, kv_cache_used, result_engine_gauge, "Share of its KV cache in use."),
    QUANTITY(result_engine, preemptions, "Preemptions."),
    QUANTITY(result_engine, prefix_queries, "Prompt tokens looked up in the prefix cache.", UNIT("tokens")),
    QUANTITY(result_engine, prefix_hits, "Of them, found.", UNIT("tokens")),
    QUANTITY(result_engine, prefix_hit_share, "Found over looked up."),
    QUANTITY(result_engine, drafted_tokens, "Speculative decoding: drafted.", UNIT("tokens")),
    QUANTITY(result_engine, accepted_tokens, "Of them, accepted.", UNIT("tokens")),
    QUANTITY(result_engine, accepted_share, "Accepted over drafted; without counts, the mean of the engine's gauge."),
    QUANTITY(result_engine, accepted_length,
             "1 + accepted over drafts; without counts, the mean of the engine's gauge.", UNIT("tokens")),
};
static const struct schema result_engine_schema = SCHEMA(result_engine, "What the engine's /metrics say of a load.");

static const struct field result_point_requests_fields[] = {
    I64(result_point_requests, all, "Sent in the whole load."),
    I64(result_point_requests, all_failed, "Of them, failed."),
    I64(result_point_requests, sent, "Sent in the window; of an open loop, meant to be sent in it."),
    I64(result_point_requests, finished, "Of those sent in it, ended well."),
    I64(result_point_requests, failed, "Of those sent in it, failed."),
    I64(result_point_requests, good, "Of those sent in it, keep every limit of the plan; null: there is no limit."),
    I64(result_point_requests, ended, "Ended well in the window, whenever they were sent."),
};
static const struct schema result_point_requests_schema = SCHEMA(result_point_requests, "Requests of one load.");

static const struct field result_point_tokens_fields[] = {
    I64(result_point_tokens, output, "Arrived in the window.", UNIT("tokens")),
    I64(result_point_tokens, input, "Of prompts whose first output token came in it.", UNIT("tokens")),
    I64(result_point_tokens, good, "Of `output`, of requests that keep every limit.", UNIT("tokens")),
    I64(result_point_tokens, before, "Arrived before the window.", UNIT("tokens")),
    I64(result_point_tokens, after, "Arrived after the window.", UNIT("tokens")),
};
static const struct schema result_point_tokens_schema = SCHEMA(result_point_tokens, "Tokens of one load.");

static const struct field result_point_rates_fields[] = {
    QUANTITY(result_point_rates, request_s, "Requests that ended well in the window.", UNIT("requests/s")),
    QUANTITY(result_point_rates, good_s, "Goodput: requests sent in the window that keep every limit.",
             UNIT("requests/s")),
    QUANTITY(result_point_rates, output_tok_s, "Output tokens that arrived.", UNIT("tok/s")),
    QUANTITY(result_point_rates, input_tok_s, "Prompt tokens whose first output token arrived.", UNIT("tok/s")),
    QUANTITY(result_point_rates, total_tok_s, "Both.", UNIT("tok/s")),
    QUANTITY(result_point_rates, user_tok_s, "Of one user: 1 over the median TPOT.", UNIT("tok/s")),
};
static const struct schema result_point_rates_schema = SCHEMA(result_point_rates, "A second, in the window.");

static const struct field result_point_times_fields[] = {
    OBJECT(result_point_times, ttft_s, percentiles, "Time to first token, from the intended time of an open loop, s."),
    OBJECT(result_point_times, tpot_s, percentiles, "Time per output token, s."),
    OBJECT(result_point_times, e2e_s, percentiles, "To the end, from the intended time of an open loop, s."),
    OBJECT(result_point_times, itl_s, percentiles, "Inter-token latency or chunk gap, s."),
    OBJECT(result_point_times, lateness_s, percentiles, "Submission after the intended time, s."),
    BOOL(result_point_times, itl_per_token, "False: `itl_s` holds chunk gaps."),
};
static const struct schema result_point_times_schema =
    SCHEMA(result_point_times, "Of the requests sent in the window.");

static const struct field result_point_flight_fields[] = {
    QUANTITY(result_point_flight, mean, "Mean over the window."),
    QUANTITY(result_point_flight, middle, "Mean over its middle third."),
    QUANTITY(result_point_flight, last, "Mean over its last third."),
    I64(result_point_flight, peak, "Most at once."),
    BOOL(result_point_flight, overloaded, "An open loop whose last third is over 1.1 times its middle one."),
};
static const struct schema result_point_flight_schema = SCHEMA(result_point_flight, "Requests in flight.");

static const struct field result_point_others_fields[] = {
    QUANTITY(result_point_others, token_share,
             "Share of the tokens that the engine counted between its first and its last reading in the window."),
    QUANTITY(result_point_others, requests, "Mean number running or waiting in the engine, beyond jtok's own."),
    BOOL(result_point_others, seen, "One of the two is more than it may be without any."),
};
static const struct schema result_point_others_schema =
    SCHEMA(result_point_others, "Requests that are not jtok's, on a service that runs already.");

static const struct field result_point_fields[] = {
    I64(result_point, number, "From 0, in order of time.", FLAGS(FIELD_NAMES_ITEM)),
    ENUM(result_point, kind, load_kind, "Kind of load; missing: none of jtok's own.", FLAGS(FIELD_OMIT_ABSENT)),
    TEXT(result_point, setting, "The load in words; of a command, the command."),
    I64(result_point, start_ns, "First submission, or intended time.", UNIT("ns")),
    I64(result_point, last_ns, "Last submission, or the end of the load's time.", UNIT("ns")),
    I64(result_point, end_ns, "Last end.", UNIT("ns")),
    BOOL(result_point, reached, "There is a window."),
    TEXT(result_point, why, "Why there is none."),
    OBJECT(result_point, window, result_stage, "The window: what counts."),
    QUANTITY(result_point, before_j, "Energy of the load before its window.", UNIT("J")),
    QUANTITY(result_point, after_j, "Energy of the load after its window.", UNIT("J")),
    OBJECT(result_point, requests, result_point_requests, "Requests."),
    OBJECT(result_point, tokens, result_point_tokens, "Tokens."),
    OBJECT(result_point, rates, result_point_rates, "Rates."),
    OBJECT(result_point, times, result_point_times, "Latencies."),
    OBJECT(result_point, flight, result_point_flight, "Requests in flight."),
    OBJECT(result_point, others, result_point_others,
           "Requests that are not jtok's, on a service that runs already: they share the energy."),
    QUANTITY(result_point, j_per_token, "Energy of the window over tokens that arrived in it.", UNIT("J/token")),
    QUANTITY(result_point, j_per_request, "Energy of the window over requests that ended well in it.", UNIT("J")),
    QUANTITY(result_point, j_per_total_token, "Energy of the window over input and output tokens.", UNIT("J/token")),
    QUANTITY(result_point, j_per_good_token, "Energy of the window over its tokens of requests that keep every limit.",
             UNIT("J/token")),
    F64(result_point, edge_j_per_token, "Of the doubt of j_per_token: the tokens at the window's ends.",
        UNIT("J/token")),
    QUANTITY(result_point, goodput_share, "Requests that keep every limit over requests sent."),
    OBJECT(result_point, lag, result_lag, "Delivery lag in the window."),
    OBJECT_AS("engine_metrics", result_point, engine, result_engine, "What the engine's /metrics say of the load."),
    OBJECTS(result_point, failures, failure_count, result_failure, "Of the whole load, by reason."),
};
const struct schema result_point_schema = SCHEMA(result_point, "One load and its window.");

static const struct field result_metrics_fields[] = {
    QUANTITY(result_metrics, steady_j_per_token, "Steady-state J/token.", UNIT("J/token")),
    QUANTITY(result_metrics, lifecycle_j_per_token, "Full-lifecycle J/token.", UNIT("J/token")),
    QUANTITY(result_metrics, startup_j, "Startup energy.", UNIT("J")),
    QUANTITY(result_metrics, release_j, "Release energy.", UNIT("J")),
    QUANTITY(result_metrics, throughput_tok_s, "Output tokens over the duration of the formal stage.", UNIT("tok/s")),
    QUANTITY(result_metrics, formal_w, "Average power, formal stage.", UNIT("W")),
    QUANTITY(result_metrics, steady_w, "Average power, steady window.", UNIT("W")),
    QUANTITY(result_metrics, lifecycle_w, "Average power, lifecycle.", UNIT("W")),
    QUANTITY(result_metrics, formal_j_per_token, "Formal-stage J/token.", UNIT("J/token")),
    QUANTITY(result_metrics, saturated_j_per_token, "Saturated J/token.", UNIT("J/token")),
    QUANTITY(result_metrics, j_per_request, "Formal energy over successful requests.", UNIT("J")),
    QUANTITY(result_metrics, tokens_per_kwh, "Formal stage.", UNIT("tokens/kWh")),
    QUANTITY(result_metrics, j_per_total_token, "Per input and output token.", UNIT("J/token")),
    QUANTITY(result_metrics, j_per_visible_token, "Per visible output token.", UNIT("J/token")),
    QUANTITY(result_metrics, cost_per_million_tokens, "In `currency`, whole server."),
    QUANTITY(result_metrics, carbon_g_per_million_tokens, "CO2, whole server.", UNIT("g")),
    QUANTITY(result_metrics, kwh_per_million_tokens, "Whole server.", UNIT("kWh")),
    TEXT(result_metrics, currency, "Currency."),
    F64(result_metrics, pue, "Of the user."),
    F64(result_metrics, server_factor, "Of the user: whole server over GPUs."),
};
static const struct schema result_metrics_schema = SCHEMA(result_metrics, "The metrics of the method.");

static const struct field estimate_fields[] = {
    I64(estimate, requests, "N."),
    QUANTITY(estimate, total_j, "E(N).", UNIT("J")),
    QUANTITY(estimate, per_request_j, "E(N) / N.", UNIT("J")),
    QUANTITY(estimate, overhead_per_request_j, "Startup and release over N.", UNIT("J")),
    QUANTITY(estimate, overhead_share, "Overhead over E(N)."),
    QUANTITY(estimate, j_per_token, "E(N) over N mean outputs.", UNIT("J/token")),
    BOOL(estimate, measured, "N is the run's own: total_j was measured."),
    F64(estimate, low_j, "Lowest of the three ways, where they differ by over 10 %.", UNIT("J")),
    F64(estimate, high_j, "Highest of them.", UNIT("J")),
};
const struct schema estimate_schema = SCHEMA(estimate, "Lifecycle energy for N requests.");

static const struct field result_estimate_fields[] = {
    TEXT(result_estimate, source, "What the energy per request is."),
    QUANTITY(result_estimate, fixed_j, "Startup and release.", UNIT("J")),
    QUANTITY(result_estimate, e_request_j, "Per request.", UNIT("J")),
    QUANTITY(result_estimate, e_steady_j, "Steady-state J/token times mean output tokens.", UNIT("J")),
    QUANTITY(result_estimate, e_attributed_j, "Mean attributed energy of the requests in the steady window.",
             UNIT("J")),
    QUANTITY(result_estimate, e_formal_j, "Formal energy over requests.", UNIT("J")),
    QUANTITY(result_estimate, mean_output_tokens, "Of successful formal requests.", UNIT("tokens")),
    BOOL(result_estimate, ranged, "The three ways differ by over 10 %."),
    QUANTITY(result_estimate, n_overhead_1, "Smallest N with overhead under 1 %."),
    QUANTITY(result_estimate, n_overhead_5, "Under 5 %."),
    QUANTITY(result_estimate, n_overhead_10, "Under 10 %."),
    OBJECTS(result_estimate, table, table_count, estimate, "For some N."),
};
static const struct schema result_estimate_schema = SCHEMA(result_estimate, "Estimate of the lifecycle energy.");

static const struct field result_check_fields[] = {
    ENUM(result_check, code, check_code, "Code.", FLAGS(FIELD_NAMES_ITEM)),
    ENUM(result_check, outcome, check_outcome, "Outcome."),
    TEXT(result_check, why, "What was compared and seen."),
};
const struct schema result_check_schema = SCHEMA(result_check, "One excluding check.");

static const struct field result_flag_fields[] = {
    ENUM(result_flag, code, flag_code, "Code.", FLAGS(FIELD_NAMES_ITEM)),
    ENUM(result_flag, outcome, check_outcome, "Outcome."),
    TEXT(result_flag, why, "What was seen."),
    F64(result_flag, value, "The number behind it."),
    F64(result_flag, limit, "Its limit."),
};
static const struct schema result_flag_schema = SCHEMA(result_flag, "One flag; failed: the run carries it.");

static const struct field result_fields[] = {
    TEXT_AS("run_id", result, about.run_id, "Run."),
    TEXT_AS("method_id", result, about.method_id, "Version of the method."),
    TEXT_AS("jtok_version", result, about.jtok_version, "That analysed it."),
    TEXT_AS("records_method_id", result, about.records_method_id, "Under which the records were made."),
    TEXT_AS("records_jtok_version", result, about.records_jtok_version, "That made the records."),
    OBJECT(result, method, method, "Parameters."),
    TEXT_AS("differences", result, about.differences, "What differs from the method's defaults."),
    OBJECTS_AS("decisions", result, about.decisions, about.decision_count, method_decision,
               "Decisions of jtok's own, marked [D] in the method."),
    TEXT_AS("name", result, about.name, "Label."),
    TEXT_AS("scenario", result, about.scenario, "Task."),
    TEXT_AS("model", result, about.model, "Model."),
    TEXT_AS("revision", result, about.revision, "Its revision."),
    TEXT_AS("engine", result, about.engine, "Engine."),
    TEXT_AS("engine_version", result, about.engine_version, "Its version."),
    TEXT_AS("precision", result, about.precision, "Number format of its weights."),
    TEXT_AS("thinking", result, about.thinking,
            "What requests ask of a model that thinks (off, on, an effort, a limit), else what its server is set to.",
            FLAGS(FIELD_OMIT_ABSENT)),
    F64_AS("total_parameters", result, about.total_parameters, "Of the model."),
    TEXT_AS("model_source", result, about.model_source, "Who names the model: plan or snapshot."),
    TEXT_AS("revision_source", result, about.revision_source, "Who states the revision: plan or engine."),
    TEXT_AS("precision_source", result, about.precision_source, "Who states the precision: plan, engine or snapshot."),
    TEXT_AS("engine_version_source", result, about.engine_version_source, "Who states the version: engine or plan."),
    TEXT_AS("total_parameters_source", result, about.total_parameters_source,
            "Who states them: plan, snapshot or analyze."),
    TEXT_AS("image_digest", result, about.image_digest, "Of the container image, as the plan states it."),
    TEXT_AS("plan_sha256", result, about.plan_sha256, "Of plan.json."),
    TEXT_AS("requests_sha256", result, about.requests_sha256, "Of the request file's bytes."),
    TEXT_AS("work_sha256", result, about.work_sha256, "Of what was asked, request by request."),
    BOOL_AS("simulated", result, about.simulated, "Some part of GPU or engine was simulated."),
    BOOL(result, formal, "No check failed, and none lacks its records."),
    ENUM_AS("object", result, loads.object, run_object, "What was looked at; missing: a life under the source's burst.",
            FLAGS(FIELD_OMIT_ABSENT)),
    ENUM_AS("verdict", result, loads.standing, run_standing,
            "valid: no check that applies to the object excludes it; missing: as `formal` says.",
            FLAGS(FIELD_OMIT_ABSENT)),
    TEXT_AS("shortened", result, loads.shortened,
            "Of a life with loads: how its baseline or warm-up is less than the method's; missing: it is not.",
            FLAGS(FIELD_OMIT_ABSENT)),
    F64_AS("slo_ttft_s", result, loads.slo.ttft_s, "Limit of a good request's TTFT; missing: none.", UNIT("s"),
           FLAGS(FIELD_OMIT_ABSENT)),
    F64_AS("slo_tpot_s", result, loads.slo.tpot_s, "Limit of its TPOT; missing: none.", UNIT("s"),
           FLAGS(FIELD_OMIT_ABSENT)),
    F64_AS("slo_e2e_s", result, loads.slo.e2e_s, "Limit of its E2E; missing: none.", UNIT("s"),
           FLAGS(FIELD_OMIT_ABSENT)),
    OBJECT(result, metrics, result_metrics, "Metrics."),
    OBJECTS(result, stages, stage_count, result_stage, "Stages."),
    OBJECTS(result, gpus, gpu_count, result_gpu, "GPUs."),
    OBJECT(result, release, result_release, "Release."),
    OBJECT(result, load, result_load, "Requests."),
    OBJECT(result, attribution, result_attribution, "Attribution."),
    OBJECT(result, steady, result_steady, "Steady state under the method's K and rule."),
    OBJECTS(result, steady_table, steady_count, result_steady, "Every K and rule."),
    OBJECT(result, saturated, result_saturated, "Saturated."),
    OBJECT(result, lag, result_lag, "Delivery lag."),
    OBJECT_AS("engine_metrics", result, engine, result_engine, "What the engine's /metrics say of the formal stage."),
    OBJECT(result, estimate, result_estimate, "Estimate."),
    OBJECTS(result, checks, check_count, result_check, "Excluding checks."),
    OBJECTS_AS("marks", result, flags, flag_count, result_flag, "Flags."),
    OBJECTS(result, startup_phases, startup_phase_count, result_phase,
            "The startup, cut where the engine's log says what is done."),
    OBJECTS_AS("identity", result, about.identity, about.identity_count, result_identity,
               "What the engine said of itself when it was ready.", FLAGS(FIELD_OMIT_ABSENT)),
    OBJECTS_AS("idle", result, loads.silences, loads.silence_count, result_silence, "Load 0.",
               FLAGS(FIELD_OMIT_ABSENT)),
    TEXT_AS("ended_early", result, loads.ended_early,
            "How its user ended it before its plan did, on a running service; missing: it went through.",
            FLAGS(FIELD_OMIT_ABSENT)),
    OBJECTS_AS("loads", result, loads.points, loads.point_count, result_point, "Loads, one after another.",
               FLAGS(FIELD_OMIT_ABSENT)),
};
const struct schema result_schema = SCHEMA(result, "The result of one run.");

static const struct field result_request_fields[] = {
    I64(result_request, id, "Position in the set."),
    ENUM(result_request, verdict, verdict, "Outcome."),
    I64(result_request, status, "HTTP status; -1: none."),
    F64(result_request, submit_s, "From formal_start.", UNIT("s")),
    F64(result_request, first_s, "First token chunk, from formal_start.", UNIT("s")),
    F64(result_request, last_s, "Last token chunk, from formal_start.", UNIT("s")),
    F64(result_request, end_s, "From formal_start.", UNIT("s")),
    F64(result_request, ttft_s, "Time to first token.", UNIT("s")),
    F64(result_request, ttft_visible_s, "Time to first visible output.", UNIT("s")),
    F64(result_request, tpot_s, "Time per output token.", UNIT("s")),
    F64(result_request, e2e_s, "Submission to end.", UNIT("s")),
    I64(result_request, prompt_tokens, "By usage.", UNIT("tokens")),
    I64(result_request, output_tokens, "By usage.", UNIT("tokens")),
    I64(result_request, reasoning_tokens, "By usage.", UNIT("tokens")),
    I64(result_request, token_chunks, "Seen."),
    BOOL(result_request, generates, "Successful, with a generation interval."),
    I64(result_request, order, "Place in completion order."),
    F64(result_request, gap_j, "Attributed energy under this rule.", UNIT("J")),
    F64(result_request, interval_j, "Attributed energy under this rule.", UNIT("J")),
    F64(result_request, request_j, "Attributed energy under this rule.", UNIT("J")),
    F64(result_request, words_j, "Attributed energy under this rule.", UNIT("J")),
    F64(result_request, j_per_token, "Under the method's rule.", UNIT("J/token")),
    TEXT(result_request, detail, "Of a failure."),
};
const struct schema result_request_schema = SCHEMA(result_request, "One formal request.");

static const struct field result_window_fields[] = {
    I64(result_window, window, "Number."),
    I64(result_window, first_request, "Id."),
    I64(result_window, last_request, "Id."),
    F64(result_window, start_s, "Completion of the first, from formal_start.", UNIT("s")),
    F64(result_window, end_s, "Completion of the last, from formal_start.", UNIT("s")),
    F64_AS("cv_gap", result_window, cv[RULE_GAP], "CV under `gap`."),
    F64_AS("level_gap", result_window, level[RULE_GAP], "Mean J/token under `gap`.", UNIT("J/token")),
    F64_AS("cv_interval", result_window, cv[RULE_INTERVAL], "CV under `interval`."),
    F64_AS("level_interval", result_window, level[RULE_INTERVAL], "Mean J/token under `interval`.", UNIT("J/token")),
    F64_AS("cv_request", result_window, cv[RULE_REQUEST], "CV under `request`."),
    F64_AS("level_request", result_window, level[RULE_REQUEST], "Mean J/token under `request`.", UNIT("J/token")),
    F64_AS("cv_words", result_window, cv[RULE_WORDS], "CV under `words`."),
    F64_AS("level_words", result_window, level[RULE_WORDS], "Mean J/token under `words`.", UNIT("J/token")),
};
const struct schema result_window_schema = SCHEMA(result_window, "One window of requests in completion order.");

/* ---- finding ---- */

struct quantity *energy_series(struct energy_set *e, enum series_id series)
{
    must(series < SERIES_COUNT);
    struct quantity *const all[SERIES_COUNT] = {[SERIES_GRID] = &e->grid,
                                                [SERIES_BOUNDARY] = &e->boundary,
                                                [SERIES_COUNTER] = &e->counter,
                                                [SERIES_BUFFER] = &e->buffer,
                                                [SERIES_PRECISE] = &e->precise};
    return all[series];
}

enum run_standing result_standing(const struct result *r)
{
    if (!ENUM_ABSENT(r->loads.standing))
        return r->loads.standing;
    return r->formal ? STANDING_FORMAL : STANDING_EXCLUDED;
}

bool result_carries(const struct result *r, enum flag_code flag)
{
    return flag < r->flag_count && r->flags[flag].outcome == CHECK_FAILED;
}

const char *result_latency_fault(const struct result *r)
{
    static const struct {
        enum flag_code code;
        const char *phrase;
    } faults[] = {{FLAG_CLIENT_LIMITED, "the client was the bottleneck"},
                  {FLAG_ARRIVALS_MERGED, "tokens arrived in pieces, so that their times are not the server's"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (result_carries(r, faults[i].code))
            return faults[i].phrase;
    return NULL;
}

struct result_stage *result_stage_of(const struct result *r, enum stage_id stage)
{
    size_t i = 0;
    while (i < r->stage_count && r->stages[i].stage != stage)
        i++;
    must(i < r->stage_count);
    return &r->stages[i];
}

const struct result_steady *result_steady_of(const struct result *r, enum rule rule, enum steady_k k)
{
    must(rule < RULE_COUNT && k < K_COUNT);
    for (size_t i = 0; i < r->steady_count; i++)
        if (r->steady_table[i].rule == rule && r->steady_table[i].k == k)
            return &r->steady_table[i];
    return NULL;
}

/* ---- everything absent ---- */

static void *absent_table(const struct schema *s, size_t n, struct arena *a, const char *why)
{
    char *table = arena_array(a, n, s->size);
    for (size_t i = 0; i < n; i++)
        schema_absent_as(s, table + i * s->size, 0, why);
    return table;
}

void result_absent(struct result *r, struct arena *a, const char *why)
{
    must(why);
    static const enum steady_k order[K_COUNT] = {K_1, K_2, K_3, K_ALL};
    memset(r, 0, sizeof *r);
    schema_absent_as(&result_schema, r, 0, why);
    r->engine.why = why;
    r->loads.object = (enum run_object) - 1;
    r->loads.standing = (enum run_standing) - 1;
    r->about.method_id = METHOD_ID;
    r->method = method_default();
    r->about.decisions = method_decisions;
    r->about.decision_count = method_decision_count;
    r->stages = absent_table(&result_stage_schema, r->stage_count = STAGE_COUNT, a, why);
    for (size_t i = 0; i < r->stage_count; i++) {
        r->stages[i].stage = (enum stage_id)i;
        r->stages[i].why = why;
    }
    r->attribution.rules = absent_table(&result_rule_schema, r->attribution.rule_count = RULE_COUNT, a, why);
    for (size_t i = 0; i < r->attribution.rule_count; i++)
        r->attribution.rules[i].rule = (enum rule)i;
    r->steady_table = absent_table(&result_steady_schema, r->steady_count = RULE_COUNT * K_COUNT, a, why);
    for (size_t i = 0; i < r->steady_count; i++) {
        r->steady_table[i].rule = (enum rule)(i / K_COUNT);
        r->steady_table[i].k = order[i % K_COUNT];
        r->steady_table[i].why = why;
    }
    r->steady.rule = r->method.attribution;
    r->steady.k = r->method.k;
    r->steady.why = why;
    r->checks = absent_table(&result_check_schema, r->check_count = CODE_COUNT, a, why);
    for (size_t i = 0; i < r->check_count; i++)
        r->checks[i].code = (enum check_code)i;
    r->flags = absent_table(&result_flag_schema, r->flag_count = FLAG_COUNT, a, why);
    for (size_t i = 0; i < r->flag_count; i++)
        r->flags[i].code = (enum flag_code)i;
}

void result_point_absent(struct result_point *p, const char *why)
{
    must(why);
    memset(p, 0, sizeof *p);
    schema_absent_as(&result_point_schema, p, 0, why);
    p->kind = (enum load_kind) - 1;
    p->why = why;
    p->window.stage = STAGE_WINDOW;
    p->window.why = why;
    p->lag.why = why;
    p->engine.why = why;
}

/* ---- in words ---- */

const char *result_checks_text(const struct result *r, struct arena *a)
{
    static const int order[] = {CHECK_FAILED, CHECK_NOT_STATED, CHECK_NOT_JUDGED, CHECK_NOT_RECORDED,
                                CHECK_NOT_CHECKED};
    static const char *const words[CHECK_OUTCOME_COUNT] = {"not checked",  "passed",     "failed",
                                                           "not recorded", "not stated", "not judged"};
    size_t n[CHECK_OUTCOME_COUNT] = {0};
    for (size_t i = 0; i < r->check_count; i++) {
        must(r->checks[i].outcome < CHECK_OUTCOME_COUNT);
        n[r->checks[i].outcome]++;
    }
    const char *text = arena_format(a, "%zu check%s passed", n[CHECK_PASSED], n[CHECK_PASSED] == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (n[order[i]])
            text = arena_format(a, "%s, %zu %s", text, n[order[i]], words[order[i]]);
    return text;
}

const char *result_gpus_text(const struct result *r, struct arena *a)
{
    must(r->gpu_count == 0 || r->gpus);
    const struct result_gpu *g = r->gpus;
    if (!r->gpu_count)
        return "no GPU";
    for (size_t i = 1; i < r->gpu_count; i++)
        if (strcmp(g[i].name ? g[i].name : "", g->name ? g->name : "") != 0 ||
            !(g[i].power_limit_w == g->power_limit_w || (isnan(g[i].power_limit_w) && isnan(g->power_limit_w))))
            return arena_format(a, "%zu GPUs of different kinds", r->gpu_count);
    const char *name = g->name ? g->name : "GPU";
    if (isnan(g->power_limit_w))
        return arena_format(a, "%zu x %s", r->gpu_count, name);
    return arena_format(a, "%zu x %s at %.0f W", r->gpu_count, name, g->power_limit_w);
}
