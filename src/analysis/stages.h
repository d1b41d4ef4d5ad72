/* When each stage was, and its energy by every instrument (METHOD sections 2 and 3). */
#ifndef JTOK_ANALYSIS_STAGES_H
#define JTOK_ANALYSIS_STAGES_H

#include "analysis/energy.h"
#include "analysis/release.h"
#include "model/record.h"
#include "model/result.h"

/* Why there is nothing of a formal stage, and nothing of a saturated window. */
extern const char NO_FORMAL[], NO_GENERATION[];
/* The same of a run with loads of its own (METHOD section 11). */
extern const char OF_LOADS[];

/* Where a stage lies; ABSENT_I64, and the reason, where it did not happen. */
struct bounds {
    int64_t from_ns, to_ns;
    const char *why;
};

struct stage_bounds {
    struct bounds baseline, startup, formal, release;
    struct bounds lifecycle; /* startup, formal and release, which touch: there where all three are */
};

/* O(boundaries). */
struct stage_bounds stages_bounds(const struct records *r, const struct release_verdict *release);

/* The instruments, fitted where there are bounds to fit them on. O(samples). */
struct meters stages_meters(const struct run_series *s, const struct plan *plan, const struct stage_bounds *bounds,
                            const struct release_verdict *release, struct arena *a);

/* The last moment, no later than `end` (ABSENT_I64: no limit), that buffer and counter cover, with room for the
 * counter's delay, on every GPU that has both; ABSENT_I64: none has. O(GPUs). */
int64_t stages_last_of_both(const struct meters *m, int64_t end_ns);

/* The first moment that they cover, likewise. O(GPUs). */
int64_t stages_first_of_both(const struct meters *m);

/* The series of a stage's headline (METHOD section 2, Bases). */
enum series_id headline_series(enum headline headline, enum stage_id stage);

/* What a stage is measured by, beside its bounds. */
struct stage_rules {
    enum headline headline;
    const char *not_closed; /* null, or why the release is not: of its energy, and of the lifecycle's */
};

/* One stage as a whole. Where it did not happen, all of it is absent: NOT_REACHED of a steady window, UNDEFINED of a
 * saturated one, else NOT_RECORDED. O(samples inside). */
struct result_stage stage_measure(const struct meters *m, enum stage_id stage, const struct bounds *b,
                                  const struct stage_rules *rules, const struct records *r, struct arena *a);

/* What the stages took. */
struct energies {
    struct result_stage baseline, startup, formal, release, lifecycle;
    struct quantity fixed_j;         /* startup and release together: what a service costs before and after it serves */
    struct quantity first_in_band_j; /* release energy, had its first sample in band been the recovery */
    struct result_phase *phases;     /* of the startup */
    size_t phase_count;
};

/* O(samples). */
struct energies stages_measure(const struct meters *m, const struct stage_bounds *bounds,
                               const struct release_verdict *release, enum headline headline, const struct records *r,
                               struct arena *a);

#endif
