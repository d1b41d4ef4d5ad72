/* Baseline: is every GPU idle? (METHOD section 3, "Baseline")
 *
 * A window is `window_ns` long. For each GPU it is idle when
 *   - its power is covered: a sample at or before the start, one at or after the end, and no tick missing in between,
 *   - utilisation is 0 and the list of compute processes is empty at every sample in the window,
 *   - the population standard deviation of its samples is within the larger of 2 % of the window's mean and 1 W,
 *   - the means of the window's halves are within the larger of 2 % of the window's mean and 1 W of each other.
 * All limits are inclusive. Means are time-weighted: the trapezoidal integral of the interval over its length, with
 * power interpolated at the window's ends and middle; that mean over the whole window is the GPU's baseline.
 *
 * Live, a window starts at the latest sample of a tick (so that every GPU is covered) and the window slides on by one
 * tick until one is idle on all GPUs; the last one starts at most `wait_ns` after the first. A utilisation or a process
 * list that can't be read at any sample of a window makes its outcome CHECK_NOT_RECORDED, and the window is accepted as
 * such; one that can be read at some samples only is a failure of those.
 *
 * Pure: fed sample by sample by a run, or from records by the analysis, it gives the same answer. */
#ifndef JTOK_RULES_IDLE_H
#define JTOK_RULES_IDLE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "rules/tick.h"

enum idle_fault {
    IDLE_NOT_COVERED = 1,
    IDLE_UTILISATION = 2,
    IDLE_PROCESSES = 4,
    IDLE_SIGMA = 8,
    IDLE_HALVES = 16,
    IDLE_UNREADABLE = 32, /* utilisation or processes could be read at some samples only */
};

/* What one window says of one GPU. NaN and -1: not known. */
struct idle_verdict {
    enum check_outcome outcome; /* passed, failed, not recorded */
    unsigned faults;            /* enum idle_fault, or-ed */
    double mean_w, sigma_w, first_half_w, second_half_w;
    int32_t utilisation_max, processes_max;
    uint32_t samples; /* in the window */
};

/* Judges [start_ns, end_ns] of one GPU. `s` in order of time, from before the window to behind it as far as there is
 * any; a missing sample is one with watts NaN, or a distance of over 1.5 periods between two. O(n). */
struct idle_verdict idle_judge(const struct tick_sample *s, size_t n, int64_t period_ns, int64_t start_ns,
                               int64_t end_ns);

/* The verdict as a sentence without the GPU's name: "utilisation reached 7 %; the standard deviation 10.3 W is over its
 * limit of 1.6 W (mean 81.9 W)". Appends nothing for a window that passed. */
void idle_describe(const struct idle_verdict *v, struct buf *b);

enum idle_state { IDLE_WATCHING, IDLE_ACCEPTED, IDLE_REFUSED };

struct idle {
    enum idle_state state;
    /* The window judged last; with IDLE_ACCEPTED the baseline. ABSENT_I64 before the first. */
    int64_t start_ns, end_ns;
    enum check_outcome outcome;                 /* the worst of the GPUs' */
    struct idle_verdict verdict[TICK_GPUS_MAX]; /* of that window */
    uint32_t windows;                           /* judged so far */
    /* Private. */
    uint32_t gpus;
    int64_t window_ns, wait_ns, first_start_ns;
    struct tick_join join;
    struct idle_series *series;
    int64_t *starts_ns; /* of each tick: where its window starts; ABSENT_I64 where no GPU has a sample */
    size_t ticks, ticks_capacity, at;
};

void idle_init(struct idle *i, uint32_t gpus, int64_t period_ns, int64_t window_ns, int64_t wait_ns);
void idle_done(struct idle *i);

/* Takes the next grid sample of a GPU and returns the state. Once it is not IDLE_WATCHING further samples are ignored.
 * O(window) a tick. */
enum idle_state idle_feed(struct idle *i, uint32_t gpu, const struct tick_sample *s);

/* After IDLE_REFUSED: one sentence for each GPU that failed in the last window, each with its readings, joined by
 * spaces. name(gpu) gives what people call it. */
void idle_refusal(const struct idle *i, const char *(*name)(void *self, uint32_t gpu), void *self, struct buf *b);

#endif
