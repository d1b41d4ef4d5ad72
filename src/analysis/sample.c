#include "analysis/sample.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "analysis/order.h"
#include "base/must.h"

/* ---- logarithm and exponential ---- */

/* ln 2 in two parts, the first with 20 zero bits at its end: a multiple of it by an exponent is exact. */
static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x = m 2^e with m from sqrt(1/2) to sqrt(2), and ln m = 2 (s + s^3/3 + s^5/5 ...) with s = (m - 1) / (m + 1), which is
 * below 0.172: the terms left out are below 1e-17 of s. */
double sample_log(double x)
{
    int64_t e = 0;
    if (x < 0x1p-1022) { /* subnormal */
        x *= 0x1p54;
        e = -54;
    }
    uint64_t bits = bits_of(x);
    e += (int64_t)(bits >> 52) - 1023;
    double m = double_of((bits & UINT64_C(0xfffffffffffff)) | UINT64_C(1023) << 52);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    double s = (m - 1) / (m + 1), square = s * s, series = 0;
    for (int k = 21; k >= 1; k -= 2)
        series = series * square + 1.0 / k;
    return (double)e * ln2_high + (2 * s * series + (double)e * ln2_low);
}

/* x = k ln 2 + r with |r| below 0.347, and the power series of e^r; what is left out is below 1e-18. */
double sample_exp(double x)
{
    if (x > 709 || x < -709) /* near the ends of a double, and no value of an interval */
        return x > 0 ? INFINITY : 0;
    double k = floor(x / (ln2_high + ln2_low) + 0.5);
    double r = (x - k * ln2_high) - k * ln2_low, series = 1;
    for (int i = 17; i >= 1; i--)
        series = 1 + series * r / i;
    /* Two factors: 2^k alone may be subnormal where the product is not. */
    int64_t half = (int64_t)k / 2, rest = (int64_t)k - half;
    return series * double_of((uint64_t)(half + 1023) << 52) * double_of((uint64_t)(rest + 1023) << 52);
}

/* ---- Student's t ---- */

double sample_t(int64_t degrees)
{
    must(degrees > 0);
    static const double table[] = {
        12.7062047361747, 4.30265272974946, 3.18244630528371, 2.77644510519779, 2.57058183563632, 2.44691185114497,
        2.36462425159279, 2.30600413520417, 2.26215716279821, 2.22813885198627, 2.20098516009164, 2.17881282966723,
        2.16036865646279, 2.1447866879178,  2.13144954555978, 2.11990529922125, 2.10981557783332, 2.10092204024104,
        2.09302405440831, 2.08596344726586, 2.07961384472768, 2.07387306790403, 2.06865761041905, 2.06389856162803,
        2.0595385527533,  2.05552943864287, 2.05183051648029, 2.04840714179525, 2.0452296421327,  2.04227245630124,
    };
    enum { TABLED = sizeof table / sizeof *table };
    if (degrees <= TABLED)
        return table[degrees - 1];
    /* Cornish and Fisher's expansion about the normal quantile z (Abramowitz and Stegun 26.7.5): off by 3e-8 at 31
     * degrees, less beyond. */
    const double z = 1.9599639845400542, q = z * z, v = 1 / (double)degrees;
    double g1 = z * (q + 1) / 4, g2 = z * ((5 * q + 16) * q + 3) / 96,
           g3 = z * (((3 * q + 19) * q + 17) * q - 15) / 384,
           g4 = z * ((((79 * q + 776) * q + 1482) * q - 1920) * q - 945) / 92160;
    return z + v * (g1 + v * (g2 + v * (g3 + v * g4)));
}

/* ---- mean and spread ---- */

static double mean_of_values(const double *values, size_t n)
{
    assert(n > 0);
    struct sum s = {0};
    for (size_t i = 0; i < n; i++)
        sum_add(&s, values[i]);
    return sum_value(&s) / (double)n;
}

/* Sample variance; n from 2 on. */
static double variance_of(const double *values, size_t n, double mean)
{
    assert(n > 1);
    struct sum squares = {0};
    for (size_t i = 0; i < n; i++)
        sum_add(&squares, (values[i] - mean) * (values[i] - mean));
    return sum_value(&squares) / (double)(n - 1);
}

struct sample sample_of(const double *values, size_t n)
{
    must(n == 0 || values);
    const double none = __builtin_nan("");
    struct sample s = {(int64_t)n, n ? mean_of_values(values, n) : none, none, none, none};
    if (n < 2)
        return s;
    double variance = variance_of(values, n, s.mean);
    double half = sample_t((int64_t)n - 1) * sqrt(variance / (double)n);
    s.sd = sqrt(variance);
    s.low = s.mean - half;
    s.high = s.mean + half;
    return s;
}

/* ---- Welch ---- */

/* Logarithms; null where a value has none. */
static double *logarithms(const double *values, size_t n, struct arena *a)
{
    double *logs = arena_array(a, n, sizeof *logs);
    for (size_t i = 0; i < n; i++) {
        if (!(values[i] > 0))
            return NULL;
        logs[i] = sample_log(values[i]);
    }
    return n ? logs : NULL;
}

struct sample_ratio sample_ratio_of(const double *x, size_t n, const double *y, size_t m, struct arena *a)
{
    must((n == 0 || x) && (m == 0 || y));
    const double none = __builtin_nan("");
    struct sample_ratio r = {none, none, none, 0};
    const double *lx = logarithms(x, n, a), *ly = logarithms(y, m, a);
    if (!lx || !ly)
        return r;
    double mx = mean_of_values(lx, n), my = mean_of_values(ly, m), d = my - mx;
    r.ratio = n == 1 && m == 1 ? y[0] / x[0] : sample_exp(d);
    if (n < 2 || m < 2)
        return r;
    double vx = variance_of(lx, n, mx) / (double)n, vy = variance_of(ly, m, my) / (double)m, v = vx + vy;
    /* Without spread any number of degrees gives the same interval; this is what equal spreads approach. */
    double degrees = v > 0 ? v * v / (vx * vx / (double)(n - 1) + vy * vy / (double)(m - 1)) : (double)(n + m - 2);
    r.degrees = (int64_t)(degrees * (1 + 1e-12)); /* a whole number stays one whatever the rounding */
    double half = sample_t(r.degrees) * sqrt(v);
    r.low = sample_exp(d - half);
    r.high = sample_exp(d + half);
    return r;
}

/* ---- permutation test ---- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 to n - 1; the bias of at most n / 2^32 is nothing beside the resampling. */
static size_t draw_below(uint64_t *state, size_t n)
{
    assert(n > 0);
    return (size_t)((next_random(state) >> 32) * n >> 32);
}

struct partition {
    const double *all;
    size_t n, total;
    double sum;      /* of all values */
    double observed; /* |difference of means|, less what rounding may take */
};

static bool as_far(const struct partition *s, double sum_of_n)
{
    assert(s->n > 0 && s->n < s->total);
    double d = sum_of_n / (double)s->n - (s->sum - sum_of_n) / (double)(s->total - s->n);
    return (d < 0 ? -d : d) >= s->observed;
}

/* Number of ways to choose n of total, or more than SAMPLE_SPLITS_MAX. */
static size_t choices(size_t n, size_t total)
{
    assert(n <= total);
    size_t ways = 1;
    for (size_t i = 1; i <= n; i++) {
        ways = ways * (total - n + i) / i;
        if (ways > SAMPLE_SPLITS_MAX)
            return ways;
    }
    return ways;
}

static double exact(const struct partition *s, size_t ways, struct arena *a)
{
    assert(ways > 0);
    size_t *at = arena_array(a, s->n, sizeof *at), hits = 0;
    for (size_t i = 0; i < s->n; i++)
        at[i] = i;
    for (size_t k = 0; k < ways; k++) {
        double sum = 0;
        for (size_t i = 0; i < s->n; i++)
            sum += s->all[at[i]];
        hits += as_far(s, sum);
        /* The next choice in lexical order: the last index that can still rise, and those behind it close up. */
        size_t i = s->n;
        while (i && at[i - 1] == s->total - s->n + i - 1)
            i--;
        if (!i)
            break;
        at[i - 1]++;
        for (; i < s->n; i++)
            at[i] = at[i - 1] + 1;
    }
    return (double)hits / (double)ways;
}

static double sampled(const struct partition *s, struct arena *a)
{
    double *pool = arena_array(a, s->total, sizeof *pool);
    memcpy(pool, s->all, s->total * sizeof *pool);
    uint64_t state = 1;
    size_t hits = 0;
    for (size_t k = 0; k < SAMPLE_SPLITS_DRAWN; k++) {
        double sum = 0;
        for (size_t i = 0; i < s->n; i++) {
            size_t j = i + draw_below(&state, s->total - i);
            double taken = pool[j];
            pool[j] = pool[i];
            pool[i] = taken;
            sum += taken;
        }
        hits += as_far(s, sum);
    }
    return (double)(hits + 1) / (double)(SAMPLE_SPLITS_DRAWN + 1);
}

double sample_permutation(const double *x, size_t n, const double *y, size_t m, struct arena *a)
{
    must((n == 0 || x) && (m == 0 || y));
    if (n < 2 || m < 2)
        return __builtin_nan("");
    double *all = arena_array(a, n + m, sizeof *all);
    memcpy(all, x, n * sizeof *all);
    memcpy(all + n, y, m * sizeof *all);
    double d = mean_of_values(x, n) - mean_of_values(y, m);
    struct partition s = {.all = all, .n = n, .total = n + m, .sum = mean_of_values(all, n + m) * (double)(n + m)};
    s.observed = (d < 0 ? -d : d) * (1 - 1e-9);
    size_t ways = choices(n, n + m);
    return ways <= SAMPLE_SPLITS_MAX ? exact(&s, ways, a) : sampled(&s, a);
}

double sample_permutation_least(size_t n, size_t m)
{
    if (n < 2 || m < 2)
        return __builtin_nan("");
    size_t ways = choices(n, n + m);
    return ways > SAMPLE_SPLITS_MAX ? 1 / (double)(SAMPLE_SPLITS_DRAWN + 1) : (n == m ? 2 : 1) / (double)ways;
}
