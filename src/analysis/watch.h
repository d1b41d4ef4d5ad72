/* A service under its users' load (METHOD section 11): tokens by the engine's own count, energy between the arrivals of
 * its first and its last reading. Pure. */
#ifndef JTOK_ANALYSIS_WATCH_H
#define JTOK_ANALYSIS_WATCH_H

#include "analysis/energy.h"
#include "analysis/stages.h"
#include "model/record.h"
#include "model/result.h"

/* Two readings, and what the engine counted between the arrivals of their answers. */
struct watch_count {
    const struct rec_metrics *first, *last;     /* null: there is no reading at that end */
    double duration_s, tokens, input, requests; /* NaN: not known */
    bool at_end;                                /* a request's tokens are counted when it ends */
};

/* Of the readings whose answers arrived exactly then. O(scrapes + facts). */
struct watch_count watch_count_between(const struct records *r, int64_t from_ns, int64_t to_ns);

/* How far the count may be from the tokens that were generated between both readings, which are there; NaN: that can't
 * be told. */
double watch_edge_tokens(const struct watch_count *c);

/* [window_start, window_end], or why there is no window. O(boundaries). */
struct bounds watch_bounds(const struct records *r);

/* The one point of a watch, from its window as measured (STAGE_WINDOW, its energy by the counter). What only a client
 * knows is absent. J/token's instrument doubt has the edge of its tokens: each reading may be off by its own length
 * times the token rate, or, where the engine counts at a request's end, by the tokens in flight. Times and texts are of
 * the records and the arena. O(scrapes + facts). */
struct result_point watch_point(const struct records *r, const struct result_stage *window, struct arena *a);

#endif
