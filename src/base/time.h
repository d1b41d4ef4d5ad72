/* Arithmetic of moments and durations in nanoseconds; no clock is read here. */
#ifndef JTOK_BASE_TIME_H
#define JTOK_BASE_TIME_H

#include <stdint.h>

#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)

/* Of a duration that fits (292 years). */
static inline int64_t time_of_seconds(double s)
{
    return (int64_t)(s * 1e9);
}

/* A duration in seconds. */
static inline double time_s(int64_t ns)
{
    return (double)ns * 1e-9;
}

/* Without a sign. */
static inline int64_t time_apart(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
}

static inline int64_t time_later(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

static inline int64_t time_sooner(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

#endif
