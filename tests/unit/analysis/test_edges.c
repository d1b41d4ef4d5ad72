/* What the edges of a window that cuts streams add to its J/token (METHOD section 2), against a count by hand: every
 * position of each end from -50 to +50 ms, the tokens counted one by one, the energy read off the counter. */
#include "check.h"
#include "whole_life.h"
#include "analysis/analyze.h"
#include "model/record_order.h"

/* Energy since 0, J, linear between the counter's changes, which it makes at each reading here but for idle rounding.
 */
static double counter_j(const struct rec_gpu *g, int64_t t_ns)
{
    size_t i = 0;
    while (g->counter[i + 1].t_ns <= t_ns)
        i++;
    double share = (double)(t_ns - g->counter[i].t_ns) / (double)(g->counter[i + 1].t_ns - g->counter[i].t_ns);
    return ((double)g->counter[i].mj + share * (double)(g->counter[i + 1].mj - g->counter[i].mj)) / 1000;
}

static double per_token(const struct records *r, int64_t from_ns, int64_t to_ns)
{
    double energy = 0;
    int64_t tokens = 0;
    for (size_t g = 0; g < r->gpu_count; g++)
        energy += counter_j(&r->gpus[g], to_ns) - counter_j(&r->gpus[g], from_ns);
    for (size_t i = 0; i < r->chunk_count; i++)
        if (r->chunks[i].t_ns > from_ns && r->chunks[i].t_ns <= to_ns)
            tokens += 2;
    return energy / (double)tokens;
}

/* Half of the largest less the least, as one end moves. */
static double edge(const struct records *r, int64_t from_ns, int64_t to_ns, bool start)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t ms = -50; ms <= 50; ms++) {
        double x = per_token(r, from_ns + (start ? ms * LIFE_MS : 0), to_ns + (start ? 0 : ms * LIFE_MS));
        low = fmin(low, x);
        high = fmax(high, x);
    }
    return (high - low) / 2;
}

static void edges_are_those_of_every_position(void **state)
{
    (void)state;
    for (size_t gpus = 1; gpus <= 2; gpus++) {
        struct arena a = {0};
        struct records r = life_records(&a, gpus);
        struct method m = method_default();
        struct result x;
        struct err e = {0};
        records_order(&r);
        assert_ok(analyze(&r, &m, &a, &x, &e), e);
        const struct result_saturated *s = &x.saturated;
        double want = edge(&r, s->start_ns, s->end_ns, true) + edge(&r, s->start_ns, s->end_ns, false);
        assert_true(want > 0);
        assert_close(s->edge_j_per_token, want, 1e-12);
        assert_close(s->j_per_token.instrument, s->energy_j.instrument / (double)s->tokens + want, 1e-12);
        /* The steady window cuts streams at its start only: it ends with the last of them. */
        assert_true(x.steady.reached);
        want = edge(&r, x.steady.start_ns, x.steady.end_ns, true);
        assert_close(x.steady.edge_j_per_token, want, 1e-12);
        assert_close(x.metrics.steady_j_per_token.instrument,
                     x.steady.energy_j.instrument / (double)x.steady.tokens + want, 1e-12);
        /* The formal stage cuts none. */
        assert_close(x.metrics.formal_j_per_token.instrument,
                     result_stage_of(&x, STAGE_FORMAL)->energy.headline.instrument / (double)x.load.output_tokens,
                     1e-15);
        arena_done(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(edges_are_those_of_every_position)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
