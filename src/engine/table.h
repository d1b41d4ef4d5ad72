/* Private to this folder: the table of engines, and the parts that its rows share.
 *
 * An engine is one file that defines one `const struct engine`, and one row (registry.c says where). Most of a row is
 * data; a function stands where engines differ in what they do. What no row has a word for is shared: args.c and
 * complete.c (from a command line to a plan), settings.c (from settings to a command line and back), thinking.c, env.c
 * and launch.c (from a plan to a process), body.c (requests), identity.c and prom_names.c (answers).
 * docs/internals/NEW-ENGINE.md goes through it step by step. */
#ifndef JTOK_ENGINE_TABLE_H
#define JTOK_ENGINE_TABLE_H

#include "engine/engine.h"
#include "text/json.h"

struct engine;

/* ---- command lines ---- */

/* How a command that starts an engine is recognised. `program`: the end of a word's path ("vllm",
 * "sglang/launch_server.py"), or "-m" for a module of Python. `next`: the word behind it, or with a dot at its end how
 * that begins; null: any. */
struct engine_start {
    const char *program, *next;
};

/* The words of a plan's command as the programs get them: the text behind `sh -c` is split as the shell does. Words of
 * the plan and of the arena. */
struct command_words {
    const char *const *list;
    size_t n;
    bool in_shell;
};

struct command_words command_words(const struct plan *p, struct arena *a);

/* The engine that these words start, and the first word that is its own: what stands in front (env, numactl, a shell)
 * has options of its own. Null: none that the table knows. O(words x rows). */
const struct engine *command_engine(const struct command_words *w, size_t *ret_first);

/* What an option of a command line sets. */
enum argument {
    ARGUMENT_MODEL,
    ARGUMENT_REPOSITORY, /* ORG/NAME, or ORG/NAME:QUANTIZATION, of which the engine finds the file itself */
    ARGUMENT_HOST,
    ARGUMENT_PORT,
    ARGUMENT_UDS,
    ARGUMENT_SERVED,
    ARGUMENT_CONTEXT,
    ARGUMENT_TENSOR,
    ARGUMENT_PIPELINE,
    ARGUMENT_DATA,
    ARGUMENT_DATA_WITHIN, /* data parallel ranks share the tensor parallel GPUs; takes no value */
    ARGUMENT_DTYPE,
    ARGUMENT_QUANTIZATION,
    ARGUMENT_KV_CACHE_DTYPE,
    ARGUMENT_REVISION,
    ARGUMENT_CACHE,    /* the prefix cache is on; takes no value */
    ARGUMENT_NO_CACHE, /* and off */
};

/* One spelling of an option, with '-' for '_'. The first of several is the one that errors and launches use. */
struct engine_option {
    const char *name;
    enum argument sets;
};

/* What a command line says. Null, ABSENT_I64 and -1: nothing. */
struct engine_command {
    const char *model, *repository, *host, *uds, *dtype, *quantization, *kv_cache_dtype, *revision;
    const char *served[8]; /* an option for served names may take several */
    size_t served_count;
    int64_t port, context_length, tensor_parallel, pipeline_parallel, data_parallel;
    int prefix_cache;
    bool has_port, has_host; /* also as a placeholder */
    bool data_within;
    bool in_shell; /* what stands behind `sh -c` can't be added to */
};

/* Reads a plan's command by its engine's options, and by those that nearly every server has (the model, host, port,
 * socket and served name). Placeholders like {port}, and a shell's like $PORT, set nothing. Texts are the plan's or of
 * the arena. O(words x options). */
struct engine_command command_read(const struct plan *p, struct arena *a);

/* The spelling of an option of this engine, for errors and launches; null: it has none. */
const char *engine_option_name(const struct engine *g, enum argument sets);

/* Whole numbers, and vLLM's 25.6k (thousands), 32K (1024s), likewise m, M, g, G; ABSENT_I64: neither. */
int64_t argument_count(const char *text);

/* What the last word of this option says in a plan's command, in any of its spellings (*ret_at: its place): its value,
 * "" of one that takes none; null: it is not there. Of the plan or the arena. O(words x options). */
const char *command_option(const struct plan *p, const char *option, bool takes_value, struct arena *a, size_t *ret_at);

/* ---- settings ---- */

/* How an engine's command says a setting. */
enum setting_form {
    FORM_VALUE,   /* OPTION VALUE */
    FORM_SWITCH,  /* OPTION is on, OFF is off; null: nothing says so, as it is without a word */
    FORM_EXPERTS, /* OPTION: over all GPUs of tensor and data parallel, or over none */
    FORM_SLOTS,   /* OPTION VALUE: of all requests that run at once together */
    FORM_COPIES,  /* OPTION VALUE; without a word one for each copy of the model */
    FORM_BOTH,    /* OPTION VALUE, and OFF VALUE, another option that means the same of another part */
};

/* One setting. `off` may be an option with its value: "--size=-1". */
struct engine_setting {
    enum plan_setting setting;
    enum setting_form form;
    const char *option, *off;
    const char *preset;            /* what it is without a word, in settings_version; null: not known */
    const char *const (*words)[2]; /* values that it calls otherwise: {ours, its own}, ends with null; null: none */
    const char *sense;             /* what stands behind the value where engines mean different things by it; null */
};

/* How a request limits the tokens of thinking. */
struct engine_thinking {
    const char *limit;        /* the member of its body; null: it has none */
    const char *const *needs; /* options without all of which the engine refuses it; null: none */
};

/* ---- environment ---- */

struct engine_variable {
    const char *name, *value;
};

/* What every launch sets, whichever engine it is: a variable that an engine does not know harms nobody. */
struct engine_environment {
    const struct engine_variable *caches;       /* NAME, folder below the run's cold cache */
    const struct engine_variable *variables;    /* NAME, value */
    const struct engine_variable *model_caches; /* NAME, folder below XDG_CACHE_HOME that holds models: stays there */
};

/* A text of a completed plan with {port}, {host}, {model} and {snapshot} filled in; other braces stay. `where` begins
 * the error's sentence: "The engine's command". Of the plan or the arena. */
bool fill_placeholders(const struct plan *p, const char *text, const char *where, struct arena *a,
                       const char **ret_text, struct err *e);

/* ---- output ---- */

struct engine_milestone_phrase {
    enum milestone milestone;
    const char *phrase; /* part of a line */
};

/* Tokens that one request of an engine's own warm-up adds to its count of generated tokens. Only what was seen in a
 * recording may stand here: a version that is not known explains nothing. */
struct engine_own_tokens {
    const char *version;
    int64_t tokens;
};

struct engine_output {
    void (*read_log)(struct engine_identity *id, struct span line);
    void (*recognise)(struct engine_identity *id, struct span line); /* the same where the plan says any server: sets
                                                                        the name, by a line of this engine alone */
    const char *const *progress; /* parts of lines that a person watching a start wants to see, in their usual order */
    const struct engine_milestone_phrase *milestones; /* newer wordings first */
    const struct engine_own_tokens *own_tokens;
};

/* ---- metrics ---- */

/* The neutral figures of a scrape. */
enum figure {
    FIGURE_RUNNING,
    FIGURE_WAITING,
    FIGURE_KV_CACHE_USED,
    FIGURE_PREEMPTIONS,
    FIGURE_PROMPT_TOKENS,
    FIGURE_GENERATION_TOKENS,
    FIGURE_PREFIX_QUERIES,
    FIGURE_PREFIX_HITS,
    FIGURE_REQUESTS_ENDED,
    FIGURE_TTFT_SUM, /* of a histogram: NAME_sum and NAME_count are two names */
    FIGURE_TTFT_COUNT,
    FIGURE_QUEUE_SUM,
    FIGURE_QUEUE_COUNT,
    FIGURE_PREFILL_SUM,
    FIGURE_PREFILL_COUNT,
    FIGURE_TPOT_SUM, /* an observation a request: its own mean. One a token or a step is ITL, whatever its name */
    FIGURE_TPOT_COUNT,
    FIGURE_ITL_SUM,
    FIGURE_ITL_COUNT,
    FIGURE_E2E_SUM,
    FIGURE_E2E_COUNT,
    FIGURE_DRAFTS,
    FIGURE_DRAFTED_TOKENS,
    FIGURE_ACCEPTED_TOKENS,
    FIGURE_ACCEPTED_SHARE, /* a gauge, of an engine that keeps no counts */
    FIGURE_ACCEPTED_LENGTH,
    FIGURE_COUNT
};

struct engine_metric {
    const char *name;
    enum figure figure;
};

/* The two rows of a histogram. */
#define ENGINE_HISTOGRAM(name, figure)                                                                                 \
    {name "_sum", figure##_SUM},                                                                                       \
    {                                                                                                                  \
        name "_count", figure##_COUNT                                                                                  \
    }

/* What to do when /metrics answers with this status, as a phrase: "start SGLang with --enable-metrics". */
struct engine_metrics_hint {
    int status;
    const char *phrase;
};

struct engine_metrics {
    const char *path;                  /* Prometheus text */
    const struct engine_metric *names; /* new names before old: a server that still gives both counts once */
    const struct engine_metrics_hint *hints;
    bool counts_at_end; /* its count of generated tokens takes a request's when the request ends */
};

/* ---- identity ---- */

/* Where a property is said, in the order of trust: a server's answers tell what it is now, its output what it began as,
 * its command what was asked of it. */
enum engine_source {
    SOURCE_ANSWER,  /* of a path */
    SOURCE_METRICS, /* a label of a metric */
    SOURCE_OUTPUT,
    SOURCE_COMMAND, /* proves nothing: it is what the others are held against */
};

/* How a value becomes the property's text. "auto", "None" and nothing say nothing. */
enum engine_take {
    TAKE_TEXT,
    TAKE_TEXT_OR_NONE, /* here None is an answer: "none" */
    TAKE_COUNT,        /* a whole number above 0 */
    TAKE_ON,           /* true is "on", false is "off"; an option of this kind has no value */
    TAKE_OFF,          /* true is "off", false is "on" */
    TAKE_SIZE,         /* above 0 is "on", else "off" */
};

/* One place where an engine says one property. */
struct engine_place {
    enum engine_property property;
    enum engine_source source;
    enum engine_take take;
    const char *where; /* the path; the metric; a phrase of a line of output; the option */
    const char *name;  /* members of the answer, joined by dots; the label; the setting behind the phrase (null: the
                          value itself is behind it); null for an option */
    const char *until; /* what ends a value that is behind its phrase; the member of a value that is itself JSON */
    bool spare;        /* counts only where no other place says it */
};

/* A path that is asked once, beside /v1/models, and what it was called before. */
struct engine_question {
    const char *path, *older;
    bool sure; /* an answer of 200 that tells nothing is another server's */
};

/* ---- the table ---- */

/* Where a server is told the key that it asks its clients for. */
struct engine_keys {
    const char *const *options, *const *variables;
    bool by_comma; /* one value may hold several */
};

/* One engine. Null, false and 0: it has nothing of the kind. Lists end with an empty entry (null, or a null name). */
struct engine {
    const char *name; /* as plans write it */
    bool any_server;  /* stands for any server: what each row of the table knows may hold for it */

    /* The process, recognised when nobody stopped it. */
    const char *const *process_names; /* beginnings of its processes' names */
    const char *const *command_parts; /* parts of a command line that starts it */

    /* The command. */
    const struct engine_start *starts;
    const struct engine_option *options; /* beside those that nearly every server has */
    const char *model_word;              /* behind this word, the first one that is no option's is the model: "serve" */
    const char *const *switches;         /* beginnings of options that take no value, and have no row */
    bool abbreviates;                    /* takes the beginning of a long option for it, as Python's argparse does */
    bool takes_address;                  /* host, port, socket and served name are added where the command lacks them */
    const char *socket_option;           /* of a Unix socket's path; null: it can't listen on one */
    bool states_sizes;                   /* a parallel size that the command does not state is 1 */
    const char *const *launch;           /* the words that start it, without a model; null: jtok can't make a command */
    const char *metrics_option;          /* without which it has no /metrics */
    const struct engine_setting *settings; /* ends with SETTING_COUNT */
    const char *settings_version;          /* the version whose options and defaults these are */
    struct engine_keys keys;

    struct engine_environment environment;

    /* Requests. */
    bool forces_lengths; /* known to keep to an exact length when it is asked to */
    void (*put_length)(const struct engine_request *r, struct json_writer *w); /* members that force it */

    struct engine_thinking thinking;

    /* Answers. */
    const char *health_path;                 /* asked until it is ready */
    const struct engine_question *questions; /* what it says of itself */
    const struct engine_place *places;       /* where it says what; those of one phrase, path or metric together */
    bool hides_formats;                      /* no word of a quantization is no proof that there is none */
    bool root_is_model;                      /* the root in /v1/models is the model as the command names it */
    struct engine_metrics metrics;

    struct engine_output output;

    /* Its end. */
    const int *good_exits; /* exit statuses of a good stop by SIGTERM, -1 behind the last; null: not known */
    const char *fetches;   /* the command that downloads a model, in front of its name; null: hf download */
};

#define ENGINE_ROW(KIND, name, keeps_count, doc) extern const struct engine engine_##name;
ENGINE_KINDS(ENGINE_ROW)

/* The row of a plan's kind; of a plan that leaves it open, of what its command starts. */
const struct engine *engine_of(const struct plan *p);

/* The row of this name; null: none. */
const struct engine *engine_named(const char *name);

/* Row i of the table, null behind the last: what may hold for a plan is looked up in all of them. */
const struct engine *engine_row(size_t i);

/* Row i of those that a plan may be running: its own, or all where its kind stands for any server; null behind the
 * last. */
const struct engine *engine_candidate(const struct plan *p, size_t i);

/* ---- shared parts ---- */

/* min_tokens and ignore_eos, as vLLM and SGLang have them. */
void put_length_min_tokens(const struct engine_request *r, struct json_writer *w);

/* Takes what a place said (may be empty: nothing) as a property's value. `asked`: the path that was really asked. */
void place_found(struct engine_identity *id, const struct engine_place *place, struct span text, const char *asked);

/* Takes a value of a property, with where it was said; another value of a place trusted less is kept beside it. */
void property_found(struct engine_identity *id, enum engine_property property, enum engine_source source,
                    struct span text, const char *where);

/* Are two values of a property the same? */
bool property_alike(enum engine_property property, const char *a, const char *b, struct arena *arena);

/* What a plan's command says of a property by the places of `g`; null: nothing. */
const char *place_in_command(const struct plan *p, const struct engine *g, enum engine_property property,
                             struct arena *a);

/* Reads a line of output by the places of an engine. */
void places_read_line(struct engine_identity *id, const struct engine *g, struct span line);

/* The row of what runs: the plan's own, or where that stands for any server that which named itself; null: unknown. */
const struct engine *engine_found(const struct plan *p, const struct engine_identity *id);

/* Is a word that option, in any form in which this engine's parser takes it? *ret_value: what stands behind its `=`, or
 * null. */
bool option_stands_at(const struct engine *g, const char *word, const char *option, const char **ret_value);

/* Is this argument (n bytes) that option, '_' and '-' alike? */
bool option_is(const char *argument, size_t n, const char *name);

/* The beginning of a body for an error: at most so many bytes of it, nothing in it that a terminal would act on, "..."
 * where it goes on. */
const char *body_beginning(struct span body, size_t most, struct arena *a);

/* The value of one setting where a log writes Python's `Name(a=1, b='x', ...)`: what stands behind `name=` up to the
 * comma that ends it, without quotes. Nothing (p null) where it isn't there, or is None. A name that another one ends
 * in (tokenizer_worker_num, detokenizer_worker_num) is not mistaken for it. */
struct span log_setting(struct span text, const char *name);

/* What stands behind the first `phrase` of a line, or nothing (p null). */
struct span span_behind(struct span line, const char *phrase);

#endif
