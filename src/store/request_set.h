/* Request sets: JSON Lines, one request a line, plain, gzip or zstd, from a file or a pipe (read once).
 *
 * A line is an object with either "prompt" (a string) or "messages" (a chat: a list of objects with "role" and
 * "content"); empty lines are skipped. Both are kept as the JSON that stands in the file. A count above the file's
 * repeats it in order. Of a line's other members:
 *   - max_tokens, max_completion_tokens, output_tokens, output_length: the request's length, where the plan's
 *     requests.lengths.kind is `lines` (the default); else not sent, and told;
 *   - the members of a request's body (temperature, tools, stop, response_format, ...): sent with that request, but for
 *     those that the plan sets for all of them (temperature, top_p, seed, extra_body), which is told;
 *   - n or best_of over 1: an error, as it can't be measured;
 *   - all others (also model, stream and stream_options, which jtok decides): not sent, and told, each name with its
 *     number of lines and the first of them. Null counts as absent.
 * Text that can't be sent as it is, in whatever is sent, is an error with its line and column: bytes that are not UTF-8
 * (anywhere in the line), half a surrogate pair. An escaped NUL is sent: it is JSON, and engines take it.
 *
 * In place of a file a set may be random prompts (store/random_prompts.h): no rows, no text.
 *
 * Forced lengths are drawn by store/length_law.h: a request's length depends on seed and i alone, the same on every
 * machine. */
#ifndef JTOK_STORE_REQUEST_SET_H
#define JTOK_STORE_REQUEST_SET_H

#include <assert.h>
#include <stdint.h>
#include "base/buf.h"
#include "model/plan.h"
#include "schema/problems.h"
#include "text/digest.h"

enum { REQUEST_WARNINGS_MAX = 4 };

struct request_row {
    struct span prompt;   /* raw JSON string with its quotes; empty where the row has messages */
    struct span messages; /* raw JSON array; empty where the row has a prompt */
    struct span extra;    /* JSON object of the line's further members that are sent; empty: none */
    int64_t max_tokens;   /* the line's own length, with kind `lines`; ABSENT_I64 */
    uint64_t digest;      /* of the decoded prompt, or of the messages' bytes; never 0. Equal prompts, equal digests */
    size_t line;
};

/* What request i asks: one of prompt, messages and ids. Valid until `text` is used again. */
struct request_ask {
    struct span prompt;    /* decoded */
    struct span messages;  /* as JSON */
    struct span ids;       /* token ids, as a JSON array */
    struct span extra;     /* as a row's */
    int64_t prompt_tokens; /* of ids; ABSENT_I64: only the engine knows */
    int64_t max_tokens;    /* ABSENT_I64: none is sent */
    uint64_t digest;       /* as a row's; of ids: of the array's text */
};

struct request_set {
    struct request_row *rows; /* as in the file; null: random prompts */
    size_t row_count;
    size_t count;                               /* requests of the set: request i is rows[i % row_count] */
    struct plan_random random;                  /* without rows: what request i is made from, any i */
    struct plan_lengths lengths;                /* of requests beyond `count` */
    int64_t *max_tokens;                        /* one a request; ABSENT_I64: none is sent */
    size_t repeated_prompts;                    /* requests whose prompt an earlier one had */
    int64_t total_max_tokens;                   /* sum of max_tokens, ABSENT_I64 where any is absent */
    bool has_lengths;                           /* some row has a length of its own */
    char sha256[DIGEST_HEX];                    /* of the file's bytes, as they were read */
    struct buf text;                            /* what prompts and messages point into */
    const char *warnings[REQUEST_WARNINGS_MAX]; /* what is not sent, a sentence each */
    size_t warning_count;
};

/* With random prompts: their range of ids must be resolved; without a count the set is RANDOM_COUNT requests. Else:
 * loads plan->requests.file by the plan's api, count, lengths and sampling, reading it once; stop_fd (-1: none)
 * ends the wait for a pipe once it can be read. Faults of lines go to `p`
 * (the first 20, then their number); an empty set is one, and a file that is not JSON Lines (request_form.h). Warnings
 * and the rows' `extra` live in the problems' arena. O(bytes). */
bool request_set_load(struct request_set *s, const struct plan *plan, int stop_fd, struct problems *p);
void request_set_done(struct request_set *s);

/* Of a set from a file. */
static inline const struct request_row *request_set_row(const struct request_set *s, size_t i)
{
    assert(s->row_count > 0 && i < s->count);
    return &s->rows[i % s->row_count];
}

/* Request i, also beyond the set's count: rows repeat with their lengths, random prompts go on. `text` takes what has
 * to be written. O(bytes). */
struct request_ask request_set_ask(const struct request_set *s, size_t i, struct buf *text);

/* max_tokens of request i by the plan; ABSENT_I64: none. Lengths must have passed plan_check. */
int64_t request_length(const struct plan_lengths *l, size_t i);

#endif
