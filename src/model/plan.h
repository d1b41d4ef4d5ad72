/* The plan: everything that decides a run, fully resolved and frozen before anything starts.
 *
 * A user writes what differs from the defaults (plan_defaults); resolving fills in the rest (GPUs as UUIDs, hashes,
 * served name, port). After that it never changes; it is stored as plan.json, with its SHA-256. Text is owned by the
 * arena that the plan was read into. What each field means, its default, its range and when it is absent: plan.c. */
#ifndef JTOK_MODEL_PLAN_H
#define JTOK_MODEL_PLAN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "model/engines.h"
#include "schema/schema.h"

/* What a run looks at (METHOD section 11): a service's whole life, one that runs already under jtok's load or under its
 * users', or any command. */
enum run_object { OBJECT_LIFE, OBJECT_ATTACH, OBJECT_WATCH, OBJECT_STAT };
/* How the requests of a load come: all at once, so many in flight, or at times that wait for no answer. */
enum load_kind { LOAD_BURST, LOAD_CONCURRENCY, LOAD_RATE, LOAD_TRACE };
enum arrival_kind { ARRIVAL_CONSTANT, ARRIVAL_POISSON, ARRIVAL_GAMMA };
extern const char *const run_object_names[5], *const load_kind_names[5], *const arrival_kind_names[4];

enum api_kind { API_CHAT, API_COMPLETIONS };
enum length_kind { LENGTH_NATURAL, LENGTH_FIXED, LENGTH_LOGNORMAL, LENGTH_LINES, LENGTH_UNIFORM, LENGTH_NORMAL };
/* How the lengths of random prompts are drawn; none: there are no random prompts. */
enum input_kind { INPUT_NONE, INPUT_FIXED, INPUT_UNIFORM, INPUT_NORMAL, INPUT_LOGNORMAL };
enum connect_kind { CONNECT_AHEAD, CONNECT_WITH_REQUEST };
extern const char *const api_kind_names[3], *const length_kind_names[7], *const connect_kind_names[3];
extern const char *const input_kind_names[6];

/* What an engine is set to, in no engine's own words: each engine's options are in its row (src/engine/table.h). The
 * first ones are the keys of engine.settings; what stands behind them has a default that is worth knowing, and no key
 * of a plan. */
#define PLAN_SETTINGS(ROW)                                                                                             \
    ROW(CONTEXT, context_length)                                                                                       \
    ROW(TENSOR, tensor_parallel)                                                                                       \
    ROW(PIPELINE, pipeline_parallel)                                                                                   \
    ROW(DATA, data_parallel)                                                                                           \
    ROW(EXPERT, expert_parallel)                                                                                       \
    ROW(DTYPE, dtype)                                                                                                  \
    ROW(QUANTIZATION, quantization)                                                                                    \
    ROW(KV_DTYPE, kv_cache_dtype)                                                                                      \
    ROW(MEMORY, memory_share)                                                                                          \
    ROW(MAX_RUNNING, max_running)                                                                                      \
    ROW(PREFIX_CACHE, prefix_cache)                                                                                    \
    ROW(CHUNKED_PREFILL, chunked_prefill)                                                                              \
    ROW(PREFILL_TOKENS, prefill_tokens)                                                                                \
    ROW(FRONT_ENDS, front_ends)                                                                                        \
    ROW(SEED, seed)                                                                                                    \
    ROW(GRAPHS, graph_requests)
#define PLAN_SETTING_ENUMERATOR(NAME, name) SETTING_##NAME,
enum plan_setting { PLAN_SETTINGS(PLAN_SETTING_ENUMERATOR) SETTING_COUNT };
extern const char *const plan_setting_names[SETTING_COUNT + 1];

enum switch_setting { SWITCH_OFF, SWITCH_ON };
enum thinking_kind { THINKING_OFF, THINKING_ON, THINKING_LOW, THINKING_MEDIUM, THINKING_HIGH };
extern const char *const switch_setting_names[3], *const thinking_kind_names[6];

struct plan_settings {
    int64_t context_length;
    int64_t tensor_parallel, pipeline_parallel, data_parallel, expert_parallel;
    const char *dtype, *quantization, *kv_cache_dtype;
    double memory_share;
    int64_t max_running;
    enum switch_setting prefix_cache, chunked_prefill;
    int64_t prefill_tokens, front_ends, seed;
    enum thinking_kind thinking;
    int64_t thinking_tokens;
};

struct plan_model {
    const char *id, *revision, *precision;
    double total_parameters;
    const char *snapshot;
    const char *snapshot_sha256; /* resolved */
    const char *snapshot_digest; /* expected, or resolved */
};

enum container_runtime { RUNTIME_DOCKER, RUNTIME_PODMAN };
extern const char *const container_runtime_names[3];

/* The container that the engine's command runs in. */
struct plan_container {
    const char *image; /* null: none; all of it is absent then */
    enum container_runtime runtime;
    const char **args; /* once resolved: each option one word, "--name=value" */
    size_t arg_count;
    const char **client; /* the runtime's program and its options in front of "run" */
    size_t client_count;
    const char *name; /* resolved, as the next ones */
    const char *image_id;
    const char **entrypoint; /* the image's, in front of the engine's command; none: the command's first word is it */
    size_t entrypoint_count;
    int64_t port;        /* that the engine listens on inside; ABSENT_I64: the host's network, so the same */
    bool own_entrypoint; /* the command is its arguments, with the container's paths */
};

/* How the engine's environment names its GPUs. */
enum gpu_names { GPU_NAMES_UUID, GPU_NAMES_INDEX };
extern const char *const gpu_names_names[GPU_NAMES_INDEX + 2];

struct plan_engine {
    enum engine_kind kind;
    struct plan_container container;
    const char **command;
    size_t command_count;
    struct plan_settings settings;
    struct field_pair *in_force; /* resolved: each setting, its value, and who says it */
    size_t in_force_count;
    struct field_pair *env;
    size_t env_count;
    const char *version, *image_digest;
    const char *served_model, *host;
    int64_t port; /* resolved where it was 0 */
    int64_t context_length;
    int64_t tensor_parallel, pipeline_parallel, data_parallel;
    enum gpu_names gpu_names;
    const char *health_path, *metrics_path;
    bool simulated;
};

struct plan_lengths {
    enum length_kind kind;
    int64_t tokens;
    double median, sigma;
    double mean, sd;
    int64_t min, max, seed;
    bool ignore_eos;
};

struct plan_input {
    enum input_kind kind;
    int64_t tokens;
    double median, sigma;
    double mean, sd;
    int64_t min, max;
};

struct plan_random {
    struct plan_input input;
    int64_t prefix_tokens, seed;
    int64_t vocabulary;        /* resolved where it is absent */
    int64_t first_id, last_id; /* resolved: ids are drawn from these, inclusive */
};

struct plan_requests {
    const char *file;
    const char *sha256, *work_sha256; /* resolved; the second is METHOD section 9's *same work* */
    enum api_kind api;
    int64_t count;
    struct plan_random random;
    struct plan_lengths lengths;
    double temperature, top_p;
    int64_t seed;
    bool continuous_usage;
    enum connect_kind connect;
    const char *extra_body;
    const char *thinking;      /* resolved: what is asked of a model that thinks, in words; null: nothing is */
    const char *thinking_body; /* resolved: members that carry engine.settings.thinking, a JSON object; null: none */
};

struct plan_load {
    enum load_kind kind;
    int64_t concurrency;
    double rate;
    enum arrival_kind arrivals;
    double burstiness;
    int64_t seed;
    const char *file;
    const char *sha256; /* resolved: of the trace */
    double scale;
    int64_t count;
    double for_s;
};

/* A service that runs already (attach, watch): what was found of it. All resolved. */
struct plan_attach {
    const char *url;
    int64_t pid;      /* topmost process behind the port; ABSENT_I64: it can't be seen */
    bool gpus_stated; /* by the user, not found behind the port */
    double look_s;    /* before the window or the first load */
    double for_s;     /* watch: length of the window; NaN: until the user ends it */
};

struct plan_slo {
    double ttft_s, tpot_s, e2e_s; /* NaN: none */
};

/* Is there any limit that a good request keeps to? */
static inline bool plan_slo_is_set(const struct plan_slo *slo)
{
    return !isnan(slo->ttft_s) || !isnan(slo->tpot_s) || !isnan(slo->e2e_s);
}

/* What `jtok stat` runs. */
struct plan_stat {
    const char **command; /* null-terminated; none: another object */
    size_t command_count;
    double idle_s;
    int64_t repetition; /* from 1 */
};

struct plan_method {
    double baseline_s, baseline_wait_s, hold_s, release_wait_s, grid_s;
    int64_t warmup_requests, warmup_tokens;
    double failed_share; /* limit of too_many_failed */
};

struct plan_limits {
    double ready_s, stop_s;
    double connect_s, write_s, head_s, first_token_s, idle_s, total_s;
};

struct plan_power {
    const char *library;
    double sensor_percent;
    const char *sensor_source;
};

struct plan_cost {
    double pue, server_factor, price_per_kwh, carbon_g_per_kwh;
    const char *currency;
};

struct plan {
    const char *name, *scenario;
    struct plan_model model;
    struct plan_engine engine;
    const char **gpus; /* resolved: UUIDs */
    size_t gpu_count;
    struct plan_requests requests;
    enum run_object object;  /* resolved */
    struct plan_load *loads; /* none: the source's burst, the only load of a formal run */
    size_t load_count;
    struct plan_slo slo;
    struct plan_attach attach;
    struct plan_stat stat; /* resolved */
    struct plan_method method;
    struct plan_limits limits;
    struct plan_power power;
    struct plan_cost cost;
    const char *runs;
};

extern const struct schema plan_schema, plan_load_schema;

/* Every field at its default or absent. */
void plan_defaults(struct plan *p);

/* A load of which nothing is said: every field at its default or absent. */
struct plan_load plan_load_default(void);

/* The limits of METHOD section 4, timers. */
struct plan_limits plan_limits_default(void);

/* The name of the engine's kind; null: it is not stated. Of known kinds only: others don't pass the plan's reader. */
const char *plan_engine_name(const struct plan *p);

/* What engine.settings says of one setting, as text in the arena; null: nothing. */
const char *plan_setting_text(const struct plan *p, enum plan_setting setting, struct arena *a);

/* Is anything but the thinking of requests set under engine.settings? */
bool plan_has_settings(const struct plan *p);

/* The thinking that the plan asks for, in words: "off", "on, 2048 tokens at most"; of the arena. Null: it does not
 * say. */
const char *plan_thinking_text(const struct plan *p, struct arena *a);

/* What the run looks at; an older plan does not say: a life. */
enum run_object plan_object(const struct plan *p);

/* Does it look at a service that ran before jtok came, and goes on behind it? (attach, watch) */
bool plan_is_running(const struct plan *p);

/* Is it anything but the source's own: a life under one burst? (METHOD section 11) */
bool plan_has_loads(const struct plan *p);

/* Is the engine known to keep a count of the tokens that it generates? Then it is a fault when none can be read. */
bool plan_engine_keeps_count(const struct plan *p);

/* Tokens between two events of a stream, as the engine's command states it (--stream-interval N or =N, the last one
 * counts); ABSENT_I64: not stated, or not a number from 1 to 2^20. O(words). */
int64_t plan_stream_interval(const struct plan *p);

/* Are the prompts random token ids, instead of those of a file? */
bool plan_is_random(const struct plan *p);

/* Is some duration of the method below METHOD's? */
bool plan_is_shortened(const struct plan *p);

/* Is what comes before a life's loads and what their numbers rest on (idle baseline, warm-up) below METHOD's? The hold
 * and the waits after them are not. */
bool plan_is_shortened_before_loads(const struct plan *p);

#endif
