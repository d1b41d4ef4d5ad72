/* Ranking of models under the two bases (METHOD section 9): medians, their one ratio, rank correlation. Pure functions.
 */
#ifndef JTOK_ANALYSIS_COMPARE_RANK_H
#define JTOK_ANALYSIS_COMPARE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "model/quantity.h"

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

/* One model of a scenario; only formal runs belong here. */
struct ranking_entry {
    const char *model;
    double total_parameters;
    struct quantity steady, lifecycle; /* J/token */
};

struct ranking {
    size_t n;                               /* entries with both values */
    double median_steady, median_lifecycle; /* over those n; NaN for n = 0 */
    double ratio;                           /* median lifecycle / median steady */
    double rho;                             /* between the two orders */
    const char **dropped;                   /* models without both values, each with the reason */
    size_t dropped_count;
};

/* Entries of one scenario and one size group (a mixed list is the caller's fault). O(n log n). */
void rank_models(const struct ranking_entry *entries, size_t n, struct arena *a, struct ranking *ret);

#endif
