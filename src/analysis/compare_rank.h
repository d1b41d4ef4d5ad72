/* Ranking of models under the two bases, full lifecycle and steady state (METHOD section 9): medians, their one ratio,
 * rank correlation. Pure functions. */
#ifndef JTOK_ANALYSIS_COMPARE_RANK_H
#define JTOK_ANALYSIS_COMPARE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "model/result.h"

/* Size groups by total parameters: up to 50e9; above that and below 200e9; from 200e9 on. NaN is GROUP_UNKNOWN. */
enum size_group { GROUP_UNKNOWN, GROUP_SMALL, GROUP_MEDIUM, GROUP_LARGE };
extern const char *const size_group_names[5];
enum size_group size_group_of(double total_parameters);

/* The middle value, or the mean of the two middle ones; NaN for n = 0. Values must not be NaN. O(n log n). */
double rank_median(const double *values, size_t n, struct arena *a);

/* Ranks from 1, ties share the mean of their places. O(n log n). */
void rank_average(const double *values, size_t n, struct arena *a, double *ret_ranks);

/* Spearman's rho: the correlation of the average ranks. NaN for n < 2, or where one side has a single rank. O(n log n).
 */
double rank_spearman(const double *x, const double *y, size_t n, struct arena *a);

/* One model of a scenario. */
struct ranking_entry {
    const char *run_id, *model, *engine;
    double total_parameters;
    struct quantity steady, lifecycle;  /* J/token */
    double steady_rank, lifecycle_rank; /* from 1, the lowest energy first; NaN: not formal, or no value */
    const char *why;                    /* not among the n: the reason, a phrase; null: it is */
};

/* The models of one size group. */
struct ranking {
    int group;                     /* enum size_group */
    struct ranking_entry *entries; /* by lifecycle rank, those without one last */
    size_t count;
    int64_t n;                              /* formal entries with both values */
    double median_steady, median_lifecycle; /* over those n, J/token; NaN for n = 0 */
    double ratio;                           /* median lifecycle / median steady */
    double rho;                             /* Spearman's, between the two orders */
};

/* Entries that come with a `why` (not formal) are left out of everything. The others are ranked by each value that they
 * have; those without one of them get a `why`. Fills all but group, entries and count, and sorts the entries.
 * O(n log n). */
void rank_models(struct ranking *k, struct arena *a);

/* A ranking of models out of one run of each. */
struct ranked_runs {
    const char **reasons; /* against ranking them, each a sentence; none: ranked */
    size_t reason_count;
    const char *scenario, *hardware;
    bool simulated;
    struct ranking *groups; /* the size groups that have runs, small to large, unknown last; none where refused */
    size_t group_count;
};

/* Runs of one scenario, request content, hardware, method and analysis, each of another model; else refused. Runs that
 * are not formal stand in the list without a rank. n at least 1. O(n^2). */
void rank_runs(const struct result *runs, size_t n, struct arena *a, struct ranked_runs *ret);

extern const struct schema ranked_runs_schema;

#endif
