/* Properties of the whole analysis over random runs, and an independent slow evaluator: it knows neither chains nor
 * sweeps, but cuts time at every change of any rate and asks every request for its rate there. */
#include "check.h"
#include <stdlib.h>
#include "analysis/analyze.h"
#include "model/record_order.h"
#include "schema/json.h"
#include "unit/analysis/made.h"
#include "schema/visit.h"

enum { REQUESTS = 40, ROUNDS = 12 };

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

/* ---- a random run ---- */

/* Power of a GPU in mW at step i of 20 ms: idle, busy in the formal stage [10, 20] s, idle again from 21 s. */
static int32_t power_mw(size_t gpu, int i)
{
    double t = 0.02 * i;
    if (t < 6 || t > 21)
        return 80000;
    return t < 10 || t > 20 ? 120000 : 300000 + 1000 * (int32_t)random_below(400) + 7 * (int32_t)gpu;
}

static void make_power(struct made *m, size_t gpu)
{
    struct rec_gpu *g = &m->r.gpus[gpu];
    int64_t uj = 5000000;
    int32_t before = 80000;
    for (int i = 0; i <= 2800; i++) {
        int32_t mw = power_mw(gpu, i);
        int64_t t = (int64_t)i * 20000000 + (int64_t)gpu * 3000000;
        uj += (int64_t)(before + mw) * 10;
        before = mw;
        g->buffer[g->buffer_count++] = (struct rec_buffer){t / 1000, mw};
        if (i % 5 == 2)
            g->counter[g->counter_count++] = (struct rec_counter){t + 30000000, uj / 1000, 4000000, COUNTER_LOCKED};
        if (i % 50 == 10) {
            g->instant[g->instant_count++] = (struct rec_instant){t + 1000, 2000, mw, 0, INSTANT_GRID};
            g->state[g->state_count++] =
                (struct rec_gpu_state){.t_ns = t + 1000,
                                       .memory_used_bytes = t < at_s(6) || t > at_s(21) ? 0 : 1 << 30,
                                       .utilisation = 0,
                                       .slowdowns = 0,
                                       .sm_mhz = 345,
                                       .temperature_c = 30,
                                       .processes = t > at_s(6) && t < at_s(21)};
        }
    }
}

/* Stamps on a grid of 1 ms, so that requests share some; a few requests fail, or have one token. */
static void make_load(struct made *m, bool counts)
{
    m->r.plan.requests.continuous_usage = counts;
    for (uint32_t id = 0; id < REQUESTS; id++) {
        int64_t t = at_s(10.2) + random_below(3000) * 1000000ll;
        uint32_t chunks = 1 + random_below(id % 9 == 0 ? 2 : 60);
        struct rec_request *q = made_request(m, id, 10 + 0.0001 * id, 0, 0);
        int32_t n = 0;
        for (uint32_t c = 0; c < chunks; c++) {
            n += 1 + (int32_t)(random_below(12) == 0 ? random_below(30) : random_below(2));
            made_chunk(m, id, 0, counts ? n : -1, random_below(9));
            m->r.chunks[m->r.chunk_count - 1].t_ns = t;
            t += random_below(25) == 0 ? 0 : (1 + random_below(200)) * 1000000ll;
            if (t > at_s(19.9))
                t = at_s(19.9);
        }
        q->completion_tokens = n + (int32_t)random_below(2);
        q->end_ns = t + 1000000;
        q->verdict = id % 13 == 5 ? VERDICT_TRUNCATED : VERDICT_OK;
    }
}

static int by_time(const void *x, const void *y)
{
    const struct rec_chunk *a = x, *b = y;
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns ? -1 : 1;
    if (a->request != b->request)
        return a->request < b->request ? -1 : 1;
    return (a->running > b->running) - (a->running < b->running);
}

static void random_run(struct made *m, uint64_t seed, size_t gpus, bool counts)
{
    static const struct {
        double t;
        enum boundary id;
    } marks[] = {{0.5, BOUNDARY_BASELINE_START}, {5.5, BOUNDARY_BASELINE_END},
                 {5.6, BOUNDARY_SERVICE_START},  {8, BOUNDARY_READY},
                 {10, BOUNDARY_FORMAL_START},    {20, BOUNDARY_FORMAL_END},
                 {20.1, BOUNDARY_STOP},          {20.8, BOUNDARY_EXIT}};
    random_state = seed;
    made_init(m, gpus);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        made_mark(m, marks[i].t, marks[i].id);
    for (size_t g = 0; g < gpus; g++)
        make_power(m, g);
    make_load(m, counts);
    qsort(m->r.chunks, m->r.chunk_count, sizeof *m->r.chunks, by_time);
}

static struct result analyse(struct made *m)
{
    struct method method = method_default();
    struct result r;
    struct err e = {0};
    method.window = 5;
    method.cv_limit = 0.5;
    records_order(&m->r);
    assert_ok(analyze(&m->r, &method, &m->arena, &r, &e), e);
    return r;
}

/* ---- the slow evaluator ---- */

/* One request's rate: n pieces with their tokens. */
struct piece {
    int64_t from, to;
    long double tokens;
};
struct rate {
    struct piece pieces[256];
    size_t n;
};

/* Energy of one GPU's buffer over [a, b], by summing every trapezoid that overlaps. */
static long double slow_buffer(const struct rec_gpu *g, int64_t a, int64_t b)
{
    long double sum = 0;
    for (size_t i = 0; i + 1 < g->buffer_count; i++) {
        int64_t x = g->buffer[i].realtime_us * 1000, y = g->buffer[i + 1].realtime_us * 1000;
        int64_t from = x > a ? x : a, to = y < b ? y : b;
        if (from >= to)
            continue;
        long double slope = (long double)(g->buffer[i + 1].mw - g->buffer[i].mw) / (long double)(y - x);
        long double middle = g->buffer[i].mw + slope * ((long double)(from - x) + (long double)(to - from) / 2);
        sum += middle * (long double)(to - from);
    }
    return sum * 1e-12L;
}

static long double slow_counter(const struct rec_gpu *g, int64_t t)
{
    for (size_t i = 1; i + 1 < g->counter_count; i++)
        if (g->counter[i].t_ns <= t && t <= g->counter[i + 1].t_ns)
            return (g->counter[i].mj + (long double)(g->counter[i + 1].mj - g->counter[i].mj) *
                                           (long double)(t - g->counter[i].t_ns) /
                                           (long double)(g->counter[i + 1].t_ns - g->counter[i].t_ns)) /
                   1000;
    fail_msg("the counter does not cover %lld", (long long)t);
    return 0;
}

/* Stamps of a request with the tokens at each, by running counts. */
static size_t stamps_of(const struct records *r, uint32_t id, int64_t *t, long double *tokens)
{
    size_t n = 0;
    int32_t running = 0;
    for (size_t i = 0; i < r->chunk_count; i++) {
        if (r->chunks[i].request != id)
            continue;
        if (n == 0 || t[n - 1] != r->chunks[i].t_ns) {
            t[n] = r->chunks[i].t_ns;
            tokens[n++] = 0;
        }
        tokens[n - 1] += r->chunks[i].running - running;
        running = r->chunks[i].running;
    }
    tokens[n - 1] += r->requests[id].completion_tokens - running;
    return n;
}

static void slow_rate(const struct records *r, uint32_t id, int reading, struct rate *ret)
{
    int64_t t[256];
    long double tokens[256], n = r->requests[id].completion_tokens;
    ret->n = 0;
    if (r->requests[id].verdict != VERDICT_OK)
        return;
    size_t stamps = stamps_of(r, id, t, tokens);
    if (stamps < 2)
        return;
    if (reading == RULE_REQUEST) {
        ret->pieces[ret->n++] = (struct piece){r->requests[id].submit_ns, r->requests[id].end_ns, n};
    } else if (reading == RULE_INTERVAL || n - tokens[0] < n / 2) {
        ret->pieces[ret->n++] = (struct piece){t[0], t[stamps - 1], n};
    } else {
        for (size_t i = 1; i < stamps; i++)
            ret->pieces[ret->n++] = (struct piece){t[i - 1], t[i], tokens[i] * n / (n - tokens[0])};
    }
}

static int by_value(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static long double slow_energy(const struct records *r, long double scale, int64_t a, int64_t b)
{
    long double sum = 0;
    for (size_t g = 0; g < r->gpu_count; g++)
        sum += slow_buffer(&r->gpus[g], a, b);
    return sum * scale;
}

static void slow_rates(const struct records *r, long double scale, int reading, long double *energy)
{
    static struct rate rates[REQUESTS];
    static int64_t cuts[2 * 256 * REQUESTS];
    size_t n = 0;
    for (uint32_t id = 0; id < REQUESTS; id++) {
        slow_rate(r, id, reading, &rates[id]);
        for (size_t i = 0; i < rates[id].n; i++) {
            cuts[n++] = rates[id].pieces[i].from;
            cuts[n++] = rates[id].pieces[i].to;
        }
    }
    qsort(cuts, n, sizeof *cuts, by_value);
    for (size_t i = 0; i + 1 < n; i++) {
        if (cuts[i] == cuts[i + 1])
            continue;
        long double own[REQUESTS] = {0}, all = 0;
        for (uint32_t id = 0; id < REQUESTS; id++)
            for (size_t k = 0; k < rates[id].n; k++) {
                const struct piece *p = &rates[id].pieces[k];
                if (p->from <= cuts[i] && cuts[i + 1] <= p->to)
                    own[id] += p->tokens / (long double)(p->to - p->from);
            }
        for (uint32_t id = 0; id < REQUESTS; id++)
            all += own[id];
        if (all == 0)
            continue;
        long double j = slow_energy(r, scale, cuts[i], cuts[i + 1]);
        for (uint32_t id = 0; id < REQUESTS; id++)
            energy[id] += j * own[id] / all;
    }
}

static void slow_words(const struct records *r, long double scale, long double *energy)
{
    int64_t cuts[2 * REQUESTS + 1], t[256], start = records_boundary(r, BOUNDARY_FORMAL_START);
    long double tokens[256];
    size_t n = 0;
    cuts[n++] = start;
    for (uint32_t id = 0; id < REQUESTS; id++) {
        size_t stamps = r->requests[id].verdict == VERDICT_OK ? stamps_of(r, id, t, tokens) : 0;
        if (stamps < 2)
            continue;
        cuts[n++] = t[0];
        cuts[n++] = t[stamps - 1];
    }
    qsort(cuts, n, sizeof *cuts, by_value);
    for (size_t i = 0; i + 1 < n; i++) {
        if (cuts[i] == cuts[i + 1])
            continue;
        long double own[REQUESTS] = {0}, all = 0;
        for (uint32_t id = 0; id < REQUESTS; id++) {
            size_t stamps = r->requests[id].verdict == VERDICT_OK ? stamps_of(r, id, t, tokens) : 0;
            for (size_t k = 0; stamps >= 2 && k < stamps; k++)
                if (t[k] > cuts[i] && t[k] <= cuts[i + 1])
                    own[id] += tokens[k];
            all += own[id];
        }
        long double j = slow_energy(r, scale, cuts[i], cuts[i + 1]);
        for (uint32_t id = 0; all > 0 && id < REQUESTS; id++)
            energy[id] += j * own[id] / all;
    }
}

static double energy_of(const struct result_request *q, int reading)
{
    return reading == RULE_GAP        ? q->gap_j
           : reading == RULE_INTERVAL ? q->interval_j
           : reading == RULE_REQUEST  ? q->request_j
                                      : q->words_j;
}

static void agrees_with_the_slow_evaluator(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct made m;
        random_run(&m, seed, 1 + seed % 2, true);
        struct result r = analyse(&m);
        int64_t a = records_boundary(&m.r, BOUNDARY_FORMAL_START), b = records_boundary(&m.r, BOUNDARY_FORMAL_END);
        long double counter = 0, buffer = slow_energy(&m.r, 1, a, b);
        for (size_t g = 0; g < m.r.gpu_count; g++)
            counter += slow_counter(&m.r.gpus[g], b) - slow_counter(&m.r.gpus[g], a);
        assert_close_rel(result_stage_of(&r, STAGE_FORMAL)->energy.counter.value, (double)counter, 1e-12);
        assert_close_rel(result_stage_of(&r, STAGE_FORMAL)->energy.buffer.value, (double)buffer, 1e-12);
        for (int k = 0; k < RULE_COUNT; k++) {
            long double energy[REQUESTS] = {0}, given = 0;
            if (k == RULE_WORDS)
                slow_words(&m.r, counter / buffer, energy);
            else
                slow_rates(&m.r, counter / buffer, k, energy);
            for (uint32_t id = 0; id < REQUESTS; id++) {
                if (r.requests[id].generates)
                    assert_close(energy_of(&r.requests[id], k), (double)energy[id],
                                 1e-9 * fabs((double)energy[id]) + 1e-12);
                else
                    assert_true(energy[id] == 0 && isnan(energy_of(&r.requests[id], k)));
                given += energy[id];
            }
            assert_close_rel(r.attribution.rules[k].no_generation_j.value, (double)(counter - given), 1e-6);
        }
        made_done(&m);
    }
}

/* ---- properties ---- */

static void every_run_closes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4 * ROUNDS; seed++) {
        struct made m;
        random_run(&m, seed, 1 + seed % 3, seed % 2);
        struct result r = analyse(&m);
        for (int k = 0; k < RULE_COUNT; k++) {
            assert_true(r.attribution.rules[k].closed);
            assert_true(r.attribution.rules[k].closure.value <= 1e-9);
        }
        made_done(&m);
    }
}

static void bytes_of(const struct result *r, struct buf *b)
{
    schema_json_write(&result_schema, r, b);
    for (size_t i = 0; i < r->request_count; i++)
        schema_json_write(&result_request_schema, &r->requests[i], b);
    for (size_t i = 0; i < r->window_count; i++)
        schema_json_write(&result_window_schema, &r->windows[i], b);
}

static void shuffle(void *list, size_t n, size_t size)
{
    char hold[1024], *p = list;
    for (size_t i = n; i > 1; i--) {
        size_t j = random_below((uint32_t)i);
        memcpy(hold, p + (i - 1) * size, size);
        memcpy(p + (i - 1) * size, p + j * size, size);
        memcpy(p + j * size, hold, size);
    }
}

static void a_permutation_changes_no_byte(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct made m;
        struct buf before = {0}, after = {0};
        random_run(&m, seed, 2, seed % 2);
        struct result r = analyse(&m);
        bytes_of(&r, &before);
        for (size_t g = 0; g < 2; g++) {
            struct rec_gpu *x = &m.r.gpus[g];
            shuffle(x->buffer, x->buffer_count, sizeof *x->buffer);
            shuffle(x->counter, x->counter_count, sizeof *x->counter);
            shuffle(x->instant, x->instant_count, sizeof *x->instant);
            shuffle(x->state, x->state_count, sizeof *x->state);
        }
        shuffle(m.r.gpus, 2, sizeof *m.r.gpus);
        shuffle(m.r.requests, m.r.request_count, sizeof *m.r.requests);
        shuffle(m.r.chunks, m.r.chunk_count, sizeof *m.r.chunks);
        shuffle(m.r.boundaries, m.r.boundary_count, sizeof *m.r.boundaries);
        r = analyse(&m);
        bytes_of(&r, &after);
        assert_int_equal(before.n, after.n);
        assert_memory_equal(before.p, after.p, before.n);
        buf_done(&before);
        buf_done(&after);
        made_done(&m);
    }
}

static bool same_or_nan(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

/* Twice the power, twice every energy, to the last bit; nothing else of the verdicts moves. */
static void energies_scale_with_power(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct made m;
        random_run(&m, seed, 2, true);
        struct result one = analyse(&m);
        for (size_t g = 0; g < 2; g++) {
            struct rec_gpu *x = &m.r.gpus[g];
            for (size_t i = 0; i < x->buffer_count; i++)
                x->buffer[i].mw *= 2;
            for (size_t i = 0; i < x->counter_count; i++)
                x->counter[i].mj *= 2;
            for (size_t i = 0; i < x->instant_count; i++)
                x->instant[i].mw *= 2;
        }
        struct result two = analyse(&m);
        for (int s = STAGE_BASELINE; s <= STAGE_LIFECYCLE; s++)
            for (int k = 0; k < SERIES_COUNT; k++) {
                struct quantity *p = energy_series(&result_stage_of(&one, (enum stage_id)s)->energy, (enum series_id)k),
                                *q = energy_series(&result_stage_of(&two, (enum stage_id)s)->energy, (enum series_id)k);
                assert_int_equal(p->state, q->state);
                if (quantity_has_value(p))
                    assert_true(q->value == 2 * p->value && same_or_nan(q->instrument, 2 * p->instrument));
            }
        for (size_t i = 0; i < one.request_count; i++)
            if (one.requests[i].generates)
                assert_true(two.requests[i].gap_j == 2 * one.requests[i].gap_j);
        for (size_t i = 0; i < one.window_count; i++)
            assert_true(two.windows[i].cv[RULE_GAP] == one.windows[i].cv[RULE_GAP]);
        made_done(&m);
    }
}

static int32_t last_count(const struct records *r, uint32_t id)
{
    int32_t most = 0;
    for (size_t i = 0; i < r->chunk_count; i++)
        if (r->chunks[i].request == id && r->chunks[i].running > most)
            most = r->chunks[i].running;
    return most;
}

/* A chunk of 2 k tokens, not the first, parted in the middle of its gap: under `gap` nothing changes. */
static void splitting_a_chunk_changes_nothing(void **state)
{
    (void)state;
    int parted = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct made m;
        random_run(&m, seed, 1, true);
        struct result one = analyse(&m);
        size_t n = m.r.chunk_count;
        for (uint32_t id = 0; id < REQUESTS; id++) {
            const struct rec_chunk *before = NULL;
            for (size_t i = 0; i < n; i++) {
                struct rec_chunk *c = &m.r.chunks[i];
                if (c->request != id)
                    continue;
                /* Alone at its stamp, with an even number of tokens over an even number of ms. */
                bool alone = before && before->t_ns < c->t_ns;
                for (size_t k = 0; k < n; k++)
                    alone &= k == i || m.r.chunks[k].request != id || m.r.chunks[k].t_ns != c->t_ns;
                int32_t tokens = before ? c->running - before->running : 0;
                /* The last one also carries what the counts leave of usage. */
                alone &= c->running < last_count(&m.r, id);
                if (alone && tokens >= 2 && tokens % 2 == 0 && (c->t_ns - before->t_ns) % 2 == 0) {
                    struct rec_chunk half = *c;
                    half.t_ns -= (c->t_ns - before->t_ns) / 2;
                    half.running -= tokens / 2;
                    m.r.chunks[m.r.chunk_count++] = half;
                    parted++;
                    break;
                }
                before = c;
            }
        }
        struct result two = analyse(&m);
        for (size_t i = 0; i < one.request_count; i++)
            if (one.requests[i].generates)
                assert_close_rel(two.requests[i].gap_j, one.requests[i].gap_j, 1e-9);
        assert_close_rel(two.attribution.rules[RULE_GAP].attributed_j.value,
                         one.attribution.rules[RULE_GAP].attributed_j.value, 1e-12);
        made_done(&m);
    }
    assert_true(parted > 50);
}

static void a_gpu_without_power_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct made m;
        random_run(&m, seed, 2, true);
        struct rec_gpu *dark = &m.r.gpus[1];
        /* Sampled at the same moments: t10 and t11 are those of the latest GPU. */
        memcpy(dark->instant, m.r.gpus[0].instant, dark->instant_count * sizeof *dark->instant);
        memcpy(dark->state, m.r.gpus[0].state, dark->state_count * sizeof *dark->state);
        for (size_t i = 0; i < dark->buffer_count; i++)
            dark->buffer[i].mw = 0;
        for (size_t i = 0; i < dark->counter_count; i++)
            dark->counter[i].mj = 77;
        for (size_t i = 0; i < dark->instant_count; i++)
            dark->instant[i].mw = 0;
        struct result with = analyse(&m);
        m.r.gpu_count = 1;
        struct result without = analyse(&m);
        for (int s = STAGE_BASELINE; s < STAGE_COUNT; s++)
            for (int k = 0; k < SERIES_COUNT; k++) {
                const struct quantity *p = energy_series(&result_stage_of(&with, (enum stage_id)s)->energy,
                                                         (enum series_id)k),
                                      *q = energy_series(&result_stage_of(&without, (enum stage_id)s)->energy,
                                                         (enum series_id)k);
                assert_int_equal(p->state, q->state);
                if (quantity_has_value(p))
                    assert_true(p->value == q->value);
            }
        for (size_t i = 0; i < with.request_count; i++)
            if (with.requests[i].generates)
                assert_close_rel(with.requests[i].gap_j, without.requests[i].gap_j, 1e-12);
        for (size_t i = 0; i < with.steady_count; i++) {
            assert_int_equal(with.steady_table[i].reached, without.steady_table[i].reached);
            assert_int_equal(with.steady_table[i].window, without.steady_table[i].window);
        }
        assert_int_equal(with.lag.measurable, without.lag.measurable);
        assert_int_equal(with.lag.delivery_lag, without.lag.delivery_lag);
        assert_int_equal(with.release.closed, without.release.closed);
        made_done(&m);
    }
}

/* E(t) is the buffer; else the counter; else the grid; else nothing is split. Each closes on its own formal energy. */
static void the_next_series_stands_in(void **state)
{
    (void)state;
    struct made m;
    random_run(&m, 5, 2, true);
    struct result r = analyse(&m);
    assert_int_equal(r.attribution.source, CURVE_BUFFER);
    assert_close_rel(r.attribution.formal_j.value, result_stage_of(&r, STAGE_FORMAL)->energy.counter.value, 0);
    m.r.gpus[1].buffer_count = 0;
    r = analyse(&m);
    assert_int_equal(r.attribution.source, CURVE_COUNTER);
    assert_int_equal(r.attribution.scale.state, Q_NOT_RECORDED);
    assert_true(r.attribution.rules[RULE_GAP].closed);
    m.r.gpus[0].counter[120].mj = 1; /* backward: void */
    r = analyse(&m);
    assert_int_equal(r.attribution.source, CURVE_GRID);
    assert_close_rel(r.attribution.formal_j.value, result_stage_of(&r, STAGE_FORMAL)->energy.grid.value, 0);
    assert_true(r.attribution.rules[RULE_GAP].closed);
    m.r.gpus[0].instant_count = 15;
    r = analyse(&m);
    assert_int_equal(r.attribution.source, CURVE_NONE);
    assert_int_equal(r.attribution.formal_j.state, Q_NOT_COVERED);
    for (int k = 0; k < RULE_COUNT; k++)
        assert_false(quantity_has_value(&r.attribution.rules[k].attributed_j));
    assert_true(isnan(r.requests[1].gap_j));
    assert_int_equal(result_steady_of(&r, RULE_GAP, K_1)->j_per_token.state, Q_NOT_REACHED);
    made_done(&m);
}

/* ---- absent is never a number ---- */

/* Counts quantities that break it: a value that is none, or an absent one without its reason. */
static void count_broken(void *self, const struct visit *v)
{
    size_t *n = self;
    if (v->slot.type != FIELD_QUANTITY)
        return;
    const struct quantity *q = slot_quantity(&v->slot);
    bool wrong = quantity_has_value(q) ? !isfinite(q->value) : !q->why || !q->why[0];
    if (wrong)
        print_error("%s: state %s, value %g, why \"%s\"\n", v->path, q_state_names[q->state], q->value,
                    q->why ? q->why : "(null)");
    *n += wrong;
}

static size_t broken(const struct schema *s, const void *object, const char *path)
{
    size_t n = 0;
    schema_visit(s, object, path, &(struct visitor){.self = &n, .value = count_broken});
    return n;
}

static void move_mark(struct records *r, enum boundary id, int64_t t_ns)
{
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id == id)
            r->boundaries[i].t_ns = t_ns;
}

static void as_it_is(struct records *r)
{
    (void)r;
}
static void all_fail(struct records *r)
{
    for (size_t i = 0; i < r->request_count; i++)
        r->requests[i].verdict = VERDICT_RESET;
}
static void one_request(struct records *r)
{
    r->requests[0].verdict = VERDICT_OK;
    r->request_count = 1;
}
static void no_request(struct records *r)
{
    r->request_count = r->chunk_count = 0;
}
static void no_chunk(struct records *r)
{
    r->chunk_count = 0;
}
static void lost_gpu(struct records *r)
{
    struct rec_gpu *g = &r->gpus[1];
    g->instant_count /= 2;
    g->buffer_count /= 2;
    g->counter_count /= 2;
}
static void silent_gpu(struct records *r)
{
    struct rec_gpu *g = &r->gpus[1];
    g->instant_count = g->buffer_count = g->counter_count = 0;
}
static void flat_and_no_buffer(struct records *r)
{
    for (size_t g = 0; g < r->gpu_count; g++) {
        r->gpus[g].buffer_count = 0;
        for (size_t i = 0; i < r->gpus[g].instant_count; i++)
            r->gpus[g].instant[i].mw = 0;
        for (size_t i = 0; i < r->gpus[g].counter_count; i++)
            r->gpus[g].counter[i].mj = 1000;
    }
}
static void no_startup(struct records *r)
{
    move_mark(r, BOUNDARY_SERVICE_START, records_boundary(r, BOUNDARY_FORMAL_START));
}
static void no_formal(struct records *r)
{
    move_mark(r, BOUNDARY_FORMAL_END, records_boundary(r, BOUNDARY_FORMAL_START));
}
static void stepped(struct records *r)
{
    int64_t t = records_boundary(r, BOUNDARY_FORMAL_START);
    r->clocks[r->clock_count++] = (struct rec_clock){t + 2000000000, 0, 100};
    r->clocks[r->clock_count++] = (struct rec_clock){t + 3000000000, 2000000, 100};
}
static void no_clock(struct records *r)
{
    r->clock_count = 0;
}
static void no_end_times(struct records *r)
{
    for (size_t i = 0; i < r->request_count; i++)
        r->requests[i].end_ns = r->requests[i].submit_ns = ABSENT_I64;
}

static void absent_is_never_a_number(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*spoil)(struct records *r);
    } cases[] = {{"as it is", as_it_is},     {"all fail", all_fail},       {"one request", one_request},
                 {"no request", no_request}, {"no chunk", no_chunk},       {"lost GPU", lost_gpu},
                 {"silent GPU", silent_gpu}, {"flat", flat_and_no_buffer}, {"no startup", no_startup},
                 {"no formal", no_formal},   {"stepped", stepped},         {"no clock", no_clock},
                 {"no times", no_end_times}};
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m;
        random_run(&m, 11 + i, 2, i % 2);
        cases[i].spoil(&m.r);
        struct result r = analyse(&m);
        wrong += broken(&result_schema, (const char *)&r, cases[i].name);
        if (cases[i].spoil == flat_and_no_buffer)
            assert_int_equal(r.attribution.formal_j.state, Q_UNDEFINED);
        if (cases[i].spoil == no_startup)
            assert_string_equal(result_stage_of(&r, STAGE_STARTUP)->why, "the stage has no duration");
        if (cases[i].spoil == all_fail) {
            assert_int_equal(r.metrics.formal_j_per_token.state, Q_UNDEFINED);
            assert_int_equal(result_stage_of(&r, STAGE_FORMAL)->energy.headline.state, Q_MEASURED);
        }
        if (cases[i].spoil == one_request)
            assert_false(r.saturated.meaningful);
        made_done(&m);
    }
    assert_int_equal(wrong, 0);
}

/* result.json holds the whole result: read back and written again it has the same bytes. */
static void json_holds_it_all(void **state)
{
    (void)state;
    struct made m;
    struct buf before = {0}, after = {0};
    struct err e = {0};
    random_run(&m, 7, 2, true);
    struct result r = analyse(&m), again;
    schema_json_write(&result_schema, &r, &before);
    memset(&again, 0, sizeof again);
    assert_ok(schema_json_read(&result_schema, &again, "result.json", buf_span(&before), &m.arena, &e), e);
    schema_json_write(&result_schema, &again, &after);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.p, after.p, before.n);
    assert_true(again.metrics.formal_j_per_token.value == r.metrics.formal_j_per_token.value);
    assert_int_equal(again.steady_count, r.steady_count);
    buf_done(&before);
    buf_done(&after);
    made_done(&m);
}

/* The run of these tests is a whole one: all of its stages, a closed release, some steady states and none. */
static void the_runs_are_whole(void **state)
{
    (void)state;
    struct made m;
    random_run(&m, 3, 2, true);
    struct result r = analyse(&m);
    assert_true(r.release.closed);
    for (int s = STAGE_BASELINE; s <= STAGE_LIFECYCLE; s++)
        assert_int_equal(result_stage_of(&r, (enum stage_id)s)->energy.headline.state, Q_MEASURED);
    assert_int_equal(r.gpus[1].baseline_idle, CHECK_PASSED);
    assert_true(r.load.failed > 0 && r.load.no_interval > 0 && r.window_count > 10);
    made_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_runs_are_whole),
                                       cmocka_unit_test(agrees_with_the_slow_evaluator),
                                       cmocka_unit_test(every_run_closes),
                                       cmocka_unit_test(a_permutation_changes_no_byte),
                                       cmocka_unit_test(energies_scale_with_power),
                                       cmocka_unit_test(splitting_a_chunk_changes_nothing),
                                       cmocka_unit_test(a_gpu_without_power_changes_nothing),
                                       cmocka_unit_test(the_next_series_stands_in),
                                       cmocka_unit_test(absent_is_never_a_number),
                                       cmocka_unit_test(json_holds_it_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
