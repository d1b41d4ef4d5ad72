/* Request bodies, byte by byte. */
#include "check.h"

#include <stdlib.h>
#include "engine/engine.h"

static void body_is(const struct plan *p, const struct engine_request *r, const char *text)
{
    struct buf b = {0};
    engine_put_body(p, r, &b);
    assert_string_equal(buf_text(&b), text);
    buf_done(&b);
}

static struct plan plan_for(enum api_kind api)
{
    struct plan p;
    plan_defaults(&p);
    p.engine.served_model = "org/m";
    p.requests.api = api;
    return p;
}

static void test_chat(void **state)
{
    (void)state;
    struct plan p = plan_for(API_CHAT);
    struct engine_request r = {.prompt = span_of("say \"hi\"\n"), .max_tokens = ABSENT_I64};
    body_is(&p, &r,
            "{\"model\":\"org/m\",\"messages\":[{\"role\":\"user\",\"content\":\"say \\\"hi\\\"\\n\"}],\"stream\":true,"
            "\"stream_options\":{\"include_usage\":true}}");
    assert_string_equal(engine_request_path(&p), "/v1/chat/completions");
    r = (struct engine_request){.has_messages = true, .messages = span_of("[{\"role\": \"system\"}]"), .max_tokens = 5};
    body_is(&p, &r,
            "{\"model\":\"org/m\",\"messages\":[{\"role\": "
            "\"system\"}],\"stream\":true,\"stream_options\":{\"include_usage\":true},"
            "\"max_tokens\":5}");
}

static void test_token_ids(void **state)
{
    (void)state;
    struct plan p = plan_for(API_COMPLETIONS);
    struct engine_request r = {.ids = span_of("[1000,27,3]"), .max_tokens = 2};
    body_is(&p, &r,
            "{\"model\":\"org/m\",\"prompt\":[1000,27,3],\"stream\":true,\"stream_options\":{\"include_usage\":true},"
            "\"max_tokens\":2}");
}

static void test_completions_forced(void **state)
{
    (void)state;
    struct plan p = plan_for(API_COMPLETIONS);
    p.requests.continuous_usage = true;
    p.requests.temperature = 0;
    p.requests.top_p = 0.9;
    p.requests.seed = 7;
    struct engine_request r = {.prompt = span_of("x"), .max_tokens = 347, .forced = true};
    body_is(
        &p, &r,
        "{\"model\":\"org/m\",\"prompt\":\"x\",\"stream\":true,\"stream_options\":{\"include_usage\":true,"
        "\"continuous_usage_stats\":true},\"max_tokens\":347,\"min_tokens\":347,\"ignore_eos\":true,\"temperature\":0,"
        "\"top_p\":0.9,\"seed\":7}");
    assert_string_equal(engine_request_path(&p), "/v1/completions");
    /* Readiness and warm-up. */
    r.plain = true;
    r.max_tokens = 64;
    r.forced = false;
    p.requests.extra_body = "{\"top_k\":1}";
    body_is(&p, &r,
            "{\"model\":\"org/"
            "m\",\"prompt\":\"x\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_tokens\":64,"
            "\"temperature\":0,\"top_p\":0.9}");
}

static void test_extra_body(void **state)
{
    (void)state;
    struct plan p = plan_for(API_COMPLETIONS);
    struct err e = {0};
    p.requests.temperature = 0.5;
    p.requests.extra_body = " { \"top_k\" : 20 , \"temperature\": 1 , \"chat_template_kwargs\": {\"a\": [1, {}]} } ";
    assert_ok(engine_check_extra_body(&p, &e), e);
    struct engine_request r = {.prompt = span_of("x"), .max_tokens = ABSENT_I64};
    body_is(&p, &r,
            "{\"model\":\"org/"
            "m\",\"prompt\":\"x\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"top_k\":20,"
            "\"temperature\":1,\"chat_template_kwargs\":{\"a\": [1, {}]}}");
}

/* A request's own members stand before the plan's extra_body, as they are. */
static void test_own_members(void **state)
{
    (void)state;
    struct plan p = plan_for(API_COMPLETIONS);
    p.requests.seed = 3;
    p.requests.extra_body = "{\"top_k\":20}";
    struct engine_request r = {
        .prompt = span_of("x"), .max_tokens = 9, .extra = span_of("{\"temperature\": 0.10, \"tools\": [ {\"a\":1} ]}")};
    body_is(&p, &r,
            "{\"model\":\"org/m\",\"prompt\":\"x\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
            "\"max_tokens\":9,\"seed\":3,\"temperature\":0.10,\"tools\":[ {\"a\":1} ],\"top_k\":20}");
}

static void extra_refused(const char *extra, const char *text)
{
    struct plan p = plan_for(API_CHAT);
    struct err e = {0};
    p.requests.extra_body = extra;
    assert_false(engine_check_extra_body(&p, &e));
    assert_int_equal(e.kind, ERR_PLAN);
    if (text)
        assert_string_equal(e.text, text);
}

static void test_extra_body_faults(void **state)
{
    (void)state;
    extra_refused("{\"stream\":false}",
                  "requests.extra_body sets \"stream\", which jtok sets itself. Take it out; lengths are set "
                  "under requests.lengths.");
    extra_refused("{\"a\":1,\"max\\u005ftokens\":3}",
                  "requests.extra_body sets \"max_tokens\", which jtok sets itself. Take it "
                  "out; lengths are set under requests.lengths.");
    extra_refused("[1]", "requests.extra_body must be one JSON object, like {\"top_k\": 20}.");
    extra_refused("{\"a\":}", NULL);
    extra_refused("{\"a\":1", NULL);
    extra_refused("{\"a\":1} x", NULL);
    extra_refused("", NULL);
    struct plan p = plan_for(API_CHAT);
    assert_true(engine_check_extra_body(&p, NULL)); /* none at all */
}

static void test_warmup_prompts_share_no_opening(void **state)
{
    (void)state;
    for (size_t i = 0; i < ENGINE_WARMUP_PROMPTS; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(engine_warmup_prompt(i)[0], engine_warmup_prompt(k)[0]);
    assert_string_equal(engine_warmup_prompt(9), engine_warmup_prompt(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat),
        cmocka_unit_test(test_token_ids),
        cmocka_unit_test(test_completions_forced),
        cmocka_unit_test(test_extra_body),
        cmocka_unit_test(test_own_members),
        cmocka_unit_test(test_extra_body_faults),
        cmocka_unit_test(test_warmup_prompts_share_no_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
