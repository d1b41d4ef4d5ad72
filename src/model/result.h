/* What an analysis says of one run: a pure function of records and method (METHOD section 1).
 *
 * Everything that a report, result.json and a comparison need is here. A value is a struct quantity with its state; a
 * plain double is NaN and an int64_t is ABSENT_I64 where it does not exist; a text is null. Times are nanoseconds since
 * the run began (`_ns`); an offset in seconds is from formal_start, where its comment says so. The memory is the
 * arena's that analyze() was given; texts may also point into the records.
 *
 * What a field is stands once, in the table of result.c, which describes result.json; here is what a table can't say.
 * The two long tables are written beside it as CSV: requests by result_request_schema, windows by
 * result_window_schema. */
#ifndef JTOK_MODEL_RESULT_H
#define JTOK_MODEL_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/quantity.h"
#include "model/codes.h"
#include "model/method.h"
#include "model/record.h"
#include "schema/schema.h"

/* ---- energy (METHOD section 2) ---- */

enum stage_id {
    STAGE_BASELINE,  /* [t0, t1] */
    STAGE_STARTUP,   /* [t2, t6] */
    STAGE_FORMAL,    /* [t6, t7] */
    STAGE_RELEASE,   /* [t7, release_end] */
    STAGE_LIFECYCLE, /* startup + formal + release */
    STAGE_STEADY,    /* the steady window under the method's K and rule */
    STAGE_SATURATED, /* at or above the share of peak concurrency */
    STAGE_COUNT,
    STAGE_WINDOW = STAGE_COUNT /* of a load, a watch or a command: in no list of stages */
};
extern const char *const stage_id_names[STAGE_COUNT + 2];

enum series_id {
    SERIES_GRID,     /* trapezoid over the 1 s grid of `instant` */
    SERIES_BOUNDARY, /* the same with the samples at the stage marks */
    SERIES_COUNTER,  /* between change points */
    SERIES_BUFFER,   /* trapezoid over the 20 ms buffer */
    SERIES_PRECISE,  /* buffer times the run's factor */
    SERIES_COUNT,
    HEADLINE_MIXED = SERIES_COUNT /* of a headline: a sum of stages that differ in their series */
};
extern const char *const series_id_names[SERIES_COUNT + 2];

/* What a grid's instrument doubt was found against (METHOD section 2). NONE: neither buffer nor counter covers the
 * stretch, and sampling says nothing of it. */
enum doubt_source { DOUBT_NONE, DOUBT_PRECISE, DOUBT_COUNTER, DOUBT_SUCCESSIVE };
extern const char *const doubt_source_names[5];

/* One stretch of time by every instrument, J. */
struct energy_set {
    struct quantity headline;
    enum series_id headline_series;
    struct quantity grid, boundary, counter, buffer, precise;
};

struct result_stage_gpu {
    int64_t gpu;
    struct energy_set energy;
    struct quantity average_w;
    double grid_gap_s, buffer_gap_s, counter_gap_s;
    bool grid_gap, buffer_gap;
    const char *counter_void;
    enum doubt_source grid_doubt;
    /* What section 8 judges, for each GPU: */
    struct quantity counter_disagreement, grid_disagreement;
    double grid_disagreement_limit;
};

struct result_stage {
    enum stage_id stage;
    int64_t start_ns, end_ns; /* ABSENT_I64: the stage did not happen, and `why` says the reason */
    double duration_s;
    const char *why;
    struct energy_set energy;
    struct quantity average_w, sampling_error, grid_difference, buffer_difference;
    bool grid_gap, buffer_gap, counter_void;
    const char *contradiction;
    struct result_stage_gpu *gpus;
    size_t gpu_count;
    /* jtok's own waits (section 3), in startup and release; absent elsewhere. */
    double wait_s;
    struct quantity wait_j, wait_share;
};

/* ---- startup by phase (section 3) ---- */

/* A phase ends at its mark; what has no mark is `rest`. */
enum startup_phase {
    PHASE_PROCESS, /* process and imports, until the first use of a GPU */
    PHASE_WEIGHTS, /* weights loaded */
    PHASE_COMPILE, /* compiled */
    PHASE_GRAPHS,  /* graphs captured */
    PHASE_SERVING, /* serving */
    PHASE_READY,   /* ready: proven by a first request, identity verified */
    PHASE_WARMUP,  /* the warm-up requests answered */
    PHASE_REST,
    PHASE_COUNT
};
extern const char *const startup_phase_names[PHASE_COUNT + 1];

/* One stretch of [service_start, formal_start]; the list is in order of time, without holes. */
struct result_phase {
    enum startup_phase phase;
    int64_t start_ns, end_ns;
    double start_s, duration_s;
    struct quantity energy_j, average_w;
};

/* ---- GPUs, baseline, release (sections 2 and 3) ---- */

struct result_gpu {
    const char *uuid, *name;
    int64_t index;
    double power_limit_w;
    int64_t partitioned; /* as in rec_gpu; ABSENT_I64: also not recorded */
    const char *instant_source;
    struct quantity factor, counter_lag_s; /* of basis `precise` */
    struct quantity baseline_w;
    double baseline_sd_w, baseline_half_1_w, baseline_half_2_w;
    int64_t baseline_utilisation_max, baseline_processes_max; /* ABSENT_I64: not recorded */
    enum check_outcome baseline_idle;
    const char *baseline_why;
    struct quantity memory_released_s, power_recovered_s;
    struct quantity ready_level_w;
    double formal_mean_w;
    int64_t buffer_marked;
};

struct result_release {
    bool closed, timed_out;
    const char *why; /* not closed: what is missing, on which GPU */
    struct quantity exit_s, memory_released_s, power_recovered_s, end_s;
    int64_t end_ns;        /* latest of exit, memory, power; the end of the watch where not closed; ABSENT_I64 */
    int64_t hold_restarts; /* times that power left its band, or was not read, after t9 and t10 */
    struct quantity first_in_band_s, first_in_band_j;
    struct quantity resolution_j;
};

/* ---- requests (section 4) ---- */

struct percentiles {
    int64_t n;
    struct quantity mean, p50, p90, p95, p99, max;
};

/* How the tokens of a chunk are known: counted by the engine ("running_counts"), allotted ("spread"), or both. */
enum token_source { TOKENS_RUNNING, TOKENS_ALLOTTED, TOKENS_MIXED, TOKENS_NONE };
extern const char *const token_source_names[5];

struct result_failure {
    enum verdict verdict;
    int64_t count, first_request, status;
    const char *detail;
};

struct result_load {
    int64_t requests, successful, failed;
    int64_t prompt_tokens, output_tokens, reasoning_tokens, visible_tokens; /* ABSENT_I64: not known of each */
    int64_t token_chunks, no_interval;
    int64_t repeated_prompts; /* ABSENT_I64: digests not recorded */
    enum token_source token_source;
    int64_t shared_stamps, read_stamps;
    int64_t tpot_allotted;
    int64_t later_tokens, merged_tokens, merged_limit; /* merged: ABSENT_I64 without a token chunk */
    int64_t timings_nulled, clock_steps;
    struct percentiles ttft_s, tpot_s, e2e_s, ttft_visible_s, itl_s;
    bool itl_per_token;
    struct quantity submit_window_s, peak_concurrency;
    struct result_failure *failures; /* by verdict, ascending */
    size_t failure_count;
};

/* One formal request: requests.csv. NaN and ABSENT_I64 where a value does not exist; `verdict` says why of a failed
 * one. */
struct result_request {
    int64_t id;
    enum verdict verdict;
    int64_t status;
    double submit_s, first_s, last_s, end_s; /* from formal_start */
    double ttft_s, ttft_visible_s, tpot_s, e2e_s;
    int64_t prompt_tokens, output_tokens, reasoning_tokens, token_chunks;
    bool generates;
    int64_t order; /* among those that generate, from 0; ABSENT_I64 */
    double gap_j, interval_j, request_j, words_j;
    double j_per_token;
    const char *detail;
};

/* ---- attribution (section 5) ---- */

enum curve_source { CURVE_NONE, CURVE_BUFFER, CURVE_COUNTER, CURVE_GRID };
extern const char *const curve_source_names[5];

struct result_rule {
    enum rule rule;
    struct quantity attributed_j, no_generation_j;
    struct quantity closure; /* |attributed + none - formal| / formal */
    bool closed;
    int64_t by_interval;            /* of `gap` only */
    struct quantity cv_min, cv_max; /* over all windows */
    int64_t cv_min_window, cv_max_window;
};

struct result_attribution {
    enum curve_source source;
    struct quantity scale; /* of the buffer only */
    struct quantity formal_j, failed_active_j;
    struct result_rule *rules; /* RULE_COUNT of them, by enum rule */
    size_t rule_count;
};

/* ---- steady state (section 6) ---- */

/* One window of W requests in completion order: windows.csv. */
struct result_window {
    int64_t window; /* number, from 0: also the order of its first request */
    int64_t first_request, last_request;
    double start_s, end_s;
    double cv[RULE_COUNT], level[RULE_COUNT];
};

/* The answer for one rule and one K. */
struct result_steady {
    enum rule rule;
    enum steady_k k;
    bool reached;
    const char *why; /* not reached: the reason with its numbers */
    int64_t window;
    int64_t windows; /* that were asked to qualify: K, or all that fit */
    int64_t first_request, last_request, requests;
    int64_t start_ns, end_ns;
    double start_s, end_s;
    struct quantity energy_j, average_w, j_per_token, mean_request_j;
    int64_t tokens;
    double edge_j_per_token; /* NaN: no value */
    double *cvs;
    size_t cv_count;
    double lowest_cv; /* over candidates, of this rule */
    int64_t lowest_cv_window;
    int64_t longest_stretch, longest_stretch_window;
};

struct result_saturated {
    struct quantity j_per_token, energy_j, average_w;
    int64_t start_ns, end_ns, tokens, peak, level;
    double edge_j_per_token; /* NaN: no value */
    double start_s, end_s;
    bool meaningful;      /* requests waited: the peak is below the number that generate, or the engine said so */
    double waiting_share; /* NaN: the engine said nothing in the window */
    struct quantity tail_energy_share, tail_token_share, tail_time_share;
};

struct result_lag {
    bool measurable;
    const char *why; /* not measurable */
    struct quantity idle_owed_s, idle_owed_j, idle_owed_share;
    int64_t merged_chunks, largest_chunk, largest_later_chunk; /* tokens; ABSENT_I64: nothing to count */
    bool delivery_lag;
};

/* ---- what the engine says of itself (section 10) ---- */

/* How many observations one of its histograms gained, and their mean; or a client's, of the same time. */
struct result_engine_mean {
    int64_t n; /* ABSENT_I64: not known */
    struct quantity mean;
};

/* The engine's means beside those of jtok's requests, which count from submission. A difference is the client's less
 * the engine's: HTTP, connection, and what the engine's front end does before it notes a request's arrival. */
struct result_engine_times {
    struct result_engine_mean ttft_s, queue_s, prefill_s, tpot_s, itl_s, e2e_s;
    struct result_engine_mean client_ttft_s, client_tpot_s, client_e2e_s;
    struct quantity ttft_difference_s, tpot_difference_s, e2e_difference_s;
    struct quantity front_end_s; /* its TTFT less queue and prefill */
    struct quantity queue_share; /* of its TTFT */
};

/* What its gauges showed. */
struct result_engine_gauge {
    struct quantity mean, max;
};

/* Over one load, from the last answer of /metrics before it to the last one behind it; gauges over the window. */
struct result_engine {
    int64_t first_ns,
        last_ns; /* when the two were asked for; ABSENT_I64: there are no two, and `why` says the reason */
    const char *why;
    int64_t scrapes; /* answers in the window */
    struct result_engine_times times;
    struct result_engine_gauge running, waiting, kv_cache_used;
    struct quantity preemptions;
    struct quantity prefix_queries, prefix_hits, prefix_hit_share;
    struct quantity drafted_tokens, accepted_tokens, accepted_share, accepted_length;
};

/* ---- loads (section 11) ---- */

/* What a run is worth: formal by section 8; valid where every check that applies to its object passes. */
enum run_standing { STANDING_EXCLUDED, STANDING_VALID, STANDING_FORMAL };
extern const char *const run_standing_names[4];

/* Load 0: a stretch in which nobody asked for anything. Power only: there is no token to divide by. */
struct result_silence {
    int64_t before; /* number of the load that follows it; ABSENT_I64: none follows */
    int64_t start_ns, end_ns;
    double duration_s;
    struct quantity average_w; /* all GPUs together, by the counter */
    struct quantity others;    /* requests in the engine then, on a service that runs already: those of others */
};

/* How many requests. All but the first two are of those sent in the window (an open loop's: meant to be sent). Without
 * requests of jtok's own (watch, stat) all are ABSENT_I64. */
struct result_point_requests {
    int64_t all, all_failed; /* of the whole load */
    int64_t sent, finished, failed;
    int64_t good;  /* keep every limit of the plan's slo; ABSENT_I64: there is no limit */
    int64_t ended; /* ended well in the window, whenever they were sent */
};

/* Tokens of requests that succeeded, by arrival; of a watch, the engine's own count. before + output + after is what
 * the whole load generated. ABSENT_I64: not known. */
struct result_point_tokens {
    int64_t output, input; /* in the window; input: prompts whose first output token came in it */
    int64_t good;          /* of `output`, of requests that keep every limit, whenever they began or ended */
    int64_t before, after; /* output outside the window */
};

/* In the window, a second. */
struct result_point_rates {
    struct quantity request_s; /* requests that ended well */
    struct quantity good_s;    /* goodput: good ones of those sent */
    struct quantity output_tok_s, input_tok_s, total_tok_s;
    struct quantity user_tok_s; /* what one user sees: 1 over the median TPOT */
};

/* Of the requests that were sent in the window. TTFT and E2E count from the intended time where there is one. */
struct result_point_times {
    struct percentiles ttft_s, tpot_s, e2e_s, itl_s;
    struct percentiles lateness_s; /* how late an open loop really sent; nothing for others */
    bool itl_per_token;            /* false: `itl_s` holds chunk gaps */
};

/* Requests between submission (intended time) and end. */
struct result_point_flight {
    struct quantity mean, middle, last; /* over the window, its middle third, its last third */
    int64_t peak;
    bool overloaded; /* an open loop whose last third is over 1.1 times the middle one */
};

/* Requests that are not jtok's, on a service that runs already: they share the energy of the window. */
struct result_point_others {
    struct quantity token_share; /* of what the engine counted between its first and its last reading in the window */
    struct quantity requests;    /* mean number running or waiting in it, beyond jtok's own */
    bool seen;                   /* one of the two is more than it may be without any */
};

/* One point of the curve: a load and its window, what a watch saw, or a command. */
struct result_point {
    int64_t number;                    /* from 0, in order of time */
    enum load_kind kind;               /* ENUM_ABSENT: no load of jtok's own */
    const char *setting;               /* "concurrency 64", "rate 4/s, poisson"; of a command, the command */
    int64_t start_ns, last_ns, end_ns; /* first submission, last one (or the end of the load's time), last end */
    bool reached;                      /* false: there is no window, and `why` says the reason */
    const char *why;
    struct result_stage window;        /* STAGE_WINDOW: energies, power, each GPU */
    struct quantity before_j, after_j; /* of the load, outside its window: shown, not counted */
    struct result_point_requests requests;
    struct result_point_tokens tokens;
    struct result_point_rates rates;
    struct result_point_times times;
    struct result_point_flight flight;
    struct result_point_others others;
    struct quantity j_per_token, j_per_request, j_per_total_token, j_per_good_token;
    double edge_j_per_token;         /* in the doubt of j_per_token; NaN: no value */
    struct quantity goodput_share;   /* good over sent */
    struct result_lag lag;           /* in the window */
    struct result_engine engine;     /* of the whole load */
    struct result_failure *failures; /* of the whole load, by verdict, ascending */
    size_t failure_count;
};

/* Of a run that is not the source's one burst. Of the others all is absent, and result.json does not hold it. */
struct result_loads {
    enum run_object object;     /* ENUM_ABSENT: a life under the source's burst */
    enum run_standing standing; /* ENUM_ABSENT: as `formal` says; ask result_standing() */
    const char *shortened;      /* a life whose plan shortened what its loads rest on: a sentence; null: it did not */
    struct plan_slo slo;
    struct result_silence *silences; /* load 0: in order of time, the first one is before load 0 */
    size_t silence_count;
    const char *ended_early; /* by its user, on a running service: a phrase; null: it was not */
    struct result_point *points;
    size_t point_count;
};

/* ---- metrics and estimate (section 7) ---- */

struct result_metrics {
    struct quantity steady_j_per_token;
    struct quantity lifecycle_j_per_token, startup_j, release_j;
    struct quantity throughput_tok_s;
    struct quantity formal_w, steady_w, lifecycle_w;
    struct quantity formal_j_per_token, saturated_j_per_token, j_per_request;
    struct quantity tokens_per_kwh, j_per_total_token, j_per_visible_token;
    /* Of the whole server: only where PUE and server factor are given. */
    struct quantity cost_per_million_tokens, carbon_g_per_million_tokens, kwh_per_million_tokens;
    const char *currency;
    double pue, server_factor; /* NaN: not given */
};

/* E(N) for one N. */
struct estimate {
    int64_t requests;
    struct quantity total_j, per_request_j, overhead_per_request_j, overhead_share, j_per_token;
    bool measured;
    double low_j, high_j; /* NaN: the three ways agree */
};

struct result_estimate {
    const char *source; /* what e_request_j is, and why */
    struct quantity fixed_j, e_request_j;
    struct quantity e_steady_j, e_attributed_j, e_formal_j; /* the three ways */
    struct quantity mean_output_tokens;
    bool ranged;
    struct quantity n_overhead_1, n_overhead_5, n_overhead_10;
    struct estimate *table; /* N = 1, 10, 100 ... and the run's own count */
    size_t table_count;
};

/* ---- verification (section 8) ---- */

/* One excluding check. `why`: what was compared and seen, with numbers; never null but for CHECK_NOT_CHECKED. */
struct result_check {
    enum check_code code;
    enum check_outcome outcome;
    const char *why;
};

/* Does a check with this outcome keep a run from being formal? Failed, not recorded and not checked do; not stated and
 * not judged do not, but never count as passed. */
static inline bool check_excludes(enum check_outcome outcome)
{
    return outcome != CHECK_PASSED && outcome != CHECK_NOT_STATED && outcome != CHECK_NOT_JUDGED;
}

/* One flag. PASSED: the run does not carry it; FAILED: it does. */
struct result_flag {
    enum flag_code code;
    enum check_outcome outcome;
    const char *why;
    double value, limit; /* the number behind it; NaN where there is none */
};

/* What the engine said of itself when it was ready: a fact of the records. */
struct result_identity {
    const char *name; /* "kv_cache_dtype" */
    enum check_outcome state;
    const char *stated, *seen; /* by the plan and by the engine; null: nothing */
    const char *source;        /* of `seen` */
};

/* Which run this is, what ran in it as far as anybody says, and by which program and method. */
struct result_about {
    const char *run_id, *method_id, *jtok_version;
    const char *records_method_id, *records_jtok_version;
    const char *name, *scenario, *model, *revision, *engine, *engine_version;
    const char *precision; /* "bf16", "fp8", ...; null: nobody says */
    const char *thinking;  /* what requests ask of a model that thinks, else how the server is set; null: nobody says */
    double total_parameters;
    /* "plan", "engine", "snapshot" or "analyze": who says it; null: nobody */
    const char *model_source, *revision_source, *precision_source, *engine_version_source, *total_parameters_source;
    const char *image_digest;
    const char *plan_sha256, *requests_sha256;
    const char *work_sha256; /* METHOD section 9 */
    const char *differences; /* from the method's defaults; null: none */
    const struct method_decision *decisions;
    size_t decision_count;
    struct result_identity *identity;
    size_t identity_count;
    bool simulated;
};

struct result {
    struct result_about about;
    struct method method;
    bool formal;
    struct result_metrics metrics;
    struct result_stage *stages; /* a list: result_stage_of finds one */
    size_t stage_count;
    struct result_gpu *gpus;
    size_t gpu_count;
    struct result_release release;
    struct result_load load;
    struct result_attribution attribution;
    struct result_steady steady;        /* under the method's K and rule */
    struct result_steady *steady_table; /* RULE_COUNT * K_COUNT, by rule, then K = 1, 2, 3, all */
    size_t steady_count;
    struct result_saturated saturated;
    struct result_lag lag;
    struct result_engine engine; /* of the formal stage */
    struct result_estimate estimate;
    struct result_check *checks; /* CODE_COUNT of them, by enum check_code */
    size_t check_count;
    struct result_flag *flags; /* FLAG_COUNT of them, by enum flag_code */
    size_t flag_count;
    struct result_phase *startup_phases; /* none: the run did not reach the formal stage */
    size_t startup_phase_count;
    struct result_request *requests;
    size_t request_count;
    struct result_window *windows;
    size_t window_count;
    struct result_loads loads;
};

extern const struct schema energy_set_schema, result_check_schema, result_schema, result_request_schema,
    result_window_schema, result_point_schema, estimate_schema;

/* Makes a result that was just read whole, by names: each check, flag and stage at its code's place; what an older
 * version did not know yet is absent, its checks and flags NOT_CHECKED with the reason. False where a table holds
 * something twice, or lacks what its own version must have; *ret_why says what, a phrase. O(size). */
bool result_complete(struct result *r, struct arena *a, const char **ret_why);

/* Was this result made under another version of the method than this program's? */
bool result_is_older(const struct result *r);

/* Under one that this version of the program does not know: a newer one, or none that it names? */
bool result_is_of_unknown_method(const struct result *r);

/* Everything absent: quantities NOT_RECORDED with `why`, doubles NaN, counts ABSENT_I64, checks and flags NOT_CHECKED;
 * the tables of fixed length are there, taken from `a`. The starting point of analyze(), and of tests that make a
 * result by hand. */
void result_absent(struct result *r, struct arena *a, const char *why);

/* A point with everything absent for that reason, of no kind and without a window. */
void result_point_absent(struct result_point *p, const char *why);

/* What the run is worth, of any object. */
enum run_standing result_standing(const struct result *r);

/* Is it anything but a life under the source's burst? Then `loads` holds it. */
static inline bool result_has_loads(const struct result *r)
{
    return !ENUM_ABSENT(r->loads.object);
}

/* Of a service that ran before jtok came, and goes on behind it? */
static inline bool result_is_running(const struct result *r)
{
    return r->loads.object == OBJECT_ATTACH || r->loads.object == OBJECT_WATCH;
}

/* Does the run carry this flag? */
bool result_carries(const struct result *r, enum flag_code flag);

/* The first stage of a kind; a result that was made or completed has one of each. O(stages). */
struct result_stage *result_stage_of(const struct result *r, enum stage_id stage);

/* The row of the steady table for one rule and K. */
const struct result_steady *result_steady_of(const struct result *r, enum rule rule, enum steady_k k);

/* "21 checks passed, 1 not stated, 1 not judged": how many of each outcome, passed first, none left out. O(checks). */
const char *result_checks_text(const struct result *r, struct arena *a);

/* "2 x NVIDIA H200 at 700 W": number, name and power limit of the boards, as far as they are known and alike. O(GPUs).
 */
const char *result_gpus_text(const struct result *r, struct arena *a);

/* Why the run's latencies are not the server's (client_limited, arrivals_merged), a phrase; null: they are. They are
 * shown with the flag and left out of comparisons. */
const char *result_latency_fault(const struct result *r);

/* Energy of one series in a set. */
struct quantity *energy_series(struct energy_set *e, enum series_id series);

#endif
