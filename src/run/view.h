/* What a progress line shows, put together from the parts of a run. */
#ifndef JTOK_RUN_VIEW_H
#define JTOK_RUN_VIEW_H

#include "run/load.h"
#include "run/observer.h"
#include "run/run.h"
#include "run/service.h"
#include "run/stage.h"

/* Token chunks a second, over the last second or so. */
struct rate {
    int64_t since_ns; /* run time of the last look; 0: none yet */
    int64_t chunks;   /* counted by then */
    double per_s;     /* NaN: not known yet */
};

/* The rate now; a look within 0.9 s of the last one gives that again. */
double rate_look(struct rate *r, int64_t now_ns, int64_t chunks);

/* Texts are those of the parts: valid until one of them changes. */
struct run_view view_make(const struct stage_machine *m, const struct service *s, const struct observer *v,
                          const struct load_list *formal, struct rate *rate);

#endif
