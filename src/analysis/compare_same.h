/* What may be compared with what (METHOD section 9): formal runs, or valid ones of the same object and load (section
 * 11), the same work, the same machine, a pair of engines, repetitions of one plan. Every reason against is named;
 * nothing is compared by a proxy where the thing itself is there. Pure functions. */
#ifndef JTOK_ANALYSIS_COMPARE_SAME_H
#define JTOK_ANALYSIS_COMPARE_SAME_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "model/plan.h"
#include "model/record.h"
#include "model/result.h"

/* A run as a comparison sees it: three of its documents. */
struct compare_run {
    const struct result *result;
    const struct plan *plan;   /* null: there is no plan.json */
    const struct rec_run *run; /* null: there is no run.json */
    int64_t exit_status;       /* of a command (jtok stat); else, or not recorded, ABSENT_I64 */
};

/* Sentences, each once, in the order they came. */
struct sentences {
    const char **items;
    size_t count, capacity;
};
void sentences_add(struct sentences *s, struct arena *a, const char *text);

/* What stands against a comparison, and what its reader must know where nothing does. */
struct findings {
    struct sentences reasons, notes;
};

/* "two" of a run, for sentences. */
const char *compare_id(const struct result *r);

/* The same run given twice: the same id, and not known to have begun at different moments (an id has the second, and is
 * unique in its folder only). */
bool compare_same_run(const struct compare_run *x, const struct compare_run *y);

/* Why a run is not formal, a phrase that names its checks; null: it is. O(checks). */
const char *compare_not_formal(const struct result *r, struct arena *a);

/* Why a run can't be one of a comparison, a sentence: it is neither formal nor valid, or it is a life with loads whose
 * plan shortened what they rest on (METHOD section 11 lets such a run be valid), or its user ended its loads early.
 * Null: it can. O(checks). */
const char *compare_unfit(const struct compare_run *r, struct arena *a);

/* The same GPUs by UUID, in any order; then the sensors' calibration is common to both. */
bool compare_same_boards(const struct result *x, const struct result *y);

/* What any comparison asks, of other models too: the same scenario, work, machine, method and analysis, both real or
 * both simulated. Where a run is older than the digest of its work, request file and request settings must be the
 * same. O(GPUs log GPUs + plan). */
void compare_conditions(const struct compare_run *x, const struct compare_run *y, struct arena *a, struct findings *f);

/* A pair of engines: the conditions, and formal runs of the same model, revision and precision whose output tokens
 * differ by at most METHOD_TOKENS_SHARE. Or valid runs of one object: with loads of jtok's own, of the same loads
 * (compare_loads, which is not part of this) and limits of a good request; of a command, the same command and exit
 * status. */
void compare_pair(const struct compare_run *x, const struct compare_run *y, struct arena *a, struct findings *f);

/* |T1 - T2| / max(T1, T2) of the output tokens. */
struct quantity compare_tokens_difference(const struct result *x, const struct result *y);

/* One key in which two frozen plans, or the environments of their engines, differ. */
struct plan_difference {
    const char *key, *a, *b; /* values as text; "not stated" */
};
struct plan_differences {
    struct plan_difference *items;
    size_t count, capacity;
};

/* All of them but what names a run or a place: name, folder, port and its number in the command and in variables,
 * paths of the request file and of the snapshot where their digests agree, paths into the run folder, time limits,
 * cost, which of a kind of GPUs. Of the environment the variables count that can change an engine's work; others that
 * differ become a note. Both plans must be there. O(keys^2). */
void compare_differences(const struct compare_run *x, const struct compare_run *y, struct arena *a,
                         struct plan_differences *ret, struct sentences *notes);

/* Is y a repetition of x: the conditions, no difference of the plans, the same engine and version? */
void compare_repetition(const struct compare_run *x, const struct compare_run *y, struct arena *a, struct findings *f);

#endif
