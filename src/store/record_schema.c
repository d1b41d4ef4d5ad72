#include "model/record.h"
#include "store/rows.h"

#define TEXT(m, d)                                                                                                     \
    {                                                                                                                  \
        .key = #m, .type = FIELD_TEXT, .offset = offsetof(struct rec_run, m), .doc = (d)                               \
    }
#define BOOL(m, d)                                                                                                     \
    {                                                                                                                  \
        .key = #m, .type = FIELD_BOOL, .offset = offsetof(struct rec_run, m), .doc = (d)                               \
    }
#define INT(m, u, d)                                                                                                   \
    {                                                                                                                  \
        .key = #m, .type = FIELD_I64, .offset = offsetof(struct rec_run, m), .unit = (u), .doc = (d)                   \
    }

#define SERIES(m, t, d)                                                                                                \
    {                                                                                                                  \
        .key = #m, .type = (t), .offset = offsetof(struct rec_series, m), .doc = (d)                                   \
    }

static const struct field series_fields[] = {
    SERIES(file, FIELD_TEXT, "Record file."),
    SERIES(rows, FIELD_I64, "Its rows."),
    SERIES(cells, FIELD_I64, "Fields of these rows that are not empty."),
    SERIES(first, FIELD_I64, "Smallest value of its first column (requests.csv: of end_ns)."),
    SERIES(last, FIELD_I64, "Largest value of the same."),
};
static const struct schema series_schema = {.name = "rec_series",
                                            .size = sizeof(struct rec_series),
                                            .fields = series_fields,
                                            .count = SCHEMA_COUNT(series_fields),
                                            .doc = "What the recorder wrote into one file."};

static const struct field run_fields[] = {
    TEXT(id, "Name of the run folder."),
    TEXT(jtok_version, "Version of jtok that made the records."),
    TEXT(method_id, "Version of the method."),
    INT(began_realtime_ns, "ns", "When the run began (t_ns = 0), since 1970."),
    TEXT(host, "Host name."),
    TEXT(kernel, "Kernel release."),
    TEXT(cpu, "Processor model and number of cores."),
    TEXT(engine_version, "Version, as the engine says."),
    TEXT(engine_fingerprint, "What its streams carry as system_fingerprint."),
    TEXT(driver_version, "NVIDIA driver."),
    {.key = "nvml_version", .type = FIELD_TEXT, .offset = offsetof(struct rec_run, library_version), .doc = "NVML."},
    TEXT(stamp_source, "Arrival times: kernel or read."),
    BOOL(gpu_simulated, "The GPU was simulated."),
    BOOL(engine_simulated, "The engine was simulated."),
    INT(engine_exit_status, NULL, "Exit status of the engine; 128 + n: signal n."),
    INT(prefix_cache, NULL, "The engine's prefix cache: 1 on, 0 off."),
    INT(snapshot_bytes, "B", "Size of the model's snapshot."),
    INT(snapshot_resident_bytes, "B", "How much of it was in the page cache at service_start."),
    INT(secrets_replaced, "places", "Secret values replaced in what is stored."),
    TEXT(plan_sha256, "SHA-256 of plan.json."),
    {.key = "environment",
     .type = FIELD_MAP,
     .offset = offsetof(struct rec_run, environment),
     .count_offset = offsetof(struct rec_run, environment_count),
     .doc = "What the engine inherited, by name; secrets masked."},
    TEXT(engine_name, "How the engine's output names it, also where the plan's kind does not."),
    INT(own_request_tokens, "tokens", "That one request of the engine's own warm-up generates."),
    INT(own_requests_max, NULL, "Such requests that can come in the engine's whole life."),
    {.key = "series",
     .type = FIELD_LIST,
     .offset = offsetof(struct rec_run, series),
     .count_offset = offsetof(struct rec_run, series_count),
     .item = FIELD_OBJECT,
     .sub = &series_schema,
     .doc = "What the recorder wrote into each record file."},
};
const struct schema rec_run_schema = {.name = "rec_run",
                                      .size = sizeof(struct rec_run),
                                      .fields = run_fields,
                                      .count = SCHEMA_COUNT(run_fields),
                                      .doc = "What is known about a run as a whole."};

#define COUNT(m, u, d)                                                                                                 \
    {                                                                                                                  \
        .key = #m, .type = FIELD_I64, .offset = offsetof(struct rec_client, m), .max = 1e18, .unit = (u), .doc = (d)   \
    }

static const struct field client_fields[] = {
    COUNT(submit_spread_ns, "ns", "First to last submission."),
    COUNT(connect_wall_ns, "ns", "Opening all connections ahead."),
    COUNT(wakeups, NULL, "Returns of epoll_wait."),
    COUNT(reads, NULL, "Calls of recvmsg."),
    COUNT(events, NULL, "Stream events."),
    COUNT(lag_p50_ns, "ns", "Loop lag: woken behind its deadline, or one pass; median."),
    COUNT(lag_p99_ns, "ns", "Loop lag, 99th percentile."),
    COUNT(lag_max_ns, "ns", "Loop lag, largest."),
    COUNT(handle_p50_ns, "ns", "Kernel stamp to processed; median."),
    COUNT(handle_p99_ns, "ns", "Kernel stamp to processed, 99th percentile."),
    COUNT(handle_max_ns, "ns", "Kernel stamp to processed, largest."),
    COUNT(cpu_ns, "ns", "CPU time of the loop thread in the formal stage."),
    COUNT(wall_ns, "ns", "Length of the formal stage as the client saw it."),
    COUNT(stamps_kernel, NULL, "Arrivals with an exact kernel stamp."),
    COUNT(stamps_shared, NULL, "Arrivals that share another's stamp."),
    COUNT(stamps_read, NULL, "Arrivals with the time of the read."),
    COUNT(open_files_limit, NULL, "Limit of open files."),
};
const struct schema rec_client_schema = {.name = "rec_client",
                                         .size = sizeof(struct rec_client),
                                         .fields = client_fields,
                                         .count = SCHEMA_COUNT(client_fields),
                                         .doc = "The client's own condition over the formal stage."};
