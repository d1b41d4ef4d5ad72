#include "model/result.h"

#define AT(member) .offset = offsetof(struct energy_set, member)
static const struct field energy_fields[] = {
    {"headline", FIELD_QUANTITY, AT(headline), .unit = "J", .doc = "By the basis of the method."},
    {"headline_series", FIELD_ENUM, AT(headline_series), .names = series_names,
     .doc = "The series that the headline is."},
    {"grid", FIELD_QUANTITY, AT(grid), .unit = "J", .doc = "Trapezoid over the 1 s grid of instantaneous power."},
    {"marks", FIELD_QUANTITY, AT(marks), .unit = "J", .doc = "The same with the samples at the stage marks."},
    {"counter", FIELD_QUANTITY, AT(counter), .unit = "J", .doc = "Energy counter, between change points."},
    {"buffer", FIELD_QUANTITY, AT(buffer), .unit = "J", .doc = "Trapezoid over the 20 ms buffer."},
    {"precise", FIELD_QUANTITY, AT(precise), .unit = "J", .doc = "Buffer times the factor of GPU and run."},
};
static const struct schema energy_schema = {"energy", sizeof(struct energy_set), energy_fields,
                                            SCHEMA_COUNT(energy_fields),
                                            "Energy of one stretch of time by every instrument."};
#undef AT

#define AT(member) .offset = offsetof(struct result_stage_gpu, member)
static const struct field stage_gpu_fields[] = {
    {"gpu", FIELD_I64, AT(gpu), .doc = "Position in `gpus`."},
    {"energy", FIELD_OBJECT, AT(energy), .sub = &energy_schema, .doc = "Energy of this GPU."},
    {"average_w", FIELD_QUANTITY, AT(average_w), .unit = "W", .doc = "Headline energy over duration."},
    {"grid_gap_s", FIELD_F64, AT(grid_gap_s), .unit = "s",
     .doc = "Longest distance of grid samples that touches the stage."},
    {"buffer_gap_s", FIELD_F64, AT(buffer_gap_s), .unit = "s", .doc = "The same of the buffer."},
    {"counter_gap_s", FIELD_F64, AT(counter_gap_s), .unit = "s", .doc = "The same of counter change points."},
    {"grid_gap", FIELD_BOOL, AT(grid_gap), .doc = "Over 2.5 periods."},
    {"buffer_gap", FIELD_BOOL, AT(buffer_gap), .doc = "Over 60 ms."},
    {"counter_void", FIELD_TEXT, AT(counter_void), .doc = "Why the counter is void in this stage."},
    {"grid_doubt", FIELD_ENUM, AT(grid_doubt), .names = doubt_source_names,
     .doc = "What the grid's instrument doubt was found against."},
    {"counter_disagreement", FIELD_QUANTITY, AT(counter_disagreement),
     .doc = "Unscaled buffer over the counter at t + L, minus 1."},
    {"grid_disagreement", FIELD_QUANTITY, AT(grid_disagreement), .doc = "Grid over counter, minus 1."},
    {"grid_disagreement_limit", FIELD_F64, AT(grid_disagreement_limit),
     .doc = "The larger of 10 % and twice the grid's successive differences."},
};
static const struct schema stage_gpu_schema = {"stage_gpu", sizeof(struct result_stage_gpu), stage_gpu_fields,
                                               SCHEMA_COUNT(stage_gpu_fields), "One GPU in one stage."};
#undef AT

#define AT(member) .offset = offsetof(struct result_stage, member)
static const struct field stage_fields[] = {
    {"stage", FIELD_ENUM, AT(stage), .names = stage_names, .doc = "Name."},
    {"start_ns", FIELD_I64, AT(start_ns), .unit = "ns", .doc = "Since the run began."},
    {"end_ns", FIELD_I64, AT(end_ns), .unit = "ns", .doc = "Since the run began."},
    {"duration_s", FIELD_F64, AT(duration_s), .unit = "s", .doc = "End minus start."},
    {"why", FIELD_TEXT, AT(why), .doc = "Why there is no such stage."},
    {"energy", FIELD_OBJECT, AT(energy), .sub = &energy_schema, .doc = "All GPUs together."},
    {"average_w", FIELD_QUANTITY, AT(average_w), .unit = "W", .doc = "Headline over duration, all GPUs together."},
    {"sampling_error", FIELD_QUANTITY, AT(sampling_error), .doc = "Headline over precise, minus 1."},
    {"grid_difference", FIELD_QUANTITY, AT(grid_difference), .doc = "Grid over counter, minus 1."},
    {"buffer_difference", FIELD_QUANTITY, AT(buffer_difference), .doc = "Buffer over counter, minus 1."},
    {"grid_gap", FIELD_BOOL, AT(grid_gap), .doc = "A gap in the grid on some GPU."},
    {"buffer_gap", FIELD_BOOL, AT(buffer_gap), .doc = "A gap in the buffer on some GPU."},
    {"counter_void", FIELD_BOOL, AT(counter_void), .doc = "A void counter on some GPU."},
    {"contradiction", FIELD_TEXT, AT(contradiction), .doc = "Two instruments further apart than their doubts."},
    {"gpus", FIELD_LIST, AT(gpus), .count_offset = offsetof(struct result_stage, gpu_count), .item = FIELD_OBJECT,
     .sub = &stage_gpu_schema, .doc = "Each GPU."},
    {"wait_s", FIELD_F64, AT(wait_s), .unit = "s",
     .doc = "jtok's own waits: warm-up to formal start, formal end to stop."},
    {"wait_j", FIELD_QUANTITY, AT(wait_j), .unit = "J", .doc = "Energy of the waits: precise, else counter."},
    {"wait_share", FIELD_QUANTITY, AT(wait_share),
     .doc = "Of the stage's energy by the same basis, without the silence before the formal start."},
};
static const struct schema stage_schema = {"stage", sizeof(struct result_stage), stage_fields,
                                           SCHEMA_COUNT(stage_fields), "One stage of the run."};
#undef AT

#define AT(member) .offset = offsetof(struct result_phase, member)
static const struct field phase_fields[] = {
    {"phase", FIELD_ENUM, AT(phase), .names = startup_phase_names, .doc = "Name: what it ends with; or the rest."},
    {"start_ns", FIELD_I64, AT(start_ns), .unit = "ns", .doc = "Since the run began."},
    {"end_ns", FIELD_I64, AT(end_ns), .unit = "ns", .doc = "Since the run began."},
    {"start_s", FIELD_F64, AT(start_s), .unit = "s", .doc = "From service_start."},
    {"duration_s", FIELD_F64, AT(duration_s), .unit = "s", .doc = "End minus start."},
    {"energy_j", FIELD_QUANTITY, AT(energy_j), .unit = "J", .doc = "Precise where the startup has it, else counter."},
    {"average_w", FIELD_QUANTITY, AT(average_w), .unit = "W", .doc = "Energy over duration."},
};
static const struct schema phase_schema = {"phase", sizeof(struct result_phase), phase_fields,
                                           SCHEMA_COUNT(phase_fields), "One phase of the startup."};
#undef AT

#define AT(member) .offset = offsetof(struct result_gpu, member)
static const struct field gpu_fields[] = {
    {"uuid", FIELD_TEXT, AT(uuid), .doc = "UUID."},
    {"name", FIELD_TEXT, AT(name), .doc = "Product name."},
    {"index", FIELD_I64, AT(index), .doc = "Index as the driver gives it."},
    {"power_limit_w", FIELD_F64, AT(power_limit_w), .unit = "W", .doc = "Enforced limit."},
    {"mig", FIELD_I64, AT(partitioned),
     .doc = "1: split into parts that share its power (MIG); 0: whole; null: it can't be split, or not recorded."},
    {"instant_source", FIELD_TEXT, AT(instant_source), .doc = "Which reading answered as instantaneous power."},
    {"factor", FIELD_QUANTITY, AT(factor), .doc = "Counter over buffer from service_start to release_end."},
    {"counter_lag_s", FIELD_QUANTITY, AT(counter_lag_s), .unit = "s", .doc = "L, the delay of the counter."},
    {"baseline_w", FIELD_QUANTITY, AT(baseline_w), .unit = "W", .doc = "Time-weighted mean of the accepted window."},
    {"baseline_sd_w", FIELD_F64, AT(baseline_sd_w), .unit = "W",
     .doc = "Population standard deviation of its samples."},
    {"baseline_half_1_w", FIELD_F64, AT(baseline_half_1_w), .unit = "W", .doc = "Mean of the first half."},
    {"baseline_half_2_w", FIELD_F64, AT(baseline_half_2_w), .unit = "W", .doc = "Mean of the second half."},
    {"baseline_utilisation_max", FIELD_I64, AT(baseline_utilisation_max), .unit = "%",
     .doc = "Highest utilisation in it."},
    {"baseline_processes_max", FIELD_I64, AT(baseline_processes_max), .doc = "Most compute processes in it."},
    {"baseline_idle", FIELD_ENUM, AT(baseline_idle), .names = check_outcome_names, .doc = "Was this GPU idle?"},
    {"baseline_why", FIELD_TEXT, AT(baseline_why), .doc = "What was not idle."},
    {"memory_released_s", FIELD_QUANTITY, AT(memory_released_s), .unit = "s", .doc = "From formal_end."},
    {"power_recovered_s", FIELD_QUANTITY, AT(power_recovered_s), .unit = "s",
     .doc = "From formal_end; this GPU alone."},
    {"ready_level_w", FIELD_QUANTITY, AT(ready_level_w), .unit = "W",
     .doc = "Lowest 0.1 s mean from ready to formal_end."},
    {"formal_mean_w", FIELD_F64, AT(formal_mean_w), .unit = "W", .doc = "Mean over the formal stage by the buffer."},
    {"buffer_marked", FIELD_I64, AT(buffer_marked), .doc = "Buffer stamps left out beside a clock step."},
};
static const struct schema gpu_schema = {"gpu", sizeof(struct result_gpu), gpu_fields, SCHEMA_COUNT(gpu_fields),
                                         "One GPU over the run."};
#undef AT

#define AT(member) .offset = offsetof(struct result_release, member)
static const struct field release_fields[] = {
    {"closed", FIELD_BOOL, AT(closed), .doc = "Exit, memory and power all reached."},
    {"timed_out", FIELD_BOOL, AT(timed_out), .doc = "The maximum wait passed first."},
    {"why", FIELD_TEXT, AT(why), .doc = "What is missing."},
    {"exit_s", FIELD_QUANTITY, AT(exit_s), .unit = "s", .doc = "From formal_end."},
    {"memory_released_s", FIELD_QUANTITY, AT(memory_released_s), .unit = "s", .doc = "From formal_end, all GPUs."},
    {"power_recovered_s", FIELD_QUANTITY, AT(power_recovered_s), .unit = "s", .doc = "From formal_end, all GPUs."},
    {"end_s", FIELD_QUANTITY, AT(end_s), .unit = "s", .doc = "From formal_end: the latest of the three."},
    {"end_ns", FIELD_I64, AT(end_ns), .unit = "ns", .doc = "Since the run began."},
    {"hold_restarts", FIELD_I64, AT(hold_restarts), .doc = "Times that the hold began again after exit and memory."},
    {"first_in_band_s", FIELD_QUANTITY, AT(first_in_band_s), .unit = "s",
     .doc = "From formal_end: the first sample in band."},
    {"first_in_band_j", FIELD_QUANTITY, AT(first_in_band_j), .unit = "J",
     .doc = "Release energy up to that, had it been the recovery."},
    {"resolution_j", FIELD_QUANTITY, AT(resolution_j), .unit = "J",
     .doc = "Of the recovery's moment: one period at the baseline's power, apart from the doubt."},
};
static const struct schema release_schema = {"release", sizeof(struct result_release), release_fields,
                                             SCHEMA_COUNT(release_fields), "How the release went."};
#undef AT

#define AT(member) .offset = offsetof(struct percentiles, member)
static const struct field percentiles_fields[] = {
    {"n", FIELD_I64, AT(n), .doc = "Values."},
    {"mean", FIELD_QUANTITY, AT(mean), .doc = "Mean."},
    {"p50", FIELD_QUANTITY, AT(p50), .doc = "Median."},
    {"p90", FIELD_QUANTITY, AT(p90), .doc = "90th percentile."},
    {"p95", FIELD_QUANTITY, AT(p95), .doc = "95th percentile."},
    {"p99", FIELD_QUANTITY, AT(p99), .doc = "99th percentile."},
    {"max", FIELD_QUANTITY, AT(max), .doc = "Largest."},
};
static const struct schema percentiles_schema = {"percentiles", sizeof(struct percentiles), percentiles_fields,
                                                 SCHEMA_COUNT(percentiles_fields), "Order statistics, type 7."};
#undef AT

#define AT(member) .offset = offsetof(struct result_failure, member)
static const struct field failure_fields[] = {
    {"verdict", FIELD_ENUM, AT(verdict), .names = verdict_names, .doc = "Reason."},
    {"count", FIELD_I64, AT(count), .doc = "Requests."},
    {"first_request", FIELD_I64, AT(first_request), .doc = "Lowest id."},
    {"status", FIELD_I64, AT(status), .doc = "HTTP status, where all of them have the same."},
    {"detail", FIELD_TEXT, AT(detail), .doc = "What was seen in the first."},
};
static const struct schema failure_schema = {"failure", sizeof(struct result_failure), failure_fields,
                                             SCHEMA_COUNT(failure_fields), "Failed requests of one reason."};
#undef AT

#define AT(member) .offset = offsetof(struct result_load, member)
static const struct field load_fields[] = {
    {"requests", FIELD_I64, AT(requests), .doc = "Submitted."},
    {"successful", FIELD_I64, AT(successful), .doc = "Succeeded."},
    {"failed", FIELD_I64, AT(failed), .doc = "Failed."},
    {"prompt_tokens", FIELD_I64, AT(prompt_tokens), .unit = "tokens", .doc = "Of successful requests."},
    {"output_tokens", FIELD_I64, AT(output_tokens), .unit = "tokens", .doc = "Of successful requests, by usage."},
    {"reasoning_tokens", FIELD_I64, AT(reasoning_tokens), .unit = "tokens",
     .doc = "Of successful requests, where the engine says."},
    {"visible_tokens", FIELD_I64, AT(visible_tokens), .unit = "tokens", .doc = "Output less reasoning."},
    {"token_chunks", FIELD_I64, AT(token_chunks), .doc = "Of successful requests."},
    {"no_interval", FIELD_I64, AT(no_interval), .doc = "Successful requests with fewer than two distinct token times."},
    {"repeated_prompts", FIELD_I64, AT(repeated_prompts), .doc = "Requests whose prompt an earlier one had."},
    {"token_source", FIELD_ENUM, AT(token_source), .names = token_source_names,
     .doc = "How the tokens of a chunk are known."},
    {"shared_stamps", FIELD_I64, AT(shared_stamps), .doc = "Token chunks with an upper bound of a stamp."},
    {"read_stamps", FIELD_I64, AT(read_stamps), .doc = "Token chunks with a read time."},
    {"tpot_spread", FIELD_I64, AT(tpot_spread),
     .doc = "Requests whose tokens of the first stamp were allotted, not counted by the engine."},
    {"later_tokens", FIELD_I64, AT(later_tokens), .unit = "tokens",
     .doc = "Beyond each request's first stamp, and in only ones of over `merged_limit`."},
    {"merged_tokens", FIELD_I64, AT(merged_tokens), .unit = "tokens",
     .doc = "In stamps of over `merged_limit` of one request, beyond its first stamp or in its only one."},
    {"merged_limit", FIELD_I64, AT(merged_limit), .unit = "tokens",
     .doc = "The larger of 8 and twice the stated stream interval."},
    {"timings_nulled", FIELD_I64, AT(timings_nulled), .doc = "Requests with a time beside a clock step."},
    {"clock_steps", FIELD_I64, AT(clock_steps), .doc = "Clock steps over the run."},
    {"ttft_s", FIELD_OBJECT, AT(ttft_s), .sub = &percentiles_schema, .doc = "Time to first token, s."},
    {"tpot_s", FIELD_OBJECT, AT(tpot_s), .sub = &percentiles_schema, .doc = "Time per output token, s."},
    {"e2e_s", FIELD_OBJECT, AT(e2e_s), .sub = &percentiles_schema, .doc = "Submission to end, s."},
    {"ttft_visible_s", FIELD_OBJECT, AT(ttft_visible_s), .sub = &percentiles_schema,
     .doc = "Time to first visible output, s."},
    {"itl_s", FIELD_OBJECT, AT(itl_s), .sub = &percentiles_schema, .doc = "Inter-token latency or chunk gap, s."},
    {"itl_per_token", FIELD_BOOL, AT(itl_per_token), .doc = "False: `itl_s` holds chunk gaps."},
    {"submit_spread_s", FIELD_QUANTITY, AT(submit_spread_s), .unit = "s", .doc = "First to last submission."},
    {"peak_concurrency", FIELD_QUANTITY, AT(peak_concurrency),
     .doc = "Most requests within their generation interval."},
    {"failures", FIELD_LIST, AT(failures), .count_offset = offsetof(struct result_load, failure_count),
     .item = FIELD_OBJECT, .sub = &failure_schema, .doc = "By reason."},
};
static const struct schema load_schema = {"load", sizeof(struct result_load), load_fields, SCHEMA_COUNT(load_fields),
                                          "The formal requests."};
#undef AT

#define AT(member) .offset = offsetof(struct result_reading, member)
static const struct field reading_fields[] = {
    {"reading", FIELD_ENUM, AT(reading), .names = rule_names, .doc = "Reading."},
    {"attributed_j", FIELD_QUANTITY, AT(attributed_j), .unit = "J", .doc = "Given to requests."},
    {"no_generation_j", FIELD_QUANTITY, AT(no_generation_j), .unit = "J",
     .doc = "Stretches in which nobody generates."},
    {"closure", FIELD_QUANTITY, AT(closure), .doc = "Relative remainder."},
    {"closed", FIELD_BOOL, AT(closed), .doc = "Remainder at most 1e-9."},
    {"by_interval", FIELD_I64, AT(by_interval),
     .doc = "Requests that use `interval` because the first chunk holds most tokens."},
    {"cv_min", FIELD_QUANTITY, AT(cv_min), .doc = "Lowest CV of a window."},
    {"cv_max", FIELD_QUANTITY, AT(cv_max), .doc = "Highest CV of a window."},
    {"cv_min_window", FIELD_I64, AT(cv_min_window), .doc = "Window of the lowest."},
    {"cv_max_window", FIELD_I64, AT(cv_max_window), .doc = "Window of the highest."},
};
static const struct schema reading_schema = {"reading", sizeof(struct result_reading), reading_fields,
                                             SCHEMA_COUNT(reading_fields), "Attribution under one reading."};
#undef AT

#define AT(member) .offset = offsetof(struct result_attribution, member)
static const struct field attribution_fields[] = {
    {"source", FIELD_ENUM, AT(source), .names = curve_source_names, .doc = "Series of E(t)."},
    {"scale", FIELD_QUANTITY, AT(scale), .doc = "Counter over buffer on the formal stage."},
    {"formal_j", FIELD_QUANTITY, AT(formal_j), .unit = "J", .doc = "Energy that was split."},
    {"failed_active_j", FIELD_QUANTITY, AT(failed_active_j), .unit = "J",
     .doc = "Stretches in which a failed request was active."},
    {"readings", FIELD_LIST, AT(readings), .count_offset = offsetof(struct result_attribution, reading_count),
     .item = FIELD_OBJECT, .sub = &reading_schema, .doc = "Each reading."},
};
static const struct schema attribution_schema = {"attribution", sizeof(struct result_attribution), attribution_fields,
                                                 SCHEMA_COUNT(attribution_fields),
                                                 "How the energy of the formal stage was split."};
#undef AT

#define AT(member) .offset = offsetof(struct result_steady, member)
static const struct field steady_fields[] = {
    {"reading", FIELD_ENUM, AT(reading), .names = rule_names, .doc = "Reading."},
    {"k", FIELD_ENUM, AT(k), .names = steady_k_names, .doc = "Consecutive windows."},
    {"reached", FIELD_BOOL, AT(reached), .doc = "Found."},
    {"why", FIELD_TEXT, AT(why), .doc = "Not reached: the reason."},
    {"window", FIELD_I64, AT(window), .doc = "First qualifying window."},
    {"windows", FIELD_I64, AT(windows), .doc = "Windows that had to qualify."},
    {"first_request", FIELD_I64, AT(first_request), .doc = "Completed first in the steady window."},
    {"last_request", FIELD_I64, AT(last_request), .doc = "Completed last in it."},
    {"requests", FIELD_I64, AT(requests), .doc = "Completed in it."},
    {"start_ns", FIELD_I64, AT(start_ns), .unit = "ns", .doc = "Since the run began."},
    {"end_ns", FIELD_I64, AT(end_ns), .unit = "ns", .doc = "Since the run began."},
    {"start_s", FIELD_F64, AT(start_s), .unit = "s", .doc = "From formal_start."},
    {"end_s", FIELD_F64, AT(end_s), .unit = "s", .doc = "From formal_start."},
    {"energy_j", FIELD_QUANTITY, AT(energy_j), .unit = "J", .doc = "In the window."},
    {"average_w", FIELD_QUANTITY, AT(average_w), .unit = "W", .doc = "Energy over duration."},
    {"j_per_token", FIELD_QUANTITY, AT(j_per_token), .unit = "J/token", .doc = "Energy over arrived tokens."},
    {"mean_request_j", FIELD_QUANTITY, AT(mean_request_j), .unit = "J",
     .doc = "Mean attributed energy of its requests."},
    {"tokens", FIELD_I64, AT(tokens), .unit = "tokens", .doc = "That arrived in the window."},
    {"edge_j_per_token", FIELD_F64, AT(edge_j_per_token), .unit = "J/token",
     .doc = "Of the instrument doubt, what edges that cut streams add."},
    {"cvs", FIELD_LIST, AT(cvs), .count_offset = offsetof(struct result_steady, cv_count), .item = FIELD_F64,
     .doc = "CV of each qualifying window."},
    {"lowest_cv", FIELD_F64, AT(lowest_cv), .doc = "Over all windows."},
    {"lowest_cv_window", FIELD_I64, AT(lowest_cv_window), .doc = "Where."},
    {"longest_stretch", FIELD_I64, AT(longest_stretch), .doc = "Most neighbouring windows under the limit."},
    {"longest_stretch_window", FIELD_I64, AT(longest_stretch_window), .doc = "Its first window."},
};
static const struct schema steady_schema = {"steady", sizeof(struct result_steady), steady_fields,
                                            SCHEMA_COUNT(steady_fields), "Steady state under one reading and K."};
#undef AT

#define AT(member) .offset = offsetof(struct result_saturated, member)
static const struct field saturated_fields[] = {
    {"j_per_token", FIELD_QUANTITY, AT(j_per_token), .unit = "J/token", .doc = "Energy over arrived tokens."},
    {"energy_j", FIELD_QUANTITY, AT(energy_j), .unit = "J", .doc = "In the window."},
    {"average_w", FIELD_QUANTITY, AT(average_w), .unit = "W", .doc = "Energy over duration."},
    {"start_ns", FIELD_I64, AT(start_ns), .unit = "ns", .doc = "Since the run began."},
    {"end_ns", FIELD_I64, AT(end_ns), .unit = "ns", .doc = "Since the run began."},
    {"tokens", FIELD_I64, AT(tokens), .unit = "tokens", .doc = "That arrived in it."},
    {"edge_j_per_token", FIELD_F64, AT(edge_j_per_token), .unit = "J/token",
     .doc = "Of the instrument doubt, what edges that cut streams add."},
    {"peak", FIELD_I64, AT(peak), .doc = "Most requests within their generation interval."},
    {"level", FIELD_I64, AT(level), .doc = "Fewest that count as saturated."},
    {"start_s", FIELD_F64, AT(start_s), .unit = "s", .doc = "From formal_start."},
    {"end_s", FIELD_F64, AT(end_s), .unit = "s", .doc = "From formal_start."},
    {"meaningful", FIELD_BOOL, AT(meaningful), .doc = "Requests waited while others ran."},
    {"waiting_share", FIELD_F64, AT(waiting_share),
     .doc = "Of the engine's readings within the window, those with requests waiting."},
    {"tail_energy_share", FIELD_QUANTITY, AT(tail_energy_share), .doc = "Of the formal stage, after the window."},
    {"tail_token_share", FIELD_QUANTITY, AT(tail_token_share), .doc = "Of the tokens."},
    {"tail_time_share", FIELD_QUANTITY, AT(tail_time_share), .doc = "Of the time."},
};
static const struct schema saturated_schema = {"saturated", sizeof(struct result_saturated), saturated_fields,
                                               SCHEMA_COUNT(saturated_fields),
                                               "At or above the share of peak concurrency."};
#undef AT

#define AT(member) .offset = offsetof(struct result_lag, member)
static const struct field lag_fields[] = {
    {"measurable", FIELD_BOOL, AT(measurable), .doc = "The GPUs idle clearly below their load."},
    {"why", FIELD_TEXT, AT(why), .doc = "Why not."},
    {"idle_owed_s", FIELD_QUANTITY, AT(idle_owed_s), .unit = "s",
     .doc = "Every GPU idle while a request is outstanding."},
    {"idle_owed_j", FIELD_QUANTITY, AT(idle_owed_j), .unit = "J", .doc = "Energy of that time."},
    {"idle_owed_share", FIELD_QUANTITY, AT(idle_owed_share), .doc = "Of the formal stage."},
    {"merged_chunks", FIELD_I64, AT(merged_chunks), .doc = "Later chunks with more tokens than the limit."},
    {"largest_chunk", FIELD_I64, AT(largest_chunk), .unit = "tokens", .doc = "Of all."},
    {"largest_later_chunk", FIELD_I64, AT(largest_later_chunk), .unit = "tokens", .doc = "Of those beyond the first."},
    {"delivery_lag", FIELD_BOOL, AT(delivery_lag), .doc = "Over the limit."},
};
static const struct schema lag_schema = {"lag", sizeof(struct result_lag), lag_fields, SCHEMA_COUNT(lag_fields),
                                         "Did the tokens arrive when the energy was spent?"};
#undef AT

#define AT(member) .offset = offsetof(struct result_metrics, member)
static const struct field metrics_fields[] = {
    {"steady_j_per_token", FIELD_QUANTITY, AT(steady_j_per_token), .unit = "J/token", .doc = "Steady-state J/token."},
    {"lifecycle_j_per_token", FIELD_QUANTITY, AT(lifecycle_j_per_token), .unit = "J/token",
     .doc = "Full-lifecycle J/token."},
    {"startup_j", FIELD_QUANTITY, AT(startup_j), .unit = "J", .doc = "Startup energy."},
    {"release_j", FIELD_QUANTITY, AT(release_j), .unit = "J", .doc = "Release energy."},
    {"throughput_tok_s", FIELD_QUANTITY, AT(throughput_tok_s), .unit = "tok/s",
     .doc = "Output tokens over the duration of the formal stage."},
    {"formal_w", FIELD_QUANTITY, AT(formal_w), .unit = "W", .doc = "Average power, formal stage."},
    {"steady_w", FIELD_QUANTITY, AT(steady_w), .unit = "W", .doc = "Average power, steady window."},
    {"lifecycle_w", FIELD_QUANTITY, AT(lifecycle_w), .unit = "W", .doc = "Average power, lifecycle."},
    {"formal_j_per_token", FIELD_QUANTITY, AT(formal_j_per_token), .unit = "J/token", .doc = "Formal-stage J/token."},
    {"saturated_j_per_token", FIELD_QUANTITY, AT(saturated_j_per_token), .unit = "J/token",
     .doc = "Saturated J/token."},
    {"j_per_request", FIELD_QUANTITY, AT(j_per_request), .unit = "J", .doc = "Formal energy over successful requests."},
    {"tokens_per_kwh", FIELD_QUANTITY, AT(tokens_per_kwh), .unit = "tokens/kWh", .doc = "Formal stage."},
    {"j_per_total_token", FIELD_QUANTITY, AT(j_per_total_token), .unit = "J/token",
     .doc = "Per input and output token."},
    {"j_per_visible_token", FIELD_QUANTITY, AT(j_per_visible_token), .unit = "J/token",
     .doc = "Per visible output token."},
    {"cost_per_million_tokens", FIELD_QUANTITY, AT(cost_per_million_tokens), .doc = "In `currency`, whole server."},
    {"carbon_g_per_million_tokens", FIELD_QUANTITY, AT(carbon_g_per_million_tokens), .unit = "g",
     .doc = "CO2, whole server."},
    {"kwh_per_million_tokens", FIELD_QUANTITY, AT(kwh_per_million_tokens), .unit = "kWh", .doc = "Whole server."},
    {"currency", FIELD_TEXT, AT(currency), .doc = "Currency."},
    {"pue", FIELD_F64, AT(pue), .doc = "Of the user."},
    {"server_factor", FIELD_F64, AT(server_factor), .doc = "Of the user: whole server over GPUs."},
};
static const struct schema metrics_schema = {"metrics", sizeof(struct result_metrics), metrics_fields,
                                             SCHEMA_COUNT(metrics_fields), "The metrics of the method."};
#undef AT

#define AT(member) .offset = offsetof(struct estimate, member)
static const struct field estimate_fields[] = {
    {"requests", FIELD_I64, AT(requests), .doc = "N."},
    {"total_j", FIELD_QUANTITY, AT(total_j), .unit = "J", .doc = "E(N)."},
    {"per_request_j", FIELD_QUANTITY, AT(per_request_j), .unit = "J", .doc = "E(N) / N."},
    {"overhead_per_request_j", FIELD_QUANTITY, AT(overhead_per_request_j), .unit = "J",
     .doc = "Startup and release over N."},
    {"overhead_share", FIELD_QUANTITY, AT(overhead_share), .doc = "Overhead over E(N)."},
    {"j_per_token", FIELD_QUANTITY, AT(j_per_token), .unit = "J/token", .doc = "E(N) over N mean outputs."},
    {"measured", FIELD_BOOL, AT(measured), .doc = "N is the run's own: total_j was measured."},
    {"low_j", FIELD_F64, AT(low_j), .unit = "J", .doc = "Lowest of the three ways, where they differ by over 10 %."},
    {"high_j", FIELD_F64, AT(high_j), .unit = "J", .doc = "Highest of them."},
};
const struct schema estimate_schema = {"estimate", sizeof(struct estimate), estimate_fields,
                                       SCHEMA_COUNT(estimate_fields), "Lifecycle energy for N requests."};
#undef AT

#define AT(member) .offset = offsetof(struct result_estimate, member)
static const struct field estimates_fields[] = {
    {"source", FIELD_TEXT, AT(source), .doc = "What the energy per request is."},
    {"fixed_j", FIELD_QUANTITY, AT(fixed_j), .unit = "J", .doc = "Startup and release."},
    {"e_request_j", FIELD_QUANTITY, AT(e_request_j), .unit = "J", .doc = "Per request."},
    {"e_steady_j", FIELD_QUANTITY, AT(e_steady_j), .unit = "J",
     .doc = "Steady-state J/token times mean output tokens."},
    {"e_attributed_j", FIELD_QUANTITY, AT(e_attributed_j), .unit = "J",
     .doc = "Mean attributed energy of the requests in the steady window."},
    {"e_formal_j", FIELD_QUANTITY, AT(e_formal_j), .unit = "J", .doc = "Formal energy over requests."},
    {"mean_output_tokens", FIELD_QUANTITY, AT(mean_output_tokens), .unit = "tokens",
     .doc = "Of successful formal requests."},
    {"ranged", FIELD_BOOL, AT(ranged), .doc = "The three ways differ by over 10 %."},
    {"n_overhead_1", FIELD_QUANTITY, AT(n_overhead_1), .doc = "Smallest N with overhead under 1 %."},
    {"n_overhead_5", FIELD_QUANTITY, AT(n_overhead_5), .doc = "Under 5 %."},
    {"n_overhead_10", FIELD_QUANTITY, AT(n_overhead_10), .doc = "Under 10 %."},
    {"table", FIELD_LIST, AT(table), .count_offset = offsetof(struct result_estimate, table_count),
     .item = FIELD_OBJECT, .sub = &estimate_schema, .doc = "For some N."},
};
static const struct schema estimates_schema = {"estimates", sizeof(struct result_estimate), estimates_fields,
                                               SCHEMA_COUNT(estimates_fields), "Estimate of the lifecycle energy."};
#undef AT

#define AT(member) .offset = offsetof(struct result_check, member)
static const struct field check_fields[] = {
    {"code", FIELD_ENUM, AT(code), .names = check_code_names, .doc = "Code."},
    {"outcome", FIELD_ENUM, AT(outcome), .names = check_outcome_names, .doc = "Outcome."},
    {"why", FIELD_TEXT, AT(why), .doc = "What was compared and seen."},
};
static const struct schema check_schema = {"check", sizeof(struct result_check), check_fields,
                                           SCHEMA_COUNT(check_fields), "One excluding check."};
#undef AT

#define AT(member) .offset = offsetof(struct result_mark, member)
static const struct field mark_fields[] = {
    {"code", FIELD_ENUM, AT(code), .names = mark_code_names, .doc = "Code."},
    {"outcome", FIELD_ENUM, AT(outcome), .names = check_outcome_names, .doc = "Outcome."},
    {"why", FIELD_TEXT, AT(why), .doc = "What was seen."},
    {"value", FIELD_F64, AT(value), .doc = "The number behind it."},
    {"limit", FIELD_F64, AT(limit), .doc = "Its limit."},
};
static const struct schema mark_schema = {"mark", sizeof(struct result_mark), mark_fields, SCHEMA_COUNT(mark_fields),
                                          "One mark; failed: the run carries it."};
#undef AT

#define AT(member) .offset = offsetof(struct result, member)
static const struct field result_fields[] = {
    {"run_id", FIELD_TEXT, AT(run_id), .doc = "Run."},
    {"method_id", FIELD_TEXT, AT(method_id), .doc = "Version of the method."},
    {"jtok_version", FIELD_TEXT, AT(jtok_version), .doc = "That analysed it."},
    {"records_method_id", FIELD_TEXT, AT(records_method_id), .doc = "Under which the records were made."},
    {"records_jtok_version", FIELD_TEXT, AT(records_jtok_version), .doc = "That made the records."},
    {"method", FIELD_OBJECT, AT(method), .sub = &method_schema, .doc = "Parameters."},
    {"differences", FIELD_TEXT, AT(differences), .doc = "What differs from the method's defaults."},
    {"decisions", FIELD_LIST, AT(decisions), .count_offset = offsetof(struct result, decision_count),
     .item = FIELD_OBJECT, .sub = &method_decision_schema, .doc = "Decisions of jtok's own, marked [D] in the method."},
    {"name", FIELD_TEXT, AT(name), .doc = "Label."},
    {"scenario", FIELD_TEXT, AT(scenario), .doc = "Task."},
    {"model", FIELD_TEXT, AT(model), .doc = "Model."},
    {"revision", FIELD_TEXT, AT(revision), .doc = "Its revision."},
    {"engine", FIELD_TEXT, AT(engine), .doc = "Engine."},
    {"engine_version", FIELD_TEXT, AT(engine_version), .doc = "Its version."},
    {"precision", FIELD_TEXT, AT(precision), .doc = "Number format of its weights."},
    {"total_parameters", FIELD_F64, AT(total_parameters), .doc = "Of the model."},
    {"model_source", FIELD_TEXT, AT(model_source), .doc = "Who names the model: plan or snapshot."},
    {"revision_source", FIELD_TEXT, AT(revision_source), .doc = "Who states the revision: plan or engine."},
    {"precision_source", FIELD_TEXT, AT(precision_source),
     .doc = "Who states the precision: plan, engine or snapshot."},
    {"engine_version_source", FIELD_TEXT, AT(engine_version_source), .doc = "Who states the version: engine or plan."},
    {"total_parameters_source", FIELD_TEXT, AT(total_parameters_source),
     .doc = "Who states them: plan, snapshot or analyze."},
    {"image_digest", FIELD_TEXT, AT(image_digest), .doc = "Of the container image, as the plan states it."},
    {"plan_sha256", FIELD_TEXT, AT(plan_sha256), .doc = "Of plan.json."},
    {"requests_sha256", FIELD_TEXT, AT(requests_sha256), .doc = "Of the request file's bytes."},
    {"work_sha256", FIELD_TEXT, AT(work_sha256), .doc = "Of what was asked, request by request."},
    {"simulated", FIELD_BOOL, AT(simulated), .doc = "Some part of GPU or engine was simulated."},
    {"formal", FIELD_BOOL, AT(formal), .doc = "No check failed, and none lacks its records."},
    {"metrics", FIELD_OBJECT, AT(metrics), .sub = &metrics_schema, .doc = "Metrics."},
    {"stages", FIELD_LIST, AT(stages), .count_offset = offsetof(struct result, stage_count), .item = FIELD_OBJECT,
     .sub = &stage_schema, .doc = "Stages."},
    {"gpus", FIELD_LIST, AT(gpus), .count_offset = offsetof(struct result, gpu_count), .item = FIELD_OBJECT,
     .sub = &gpu_schema, .doc = "GPUs."},
    {"release", FIELD_OBJECT, AT(release), .sub = &release_schema, .doc = "Release."},
    {"load", FIELD_OBJECT, AT(load), .sub = &load_schema, .doc = "Requests."},
    {"attribution", FIELD_OBJECT, AT(attribution), .sub = &attribution_schema, .doc = "Attribution."},
    {"steady", FIELD_OBJECT, AT(steady), .sub = &steady_schema,
     .doc = "Steady state under the method's K and reading."},
    {"steady_table", FIELD_LIST, AT(steady_table), .count_offset = offsetof(struct result, steady_count),
     .item = FIELD_OBJECT, .sub = &steady_schema, .doc = "Every K and reading."},
    {"saturated", FIELD_OBJECT, AT(saturated), .sub = &saturated_schema, .doc = "Saturated."},
    {"lag", FIELD_OBJECT, AT(lag), .sub = &lag_schema, .doc = "Delivery lag."},
    {"estimate", FIELD_OBJECT, AT(estimate), .sub = &estimates_schema, .doc = "Estimate."},
    {"checks", FIELD_LIST, AT(checks), .count_offset = offsetof(struct result, check_count), .item = FIELD_OBJECT,
     .sub = &check_schema, .doc = "Excluding checks."},
    {"marks", FIELD_LIST, AT(marks), .count_offset = offsetof(struct result, mark_count), .item = FIELD_OBJECT,
     .sub = &mark_schema, .doc = "Marks."},
    {"startup_phases", FIELD_LIST, AT(startup_phases), .count_offset = offsetof(struct result, startup_phase_count),
     .item = FIELD_OBJECT, .sub = &phase_schema, .doc = "The startup, cut where the engine's log says what is done."},
};
const struct schema result_schema = {"result", sizeof(struct result), result_fields, SCHEMA_COUNT(result_fields),
                                     "The result of one run."};
#undef AT

#define AT(member) .offset = offsetof(struct result_request, member)
static const struct field result_request_fields[] = {
    {"id", FIELD_I64, AT(id), .doc = "Position in the set."},
    {"verdict", FIELD_ENUM, AT(verdict), .names = verdict_names, .doc = "Outcome."},
    {"status", FIELD_I64, AT(status), .doc = "HTTP status; -1: none."},
    {"submit_s", FIELD_F64, AT(submit_s), .unit = "s", .doc = "From formal_start."},
    {"first_s", FIELD_F64, AT(first_s), .unit = "s", .doc = "First token chunk, from formal_start."},
    {"last_s", FIELD_F64, AT(last_s), .unit = "s", .doc = "Last token chunk, from formal_start."},
    {"end_s", FIELD_F64, AT(end_s), .unit = "s", .doc = "From formal_start."},
    {"ttft_s", FIELD_F64, AT(ttft_s), .unit = "s", .doc = "Time to first token."},
    {"ttft_visible_s", FIELD_F64, AT(ttft_visible_s), .unit = "s", .doc = "Time to first visible output."},
    {"tpot_s", FIELD_F64, AT(tpot_s), .unit = "s", .doc = "Time per output token."},
    {"e2e_s", FIELD_F64, AT(e2e_s), .unit = "s", .doc = "Submission to end."},
    {"prompt_tokens", FIELD_I64, AT(prompt_tokens), .unit = "tokens", .doc = "By usage."},
    {"output_tokens", FIELD_I64, AT(output_tokens), .unit = "tokens", .doc = "By usage."},
    {"reasoning_tokens", FIELD_I64, AT(reasoning_tokens), .unit = "tokens", .doc = "By usage."},
    {"token_chunks", FIELD_I64, AT(token_chunks), .doc = "Seen."},
    {"generates", FIELD_BOOL, AT(generates), .doc = "Successful, with a generation interval."},
    {"order", FIELD_I64, AT(order), .doc = "Place in completion order."},
    {"gap_j", FIELD_F64, AT(gap_j), .unit = "J", .doc = "Attributed energy under this reading."},
    {"interval_j", FIELD_F64, AT(interval_j), .unit = "J", .doc = "Attributed energy under this reading."},
    {"request_j", FIELD_F64, AT(request_j), .unit = "J", .doc = "Attributed energy under this reading."},
    {"words_j", FIELD_F64, AT(words_j), .unit = "J", .doc = "Attributed energy under this reading."},
    {"j_per_token", FIELD_F64, AT(j_per_token), .unit = "J/token", .doc = "Under the method's reading."},
    {"detail", FIELD_TEXT, AT(detail), .doc = "Of a failure."},
};
const struct schema result_request_schema = {"result_request", sizeof(struct result_request), result_request_fields,
                                             SCHEMA_COUNT(result_request_fields), "One formal request."};
#undef AT

#define AT(member) .offset = offsetof(struct result_window, member)
static const struct field result_window_fields[] = {
    {"window", FIELD_I64, AT(window), .doc = "Number."},
    {"first_request", FIELD_I64, AT(first_request), .doc = "Id."},
    {"last_request", FIELD_I64, AT(last_request), .doc = "Id."},
    {"start_s", FIELD_F64, AT(start_s), .unit = "s", .doc = "Completion of the first, from formal_start."},
    {"end_s", FIELD_F64, AT(end_s), .unit = "s", .doc = "Completion of the last, from formal_start."},
    {"cv_gap", FIELD_F64, AT(cv[RULE_GAP]), .doc = "CV under `gap`."},
    {"level_gap", FIELD_F64, AT(level[RULE_GAP]), .unit = "J/token", .doc = "Mean J/token under `gap`."},
    {"cv_interval", FIELD_F64, AT(cv[RULE_INTERVAL]), .doc = "CV under `interval`."},
    {"level_interval", FIELD_F64, AT(level[RULE_INTERVAL]), .unit = "J/token", .doc = "Mean J/token under `interval`."},
    {"cv_request", FIELD_F64, AT(cv[RULE_REQUEST]), .doc = "CV under `request`."},
    {"level_request", FIELD_F64, AT(level[RULE_REQUEST]), .unit = "J/token", .doc = "Mean J/token under `request`."},
    {"cv_words", FIELD_F64, AT(cv[RULE_WORDS]), .doc = "CV under `words`."},
    {"level_words", FIELD_F64, AT(level[RULE_WORDS]), .unit = "J/token", .doc = "Mean J/token under `words`."},
};
const struct schema result_window_schema = {"result_window", sizeof(struct result_window), result_window_fields,
                                            SCHEMA_COUNT(result_window_fields),
                                            "One window of requests in completion order."};
#undef AT
