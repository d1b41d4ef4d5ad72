/* Energy of a stretch of time by every instrument, with both uncertainties (METHOD section 2). */
#ifndef JTOK_ANALYSIS_ENERGY_H
#define JTOK_ANALYSIS_ENERGY_H

#include "analysis/series.h"
#include "model/result.h"

/* The instruments of a run. */
struct meters {
    const struct gpu_series *gpus;
    size_t gpu_count;
    double grid_period_s;
    double sensor_share;     /* 0.06: absolute limit */
    double sensor_floor_w;   /* 5 W where the limit is assumed, 0 where a calibration replaces it */
    struct quantity *factor; /* per GPU, of basis `precise`; absent: no such basis */
    struct quantity *lag_s;  /* per GPU, L */
};

/* Fits L and the factor of each GPU on [a, b], service_start to release_end:
 *   L      in 0, 5 ... 150 ms: least sum of (counter step - buffer integral over the step moved back by L)^2
 *   factor (counter(b + L) - counter(a + L)) / buffer integral over [a, b]
 * O(30 * change points * log samples). Memory from `arena`. */
void meters_fit(struct meters *m, int64_t a_ns, int64_t b_ns, struct arena *arena);

/* Energy in [a, b] of all GPUs together, and of each where ret_gpus (gpu_count rows) is not null; the headline and the
 * averages are left to the caller. GPUs without a value make the sum absent, with their reason. */
void meters_energy(const struct meters *m, int64_t a_ns, int64_t b_ns, struct energy_set *ret_sum,
                   struct result_stage_gpu *ret_gpus, struct arena *arena);

/* Sum of stages: values and absolute limits add, instrument as root of the sum of squares. Absent where one is;
 * NOT_CLOSED where one is. */
struct quantity quantity_sum(const struct quantity *const *q, size_t n);

/* q / divisor, with its uncertainties and state; UNDEFINED with `why` where the divisor is not above 0. */
struct quantity quantity_over(const struct quantity *q, double divisor, const char *why);

/* a / b - 1, without a statement of uncertainty. Absent where either is. */
struct quantity quantity_difference(const struct quantity *a, const struct quantity *b);

#endif
