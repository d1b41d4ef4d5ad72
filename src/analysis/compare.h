/* Two runs side by side, by the rules of METHOD section 9.
 *
 * Only formal runs that form a pair are compared; otherwise every reason against it is named and nothing is subtracted.
 * Steady-state and full-lifecycle values share a unit and not a boundary: no row mixes them. */
#ifndef JTOK_ANALYSIS_COMPARE_H
#define JTOK_ANALYSIS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "model/result.h"

#define COMPARE_TOKENS_LIMIT 0.20 /* |T1 - T2| / max(T1, T2), inclusive */

/* One metric of both runs. */
struct comparison_row {
    const char *metric, *unit;
    struct quantity a, b;
    struct quantity difference; /* b - a */
    struct quantity ratio;      /* b / a */
    const char *why;            /* not compared: the reason; null: it is compared */
};

struct comparison {
    const char *a_id, *b_id;
    const char **reasons; /* against comparing, each a sentence; none: compared */
    size_t reason_count;
    const char **notes; /* for the reader of a comparison that stands */
    size_t note_count;
    bool same_boards;                  /* same GPU UUIDs: the sensors' limit cancels in ratios */
    struct quantity tokens_difference; /* |T1 - T2| / max(T1, T2) */
    struct comparison_row *rows;       /* absent where refused */
    size_t row_count;
};

/* Uncertainties (k = 2) of a difference and of a ratio: instrument by the root of the sum of squares. The sensor's
 * limit on the same boards is one common factor: it scales the difference and cancels in the ratio; on other boards
 * both limits are added. Fills *ret; its memory is the arena's. O(1). */
void compare_runs(const struct result *x, const struct result *y, struct arena *a, struct comparison *ret);

/* Why a run is no formal one, a phrase that names its checks; null: it is. O(checks). */
const char *compare_not_formal(const struct result *r, struct arena *a);

/* What any comparison asks, of other models too: the same scenario, request content, hardware, method and analysis.
 * Only ret->reasons and ret->same_boards are filled. O(1). */
void compare_conditions(const struct result *x, const struct result *y, struct arena *a, struct comparison *ret);

extern const struct schema comparison_schema;

#endif
