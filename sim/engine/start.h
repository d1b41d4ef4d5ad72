/* Start-up: what the recorded engine logged, drew and held, in its order, stretched to the time that the options give.
 *
 * The first two fifths pass without touching a GPU (imports); then context, weights, compilation, memory profile, graph
 * capture and warm-up, each with its bursts. */
#ifndef JTOK_SIM_ENGINE_START_H
#define JTOK_SIM_ENGINE_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gpu.h"
#include "options.h"
#include "tree.h"

/* What a moment of the start-up may log. */
enum log_line {
    SAY_NOTHING,
    SAY_BANNER,
    SAY_MODEL,
    SAY_CORE,
    SAY_WEIGHTS,
    SAY_DYNAMO,
    SAY_COMPILED,
    SAY_KV,
    SAY_GRAPHS,
    SAY_INITIALIZED,
    SAY_READY,
    SAY_OWN, /* a front end has warmed itself up, later than the others */
};

struct start {
    const struct options *options;
    const struct tree *tree;
    struct gpus *gpus;
    int64_t began_ns, total_ns;
    size_t done; /* moments that have passed */
};

void start_init(struct start *s, const struct options *o, const struct tree *t, struct gpus *g, int64_t began_ns);

/* When the next moment is due; INT64_MAX when start-up is over. */
int64_t start_due_ns(const struct start *s);

/* The duration of a share of the start-up, in seconds. */
double start_seconds(const struct start *s, double share);

enum start_result { START_GOES_ON, START_SERVES, START_READY, START_FAILED };

/* Does the moments due by now. START_SERVES once, of a flavour that serves before it is ready; START_READY once, at the
 * last: the server may listen. START_FAILED: by the fault exit-at-start, its last words logged. */
enum start_result start_go(struct start *s, int64_t now_ns);

#endif
