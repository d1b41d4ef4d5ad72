/* Questions to the engine's server: GETs at the plan's host and port, with the key where one is known.
 *
 * ask_wait asks one and waits for its answer: readiness, identity. ask_start leaves the answer to a callback: the
 * scrapes of /metrics that go on beside everything else. One question of ask_wait is on its way at a time. */
#ifndef JTOK_RUN_ASK_H
#define JTOK_RUN_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "engine/engine.h"
#include "http/get.h"
#include "model/plan.h"
#include "run/stage.h"

struct ask {
    struct stage_machine *machine;
    const struct plan_engine *engine; /* whom */
    const char *api_key;              /* null: none */
    struct http_get *pending;         /* of ask_wait */
    struct answer *answer;            /* where its answer goes */
    bool answered;
    bool address_known;
    struct address address; /* who answered last: "localhost" has two, and a server may listen on one */
};

/* What came of a question. */
struct answer {
    struct http_get_result get; /* its body is `body`, its texts are the run's arena's, and it has no address */
    struct buf body;            /* the caller's: cleared and filled; buf_done when it is no longer needed */
};

/* Everything is borrowed until ask_close. */
void ask_open(struct ask *k, struct stage_machine *m, const struct plan_engine *engine, const char *api_key);
void ask_close(struct ask *k);

/* Asks and waits. False: the run failed or was interrupted meanwhile, or nothing could be started, which fails the run;
 * the answer's members are untouched then. An answer of any status, and none within `timeout_ns`, are both true: see
 * `get.outcome`. `answer` must be zeroed or hold an earlier answer. */
bool ask_wait(struct ask *k, const char *path, int64_t timeout_ns, struct answer *answer);

/* Asks and returns: path, timeout_ns, done and self of `what` (http/get.h); the rest of it is filled in here. False
 * with an error where nothing could be started. */
bool ask_start(struct ask *k, const struct http_get_options *what, struct http_get **ret_get, struct err *e);

/* Who answered last; null: nobody yet. Valid until the next answer. */
const struct address *ask_address(const struct ask *k);

/* The status of an answer; 0: none came, or no whole one. */
int answer_status(const struct answer *answer);

/* The same as what the engines' adapters look at; borrows the result's memory. */
struct engine_metrics_answer ask_metrics_answer(const struct http_get_result *result);

#endif
