/* Run folders as a comparison wants them: what compare, gate and rank read. */
#ifndef JTOK_APP_RUN_LIST_H
#define JTOK_APP_RUN_LIST_H

#include "analysis/compare.h"
#include "base/arena.h"
#include "base/err.h"

struct run_list {
    struct compare_run *runs;
    size_t count; /* at least 1 */
};

/* Reads the stored result of each folder (evaluate_stored), and its plan.json and run.json where they are there, each
 * as the seal names it: one that is not could make unlike runs alike. A kept run of a command (jtok stat), which has no
 * stored result, is evaluated from its records. Everything lives in the arena. */
bool run_list_read(const char *const *folders, size_t count, struct arena *a, struct run_list *ret_list, struct err *e);

/* The same of folders with commas between: one side of a comparison. ERR_USAGE where none is named. */
bool run_list_read_side(const char *folders, struct arena *a, struct run_list *ret_list, struct err *e);

#endif
