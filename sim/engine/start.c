#include "start.h"

#include "flavour.h"

enum { W = 1000, CONTEXT_MIB = 553 };

/* At a share of the start-up time: power from here on (0: as before) and memory held (GiB: context, then shares of
 * weights and KV cache; negative: as before). */
struct moment {
    double at;
    int64_t mw;
    double context, weights, kv;
    enum log_line say;
};

static const struct moment moments[] = {
    {0.00, 0, -1, 0, 0, SAY_BANNER},
    {0.30, 0, -1, 0, 0, SAY_MODEL},
    {0.40, 0, -1, 0, 0, SAY_CORE},
    {0.42, SIM_CONTEXT_MW, 1, 0, 0, SAY_NOTHING},
    {0.47, 137 * W, 1, 0.3, 0, SAY_NOTHING},
    {0.51, 137 * W, 1, 1, 0, SAY_WEIGHTS},
    {0.52, SIM_CONTEXT_MW, -1, 0, 0, SAY_NOTHING},
    {0.57, SIM_CONTEXT_MW, -1, 0, 0, SAY_DYNAMO},
    {0.58, 480 * W, -1, 0, 0, SAY_NOTHING},
    {0.59, SIM_CONTEXT_MW, -1, 0, 0, SAY_NOTHING},
    {0.64, 300 * W, -1, 0, 0, SAY_NOTHING},
    {0.66, SIM_CONTEXT_MW, -1, 0, 0, SAY_NOTHING},
    {0.72, SIM_CONTEXT_MW, -1, 0, 0, SAY_COMPILED},
    {0.73, 690 * W, 2, 1, 0, SAY_NOTHING},
    {0.745, SIM_CONTEXT_MW, 2, 1, 1, SAY_KV},
    {0.77, 330 * W, 2, 1, 1, SAY_NOTHING},
    {0.82, 300 * W, 2.5, 1, 1, SAY_NOTHING},
    {0.85, SIM_CONTEXT_MW, 3, 1, 1, SAY_GRAPHS},
    {0.88, 410 * W, 3, 1, 1, SAY_NOTHING},
    {0.91, SIM_CONTEXT_MW, 3, 1, 1, SAY_NOTHING},
    {0.94, SIM_CONTEXT_MW, -1, 0, 0, SAY_INITIALIZED},
    {1.00, SIM_CONTEXT_MW, -1, 0, 0, SAY_READY},
};

enum { MOMENTS = sizeof moments / sizeof *moments };

void start_init(struct start *s, const struct options *o, const struct tree *t, struct gpus *g, int64_t began_ns)
{
    *s =
        (struct start){.options = o, .tree = t, .gpus = g, .began_ns = began_ns, .total_ns = options_ns(o, o->start_s)};
}

int64_t start_due_ns(const struct start *s)
{
    if (s->done == MOMENTS)
        return INT64_MAX;
    return s->began_ns + (int64_t)(moments[s->done].at * (double)s->total_ns);
}

double start_seconds(const struct start *s, double share)
{
    return share * (double)s->total_ns / 1e9;
}

static void say_last_words(const struct start *s)
{
    tree_log(s->tree, SPEAKER_CORE, "ERROR", "core.py:1108", "EngineCore failed to start.");
    tree_log(s->tree, SPEAKER_CORE, "ERROR", "core.py:1108", "Traceback (most recent call last):");
    tree_log(s->tree, SPEAKER_CORE, "ERROR", "core.py:1108",
             "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB.");
    tree_log(s->tree, SPEAKER_MAIN, "", NULL, "Traceback (most recent call last):");
    tree_log(s->tree, SPEAKER_MAIN, "", NULL,
             "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}");
}

enum start_result start_go(struct start *s, int64_t now_ns)
{
    while (start_due_ns(s) <= now_ns) {
        const struct moment *m = &moments[s->done];
        if (m->say == SAY_WEIGHTS && options_strike(s->options, FAULT_EXIT_AT_START, 0)) {
            say_last_words(s);
            return START_FAILED;
        }
        if (m->say == SAY_READY && options_strike(s->options, FAULT_NEVER_READY, 0)) {
            s->done = MOMENTS;
            return START_GOES_ON;
        }
        s->done++;
        if (m->context >= 0)
            gpus_memory(s->gpus, m->context * CONTEXT_MIB / 1024 * s->gpus->count +
                                     m->weights * s->options->weights_gib + m->kv * s->options->kv_gib);
        if (m->mw) {
            gpus_power(s->gpus, m->mw, true);
            gpus_utilisation(s->gpus, m->mw > SIM_CONTEXT_MW ? 100 : 0);
        }
        s->options->flavour->say(s, m->say);
        if (m->say == SAY_READY)
            return START_READY;
        if (m->say == SAY_INITIALIZED && s->options->flavour->serves_early)
            return START_SERVES;
    }
    return START_GOES_ON;
}
