#include "analysis/metrics.h"

#include <math.h>
#include "analysis/analyze.h"
#include "analysis/energy.h"

static const double RANGE_LIMIT = 0.10;

static struct quantity per_known(const struct quantity *energy, int64_t count, const char *unknown, const char *zero)
{
    if (count == ABSENT_I64)
        return quantity_absent(Q_NOT_RECORDED, unknown);
    return quantity_over(energy, (double)count, zero);
}

static void fill_cost(const struct plan_cost *cost, struct result_metrics *m)
{
    m->pue = cost->pue;
    m->server_factor = cost->server_factor;
    m->currency = cost->currency;
    if (isnan(cost->pue) || isnan(cost->server_factor)) {
        struct quantity none = quantity_absent(Q_NOT_RECORDED, "the plan gives no PUE and no whole-server factor");
        m->kwh_per_million_tokens = m->cost_per_million_tokens = m->carbon_g_per_million_tokens = none;
        return;
    }
    m->kwh_per_million_tokens = quantity_scaled(&m->formal_j_per_token, 1e6 / 3.6e6 * cost->server_factor * cost->pue);
    m->cost_per_million_tokens = isnan(cost->price_per_kwh)
                                     ? quantity_absent(Q_NOT_RECORDED, "the plan gives no price per kWh")
                                     : quantity_scaled(&m->kwh_per_million_tokens, cost->price_per_kwh);
    m->carbon_g_per_million_tokens = isnan(cost->carbon_g_per_kwh)
                                         ? quantity_absent(Q_NOT_RECORDED, "the plan gives no carbon intensity")
                                         : quantity_scaled(&m->kwh_per_million_tokens, cost->carbon_g_per_kwh);
}

void metrics_fill(const struct plan *plan, struct result *result)
{
    static const char NO_TOKENS[] = "no successful request, so no output tokens";
    static const char LAG[] = "delivery lag: tokens arrived long after their energy was spent";
    struct result_metrics *m = &result->metrics;
    const struct result_load *load = &result->load;
    const struct result_stage *formal = result_stage_of(result, STAGE_FORMAL),
                              *life = result_stage_of(result, STAGE_LIFECYCLE);
    const struct quantity *energy = &formal->energy.headline;
    bool lag = result->lag.delivery_lag;
    m->startup_j = result_stage_of(result, STAGE_STARTUP)->energy.headline;
    m->release_j = result_stage_of(result, STAGE_RELEASE)->energy.headline;
    m->lifecycle_j_per_token = per_known(&life->energy.headline, load->output_tokens, formal->why, NO_TOKENS);
    m->formal_j_per_token = per_known(energy, load->output_tokens, formal->why, NO_TOKENS);
    m->j_per_request = per_known(energy, load->successful, formal->why, "no successful request");
    m->formal_w = formal->average_w;
    m->lifecycle_w = life->average_w;
    m->steady_w = result->steady.average_w;
    m->steady_j_per_token = result->steady.j_per_token;
    m->saturated_j_per_token = result->saturated.j_per_token;
    if (lag) {
        m->steady_j_per_token = quantity_marked(m->steady_j_per_token, Q_EXCLUDED, LAG);
        m->saturated_j_per_token = quantity_marked(m->saturated_j_per_token, Q_EXCLUDED, LAG);
    }
    if (!result->saturated.meaningful)
        m->saturated_j_per_token = quantity_marked(m->saturated_j_per_token, Q_EXCLUDED,
                                                   "all requests ran at once: where none waited, nothing is saturated");
    m->throughput_tok_s = formal->why               ? quantity_absent(Q_NOT_RECORDED, formal->why)
                          : load->output_tokens > 0 ? quantity_of((double)load->output_tokens / formal->duration_s)
                                                    : quantity_absent(Q_UNDEFINED, NO_TOKENS);
    m->tokens_per_kwh = quantity_inverse(&m->formal_j_per_token, 3.6e6, "the energy is 0");
    int64_t total = load->prompt_tokens == ABSENT_I64 || load->output_tokens == ABSENT_I64
                        ? ABSENT_I64
                        : load->prompt_tokens + load->output_tokens;
    m->j_per_total_token = per_known(energy, total, "the engine did not report prompt tokens", NO_TOKENS);
    m->j_per_visible_token = per_known(energy, load->visible_tokens, "the engine does not report reasoning tokens",
                                       "no visible output tokens");
    fill_cost(&plan->cost, m);
}

void metrics_lack_requests(struct result *result, const char *why)
{
    struct result_metrics *m = &result->metrics;
    struct quantity *const divided[] = {
        &m->lifecycle_j_per_token,  &m->formal_j_per_token,      &m->j_per_request,
        &m->steady_j_per_token,     &m->saturated_j_per_token,   &m->throughput_tok_s,
        &m->tokens_per_kwh,         &m->j_per_total_token,       &m->j_per_visible_token,
        &m->kwh_per_million_tokens, &m->cost_per_million_tokens, &m->carbon_g_per_million_tokens};
    for (size_t i = 0; i < sizeof divided / sizeof *divided; i++)
        *divided[i] = quantity_absent(Q_NOT_RECORDED, why);
}

/* ---- E(N) ---- */

static struct quantity smallest_n(const struct quantity *fixed, const struct quantity *each, double share)
{
    if (!quantity_has_value(fixed))
        return quantity_absent(fixed->state, fixed->why);
    if (!quantity_has_value(each) || !(each->value > 0))
        return quantity_absent(quantity_has_value(each) ? Q_UNDEFINED : each->state, "no energy per request");
    /* fixed / (fixed + N e) < share */
    const struct quantity *const inputs[] = {fixed, each};
    return quantity_from(floor(fixed->value * (1 - share) / (share * each->value)) + 1, inputs, 2);
}

struct estimate estimate_for(const struct result *r, int64_t requests)
{
    const struct result_estimate *e = &r->estimate;
    const struct quantity *ways[] = {&e->e_steady_j, &e->e_attributed_j, &e->e_formal_j};
    struct estimate s = {.requests = requests, .low_j = (double)NAN, .high_j = (double)NAN};
    double n = (double)requests;
    struct quantity running = quantity_scaled(&e->e_request_j, n);
    const struct quantity *parts[] = {&e->fixed_j, &running};
    s.total_j =
        requests > 0 ? quantity_sum(parts, 2) : quantity_absent(Q_UNDEFINED, "an estimate is for one request or more");
    const struct quantity *measured = &result_stage_of(r, STAGE_LIFECYCLE)->energy.headline;
    s.measured = requests == r->load.requests && r->load.failed == 0 && quantity_has_value(measured);
    if (s.measured)
        s.total_j = *measured;
    s.per_request_j = quantity_over(&s.total_j, n, "");
    s.overhead_per_request_j = quantity_over(&e->fixed_j, n, "an estimate is for one request or more");
    s.overhead_share = quantity_has_value(&s.total_j) && quantity_has_value(&e->fixed_j) && s.total_j.value > 0
                           ? quantity_from(e->fixed_j.value / s.total_j.value,
                                           (const struct quantity *const[]){&e->fixed_j, &s.total_j}, 2)
                           : quantity_absent(Q_UNDEFINED, "no estimate");
    s.j_per_token = quantity_has_value(&e->mean_output_tokens)
                        ? quantity_over(&s.total_j, n * e->mean_output_tokens.value, "no output tokens")
                        : e->mean_output_tokens;
    for (size_t i = 0; i < 3 && e->ranged && !s.measured && quantity_has_value(&e->fixed_j); i++) {
        double total = e->fixed_j.value + n * ways[i]->value;
        if (!quantity_has_value(ways[i]))
            continue;
        s.low_j = !(total >= s.low_j) ? total : s.low_j;
        s.high_j = !(total <= s.high_j) ? total : s.high_j;
    }
    return s;
}

void estimate_fill(struct result *result, struct arena *a)
{
    struct result_estimate *e = &result->estimate;
    const struct result_load *load = &result->load;
    e->mean_output_tokens = load->successful > 0 ? quantity_of((double)load->output_tokens / (double)load->successful)
                                                 : quantity_absent(Q_UNDEFINED, "no successful request");
    e->e_formal_j = result->metrics.j_per_request;
    e->e_steady_j = quantity_has_value(&e->mean_output_tokens)
                        ? quantity_scaled(&result->metrics.steady_j_per_token, e->mean_output_tokens.value)
                        : e->mean_output_tokens;
    e->e_attributed_j = result->steady.mean_request_j;
    /* A steady value that is excluded gives no e_ss: the formal stage stands in, and is named. */
    bool steady = e->e_steady_j.state == Q_MEASURED;
    e->e_request_j = steady ? e->e_steady_j : e->e_formal_j;
    e->source = steady ? "steady-state J/token times mean output tokens"
                : e->e_steady_j.state == Q_EXCLUDED
                    ? "formal energy over successful requests, since the steady-state value is excluded"
                    : "formal energy over successful requests, since no steady state was reached";
    const struct quantity *ways[] = {&e->e_steady_j, &e->e_attributed_j, &e->e_formal_j};
    double low = (double)NAN, high = (double)NAN;
    for (size_t i = 0; i < 3; i++)
        if (quantity_has_value(ways[i])) {
            low = !(ways[i]->value >= low) ? ways[i]->value : low;
            high = !(ways[i]->value <= high) ? ways[i]->value : high;
        }
    e->ranged = steady && low > 0 && high / low - 1 > RANGE_LIMIT;
    e->n_overhead_1 = smallest_n(&e->fixed_j, &e->e_request_j, 0.01);
    e->n_overhead_5 = smallest_n(&e->fixed_j, &e->e_request_j, 0.05);
    e->n_overhead_10 = smallest_n(&e->fixed_j, &e->e_request_j, 0.10);
    e->table = arena_array(a, 8, sizeof *e->table);
    int64_t own = load->requests;
    for (int64_t n = 1; n <= 1000000; n *= 10) {
        if (own > n / 10 && own < n)
            e->table[e->table_count++] = estimate_for(result, own);
        e->table[e->table_count++] = estimate_for(result, n);
    }
}
