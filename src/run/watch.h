/* A service under its users' load (METHOD section 11): no request of jtok's. Its own count of tokens is read as the
 * window begins and ends, each reading standing for the arrival of its answer.
 *
 *     stage_look     what the GPUs draw and whose processes are on them, before the window
 *     stage_window   from the first reading to the end that was asked for
 *
 * The window ends after attach.for_s, when its user asks for it (Ctrl-C), when the count falls or stays away, or when
 * the service's process is another one; the last three end it at the last good reading. */
#ifndef JTOK_RUN_WATCH_H
#define JTOK_RUN_WATCH_H

#include "run/observer.h"
#include "run/running.h"
#include "run/scrape.h"
#include "run/stage.h"

struct watching {
    struct stage_machine *machine;
    const struct plan *plan;
    const struct running *running;
    struct observer *observer;
    struct scrape *scrape;
    struct rec_metrics first, last; /* good readings of the window; t_ns ABSENT_I64: none */
    int64_t silent_ns;              /* run time of the first of the scrapes without a count in a row; ABSENT_I64 */
    const char *ended;              /* why it can't go on: a sentence; null: it can */
    /* For a person who watches. */
    struct rec_metrics line; /* the reading of the last line */
    double watts;            /* sum of the grid's power at each scrape since then */
    int64_t looks;
    struct window_view view;
};

void watching_open(struct watching *w, struct stage_machine *m, const struct plan *plan, const struct running *running);

/* Power is sampled, and the facts of the service and its GPUs are written down, for attach.look_s. `c` is read each
 * second from here on: who else sends requests is seen; null: not yet. */
bool stage_look(struct watching *w, struct observer *v, struct scrape *c);

bool stage_window(struct watching *w, struct observer *v, struct scrape *c);

#endif
