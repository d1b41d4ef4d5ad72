/* The energy of the formal stage over its requests, under each rule (METHOD section 5): which series E(t) is, what each
 * request gets (analysis/attribution.h), and whether it closes. */
#ifndef JTOK_ANALYSIS_SPLIT_H
#define JTOK_ANALYSIS_SPLIT_H

#include "analysis/formal.h"

/* Under one rule. */
struct split_rule {
    struct quantity attributed_j, no_generation_j;
    struct quantity closure; /* |attributed + none - formal| / formal */
    bool closed;
    int64_t by_interval;    /* of `gap` only; ABSENT_I64 */
    const double *energy_j; /* by row; null: no energy could be split */
};

struct split {
    enum curve_source source;
    struct quantity scale, formal_j, failed_active_j;
    struct split_rule rules[RULE_COUNT];
};

/* E(t) is the buffer, scaled once to the counter; else the counter; else the grid: whichever first covers the stage on
 * every GPU. O(chunks + requests log requests). */
struct split split_formal(const struct formal *f, struct arena *a);

#endif
