/* Parameters of an analysis: under which reading of METHOD a number was made.
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
#include "base/err.h"
#include "schema/schema.h"

#define METHOD_ID "jtok-2"

enum basis { BASIS_BENCHMARK, BASIS_PRECISE, BASIS_COUNT };
extern const char *const basis_names[BASIS_COUNT + 1]; /* "benchmark-1.5", "precise" */

/* Where the tokens of a chunk were generated (METHOD section 5). */
enum reading { READING_GAP, READING_INTERVAL, READING_REQUEST, READING_WORDS, READING_COUNT };
extern const char *const reading_names[READING_COUNT + 1];

/* How many consecutive windows make a steady state; the value is K, 0 is all of them. */
enum steady_k { K_ALL, K_1, K_2, K_3, K_COUNT };
extern const char *const k_names[K_COUNT + 1]; /* "all", "1", "2", "3" */

struct method {
    int basis;              /* enum basis */
    int attribution;        /* enum reading */
    int k;                  /* enum steady_k */
    int64_t window;         /* W, requests */
    double cv_limit;        /* a window qualifies below it */
    double saturated_share; /* of the peak concurrency */
    double lag_share;       /* of the formal stage idle while owed: over it is delivery lag */
    int64_t merged_tokens;  /* a later chunk with more is a merged one */
};

extern const struct schema method_schema;

/* METHOD's own values. */
struct method method_default(void);

/* Applies one "key=value". Errors name the key, the nearest known one, and what is allowed. */
bool method_set(struct method *m, const char *assignment, struct err *e);

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
