/* Random prompts: token ids, as many as the plan says (requests.random), with no tokenizer and no file.
 *
 * Prompt i has random_prompt_tokens(r, i) ids. The first prefix_tokens of them are the same in all prompts; the others
 * are prompt i's own, so no two prompts share more than the prefix but by chance. Each id is drawn from [first_id,
 * last_id], all equally likely (store/draw.h: stream DRAW_PREFIX at 0, stream DRAW_TOKENS at i). So a prompt depends on
 * seed, lengths, the range of ids and i alone: any i has one, and a long load never repeats one. */
#ifndef JTOK_STORE_RANDOM_PROMPTS_H
#define JTOK_STORE_RANDOM_PROMPTS_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/plan.h"
#include "schema/problems.h"

enum { RANDOM_COUNT = 1000 }; /* requests of the set where the plan's loads say how many are sent */

/* Tokens of prompt i. O(1). */
int64_t random_prompt_tokens(const struct plan_random *r, size_t i);

/* Appends prompt i as a JSON array of whole numbers, without white space. O(tokens). */
void random_prompt_put(const struct plan_random *r, size_t i, struct buf *out);

/* "random 1024 in, 512..2048 out": what is asked, for people. Of the arena. */
const char *random_prompts_name(const struct plan_requests *q, struct arena *a);

/* What no single key shows: neither a file nor random prompts or both, lengths that lack their numbers, a prefix that
 * leaves no room, another API. Part of plan_check. */
void random_prompts_check(const struct plan *plan, struct problems *p);

#endif
