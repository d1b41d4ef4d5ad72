/* Run folders as a comparison wants them: what compare, gate and rank share. */
#ifndef JTOK_CLI_SIDES_H
#define JTOK_CLI_SIDES_H

#include "analysis/compare.h"
#include "base/buf.h"
#include "base/err.h"

/* Reads the stored result of a run folder (evaluate_stored), and plan.json and run.json where they are there, each as
 * the seal names it. Everything lives in the arena. */
bool sides_read_run(const char *folder, struct arena *a, struct compare_run *ret_run, struct err *e);

/* One side of a comparison: run folders with commas between. */
struct run_list {
    struct compare_run *runs;
    size_t count;
};
bool sides_read(const char *command, const char *list, struct arena *a, struct run_list *ret_list, struct err *e);

/* Appends "A  2 runs of vllm 0.24.0, SIMULATED: ID, ID", wrapped. */
void sides_put(const char *letter, const struct run_list *s, struct arena *a, struct buf *out);

/* Appends why the method refuses it. */
void sides_put_refusal(const struct sentences *reasons, struct buf *out);

/* Appends each as an item of a list. */
void sides_put_items(const struct sentences *items, struct buf *out);

#endif
