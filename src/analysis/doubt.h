/* How far an energy may be from what the board's own sensor saw, in this run: the *instrument* doubt of METHOD
 * section 2.
 *
 * A difference to a better instrument that is known keeps its sign until all GPUs and stages are summed, and is then
 * added in full, never in a root. What is left is independent from GPU to GPU; the sampling error of GPUs that are
 * sampled in one phase is not. */
#ifndef JTOK_ANALYSIS_DOUBT_H
#define JTOK_ANALYSIS_DOUBT_H

#include <stdbool.h>
#include "analysis/fit.h"
#include "analysis/series.h"
#include "model/result.h"

/* Of one GPU and one stretch, J. DOUBT_NONE: there is no statement, and the figures are NaN. */
struct doubt {
    double known;    /* this series less the better one, with its sign */
    double rest;     /* what is left of that, 0 or more */
    double sampling; /* by successive differences, where there is no better series */
    enum doubt_source from;
};

/* Where a stretch lies, and what may be said of it. */
struct stretch {
    int64_t from_ns, to_ns;
    bool inside;  /* within [service_start, release_end], where `precise` holds */
    bool sampled; /* startup, formal or lifecycle: successive differences may stand in */
};

/* Counter, at each end: 10 ms (both change points around it read as locked, repeat or boundary; else 100 ms) times the
 * mean power within 0.2 s of it, and (|L| + T/4) times the step of the power there, T the distance of the two change
 * points; the root of the sum of squares. |L| is 50 ms where there is no buffer or no L. NaN where no series of power
 * says what was drawn there. O(log samples). */
double doubt_counter_j(const struct gpu_series *g, const struct fit *f, const struct stretch *s);

/* Precise: largest less least c from 5 s before to 5 s after; NaN outside [service_start, release_end]. */
double doubt_precise_j(const struct fit *f, const struct stretch *s);

/* What the buffer may miss of the two ends where power jumps at them: at each 10 ms, half of its step, times its
 * largest less its least power within 60 ms. In a window that begins and ends with a load the two may add. O(samples).
 */
double doubt_edges_j(const struct curve *buffer, int64_t from_ns, int64_t to_ns);
double doubt_edge_j(const struct curve *buffer, int64_t t_ns); /* of one end */

/* Grid, or grid with boundary samples (`curve`): its difference to `precise`, and the doubt of that, where the buffer
 * covers the stretch without a gap; else to the counter; with neither by successive differences. `precise_j` and
 * `counter_j` are NaN where there is no such energy. */
struct doubt doubt_grid(const struct gpu_series *g, const struct fit *f, const struct stretch *s,
                        const struct curve *curve, double curve_j, double precise_j, double counter_j);

/* Buffer: (1 - factor) times its energy is known, the doubt of `precise` is left. */
struct doubt doubt_buffer(const struct fit *f, const struct stretch *s, double buffer_j);

/* A doubt that is all rest; NaN: none. */
struct doubt doubt_of(double rest, enum doubt_source from);

/* sqrt(2 sum (T dP)^2) over the sampling intervals that touch any of n stretches, each once: J. NaN where fewer than
 * ten samples lie inside. O(samples inside * n). */
double doubt_successive_j(const struct curve *c, const struct stretch *s, size_t n);

/* Over GPUs and stages. Begin with a zeroed one. */
struct doubt_sum {
    double known, rest_squares, sampling;
    bool none; /* a part without a statement leaves the sum without one */
};
void doubt_add(struct doubt_sum *sum, const struct doubt *d);

/* |known| + sqrt(rest^2 + sampling^2), J; NaN for none. */
double doubt_total_j(const struct doubt_sum *sum);

#endif
