#include "store/arrivals.h"

#include <math.h>
#include "base/must.h"
#include "store/draw.h"

static const double longest_ns = 1e18; /* of one distance: 30 years */

/* Gamma with the shape k >= 1 and the scale 1. */
static double draw_gamma_from_one(uint64_t *state, double k)
{
    double d = k - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = draw_normal(state), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (-draw_exponential(state) < 0.5 * x * x + d - d * v + d * draw_log(v))
            return d * v;
    }
}

static double draw_gamma(uint64_t *state, double k)
{
    if (k >= 1)
        return draw_gamma_from_one(state, k);
    double g = draw_gamma_from_one(state, k + 1), power = -draw_exponential(state) / k; /* g * u^(1/k) */
    return power < -700 ? 0 : g * draw_exp(power);
}

/* Before request i, in units of the mean. */
static double distance(const struct plan_load *l, uint64_t i)
{
    uint64_t state = draw_start((uint64_t)l->seed, DRAW_ARRIVALS, i);
    return l->arrivals == ARRIVAL_GAMMA ? draw_gamma(&state, l->burstiness) / l->burstiness : draw_exponential(&state);
}

struct arrivals arrivals_begin(const struct plan_load *load, const struct trace *trace)
{
    must(load->kind == LOAD_TRACE ? trace != NULL : load->kind == LOAD_RATE && load->rate > 0);
    must(load->kind != LOAD_RATE || load->arrivals != ARRIVAL_GAMMA || load->burstiness > 0);
    return (struct arrivals){.load = load, .trace = trace};
}

bool arrivals_next(struct arrivals *a, int64_t *ret_ns)
{
    const struct plan_load *l = a->load;
    uint64_t i = a->next;
    if (l->kind == LOAD_TRACE) {
        if (i >= a->trace->count)
            return false;
        a->at_ns = a->trace->times_ns[i];
    } else if (l->arrivals == ARRIVAL_CONSTANT) {
        a->at_ns = (int64_t)fmin((double)i * 1e9 / l->rate + 0.5, 4 * longest_ns);
    } else if (i > 0) {
        double ns = fmin(distance(l, i) * 1e9 / l->rate + 0.5, longest_ns);
        a->at_ns = a->at_ns > (int64_t)(4 * longest_ns) ? a->at_ns : a->at_ns + (int64_t)ns;
    }
    a->next++;
    *ret_ns = a->at_ns;
    return true;
}
