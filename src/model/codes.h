/* The codes of verification (METHOD section 8), a row each: the only list of them.
 *
 *     ROW(PLAN_MISMATCH, plan_mismatch, "what it means when a run carries it, a sentence")
 *
 * gives CODE_PLAN_MISMATCH or FLAG_..., its name in files and reports, and check_code_meaning() or flag_code_meaning().
 * docs/CHECKS.md says of each what to do about it. A new one needs its row here, what decides it in
 * src/analysis/verify*.c, and its section there. */
#ifndef JTOK_MODEL_CODES_H
#define JTOK_MODEL_CODES_H

/* clang-format off */
/* Excluding checks: a run that fails one is not formal. */
#define CHECK_CODES(ROW) \
    ROW(PLAN_MISMATCH, plan_mismatch, "What ran is not what the plan says.") \
    ROW(IDENTITY_WRONG, identity_wrong, "The engine is not, or does not serve, what the plan says.") \
    ROW(IDENTITY_UNKNOWN, identity_unknown, "Model id, precision or engine version is known from neither plan, snapshot nor engine.") \
    ROW(PREFLIGHT_FAILED, preflight_failed, "The machine was not in a normal state before the start, and the user went on.") \
    ROW(GPU_MISMATCH, gpu_mismatch, "The GPUs that the engine used are not exactly the plan's.") \
    ROW(FOREIGN_PROCESS, foreign_process, "A compute process that is not the engine's was on a selected GPU.") \
    ROW(BASELINE_NOT_IDLE, baseline_not_idle, "The GPUs were not idle in the baseline window.") \
    ROW(NOT_COVERED, not_covered, "A stage has a boundary without samples on both sides.") \
    ROW(SAMPLE_GAP, sample_gap, "A stage's headline series has a gap.") \
    ROW(COUNTER_VOID, counter_void, "The energy counter went backward or stood still.") \
    ROW(COUNTER_DISAGREES, counter_disagrees, "Counter and buffer of a GPU differ by over 1 % on a stage of 10 s or more.") \
    ROW(GRID_DISAGREES, grid_disagrees, "Grid and counter of a GPU differ by more than sampling explains.") \
    ROW(POWER_OUT_OF_RANGE, power_out_of_range, "A stage's average power is below idle or above 1.1 times the limit, or a sensor does not follow the load.") \
    ROW(REQUEST_UNACCOUNTED, request_unaccounted, "A request is missing, recorded twice, or not recorded in full.") \
    ROW(USAGE_DISAGREES, usage_disagrees, "The engine's own token count is not the sum of the requests' usage.") \
    ROW(TOO_MANY_FAILED, too_many_failed, "More requests failed than the plan allows.") \
    ROW(RELEASE_TIMED_OUT, release_timed_out, "The release did not end within the maximum wait.") \
    ROW(RELEASE_NOT_CLOSED, release_not_closed, "Exit, memory or power of the release was not proven.") \
    ROW(ENGINE_FAILED, engine_failed, "The run gave up, or the engine ended before it was told to.") \
    ROW(INTERRUPTED, interrupted, "The run was stopped from outside.") \
    ROW(CLOCK_STEP, clock_step, "The system's clock was set during the run.") \
    ROW(RECORDS_DAMAGED, records_damaged, "The records are not whole, sealed and in order.") \
    ROW(METHOD_SHORTENED, method_shortened, "The plan shortened a duration of the method.")

/* Flags: what a reader of the numbers must know. */
#define FLAG_CODES(ROW) \
    ROW(SIMULATED, simulated, "GPU or engine was simulated: no figure is a measurement of hardware.") \
    ROW(STEADY_NOT_REACHED, steady_not_reached, "No steady state: there is no steady-state value.") \
    ROW(DELIVERY_LAG, delivery_lag, "Tokens arrived later than the GPUs made them.") \
    ROW(CLIENT_LIMITED, client_limited, "The client was the bottleneck: latencies are partly its own.") \
    ROW(REPEATED_PROMPTS, repeated_prompts, "Prompts repeat and the engine's prefix cache is on.") \
    ROW(THROTTLED, throttled, "A thermal, power-brake or hardware slowdown was active in the formal stage.") \
    ROW(IDENTITY_NOT_VERIFIABLE, identity_not_verifiable, "The engine gives no way to check part of its identity.") \
    ROW(USAGE_NOT_VERIFIABLE, usage_not_verifiable, "The engine keeps no token count of its own to check against.") \
    ROW(SAMPLER_LATE, sampler_late, "A power sample came over half a period late.") \
    ROW(AVERAGED_POWER, averaged_power, "The power readings are one-second averages: startup and release lag by about a second.") \
    ROW(NO_BUFFER, no_buffer, "The board has no power buffer: grid and counter alone check each other.") \
    ROW(OBSERVER_WAIT, observer_wait, "jtok's own waits took over 2 % of a stage's energy.") \
    ROW(HOLD_RESTARTED, hold_restarted, "Power left its band again after the release seemed over.") \
    ROW(PAGE_CACHE_WARMED, page_cache_warmed, "Reading the weights for their digest left them in the page cache.") \
    ROW(ENGINE_OWN_REQUESTS, engine_own_requests, "The engine generated tokens for itself, and their number is explained.") \
    ROW(ARRIVALS_MERGED, arrivals_merged, "Tokens arrived many at a time: TPOT and ITL are not the server's.")
/* clang-format on */

#define CODE_ENUMERATOR(CODE, name, meaning) CODE_##CODE,
enum check_code { CHECK_CODES(CODE_ENUMERATOR) CODE_COUNT };
#define FLAG_ENUMERATOR(CODE, name, meaning) FLAG_##CODE,
enum flag_code { FLAG_CODES(FLAG_ENUMERATOR) FLAG_COUNT };

extern const char *const check_code_names[CODE_COUNT + 1];
extern const char *const flag_code_names[FLAG_COUNT + 1];

/* One sentence: what it means when a run carries it. */
const char *check_code_meaning(enum check_code code);
const char *flag_code_meaning(enum flag_code code);

#endif
