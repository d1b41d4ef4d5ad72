/* Inter-token latencies: order statistics of weighted gaps, without keeping or sorting all of them. */
#ifndef JTOK_ANALYSIS_GAPS_H
#define JTOK_ANALYSIS_GAPS_H

#include "analysis/tokens.h"
#include "model/result.h"

/* Where the tokens of all chunks are known by running counts: each of a chunk's k tokens has the k-th part of the gap
 * to the request's token chunk before it. Else the gaps themselves. Gaps with a shared stamp at either end are left
 * out. Exact: a first pass counts gaps in buckets of 1/1024 of their size, a second one sorts the few buckets that hold
 * the wanted ranks. O(chunks). */
struct percentiles gaps_percentiles(const struct token_chains *s, bool per_token);

#endif
