/* A life with several loads on the simulation: each window's energy against the simulated truth, and what the run is
 * worth (METHOD section 11). */
#include "check.h"

#include <math.h>
#include "cli/exit.h"
#include "program/harness.h"
#include "sim/state.h"
#include "sim/truth.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static double truth_j(const struct sim_state *s, int64_t from_ns, int64_t to_ns)
{
    double mj = 0;
    for (uint32_t g = 0; g < s->gpu_count; g++)
        mj += sim_energy_mj(s, g, from_ns, to_ns);
    return mj / 1e3;
}

/* Within its ±, by counter and by precise; and the ± is small. */
static void energy_is_true(const struct result_point *p, double truth_j)
{
    const struct quantity *const all[] = {&p->window.energy.counter, &p->window.energy.precise};
    print_message("load %lld, %s: %.2f s, truth %.2f J, counter %.2f ± %.2f, precise %.2f ± %.2f\n",
                  (long long)p->number, p->setting, p->window.duration_s, truth_j, all[0]->value, all[0]->instrument,
                  all[1]->value, all[1]->instrument);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(all[i]->state, Q_MEASURED);
        assert_close(all[i]->value, truth_j, all[i]->instrument);
        if (p->window.duration_s >= 10)
            assert_true(all[i]->instrument <= 0.005 * all[i]->value);
    }
}

static void tokens_close(const struct records *r, const struct result_point *p)
{
    int64_t told = 0, sent = 0;
    for (size_t i = 0; i < r->request_count; i++) {
        const struct rec_request *q = &r->requests[i];
        if (q->load != (int32_t)p->number)
            continue;
        sent++;
        told += q->verdict == VERDICT_OK ? q->completion_tokens : 0;
    }
    assert_int_equal(p->requests.all, sent);
    assert_int_equal(p->tokens.before + p->tokens.output + p->tokens.after, told);
}

static void a_curve_is_the_simulated_truth(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ", lengths: {kind: fixed, tokens: 40, ignore_eos: true}"));
    int code = life_run(
        &l, ARGS("run", plan, "--loads", "concurrency=1,concurrency=16,rate=8", "--for", "11s", "--slo", "ttft=2s"),
        NULL, 180);
    if (code != EXIT_OK)
        print_error("%s\n%s\n", l.out, l.err);
    assert_int_equal(code, EXIT_OK); /* valid */
    struct records *r = life_records(&l);
    struct result *q = life_result(&l);
    assert_int_equal(result_standing(q), STANDING_VALID);
    assert_false(q->formal);
    assert_int_equal(q->loads.point_count, 3);
    assert_int_equal(q->loads.silence_count, 3);
    struct err e = {0};
    struct sim_state *s;
    assert_ok(sim_state_open(l.state, 0, &s, &e), e);
    int64_t origin_ns = life_origin_ns(r);
    for (size_t i = 0; i < 3; i++) {
        const struct result_point *p = &q->loads.points[i];
        if (!p->reached)
            fail_msg("load %zu: %s", i, p->why);
        energy_is_true(p, truth_j(s, origin_ns + p->window.start_ns, origin_ns + p->window.end_ns));
        tokens_close(r, p);
        assert_close(p->goodput_share.value, 1, 1e-12);
        const struct result_silence *x = &q->loads.silences[i];
        double w = truth_j(s, origin_ns + x->start_ns, origin_ns + x->end_ns) / x->duration_s;
        assert_close(x->average_w.value, w, x->average_w.instrument);
        assert_true(x->average_w.instrument < 0.05 * w); /* a counter's edge at a step of the load, over 3 s */
        assert_true(x->average_w.value < p->window.average_w.value);
    }
    /* The same token costs less in company. */
    assert_true(q->loads.points[1].j_per_token.value < q->loads.points[0].j_per_token.value / 2);
    assert_close(q->loads.points[0].flight.mean.value, 1, 0.05);
    assert_close(q->loads.points[1].flight.mean.value, 16, 0.5);
    sim_state_close(s);
    assert_int_equal(life_also(&l, ARGS("verify", l.folder)), EXIT_OK);
    assert_int_equal(life_also(&l, ARGS("report", l.folder)), EXIT_OK);
    print_message("%s", l.out);
    assert_int_equal(life_also(&l, ARGS("report", l.folder, "--format", "svg")), EXIT_OK);
    assert_non_null(strstr(l.out, "class=\"best\""));
    /* It is shortened, so it says so, and is shown beside another only as no comparison. */
    assert_non_null(q->loads.shortened);
    assert_int_equal(life_also(&l, ARGS("compare", l.folder, l.folder)), EXIT_REFUSED);
    assert_non_null(strstr(l.out, "is shortened"));
    assert_null(strstr(l.out, "j_per_token"));
    assert_int_equal(life_also(&l, ARGS("compare", "--anyway", l.folder, l.folder)), EXIT_REFUSED);
    print_message("%s", l.out);
    assert_non_null(strstr(l.out, "NOT A COMPARISON"));
    assert_non_null(strstr(l.out, "j_per_good_token"));
    assert_null(strstr(l.out, "B / A"));
    assert_int_equal(life_also(&l, ARGS("list", l.runs)), EXIT_OK);
    print_message("%s", l.out);
    assert_non_null(strstr(l.out, "valid, shortened"));
    assert_int_equal(life_survivors(&l), 0);
    life_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_curve_is_the_simulated_truth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
