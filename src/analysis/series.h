/* A GPU's recorded series as functions of time (METHOD section 2).
 *
 * A `curve` is power, linear between its samples; its integral is the composite trapezoidal rule with interpolated
 * boundaries. A `counter` is energy, linear between its change points. An `energy_curve` is the energy of several GPUs
 * together, whatever it came from. All are immutable once made; memory is the arena's. */
#ifndef JTOK_ANALYSIS_SERIES_H
#define JTOK_ANALYSIS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "model/record.h"

struct curve {
    size_t n;
    int64_t *t_ns; /* strictly ascending */
    double *w;
    double *j; /* integral since t_ns[0] */
};

struct counter {
    size_t n; /* change points */
    int64_t *t_ns, *mj;
    int64_t *still_ns; /* the last reading that still had this value: what lies between it and the next change point is
                          a hole in the readings, or one step of them */
    bool *locked;      /* right to 10 ms rather than 100 ms: read as locked, repeat or boundary */
    int64_t first_ns,
        first_still_ns; /* the first reading, and the last one that still had its value; ABSENT_I64: none */
    int64_t last_ns;    /* the last reading; ABSENT_I64: none */
};

struct gpu_series {
    struct curve grid, boundary, buffer; /* n 0: not recorded */
    struct counter counter;
    int64_t buffer_marked; /* buffer stamps left out: between two clock pairs that disagree by over 1 ms */
};

/* The clock pairs, and the stretches in which realtime was set: between two neighbouring pairs that
 * differ by over 1 ms. */
struct clock_line {
    const struct rec_clock *pairs;
    size_t n;
    struct clock_step {
        int64_t from_ns, to_ns, change_ns;
    } * steps;
    size_t step_count;
};

struct clock_line clock_line_make(const struct rec_clock *clocks, size_t n, struct arena *a);

/* Was the clock set somewhere around t? Both ends of a stretch belong to it. O(steps). */
bool clock_is_stepped(const struct clock_line *c, int64_t t_ns);

/* Series of one GPU; samples that failed are left out, equal stamps keep the first. The nearest clock pair converts a
 * stamp of the buffer; without any pair the buffer is left out. O(samples + clocks), with a factor log where out of
 * order. */
void gpu_series_make(const struct rec_gpu *g, const struct clock_line *clocks, struct arena *a, struct gpu_series *ret);

/* The series of every GPU of a run, in the records' order, on the run's clock. */
struct run_series {
    struct clock_line clocks;
    struct gpu_series *gpus;
    size_t gpu_count;
};
struct run_series run_series_make(const struct records *r, struct arena *a);

/* Index of the last stamp at or before t, or n where there is none. O(log n). */
size_t stamp_before(const int64_t *t_ns, size_t n, int64_t t);

bool curve_covers(const struct curve *c, int64_t a_ns, int64_t b_ns);

/* Power and integral since the first sample, at a covered time. O(log n). */
double curve_power(const struct curve *c, int64_t t_ns);
double curve_energy(const struct curve *c, int64_t t_ns);

/* Longest distance of neighbouring samples that touches (a, b); NaN: none. O(samples inside). */
double curve_gap_s(const struct curve *c, int64_t a_ns, int64_t b_ns);

/* Energy at a time in J above the first change point, at first_change <= t <= last_change. O(log n). */
double counter_energy(const struct counter *c, int64_t t_ns);
bool counter_covers(const struct counter *c, int64_t a_ns, int64_t b_ns);

/* Why the counter says nothing of (a, b), as a phrase in the arena; null: it does. It is void where it goes backward,
 * and where it is read and stands still for over 0.5 s while grid or buffer reads above 1 W (METHOD section 2). A hole
 * in its readings is neither: what was drawn in it is in the next reading. O(samples + change points inside). */
const char *counter_fault(const struct gpu_series *g, int64_t a_ns, int64_t b_ns, struct arena *arena);

/* Never changed over two readings or more: energy 0 between the first and the last. */
bool counter_is_flat(const struct counter *c);

/* Energy of all GPUs together: between the knots i and i + 1 power is w[i] + slope[i] * (t - t[i]). */
struct energy_curve {
    size_t n;
    int64_t *t_ns;
    double *j, *w, *slope; /* slope in W/s; the last knot has none */
};

/* Sums n curves or counters over the stretch that all of them cover, times `scale`. O(n * knots). */
struct energy_curve energy_curve_of_power(const struct curve *const *curves, size_t n, double scale, struct arena *a);
struct energy_curve energy_curve_of_counters(const struct counter *const *counters, size_t n, struct arena *a);

#endif
