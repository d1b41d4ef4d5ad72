/* Parameters of an analysis: under which variant of METHOD a number was made.
 *
 * The defaults are the method. `jtok analyze --set k=3` changes one; a result carries all of them, and whatever differs
 * from the default is shown with the numbers. Where the source is silent, the decision is listed in method_decisions.
 */
#ifndef JTOK_MODEL_METHOD_H
#define JTOK_MODEL_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "schema/schema.h"

#define METHOD_ID "jtok-2"

/* Which instrument the headline energy of each stage comes from. */
enum headline { HEADLINE_BENCHMARK, HEADLINE_PRECISE, HEADLINE_COUNT };
extern const char *const headline_names[HEADLINE_COUNT + 1]; /* "benchmark-1.5", "precise" */

/* Where the tokens of a chunk were generated (METHOD section 5): the rules by which a chunk's energy is found. */
enum rule { RULE_GAP, RULE_INTERVAL, RULE_REQUEST, RULE_WORDS, RULE_COUNT };
extern const char *const rule_names[RULE_COUNT + 1];

/* How many consecutive windows make a steady state; the value is K, 0 is all of them. */
enum steady_k { K_ALL, K_1, K_2, K_3, K_COUNT };
extern const char *const steady_k_names[K_COUNT + 1]; /* "all", "1", "2", "3" */

struct method {
    enum headline headline; /* by its key, basis */
    enum rule attribution;
    enum steady_k k;
    int64_t window; /* W, requests */
    double cv_limit, saturated_share, lag_share;
    int64_t merged_tokens;
};

extern const struct schema method_schema;

/* METHOD's own values. */
struct method method_default(void);

/* "attribution=interval, k=3": what differs from the default, or null. */
const char *method_differences(const struct method *m, struct arena *a);

/* One decision of jtok's own, marked [D] in METHOD. */
struct method_decision {
    const char *id;      /* "energy.counter_interpolation" */
    const char *section; /* "2" */
    const char *text;    /* one or two sentences */
};

extern const struct method_decision method_decisions[];
extern const size_t method_decision_count;
extern const struct schema method_decision_schema;

#endif
