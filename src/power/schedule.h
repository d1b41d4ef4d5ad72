/* What one GPU's thread does when (METHOD section 2), as a pure machine: the time in, an action out. Private to
 * src/power.
 *
 * Order when several things are due: power and counter at a stage boundary, the power sample 0.2 s behind it, the
 * grid, the locked counter read, then the tick's extras (buffer, state, processes). These may take some ms, so they
 * wait when the counter read is due in less than 6 ms. */
#ifndef JTOK_POWER_SCHEDULE_H
#define JTOK_POWER_SCHEDULE_H

#include "power/counter_lock.h"
#include "power/device.h"

enum action { ACTION_WAIT, ACTION_INSTANT, ACTION_COUNTER, ACTION_TICK_EXTRAS, ACTION_DRAIN };
enum { SCHEDULE_AFTERS_MAX = 16 };

struct step {
    enum action action;
    int64_t deadline_ns;  /* WAIT: until then. INSTANT on the grid: its deadline */
    enum instant_tag tag; /* of INSTANT */
    enum counter_why why; /* of COUNTER */
};

struct schedule {
    bool counter, buffer; /* cleared by the owner when the GPU does not have them */
    /* private */
    int64_t drain_every_ns;
    int64_t grid_ns, tick_ns, drain_ns, extras_ns; /* extras_ns INT64_MAX: nothing to do until the next tick */
    int64_t after_ns[SCHEDULE_AFTERS_MAX];
    int after_count;
    bool boundary_sample, boundary_counter;
    struct counter_lock lock;
};

/* First tick at first_tick_ns, then each grid_ns; counter and buffer from start_ns, at the pace of `caps`. */
void schedule_init(struct schedule *s, int64_t first_tick_ns, int64_t grid_ns, int64_t start_ns,
                   const struct device_caps *caps);

/* A stage boundary is now. */
void schedule_boundary(struct schedule *s);

/* What to do at now_ns. Until the action is reported done, the answer stays the same. O(1). */
struct step schedule_next(const struct schedule *s, int64_t now_ns);

/* The action of `step` was done in [begin_ns, end_ns]; mj of a COUNTER, -1: it failed. */
void schedule_done(struct schedule *s, const struct step *step, int64_t begin_ns, int64_t end_ns, int64_t mj);

#endif
