/* Windows of requests in completion order, where they are steady, and when the service was saturated (METHOD section
 * 6): verdicts on times and attributed energies; analysis/windows.h measures what they find. */
#ifndef JTOK_ANALYSIS_STEADY_H
#define JTOK_ANALYSIS_STEADY_H

#include "analysis/tokens.h"
#include "model/method.h"
#include "model/result.h"

/* Rows of the requests that generate, by (end, id). */
struct completions {
    uint32_t *rows;
    size_t n;
};

/* Memory is the arena's. O(n log n). */
struct completions steady_order(const struct token_chains *s, struct arena *a);

struct window_list {
    struct result_window *items;
    size_t n;
};

/* Every window of W, sliding by one: CV and level under each rule. `energy_j[rule]` by row; null: that rule has no
 * energy, its CV and level are NaN. O(count * W). */
struct window_list steady_windows(const struct token_chains *s, const struct completions *c, int64_t window,
                                  int64_t formal_start_ns, const double *const energy_j[RULE_COUNT], struct arena *a);

/* Are there K consecutive windows under the limit? Not reached: the reason, and what came nearest. */
struct steady_verdict {
    bool reached;
    const char *why;
    int64_t window, windows; /* the first that qualifies, and how many had to; ABSENT_I64 */
    int64_t first_request, last_request, requests;
    double *cvs; /* of the qualifying windows */
    size_t cv_count;
    double lowest_cv;
    int64_t lowest_cv_window, longest_stretch, longest_stretch_window;
};

/* K consecutive non-overlapping windows. `completed`: requests in completion order. O(windows). */
struct steady_verdict steady_find(const struct window_list *w, size_t completed, const struct method *m, enum rule rule,
                                  enum steady_k k, struct arena *a);

/* When at least `share` of the peak number of requests were within their generation interval, both ends of an interval
 * belonging to it: first and last moment. */
struct saturation {
    int64_t start_ns, end_ns, peak, level; /* ABSENT_I64: no request generates */
    bool waited;                           /* the peak is below the number that generate */
};

/* O(n log n). */
struct saturation steady_saturated(const struct token_chains *s, double share, struct arena *a);

#endif
