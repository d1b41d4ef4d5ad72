#include <assert.h>
#include <math.h>
#include "store/request_set.h"

/* log and exp with nothing but + - x / : libm's choose variants by processor and differ in the last bit, and a rounded
 * length would now and then differ with them. Both are right to about 1e-15 relative; x86-64 and the build's flags give
 * no fused operation. */

static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;

/* ln of a normal double above 0: x = m 2^k, m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m - 1) / (m + 1)), by its
 * series. */
static double own_log(double x)
{
    int k;
    double m = frexp(x, &k), s, s2, sum = 0;
    if (m < 0.70710678118654752) {
        m *= 2;
        k--;
    }
    s = (m - 1) / (m + 1);
    s2 = s * s;
    for (int i = 23; i >= 1; i -= 2)
        sum = sum * s2 + 1.0 / i;
    return k * ln2_high + (2 * s * sum + k * ln2_low);
}

/* e^x for |x| < 700: x = k ln 2 + r, |r| <= ln 2 / 2, by the series of e^r. */
static double own_exp(double x)
{
    double k = floor(x / 0.6931471805599453 + 0.5);
    double r = (x - k * ln2_high) - k * ln2_low, sum = 1;
    for (int i = 18; i >= 1; i--)
        sum = 1 + r * sum / i;
    return ldexp(sum, (int)k);
}

/* splitmix64's output function: mixes 64 bits. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t splitmix64(uint64_t *state)
{
    return mix(*state += 0x9e3779b97f4a7c15u);
}

/* In (-1, 1): the top 53 bits, at the middle of their step. */
static double uniform(uint64_t *state)
{
    return ((double)(splitmix64(state) >> 11) + 0.5) * 0x1p-52 - 1;
}

static double normal(uint64_t seed, size_t i)
{
    uint64_t state = mix(seed) + mix((uint64_t)i + 1);
    for (;;) {
        double u = uniform(&state), v = uniform(&state), s = u * u + v * v;
        if (s > 0 && s < 1)
            return u * sqrt(-2 * own_log(s) / s);
    }
}

int64_t request_length(const struct plan_lengths *l, size_t i)
{
    assert(l->kind != LENGTH_LOGNORMAL || l->median >= 1);
    double tokens;
    if (l->kind != LENGTH_LOGNORMAL)
        return l->tokens;
    /* Bounded before it becomes an integer: |z| < 9 and sigma <= 10 keep exp in range. */
    tokens = floor(l->median * own_exp(l->sigma * normal((uint64_t)l->seed, i)) + 0.5);
    if (l->max != ABSENT_I64 && tokens > (double)l->max)
        return l->max;
    if (tokens > 1e9)
        return 1000000000;
    return tokens < (double)l->min ? l->min : (int64_t)tokens;
}
