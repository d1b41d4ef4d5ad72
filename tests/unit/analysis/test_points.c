/* Loads and their windows, by hand (METHOD section 11). */
#include "check.h"
#include <stdio.h>
#include "made.h"
#include "analysis/analyze.h"
#include "analysis/points.h"
#include "analysis/verify.h"
#include "model/record_order.h"

/* ---- a run of two loads ----
 *
 * The GPU draws 300 W in [19.9, 29] and [40, 52], else 100 W, and its counter says so each 0.1 s. Load 0, concurrency
 * 2, is from 19.9 s on; load 1, one request a second for 10 s, from 40 s on. Each request has 10 tokens in. */

static double drawn_w(double t)
{
    return (t >= 19.9 && t < 29) || (t >= 40 && t < 52) ? 300 : 100;
}

static void mark(struct made *m, double t, enum boundary id, const char *note)
{
    m->r.boundaries[m->r.boundary_count++] = (struct rec_boundary){at_s(t), id, note};
}

/* A request of four tokens, a second apart from `first` on, which ends with the last one. */
static void closed_loop_request(struct made *m, uint32_t id, double submit, double first)
{
    struct rec_request *q = made_request(m, id, submit, first + 3, 4);
    q->load = 0;
    q->first_ns = at_s(first);
    q->last_ns = q->end_ns;
    for (int i = 0; i < 4; i++)
        made_chunk(m, id, first + i, i + 1, 1);
}

/* A request meant for `intended` and sent `late` behind it, with a token after 1 s and one at its end. */
static void open_loop_request(struct made *m, uint32_t id, double intended, double late, double e2e)
{
    struct rec_request *q = made_request(m, id, intended + late, intended + e2e, 2);
    q->load = 1;
    q->intended_ns = at_s(intended);
    q->first_ns = at_s(intended + 1);
    q->last_ns = q->end_ns;
    made_chunk(m, id, intended + 1, 1, 1);
    made_chunk(m, id, intended + e2e, 2, 1);
}

static void make(struct made *m, double e2e)
{
    made_init(m, 1);
    double j = 0;
    for (int i = 0; i <= 600; i++) {
        made_counter(m, 0, i * 0.1, j);
        j += 0.1 * drawn_w(i * 0.1 + 0.05);
    }
    for (int i = 0; i <= 60; i++)
        made_instant(m, 0, i, drawn_w(i), INSTANT_GRID);
    struct plan *p = &m->r.plan;
    p->loads = arena_array(&m->arena, 2, sizeof *p->loads);
    p->load_count = 2;
    p->loads[0] = (struct plan_load){.kind = LOAD_CONCURRENCY, .concurrency = 2, .count = 4, .for_s = (double)NAN};
    p->loads[1] = (struct plan_load){
        .kind = LOAD_RATE, .rate = 1, .arrivals = ARRIVAL_CONSTANT, .count = ABSENT_I64, .for_s = 10};
    mark(m, 9, BOUNDARY_WARMUP_END, NULL);
    mark(m, 19.9, BOUNDARY_LOAD_START, "0");
    mark(m, 24.5, BOUNDARY_LOAD_LAST, "0");
    mark(m, 29, BOUNDARY_LOAD_END, "0");
    mark(m, 40, BOUNDARY_LOAD_START, "1");
    mark(m, 50, BOUNDARY_LOAD_LAST, "1");
    mark(m, 49 + e2e, BOUNDARY_LOAD_END, "1");
    closed_loop_request(m, 0, 19.9, 21);
    closed_loop_request(m, 1, 20.5, 21.5);
    closed_loop_request(m, 2, 24, 25);
    closed_loop_request(m, 3, 24.5, 26);
    for (int i = 0; i < 10; i++)
        open_loop_request(m, 4 + (uint32_t)i, 40 + i, i == 5 ? 0.002 : 0.0005, e2e);
}

static struct result analyse(struct made *m)
{
    struct err e = {0};
    struct result r;
    struct method method = method_default();
    records_order(&m->r);
    assert_ok(analyze(&m->r, &method, &m->arena, &r, &e), e);
    assert_int_equal(r.loads.point_count, m->r.plan.load_count);
    return r;
}

/* ---- closed loop ---- */

/* Two are in flight from 20.5 s on, the last request is sent at 24.5 s: 4 s at 300 W. Tokens in (20.5, 24.5]: all of
 * requests 0 and 1, none of 2 and 3. Sent in it: 1, 2, 3. In flight: 0 for 3.5 s, 1 for 4 s, 2 for 0.5 s. */
static void a_closed_loop(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    struct result r = analyse(&m);
    const struct result_point *p = &r.loads.points[0];
    assert_true(p->reached);
    assert_string_equal(p->setting, "concurrency 2, 4 requests");
    assert_int_equal(p->window.start_ns, at_s(20.5));
    assert_int_equal(p->window.end_ns, at_s(24.5));
    assert_close(p->window.energy.headline.value, 1200, 1e-9);
    assert_close(p->window.average_w.value, 300, 1e-9);
    assert_int_equal(p->tokens.before, 0);
    assert_int_equal(p->tokens.output, 8);
    assert_int_equal(p->tokens.after, 8);
    assert_int_equal(p->tokens.input, 20);
    assert_int_equal(p->requests.all, 4);
    assert_int_equal(p->requests.sent, 3);
    assert_int_equal(p->requests.finished, 3);
    assert_int_equal(p->requests.ended, 2);
    assert_int_equal(p->requests.good, ABSENT_I64);
    assert_close(p->j_per_token.value, 150, 1e-9);
    assert_close(p->j_per_request.value, 600, 1e-9);
    assert_close(p->j_per_total_token.value, 1200.0 / 28, 1e-9);
    assert_int_equal(p->j_per_good_token.state, Q_NOT_RECORDED);
    assert_close(p->rates.request_s.value, 0.5, 1e-12);
    assert_close(p->rates.output_tok_s.value, 2, 1e-12);
    assert_close(p->rates.total_tok_s.value, 7, 1e-12);
    assert_close(p->rates.user_tok_s.value, 1, 1e-12);
    assert_close(p->flight.mean.value, 2, 1e-12);
    assert_int_equal(p->flight.peak, 2);
    assert_false(p->flight.overloaded);
    assert_int_equal(p->times.ttft_s.n, 3);
    assert_close(p->times.ttft_s.max.value, 1.5, 1e-9);
    assert_close(p->times.ttft_s.p50.value, 1, 1e-9);
    assert_close(p->times.tpot_s.p50.value, 1, 1e-9);
    assert_int_equal(p->times.itl_s.n, 9); /* of the three that were sent in it */
    assert_int_equal(p->times.lateness_s.p99.state, Q_UNDEFINED);
    /* Shown, not counted: 0.6 s before and 4.5 s after, at 300 W. */
    assert_close(p->before_j.value, 180, 1e-6);
    assert_close(p->after_j.value, 1350, 1e-6);
    made_done(&m);
}

/* The window's ends cut responses: 50 ms more or less is 15 J and, at the end, the token at 24.5 s. */
static void edges_are_in_the_doubt(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    const struct result r = analyse(&m);
    const struct result_point *p = &r.loads.points[0];
    /* Start: 1215/8 to 1185/8. End: 1215/8 behind the token, down to 1185/7 and 1199.7/7 before it. */
    double start = (1215.0 / 8 - 1185.0 / 8) / 2, end = ((1200 - 0.3) / 7 - 1200.0 / 8) / 2;
    assert_close(p->edge_j_per_token, start + end, 1e-6);
    assert_close(p->j_per_token.instrument, p->window.energy.headline.instrument / 8 + start + end, 1e-6);
    made_done(&m);
}

/* Fewer requests than are to be in flight. */
static void never_so_many(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    m.r.plan.loads[0].concurrency = 3;
    const struct result r = analyse(&m);
    const struct result_point *p = &r.loads.points[0];
    assert_false(p->reached);
    assert_non_null(strstr(p->why, "never 3 requests in flight, and 2 at most"));
    assert_int_equal(p->j_per_token.state, Q_NOT_RECORDED);
    assert_int_equal(p->window.start_ns, ABSENT_I64);
    assert_int_equal(p->requests.all, 4); /* what was sent is still told */
    assert_int_equal(p->requests.sent, ABSENT_I64);
    made_done(&m);
}

/* ---- open loop ---- */

/* Each takes 2 s from its intended time: the window is (42, 50], 8 s at 300 W; tokens come at 41 ... 50 and 42 ... 51.
 * A request that is sent late takes as long, since it counts from when it was meant. */
static void an_open_loop(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    const struct result r = analyse(&m);
    const struct result_point *p = &r.loads.points[1];
    assert_true(p->reached);
    assert_string_equal(p->setting, "rate 1/s, constant, for 10 s");
    assert_int_equal(p->window.start_ns, at_s(42));
    assert_int_equal(p->window.end_ns, at_s(50));
    assert_close(p->window.energy.headline.value, 2400, 1e-9);
    assert_int_equal(p->tokens.before, 3);
    assert_int_equal(p->tokens.output, 16);
    assert_int_equal(p->tokens.after, 1);
    assert_int_equal(p->requests.sent, 8);
    assert_close(p->j_per_token.value, 150, 1e-9);
    assert_close(p->flight.mean.value, 2, 1e-9);
    assert_close(p->flight.last.value, 2, 1e-9);
    assert_false(p->flight.overloaded);
    assert_close(p->times.ttft_s.max.value, 1, 1e-9);
    assert_close(p->times.e2e_s.p50.value, 2, 1e-9);
    assert_int_equal(p->times.lateness_s.n, 8);
    assert_close(p->times.lateness_s.max.value, 0.002, 1e-12);
    assert_close(p->times.lateness_s.p50.value, 0.0005, 1e-12);
    /* P99 of eight: 7 times 0.5 ms, one of 2 ms; position 6.93. */
    assert_close(p->times.lateness_s.p99.value, 0.0005 + 0.93 * 0.0015, 1e-12);
    assert_int_equal(r.flags[FLAG_CLIENT_LIMITED].outcome,
                     CHECK_NOT_RECORDED); /* the client's own times are not there */
    made_done(&m);
}

/* P95 of 6 s is over half of 10 s. */
static void an_open_loop_that_never_settles(void **state)
{
    (void)state;
    struct made m;
    make(&m, 6);
    struct result r = analyse(&m);
    assert_false(r.loads.points[1].reached);
    assert_non_null(strstr(r.loads.points[1].why, "it lasted 10 s, under twice the 6 s"));
    assert_true(r.loads.points[0].reached);
    made_done(&m);
    make(&m, 5); /* inclusive */
    r = analyse(&m);
    assert_true(r.loads.points[1].reached);
    made_done(&m);
}

/* Without an end of their own, more and more are in flight: 1 a second, so over [0, 9] n(t) = t. Middle third mean 4.5,
 * last 7.5. */
static void more_and_more_in_flight(void **state)
{
    (void)state;
    struct rec_request q[9];
    struct plan_load plan = {.kind = LOAD_RATE};
    for (int i = 0; i < 9; i++) {
        q[i] = rec_request_absent();
        q[i].submit_ns = at_s(i + 0.5);
    }
    const struct point_load l = {&plan, 0, at_s(9), at_s(9), q, 9};
    assert_close(point_in_flight(&l, at_s(3), at_s(6)), 4.5, 1e-12);
    assert_close(point_in_flight(&l, at_s(6), at_s(9)), 7.5, 1e-12);
    q[0].end_ns = at_s(4); /* and is gone for 2 of the 3 s */
    assert_close(point_in_flight(&l, at_s(3), at_s(6)), 4.5 - 2.0 / 3, 1e-12);
}

/* The same in a run: those of 46 s and later stay to 50.4 s. P95 of E2E is 3.95 s, the window (43.95, 50]; in its
 * middle third there are 2 in flight, in its last 3.5. */
static void an_overload_is_no_property_of_the_rate(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    for (size_t i = 4 + 6; i < m.r.request_count; i++)
        m.r.requests[i].end_ns = at_s(50.4);
    const struct result r = analyse(&m);
    const struct result_point *p = &r.loads.points[1];
    assert_true(p->reached);
    assert_true(p->flight.overloaded);
    assert_int_equal(p->j_per_token.state, Q_EXCLUDED);
    assert_non_null(strstr(p->j_per_token.why, "overloaded"));
    made_done(&m);
}

/* ---- delivery lag ---- */

/* The buffer, each 20 ms, with the GPU idle between two times. */
static void idle_between(struct made *m, double from_s, double to_s)
{
    for (int i = 0; i <= 3000; i++) {
        double t = i * 0.02;
        made_buffer(m, 0, t, t >= from_s && t < to_s ? 100 : drawn_w(t));
    }
}

/* Without those of 43 to 46 s, nobody waits from 44 to 47 s. */
static void nobody_waits_for_three_seconds(struct made *m)
{
    for (size_t i = 7; i < 10; i++) {
        m->r.requests[i] = m->r.requests[i + 4];
        m->r.requests[i].id = (uint32_t)i;
    }
    m->r.request_count = 10;
}

/* Two requests are outstanding all the time, so 2 of the window's 8 s are idle while owed. Where nobody waits, nothing
 * is owed. */
static void idle_is_lag_where_somebody_waits(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    idle_between(&m, 45, 47);
    struct result r = analyse(&m);
    const struct result_lag *lag = &r.loads.points[1].lag;
    assert_true(lag->measurable);
    assert_close(lag->idle_owed_s.value, 2, 0.021);
    assert_close(lag->idle_owed_share.value, 0.25, 0.003);
    assert_true(lag->delivery_lag);
    assert_int_equal(r.loads.points[1].j_per_token.state, Q_EXCLUDED);
    assert_false(r.loads.points[0].lag.delivery_lag);
    assert_int_equal(r.flags[FLAG_DELIVERY_LAG].outcome, CHECK_FAILED);
    made_done(&m);
    make(&m, 2);
    idle_between(&m, 45, 47);
    nobody_waits_for_three_seconds(&m);
    r = analyse(&m);
    lag = &r.loads.points[1].lag;
    assert_true(lag->measurable);
    assert_close(lag->idle_owed_s.value, 0, 0.021);
    assert_false(lag->delivery_lag);
    made_done(&m);
}

/* The first of several that wait finds the GPU idle, for as long as it takes to reach it and the buffer to show it.
 * That is no late delivery, of which a low rate would otherwise have much; but from its second second on it is. */
static void the_way_to_the_gpu_is_no_lag(void **state)
{
    (void)state;
    static const struct {
        double idle_until_s, owed_s;
    } rows[] = {{47.02, 0}, {47.2, 0}, {47.9, 0}, {48.2, 0.2}, {48.5, 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        make(&m, 2);
        idle_between(&m, 46.5, rows[i].idle_until_s);
        nobody_waits_for_three_seconds(&m);
        const struct result r = analyse(&m);
        const struct result_lag *lag = &r.loads.points[1].lag;
        assert_true(lag->measurable);
        assert_close(lag->idle_owed_s.value, rows[i].owed_s, rows[i].owed_s > 0 ? 0.021 : 1e-9);
        assert_int_equal(lag->delivery_lag, rows[i].owed_s > 0);
        made_done(&m);
    }
    /* At its end it is at once. */
    struct made m;
    make(&m, 2);
    idle_between(&m, 43.6, 46.5);
    nobody_waits_for_three_seconds(&m);
    const struct result r = analyse(&m);
    assert_true(r.loads.points[1].lag.idle_owed_s.value > 0.3);
    made_done(&m);
}

/* ---- goodput ---- */

/* Within 1.05 s to the first token are 1 and 2, not 0 (1.1 s) and 3 (1.5 s). In the window arrived 4 tokens of 1. */
static void limits_are_kept_or_not(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    m.r.plan.slo.ttft_s = 1.05;
    struct result r = analyse(&m);
    const struct result_point *p = &r.loads.points[0];
    assert_int_equal(p->requests.good, 2);
    assert_close(p->goodput_share.value, 2.0 / 3, 1e-12);
    assert_close(p->rates.good_s.value, 0.5, 1e-12);
    assert_int_equal(p->tokens.good, 4);
    assert_close(p->j_per_good_token.value, 300, 1e-9);
    /* TPOT is 1 s for all: a limit of exactly that is kept, one below is kept by none. */
    m.r.plan.slo = (struct plan_slo){(double)NAN, 1, (double)NAN};
    r = analyse(&m);
    assert_int_equal(r.loads.points[0].requests.good, 3);
    m.r.plan.slo.tpot_s = 0.999;
    r = analyse(&m);
    assert_int_equal(r.loads.points[0].requests.good, 0);
    assert_close(r.loads.points[0].goodput_share.value, 0, 1e-12);
    assert_int_equal(r.loads.points[0].j_per_good_token.state, Q_UNDEFINED);
    /* E2E: 4.1, 4, 4, 4.5 s. */
    m.r.plan.slo = (struct plan_slo){(double)NAN, (double)NAN, 4.05};
    r = analyse(&m);
    assert_int_equal(r.loads.points[0].requests.good, 2);
    /* All of them at once: 1 and 2 keep each. */
    m.r.plan.slo = (struct plan_slo){1.2, 1, 4.2};
    r = analyse(&m);
    assert_int_equal(r.loads.points[0].requests.good, 2);
    assert_int_equal(r.loads.points[0].tokens.good, 8); /* request 0, too: sent before the window */
    made_done(&m);
}

/* A failed request is not good, has no token, and is in flight as long as it was open. */
static void a_failure_in_the_window(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    m.r.plan.slo.ttft_s = 1.05;
    m.r.requests[1].verdict = VERDICT_TRUNCATED;
    const struct result r = analyse(&m);
    const struct result_point *p = &r.loads.points[0];
    assert_int_equal(p->requests.failed, 1);
    assert_int_equal(p->requests.good, 1);
    assert_int_equal(p->requests.all_failed, 1);
    assert_int_equal(p->failures[0].first_request, 1);
    assert_int_equal(p->tokens.output, 4);
    assert_int_equal(p->tokens.before + p->tokens.output + p->tokens.after, 12);
    assert_close(p->flight.mean.value, 2, 1e-12);
    assert_int_equal(r.checks[CODE_TOO_MANY_FAILED].outcome, CHECK_FAILED); /* 1 of 4 of this load */
    made_done(&m);
}

/* ---- closure ---- */

/* Before, in and after the window is all that a load's requests were told, and its energy is that of the whole. */
static void windows_close(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    const struct result r = analyse(&m);
    for (size_t i = 0; i < 2; i++) {
        const struct result_point *p = &r.loads.points[i];
        int64_t told = 0;
        for (size_t k = 0; k < m.r.request_count; k++)
            told += m.r.requests[k].load == (int32_t)i ? m.r.requests[k].completion_tokens : 0;
        assert_int_equal(p->tokens.before + p->tokens.output + p->tokens.after, told);
        double truth = 300 * (double)(p->end_ns - p->start_ns) / 1e9;
        assert_close(p->before_j.value + p->window.energy.headline.value + p->after_j.value, truth, 1e-6);
    }
    made_done(&m);
}

/* ---- load 0 ---- */

/* [9.9, 19.9] before the first load, and [31, 40] from the third second of the other silence. */
static void load_0(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    const struct result r = analyse(&m);
    assert_int_equal(r.loads.silence_count, 2);
    const struct result_silence *s = r.loads.silences;
    assert_int_equal(s[0].before, 0);
    assert_close(s[0].duration_s, 10, 1e-9);
    assert_close(s[0].average_w.value, 100, 1e-6);
    assert_int_equal(s[1].start_ns, at_s(31));
    assert_int_equal(s[1].end_ns, at_s(40));
    assert_close(s[1].average_w.value, 100, 1e-6);
    made_done(&m);
    /* No further back than the warm-up. */
    make(&m, 2);
    m.r.boundaries[0].t_ns = at_s(15);
    assert_close(analyse(&m).loads.silences[0].duration_s, 4.9, 1e-9);
    made_done(&m);
}

/* ---- a service that runs already ---- */

static void reading(struct made *m, double t, double tokens, double running, double waiting)
{
    m->r.metrics[m->r.metrics_count++] = (struct rec_metrics){.t_ns = at_s(t),
                                                              .took_ns = at_s(0.02),
                                                              .running = running,
                                                              .waiting = waiting,
                                                              .generation_tokens = tokens,
                                                              .requests_ended = 0};
}

/* As above, attached: `others` tokens of others came between the readings of load 0's window at 21 and 24 s, `running`
 * requests of theirs were there, and `before` in the look. `counts`: the engine has a count at all. */
static void attach(struct made *m, double others, double running, double before, bool counts)
{
    make(m, 2);
    m->r.plan.object = OBJECT_ATTACH;
    m->r.metrics = arena_array(&m->arena, 16, sizeof *m->r.metrics);
    double none = counts ? 0 : (double)NAN;
    reading(m, 18.5, none + 1000, before, 0);
    reading(m, 19.5, none + 1000, before, 0);
    for (int i = 0; i < 4; i++)
        reading(m, 21 + i, none + 1002 + 2 * i + others * i / 3, 2 + running / 2, running / 2);
}

/* Power is that of the 2 s before the load, and the requests in the engine then are those of others. */
static void load_0_is_the_look(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct made m;
        attach(&m, 0, 0, 3 * i, true);
        const struct result r = analyse(&m);
        const struct result_silence *x = &r.loads.silences[0];
        assert_int_equal(x->start_ns, at_s(17.9));
        assert_int_equal(x->end_ns, at_s(19.9));
        assert_close(x->average_w.value, 100, 1e-6);
        assert_close(x->others.value, 3 * i, 1e-9);
        made_done(&m);
    }
    struct made m;
    make(&m, 2);
    assert_int_equal(analyse(&m).loads.silences[0].others.state, Q_NOT_RECORDED);
    made_done(&m);
}

/* Six tokens of jtok's arrive in (21.02, 24.02], the two requests of it are in flight on average. The readings may be
 * off by 0.02 s each and by 0.12 s against the streams: 0.28 s of the 3 s between them. */
static void who_else_was_served(void **state)
{
    (void)state;
    static const struct {
        double others, running, share, requests;
        bool counts, seen, excluded;
    } cases[] = {
        {0, 0, 0, 0, true, false, false},             /* nobody */
        {6, 1, 0.5, 1, true, true, true},             /* half of all tokens, by one more request */
        {0.6, 0, 0.6 / 6.6, 0, true, false, false},   /* within what the readings may be off by */
        {0.65, 0, 0.65 / 6.65, 0, true, true, false}, /* just beyond: named, but not certainly 2 % */
        {0, 4, NAN, 4, false, true, true},            /* no count of tokens: by the requests */
        {0, 0.4, NAN, 0.4, false, false, false},      /* under half a request */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m;
        attach(&m, cases[i].others, cases[i].running, 0, cases[i].counts);
        const struct result r = analyse(&m);
        const struct result_point *p = &r.loads.points[0];
        assert_close(p->others.requests.value, cases[i].requests, 1e-9);
        assert_int_equal(quantity_has_value(&p->others.token_share), cases[i].counts);
        if (cases[i].counts) {
            assert_close(p->others.token_share.value, cases[i].share, 1e-9);
            assert_close(p->others.token_share.instrument, 0.28 / 3, 1e-9);
        }
        assert_int_equal(p->others.seen, cases[i].seen);
        assert_int_equal(p->j_per_token.state, cases[i].excluded ? Q_EXCLUDED : Q_MEASURED);
        assert_close(p->j_per_token.value, 150, 1e-9);
        made_done(&m);
    }
}

/* What a failed request got is not known, and nobody else's can be told from it. */
static void with_failures_tokens_do_not_tell(void **state)
{
    (void)state;
    struct made m;
    attach(&m, 6, 0, 0, true);
    m.r.requests[3].verdict = VERDICT_HTTP_STATUS;
    const struct result r = analyse(&m);
    assert_int_equal(r.loads.points[0].others.token_share.state, Q_UNDEFINED);
    assert_true(quantity_has_value(&r.loads.points[0].others.requests));
    made_done(&m);
}

/* Its user may end it: load 0 then lacks requests of the plan, load 1 never came, and that is no fault. */
static void what_its_user_ended_stands(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct made m;
        attach(&m, 0, 0, 0, true);
        m.r.plan.loads[0].count = 100;
        m.r.request_count = 4;
        m.r.boundary_count = 4; /* to the end of load 0 */
        mark(&m, 29, BOUNDARY_FORMAL_END, asked ? "asked" : NULL);
        const struct result r = analyse(&m);
        assert_int_equal(r.checks[CODE_REQUEST_UNACCOUNTED].outcome, asked ? CHECK_PASSED : CHECK_FAILED);
        if (asked)
            assert_string_equal(r.loads.ended_early, "by its user, 4.6 s into load 0");
        else
            assert_null(r.loads.ended_early);
        assert_true(r.loads.points[0].reached);
        assert_false(r.loads.points[1].reached);
        made_done(&m);
    }
}

/* ---- what the run is worth ---- */

static void each_object_has_its_checks(void **state)
{
    (void)state;
    assert_true(verify_asks(OBJECT_LIFE, CODE_USAGE_DISAGREES));
    assert_false(verify_asks(OBJECT_LIFE, CODE_RELEASE_NOT_CLOSED));
    assert_false(verify_asks(OBJECT_LIFE, CODE_METHOD_SHORTENED));
    assert_true(verify_asks(OBJECT_ATTACH, CODE_REQUEST_UNACCOUNTED));
    assert_false(verify_asks(OBJECT_ATTACH, CODE_IDENTITY_UNKNOWN));
    assert_false(verify_asks(OBJECT_WATCH, CODE_TOO_MANY_FAILED));
    for (int o = OBJECT_LIFE; o <= OBJECT_STAT; o++)
        assert_true(verify_asks((enum run_object)o, CODE_COUNTER_VOID));
}

/* The table of docs/CHECKS.md says the same. */
static void the_table_of_checks_is_true(void **state)
{
    (void)state;
    struct arena a = {0};
    enum { ROOM = 1 << 18 };
    char *text = arena_alloc(&a, ROOM);
    FILE *f = fopen(JTOK_SOURCE "/docs/CHECKS.md", "r");
    assert_non_null(f);
    size_t n = fread(text, 1, ROOM - 1, f);
    text[n] = '\0';
    fclose(f);
    for (int c = 0; c < CODE_COUNT; c++) {
        const char *row = arena_format(&a, "\n| `%s` |", check_code_names[c]);
        for (int o = OBJECT_LIFE; o <= OBJECT_STAT; o++)
            row = arena_format(&a, "%s %s |", row, verify_asks((enum run_object)o, (enum check_code)c) ? "yes" : "-");
        if (!strstr(text, row))
            print_error("docs/CHECKS.md lacks the row %s\n", row + 1);
        assert_non_null(strstr(text, row));
    }
    arena_done(&a);
}

/* Never formal; excluded by what is asked and lacks; and what is not asked keeps nothing from being valid. */
static void a_run_of_loads_is_valid_or_excluded(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    struct result r = analyse(&m);
    assert_false(r.formal);
    assert_int_equal(result_standing(&r), STANDING_EXCLUDED);
    assert_int_equal(r.checks[CODE_RELEASE_NOT_CLOSED].outcome, CHECK_NOT_JUDGED);
    assert_int_equal(r.checks[CODE_METHOD_SHORTENED].outcome, CHECK_NOT_JUDGED);
    assert_int_equal(r.checks[CODE_NOT_COVERED].outcome, CHECK_PASSED);
    assert_int_equal(r.checks[CODE_COUNTER_VOID].outcome, CHECK_PASSED);
    assert_int_equal(r.checks[CODE_REQUEST_UNACCOUNTED].outcome, CHECK_PASSED);
    assert_int_equal(r.checks[CODE_TOO_MANY_FAILED].outcome, CHECK_PASSED);
    assert_int_equal(result_stage_of(&r, STAGE_FORMAL)->start_ns, ABSENT_I64);
    assert_int_equal(r.metrics.formal_j_per_token.state, Q_NOT_RECORDED);
    made_done(&m);
    /* A request that is nowhere, and one too few of the first load. */
    make(&m, 2);
    m.r.requests[9] = m.r.requests[13];
    m.r.request_count = 13;
    r = analyse(&m);
    assert_int_equal(r.checks[CODE_REQUEST_UNACCOUNTED].outcome, CHECK_FAILED);
    assert_non_null(strstr(r.checks[CODE_REQUEST_UNACCOUNTED].why, "Request 9 was not recorded"));
    made_done(&m);
    make(&m, 2);
    m.r.plan.loads[0].count = 5;
    r = analyse(&m);
    assert_non_null(strstr(r.checks[CODE_REQUEST_UNACCOUNTED].why, "load 0 sent 4 requests where the plan asks for 5"));
    made_done(&m);
}

/* A run that broke off has the points that it has. */
static void a_load_that_did_not_begin(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2);
    m.r.boundary_count -= 3;
    m.r.request_count = 4;
    m.r.chunk_count = 16;
    const struct result r = analyse(&m);
    assert_true(r.loads.points[0].reached);
    assert_false(r.loads.points[1].reached);
    assert_string_equal(r.loads.points[1].why, "the run did not get to this load");
    assert_int_equal(r.loads.points[1].requests.all, 0);
    made_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_closed_loop),
                                       cmocka_unit_test(edges_are_in_the_doubt),
                                       cmocka_unit_test(never_so_many),
                                       cmocka_unit_test(an_open_loop),
                                       cmocka_unit_test(an_open_loop_that_never_settles),
                                       cmocka_unit_test(more_and_more_in_flight),
                                       cmocka_unit_test(an_overload_is_no_property_of_the_rate),
                                       cmocka_unit_test(limits_are_kept_or_not),
                                       cmocka_unit_test(idle_is_lag_where_somebody_waits),
                                       cmocka_unit_test(the_way_to_the_gpu_is_no_lag),
                                       cmocka_unit_test(a_failure_in_the_window),
                                       cmocka_unit_test(windows_close),
                                       cmocka_unit_test(load_0),
                                       cmocka_unit_test(load_0_is_the_look),
                                       cmocka_unit_test(who_else_was_served),
                                       cmocka_unit_test(with_failures_tokens_do_not_tell),
                                       cmocka_unit_test(what_its_user_ended_stands),
                                       cmocka_unit_test(each_object_has_its_checks),
                                       cmocka_unit_test(the_table_of_checks_is_true),
                                       cmocka_unit_test(a_run_of_loads_is_valid_or_excluded),
                                       cmocka_unit_test(a_load_that_did_not_begin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
