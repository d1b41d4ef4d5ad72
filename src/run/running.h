/* A service that runs already (METHOD section 11): where it is, whose processes it has, which GPUs they hold, and what
 * it says of itself. jtok did not start it, so it is only looked at and asked: no signal goes to it.
 *
 *     running_find   the address must be this machine's: joules of another one are not here
 *     running_ask    model, version, and whether its count of tokens can be read
 *     running_gpus   those that its processes hold memory on, or those that the user names
 *     running_done */
#ifndef JTOK_RUN_RUNNING_H
#define JTOK_RUN_RUNNING_H

#include "base/arena.h"
#include "engine/engine.h"
#include "model/plan.h"
#include "power/device.h"
#include "proc/serving.h"
#include "run/ask.h"

struct running {
    struct serving serving;
    struct engine_identity identity;
    const char *source; /* the engine whose names its /metrics has; null: no count of generated tokens */
    const char *lack;   /* why there is no count: a phrase; null: there is one */
    bool unseen;        /* no process can be seen on the GPUs, which its user named */
    bool open;
};

/* Takes host and port from the plan's attach.url ("http://HOST[:PORT][/v1]", or "HOST:PORT", or "unix:/PATH") and looks
 * who listens there: completes engine.host, engine.port, engine.command and attach.pid. ERR_PLAN: not an address;
 * ERR_REFUSED: another machine's, or encrypted. */
bool running_find(struct running *r, struct plan *p, struct arena *a, struct err *e);

/* Asks /v1/models, the version and /metrics: completes model.id, engine.kind, served_model, version and simulated.
 * ERR_ENGINE where nobody answers, or not as an inference service does. */
bool running_ask(struct running *r, struct plan *p, struct ask *ask, struct err *e);

/* The names of its GPUs into the plan: those that it names, else those on which its processes are. ERR_DEVICE: none was
 * found, with what to do. */
bool running_gpus(struct running *r, struct plan *p, const struct device *d, struct arena *a, struct err *e);

/* For the observer: is this process the service's? `self` is the struct. Any thread. */
int8_t running_owns(void *self, int64_t pid);

/* A zeroed struct is accepted. */
void running_done(struct running *r);

#endif
