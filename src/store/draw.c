#include "store/draw.h"

#include <math.h>
#include "base/must.h"

static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;

/* x = m 2^k, m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m - 1) / (m + 1)), by its series. */
double draw_log(double x)
{
    int k;
    double m = frexp(x, &k);
    if (m < 0.70710678118654752) {
        m *= 2;
        k--;
    }
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
    for (int i = 23; i >= 1; i -= 2)
        sum = sum * s2 + 1.0 / i;
    return k * ln2_high + (2 * s * sum + k * ln2_low);
}

/* x = k ln 2 + r, |r| <= ln 2 / 2, by the series of e^r. */
double draw_exp(double x)
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

uint64_t draw_start(uint64_t seed, enum draw_stream stream, uint64_t i)
{
    uint64_t begin = mix(seed);
    return (stream == DRAW_OUTPUT_LENGTHS ? begin : mix(begin + (uint64_t)stream)) + mix(i + 1);
}

uint64_t draw_bits(uint64_t *state)
{
    return mix(*state += 0x9e3779b97f4a7c15u);
}

double draw_symmetric(uint64_t *state)
{
    return ((double)(draw_bits(state) >> 11) + 0.5) * 0x1p-52 - 1;
}

int64_t draw_between(uint64_t *state, int64_t least, int64_t most)
{
    must(least <= most);
    double u = (double)(draw_bits(state) >> 11) * 0x1p-53; /* [0, 1) */
    int64_t above = (int64_t)(u * ((double)(most - least) + 1));
    return least + (above > most - least ? most - least : above);
}

double draw_normal(uint64_t *state)
{
    for (;;) {
        double u = draw_symmetric(state), v = draw_symmetric(state), s = u * u + v * v;
        if (s > 0 && s < 1)
            return u * sqrt(-2 * draw_log(s) / s);
    }
}

double draw_exponential(uint64_t *state)
{
    return -draw_log(((double)(draw_bits(state) >> 11) + 0.5) * 0x1p-53);
}
