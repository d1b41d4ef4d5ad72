#include "model/record.h"

#include <assert.h>
#include <string.h>
#include "schema/table.h"

const char *const boundary_names[BOUNDARY_COUNT + 1] = {
    [BOUNDARY_BASELINE_START] = "baseline_start",
    [BOUNDARY_BASELINE_END] = "baseline_end",
    [BOUNDARY_SERVICE_START] = "service_start",
    [BOUNDARY_READY] = "ready",
    [BOUNDARY_WARMUP_START] = "warmup_start",
    [BOUNDARY_WARMUP_END] = "warmup_end",
    [BOUNDARY_FORMAL_START] = "formal_start",
    [BOUNDARY_FORMAL_END] = "formal_end",
    [BOUNDARY_STOP] = "stop",
    [BOUNDARY_EXIT] = "exit",
    [BOUNDARY_MEMORY_RELEASED] = "memory_released",
    [BOUNDARY_POWER_RECOVERED] = "power_recovered",
    [BOUNDARY_RELEASE_END] = "release_end",
    [BOUNDARY_HOLD_END] = "hold_end",
    [BOUNDARY_RELEASE_TIMEOUT] = "release_timeout",
    [BOUNDARY_FAILED] = "failed",
    [BOUNDARY_INTERRUPTED] = "interrupted",
    [BOUNDARY_LOAD_START] = "load_start",
    [BOUNDARY_LOAD_LAST] = "load_last",
    [BOUNDARY_LOAD_END] = "load_end",
    [BOUNDARY_WINDOW_START] = "window_start",
    [BOUNDARY_WINDOW_END] = "window_end",
    [BOUNDARY_COMMAND_START] = "command_start",
    [BOUNDARY_COMMAND_END] = "command_end",
};
const char *const check_outcome_names[CHECK_OUTCOME_COUNT + 1] = {
    [CHECK_NOT_CHECKED] = "not_checked",   [CHECK_PASSED] = "passed",         [CHECK_FAILED] = "failed",
    [CHECK_NOT_RECORDED] = "not_recorded", [CHECK_NOT_STATED] = "not_stated", [CHECK_NOT_JUDGED] = "not_judged"};
const char *const milestone_names[MILESTONE_COUNT + 1] = {
    [MILESTONE_WEIGHTS] = "milestone.weights_loaded",
    [MILESTONE_COMPILED] = "milestone.compiled",
    [MILESTONE_GRAPHS] = "milestone.graphs_captured",
    [MILESTONE_SERVING] = "milestone.serving",
};
const char *const verdict_names[VERDICT_COUNT + 1] = {
    [VERDICT_OK] = "ok",
    [VERDICT_NOT_RECORDED] = "not_recorded",
    [VERDICT_CONNECT_FAILED] = "connect_failed",
    [VERDICT_CONNECT_TIMEOUT] = "connect_timeout",
    [VERDICT_WRITE_TIMEOUT] = "write_timeout",
    [VERDICT_HEAD_TIMEOUT] = "head_timeout",
    [VERDICT_FIRST_TOKEN_TIMEOUT] = "first_token_timeout",
    [VERDICT_IDLE_TIMEOUT] = "idle_timeout",
    [VERDICT_TOTAL_TIMEOUT] = "total_timeout",
    [VERDICT_HTTP_STATUS] = "http_status",
    [VERDICT_HTTP_MALFORMED] = "http_malformed",
    [VERDICT_TOO_LARGE] = "too_large",
    [VERDICT_TRUNCATED] = "truncated",
    [VERDICT_RESET] = "reset",
    [VERDICT_NOT_STREAMED] = "not_streamed",
    [VERDICT_BAD_EVENT] = "bad_event",
    [VERDICT_ERROR_IN_STREAM] = "error_in_stream",
    [VERDICT_BAD_USAGE] = "bad_usage",
    [VERDICT_NO_USAGE] = "no_usage",
    [VERDICT_NO_TOKENS] = "no_tokens",
    [VERDICT_NO_OUTPUT] = "no_output",
    [VERDICT_NO_FINISH] = "no_finish",
    [VERDICT_CANCELLED] = "cancelled",
};
const char *const request_stage_names[REQUEST_FORMAL + 2] = {
    [REQUEST_READY] = "ready", [REQUEST_WARMUP] = "warmup", [REQUEST_FORMAL] = "formal"};
const char *const chunk_kind_names[CHUNK_OTHER + 2] = {
    [CHUNK_ROLE] = "role",     [CHUNK_TEXT] = "text",   [CHUNK_REASONING] = "reasoning", [CHUNK_HELD] = "held",
    [CHUNK_FINISH] = "finish", [CHUNK_USAGE] = "usage", [CHUNK_OTHER] = "other"};
const char *const chunk_stamp_names[STAMP_READ + 2] = {
    [STAMP_KERNEL] = "kernel", [STAMP_SHARED] = "shared", [STAMP_READ] = "read"};

const char *const instant_tag_names[INSTANT_BOUNDARY_AFTER + 2] = {
    [INSTANT_GRID] = "grid", [INSTANT_BOUNDARY] = "mark", [INSTANT_BOUNDARY_AFTER] = "mark_after"};
const char *const counter_why_names[COUNTER_BOUNDARY + 2] = {
    [COUNTER_LOCKED] = "locked",
    [COUNTER_REPEAT] = "repeat",
    [COUNTER_SEARCH] = "search",
    [COUNTER_BOUNDARY] = "boundary",
};

/* NVML's PowerUsage, from Ampere on; other libraries' names say it. */
bool power_source_is_averaged(const char *source)
{
    return source && (strcmp(source, "power_usage") == 0 || strncmp(source, "averaged", 8) == 0);
}

/* ---- record files: a column a row ---- */

/* Ranges: what can't be right, not what is unlikely. Sums and differences of any two times are within int64_t. */
#define TIME      UNIT("ns"), RANGE(RECORD_TIME_MIN, RECORD_TIME_MAX)
#define DURATION  UNIT("ns"), RANGE(0, RECORD_TIME_MAX)
#define REALTIME  4e18 /* ns since 1970: the year 2096 */
#define NUMBER    RANGE(0, INT32_MAX)
#define CALL      UNIT("ns"), RANGE(0, INT32_MAX)
#define TOKENS    UNIT("tokens"), RANGE(0, RECORD_TOKENS_MAX)
#define SWITCH    RANGE(0, 1)
#define BYTES     UNIT("B"), RANGE(0, 0x1p50)
#define POWER_MW  UNIT("mW"), RANGE(0, 1e7)    /* 10 kW a board */
#define ENERGY_MJ UNIT("mJ"), RANGE(0, 0x1p50) /* 30 years of 1 kW */
#define FIGURE    RANGE(0, RECORD_FIGURE_MAX)
#define SHARE     RANGE(0, 1)
#define NEEDED    FLAGS(FIELD_NEEDED)
#define GPU       ASIDE("gpu", "Line of gpus.csv, from 0.", RANGE(0, RECORD_GPUS_MAX - 1))

static const struct field rec_gpu_fields[] = {
    TEXT(rec_gpu, uuid, "As the device library gives it.", NEEDED),
    TEXT(rec_gpu, name, "Product name."),
    TEXT(rec_gpu, pci, "PCI address."),
    I64(rec_gpu, index, "The device library's index.", NUMBER, NEEDED),
    I64(rec_gpu, power_limit_mw, "Enforced power limit.", POWER_MW),
    I64(rec_gpu, power_limit_default_mw, "The board's own limit.", POWER_MW),
    I64(rec_gpu, power_limit_min_mw, "The lowest limit that can be set.", POWER_MW),
    I64(rec_gpu, power_limit_max_mw, "The highest limit that can be set.", POWER_MW),
    I64(rec_gpu, memory_total_bytes, "Memory.", BYTES),
    I64_AS("mig", rec_gpu, partitioned, "1: split into parts that share its power; 0: whole; empty: can't be split.",
           SWITCH),
    I64(rec_gpu, persistence, "1: the driver keeps it initialised while nobody uses it; 0: it doesn't.", SWITCH),
    I64(rec_gpu, architecture, "The device library's number of the architecture.", FIGURE),
    TEXT(rec_gpu, instant_source, "The instrument of instant.csv, as its library calls it."),
};
const struct schema rec_gpu_schema = SCHEMA(rec_gpu, "One line for each selected GPU.");

static const struct field rec_boundary_fields[] = {
    I64(rec_boundary, t_ns, "When.", TIME, NEEDED),
    ENUM_AS("mark", rec_boundary, id, boundary, "Which boundary of a stage, or how the run ended before its end."),
    TEXT(rec_boundary, note, "Why, where that needs saying."),
};
const struct schema rec_boundary_schema = SCHEMA(rec_boundary, "The moments that bound the stages.");

static const struct field rec_clock_fields[] = {
    I64(rec_clock, t_ns, "Middle of the two calls of the monotonic clock.", TIME, NEEDED),
    I64(rec_clock, offset_ns, "REALTIME minus time since the run began.", UNIT("ns"), RANGE(0, REALTIME), NEEDED),
    I64(rec_clock, width_ns, "Distance of these two calls: the pair's uncertainty.", DURATION),
};
const struct schema rec_clock_schema = SCHEMA(rec_clock, "Pairs of the two clocks.");

static const struct field rec_fact_fields[] = {
    I64(rec_fact, t_ns, "When.", TIME, NEEDED),
    TEXT(rec_fact, name, "What was looked at; the part before the first dot is the group.", NEEDED),
    ENUM(rec_fact, outcome, check_outcome, "What came of it."),
    TEXT(rec_fact, expected, "In words."),
    TEXT(rec_fact, seen, "In words."),
    TEXT(rec_fact, source, "Where it was seen: a path, the output; and what another place says otherwise.",
         FLAGS(FIELD_LATER)),
};
const struct schema rec_fact_schema = SCHEMA(rec_fact, "What the run looked at itself and can't be computed later.");

static const struct field rec_instant_fields[] = {
    I64(rec_instant, t_ns, "Middle of the call.", TIME, NEEDED),
    GPU,
    I32(rec_instant, mw, "Power; empty: the call failed.", POWER_MW),
    I32(rec_instant, width_ns, "Length of the call.", CALL),
    I64(rec_instant, late_ns, "Start of the call behind its deadline; empty for boundary samples.", TIME),
    ENUM(rec_instant, tag, instant_tag, "On the grid, at a boundary, or 0.2 s behind one."),
};
const struct schema rec_instant_schema = SCHEMA(rec_instant, "Power on the grid.");

static const struct field rec_counter_fields[] = {
    I64(rec_counter, t_ns, "Middle of the call.", TIME, NEEDED),
    GPU,
    I64(rec_counter, mj, "The counter; empty: the call failed.", ENERGY_MJ, FLAGS(FIELD_NEGATIVE_ABSENT)),
    I32(rec_counter, width_ns, "Length of the call.", CALL),
    ENUM(rec_counter, why, counter_why, "Why it was read at this moment."),
};
const struct schema rec_counter_schema = SCHEMA(rec_counter, "The board's energy counter.");

static const struct field rec_buffer_fields[] = {
    I64(rec_buffer, realtime_us, "The device library's stamp, since 1970, as it is.", UNIT("us"),
        RANGE(0, REALTIME / 1000), NEEDED),
    GPU,
    I32(rec_buffer, mw, "Power.", POWER_MW),
};
const struct schema rec_buffer_schema = SCHEMA(rec_buffer, "The driver's own samples of power.");

static const struct field rec_gpu_state_fields[] = {
    I64(rec_gpu_state, t_ns, "When.", TIME, NEEDED),
    GPU,
    I64(rec_gpu_state, memory_used_bytes, "Memory used, with the driver's reserve.", BYTES),
    I32(rec_gpu_state, utilisation, "GPU utilisation.", UNIT("%"), RANGE(0, 100)),
    I32(rec_gpu_state, sm_mhz, "SM clock.", UNIT("MHz"), RANGE(0, 100000)),
    I32(rec_gpu_state, temperature_c, "Temperature.", UNIT("C"), RANGE(0, 1000)),
    I64_AS("reasons", rec_gpu_state, slowdowns, "Why the clock is not at its highest: a bit mask.", RANGE(0, 0x1p63)),
    I32(rec_gpu_state, processes, "Compute processes; empty: the list could not be read.", RANGE(0, 1000000)),
};
const struct schema rec_gpu_state_schema = SCHEMA(rec_gpu_state, "What else is known of a GPU, beside the grid.");

static const struct field rec_process_fields[] = {
    I64(rec_process, t_ns, "The same as in gpu_state.csv.", TIME, NEEDED),
    GPU,
    I64(rec_process, pid, "Process id.", RANGE(0, UINT32_MAX), NEEDED),
    I64(rec_process, memory_bytes, "Its GPU memory.", BYTES),
    I8(rec_process, own, "1: of the engine's tree; 0: not; empty: can't be told.", SWITCH),
};
const struct schema rec_process_schema = SCHEMA(rec_process, "The compute processes on a GPU.");

/* What an engine told of a request that failed may be anything. */
#define TOLD(m, text) I64(rec_request, m, text, TOKENS, FLAGS(FIELD_LENIENT))
#define AT(m, text)   I64(rec_request, m, text, TIME)
static const struct field rec_request_fields[] = {
    ENUM(rec_request, stage, request_stage, "Proof of readiness, warm-up, or formal stage."),
    U32(rec_request, id, "Number within its stage, from 0; a formal one's place in the request set.", NUMBER),
    ENUM(rec_request, verdict, verdict, "ok, or why it failed."),
    U16(rec_request, notes, "Sum of what else was seen (enum request_note).", RANGE(0, UINT16_MAX)),
    I32(rec_request, status, "HTTP status.", RANGE(0, 999)),
    AT(connect_ns, "Connecting began."),
    AT(connected_ns, "Connected."),
    AT(submit_ns, "Handed to the transport."),
    AT(sent_ns, "Fully written."),
    AT(head_ns, "The answer's head was complete."),
    AT(role_ns, "First chunk that names only the role."),
    AT(first_ns, "First token chunk."),
    AT(first_visible_ns, "First one of visible output."),
    AT(last_ns, "Last token chunk."),
    AT(finish_ns, "Finish reason."),
    AT(usage_ns, "Last usage."),
    AT(end_ns, "[DONE], or the end of the stream."),
    AT(closed_ns, "The server closed or broke the connection."),
    TOLD(prompt_tokens, "Of the last usage; empty: not told."),
    TOLD(completion_tokens, "Of the last usage; empty: not told."),
    TOLD(reasoning_tokens, "Of the last usage; empty: not told."),
    TOLD(cached_tokens, "Of the last usage; empty: not told."),
    I64(rec_request, max_tokens, "As sent; empty: none.", TOKENS),
    I64(rec_request, body_bytes, "Of the request's body.", BYTES),
    I64(rec_request, text_bytes, "Of output text, UTF-8.", BYTES),
    I64(rec_request, received_bytes, "Of the answer, as it came.", BYTES),
    I64(rec_request, events, "Stream events.", NUMBER),
    I64(rec_request, token_chunks, "Of them with tokens.", NUMBER),
    I64(rec_request, shared_stamps, "Token chunks that share another's arrival time.", NUMBER),
    I64(rec_request, comments, "Comment lines in the stream.", NUMBER),
    HEX(rec_request, prompt_digest, "First 64 bits of the prompt's SHA-256: equal prompts, equal digests."),
    TEXT(rec_request, finish_reason, "As the engine says; empty: none.", FLAGS(FIELD_EMPTY_TEXT)),
    TEXT(rec_request, detail, "Of a failure: what was seen, in a sentence."),
    I32(rec_request, load, "Number of its load, from 0; empty: the one burst of a formal run.", NUMBER,
        FLAGS(FIELD_LATER)),
    I64(rec_request, intended_ns, "When an open loop meant to send it; empty: there was no such time.", TIME,
        FLAGS(FIELD_LATER)),
    I64(rec_request, prompt_tokens_sent, "Token ids of a random prompt, as sent; empty: it was not sent as token ids.",
        TOKENS, FLAGS(FIELD_LATER)),
};
const struct schema rec_request_schema = SCHEMA(rec_request, "One line for each request, written when it is over.");

static const struct field rec_chunk_fields[] = {
    I64(rec_chunk, t_ns, "Arrival.", TIME, NEEDED),
    U32(rec_chunk, request, "Id of the formal request.", NUMBER),
    ENUM(rec_chunk, kind, chunk_kind, "What it carries: text, reasoning and held are tokens."),
    U32(rec_chunk, bytes, "UTF-8 bytes of output text (characters where only those were recorded).", UNIT("B"), NUMBER),
    I32(rec_chunk, running, "completion_tokens so far, as this chunk says; empty: it doesn't.", TOKENS),
    ENUM(rec_chunk, stamp, chunk_stamp, "kernel: exact; shared: an upper bound; read: the time of the read."),
};
const struct schema rec_chunk_schema = SCHEMA(rec_chunk, "One line for each event of a formal request's stream.");

/* Of a histogram, since the engine began. */
#define SUM(s, m, d)   F64(s, m, d, UNIT("s"), FIGURE, FLAGS(FIELD_LATER))
#define COUNT(s, m, d) F64(s, m, d, FIGURE, FLAGS(FIELD_LATER))

static const struct field rec_metrics_fields[] = {
    I64(rec_metrics, t_ns, "The scrape's request was sent.", TIME, NEEDED),
    I64(rec_metrics, took_ns, "Until its answer; empty: none within the limit.", DURATION),
    F64(rec_metrics, running, "Being generated.", UNIT("requests"), RANGE(0, RECORD_REQUESTS_MAX)),
    F64(rec_metrics, waiting, "Queued.", UNIT("requests"), RANGE(0, RECORD_REQUESTS_MAX)),
    F64(rec_metrics, kv_cache_used, "Share of the KV cache in use, 0 to 1.", SHARE),
    F64(rec_metrics, preemptions, "Preemptions so far.", RANGE(0, RECORD_REQUESTS_MAX)),
    F64(rec_metrics, prompt_tokens, "So far.", UNIT("tokens"), FIGURE),
    F64(rec_metrics, generation_tokens, "So far.", UNIT("tokens"), FIGURE),
    F64(rec_metrics, prefix_queries, "Of the prefix cache, so far.", UNIT("tokens"), FIGURE),
    F64(rec_metrics, prefix_hits, "Of the prefix cache, so far.", UNIT("tokens"), FIGURE),
    F64(rec_metrics, requests_ended, "That ended well, so far.", UNIT("requests"), FIGURE, FLAGS(FIELD_LATER)),
    SUM(rec_metrics, ttft_sum_s, "Times to first token, as the engine sums them."),
    COUNT(rec_metrics, ttft_count, "Of them."),
    SUM(rec_metrics, queue_sum_s, "Times that requests waited in its queue."),
    COUNT(rec_metrics, queue_count, "Of them."),
    SUM(rec_metrics, prefill_sum_s, "Times from the queue to the first token."),
    COUNT(rec_metrics, prefill_count, "Of them."),
    SUM(rec_metrics, tpot_sum_s, "Times per output token, each the mean of a request."),
    COUNT(rec_metrics, tpot_count, "Of them."),
    SUM(rec_metrics, itl_sum_s, "Times between tokens, or between a request's steps."),
    COUNT(rec_metrics, itl_count, "Of them."),
    SUM(rec_metrics, e2e_sum_s, "Times from a request's arrival to its end."),
    COUNT(rec_metrics, e2e_count, "Of them."),
    COUNT(rec_metrics, drafts, "Speculative decoding: drafts."),
    F64(rec_metrics, drafted_tokens, "In them, so far.", UNIT("tokens"), FIGURE, FLAGS(FIELD_LATER)),
    F64(rec_metrics, accepted_tokens, "Of them, so far.", UNIT("tokens"), FIGURE, FLAGS(FIELD_LATER)),
    F64(rec_metrics, accepted_share, "Of drafted tokens, lately, where the engine keeps no count.", SHARE,
        FLAGS(FIELD_LATER)),
    F64(rec_metrics, accepted_length, "Tokens a step, lately, where the engine keeps no count.", UNIT("tokens"), FIGURE,
        FLAGS(FIELD_LATER)),
};
const struct schema rec_metrics_schema = SCHEMA(rec_metrics, "The engine's own figures, one line for each scrape.");

/* ---- run.json and client.json ---- */

static const struct field rec_series_fields[] = {
    TEXT(rec_series, file, "Record file."),
    I64(rec_series, rows, "Its rows."),
    I64(rec_series, cells, "Fields of these rows that are not empty."),
    I64(rec_series, first, "Smallest value of its first column (requests.csv: of end_ns)."),
    I64(rec_series, last, "Largest value of the same."),
};
static const struct schema rec_series_schema = SCHEMA(rec_series, "What the recorder wrote into one file.");

static const struct field rec_run_fields[] = {
    TEXT(rec_run, id, "Name of the run folder: 20261130T005313Z-slug."),
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
#define OF_CLIENT(m, text, ...) I64(rec_client, m, text, .max = 1e18, __VA_ARGS__)
static const struct field rec_client_fields[] = {
    I64_AS("submit_spread_ns", rec_client, submit_window_ns, "First to last submission.", UNIT("ns"), .max = 1e18),
    OF_CLIENT(connect_wall_ns, "Opening all connections ahead.", UNIT("ns")),
    OF_CLIENT(wakeups, "Returns of epoll_wait."),
    OF_CLIENT(reads, "Calls of recvmsg."),
    OF_CLIENT(events, "Stream events."),
    OF_CLIENT(lag_p50_ns, "Loop lag: woken behind its deadline, or one pass; median.", UNIT("ns")),
    OF_CLIENT(lag_p99_ns, "Loop lag, 99th percentile.", UNIT("ns")),
    OF_CLIENT(lag_max_ns, "Loop lag, largest.", UNIT("ns")),
    OF_CLIENT(handle_p50_ns, "Kernel stamp to processed; median.", UNIT("ns")),
    OF_CLIENT(handle_p99_ns, "Kernel stamp to processed, 99th percentile.", UNIT("ns")),
    OF_CLIENT(handle_max_ns, "Kernel stamp to processed, largest.", UNIT("ns")),
    OF_CLIENT(cpu_ns, "CPU time of the loop thread in the formal stage.", UNIT("ns")),
    OF_CLIENT(wall_ns, "Length of the formal stage as the client saw it.", UNIT("ns")),
    OF_CLIENT(stamps_kernel, "Arrivals with an exact kernel stamp."),
    OF_CLIENT(stamps_shared, "Arrivals that share another's stamp."),
    OF_CLIENT(stamps_read, "Arrivals with the time of the read."),
    OF_CLIENT(open_files_limit, "Limit of open files."),
};
const struct schema rec_client_schema = SCHEMA(rec_client, "The client's own condition over the formal stage.");

int64_t records_boundary(const struct records *r, enum boundary id)
{
    assert(id < BOUNDARY_COUNT);
    for (size_t i = r->boundary_count; i-- > 0;)
        if (r->boundaries[i].id == id)
            return r->boundaries[i].t_ns;
    return ABSENT_I64;
}

struct rec_request rec_request_absent(void)
{
    struct rec_request r = {0};
    schema_absent_as(&rec_request_schema, &r, 0, NULL);
    r.body_bytes = r.text_bytes = r.received_bytes = 0;
    r.events = r.token_chunks = r.shared_stamps = r.comments = 0;
    return r;
}

struct rec_metrics rec_metrics_absent(void)
{
    struct rec_metrics m = {0};
    schema_absent_as(&rec_metrics_schema, &m, 0, NULL);
    return m;
}
