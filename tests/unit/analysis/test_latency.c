/* Times, percentiles and failures of requests; delivery lag; metrics and the estimate. */
#include "check.h"
#include "made.h"
#include "analysis/analyze.h"
#include "analysis/gaps.h"
#include "analysis/lag.h"
#include "analysis/latency.h"
#include "analysis/metrics.h"
#include "analysis/order.h"

static void make(struct made *m, struct token_chains *s)
{
    struct err e = {0};
    struct method method = method_default();
    assert_ok(token_chains_make(&m->r, &method, &m->arena, s, &e), e);
}

/* Type 7 of 1, 2, 4, 8: P50 is at 1.5: 3; P90 at 2.7: 4 + 0.7 * 4 = 6.8; P99 at 2.97: 7.88. */
static void percentiles_are_type_7(void **state)
{
    (void)state;
    double x[] = {8, 1, 4, 2};
    struct percentiles p = order_percentiles(x, 4, "");
    assert_close(p.p50.value, 3, 1e-12);
    assert_close(p.p90.value, 6.8, 1e-12);
    assert_close(p.p95.value, 7.4, 1e-12);
    assert_close(p.p99.value, 7.88, 1e-12);
    assert_close(p.mean.value, 3.75, 1e-12);
    assert_close(p.max.value, 8, 0);
    assert_int_equal(order_percentiles(NULL, 0, "none").p50.state, Q_UNDEFINED);
}

/* n = 7 with 3 in the first chunk at 2 s, the last at 4 s, submitted at 1 s: TTFT 1 s, TPOT 2/(7 - 3) with running
 * counts; without, the 7 are allotted over two chunks of equal size, 4 and 3: 2/(7 - 4). E2E 4 s. One token: TPOT
 * undefined. A failure keeps its times and has no TPOT. */
static void times_of_a_request(void **state)
{
    (void)state;
    for (int counts = 0; counts < 2; counts++) {
        struct made m;
        struct token_chains s;
        made_init(&m, 0);
        m.r.plan.requests.continuous_usage = counts;
        made_request(&m, 0, 1, 5, 7);
        made_request(&m, 1, 1, 3, 1);
        struct rec_request *failed = made_request(&m, 2, 1, 3, ABSENT_I64);
        failed->verdict = VERDICT_TRUNCATED;
        failed->first_ns = at_s(1.5);
        made_chunk(&m, 0, 2, counts ? 3 : -1, 5);
        made_chunk(&m, 1, 2.5, counts ? 1 : -1, 5);
        made_chunk(&m, 0, 4, counts ? 7 : -1, 5);
        make(&m, &s);
        struct clock_line clocks = clock_line_make(m.r.clocks, 1, &m.arena);
        const struct request_table table = latency_table(&s, &clocks, at_s(1), &m.arena);
        const struct result_request *t = table.rows;
        assert_close(t[0].ttft_s, 1, 1e-12);
        assert_close(t[0].tpot_s, counts ? 0.5 : 2. / 3, 1e-12);
        assert_close(t[0].e2e_s, 4, 1e-12);
        assert_close(t[0].first_s, 1, 1e-12);
        assert_true(isnan(t[1].tpot_s));
        assert_close(t[2].ttft_s, 0.5, 1e-12);
        assert_true(isnan(t[2].tpot_s));
        assert_int_equal(table.nulled, 0);
        const struct result_load load = latency_load(&s, &table, &clocks, quantity_absent(Q_UNDEFINED, ""), &m.arena);
        assert_int_equal(load.successful, 2);
        assert_int_equal(load.failed, 1);
        assert_int_equal(load.output_tokens, 8);
        assert_int_equal(load.failure_count, 1);
        assert_int_equal(load.failures[0].verdict, VERDICT_TRUNCATED);
        assert_int_equal(load.ttft_s.n, 2);
        assert_int_equal(load.tpot_s.n, 1);
        assert_int_equal(load.tpot_allotted, !counts);
        assert_int_equal(load.reasoning_tokens, ABSENT_I64);
        assert_int_equal(load.repeated_prompts, 0);
        made_done(&m);
    }
}

/* The clock was set between 1.9 and 2.1 s: the request's first token there has no time. */
static void a_clock_step_takes_the_time(void **state)
{
    (void)state;
    struct made m;
    struct token_chains s;
    made_init(&m, 0);
    made_request(&m, 0, 1, 5, 2);
    made_chunk(&m, 0, 2, 1, 5);
    made_chunk(&m, 0, 4, 2, 5);
    make(&m, &s);
    struct rec_clock pairs[] = {{at_s(1.9), 0, 0}, {at_s(2.1), 1000001, 0}};
    struct clock_line clocks = clock_line_make(pairs, 2, &m.arena);
    const struct request_table table = latency_table(&s, &clocks, at_s(1), &m.arena);
    const struct result_request *t = table.rows;
    assert_int_equal(table.nulled, 1);
    assert_true(isnan(t[0].ttft_s));
    assert_true(isnan(t[0].tpot_s));
    assert_close(t[0].e2e_s, 4, 1e-12);
    pairs[1].offset_ns = 1000000; /* 1 ms is no step */
    clocks = clock_line_make(pairs, 2, &m.arena);
    assert_int_equal(clocks.step_count, 0);
    made_done(&m);
}

static double quantile_of(double *x, size_t n, double q)
{
    order_sort_doubles(x, n);
    return order_quantile(x, n, q);
}

/* Against the plain way: every gap written down, a token at a time, and sorted. */
static void gaps_are_exact(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int round = 0; round < 60; round++) {
        struct made m;
        struct token_chains s;
        made_init(&m, 0);
        static double plain[20000], weighted[20000];
        size_t n = 0, k = 0;
        int64_t t[3] = {0};
        int32_t count[3] = {0};
        size_t chunks = 3 + (size_t)round * 5;
        for (uint32_t i = 0; i < 3; i++)
            made_request(&m, i, 0, 1000, 1);
        for (size_t i = 0; i < chunks; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint32_t r = (uint32_t)(random >> 33) % 3, tokens = 1 + (uint32_t)(random >> 45) % 3;
            int64_t now = (int64_t)(i + 1) * 10000019 + (int64_t)(random >> 50);
            bool shared = (random >> 60) == 3;
            made_chunk(&m, r, 0, count[r] += (int32_t)tokens, 3);
            m.r.chunks[i].t_ns = now;
            m.r.chunks[i].stamp = shared ? STAMP_SHARED : STAMP_KERNEL;
            if (t[r] > 0 && !shared) {
                plain[n++] = (double)(now - t[r]) * 1e-9;
                for (uint32_t j = 0; j < tokens; j++)
                    weighted[k++] = (double)(now - t[r]) / tokens * 1e-9;
            }
            t[r] = shared ? -1 : now;
            if (shared)
                t[r] = -1;
        }
        for (uint32_t i = 0; i < 3; i++)
            m.r.requests[i].completion_tokens = count[i] ? count[i] : 1;
        make(&m, &s);
        struct percentiles p = gaps_percentiles(&s, false), q = gaps_percentiles(&s, true);
        assert_int_equal(p.n, n);
        assert_int_equal(q.n, k);
        if (n) {
            assert_close(p.p50.value, quantile_of(plain, n, 0.5), 1e-15);
            assert_close(p.p99.value, quantile_of(plain, n, 0.99), 1e-15);
            assert_close(q.p50.value, quantile_of(weighted, k, 0.5), 1e-15);
            assert_close(q.p90.value, quantile_of(weighted, k, 0.9), 1e-15);
            assert_close(q.p95.value, quantile_of(weighted, k, 0.95), 1e-15);
            assert_close(q.max.value, weighted[k - 1], 1e-15);
        }
        made_done(&m);
    }
}

/* ---- delivery lag ---- */

/* 20 ms samples over [0, 10] s: 100 W idle until formal_start at 2 s, 500 W until 6 s, then idle while answers are
 * owed, but for one sample of 500 W at 8 s. From 6.00 to 10 s that is 4 s; the burst lasts 20 ms and its mean over the
 * gap is over the limit, so it parts two stretches: 3.98 s. */
static void idle_while_owed(void **state)
{
    (void)state;
    for (int busy_ready = 0; busy_ready < 2; busy_ready++) {
        struct made m;
        struct token_chains s;
        struct method method = method_default();
        made_init(&m, 1);
        for (int i = 0; i <= 510; i++) {
            double t = 0.02 * i;
            bool high = (i >= 100 && i < 300) || i == 400 || (busy_ready && i < 480);
            made_buffer(&m, 0, t, high ? 500 : busy_ready ? 480 : 100);
        }
        make(&m, &s);
        made_mark(&m, 1, BOUNDARY_READY);
        const struct run_series series = run_series_make(&m.r, &m.arena);
        const struct levels levels =
            lag_levels(&series, &m.r, records_boundary(&m.r, BOUNDARY_READY), at_s(2), at_s(10), &m.arena);
        const struct lag_span span = {.start_ns = at_s(2), .end_ns = at_s(10), .lag_share = method.lag_share};
        const struct result_lag lag = lag_judge(&s, &series, &levels, &span, &m.arena);
        if (busy_ready) {
            /* Never below half of its mean: nothing can be said. */
            assert_false(lag.measurable);
            assert_false(lag.delivery_lag);
            assert_int_equal(lag.idle_owed_s.state, Q_NOT_RECORDED);
        } else {
            assert_close(levels.gpus[0].ready_w.value, 100, 1e-9);
            assert_true(lag.measurable);
            assert_close(lag.idle_owed_s.value, 3.98, 1e-9);
            assert_close(lag.idle_owed_share.value, 3.98 / 8, 1e-9);
            assert_true(lag.delivery_lag);
        }
        assert_int_equal(lag.merged_chunks, ABSENT_I64);
        made_done(&m);
    }
}

/* The limit is "over 1 %": 8 s of formal stage, idle for 80 ms is not, for 100 ms is. The first second does not count.
 */
static void lag_is_over_one_percent(void **state)
{
    (void)state;
    for (int idle = 4; idle <= 5; idle++) {
        struct made m;
        struct token_chains s;
        struct method method = method_default();
        made_init(&m, 1);
        for (int i = 0; i <= 510; i++)
            made_buffer(&m, 0, 0.02 * i, i < 140 || (i >= 300 && i < 300 + idle) ? 100 : 500);
        make(&m, &s);
        made_mark(&m, 1, BOUNDARY_READY);
        const struct run_series series = run_series_make(&m.r, &m.arena);
        const struct levels levels =
            lag_levels(&series, &m.r, records_boundary(&m.r, BOUNDARY_READY), at_s(2), at_s(10), &m.arena);
        const struct lag_span span = {.start_ns = at_s(2), .end_ns = at_s(10), .lag_share = method.lag_share};
        const struct result_lag lag = lag_judge(&s, &series, &levels, &span, &m.arena);
        assert_close(lag.idle_owed_s.value, 0.02 * idle, 1e-9);
        assert_int_equal(lag.delivery_lag, idle == 5);
        made_done(&m);
    }
}

/* ---- metrics ---- */

/* Startup 900 J, release 100 J, steady 0.1 J/token at 100 tokens a request: e = 10 J. E(100) = 1000 + 1000 = 2000 J,
 * half of it overhead. Overhead under 10 %: 1000/(1000 + 10 N) < 0.1 for N > 900; under 1 %: N > 9900. */
static void estimate_by_hand(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r;
    result_absent(&r, &a, "by hand");
    const struct quantity fixed_j = quantity_of(1000);
    r.metrics.j_per_request = quantity_of(12);
    r.metrics.steady_j_per_token = quantity_of(0.1);
    r.steady.mean_request_j = quantity_of(10.5);
    r.load.successful = r.load.requests = 50;
    r.load.failed = 0;
    r.load.output_tokens = 5000;
    r.estimate = estimate_of(&r, fixed_j, &a);
    struct estimate e = estimate_for(&r, 100);
    assert_close(e.total_j.value, 2000, 1e-9);
    assert_close(e.overhead_per_request_j.value, 10, 1e-9);
    assert_close(e.overhead_share.value, 0.5, 1e-12);
    assert_close(e.j_per_token.value, 0.2, 1e-12);
    assert_close(r.estimate.n_overhead_10.value, 901, 0);
    assert_close(r.estimate.n_overhead_1.value, 9901, 0);
    /* 12 against 10 is over 10 % apart: the range is given, 1000 + 100 * 10 to 1000 + 100 * 12. */
    assert_true(r.estimate.ranged);
    assert_close(e.low_j, 2000, 1e-9);
    assert_close(e.high_j, 2200, 1e-9);
    assert_int_equal(estimate_for(&r, 0).total_j.state, Q_UNDEFINED);
    /* What was measured takes precedence. */
    result_stage_of(&r, STAGE_LIFECYCLE)->energy.headline = quantity_of(1700);
    assert_true(estimate_for(&r, 50).measured);
    assert_close(estimate_for(&r, 50).total_j.value, 1700, 0);
    /* No steady state, no estimate from it. */
    r.metrics.steady_j_per_token = r.steady.mean_request_j = quantity_absent(Q_NOT_REACHED, "none");
    r.estimate = estimate_of(&r, fixed_j, &a);
    assert_close(estimate_for(&r, 100).total_j.value, 2200, 1e-9);
    assert_non_null(strstr(r.estimate.source, "no steady state"));
    assert_true(isnan(estimate_for(&r, 100).low_j));
    /* One that is excluded gives none either, and is named. */
    r.metrics.steady_j_per_token = quantity_of(0.1);
    r.metrics.steady_j_per_token.state = Q_EXCLUDED;
    r.estimate = estimate_of(&r, fixed_j, &a);
    assert_close(estimate_for(&r, 100).total_j.value, 2200, 1e-9);
    assert_non_null(strstr(r.estimate.source, "is excluded"));
    arena_done(&a);
}

/* How much a state says: a derived value never says more than the worst of what it is made of. */
static int worth(enum q_state s)
{
    return s == Q_MEASURED ? 3 : s == Q_EXCLUDED ? 2 : s == Q_NOT_CLOSED ? 1 : 0;
}

static struct quantity in_state(double value, enum q_state s)
{
    struct quantity q = worth(s) ? quantity_of(value) : quantity_absent(s, "a reason");
    q.state = s;
    q.why = s == Q_MEASURED ? NULL : "a reason";
    q.instrument = q.calibration = worth(s) ? 1 : (double)NAN;
    return q;
}

/* Each energy that metrics and estimate are made of, in each state, with all that must follow it. */
static void derived_values_keep_their_state(void **state)
{
    (void)state;
    enum { STARTUP, FORMAL, RELEASE, LIFECYCLE, STEADY, FIXED, INPUTS };
    for (int input = 0; input < INPUTS; input++)
        for (int s = Q_NOT_RECORDED; s <= Q_EXCLUDED; s++) {
            struct arena a = {0};
            struct result r;
            struct plan p;
            plan_defaults(&p);
            p.cost.pue = p.cost.server_factor = p.cost.price_per_kwh = p.cost.carbon_g_per_kwh = 1;
            result_absent(&r, &a, "by hand");
            enum q_state at[INPUTS];
            for (int i = 0; i < INPUTS; i++)
                at[i] = i == input ? (enum q_state)s : Q_MEASURED;
            result_stage_of(&r, STAGE_FORMAL)->why = NULL;
            result_stage_of(&r, STAGE_FORMAL)->duration_s = 10;
            result_stage_of(&r, STAGE_STARTUP)->energy.headline = in_state(900, at[STARTUP]);
            result_stage_of(&r, STAGE_FORMAL)->energy.headline = in_state(1000, at[FORMAL]);
            result_stage_of(&r, STAGE_RELEASE)->energy.headline = in_state(100, at[RELEASE]);
            result_stage_of(&r, STAGE_LIFECYCLE)->energy.headline = in_state(2000, at[LIFECYCLE]);
            r.steady.j_per_token = in_state(0.1, at[STEADY]);
            r.steady.mean_request_j = in_state(10, at[STEADY]);
            const struct quantity fixed_j = in_state(1000, at[FIXED]);
            r.load.requests = 60; /* some failed, so that nothing measured stands in for the estimate */
            r.load.successful = 50;
            r.load.failed = 10;
            r.load.output_tokens = r.load.visible_tokens = 5000;
            r.load.prompt_tokens = 1000;
            r.metrics = metrics_of(&r, &p.cost, NULL);
            r.estimate = estimate_of(&r, fixed_j, &a);
            struct estimate e = estimate_for(&r, 100);
            const struct result_metrics *m = &r.metrics;
            const struct {
                const char *name;
                const struct quantity *q;
                unsigned inputs; /* bits */
            } made[] = {
                {"startup", &m->startup_j, 1u << STARTUP},
                {"release", &m->release_j, 1u << RELEASE},
                {"lifecycle per token", &m->lifecycle_j_per_token, 1u << LIFECYCLE},
                {"formal per token", &m->formal_j_per_token, 1u << FORMAL},
                {"per request", &m->j_per_request, 1u << FORMAL},
                {"tokens per kWh", &m->tokens_per_kwh, 1u << FORMAL},
                {"per total token", &m->j_per_total_token, 1u << FORMAL},
                {"per visible token", &m->j_per_visible_token, 1u << FORMAL},
                {"kWh", &m->kwh_per_million_tokens, 1u << FORMAL},
                {"cost", &m->cost_per_million_tokens, 1u << FORMAL},
                {"carbon", &m->carbon_g_per_million_tokens, 1u << FORMAL},
                {"steady per token", &m->steady_j_per_token, 1u << STEADY},
                {"e by steady state", &r.estimate.e_steady_j, 1u << STEADY},
                {"e by attribution", &r.estimate.e_attributed_j, 1u << STEADY},
                {"E(100)", &e.total_j, 1u << FIXED},
                {"E(100) per request", &e.per_request_j, 1u << FIXED},
                {"overhead of a request", &e.overhead_per_request_j, 1u << FIXED},
                {"overhead share", &e.overhead_share, 1u << FIXED},
                {"E(100) per token", &e.j_per_token, 1u << FIXED},
                {"N for 1 %", &r.estimate.n_overhead_1, 1u << FIXED},
                {"N for 10 %", &r.estimate.n_overhead_10, 1u << FIXED},
            };
            for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
                int allowed = made[i].inputs & 1u << input ? worth((enum q_state)s) : 3;
                if (worth(made[i].q->state) > allowed || (allowed == 3 && made[i].q->state != Q_MEASURED))
                    fail_msg("%s is %s where its input is %s", made[i].name, q_state_names[made[i].q->state],
                             q_state_names[s]);
                if (made[i].q->state != Q_MEASURED)
                    assert_non_null(made[i].q->why);
            }
            /* Without a steady value, or with one that is excluded, the formal stage's stands in. */
            assert_int_equal(strstr(r.estimate.source, "steady-state J/token") != NULL, at[STEADY] == Q_MEASURED);
            arena_done(&a);
        }
}

/* ---- tokens that arrive in pieces ---- */

/* n tokens from 2 s on, `first` with the first stamp, then `piece` at a time, 10 ms a token. */
static void pieces(struct made *m, uint32_t id, int64_t n, int64_t first, int64_t piece, bool counts)
{
    made_request(m, id, 1, 9, n);
    int64_t sent = first;
    double t = 2;
    for (int64_t i = 0; i < first; i++)
        made_chunk(m, id, t, counts ? (int32_t)(i + 1) : -1, 4);
    while (sent < n) {
        int64_t k = n - sent < piece ? n - sent : piece;
        t += 0.01 * (double)k;
        for (int64_t i = 0; i < k; i++)
            made_chunk(m, id, t, counts ? (int32_t)(++sent) : -1, 4);
        if (!counts)
            sent += k;
    }
}

/* 40 tokens at 10 ms each, in pieces of every size: TPOT is 10 ms whatever the piece (the last one, if it is shorter,
 * came after its own tokens alone), undefined where all came at once, and never 0. Pieces of over 8 are marked. */
static void tokens_in_pieces(void **state)
{
    (void)state;
    for (int counts = 0; counts < 2; counts++)
        for (int64_t piece = 1; piece <= 40; piece++)
            for (int interval = 0; interval < 2; interval++) {
                struct made m;
                struct token_chains s;
                made_init(&m, 0);
                m.r.plan.requests.continuous_usage = counts;
                const char *command[] = {"serve", "--stream-interval", "8"};
                m.r.plan.engine.command = command;
                m.r.plan.engine.command_count = interval ? 3 : 1;
                for (uint32_t id = 0; id < 3; id++)
                    pieces(&m, id, 40, piece, piece, counts);
                make(&m, &s);
                struct clock_line clocks = clock_line_make(m.r.clocks, 1, &m.arena);
                const struct request_table table = latency_table(&s, &clocks, at_s(1), &m.arena);
                const struct result_request *t = table.rows;
                const struct result_load load =
                    latency_load(&s, &table, &clocks, quantity_absent(Q_UNDEFINED, ""), &m.arena);
                if (piece == 40)
                    assert_true(isnan(t[0].tpot_s));
                else
                    assert_close(t[0].tpot_s, 0.01, 1e-9);
                assert_int_equal(load.tpot_s.p50.state, piece == 40 ? Q_UNDEFINED : Q_MEASURED);
                assert_true(load.itl_s.n == 0 || load.itl_s.p50.value > 0);
                int64_t limit = interval ? 16 : 8, after = 40 - piece;
                int64_t last = after % piece; /* the rest, in a piece of its own */
                int64_t want = piece == 40 ? 40 : piece > limit ? after - (last <= limit ? last : 0) : 0;
                assert_int_equal(load.merged_limit, limit);
                assert_int_equal(load.merged_tokens, 3 * want);
                assert_int_equal(load.later_tokens, 3 * (piece == 40 ? 40 : after));
                made_done(&m);
            }
}

/* One token a request is no piece, and a first stamp of many tokens before a stream of single ones is none either. */
static void what_is_not_in_pieces(void **state)
{
    (void)state;
    struct made m;
    struct token_chains s;
    made_init(&m, 0);
    pieces(&m, 0, 1, 1, 1, true);
    pieces(&m, 1, 60, 20, 1, true);
    pieces(&m, 2, 8, 8, 1, true); /* all at once, but few: speculative decoding does that */
    make(&m, &s);
    assert_int_equal(s.merged_tokens, 0);
    made_done(&m);
}

/* A hole of 0.2 s in the buffer while the GPU would idle asserts nothing: neither that it idled nor a level. */
static void a_hole_is_neither_idle_nor_a_level(void **state)
{
    (void)state;
    for (int hole = 0; hole < 2; hole++) {
        struct made m;
        struct token_chains s;
        struct method method = method_default();
        made_init(&m, 1);
        made_request(&m, 0, 2, 10, 4);
        for (int i = 0; i <= 510; i++)
            if (!hole || i < 301 || i > 309) /* idle from 6.0 to 6.2 s, seen or not */
                made_buffer(&m, 0, 0.02 * i, i < 140 ? 100 : i >= 300 && i < 310 ? 60 : 500);
        make(&m, &s);
        made_mark(&m, 1, BOUNDARY_READY);
        const struct run_series series = run_series_make(&m.r, &m.arena);
        const struct levels levels =
            lag_levels(&series, &m.r, records_boundary(&m.r, BOUNDARY_READY), at_s(2), at_s(10), &m.arena);
        const struct lag_span span = {.start_ns = at_s(2), .end_ns = at_s(10), .lag_share = method.lag_share};
        const struct result_lag lag = lag_judge(&s, &series, &levels, &span, &m.arena);
        assert_close(levels.gpus[0].ready_w.value, hole ? 100 : 60, 1e-9);
        assert_close(lag.idle_owed_s.value, hole ? 0 : 0.2, 1e-9);
        made_done(&m);
    }
}

/* 3.6 MJ over 1e6 tokens: 3.6 J/token, 1e6 tokens/kWh; a server of 1.5 GPUs' worth at PUE 1.2 and 0.30 a kWh: 1.8 kWh
 * and 0.54 for a million tokens. Without both factors there is neither. */
static void cost_needs_both_factors(void **state)
{
    (void)state;
    struct arena a = {0};
    struct result r;
    struct plan p;
    plan_defaults(&p);
    result_absent(&r, &a, "by hand");
    result_stage_of(&r, STAGE_FORMAL)->why = NULL;
    result_stage_of(&r, STAGE_FORMAL)->duration_s = 100;
    result_stage_of(&r, STAGE_FORMAL)->energy.headline = quantity_of(3.6e6);
    r.load.output_tokens = 1000000;
    r.load.prompt_tokens = 500000;
    r.load.successful = 1000;
    p.cost.price_per_kwh = 0.30;
    r.metrics = metrics_of(&r, &p.cost, NULL);
    assert_close(r.metrics.formal_j_per_token.value, 3.6, 1e-12);
    assert_close(r.metrics.j_per_total_token.value, 2.4, 1e-12);
    assert_close(r.metrics.tokens_per_kwh.value, 1e6, 1e-6);
    assert_close(r.metrics.throughput_tok_s.value, 10000, 1e-9);
    assert_close(r.metrics.j_per_request.value, 3600, 1e-9);
    assert_int_equal(r.metrics.cost_per_million_tokens.state, Q_NOT_RECORDED);
    assert_int_equal(r.metrics.j_per_visible_token.state, Q_NOT_RECORDED);
    p.cost.pue = 1.2;
    p.cost.server_factor = 1.5;
    r.metrics = metrics_of(&r, &p.cost, NULL);
    assert_close(r.metrics.kwh_per_million_tokens.value, 1.8, 1e-12);
    assert_close(r.metrics.cost_per_million_tokens.value, 0.54, 1e-12);
    assert_int_equal(r.metrics.carbon_g_per_million_tokens.state, Q_NOT_RECORDED);
    arena_done(&a);
}

/* The first stamp brought a token at least, whatever is known of its chunk: no count of its own, or no row at all. Then
 * TPOT is (last - first) / (n - 1), never / n. */
static void the_first_stamp_holds_a_token(void **state)
{
    (void)state;
    struct made m;
    struct token_chains s;
    made_init(&m, 0);
    made_request(&m, 0, 1, 5, 5);
    struct rec_request *bare = made_request(&m, 1, 1, 5, 5);
    bare->first_ns = at_s(2);
    bare->last_ns = at_s(4);
    made_chunk(&m, 0, 2, -1, 5);
    made_chunk(&m, 0, 3, 3, 5);
    made_chunk(&m, 0, 4, 5, 5);
    make(&m, &s);
    struct clock_line clocks = clock_line_make(m.r.clocks, 1, &m.arena);
    const struct request_table table = latency_table(&s, &clocks, at_s(1), &m.arena);
    const struct result_request *t = table.rows;
    assert_close(t[0].tpot_s, 0.5, 1e-12);
    assert_close(t[1].tpot_s, 0.5, 1e-12);
    made_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(percentiles_are_type_7),
                                       cmocka_unit_test(times_of_a_request),
                                       cmocka_unit_test(the_first_stamp_holds_a_token),
                                       cmocka_unit_test(a_clock_step_takes_the_time),
                                       cmocka_unit_test(gaps_are_exact),
                                       cmocka_unit_test(idle_while_owed),
                                       cmocka_unit_test(lag_is_over_one_percent),
                                       cmocka_unit_test(estimate_by_hand),
                                       cmocka_unit_test(derived_values_keep_their_state),
                                       cmocka_unit_test(tokens_in_pieces),
                                       cmocka_unit_test(what_is_not_in_pieces),
                                       cmocka_unit_test(a_hole_is_neither_idle_nor_a_level),
                                       cmocka_unit_test(cost_needs_both_factors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
