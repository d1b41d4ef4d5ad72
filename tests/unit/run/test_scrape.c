/* Questions and scrapes against a server of made answers: what is recorded of them, and what the counts say. */
#include "answer_server.h"
#include "made.h"
#include "run/scrape.h"

/* What the server says, by path; changed by the test between questions. */
struct script {
    _Atomic(const char *) metrics, health;
    _Atomic bool key_seen;
};

struct scraped {
    struct made d;
    struct script script;
    struct answer_server server;
    struct plan plan;
    struct ask ask;
    struct scrape s;
};

#define TEXT_ANSWER(text) "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" text
#define COUNTS(tokens, requests)                                                                                       \
    TEXT_ANSWER("vllm:generation_tokens_total " #tokens "\nvllm:request_success_total " #requests "\n")

static const char *answer(struct answer_server *s, const char *request)
{
    struct script *script = s->self;
    if (strstr(request, "Authorization: Bearer sesame\r\n"))
        script->key_seen = true;
    return strncmp(request, "GET /metrics ", 13) == 0 ? script->metrics : script->health;
}

static void open_scraped(struct scraped *c, const char *metrics, const char *key)
{
    memset(c, 0, sizeof *c);
    c->script.metrics = metrics;
    c->script.health = TEXT_ANSWER("well");
    answer_server_start(&c->server, answer, &c->script);
    made_open(&c->d);
    made_begin(&c->d);
    plan_defaults(&c->plan);
    c->plan.engine.kind = ENGINE_VLLM;
    c->plan.engine.host = "127.0.0.1";
    c->plan.engine.port = c->server.port;
    ask_open(&c->ask, &c->d.machine, &c->plan.engine, key);
    scrape_open(&c->s, &c->ask, &c->plan);
}

static void close_scraped(struct scraped *c)
{
    scrape_close(&c->s);
    ask_close(&c->ask);
    answer_server_stop(&c->server);
    made_close(&c->d);
}

static bool has_counted(void *self)
{
    const struct scrape *s = self;
    return s->counted;
}

/* Scrapes anew, and waits for the first answer. */
static void scrape_anew(struct scraped *c)
{
    scrape_start(&c->s, 60 * SECOND_NS);
    assert_true(stage_wait(&c->d.machine, has_counted, &c->s, stage_now_ns(&c->d.machine) + 20 * SECOND_NS));
}

/* ---- questions ---- */

static void an_answer_is_the_callers(void **state)
{
    (void)state;
    struct scraped c;
    open_scraped(&c, COUNTS(0, 0), "sesame");
    struct answer first = {0}, second = {0};
    assert_null(ask_address(&c.ask));
    assert_true(ask_wait(&c.ask, "/health", SECOND_NS, &first));
    c.script.health = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy";
    assert_true(ask_wait(&c.ask, "/health", SECOND_NS, &second));
    assert_int_equal(answer_status(&first), 200);
    assert_true(span_is(buf_span(&first.body), "well")); /* still there, behind the next answer */
    assert_int_equal(answer_status(&second), 503);
    assert_true(span_is(buf_span(&second.body), "busy"));
    assert_true(first.get.sent_ns <= first.get.done_ns && first.get.done_ns <= second.get.sent_ns);
    assert_true(c.script.key_seen);
    assert_non_null(strstr(ask_address(&c.ask)->text, "127.0.0.1"));
    buf_done(&first.body);
    buf_done(&second.body);
    close_scraped(&c);
}

static void no_answer_is_an_answer(void **state)
{
    (void)state;
    struct scraped c;
    open_scraped(&c, COUNTS(0, 0), NULL);
    answer_server_stop(&c.server); /* nobody listens there */
    struct answer a = {0};
    assert_true(ask_wait(&c.ask, "/health", SECOND_NS, &a));
    assert_int_equal(a.get.outcome, HTTP_GET_REFUSED);
    assert_int_equal(answer_status(&a), 0);
    assert_non_null(a.get.detail);
    buf_done(&a.body);
    answer_server_start(&c.server, answer, &c.script);
    close_scraped(&c);
}

static void an_interrupt_ends_the_waiting(void **state)
{
    (void)state;
    struct scraped c;
    open_scraped(&c, COUNTS(0, 0), NULL);
    stage_interrupt(&c.d.machine);
    struct answer a = {0};
    assert_false(ask_wait(&c.ask, "/health", SECOND_NS, &a));
    assert_null(c.ask.pending);
    buf_done(&a.body);
    close_scraped(&c);
}

/* ---- scrapes ---- */

static void each_answer_is_recorded(void **state)
{
    (void)state;
    struct scraped c;
    open_scraped(&c, COUNTS(120, 3), NULL);
    assert_true(scrape_once(&c.s));
    assert_int_equal(c.d.scrapes, 1);
    assert_close(c.d.scrape.generation_tokens, 120, 0);
    assert_close(c.s.count.tokens, 120, 0);
    assert_close(c.s.count.requests, 3, 0);
    assert_true(c.d.scrape.t_ns >= 0 && c.d.scrape.took_ns > 0);
    scrape_start(&c.s, 5 * MS);
    made_run(&c.d, 100 * MS);
    scrape_stop(&c.s);
    size_t many = c.d.scrapes;
    assert_true(many >= 2 && many <= 22); /* 1, then at once and each 5 ms for 100 ms, as far as the machine kept up */
    assert_int_equal(c.s.tries, many - 1);
    made_run(&c.d, 20 * MS);
    assert_int_equal(c.d.scrapes, many);
    close_scraped(&c);
}

static void an_engine_without_metrics_is_never_asked(void **state)
{
    (void)state;
    struct scraped c;
    open_scraped(&c, COUNTS(1, 1), NULL);
    c.plan.engine.metrics_path = "";
    scrape_open(&c.s, &c.ask, &c.plan);
    assert_true(scrape_once(&c.s));
    scrape_start(&c.s, 5 * MS);
    made_run(&c.d, 20 * MS);
    assert_int_equal(c.server.asked, 0);
    assert_true(scrape_has_no_count(&c.s));
    assert_true(scrape_is_caught_up(&c.s)); /* there is nothing to wait for */
    close_scraped(&c);
}

static void a_lack_is_told_once(void **state)
{
    (void)state;
    struct scraped c;
    open_scraped(&c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", NULL);
    assert_true(scrape_once(&c.s));
    assert_true(scrape_once(&c.s));
    assert_true(made_find(&c.d, "metrics.answer", 0) >= 0);
    assert_int_equal(made_find(&c.d, "metrics.answer", 1), -1);
    c.script.metrics = "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert_true(scrape_once(&c.s));
    assert_true(made_find(&c.d, "metrics.answer", 1) >= 0); /* another status is news */
    assert_int_equal(c.d.scrapes, 3);
    scrape_start(&c.s, SECOND_NS);
    assert_true(scrape_has_no_count(&c.s)); /* it answers, and has none */
    close_scraped(&c);
}

/* ---- counts ---- */

static bool is_caught_up(void *self)
{
    return scrape_is_caught_up(self);
}

/* An engine that had generated 10 tokens of its own before the first request, and 64 for two requests of the warm-up:
 * 74 tokens are where its count has caught up. */
static void open_known(struct scraped *c)
{
    open_scraped(c, COUNTS(10, 0), NULL);
    assert_true(scrape_once(&c->s));
    scrape_note_own(&c->s);
    scrape_take_told(&c->s, &(struct client_progress){.succeeded = 2, .tokens = 64});
}

static void the_count_catches_up(void **state)
{
    (void)state;
    struct scraped c;
    open_known(&c);
    c.script.metrics = COUNTS(73, 2);
    scrape_anew(&c);
    assert_false(scrape_is_caught_up(&c.s));
    c.script.metrics = COUNTS(74, 2);
    scrape_start(&c.s, SECOND_NS);
    assert_true(stage_wait(&c.d.machine, is_caught_up, &c.s, 5 * SECOND_NS));
    assert_int_equal(c.s.tries, 1);
    scrape_note_before(&c.s);
    assert_close(c.s.before.tokens, 74, 0);
    close_scraped(&c);
}

/* A count that never comes is given up after five tries; then what is known counts: 10 + 64 tokens, 0 + 2 requests. */
static void the_count_is_not_waited_for_for_long(void **state)
{
    (void)state;
    struct scraped c;
    open_known(&c);
    scrape_start(&c.s, 2 * MS);
    assert_true(stage_wait(&c.d.machine, is_caught_up, &c.s, 5 * SECOND_NS));
    assert_int_equal(c.s.tries, 5);
    scrape_note_before(&c.s);
    assert_close(c.s.before.tokens, 74, 0);
    assert_close(c.s.before.requests, 2, 0);
    close_scraped(&c);
}

static void the_count_settles_when_it_agrees(void **state)
{
    (void)state;
    struct scraped c;
    struct usage_own none = {ABSENT_I64, ABSENT_I64};
    struct client_progress told = {.succeeded = 3, .tokens = 300};
    open_scraped(&c, COUNTS(74, 2), NULL);
    scrape_anew(&c);
    scrape_note_before(&c.s); /* 74 */
    assert_false(scrape_is_settled(&c.s, &told, none));
    scrape_start(&c.s, SECOND_NS);
    assert_false(scrape_is_settled(&c.s, &told, none)); /* what was asked for before is too old to say so */
    c.script.metrics = COUNTS(373, 5);
    scrape_anew(&c);
    assert_false(scrape_is_settled(&c.s, &told, none)); /* 299 of 300 */
    c.script.metrics = COUNTS(374, 5);
    scrape_anew(&c);
    assert_true(scrape_is_settled(&c.s, &told, none));
    told.failed = 1;
    told.tokens = 1000; /* a request that failed may have left any number */
    assert_true(scrape_is_settled(&c.s, &told, none));
    close_scraped(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_the_callers),
        cmocka_unit_test(no_answer_is_an_answer),
        cmocka_unit_test(an_interrupt_ends_the_waiting),
        cmocka_unit_test(each_answer_is_recorded),
        cmocka_unit_test(an_engine_without_metrics_is_never_asked),
        cmocka_unit_test(a_lack_is_told_once),
        cmocka_unit_test(the_count_catches_up),
        cmocka_unit_test(the_count_is_not_waited_for_for_long),
        cmocka_unit_test(the_count_settles_when_it_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
