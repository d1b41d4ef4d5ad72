/* Requests of others on a service that runs already, by what the engine counts beside jtok's own (METHOD section 11).
 * Pure. */
#ifndef JTOK_ANALYSIS_OTHERS_H
#define JTOK_ANALYSIS_OTHERS_H

#include "analysis/tokens.h"
#include "model/record.h"
#include "model/result.h"

/* In the window [from, to] of a load whose requests are `ours`, with `in_flight` of them on average. Token share: what
 * the engine counted between its first and its last reading, less the tokens that arrived between those; its instrument
 * doubt is what both readings may be off by. Requests: the mean of running and waiting over the readings, less
 * `in_flight`; its doubt is twice the standard error of that mean. Texts are constants. O(scrapes + chunks). */
struct result_point_others others_in_window(const struct records *r, const struct token_chains *ours, int64_t from_ns,
                                            int64_t to_ns, double in_flight);

/* Mean number running or waiting over the readings in [from, to], where jtok sends nothing. O(scrapes). */
struct quantity others_in_silence(const struct records *r, int64_t from_ns, int64_t to_ns);

/* Why a load's J/token is not its own; null: it is. Of the arena. */
const char *others_fault(const struct result_point_others *x, struct arena *a);

#endif
