#include "store/length_law.h"

#include <math.h>
#include <string.h>
#include "base/must.h"
#include "store/draw.h"

static const char *const law_names[] = {[LAW_NONE] = "none",
                                        [LAW_FIXED] = "fixed",
                                        [LAW_UNIFORM] = "uniform",
                                        [LAW_NORMAL] = "normal",
                                        [LAW_LOGNORMAL] = "lognormal"};

static enum law_kind law_of_lengths(enum length_kind k)
{
    switch (k) {
    case LENGTH_FIXED:
        return LAW_FIXED;
    case LENGTH_UNIFORM:
        return LAW_UNIFORM;
    case LENGTH_NORMAL:
        return LAW_NORMAL;
    case LENGTH_LOGNORMAL:
        return LAW_LOGNORMAL;
    case LENGTH_NATURAL:
    case LENGTH_LINES:
        break;
    }
    return LAW_NONE;
}

static enum law_kind law_of_input(enum input_kind k)
{
    switch (k) {
    case INPUT_FIXED:
        return LAW_FIXED;
    case INPUT_UNIFORM:
        return LAW_UNIFORM;
    case INPUT_NORMAL:
        return LAW_NORMAL;
    case INPUT_LOGNORMAL:
        return LAW_LOGNORMAL;
    case INPUT_NONE:
        break;
    }
    return LAW_NONE;
}

struct length_law length_law_of_output(const struct plan_lengths *l)
{
    return (struct length_law){.kind = law_of_lengths(l->kind),
                               .tokens = l->tokens,
                               .median = l->median,
                               .sigma = l->sigma,
                               .mean = l->mean,
                               .sd = l->sd,
                               .min = l->min,
                               .max = l->max};
}

struct length_law length_law_of_input(const struct plan_input *l)
{
    return (struct length_law){.kind = law_of_input(l->kind),
                               .tokens = l->tokens,
                               .median = l->median,
                               .sigma = l->sigma,
                               .mean = l->mean,
                               .sd = l->sd,
                               .min = l->min,
                               .max = l->max};
}

/* ---- drawing ---- */

/* Bounded before it becomes an integer. */
static int64_t rounded(const struct length_law *l, double tokens, int64_t most)
{
    tokens = floor(tokens + 0.5);
    if (l->max != ABSENT_I64 && tokens > (double)l->max)
        return l->max;
    if (tokens > (double)most)
        return most;
    return tokens < (double)l->min ? l->min : (int64_t)tokens;
}

int64_t length_law_draw(const struct length_law *l, uint64_t state, int64_t most)
{
    switch (l->kind) {
    case LAW_NONE:
        return ABSENT_I64;
    case LAW_FIXED:
        return l->tokens;
    case LAW_UNIFORM:
        must(l->min >= 1 && l->max >= l->min);
        return draw_between(&state, l->min, l->max);
    case LAW_NORMAL:
        return rounded(l, l->mean + l->sd * draw_normal(&state), most);
    case LAW_LOGNORMAL:
        must(l->median >= 1 && l->sigma <= 10); /* |z| < 9: exp stays in range */
        return rounded(l, l->median * draw_exp(l->sigma * draw_normal(&state)), most);
    }
    return ABSENT_I64;
}

/* ---- its keys ---- */

static void needs(bool absent, const char *at, const char *key, const char *kind, const char *what, struct problems *p)
{
    if (absent)
        problems_add(p, arena_format(p->arena, "%s.%s", at, key), "Missing: the kind %s needs %s.", kind, what);
}

void length_law_check(const struct length_law *l, const char *at, struct problems *p)
{
    const char *kind = law_names[l->kind];
    if (l->kind == LAW_FIXED)
        needs(l->tokens == ABSENT_I64, at, "tokens", kind, "the number of tokens", p);
    if (l->kind == LAW_LOGNORMAL) {
        needs(isnan(l->median), at, "median", kind, "the median, in tokens", p);
        needs(isnan(l->sigma), at, "sigma", kind, "the standard deviation of the logarithm, for example 0.6", p);
    }
    if (l->kind == LAW_NORMAL) {
        needs(isnan(l->mean), at, "mean", kind, "the mean, in tokens", p);
        needs(isnan(l->sd), at, "sd", kind, "the standard deviation, in tokens", p);
    }
    if (l->kind == LAW_UNIFORM)
        needs(l->max == ABSENT_I64, at, "max", kind, "an upper bound, in tokens", p);
    if (l->kind >= LAW_UNIFORM) {
        needs(l->min == ABSENT_I64, at, "min", kind, "a lower bound. The default is 1", p);
        if (l->tokens != ABSENT_I64)
            problems_add(p, arena_format(p->arena, "%s.tokens", at),
                         "Not used with the kind %s. Leave it out, or use max.", kind);
    }
    if (l->max != ABSENT_I64 && l->min != ABSENT_I64 && l->max < l->min)
        problems_add(p, arena_format(p->arena, "%s.max", at), "%lld is below min, which is %lld.", (long long)l->max,
                     (long long)l->min);
}

/* ---- as text ---- */

static const char *bounds_text(const struct length_law *l, struct arena *a)
{
    if (l->max != ABSENT_I64)
        return arena_format(a, ",%lld..%lld", (long long)l->min, (long long)l->max);
    return l->min > 1 ? arena_format(a, ",%lld..", (long long)l->min) : "";
}

const char *length_law_text(const struct length_law *l, struct arena *a)
{
    switch (l->kind) {
    case LAW_NONE:
        return l->tokens == ABSENT_I64 ? "natural" : arena_format(a, "up to %lld", (long long)l->tokens);
    case LAW_FIXED:
        return arena_format(a, "%lld", (long long)l->tokens);
    case LAW_UNIFORM:
        return arena_format(a, "%lld..%lld", (long long)l->min, (long long)l->max);
    case LAW_NORMAL:
        return arena_format(a, "normal:%g,%g%s", l->mean, l->sd, bounds_text(l, a));
    case LAW_LOGNORMAL:
        return arena_format(a, "lognormal:%g,%g%s", l->median, l->sigma, bounds_text(l, a));
    }
    return "";
}

enum { LAW_KEYS = 8 };

/* Settings on their way: every key of a law is set once, so that none of another law stays behind. */
struct settings {
    struct arena *arena;
    const char *at;
    const char *values[LAW_KEYS];
};
static const char *const law_keys[LAW_KEYS] = {"kind", "tokens", "median", "sigma", "mean", "sd", "min", "max"};

static void set(struct settings *s, const char *key, struct span value)
{
    for (size_t i = 0; i < LAW_KEYS; i++)
        if (strcmp(law_keys[i], key) == 0)
            s->values[i] = arena_copy(s->arena, value.p, value.n);
}

/* "16..4096", "16.." or "..4096". False: there is no "..". */
static bool set_bounds(struct settings *s, struct span text)
{
    const char *dots = memmem(text.p, text.n, "..", 2);
    if (!dots)
        return false;
    struct span min = {text.p, (size_t)(dots - text.p)}, max = {dots + 2, text.n - min.n - 2};
    if (min.n)
        set(s, "min", min);
    if (max.n)
        set(s, "max", max);
    return true;
}

/* "1024,200" or "1024,200,16..4096" behind the law's name. What is missing stays null, and the plan's check says so. */
static void set_two(struct settings *s, const char *first, const char *second, struct span text)
{
    size_t n = 0, m = 0;
    while (n < text.n && text.p[n] != ',')
        n++;
    set(s, first, (struct span){text.p, n});
    if (n == text.n)
        return;
    text = (struct span){text.p + n + 1, text.n - n - 1};
    while (m < text.n && text.p[m] != ',')
        m++;
    set(s, second, (struct span){text.p, m});
    if (m < text.n) {
        struct span bounds = {text.p + m + 1, text.n - m - 1};
        if (!set_bounds(s, bounds))
            set(s, "max", bounds); /* not a bound: told by the key's type, or taken for the upper one */
    }
}

const char *const *length_law_settings(const char *text, const char *at, struct arena *a)
{
    must(text && at && a);
    struct settings s = {
        .arena = a, .at = at, .values = {"fixed", "null", "null", "null", "null", "null", "1", "null"}};
    static const char NORMAL[] = "normal:", LOGNORMAL[] = "lognormal:";
    struct span t = span_of(text);
    if (span_starts(t, NORMAL)) {
        s.values[0] = "normal";
        set_two(&s, "mean", "sd", span_of(text + strlen(NORMAL)));
    } else if (span_starts(t, LOGNORMAL)) {
        s.values[0] = "lognormal";
        set_two(&s, "median", "sigma", span_of(text + strlen(LOGNORMAL)));
    } else if (set_bounds(&s, t)) {
        s.values[0] = "uniform";
    } else {
        s.values[1] = text;
    }
    const char **list = arena_array(a, LAW_KEYS + 1, sizeof *list);
    for (size_t i = 0; i < LAW_KEYS; i++)
        list[i] = arena_format(a, "%s.%s=%s", at, law_keys[i], s.values[i]);
    list[LAW_KEYS] = NULL;
    return list;
}
