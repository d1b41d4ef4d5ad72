#include <math.h>
#include <string.h>
#include "model/plan.h"

/* METHOD's own durations (sections 2, 3): what plan_is_shortened compares with, and the defaults. */
static const struct plan_method method_default = {
    .baseline_s = 20,
    .baseline_wait_s = 120,
    .hold_s = 30,
    .release_wait_s = 300,
    .grid_s = 1,
    .warmup_requests = 8,
    .warmup_tokens = 64,
    .failed_share = 0.01,
};

/* From connect_s on METHOD's own (section 4, timers). */
const struct plan_limits plan_limits_default = {
    .ready_s = 1800,
    .stop_s = 60,
    .connect_s = 10,
    .write_s = 30,
    .head_s = 30,
    .first_token_s = 600,
    .idle_s = 120,
    .total_s = 3600,
};

static const char *const engine_kinds[] = {"vllm", "openai", NULL};
static const char *const api_kinds[] = {"chat", "completions", NULL};
static const char *const length_kinds[] = {"natural", "fixed", "lognormal", "lines", NULL};
static const char *const connect_kinds[] = {"ahead", "with_request", NULL};

/* One line a field: the macros hold nothing but the offsets. */
#define TEXT(s, k, f, d)                                                                                               \
    {                                                                                                                  \
        .key = #k, .type = FIELD_TEXT, .offset = offsetof(struct s, k), .flags = (f), .doc = (d)                       \
    }
#define BOOL(s, k, d)                                                                                                  \
    {                                                                                                                  \
        .key = #k, .type = FIELD_BOOL, .offset = offsetof(struct s, k), .doc = (d)                                     \
    }
#define ENUM(s, k, n, d)                                                                                               \
    {                                                                                                                  \
        .key = #k, .type = FIELD_ENUM, .offset = offsetof(struct s, k), .names = (n), .doc = (d)                       \
    }
#define OBJECT(s, k, sub_, d)                                                                                          \
    {                                                                                                                  \
        .key = #k, .type = FIELD_OBJECT, .offset = offsetof(struct s, k), .sub = (sub_), .doc = (d)                    \
    }
#define INT(s, k, lo, hi, u, d)                                                                                        \
    {                                                                                                                  \
        .key = #k, .type = FIELD_I64, .offset = offsetof(struct s, k), .min = (lo), .max = (hi), .unit = (u),          \
        .doc = (d)                                                                                                     \
    }
#define REAL(s, k, lo, hi, u, d)                                                                                       \
    {                                                                                                                  \
        .key = #k, .type = FIELD_F64, .offset = offsetof(struct s, k), .min = (lo), .max = (hi), .unit = (u),          \
        .doc = (d)                                                                                                     \
    }
#define SCHEMA(s, f, d)                                                                                                \
    {                                                                                                                  \
        .name = #s, .size = sizeof(struct s), .fields = (f), .count = SCHEMA_COUNT(f), .doc = (d)                      \
    }

static const struct field model_fields[] = {
    TEXT(plan_model, id, FIELD_REQUIRED,
         "Name of the model as published, for example meta-llama/Llama-3.1-8B-Instruct; read off the engine's command "
         "where that names it."),
    TEXT(plan_model, revision, 0, "Commit of the snapshot; null: not stated, and then not checked."),
    TEXT(plan_model, precision, 0, "Number format of the weights: bf16, fp8, ...; null: not stated."),
    REAL(plan_model, total_parameters, 1, 1e15, "parameters", "All parameters, for size groups: 8.03e9."),
    TEXT(plan_model, snapshot, 0,
         "Local folder with the weights; null: not stated, and then neither hashed nor checked."),
    TEXT(
        plan_model, snapshot_sha256, FIELD_RESOLVED,
        "Over the digests of the snapshot's small files and the name and size of each file; the weights' bytes are not "
        "in it."),
    TEXT(plan_model, snapshot_digest, 0,
         "Over the digests of all of the snapshot's files, the weights among them; stated, it must be that."),
};
static const struct schema model_schema = SCHEMA(plan_model, model_fields, "The model that is served.");

static const struct field engine_fields[] = {
    ENUM(plan_engine, kind, engine_kinds,
         "vllm: jtok knows its arguments and checks its identity; openai: any server with the OpenAI API."),
    {.key = "command",
     .type = FIELD_LIST,
     .offset = offsetof(struct plan_engine, command),
     .count_offset = offsetof(struct plan_engine, command_count),
     .item = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .doc =
         "Program and arguments that start the engine: a list, or one text that is split into words as a shell does."},
    {.key = "env",
     .type = FIELD_MAP,
     .offset = offsetof(struct plan_engine, env),
     .count_offset = offsetof(struct plan_engine, env_count),
     .flags = FIELD_SECRET_VALUES,
     .doc = "Environment variables that the engine gets on top of jtok's own; secret values are never stored."},
    TEXT(plan_engine, version, 0, "Version that the engine must report; null: any."),
    TEXT(plan_engine, image_digest, 0, "Digest of the container image that the command runs; null: none."),
    TEXT(plan_engine, served_model, 0,
         "Model name that requests carry; null: taken from the command, else the model's id."),
    TEXT(plan_engine, host, 0, "Address that the engine listens on."),
    INT(plan_engine, port, 0, 65535, NULL,
        "Port that the engine listens on; 0: read off the command, else a free one where the command lets it be set."),
    INT(plan_engine, context_length, 1, 1e9, "tokens", "Context length that the engine must have; null: not checked."),
    INT(plan_engine, tensor_parallel, 1, 1024, "GPUs", "Tensor parallel size."),
    INT(plan_engine, pipeline_parallel, 1, 1024, "GPUs", "Pipeline parallel size."),
    INT(plan_engine, data_parallel, 1, 1024, "GPUs", "Data parallel size."),
    TEXT(plan_engine, health_path, 0, "Path that answers 200 once the engine is up."),
    TEXT(plan_engine, metrics_path, 0, "Path of the Prometheus metrics; \"\": none are read."),
    BOOL(plan_engine, simulated, "The engine is a simulation: every output carries the mark."),
};
static const struct schema engine_schema =
    SCHEMA(plan_engine, engine_fields, "The inference engine and how it is started.");

static const struct field length_fields[] = {
    ENUM(plan_lengths, kind, length_kinds,
         "lines: each line's own max_tokens, max_completion_tokens, output_tokens or output_length; natural: the model "
         "stops by itself, and so where a line has none; fixed: tokens for each request; lognormal: drawn for each."),
    INT(plan_lengths, tokens, 1, 1e9, "tokens",
        "fixed: max_tokens of each request; natural, and lines without one of their own: the same as an upper limit, "
        "null "
        "leaves it to the engine."),
    REAL(plan_lengths, median, 1, 1e9, "tokens", "lognormal: median of max_tokens."),
    REAL(plan_lengths, sigma, 0, 10, NULL, "lognormal: standard deviation of the logarithm."),
    INT(plan_lengths, min, 1, 1e9, "tokens", "lognormal: lower bound; what falls below is set to it."),
    INT(plan_lengths, max, 1, 1e9, "tokens", "lognormal: upper bound; null: none."),
    INT(plan_lengths, seed, 0, 9007199254740992.0, NULL, "lognormal: seed; equal seeds give equal lengths everywhere."),
    BOOL(plan_lengths, ignore_eos,
         "Ask the engine not to stop before max_tokens (needed to force lengths; vLLM and SGLang know it)."),
};
static const struct schema lengths_schema = SCHEMA(plan_lengths, length_fields, "How long the answers are.");

static const struct field request_fields[] = {
    TEXT(plan_requests, file, FIELD_REQUIRED,
         "JSON Lines with prompt or messages in each line, and keys of a request's body; plain, gzip or zstd, also a "
         "pipe; a relative path starts where jtok was started."),
    TEXT(plan_requests, sha256, FIELD_RESOLVED, "SHA-256 of the file's bytes, as they were read."),
    TEXT(plan_requests, work_sha256, FIELD_RESOLVED,
         "SHA-256 of what is asked, request by request: text or messages, length, sampling, API, extra body."),
    ENUM(plan_requests, api, api_kinds, "chat: /v1/chat/completions; completions: /v1/completions."),
    INT(plan_requests, count, 1, 4e6, "requests",
        "Number of formal requests; null: each line once; more than the file holds: repeated in order."),
    OBJECT(plan_requests, lengths, &lengths_schema, "How long the answers are."),
    REAL(plan_requests, temperature, 0, 100, NULL, "Sampling temperature; null: not sent."),
    REAL(plan_requests, top_p, 0, 1, NULL, "Nucleus sampling; null: not sent."),
    INT(plan_requests, seed, -9007199254740992.0, 9007199254740992.0, NULL,
        "Sampling seed of each request; null: not sent."),
    BOOL(plan_requests, continuous_usage,
         "Ask for running token counts in each chunk: exact tokens of a chunk, for a third more bytes."),
    ENUM(plan_requests, connect, connect_kinds,
         "ahead: all connections are open before the first request; with_request: each connects as it is sent."),
    TEXT(plan_requests, extra_body, 0, "A JSON object that is merged into each request's body; null: none."),
};
static const struct schema requests_schema = SCHEMA(plan_requests, request_fields, "The formal requests.");

static const struct field method_fields[] = {
    REAL(plan_method, baseline_s, 0.2, 3600, "s", "Length of the idle baseline."),
    REAL(plan_method, baseline_wait_s, 0, 36000, "s", "How long an idle baseline is waited for."),
    REAL(plan_method, hold_s, 0.2, 3600, "s", "How long power must stay at its baseline after the release."),
    REAL(plan_method, release_wait_s, 0.2, 36000, "s", "How long the release may take before the run is timed out."),
    REAL(plan_method, grid_s, 0.02, 1, "s", "Period of the power grid."),
    INT(plan_method, warmup_requests, 0, 10000, "requests", "Warm-up requests, all at once."),
    INT(plan_method, warmup_tokens, 1, 1e6, "tokens", "Output tokens of each warm-up request."),
    REAL(plan_method, failed_share, 0, 1, NULL, "Share of failed requests beyond which a run is excluded."),
};
static const struct schema method_schema =
    SCHEMA(plan_method, method_fields,
           "Durations of the method; a run with any below its default is marked method_shortened and never formal.");

static const struct field limit_fields[] = {
    REAL(plan_limits, ready_s, 0.1, 86400, "s", "Start of the engine to ready."),
    REAL(plan_limits, stop_s, 0.1, 3600, "s", "Stop signal to SIGKILL."),
    REAL(plan_limits, connect_s, 0.01, 86400, "s", "To connect."),
    REAL(plan_limits, write_s, 0.01, 86400, "s", "Writing a request without progress."),
    REAL(plan_limits, head_s, 0.01, 86400, "s", "First byte of an answer to the end of its head."),
    REAL(plan_limits, first_token_s, 0.01, 86400, "s", "Request sent to its first token."),
    REAL(plan_limits, idle_s, 0.01, 86400, "s", "Without an event, once the first token came."),
    REAL(plan_limits, total_s, 0.01, 864000, "s", "A whole request."),
};
static const struct schema limits_schema = SCHEMA(plan_limits, limit_fields, "Time limits.");

static const struct field power_fields[] = {
    TEXT(plan_power, library, 0, "The NVML library to load; null: libnvidia-ml.so.1."),
    REAL(plan_power, sensor_percent, 0, 100, "%", "Limit of the board's power sensor, as share of the reading."),
    TEXT(plan_power, sensor_source, 0, "Where that limit comes from (a calibration); null: assumed."),
};
static const struct schema power_schema = SCHEMA(plan_power, power_fields, "How power is read.");

static const struct field cost_fields[] = {
    REAL(plan_cost, pue, 1, 10, NULL, "Power usage effectiveness of the data centre; null: no cost and no carbon."),
    REAL(plan_cost, server_factor, 1, 100, NULL,
         "Energy of the whole server over that of its GPUs; null: no cost and no carbon."),
    REAL(plan_cost, price_per_kwh, 0, 1e9, "currency/kWh", "Price of energy; null: no cost."),
    REAL(plan_cost, carbon_g_per_kwh, 0, 1e6, "g/kWh", "CO2 equivalent of energy; null: no carbon."),
    TEXT(plan_cost, currency, 0, "Currency of the price: EUR."),
};
static const struct schema cost_schema = SCHEMA(plan_cost, cost_fields, "Only for cost and carbon.");

static const struct field plan_fields[] = {
    TEXT(plan, name, 0, "Label for people; null: made from model and engine."),
    TEXT(plan, scenario, 0, "Label of the task, for comparisons; null: the request file's name."),
    OBJECT(plan, model, &model_schema, "The model that is served."),
    OBJECT(plan, engine, &engine_schema, "The inference engine and how it is started."),
    {.key = "gpus",
     .type = FIELD_LIST,
     .offset = offsetof(struct plan, gpus),
     .count_offset = offsetof(struct plan, gpu_count),
     .item = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .doc = "GPUs: all, or a list of indexes, UUIDs or their unique beginnings, PCI addresses."},
    OBJECT(plan, requests, &requests_schema, "The formal requests."),
    OBJECT(plan, method, &method_schema, "Durations of the method."),
    OBJECT(plan, limits, &limits_schema, "Time limits."),
    OBJECT(plan, power, &power_schema, "How power is read."),
    OBJECT(plan, cost, &cost_schema, "Only for cost and carbon."),
    TEXT(plan, runs, 0, "Folder that run folders are made in."),
};
const struct schema plan_schema = SCHEMA(plan, plan_fields, "A plan: everything that decides a run.");

static const char *all_gpus[] = {"all"};

void plan_defaults(struct plan *p)
{
    *p = (struct plan){
        .model = {.total_parameters = NAN},
        .engine = {.kind = ENGINE_VLLM,
                   .host = "127.0.0.1",
                   .context_length = ABSENT_I64,
                   .tensor_parallel = 1,
                   .pipeline_parallel = 1,
                   .data_parallel = 1,
                   .health_path = "/health",
                   .metrics_path = "/metrics"},
        .gpus = all_gpus,
        .gpu_count = 1,
        .requests = {.api = API_CHAT,
                     .count = ABSENT_I64,
                     .lengths = {.kind = LENGTH_LINES,
                                 .tokens = ABSENT_I64,
                                 .median = NAN,
                                 .sigma = NAN,
                                 .min = 1,
                                 .max = ABSENT_I64},
                     .temperature = NAN,
                     .top_p = NAN,
                     .seed = ABSENT_I64,
                     .connect = CONNECT_AHEAD},
        .method = method_default,
        .limits = plan_limits_default,
        .power = {.sensor_percent = 6},
        .cost = {.pue = NAN, .server_factor = NAN, .price_per_kwh = NAN, .carbon_g_per_kwh = NAN},
        .runs = "runs",
    };
}

int64_t plan_stream_interval(const struct plan *p)
{
    static const char OPTION[] = "--stream-interval";
    int64_t interval = ABSENT_I64, value;
    for (size_t i = 0; i < p->engine.command_count; i++) {
        struct span word = span_of(p->engine.command[i]);
        if (!span_starts(word, OPTION))
            continue;
        word = (struct span){word.p + strlen(OPTION), word.n - strlen(OPTION)};
        if (word.n && word.p[0] == '=')
            word = (struct span){word.p + 1, word.n - 1};
        else if (!word.n && i + 1 < p->engine.command_count)
            word = span_of(p->engine.command[i + 1]);
        interval = num_i64(word, &value) && value >= 1 && value <= 1 << 20 ? value : interval;
    }
    return interval;
}

bool plan_is_shortened(const struct plan *p)
{
    const struct plan_method *m = &p->method, *d = &method_default;

    /* A duration that is not known is none that was kept. */
    return !(m->baseline_s >= d->baseline_s && m->baseline_wait_s >= d->baseline_wait_s && m->hold_s >= d->hold_s &&
             m->release_wait_s >= d->release_wait_s && m->grid_s >= d->grid_s &&
             m->warmup_requests >= d->warmup_requests && m->warmup_tokens >= d->warmup_tokens);
}
