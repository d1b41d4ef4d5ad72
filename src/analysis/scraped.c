#include "analysis/scraped.h"

#include <math.h>
#include "analysis/order.h"
#include "base/must.h"
#include "base/time.h"
#include "model/limits.h"

/* ---- two scrapes ---- */

/* Both ends, and all scrapes between them: they stand in one list. */
struct scrape_pair {
    const struct rec_metrics *first, *last;
    const char *why; /* null, or why there are no two */
};

/* When its answer arrived; ABSENT_I64: it says nothing. */
static int64_t answer_ns(const struct rec_metrics *m)
{
    bool says = !isnan(m->running) || !isnan(m->generation_tokens) || !isnan(m->ttft_count);
    return says ? rec_metrics_arrival_ns(m) : ABSENT_I64;
}

static struct scrape_pair find_ends(const struct records *r, const struct scraped_span *s)
{
    struct scrape_pair e = {0};
    for (size_t i = 0; i < r->metrics_count; i++) {
        const struct rec_metrics *m = &r->metrics[i];
        int64_t t_ns = answer_ns(m);
        if (t_ns == ABSENT_I64)
            continue;
        e.first = t_ns <= s->start_ns ? m : e.first;
        if (s->table ? m->t_ns >= s->end_ns && t_ns <= s->until_ns : t_ns <= s->end_ns)
            e.last = m;
    }
    e.why = !e.first                        ? "no reading of the engine's /metrics before it was recorded"
            : !e.last                       ? "no reading of the engine's /metrics after it was recorded"
            : e.last->t_ns <= e.first->t_ns ? "there is but one reading of the engine's /metrics"
                                            : NULL;
    return e;
}

/* ---- counts ---- */

typedef double figure_of(const struct rec_metrics *m);

/* What a count rose by. */
static struct quantity rise(const struct scrape_pair *e, figure_of *of)
{
    double seen = of(e->first);
    if (isnan(of(e->last)))
        return quantity_absent(Q_NOT_RECORDED, "the engine's /metrics do not give it, or the records do not hold it");
    if (isnan(seen))
        return quantity_absent(Q_NOT_RECORDED, "the reading before lacks it");
    for (const struct rec_metrics *m = e->first; m <= e->last; m++) {
        double now = of(m);
        if (now < seen)
            return quantity_absent(Q_UNDEFINED, "the engine's count fell meanwhile: it began anew");
        seen = isnan(now) ? seen : now;
    }
    return quantity_of(of(e->last) - of(e->first));
}

static int64_t whole_count(const struct quantity *count)
{
    return quantity_has_value(count) ? (int64_t)floor(count->value + 0.5) : ABSENT_I64;
}

static struct result_engine_mean engine_mean(const struct scrape_pair *e, figure_of *sum_of, figure_of *count_of)
{
    const struct quantity sum = rise(e, sum_of), count = rise(e, count_of);
    return (struct result_engine_mean){
        whole_count(&count),
        quantity_has_value(&count) ? quantity_over(&sum, count.value, "the engine saw none") : count};
}

/* ---- gauges ---- */

static struct result_engine_gauge gauge(const struct records *r, const struct scraped_span *s, figure_of *of)
{
    double all = 0, most = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->metrics_count && s->from_ns != ABSENT_I64; i++) {
        int64_t t_ns = answer_ns(&r->metrics[i]);
        double value = of(&r->metrics[i]);
        if (t_ns == ABSENT_I64 || t_ns < s->from_ns || t_ns > s->to_ns || isnan(value))
            continue;
        all += value;
        most = fmax(most, value);
        n++;
    }
    const struct quantity none =
        quantity_absent(Q_NOT_RECORDED, "no reading of the engine's /metrics within it has it");
    return n ? (struct result_engine_gauge){quantity_of(all / (double)n), quantity_of(most)}
             : (struct result_engine_gauge){none, none};
}

static int64_t count_scrapes(const struct records *r, const struct scraped_span *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < r->metrics_count && s->from_ns != ABSENT_I64; i++) {
        int64_t t_ns = answer_ns(&r->metrics[i]);
        n += t_ns != ABSENT_I64 && t_ns >= s->from_ns && t_ns <= s->to_ns;
    }
    return n;
}

/* ---- figures ---- */

#define FIGURE(name)                                                                                                   \
    static double name(const struct rec_metrics *m)                                                                    \
    {                                                                                                                  \
        return m->name;                                                                                                \
    }

FIGURE(running)
FIGURE(waiting)
FIGURE(kv_cache_used)
FIGURE(preemptions)
FIGURE(prefix_queries)
FIGURE(prefix_hits)
FIGURE(ttft_sum_s)
FIGURE(ttft_count)
FIGURE(queue_sum_s)
FIGURE(queue_count)
FIGURE(prefill_sum_s)
FIGURE(prefill_count)
FIGURE(tpot_sum_s)
FIGURE(tpot_count)
FIGURE(itl_sum_s)
FIGURE(itl_count)
FIGURE(e2e_sum_s)
FIGURE(e2e_count)
FIGURE(drafts)
FIGURE(drafted_tokens)
FIGURE(accepted_tokens)
FIGURE(accepted_share)
FIGURE(accepted_length)

/* ---- jtok's own requests ---- */

static double ttft_of(const struct result_request *q)
{
    return q->ttft_s;
}

/* `late`: the time counts from an intended time, and here from the submission, which is all that an engine sees. */
static struct result_engine_mean client_mean(const struct records *r, const struct scraped_span *s,
                                             double (*of)(const struct result_request *), bool late)
{
    struct sum sum = {0};
    int64_t n = 0;
    size_t row = 0;
    for (size_t i = 0; i < r->request_count && s->table; i++) {
        const struct rec_request *q = &r->requests[i];
        if (q->load != s->load)
            continue;
        must(row < s->table->n);
        const struct result_request *x = &s->table->rows[row++];
        bool intended = late && q->intended_ns != ABSENT_I64 && q->submit_ns != ABSENT_I64;
        double value = of(x) - (intended ? time_s(q->submit_ns - q->intended_ns) : 0);
        if (x->verdict != VERDICT_OK || isnan(value))
            continue;
        sum_add(&sum, value);
        n++;
    }
    if (!s->table)
        return (struct result_engine_mean){ABSENT_I64, quantity_absent(Q_NOT_RECORDED, "no request is jtok's")};
    const struct quantity all = quantity_of(sum_value(&sum));
    return (struct result_engine_mean){n, quantity_over(&all, (double)n, "no successful request has it")};
}

/* ---- side by side ---- */

/* Are they means over the same requests, as far as their numbers tell? */
static bool same_number(int64_t n, int64_t of)
{
    return n != ABSENT_I64 && of != ABSENT_I64 && of > 0 &&
           fabs((double)(n - of)) <= METHOD_SAME_REQUESTS_SHARE * (double)of;
}

static struct quantity less(const struct result_engine_mean *x, const struct result_engine_mean *y, const char *x_name,
                            const char *y_name, struct arena *a)
{
    if (!quantity_has_value(&x->mean) || !quantity_has_value(&y->mean))
        return quantity_has_value(&x->mean) ? y->mean : x->mean;
    if (!same_number(y->n, x->n))
        return quantity_absent(Q_UNDEFINED,
                               arena_format(a, "%s counted %lld of them and %s %lld: not the same requests", x_name,
                                            (long long)x->n, y_name, (long long)y->n));
    return quantity_of(x->mean.value - y->mean.value);
}

/* What is left of its TTFT beside queue and prefill. */
static struct quantity front_end(const struct result_engine_times *t, struct arena *a)
{
    static const char TTFT[] = "the engine's TTFT", QUEUE[] = "its queue", PREFILL[] = "its prefill";
    const struct result_engine_mean rest = {t->ttft_s.n, less(&t->ttft_s, &t->queue_s, TTFT, QUEUE, a)};
    return less(&rest, &t->prefill_s, TTFT, PREFILL, a);
}

static struct result_engine_times times_over(const struct records *r, const struct scraped_span *s,
                                             const struct scrape_pair *e, struct arena *a)
{
    static const char JTOK[] = "jtok", ENGINE[] = "the engine";
    struct result_engine_times t = {.ttft_s = engine_mean(e, ttft_sum_s, ttft_count),
                                    .queue_s = engine_mean(e, queue_sum_s, queue_count),
                                    .prefill_s = engine_mean(e, prefill_sum_s, prefill_count),
                                    .tpot_s = engine_mean(e, tpot_sum_s, tpot_count),
                                    .itl_s = engine_mean(e, itl_sum_s, itl_count),
                                    .e2e_s = engine_mean(e, e2e_sum_s, e2e_count)};
    t.client_ttft_s = client_mean(r, s, ttft_of, true);
    t.client_tpot_s = client_mean(r, s, latency_tpot_s, false);
    t.client_e2e_s = client_mean(r, s, latency_e2e_s, true);
    t.ttft_difference_s = less(&t.client_ttft_s, &t.ttft_s, JTOK, ENGINE, a);
    t.tpot_difference_s = less(&t.client_tpot_s, &t.tpot_s, JTOK, ENGINE, a);
    t.e2e_difference_s = less(&t.client_e2e_s, &t.e2e_s, JTOK, ENGINE, a);
    t.front_end_s = front_end(&t, a);
    const struct quantity other = less(&t.ttft_s, &t.queue_s, "the engine's TTFT", "its queue", a);
    t.queue_share =
        quantity_has_value(&other) ? quantity_share(&t.queue_s.mean, &t.ttft_s.mean, "the engine's TTFT is 0") : other;
    return t;
}

/* By counts; where the engine keeps none, by what its gauge showed. */
static struct quantity counted_or_shown(const struct quantity *part, const struct quantity *of, figure_of *shown,
                                        const struct records *r, const struct scraped_span *s)
{
    if (quantity_has_value(part) || of->state == Q_UNDEFINED || part->state == Q_UNDEFINED)
        return quantity_share(part, of, "no token was drafted");
    const struct quantity mean = gauge(r, s, shown).mean;
    return quantity_has_value(&mean) ? mean : *part;
}

static void put_drafts(struct result_engine *x, const struct records *r, const struct scraped_span *s,
                       const struct scrape_pair *e)
{
    const struct quantity n = rise(e, drafts);
    x->drafted_tokens = rise(e, drafted_tokens);
    x->accepted_tokens = rise(e, accepted_tokens);
    x->accepted_share = counted_or_shown(&x->accepted_tokens, &x->drafted_tokens, accepted_share, r, s);
    const struct quantity own =
        quantity_of(quantity_value(&n)); /* a step brings a token of its own beside the draft's */
    const struct quantity *const both[] = {&x->accepted_tokens, quantity_has_value(&n) ? &own : &n};
    const struct quantity all = quantity_sum(both, 2);
    x->accepted_length = counted_or_shown(&all, &n, accepted_length, r, s);
}

struct result_engine scraped_of(const struct records *r, const struct scraped_span *s, struct arena *a)
{
    must(s->start_ns != ABSENT_I64 && s->end_ns != ABSENT_I64);
    struct scrape_pair e = find_ends(r, s);
    const struct rec_metrics nothing = rec_metrics_absent();
    struct result_engine x = {.first_ns = e.why ? ABSENT_I64 : e.first->t_ns,
                              .last_ns = e.why ? ABSENT_I64 : e.last->t_ns,
                              .why = e.why,
                              .scrapes = count_scrapes(r, s),
                              .running = gauge(r, s, running),
                              .waiting = gauge(r, s, waiting),
                              .kv_cache_used = gauge(r, s, kv_cache_used)};
    if (e.why)
        e.first = e.last = &nothing;
    x.times = times_over(r, s, &e, a);
    x.preemptions = rise(&e, preemptions);
    x.prefix_queries = rise(&e, prefix_queries);
    x.prefix_hits = rise(&e, prefix_hits);
    x.prefix_hit_share = quantity_share(&x.prefix_hits, &x.prefix_queries, "no prompt was looked up");
    put_drafts(&x, r, s, &e);
    return x;
}
