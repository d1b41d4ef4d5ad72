/* Tokens of a chunk (METHOD section 4), and the token chunks of each request as a chain.
 *
 * Chunks come in order of time. Beside them this needs 8 bytes a chunk, in the same order: its tokens, and the place of
 * the same request's next one. So a pass in order of time reads straight on, and knows the gap that follows each chunk;
 * nothing is sorted. Token chunks of one request with equal stamps are merged into the first of them. */
#ifndef JTOK_ANALYSIS_TOKENS_H
#define JTOK_ANALYSIS_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "model/record.h"
#include "model/result.h"

/* One request's token chunks, only if it succeeded. */
struct token_chain {
    int64_t first_ns, last_ns; /* token chunks; ABSENT_I64: none */
    int64_t tokens;            /* n, by usage */
    int64_t first_tokens;      /* that arrived at first_ns: k1 */
    int64_t chunks;            /* token chunks, before merging */
    bool success;
    bool generates;   /* two distinct token times or more */
    bool by_interval; /* n - k1 < n/2: `gap` treats it as `interval` */
    bool running;     /* tokens by running counts, else allotted */
};

struct token_chains {
    const struct rec_chunk *chunks; /* in order of (time, request) */
    size_t chunk_count;
    const struct rec_request *requests; /* in order of id */
    size_t request_count;
    uint32_t first_id;          /* of the first request: 0, or where a load's begin */
    const uint32_t *row_of;     /* by id less first_id; null: that is the row */
    uint64_t row_limit;         /* ids at or above first_id + row_limit have no row, like those below first_id */
    struct token_chain *chains; /* one for each request, by row */
    uint32_t *tokens; /* of each chunk, merged ones in the first; 0 for all but token chunks of successful requests */
    uint32_t *next;   /* of such a chunk: place of the request's next stamp, 0: it was the last; of others CHAIN_SKIP */
    uint64_t token_chunks, stray_chunks; /* of successful requests; of requests that are not there */
    uint64_t shared_stamps, read_stamps, merged_chunks;
    int64_t largest, largest_later; /* tokens of one chunk, of all and of those beyond the first; -1: none */
    int64_t merged_limit;           /* a stamp with more tokens of one request than this holds merged arrivals */
    int64_t merged_tokens;          /* in such stamps beyond each request's first one, or in its only one */
    int64_t later_tokens;           /* all tokens beyond each request's first stamp, and those in only ones */
    enum token_source source;
};

/* In `next` of a chunk that was merged into an earlier one, or is no token chunk of a successful request. */
#define CHAIN_SKIP       UINT32_MAX
#define CHAIN_CHUNKS_MAX (UINT32_MAX - 1)

#define CHAIN_NONE UINT32_MAX

/* Row of a request, or CHAIN_NONE. */
static inline uint32_t token_chains_row(const struct token_chains *s, uint32_t id)
{
    uint32_t at = id - s->first_id; /* an id below it is far above the limit */
    if (id < s->first_id || at >= s->row_limit)
        return CHAIN_NONE;
    return s->row_of ? s->row_of[at] : at;
}

/* Output tokens of all successful requests, by usage. O(requests). */
int64_t token_chains_output(const struct token_chains *s);

/* Gives every token chunk of a successful request its tokens. Records in order (model/record_order.h), shared with
 * *ret. False with over 2^31 chunks. O(chunks + requests). */
bool token_chains_make(const struct records *r, const struct method *m, struct arena *a, struct token_chains *ret,
                       struct err *e);

#endif
