/* Which loads of two runs are the same (METHOD sections 9 and 11): a load is compared with its like only, and what a
 * load is stands in the plan, not in what came of it. Pure functions. */
#ifndef JTOK_ANALYSIS_COMPARE_LOAD_H
#define JTOK_ANALYSIS_COMPARE_LOAD_H

#include "analysis/compare_same.h"

/* In what two loads differ, "rate is 4 and 5, seed is 0 and 1"; null: they are the same. Only what their kind uses
 * counts; a trace is its digest where both have one, else its file. O(fields). */
const char *compare_load_difference(const struct plan_load *x, const struct plan_load *y, struct arena *a);

/* A point of both runs, by its place in their lists; -1: that run has no such load. */
struct load_pair {
    int64_t x, y;
};

/* The points of two runs of one object, those that both have as one pair, in the order of x; then what only x has, then
 * what only y has. Two that differ just in a part of their load stand in two pairs, unless `near`: then what is left
 * over is paired by kind, in order. The only point of a watch or of a command is always a pair. Without both plans, or
 * where a plan and its result name other loads, or of two objects, no load is the same; `near` pairs them in order.
 * O(loads^2). */
struct load_pairs {
    struct load_pair *items;
    size_t count, same; /* the first `same` of them are of the same load */
};
struct load_pairs compare_load_pairs(const struct compare_run *x, const struct compare_run *y, bool near,
                                     struct arena *a);

/* Adds what is to be said of loads that only one of them has, or that differ: to the reasons against a comparison where
 * no load is the same, else to the notes. Both are of one object. */
void compare_loads(const struct compare_run *x, const struct compare_run *y, struct arena *a, struct findings *f);

#endif
