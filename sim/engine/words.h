/* What the simulated model says: a pure function of the prompt and the seed, so the same request always gets the same
 * answer of the same length, whenever and beside whatever else it is sent. */
#ifndef JTOK_SIM_ENGINE_WORDS_H
#define JTOK_SIM_ENGINE_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"

/* A 64-bit hash of two numbers. */
uint64_t words_mix(uint64_t a, uint64_t b);

/* In [0, 1), from a hash. */
double words_share(uint64_t hash);

/* Text of token number i of the answer with hash `answer`: a space and three to six letters. */
void words_token(struct buf *b, uint64_t answer, int64_t i);

/* The natural length of an answer: log-normal with this median and sigma 0.8, at least 1. */
int64_t words_length(uint64_t answer, double median);

#endif
