/* The runs of a folder, each with what it looked at, its verdict and its energies per token. */
#ifndef JTOK_APP_LISTING_H
#define JTOK_APP_LISTING_H

#include "base/arena.h"
#include "base/err.h"
#include "base/quantity.h"
#include "model/plan.h"
#include "schema/schema.h"

struct listed_run {
    const char *id, *model, *engine; /* null: not recorded */
    const char *thinking;            /* what was asked of a model that thinks; null: nothing */
    const char *verdict;             /* "formal", "valid", "excluded: CODE and 2 more", "not sealed" */
    bool simulated;
    enum run_object object;                    /* absent: not recorded */
    int64_t loads;                             /* its loads; 0: a life under one burst, or nothing of jtok's own */
    const char *load;                          /* the only one, or a command; null: none, or several */
    bool shortened;                            /* a life with loads whose plan shortened what comes before them */
    int64_t output_tokens;                     /* ABSENT_I64: there is no result */
    struct quantity steady, formal, lifecycle; /* J/token */
    double steady_j_per_token, formal_j_per_token, lifecycle_j_per_token; /* their values; NaN: none */
    double low_j_per_token, high_j_per_token; /* over its loads, or of what a watch saw; NaN: none has a value */
    double low_w, high_w;                     /* average power of the loads' windows, or of the command */
    double energy_j, duration_s;              /* of a command */
};
extern const struct schema listed_run_schema; /* what the JSON has of it */

/* The runs right under `directory`, oldest first; a run folder itself is a list of one. What a sealed result says
 * counts before what plan.json and run.json say; a run of a command, which has none, is evaluated from its records.
 * Everything lives in the arena. O(bytes of the small documents, and of commands' records). */
bool listing_read(const char *directory, struct arena *a, struct listed_run **ret_runs, size_t *ret_count,
                  struct err *e);

#endif
