/* The stages of METHOD section 3, one function each, over the parts that it uses. run.c puts them into a list; another
 * list of them is another kind of run. Each enters itself; false: the run has failed or was interrupted. */
#ifndef JTOK_RUN_STAGES_H
#define JTOK_RUN_STAGES_H

#include "run/folder.h"
#include "run/load.h"
#include "run/observer.h"
#include "run/scrape.h"
#include "run/service.h"
#include "run/stage.h"

/* What the engine is asked by, and with what: for the stages that send something. */
struct asking {
    struct ask *ask;
    struct scrape *scrape;
    const struct load_site *site;
    struct load *own; /* readiness and warm-up, one at a time */
};

/* t0 to t1: every GPU is idle. */
bool stage_baseline(struct stage_machine *m, const struct plan_method *method, struct observer *v);

/* t2 to t3: from the start of the process to the first streamed answer. */
bool stage_start(struct stage_machine *m, struct service *s, struct observer *v, struct folder *f,
                 const struct asking *a);

/* t4 to t5; without warm-up requests only the scrapes begin. */
bool stage_warmup(struct stage_machine *m, struct service *s, struct observer *v, const struct asking *a);

/* What is to be done between warm-up and formal start, all at the same time: it costs joules that belong to nobody
 * (METHOD section 3, "Waiting in a stage"). */
bool stage_connect(struct stage_machine *m, struct observer *v, const struct asking *a, struct load_list *formal);

/* t6 to t7: the loads of the list, one behind the other. The release is watched from its end on. *ret_client: the
 * client's condition; untouched where nothing was sent. */
bool stage_formal(struct stage_machine *m, struct service *s, struct observer *v, struct scrape *c,
                  struct load_list *formal, struct rec_client *ret_client);

/* The plan's loads, one behind the other (METHOD section 11), each with its silence before it: 12 s before the first, 5
 * s before each further one. Boundaries: load_start, load_last, load_end of each, with its number as the note;
 * formal_start with the first one's start and formal_end with the last one's end, so that a life's stages touch as they
 * always do. `s` may be null: a server that is not jtok's. Then the look before stands for the first silence, the
 * release is not watched, and from the first load on the first signal is a wish: what is in flight runs to its end, no
 * further load is sent, and formal_end has the note "asked". `loads` is made by
 * load_list_plan. */
bool stage_loads(struct stage_machine *m, struct service *s, struct observer *v, const struct asking *a,
                 struct load_list *loads, struct rec_client *ret_client);

/* The engine's own token counter may lag with its front end: it is read until it agrees (METHOD section 3, "Waiting in
 * a stage"), within a limit, since the wait is part of the release. Always true: what it does not find is no failure.
 */
bool stage_settle(struct stage_machine *m, struct service *s, struct scrape *c, const struct load_list *formal);

/* t8 to t9: from SIGTERM to the last process. */
bool stage_stop(struct stage_machine *m, struct service *s, struct observer *v, struct scrape *c);

/* t10 to the end of the hold: memory and power are back, and stay. True where they did, in time. */
bool stage_release(struct stage_machine *m, struct service *s, struct observer *v);

#endif
