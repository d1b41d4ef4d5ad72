/* Loads against a server of made answers: what comes back belongs to the load that asked. And the formal stage with a
 * list of two loads, one behind the other. */
#include "answer_server.h"
#include "fake_device.h"
#include "made.h"
#include "run/load.h"
#include "run/stages.h"

struct sent {
    struct made d;
    struct answer_server server;
    _Atomic(const char *) says;
    char bodies[16][600]; /* of the requests, in the order in which they came */
    struct plan plan;
    struct request_set set;
    struct request_row rows[2];
    int64_t max_tokens[2];
    struct load_site site;
};

static const char *answer(struct answer_server *s, const char *request)
{
    struct sent *c = s->self;
    const char *body = strstr(request, "\r\n\r\n");
    snprintf(c->bodies[(s->asked - 1) % 16], sizeof c->bodies[0], "%s", body ? body + 4 : "");
    return c->says;
}

static void open_sent(struct sent *c)
{
    memset(c, 0, sizeof *c);
    c->says = ANSWER_TWO_TOKENS;
    answer_server_start(&c->server, answer, c);
    made_open(&c->d);
    made_begin(&c->d);
    plan_defaults(&c->plan);
    c->plan.engine.kind = ENGINE_VLLM;
    c->plan.engine.host = "127.0.0.1";
    c->plan.engine.port = c->server.port;
    c->plan.engine.served_model = "tiny";
    c->rows[0].prompt = span_of("\"The first prompt\"");
    c->rows[1].prompt = span_of("\"The second prompt\"");
    c->max_tokens[0] = c->max_tokens[1] = 2;
    c->set = (struct request_set){.rows = c->rows, .row_count = 2, .count = 2, .max_tokens = c->max_tokens};
    c->site = (struct load_site){.machine = &c->d.machine, .plan = &c->plan, .set = &c->set};
}

static void close_sent(struct sent *c)
{
    answer_server_stop(&c->server);
    made_close(&c->d);
}

static bool is_closed(void *self)
{
    const struct load *l = self;
    return l->closed;
}

static void send_all(struct sent *c, struct load *l)
{
    struct err e;
    assert_ok(load_open(l, NULL, &e), e);
    assert_true(load_submit(l));
    assert_true(stage_wait(&c->d.machine, is_closed, l, stage_now_ns(&c->d.machine) + 30 * SECOND_NS));
}

/* ---- one load ---- */

static void own_requests_are_plain(void **state)
{
    (void)state;
    struct sent c;
    open_sent(&c);
    struct load l = {0};
    load_make(&l, &c.site, REQUEST_WARMUP, 2);
    send_all(&c, &l);
    assert_int_equal(l.succeeded, 2);
    assert_int_equal(l.failed, 0);
    assert_true(l.connected || l.ended);
    assert_true(l.start_ns != ABSENT_I64 && l.end_ns >= l.start_ns);
    assert_int_equal(load_progress(&l).tokens, 4);
    assert_string_equal(load_fingerprint(&l), "fp-1");
    assert_int_equal(c.d.requests[REQUEST_WARMUP], 2);
    assert_int_equal(c.d.chunks, 0); /* of formal requests only */
    assert_non_null(strstr(c.bodies[0], "\"max_tokens\":64"));
    load_close(&l);
    assert_int_equal(load_progress(&l).total, 0);
    assert_int_equal(l.succeeded, 2); /* counts stay */
    load_close(&l);
    load_make(&l, &c.site, REQUEST_READY, 1); /* and it can be made anew */
    assert_int_equal(l.succeeded, 0);
    load_close(&l);
    close_sent(&c);
}

static void formal_requests_are_the_sets(void **state)
{
    (void)state;
    struct sent c;
    open_sent(&c);
    struct load l = {0};
    load_make(&l, &c.site, REQUEST_FORMAL, 2);
    assert_true(load_is_connected(&(struct load){.site = &c.site, .stage = REQUEST_WARMUP}));
    assert_false(load_is_connected(&l)); /* the plan connects ahead */
    c.plan.requests.connect = CONNECT_WITH_REQUEST;
    assert_true(load_is_connected(&l));
    send_all(&c, &l);
    assert_int_equal(c.d.requests[REQUEST_FORMAL], 2);
    assert_true(c.d.chunks >= 4);
    bool first = strstr(c.bodies[0], "The first prompt") || strstr(c.bodies[1], "The first prompt");
    bool second = strstr(c.bodies[0], "The second prompt") || strstr(c.bodies[1], "The second prompt");
    assert_true(first && second);
    load_close(&l);
    close_sent(&c);
}

static void the_first_failure_is_kept(void **state)
{
    (void)state;
    struct sent c;
    open_sent(&c);
    c.says = "HTTP/1.1 503 Busy\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo busy!";
    struct load l = {0};
    load_make(&l, &c.site, REQUEST_WARMUP, 2);
    send_all(&c, &l);
    assert_int_equal(l.succeeded, 0);
    assert_int_equal(l.failed, 2);
    assert_int_equal(l.first_failure.verdict, VERDICT_HTTP_STATUS);
    load_close(&l);
    assert_true(!l.first_failure.detail || strlen(l.first_failure.detail) > 0); /* still there */
    close_sent(&c);
}

/* Two at once: each counts its own. */
static void two_loads_do_not_meet(void **state)
{
    (void)state;
    struct sent c;
    struct err e;
    open_sent(&c);
    struct load one = {0}, other = {0};
    load_make(&one, &c.site, REQUEST_WARMUP, 2);
    load_make(&other, &c.site, REQUEST_FORMAL, 1);
    assert_ok(load_open(&one, NULL, &e), e);
    assert_ok(load_open(&other, NULL, &e), e);
    c.plan.requests.connect = CONNECT_WITH_REQUEST;
    assert_true(load_submit(&one));
    assert_true(stage_wait(&c.d.machine, is_closed, &one, stage_now_ns(&c.d.machine) + 30 * SECOND_NS));
    assert_false(other.ended || other.closed);
    assert_int_equal(other.succeeded + other.failed, 0);
    load_cancel(&other);
    assert_true(stage_wait(&c.d.machine, is_closed, &other, stage_now_ns(&c.d.machine) + 30 * SECOND_NS));
    assert_int_equal(one.succeeded, 2);
    assert_int_equal(other.failed, 1);
    assert_int_equal(other.first_failure.verdict, VERDICT_CANCELLED);
    load_close(&one);
    load_close(&other);
    close_sent(&c);
}

/* What is open when a load is closed is recorded then, as cancelled. */
static void closing_records_what_is_open(void **state)
{
    (void)state;
    struct sent c;
    struct err e;
    open_sent(&c);
    struct load l = {0};
    load_make(&l, &c.site, REQUEST_FORMAL, 2);
    assert_ok(load_open(&l, NULL, &e), e);
    load_connect(&l);
    load_close(&l);
    assert_int_equal(l.failed, 2);
    assert_int_equal(c.d.requests[REQUEST_FORMAL], 2);
    load_close(&(struct load){0});
    close_sent(&c);
}

/* ---- the formal stage ---- */

static const uint32_t places[] = {0};

static void a_list_is_sent_one_behind_the_other(void **state)
{
    (void)state;
    struct sent c;
    struct err e;
    open_sent(&c);
    c.plan.requests.connect = CONNECT_WITH_REQUEST;
    struct fake_device device;
    fake_device_init(&device);
    struct observer v;
    struct observer_options o = {
        .device = &device.device, .gpus = places, .gpu_count = 1, .grid_ns = 20 * MS, .hold_ns = SECOND_NS};
    assert_ok(observer_open(&v, &c.d.machine, &o, &e), e);
    struct service service = {.machine = &c.d.machine, .plan = &c.plan, .gone_ns = ABSENT_I64};
    struct ask ask;
    struct scrape scrape;
    ask_open(&ask, &c.d.machine, &c.plan.engine, NULL);
    scrape_open(&scrape, &ask, &c.plan);
    struct load loads[2] = {0};
    struct load_list list = {loads, 2};
    assert_int_equal(load_list_start_ns(&(struct load_list){0}), ABSENT_I64);
    for (int i = 0; i < 2; i++) {
        load_make(&loads[i], &c.site, REQUEST_FORMAL, (size_t)i + 1);
        assert_ok(load_open(&loads[i], NULL, &e), e);
    }
    assert_int_equal(load_list_progress(&list).total, 3);
    assert_int_equal(load_list_end_ns(&list), ABSENT_I64);
    struct rec_client client = {0};
    assert_true(stage_formal(&c.d.machine, &service, &v, &scrape, &list, &client));
    assert_int_equal(c.d.machine.stage, RUN_FORMAL);
    assert_int_equal(load_list_progress(&list).succeeded, 3);
    assert_true(loads[0].end_ns <= loads[1].start_ns);
    assert_int_equal(made_boundary_ns(&c.d, BOUNDARY_FORMAL_START), loads[0].start_ns);
    assert_int_equal(made_boundary_ns(&c.d, BOUNDARY_FORMAL_END), loads[1].end_ns);
    assert_true(v.release_on); /* watched from the last end on */
    assert_int_equal(v.release_from_ns, loads[1].end_ns);
    assert_string_equal(service.identity.fingerprint, "fp-1");
    struct rec_client first = client_read(loads[0].client), second = client_read(loads[1].client);
    assert_int_equal(client.wall_ns, first.wall_ns + second.wall_ns);
    assert_int_equal(client.events, first.events + second.events);
    assert_int_equal(client.lag_max_ns, first.lag_max_ns > second.lag_max_ns ? first.lag_max_ns : second.lag_max_ns);
    assert_true(first.wall_ns > 0 && second.events >= 4);
    assert_int_equal(load_list_condition(&(struct load_list){loads, 1}).wall_ns, first.wall_ns);
    load_list_close(&list);
    assert_int_equal(load_list_answered(&list), 3);
    scrape_close(&scrape);
    observer_done(&v);
    close_sent(&c);
}

/* Nobody listens: no request can be sent, which fails the run before the stage has begun. */
static void no_connection_is_a_failure(void **state)
{
    (void)state;
    struct sent c;
    struct err e;
    open_sent(&c);
    answer_server_stop(&c.server);
    struct fake_device device;
    fake_device_init(&device);
    struct observer v;
    struct observer_options o = {
        .device = &device.device, .gpus = places, .gpu_count = 1, .grid_ns = 20 * MS, .hold_ns = SECOND_NS};
    assert_ok(observer_open(&v, &c.d.machine, &o, &e), e);
    struct load l = {0};
    struct load_list list = {&l, 1};
    load_make(&l, &c.site, REQUEST_FORMAL, 2);
    assert_ok(load_open(&l, NULL, &e), e);
    load_connect(&l);
    while (!load_list_is_connected(&list)) /* every connection has failed by then */
        made_run(&c.d, MS);
    struct service service = {.machine = &c.d.machine, .plan = &c.plan, .gone_ns = ABSENT_I64};
    struct scrape scrape = {0};
    struct rec_client client = {0};
    assert_false(stage_formal(&c.d.machine, &service, &v, &scrape, &list, &client));
    assert_non_null(strstr(c.d.machine.failure.text, "None of the 2 connections to 127.0.0.1:"));
    assert_int_equal(c.d.machine.stage, RUN_PREPARE);
    assert_int_equal(client.wall_ns, 0);
    load_close(&l);
    observer_done(&v);
    answer_server_start(&c.server, answer, &c);
    close_sent(&c);
}

/* A kernel's stamp from before a step of the clock may end a load before its start: analysis judges that, the run goes
 * on. */
static void a_list_may_end_before_its_start(void **state)
{
    (void)state;
    struct load loads[] = {{.ended = true, .start_ns = 5000, .end_ns = 1000}, {.start_ns = ABSENT_I64}};
    assert_int_equal(load_list_end_ns(&(struct load_list){loads, 1}), 1000);
    assert_int_equal(load_list_end_ns(&(struct load_list){loads, 2}), ABSENT_I64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_requests_are_plain),       cmocka_unit_test(formal_requests_are_the_sets),
        cmocka_unit_test(the_first_failure_is_kept),    cmocka_unit_test(two_loads_do_not_meet),
        cmocka_unit_test(closing_records_what_is_open), cmocka_unit_test(a_list_is_sent_one_behind_the_other),
        cmocka_unit_test(no_connection_is_a_failure),   cmocka_unit_test(a_list_may_end_before_its_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
