#include "model/plan.h"

#include <string.h>
#include "base/must.h"
#include "schema/table.h"
#include "schema/visit.h"

#define ENGINE_NAME(KIND, name, keeps_count, doc) #name,
const char *const engine_kind_names[] = {ENGINE_KINDS(ENGINE_NAME) NULL};

#define ENGINE_KEEPS_COUNT(KIND, name, keeps_count, doc) keeps_count,
static const bool engine_keeps_count[] = {ENGINE_KINDS(ENGINE_KEEPS_COUNT)};

#define ENGINE_DOC(KIND, name, keeps_count, doc) " " #name ": " doc "."
const char *const run_object_names[OBJECT_STAT + 2] = {
    [OBJECT_LIFE] = "life", [OBJECT_ATTACH] = "attach", [OBJECT_WATCH] = "watch", [OBJECT_STAT] = "stat"};
const char *const load_kind_names[LOAD_TRACE + 2] = {
    [LOAD_BURST] = "burst", [LOAD_CONCURRENCY] = "concurrency", [LOAD_RATE] = "rate", [LOAD_TRACE] = "trace"};
const char *const arrival_kind_names[ARRIVAL_GAMMA + 2] = {
    [ARRIVAL_CONSTANT] = "constant", [ARRIVAL_POISSON] = "poisson", [ARRIVAL_GAMMA] = "gamma"};
const char *const api_kind_names[API_COMPLETIONS + 2] = {[API_CHAT] = "chat", [API_COMPLETIONS] = "completions"};
const char *const length_kind_names[LENGTH_NORMAL + 2] = {
    [LENGTH_NATURAL] = "natural", [LENGTH_FIXED] = "fixed",     [LENGTH_LOGNORMAL] = "lognormal",
    [LENGTH_LINES] = "lines",     [LENGTH_UNIFORM] = "uniform", [LENGTH_NORMAL] = "normal"};
const char *const input_kind_names[INPUT_LOGNORMAL + 2] = {[INPUT_NONE] = "none",
                                                           [INPUT_FIXED] = "fixed",
                                                           [INPUT_UNIFORM] = "uniform",
                                                           [INPUT_NORMAL] = "normal",
                                                           [INPUT_LOGNORMAL] = "lognormal"};
const char *const connect_kind_names[CONNECT_WITH_REQUEST + 2] = {
    [CONNECT_AHEAD] = "ahead", [CONNECT_WITH_REQUEST] = "with_request"};

#define SETTING_NAME(NAME, name) #name,
const char *const plan_setting_names[] = {PLAN_SETTINGS(SETTING_NAME) NULL};
const char *const switch_setting_names[SWITCH_ON + 2] = {[SWITCH_OFF] = "off", [SWITCH_ON] = "on"};
const char *const thinking_kind_names[THINKING_HIGH + 2] = {[THINKING_OFF] = "off",
                                                            [THINKING_ON] = "on",
                                                            [THINKING_LOW] = "low",
                                                            [THINKING_MEDIUM] = "medium",
                                                            [THINKING_HIGH] = "high"};

#define EXACT 9007199254740992.0 /* 2^53: every whole number up to it survives as a JSON number */

static const struct field plan_model_fields[] = {
    TEXT(
        plan_model, id,
        "Name of the model as published, for example meta-llama/Llama-3.1-8B-Instruct; taken from the engine's command "
        "if that names it.",
        FLAGS(FIELD_REQUIRED)),
    TEXT(plan_model, revision, "Commit of the snapshot; null: not stated, and then not checked."),
    TEXT(plan_model, precision, "Number format of the weights: bf16, fp8, ...; null: not stated."),
    F64(plan_model, total_parameters, "All parameters, for size groups: 8.03e9.", UNIT("parameters"), RANGE(1, 1e15)),
    TEXT(plan_model, snapshot, "Local folder with the weights; null: not stated, and then neither hashed nor checked."),
    TEXT(
        plan_model, snapshot_sha256,
        "Over the digests of the snapshot's small files and the name and size of each file; the weights' bytes are not "
        "in it.",
        FLAGS(FIELD_RESOLVED)),
    TEXT(plan_model, snapshot_digest,
         "Over the digests of all files of the snapshot, weights included; if stated, it must match."),
};
static const struct schema plan_model_schema = SCHEMA(plan_model, "The model that is served.");

const char *const container_runtime_names[RUNTIME_PODMAN + 2] = {
    [RUNTIME_DOCKER] = "docker", [RUNTIME_PODMAN] = "podman"};

static const struct field plan_container_fields[] = {
    TEXT(plan_container, image,
         "Image to run the engine's command in, as docker and podman name it; it must be on this machine. null: no "
         "container."),
    ENUM(plan_container, runtime, container_runtime, "Program that runs it; null: docker.", FLAGS(FIELD_OPEN)),
    TEXTS(plan_container, args, arg_count,
          "Further options of its run command, such as --shm-size=16g or -v HOST:CONTAINER. GPUs, name, the model's "
          "folder and the variables of engine.env are given by jtok."),
    TEXTS(plan_container, client, client_count,
          "The runtime's program with its own options, in front of run; none: its name."),
    TEXT(plan_container, name, "Name of the container.", FLAGS(FIELD_RESOLVED)),
    TEXT(plan_container, image_id, "Id of the image, by which it is run.", FLAGS(FIELD_RESOLVED)),
    TEXTS(plan_container, entrypoint, entrypoint_count, "Words that the image puts in front of the engine's command.",
          FLAGS(FIELD_RESOLVED)),
    I64(plan_container, port, "Port that the engine listens on inside; null: the same as engine.port.", RANGE(1, 65535),
        FLAGS(FIELD_RESOLVED)),
    BOOL(plan_container, own_entrypoint,
         "The command is what stands behind the image in docker run: arguments of the image's own entrypoint, with "
         "paths of the container's. Else it is a whole command, as without a container."),
};
static const struct schema plan_container_schema = SCHEMA(plan_container, "The container that the engine runs in.");

const char *const gpu_names_names[GPU_NAMES_INDEX + 2] = {[GPU_NAMES_UUID] = "uuid", [GPU_NAMES_INDEX] = "index"};

/* In the order of enum plan_setting; thinking is no option of an engine's command, but part of each request. */
static const struct field plan_settings_fields[] = {
    I64(plan_settings, context_length, "Most tokens of a request, prompt and answer; null: the model's own.",
        UNIT("tokens"), RANGE(1, 1e9)),
    I64(plan_settings, tensor_parallel, "GPUs that share each layer; null: 1.", UNIT("GPUs"), RANGE(1, 1024)),
    I64(plan_settings, pipeline_parallel, "Groups of layers, each on GPUs of its own; null: 1.", UNIT("GPUs"),
        RANGE(1, 1024)),
    I64(plan_settings, data_parallel, "Copies of the model; null: 1.", UNIT("GPUs"), RANGE(1, 1024)),
    I64(plan_settings, expert_parallel, "GPUs that share the experts of a layer; null: 1.", UNIT("GPUs"),
        RANGE(1, 1024)),
    TEXT(plan_settings, dtype, "Number format that the model computes in, such as bfloat16; null: the model's own."),
    TEXT(plan_settings, quantization, "Method that the weights are quantized by, such as fp8; null: the model's own."),
    TEXT(plan_settings, kv_cache_dtype, "Number format of the KV cache, such as fp8_e4m3; null: the engine's choice."),
    F64(plan_settings, memory_share,
        "Share of a GPU's memory for the engine. vLLM counts all that it uses, SGLang weights and KV cache alone.",
        RANGE(0.01, 1)),
    I64(plan_settings, max_running, "Most requests that run at once.", UNIT("requests"), RANGE(1, 1e6)),
    ENUM(plan_settings, prefix_cache, switch_setting, "Keep the KV cache of prompts for later requests.",
         FLAGS(FIELD_OPEN)),
    ENUM(plan_settings, chunked_prefill, switch_setting, "Read long prompts in parts, between the steps of others.",
         FLAGS(FIELD_OPEN)),
    I64(plan_settings, prefill_tokens,
        "Tokens of such a part. vLLM's number is that of a whole step, the tokens that are generated among them.",
        UNIT("tokens"), RANGE(1, 1e7)),
    I64(plan_settings, front_ends, "Processes that take requests and turn text into tokens.", RANGE(1, 1024)),
    I64(plan_settings, seed, "Seed of the engine's own random numbers.", RANGE(0, EXACT)),
    ENUM(plan_settings, thinking, thinking_kind,
         "What each request asks of a model that thinks before it answers, by its chat template: off, on, or an effort "
         "(low, medium, high); null: nothing is asked.",
         FLAGS(FIELD_OPEN)),
    I64(plan_settings, thinking_tokens, "Most tokens that a request may think for, where the engine can limit it.",
        UNIT("tokens"), RANGE(1, 1e7)),
};
static const struct schema plan_settings_schema =
    SCHEMA(plan_settings, "How the engine is set up, in the same words for every engine.");

static const struct field plan_engine_fields[] = {
    ENUM(plan_engine, kind, engine_kind,
         "What the engine is; null: found from the command, and openai where it names no engine that jtok "
         "knows." ENGINE_KINDS(ENGINE_DOC),
         FLAGS(FIELD_OPEN)),
    TEXTS(plan_engine, command, command_count,
          "Program and arguments that start the engine: a list, or one text that is split into words as a shell does; "
          "null: made from kind, model and settings."),
    MAP(plan_engine, env, env_count,
        "Environment variables that the engine gets on top of jtok's own; secret values are never stored.",
        FLAGS(FIELD_SECRET_VALUES)),
    OBJECT(plan_engine, settings, plan_settings,
           "How the engine is set up, in the same words for every engine; what the command does not say is added to "
           "it."),
    MAP(plan_engine, in_force, in_force_count,
        "What each setting is, and who says it: the command, or the engine's default in the version that jtok knows.",
        FLAGS(FIELD_RESOLVED)),
    OBJECT(plan_engine, container, plan_container,
           "The container that the command runs in, if any; a command that begins with docker run or podman run is "
           "taken apart into the same."),
    TEXT(plan_engine, version, "Version that the engine must report; null: any."),
    TEXT(plan_engine, image_digest, "Digest of the container image that the command runs; null: none."),
    TEXT(plan_engine, served_model,
         "Model name that requests carry; null: taken from the command, else the model's id."),
    TEXT(plan_engine, host, "Address that the engine listens on.", DEFAULT_TEXT("127.0.0.1")),
    I64(plan_engine, port,
        "Port that the engine listens on; 0: taken from the command, else a free one if the command lets it be set.",
        RANGE(0, 65535), DEFAULT(0)),
    I64(plan_engine, context_length, "Context length that the engine must have; null: not checked.", UNIT("tokens"),
        RANGE(1, 1e9)),
    I64(plan_engine, tensor_parallel, "Tensor parallel size.", UNIT("GPUs"), RANGE(1, 1024), DEFAULT(1)),
    I64(plan_engine, pipeline_parallel, "Pipeline parallel size.", UNIT("GPUs"), RANGE(1, 1024), DEFAULT(1)),
    I64(plan_engine, data_parallel, "Data parallel size.", UNIT("GPUs"), RANGE(1, 1024), DEFAULT(1)),
    ENUM(
        plan_engine, gpu_names, gpu_names,
        "How CUDA_VISIBLE_DEVICES names the GPUs to the engine: uuid, or index for an engine that reads numbers there.",
        DEFAULT(GPU_NAMES_UUID)),
    TEXT(plan_engine, health_path, "Path that answers 200 once the engine is up.", DEFAULT_TEXT("/health")),
    TEXT(plan_engine, metrics_path, "Path of the Prometheus metrics; \"\": none are read.", DEFAULT_TEXT("/metrics")),
    BOOL(plan_engine, simulated, "The engine is a simulation, and every output says so."),
};
static const struct schema plan_engine_schema = SCHEMA(plan_engine, "The inference engine and how it is started.");

static const struct field plan_lengths_fields[] = {
    ENUM(plan_lengths, kind, length_kind,
         "lines: each line's own max_tokens, max_completion_tokens, output_tokens or output_length, else as natural; "
         "natural: the model stops by itself; fixed: tokens for each request; lognormal, uniform, normal: drawn for "
         "each.",
         DEFAULT(LENGTH_LINES)),
    I64(plan_lengths, tokens,
        "fixed: max_tokens of each request; natural, and lines without one of their own: the same as an upper limit, "
        "null leaves it to the engine.",
        UNIT("tokens"), RANGE(1, 1e9)),
    F64(plan_lengths, median, "lognormal: median of max_tokens.", UNIT("tokens"), RANGE(1, 1e9)),
    F64(plan_lengths, sigma, "lognormal: standard deviation of the logarithm.", RANGE(0, 10)),
    F64(plan_lengths, mean, "normal: mean of max_tokens.", UNIT("tokens"), RANGE(1, 1e9)),
    F64(plan_lengths, sd, "normal: standard deviation of max_tokens.", UNIT("tokens"), RANGE(0, 1e9)),
    I64(plan_lengths, min, "uniform: the least; lognormal, normal: what falls below is set to it.", UNIT("tokens"),
        RANGE(1, 1e9), DEFAULT(1)),
    I64(plan_lengths, max, "uniform: the most; lognormal, normal: what falls above is set to it, null: no bound.",
        UNIT("tokens"), RANGE(1, 1e9)),
    I64(plan_lengths, seed, "lognormal, uniform, normal: seed; equal seeds give equal lengths everywhere.",
        RANGE(0, EXACT), DEFAULT(0)),
    BOOL(plan_lengths, ignore_eos,
         "Ask the engine not to stop before max_tokens (needed to force lengths; vLLM and SGLang know it)."),
};
static const struct schema plan_lengths_schema = SCHEMA(plan_lengths, "How long the answers are.");

static const struct field plan_input_fields[] = {
    ENUM(plan_input, kind, input_kind,
         "none: the prompts are the file's; fixed: tokens for each prompt; uniform, normal, lognormal: drawn for each.",
         DEFAULT(INPUT_NONE)),
    I64(plan_input, tokens, "fixed: length of each prompt.", UNIT("tokens"), RANGE(1, 1e7)),
    F64(plan_input, median, "lognormal: median of the lengths.", UNIT("tokens"), RANGE(1, 1e7)),
    F64(plan_input, sigma, "lognormal: standard deviation of the logarithm.", RANGE(0, 10)),
    F64(plan_input, mean, "normal: mean of the lengths.", UNIT("tokens"), RANGE(1, 1e7)),
    F64(plan_input, sd, "normal: standard deviation of the lengths.", UNIT("tokens"), RANGE(0, 1e7)),
    I64(plan_input, min, "uniform: the least; lognormal, normal: what falls below is set to it.", UNIT("tokens"),
        RANGE(1, 1e7), DEFAULT(1)),
    I64(plan_input, max, "uniform: the most; lognormal, normal: what falls above is set to it, null: 10 million.",
        UNIT("tokens"), RANGE(1, 1e7)),
};
static const struct schema plan_input_schema = SCHEMA(plan_input, "How many tokens each prompt has.");

static const struct field plan_random_fields[] = {
    OBJECT(plan_random, input, plan_input, "How many tokens each prompt has, the shared ones among them."),
    I64(plan_random, prefix_tokens, "So many tokens at the start are the same in all prompts.", UNIT("tokens"),
        RANGE(0, 1e7), DEFAULT(0)),
    I64(plan_random, seed, "Seed of lengths and tokens; equal seeds give equal prompts everywhere.", RANGE(0, EXACT),
        DEFAULT(0)),
    I64(plan_random, vocabulary,
        "Size of the model's vocabulary; null: vocab_size in config.json of the snapshot, else of the model in the "
        "hub's cache.",
        UNIT("tokens"), RANGE(16, 1e8)),
    I64(plan_random, first_id, "Lowest token id that is drawn.", RANGE(0, 1e8), FLAGS(FIELD_RESOLVED)),
    I64(plan_random, last_id, "Highest token id that is drawn.", RANGE(0, 1e8), FLAGS(FIELD_RESOLVED)),
};
static const struct schema plan_random_schema =
    SCHEMA(plan_random, "Random prompts of an exact length, as token ids, in place of a file.");

static const struct field plan_requests_fields[] = {
    TEXT(plan_requests, file,
         "JSON Lines with prompt or messages in each line, and keys of a request's body; plain, gzip or zstd, also a "
         "pipe; a relative path starts in the folder that jtok is started in. Null: the prompts are random."),
    TEXT(plan_requests, sha256, "SHA-256 of the file's bytes, as they were read.", FLAGS(FIELD_RESOLVED)),
    TEXT(plan_requests, work_sha256,
         "SHA-256 of what is asked, request by request: text or messages, length, sampling, API, extra body.",
         FLAGS(FIELD_RESOLVED)),
    ENUM(plan_requests, api, api_kind, "chat: /v1/chat/completions; completions: /v1/completions.", DEFAULT(API_CHAT)),
    I64(plan_requests, count,
        "Number of formal requests; null: each line once; more than the file holds: repeated in order. Random prompts "
        "never repeat; null is then as many as the loads send, and the first 1000 stand for them in work_sha256.",
        UNIT("requests"), RANGE(1, 4e6)),
    OBJECT(plan_requests, random, plan_random, "Random prompts of an exact length, as token ids, in place of a file."),
    OBJECT(plan_requests, lengths, plan_lengths, "How long the answers are."),
    F64(plan_requests, temperature, "Sampling temperature; null: not sent.", RANGE(0, 100)),
    F64(plan_requests, top_p, "Nucleus sampling; null: not sent.", RANGE(0, 1)),
    I64(plan_requests, seed, "Sampling seed of each request; null: not sent.", RANGE(-EXACT, EXACT)),
    BOOL(plan_requests, continuous_usage,
         "Ask for running token counts in each chunk: exact tokens per chunk, at the cost of a third more bytes."),
    ENUM(plan_requests, connect, connect_kind,
         "ahead: all connections are open before the first request; with_request: each connects as it is sent.",
         DEFAULT(CONNECT_AHEAD)),
    TEXT(plan_requests, extra_body, "A JSON object that is merged into each request's body; null: none."),
    TEXT(plan_requests, thinking, "What is asked of a model that thinks: off, on, an effort, a limit; null: nothing.",
         FLAGS(FIELD_RESOLVED | FIELD_OMIT_ABSENT)),
    TEXT(plan_requests, thinking_body, "Members of each request's body that carry engine.settings.thinking.",
         FLAGS(FIELD_RESOLVED | FIELD_OMIT_ABSENT)),
};
static const struct schema plan_requests_schema = SCHEMA(plan_requests, "The formal requests.");

static const struct field plan_load_fields[] = {
    ENUM(plan_load, kind, load_kind,
         "burst: all at once; concurrency: so many in flight, the next one as one ends; rate: at drawn times, without "
         "waiting for answers; trace: at the times of a file.",
         DEFAULT(LOAD_BURST)),
    I64(plan_load, concurrency, "concurrency: requests in flight.", UNIT("requests"), RANGE(1, 1e6)),
    F64(plan_load, rate, "rate: requests a second.", UNIT("requests/s"), RANGE(1e-6, 1e6)),
    ENUM(plan_load, arrivals, arrival_kind, "rate: equal distances, a Poisson process, or gamma-distributed distances.",
         DEFAULT(ARRIVAL_POISSON)),
    F64(plan_load, burstiness,
        "gamma: the shape of the distances; 1 is a Poisson process, below 1 is burstier, above 1 is more even.",
        RANGE(1e-3, 1e6)),
    I64(plan_load, seed, "rate: seed of the drawn times; equal seeds give equal times everywhere.", RANGE(0, EXACT),
        DEFAULT(0)),
    TEXT(plan_load, file, "trace: CSV with a column of times; a relative path starts where jtok was started."),
    TEXT(plan_load, sha256, "trace: SHA-256 of the file's bytes, as they were read.", FLAGS(FIELD_RESOLVED)),
    F64(plan_load, scale, "trace: factor on its times; 0.5 is twice as fast.", RANGE(1e-6, 1e6), DEFAULT(1)),
    I64(plan_load, count, "Number of requests; null: as many as the time allows, a burst or a trace all of its own.",
        UNIT("requests"), RANGE(1, 4e6)),
    F64(plan_load, for_s, "How long requests are sent; null: until `count` were.", UNIT("s"), RANGE(0.1, 1e7)),
};
const struct schema plan_load_schema = SCHEMA(plan_load, "One load.");

static const struct field plan_slo_fields[] = {
    F64(plan_slo, ttft_s, "Limit of the time to first token; null: none.", UNIT("s"), RANGE(1e-6, 1e6)),
    F64(plan_slo, tpot_s, "Limit of the time per output token; null: none.", UNIT("s"), RANGE(1e-6, 1e6)),
    F64(plan_slo, e2e_s, "Limit of the whole answer's time; null: none.", UNIT("s"), RANGE(1e-6, 1e6)),
};
static const struct schema plan_slo_schema = SCHEMA(plan_slo, "Limits that a good request keeps, for goodput.");

static const struct field plan_attach_fields[] = {
    TEXT(plan_attach, url, "Where the service is.", FLAGS(FIELD_RESOLVED)),
    I64(plan_attach, pid, "Topmost process of those behind its port; null: it can't be seen.", RANGE(1, 4294967295.0),
        FLAGS(FIELD_RESOLVED)),
    BOOL(plan_attach, gpus_stated, "The GPUs are those that the user named, not those found behind the port.",
         FLAGS(FIELD_RESOLVED)),
    F64(plan_attach, look_s, "Power is looked at for so long before the window or the first load.", UNIT("s"),
        RANGE(0, 3600), DEFAULT(2), FLAGS(FIELD_RESOLVED)),
    F64(plan_attach, for_s, "watch: length of the window; null: until it is ended.", UNIT("s"), RANGE(0.1, 1e8),
        FLAGS(FIELD_RESOLVED)),
};
static const struct schema plan_attach_schema = SCHEMA(plan_attach, "A service that runs already.");

static const struct field plan_stat_fields[] = {
    TEXTS(plan_stat, command, command_count, "Program and arguments.", FLAGS(FIELD_RESOLVED)),
    F64(plan_stat, idle_s, "How long power was looked at before; 0: not at all.", UNIT("s"), RANGE(0, 3600),
        FLAGS(FIELD_RESOLVED)),
    I64(plan_stat, repetition, "Which of the repetitions this is, from 1.", RANGE(1, 1e6), FLAGS(FIELD_RESOLVED)),
};
static const struct schema plan_stat_schema = SCHEMA(plan_stat, "The command of jtok stat.");

/* The defaults are METHOD's own durations (sections 2 and 3): plan_is_shortened compares with them. */
static const struct field plan_method_fields[] = {
    F64(plan_method, baseline_s, "Length of the idle baseline.", UNIT("s"), RANGE(0.2, 3600), DEFAULT(20)),
    F64(plan_method, baseline_wait_s, "How long an idle baseline is waited for.", UNIT("s"), RANGE(0, 36000),
        DEFAULT(120)),
    F64(plan_method, hold_s, "How long power must stay at its baseline after the release.", UNIT("s"), RANGE(0.2, 3600),
        DEFAULT(30)),
    F64(plan_method, release_wait_s, "How long the release may take before the run is timed out.", UNIT("s"),
        RANGE(0.2, 36000), DEFAULT(300)),
    F64(plan_method, grid_s, "Period of the power grid.", UNIT("s"), RANGE(0.02, 1), DEFAULT(1)),
    I64(plan_method, warmup_requests, "Warm-up requests, all at once.", UNIT("requests"), RANGE(0, 10000), DEFAULT(8)),
    I64(plan_method, warmup_tokens, "Output tokens of each warm-up request.", UNIT("tokens"), RANGE(1, 1e6),
        DEFAULT(64)),
    F64(plan_method, failed_share, "Share of failed requests beyond which a run is excluded.", RANGE(0, 1),
        DEFAULT(0.01)),
};
static const struct schema plan_method_schema =
    SCHEMA(plan_method,
           "Durations of the method; a run with any below its default is marked method_shortened and never formal.");

/* From connect_s on METHOD's own (section 4, timers). */
static const struct field plan_limits_fields[] = {
    F64(plan_limits, ready_s, "Start of the engine to ready.", UNIT("s"), RANGE(0.1, 86400), DEFAULT(1800)),
    F64(plan_limits, stop_s, "Stop signal to SIGKILL.", UNIT("s"), RANGE(0.1, 3600), DEFAULT(60)),
    F64(plan_limits, connect_s, "To connect.", UNIT("s"), RANGE(0.01, 86400), DEFAULT(10)),
    F64(plan_limits, write_s, "Writing a request without progress.", UNIT("s"), RANGE(0.01, 86400), DEFAULT(30)),
    F64(plan_limits, head_s, "First byte of an answer to the end of its head.", UNIT("s"), RANGE(0.01, 86400),
        DEFAULT(30)),
    F64(plan_limits, first_token_s, "Request sent to its first token.", UNIT("s"), RANGE(0.01, 86400), DEFAULT(600)),
    F64(plan_limits, idle_s, "Without an event, once the first token came.", UNIT("s"), RANGE(0.01, 86400),
        DEFAULT(120)),
    F64(plan_limits, total_s, "A whole request.", UNIT("s"), RANGE(0.01, 864000), DEFAULT(3600)),
};
static const struct schema plan_limits_schema = SCHEMA(plan_limits, "Time limits.");

static const struct field plan_power_fields[] = {
    TEXT(plan_power, library, "The device library to load; null: the driver's own (libnvidia-ml.so.1)."),
    F64(plan_power, sensor_percent, "Accuracy limit of the board's power sensor, as a share of its value.", UNIT("%"),
        RANGE(0, 100), DEFAULT(6)),
    TEXT(plan_power, sensor_source, "Where that limit comes from (a calibration); null: assumed."),
};
static const struct schema plan_power_schema = SCHEMA(plan_power, "How power is read.");

static const struct field plan_cost_fields[] = {
    F64(plan_cost, pue, "Power usage effectiveness of the data centre; null: no cost and no carbon.", RANGE(1, 10)),
    F64(plan_cost, server_factor, "Energy of the whole server over that of its GPUs; null: no cost and no carbon.",
        RANGE(1, 100)),
    F64(plan_cost, price_per_kwh, "Price of energy; null: no cost.", UNIT("currency/kWh"), RANGE(0, 1e9)),
    F64(plan_cost, carbon_g_per_kwh, "CO2 equivalent of energy; null: no carbon.", UNIT("g/kWh"), RANGE(0, 1e6)),
    TEXT(plan_cost, currency, "Currency of the price: EUR."),
};
static const struct schema plan_cost_schema = SCHEMA(plan_cost, "Only for cost and carbon.");

static const struct field plan_fields[] = {
    TEXT(plan, name, "Label for people; null: made from model and engine."),
    TEXT(plan, scenario, "Label of the task, for comparisons; null: the request file's name."),
    OBJECT(plan, model, plan_model, "The model that is served."),
    OBJECT(plan, engine, plan_engine, "The inference engine and how it is started."),
    TEXTS(plan, gpus, gpu_count,
          "GPUs: all, or a list of indexes, UUIDs or their unique beginnings, PCI addresses. None: those that a "
          "scheduler or CUDA_VISIBLE_DEVICES gave to jtok, else all."),
    OBJECT(plan, requests, plan_requests, "The formal requests."),
    ENUM(
        plan, object, run_object,
        "life: a service from start to release; attach: one that runs already, under jtok's load; watch: one under its "
        "users' load; stat: any command.",
        DEFAULT(OBJECT_LIFE), FLAGS(FIELD_RESOLVED)),
    OBJECTS(plan, loads, load_count, plan_load,
            "Loads, one after another; none: all requests at once, the only load of a formal run."),
    OBJECT(plan, slo, plan_slo, "Limits that a good request keeps, for goodput."),
    OBJECT(plan, attach, plan_attach, "A service that runs already; jtok attach and jtok watch fill it in.",
           FLAGS(FIELD_RESOLVED)),
    OBJECT(plan, stat, plan_stat, "stat: the command that is measured.", FLAGS(FIELD_RESOLVED)),
    OBJECT(plan, method, plan_method, "Durations of the method."),
    OBJECT(plan, limits, plan_limits, "Time limits."),
    OBJECT(plan, power, plan_power, "How power is read."),
    OBJECT(plan, cost, plan_cost, "Only for cost and carbon."),
    TEXT(plan, runs, "Folder that run folders are made in.", DEFAULT_TEXT("runs")),
};
const struct schema plan_schema = SCHEMA(plan, "A plan: everything that decides a run.");

void plan_defaults(struct plan *p)
{
    schema_defaults(&plan_schema, p);
}

struct plan_load plan_load_default(void)
{
    struct plan_load load;
    schema_defaults(&plan_load_schema, &load);
    return load;
}

struct plan_limits plan_limits_default(void)
{
    struct plan_limits limits;
    schema_defaults(&plan_limits_schema, &limits);
    return limits;
}

const char *plan_engine_name(const struct plan *p)
{
    return ENUM_ABSENT(p->engine.kind) ? NULL : engine_kind_names[p->engine.kind];
}

const char *plan_setting_text(const struct plan *p, enum plan_setting setting, struct arena *a)
{
    must(p && a && setting < SETTING_COUNT);
    struct slot slot;
    struct buf text = {0};
    const char *copy = NULL;
    if (slot_find(&plan_settings_schema, &p->engine.settings, span_of(plan_setting_names[setting]), &slot) &&
        !slot_is_absent(&slot)) {
        slot_put(&slot, &text);
        copy = arena_copy(a, text.p, text.n);
    }
    buf_done(&text);
    return copy;
}

bool plan_has_settings(const struct plan *p)
{
    struct arena a = {0};
    bool any = false;
    for (int i = 0; i < SETTING_COUNT && !any; i++)
        any = plan_setting_text(p, (enum plan_setting)i, &a) != NULL;
    arena_done(&a);
    return any;
}

const char *plan_thinking_text(const struct plan *p, struct arena *a)
{
    const struct plan_settings *s = &p->engine.settings;
    bool limited = s->thinking_tokens != ABSENT_I64;
    const char *kind = ENUM_ABSENT(s->thinking) ? "on" : thinking_kind_names[s->thinking];
    if (limited)
        return arena_format(a, "%s, %lld tokens at most", kind, (long long)s->thinking_tokens);
    return ENUM_ABSENT(s->thinking) ? NULL : kind;
}

enum run_object plan_object(const struct plan *p)
{
    return ENUM_ABSENT(p->object) ? OBJECT_LIFE : p->object;
}

bool plan_is_running(const struct plan *p)
{
    return plan_object(p) == OBJECT_ATTACH || plan_object(p) == OBJECT_WATCH;
}

bool plan_has_loads(const struct plan *p)
{
    return plan_object(p) != OBJECT_LIFE || p->load_count > 0;
}

bool plan_engine_keeps_count(const struct plan *p)
{
    return !ENUM_ABSENT(p->engine.kind) && engine_keeps_count[p->engine.kind];
}

int64_t plan_stream_interval(const struct plan *p)
{
    must(p);
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

bool plan_is_random(const struct plan *p)
{
    return p->requests.random.input.kind != INPUT_NONE && !ENUM_ABSENT(p->requests.random.input.kind);
}

bool plan_is_shortened(const struct plan *p)
{
    must(p);
    const struct plan_method *m = &p->method;
    struct plan_method d;
    schema_defaults(&plan_method_schema, &d);
    /* A duration that is not known is none that was kept. */
    return !(m->baseline_s >= d.baseline_s && m->baseline_wait_s >= d.baseline_wait_s && m->hold_s >= d.hold_s &&
             m->release_wait_s >= d.release_wait_s && m->grid_s >= d.grid_s &&
             m->warmup_requests >= d.warmup_requests && m->warmup_tokens >= d.warmup_tokens);
}

bool plan_is_shortened_before_loads(const struct plan *p)
{
    must(p);
    const struct plan_method *m = &p->method;
    struct plan_method d;
    schema_defaults(&plan_method_schema, &d);
    return !(m->baseline_s >= d.baseline_s && m->warmup_requests >= d.warmup_requests &&
             m->warmup_tokens >= d.warmup_tokens);
}
