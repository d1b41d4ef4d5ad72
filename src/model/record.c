#include "model/record.h"
#include <string.h>
#include "schema/table.h"

const char *const boundary_names[] = {"baseline_start", "baseline_end",    "service_start",
                                      "ready",          "warmup_start",    "warmup_end",
                                      "formal_start",   "formal_end",      "stop",
                                      "exit",           "memory_released", "power_recovered",
                                      "release_end",    "hold_end",        "release_timeout",
                                      "failed",         "interrupted",     NULL};
const char *const check_outcome_names[] = {"not_checked", "passed",     "failed", "not_recorded",
                                           "not_stated",  "not_judged", NULL};
const char *const milestone_names[] = {"milestone.weights_loaded", "milestone.compiled", "milestone.graphs_captured",
                                       "milestone.serving", NULL};
const char *const verdict_names[] = {"ok",
                                     "not_recorded",
                                     "connect_failed",
                                     "connect_timeout",
                                     "write_timeout",
                                     "head_timeout",
                                     "first_token_timeout",
                                     "idle_timeout",
                                     "total_timeout",
                                     "http_status",
                                     "http_malformed",
                                     "too_large",
                                     "truncated",
                                     "reset",
                                     "not_streamed",
                                     "bad_event",
                                     "error_in_stream",
                                     "bad_usage",
                                     "no_usage",
                                     "no_tokens",
                                     "no_output",
                                     "no_finish",
                                     "cancelled",
                                     NULL};
const char *const request_stage_names[] = {"ready", "warmup", "formal", NULL};
const char *const chunk_kind_names[] = {"role", "text", "reasoning", "held", "finish", "usage", "other", NULL};
const char *const chunk_stamp_names[] = {"kernel", "shared", "read", NULL};

/* NVML's PowerUsage, from Ampere on; other libraries' names say it. */
bool power_source_is_averaged(const char *source)
{
    return source && (strcmp(source, "power_usage") == 0 || strncmp(source, "averaged", 8) == 0);
}

static const struct field rec_series_fields[] = {
    TEXT(rec_series, file, "Record file."),
    I64(rec_series, rows, "Its rows."),
    I64(rec_series, cells, "Fields of these rows that are not empty."),
    I64(rec_series, first, "Smallest value of its first column (requests.csv: of end_ns)."),
    I64(rec_series, last, "Largest value of the same."),
};
static const struct schema rec_series_schema = SCHEMA(rec_series, "What the recorder wrote into one file.");

static const struct field rec_run_fields[] = {
    TEXT(rec_run, id, "Name of the run folder."),
    TEXT(rec_run, jtok_version, "Version of jtok that made the records."),
    TEXT(rec_run, method_id, "Version of the method."),
    I64(rec_run, began_realtime_ns, "When the run began (t_ns = 0), since 1970.", UNIT("ns")),
    TEXT(rec_run, host, "Host name."),
    TEXT(rec_run, kernel, "Kernel release."),
    TEXT(rec_run, cpu, "Processor model and number of cores."),
    TEXT(rec_run, engine_version, "Version, as the engine says."),
    TEXT(rec_run, engine_fingerprint, "What its streams carry as system_fingerprint."),
    TEXT(rec_run, driver_version, "Driver of the GPUs."),
    TEXT_AS("nvml_version", rec_run, library_version, "Device library of the GPUs (NVIDIA's: NVML)."),
    TEXT(rec_run, stamp_source, "Arrival times: kernel or read."),
    BOOL(rec_run, gpu_simulated, "The GPU was simulated."),
    BOOL(rec_run, engine_simulated, "The engine was simulated."),
    I64(rec_run, engine_exit_status, "Exit status of the engine; 128 + n: signal n."),
    I64(rec_run, prefix_cache, "The engine's prefix cache: 1 on, 0 off."),
    I64(rec_run, snapshot_bytes, "Size of the model's snapshot.", UNIT("B")),
    I64(rec_run, snapshot_resident_bytes, "How much of it was in the page cache at service_start.", UNIT("B")),
    I64(rec_run, secrets_replaced, "Secret values replaced in what is stored.", UNIT("places")),
    TEXT(rec_run, plan_sha256, "SHA-256 of plan.json."),
    MAP(rec_run, environment, environment_count, "What the engine inherited, by name; secrets masked."),
    TEXT(rec_run, engine_name, "How the engine's output names it, also where the plan's kind does not."),
    I64(rec_run, own_request_tokens, "That one request of the engine's own warm-up generates.", UNIT("tokens")),
    I64(rec_run, own_requests_max, "Such requests that can come in the engine's whole life."),
    OBJECTS(rec_run, series, series_count, rec_series, "What the recorder wrote into each record file."),
};
const struct schema rec_run_schema = SCHEMA(rec_run, "What is known about a run as a whole.");

/* A length or a number of the client's: never below zero. */
#define FIGURE(m, text, ...) I64(rec_client, m, text, .max = 1e18, __VA_ARGS__)
static const struct field rec_client_fields[] = {
    FIGURE(submit_spread_ns, "First to last submission.", UNIT("ns")),
    FIGURE(connect_wall_ns, "Opening all connections ahead.", UNIT("ns")),
    FIGURE(wakeups, "Returns of epoll_wait."),
    FIGURE(reads, "Calls of recvmsg."),
    FIGURE(events, "Stream events."),
    FIGURE(lag_p50_ns, "Loop lag: woken behind its deadline, or one pass; median.", UNIT("ns")),
    FIGURE(lag_p99_ns, "Loop lag, 99th percentile.", UNIT("ns")),
    FIGURE(lag_max_ns, "Loop lag, largest.", UNIT("ns")),
    FIGURE(handle_p50_ns, "Kernel stamp to processed; median.", UNIT("ns")),
    FIGURE(handle_p99_ns, "Kernel stamp to processed, 99th percentile.", UNIT("ns")),
    FIGURE(handle_max_ns, "Kernel stamp to processed, largest.", UNIT("ns")),
    FIGURE(cpu_ns, "CPU time of the loop thread in the formal stage.", UNIT("ns")),
    FIGURE(wall_ns, "Length of the formal stage as the client saw it.", UNIT("ns")),
    FIGURE(stamps_kernel, "Arrivals with an exact kernel stamp."),
    FIGURE(stamps_shared, "Arrivals that share another's stamp."),
    FIGURE(stamps_read, "Arrivals with the time of the read."),
    FIGURE(open_files_limit, "Limit of open files."),
};
const struct schema rec_client_schema = SCHEMA(rec_client, "The client's own condition over the formal stage.");

int64_t records_boundary(const struct records *r, enum boundary id)
{
    for (size_t i = r->boundary_count; i-- > 0;)
        if (r->boundaries[i].id == id)
            return r->boundaries[i].t_ns;
    return ABSENT_I64;
}

struct rec_request rec_request_absent(void)
{
    const int64_t none = ABSENT_I64;
    return (struct rec_request){.status = -1,
                                .connect_ns = none,
                                .connected_ns = none,
                                .submit_ns = none,
                                .sent_ns = none,
                                .head_ns = none,
                                .role_ns = none,
                                .first_ns = none,
                                .first_visible_ns = none,
                                .last_ns = none,
                                .finish_ns = none,
                                .usage_ns = none,
                                .end_ns = none,
                                .closed_ns = none,
                                .prompt_tokens = none,
                                .completion_tokens = none,
                                .reasoning_tokens = none,
                                .cached_tokens = none,
                                .max_tokens = none,
                                .finish_reason = ""};
}
