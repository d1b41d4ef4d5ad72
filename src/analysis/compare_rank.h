/* Ranking of models under the two bases, full lifecycle and steady state (METHOD section 9): medians, their one ratio,
 * rank correlation, over all models of a scenario and within size groups. Pure functions. */
#ifndef JTOK_ANALYSIS_COMPARE_RANK_H
#define JTOK_ANALYSIS_COMPARE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include "analysis/compare_same.h"

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

/* One model on one engine: its run, or the mean over repetitions. */
struct ranking_entry {
    const char **ids; /* of the runs in the mean; of a model without a formal run, its runs */
    size_t id_count;
    const char *model, *engine;
    const char *thinking; /* what was asked of it, or how its server was set; null: nobody says */
    double total_parameters;
    int64_t n;                          /* runs in the mean; 0: none is formal */
    struct quantity steady, lifecycle;  /* J/token */
    double steady_rank, lifecycle_rank; /* from 1, the lowest energy first; NaN: not formal, no value, size unknown */
    const char *why;                    /* without a rank or in no median: the reason, a phrase; null: neither */
};

struct rank_figures {
    int64_t n;                              /* formal entries with both values */
    double median_steady, median_lifecycle; /* over those n, J/token; NaN for n = 0 */
    double ratio;                           /* median lifecycle / median steady */
    double rho;                             /* Spearman's, between the two orders */
};

/* The models of one size group. In the group of unknown size none has a rank, and there are no figures. */
struct ranking {
    enum size_group group;
    struct ranking_entry *entries; /* by lifecycle rank, those without one last */
    size_t count;
    struct rank_figures figures;
};

/* Entries with n = 0 are left out of everything. The others are ranked by each value that they have; those without one
 * of them get a `why`. Fills ranks and figures, and sorts the entries. O(n log n). */
void rank_models(struct ranking *k, struct arena *a);

/* Over any entries, those of unknown size too. */
struct rank_figures rank_figures_of(const struct ranking_entry *entries, size_t n, struct arena *a);

/* A run that is in no median. */
struct ranking_drop {
    const char *run_id, *model, *why;
};

/* A ranking of models out of their runs. */
struct ranked_runs {
    struct sentences reasons; /* against ranking them; none: ranked */
    struct sentences notes;
    const char *scenario, *hardware;
    bool simulated;
    const char *caveat;      /* stands under every ranking */
    int64_t ranked;          /* entries with a rank */
    struct rank_figures all; /* over all models of the scenario */
    struct ranking *groups;  /* the size groups that have runs, small to large, unknown last; none where refused */
    size_t group_count;
    struct ranking_drop *dropped;
    size_t dropped_count;
};

/* Formal runs of one scenario, work, machine, method and analysis; several of one model on one engine must be
 * repetitions; else refused. Runs that are not formal are listed without a rank; where every request was refused by
 * the engine as one that it can't serve, the task is *not applicable* to the model. n at least 1. O(n^2). */
void rank_runs(const struct compare_run *runs, size_t n, struct arena *a, struct ranked_runs *ret);

extern const struct schema ranked_runs_schema;

#endif
