/* Does a ± hold as often as it says? Energies are held against what their ± is not made of (METHOD section 2).
 *
 * 1 s grids are drawn from a recorded 20 ms buffer at many phases, as if the sampler had begun a little later each
 * time, and every stage's energy by each of them is compared with the counter at t + L; with the buffer in the records,
 * with the counter alone beside the grid, and with the grid alone. Precise and counter are compared with synthetic runs
 * whose P(t) is known. */
#ifndef JTOK_TESTS_COVERAGE_H
#define JTOK_TESTS_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include "model/record.h"

enum { COVERAGE_ROWS_MAX = 256, COVERAGE_CASES_MAX = 80000 };

/* One kind of case: how often |value - truth| <= ±. */
struct coverage_row {
    char name[96];
    size_t n, held, without; /* `without`: cases that state no doubt, not among n */
    double *doubts, *errors; /* relative to the truth; n each */
};

struct coverage {
    struct coverage_row rows[COVERAGE_ROWS_MAX];
    size_t count;
};

void coverage_done(struct coverage *c);

/* Grids at `phases` phases of `period` 1 s over one recording; `label` heads the names of its rows. Kinds: startup,
 * formal, release, lifecycle, 10 s slices of the formal stage (as far as the recording has marks for them), and each
 * burst of a recording without. GPUs are taken alone and summed. */
void coverage_of_recording(struct coverage *c, const char *label, const struct records *r, int phases);

/* Synthetic runs: the buffer of `r` as the true power P(t), linear between its samples; from it a buffer of means over
 * 20 ms with a gain that is off by `gain` and by `bend` of the relative power, stamps off by up to 1.5 ms, and a
 * counter read at its step (or by a drifting reader). Precise and counter against the integral of P. */
void coverage_synthetic(struct coverage *c, const char *label, const struct records *r, int runs);

/* Windows of the kinds that METHOD section 11 has, over made powers that jump where a load begins and ends (P(t) is
 * known to the millisecond): of a closed loop (it begins in the jump), of an open loop (behind it), of a burst (both
 * ends are jumps), of a watch (neither). `runs` lives of each of several lengths. */
void coverage_windows(struct coverage *c, int runs);

double coverage_median(double *values, size_t n);

#endif
