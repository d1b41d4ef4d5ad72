#include "analysis/windows.h"

#include <assert.h>
#include <math.h>
#include "analysis/attribution.h"
#include "analysis/order.h"
#include "analysis/stages.h"
#include "base/must.h"
#include "model/limits.h"
#include "base/time.h"

enum { EDGE_STEPS = METHOD_EDGE_NS / METHOD_EDGE_STEP_NS };

/* ---- arrivals ---- */

/* Tokens that arrived by each of some moments: the ends of the steady windows and the saturated one, and of each that
 * cuts responses the 50 ms around it. */
struct arrived_tokens {
    int64_t *t_ns, *tokens; /* that arrived in (t_ns[0], t_ns[i]] */
    size_t n, room;
};

/* The formal stage begins before the first token and ends after the last one. */
static bool cuts_responses(const struct formal *f, int64_t t_ns)
{
    return t_ns > f->start_ns && t_ns < f->end_ns;
}

static void want_moment(const struct formal *f, struct arrived_tokens *x, int64_t t_ns)
{
    must(x->n + 2 * EDGE_STEPS + 2 <= x->room);
    x->t_ns[x->n++] = t_ns;
    for (int64_t k = -EDGE_STEPS; k <= EDGE_STEPS && cuts_responses(f, t_ns); k++)
        if (cuts_responses(f, t_ns + k * METHOD_EDGE_STEP_NS))
            x->t_ns[x->n++] = t_ns + k * METHOD_EDGE_STEP_NS;
}

static struct arrived_tokens count_arrivals(const struct formal *f, const int64_t *starts_ns, size_t n,
                                            const struct saturation *saturated, struct arena *a)
{
    struct arrived_tokens x = {.room = (n + 4) * (2 * EDGE_STEPS + 2)};
    x.t_ns = arena_array(a, x.room, sizeof *x.t_ns);
    x.tokens = arena_array(a, x.room, sizeof *x.tokens);
    want_moment(f, &x, f->start_ns);
    want_moment(f, &x, f->end_ns);
    for (size_t i = 0; i < n; i++)
        if (starts_ns[i] != ABSENT_I64)
            want_moment(f, &x, starts_ns[i]);
    if (saturated->start_ns != ABSENT_I64) {
        want_moment(f, &x, saturated->start_ns);
        want_moment(f, &x, saturated->end_ns);
    }
    order_sort_times(x.t_ns, x.n);
    size_t kept = 0;
    for (size_t i = 0; i < x.n; i++)
        if (!kept || x.t_ns[kept - 1] != x.t_ns[i])
            x.t_ns[kept++] = x.t_ns[i];
    x.n = kept;
    int64_t *between = arena_array(a, kept, sizeof *between);
    attribution_arrivals(f->chains, x.t_ns, kept, between);
    for (size_t i = 1; i < kept; i++)
        x.tokens[i] = x.tokens[i - 1] + between[i - 1];
    return x;
}

/* In (from, to], both of them wanted moments. */
static int64_t arrived(const struct arrived_tokens *x, int64_t from_ns, int64_t to_ns)
{
    assert(from_ns >= x->t_ns[0] && to_ns <= x->t_ns[x->n - 1]);
    return x->tokens[stamp_before(x->t_ns, x->n, to_ns)] - x->tokens[stamp_before(x->t_ns, x->n, from_ns)];
}

/* ---- one window ---- */

/* Half of the largest less the least J/token as one end moves by up to 50 ms; 0 where it cuts no response. */
static double edge_j_per_token(const struct formal *f, const struct arrived_tokens *x, int64_t from_ns, int64_t to_ns,
                               bool start)
{
    assert(from_ns <= to_ns);
    enum series_id series = headline_series(f->method->headline, STAGE_STEADY);
    int64_t end = start ? from_ns : to_ns;
    double low = (double)NAN, high = (double)NAN;
    for (int64_t k = -EDGE_STEPS; k <= EDGE_STEPS && cuts_responses(f, end); k++) {
        int64_t moved = end + k * METHOD_EDGE_STEP_NS, from = start ? moved : from_ns, to = start ? to_ns : moved;
        if (!cuts_responses(f, moved) || to <= from || arrived(x, from, to) <= 0)
            continue;
        double j_per_token = meters_series_j(f->meters, series, from, to) / (double)arrived(x, from, to);
        low = !(j_per_token >= low) ? j_per_token : low;
        high = !(j_per_token <= high) ? j_per_token : high;
    }
    return cuts_responses(f, end) ? (high - low) / 2 : 0;
}

static struct quantity energy_in(const struct formal *f, int64_t from_ns, int64_t to_ns, struct arena *a)
{
    const struct measure what = {
        .from_ns = from_ns, .to_ns = to_ns, .headline = headline_series(f->method->headline, STAGE_STEADY)};
    return meters_energy(f->meters, &what, NULL, a).headline;
}

static struct window_energy measure_window(const struct formal *f, const struct arrived_tokens *x, int64_t from_ns,
                                           int64_t to_ns, struct arena *a)
{
    struct window_energy e = {.j = energy_in(f, from_ns, to_ns, a), .tokens = arrived(x, from_ns, to_ns)};
    e.average_w = quantity_over(&e.j, time_s(to_ns - from_ns), "the window has no duration");
    e.j_per_token = f->lack_requests ? quantity_absent(Q_NOT_RECORDED, f->lack_requests)
                                     : quantity_over(&e.j, (double)e.tokens, "no token arrived in the window");
    e.edge_j_per_token = quantity_has_value(&e.j_per_token) ? edge_j_per_token(f, x, from_ns, to_ns, true) +
                                                                  edge_j_per_token(f, x, from_ns, to_ns, false)
                                                            : (double)NAN;
    e.j_per_token.instrument += e.edge_j_per_token;
    return e;
}

/* ---- steady ---- */

static struct cv_range cv_range(const struct window_list *w, enum rule rule)
{
    must(rule < RULE_COUNT);
    const struct quantity none = quantity_absent(Q_UNDEFINED, "no window");
    struct cv_range x = {none, none, ABSENT_I64, ABSENT_I64};
    for (size_t i = 0; i < w->n; i++) {
        double cv = w->items[i].cv[rule];
        if (isnan(cv))
            continue;
        if (!(cv >= x.min.value)) {
            x.min = quantity_of(cv);
            x.min_window = (int64_t)i;
        }
        if (!(cv <= x.max.value)) {
            x.max = quantity_of(cv);
            x.max_window = (int64_t)i;
        }
    }
    return x;
}

/* Mean attributed energy of the requests that complete in a steady window. */
static struct quantity mean_request_j(const struct formal *f, const struct completions *c,
                                      const struct steady_verdict *v, const double *energy_j)
{
    assert(v->reached && (size_t)v->window < c->n);
    if (f->lack_requests)
        return quantity_absent(Q_NOT_RECORDED, f->lack_requests);
    struct sum sum = {0};
    for (size_t i = (size_t)v->window; i < c->n; i++)
        sum_add(&sum, energy_j[c->rows[i]]);
    return quantity_of(sum_value(&sum) / (double)v->requests);
}

/* All of a row but what was measured. */
static struct result_steady verdict_row(const struct steady_verdict *v, enum rule rule, enum steady_k k)
{
    const struct quantity none = quantity_absent(Q_NOT_REACHED, v->why);
    return (struct result_steady){.rule = rule,
                                  .k = k,
                                  .reached = v->reached,
                                  .why = v->why,
                                  .window = v->window,
                                  .windows = v->windows,
                                  .first_request = v->first_request,
                                  .last_request = v->last_request,
                                  .requests = v->requests,
                                  .start_ns = ABSENT_I64,
                                  .end_ns = ABSENT_I64,
                                  .start_s = (double)NAN,
                                  .end_s = (double)NAN,
                                  .energy_j = none,
                                  .average_w = none,
                                  .j_per_token = none,
                                  .mean_request_j = none,
                                  .tokens = ABSENT_I64,
                                  .edge_j_per_token = (double)NAN,
                                  .cvs = v->cvs,
                                  .cv_count = v->cv_count,
                                  .lowest_cv = v->lowest_cv,
                                  .lowest_cv_window = v->lowest_cv_window,
                                  .longest_stretch = v->longest_stretch,
                                  .longest_stretch_window = v->longest_stretch_window};
}

static struct result_steady steady_row(const struct formal *f, const struct arrived_tokens *x, int64_t start_ns,
                                       const struct result_steady *verdict, struct quantity mean_j, struct arena *a)
{
    assert(verdict->reached && start_ns != ABSENT_I64);
    struct result_steady s = *verdict;
    const struct window_energy e = measure_window(f, x, start_ns, f->end_ns, a);
    s.start_ns = start_ns;
    s.end_ns = f->end_ns;
    s.start_s = formal_s(f, start_ns);
    s.end_s = formal_s(f, f->end_ns);
    s.energy_j = e.j;
    s.average_w = e.average_w;
    s.j_per_token = e.j_per_token;
    s.edge_j_per_token = e.edge_j_per_token;
    s.tokens = e.tokens;
    s.mean_request_j = mean_j;
    return s;
}

/* ---- saturated ---- */

/* Of the engine's scrapes whose answer arrived within the window, the share with requests waiting; NaN: none. */
static double waiting_share(const struct records *r, int64_t from_ns, int64_t to_ns)
{
    size_t n = 0, waiting = 0;
    for (size_t i = 0; i < r->metrics_count; i++) {
        const struct rec_metrics *m = &r->metrics[i];
        if (m->took_ns == ABSENT_I64 || isnan(m->waiting) || m->t_ns + m->took_ns < from_ns ||
            m->t_ns + m->took_ns > to_ns)
            continue;
        n++;
        waiting += m->waiting > 0;
    }
    return n ? (double)waiting / (double)n : (double)NAN;
}

static struct result_saturated not_saturated(void)
{
    const struct quantity none = quantity_absent(Q_UNDEFINED, NO_GENERATION);
    return (struct result_saturated){.j_per_token = none,
                                     .energy_j = none,
                                     .average_w = none,
                                     .start_ns = ABSENT_I64,
                                     .end_ns = ABSENT_I64,
                                     .tokens = ABSENT_I64,
                                     .peak = ABSENT_I64,
                                     .level = ABSENT_I64,
                                     .edge_j_per_token = (double)NAN,
                                     .start_s = (double)NAN,
                                     .end_s = (double)NAN,
                                     .waiting_share = (double)NAN,
                                     .tail_energy_share = none,
                                     .tail_token_share = none,
                                     .tail_time_share = none};
}

static struct quantity tail_energy_share(const struct formal *f, int64_t end_ns, struct arena *a)
{
    static const char NO_ENERGY[] = "the formal stage has no energy";
    const struct quantity tail = energy_in(f, end_ns, f->end_ns, a), *whole = &f->stage->energy.headline;
    if (quantity_has_value(&tail) && !quantity_has_value(whole))
        return quantity_absent(Q_UNDEFINED, NO_ENERGY);
    return quantity_has_value(&tail) ? quantity_share(&tail, whole, NO_ENERGY) : tail;
}

static struct result_saturated saturated_row(const struct formal *f, const struct arrived_tokens *x,
                                             const struct saturation *s, struct arena *a)
{
    assert(s->start_ns == ABSENT_I64 || s->level <= s->peak);
    if (s->start_ns == ABSENT_I64)
        return not_saturated();
    const struct window_energy e = measure_window(f, x, s->start_ns, s->end_ns, a);
    double waiting = waiting_share(f->records, s->start_ns, s->end_ns);
    double late = (double)arrived(x, s->end_ns, f->end_ns), after_s = time_s(f->end_ns - s->end_ns);
    return (struct result_saturated){.j_per_token = e.j_per_token,
                                     .energy_j = e.j,
                                     .average_w = e.average_w,
                                     .start_ns = s->start_ns,
                                     .end_ns = s->end_ns,
                                     .tokens = e.tokens,
                                     .peak = s->peak,
                                     .level = s->level,
                                     .edge_j_per_token = e.edge_j_per_token,
                                     .start_s = formal_s(f, s->start_ns),
                                     .end_s = formal_s(f, s->end_ns),
                                     .meaningful = s->waited || waiting > METHOD_WAITING_SHARE,
                                     .waiting_share = waiting,
                                     .tail_energy_share = tail_energy_share(f, s->end_ns, a),
                                     .tail_token_share = quantity_of(late / (double)token_chains_output(f->chains)),
                                     .tail_time_share = quantity_of(after_s / f->stage->duration_s)};
}

struct window_energy windows_cut(const struct formal *f, int64_t from_ns, int64_t to_ns, struct arena *a)
{
    must(f->start_ns <= from_ns && from_ns < to_ns && to_ns <= f->end_ns);
    const struct saturation window = {.start_ns = from_ns, .end_ns = to_ns};
    const struct arrived_tokens x = count_arrivals(f, NULL, 0, &window, a);
    return measure_window(f, &x, from_ns, to_ns, a);
}

/* ---- all of them ---- */

/* Boundaries that contradict the requests can let the stage end before a window begins: then there is no window. */
static void within_stage(const struct formal *f, const struct completions *c, struct steady_verdict *v)
{
    if (!v->reached || f->chains->requests[c->rows[v->window]].end_ns < f->end_ns)
        return;
    v->reached = false;
    v->why = "the formal stage ended before the window began";
}

static struct saturation saturated_within(const struct formal *f, struct arena *a)
{
    struct saturation s = steady_saturated(f->chains, f->method->saturated_share, a);
    s.end_ns = s.end_ns > f->end_ns ? f->end_ns : s.end_ns;
    if (s.start_ns >= s.end_ns)
        s.start_ns = s.end_ns = ABSENT_I64;
    return s;
}

struct windows windows_make(const struct formal *f, const struct split *split, struct arena *a)
{
    must(f->start_ns < f->end_ns && f->method->window > 0);
    static const enum steady_k order[K_COUNT] = {K_1, K_2, K_3, K_ALL};
    const double *energy_j[RULE_COUNT];
    for (int k = 0; k < RULE_COUNT; k++)
        energy_j[k] = split->rules[k].energy_j;
    struct windows w = {.completed = steady_order(f->chains, a), .steady_count = RULE_COUNT * K_COUNT};
    w.all = steady_windows(f->chains, &w.completed, f->method->window, f->start_ns, energy_j, a);
    struct steady_verdict *found = arena_array(a, w.steady_count, sizeof *found);
    int64_t *starts_ns = arena_array(a, w.steady_count, sizeof *starts_ns);
    for (size_t i = 0; i < w.steady_count; i++) {
        found[i] = steady_find(&w.all, w.completed.n, f->method, (enum rule)(i / K_COUNT), order[i % K_COUNT], a);
        within_stage(f, &w.completed, &found[i]);
        starts_ns[i] = found[i].reached ? f->chains->requests[w.completed.rows[found[i].window]].end_ns : ABSENT_I64;
    }
    const struct saturation s = saturated_within(f, a);
    const struct arrived_tokens x = count_arrivals(f, starts_ns, w.steady_count, &s, a);
    w.steady = arena_array(a, w.steady_count, sizeof *w.steady);
    for (size_t i = 0; i < w.steady_count; i++) {
        enum rule rule = (enum rule)(i / K_COUNT);
        w.steady[i] = verdict_row(&found[i], rule, order[i % K_COUNT]);
        if (found[i].reached)
            w.steady[i] = steady_row(f, &x, starts_ns[i], &w.steady[i],
                                     mean_request_j(f, &w.completed, &found[i], energy_j[rule]), a);
    }
    for (int k = 0; k < RULE_COUNT; k++)
        w.cv[k] = cv_range(&w.all, (enum rule)k);
    w.saturated = saturated_row(f, &x, &s, a);
    return w;
}
