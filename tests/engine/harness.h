/* A simulated engine as a child process, and a small client for it. Failures end the test. */
#ifndef JTOK_TESTS_ENGINE_HARNESS_H
#define JTOK_TESTS_ENGINE_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "answer.h"
#include "base/buf.h"
#include "check.h"
#include "sim/shared.h"

/* Own session, own state file, own log, all in a fresh folder under TMPDIR. */
struct engine {
    pid_t pid;
    int port;
    char folder[64], log_path[96], state_path[96];
    struct sim_state *state; /* mapped here too */
};

/* `options`: words behind `serve /models/m --served-model-name m/m --port ...`, ended by null. A start-up of 0.3 s
 * unless they say otherwise. */
void engine_start(struct engine *g, const char *const *options);
void engine_wait_ready(struct engine *g);

/* Waits for the main process' end: its status as waitpid gives it, and how long that took. */
int engine_wait(struct engine *g, double *ret_s);
int engine_stop(struct engine *g, double *ret_s); /* SIGTERM first */

/* Number of processes of the engine's group that are left. */
int engine_left(const struct engine *g);

/* Kills what is left, waits until nothing is, and removes the folder. */
void engine_done(struct engine *g);

/* The log so far. */
void engine_log(const struct engine *g, struct buf *b);

/* Sends bodies[i] (null: a GET) to `path`, all at once on own connections, and reads all answers until they end or
 * `timeout_s` is over. ret has room for n and is initialised here. */
void ask_all(const struct engine *g, const char *path, const char *const *bodies, size_t n, double timeout_s,
             struct answer *ret);
void ask_one(const struct engine *g, const char *path, const char *body, struct answer *ret);

/* Sends bytes on one connection and reads all that comes until the server closes it. */
void engine_raw(const struct engine *g, struct span bytes, struct buf *ret_answer);

/* The sum of a metric's samples; fails when it is not there. */
double engine_metric(const struct engine *g, const char *name);

/* False when a connection is refused. */
bool engine_accepts(const struct engine *g);

double seconds_now(void);

/* A list of words for engine_start. */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A streamed chat request with usage; `more` is put before the closing brace. To be freed. */
char *body_of(const char *prompt, const char *more);

/* GPU 0 as the state has it: the compute process, power now (mW), memory in use. */
pid_t core_pid(const struct engine *g);
int64_t power_now(const struct engine *g);
int64_t memory(const struct engine *g);

#endif
