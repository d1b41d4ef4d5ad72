/* The runs of a folder, each with its verdict and its energies per token. */
#ifndef JTOK_APP_LISTING_H
#define JTOK_APP_LISTING_H

#include "base/arena.h"
#include "base/err.h"
#include "base/quantity.h"
#include "schema/schema.h"

struct listed_run {
    const char *id, *model, *engine; /* null: not recorded */
    const char *verdict;             /* "formal", "excluded: CODE and 2 more", "not sealed" */
    bool simulated;
    int64_t output_tokens;                                                /* ABSENT_I64: there is no result */
    struct quantity steady, formal, lifecycle;                            /* J/token */
    double steady_j_per_token, formal_j_per_token, lifecycle_j_per_token; /* their values; NaN: none */
};
extern const struct schema listed_run_schema; /* what the JSON has of it */

/* The runs right under `directory`, oldest first; a run folder itself is a list of one. What a sealed result says
 * counts before what plan.json and run.json say. Everything lives in the arena. O(bytes of the small documents). */
bool listing_read(const char *directory, struct arena *a, struct listed_run **ret_runs, size_t *ret_count,
                  struct err *e);

#endif
