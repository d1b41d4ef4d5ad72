/* A service under its users' load (METHOD section 11): tokens by the engine's own count, energy between the arrivals of
 * its first and its last reading. Pure. */
#ifndef JTOK_ANALYSIS_WATCH_H
#define JTOK_ANALYSIS_WATCH_H

#include "analysis/energy.h"
#include "analysis/stages.h"
#include "model/record.h"
#include "model/result.h"

/* [window_start, window_end], or why there is no window. O(boundaries). */
struct bounds watch_bounds(const struct records *r);

/* The one point of a watch, from its window as measured (STAGE_WINDOW, its energy by the counter). What only a client
 * knows is absent. J/token's instrument doubt has the edge of its tokens: each reading may be off by its own length
 * times the token rate, or, where the engine counts at a request's end, by the tokens in flight. Times and texts are of
 * the records and the arena. O(scrapes + facts). */
struct result_point watch_point(const struct records *r, const struct result_stage *window, struct arena *a);

#endif
