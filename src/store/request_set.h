/* Request sets: JSON Lines, one prompt a line, plain or gzip or zstd.
 *
 * A line is an object with either "prompt" (a string) or "messages" (a chat: a list of objects with "role" and
 * "content"); other keys are ignored, empty lines skipped. Both are kept as the JSON that stands in the file, so what
 * is sent is byte for byte what was written. A count above the file's repeats it in order.
 *
 * Forced lengths. Request i of a log-normal has max_tokens = clamp(floor(median x exp(sigma x z_i) + 1/2), min, max),
 * z_i a standard normal from a generator of its own: splitmix64 (Steele, Lea, Flood 2014) from state mix(seed) + mix(i
 * + 1), two uniforms in (-1, 1) of 53 bits a try, by Marsaglia's polar method, the first of its two values. So a
 * request's length depends on seed and i alone, not on the count; log and exp are jtok's own (only + - x / and sqrt),
 * the same on every machine. */
#ifndef JTOK_STORE_REQUEST_SET_H
#define JTOK_STORE_REQUEST_SET_H

#include <stdint.h>
#include "base/buf.h"
#include "model/plan.h"
#include "store/problems.h"
#include "text/digest.h"

struct request_row {
    struct span prompt;   /* raw JSON string with its quotes; empty where the row has messages */
    struct span messages; /* raw JSON array; empty where the row has a prompt */
    uint64_t digest;      /* of the decoded prompt, or of the messages' bytes; never 0. Equal prompts, equal digests */
    size_t line;
};

struct request_set {
    struct request_row *rows; /* as in the file */
    size_t row_count;
    size_t count;             /* requests to send: request i is rows[i % row_count] */
    int64_t *max_tokens;      /* one a request; ABSENT_I64: none is sent */
    size_t repeated_prompts;  /* requests whose prompt an earlier one had */
    int64_t total_max_tokens; /* sum of max_tokens, ABSENT_I64 where any is absent */
    char sha256[DIGEST_HEX];  /* of the file's bytes, as stored */
    struct buf text;          /* what the spans point into */
};

/* Loads plan->requests.file by the plan's api, count and lengths. Faults of lines go to `p` (the first 20, then their
 * number); an empty set is one. O(bytes). */
bool request_set_load(struct request_set *s, const struct plan *plan, struct problems *p);
void request_set_done(struct request_set *s);

static inline const struct request_row *request_set_row(const struct request_set *s, size_t i)
{
    return &s->rows[i % s->row_count];
}

/* max_tokens of request i by the plan; ABSENT_I64: none. Lengths must have passed plan_check. */
int64_t request_length(const struct plan_lengths *l, size_t i);

#endif
