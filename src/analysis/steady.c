#include "analysis/steady.h"

#include <assert.h>
#include <math.h>
#include "analysis/order.h"
#include "base/must.h"
#include "base/sort.h"
#include "base/time.h"

/* Rows are in order of id, so a stable sort by time keeps ids in order at equal times. */
struct completion {
    int64_t end_ns;
    uint32_t row;
};

static bool before_completion(const void *x, const void *y)
{
    const struct completion *a = x, *b = y;
    return a->end_ns < b->end_ns;
}

struct completions steady_order(const struct token_chains *s, struct arena *a)
{
    struct arena scratch = {0};
    struct completion *ended = arena_array(&scratch, s->request_count, sizeof *ended);
    size_t n = 0;
    for (size_t i = 0; i < s->request_count; i++)
        if (s->chains[i].generates && s->requests[i].end_ns != ABSENT_I64)
            ended[n++] = (struct completion){s->requests[i].end_ns, (uint32_t)i};
    sort_stable(ended, n, sizeof *ended, before_completion);
    struct completions c = {.rows = arena_array(a, n, sizeof *c.rows), .n = n};
    for (size_t i = 0; i < n; i++)
        c.rows[i] = ended[i].row;
    arena_done(&scratch);
    return c;
}

/* Mean, and population standard deviation over mean, of n levels under each rule. The rules are summed side by
 * side: they do not wait for one another. */
static void mean_and_cv(const double (*x)[RULE_COUNT], int64_t n, double *ret_mean, double *ret_cv)
{
    assert(n > 0);
    struct sum sum[RULE_COUNT] = {0}, squares[RULE_COUNT] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < RULE_COUNT; k++)
            sum_add(&sum[k], x[i][k]);
    for (int k = 0; k < RULE_COUNT; k++)
        ret_mean[k] = sum_value(&sum[k]) / (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < RULE_COUNT; k++)
            sum_add(&squares[k], (x[i][k] - ret_mean[k]) * (x[i][k] - ret_mean[k]));
    for (int k = 0; k < RULE_COUNT; k++)
        ret_cv[k] = ret_mean[k] > 0 ? sqrt(sum_value(&squares[k]) / (double)n) / ret_mean[k] : (double)NAN;
}

static struct result_window window_of(const struct rec_request *first, const struct rec_request *last, size_t number,
                                      int64_t formal_start_ns)
{
    assert(first->end_ns <= last->end_ns);
    return (struct result_window){.window = (int64_t)number,
                                  .first_request = first->id,
                                  .last_request = last->id,
                                  .start_s = time_s(first->end_ns - formal_start_ns),
                                  .end_s = time_s(last->end_ns - formal_start_ns)};
}

struct window_list steady_windows(const struct token_chains *s, const struct completions *c, int64_t window,
                                  int64_t formal_start_ns, const double *const energy_j[RULE_COUNT], struct arena *a)
{
    must(window > 0);
    struct window_list w = {.n = c->n >= (size_t)window ? c->n - (size_t)window + 1 : 0};
    w.items = arena_array(a, w.n, sizeof *w.items);
    struct arena scratch = {0};
    double(*level)[RULE_COUNT] = arena_array(&scratch, c->n, sizeof *level);
    for (size_t i = 0; i < c->n; i++)
        for (int k = 0; k < RULE_COUNT; k++)
            level[i][k] = energy_j[k] ? energy_j[k][c->rows[i]] / (double)s->chains[c->rows[i]].tokens : (double)NAN;
    for (size_t i = 0; i < w.n; i++) {
        w.items[i] =
            window_of(&s->requests[c->rows[i]], &s->requests[c->rows[i + (size_t)window - 1]], i, formal_start_ns);
        mean_and_cv((const double(*)[RULE_COUNT])level + i, window, w.items[i].level, w.items[i].cv);
    }
    arena_done(&scratch);
    return w;
}

/* For each window s how many of s, s + W ... follow one another under the limit without a break. */
static uint32_t *stretches(const struct window_list *w, const struct method *m, enum rule rule, struct arena *a)
{
    uint32_t *good = arena_array(a, w->n, sizeof *good);
    for (size_t s = w->n; s-- > 0;)
        if (w->items[s].cv[rule] < m->cv_limit)
            good[s] = 1 + (w->n - s > (size_t)m->window ? good[s + (size_t)m->window] : 0);
    return good;
}

/* What came nearest, reached or not. */
static struct steady_verdict survey(const struct window_list *w, const struct method *m, enum rule rule)
{
    struct steady_verdict v = {.window = ABSENT_I64,
                               .windows = ABSENT_I64,
                               .first_request = ABSENT_I64,
                               .last_request = ABSENT_I64,
                               .requests = ABSENT_I64,
                               .lowest_cv = (double)NAN,
                               .lowest_cv_window = ABSENT_I64,
                               .longest_stretch_window = ABSENT_I64};
    int64_t run = 0;
    for (size_t i = 0; i < w->n; i++) {
        double cv = w->items[i].cv[rule];
        if (!isnan(cv) && !(cv >= v.lowest_cv)) {
            v.lowest_cv = cv;
            v.lowest_cv_window = (int64_t)i;
        }
        run = cv < m->cv_limit ? run + 1 : 0;
        if (run > v.longest_stretch) {
            v.longest_stretch = run;
            v.longest_stretch_window = (int64_t)i - run + 1;
        }
    }
    return v;
}

static const char *why_not(const struct steady_verdict *s, const struct method *m, size_t windows, size_t count,
                           enum steady_k k, struct arena *a)
{
    size_t need = (size_t)m->window * (size_t)(k == K_ALL ? 2 : k);
    if (count < need)
        return arena_format(a, "too few requests: %zu have a generation interval, %zu window%s of %lld need%s %zu",
                            count, need / (size_t)m->window, need == (size_t)m->window ? "" : "s", (long long)m->window,
                            need == (size_t)m->window ? "s" : "", need);
    if (isnan(s->lowest_cv))
        return "no energy could be attributed";
    if (s->longest_stretch == 0)
        return arena_format(a, "no window has a CV under %g: the lowest of %zu is %.4f in window %lld", m->cv_limit,
                            windows, s->lowest_cv, (long long)s->lowest_cv_window);
    return arena_format(a,
                        "%s under a CV of %g: the lowest is %.4f in window %lld; the longest stretch of neighbouring "
                        "windows under it is %lld, from window %lld",
                        k == K_ALL ? "no window with all that follow it is" : "too few consecutive windows are",
                        m->cv_limit, s->lowest_cv, (long long)s->lowest_cv_window, (long long)s->longest_stretch,
                        (long long)s->longest_stretch_window);
}

/* The first window from which enough of them follow one another; its number of windows, 0: there is none. */
static size_t first_steady(const struct window_list *w, const struct method *m, enum rule rule, enum steady_k k,
                           size_t *ret_window)
{
    assert(m->window > 0);
    struct arena scratch = {0};
    const uint32_t *good = stretches(w, m, rule, &scratch);
    size_t length = 0;
    for (size_t s = 0; s < w->n && !length; s++) {
        size_t exist = (w->n - 1 - s) / (size_t)m->window + 1;
        if (k == K_ALL ? exist >= 2 && good[s] == exist : good[s] >= (size_t)k)
            length = k == K_ALL ? exist : (size_t)k;
        *ret_window = s;
    }
    arena_done(&scratch);
    return length;
}

struct steady_verdict steady_find(const struct window_list *w, size_t completed, const struct method *m, enum rule rule,
                                  enum steady_k k, struct arena *a)
{
    must(rule < RULE_COUNT && k < K_COUNT && m->window > 0);
    struct steady_verdict v = survey(w, m, rule);
    size_t s = 0, length = first_steady(w, m, rule, k, &s);
    if (!length) {
        v.why = why_not(&v, m, w->n, completed, k, a);
        return v;
    }
    v.reached = true;
    v.window = (int64_t)s;
    v.windows = (int64_t)length;
    v.cv_count = length;
    v.cvs = arena_array(a, length, sizeof *v.cvs);
    for (size_t j = 0; j < length; j++)
        v.cvs[j] = w->items[s + j * (size_t)m->window].cv[rule];
    v.first_request = w->items[s].first_request;
    v.last_request = w->items[w->n - 1].last_request;
    v.requests = (int64_t)(completed - s);
    return v;
}

/* ---- saturated ---- */

struct edge {
    int64_t t_ns;
    int by; /* +1 first, -1 last; a start comes before an end at the same time */
};

static bool before_edge(const void *x, const void *y)
{
    const struct edge *a = x, *b = y;
    return a->t_ns != b->t_ns ? a->t_ns < b->t_ns : a->by > b->by;
}

static int64_t peak_of(const struct edge *edges, size_t n)
{
    int64_t active = 0, peak = 0;
    for (size_t i = 0; i < n; i++) {
        active += edges[i].by;
        peak = active > peak ? active : peak;
    }
    return peak;
}

struct saturation steady_saturated(const struct token_chains *s, double share, struct arena *a)
{
    must(share > 0 && share <= 1);
    struct edge *edges = arena_array(a, 2 * s->request_count, sizeof *edges);
    size_t n = 0;
    for (size_t i = 0; i < s->request_count; i++)
        if (s->chains[i].generates) {
            edges[n++] = (struct edge){s->chains[i].first_ns, 1};
            edges[n++] = (struct edge){s->chains[i].last_ns, -1};
        }
    struct saturation x = {ABSENT_I64, ABSENT_I64, ABSENT_I64, ABSENT_I64, false};
    if (n == 0)
        return x;
    sort_stable(edges, n, sizeof *edges, before_edge);
    x.peak = peak_of(edges, n);
    x.level = (int64_t)ceil(share * (double)x.peak);
    x.waited = x.peak < (int64_t)n / 2; /* two edges a request that generates */
    int64_t now = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t before = now;
        now += edges[i].by;
        if (now >= x.level && x.start_ns == ABSENT_I64)
            x.start_ns = edges[i].t_ns;
        if (before >= x.level && now < x.level)
            x.end_ns = edges[i].t_ns;
    }
    return x;
}
