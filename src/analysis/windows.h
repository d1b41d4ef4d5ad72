/* The windows of a formal stage: all of them by completion, the steady ones and the saturated one, with what was drawn
 * and what arrived in each (METHOD section 6). */
#ifndef JTOK_ANALYSIS_WINDOWS_H
#define JTOK_ANALYSIS_WINDOWS_H

#include "analysis/formal.h"
#include "analysis/split.h"
#include "analysis/steady.h"

/* Lowest and highest CV of all windows under one rule; UNDEFINED where there is no window. */
struct cv_range {
    struct quantity min, max;
    int64_t min_window, max_window;
};

struct windows {
    struct completions completed;
    struct window_list all;
    struct cv_range cv[RULE_COUNT];
    struct result_steady *steady; /* by rule, then K = 1, 2, 3, all */
    size_t steady_count;
    struct result_saturated saturated;
};

/* What was drawn in a window, over what arrived in it. */
struct window_energy {
    struct quantity j, average_w, j_per_token;
    double edge_j_per_token; /* of j_per_token's doubt, what the edges that cut responses add; NaN: no value */
    int64_t tokens;
};

/* One window of a stage or load; `f->stage` is not looked at. O(chunks + samples). */
struct window_energy windows_cut(const struct formal *f, int64_t from_ns, int64_t to_ns, struct arena *a);

/* O(windows * W + chunks around the edges + samples). */
struct windows windows_make(const struct formal *f, const struct split *split, struct arena *a);

#endif
