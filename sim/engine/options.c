#include "options.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/num.h"
#include "flavour.h"
#include "sim/seed.h"

enum kind { TEXT, INTEGER, REAL, ON, OFF };

struct option_row {
    const char *name;
    enum kind kind;
    size_t at;
    double min, max;
};

#define AT(field) offsetof(struct options, field)

static const struct option_row rows[] = {
    {"--flavour", TEXT, AT(flavour_name), 0, 0},
    {"--model", TEXT, AT(model), 0, 0},
    {"--model-path", TEXT, AT(model), 0, 0},
    {"--served-model-name", TEXT, AT(served_name), 0, 0},
    {"--alias", TEXT, AT(served_name), 0, 0},
    {"--host", TEXT, AT(host), 0, 0},
    {"--uds", TEXT, AT(uds), 0, 0},
    {"--port", INTEGER, AT(port), 0, 65535},
    {"--dtype", TEXT, AT(dtype), 0, 0},
    {"--revision", TEXT, AT(revision), 0, 0},
    {"--quantization", TEXT, AT(quantization), 0, 0},
    {"--max-model-len", INTEGER, AT(max_model_len), 2, 1 << 24},
    {"--context-length", INTEGER, AT(max_model_len), 2, 1 << 24},
    {"--api-server-count", INTEGER, AT(api_servers), 1, 64},
    {"--tokenizer-worker-num", INTEGER, AT(api_servers), 1, 64},
    {"--max-num-seqs", INTEGER, AT(max_running), 1, 1 << 20},
    {"--max-running-requests", INTEGER, AT(max_running), 1, 1 << 20},
    {"--parallel", INTEGER, AT(max_running), 1, 1 << 20},
    {"--max-num-batched-tokens", INTEGER, AT(batched_tokens), 1, 1 << 24},
    {"--tensor-parallel-size", INTEGER, AT(tensor_parallel), 1, SIM_GPUS_MAX},
    {"--tp-size", INTEGER, AT(tensor_parallel), 1, SIM_GPUS_MAX},
    {"--no-enable-prefix-caching", OFF, AT(prefix_cache), 0, 0},
    {"--enable-prefix-caching", ON, AT(prefix_cache), 0, 0},
    {"--enable-force-include-usage", ON, AT(force_usage), 0, 0},
    {"--disable-radix-cache", OFF, AT(prefix_cache), 0, 0},
    {"--enable-metrics", ON, AT(enable_metrics), 0, 0},
    {"--metrics", ON, AT(enable_metrics), 0, 0},
    {"--skip-server-warmup", ON, AT(skip_warmup), 0, 0},
    {"--sim-gpus", INTEGER, AT(gpus), 1, SIM_GPUS_MAX},
    {"--sim-seed", INTEGER, AT(seed), 0, 1e15},
    {"--sim-time-scale", REAL, AT(time_scale), 1e-6, 1e6},
    {"--sim-start-s", REAL, AT(start_s), 0, 1e6},
    {"--sim-stop-s", REAL, AT(stop_s), 0, 1e6},
    {"--sim-release-s", REAL, AT(release_s), 0, 1e6},
    {"--sim-step-s", REAL, AT(step_s), 1e-6, 1e3},
    {"--sim-step-request-s", REAL, AT(step_request_s), 0, 10},
    {"--sim-prefill-tokens-per-s", REAL, AT(prefill_rate), 1, 1e12},
    {"--sim-step-tokens", INTEGER, AT(step_tokens), 1, 1024},
    {"--sim-kv-tokens", INTEGER, AT(kv_tokens), 16, 1e12},
    {"--sim-weights-gib", REAL, AT(weights_gib), 0, 1000},
    {"--sim-kv-gib", REAL, AT(kv_gib), 0, 1000},
    {"--sim-median-tokens", REAL, AT(median_tokens), 1, 1e6},
    {"--sim-held", REAL, AT(held), 0, 1},
    {"--sim-reasoning", REAL, AT(reasoning), 0, 1},
    {"--sim-reasoning-field", TEXT, AT(reasoning_field), 0, 0},
    {"--sim-front-tokens-per-s", REAL, AT(front_rate), 0, 1e12},
    {"--sim-front-merge", REAL, AT(front_merge), 0, 1},
    {"--sim-own-tokens", INTEGER, AT(own_tokens), 0, 1e12},
    {"--sim-own-after-s", REAL, AT(own_after_s), 0, 1e6},
    {"--sim-own-late", INTEGER, AT(own_late), 0, 1e6},
    {"--sim-metrics-every-s", REAL, AT(metrics_every_s), 0, 1e3},
};

enum strikes { THE_SERVER, REQUESTS };

static const struct {
    const char *name;
    int64_t argument; /* without one; FAULT_ALL: strikes every request */
    enum strikes strikes;
} faults[FAULTS] = {
    [FAULT_EXIT_AT_START] = {"exit-at-start", 1, THE_SERVER},
    [FAULT_NEVER_READY] = {"never-ready", 0, THE_SERVER},
    [FAULT_WRONG_MODEL] = {"wrong-model", 0, THE_SERVER},
    [FAULT_WRONG_LENGTH] = {"wrong-length", 0, THE_SERVER},
    [FAULT_HANG_AT_STOP] = {"hang-at-stop", 0, THE_SERVER},
    [FAULT_ORPHAN] = {"orphan", 0, THE_SERVER},
    [FAULT_SLOW_METRICS] = {"slow-metrics", 3, THE_SERVER},
    [FAULT_CRASH] = {"crash", 0, REQUESTS},
    [FAULT_KILLED] = {"killed", 0, REQUESTS},
    [FAULT_ERROR_IN_STREAM] = {"error-in-stream", FAULT_ALL, REQUESTS},
    [FAULT_CUT] = {"cut", FAULT_ALL, REQUESTS},
    [FAULT_RESET] = {"reset", FAULT_ALL, REQUESTS},
    [FAULT_SILENT] = {"silent", FAULT_ALL, REQUESTS},
    [FAULT_NO_USAGE] = {"no-usage", FAULT_ALL, REQUESTS},
    [FAULT_NO_DONE] = {"no-done", FAULT_ALL, REQUESTS},
    [FAULT_HTTP_400] = {"http-400", FAULT_ALL, REQUESTS},
    [FAULT_HTTP_429] = {"http-429", FAULT_ALL, REQUESTS},
    [FAULT_HTTP_500] = {"http-500", FAULT_ALL, REQUESTS},
};

static bool read_number(struct options *o, const struct option_row *row, const char *value, struct err *e)
{
    double number;
    if (!num_f64(span_of(value), &number) || number < row->min || number > row->max)
        return err_set(e, ERR_USAGE, "%s: '%s' is not a number from %g to %g.", row->name, value, row->min, row->max);
    if (row->kind == INTEGER && number != floor(number))
        return err_set(e, ERR_USAGE, "%s: '%s' is not a whole number.", row->name, value);
    if (row->kind == INTEGER)
        *(int64_t *)((char *)o + row->at) = (int64_t)number;
    else
        *(double *)((char *)o + row->at) = number;
    return true;
}

static bool read_fault(struct options *o, struct span text, struct err *e)
{
    const char *equals = text.n ? memchr(text.p, '=', text.n) : NULL;
    struct span name = {text.p, equals ? (size_t)(equals - text.p) : text.n};
    struct span value = equals ? (struct span){equals + 1, text.n - name.n - 1} : (struct span){NULL, 0};
    for (int f = 0; f < FAULTS; f++) {
        if (!span_is(name, faults[f].name))
            continue;
        int64_t argument = span_is(value, "all") ? FAULT_ALL : faults[f].argument;
        if (equals && !span_is(value, "all") && (!num_i64(value, &argument) || argument < 0))
            return err_set(e, ERR_USAGE, "The fault %s of --sim-fault has '%.*s', which is neither a number nor 'all'.",
                           faults[f].name, SPAN_ARG(value));
        o->fault[f] = argument;
        return true;
    }
    struct buf known = {0};
    for (int f = 0; f < FAULTS; f++)
        buf_fmt(&known, " %s", faults[f].name);
    err_set(e, ERR_USAGE, "The fault '%.*s' of --sim-fault is not known. Known are:%s.", SPAN_ARG(name),
            buf_text(&known));
    buf_done(&known);
    return false;
}

static bool read_faults(struct options *o, const char *list, struct err *e)
{
    for (;;) {
        size_t n = strcspn(list, ",");
        if (!read_fault(o, (struct span){list, n}, e))
            return false;
        if (!list[n])
            return true;
        list += n + 1;
    }
}

static const struct option_row *find(const char *argument, size_t n)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, argument, n) == 0)
            return &rows[i];
    return NULL;
}

/* One option with its value; *at is left on the last argument used. */
static bool read_option(struct options *o, int argc, char **argv, int *at, struct err *e)
{
    const char *argument = argv[*at];
    size_t n = strcspn(argument, "=");
    const char *value = argument[n] ? argument + n + 1 : NULL;
    const struct option_row *row = find(argument, n);
    bool flag = row && (row->kind == ON || row->kind == OFF);
    bool is_fault = n == strlen("--sim-fault") && memcmp(argument, "--sim-fault", n) == 0;
    if (!row && !is_fault && strncmp(argument, "--sim-", 6) == 0)
        return err_set(e, ERR_USAGE, "%.*s is not an option of the simulated engine; sim/engine/README.md lists them.",
                       (int)n, argument);
    if (!flag && !value && *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0)
        value = argv[++*at];
    if (flag) {
        *(bool *)((char *)o + row->at) = row->kind == ON;
        return true;
    }
    if (!row && !is_fault)
        return true;
    if (!value)
        return err_set(e, ERR_USAGE, "%s needs a value.", argument);
    if (is_fault)
        return read_faults(o, value, e);
    if (row->kind != TEXT)
        return read_number(o, row, value, e);
    *(const char **)((char *)o + row->at) = value;
    return true;
}

static void defaults(struct options *o)
{
    *o = (struct options){
        .flavour_name = "vllm",
        .host = "127.0.0.1",
        .dtype = "bfloat16",
        .revision = "None",
        .quantization = "None",
        .port = 8000,
        .max_model_len = 8192,
        .api_servers = 1,
        .max_running = 256,
        .batched_tokens = 8192,
        .tensor_parallel = 1,
        .prefix_cache = true,
        .time_scale = 1,
        .start_s = 4,
        .stop_s = -1,
        .release_s = 1,
        .step_s = 0.006,
        .step_request_s = 43e-6,
        .prefill_rate = 60e3,
        .step_tokens = 1,
        .weights_gib = 15,
        .kv_gib = 112.28,
        .median_tokens = 200,
        .reasoning_field = "reasoning",
        .front_merge = 0.17,
        .metrics_every_s = 0.01,
    };
    for (int f = 0; f < FAULTS; f++)
        o->fault[f] = FAULT_OFF;
}

static bool find_flavour(struct options *o, struct err *e)
{
    o->flavour = flavour_named(o->flavour_name);
    if (o->flavour)
        return true;
    struct buf known = {0};
    flavour_put_names(&known);
    err_set(e, ERR_USAGE, "The flavour '%s' of --flavour is not known. Known are:%s.", o->flavour_name,
            buf_text(&known));
    buf_done(&known);
    return false;
}

bool options_read(struct options *o, int argc, char **argv, struct err *e)
{
    defaults(o);
    double slower;
    if (!sim_seed_factor(SIM_SEED_SPEED, &slower, e))
        return false;
    if (argc < 1 || strcmp(argv[0], "serve") != 0)
        return err_set(e, ERR_USAGE,
                       "Usage: jtok-sim-engine serve MODEL [options of vllm serve] [--sim-...]; "
                       "sim/engine/README.md describes them.");
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            if (!read_option(o, argc, argv, &i, e))
                return false;
        } else if (!o->model) {
            o->model = argv[i];
        } else {
            return err_set(e, ERR_USAGE, "The word '%s' stands where an option is expected.", argv[i]);
        }
    }
    if (!find_flavour(o, e))
        return false;
    if (!o->model)
        return err_set(e, ERR_USAGE, "The model is missing. Usage: jtok-sim-engine serve MODEL [options].");
    if (!o->served_name)
        o->served_name = o->model;
    o->time_scale *= slower;
    if (!o->gpus)
        o->gpus = o->tensor_parallel;
    if (o->stop_s < 0)
        o->stop_s = o->api_servers > 1 ? 3.1 : 0.6;
    /* One token of the recorded 8B model takes 128 KiB: 8192 tokens a GiB. */
    if (!o->kv_tokens)
        o->kv_tokens = (int64_t)(o->kv_gib * 8192) / 16 * 16;
    if (o->kv_tokens < o->max_model_len)
        return err_set(e, ERR_USAGE,
                       "The KV cache holds %lld tokens, fewer than --max-model-len %lld; raise --sim-kv-tokens.",
                       (long long)o->kv_tokens, (long long)o->max_model_len);
    return true;
}

bool options_strike(const struct options *o, enum fault f, int64_t n)
{
    int64_t argument = o->fault[f];
    return faults[f].strikes == REQUESTS ? argument == FAULT_ALL || argument == n : argument != FAULT_OFF;
}

int64_t options_ns(const struct options *o, double seconds)
{
    return (int64_t)(seconds * o->time_scale * 1e9);
}
