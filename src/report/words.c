#include "report/words.h"

#include <string.h>
#include "base/must.h"

const struct check_words words_checks[] = {
    {CODE_RECORDS_DAMAGED, true, "The records are damaged", "Whether the records are whole is unknown"},
    {CODE_INTERRUPTED, true, "The run was interrupted", "Whether the run was interrupted is unknown"},
    {CODE_ENGINE_FAILED, true, "The engine failed", "Whether the engine failed is unknown"},
    {CODE_TOO_MANY_FAILED, true, "Too many requests failed", "How many requests failed is unknown"},
    {CODE_GPU_MISMATCH, true, "The engine used other GPUs than planned", "Which GPUs the engine used is unknown"},
    {CODE_FOREIGN_PROCESS, true, "Another process ran on the GPUs", "Other processes on the GPUs could not be seen"},
    {CODE_BASELINE_NOT_IDLE, true, "The GPUs were busy before the start",
     "Whether the GPUs were idle before is unknown"},
    {CODE_PREFLIGHT_FAILED, true, "The machine was not ready for a run",
     "The machine was not checked before the start"},
    {CODE_PLAN_MISMATCH, true, "What ran is not what was planned", "What ran could not be compared with the plan"},
    {CODE_IDENTITY_WRONG, true, "The engine is not what was planned", "The engine could not be asked what it is"},
    {CODE_REQUEST_UNACCOUNTED, true, "Requests are missing, or recorded twice", "The requests could not be counted"},
    {CODE_USAGE_DISAGREES, true, "Engine and answers disagree on the tokens",
     "The engine's token count could not be read"},
    {CODE_RELEASE_NOT_CLOSED, false, "The GPUs did not come to rest after the stop",
     "Whether the GPUs came to rest is unknown"},
    {CODE_RELEASE_TIMED_OUT, false, "The GPUs took too long to come to rest",
     "How long the GPUs took to come to rest is unknown"},
    {CODE_COUNTER_DISAGREES, false, "Energy counter and power samples disagree",
     "The energy counter could not be checked"},
    {CODE_GRID_DISAGREES, false, "The power read once a second misses too much",
     "The power read once a second could not be checked"},
    {CODE_COUNTER_VOID, false, "The energy counter stood still or jumped", "The energy counter was not read"},
    {CODE_NOT_COVERED, false, "Power is missing where a stage begins or ends", "The power of a stage is missing"},
    {CODE_SAMPLE_GAP, false, "Power is missing within a stage", "The power of a stage is missing"},
    {CODE_POWER_OUT_OF_RANGE, true, "The power of a stage can't be right", "Whether the power can be right is unknown"},
    {CODE_CLOCK_STEP, true, "The machine's clock was set during the run", "The machine's clock was not watched"},
    {CODE_METHOD_SHORTENED, false, "The method was shortened, as for a quick try",
     "Whether times were shortened is unknown"},
    {CODE_IDENTITY_UNKNOWN, true, "The model, its precision or the engine is unknown",
     "The model, its precision or the engine is unknown"},
};
_Static_assert(sizeof words_checks / sizeof *words_checks == CODE_COUNT, "each check has its words");

const struct flag_words words_flags[] = {
    {FLAG_SIMULATED, "No number here is a measurement of hardware"},
    {FLAG_DELIVERY_LAG, "The server fell behind its GPUs: tokens came late"},
    {FLAG_THROTTLED, "The GPUs were slowed down by heat or power"},
    {FLAG_ENGINE_OWN_REQUESTS, "The engine also ran requests of its own"},
    {FLAG_CLIENT_LIMITED, "jtok was too slow: latencies are not the server's"},
    {FLAG_ARRIVALS_MERGED, "Tokens came in batches: latencies aren't the server's"},
    {FLAG_AVERAGED_POWER, "The GPU's power is averaged over a second"},
    {FLAG_NO_BUFFER, "The GPU keeps no fine power history: fewer checks"},
    {FLAG_SAMPLER_LATE, "Power was sometimes read late"},
    {FLAG_USAGE_NOT_VERIFIABLE, "The engine keeps no token count to check against"},
    {FLAG_IDENTITY_NOT_VERIFIABLE, "The engine can't confirm all that was planned"},
    {FLAG_OBSERVER_WAIT, "jtok's own waits are part of start or stop"},
    {FLAG_HOLD_RESTARTED, "Power rose again after the engine was gone"},
    {FLAG_PAGE_CACHE_WARMED, "The weights were in memory: a first start costs more"},
    {FLAG_REPEATED_PROMPTS, "Prompts repeat: a prefix cache makes them cheaper"},
    {FLAG_STEADY_NOT_REACHED, "Energy per token never settled: mixed lengths do that"},
};
_Static_assert(sizeof words_flags / sizeof *words_flags == FLAG_COUNT, "each flag has its words");

const char *words_stage(enum stage_id stage)
{
    static const char *const names[STAGE_COUNT] = {
        [STAGE_BASELINE] = "idle before",  [STAGE_STARTUP] = "start",           [STAGE_FORMAL] = "serve",
        [STAGE_RELEASE] = "stop",          [STAGE_LIFECYCLE] = "start to stop", [STAGE_STEADY] = "in steady state",
        [STAGE_SATURATED] = "at peak load"};
    must(stage < STAGE_COUNT);
    return names[stage];
}

const char *words_load(const char *setting, struct arena *a)
{
    must(setting);
    size_t n = 0;
    while (setting[n] && !(strncmp(setting + n, ", for ", 6) == 0 ||
                           (strncmp(setting + n, ", ", 2) == 0 && setting[n + 2] >= '0' && setting[n + 2] <= '9')))
        n++;
    return arena_copy(a, setting, n);
}
