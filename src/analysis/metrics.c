#include "analysis/metrics.h"

#include <assert.h>
#include <math.h>
#include "analysis/analyze.h"
#include "base/must.h"
#include "model/limits.h"

static struct quantity per_known(const struct quantity *energy, int64_t count, const char *unknown, const char *zero)
{
    if (count == ABSENT_I64)
        return quantity_absent(Q_NOT_RECORDED, unknown);
    return quantity_over(energy, (double)count, zero);
}

/* Of the whole server, per million output tokens; absent where the plan does not say what is needed. */
struct cost {
    struct quantity kwh, money, carbon_g;
};

static struct cost cost_of(const struct plan_cost *cost, const struct quantity *j_per_token)
{
    if (isnan(cost->pue) || isnan(cost->server_factor)) {
        const struct quantity none =
            quantity_absent(Q_NOT_RECORDED, "the plan gives no PUE and no whole-server factor");
        return (struct cost){none, none, none};
    }
    struct cost c = {.kwh = quantity_scaled(j_per_token, 1e6 / METHOD_J_PER_KWH * cost->server_factor * cost->pue)};
    c.money = isnan(cost->price_per_kwh) ? quantity_absent(Q_NOT_RECORDED, "the plan gives no price per kWh")
                                         : quantity_scaled(&c.kwh, cost->price_per_kwh);
    c.carbon_g = isnan(cost->carbon_g_per_kwh) ? quantity_absent(Q_NOT_RECORDED, "the plan gives no carbon intensity")
                                               : quantity_scaled(&c.kwh, cost->carbon_g_per_kwh);
    return c;
}

/* A J/token that must not be compared where tokens came late. */
static struct quantity unless_late(struct quantity q, const struct result *x)
{
    static const char LAG[] = "delivery lag: tokens arrived long after their energy was spent";
    return x->lag.delivery_lag ? quantity_marked(q, Q_EXCLUDED, LAG) : q;
}

static struct quantity saturated_j_per_token(const struct result *x)
{
    const struct quantity q = unless_late(x->saturated.j_per_token, x);
    return x->saturated.meaningful
               ? q
               : quantity_marked(q, Q_EXCLUDED, "all requests ran at once: where none waited, nothing is saturated");
}

static int64_t total_tokens(const struct result_load *load)
{
    return load->prompt_tokens == ABSENT_I64 || load->output_tokens == ABSENT_I64
               ? ABSENT_I64
               : load->prompt_tokens + load->output_tokens;
}

/* What is divided by requests or tokens has no value where the records lack requests. */
static struct quantity divided(struct quantity q, const char *lack_requests)
{
    return lack_requests ? quantity_absent(Q_NOT_RECORDED, lack_requests) : q;
}

struct result_metrics metrics_of(const struct result *x, const struct plan_cost *cost, const char *lack)
{
    must(x->stage_count > 0);
    static const char NO_TOKENS[] = "no successful request, so no output tokens";
    const struct result_load *load = &x->load;
    const struct result_stage *formal = result_stage_of(x, STAGE_FORMAL), *life = result_stage_of(x, STAGE_LIFECYCLE);
    const struct quantity *energy = &formal->energy.headline;
    const struct quantity j_per_token = per_known(energy, load->output_tokens, formal->why, NO_TOKENS);
    const struct quantity throughput = formal->why ? quantity_absent(Q_NOT_RECORDED, formal->why)
                                       : load->output_tokens > 0
                                           ? quantity_of((double)load->output_tokens / formal->duration_s)
                                           : quantity_absent(Q_UNDEFINED, NO_TOKENS);
    const struct cost c = cost_of(cost, &j_per_token);
    return (struct result_metrics){
        .steady_j_per_token = divided(unless_late(x->steady.j_per_token, x), lack),
        .lifecycle_j_per_token =
            divided(per_known(&life->energy.headline, load->output_tokens, formal->why, NO_TOKENS), lack),
        .startup_j = result_stage_of(x, STAGE_STARTUP)->energy.headline,
        .release_j = result_stage_of(x, STAGE_RELEASE)->energy.headline,
        .throughput_tok_s = divided(throughput, lack),
        .formal_w = formal->average_w,
        .steady_w = x->steady.average_w,
        .lifecycle_w = life->average_w,
        .formal_j_per_token = divided(j_per_token, lack),
        .saturated_j_per_token = divided(saturated_j_per_token(x), lack),
        .j_per_request = divided(per_known(energy, load->successful, formal->why, "no successful request"), lack),
        .tokens_per_kwh = divided(quantity_inverse(&j_per_token, METHOD_J_PER_KWH, "the energy is 0"), lack),
        .j_per_total_token =
            divided(per_known(energy, total_tokens(load), "the engine did not report prompt tokens", NO_TOKENS), lack),
        .j_per_visible_token =
            divided(per_known(energy, load->visible_tokens, "the engine does not report reasoning tokens",
                              "no visible output tokens"),
                    lack),
        .cost_per_million_tokens = divided(c.money, lack),
        .carbon_g_per_million_tokens = divided(c.carbon_g, lack),
        .kwh_per_million_tokens = divided(c.kwh, lack),
        .currency = cost->currency,
        .pue = cost->pue,
        .server_factor = cost->server_factor};
}

/* ---- E(N) ---- */

static struct quantity smallest_n(const struct quantity *fixed, const struct quantity *each, double share)
{
    assert(share > 0 && share < 1);
    if (!quantity_has_value(fixed))
        return quantity_absent(fixed->state, fixed->why);
    if (!quantity_has_value(each) || !(each->value > 0))
        return quantity_absent(quantity_has_value(each) ? Q_UNDEFINED : each->state, "no energy per request");
    /* fixed / (fixed + N e) < share */
    const struct quantity *const inputs[] = {fixed, each};
    return quantity_from(floor(fixed->value * (1 - share) / (share * each->value)) + 1, inputs, 2);
}

/* The three ways to the energy of one request. */
static void ways_of(const struct result_estimate *e, const struct quantity *ret_ways[3])
{
    ret_ways[0] = &e->e_steady_j;
    ret_ways[1] = &e->e_attributed_j;
    ret_ways[2] = &e->e_formal_j;
}

static struct estimate estimate_line(const struct result *r, const struct result_estimate *e, int64_t requests)
{
    static const char NONE[] = "an estimate is for one request or more";
    double n = (double)requests;
    const struct quantity running = quantity_scaled(&e->e_request_j, n);
    const struct quantity *measured = &result_stage_of(r, STAGE_LIFECYCLE)->energy.headline;
    bool own = requests == r->load.requests && r->load.failed == 0 && quantity_has_value(measured);
    const struct quantity total = own ? *measured
                                  : requests > 0
                                      ? quantity_sum((const struct quantity *const[]){&e->fixed_j, &running}, 2)
                                      : quantity_absent(Q_UNDEFINED, NONE);
    struct estimate s = {.requests = requests,
                         .total_j = total,
                         .per_request_j = quantity_over(&total, n, ""),
                         .overhead_per_request_j = quantity_over(&e->fixed_j, n, NONE),
                         .overhead_share =
                             quantity_has_value(&total) && quantity_has_value(&e->fixed_j) && total.value > 0
                                 ? quantity_share(&e->fixed_j, &total, NONE)
                                 : quantity_absent(Q_UNDEFINED, "no estimate"),
                         .j_per_token = quantity_has_value(&e->mean_output_tokens)
                                            ? quantity_over(&total, n * e->mean_output_tokens.value, "no output tokens")
                                            : e->mean_output_tokens,
                         .measured = own,
                         .low_j = (double)NAN,
                         .high_j = (double)NAN};
    const struct quantity *ways[3];
    ways_of(e, ways);
    for (size_t i = 0; i < 3 && e->ranged && !own && quantity_has_value(&e->fixed_j); i++) {
        double way_j = e->fixed_j.value + n * ways[i]->value;
        if (!quantity_has_value(ways[i]))
            continue;
        s.low_j = !(way_j >= s.low_j) ? way_j : s.low_j;
        s.high_j = !(way_j <= s.high_j) ? way_j : s.high_j;
    }
    return s;
}

struct estimate estimate_for(const struct result *r, int64_t requests)
{
    return estimate_line(r, &r->estimate, requests);
}

/* Do the ways differ by more than METHOD lets pass without a range? */
static bool ways_differ(const struct result_estimate *e)
{
    const struct quantity *ways[3];
    double low = (double)NAN, high = (double)NAN;
    ways_of(e, ways);
    for (size_t i = 0; i < 3; i++)
        if (quantity_has_value(ways[i])) {
            low = !(ways[i]->value >= low) ? ways[i]->value : low;
            high = !(ways[i]->value <= high) ? ways[i]->value : high;
        }
    return low > 0 && high / low - 1 > METHOD_RANGE_SHARE;
}

/* The ways and what follows from them; no table yet. */
static struct result_estimate rule_of(const struct result *x, struct quantity fixed_j)
{
    const struct result_load *load = &x->load;
    struct result_estimate e = {.fixed_j = fixed_j, .e_formal_j = x->metrics.j_per_request};
    e.e_attributed_j = x->steady.mean_request_j;
    e.mean_output_tokens = load->successful > 0 ? quantity_of((double)load->output_tokens / (double)load->successful)
                                                : quantity_absent(Q_UNDEFINED, "no successful request");
    e.e_steady_j = quantity_has_value(&e.mean_output_tokens)
                       ? quantity_scaled(&x->metrics.steady_j_per_token, e.mean_output_tokens.value)
                       : e.mean_output_tokens;
    /* A steady value that is excluded gives no e_ss: the formal stage stands in, and is named. */
    bool steady = e.e_steady_j.state == Q_MEASURED;
    e.e_request_j = steady ? e.e_steady_j : e.e_formal_j;
    e.source = steady ? "steady-state J/token times mean output tokens"
               : e.e_steady_j.state == Q_EXCLUDED
                   ? "formal energy over successful requests, since the steady-state value is excluded"
                   : "formal energy over successful requests, since no steady state was reached";
    e.ranged = steady && ways_differ(&e);
    e.n_overhead_1 = smallest_n(&e.fixed_j, &e.e_request_j, 0.01);
    e.n_overhead_5 = smallest_n(&e.fixed_j, &e.e_request_j, 0.05);
    e.n_overhead_10 = smallest_n(&e.fixed_j, &e.e_request_j, 0.10);
    return e;
}

struct result_estimate estimate_of(const struct result *x, struct quantity fixed_j, struct arena *a)
{
    enum { POWERS = 7 }; /* 1, 10 ... 10^6, and the run's own */
    struct result_estimate e = rule_of(x, fixed_j);
    struct estimate *table = arena_array(a, POWERS + 1, sizeof *table);
    int64_t own = x->load.requests, n = 1;
    size_t count = 0;
    for (int i = 0; i < POWERS; i++, n *= 10) {
        if (own > n / 10 && own < n)
            table[count++] = estimate_line(x, &e, own);
        table[count++] = estimate_line(x, &e, n);
    }
    must(count <= POWERS + 1);
    e.table = table;
    e.table_count = count;
    return e;
}
