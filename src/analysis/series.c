#include "analysis/series.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "analysis/order.h"
#include "base/sort.h"
#include "model/limits.h"
#include "base/time.h"
#include "base/must.h"

size_t stamp_before(const int64_t *t_ns, size_t n, int64_t t)
{
    assert(n == 0 || t_ns);
    if (n == 0 || t_ns[0] > t)
        return n;
    size_t low = 0, high = n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (t_ns[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- curves ---- */

struct power_sample {
    int64_t t_ns;
    int32_t mw;
};

static bool before_sample(const void *x, const void *y)
{
    const struct power_sample *a = x, *b = y;
    return a->t_ns < b->t_ns;
}

static struct curve curve_make(struct power_sample *s, size_t n, struct arena *a)
{
    struct curve c = {0};
    if (n == 0)
        return c;
    sort_stable(s, n, sizeof *s, before_sample);
    c.t_ns = arena_array(a, n, sizeof *c.t_ns);
    c.w = arena_array(a, n, sizeof *c.w);
    c.j = arena_array(a, n, sizeof *c.j);
    struct sum sum = {0};
    for (size_t i = 0; i < n; i++) {
        if (c.n && s[i].t_ns == c.t_ns[c.n - 1])
            continue;
        size_t k = c.n++;
        c.t_ns[k] = s[i].t_ns;
        c.w[k] = (double)s[i].mw / 1000;
        if (k)
            sum_add(&sum, time_s(c.t_ns[k] - c.t_ns[k - 1]) * 0.5 * (c.w[k] + c.w[k - 1]));
        c.j[k] = sum_value(&sum);
    }
    return c;
}

static size_t take_grid(const struct rec_gpu *g, struct power_sample *s)
{
    size_t n = 0;
    for (size_t i = 0; i < g->instant_count; i++) {
        const struct rec_instant *x = &g->instant[i];
        if (x->tag == INSTANT_GRID && x->mw >= 0)
            s[n++] = (struct power_sample){x->t_ns, x->mw};
    }
    return n;
}

/* Boundary samples in pairs: each one at a boundary with the first free one 0.2 s after it. */
static size_t take_boundary_pairs(const struct rec_gpu *g, struct power_sample *s, struct arena *scratch)
{
    struct power_sample *after = arena_array(scratch, g->instant_count, sizeof *after);
    struct power_sample *at = arena_array(scratch, g->instant_count, sizeof *at);
    size_t after_count = 0, at_count = 0, n = 0;
    for (size_t i = 0; i < g->instant_count; i++) {
        const struct rec_instant *x = &g->instant[i];
        if (x->mw < 0 || x->tag == INSTANT_GRID)
            continue;
        struct power_sample sample = {x->t_ns, x->mw};
        if (x->tag == INSTANT_BOUNDARY)
            at[at_count++] = sample;
        else
            after[after_count++] = sample;
    }
    for (size_t i = 0, j = 0; i < at_count; i++) {
        while (j < after_count && after[j].t_ns - at[i].t_ns < METHOD_AFTER_MIN_NS)
            j++;
        if (j < after_count && after[j].t_ns - at[i].t_ns <= METHOD_AFTER_MAX_NS) {
            s[n++] = at[i];
            s[n++] = after[j++];
        }
    }
    return n;
}

/* ---- clock ---- */

struct clock_line clock_line_make(const struct rec_clock *clocks, size_t n, struct arena *a)
{
    must(n == 0 || clocks);
    struct clock_line c = {.n = n, .pairs = clocks, .steps = arena_array(a, n, sizeof *c.steps)};
    for (size_t i = 1; i < n; i++) {
        int64_t change = clocks[i].offset_ns - clocks[i - 1].offset_ns;
        if (change > METHOD_CLOCK_STEP_NS || change < -METHOD_CLOCK_STEP_NS)
            c.steps[c.step_count++] = (struct clock_step){clocks[i - 1].t_ns, clocks[i].t_ns, change};
    }
    return c;
}

bool clock_is_stepped(const struct clock_line *c, int64_t t_ns)
{
    for (size_t i = 0; i < c->step_count; i++)
        if (t_ns >= c->steps[i].from_ns && t_ns <= c->steps[i].to_ns)
            return true;
    return false;
}

/* By the pair nearest in time. `at` is a cursor for stamps that mostly rise. */
static int64_t to_monotonic(const struct clock_line *c, int64_t realtime_ns, size_t *at)
{
    for (;;) {
        int64_t here = time_apart(realtime_ns - c->pairs[*at].offset_ns, c->pairs[*at].t_ns);
        if (*at + 1 < c->n && time_apart(realtime_ns - c->pairs[*at + 1].offset_ns, c->pairs[*at + 1].t_ns) <= here)
            ++*at;
        else if (*at > 0 && time_apart(realtime_ns - c->pairs[*at - 1].offset_ns, c->pairs[*at - 1].t_ns) < here)
            --*at;
        else
            return realtime_ns - c->pairs[*at].offset_ns;
    }
}

static size_t take_buffer(const struct rec_gpu *g, const struct clock_line *clocks, struct power_sample *s,
                          int64_t *ret_marked)
{
    size_t n = 0, at = 0;
    *ret_marked = 0;
    if (clocks->n == 0)
        return 0;
    for (size_t i = 0; i < g->buffer_count; i++) {
        if (g->buffer[i].mw < 0)
            continue;
        int64_t t = to_monotonic(clocks, g->buffer[i].realtime_us * 1000, &at);
        if (clock_is_stepped(clocks, t))
            ++*ret_marked;
        else
            s[n++] = (struct power_sample){t, g->buffer[i].mw};
    }
    return n;
}

/* ---- counter ---- */

static struct counter counter_make(const struct rec_counter *samples, size_t n, struct arena *a)
{
    struct counter c = {.first_ns = ABSENT_I64, .first_still_ns = ABSENT_I64, .last_ns = ABSENT_I64};
    c.t_ns = arena_array(a, n, sizeof *c.t_ns);
    c.mj = arena_array(a, n, sizeof *c.mj);
    c.still_ns = arena_array(a, n, sizeof *c.still_ns);
    c.locked = arena_array(a, n, sizeof *c.locked);
    int64_t before = -1;
    for (size_t i = 0; i < n; i++) {
        const struct rec_counter *x = &samples[i];
        if (x->mj < 0)
            continue;
        if (before < 0)
            c.first_ns = x->t_ns;
        if (before >= 0 && x->mj != before && !(c.n && c.t_ns[c.n - 1] == x->t_ns)) {
            c.t_ns[c.n] = x->t_ns;
            c.mj[c.n] = x->mj;
            c.locked[c.n] = x->why != COUNTER_SEARCH;
            c.n++;
        }
        if (c.n)
            c.still_ns[c.n - 1] = x->t_ns;
        else
            c.first_still_ns = x->t_ns;
        before = x->mj;
        c.last_ns = x->t_ns;
    }
    return c;
}

void gpu_series_make(const struct rec_gpu *g, const struct clock_line *clocks, struct arena *a, struct gpu_series *ret)
{
    struct arena scratch = {0};
    size_t most = (g->instant_count > g->buffer_count ? g->instant_count : g->buffer_count) + 1;
    struct power_sample *s = arena_array(&scratch, most, sizeof *s);
    struct gpu_series made = {0};
    size_t grid = take_grid(g, s);
    made.grid = curve_make(s, grid, a);
    grid = take_grid(g, s);
    size_t pairs = take_boundary_pairs(g, s + grid, &scratch);
    if (pairs)
        made.boundary = curve_make(s, grid + pairs, a);
    size_t buffered = take_buffer(g, clocks, s, &made.buffer_marked);
    made.buffer = curve_make(s, buffered, a);
    made.counter = counter_make(g->counter, g->counter_count, a);
    arena_done(&scratch);
    *ret = made;
}

struct run_series run_series_make(const struct records *r, struct arena *a)
{
    must(r->gpu_count == 0 || r->gpus);
    struct run_series s = {.clocks = clock_line_make(r->clocks, r->clock_count, a),
                           .gpus = arena_array(a, r->gpu_count, sizeof *s.gpus),
                           .gpu_count = r->gpu_count};
    for (size_t i = 0; i < s.gpu_count; i++)
        gpu_series_make(&r->gpus[i], &s.clocks, a, &s.gpus[i]);
    return s;
}

/* ---- evaluation ---- */

bool curve_covers(const struct curve *c, int64_t a_ns, int64_t b_ns)
{
    return c->n > 0 && c->t_ns[0] <= a_ns && b_ns <= c->t_ns[c->n - 1];
}

double curve_power(const struct curve *c, int64_t t_ns)
{
    assert(c->n > 0);
    size_t i = stamp_before(c->t_ns, c->n, t_ns);
    if (i + 1 >= c->n || c->t_ns[i] == t_ns)
        return c->w[i < c->n ? i : c->n - 1];
    double share = (double)(t_ns - c->t_ns[i]) / (double)(c->t_ns[i + 1] - c->t_ns[i]);
    return c->w[i] + share * (c->w[i + 1] - c->w[i]);
}

double curve_energy(const struct curve *c, int64_t t_ns)
{
    assert(c->n > 0);
    size_t i = stamp_before(c->t_ns, c->n, t_ns);
    if (i >= c->n)
        return c->j[0];
    return c->j[i] + time_s(t_ns - c->t_ns[i]) * 0.5 * (c->w[i] + curve_power(c, t_ns));
}

double curve_gap_s(const struct curve *c, int64_t a_ns, int64_t b_ns)
{
    double longest = NAN;
    size_t i = stamp_before(c->t_ns, c->n, a_ns);
    for (i = i < c->n ? i : 0; i + 1 < c->n && c->t_ns[i] < b_ns; i++) {
        double gap = (double)(c->t_ns[i + 1] - c->t_ns[i]) / 1e9; /* rounded once: 60 ms is no more than 0.06 */
        if (!(gap <= longest))
            longest = gap;
    }
    return longest;
}

bool counter_is_flat(const struct counter *c)
{
    return c->n == 0 && c->first_ns != ABSENT_I64 && c->first_ns < c->last_ns;
}

bool counter_covers(const struct counter *c, int64_t a_ns, int64_t b_ns)
{
    if (counter_is_flat(c))
        return c->first_ns <= a_ns && b_ns <= c->last_ns;
    return c->n > 0 && c->t_ns[0] <= a_ns && b_ns <= c->t_ns[c->n - 1];
}

double counter_energy(const struct counter *c, int64_t t_ns)
{
    if (c->n == 0)
        return 0;
    size_t i = stamp_before(c->t_ns, c->n, t_ns);
    if (i >= c->n)
        return 0;
    double above = (double)(c->mj[i] - c->mj[0]) / 1000;
    if (i + 1 >= c->n || c->t_ns[i] == t_ns)
        return above;
    double share = (double)(t_ns - c->t_ns[i]) / (double)(c->t_ns[i + 1] - c->t_ns[i]);
    return above + share * ((double)(c->mj[i + 1] - c->mj[i]) / 1000);
}

/* ---- a counter that says nothing ---- */

static bool power_was_read(const struct gpu_series *g, int64_t from_ns, int64_t to_ns)
{
    const struct curve *const curves[] = {&g->grid, &g->buffer};
    for (size_t k = 0; k < 2; k++) {
        const struct curve *c = curves[k];
        size_t i = stamp_before(c->t_ns, c->n, from_ns);
        for (i = i < c->n ? i : 0; i < c->n && c->t_ns[i] <= to_ns; i++)
            if (c->t_ns[i] >= from_ns && c->w[i] > METHOD_STILL_W)
                return true;
    }
    return false;
}

/* The same value was read at both ends of [from, to]: a reason, or null where that is short, without power, or does not
 * touch (a, b). */
static const char *stands_still(const struct gpu_series *g, int64_t from_ns, int64_t to_ns, int64_t a_ns, int64_t b_ns,
                                struct arena *arena)
{
    double still_s = time_s(to_ns - from_ns);
    if (from_ns >= b_ns || to_ns <= a_ns || still_s <= METHOD_STILL_S || !power_was_read(g, from_ns, to_ns))
        return NULL;
    return arena_format(arena, "the counter stood still for %.2f s at %.3f s of the run while power was read above 1 W",
                        still_s, time_s(from_ns));
}

const char *counter_fault(const struct gpu_series *g, int64_t a_ns, int64_t b_ns, struct arena *arena)
{
    const struct counter *c = &g->counter;
    if (c->first_ns == ABSENT_I64)
        return NULL;
    const char *why = stands_still(g, c->first_ns, c->first_still_ns, a_ns, b_ns, arena);
    size_t i = stamp_before(c->t_ns, c->n, a_ns);
    for (i = i < c->n ? i : 0; !why && i < c->n && c->t_ns[i] < b_ns; i++)
        why = i + 1 < c->n && c->mj[i + 1] < c->mj[i] && c->t_ns[i + 1] > a_ns
                  ? arena_format(arena, "the counter went backward by %lld mJ at %.3f s of the run",
                                 (long long)(c->mj[i] - c->mj[i + 1]), (double)c->t_ns[i + 1] * 1e-9)
                  : stands_still(g, c->t_ns[i], c->still_ns[i], a_ns, b_ns, arena);
    return why;
}

/* ---- energy curves ---- */

/* The union of n stamp lists, cut to the stretch that all cover. */
static size_t join_times(const int64_t *const *lists, const size_t *counts, size_t n, int64_t *to)
{
    assert(n > 0);
    int64_t from = INT64_MIN, until = INT64_MAX;
    size_t total = 0, kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (counts[i] == 0)
            continue;
        from = lists[i][0] > from ? lists[i][0] : from;
        until = lists[i][counts[i] - 1] < until ? lists[i][counts[i] - 1] : until;
        memcpy(to + total, lists[i], counts[i] * sizeof *to);
        total += counts[i];
    }
    if (n > 1)
        order_sort_times(to, total);
    for (size_t i = 0; i < total; i++)
        if (to[i] >= from && to[i] <= until && !(kept && to[kept - 1] == to[i]))
            to[kept++] = to[i];
    return kept;
}

static struct energy_curve energy_curve_alloc(size_t total, struct arena *a)
{
    struct energy_curve c = {.t_ns = arena_array(a, total, sizeof *c.t_ns), .j = arena_array(a, total, sizeof *c.j)};
    c.w = arena_array(a, total, sizeof *c.w);
    c.slope = arena_array(a, total, sizeof *c.slope);
    return c;
}

static void energy_curve_integrate(struct energy_curve *c)
{
    struct sum sum = {0};
    for (size_t i = 0; i + 1 < c->n; i++) {
        double dt = time_s(c->t_ns[i + 1] - c->t_ns[i]);
        sum_add(&sum, dt * (c->w[i] + 0.5 * dt * c->slope[i]));
        c->j[i + 1] = sum_value(&sum);
    }
}

struct energy_curve energy_curve_of_power(const struct curve *const *curves, size_t n, double scale, struct arena *a)
{
    must(n > 0);
    const int64_t **lists = arena_array(a, n, sizeof *lists);
    size_t *counts = arena_array(a, n, sizeof *counts), total = 0;
    for (size_t i = 0; i < n; i++) {
        lists[i] = curves[i]->t_ns;
        counts[i] = curves[i]->n;
        total += counts[i];
    }
    struct energy_curve c = energy_curve_alloc(total, a);
    c.n = join_times(lists, counts, n, c.t_ns);
    for (size_t g = 0; g < n; g++) {
        const struct curve *from = curves[g];
        for (size_t k = 0, i = 0; k < c.n; k++) {
            while (i + 1 < from->n && from->t_ns[i + 1] <= c.t_ns[k])
                i++;
            double w = from->w[i];
            if (i + 1 < from->n && from->t_ns[i] < c.t_ns[k])
                w += (double)(c.t_ns[k] - from->t_ns[i]) / (double)(from->t_ns[i + 1] - from->t_ns[i]) *
                     (from->w[i + 1] - w);
            c.w[k] += scale * w;
        }
    }
    for (size_t k = 0; k + 1 < c.n; k++)
        c.slope[k] = (c.w[k + 1] - c.w[k]) / (time_s(c.t_ns[k + 1] - c.t_ns[k]));
    energy_curve_integrate(&c);
    return c;
}

struct energy_curve energy_curve_of_counters(const struct counter *const *counters, size_t n, struct arena *a)
{
    must(n > 0);
    const int64_t **lists = arena_array(a, n, sizeof *lists);
    size_t *counts = arena_array(a, n, sizeof *counts), total = 0;
    for (size_t i = 0; i < n; i++) {
        lists[i] = counters[i]->t_ns;
        counts[i] = counters[i]->n;
        total += counts[i];
    }
    struct energy_curve c = energy_curve_alloc(total, a);
    c.n = join_times(lists, counts, n, c.t_ns);
    for (size_t g = 0; g < n; g++) {
        const struct counter *from = counters[g];
        for (size_t k = 0, i = 0; from->n && k + 1 < c.n; k++) {
            while (i + 2 < from->n && from->t_ns[i + 1] <= c.t_ns[k])
                i++;
            c.w[k] += (double)(from->mj[i + 1] - from->mj[i]) / 1000 / (time_s(from->t_ns[i + 1] - from->t_ns[i]));
        }
    }
    energy_curve_integrate(&c);
    return c;
}
