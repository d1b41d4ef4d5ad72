/* One run: a service's whole life, observed and written down (METHOD section 3).
 *
 *     run_open      forks the guardian: before anything that may start a thread
 *     run_resolve   gives the plan as it will run: GPUs as UUIDs, hashes, port, names; nothing is started yet
 *     run_execute   makes the run folder and takes the service through its stages
 *     run_close
 *
 * A run decides nothing about energy or steadiness: it leaves a folder of raw records, unsealed and without a result.
 * What it does decide, because it must act, is when the machine is idle and when the release is over, by the same rules
 * that judge the records afterwards (src/rules). */
#ifndef JTOK_RUN_RUN_H
#define JTOK_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "model/plan.h"
#include "run/preflight.h"

enum run_stage {
    RUN_PREPARE,
    RUN_BASELINE,
    RUN_START,
    RUN_WARMUP,
    RUN_CONNECT,
    RUN_FORMAL,
    RUN_STOP,
    RUN_RELEASE,
    RUN_HOLD,
    RUN_DONE,
    RUN_SILENCE, /* before one of the plan's loads */
    RUN_LOAD,
    RUN_LOOK,    /* what is there already: before a load on a running service, its window, or a command */
    RUN_WINDOW,  /* a service under its users' load */
    RUN_COMMAND, /* any command, and the wait for power to come back */
    RUN_POWER_BACK,
    RUN_COUNT
};
extern const char *const run_stage_names[RUN_COUNT + 1];

/* A service under its users' load, over the last ten seconds (watch). */
struct window_view {
    int64_t lines; /* times that this was made anew; 0: not yet */
    double window_s;
    double tokens_per_s, watts, j_per_token; /* NaN: not known */
    double running, waiting;                 /* requests, as the engine says; NaN */
};

/* What a progress line shows. Valid during the call. */
struct run_view {
    enum run_stage stage;
    int64_t elapsed_ns, stage_elapsed_ns;
    double watts;                            /* last grid samples of all GPUs, summed; NaN: none yet */
    int64_t requests, done, running, failed; /* formal ones; requests 0 before they are submitted */
    double chunks_per_s;                     /* token chunks that arrived in the last second; NaN */
    int64_t load, loads;                     /* which of the plan's loads, from 1; 0: it has none. Then the counts are
                                                that load's, and requests is 0 where it ends by time */
    const char *note;                        /* last thing worth telling: a line of the engine's log; null */
    const char *folder;                      /* null before it is made */
    bool interrupted;
    bool asked;           /* to end the window, or the load */
    bool running_service; /* that jtok did not start */
    struct window_view window;
};

struct run_options {
    const char *plan_source; /* bytes of the user's plan file, kept beside plan.json; null: there was none */
    const char *api_key;     /* sent as a bearer token, never recorded; null: none */
    bool despite_preflight; /* go on although the machine is not in a normal state: recorded, and the run is excluded */
    bool look_through;      /* resolve looks at everything, also behind what stops a run; there is no execute then */
    void *self;
    void (*progress)(void *self, const struct run_view *view); /* four times a second and at each stage; may be null */
};

struct run_outcome {
    const char *folder; /* of the run; memory of the run */
    bool went_through;  /* all stages up to the end of the hold, without failure or interruption */
    bool interrupted;
    struct err failure;   /* kind ERR_NONE: none. What went wrong first */
    struct err unwritten; /* kind ERR_NONE: none. A record could not be written: the folder must not be sealed */
};

struct run;

/* Call from a process without threads. `plan`, its texts and `o` are borrowed until run_close. */
bool run_open(const struct plan *plan, struct arena *a, const struct run_options *o, struct run **ret_run,
              struct err *e);

/* Reads the request set, opens the GPUs, takes from the engine's command what the plan leaves open, hashes the
 * snapshot (run/resolve.h). *ret_plan: the resolved, frozen plan, which is what will run; of the arena. Once. Errors
 * are of kind ERR_PLAN, ERR_DEVICE, ERR_BUSY, ERR_SYSTEM or ERR_INTERRUPTED; nothing was started and nothing written.
 */
bool run_resolve(struct run *r, const struct plan **ret_plan, struct err *e);

/* After run_resolve: for how long load `number` of the plan sends requests, s; NaN: as long as the engine takes. */
double run_load_s(const struct run *r, size_t number);

/* After run_resolve: what was looked at before the run, a line each, in `a`; texts are borrowed until run_close.
 * *ret_stopped (may be null): what would have stopped the run, with look_through; kind ERR_NONE: nothing. */
void run_preflight(const struct run *r, struct arena *a, struct preflight_line **ret_list, size_t *ret_count,
                   const struct err **ret_stopped);

/* After run_resolve: what was found that does not stop the run but that its user must know (what excludes it, what of
 * the request set is not sent), a sentence each. The list is the run's own. */
const char *const *run_warnings(const struct run *r, size_t *ret_count);

/* After run_resolve: the command that will start the engine, as one would type it in a shell, in lines of at most 76
 * columns where its words allow; secrets are masked, and "RUN" stands for the run folder. The text is the run's own. */
const char *run_command_text(const struct run *r);

/* False: no run folder came about. True: *ret_outcome says how far it went. Blocks for the whole life of the service,
 * handles SIGINT, SIGTERM and SIGHUP (the first goes through stop and release, the second cuts the waiting short). */
bool run_execute(struct run *r, struct run_outcome *ret_outcome, struct err *e);

void run_close(struct run *r);

#endif
