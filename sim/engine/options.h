/* The simulated engine's command line: vLLM's or SGLang's own words, which it understands or ignores as they come, and
 * --sim-* words for what a real engine draws from its hardware. */
#ifndef JTOK_SIM_ENGINE_OPTIONS_H
#define JTOK_SIM_ENGINE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "sim/shared.h"

/* A fault of the whole server, at most once each. */
enum fault {
    FAULT_EXIT_AT_START, /* argument: exit status (1) */
    FAULT_NEVER_READY,
    FAULT_WRONG_MODEL,  /* /v1/models names another id and root */
    FAULT_WRONG_LENGTH, /* /v1/models says half of max_model_len */
    FAULT_HANG_AT_STOP, /* SIGTERM and SIGINT are logged and ignored */
    FAULT_ORPHAN,       /* the engine core outlives the server, its GPU memory with it (at most two minutes) */
    FAULT_SLOW_METRICS, /* argument: seconds until /metrics answers (3) */
    /* Of the request with the number given (0 is the first POST that arrives), or of `all`. */
    FAULT_CRASH,  /* at its third chunk the engine core dies; every stream gets an error object, exit status 1 */
    FAULT_KILLED, /* at its third chunk the whole server is gone, as after a kernel's SIGKILL */
    FAULT_ERROR_IN_STREAM, /* an error object as the third event, then [DONE] */
    FAULT_CUT,             /* the connection closes after two text chunks, inside the next event */
    FAULT_RESET,           /* the same with a reset (RST) */
    FAULT_SILENT,          /* no byte is ever answered */
    FAULT_NO_USAGE,        /* usage is left out though asked for */
    FAULT_NO_DONE,         /* the stream ends without [DONE] */
    FAULT_HTTP_400,
    FAULT_HTTP_429,
    FAULT_HTTP_500,
    FAULTS,
};

enum { FAULT_OFF = -1, FAULT_ALL = -2 };

struct flavour;

struct options {
    const struct flavour *flavour;
    const char *flavour_name;
    const char *model;       /* the snapshot's path; becomes `root` */
    const char *served_name; /* default: the model */
    const char *host;        /* default 127.0.0.1: a simulation is nobody else's business */
    const char *uds;         /* a Unix-domain socket instead of host and port, or null */
    const char *dtype, *revision, *quantization;
    int64_t port;
    int64_t max_model_len;
    int64_t api_servers;    /* or SGLang's tokenizer workers */
    int64_t max_running;    /* --max-num-seqs */
    int64_t batched_tokens; /* --max-num-batched-tokens: the prefill budget of one step */
    int64_t tensor_parallel;
    bool prefix_cache;
    bool force_usage;    /* --enable-force-include-usage */
    bool enable_metrics; /* SGLang has none without */
    bool skip_warmup;    /* SGLang makes no request of its own */

    int64_t gpus; /* default: the tensor parallel size */
    uint64_t seed;
    double time_scale; /* every duration below is multiplied by it; JTOK_SIM_SEED moves it (sim/seed.h) */
    double start_s;    /* from exec to the first accepted connection */
    double stop_s;     /* from SIGTERM to the last process' exit; default 0.6, with several API servers 3.1 */
    double release_s;  /* from the last process' exit to idle power */
    double step_s;     /* a step's time is step_s + step_request_s * decoding + prefill tokens / prefill_rate */
    double step_request_s;
    double prefill_rate; /* tokens/s */
    int64_t step_tokens; /* tokens a request gets in one step, in one chunk */
    int64_t kv_tokens;   /* what the KV cache holds, all GPUs together */
    double weights_gib;  /* all GPUs together */
    double kv_gib;
    double median_tokens; /* of the natural output length, log-normal with sigma 0.8 */
    double held;          /* share of chunks whose text is held back into the next one */
    double reasoning;     /* share of each chat answer that is reasoning */
    const char *reasoning_field;
    double front_rate;  /* chunks/s that the front end delivers; 0: no limit */
    double front_merge; /* share of requests whose waiting chunks become one last chunk */
    int64_t own_tokens; /* generated to warm itself up, half before it is ready, half beside the first request */
    double own_after_s; /* of front ends that warm themselves up the last one does so this long after it is ready */
    int64_t own_late;   /* requests of its own, of 8 tokens each, that end beside the tenth request */
    double metrics_every_s;

    int64_t fault[FAULTS]; /* FAULT_OFF, FAULT_ALL, or the argument */
};

/* The command line after the program's name. `serve MODEL` comes first; --name value and --name=value are the same. A
 * vLLM option that is not known is skipped, with its value; an unknown --sim-* option or fault is an error that lists
 * them. */
bool options_read(struct options *o, int argc, char **argv, struct err *e);

/* Does the fault strike request number n (or the server: n 0)? */
bool options_strike(const struct options *o, enum fault f, int64_t n);

/* A duration, scaled. */
int64_t options_ns(const struct options *o, double seconds);

#endif
