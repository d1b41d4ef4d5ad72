/* `jtok attach` on the simulation: jtok's load on an engine that the test starts, alone and beside users of the test.
 */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/exit.h"
#include "program/site.h"

/* Ends each list of arguments: random prompts, whose vocabulary a simulated model can't tell. */
#define RANDOM                                                                                                         \
    "--input-tokens", "20", "--output-tokens", "50", "--runs", "RUNS", "--set", LIBRARY, "--set",                      \
        "requests.random.vocabulary=32000"

static const struct result *valid_result(struct site *s, int code, size_t points)
{
    if (code != EXIT_OK)
        print_error("%s\n%s\n", s->l.out, s->l.err);
    assert_int_equal(code, EXIT_OK);
    const struct result *x = life_result(&s->l);
    assert_int_equal(x->loads.object, OBJECT_ATTACH);
    assert_int_equal(x->loads.standing, STANDING_VALID);
    assert_int_equal(x->loads.point_count, points);
    return x;
}

/* ---- truth ---- */

/* A window's energy against the simulation's, its tokens against the requests' own counts, and J/token of both. */
static void check_point(const struct site *s, const struct records *r, const struct result_point *p)
{
    const struct quantity *j = &p->window.energy.headline;
    double truth = site_truth_j(s, r, p->window.start_ns, p->window.end_ns);
    int64_t told = 0;
    for (size_t i = 0; i < r->request_count; i++)
        told += r->requests[i].load == p->number ? r->requests[i].completion_tokens : 0;
    print_message("%s: truth %.2f J, counter %.2f +- %.2f J, %.5f +- %.5f J/token\n", p->setting, truth, j->value,
                  j->instrument, p->j_per_token.value, p->j_per_token.instrument);
    assert_true(p->reached && p->window.duration_s >= 10);
    assert_close(j->value, truth, j->instrument);
    assert_true(j->instrument <= 0.005 * j->value);
    assert_int_equal(p->tokens.before + p->tokens.output + p->tokens.after, told);
    assert_close_rel(p->j_per_token.value, j->value / (double)p->tokens.output, 1e-9);
    assert_close(p->j_per_token.value, truth / (double)p->tokens.output, p->j_per_token.instrument);
    assert_true(p->j_per_token.instrument <= 0.005 * p->j_per_token.value);
}

/* A closed and an open loop on an engine of two GPUs. Nobody else is there, and nobody is seen. */
static void two_loads_are_the_simulated_truth(void **state)
{
    (void)state;
    struct site s;
    setenv("JTOK_SIM_GPUS", "3", 1);
    site_open(&s, ARGS("--tensor-parallel-size", "2"));
    int code =
        life_run(&s.l, ARGS("attach", s.url, "--loads", "concurrency=4,rate=20", "--for", "11s", RANDOM), NULL, 90);
    const struct result *x = valid_result(&s, code, 2);
    struct records *r = life_records(&s.l);
    assert_int_equal(r->plan.gpu_count, 2);
    assert_int_equal(r->plan.attach.pid, s.engine);
    assert_false(r->plan.attach.gpus_stated);
    for (size_t i = 0; i < 2; i++) {
        const struct result_point *p = &x->loads.points[i];
        check_point(&s, r, p);
        assert_false(p->others.seen);
        assert_true(quantity_has_value(&p->others.token_share));
        assert_close(p->others.token_share.value, 0, p->others.token_share.instrument);
        assert_close(x->loads.silences[i].others.value, 0, 0);
    }
    const struct result_silence *look = &x->loads.silences[0];
    assert_close(look->duration_s, 2, 1e-9);
    assert_close(look->average_w.value, site_truth_j(&s, r, look->start_ns, look->end_ns) / 2,
                 look->average_w.instrument);
    assert_int_equal(site_status_of(s.port, "/health"), 200);
    assert_int_equal(life_also(&s.l, ARGS("verify", s.l.folder)), EXIT_OK);
    assert_int_equal(life_also(&s.l, ARGS("report", s.l.folder, "--format", "svg")), EXIT_OK);
    assert_non_null(strstr(s.l.out, "</svg>"));
    site_close(&s);
}

/* ---- others ---- */

/* Four users of 60 to 240 tokens beside one of jtok's: some four fifths of all tokens are theirs. */
static void requests_of_others_are_named(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, NULL);
    site_start_users(&s);
    usleep(300000);
    int code = life_run(&s.l, ARGS("attach", s.url, "--concurrency", "1", "--for", "5", RANDOM), NULL, 60);
    const struct result *x = valid_result(&s, code, 1);
    const struct result_point *p = &x->loads.points[0];
    assert_true(p->others.seen);
    assert_close(p->others.token_share.value, 0.8, 0.05);
    assert_close(p->others.requests.value, 4, 0.5);
    assert_int_equal(p->j_per_token.state, Q_EXCLUDED);
    assert_close(x->loads.silences[0].others.value, 4, 0.5);
    assert_non_null(strstr(s.l.out, "of the engine's tokens"));
    assert_non_null(strstr(s.l.out, "before load 0"));
    site_close(&s);
}

/* ---- ends ---- */

/* What was sent by then is measured; the second load does not come. */
static void ctrl_c_ends_it_well(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, NULL);
    life_start(&s.l, ARGS("attach", s.url, "--loads", "concurrency=2,4", "--for", "10m", RANDOM), NULL);
    life_wait_for(&s.l, " s  load 1 of 2", 30);
    usleep(2500000);
    life_signal(&s.l, SIGINT);
    const struct result *x = valid_result(&s, life_wait(&s.l, 30), 2);
    const struct result_point *p = &x->loads.points[0];
    assert_true(p->window.duration_s > 1.5 && p->window.duration_s < 6);
    assert_int_equal(p->requests.all_failed, 0);
    assert_int_equal(p->j_per_token.state, Q_MEASURED);
    assert_false(x->loads.points[1].reached);
    assert_non_null(strstr(x->loads.ended_early, "by its user"));
    assert_non_null(strstr(s.l.err, "The service goes on"));
    assert_non_null(strstr(s.l.out, "ended early"));
    assert_int_equal(site_status_of(s.port, "/health"), 200);
    site_close(&s);
}

/* An open loop, too, sends no request whose time had not come; and answers that take minutes can be cut off. */
static void a_second_ctrl_c_cuts_it_short(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, NULL);
    life_start(&s.l,
               ARGS("attach", s.url, "--rate", "10", "--for", "10m", "--input-tokens", "20", "--output-tokens", "9000",
                    "--runs", "RUNS", "--set", LIBRARY, "--set", "requests.random.vocabulary=32000"),
               NULL);
    life_wait_for(&s.l, " s  load 1 of 1", 30);
    usleep(1500000);
    life_signal(&s.l, SIGINT);
    life_wait_for(&s.l, "what is in flight runs to its end", 5);
    life_signal(&s.l, SIGINT);
    assert_int_equal(life_wait(&s.l, 30), EXIT_INTERRUPTED);
    struct records *r = life_records(&s.l);
    assert_true(r->sealed);
    assert_null(r->damage);
    assert_true(r->request_count > 2);
    for (size_t i = 0; i < r->request_count; i++)
        assert_true(r->requests[i].id == i && r->requests[i].submit_ns != ABSENT_I64);
    assert_int_equal(site_status_of(s.port, "/health"), 200);
    site_close(&s);
}

static void an_engine_that_dies_ends_it(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, NULL);
    life_start(&s.l, ARGS("attach", s.url, "--concurrency", "2", "--for", "10m", RANDOM), NULL);
    life_wait_for(&s.l, " s  load 1 of 1", 30);
    usleep(1000000);
    kill(s.engine, SIGKILL);
    waitpid(s.engine, NULL, 0);
    s.engine = 0;
    assert_int_equal(life_wait(&s.l, 30), EXIT_ENGINE);
    assert_non_null(strstr(s.l.err, "ended in the stage \"load\""));
    struct records *r = life_records(&s.l);
    assert_true(r->sealed);
    assert_true(r->request_count > 2);
    assert_int_equal(life_result(&s.l)->loads.standing, STANDING_EXCLUDED);
    site_close(&s);
}

/* ---- where ---- */

/* By a file of requests, at an address of IPv6 and a Unix socket, on GPUs that are named. */
static void other_addresses(void **state)
{
    (void)state;
    struct site s;
    setenv("JTOK_SIM_GPUS", "2", 1);
    site_open(&s, ARGS("--host", "::"));
    life_file(&s.l, "prompts.jsonl", "{\"prompt\": \"one\"}\n{\"prompt\": \"two\"}\n");
    char url[64], file[256];
    snprintf(url, sizeof url, "[::1]:%d", s.port);
    snprintf(file, sizeof file, "%s/prompts.jsonl", s.l.scratch);
    int code = life_run(&s.l,
                        ARGS("attach", url, "--loads", "burst", "--requests", file, "--output-tokens", "200", "-n", "8",
                             "--gpus", "0", "--runs", "RUNS", "--set", LIBRARY),
                        NULL, 60);
    const struct result *x = valid_result(&s, code, 1);
    struct records *r = life_records(&s.l);
    assert_true(r->plan.attach.gpus_stated);
    assert_int_equal(r->plan.gpu_count, 1);
    assert_int_equal(r->request_count, 8);
    assert_true(quantity_has_value(&x->loads.points[0].j_per_token));
    site_close(&s);
}

/* Nothing is written, and no request is sent. */
static void what_cannot_be_attached_is_told_before(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[10], *said;
        enum exit_code code;
    } cases[] = {
        {{"URL"}, "Say which load to send", EXIT_PLAN},
        {{"URL", "--concurrency", "4", "--for", "5"}, "requests.file: Required", EXIT_PLAN},
        {{"URL", "--for", "5"}, "--concurrency", EXIT_PLAN},
        {{"URL", "--concurrency", "4", "--input-tokens", "9", "--for", "5"}, "vocabulary", EXIT_PLAN},
        {{"URL", "--rate", "4", "--concurrency", "8"}, "names the load already", EXIT_PLAN},
        {{"URL", "--no-load", "--rate", "4"}, "--rate has no meaning", EXIT_PLAN},
        {{"URL", "--no-load", "--for", "soon"}, "is not a time", EXIT_PLAN},
        {{"URL", "--rate", "4", "--set", "engine.kind=vllm"}, "no meaning here", EXIT_PLAN},
        {{"URL", "--rate", "4", "--set", "method.hold_s=1"}, "no meaning here", EXIT_PLAN},
        {{"http://192.0.2.1:8000", "--rate", "4", "-r", "FILE"}, "not an address of this machine", EXIT_REFUSED},
        {{"https://localhost:8000", "--rate", "4", "-r", "FILE"}, "is encrypted", EXIT_REFUSED},
        {{"http://localhost:8000/chat", "--rate", "4", "-r", "FILE"}, "is not the address", EXIT_PLAN},
        {{"http://127.0.0.1:1", "--rate", "4", "-r", "FILE"}, "Start the service first", EXIT_ENGINE},
        {{"unix:/nowhere/socket", "--rate", "4", "-r", "FILE"}, "Start the service first", EXIT_ENGINE},
        {{"URL", "--rate", "4", "-r", "/nowhere/file"}, "/nowhere/file", EXIT_PLAN},
    };
    struct site s;
    site_open(&s, NULL);
    life_file(&s.l, "file", "{\"prompt\": \"one\"}\n");
    char file[256];
    snprintf(file, sizeof file, "%s/file", s.l.scratch);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *arguments[16] = {"attach"};
        size_t n = 1;
        for (int k = 0; k < 10 && cases[i].arguments[k]; k++) {
            const char *word = cases[i].arguments[k];
            arguments[n++] = strcmp(word, "URL") == 0 ? s.url : strcmp(word, "FILE") == 0 ? file : word;
        }
        arguments[n++] = "--set";
        arguments[n++] = LIBRARY;
        int code = life_run(&s.l, arguments, NULL, 30);
        if (code != (int)cases[i].code || !strstr(s.l.err, cases[i].said))
            fail_msg("case %zu: exit %d, %s", i, code, s.l.err);
    }
    assert_int_equal(access(s.l.runs, F_OK), -1);
    /* A server that holds no memory on the GPUs that jtok sees: each site has GPUs of its own. */
    struct site other;
    site_open(&other, NULL);
    assert_int_equal(life_run(&s.l, ARGS("attach", other.url, "--rate", "4", "--for", "3", RANDOM), NULL, 30),
                     EXIT_DEVICE);
    assert_non_null(strstr(s.l.err, "are on a GPU that can be seen from here"));
    site_close(&other);
    site_close(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_loads_are_the_simulated_truth),
        cmocka_unit_test(requests_of_others_are_named),
        cmocka_unit_test(ctrl_c_ends_it_well),
        cmocka_unit_test(a_second_ctrl_c_cuts_it_short),
        cmocka_unit_test(an_engine_that_dies_ends_it),
        cmocka_unit_test(other_addresses),
        cmocka_unit_test(what_cannot_be_attached_is_told_before),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
