/* Lives with loads (METHOD section 11) on the simulation: what was asked is what was sent, at its time, and the records
 * and the result say so. */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include "cli/exit.h"
#include "program/harness.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int64_t boundary_of(const struct records *r, enum boundary id, int load)
{
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id == id && r->boundaries[i].note && atoi(r->boundaries[i].note) == load)
            return r->boundaries[i].t_ns;
    fail_msg("no boundary %d of load %d", (int)id, load);
    return 0;
}

struct moment {
    int64_t t_ns;
    int step;
};

static int by_time(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
    return x->step - y->step;
}

static int most_in_flight(const struct records *r, int load, size_t *ret_count)
{
    static struct moment m[4000];
    size_t n = 0;
    for (size_t i = 0; i < r->request_count; i++) {
        const struct rec_request *q = &r->requests[i];
        if (q->load != load)
            continue;
        m[n++] = (struct moment){q->submit_ns, 1};
        m[n++] = (struct moment){q->end_ns, -1};
    }
    qsort(m, n, sizeof *m, by_time);
    int now = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        now += m[i].step;
        most = now > most ? now : most;
    }
    *ret_count = n / 2;
    return most;
}

/* Each request lies in its load, none is there twice, and its number goes on where the load before stopped. */
static void check_requests(const struct records *r, int loads)
{
    static bool seen[4000];
    memset(seen, 0, sizeof seen);
    int before = 0;
    for (size_t i = 0; i < r->request_count; i++) { /* in order of id */
        const struct rec_request *q = &r->requests[i];
        assert_true(q->id == i && !seen[i]);
        seen[i] = true;
        assert_int_equal(q->verdict, VERDICT_OK);
        assert_true(q->load >= before && q->load < loads);
        before = q->load;
        assert_true(q->submit_ns >= boundary_of(r, BOUNDARY_LOAD_START, q->load));
        assert_true(q->submit_ns <= boundary_of(r, BOUNDARY_LOAD_LAST, q->load));
        assert_true(q->end_ns <= boundary_of(r, BOUNDARY_LOAD_END, q->load));
    }
}

/* A closed loop by count, one by time, an open loop, and all at once, in one life. */
static void four_loads_in_one_life(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ", lengths: {kind: fixed, tokens: 30, ignore_eos: true}"));
    int code = life_run(&l,
                        ARGS("run", plan, "--loads", "concurrency=1,8,rate=40,burst", "--for", "2s", "--count", "120",
                             "--slo", "ttft=1s,tpot=0.5s"),
                        NULL, 120);
    assert_int_equal(code, EXIT_OK); /* valid: a shortened baseline is no matter of the loads */
    struct records *r = life_records(&l);
    assert_true(r->sealed);
    assert_null(r->damage);
    check_requests(r, 4);
    size_t n;
    assert_int_equal(most_in_flight(r, 0, &n), 1);
    assert_true(n >= 2 && n < 120);
    assert_int_equal(boundary_of(r, BOUNDARY_LOAD_LAST, 0) - boundary_of(r, BOUNDARY_LOAD_START, 0), 2000000000);
    assert_int_equal(most_in_flight(r, 1, &n), 8);
    assert_true(n > 8 && n <= 120);
    most_in_flight(r, 2, &n);
    assert_true(n > 40 && n < 120); /* 40 a second for two seconds, drawn */
    most_in_flight(r, 3, &n);
    assert_int_equal(n, 120);
    for (int i = 1; i < 4; i++) { /* 5 s of silence before each further load, 12 s before the first */
        double silence = (double)(boundary_of(r, BOUNDARY_LOAD_START, i) - boundary_of(r, BOUNDARY_LOAD_END, i - 1));
        assert_true(silence >= 4.99e9 && silence < 5.5e9);
    }
    double first = (double)(boundary_of(r, BOUNDARY_LOAD_START, 0) - records_boundary(r, BOUNDARY_WARMUP_END));
    assert_true(first >= 9.99e9 && first < 10.5e9);
    assert_int_equal(boundary_of(r, BOUNDARY_LOAD_START, 0), records_boundary(r, BOUNDARY_FORMAL_START));
    assert_int_equal(boundary_of(r, BOUNDARY_LOAD_END, 3), records_boundary(r, BOUNDARY_FORMAL_END));
    assert_close(r->plan.slo.ttft_s, 1, 0);
    assert_int_equal(r->plan.loads[2].count, 120);
    const struct result *q = life_result(&l);
    for (int i = 0; i < 4; i++) {
        most_in_flight(r, i, &n);
        life_check_engine(&q->loads.points[i].engine, (int64_t)n);
    }
    assert_int_equal(life_also(&l, ARGS("verify", l.folder)), EXIT_OK);
    life_close(&l);
}

/* Intended times are those of the seed, and of the trace; what is late is late by little, and nothing is left out. */
static void intended_times_are_the_plans(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    life_file(&l, "trace.csv", "Timestamp,tokens\n5,1\n5.25,1\n5.25,1\n7,1\n");
    const char *more =
        arena_format(&l.arena,
                     "%sloads:\n"
                     "  - {kind: rate, rate: 4, seed: 0, count: 5}\n"
                     "  - {kind: trace, file: %s/trace.csv, scale: 0.5}\n",
                     life_requests(&l, ", lengths: {kind: fixed, tokens: 10, ignore_eos: true}"), l.scratch);
    assert_int_equal(life_run(&l, ARGS("run", life_plan(&l, "", more)), NULL, 120), EXIT_OK);
    struct records *r = life_records(&l);
    assert_null(r->damage);
    check_requests(r, 2);
    assert_int_equal(r->request_count, 9);
    /* The first four are those of tests/unit/store/test_arrivals.c. */
    static const int64_t drawn[] = {0, 40453779, 305614125, 361658379},
                         traced[] = {0, 125000000, 125000000, 1000000000};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(r->requests[i].intended_ns - boundary_of(r, BOUNDARY_LOAD_START, 0), drawn[i]);
        assert_int_equal(r->requests[5 + i].intended_ns - boundary_of(r, BOUNDARY_LOAD_START, 1), traced[i]);
    }
    for (int i = 0; i < 9; i++) {
        double late = (double)(r->requests[i].submit_ns - r->requests[i].intended_ns);
        assert_true(late >= 0 && late < 0.2e9);
    }
    assert_non_null(r->plan.loads[1].sha256);
    assert_int_equal(r->plan.loads[1].count, 4);
    life_close(&l);
}

static void check_sent_or_due(const struct rec_request *q, size_t i)
{
    assert_int_equal(q->id, i);
    if (q->submit_ns != ABSENT_I64)
        return;
    assert_int_equal(q->verdict, VERDICT_CANCELLED);
    assert_true(q->intended_ns <= q->end_ns);
}

/* Ctrl-C in a load: what was sent is recorded, what was due but not sent yet is recorded as cancelled (on a busy
 * machine the signal can come first), what was not due is not, and the engine is stopped. */
static void interrupted_in_a_load(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ", lengths: {kind: fixed, tokens: 200, ignore_eos: true}"));
    life_start(&l, ARGS("run", plan, "--rate", "20", "--arrivals", "constant", "--for", "10m"), NULL);
    life_wait_for(&l, " s  load 1 of 1", 60);
    usleep(1500000);
    life_signal(&l, SIGINT);
    assert_int_equal(life_wait(&l, 60), EXIT_INTERRUPTED);
    assert_int_equal(life_survivors(&l), 0);
    struct records *r = life_records(&l);
    assert_true(r->sealed);
    assert_true(r->request_count >= 10 && r->request_count < 60);
    for (size_t i = 0; i < r->request_count; i++)
        check_sent_or_due(&r->requests[i], i);
    assert_true(records_boundary(r, BOUNDARY_EXIT) != ABSENT_I64);
    life_close(&l);
}

/* The engine goes in the middle of an open loop: the run ends there. */
static void engine_dies_in_a_load(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, ", --sim-fault, crash=60",
                                 life_requests(&l, ", lengths: {kind: fixed, tokens: 50, ignore_eos: true}"));
    assert_int_equal(life_run(&l, ARGS("run", plan, "--concurrency", "4", "--for", "60"), NULL, 60), EXIT_ENGINE);
    assert_non_null(strstr(l.err, "in the stage \"load\""));
    assert_int_equal(life_survivors(&l), 0);
    struct records *r = life_records(&l);
    assert_true(r->sealed);
    assert_true(records_boundary(r, BOUNDARY_EXIT) != ABSENT_I64);
    life_close(&l);
}

/* Told before anything starts. */
static void loads_that_make_no_sense(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    static const struct {
        const char *arguments[6], *said;
    } cases[] = {
        {{"--rate", "4", "--concurrency", "8"}, "--rate: --concurrency names the load already."},
        {{"--for", "1m"}, "--for: There is no load that it could end"},
        {{"--rate", "4", "--for", "soon"}, "--for: \"soon\" is not a time"},
        {{"--concurrency", "4", "--burstiness", "0.5"}, "--burstiness: There is no load by rate"},
        {{"--rate", "4", "--arrivals", "poisson", "--burstiness", "2"}, "Not used with poisson arrivals"},
        {{"--rate", "4", "--arrivals", "gamma"}, "loads.0.burstiness: Missing: gamma arrivals need the shape"},
        {{"--loads", "concurrency=1,many"}, "many"},
        {{"--loads", "64"}, "\"64\" is not a load"},
        {{"--slo", "ttft=2s,speed=3"}, "\"speed=3\" is not a limit"},
        {{"--trace", "/nowhere/trace.csv"}, "/nowhere/trace.csv"},
        {{"--rate", "4", "--set", "requests.connect=with_request"}, "Only a burst connects with each request"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *arguments[9] = {"run", plan};
        for (int k = 0; k < 6 && cases[i].arguments[k]; k++)
            arguments[2 + k] = cases[i].arguments[k];
        assert_int_equal(life_also(&l, arguments), EXIT_PLAN);
        if (!strstr(l.err, cases[i].said))
            print_error("%zu: %s\n", i, l.err);
        assert_non_null(strstr(l.err, cases[i].said));
    }
    life_close(&l);
}

/* What the options say in the plan. */
static void options_are_the_plans_loads(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    assert_int_equal(life_also(&l, ARGS("run", plan, "--dry-run", "--loads", "concurrency=1,8,rate=0.5,burst",
                                        "--burstiness", "0.25", "--for", "1.5m", "--slo", "tpot=50ms")),
                     EXIT_OK);
    const char *said[] = {"concurrency: 8",   "for_s: 90",   "rate: 0.5",   "arrivals: gamma",
                          "burstiness: 0.25", "kind: burst", "tpot_s: 0.05"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (!strstr(l.out, said[i]))
            print_error("%s\n", said[i]);
        assert_non_null(strstr(l.out, said[i]));
    }
    const char *timetable[] = {"#         12 s  silence\n#         90 s  load 0: concurrency 1, for 90 s\n",
                               "#          5 s  silence\n#            ?  load 3: burst, 3 requests\n",
                               "#   4 min 59 s  in all, without each ?,"}; /* 1 + 12 + 3 x 90 + 3 x 5 + 1 s */
    for (size_t i = 0; i < sizeof timetable / sizeof *timetable; i++) {
        if (!strstr(l.out, timetable[i]))
            print_error("%s\n%s\n", timetable[i], l.out);
        assert_non_null(strstr(l.out, timetable[i]));
    }
    /* Neither a count nor a time: the request set once. */
    assert_int_equal(life_also(&l, ARGS("run", plan, "--dry-run", "--concurrency", "2")), EXIT_OK);
    assert_non_null(strstr(l.out, "count: 3"));
    /* Random prompts have no number of their own where a load's time decides; where nothing does, they have. */
    const char *random = life_plan(&l, "", "requests: {random: {vocabulary: 32000}}\n");
    assert_int_equal(
        life_also(&l, ARGS("run", random, "--dry-run", "--input-tokens", "8", "--rate", "2", "--for", "5s")), EXIT_OK);
    assert_non_null(strstr(strstr(l.out, "\nrequests:"), "\n  count: null\n"));
    assert_int_equal(life_also(&l, ARGS("run", random, "--dry-run", "--input-tokens", "8", "--rate", "2")), EXIT_OK);
    assert_non_null(strstr(strstr(l.out, "\nrequests:"), "\n  count: 1000\n"));
    assert_non_null(strstr(l.out, "#   8 min 20 s  load 0: rate 2/s, poisson, 1000 requests\n"));
    life_close(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_loads_in_one_life),   cmocka_unit_test(intended_times_are_the_plans),
        cmocka_unit_test(interrupted_in_a_load),    cmocka_unit_test(engine_dies_in_a_load),
        cmocka_unit_test(loads_that_make_no_sense), cmocka_unit_test(options_are_the_plans_loads),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
