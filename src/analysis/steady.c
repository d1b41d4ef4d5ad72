#include "analysis/steady.h"

#include <math.h>
#include "analysis/order.h"
#include "base/sort.h"

/* A request's completion. Rows are in order of id, so a stable sort by time keeps ids in order at equal times. */
struct completion {
    int64_t end_ns;
    uint32_t row;
};

static bool before_completion(const void *x, const void *y)
{
    const struct completion *a = x, *b = y;
    return a->end_ns < b->end_ns;
}

uint32_t *steady_order(const struct streams *s, struct arena *a, size_t *ret_count)
{
    struct arena scratch = {0};
    struct completion *ended = arena_array(&scratch, s->request_count, sizeof *ended);
    size_t n = 0;
    for (size_t i = 0; i < s->request_count; i++)
        if (s->streams[i].generates && s->requests[i].end_ns != ABSENT_I64)
            ended[n++] = (struct completion){s->requests[i].end_ns, (uint32_t)i};
    sort_stable(ended, n, sizeof *ended, before_completion);
    uint32_t *order = arena_array(a, n, sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = ended[i].row;
    arena_done(&scratch);
    *ret_count = n;
    return order;
}

/* Mean, and population standard deviation over mean, of n levels under each reading. The readings are summed side by
 * side: they do not wait for one another. */
static void mean_and_cv(const double (*x)[RULE_COUNT], int64_t n, double *ret_mean, double *ret_cv)
{
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

struct result_window *steady_windows(const struct streams *s, const uint32_t *order, size_t count, int64_t window,
                                     int64_t formal_start_ns, const double *const energy_j[RULE_COUNT], struct arena *a,
                                     size_t *ret_count)
{
    size_t n = count >= (size_t)window ? count - (size_t)window + 1 : 0;
    struct result_window *windows = arena_array(a, n, sizeof *windows);
    struct arena scratch = {0};
    double(*level)[RULE_COUNT] = arena_array(&scratch, count, sizeof *level);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < RULE_COUNT; k++)
            level[i][k] = energy_j[k] ? energy_j[k][order[i]] / (double)s->streams[order[i]].tokens : (double)NAN;
    for (size_t w = 0; w < n; w++) {
        const struct rec_request *first = &s->requests[order[w]];
        const struct rec_request *last = &s->requests[order[w + (size_t)window - 1]];
        windows[w].window = (int64_t)w;
        windows[w].first_request = first->id;
        windows[w].last_request = last->id;
        windows[w].start_s = (double)(first->end_ns - formal_start_ns) * 1e-9;
        windows[w].end_s = (double)(last->end_ns - formal_start_ns) * 1e-9;
        mean_and_cv((const double(*)[RULE_COUNT])level + w, window, windows[w].level, windows[w].cv);
    }
    arena_done(&scratch);
    *ret_count = n;
    return windows;
}

/* For each window s how many of s, s + W ... follow one another under the limit without a break. */
static uint32_t *chains(const struct result_window *windows, size_t n, const struct method *m, int reading,
                        struct arena *a)
{
    uint32_t *good = arena_array(a, n, sizeof *good);
    for (size_t s = n; s-- > 0;)
        if (windows[s].cv[reading] < m->cv_limit)
            good[s] = 1 + (n - s > (size_t)m->window ? good[s + (size_t)m->window] : 0);
    return good;
}

static void survey(const struct result_window *windows, size_t n, const struct method *m, int reading,
                   struct result_steady *ret)
{
    int64_t run = 0;
    ret->longest_stretch = 0;
    for (size_t i = 0; i < n; i++) {
        double cv = windows[i].cv[reading];
        if (!isnan(cv) && !(cv >= ret->lowest_cv)) {
            ret->lowest_cv = cv;
            ret->lowest_cv_window = (int64_t)i;
        }
        run = cv < m->cv_limit ? run + 1 : 0;
        if (run > ret->longest_stretch) {
            ret->longest_stretch = run;
            ret->longest_stretch_window = (int64_t)i - run + 1;
        }
    }
}

static const char *why_not(const struct result_steady *s, const struct method *m, size_t windows, size_t count, int k,
                           struct arena *a)
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

void steady_find(const struct result_window *windows, size_t window_count, size_t count, const struct method *m,
                 int reading, int k, struct arena *a, struct result_steady *ret)
{
    ret->rule = reading;
    ret->k = k;
    ret->lowest_cv = (double)NAN;
    survey(windows, window_count, m, reading, ret);
    struct arena scratch = {0};
    const uint32_t *good = chains(windows, window_count, m, reading, &scratch);
    size_t s = 0, length = 0;
    for (; s < window_count && !length; s++) {
        size_t exist = (window_count - 1 - s) / (size_t)m->window + 1;
        if (k == K_ALL ? exist >= 2 && good[s] == exist : good[s] >= (size_t)k)
            length = k == K_ALL ? exist : (size_t)k;
    }
    arena_done(&scratch);
    if (!length) {
        ret->why = why_not(ret, m, window_count, count, k, a);
        return;
    }
    s--;
    ret->reached = true;
    ret->why = NULL;
    ret->window = (int64_t)s;
    ret->windows = (int64_t)length;
    ret->cv_count = length;
    ret->cvs = arena_array(a, length, sizeof *ret->cvs);
    for (size_t j = 0; j < length; j++)
        ret->cvs[j] = windows[s + j * (size_t)m->window].cv[reading];
    ret->first_request = windows[s].first_request;
    ret->last_request = windows[window_count - 1].last_request;
    ret->requests = (int64_t)(count - s);
}

/* ---- saturated ---- */

struct turn {
    int64_t t_ns;
    int change; /* +1 first, -1 last; a start comes before an end at the same time */
};

static bool before_turn(const void *x, const void *y)
{
    const struct turn *a = x, *b = y;
    return a->t_ns != b->t_ns ? a->t_ns < b->t_ns : a->change > b->change;
}

bool steady_saturated(const struct streams *s, double share, struct arena *a, struct result_saturated *ret)
{
    struct turn *turns = arena_array(a, 2 * s->request_count, sizeof *turns);
    size_t n = 0;
    for (size_t i = 0; i < s->request_count; i++)
        if (s->streams[i].generates) {
            turns[n++] = (struct turn){s->streams[i].first_ns, 1};
            turns[n++] = (struct turn){s->streams[i].last_ns, -1};
        }
    if (n == 0)
        return false;
    sort_stable(turns, n, sizeof *turns, before_turn);
    int64_t active = 0, peak = 0;
    for (size_t i = 0; i < n; i++) {
        active += turns[i].change;
        peak = active > peak ? active : peak;
    }
    ret->peak = peak;
    ret->level = (int64_t)ceil(share * (double)peak);
    ret->meaningful = peak < (int64_t)n / 2; /* two turns a request that generates */
    ret->start_ns = ret->end_ns = ABSENT_I64;
    active = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t before = active;
        active += turns[i].change;
        if (active >= ret->level && ret->start_ns == ABSENT_I64)
            ret->start_ns = turns[i].t_ns;
        if (before >= ret->level && active < ret->level)
            ret->end_ns = turns[i].t_ns;
    }
    return true;
}
