#include "analysis/others.h"

#include <math.h>
#include "analysis/attribution.h"
#include "analysis/watch.h"
#include "base/must.h"
#include "model/limits.h"

static const char NO_COUNT[] = "the engine's count of tokens was not read twice in the window";
static const char NO_GAUGE[] = "the engine did not say how many requests it has";

/* ---- readings ---- */

static bool arrived_within(const struct rec_metrics *m, int64_t from_ns, int64_t to_ns)
{
    int64_t t_ns = rec_metrics_arrival_ns(m);
    return t_ns != ABSENT_I64 && t_ns >= from_ns && t_ns <= to_ns;
}

/* Running and waiting together, as the readings have it: their number, sum and sum of squares. */
struct gauge_sums {
    double n, sum, squares;
};

static struct gauge_sums gauge_over(const struct records *r, int64_t from_ns, int64_t to_ns)
{
    struct gauge_sums g = {0};
    for (size_t i = 0; i < r->metrics_count; i++) {
        const struct rec_metrics *m = &r->metrics[i];
        if (!arrived_within(m, from_ns, to_ns) || isnan(m->running))
            continue;
        double all = m->running + (isnan(m->waiting) ? 0 : m->waiting);
        g.n++;
        g.sum += all;
        g.squares += all * all;
    }
    return g;
}

struct quantity others_in_silence(const struct records *r, int64_t from_ns, int64_t to_ns)
{
    must(from_ns <= to_ns);
    const struct gauge_sums g = gauge_over(r, from_ns, to_ns);
    return g.n > 0 ? quantity_of(g.sum / g.n) : quantity_absent(Q_NOT_RECORDED, NO_GAUGE);
}

static struct quantity requests_beside(const struct gauge_sums *g, double in_flight)
{
    if (!(g->n > 1) || isnan(in_flight))
        return quantity_absent(Q_NOT_RECORDED, NO_GAUGE);
    double mean = g->sum / g->n, variance = fmax(0, g->squares / g->n - mean * mean) * g->n / (g->n - 1);
    struct quantity q = quantity_of(mean - in_flight);
    q.instrument = 2 * sqrt(variance / g->n);
    return q;
}

/* ---- tokens ---- */

/* Arrivals of the first and the last reading with a count in [from, to]. */
static bool ends_of(const struct records *r, int64_t from_ns, int64_t to_ns, int64_t *ret_bounds)
{
    size_t n = 0;
    for (size_t i = 0; i < r->metrics_count; i++) {
        const struct rec_metrics *m = &r->metrics[i];
        if (!arrived_within(m, from_ns, to_ns) || isnan(m->generation_tokens))
            continue;
        ret_bounds[n > 0] = rec_metrics_arrival_ns(m);
        n++;
    }
    return n > 1 && ret_bounds[0] < ret_bounds[1];
}

static bool has_failed(const struct token_chains *ours)
{
    for (size_t i = 0; i < ours->request_count; i++)
        if (!ours->chains[i].success)
            return true;
    return false;
}

static struct quantity token_share(const struct records *r, const struct token_chains *ours, int64_t from_ns,
                                   int64_t to_ns)
{
    int64_t ends[2], arrived;
    if (!ends_of(r, from_ns, to_ns, ends))
        return quantity_absent(Q_NOT_RECORDED, NO_COUNT);
    if (has_failed(ours))
        return quantity_absent(Q_UNDEFINED, "requests failed, and how many tokens they got is not known");
    const struct watch_count c = watch_count_between(r, ends[0], ends[1]);
    if (!c.first || !c.last || !(c.tokens > 0))
        return quantity_absent(Q_UNDEFINED, "the engine counted no token between two readings");
    double edge = watch_edge_tokens(&c) + (c.at_end ? 0 : 2 * METHOD_COUNT_LATE_S * c.tokens / c.duration_s);
    if (isnan(edge))
        return quantity_absent(Q_NOT_RECORDED, "how many tokens were in flight at the readings is not known");
    attribution_arrivals(ours, ends, 2, &arrived);
    struct quantity q = quantity_of((c.tokens - (double)arrived) / c.tokens);
    q.instrument = edge / c.tokens;
    return q;
}

/* ---- both ---- */

/* More by over half a request and a tenth of jtok's own. */
static bool is_more(const struct quantity *requests, double in_flight)
{
    return quantity_has_value(requests) &&
           requests->value - requests->instrument > fmax(METHOD_OTHERS_REQUESTS, METHOD_OTHERS_SHARE * in_flight);
}

struct result_point_others others_in_window(const struct records *r, const struct token_chains *ours, int64_t from_ns,
                                            int64_t to_ns, double in_flight)
{
    must(from_ns < to_ns);
    const struct gauge_sums g = gauge_over(r, from_ns, to_ns);
    struct result_point_others x = {.token_share = token_share(r, ours, from_ns, to_ns),
                                    .requests = requests_beside(&g, in_flight)};
    bool tokens = quantity_has_value(&x.token_share) && x.token_share.value > x.token_share.instrument;
    x.seen = tokens || is_more(&x.requests, in_flight);
    return x;
}

const char *others_fault(const struct result_point_others *x, struct arena *a)
{
    if (!x->seen)
        return NULL;
    if (!quantity_has_value(&x->token_share))
        return arena_format(a,
                            "requests of others: on average %.3g more than jtok's were in the engine, and their energy "
                            "is in the window",
                            x->requests.value);
    if (x->token_share.value - x->token_share.instrument <= METHOD_USAGE_SHARE)
        return NULL;
    return arena_format(a,
                        "requests of others: %.3g %% of the tokens that the engine generated were theirs, and their "
                        "energy is in the window",
                        100 * x->token_share.value);
}
