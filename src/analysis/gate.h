/* A gate: may one metric, named beforehand, have risen (or fallen) by so much? METHOD section 9. Pure. */
#ifndef JTOK_ANALYSIS_GATE_H
#define JTOK_ANALYSIS_GATE_H

#include "analysis/compare.h"

enum gate_change { GATE_RISE, GATE_FALL };
extern const char *const gate_change_names[3];

enum gate_outcome { GATE_UNDECIDED, GATE_PASSED, GATE_FAILED, GATE_REFUSED };
extern const char *const gate_outcome_names[5];

struct gate {
    /* the rule */
    const char *metric;      /* key of one of compare_metrics or compare_load_metrics */
    const char *load;        /* of runs with loads: which, "concurrency=64" or its number; null: the only one */
    enum gate_change change; /* of the candidate against the base */
    double limit;            /* 0.05: by 5 % */
    double spread;           /* stated spread between runs, k = 1, as a share; NaN: none is stated */
    /* what came out */
    enum gate_outcome outcome;
    double value;         /* the change as a share; NaN: not compared */
    double low, high;     /* its interval; NaN: there is none */
    const char *interval; /* how that came about; null: there is none */
    const char *why;      /* a sentence: why this outcome */
    struct comparison comparison;
};

/* Judges g->comparison, which is filled, by the rule in *g. REFUSED: the runs may not be compared, or the rule names no
 * one value of them; `why` says which. PASSED: the upper end of the interval is under the limit.
 * FAILED: its lower end is over it. From COMPARE_DECIDES runs a side the interval is Welch's; with fewer it is ratio
 * times or over e^(2 s sqrt(1/n + 1/m)) where a spread s is stated, and else there is none: UNDECIDED. */
void gate_judge(struct gate *g, struct arena *a);

/* The metric with this key, of formal runs or of loads; null: there is none. */
const struct compare_metric *gate_metric(const char *key);

extern const struct schema gate_schema;

#endif
