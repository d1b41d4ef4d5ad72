/* From the user's plan to the frozen one: everything that can be known before anything starts.
 *
 * This is the one place that completes a plan. Whoever comes behind it gets it as const: what is in `plan` is what
 * runs, what is written down, and what the run is held to at its end. */
#ifndef JTOK_RUN_RESOLVE_H
#define JTOK_RUN_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "engine/engine.h"
#include "model/plan.h"
#include "power/device.h"
#include "run/preflight.h"
#include "run/running.h"
#include "run/signals.h"
#include "store/request_set.h"
#include "store/secrets.h"
#include "store/trace.h"

/* A plan with all that it stands for. */
struct resolved {
    const struct plan
        *plan; /* frozen: GPUs as UUIDs, hashes, port, names; of the arena, texts of the given one's too */
    struct request_set set;
    struct device *device;
    uint32_t gpus[DEVICE_GPUS_MAX]; /* places in the device, in the plan's order */
    size_t gpu_count;
    struct engine_site site; /* what the engine inherits and by which variables it sees the GPUs; no cache folder yet */
    struct preflight preflight;
    struct snapshot snapshot; /* folder null: the plan names none */
    struct secrets secrets;
    const char *api_key; /* null: none */
    size_t trace_count;
    struct trace *traces;   /* one a load of the plan, those that are no traces zeroed; null: the plan has no loads */
    struct err stopped;     /* with look_through: the first error; kind ERR_NONE: there is none */
    struct running running; /* attach, watch: what was found behind the port; else zeroed */
};

struct resolve_options {
    const char *api_key;           /* that the caller gives; null: the command's or the environment's */
    bool despite_preflight;        /* go on although a GPU is busy */
    bool look_through;             /* look at everything, also behind an error; the plan may then stay incomplete */
    struct signals *signals;       /* asked between steps; must be open */
    struct stage_machine *machine; /* before its begin: a service that runs already is asked by its loop */
};

/* Reads the request set, opens the GPUs, takes from the engine's command what the plan leaves open, hashes the
 * snapshot. `given` is not changed. Errors are of kind ERR_PLAN, ERR_DEVICE, ERR_BUSY, ERR_SYSTEM or ERR_INTERRUPTED.
 * Nothing was started and nothing written. resolved_done afterwards, also where it fails. O(bytes of the request set,
 * and of those of the snapshot that are not known yet). */
bool resolve(const struct plan *given, const struct resolve_options *o, struct arena *a, struct resolved *r,
             struct err *e);

/* The GPUs of a plan whose device is open: chosen by its names, and their UUIDs into it. For the parts of resolve. */
bool resolve_gpu_names(struct plan *p, struct arena *a, struct resolved *r, struct err *e);

/* How many requests the run will send, as far as the plan tells it: what a load by time sends is guessed generously.
 * And how many of them may be open at once. */
size_t resolve_count_requests(const struct plan *p, const struct request_set *set, size_t *ret_open);

/* The same for `jtok stat`, whose plan names GPUs and a command and nothing that is asked. Busy GPUs are no error. Also
 * for the command's secrets. */
bool resolve_stat(const struct plan *given, struct arena *a, struct resolved *r, struct err *e);

/* A zeroed struct is accepted. */
void resolved_done(struct resolved *r);

/* For how long a load sends requests, s: its time, or what its count or its trace takes. NaN: its count, at the
 * engine's pace. */
double resolved_load_s(const struct resolved *r, size_t number);

/* What was found that does not stop the run but that its user must know (what excludes it, what of the request set is
 * not sent), a sentence each, of the arena. */
const char *const *resolved_warnings(const struct resolved *r, struct arena *a, size_t *ret_count);

#endif
