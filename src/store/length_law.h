/* How a number of tokens is chosen for each request: the same law for answers (requests.lengths) and for random prompts
 * (requests.random.input).
 *
 * fixed: tokens. uniform: each of min..max equally likely. normal: clamp(floor(mean + sd z + 1/2), min, max).
 * log-normal: clamp(floor(median exp(sigma z) + 1/2), min, max). z is a standard normal (store/draw.h); request i's
 * depends on seed and i alone, not on the count. */
#ifndef JTOK_STORE_LENGTH_LAW_H
#define JTOK_STORE_LENGTH_LAW_H

#include "base/arena.h"
#include "model/plan.h"
#include "schema/problems.h"

enum { OUTPUT_TOKENS_MAX = 1000000000, INPUT_TOKENS_MAX = 10000000 }; /* the ranges of their keys */

enum law_kind { LAW_NONE, LAW_FIXED, LAW_UNIFORM, LAW_NORMAL, LAW_LOGNORMAL };

struct length_law {
    enum law_kind kind; /* LAW_NONE: nothing is chosen; tokens may hold a limit */
    int64_t tokens;
    double median, sigma, mean, sd;
    int64_t min, max; /* max ABSENT_I64: none */
};

struct length_law length_law_of_output(const struct plan_lengths *l);
struct length_law length_law_of_input(const struct plan_input *l);

/* The length that `state` (store/draw.h) gives, `most` at most; ABSENT_I64 with LAW_NONE. The law has passed its check.
 * O(1). */
int64_t length_law_draw(const struct length_law *l, uint64_t state, int64_t most);

/* Problems of keys below `at` ("requests.lengths"): numbers that the law needs and that are absent, bounds that cross,
 * tokens beside a law that draws. */
void length_law_check(const struct length_law *l, const char *at, struct problems *p);

/* As the command line has it: "1024", "512..2048", "normal:1024,200,1..4096"; LAW_NONE: "natural", or "up to 1024". Of
 * the arena. */
const char *length_law_text(const struct length_law *l, struct arena *a);

/* The reverse, as settings of a plan: "KIND=VALUE" below `at`, all keys of the law, those that it has not at their
 * default. A text of another form is taken for the number of a fixed length, whose key says what is wrong with it.
 * Null-terminated, of the arena. */
const char *const *length_law_settings(const char *text, const char *at, struct arena *a);

#endif
