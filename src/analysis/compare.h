/* Two set-ups side by side, by the rules of METHOD section 9.
 *
 * A side is one run or several repetitions of one plan. Only formal runs that form a pair are compared, or valid ones
 * of one object (section 11): these load by load, of the loads that both sides have. Otherwise every reason against it
 * is named and nothing is subtracted. Steady-state and full-lifecycle values share a unit and not a boundary: no row
 * mixes them. Whether two set-ups differ is decided between runs alone, from COMPARE_DECIDES runs on each side: the
 * instrument's doubt and the calibration say how well each reading is known, not how far the next run may be away. */
#ifndef JTOK_ANALYSIS_COMPARE_H
#define JTOK_ANALYSIS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include "analysis/compare_same.h"
#include "analysis/sample.h"

enum { COMPARE_DECIDES = 3 };

/* Which doubts and flags a metric has. GOOD: there is none without a limit that a good request keeps. */
enum metric_kind { METRIC_ENERGY, METRIC_STEADY, METRIC_TTFT, METRIC_TPOT, METRIC_OTHER, METRIC_GOOD };

struct compare_metric {
    const char *key; /* stable: "formal_j_per_token" */
    const char *name, *unit;
    enum metric_kind kind;
    const char *path; /* of its quantity in result.json: "load.ttft_s.p50"; of a load's, in one of its points */
    int objects;      /* of a load's: which have it, bits of 1 << enum run_object */
};
enum { COMPARE_METRICS = 15, COMPARE_LOAD_METRICS = 14 };
extern const struct compare_metric compare_metrics[COMPARE_METRICS]; /* of formal runs */
/* Of a load, of what a watch saw, or of a command. What is the same in both tables has the same key. */
extern const struct compare_metric compare_load_metrics[COMPARE_LOAD_METRICS];

/* What Welch's interval says of b against a. NONE: too few runs, or no value. */
enum compare_verdict { COMPARED_NONE, COMPARED_ALIKE, COMPARED_LOWER, COMPARED_HIGHER };
extern const char *const compare_verdict_names[5];

/* The doubt between runs of b over a. */
struct between_runs {
    double low, high; /* Welch's 95 % interval of the ratio; NaN under two runs on a side */
    int64_t degrees;  /* of freedom; ABSENT_I64 likewise */
    double p;         /* of the permutation test: shown, decides nothing */
    double p_least;   /* the least that it can be for so many runs */
};

struct comparison_row {
    const char *key, *metric, *unit;
    struct quantity a, b;         /* mean over the runs of a side, with the mean of their doubts */
    struct sample a_runs, b_runs; /* over the runs */
    struct quantity difference;   /* b - a */
    struct quantity ratio;        /* b / a; with several runs of the geometric means */
    struct between_runs between;
    enum compare_verdict verdict;
    const char *why; /* not compared: the reason; null: it is compared */
};

/* One load of both sides. */
struct compared_load {
    int64_t number;                    /* in the comparison, from 0 */
    const char *setting;               /* "concurrency 64, for 60 s" */
    const char *b_setting;             /* where it is shown beside another one; null: the same */
    struct quantity answer_difference; /* of output tokens per request, of the two runs that are farthest apart */
    const char *why;                   /* not compared: the reason; null: it is */
    struct comparison_row *rows;       /* none where it is not compared */
    size_t row_count;
};

struct comparison {
    const char **a_ids, **b_ids; /* of the runs */
    size_t a_count, b_count;
    struct sentences reasons;            /* against comparing; none: compared */
    struct sentences notes;              /* for the reader of a comparison that stands */
    bool same_boards;                    /* same GPU UUIDs on all: the calibration cancels in ratios */
    struct quantity tokens_difference;   /* |T1 - T2| / max(T1, T2), of the two runs that are farthest apart */
    const char *order;                   /* of the runs in time, "ABBA"; null: not recorded */
    bool in_turn;                        /* a drift of the machine would cancel: see compare_in_turn */
    struct plan_differences differences; /* between the plans of both sides' first runs */
    int64_t compared;                    /* metrics that have a verdict */
    double chance;                       /* 1 - 0.95^compared: of some false difference among them */
    enum run_object object;              /* of both; absent: formal runs, or runs of two objects */
    bool anyway;                         /* reasons stand against it: values side by side, and nothing is subtracted */
    struct comparison_row *rows;         /* of formal runs: COMPARE_METRICS; absent where refused */
    size_t row_count;
    struct compared_load *loads; /* of others: the loads that both sides have */
    size_t load_count;
};

/* x: runs of one set-up, y: of another; n and m at least 1. The runs of a side must be repetitions of its first.
 *
 * Doubts: of a difference and of a ratio, the instrument's by the root of the sum of squares of both sides; the
 * calibration on the same boards is one common factor: it scales the difference and cancels in the ratio; on other
 * boards both are added. Fills *ret; its memory is the arena's. O((n + m) plan + splits of the permutation test). */
void compare_sides(const struct compare_run *x, size_t n, const struct compare_run *y, size_t m, struct arena *a,
                   struct comparison *ret);

/* The same, but where it is refused the values of both sides stand side by side, with the reasons: no difference, no
 * ratio and no verdict. Loads that are not the same are then shown by kind, in order. */
void compare_anyway(const struct compare_run *x, size_t n, const struct compare_run *y, size_t m, struct arena *a,
                    struct comparison *ret);

/* Were the runs of two sides taken in turn? `order` is one letter a run. Their mean places are then apart by at most
 * half of what they are when all of one side come first. O(runs). */
bool compare_in_turn(const char *order);

extern const struct schema comparison_schema;

#endif
