/* Numbers that are drawn from a seed, the same on every machine and by every compiler.
 *
 * The generator is splitmix64 (Steele, Lea, Flood 2014). What is drawn for item i (a request, an arrival) begins at a
 * state of its own, draw_start(seed, stream, i): it depends on seed, stream and i alone, not on how much was drawn
 * before. Two streams of one seed have nothing in common. log is jtok's own (only + - x / and sqrt, right to about
 * 1e-15 relative; x86-64 and the build's flags give no fused operation): libm's choose variants by processor, and a
 * rounded length would now and then differ with them. */
#ifndef JTOK_STORE_DRAW_H
#define JTOK_STORE_DRAW_H

#include <stdint.h>

/* Never renumbered: the same plan asks the same with any version. */
enum draw_stream { DRAW_OUTPUT_LENGTHS, DRAW_INPUT_LENGTHS, DRAW_TOKENS, DRAW_PREFIX, DRAW_ARRIVALS };

/* The state from which the numbers of item i come. O(1). */
uint64_t draw_start(uint64_t seed, enum draw_stream stream, uint64_t i);

/* 64 random bits. */
uint64_t draw_bits(uint64_t *state);

/* In (-1, 1): the middles of 2^53 equal steps, never 0. */
double draw_symmetric(uint64_t *state);

/* A whole number from `least` to `most`, each equally likely to 2^-53 of their number; most - least < 2^50. */
int64_t draw_between(uint64_t *state, int64_t least, int64_t most);

/* A standard normal, by Marsaglia's polar method: the first of its two values. |z| < 9. */
double draw_normal(uint64_t *state);

/* An exponential with mean 1: -ln of a uniform in (0, 1). */
double draw_exponential(uint64_t *state);

/* ln x of a normal double above 0, and e^x for |x| < 700. */
double draw_log(double x);
double draw_exp(double x);

#endif
