/* Loads: each with its window, its energy, its requests and its tokens (METHOD section 11).
 *
 * The loads of a run come one after another, and each is looked at by itself, as if its requests were all that the
 * records hold. A request of an open loop counts from its intended time, in everything. */
#ifndef JTOK_ANALYSIS_POINTS_H
#define JTOK_ANALYSIS_POINTS_H

#include "analysis/energy.h"
#include "analysis/lag.h"
#include "base/err.h"
#include "model/result.h"

struct points {
    struct result_point *items; /* one for each load of the plan, whether it began or not */
    size_t n;
    struct result_silence *silences;
    size_t silence_count;
    struct levels levels; /* over all loads together; `gpus` null: none began */
};

/* Where a window lies, in a load whose requests are at hand; ABSENT_I64 and the reason where the load was not reached.
 * `requests`: those of one load with intended times as their submissions. O(requests log requests). */
struct point_load {
    const struct plan_load *plan;
    int64_t start_ns, last_ns, end_ns; /* load_start, load_last, load_end */
    const struct rec_request *requests;
    size_t request_count;
};
struct point_window {
    int64_t from_ns, to_ns;
    const char *why;
};
struct point_window point_window_of(const struct point_load *l, struct arena *a);

/* Mean number of requests in flight over [from, to]: between submission and end. O(requests). */
double point_in_flight(const struct point_load *l, int64_t from_ns, int64_t to_ns);

/* "concurrency 64", "rate 4/s, poisson", with what ends it: "for 60 s", "of 1000 requests". */
const char *point_setting(const struct plan_load *l, struct arena *a);

/* All loads of a run; none where the plan has none. Records in order. False only for records that can't be numbered, as
 * token_chains_make. O(loads * samples + chunks + requests log requests). */
bool points_make(const struct records *r, const struct method *m, const struct run_series *s,
                 const struct meters *meters, struct arena *a, struct points *ret, struct err *e);

#endif
