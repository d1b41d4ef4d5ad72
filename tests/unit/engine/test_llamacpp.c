/* llama.cpp's row: commands as its documentation has them, and answers in the shape that its source writes. None was
 * recorded. */
#include "check.h"

#include <math.h>
#include "engine/table.h"
#include "words_plan.h"

static struct plan completed(const char *const *words, struct arena *a)
{
    struct err e = {0};
    struct plan p = words_plan(words);
    assert_ok(engine_complete_plan(&p, a, &e), e);
    assert_string_equal(plan_engine_name(&p), "llamacpp");
    return p;
}

static void assert_text(const char *seen, const char *wanted)
{
    if (wanted ? !seen || strcmp(seen, wanted) != 0 : seen != NULL)
        fail_msg("%s, not %s", seen ? seen : "nothing", wanted ? wanted : "nothing");
}

static void commands_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *words[12], *id, *served, *precision, *host;
        int64_t port;
    } cases[] = {
        {{"llama-server", "-m", "/srv/m-Q8_0.gguf"}, "m-Q8_0", "m-Q8_0", NULL, "127.0.0.1", 0},
        {{"numactl", "-m", "0", "/opt/bin/llama-server", "--model", "/srv/m.gguf", "-a", "x,y", "--port", "80"},
         "x",
         "x",
         NULL,
         "127.0.0.1",
         80},
        {{"llama-server", "-hf", "org/m-GGUF:Q4_K_M"}, "org/m-GGUF", "org/m-GGUF", "Q4_K_M", "127.0.0.1", 0},
        {{"llama-server", "--hf-repo", "org/m", "--host", "/run/l.sock"},
         "org/m",
         "org/m",
         NULL,
         "unix:/run/l.sock",
         0},
        {{"llama-server", "-hfr", "{model}", "-m", "/srv/m.gguf", "-c", "32768", "-np", "4", "-ngl", "99"},
         "m",
         "m",
         NULL,
         "127.0.0.1",
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct plan p = completed(cases[i].words, &a);
        assert_text(p.model.id, cases[i].id);
        assert_text(p.engine.served_model, cases[i].served);
        assert_text(p.model.precision, cases[i].precision);
        assert_text(p.engine.host, cases[i].host);
        assert_text(p.model.snapshot, NULL);
        assert_int_equal(p.engine.port, cases[i].port);
        assert_int_equal(p.engine.context_length, ABSENT_I64); /* -c is shared by the slots */
        arena_done(&a);
    }
}

static void it_is_told_where_to_listen(void **state)
{
    (void)state;
    struct arena a = {0};
    struct err e = {0};
    static const char *const words[] = {"llama-server", "-m", "/srv/m.gguf", NULL};
    static const char *const environment[] = {"HOME=/home/u", NULL};
    struct plan p = completed(words, &a);
    struct engine_site site = {.cache_folder = "/run", .environment = environment};
    assert_true(engine_port_is_free(&p));
    p.engine.port = 4321;
    struct engine_launch l;
    assert_ok(engine_launch_make(&p, &site, &a, &l, &e), e);
    static const char *const wanted[] = {"llama-server", "-m",   "/srv/m.gguf", "--host", "127.0.0.1",
                                         "--port",       "4321", "--alias",     "m"};
    assert_int_equal(l.argc, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < l.argc; i++)
        assert_string_equal(l.argv[i], wanted[i]);
    int found = 0;
    for (size_t i = 0; i < l.env_count; i++)
        found += strcmp(l.env[i], "LLAMA_ARG_OFFLINE=1") == 0 ||
                 strcmp(l.env[i], "LLAMA_CACHE=/home/u/.cache/llama.cpp") == 0;
    assert_int_equal(found, 2);
    p.engine.host = "unix:/run/l.sock";
    assert_ok(engine_launch_make(&p, &site, &a, &l, &e), e);
    assert_int_equal(l.argc, 7);
    assert_string_equal(l.argv[3], "--host");
    assert_string_equal(l.argv[4], "/run/l.sock");
    assert_string_equal(l.argv[5], "--alias");
    arena_done(&a);
}

static void lengths_are_forced_without_min_tokens(void **state)
{
    (void)state;
    struct arena a = {0};
    struct buf b = {0};
    static const char *const words[] = {"llama-server", "-hf", "org/m", NULL};
    struct plan p = completed(words, &a);
    engine_put_body(&p, &(struct engine_request){.prompt = span_of("x"), .max_tokens = 7, .forced = true}, &b);
    assert_non_null(strstr(buf_text(&b), "\"max_tokens\":7,\"ignore_eos\":true}"));
    assert_null(strstr(buf_text(&b), "min_tokens"));
    buf_done(&b);
    arena_done(&a);
}

#define PROPS                                                                                                          \
    "{\"default_generation_settings\":{\"params\":{\"n_ctx\":1},\"n_ctx\":8192},\"total_slots\":4,"                    \
    "\"model_alias\":\"m\",\"model_ftype\":\"Q4_K - Medium\",\"model_path\":\"/srv/m.gguf\",\"chat_template\":\"{}\"," \
    "\"build_info\":\"b9465-0adede866\"}"

static bool ask_props(const struct plan *p, struct engine_identity *id, int status, struct span body)
{
    const char *older;
    struct err e;
    assert_string_equal(engine_question(p, id, 0, &older), "/props");
    assert_null(older);
    return engine_read_answer(p, id, 0, "/props", status, body, &e);
}

static void props_tell_what_it_is(void **state)
{
    (void)state;
    static const struct {
        enum engine_property property;
        const char *value;
    } told[] = {{PROPERTY_VERSION, "b9465-0adede866"},
                {PROPERTY_ROOT, "/srv/m.gguf"},
                {PROPERTY_CONTEXT, "8192"},
                {PROPERTY_QUANTIZATION, "Q4_K - Medium"},
                {PROPERTY_MAX_RUNNING, "4"}};
    struct arena a = {0};
    static const char *const words[] = {"llama-server", "-m", "/srv/m.gguf", NULL};
    struct plan p = completed(words, &a);
    struct engine_identity id;
    engine_identity_init(&id, &a);
    assert_true(ask_props(&p, &id, 200, span_of(PROPS)));
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        assert_text(engine_says(&id, told[i].property), told[i].value);
    assert_false(ask_props(&p, &id, 200, span_of("{\"version\":\"1\"}"))); /* another server's */
    assert_true(ask_props(&p, &id, 404, span_of("")));
    arena_done(&a);
}

/* As a file is named, and as the server names the same format. */
static void formats_have_two_names(void **state)
{
    (void)state;
    static const char *const formats[][2] = {{"Q4_K - Medium", "Q4_K_M"},
                                             {"Q4_K - Small", "Q4_K_S"},
                                             {"Q5_K - Medium", "Q5_K_M"},
                                             {"Q3_K - Large", "Q3_K_L"},
                                             {"Q2_K - Medium", "Q2_K"},
                                             {"IQ4_XS - 4.25 bpw", "IQ4_XS"},
                                             {"IQ3_S mix - 3.66 bpw", "IQ3_M"},
                                             {"Q8_0", "Q8_0"},
                                             {"F16", "fp16"},
                                             {"BF16", "bf16"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct arena a = {0};
        static const char *const words[] = {"llama-server", "-hf", "org/m", NULL};
        struct plan p = completed(words, &a);
        struct engine_identity id;
        engine_identity_init(&id, &a);
        const char *body = arena_format(&a, "{\"build_info\":\"b1\",\"model_ftype\":\"%s\"}", formats[i][0]);
        assert_true(ask_props(&p, &id, 200, span_of(body)));
        p.model.precision = formats[i][1];
        struct rec_fact *facts;
        size_t n;
        engine_identity_facts(&p, &id, 0, &facts, &n);
        for (size_t f = 0; f < n; f++)
            if (strcmp(facts[f].name, "identity.precision") == 0 && facts[f].outcome != CHECK_PASSED)
                fail_msg("%s, %s", facts[f].expected, facts[f].seen);
        arena_done(&a);
    }
}

static void its_words_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int milestone;
    } lines[] = {
        {"main: HTTP server is listening, hostname: 127.0.0.1, port: 8080, http threads: 11", -1},
        {"llama_context: constructing llama_context", MILESTONE_WEIGHTS},
        {"main: server is listening on http://127.0.0.1:8080 - starting the main loop", MILESTONE_SERVING},
        {"srv  update_slots: all slots are idle", -1},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(engine_milestone(span_of(lines[i].line)), lines[i].milestone);
    struct rec_metrics m = engine_read_metrics(span_of("# TYPE llamacpp:prompt_tokens_total counter\n"
                                                       "llamacpp:prompt_tokens_total 12\n"
                                                       "llamacpp:tokens_predicted_total 34\n"
                                                       "llamacpp:requests_processing 2\n"
                                                       "llamacpp:requests_deferred 1\n"
                                                       "llamacpp:tokens_predicted_seconds_total 9\n"));
    assert_close(m.prompt_tokens, 12, 0);
    assert_close(m.generation_tokens, 34, 0);
    assert_close(m.running, 2, 0);
    assert_close(m.waiting, 1, 0);
    assert_true(isnan(m.requests_ended));
    assert_string_equal(engine_metrics_source(span_of("llamacpp:tokens_predicted_total 0\n")), "llamacpp");
    assert_true(engine_counts_at_end("llamacpp"));
    assert_true(engine_is_process("llama-server", "/opt/llama-server -m x"));
    assert_false(engine_is_process("less", "less llama-server.log"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_read),
        cmocka_unit_test(it_is_told_where_to_listen),
        cmocka_unit_test(lengths_are_forced_without_min_tokens),
        cmocka_unit_test(props_tell_what_it_is),
        cmocka_unit_test(formats_have_two_names),
        cmocka_unit_test(its_words_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
