/* What is said of a /metrics that gives no count of generated tokens. */
#include "check.h"

#include "engine/engine.h"

static void each_answer_is_named(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *location, *detail, *body, *said;
    } cases[] = {
        {501, NULL, NULL, "no metrics\n", "status 501 (\"no metrics \"): start llama-server with --metrics"},
        {404, NULL, NULL, "",
         "status 404: start SGLang with --enable-metrics, or set engine.metrics_path to where the engine has its "
         "metrics "
         "(asked: /metrics)"},
        {307, "/metrics/", NULL, "moved", "status 307, which points to /metrics/: set engine.metrics_path to that"},
        {302, "", NULL, "",
         "status 302, a redirect to nowhere: set engine.metrics_path to where the engine has its metrics"},
        {401, NULL, NULL, "", "status 401: give the server's key in JTOK_API_KEY"},
        {503, NULL, NULL, "\033[31mbusy\xff", "status 503 (\" [31mbusy\xef\xbf\xbd\")"},
        {200, NULL, NULL, "up 1", "status 200 (\"up 1\"), which holds no count of generated tokens that jtok knows"},
        {-1, NULL, "No answer within 2 s.", "", "no answer: No answer within 2 s."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct plan p;
        plan_defaults(&p);
        struct engine_metrics_answer answer = {.status = cases[i].status,
                                               .location = cases[i].location,
                                               .body = span_of(cases[i].body),
                                               .detail = cases[i].detail};
        assert_string_equal(engine_metrics_lack(&p, &answer, &a), cases[i].said);
        arena_done(&a);
    }
}

/* A long body is cut, between characters or with a replacement. */
static void a_long_body_is_cut(void **state)
{
    (void)state;
    struct arena a = {0};
    struct plan p;
    plan_defaults(&p);
    struct buf body = {0};
    for (int i = 0; i < 100; i++)
        buf_str(&body, "\xe2\x82\xac");
    const char *said =
        engine_metrics_lack(&p, &(struct engine_metrics_answer){.status = 500, .body = buf_span(&body)}, &a);
    assert_non_null(strstr(said, "\xe2\x82\xac...\")"));
    assert_true(strlen(said) < 200);
    buf_done(&body);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_is_named),
        cmocka_unit_test(a_long_body_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
