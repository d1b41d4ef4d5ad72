/* Energy of a stretch of time by every instrument, with its doubts (METHOD section 2). */
#ifndef JTOK_ANALYSIS_ENERGY_H
#define JTOK_ANALYSIS_ENERGY_H

#include "analysis/doubt.h"
#include "analysis/fit.h"
#include "analysis/series.h"
#include "model/result.h"

/* The instruments of a run. */
struct meters {
    const struct gpu_series *gpus;
    size_t gpu_count;
    double grid_period_s;
    double sensor_share;    /* 0.06: the calibration's assumed limit */
    double sensor_floor_w;  /* 5 W where the limit is assumed, 0 where a calibration replaces it */
    int64_t from_ns, to_ns; /* service_start to release_end: where `precise` holds; ABSENT_I64: nowhere */
    const struct fit *fits; /* of each GPU */
};

/* The instruments as recorded, not fitted: without `precise`, for want of bounds. */
struct meters meters_make(const struct run_series *s, const struct plan *plan, struct arena *arena);

/* The same fitted on [service_start, `fit_to_ns`]; `to_ns` is release_end, or the end of the watch where the release
 * did not close, which may lie behind what the series cover. O(GPUs * 35 samples). */
struct meters meters_fitted(struct meters m, int64_t from_ns, int64_t to_ns, int64_t fit_to_ns, struct arena *arena);

/* A stretch and the series that counts in it. */
struct part {
    int64_t from_ns, to_ns;
    enum series_id series;
};

/* What is to be measured. */
struct measure {
    int64_t from_ns, to_ns;
    bool sampled; /* a startup, formal stage or lifecycle: where nothing better covers it, its grid may be doubted by
                     successive differences */
    enum series_id headline;
    const struct part *parts; /* null, or the whole run's parts, whose sum is the headline */
    size_t part_count;
    const char *not_closed; /* null, or why all of it is the energy so far and no more */
};

/* Energy of all GPUs together by every instrument, and of each GPU where ret_rows (gpu_count rows) is not null. GPUs
 * without a value make the sum absent, with their reason. O(samples inside). */
struct energy_set meters_energy(const struct meters *m, const struct measure *what, struct result_stage_gpu *ret_rows,
                                struct arena *arena);

/* Of a window that begins or ends in a jump of power (METHOD section 11): adds what the buffer may miss of its ends to
 * the doubts of buffer, precise and grids, and to the headline's where that is none of the counter's. */
void energy_widen(struct energy_set *e, double edge_j);

/* The counter's doubt in a window that begins and ends in a jump of power (METHOD section 11): what it does not see of
 * them is lost at both ends alike, and adds. Known: its difference from `precise`, with its sign; rest: the doubt of
 * `precise`. Without that, the two ends linearly, which are at most the root of 2 times their root. */
struct counter_doubt {
    double known, rest;
};
struct counter_doubt energy_between_jumps(const struct energy_set *e);

/* What the buffers may miss of them on all GPUs together: the root of the squares. */
double meters_ends_j(const struct meters *m, int64_t from_ns, int64_t to_ns);

/* Widens each GPU's row, and all together. O(GPUs * samples). */
void meters_widen(const struct meters *m, int64_t from_ns, int64_t to_ns, struct result_stage_gpu *rows,
                  struct energy_set *all);

#define METERS_ALL SIZE_MAX

/* Sum of up to three parts over all GPUs (`gpu` METERS_ALL), or of one. Known differences are added with their
 * signs. `whole`: the parts are all of [service_start, release_end], so what is left of `precise` is one term for all
 * of them. The calibration's limit is taken once, for the sum. Absent where a part is. */
struct quantity meters_parts(const struct meters *m, const struct part *parts, size_t n, bool whole, size_t gpu,
                             struct arena *arena);

/* The value of one series over [a, b], all GPUs together, without its doubt: for many stretches that differ little. NaN
 * where one of them has none. O(GPUs log samples). */
double meters_series_j(const struct meters *m, enum series_id series, int64_t a_ns, int64_t b_ns);

/* The two instruments of a GPU that are furthest apart for their doubts, as a sentence; null: all agree within them.
 * O(GPUs). */
const char *meters_contradiction(const struct result_stage_gpu *rows, size_t n, struct arena *arena);

#endif
