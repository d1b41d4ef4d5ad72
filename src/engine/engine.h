/* What jtok knows of inference engines: pure translation, no I/O.
 *
 * From the plan to a command, an environment and request bytes; from answers and log lines to readiness and identity;
 * from /metrics to neutral figures. What differs between engines stands in one table, a row and a file each, that only
 * this folder sees; callers use the functions below and never ask which engine it is. A kind of any server, started by
 * the user's own command, is among the rows. Memory comes from the caller's arena; texts given are not copied unless
 * said. How to add an engine: docs/internals/NEW-ENGINE.md. */
#ifndef JTOK_ENGINE_ENGINE_H
#define JTOK_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "model/plan.h"
#include "model/record.h"

struct engine_identity;

/* ---- command ---- */

/* The kind of engine that a plan names or, where it names none, that its command starts: behind `env`, `numactl` and
 * others, by an absolute path, as a module of Python, or in the text of `sh -c`; ENGINE_OPENAI where that is none of
 * the table. */
enum engine_kind engine_kind_of(const struct plan *p);

/* Completes a plan from its engine command, before it is frozen. What the plan left open is taken from the command: its
 * kind; of any server --model, --host, --port, --uds and --served-model-name, of others what their rows list beside
 * (for vLLM the context length, the parallel sizes, --dtype, --quantization, --revision); in the forms `--x y`,
 * `--x=y`,
 * `-x2`, with `_` for `-`, and shortened where the engine takes that; the last of several counts, as argparse has it.
 * Open means: null, 0 for the port, ABSENT_I64, 1 or 0 for
 * a parallel size, and the default 127.0.0.1 for the host. A snapshot is taken where the model is an absolute path
 * (but for a single file, FILE.gguf), a
 * revision from .../snapshots/<40 hex digits>; served_model becomes the id. A command that contradicts the plan is an
 * error that names both values. */
bool engine_complete_plan(struct plan *p, struct arena *a, struct err *e);

/* Makes a plan's command whole, before engine_complete_plan: a plan without one gets its kind's own words, the model
 * (model.snapshot, else model.id) and what switches metrics on; what engine.settings asks for and the command does not
 * say is added to it as the engine's own options (settings.c; of 1 and more GPUs also what engine.tensor_parallel and
 * its like say). A command's own words count; *ret_notes (null-terminated, of the arena) has a sentence for each that
 * says otherwise, and for each setting that this engine has no option for. False: there is no command and none can be
 * made, or the settings can't be added. A plan with a command and no settings stays as it is. */
bool engine_make_command(struct plan *p, struct arena *a, const char *const **ret_notes, struct err *e);

/* What holds of each setting of a completed plan, into engine.in_force: the command's word, else the default of the
 * version that jtok knows (in_force "defaults_of"), else "not known". Nothing of a server that jtok knows no options
 * of. */
void engine_state_settings(struct plan *p, struct arena *a);

/* The value in a text of in_force, without who says it. */
struct span engine_setting_value(const char *text);

/* What of a chat template decides on thinking. */
struct engine_template {
    bool known;                                       /* it could be read */
    bool enable_thinking, thinking, reasoning_effort; /* variables that it asks for */
};

/* Reads a chat template: variables within {{ }} and {% %}, not members of others and not in quotes. O(bytes). */
struct engine_template engine_read_template(struct span text);

/* Turns engine.settings.thinking into members of each request's body (requests.thinking_body): chat_template_kwargs by
 * the name that the template has (both where it could not be read), reasoning_effort for an effort, and the engine's
 * own member for a limit of tokens. *ret_note: a sentence for people before the start; null: none. False: the template
 * or the engine can't do it, or requests.extra_body sets the same. Where the plan says nothing, what extra_body says in
 * chat_template_kwargs is taken as its word. */
bool engine_set_thinking(struct plan *p, const struct engine_template *t, struct arena *a, const char **ret_note,
                         struct err *e);

/* Can jtok choose the port, because the command or a variable of engine.env has {port}, or the command lacks a port and
 * the engine takes one as an option? Also of an uncompleted plan. */
bool engine_port_is_free(const struct plan *p);

/* The model as the command names it, a path or a repository: a part of one of the command's words; null: it names none,
 * or within a shell's text. */
const char *engine_model_argument(const struct plan *p);

/* Does the command say that prefix caching is on (1) or off (0); -1: it does not say. */
int engine_prefix_cache_argument(const struct plan *p);

/* Are the plan's parallel sizes what the engine will have? Of a server of which jtok knows nothing, sizes of 1 are the
 * plan's default, not its word. */
bool engine_states_sizes(const struct plan *p);

/* How many GPUs the engine uses by these sizes; ABSENT_I64: not stated. SGLang's data parallel attention shares those
 * of tensor parallelism. */
int64_t engine_gpu_count(const struct plan *p);

/* The key that the engine was told to ask its clients for, by its command (also in a shell's text), the plan's
 * environment or the inherited one (null-terminated "NAME=value"); of several, one. Null: none. Of the arena. */
const char *engine_api_key(const struct plan *p, const char *const *environment, struct arena *a);

/* Does a process look like one of an engine of the table, by its name (comm) or its command line (words joined by
 * spaces)? Whatever the plan's kind. */
bool engine_is_process(const char *name, const char *command);

struct engine_site {
    const char *cache_folder;       /* absolute; the run's own, empty; null: no cache variables are set */
    const char *const *environment; /* inherited, null-terminated "NAME=value" */
    /* By which the engine sees the plan's GPUs and no other, as their device says (power/device.h, environment). */
    const struct field_pair *gpu_variables;
    size_t gpu_variable_count;
    /* Of a container. */
    const char *id_file;    /* absolute, not there: where the runtime writes the container's id; null: nowhere */
    const char *hub_folder; /* the hub's cache on this machine (HF_HOME); null: there is none */
    int64_t owner;          /* jtok's process id, by which a container is known that was left behind */
};

struct engine_launch {
    const char **argv; /* null-terminated */
    size_t argc;
    const char **env; /* null-terminated, each name once; later sources win: inherited, jtok's, the plan's own */
    size_t env_count;
    const char **cache_folders; /* null-terminated: to be made before the start */
    const char **options;       /* the container's, filled in */
    const char **remove;        /* null-terminated: the command that removes the container; null: there is none */
};

/* The final command and environment of a completed plan whose port and GPUs are resolved. "{port}", "{host}", "{model}"
 * (the served name), "{snapshot}" in arguments and in engine.env are replaced; an engine that takes them as options
 * (vLLM, SGLang) gets --host, --port (a socket's option for a host "unix:PATH") and its option for the served name
 * where they are missing, but for a command in a shell's text. Set: the site's GPU variables, the cold-start folders of
 * METHOD section 3 below cache_folder, where models lie that were below XDG_CACHE_HOME, HF_HUB_OFFLINE and
 * TRANSFORMERS_OFFLINE=1, VLLM_NO_USAGE_STATS, DO_NOT_TRACK=1, PYTHONUNBUFFERED=1. Of the inherited variables, proxies
 * and those that preset a GPU choice go. A plan's variable that fights METHOD (another choice of GPUs, offline
 * switched off) is an error. In a container (engine/container.h) they are the runtime's: the engine's variables are
 * options of its command, and the caches lie inside, where nothing is to be made. */
bool engine_launch_make(const struct plan *p, const struct engine_site *site, struct arena *a,
                        struct engine_launch *ret_launch, struct err *e);

/* ---- names ---- */

/* The short name of a number format as plans write it: torch.bfloat16 and bfloat16 are "bf16"; awq_marlin is "awq".
 * Unknown names are given back. */
const char *precision_name(const char *text);

/* The commit in .../snapshots/<40 hex digits>[/...], copied to the arena; null. */
const char *snapshot_revision(const char *path, struct arena *a);

/* The "org/name" of a path in the Hugging Face cache (.../models--org--name/...), of the arena; null. */
const char *hub_model_id(const char *path, struct arena *a);

/* Are two versions the same, as engines and people write them? Zeros at the end of a release, letters' case, a "v" in
 * front and separators say nothing (0.24 is v0.24.0, 1.0-rc1 is 1.0rc1); what is built from it (0.24.0+cu130,
 * b9465-1a2b3c) counts only where `stated` says it; development builds and candidates are versions of their own. */
bool version_same(const char *stated, const char *seen);

/* ---- requests ---- */

struct engine_request {
    bool has_messages;
    struct span prompt;   /* decoded text: a completions prompt, or one user message */
    struct span messages; /* with has_messages: the JSON array as it stands in the request set (chat only) */
    struct span ids;      /* instead of the prompt: token ids, as a JSON array (completions only); empty: none */
    int64_t max_tokens;   /* ABSENT_I64: left to the engine */
    bool forced;          /* the length is to be exactly max_tokens: ignore_eos and min_tokens are sent */
    bool plain;           /* readiness and warm-up: without the plan's extra_body, running counts and seed */
    struct span extra;    /* further members of this body, a JSON object without any that the plan sets; empty: none */
};

/* Is the plan's extra_body a JSON object that sets nothing jtok decides itself (model, messages, prompt, stream,
 * stream_options, max_tokens, min_tokens, ignore_eos, n)? */
bool engine_check_extra_body(const struct plan *p, struct err *e);

/* The body of one streamed request. Members in fixed order, so equal requests have equal bytes. extra_body must have
 * passed the check; a member that it shares with jtok's own (temperature, top_p, seed) is sent once, with extra_body's
 * value. */
void engine_put_body(const struct plan *p, const struct engine_request *r, struct buf *b);

/* Are the answers of the warm-up forced to their length? METHOD wants it whatever the formal ones have; a server that
 * is not known to keep to a length may refuse to be asked. */
bool engine_forces_warmup(const struct plan *p);

/* The path of the plan's interface: /v1/chat/completions or /v1/completions. */
const char *engine_request_path(const struct plan *p);

/* The 8 warm-up prompts: short original texts of different kinds that share no opening with one another. Index
 * modulo 8. */
enum { ENGINE_WARMUP_PROMPTS = 8 };
const char *engine_warmup_prompt(size_t i);

/* ---- readiness ---- */

#define ENGINE_POLL_NS INT64_C(2000000000) /* METHOD section 3: no faster, as SGLang's /health runs a generation */

enum engine_answer {
    ENGINE_NOT_YET, /* refused, 503, or any other sign of starting: ask again */
    ENGINE_READY,   /* the path says so; METHOD wants one streamed request as the proof */
    ENGINE_WRONG,   /* it serves, but this answer will not change: 401, 403, 404, 405, a redirect */
};

const char *engine_health_path(const struct plan *p);
const char *engine_metrics_path(const struct plan *p); /* null: none */

/* status: of the answer; 0: no connection or no whole answer. With ENGINE_WRONG *e says what to do. */
enum engine_answer engine_health_answer(const struct plan *p, int status, struct err *e);

/* ---- identity ---- */

/* What an engine is, property by property: the row of each is in identity.c. */
enum engine_property {
    PROPERTY_MODEL,
    PROPERTY_ROOT,
    PROPERTY_SNAPSHOT,
    PROPERTY_REVISION,
    PROPERTY_VERSION,
    PROPERTY_IMAGE,
    PROPERTY_CONTEXT,
    PROPERTY_TENSOR,
    PROPERTY_PIPELINE,
    PROPERTY_DATA,
    PROPERTY_EXPERT,
    PROPERTY_PRECISION,
    PROPERTY_DTYPE,
    PROPERTY_QUANTIZATION,
    PROPERTY_KV_DTYPE,
    PROPERTY_ATTENTION,
    PROPERTY_PREFIX_CACHE,
    PROPERTY_CHUNKED_PREFILL,
    PROPERTY_MAX_RUNNING,
    PROPERTY_THINKING,
    PROPERTY_COUNT
};

/* What was found of a property, and where; null: nothing was. The other: what a place that is trusted less says
 * otherwise. */
struct engine_finding {
    const char *value, *source;
    int trust; /* private: less is better */
    const char *other, *other_source;
};

/* What an engine says of itself. Null, ABSENT_I64 and NaN: it did not say. Text is of the arena. */
struct engine_identity {
    struct arena *arena;
    bool models_answered;
    const char *model;  /* the id among /v1/models that requests will carry, else the first */
    const char *models; /* all ids, joined by ", "; of many the first */
    const char *owner;  /* of that model, where it is an engine's name: "sglang" */
    struct engine_finding found[PROPERTY_COUNT];
    double weights_s, model_loading_s, compile_s, graphs_s, init_s; /* as the log tells them; NaN */
    double model_gib;
    int64_t kv_cache_tokens;
    const char *fingerprint;         /* system_fingerprint of a stream, set by the caller */
    const char *name;                /* of an engine whose output names it where the plan's kind does not: "sglang" */
    int64_t own_requests_max;        /* that it makes to warm itself up in its whole life, as its output says */
    int64_t own_fronts;              /* front ends that do so, each by itself; ABSENT_I64: it does not say */
    int64_t own_answered, own_ready; /* of them: whose request was answered; who said that they are ready */
};

void engine_identity_init(struct engine_identity *id, struct arena *a);

/* What was found of a property; null: nothing. */
const char *engine_says(const struct engine_identity *id, enum engine_property property);

/* One line of the engine's output. Lines without news cost a few comparisons. */
void engine_read_log(const struct plan *p, struct engine_identity *id, struct span line);

/* The last part of a start that this line of output (zero-terminated) tells, for a person who watches; null: none. */
const char *engine_progress(const struct plan *p, const char *line);

/* The answer of /v1/models. False with an error that names the path and what was wrong with the answer. */
bool engine_read_models(const struct plan *p, struct engine_identity *id, int status, struct span body, struct err *e);

/* The paths where the engine says more of itself, in their order; it may be known by its output alone, so after its log
 * was read. Null behind the last. *ret_older: what to ask where the path is not there (404); null: nothing. */
const char *engine_question(const struct plan *p, const struct engine_identity *id, size_t i, const char **ret_older);

/* The answer of question i, `asked` by its path or the older one. A status other than 200 counts as "did not say", and
 * so does an answer that says nothing known. False with an error: the engine of the plan's kind can't have given this
 * answer. O(bytes), whatever they are. */
bool engine_read_answer(const struct plan *p, struct engine_identity *id, size_t i, const char *asked, int status,
                        struct span body, struct err *e);

/* Do labels of its /metrics say something of it? */
bool engine_has_labels(const struct plan *p, const struct engine_identity *id);
void engine_read_labels(const struct plan *p, struct engine_identity *id, struct span metrics);

/* The checks, one a property: identity.model, .root, .snapshot, .revision ... in the order of enum engine_property.
 * Passed (verified): what the plan or its command states was seen. Failed (wrong): something else was. Not stated: the
 * plan says nothing; `seen` is what the engine says. Not judged (not verifiable): the plan states it, and the engine
 * gives no way to see it. `source`: where it was seen, and what another place says otherwise. Not .snapshot's content:
 * that is preflight's. */
void engine_identity_facts(const struct plan *p, const struct engine_identity *id, int64_t t_ns,
                           struct rec_fact **ret_facts, size_t *ret_n);

/* A property's name for people ("KV-cache precision") by its fact's name; null: it is none of them. */
const char *engine_property_label(const char *fact);

/* All facts that failed, as one error for a person: what was seen, what the plan says, what to do. True when none did.
 */
bool engine_identity_judge(const struct rec_fact *facts, size_t n, struct err *e);

/* ---- what an engine does by itself ---- */

/* Tokens that one request of its own warm-up generates, for engines and versions of which that was seen; ABSENT_I64. */
int64_t engine_own_request_tokens(const struct plan *p, const struct engine_identity *id);

/* How many of its front ends have not yet warmed themselves up, as its output says; 0: none, or it does not tell. */
int64_t engine_own_pending(const struct engine_identity *id);

/* The milestone (enum milestone) of a start that this line of output tells; -1: none. A few comparisons. */
int engine_milestone(struct span line);

/* The exit statuses of a good stop by SIGTERM, as a text ("0 or 137"); null: not known of this engine. 128 + n: it
 * ended by signal n. */
const char *engine_good_exits(const struct plan *p, struct arena *a);

/* What to do where an engine's last words are of files that it may not download: a sentence, of the arena; null: they
 * are of something else. O(bytes x phrases). */
const char *engine_offline_advice(const struct plan *p, const char *words, struct arena *a);

/* The model's repository on the hub that the engine will load from the hub's cache; null: the command names a path or
 * nothing, or the kind of engine is not known to have that cache. *ret_fetch: the command that fetches it, of the
 * arena. */
const char *engine_hub_model(const struct plan *p, struct arena *a, const char **ret_fetch);

/* Does something in the command or its environment lead it to another place for models than the hub's cache, as far as
 * words can tell? */
bool engine_loads_elsewhere(const struct plan *p, struct arena *a);

/* Where an engine's last words are that it reads numbers where jtok set UUIDs of GPUs: a sentence on what to do, of the
 * arena; else null. */
const char *engine_gpu_names_advice(const struct plan *p, const char *words, struct arena *a);

/* ---- metrics ---- */

/* Sums what a scrape holds over engines, ranks and servers into neutral figures (KV-cache use: the mean); NaN for those
 * that no sample gives. Times are the caller's. One table of names, new and old, of all engines: O(bytes). */
struct rec_metrics engine_read_metrics(struct span text);

/* The engine whose name for the count of generated tokens a scrape holds; null: none. O(bytes). */
const char *engine_metrics_source(struct span text);

/* Does the engine of this name (null: not known) count a request's tokens when the request ends, all at once? Else as
 * they are generated. */
bool engine_counts_at_end(const char *name);

/* An answer of /metrics. */
struct engine_metrics_answer {
    int status;           /* -1: none */
    const char *location; /* of a redirect; "" or null: none */
    struct span body;
    const char *detail; /* without an answer: what went wrong, a sentence */
};

/* What an answer that holds no count of generated tokens was, and what to do about it: a phrase, of the arena. */
const char *engine_metrics_lack(const struct plan *p, const struct engine_metrics_answer *answer, struct arena *a);

#endif
