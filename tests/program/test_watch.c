/* `jtok watch` on the simulation: an engine that the test starts, users of the test, and what jtok says of both. */
#include "check.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "cli/exit.h"
#include "program/site.h"

static const struct result_point *only_point(const struct result *r)
{
    assert_int_equal(r->loads.object, OBJECT_WATCH);
    assert_int_equal(r->loads.point_count, 1);
    return &r->loads.points[0];
}

/* ---- cases ---- */

/* Energy against the truth; tokens against the engine's own account of its life, between which the window lies. */
static void its_energy_is_the_simulated_truth(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, NULL);
    site_start_users(&s);
    int code = life_run(&s.l, ARGS("watch", s.url, "--for", "10", "--runs", "RUNS", "--set", LIBRARY), NULL, 60);
    if (code != EXIT_OK)
        print_error("%s\n%s\n", s.l.out, s.l.err);
    assert_int_equal(code, EXIT_OK);
    struct records *r = life_records(&s.l);
    struct result *x = life_result(&s.l);
    const struct result_point *p = only_point(x);
    assert_int_equal(x->loads.standing, STANDING_VALID);
    double truth = site_truth_j(&s, r, p->window.start_ns, p->window.end_ns);
    print_message("truth %.2f J, counter %.2f +- %.2f J, %lld tokens, %.5f +- %.5f J/token\n", truth,
                  p->window.energy.headline.value, p->window.energy.headline.instrument, (long long)p->tokens.output,
                  p->j_per_token.value, p->j_per_token.instrument);
    assert_close(p->window.energy.headline.value, truth, p->window.energy.headline.instrument);
    assert_true(p->j_per_token.instrument < 0.005 * p->j_per_token.value);
    assert_close_rel(p->j_per_token.value, p->window.energy.headline.value / (double)p->tokens.output, 1e-9);
    assert_true(p->flight.mean.value > 2 && p->flight.mean.value <= USERS);
    assert_true(p->engine.first_ns < p->window.start_ns && p->engine.last_ns < p->window.end_ns);
    assert_true(p->engine.last_ns > p->window.end_ns - 2000000000);
    assert_true(p->engine.times.ttft_s.n > 0 && p->engine.times.ttft_s.mean.value > 0);
    assert_true(p->engine.times.itl_s.mean.value > 0.001 && p->engine.times.itl_s.mean.value < 0.1);
    assert_int_equal(p->engine.times.ttft_difference_s.state, Q_NOT_RECORDED);
    assert_close(p->engine.running.mean.value, p->flight.mean.value, 1e-9);
    assert_non_null(strstr(s.l.err, "tok/s")); /* a line each ten seconds */
    assert_int_equal(r->plan.attach.pid, s.engine);
    assert_false(r->plan.attach.gpus_stated);
    assert_int_equal(kill(s.engine, 0), 0);
    assert_int_equal(life_also(&s.l, ARGS("verify", s.l.folder)), EXIT_OK);
    site_close(&s);
}

static void ctrl_c_ends_it_well(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, NULL);
    site_start_users(&s);
    life_start(&s.l, ARGS("watch", s.url, "--runs", "RUNS", "--set", LIBRARY), NULL);
    life_wait_for(&s.l, "users' load", 30);
    usleep(3500000);
    life_signal(&s.l, SIGINT);
    assert_int_equal(life_wait(&s.l, 30), EXIT_OK);
    const struct result_point *p = only_point(life_result(&s.l));
    assert_true(p->window.duration_s > 2.5 && p->window.duration_s < 8);
    assert_true(quantity_has_value(&p->j_per_token));
    assert_int_equal(site_status_of(s.port, "/health"), 200);
    site_close(&s);
}

/* The window ends at the last reading of the engine that it began with. */
static void a_new_engine_ends_the_window(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, NULL);
    site_start_users(&s);
    life_start(&s.l, ARGS("watch", s.url, "--for", "60", "--runs", "RUNS", "--set", LIBRARY), NULL);
    life_wait_for(&s.l, "users' load", 30);
    usleep(4000000);
    site_stop_engine(&s);
    site_start_engine(&s, NULL);
    assert_int_equal(life_wait(&s.l, 40), EXIT_OK);
    const struct result_point *p = only_point(life_result(&s.l));
    assert_true(p->window.duration_s > 2 && p->window.duration_s < 8);
    assert_non_null(strstr(p->setting, "ended early"));
    assert_non_null(strstr(s.l.out, "ended early"));
    site_close(&s);
}

static void an_engine_that_counts_at_the_end_is_named(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, ARGS("--flavour", "sglang", "--enable-metrics"));
    site_start_users(&s);
    int code = life_run(&s.l, ARGS("watch", s.url, "--for", "4", "--runs", "RUNS", "--set", LIBRARY), NULL, 60);
    assert_int_equal(code, EXIT_OK);
    const struct result_point *p = only_point(life_result(&s.l));
    assert_non_null(strstr(p->setting, "as sglang counts them"));
    assert_non_null(strstr(p->setting, "each request's when it ends"));
    assert_non_null(strstr(s.l.out, "tokens at the end"));
    assert_true(p->edge_j_per_token > 0.01 * p->j_per_token.value); /* what is in flight is the doubt */
    site_close(&s);
}

static void what_cannot_be_watched_is_told_before(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, ARGS("--flavour", "sglang")); /* without metrics */
    struct life *l = &s.l;
    assert_int_equal(life_run(l, ARGS("watch", s.url, "--runs", "RUNS", "--set", LIBRARY), NULL, 30), EXIT_ENGINE);
    assert_non_null(strstr(l->err, "--enable-metrics"));
    assert_int_equal(life_run(l, ARGS("watch", "http://192.0.2.1:8000", "--set", LIBRARY), NULL, 30), EXIT_REFUSED);
    assert_non_null(strstr(l->err, "not an address of this machine"));
    assert_int_equal(life_run(l, ARGS("watch", "https://localhost:8000", "--set", LIBRARY), NULL, 30), EXIT_REFUSED);
    assert_int_equal(life_run(l, ARGS("watch", "http://localhost:8000/chat", "--set", LIBRARY), NULL, 30), EXIT_PLAN);
    assert_int_equal(life_run(l, ARGS("watch", "ftp://localhost", "--set", LIBRARY), NULL, 30), EXIT_PLAN);
    assert_int_equal(life_run(l, ARGS("watch", s.url, "--set", "requests.count=5"), NULL, 30), EXIT_PLAN);
    assert_non_null(strstr(l->err, "no meaning here"));
    assert_int_equal(life_run(l, ARGS("watch"), NULL, 30), EXIT_USAGE);
    site_stop_users(&s);
    site_stop_engine(&s);
    assert_int_equal(life_run(l, ARGS("watch", s.url, "--set", LIBRARY), NULL, 30), EXIT_ENGINE);
    assert_non_null(strstr(l->err, "Start the service first"));
    assert_int_equal(access(l->runs, F_OK), -1); /* nothing was written */
    site_close(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_energy_is_the_simulated_truth),
        cmocka_unit_test(ctrl_c_ends_it_well),
        cmocka_unit_test(a_new_engine_ends_the_window),
        cmocka_unit_test(an_engine_that_counts_at_the_end_is_named),
        cmocka_unit_test(what_cannot_be_watched_is_told_before),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
