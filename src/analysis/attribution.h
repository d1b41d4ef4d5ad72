/* Splitting the formal stage's energy over its requests (METHOD section 5).
 *
 * With rates r(t) of the requests and R(t) their sum, a request gets the integral of r dE / R. Since r is constant
 * between its own changes, one running integral F = integral of dE / R serves all: a request that changes its rate at a
 * and b gets r (F(b) - F(a)). So a sweep touches each chunk once. F, R and every request's energy are compensated sums.
 */
#ifndef JTOK_ANALYSIS_ATTRIBUTION_H
#define JTOK_ANALYSIS_ATTRIBUTION_H

#include "analysis/series.h"
#include "analysis/tokens.h"

struct attribution {
    double *energy_j;    /* by row; 0 for requests that take no part */
    double none_j;       /* no generation */
    double attributed_j; /* sum of energy_j */
};

/* [start, end] is the formal stage; the curve must cover it, with two knots or more. What generates outside takes
 * nothing there. `energy_j` is the arena's. O(chunks) for gap and words, O(requests log requests) for the others. */
struct attribution attribute(const struct token_chains *s, const struct energy_curve *c, int64_t start_ns,
                             int64_t end_ns, enum rule rule, struct arena *a);

/* Energy of the stretches in which one of n intervals is active. Sorts them. O(n log n). */
struct interval {
    int64_t from_ns, to_ns;
};
double attribution_union_j(const struct energy_curve *c, int64_t start_ns, int64_t end_ns, struct interval *x,
                           size_t n);

/* Tokens of successful requests that arrived in (bounds[i], bounds[i + 1]], for n ascending bounds: n - 1 sums.
 * O(chunks). */
void attribution_arrivals(const struct token_chains *s, const int64_t *bounds, size_t n, int64_t *ret_tokens);

#endif
