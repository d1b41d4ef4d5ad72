#include "analysis/compare_repeats.h"

#include <math.h>
#include <string.h>
#include "analysis/compare.h"
#include "analysis/order.h"

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 to n - 1; the bias of at most n / 2^32 is nothing beside the resampling. */
static size_t draw_below(uint64_t *state, size_t n)
{
    return (size_t)((draw(state) >> 32) * n >> 32);
}

static double mean_of(const double *values, size_t n)
{
    struct sum s = {0};
    for (size_t i = 0; i < n; i++)
        sum_add(&s, values[i]);
    return sum_value(&s) / (double)n;
}

void repeats_of(const double *values, size_t n, struct arena *a, struct repeats *ret)
{
    const double none = __builtin_nan("");
    *ret = (struct repeats){(int64_t)n, n ? mean_of(values, n) : none, none, none, none};
    if (n < 2)
        return;
    struct sum squares = {0};
    for (size_t i = 0; i < n; i++)
        sum_add(&squares, (values[i] - ret->mean) * (values[i] - ret->mean));
    ret->sd = sqrt(sum_value(&squares) / (double)(n - 1));
    double *means = arena_array(a, REPEATS_RESAMPLES, sizeof *means);
    uint64_t state = 1;
    for (size_t k = 0; k < REPEATS_RESAMPLES; k++) {
        struct sum s = {0};
        for (size_t i = 0; i < n; i++)
            sum_add(&s, values[draw_below(&state, n)]);
        means[k] = sum_value(&s) / (double)n;
    }
    order_sort_doubles(means, REPEATS_RESAMPLES);
    ret->low = order_quantile(means, REPEATS_RESAMPLES, 0.025);
    ret->high = order_quantile(means, REPEATS_RESAMPLES, 0.975);
}

/* ---- permutation test ---- */

struct split {
    const double *all;
    size_t n, total;
    double sum;      /* of all values */
    double observed; /* |difference of means|, less what rounding may take */
};

static bool as_far(const struct split *s, double sum_of_n)
{
    double d = sum_of_n / (double)s->n - (s->sum - sum_of_n) / (double)(s->total - s->n);
    return (d < 0 ? -d : d) >= s->observed;
}

/* Number of ways to choose n of total, or more than REPEATS_SPLITS_MAX. */
static size_t choices(size_t n, size_t total)
{
    size_t ways = 1;
    for (size_t i = 1; i <= n; i++) {
        ways = ways * (total - n + i) / i;
        if (ways > REPEATS_SPLITS_MAX)
            return ways;
    }
    return ways;
}

static double exact(const struct split *s, size_t ways, struct arena *a)
{
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

static double sampled(const struct split *s, struct arena *a)
{
    double *pool = arena_array(a, s->total, sizeof *pool);
    memcpy(pool, s->all, s->total * sizeof *pool);
    uint64_t state = 1;
    size_t hits = 0;
    for (size_t k = 0; k < REPEATS_SPLITS_MAX; k++) {
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
    return (double)(hits + 1) / (double)(REPEATS_SPLITS_MAX + 1);
}

double repeats_permutation(const double *x, size_t n, const double *y, size_t m, struct arena *a)
{
    if (n < 2 || m < 2)
        return __builtin_nan("");
    double *all = arena_array(a, n + m, sizeof *all);
    memcpy(all, x, n * sizeof *all);
    memcpy(all + n, y, m * sizeof *all);
    double d = mean_of(x, n) - mean_of(y, m);
    struct split s = {.all = all, .n = n, .total = n + m, .sum = mean_of(all, n + m) * (double)(n + m)};
    s.observed = (d < 0 ? -d : d) * (1 - 1e-9);
    size_t ways = choices(n, n + m);
    return ways <= REPEATS_SPLITS_MAX ? exact(&s, ways, a) : sampled(&s, a);
}

/* ---- two configurations ---- */

enum { REASONS_MAX = 32 };

static void add_reason(struct repeated *out, const char *reason)
{
    for (size_t i = 0; i < out->reason_count; i++)
        if (strcmp(out->reasons[i], reason) == 0)
            return;
    if (out->reason_count < REASONS_MAX)
        out->reasons[out->reason_count++] = reason;
}

static void want_pair(struct repeated *out, const struct result *x, const struct result *y, struct arena *a,
                      struct comparison *ret)
{
    compare_runs(x, y, a, ret);
    for (size_t i = 0; i < ret->reason_count; i++)
        add_reason(out, ret->reasons[i]);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void want_repetitions(struct repeated *out, const struct result *runs, size_t n, struct arena *a)
{
    struct comparison unused;
    for (size_t i = 1; i < n; i++) {
        want_pair(out, &runs[0], &runs[i], a, &unused);
        if (!same_text(runs[0].engine, runs[i].engine) || !same_text(runs[0].engine_version, runs[i].engine_version))
            add_reason(out, arena_format(a, "Run %s is no repetition of %s: the engine or its version differs.",
                                         runs[i].run_id, runs[0].run_id));
    }
}

/* Row k from the pairs of each run of one side with the first of the other. */
static void fill_row(const struct comparison *pairs, size_t n, size_t m, size_t k, struct arena *a,
                     struct repeated_row *ret)
{
    double *x = arena_array(a, n, sizeof *x), *y = arena_array(a, m, sizeof *y);
    *ret = (struct repeated_row){.metric = pairs[0].rows[k].metric, .unit = pairs[0].rows[k].unit};
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            const struct comparison_row *r = &pairs[i * m + j].rows[k];
            ret->why = ret->why ? ret->why : r->why;
            x[i] = r->a.value;
            y[j] = r->b.value;
        }
    if (ret->why)
        n = m = 0;
    repeats_of(x, n, a, &ret->a);
    repeats_of(y, m, a, &ret->b);
    ret->ratio = ret->b.mean / ret->a.mean;
    ret->p = repeats_permutation(x, n, y, m, a);
}

void compare_repeated(const struct result *x, size_t n, const struct result *y, size_t m, struct arena *a,
                      struct repeated *ret)
{
    *ret = (struct repeated){.reasons = arena_array(a, REASONS_MAX, sizeof *ret->reasons)};
    want_repetitions(ret, x, n, a);
    want_repetitions(ret, y, m, a);
    struct comparison *pairs = arena_array(a, n * m, sizeof *pairs);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            want_pair(ret, &x[i], &y[j], a, &pairs[i * m + j]);
    if (ret->reason_count)
        return;
    ret->row_count = pairs[0].row_count;
    ret->rows = arena_array(a, ret->row_count, sizeof *ret->rows);
    for (size_t k = 0; k < ret->row_count; k++)
        fill_row(pairs, n, m, k, a, &ret->rows[k]);
}

/* ---- as a document ---- */

#define AT(member) .offset = offsetof(struct repeats, member)
static const struct field repeats_fields[] = {
    {"n", FIELD_I64, AT(n), .doc = "Runs."},
    {"mean", FIELD_F64, AT(mean), .doc = "Mean."},
    {"sd", FIELD_F64, AT(sd), .doc = "Sample standard deviation."},
    {"low", FIELD_F64, AT(low), .doc = "Lower end of the bootstrap 95 % interval of the mean."},
    {"high", FIELD_F64, AT(high), .doc = "Upper end."},
};
static const struct schema repeats_schema = {"repeats", sizeof(struct repeats), repeats_fields,
                                             SCHEMA_COUNT(repeats_fields), "One metric over repetitions."};
#undef AT

#define AT(member) .offset = offsetof(struct repeated_row, member)
static const struct field row_fields[] = {
    {"metric", FIELD_TEXT, AT(metric), .doc = "Metric."},
    {"unit", FIELD_TEXT, AT(unit), .doc = "Its unit."},
    {"a", FIELD_OBJECT, AT(a), .sub = &repeats_schema, .doc = "Of the first configuration."},
    {"b", FIELD_OBJECT, AT(b), .sub = &repeats_schema, .doc = "Of the second configuration."},
    {"ratio", FIELD_F64, AT(ratio), .doc = "Mean of b over mean of a."},
    {"p", FIELD_F64, AT(p), .doc = "Two-sided permutation test for a difference of the means."},
    {"why", FIELD_TEXT, AT(why), .doc = "Why this metric is not compared."},
};
static const struct schema row_schema = {"repeated_row", sizeof(struct repeated_row), row_fields,
                                         SCHEMA_COUNT(row_fields), "One metric of both configurations."};
#undef AT

#define AT(member)    .offset = offsetof(struct repeated, member)
#define COUNT(member) .count_offset = offsetof(struct repeated, member)
static const struct field repeated_fields[] = {
    {"reasons", FIELD_LIST, AT(reasons), COUNT(reason_count), .item = FIELD_TEXT,
     .doc = "Why they are not compared; empty: they are."},
    {"rows", FIELD_LIST, AT(rows), COUNT(row_count), .item = FIELD_OBJECT, .sub = &row_schema,
     .doc = "The metrics; none where refused."},
};
const struct schema repeated_schema = {"repeated", sizeof(struct repeated), repeated_fields,
                                       SCHEMA_COUNT(repeated_fields), "Two configurations with repetitions."};
