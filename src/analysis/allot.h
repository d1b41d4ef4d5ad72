/* Usage over the chunks of a request that has no running counts (METHOD section 4).
 *
 * x = n b / sum b over the bytes b, floors, then one more by largest remainder (ties: the earlier); then each chunk at
 * 0 takes one from the chunk with the most (ties: the earlier) while n allows. All b 0: evenly. */
#ifndef JTOK_ANALYSIS_ALLOT_H
#define JTOK_ANALYSIS_ALLOT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All chunks of a request at hand: from bytes to tokens in place. `scratch` holds twice count values. Expected
 * O(count).
 */
void tokens_allot(uint32_t *b, size_t count, uint64_t n, uint64_t *scratch);

/* The same from two passes in order of time, with nothing grouped by request.
 *
 * Chunks of one size have one share and one remainder, so where a request has few sizes all is decided on the number of
 * chunks of each; a second pass gives every chunk its tokens. */
enum { ALLOT_SIZES = 32 };

struct allotment {
    uint16_t of[ALLOT_SIZES]; /* by size: number of chunks; once prepared, their share */
    uint32_t tied, ties;      /* sizes, as bits, of which only the earliest `ties` chunks get one more */
    uint32_t zeros;           /* chunks at 0 that get one, the earliest */
    uint32_t level;           /* nothing stays above it */
    uint32_t once_more;       /* chunks at it that give one away, the earliest */
    uint32_t chunks;
    uint32_t large; /* a chunk of ALLOT_SIZES bytes or more */
};

/* First pass. */
static inline void allot_count(struct allotment *p, uint32_t bytes)
{
    p->chunks++;
    if (bytes < ALLOT_SIZES)
        p->of[bytes]++;
    else
        p->large = 1;
}

/* Between the passes, for n tokens. False: this request is not for it, its chunks have to be grouped. O(sizes). */
bool allot_prepare(struct allotment *p, uint64_t n);

/* Second pass: tokens of the next chunk. Without branches: sizes are as good as random. */
static inline uint32_t allot_next(struct allotment *p, uint32_t bytes)
{
    assert(p);
    uint32_t tie = (p->tied >> bytes) & 1 & (p->ties > 0), x = p->of[bytes] + tie;
    uint32_t filled = (x == 0) & (p->zeros > 0);
    uint32_t over = x >= p->level, gives = over & (p->once_more > 0);
    p->ties -= tie;
    p->zeros -= filled;
    p->once_more -= gives;
    return (over ? p->level : x) + filled - gives;
}

#endif
