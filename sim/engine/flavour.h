/* What the engines that are simulated differ in: how they write their log and what they say in it, how their processes
 * are called, the names of their metrics, and the paths that only one of them has. All else is one machine. A flavour
 * is one file and one row in flavour.c. */
#ifndef JTOK_SIM_ENGINE_FLAVOUR_H
#define JTOK_SIM_ENGINE_FLAVOUR_H

#include <stdbool.h>
#include "base/buf.h"
#include "base/span.h"
#include "metrics.h"
#include "options.h"
#include "start.h"
#include "tree.h"

struct flavour {
    const char *name;        /* also "owned_by" of its models */
    const char *fingerprint; /* of its streams; null: they have none */
    bool root_is_name;       /* a model's "root" is the served name, not the path */
    bool has_permission;     /* a model has a "permission" */
    bool has_no_root;        /* a model has neither "root" nor "max_model_len", but "meta" */
    int metrics_off;         /* the status of /metrics without its option; 0: it is always there */
    bool ends_by_kill;       /* a good stop ends in SIGKILL, by its own hand */

    /* Its streams. */
    bool bare_id;      /* an id is the digits alone */
    bool finish_apart; /* of a chat: the finish reason comes in a chunk of its own, and running counts with text only */
    const char *stop;  /* what stands behind a choice's finish reason, as members of its own; "": nothing */
    const char *usage; /* further members of the last usage */

    /* Its processes' names; workers and servers are numbered. */
    const char *core, *worker, *server;

    /* It serves before it is ready, and says 503 on /health, with this body. */
    bool serves_early;
    const char *loading;
    bool warms_itself_up; /* meanwhile each front end makes one request of OWN_TOKENS */

    /* The front of a log line, before its text. `source`: where in the engine's code it is written; null: plain. */
    void (*put_head)(const struct tree *t, enum speaker s, const char *level, const char *source);
    void (*say)(const struct start *s, enum log_line line);
    void (*say_load)(const struct tree *t, const struct metrics *now, const struct metrics *before, double seconds);

    void (*put_metrics)(const struct metrics *m, const struct options *o, struct buf *b);

    /* A GET of a path of its own, as JSON; false: it has no such path. `owed`: requests not yet answered. */
    bool (*answer)(const struct options *o, struct span path, int64_t owed, struct buf *b);
};

enum { OWN_TOKENS = 8 }; /* of one request of an engine's own warm-up, as SGLang's were recorded */

extern const struct flavour flavour_vllm, flavour_sglang, flavour_llamacpp;

/* The flavour of this name; null: none. */
const struct flavour *flavour_named(const char *name);

/* All names, a space before each. */
void flavour_put_names(struct buf *b);

#endif
