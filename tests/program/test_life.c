/* Whole lives on the simulation: energy against the simulated truth, what an interruption leaves, faults on the way. */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "cli/exit.h"
#include "program/harness.h"
#include "sim/engine/wire.h"
#include "sim/state.h"
#include "sim/truth.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static double truth_j(const struct sim_state *s, int64_t origin_ns, int64_t from_ns, int64_t to_ns)
{
    double mj = 0;
    for (uint32_t g = 0; g < s->gpu_count; g++)
        mj += sim_energy_mj(s, g, origin_ns + from_ns, origin_ns + to_ns);
    return mj / 1e3;
}

/* The largest change of power within `ns` after a moment, all GPUs, W: the cliff there. */
static double cliff_w(const struct sim_state *s, int64_t t_ns, int64_t ns)
{
    double most = 0;
    for (int64_t t = t_ns; t <= t_ns + ns; t += 1000000) {
        double w = 0;
        for (uint32_t g = 0; g < s->gpu_count; g++)
            w += (double)(sim_power_mw(s, g, t) - sim_power_mw(s, g, t_ns - 50000000)) / 1e3;
        most = fmax(most, fabs(w));
    }
    return most;
}

static void check_energy(struct life *l, bool counter_too)
{
    struct records *r = life_records(l);
    struct result *q = life_result(l);
    struct err e = {0};
    struct sim_state *s;
    assert_ok(sim_state_open(l->state, 0, &s, &e), e);
    int64_t origin = life_origin_ns(r);
    int64_t t2 = records_boundary(r, BOUNDARY_SERVICE_START), t6 = records_boundary(r, BOUNDARY_FORMAL_START);
    int64_t t7 = records_boundary(r, BOUNDARY_FORMAL_END), end = records_boundary(r, BOUNDARY_RELEASE_END);
    assert_true(t2 > 0 && t6 > t2 && t7 > t6 && end > t7);
    assert_int_equal(result_stage_of(q, STAGE_BASELINE)->energy.counter.state, Q_MEASURED);
    assert_string_equal(r->run.engine_fingerprint, WIRE_FINGERPRINT);
    life_check_engine(&q->engine, q->load.requests);
    /* t10 as the run saw it is t10 as the records tell it. */
    assert_close((double)(records_boundary(r, BOUNDARY_MEMORY_RELEASED) - t7) / 1e9, q->release.memory_released_s.value,
                 1e-9);

    const struct {
        int stage;
        int64_t from, to;
    } parts[] = {{STAGE_STARTUP, t2, t6}, {STAGE_FORMAL, t6, t7}};
    for (size_t i = 0; i < 2; i++) {
        double truth = truth_j(s, origin, parts[i].from, parts[i].to);
        const struct energy_set *seen = &q->stages[parts[i].stage].energy;
        print_message("%s: truth %.2f J, counter %.2f, buffer %.2f, grid %.2f\n", stage_id_names[parts[i].stage], truth,
                      seen->counter.value, seen->buffer.value, seen->grid.value);
        if (counter_too)
            assert_close_rel(seen->counter.value, truth, 0.005);
        assert_close_rel(seen->buffer.value, truth, 0.005);
    }
    double truth = truth_j(s, origin, t7, end);
    double cliff = cliff_w(s, origin + t7, 300000000);
    const struct energy_set *seen = &result_stage_of(q, STAGE_RELEASE)->energy;
    print_message("release: truth %.2f J, counter %.2f, buffer %.2f, cliff %.0f W\n", truth, seen->counter.value,
                  seen->buffer.value, cliff);
    assert_true(cliff > 50);
    assert_close(seen->counter.value, truth, 0.035 * cliff);
    assert_close(seen->buffer.value, truth, 0.020 * cliff);
    sim_state_close(s);
}

static void energy_is_the_simulated_truth(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    /* A counter that steps each 100 ms sees a cliff of 550 W at the formal start up to 28 J wrong: a start-up long
     * enough that this is half a percent of it. */
    const char *plan =
        life_plan(&l, ", --sim-start-s, '28'",
                  life_requests(&l, ", count: 600, lengths: {kind: lognormal, median: 120, sigma: 0.6, min: "
                                    "16, max: 400, seed: 1, ignore_eos: true}"));
    int code = life_run(&l, ARGS("run", plan), NULL, 120);
    if (code != EXIT_EXCLUDED)
        print_error("%s\n", l.err);
    assert_int_equal(code, EXIT_EXCLUDED); /* method_shortened */
    check_energy(&l, true);
    assert_int_equal(life_survivors(&l), 0);
    assert_int_equal(life_also(&l, ARGS("verify", l.folder)), EXIT_EXCLUDED);
    life_close(&l);
}

static void two_gpus_add_up(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    assert_int_equal(life_run(&l, ARGS("demo", "--quick", "--gpus", "2", "--runs", "RUNS"), NULL, 90), EXIT_OK);
    check_energy(&l, false);
    struct result *q = life_result(&l);
    assert_int_equal(q->gpu_count, 2);
    assert_true(q->about.simulated);
    assert_false(q->formal);
    life_close(&l);
}

/* The stage machine acts by the same rules that judge its records: both must say the same of them. */
static void check_rules_agree(const struct records *r, const struct result *q)
{
    int64_t end = records_boundary(r, BOUNDARY_FORMAL_END);
    assert_close(q->release.power_recovered_s.value,
                 (double)(records_boundary(r, BOUNDARY_POWER_RECOVERED) - end) / 1e9, 1e-9);
    assert_close(q->release.memory_released_s.value,
                 (double)(records_boundary(r, BOUNDARY_MEMORY_RELEASED) - end) / 1e9, 1e-9);
    assert_close(q->release.end_s.value, (double)(records_boundary(r, BOUNDARY_RELEASE_END) - end) / 1e9, 1e-9);
    const struct result_stage *baseline = result_stage_of(q, STAGE_BASELINE);
    assert_int_equal(baseline->start_ns, records_boundary(r, BOUNDARY_BASELINE_START));
    assert_int_equal(baseline->end_ns, records_boundary(r, BOUNDARY_BASELINE_END));
}

/* A front end that delivers more slowly than the GPU generates: the energy is long spent when the tokens arrive. */
static void a_lagging_front_end_is_found(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    assert_int_equal(life_run(&l, ARGS("demo", "--quick", "--lagging", "--count", "300", "--runs", "RUNS"), NULL, 120),
                     EXIT_OK);
    struct result *q = life_result(&l);
    assert_true(q->lag.delivery_lag);
    assert_true(q->lag.idle_owed_share.value > 0.1);
    check_rules_agree(life_records(&l), q);
    assert_int_equal(life_also(&l, ARGS("report", "--full", l.folder)), EXIT_OK);
    assert_non_null(strstr(l.out, "delivery_lag"));
    life_close(&l);
}

/* What an interruption must leave, whatever the stage: no process, the documented code, records that can be evaluated.
 */
static void interrupted_in(const char *stage_text, double delay_s)
{
    struct life l;
    life_open(&l);
    life_start(&l, ARGS("demo", "--quick", "--runs", "RUNS"), NULL);
    life_wait_for(&l, stage_text, 60);
    usleep((useconds_t)(delay_s * 1e6));
    life_signal(&l, SIGINT);
    assert_int_equal(life_wait(&l, 60), EXIT_INTERRUPTED);
    assert_int_equal(life_survivors(&l), 0);
    assert_true(l.folder[0]);
    struct records *r = life_records(&l);
    assert_true(r->sealed);
    assert_null(r->damage);
    assert_true(records_boundary(r, BOUNDARY_INTERRUPTED) > 0);
    for (size_t i = 0; i < r->request_count; i++)
        assert_true(r->requests[i].verdict == VERDICT_OK || r->requests[i].verdict == VERDICT_CANCELLED);
    assert_int_equal(life_also(&l, ARGS("analyze", l.folder)), EXIT_EXCLUDED);
    assert_non_null(strstr(l.out, "interrupted"));
    life_close(&l);
}

static void interrupted_in_baseline(void **state)
{
    (void)state;
    interrupted_in("baseline", 0.3);
}

static void interrupted_in_start(void **state)
{
    (void)state;
    interrupted_in("starting the engine", 0.7);
}

static void interrupted_in_warmup(void **state)
{
    (void)state;
    interrupted_in("warm-up", 0.05);
}

static void interrupted_in_connecting(void **state)
{
    (void)state;
    interrupted_in("opening connections", 0.05);
}

static void interrupted_in_formal(void **state)
{
    (void)state;
    interrupted_in("formal requests", 0.5);
}

static void interrupted_in_stop(void **state)
{
    (void)state;
    interrupted_in("stopping the engine", 0.05);
}

static void interrupted_in_release(void **state)
{
    (void)state;
    interrupted_in("release: memory and power", 0.05);
}

static void interrupted_in_hold(void **state)
{
    (void)state;
    interrupted_in("hold: power", 0.5);
}

/* All is recorded by then: the seal is made, and the run is what it would have been. */
static void interrupted_in_sealing(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    life_start(&l, ARGS("demo", "--quick", "--runs", "RUNS"), NULL);
    life_wait_for(&l, "sealing", 60);
    life_signal(&l, SIGINT);
    assert_int_equal(life_wait(&l, 60), EXIT_OK);
    assert_int_equal(life_survivors(&l), 0);
    struct records *r = life_records(&l);
    assert_true(r->sealed);
    assert_null(r->damage);
    assert_int_equal(records_boundary(r, BOUNDARY_INTERRUPTED), ABSENT_I64);
    life_also(&l, ARGS("verify", l.folder));
    assert_non_null(strstr(l.out, "the records give result.json, byte for byte"));
    life_close(&l);
}

/* jtok itself ends by a signal: nothing can be sealed, but the engine goes and what was written can be read. */
static void ends_in_formal(int number)
{
    struct life l;
    life_open(&l);
    life_start(&l, ARGS("demo", "--quick", "--runs", "RUNS"), NULL);
    life_wait_for(&l, "formal requests", 60);
    usleep(1500000);
    life_signal(&l, number);
    assert_int_equal(life_wait(&l, 20), 128 + number);
    for (int i = 0; i < 100 && life_survivors(&l) > 0; i++)
        usleep(50000);
    assert_int_equal(life_survivors(&l), 0);
    char command[300];
    snprintf(command, sizeof command, "ls -d %s/*/ > %s/list", l.runs, l.scratch);
    assert_int_equal(system(command), 0);
    char path[300];
    snprintf(path, sizeof path, "%s/list", l.scratch);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    assert_non_null(fgets(l.folder, sizeof l.folder, f));
    l.folder[strcspn(l.folder, "\n")] = 0;
    fclose(f);
    struct records *r = life_records(&l);
    assert_false(r->sealed);
    assert_true(r->chunk_count > 0);
    assert_true(r->gpus[0].counter_count > 0);
    assert_int_equal(life_also(&l, ARGS("analyze", l.folder)), EXIT_EXCLUDED);
    life_close(&l);
}

static void killed_in_formal(void **state)
{
    (void)state;
    ends_in_formal(SIGKILL);
}

/* As a broken promise ends the program (base/must.h). */
static void aborted_in_formal(void **state)
{
    (void)state;
    struct rlimit none = {0, 0};
    assert_int_equal(setrlimit(RLIMIT_CORE, &none), 0); /* no core file in whatever folder this runs in */
    ends_in_formal(SIGABRT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_is_the_simulated_truth),
        cmocka_unit_test(two_gpus_add_up),
        cmocka_unit_test(a_lagging_front_end_is_found),
        cmocka_unit_test(interrupted_in_baseline),
        cmocka_unit_test(interrupted_in_start),
        cmocka_unit_test(interrupted_in_warmup),
        cmocka_unit_test(interrupted_in_connecting),
        cmocka_unit_test(interrupted_in_formal),
        cmocka_unit_test(interrupted_in_stop),
        cmocka_unit_test(interrupted_in_release),
        cmocka_unit_test(interrupted_in_hold),
        cmocka_unit_test(interrupted_in_sealing),
        cmocka_unit_test(killed_in_formal),
        cmocka_unit_test(aborted_in_formal),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
