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
    struct fit *fits;       /* of each GPU */
};

/* Fits each GPU on [service_start, `fit_to_ns`]; `to_ns` is release_end, or the end of the watch where the release did
 * not close, which may lie behind what the series cover. O(GPUs * 35 samples). Memory from `arena`. */
void meters_fit(struct meters *m, int64_t from_ns, int64_t to_ns, int64_t fit_to_ns, struct arena *arena);

/* Energy in [a, b] of all GPUs together, and of each where ret_gpus (gpu_count rows) is not null; the headline and the
 * averages are left to the caller. `sampled`: a startup, formal stage or lifecycle, whose grid may be doubted by
 * successive differences where nothing better covers it. GPUs without a value make the sum absent, with their reason.
 */
void meters_energy(const struct meters *m, int64_t a_ns, int64_t b_ns, bool sampled, struct energy_set *ret_sum,
                   struct result_stage_gpu *ret_gpus, struct arena *arena);

/* A stretch and the series that counts in it. */
struct part {
    int64_t from_ns, to_ns;
    int series; /* enum series_id */
};

#define METERS_ALL SIZE_MAX

/* Sum of up to three parts over all GPUs (`gpu` METERS_ALL), or of one. Known differences are added with their
 * signs. `whole`: the parts are all of [service_start, release_end], so what is left of `precise` is one term for all
 * of them. The calibration's limit is taken once, for the sum. Absent where a part is. */
struct quantity meters_parts(const struct meters *m, const struct part *parts, size_t n, bool whole, size_t gpu,
                             struct arena *arena);

/* The value of one series over [a, b], all GPUs together, without its doubt: for many stretches that differ little. NaN
 * where one of them has none. O(GPUs log samples). */
double meters_series_j(const struct meters *m, int series, int64_t a_ns, int64_t b_ns);

/* The two instruments of a GPU that are furthest apart for their doubts, as a sentence; null: all agree within them.
 * O(GPUs). */
const char *meters_contradiction(const struct result_stage_gpu *rows, size_t n, struct arena *arena);

#endif
