/* What a run writes down, as data: raw, timestamped, decided by nobody.
 *
 * Times are CLOCK_MONOTONIC nanoseconds since the run began, unless the name says realtime. Absent: ABSENT_I64 for
 * times and 64-bit counts, -1 for the small integers, NaN for doubles, null for text. docs/FORMAT.md names the file of
 * each record; what each field means, its unit and its range stand in its table, record.c. */
#ifndef JTOK_MODEL_RECORD_H
#define JTOK_MODEL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/num.h"
#include "model/plan.h"

/* No time of a run is before its begin by more than an hour, or ten years behind it. */
#define RECORD_TIME_MIN     (-INT64_C(3600) * 1000000000)
#define RECORD_TIME_MAX     (INT64_C(3650) * 86400 * 1000000000)
#define RECORD_TOKENS_MAX   INT32_MAX /* METHOD section 4, "valid usage" */
#define RECORD_REQUESTS_MAX INT32_MAX /* at a time, as an engine counts them */
#define RECORD_FIGURE_MAX   0x1p53    /* of an engine's figures: whole numbers are exact up to here; none is beyond */
enum { RECORD_GPUS_MAX = 256 };       /* a gpu column holds less */

/* ---- the run ---- */

enum boundary {
    BOUNDARY_BASELINE_START,  /* t0 */
    BOUNDARY_BASELINE_END,    /* t1: the accepted window is [start, end]; a window that slid writes both anew, the last
                               * counts
                               */
    BOUNDARY_SERVICE_START,   /* t2 */
    BOUNDARY_READY,           /* t3 */
    BOUNDARY_WARMUP_START,    /* t4 */
    BOUNDARY_WARMUP_END,      /* t5 */
    BOUNDARY_FORMAL_START,    /* t6 */
    BOUNDARY_FORMAL_END,      /* t7 */
    BOUNDARY_STOP,            /* t8 */
    BOUNDARY_EXIT,            /* t9 */
    BOUNDARY_MEMORY_RELEASED, /* t10 */
    BOUNDARY_POWER_RECOVERED, /* t11 */
    BOUNDARY_RELEASE_END,
    BOUNDARY_HOLD_END,
    BOUNDARY_RELEASE_TIMEOUT,
    BOUNDARY_FAILED,       /* the run gave up: note says why */
    BOUNDARY_INTERRUPTED,  /* a signal asked to stop: note says in which stage */
    BOUNDARY_LOAD_START,   /* loads (METHOD section 11), note: its number from 0. The first intended or sent time */
    BOUNDARY_LOAD_LAST,    /* nothing more is sent: the last submission, or the end of the load's time */
    BOUNDARY_LOAD_END,     /* the last request's end */
    BOUNDARY_WINDOW_START, /* watch: what is measured begins and ends */
    BOUNDARY_WINDOW_END,
    BOUNDARY_COMMAND_START, /* stat: just before the command's start */
    BOUNDARY_COMMAND_END,   /* the end of the last process of its group; note: its exit status */
    BOUNDARY_COUNT
};
extern const char *const boundary_names[BOUNDARY_COUNT + 1];

struct rec_boundary {
    int64_t t_ns;
    enum boundary id;
    const char *note;
};

struct rec_clock {
    int64_t t_ns, offset_ns, width_ns; /* REALTIME - MONOTONIC since the run began */
};

/* METHOD section 8. NOT_STATED: the plan expects nothing, so nothing was compared. NOT_JUDGED: the rule itself leaves
 * the case out, or a flag names the gap. */
enum check_outcome {
    CHECK_NOT_CHECKED,
    CHECK_PASSED,
    CHECK_FAILED,
    CHECK_NOT_RECORDED,
    CHECK_NOT_STATED,
    CHECK_NOT_JUDGED,
    CHECK_OUTCOME_COUNT
};
extern const char *const check_outcome_names[CHECK_OUTCOME_COUNT + 1];

/* Something that the run looked at itself: "identity.model", "preflight.gpu_busy", "plan.requests_sha256" ... The part
 * before the first dot is the reason code's group. */
struct rec_fact {
    int64_t t_ns;
    const char *name;
    enum check_outcome outcome;
    const char *expected, *seen;
    const char *source; /* of `seen`; null: its name says it */
};

/* What an engine's log says as it starts, at its first occurrence: a fact of this name, with the line as seen. */
enum milestone { MILESTONE_WEIGHTS, MILESTONE_COMPILED, MILESTONE_GRAPHS, MILESTONE_SERVING, MILESTONE_COUNT };
extern const char *const milestone_names[MILESTONE_COUNT + 1];

/* What the recorder wrote into one record file, counted as it wrote: a row that is missing, added, moved in time or
 * emptied later is found by it. */
struct rec_series {
    const char *file;
    int64_t rows, cells;
    int64_t first, last; /* ABSENT_I64: no row has that time */
};

struct rec_run {
    const char *id;
    const char *jtok_version, *method_id;
    int64_t began_realtime_ns;
    const char *host, *kernel, *cpu;
    const char *engine_version, *engine_fingerprint;
    const char *driver_version, *library_version; /* the GPUs': kernel driver, device library */
    const char *stamp_source;
    bool gpu_simulated, engine_simulated;
    int64_t engine_exit_status;
    int64_t prefix_cache;
    int64_t snapshot_bytes, snapshot_resident_bytes;
    int64_t secrets_replaced;
    const char *plan_sha256;
    struct field_pair *environment; /* none: not recorded */
    size_t environment_count;
    const char *engine_name;
    int64_t own_request_tokens, own_requests_max; /* ABSENT_I64: not known for this engine and version */
    struct rec_series *series;                    /* written when the run ends; none: not recorded */
    size_t series_count;
};

/* ---- power ---- */

enum __attribute__((packed)) instant_tag { INSTANT_GRID, INSTANT_BOUNDARY, INSTANT_BOUNDARY_AFTER };

struct rec_instant {
    int64_t t_ns;
    int32_t width_ns, mw;
    int64_t late_ns;
    enum instant_tag tag;
};

enum __attribute__((packed)) counter_why { COUNTER_LOCKED, COUNTER_REPEAT, COUNTER_SEARCH, COUNTER_BOUNDARY };
extern const char *const instant_tag_names[4], *const counter_why_names[5];

struct rec_counter {
    int64_t t_ns;
    int64_t mj; /* any negative one: the call failed */
    int32_t width_ns;
    enum counter_why why;
};

struct rec_buffer {
    int64_t realtime_us;
    int32_t mw;
};

/* Why a GPU's clock is not at its highest, for every maker. The first nine bits are what column `reasons` holds: they
 * are NVML's, so old records need no translation. Other makers' reasons are mapped onto these; one that fits none of
 * them gets a bit from 2^32 on. */
enum slowdown {
    SLOWDOWN_IDLE = 0x1,
    SLOWDOWN_CLOCK_SETTING = 0x2, /* a user's or program's clock limit */
    SLOWDOWN_POWER_CAP = 0x4,     /* the power limit: the normal state under full load */
    SLOWDOWN_HARDWARE = 0x8,      /* by the board itself, for whatever reason */
    SLOWDOWN_SYNC = 0x10,         /* held to the clock of other GPUs */
    SLOWDOWN_THERMAL_SOFTWARE = 0x20,
    SLOWDOWN_THERMAL_HARDWARE = 0x40,
    SLOWDOWN_POWER_BRAKE = 0x80, /* by the power supply */
    SLOWDOWN_DISPLAY = 0x100,
    /* Those that protect the board: power and speed are not what this GPU can do. */
    SLOWDOWNS_PROTECTIVE =
        SLOWDOWN_HARDWARE | SLOWDOWN_THERMAL_SOFTWARE | SLOWDOWN_THERMAL_HARDWARE | SLOWDOWN_POWER_BRAKE
};

struct rec_gpu_state {
    int64_t t_ns;
    int64_t memory_used_bytes;
    int64_t slowdowns; /* enum slowdown, or-ed */
    int32_t utilisation, sm_mhz, temperature_c, processes;
};

struct rec_process {
    int64_t t_ns, pid, memory_bytes;
    int8_t own; /* -1: the process is in another pid namespace */
};

/* One GPU, with its series in order of time. */
struct rec_gpu {
    const char *uuid, *name, *pci;
    int64_t index;
    int64_t power_limit_mw, power_limit_default_mw, power_limit_min_mw, power_limit_max_mw; /* enforced first */
    int64_t memory_total_bytes;
    int64_t partitioned, persistence, architecture;
    const char *instant_source; /* null: it has none */
    struct rec_instant *instant;
    size_t instant_count;
    struct rec_counter *counter;
    size_t counter_count;
    struct rec_buffer *buffer;
    size_t buffer_count;
    struct rec_gpu_state *state;
    size_t state_count;
    struct rec_process *process;
    size_t process_count;
};

/* ---- requests ---- */

/* Why a request failed: the first fault in time (METHOD section 4, Verdicts). */
enum __attribute__((packed)) verdict {
    VERDICT_OK,
    VERDICT_NOT_RECORDED,   /* a converted recording without status */
    VERDICT_CONNECT_FAILED, /* refused, reset or unreachable before a whole head */
    VERDICT_CONNECT_TIMEOUT,
    VERDICT_WRITE_TIMEOUT,
    VERDICT_HEAD_TIMEOUT,
    VERDICT_FIRST_TOKEN_TIMEOUT,
    VERDICT_IDLE_TIMEOUT,
    VERDICT_TOTAL_TIMEOUT,
    VERDICT_HTTP_STATUS, /* `status` says which */
    VERDICT_HTTP_MALFORMED,
    VERDICT_TOO_LARGE,
    VERDICT_TRUNCATED,
    VERDICT_RESET, /* after a whole head */
    VERDICT_NOT_STREAMED,
    VERDICT_BAD_EVENT, /* an event that can't be read */
    VERDICT_ERROR_IN_STREAM,
    VERDICT_BAD_USAGE,
    VERDICT_NO_USAGE,
    VERDICT_NO_TOKENS,
    VERDICT_NO_OUTPUT,
    VERDICT_NO_FINISH, /* the stream ended well formed, without finish reason and [DONE] */
    VERDICT_CANCELLED, /* the run was stopped */
    VERDICT_COUNT
};
extern const char *const verdict_names[VERDICT_COUNT + 1];

enum __attribute__((packed)) request_stage { REQUEST_READY, REQUEST_WARMUP, REQUEST_FORMAL };
extern const char *const request_stage_names[4];

enum request_note {
    NOTE_NO_DONE = 1,        /* success without [DONE] */
    NOTE_CONTENT_TYPE = 2,   /* a right stream under a wrong content type */
    NOTE_REOPENED = 4,       /* the connection opened ahead was closed by the server and opened again */
    NOTE_AFTER_DONE = 8,     /* bytes or events after [DONE] */
    NOTE_STAMP_MISSING = 16, /* at least one arrival has the read time */
    NOTE_RESET_AFTER_DONE = 32,
};

struct rec_request {
    uint32_t id;
    enum request_stage stage;
    enum verdict verdict;
    uint16_t notes; /* enum request_note, or-ed */
    int32_t status;
    int32_t load;        /* number of its load, from 0; -1: the source's burst */
    int64_t intended_ns; /* when an open loop meant to send it; ABSENT_I64: there was no such time */
    int64_t connect_ns, connected_ns, submit_ns, sent_ns, head_ns;
    int64_t role_ns, first_ns, first_visible_ns, last_ns, finish_ns, usage_ns, end_ns, closed_ns;
    int64_t prompt_tokens, completion_tokens, reasoning_tokens, cached_tokens, max_tokens;
    int64_t prompt_tokens_sent; /* that the prompt was made of, as token ids; ABSENT_I64: only the engine knows */
    int64_t body_bytes, text_bytes, received_bytes;
    int64_t events, token_chunks, shared_stamps, comments;
    uint64_t prompt_digest;
    const char *finish_reason;
    const char *detail; /* printable */
};

enum __attribute__((packed)) chunk_kind {
    CHUNK_ROLE,
    CHUNK_TEXT,
    CHUNK_REASONING,
    CHUNK_HELD,
    CHUNK_FINISH,
    CHUNK_USAGE,
    CHUNK_OTHER
};
extern const char *const chunk_kind_names[8];
enum __attribute__((packed)) chunk_stamp { STAMP_KERNEL, STAMP_SHARED, STAMP_READ };
extern const char *const chunk_stamp_names[4];

/* One event of a formal request's stream. A token chunk is TEXT, REASONING (any output string that is not visible) or
 * HELD (no text, but the running count rose). Packed to 22 bytes: a long run has 10^8 of them. */
struct __attribute__((packed, aligned(2))) rec_chunk {
    int64_t t_ns;
    uint32_t request;
    int32_t running;
    uint32_t bytes;
    enum chunk_kind kind;
    enum chunk_stamp stamp;
};

static inline bool chunk_has_tokens(const struct rec_chunk *c)
{
    return c->kind == CHUNK_TEXT || c->kind == CHUNK_REASONING || c->kind == CHUNK_HELD;
}

/* The client's own condition over the formal stage. */
struct rec_client {
    int64_t submit_window_ns, connect_wall_ns;
    int64_t wakeups, reads, events;
    int64_t lag_p50_ns, lag_p99_ns, lag_max_ns;
    int64_t handle_p50_ns, handle_p99_ns, handle_max_ns;
    int64_t cpu_ns, wall_ns;
    int64_t stamps_kernel, stamps_shared, stamps_read;
    int64_t open_files_limit;
};

/* ---- side path ---- */

struct rec_metrics {
    int64_t t_ns, took_ns;
    double running, waiting, kv_cache_used, preemptions, prompt_tokens, generation_tokens, prefix_queries, prefix_hits,
        requests_ended;
    /* The engine's own histograms: what was summed, and how often it was observed, so far. */
    double ttft_sum_s, ttft_count, queue_sum_s, queue_count, prefill_sum_s, prefill_count;
    double tpot_sum_s, tpot_count, itl_sum_s, itl_count, e2e_sum_s, e2e_count;
    /* Speculative decoding: counts so far, and of an engine that keeps none its gauges. */
    double drafts, drafted_tokens, accepted_tokens, accepted_share, accepted_length;
};

/* ---- all of it, in memory ---- */

struct records {
    struct rec_run run;
    struct plan plan;
    double given_parameters; /* total parameters, from whoever evaluates; 0: not given */
    bool sealed;             /* hashes were there and right */
    const char *damage;      /* null, or what is wrong with the files: a line each, naming file and line */
    struct rec_boundary *boundaries;
    size_t boundary_count;
    struct rec_clock *clocks;
    size_t clock_count;
    struct rec_fact *facts;
    size_t fact_count;
    struct rec_gpu *gpus;
    size_t gpu_count;
    struct rec_request *requests; /* formal ones, by id */
    size_t request_count;
    struct rec_request *warmups; /* readiness and warm-up */
    size_t warmup_count;
    struct rec_chunk *chunks; /* of formal requests, by (t, request, order written) */
    size_t chunk_count;
    struct rec_metrics *metrics;
    size_t metrics_count;
    struct rec_client client; /* zeroed with wall_ns 0: not recorded */
};

/* Is the power of this instrument (instant_source) a mean over about a second instead of the power of a moment? */
bool power_source_is_averaged(const char *source);

/* Of run.json and client.json; and of the record files, a column a field. */
extern const struct schema rec_run_schema, rec_client_schema;
extern const struct schema rec_gpu_schema, rec_boundary_schema, rec_clock_schema, rec_fact_schema, rec_instant_schema,
    rec_counter_schema, rec_buffer_schema, rec_gpu_state_schema, rec_process_schema, rec_request_schema,
    rec_chunk_schema, rec_metrics_schema;

/* Time of the last boundary with this id, or ABSENT_I64. O(boundaries). */
int64_t records_boundary(const struct records *r, enum boundary id);

/* A request with every time, count and text absent. */
struct rec_request rec_request_absent(void);

/* A scrape that says nothing. */
struct rec_metrics rec_metrics_absent(void);

/* When its answer arrived, which is the time that it stands for; ABSENT_I64: it has none. */
static inline int64_t rec_metrics_arrival_ns(const struct rec_metrics *m)
{
    return m->took_ns == ABSENT_I64 ? ABSENT_I64 : m->t_ns + m->took_ns;
}

#endif
