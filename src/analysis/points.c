#include "analysis/points.h"

#include <assert.h>
#include <math.h>
#include "analysis/doubt.h"
#include "analysis/latency.h"
#include "analysis/order.h"
#include "analysis/others.h"
#include "analysis/scraped.h"
#include "analysis/stages.h"
#include "analysis/watch.h"
#include "analysis/windows.h"
#include "base/must.h"
#include "base/num.h"
#include "base/time.h"
#include "model/limits.h"

/* ---- in words ---- */

const char *point_setting(const struct plan_load *l, struct arena *a)
{
    const char *text = load_kind_names[l->kind];
    switch (l->kind) {
    case LOAD_BURST:
        break;
    case LOAD_CONCURRENCY:
        text = arena_format(a, "concurrency %lld", (long long)l->concurrency);
        break;
    case LOAD_RATE:
        text = l->arrivals == ARRIVAL_GAMMA
                   ? arena_format(a, "rate %g/s, gamma of burstiness %g", l->rate, l->burstiness)
                   : arena_format(a, "rate %g/s, %s", l->rate, arrival_kind_names[l->arrivals]);
        break;
    case LOAD_TRACE:
        text = l->scale == 1 ? arena_format(a, "trace %s", l->file ? l->file : "")
                             : arena_format(a, "trace %s, times %g", l->file ? l->file : "", l->scale);
        break;
    }
    if (l->count != ABSENT_I64)
        text = arena_format(a, "%s, %lld request%s", text, (long long)l->count, l->count == 1 ? "" : "s");
    if (!isnan(l->for_s))
        text = arena_format(a, "%s, for %g s", text, l->for_s);
    return text;
}

/* ---- one load out of the records ---- */

/* Time of the boundary `id` of load `number`, or ABSENT_I64. */
static int64_t boundary_of(const struct records *r, enum boundary id, size_t number)
{
    int64_t t_ns = ABSENT_I64;
    for (size_t i = 0; i < r->boundary_count; i++) {
        const struct rec_boundary *b = &r->boundaries[i];
        int64_t of;
        if (b->id == id && b->note && num_i64(span_of(b->note), &of) && of == (int64_t)number)
            t_ns = b->t_ns;
    }
    return t_ns;
}

static bool is_open_loop(enum load_kind kind)
{
    return kind == LOAD_RATE || kind == LOAD_TRACE;
}

/* The first chunk at or after t. Chunks are in order of time. O(log chunks). */
static size_t chunk_from(const struct records *r, int64_t t_ns)
{
    size_t low = 0, high = r->chunk_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->chunks[middle].t_ns < t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The records as if this load's requests were all of them, and intended times their submissions. */
static struct records records_of_load(const struct records *r, size_t number, int64_t start_ns, int64_t end_ns,
                                      struct arena *a)
{
    struct records own = *r;
    size_t n = 0;
    for (size_t i = 0; i < r->request_count; i++)
        n += r->requests[i].load == (int32_t)number;
    own.requests = arena_array(a, n, sizeof *own.requests);
    own.request_count = 0;
    for (size_t i = 0; i < r->request_count; i++) {
        if (r->requests[i].load != (int32_t)number)
            continue;
        struct rec_request *q = &own.requests[own.request_count++];
        *q = r->requests[i];
        q->submit_ns = q->intended_ns != ABSENT_I64 ? q->intended_ns : q->submit_ns;
    }
    size_t from = chunk_from(r, start_ns);
    own.chunks = r->chunks + from;
    own.chunk_count = chunk_from(r, end_ns + 1) - from;
    return own;
}

/* ---- in flight ---- */

/* When a request was in flight: from submission to end, or as long as the load was where no end is known. */
static bool flight_at(const struct point_load *l, size_t i, struct interval *ret)
{
    const struct rec_request *q = &l->requests[i];
    *ret = (struct interval){q->submit_ns, q->end_ns == ABSENT_I64 ? l->end_ns : q->end_ns};
    return q->submit_ns != ABSENT_I64 && ret->to_ns >= ret->from_ns;
}

double point_in_flight(const struct point_load *l, int64_t from_ns, int64_t to_ns)
{
    must(from_ns < to_ns);
    int64_t sum_ns = 0;
    for (size_t i = 0; i < l->request_count; i++) {
        struct interval x;
        if (!flight_at(l, i, &x))
            continue;
        int64_t from = time_later(x.from_ns, from_ns), to = time_sooner(x.to_ns, to_ns);
        sum_ns += to > from ? to - from : 0;
    }
    return (double)sum_ns / (double)(to_ns - from_ns);
}

/* Submissions and ends, each in order of time. */
struct flights {
    int64_t *from_ns, *to_ns;
    size_t n;
};

static struct flights flights_of(const struct point_load *l, struct arena *a)
{
    struct flights f = {.from_ns = arena_array(a, l->request_count, sizeof *f.from_ns),
                        .to_ns = arena_array(a, l->request_count, sizeof *f.to_ns)};
    for (size_t i = 0; i < l->request_count; i++) {
        struct interval x;
        if (!flight_at(l, i, &x))
            continue;
        f.from_ns[f.n] = x.from_ns;
        f.to_ns[f.n++] = x.to_ns;
    }
    order_sort_times(f.from_ns, f.n);
    order_sort_times(f.to_ns, f.n);
    return f;
}

/* The most in flight at once, and the first moment at which `wanted` were; ABSENT_I64: never. A request that ends as
 * another begins is not in flight with it. */
static int64_t most_in_flight(const struct flights *f, int64_t wanted, int64_t *ret_reached_ns)
{
    int64_t most = 0, now = 0;
    *ret_reached_ns = ABSENT_I64;
    for (size_t i = 0, ended = 0; i < f->n; i++) {
        for (; ended < f->n && f->to_ns[ended] <= f->from_ns[i]; ended++)
            now--;
        now++;
        most = now > most ? now : most;
        if (now >= wanted && *ret_reached_ns == ABSENT_I64)
            *ret_reached_ns = f->from_ns[i];
    }
    return most;
}

/* When a request was outstanding: stretches that do not touch. */
static struct interval *outstanding(const struct flights *f, struct arena *a, size_t *ret_count)
{
    struct interval *x = arena_array(a, f->n, sizeof *x);
    size_t n = 0;
    int64_t now = 0;
    for (size_t i = 0, ended = 0; i < f->n; i++) {
        for (; ended < f->n && f->to_ns[ended] < f->from_ns[i]; ended++)
            now--;
        if (now == 0) {
            if (n)
                x[n - 1].to_ns = f->to_ns[ended - 1];
            x[n++] = (struct interval){f->from_ns[i], f->to_ns[f->n - 1]};
        }
        now++;
    }
    *ret_count = n;
    return x;
}

/* ---- the window ---- */

static struct point_window without_window(const char *why)
{
    return (struct point_window){ABSENT_I64, ABSENT_I64, why};
}

static struct point_window window_of_concurrency(const struct point_load *l, struct arena *a)
{
    const struct flights f = flights_of(l, a);
    int64_t from_ns, most = most_in_flight(&f, l->plan->concurrency, &from_ns);
    if (from_ns == ABSENT_I64)
        return without_window(
            arena_format(a, "load not reached: there were never %lld requests in flight, and %lld at most",
                         (long long)l->plan->concurrency, (long long)most));
    if (l->last_ns <= from_ns)
        return without_window(
            arena_format(a, "load not reached: with the last request sent there were just %lld in flight",
                         (long long)l->plan->concurrency));
    return (struct point_window){from_ns, l->last_ns, NULL};
}

/* P95 of E2E of all requests that ended well, ns; NaN: none did. */
static double e2e_p95_ns(const struct point_load *l, struct arena *a)
{
    double *e2e = arena_array(a, l->request_count, sizeof *e2e);
    size_t n = 0;
    for (size_t i = 0; i < l->request_count; i++) {
        const struct rec_request *q = &l->requests[i];
        if (q->verdict == VERDICT_OK && q->submit_ns != ABSENT_I64 && q->end_ns != ABSENT_I64)
            e2e[n++] = (double)(q->end_ns - q->submit_ns);
    }
    order_sort_doubles(e2e, n);
    return n ? order_quantile(e2e, n, 0.95) : (double)NAN;
}

static struct point_window window_of_open_loop(const struct point_load *l, struct arena *a)
{
    double p95_ns = e2e_p95_ns(l, a), whole_ns = (double)(l->last_ns - l->start_ns);
    if (isnan(p95_ns))
        return without_window("load not reached: no request ended well, so when it had settled is not known");
    if (!(p95_ns <= METHOD_SETTLE_SHARE * whole_ns))
        return without_window(
            arena_format(a,
                         "load not reached: it lasted %.3g s, under twice the %.3g s of a request (P95), so "
                         "it never settled; let it last longer",
                         whole_ns / 1e9, p95_ns / 1e9));
    return (struct point_window){l->start_ns + (int64_t)(p95_ns + 0.5), l->last_ns, NULL};
}

struct point_window point_window_of(const struct point_load *l, struct arena *a)
{
    if (l->start_ns == ABSENT_I64)
        return without_window("the run did not get to this load");
    if (l->last_ns == ABSENT_I64 || l->end_ns == ABSENT_I64)
        return without_window("the run ended before this load did");
    if (l->last_ns < l->start_ns || l->end_ns < l->last_ns || l->end_ns == l->start_ns)
        return without_window("the boundaries of this load are not in order");
    switch (l->plan->kind) {
    case LOAD_BURST:
        break;
    case LOAD_CONCURRENCY:
        return window_of_concurrency(l, a);
    case LOAD_RATE:
    case LOAD_TRACE:
        return window_of_open_loop(l, a);
    }
    return (struct point_window){l->start_ns, l->end_ns, NULL};
}

/* ---- its requests ---- */

/* Those of a load that a test keeps, as records of their own. */
struct keeping {
    const struct point_window *window;
    const struct plan_slo *slo; /* null: any that was sent in the window */
    const struct request_table *table;
};

static bool sent_within(const struct rec_request *q, const struct point_window *w)
{
    return q->submit_ns != ABSENT_I64 && q->submit_ns >= w->from_ns && q->submit_ns <= w->to_ns;
}

/* A limit that is not given is kept, and a TPOT that does not exist (one token) keeps any. */
static bool keeps_limits(const struct result_request *q, const struct plan_slo *slo)
{
    return q->verdict == VERDICT_OK && !(q->ttft_s > slo->ttft_s) && !(q->tpot_s > slo->tpot_s) &&
           !(q->e2e_s > slo->e2e_s) && !isnan(q->ttft_s) && !isnan(q->e2e_s);
}

static struct records keep_requests(const struct records *own, const struct keeping *k, struct arena *a)
{
    must(!k->slo || k->table->n == own->request_count);
    struct records kept = *own;
    kept.requests = arena_array(a, own->request_count, sizeof *kept.requests);
    kept.request_count = 0;
    for (size_t i = 0; i < own->request_count; i++)
        if (k->slo ? keeps_limits(&k->table->rows[i], k->slo) : sent_within(&own->requests[i], k->window))
            kept.requests[kept.request_count++] = own->requests[i];
    return kept;
}

static struct result_point_requests requests_in(const struct records *own, const struct request_table *t,
                                                const struct point_window *w, const struct plan_slo *slo)
{
    must(t->n == own->request_count);
    struct result_point_requests n = {.all = (int64_t)own->request_count};
    for (size_t i = 0; i < own->request_count; i++) {
        const struct rec_request *q = &own->requests[i];
        bool ok = q->verdict == VERDICT_OK;
        n.all_failed += !ok;
        if (w->why)
            continue;
        n.ended += ok && q->end_ns != ABSENT_I64 && q->end_ns > w->from_ns && q->end_ns <= w->to_ns;
        if (!sent_within(q, w))
            continue;
        n.sent++;
        n.finished += ok;
        n.failed += !ok;
        n.good += keeps_limits(&t->rows[i], slo);
    }
    if (w->why)
        n.sent = n.finished = n.failed = n.ended = ABSENT_I64;
    if (w->why || !plan_slo_is_set(slo))
        n.good = ABSENT_I64;
    return n;
}

/* ---- its tokens ---- */

/* Prompts whose first output token came in the window; ABSENT_I64 where one is not known. */
static int64_t input_tokens(const struct records *own, const struct point_window *w)
{
    int64_t sum = 0;
    for (size_t i = 0; i < own->request_count; i++) {
        const struct rec_request *q = &own->requests[i];
        if (q->verdict != VERDICT_OK || q->first_ns == ABSENT_I64 || q->first_ns <= w->from_ns ||
            q->first_ns > w->to_ns)
            continue;
        if (q->prompt_tokens == ABSENT_I64)
            return ABSENT_I64;
        sum += q->prompt_tokens;
    }
    return sum;
}

/* Tokens of good requests that arrived in the window. */
static bool good_tokens(const struct records *own, const struct method *m, const struct keeping *k, int64_t *ret_tokens,
                        struct err *e)
{
    struct arena scratch = {0};
    const struct records good = keep_requests(own, k, &scratch);
    struct token_chains chains;
    bool made = token_chains_make(&good, m, &scratch, &chains, e);
    if (made)
        attribution_arrivals(&chains, (const int64_t[]){k->window->from_ns, k->window->to_ns}, 2, ret_tokens);
    arena_done(&scratch);
    return made;
}

static struct result_point_tokens count_tokens(const struct token_chains *chains, const struct point_load *l,
                                               const struct point_window *w)
{
    struct result_point_tokens n = {.before = ABSENT_I64, .output = ABSENT_I64, .after = ABSENT_I64};
    n.input = n.good = ABSENT_I64;
    if (w->why)
        return n;
    int64_t sums[3] = {0};
    const int64_t bounds[] = {l->start_ns - 1, w->from_ns, w->to_ns, time_later(l->end_ns, w->to_ns + 1)};
    attribution_arrivals(chains, bounds, 4, sums);
    n.before = sums[0];
    n.output = sums[1];
    n.after = sums[2];
    return n;
}

/* ---- rates and energies ---- */

static struct quantity per_second(int64_t count, double duration_s, const char *unknown)
{
    return count == ABSENT_I64 ? quantity_absent(Q_NOT_RECORDED, unknown) : quantity_of((double)count / duration_s);
}

static const char NO_LIMIT[] = "the plan sets no limit that a good request keeps";
static const char NO_PROMPTS[] = "the engine did not report prompt tokens";

static struct result_point_rates rates_of(const struct result_point *p)
{
    const double s = p->window.duration_s;
    struct result_point_rates r = {.request_s = per_second(p->requests.ended, s, p->why),
                                   .good_s = per_second(p->requests.good, s, NO_LIMIT),
                                   .output_tok_s = per_second(p->tokens.output, s, p->why),
                                   .input_tok_s = per_second(p->tokens.input, s, NO_PROMPTS)};
    const struct quantity *const both[] = {&r.output_tok_s, &r.input_tok_s};
    r.total_tok_s = quantity_sum(both, 2);
    r.user_tok_s = quantity_inverse(&p->times.tpot_s.p50, 1, "no time between tokens is known");
    return r;
}

static struct quantity over_count(const struct quantity *j, int64_t count, const char *unknown, const char *zero)
{
    return count == ABSENT_I64 ? quantity_absent(Q_NOT_RECORDED, unknown) : quantity_over(j, (double)count, zero);
}

/* A J/token that is not what it seems: others' joules are in it, tokens were made before they arrived, or the load
 * never was a steady one. */
static struct quantity unless_unsteady(struct quantity q, const struct result_point *p, struct arena *a)
{
    const char *others = others_fault(&p->others, a);
    if (others)
        return quantity_marked(q, Q_EXCLUDED, others);
    if (p->lag.delivery_lag)
        return quantity_marked(q, Q_EXCLUDED, "delivery lag: tokens arrived long after their energy was spent");
    if (p->flight.overloaded && p->requests.sent < METHOD_OVERLOADED_SURE)
        return quantity_marked(
            q, Q_EXCLUDED,
            "overloaded: more and more requests were in flight, so that this is not a property of "
            "the rate; below 3000 requests chance alone can look like that, so let the load last longer");
    if (p->flight.overloaded)
        return quantity_marked(q, Q_EXCLUDED,
                               "overloaded: more and more requests were in flight, so that this is not a property of "
                               "the rate");
    return q;
}

static void divide_energy(struct result_point *p, const struct window_energy *w, struct arena *a)
{
    const struct quantity *j = &p->window.energy.headline;
    const struct result_point_tokens *t = &p->tokens;
    int64_t total = t->input == ABSENT_I64 ? ABSENT_I64 : t->input + t->output;
    p->edge_j_per_token = w->edge_j_per_token;
    p->j_per_token = unless_unsteady(w->j_per_token, p, a);
    if (quantity_has_value(&p->j_per_token))
        p->j_per_token.instrument = j->instrument / (double)t->output + w->edge_j_per_token;
    p->j_per_request =
        unless_unsteady(over_count(j, p->requests.ended, "", "no request ended well in the window"), p, a);
    p->j_per_total_token = unless_unsteady(over_count(j, total, NO_PROMPTS, "no token arrived in the window"), p, a);
    p->j_per_good_token = unless_unsteady(
        over_count(j, t->good, NO_LIMIT, "no token of a request that keeps the limits arrived in the window"), p, a);
    if (quantity_has_value(&p->j_per_good_token))
        p->j_per_good_token.instrument += w->edge_j_per_token * (double)t->output / (double)t->good;
    p->goodput_share = p->requests.good == ABSENT_I64 ? quantity_absent(Q_NOT_RECORDED, NO_LIMIT)
                       : p->requests.sent             ? quantity_of((double)p->requests.good / (double)p->requests.sent)
                                          : quantity_absent(Q_UNDEFINED, "no request was sent in the window");
}

/* ---- one point ---- */

/* What the steps share. */
struct point_inputs {
    const struct records *r;
    const struct method *m;
    const struct run_series *s;
    const struct meters *meters;
    struct arena *a;       /* the result's */
    struct arena *scratch; /* what one load needs and nobody keeps */
};

static struct quantity energy_drawn(const struct point_inputs *k, int64_t from_ns, int64_t to_ns)
{
    if (from_ns >= to_ns)
        return quantity_of(0);
    const struct measure what = {
        .from_ns = from_ns, .to_ns = to_ns, .headline = headline_series(k->m->headline, STAGE_WINDOW)};
    return meters_energy(k->meters, &what, NULL, k->a).headline;
}

/* A load begins with a jump of power, which all GPUs have at once: what their counters do not see of it adds, in full
 * and not in a root. A burst's window also ends in one. A closed loop's begins with prompts, whose power is above the
 * mean of 0.2 s that the counter's doubt goes by. */
static void doubt_jumps(const struct point_inputs *k, enum load_kind kind, struct result_stage *s)
{
    const bool headline = headline_series(k->m->headline, STAGE_WINDOW) == SERIES_COUNTER;
    double sum = 0;
    for (size_t i = 0; i < s->gpu_count; i++) {
        struct energy_set *e = &s->gpus[i].energy;
        const struct counter_doubt d = energy_between_jumps(e);
        if (kind == LOAD_BURST)
            e->counter.instrument = fabs(d.known) + d.rest;
        else if (kind == LOAD_CONCURRENCY)
            e->counter.instrument += doubt_edge_j(&k->meters->gpus[i].buffer, s->start_ns);
        if (headline) {
            e->headline.instrument = e->counter.instrument;
            s->gpus[i].average_w.instrument = e->counter.instrument / s->duration_s;
        }
        sum += quantity_has_value(&e->counter) ? e->counter.instrument : (double)NAN;
    }
    if (isnan(sum) || !quantity_has_value(&s->energy.counter))
        return;
    s->energy.counter.instrument = sum;
    if (!headline)
        return;
    s->energy.headline.instrument = sum;
    s->average_w.instrument = sum / s->duration_s;
}

static struct result_stage measure_point(const struct point_inputs *k, const struct point_window *w,
                                         enum load_kind kind)
{
    const struct bounds b = {w->from_ns, w->to_ns, w->why};
    const struct stage_rules rules = {k->m->headline, NULL};
    struct result_stage s = stage_measure(k->meters, STAGE_WINDOW, &b, &rules, k->r, k->a);
    if (!w->why)
        doubt_jumps(k, kind, &s);
    return s;
}

static struct percentiles lateness_of(const struct records *r, size_t number, const struct point_window *w,
                                      struct arena *a)
{
    double *late_s = arena_array(a, r->request_count, sizeof *late_s);
    size_t n = 0;
    for (size_t i = 0; i < r->request_count && !w->why; i++) {
        const struct rec_request *q = &r->requests[i];
        if (q->load == (int32_t)number && q->intended_ns != ABSENT_I64 && q->submit_ns != ABSENT_I64 &&
            q->intended_ns >= w->from_ns && q->intended_ns <= w->to_ns)
            late_s[n++] = time_s(q->submit_ns - q->intended_ns);
    }
    return order_percentiles(late_s, n, w->why ? w->why : "no request of this load had an intended time");
}

/* Latencies of the requests that were sent in the window. */
static bool times_in(const struct point_inputs *k, const struct records *own, size_t number,
                     const struct point_window *w, struct result_point_times *ret, struct err *e)
{
    const struct records sent = keep_requests(own, &(struct keeping){.window = w}, k->scratch);
    struct token_chains chains;
    if (!token_chains_make(&sent, k->m, k->scratch, &chains, e))
        return false;
    const struct request_table table = latency_table(&chains, &k->s->clocks, w->from_ns, k->scratch);
    const struct quantity none = quantity_absent(Q_NOT_RECORDED, OF_LOADS);
    const struct result_load l = latency_load(&chains, &table, &k->s->clocks, none, k->scratch);
    *ret = (struct result_point_times){.ttft_s = l.ttft_s,
                                       .tpot_s = l.tpot_s,
                                       .e2e_s = l.e2e_s,
                                       .itl_s = l.itl_s,
                                       .itl_per_token = l.itl_per_token,
                                       .lateness_s = lateness_of(k->r, number, w, k->scratch)};
    return true;
}

static struct result_point_flight flight_in(const struct point_load *l, const struct flights *f,
                                            const struct point_window *w)
{
    int64_t never, third = (w->to_ns - w->from_ns) / 3;
    int64_t peak = most_in_flight(f, INT64_MAX, &never);
    if (w->why || third <= 0) {
        const struct quantity none = quantity_absent(Q_NOT_REACHED, w->why ? w->why : "the window is too short");
        return (struct result_point_flight){.mean = none, .middle = none, .last = none, .peak = peak};
    }
    double middle = point_in_flight(l, w->from_ns + third, w->to_ns - third);
    double last = point_in_flight(l, w->to_ns - third, w->to_ns);
    return (struct result_point_flight){.mean = quantity_of(point_in_flight(l, w->from_ns, w->to_ns)),
                                        .middle = quantity_of(middle),
                                        .last = quantity_of(last),
                                        .peak = peak,
                                        .overloaded =
                                            is_open_loop(l->plan->kind) && last > METHOD_OVERLOADED_FACTOR * middle};
}

static struct result_lag lag_in(const struct point_inputs *k, const struct token_chains *chains,
                                const struct flights *f, const struct point_window *w, int64_t quiet_ns)
{
    size_t n;
    const struct interval *owed = outstanding(f, k->scratch, &n);
    const struct lag_span span = {
        .start_ns = w->from_ns, .end_ns = w->to_ns, .owed = owed, .owed_count = n, .lag_share = k->m->lag_share};
    const struct levels levels = lag_levels(k->s, k->r, quiet_ns, w->from_ns, w->to_ns, k->a);
    return lag_judge(chains, k->s, &levels, &span, k->a);
}

/* A load, its requests and its window. */
struct point_parts {
    const struct point_load *load;
    const struct records *own;
    const struct token_chains *chains;
    const struct request_table *table;
    const struct point_window *window;
    int64_t quiet_ns; /* since when the engine was there and idle levels can be seen */
};

/* A load that has its window. */
static bool fill_point(const struct point_inputs *k, const struct point_parts *x, struct result_point *p, struct err *e)
{
    const struct point_load *l = x->load;
    const struct point_window *w = x->window;
    const struct plan_slo *slo = &k->r->plan.slo;
    const struct flights f = flights_of(l, k->scratch);
    const struct keeping good = {.window = w, .slo = slo, .table = x->table};
    if (!times_in(k, x->own, (size_t)p->number, w, &p->times, e))
        return false;
    p->tokens = count_tokens(x->chains, l, w);
    p->tokens.input = input_tokens(x->own, w);
    if (plan_slo_is_set(slo) && !good_tokens(x->own, k->m, &good, &p->tokens.good, e))
        return false;
    p->window = measure_point(k, w, l->plan->kind);
    p->before_j = energy_drawn(k, l->start_ns, w->from_ns);
    p->after_j = energy_drawn(k, w->to_ns, l->end_ns);
    p->flight = flight_in(l, &f, w);
    p->lag = lag_in(k, x->chains, &f, w, x->quiet_ns);
    p->rates = rates_of(p);
    if (plan_object(&k->r->plan) == OBJECT_ATTACH && p->reached)
        p->others = others_in_window(x->own, x->chains, w->from_ns, w->to_ns, p->flight.mean.value);
    const struct formal stage = {.records = x->own,
                                 .method = k->m,
                                 .meters = k->meters,
                                 .chains = x->chains,
                                 .start_ns = time_sooner(l->start_ns, w->from_ns),
                                 .end_ns = l->end_ns};
    struct window_energy cut = windows_cut(&stage, w->from_ns, w->to_ns, k->a);
    if (cut.tokens > 0 && p->window.energy.headline_series != SERIES_COUNTER)
        cut.j_per_token.instrument += meters_ends_j(k->meters, w->from_ns, w->to_ns) / (double)cut.tokens;
    divide_energy(p, &cut, k->a);
    return true;
}

/* ---- all of them ---- */

static struct point_load point_load_of(const struct records *r, size_t number)
{
    struct point_load l = {.plan = &r->plan.loads[number],
                           .start_ns = boundary_of(r, BOUNDARY_LOAD_START, number),
                           .last_ns = boundary_of(r, BOUNDARY_LOAD_LAST, number),
                           .end_ns = boundary_of(r, BOUNDARY_LOAD_END, number)};
    /* The time of a load may go on when its last request has ended. */
    if (l.end_ns != ABSENT_I64 && l.last_ns != ABSENT_I64)
        l.end_ns = time_later(l.end_ns, l.last_ns);
    return l;
}

/* What is known of a load whether or not it has a window. */
static struct result_point begin_point(const struct point_inputs *k, const struct point_load *l, size_t number,
                                       const struct point_window *w)
{
    struct result_point p;
    result_point_absent(&p, w->why ? w->why : "not looked at");
    p.number = (int64_t)number;
    p.kind = l->plan->kind;
    p.setting = point_setting(l->plan, k->a);
    p.start_ns = l->start_ns;
    p.last_ns = l->last_ns;
    p.end_ns = l->end_ns;
    p.reached = !w->why;
    p.why = w->why;
    return p;
}

/* When something else was asked of the engine after a load. */
static int64_t next_asked_ns(const struct records *r, size_t number)
{
    int64_t next_ns = boundary_of(r, BOUNDARY_LOAD_START, number + 1);
    next_ns = next_ns == ABSENT_I64 ? records_boundary(r, BOUNDARY_STOP) : next_ns;
    return next_ns == ABSENT_I64 ? INT64_MAX : next_ns;
}

static struct result_engine engine_during(const struct point_inputs *k, const struct point_load *l, size_t number,
                                          const struct point_window *w, const struct request_table *table)
{
    return scraped_of(k->r,
                      &(struct scraped_span){.start_ns = l->start_ns,
                                             .end_ns = l->end_ns,
                                             .until_ns = next_asked_ns(k->r, number),
                                             .from_ns = w->from_ns,
                                             .to_ns = w->to_ns,
                                             .load = (int32_t)number,
                                             .table = table},
                      k->a);
}

static bool make_point(const struct point_inputs *k, size_t number, int64_t quiet_ns, struct result_point *ret,
                       struct err *e)
{
    struct point_load l = point_load_of(k->r, number);
    const int64_t from_ns = l.start_ns == ABSENT_I64 ? INT64_MAX - 1 : l.start_ns;
    const int64_t to_ns = l.end_ns == ABSENT_I64 ? INT64_MAX - 1 : l.end_ns;
    const struct records own = records_of_load(k->r, number, from_ns, to_ns, k->scratch);
    l.requests = own.requests;
    l.request_count = own.request_count;
    struct token_chains chains;
    if (!token_chains_make(&own, k->m, k->scratch, &chains, e))
        return false;
    const struct request_table table = latency_table(&chains, &k->s->clocks, from_ns, k->scratch);
    const struct quantity none = quantity_absent(Q_NOT_RECORDED, OF_LOADS);
    const struct result_load whole = latency_load(&chains, &table, &k->s->clocks, none, k->a);
    const struct point_window w = point_window_of(&l, k->a);
    struct result_point p = begin_point(k, &l, number, &w);
    p.requests = requests_in(&own, &table, &w, &k->r->plan.slo);
    p.failures = whole.failures;
    p.failure_count = whole.failure_count;
    if (l.start_ns != ABSENT_I64 && l.end_ns != ABSENT_I64)
        p.engine = engine_during(k, &l, number, &w, &table);
    const struct point_parts parts = {&l, &own, &chains, &table, &w, quiet_ns};
    if (!w.why && !fill_point(k, &parts, &p, e))
        return false;
    *ret = p;
    return true;
}

/* Load 0: up to 10 s before the first load (on a running service: the look before it), and each silence from its third
 * second on. */
static struct interval silence_before(const struct records *r, size_t number)
{
    int64_t to_ns = boundary_of(r, BOUNDARY_LOAD_START, number);
    if (to_ns == ABSENT_I64)
        return (struct interval){ABSENT_I64, ABSENT_I64};
    if (number == 0 && plan_is_running(&r->plan))
        return (struct interval){to_ns - time_of_seconds(r->plan.attach.look_s), to_ns};
    if (number == 0) {
        int64_t from_ns = to_ns - METHOD_QUIET_FIRST_NS, warm_ns = records_boundary(r, BOUNDARY_WARMUP_END);
        return (struct interval){warm_ns == ABSENT_I64 ? from_ns : time_later(from_ns, warm_ns), to_ns};
    }
    int64_t end_ns = point_load_of(r, number - 1).end_ns;
    return (struct interval){end_ns == ABSENT_I64 ? ABSENT_I64 : end_ns + METHOD_QUIET_SKIP_NS, to_ns};
}

static struct quantity others_silent(const struct point_inputs *k, const struct interval *x)
{
    return plan_object(&k->r->plan) == OBJECT_ATTACH ? others_in_silence(k->r, x->from_ns, x->to_ns)
                                                     : quantity_absent(Q_NOT_RECORDED, "the engine is jtok's own");
}

static struct result_silence *find_silences(const struct point_inputs *k, size_t *ret_count)
{
    const size_t loads = k->r->plan.load_count;
    struct result_silence *list = arena_array(k->a, loads, sizeof *list);
    *ret_count = 0;
    for (size_t i = 0; i < loads; i++) {
        const struct interval x = silence_before(k->r, i);
        if (x.from_ns == ABSENT_I64 || x.to_ns <= x.from_ns)
            continue;
        const struct quantity j = energy_drawn(k, x.from_ns, x.to_ns);
        double duration_s = time_s(x.to_ns - x.from_ns);
        list[(*ret_count)++] = (struct result_silence){.before = (int64_t)i,
                                                       .start_ns = x.from_ns,
                                                       .end_ns = x.to_ns,
                                                       .duration_s = duration_s,
                                                       .average_w = quantity_over(&j, duration_s, ""),
                                                       .others = others_silent(k, &x)};
    }
    return list;
}

/* Since when the engine waits for requests, as far as the records tell. */
static int64_t quiet_since(const struct records *r)
{
    int64_t ready_ns = records_boundary(r, BOUNDARY_READY);
    return ready_ns != ABSENT_I64 ? ready_ns : silence_before(r, 0).from_ns;
}

static struct levels levels_of(const struct point_inputs *k, const struct result_point *points, size_t n,
                               int64_t quiet_ns)
{
    int64_t from_ns = ABSENT_I64, to_ns = ABSENT_I64;
    for (size_t i = 0; i < n; i++) {
        from_ns = from_ns == ABSENT_I64 ? points[i].start_ns : from_ns;
        to_ns = points[i].end_ns != ABSENT_I64 ? points[i].end_ns : to_ns;
    }
    if (from_ns == ABSENT_I64 || to_ns == ABSENT_I64 || to_ns <= from_ns)
        return (struct levels){0};
    return lag_levels(k->s, k->r, quiet_ns, from_ns, to_ns, k->a);
}

/* A service under its users' load: one point, by the engine's own count. */
static struct points watched(const struct point_inputs *k)
{
    const struct bounds b = watch_bounds(k->r);
    const struct point_window w = {b.from_ns, b.to_ns, b.why};
    const struct result_stage window = measure_point(k, &w, LOAD_RATE); /* no end in a jump */
    struct points x = {.items = arena_array(k->a, 1, sizeof *x.items), .n = 1};
    x.items[0] = watch_point(k->r, &window, k->a);
    return x;
}

bool points_make(const struct records *r, const struct method *m, const struct run_series *s,
                 const struct meters *meters, struct arena *a, struct points *ret, struct err *e)
{
    must(r->plan.load_count == 0 || r->plan.loads);
    struct arena scratch = {0};
    const struct point_inputs k = {r, m, s, meters, a, &scratch};
    if (plan_object(&r->plan) == OBJECT_WATCH) {
        *ret = watched(&k);
        return true;
    }
    const int64_t quiet_ns = quiet_since(r);
    struct points x = {.n = r->plan.load_count};
    x.items = arena_array(a, x.n, sizeof *x.items);
    bool made = true;
    for (size_t i = 0; i < x.n && made; i++) {
        made = make_point(&k, i, quiet_ns, &x.items[i], e);
        arena_done(&scratch);
        scratch = (struct arena){0};
    }
    if (!made)
        return false;
    x.silences = find_silences(&k, &x.silence_count);
    x.levels = levels_of(&k, x.items, x.n, quiet_ns);
    *ret = x;
    return true;
}
