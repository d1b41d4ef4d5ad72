/* What engines say, on recorded answers and logs of a real vLLM 0.24.0. */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>
#include "engine/engine.h"
#include "text/file_read.h"

static struct plan vllm_plan(struct arena *a, const char **command, size_t n)
{
    struct plan p;
    struct err e = {0};
    plan_defaults(&p);
    p.engine.command = command;
    p.engine.command_count = n;
    assert_ok(engine_complete_plan(&p, a, &e), e);
    return p;
}

static const char *recorded_command[] = {
    "vllm", "serve", "/srv/model", "--served-model-name", "jtok/llama-8b-shape", "--max-model-len", "8192"};

static void read_answer(const struct plan *p, struct engine_identity *id, const char *path, bool models)
{
    struct buf b = {0};
    struct err e = {0};
    assert_ok(file_read(path, 1 << 20, &b, &e), e);
    if (models)
        assert_ok(engine_read_models(p, id, 200, buf_span(&b), &e), e);
    else
        assert_ok(engine_read_about(p, id, 200, buf_span(&b), &e), e);
    buf_done(&b);
}

static void read_log(const struct plan *p, struct engine_identity *id, const char *path)
{
    struct buf b = {0};
    struct err e = {0};
    assert_ok(file_read(path, 64 << 20, &b, &e), e);
    for (const char *at = b.p, *end = b.p + b.n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        engine_read_log(p, id, (struct span){at, (size_t)(stop - at)});
        at = stop + 1;
    }
    buf_done(&b);
}

static const struct rec_fact *fact(const struct rec_fact *facts, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(facts[i].name, name) == 0)
            return &facts[i];
    fail_msg("no fact %s", name);
    return NULL;
}

static void fact_is(const struct rec_fact *facts, size_t n, const char *name, int outcome, const char *expected,
                    const char *seen)
{
    const struct rec_fact *f = fact(facts, n, name);
    assert_int_equal(f->outcome, outcome);
    if (expected)
        assert_string_equal(f->expected, expected);
    else
        assert_null(f->expected);
    if (seen)
        assert_string_equal(f->seen, seen);
    else
        assert_null(f->seen);
}

static void test_recorded_logs(void **state)
{
    (void)state;
    if (access(JTOK_SHARED "/h200", R_OK) != 0)
        skip();
    static const struct {
        const char *path;
        double weights, loading, compile, graphs, init;
    } logs[] = {{JTOK_SHARED "/h200/vllm-0.24.0/front1/engine.log", 2.37, 4.166937, 25.89, 7, 55.65},
                {JTOK_SHARED "/h200/vllm-0.24.0/front4/engine.log", 2.68, 4.629020, 22.10, 5, 48.40}};
    for (size_t i = 0; i < 2; i++) {
        struct arena a = {0};
        struct plan p = vllm_plan(&a, recorded_command, 7);
        struct engine_identity id;
        engine_identity_init(&id, &a);
        read_log(&p, &id, logs[i].path);
        assert_string_equal(id.version, "0.24.0");
        assert_string_equal(id.log_model, "/srv/");
        assert_string_equal(id.dtype, "torch.bfloat16");
        assert_string_equal(id.kv_cache_dtype, "auto");
        assert_string_equal(id.quantization, "none");
        assert_null(id.revision);
        assert_int_equal(id.context_length, 8192);
        assert_int_equal(id.tensor_parallel, 1);
        assert_int_equal(id.pipeline_parallel, 1);
        assert_int_equal(id.data_parallel, 1);
        assert_int_equal(id.prefix_cache, 1);
        assert_int_equal(id.kv_cache_tokens, 919824);
        assert_close(id.model_gib, 15.0, 1e-9);
        assert_close(id.weights_s, logs[i].weights, 1e-9);
        assert_close(id.model_loading_s, logs[i].loading, 1e-9);
        assert_close(id.compile_s, logs[i].compile, 1e-9);
        assert_close(id.graphs_s, logs[i].graphs, 1e-9);
        assert_close(id.init_s, logs[i].init, 1e-9);
        arena_done(&a);
    }
}

static void test_recorded_identity(void **state)
{
    (void)state;
    if (access(JTOK_SHARED "/h200", R_OK) != 0)
        skip();
    struct arena a = {0};
    struct plan p = vllm_plan(&a, recorded_command, 7);
    p.model.precision = "bf16";
    p.engine.version = "0.24.0";
    struct engine_identity id;
    engine_identity_init(&id, &a);
    read_log(&p, &id, JTOK_SHARED "/h200/vllm-0.24.0/front4/engine.log");
    read_answer(&p, &id, JTOK_SHARED "/h200/vllm-0.24.0/http/get_v1_models.body", true);
    read_answer(&p, &id, JTOK_SHARED "/h200/vllm-0.24.0/http/get_version.body", false);
    struct rec_fact *facts;
    size_t n;
    engine_identity_facts(&p, &id, 42, &facts, &n);
    fact_is(facts, n, "identity.model", CHECK_PASSED, "jtok/llama-8b-shape", "jtok/llama-8b-shape");
    fact_is(facts, n, "identity.root", CHECK_PASSED, "/srv/model", "/srv/model");
    fact_is(facts, n, "identity.snapshot", CHECK_PASSED, "/srv/model", "/srv/model");
    fact_is(facts, n, "identity.context_length", CHECK_PASSED, "8192", "8192");
    fact_is(facts, n, "identity.version", CHECK_PASSED, "0.24.0", "0.24.0");
    fact_is(facts, n, "identity.precision", CHECK_PASSED, "bf16", "bf16");
    fact_is(facts, n, "identity.parallel", CHECK_PASSED, "tensor 1, pipeline 1, data 1",
            "tensor 1, pipeline 1, data 1");
    fact_is(facts, n, "identity.revision", CHECK_NOT_STATED, NULL, NULL);
    fact_is(facts, n, "identity.prefix_cache", CHECK_NOT_STATED, NULL, "on");
    assert_int_equal(facts[0].t_ns, 42);
    assert_true(engine_identity_judge(facts, n, NULL));

    /* Another plan, the same engine: each difference is told. */
    struct err e = {0};
    p.engine.context_length = 4096;
    p.engine.served_model = "org/other";
    p.engine.version = "0.25.0";
    p.model.precision = "fp8";
    p.engine.tensor_parallel = 2;
    p.model.revision = "0123456789abcdef0123456789abcdef01234567";
    engine_identity_facts(&p, &id, 42, &facts, &n);
    fact_is(facts, n, "identity.revision", CHECK_NOT_JUDGED, "0123456789abcdef0123456789abcdef01234567", NULL);
    assert_false(engine_identity_judge(facts, n, &e));
    assert_int_equal(e.kind, ERR_ENGINE);
    assert_string_equal(
        e.text,
        "The engine that runs is not the one in the plan. model: the plan says org/other, the engine says "
        "jtok/llama-8b-shape. context_length: the plan says 4096, the engine says 8192. version: the plan says "
        "0.25.0, the engine says 0.24.0. precision: the plan says fp8, the engine says bf16. parallel: the plan "
        "says tensor 2, pipeline 1, data 1, the engine says tensor 1, pipeline 1, data 1. Change the command or the "
        "plan so that they agree.");
    arena_done(&a);
}

/* Offline, vLLM names the cached folder of the repository; adapters are entries of their own; answers carry more
 * members. */
static void test_models_answer(void **state)
{
    (void)state;
    struct arena a = {0};
    const char *command[] = {"vllm", "serve", "org/name-x"};
    struct plan p = vllm_plan(&a, command, 3);
    p.model.revision = "0123456789abcdef0123456789abcdef01234567";
    struct engine_identity id;
    struct err e = {0};
    engine_identity_init(&id, &a);
    const char *body =
        "{\"object\":\"list\",\"data\":[{\"id\":\"adapter\",\"root\":{\"x\":[1]},\"max_model_len\":null},"
        "{\"permission\":[{\"id\":\"no\"}],\"id\":\"org\\/name-x\",\"root\":\"/c/models--org--name-x/snapshots/"
        "0123456789abcdef0123456789abcdef01234567\",\"max_model_len\":100}],\"more\":{}}";
    assert_ok(engine_read_models(&p, &id, 200, span_of(body), &e), e);
    assert_string_equal(id.model, "org/name-x");
    assert_string_equal(id.models, "adapter, org/name-x");
    assert_int_equal(id.context_length, 100);
    struct rec_fact *facts;
    size_t n;
    engine_identity_facts(&p, &id, 0, &facts, &n);
    assert_int_equal(fact(facts, n, "identity.root")->outcome, CHECK_PASSED);
    assert_int_equal(fact(facts, n, "identity.revision")->outcome, CHECK_PASSED);
    assert_int_equal(fact(facts, n, "identity.parallel")->outcome, CHECK_NOT_JUDGED); /* no log was read */
    p.model.revision = "9123456789abcdef0123456789abcdef01234567";
    engine_identity_facts(&p, &id, 0, &facts, &n);
    assert_int_equal(fact(facts, n, "identity.revision")->outcome, CHECK_FAILED);

    assert_false(engine_read_models(&p, &id, 200, span_of("<html>"), &e));
    assert_string_equal(e.text, "The engine's answer to /v1/models is not a list of models. Is another server on the "
                                "engine's port? It answers: <html>");
    assert_false(engine_read_models(&p, &id, 200, span_of("{\"data\":[{\"id\":1}"), &e));
    engine_identity_init(&id, &a);
    assert_false(engine_read_models(&p, &id, 200, span_of("{\"data\":[]}"), &e));
    assert_false(engine_read_models(&p, &id, 401, span_of(""), &e));
    assert_string_equal(
        e.text, "The engine answers /v1/models with status 401 instead of 200, so jtok can't see which model it "
                "serves. It asks for an API key: give it in JTOK_API_KEY.");
    assert_true(engine_read_about(&p, &id, 404, span_of("{}"), &e));
    assert_null(id.version);
    assert_ok(engine_read_about(&p, &id, 200, span_of("{\"a\":{\"version\":1},\"version\":\"1.2\"}"), &e), e);
    assert_string_equal(id.version, "1.2");
    assert_false(engine_read_about(&p, &id, 200, span_of("{\"versions\":[]}"), &e));
    assert_string_equal(e.text, "The engine's answer to /version doesn't tell its version. Is another server on the "
                                "engine's port? It answers: {\"versions\":[]}");
    arena_done(&a);
}

static void test_quantized(void **state)
{
    (void)state;
    static const struct {
        const char *expected, *line;
        int outcome;
    } cases[] = {
        {"int4", "LLM engine (v1) with config: model='m', dtype=torch.float16, quantization=awq_marlin, x=1",
         CHECK_PASSED},
        {"awq", "LLM engine (v1) with config: model='m', dtype=torch.float16, quantization=awq_marlin, x=1",
         CHECK_PASSED},
        {"fp16", "LLM engine (v1) with config: model='m', dtype=torch.float16, quantization=awq_marlin, x=1",
         CHECK_FAILED},
        {"fp8", "LLM engine (v1) with config: model='m', dtype=torch.bfloat16, quantization=fp8, x=1", CHECK_PASSED},
        {"fp8", "LLM engine (v1) with config: model='m', dtype=torch.bfloat16, quantization=None, x=1", CHECK_FAILED},
        {"fp8", "LLM engine (v1) with config: model='m', dtype=torch.bfloat16, quantization=compressed-tensors, x=1",
         CHECK_NOT_JUDGED},
        {"bfloat16", "LLM engine (v1) with config: model='m', dtype=torch.bfloat16, quantization=None, x=1",
         CHECK_PASSED},
        {"bf16", "nothing", CHECK_NOT_JUDGED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        const char *command[] = {"vllm", "serve", "m"};
        struct plan p = vllm_plan(&a, command, 3);
        p.model.precision = cases[i].expected;
        struct engine_identity id;
        engine_identity_init(&id, &a);
        engine_read_log(&p, &id, span_of(cases[i].line));
        struct rec_fact *facts;
        size_t n;
        engine_identity_facts(&p, &id, 0, &facts, &n);
        assert_int_equal(fact(facts, n, "identity.precision")->outcome, cases[i].outcome);
        arena_done(&a);
    }
}

/* METHOD section 8: every property of identity is passed when compared and equal, failed when it differs, not stated
 * when the plan is silent, not judged when the engine gives no way to see it. */
static void set_property(struct plan *p, const char *name, bool other)
{
    if (strcmp(name, "identity.model") == 0)
        p->engine.served_model = other ? "org/other" : "org/m";
    else if (strcmp(name, "identity.snapshot") == 0)
        p->model.snapshot = other ? "/srv/other" : "/srv/m/";
    else if (strcmp(name, "identity.context_length") == 0)
        p->engine.context_length = other ? 4096 : 8192;
    else if (strcmp(name, "identity.version") == 0)
        p->engine.version = other ? "0.25.0" : "0.24.0";
    else if (strcmp(name, "identity.precision") == 0)
        p->model.precision = other ? "fp8" : "bfloat16";
    else if (strcmp(name, "identity.parallel") == 0)
        p->engine.pipeline_parallel = other ? 3 : 2;
    else if (strcmp(name, "identity.revision") == 0)
        p->model.revision = other ? "abd" : "abc";
}

static void see_property(struct engine_identity *id, const char *name)
{
    if (strcmp(name, "identity.model") == 0)
        id->model = id->models = "org/m";
    else if (strcmp(name, "identity.snapshot") == 0)
        id->root = "/srv/m";
    else if (strcmp(name, "identity.context_length") == 0)
        id->context_length = 8192;
    else if (strcmp(name, "identity.version") == 0)
        id->version = "0.24.0";
    else if (strcmp(name, "identity.precision") == 0)
        id->dtype = "torch.bfloat16";
    else if (strcmp(name, "identity.parallel") == 0) {
        id->tensor_parallel = 1;
        id->pipeline_parallel = 2;
    } else if (strcmp(name, "identity.revision") == 0)
        id->revision = "abc";
}

static void test_stated_and_seen(void **state)
{
    (void)state;
    static const char *const names[] = {"identity.model",   "identity.snapshot",  "identity.context_length",
                                        "identity.version", "identity.precision", "identity.parallel",
                                        "identity.revision"};
    enum { SILENT, EQUAL, OTHER };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int stated = SILENT; stated <= OTHER; stated++)
            for (int sees = 0; sees < 2; sees++) {
                struct arena a = {0};
                struct plan p;
                plan_defaults(&p);
                p.engine.kind = ENGINE_OPENAI; /* states nothing by itself */
                if (stated)
                    set_property(&p, names[i], stated == OTHER);
                struct engine_identity id;
                engine_identity_init(&id, &a);
                if (sees)
                    see_property(&id, names[i]);
                struct rec_fact *facts;
                size_t n;
                engine_identity_facts(&p, &id, 0, &facts, &n);
                enum check_outcome wanted = !stated           ? CHECK_NOT_STATED
                                            : !sees           ? CHECK_NOT_JUDGED
                                            : stated == OTHER ? CHECK_FAILED
                                                              : CHECK_PASSED;
                if (fact(facts, n, names[i])->outcome != wanted)
                    fail_msg("%s: stated %d, seen %d: outcome %d", names[i], stated, sees,
                             fact(facts, n, names[i])->outcome);
                assert_int_equal(engine_identity_judge(facts, n, NULL), wanted != CHECK_FAILED);
                for (size_t f = 0; f < n; f++)
                    if (strcmp(facts[f].name, names[i]) != 0)
                        assert_true(facts[f].outcome == CHECK_NOT_STATED || facts[f].outcome == CHECK_PASSED);
                arena_done(&a);
            }
}

/* What runs in a container can only be pinned by the command; a plan's digest is compared with that. */
static void test_image(void **state)
{
    (void)state;
#define HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
    static const struct {
        const char *digest, *argument;
        int outcome;
    } cases[] = {
        {NULL, "engine:1.0", CHECK_NOT_STATED},
        {NULL, "registry/engine@sha256:" HEX, CHECK_NOT_STATED},
        {"sha256:" HEX, "engine:1.0", CHECK_NOT_JUDGED},
        {"sha256:" HEX, "registry/engine@sha256:" HEX, CHECK_PASSED},
        {HEX, "registry/engine:1.0@sha256:" HEX, CHECK_PASSED},
        {"sha256:10112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "registry/engine@sha256:" HEX,
         CHECK_FAILED},
        {"sha256:" HEX, "registry/engine@sha256:0011", CHECK_NOT_JUDGED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        const char *command[] = {"podman", "run", cases[i].argument};
        struct plan p;
        plan_defaults(&p);
        p.engine.kind = ENGINE_OPENAI;
        p.engine.command = command;
        p.engine.command_count = 3;
        p.engine.image_digest = cases[i].digest;
        struct engine_identity id;
        engine_identity_init(&id, &a);
        struct rec_fact *facts;
        size_t n;
        engine_identity_facts(&p, &id, 0, &facts, &n);
        assert_int_equal(fact(facts, n, "identity.image_digest")->outcome, cases[i].outcome);
        arena_done(&a);
    }
}

static void test_health(void **state)
{
    (void)state;
    struct plan p;
    struct err e = {0};
    plan_defaults(&p);
    assert_string_equal(engine_health_path(&p), "/health");
    assert_int_equal(engine_health_answer(&p, 0, &e), ENGINE_NOT_YET);
    assert_int_equal(engine_health_answer(&p, 503, &e), ENGINE_NOT_YET);
    assert_int_equal(e.kind, ERR_NONE);
    assert_int_equal(engine_health_answer(&p, 200, &e), ENGINE_READY);
    assert_int_equal(engine_health_answer(&p, 404, &e), ENGINE_WRONG);
    assert_string_equal(
        e.text, "The engine answers /health with status 404: it has no such path. Set engine.health_path to one that "
                "answers 200 when the engine is ready, such as /v1/models.");
    p.engine.health_path = "/up";
    assert_int_equal(engine_health_answer(&p, 401, &e), ENGINE_WRONG);
    assert_string_equal(
        e.text,
        "The engine answers /up with status 401: it asks for an API key even there. Set engine.health_path to a "
        "path that needs none.");
    assert_int_equal(engine_health_answer(&p, 307, &e), ENGINE_WRONG);
    p.engine.metrics_path = "";
    assert_null(engine_metrics_path(&p));
    p.engine.metrics_path = NULL;
    assert_string_equal(engine_metrics_path(&p), "/metrics");
}

static void test_metrics(void **state)
{
    (void)state;
    struct rec_metrics m = engine_read_metrics(
        span_of("# HELP vllm:num_requests_running x\n# TYPE vllm:num_requests_running gauge\n"
                "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} "
                "3.0\nvllm:num_requests_running{engine=\"1\",model_name=\"m\"} 4.0\n"
                "vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n"
                "vllm:gpu_cache_usage_perc{engine=\"0\"} 0.9\n"
                "vllm:generation_tokens_total{engine=\"0\"} 1.042561e+06\nvllm:generation_tokens_created{engine=\"0\"} "
                "1.7e+09\n"
                "vllm:prefix_cache_hits_total{engine=\"0\"} NaN\n"));
    assert_close(m.running, 7, 0);
    assert_close(m.kv_cache_used, 0.5, 1e-15); /* a share: the mean; the old name beside the new one is not added */
    assert_close(m.generation_tokens, 1042561, 0);
    assert_true(isnan(m.waiting) && isnan(m.preemptions) && isnan(m.prompt_tokens) && isnan(m.prefix_hits));
    assert_int_equal(m.t_ns, ABSENT_I64);
    m = engine_read_metrics(
        span_of("sglang:num_running_reqs{tp_rank=\"0\"} 5\nsglang:num_queue_reqs 2\nsglang:token_usage 0.1\n"
                "sglang:prompt_tokens_total 10\nsglang:num_retracted_reqs 1\n"));
    assert_close(m.running, 5, 0);
    assert_close(m.waiting, 2, 0);
    assert_close(m.kv_cache_used, 0.1, 0);
    assert_close(m.prompt_tokens, 10, 0);
    assert_close(m.preemptions, 1, 0);
    m = engine_read_metrics(span_of(""));
    assert_true(isnan(m.running));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_logs),   cmocka_unit_test(test_recorded_identity),
        cmocka_unit_test(test_models_answer),   cmocka_unit_test(test_quantized),
        cmocka_unit_test(test_stated_and_seen), cmocka_unit_test(test_image),
        cmocka_unit_test(test_health),          cmocka_unit_test(test_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
