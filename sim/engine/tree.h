/* The engine's processes and its log.
 *
 * main ─┬─ VLLM::EngineCore              (one GPU) or
 *       ├─ VLLM::Worker_TP0 ...          (several: beside the core, one a GPU)
 *       └─ VLLM::APIServer_0 ...         (--api-server-count over 1)
 *
 * The main process does all the work; the others only exist, so that an observer has a tree to follow, to see on the
 * GPU and to clean up. They die with the main process, but for the core under the fault `orphan`. */
#ifndef JTOK_SIM_ENGINE_TREE_H
#define JTOK_SIM_ENGINE_TREE_H

#include <stdbool.h>
#include <sys/types.h>
#include "options.h"

struct tree {
    const struct options *options;
    pid_t main, core;
    pid_t workers[SIM_GPUS_MAX]; /* those on the GPUs; the core itself on one GPU */
    pid_t servers[64];
    bool core_alive;
};

/* Forks them; call before any socket is open. argv is the memory that holds the children's titles. */
bool tree_start(struct tree *t, const struct options *o, int argc, char **argv, struct err *e);

/* Ends and reaps all that are left, the core last; an orphan is spared. */
void tree_end(struct tree *t);

/* Reaps what has died by itself. True when the core or a worker is among it. */
bool tree_reap(struct tree *t);

enum speaker {
    SPEAKER_MAIN, /* (APIServer pid=N); with several API servers without a prefix */
    SPEAKER_API,  /* (APIServer pid=N) or (ApiServer_0 pid=N) */
    SPEAKER_CORE, /* (EngineCore pid=N) */
};

/* One line in the flavour's form; vLLM's: prefix, level, date and time, [source], text. `source` null: prefix and text
 * alone. */
void tree_log(const struct tree *t, enum speaker s, const char *level, const char *source, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
