/* What an analysis says of one run: a pure function of records and method (METHOD section 1).
 *
 * Everything that a report, result.json and a comparison need is here. A value is a struct quantity with its state; a
 * plain double is NaN and an int64_t is ABSENT_I64 where it does not exist; a text is null. Times are nanoseconds since
 * the run began (`_ns`); an offset in seconds is from formal_start, where its comment says so. The memory is the
 * arena's that analyze() was given; texts may also point into the records.
 *
 * result_schema describes result.json. The two long tables are written beside it as CSV: requests by
 * result_request_schema, windows by result_window_schema. */
#ifndef JTOK_MODEL_RESULT_H
#define JTOK_MODEL_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "schema/schema.h"
#include "model/method.h"
#include "base/quantity.h"
#include "model/record.h"

/* ---- energy (METHOD section 2) ---- */

enum stage_id {
    STAGE_BASELINE,  /* [t0, t1] */
    STAGE_STARTUP,   /* [t2, t6] */
    STAGE_FORMAL,    /* [t6, t7] */
    STAGE_RELEASE,   /* [t7, release_end] */
    STAGE_LIFECYCLE, /* startup + formal + release */
    STAGE_STEADY,    /* the steady window under the method's K and reading */
    STAGE_SATURATED, /* at or above the share of peak concurrency */
    STAGE_COUNT
};
extern const char *const stage_names[STAGE_COUNT + 1];

enum series_id {
    SERIES_GRID,    /* trapezoid over the 1 s grid of `instant` */
    SERIES_MARKS,   /* the same with the samples at the stage marks */
    SERIES_COUNTER, /* between change points */
    SERIES_BUFFER,  /* trapezoid over the 20 ms buffer */
    SERIES_PRECISE, /* buffer times the run's factor */
    SERIES_COUNT
};
enum { HEADLINE_MIXED = SERIES_COUNT };
extern const char *const series_names[SERIES_COUNT + 2]; /* the last is "mixed" */

/* What a grid's instrument doubt was found against (METHOD section 2). NONE: neither buffer nor counter covers the
 * stretch, and sampling says nothing of it. */
enum doubt_source { DOUBT_NONE, DOUBT_PRECISE, DOUBT_COUNTER, DOUBT_SUCCESSIVE };
extern const char *const doubt_source_names[5];

/* One stretch of time by every instrument, J. */
struct energy_set {
    struct quantity headline; /* by the method's basis */
    int headline_series;      /* enum series_id, or HEADLINE_MIXED: a sum of stages that differ in it */
    struct quantity grid, marks, counter, buffer, precise;
};

struct result_stage_gpu {
    int64_t gpu; /* index into result.gpus */
    struct energy_set energy;
    struct quantity average_w;
    double grid_gap_s, buffer_gap_s, counter_gap_s; /* the longest between neighbours that touch the stage; NaN: none */
    bool grid_gap, buffer_gap;                      /* over the limit of METHOD section 2 */
    const char *counter_void;                       /* why the counter is void in this stage; null: it is not */
    int grid_doubt;                                 /* enum doubt_source */
    /* What section 8 judges, for each GPU: */
    struct quantity counter_disagreement; /* unscaled buffer / counter at t + L - 1 */
    struct quantity grid_disagreement;    /* grid / counter - 1 */
    double grid_disagreement_limit;       /* the larger of 10 % and twice the grid's successive differences */
};

struct result_stage {
    int stage;                /* enum stage_id */
    int64_t start_ns, end_ns; /* ABSENT_I64: the stage did not happen */
    double duration_s;
    const char *why; /* of an absent stage */
    struct energy_set energy;
    struct quantity average_w;                          /* headline over duration, all GPUs together */
    struct quantity sampling_error;                     /* headline / precise - 1 */
    struct quantity grid_difference, buffer_difference; /* against the counter: series / counter - 1 */
    bool grid_gap, buffer_gap, counter_void;            /* of any GPU */
    const char *contradiction; /* two instruments of a GPU further apart than their doubts; null: none are */
    struct result_stage_gpu *gpus;
    size_t gpu_count;
    /* jtok's own waits (section 3): from warm-up to formal start in startup, from formal end to stop in release; absent
     * elsewhere. */
    double wait_s;
    struct quantity wait_j;     /* of the whole wait; precise, else counter */
    struct quantity wait_share; /* of the stage by the same basis: what is not METHOD's silence before the start */
};

/* ---- startup by phase (section 3) ---- */

/* A phase ends at its mark; what has no mark is `rest`. */
enum startup_phase {
    PHASE_PROCESS, /* process and imports, until the first use of a GPU */
    PHASE_WEIGHTS, /* weights loaded */
    PHASE_COMPILE, /* compiled */
    PHASE_GRAPHS,  /* graphs captured */
    PHASE_SERVING, /* serving */
    PHASE_REST,
    PHASE_COUNT
};
extern const char *const startup_phase_names[PHASE_COUNT + 1];

/* One stretch of [service_start, formal_start]; the list is in order of time, without holes. */
struct result_phase {
    int phase; /* enum startup_phase */
    int64_t start_ns, end_ns;
    double start_s, duration_s; /* from service_start */
    struct quantity energy_j;   /* precise where the startup has it, else counter */
    struct quantity average_w;
};

/* ---- GPUs, baseline, release (sections 2 and 3) ---- */

struct result_gpu {
    const char *uuid, *name;
    int64_t index;
    double power_limit_w;
    int64_t partitioned; /* as in rec_gpu; ABSENT_I64: also not recorded */
    const char *instant_source;
    /* basis `precise` */
    struct quantity factor;        /* counter over buffer on [t2, release_end] */
    struct quantity counter_lag_s; /* L */
    /* baseline window */
    struct quantity baseline_w; /* time-weighted mean */
    double baseline_sd_w, baseline_half_1_w, baseline_half_2_w;
    int64_t baseline_utilisation_max, baseline_processes_max; /* ABSENT_I64: not recorded */
    int baseline_idle;                                        /* enum check_outcome: idle by section 3 */
    const char *baseline_why;                                 /* the reading that failed */
    /* release, all from formal_end, s */
    struct quantity memory_released_s, power_recovered_s;
    /* delivery lag */
    struct quantity ready_level_w;
    double formal_mean_w;  /* by the buffer */
    int64_t buffer_marked; /* buffer stamps dropped beside a clock step */
};

struct result_release {
    bool closed, timed_out;
    const char *why;                                                     /* not closed: what is missing, on which GPU */
    struct quantity exit_s, memory_released_s, power_recovered_s, end_s; /* from formal_end; all GPUs */
    int64_t end_ns;        /* latest of exit, memory, power; the end of the watch where not closed; ABSENT_I64 */
    int64_t hold_restarts; /* times that power left its band, or was not read, after t9 and t10 */
    struct quantity first_in_band_s; /* from formal_end: the first sample in band, t11 had none followed it out */
    struct quantity first_in_band_j; /* release energy if that had been t11 */
    struct quantity resolution_j;    /* of t11: one period at the baseline's power; apart from the doubt */
};

/* ---- requests (section 4) ---- */

struct percentiles {
    int64_t n;
    struct quantity mean, p50, p90, p95, p99, max;
};

enum token_source { TOKENS_RUNNING, TOKENS_SPREAD, TOKENS_MIXED, TOKENS_NONE };
extern const char *const token_source_names[5];

struct result_failure {
    int verdict; /* enum verdict */
    int64_t count;
    int64_t first_request; /* lowest id */
    int64_t status;        /* HTTP, where all of them have the same; else ABSENT_I64 */
    const char *detail;    /* of the first; null */
};

struct result_load {
    int64_t requests, successful, failed;
    int64_t prompt_tokens, output_tokens, reasoning_tokens,
        visible_tokens;                 /* of successful requests; ABSENT: unknown */
    int64_t token_chunks;               /* of successful requests */
    int64_t no_interval;                /* successful ones with fewer than two distinct token times */
    int64_t repeated_prompts;           /* requests whose prompt an earlier one had; ABSENT_I64: digests not recorded */
    int token_source;                   /* enum token_source: "running counts: yes or no" */
    int64_t shared_stamps, read_stamps; /* token chunks so marked */
    int64_t tpot_spread;                /* successful requests whose n1 was allotted, not counted by the engine */
    int64_t later_tokens; /* that came beyond each request's first stamp, and in only ones of over `merged_limit` */
    int64_t merged_tokens, merged_limit; /* tokens that came in stamps of over `merged_limit` of one request, beyond its
                                            first stamp or in its only one; ABSENT: no token chunk */
    int64_t timings_nulled;              /* requests with a time beside a clock step */
    int64_t clock_steps;
    struct percentiles ttft_s, tpot_s, e2e_s, ttft_visible_s;
    struct percentiles itl_s;
    bool itl_per_token;               /* false: itl_s holds chunk gaps */
    struct quantity submit_spread_s;  /* first to last submission */
    struct quantity peak_concurrency; /* requests within their generation interval */
    struct result_failure *failures;  /* by verdict, ascending */
    size_t failure_count;
};

/* One formal request: requests.csv. NaN and ABSENT_I64 where a value does not exist; `verdict` says why of a failed
 * one. */
struct result_request {
    int64_t id;
    int verdict;                             /* enum verdict */
    int64_t status;                          /* HTTP; -1: none */
    double submit_s, first_s, last_s, end_s; /* from formal_start */
    double ttft_s, ttft_visible_s, tpot_s, e2e_s;
    int64_t prompt_tokens, output_tokens, reasoning_tokens, token_chunks;
    bool generates;                               /* successful, with a generation interval */
    int64_t order;                                /* position among those in completion order, from 0; ABSENT_I64 */
    double gap_j, interval_j, request_j, words_j; /* attributed energy under each reading */
    double j_per_token;                           /* under the method's reading */
    const char *detail;
};

/* ---- attribution (section 5) ---- */

enum curve_source { CURVE_NONE, CURVE_BUFFER, CURVE_COUNTER, CURVE_GRID };
extern const char *const curve_source_names[5];

struct result_reading {
    int reading; /* enum rule */
    struct quantity attributed_j, no_generation_j;
    struct quantity closure;        /* |attributed + none - formal| / formal */
    bool closed;                    /* closure <= 1e-9 */
    int64_t by_interval;            /* requests that `gap` treats as `interval`: first chunk holds over half */
    struct quantity cv_min, cv_max; /* over all windows */
    int64_t cv_min_window, cv_max_window;
};

struct result_attribution {
    int source;                      /* enum curve_source of E(t) */
    struct quantity scale;           /* counter over curve on the formal stage (buffer only) */
    struct quantity formal_j;        /* what is split */
    struct quantity failed_active_j; /* stretches in which a failed request was active */
    struct result_reading *readings; /* RULE_COUNT of them, by enum rule */
    size_t reading_count;
};

/* ---- steady state (section 6) ---- */

/* One window of W requests in completion order: windows.csv. */
struct result_window {
    int64_t window;                           /* number, from 0: also the order of its first request */
    int64_t first_request, last_request;      /* ids */
    double start_s, end_s;                    /* completion of the first and the last one, from formal_start */
    double cv[RULE_COUNT], level[RULE_COUNT]; /* level: J/token */
};

/* The answer for one reading and one K. */
struct result_steady {
    int reading, k; /* enum rule, enum steady_k */
    bool reached;
    const char *why;                     /* not reached: the reason with its numbers */
    int64_t window;                      /* first qualifying one */
    int64_t windows;                     /* that were asked to qualify: K, or all that fit */
    int64_t first_request, last_request; /* ids: completed first and last in the steady window */
    int64_t requests;                    /* that completed in it */
    int64_t start_ns, end_ns;
    double start_s, end_s; /* from formal_start */
    struct quantity energy_j, average_w, j_per_token;
    struct quantity mean_request_j; /* mean attributed energy of the requests completed in it */
    int64_t tokens;
    double edge_j_per_token; /* of j_per_token's doubt, what the edges that cut streams add; NaN: no value */
    double *cvs;             /* of the qualifying windows */
    size_t cv_count;
    double lowest_cv; /* over candidates, of this reading */
    int64_t lowest_cv_window;
    int64_t longest_stretch, longest_stretch_window; /* of neighbouring windows under the limit, and its first */
};

struct result_saturated {
    struct quantity j_per_token, energy_j, average_w;
    int64_t start_ns, end_ns, tokens, peak, level;
    double edge_j_per_token; /* as in result_steady */
    double start_s, end_s;   /* from formal_start */
    bool meaningful;         /* requests waited: the peak is below the number that generate, or the engine said so */
    double waiting_share;    /* of the engine's readings within the window, those with requests waiting; NaN: none */
    struct quantity tail_energy_share, tail_token_share, tail_time_share; /* of the formal stage, after the window */
};

struct result_lag {
    bool measurable;
    const char *why; /* not measurable */
    struct quantity idle_owed_s, idle_owed_j, idle_owed_share;
    int64_t merged_chunks, largest_chunk, largest_later_chunk; /* tokens; ABSENT_I64: nothing to count */
    bool delivery_lag;
};

/* ---- metrics and estimate (section 7) ---- */

struct result_metrics {
    struct quantity steady_j_per_token;
    struct quantity lifecycle_j_per_token, startup_j, release_j;
    struct quantity throughput_tok_s;
    struct quantity formal_w, steady_w, lifecycle_w;
    struct quantity formal_j_per_token, saturated_j_per_token, j_per_request;
    struct quantity tokens_per_kwh;    /* formal stage */
    struct quantity j_per_total_token; /* input and output tokens */
    struct quantity j_per_visible_token;
    struct quantity cost_per_million_tokens, carbon_g_per_million_tokens, kwh_per_million_tokens; /* whole server, with
        the user's server factor and PUE: only where both are given */
    const char *currency;
    double pue, server_factor; /* NaN: not given */
};

/* E(N) for one N. */
struct estimate {
    int64_t requests;
    struct quantity total_j, per_request_j, overhead_per_request_j, overhead_share, j_per_token;
    bool measured;        /* N is the run's own: total_j is what was measured, not estimated */
    double low_j, high_j; /* range over the three ways, where they differ by over 10 %; else NaN */
};

struct result_estimate {
    const char *source;          /* what e_request_j is: "steady state" or "formal stage / requests", and why */
    struct quantity fixed_j;     /* startup + release */
    struct quantity e_request_j; /* e_ss, or its stand-in */
    struct quantity e_steady_j, e_attributed_j, e_formal_j; /* the three ways */
    struct quantity mean_output_tokens;
    bool ranged;                                               /* the ways differ by over 10 % */
    struct quantity n_overhead_1, n_overhead_5, n_overhead_10; /* smallest N with overhead under 1, 5, 10 % */
    struct estimate *table;                                    /* N = 1, 10, 100 ... and the run's own count */
    size_t table_count;
};

/* ---- verification (section 8) ---- */

enum check_code {
    CODE_PLAN_MISMATCH,
    CODE_IDENTITY_WRONG,
    CODE_IDENTITY_UNKNOWN,
    CODE_PREFLIGHT_FAILED,
    CODE_GPU_MISMATCH,
    CODE_FOREIGN_PROCESS,
    CODE_BASELINE_NOT_IDLE,
    CODE_NOT_COVERED,
    CODE_SAMPLE_GAP,
    CODE_COUNTER_VOID,
    CODE_COUNTER_DISAGREES,
    CODE_GRID_DISAGREES,
    CODE_POWER_OUT_OF_RANGE,
    CODE_REQUEST_UNACCOUNTED,
    CODE_USAGE_DISAGREES,
    CODE_TOO_MANY_FAILED,
    CODE_RELEASE_TIMED_OUT,
    CODE_RELEASE_NOT_CLOSED,
    CODE_ENGINE_FAILED,
    CODE_INTERRUPTED,
    CODE_CLOCK_STEP,
    CODE_RECORDS_DAMAGED,
    CODE_METHOD_SHORTENED,
    CODE_COUNT
};
extern const char *const check_code_names[CODE_COUNT + 1];

enum mark_code {
    RMARK_SIMULATED,
    RMARK_STEADY_NOT_REACHED,
    RMARK_DELIVERY_LAG,
    RMARK_CLIENT_LIMITED,
    RMARK_REPEATED_PROMPTS,
    RMARK_THROTTLED,
    RMARK_IDENTITY_NOT_VERIFIABLE,
    RMARK_USAGE_NOT_VERIFIABLE,
    RMARK_SAMPLER_LATE,
    RMARK_AVERAGED_POWER,
    RMARK_NO_BUFFER,
    RMARK_OBSERVER_WAIT,
    RMARK_HOLD_RESTARTED,
    RMARK_PAGE_CACHE_WARMED,
    RMARK_ENGINE_OWN_REQUESTS,
    RMARK_ARRIVALS_MERGED,
    RMARK_COUNT
};
extern const char *const mark_code_names[RMARK_COUNT + 1];

/* One excluding check. `why`: what was compared and seen, with numbers; never null but for CHECK_NOT_CHECKED. */
struct result_check {
    int code;    /* enum check_code */
    int outcome; /* enum check_outcome */
    const char *why;
};

/* Does a check with this outcome keep a run from being formal? Failed, not recorded and not checked do; not stated and
 * not judged do not, but never count as passed. */
static inline bool check_excludes(int outcome)
{
    return outcome != CHECK_PASSED && outcome != CHECK_NOT_STATED && outcome != CHECK_NOT_JUDGED;
}

/* One mark. PASSED: the run does not carry it; FAILED: it does. */
struct result_mark {
    int code;    /* enum mark_code */
    int outcome; /* enum check_outcome */
    const char *why;
    double value, limit; /* the number behind it; NaN where there is none */
};

struct result {
    const char *run_id, *method_id, *jtok_version;
    const char *records_method_id, *records_jtok_version; /* under which, and by which, the records were made */
    struct method method;
    const char *differences; /* from the method's defaults; null: none */
    const struct method_decision *decisions;
    size_t decision_count;
    const char *name, *scenario, *model, *revision, *engine, *engine_version; /* as planned and seen, for headings */
    const char *precision; /* "bf16", "fp8", ...; null: nobody says */
    double total_parameters;
    /* "plan", "engine", "snapshot" or "analyze": who says it; null: nobody */
    const char *model_source, *revision_source, *precision_source, *engine_version_source, *total_parameters_source;
    const char *image_digest; /* of the container image, as the plan states it */
    const char *plan_sha256, *requests_sha256;
    const char *work_sha256; /* of what was asked, request by request (METHOD section 9) */
    bool simulated;          /* any part of GPU or engine */
    bool formal;             /* no check failed, and none lacks its records or was left out */
    struct result_metrics metrics;
    struct result_stage *stages; /* STAGE_COUNT of them, by enum stage_id */
    size_t stage_count;
    struct result_gpu *gpus;
    size_t gpu_count;
    struct result_release release;
    struct result_load load;
    struct result_attribution attribution;
    struct result_steady steady;        /* under the method's K and reading */
    struct result_steady *steady_table; /* RULE_COUNT * K_COUNT, by reading, then K = 1, 2, 3, all */
    size_t steady_count;
    struct result_saturated saturated;
    struct result_lag lag;
    struct result_estimate estimate;
    struct result_check *checks; /* CODE_COUNT of them, by enum check_code */
    size_t check_count;
    struct result_mark *marks; /* RMARK_COUNT of them, by enum mark_code */
    size_t mark_count;
    struct result_phase *startup_phases; /* none: the run did not reach the formal stage */
    size_t startup_phase_count;
    struct result_request *requests;
    size_t request_count;
    struct result_window *windows;
    size_t window_count;
};

extern const struct schema result_schema, result_request_schema, result_window_schema, estimate_schema;

/* Makes a result that was just read whole, by names: each check, mark and stage at its code's place; what an older
 * version did not know yet is absent, its checks and marks NOT_CHECKED with the reason. False where a table holds
 * something twice, or lacks what its own version must have; *ret_why says what, a phrase. O(size). */
bool result_complete(struct result *r, struct arena *a, const char **ret_why);

/* Was this result made under another version of the method than this program's? */
bool result_is_older(const struct result *r);

/* Under one that this version of the program does not know: a newer one, or none that it names? */
bool result_is_of_unknown_method(const struct result *r);

/* Everything absent: quantities NOT_RECORDED with `why`, doubles NaN, counts ABSENT_I64, checks and marks NOT_CHECKED;
 * the tables of fixed length are there, taken from `a`. The starting point of analyze(), and of tests that make a
 * result by hand. */
void result_absent(struct result *r, struct arena *a, const char *why);

/* The row of the steady table for one reading and K. */
const struct result_steady *result_steady_of(const struct result *r, int reading, int k);

/* "21 checks passed, 1 not stated, 1 not judged": how many of each outcome, passed first, none left out. O(checks). */
const char *result_checks_text(const struct result *r, struct arena *a);

/* "2 x NVIDIA H200 at 700 W": number, name and power limit of the boards, as far as they are known and alike. O(GPUs).
 */
const char *result_gpus_text(const struct result *r, struct arena *a);

/* Why the run's latencies are not the server's (client_limited, arrivals_merged), a phrase; null: they are. They are
 * shown with the mark and left out of comparisons. */
const char *result_latency_fault(const struct result *r);

/* Energy of one series in a set. */
struct quantity *energy_series(struct energy_set *e, int series);

#endif
