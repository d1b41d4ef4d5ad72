/* The service that is measured: the engine as a child process, what its output tells, what it says of itself, whether
 * it is ready, and that it has gone.
 *
 *     service_open      forks the guardian: before anything that may start a thread
 *     service_plan      whom to expect: the frozen plan, where it will find itself, and what must not be shown
 *     service_prepare   the engine's folders, its command and environment
 *     service_start
 *     service_wait_ready, service_identify
 *     service_stop      SIGTERM, SIGKILL, and the proof that nothing is left
 *     service_close
 *
 * An engine that ends by itself, or a guardian that dies, fails the run (stage_fail) with the end of the output. All on
 * the loop's thread but service_owns. */
#ifndef JTOK_RUN_SERVICE_H
#define JTOK_RUN_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/engine.h"
#include "proc/child.h"
#include "run/ask.h"
#include "run/stage.h"
#include "store/secrets.h"

/* Folders of the engine within the run folder. */
#define ENGINE_CACHE "engine-cache"
#define ENGINE_WORK  "engine-work"

enum { SERVICE_TAIL_LINES = 20, SERVICE_TAIL_BYTES = 240 };

struct service {
    struct stage_machine *machine;
    const struct plan *plan;
    const struct engine_site *site; /* without a cache folder */
    const struct secrets *secrets;
    struct child *child;
    struct engine_launch launch;
    const char *work_folder; /* where the engine runs; absolute */
    const char *id_file; /* where a container's runtime writes its id; null: there is no container, or it is known */
    struct timer look;   /* for it */
    struct engine_identity identity;
    bool milestones[MILESTONE_COUNT]; /* seen in its output */
    int64_t exit_status;              /* as in struct rec_run; ABSENT_I64: not ended */
    int64_t gone_ns;                  /* run time; ABSENT_I64: some process of it is there, or it was not started */
    /* The end of its output, fit to be shown, as a ring: line i is at i modulo its length. */
    char tail[SERVICE_TAIL_LINES][SERVICE_TAIL_BYTES];
    size_t tail_count;
    char note[SERVICE_TAIL_BYTES]; /* the last line that shows progress of the start; "": none yet */
};

/* Forks the guardian and puts it on the machine's loop. Nothing is open where it fails. */
bool service_open(struct service *s, struct stage_machine *m, struct err *e);

/* Kills what is left of the engine. A zeroed struct is accepted. */
void service_close(struct service *s);

/* Borrowed until service_close. Before service_prepare. */
void service_plan(struct service *s, const struct plan *plan, const struct engine_site *site,
                  const struct secrets *secrets);

/* Makes the engine's own folders below the run folder and completes `launch`: argv and environment as they will be. */
bool service_prepare(struct service *s, const char *run_folder, struct err *e);

/* Starts it; after service_prepare, once. METHOD's t2 is stamped by the caller just before. */
bool service_start(struct service *s, struct err *e);
bool service_is_started(const struct service *s);

/* Asks the health path, every two seconds, until it says ready. False: interrupted, or the run has failed (the engine
 * is wrong, or was not ready within limits.ready_s). */
bool service_wait_ready(struct service *s, struct ask *ask);

/* Asks what it serves and which version it is; records the identity facts. False: interrupted, or the run has failed (a
 * fact did). */
bool service_identify(struct service *s, struct ask *ask);

/* The fingerprint that a response carried; the first one counts. Null: none. Borrowed. */
void service_take_fingerprint(struct service *s, const char *fingerprint);

/* What it generates for itself, for rules/usage.h. */
struct usage_own service_own_usage(const struct service *s);

/* Looks whose process listens where the engine answers. One that is not below jtok was started by a daemon for the
 * engine's command (a container's, a scheduler's): it and what is below it, or all of its container, count as the
 * engine's from now on; the fact engine.outside says so. Once it is ready; null: nobody has answered yet. O(processes x
 * their descriptors). */
void service_find_outside(struct service *s, const struct address *address);

/* Writes the process tree into the log. */
void service_note_tree(struct service *s);

/* Is this process the engine's? 1 yes, 0 no, -1 can't be told. `self` is the service. Any thread. */
int8_t service_owns(void *self, int64_t pid);

/* Ends it and waits until no process is left: SIGTERM, then to the group, then SIGKILL; a second interrupt goes to
 * SIGKILL at once. False: something is still there, which fails the run. */
bool service_stop(struct service *s);

/* Has no process of it been left? False too before the start. */
bool service_is_gone(const struct service *s);

/* The end of its output as a sentence for an error, of the run's arena. */
const char *service_log_tail(const struct service *s);

#endif
