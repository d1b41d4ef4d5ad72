/* What a server says of itself beside /v1/models: each path that its engine has for that is asked once, with a limit of
 * time and size, by GET. Nothing is generated. */
#ifndef JTOK_RUN_IDENTIFY_H
#define JTOK_RUN_IDENTIFY_H

#include "engine/engine.h"
#include "run/ask.h"

enum identified {
    IDENTIFIED,      /* everything was asked; what was not answered is not known */
    IDENTIFY_WRONG,  /* an answer can't be this engine's: `e` says which */
    IDENTIFY_BROKEN, /* the run failed or was interrupted meanwhile */
};

/* `answer` must be zeroed or hold an earlier answer. */
enum identified identify_ask(struct ask *ask, const struct plan *p, struct engine_identity *id, struct answer *answer,
                             struct err *e);

/* Asks /metrics for its labels, where they say something. False: the run failed or was interrupted meanwhile. */
bool identify_ask_labels(struct ask *ask, const struct plan *p, struct engine_identity *id, struct answer *answer);

#endif
