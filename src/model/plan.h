/* The plan: everything that decides a run, fully resolved and frozen before anything starts.
 *
 * A user writes what differs from the defaults (plan_defaults); resolving fills in the rest (GPUs as UUIDs, hashes,
 * served name, port). After that it never changes; it is stored as plan.json, with its SHA-256. Text is owned by the
 * arena that the plan was read into. Which keys exist, their defaults, ranges and meaning: plan_schema.c. */
#ifndef JTOK_MODEL_PLAN_H
#define JTOK_MODEL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "schema/fields.h"

enum engine_kind { ENGINE_VLLM, ENGINE_OPENAI };
enum api_kind { API_CHAT, API_COMPLETIONS };
enum length_kind { LENGTH_NATURAL, LENGTH_FIXED, LENGTH_LOGNORMAL, LENGTH_LINES };
enum connect_kind { CONNECT_AHEAD, CONNECT_WITH_REQUEST };

struct plan_model {
    const char *id;              /* as published: "meta-llama/Llama-3.1-8B-Instruct" */
    const char *revision;        /* commit of the snapshot; null: not stated */
    const char *precision;       /* "bf16", "fp8", ...; null: not stated */
    double total_parameters;     /* 8.03e9; NaN: not stated */
    const char *snapshot;        /* local folder with the weights; null: not stated */
    const char *snapshot_sha256; /* resolved: over the small files' digests and every file's name and size */
    const char *snapshot_digest; /* over every file's digest, the weights' too; expected, or resolved */
};

struct plan_engine {
    int kind; /* enum engine_kind */
    const char **command;
    size_t command_count;
    struct field_pair *env;
    size_t env_count;
    const char *version;      /* expected; null: any */
    const char *image_digest; /* of the container image; null: none */
    const char *served_model; /* the name that requests carry; null: taken from the command or the model id */
    const char *host;
    int64_t port;           /* 0: resolved to a free one where the command lets it be set */
    int64_t context_length; /* ABSENT_I64: not checked */
    int64_t tensor_parallel, pipeline_parallel, data_parallel;
    const char *health_path, *metrics_path; /* metrics_path "": none */
    bool simulated;                         /* the engine is a simulation: every output carries the mark */
};

struct plan_lengths {
    int kind;       /* enum length_kind */
    int64_t tokens; /* fixed: each; natural, and lines for those without one: max_tokens, ABSENT_I64 leaves it to the
                       engine */
    double median, sigma; /* lognormal, in tokens; sigma of the logarithm */
    int64_t min, max, seed;
    bool ignore_eos;
};

struct plan_requests {
    const char *file;
    const char *sha256;      /* resolved: of the file's bytes */
    const char *work_sha256; /* resolved: of what is asked, request by request (METHOD section 9) */
    int api;                 /* enum api_kind */
    int64_t count;           /* ABSENT_I64: each prompt once; more than the file holds: repeated in order */
    struct plan_lengths lengths;
    double temperature, top_p; /* NaN: not sent */
    int64_t seed;              /* ABSENT_I64: not sent */
    bool continuous_usage;
    int connect;            /* enum connect_kind */
    const char *extra_body; /* JSON object merged into every body; null: none */
};

/* METHOD's durations. Anything below the default marks the run `method_shortened`. */
struct plan_method {
    double baseline_s, baseline_wait_s, hold_s, release_wait_s;
    double grid_s; /* the 1 s grid; a test may shorten it */
    int64_t warmup_requests, warmup_tokens;
    double failed_share; /* limit of too_many_failed */
};

struct plan_limits {
    double ready_s, stop_s; /* engine start to ready; stop signal to SIGKILL */
    double connect_s, write_s, head_s, first_token_s, idle_s, total_s; /* METHOD section 4, timers */
};

struct plan_power {
    const char *library;       /* null: libnvidia-ml.so.1 */
    double sensor_percent;     /* assumed absolute limit of the board sensor, or the calibration's */
    const char *sensor_source; /* null: assumed */
};

struct plan_cost {
    double pue, server_factor; /* NaN: no cost and no carbon is computed */
    double price_per_kwh, carbon_g_per_kwh;
    const char *currency;
};

struct plan {
    const char *name;     /* label for people; null: made from model and engine */
    const char *scenario; /* label of the task, for comparisons; null: the request file's name */
    struct plan_model model;
    struct plan_engine engine;
    const char **gpus; /* "all", indexes, UUIDs or unique prefixes, PCI addresses; resolved: UUIDs */
    size_t gpu_count;
    struct plan_requests requests;
    struct plan_method method;
    struct plan_limits limits;
    struct plan_power power;
    struct plan_cost cost;
    const char *runs; /* folder that run folders are made in */
};

extern const struct schema plan_schema;
extern const struct plan_limits plan_limits_default;

/* Every field at its default or absent. */
void plan_defaults(struct plan *p);

/* Tokens between two events of a stream, as the engine's command states it (--stream-interval N or =N, the last one
 * counts); ABSENT_I64: not stated, or not a number from 1 to 2^20. O(words). */
int64_t plan_stream_interval(const struct plan *p);

/* Is some duration of the method below METHOD's? */
bool plan_is_shortened(const struct plan *p);

#endif
