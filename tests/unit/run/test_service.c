/* A scripted child in the engine's place: what of its output is kept, how its end is told, and that nothing of it is
 * left. */
#include "answer_server.h"
#include "made.h"
#include "run/service.h"

struct served {
    struct made d;
    char folder[64];
    struct plan plan;
    const char *words[4];
    struct engine_site site;
    struct secrets secrets;
    struct service s;
};

extern char **environ;

static const struct field_pair sees[] = {{"SEES", "GPU-aaaa"}};

/* The engine is a shell that runs this script. */
static void open_served(struct served *c, const char *script)
{
    struct err e;
    memset(c, 0, sizeof *c);
    snprintf(c->folder, sizeof c->folder, "/tmp/jtok-service-XXXXXX");
    assert_non_null(mkdtemp(c->folder));
    made_open(&c->d);
    assert_ok(service_open(&c->s, &c->d.machine, &e), e);
    made_begin(&c->d);
    plan_defaults(&c->plan);
    c->plan.engine.kind = ENGINE_OPENAI;
    c->plan.engine.host = "127.0.0.1";
    c->plan.engine.port = 1;
    c->plan.engine.served_model = c->plan.model.id = "tiny";
    c->words[0] = "sh";
    c->words[1] = "-c";
    c->words[2] = script;
    c->plan.engine.command = c->words;
    c->plan.engine.command_count = 3;
    c->plan.limits.stop_s = 0.2;
    c->site = (struct engine_site){
        .environment = (const char *const *)environ, .gpu_variables = sees, .gpu_variable_count = 1};
    secrets_add(&c->secrets, "API_KEY", span_of("sesame-open"));
    service_plan(&c->s, &c->plan, &c->site, &c->secrets);
}

static void start(struct served *c)
{
    struct err e;
    assert_false(service_is_started(&c->s));
    assert_ok(service_prepare(&c->s, c->folder, &e), e);
    assert_ok(service_start(&c->s, &e), e);
    assert_true(service_is_started(&c->s));
}

static void close_served(struct served *c)
{
    char command[100];
    service_close(&c->s);
    secrets_done(&c->secrets);
    made_close(&c->d);
    snprintf(command, sizeof command, "rm -r %s", c->folder);
    assert_int_equal(system(command), 0);
}

static bool is_gone(void *self)
{
    return service_is_gone(self);
}

/* Without the machine's failures: the end of the process is what is waited for. */
static void wait_gone(struct served *c)
{
    assert_true(stage_wait_deaf(&c->d.machine, is_gone, &c->s, stage_now_ns(&c->d.machine) + 30 * SECOND_NS));
}

/* ---- output ---- */

static void output_is_recorded_and_its_end_kept(void **state)
{
    (void)state;
    struct served c;
    open_served(&c, "echo the key is sesame-open; echo wrong >&2; i=0; while [ $i -lt 25 ]; do echo line $i; "
                    "i=$((i+1)); done");
    stage_leave(&c.d.machine); /* its end is expected */
    assert_string_equal(service_log_tail(&c.s), "It wrote nothing.");
    start(&c);
    wait_gone(&c);
    assert_non_null(strstr(buf_text(&c.d.log), "o the key is sesame-open\n")); /* the recorder masks by itself */
    assert_non_null(strstr(buf_text(&c.d.log), "e wrong\n"));
    assert_non_null(strstr(buf_text(&c.d.log), "o line 24\n"));
    assert_true(c.d.log_first_ns >= 0 && c.d.log_first_ns < 30 * SECOND_NS); /* run time */
    const char *tail = service_log_tail(&c.s);
    assert_non_null(strstr(tail, "\n  line 24"));
    assert_null(strstr(tail, "line 4\n")); /* the last 20 lines, 5 to 24, but for where stderr's came */
    assert_null(strstr(tail, "sesame"));
    assert_int_equal(c.d.machine.failure.kind, ERR_NONE);
    assert_int_equal(c.s.exit_status, 0);
    close_served(&c);
}

static void secrets_and_controls_stay_out_of_the_tail(void **state)
{
    (void)state;
    struct served c;
    open_served(&c, "printf 'key sesame-open \\033[31mred\\n'; printf '%0500d\\n' 7");
    stage_leave(&c.d.machine);
    start(&c);
    wait_gone(&c);
    const char *tail = service_log_tail(&c.s);
    assert_non_null(strstr(tail, "key [secret:API_KEY]"));
    assert_null(strchr(tail, '\033'));
    assert_true(strlen(tail) < 600); /* the long line is cut */
    close_served(&c);
}

static void steps_of_the_start_are_facts(void **state)
{
    (void)state;
    struct served c;
    open_served(&c, "echo 'INFO: Application startup complete.'; echo 'INFO: Application startup complete.'");
    c.plan.engine.kind = ENGINE_VLLM;
    stage_leave(&c.d.machine);
    start(&c);
    wait_gone(&c);
    int serving = made_find(&c.d, milestone_names[MILESTONE_SERVING], 0);
    assert_true(serving >= 0);
    assert_string_equal(c.d.facts[serving].seen, "INFO: Application startup complete.");
    assert_int_equal(made_find(&c.d, milestone_names[MILESTONE_SERVING], 1), -1); /* the first one counts */
    assert_non_null(strstr(c.s.note, "Application startup complete"));
    close_served(&c);
}

/* ---- its end ---- */

static void an_engine_that_ends_by_itself_fails_the_run(void **state)
{
    (void)state;
    struct served c;
    open_served(&c, "echo no weights here; exit 3");
    start(&c);
    stage_enter(&c.d.machine, RUN_START);
    assert_false(stage_wait(&c.d.machine, made_never, NULL, 30 * SECOND_NS));
    const char *text = c.d.machine.failure.text;
    assert_int_equal(c.d.machine.failure.kind, ERR_ENGINE);
    assert_non_null(strstr(text, "exit status 3"));
    assert_non_null(strstr(text, "\"start\""));
    assert_non_null(strstr(text, "no weights here"));
    assert_int_equal(c.s.exit_status, 3);
    wait_gone(&c);
    made_boundary_ns(&c.d, BOUNDARY_FAILED);
    close_served(&c);
}

static void a_signal_is_told_as_one(void **state)
{
    (void)state;
    struct served c;
    open_served(&c, "kill -9 $$");
    start(&c);
    assert_false(stage_wait(&c.d.machine, made_never, NULL, 30 * SECOND_NS));
    assert_non_null(strstr(c.d.machine.failure.text, "signal 9"));
    assert_int_equal(c.s.exit_status, 128 + 9);
    close_served(&c);
}

static void it_is_stopped_with_all_that_it_started(void **state)
{
    (void)state;
    struct served c;
    open_served(&c, "sleep 300 & setsid sleep 300 & echo there; wait");
    start(&c);
    made_run(&c.d, 100 * MS);
    service_note_tree(&c.s);
    assert_non_null(strstr(buf_text(&c.d.log), "j process tree: pid "));
    stage_leave(&c.d.machine);
    int64_t from = stage_now_ns(&c.d.machine);
    stage_interrupt(&c.d.machine);
    stage_interrupt(&c.d.machine); /* no patience: SIGKILL now, not after the group's ten seconds */
    assert_true(service_stop(&c.s));
    assert_true(service_is_gone(&c.s));
    assert_true(c.s.gone_ns >= from && c.s.gone_ns < from + 9 * SECOND_NS);
    assert_int_equal(c.d.machine.failure.kind, ERR_NONE);
    close_served(&c);
}

static void a_quiet_end_takes_no_signal_but_sigterm(void **state)
{
    (void)state;
    struct served c;
    open_served(&c, "trap 'echo bye; exit 0' TERM; echo there; while :; do sleep 0.01; done");
    c.plan.limits.stop_s = 20;
    start(&c);
    while (c.d.log.n == 0)
        made_run(&c.d, 10 * MS);
    stage_leave(&c.d.machine);
    assert_true(service_stop(&c.s));
    assert_int_equal(c.s.exit_status, 0);
    assert_non_null(strstr(buf_text(&c.d.log), "o bye\n"));
    close_served(&c);
}

/* The records are closed, and a process that could not be ended still writes: nothing is touched any more. */
static void output_behind_the_end_goes_nowhere(void **state)
{
    (void)state;
    struct served c;
    open_served(&c, "while :; do echo more; sleep 0.01; done");
    start(&c);
    while (c.d.log.n == 0)
        made_run(&c.d, 10 * MS);
    stage_leave(&c.d.machine);
    stage_finish(&c.d.machine);
    size_t n = c.d.log.n;
    made_run(&c.d, 100 * MS);
    assert_int_equal(c.d.log.n, n);
    close_served(&c); /* kills it */
    assert_int_equal(c.s.child == NULL, true);
}

static void a_command_that_is_none(void **state)
{
    (void)state;
    struct served c;
    struct err e;
    open_served(&c, "");
    c.words[0] = "jtok-no-such-engine";
    assert_ok(service_prepare(&c.s, c.folder, &e), e);
    assert_false(service_start(&c.s, &e));
    assert_non_null(strstr(e.text, "jtok-no-such-engine"));
    assert_false(service_is_started(&c.s));
    assert_false(service_prepare(&c.s, c.folder, &e)); /* the engine's folders are there already */
    close_served(&c);
}

/* ---- what it says ---- */

static const char *say_by_turn(struct answer_server *s, const char *request)
{
    if (strncmp(request, "GET /v1/models ", 15) == 0)
        return "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
               "{\"object\":\"list\",\"data\":[{\"id\":\"tiny\"}]}";
    if (s->asked == 1)
        return "HTTP/1.1 503 Not Yet\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

static const char *say_404(struct answer_server *s, const char *request)
{
    (void)s, (void)request;
    return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

static void readiness_is_asked_for_until_it_comes(void **state)
{
    (void)state;
    struct served c;
    struct answer_server server;
    struct ask ask;
    open_served(&c, "sleep 300");
    answer_server_start(&server, say_by_turn, NULL);
    c.plan.engine.port = server.port;
    ask_open(&ask, &c.d.machine, &c.plan.engine, NULL);
    int64_t from = stage_now_ns(&c.d.machine);
    assert_true(service_wait_ready(&c.s, &ask));
    assert_int_equal(server.asked, 2);
    assert_true(stage_now_ns(&c.d.machine) - from >= ENGINE_POLL_NS); /* METHOD: no faster */
    assert_true(service_identify(&c.s, &ask));
    assert_string_equal(c.s.identity.model, "tiny");
    int model = made_find(&c.d, "identity.model", 0);
    assert_true(model >= 0);
    assert_int_equal(c.d.facts[model].outcome, CHECK_PASSED);
    c.plan.engine.served_model = "another";
    assert_false(service_identify(&c.s, &ask));
    assert_int_equal(c.d.machine.failure.kind, ERR_ENGINE);
    ask_close(&ask);
    answer_server_stop(&server);
    close_served(&c);
}

static void a_wrong_path_is_told_at_once(void **state)
{
    (void)state;
    struct served c;
    struct answer_server server;
    struct ask ask;
    open_served(&c, "sleep 300");
    answer_server_start(&server, say_404, NULL);
    c.plan.engine.port = server.port;
    ask_open(&ask, &c.d.machine, &c.plan.engine, NULL);
    assert_false(service_wait_ready(&c.s, &ask));
    assert_int_equal(server.asked, 1);
    assert_non_null(strstr(c.d.machine.failure.text, "404"));
    answer_server_stop(&server);
    close_served(&c);
}

/* Nobody listens, and the time is over. */
static void an_engine_that_never_gets_ready(void **state)
{
    (void)state;
    struct served c;
    struct ask ask;
    open_served(&c, "sleep 300");
    c.plan.limits.ready_s = 0;
    ask_open(&ask, &c.d.machine, &c.plan.engine, NULL);
    assert_false(service_wait_ready(&c.s, &ask));
    assert_non_null(strstr(c.d.machine.failure.text, "limits.ready_s"));
    assert_non_null(strstr(c.d.machine.failure.text, "It wrote nothing."));
    close_served(&c);
}

static void the_first_fingerprint_counts(void **state)
{
    (void)state;
    struct served c;
    open_served(&c, "");
    service_take_fingerprint(&c.s, NULL);
    assert_null(c.s.identity.fingerprint);
    service_take_fingerprint(&c.s, "fp-1");
    service_take_fingerprint(&c.s, "fp-2");
    assert_string_equal(c.s.identity.fingerprint, "fp-1");
    close_served(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_is_recorded_and_its_end_kept),
        cmocka_unit_test(secrets_and_controls_stay_out_of_the_tail),
        cmocka_unit_test(steps_of_the_start_are_facts),
        cmocka_unit_test(an_engine_that_ends_by_itself_fails_the_run),
        cmocka_unit_test(a_signal_is_told_as_one),
        cmocka_unit_test(it_is_stopped_with_all_that_it_started),
        cmocka_unit_test(a_quiet_end_takes_no_signal_but_sigterm),
        cmocka_unit_test(output_behind_the_end_goes_nowhere),
        cmocka_unit_test(a_command_that_is_none),
        cmocka_unit_test(readiness_is_asked_for_until_it_comes),
        cmocka_unit_test(a_wrong_path_is_told_at_once),
        cmocka_unit_test(an_engine_that_never_gets_ready),
        cmocka_unit_test(the_first_fingerprint_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
