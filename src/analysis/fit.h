/* What ties a GPU's counter to its buffer (METHOD section 2, basis `precise`): the counter's delay L, one factor for
 * the run, and how far the two still drift apart once both are taken off. */
#ifndef JTOK_ANALYSIS_FIT_H
#define JTOK_ANALYSIS_FIT_H

#include "analysis/series.h"
#include "base/quantity.h"

struct fit {
    struct quantity factor; /* (counter(b + L) - counter(a + L)) / buffer over [a, b]; absent: there is no `precise` */
    struct quantity lag_s;  /* L; NOT_REACHED where the least residual lies at an end of the range */
    int64_t lag_ns;         /* L as used: 0 where it was not found */
    /* c: counter at t + L less the scaled integral of the buffer up to t, once at each change point, for t = its stamp
     * - L in [a, b]. Only differences of it mean something. */
    size_t n;
    int64_t *t_ns;
    double *c_j;
};

/* No fit, with the reason. */
struct fit fit_absent(const char *why);

/* Fits one GPU on [a, b], service_start to release_end. L is sought from -20 to 150 ms in steps of 5 ms, as the least
 * sum of (counter step - unscaled buffer over the step moved back by L)^2 over the change points in [a, b] that the
 * buffer covers at every L (ties: the lower L), and refined by the parabola through the least step and its neighbours.
 * O(35 (change points + samples)). Memory from `arena`. */
struct fit fit_make(const struct gpu_series *g, int64_t a_ns, int64_t b_ns, struct arena *arena);

/* Largest less least c within [from, to], J: what `precise` may still be wrong by there. Of all points where fewer than
 * two lie within; NaN without any. O(log points + points within). */
double fit_range_j(const struct fit *f, int64_t from_ns, int64_t to_ns);

#endif
