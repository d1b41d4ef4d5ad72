/* What engines say, on recorded answers and logs of a real vLLM 0.24.0. */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>
#include "engine/table.h"
#include "schema/set.h"
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
        assert_ok(engine_read_answer(p, id, 0, "/version", 200, buf_span(&b), &e), e);
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
        static const struct {
            enum engine_property property;
            const char *value;
        } seen[] = {{PROPERTY_VERSION, "0.24.0"},
                    {PROPERTY_ROOT, "/srv/"},
                    {PROPERTY_DTYPE, "torch.bfloat16"},
                    {PROPERTY_KV_DTYPE, NULL},
                    {PROPERTY_QUANTIZATION, "none"},
                    {PROPERTY_REVISION, NULL},
                    {PROPERTY_CONTEXT, "8192"},
                    {PROPERTY_TENSOR, "1"},
                    {PROPERTY_PIPELINE, "1"},
                    {PROPERTY_DATA, "1"},
                    {PROPERTY_PREFIX_CACHE, "on"},
                    {PROPERTY_CHUNKED_PREFILL, "on"},
                    {PROPERTY_ATTENTION, "FLASH_ATTN"},
                    {PROPERTY_MAX_RUNNING, NULL},
                    {PROPERTY_EXPERT, NULL},
                    {PROPERTY_THINKING, NULL}};
        for (size_t k = 0; k < sizeof seen / sizeof *seen; k++) {
            const char *value = engine_says(&id, seen[k].property);
            assert_int_equal(value != NULL, seen[k].value != NULL);
            if (value)
                assert_string_equal(value, seen[k].value);
        }
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
    fact_is(facts, n, "identity.tensor_parallel", CHECK_PASSED, "1", "1");
    fact_is(facts, n, "identity.pipeline_parallel", CHECK_PASSED, "1", "1");
    fact_is(facts, n, "identity.data_parallel", CHECK_PASSED, "1", "1");
    fact_is(facts, n, "identity.attention_backend", CHECK_NOT_STATED, NULL, "FLASH_ATTN");
    assert_string_equal(fact(facts, n, "identity.context_length")->source, "/v1/models, max_model_len");
    assert_string_equal(fact(facts, n, "identity.dtype")->source, "output, dtype");
    /* The recorded log's paths were cut: another word of a place that is trusted less is told. */
    assert_string_equal(fact(facts, n, "identity.root")->source, "/v1/models, root; output, model says /srv/");
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
        "jtok/llama-8b-shape. version: the plan says 0.25.0, the engine says 0.24.0. context_length: the plan says "
        "4096, the engine says 8192. tensor_parallel: the plan says 2, the engine says 1. precision: the plan says "
        "fp8, the engine says bf16. Change the command or the plan so that they agree.");
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
    assert_string_equal(engine_says(&id, PROPERTY_CONTEXT), "100");
    struct rec_fact *facts;
    size_t n;
    engine_identity_facts(&p, &id, 0, &facts, &n);
    assert_int_equal(fact(facts, n, "identity.root")->outcome, CHECK_PASSED);
    assert_int_equal(fact(facts, n, "identity.revision")->outcome, CHECK_PASSED);
    assert_int_equal(fact(facts, n, "identity.tensor_parallel")->outcome, CHECK_NOT_JUDGED); /* no log was read */
    p.model.revision = "9123456789abcdef0123456789abcdef01234567";
    engine_identity_facts(&p, &id, 0, &facts, &n);
    assert_int_equal(fact(facts, n, "identity.revision")->outcome, CHECK_FAILED);

    assert_false(engine_read_models(&p, &id, 200, span_of("<html>"), &e));
    assert_string_equal(e.text, "The engine's answer to /v1/models is not a list of models. Is another server on the "
                                "engine's port? It answers: <html>");
    assert_false(engine_read_models(&p, &id, 200, span_of("{\"data\":[{\"id\":1}"), &e));
    assert_false(engine_read_models(&p, &id, 200, span_of("{\"data\":[{\"id\":\"\"},{}]}"), &e));
    assert_string_equal(id.models, "adapter, org/name-x"); /* nothing of an answer that can't be read */
    assert_false(engine_read_models(&p, &id, 200, span_of("{\"data\":[{\"id\":\" \"}]}"), &e));
    assert_false(engine_read_models(&p, &id, 200, span_of("{\"data\":[{\"id\":\"half\"},"), &e));
    assert_string_equal(id.models, "adapter, org/name-x");
    engine_identity_init(&id, &a);
    assert_false(engine_read_models(&p, &id, 200, span_of("{\"data\":[]}"), &e));
    assert_false(engine_read_models(&p, &id, 401, span_of(""), &e));
    assert_string_equal(
        e.text, "The engine answers /v1/models with status 401 instead of 200, so jtok can't see which model it "
                "serves. It asks for an API key: give it in JTOK_API_KEY.");
    engine_identity_init(&id, &a);
    assert_true(engine_read_answer(&p, &id, 0, "/version", 404, span_of("{}"), &e));
    assert_null(engine_says(&id, PROPERTY_VERSION));
    assert_ok(
        engine_read_answer(&p, &id, 0, "/version", 200, span_of("{\"a\":{\"version\":1},\"version\":\"1.2\"}"), &e), e);
    assert_string_equal(engine_says(&id, PROPERTY_VERSION), "1.2");
    assert_false(engine_read_answer(&p, &id, 0, "/version", 200, span_of("{\"versions\":[]}"), &e));
    assert_string_equal(e.text, "The engine's answer to /version is not what vllm answers there. Is another server on "
                                "the engine's port? It answers: {\"versions\":[]}");
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

/* SGLang's settings say None of a checkpoint that is quantized itself; its line at the end of loading tells. */
static void test_quantized_checkpoint(void **state)
{
    (void)state;
    static const struct {
        const char *expected, *line;
        int outcome;
    } cases[] = {
        {"fp8", "[2026-11-29 23:37:25] Load weight end. elapsed=2.86 s, type=X, quant=fp8, fmt=e4m3, avail mem=1 GB",
         CHECK_PASSED},
        {"bf16", "Load weight end. elapsed=2.86 s, type=X, quant=fp8, fmt=e4m3, avail mem=1 GB", CHECK_FAILED},
        {"int4", "Load weight end. elapsed=2.86 s, type=X, quant=awq, bits=4, avail mem=1 GB", CHECK_PASSED},
        {"bf16", "Load weight end. elapsed=2.86 s, type=X, avail mem=1 GB", CHECK_NOT_JUDGED}, /* proves nothing */
        {"bf16", "Load weight begin. quant=fp8, avail mem=1 GB", CHECK_NOT_JUDGED},
        {"bf16", "Load weight end. type=X, unquant=fp8", CHECK_NOT_JUDGED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct plan p;
        struct engine_identity id;
        struct rec_fact *facts;
        size_t n;
        plan_defaults(&p);
        p.engine.kind = ENGINE_SGLANG;
        p.model.precision = cases[i].expected;
        engine_identity_init(&id, &a);
        engine_read_log(&p, &id,
                        span_of("server_args=ServerArgs(model_path='m', dtype='bfloat16', quantization=None)"));
        engine_read_log(&p, &id, span_of(cases[i].line));
        engine_identity_facts(&p, &id, 0, &facts, &n);
        if (fact(facts, n, "identity.precision")->outcome != (enum check_outcome)cases[i].outcome)
            fail_msg("case %zu", i);
        arena_done(&a);
    }
}

/* METHOD section 8, for each property and each engine: verified where it was stated and the same is seen, wrong where
 * another is, not stated where the plan is silent, not verifiable where the engine gives no way to see it. Where it is
 * stated: a key of the plan, or an option of the command. */
struct property_case {
    enum engine_property property;
    const char *fact;
    const char *plan; /* "key=value" for --set; null: by the command */
    const char *option, *value;
    const char *same[2], *other; /* what an engine may say of that */
};

#define DIGEST_A "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define COMMIT_A "0123456789abcdef0123456789abcdef01234567"

static const struct property_case of_any[] = {
    {PROPERTY_SNAPSHOT, "identity.snapshot", "model.snapshot=/srv/m", NULL, NULL, {"/srv/m", "/srv/m/"}, "/srv/n"},
    {PROPERTY_REVISION, "identity.revision", "model.revision=" COMMIT_A, NULL, NULL, {COMMIT_A}, "main"},
    {PROPERTY_VERSION, "identity.version", "engine.version=0.24.0", NULL, NULL, {"0.24.0", "0.24.0+cu130"}, "0.24.1"},
    {PROPERTY_IMAGE, "identity.image_digest", "engine.image_digest=" DIGEST_A, NULL, NULL, {DIGEST_A}, "sha256:11"},
    {PROPERTY_CONTEXT, "identity.context_length", "engine.context_length=8192", NULL, NULL, {"8192"}, "4096"},
    {PROPERTY_TENSOR, "identity.tensor_parallel", "engine.tensor_parallel=2", NULL, NULL, {"2"}, "1"},
    {PROPERTY_PIPELINE, "identity.pipeline_parallel", "engine.pipeline_parallel=2", NULL, NULL, {"2"}, "1"},
    {PROPERTY_DATA, "identity.data_parallel", "engine.data_parallel=2", NULL, NULL, {"2"}, "1"},
};

static const struct property_case of_vllm[] = {
    {PROPERTY_ROOT, "identity.root", NULL, "--model", "/srv/m", {"/srv/m", "/srv/m/"}, "/srv/n"},
    {PROPERTY_DTYPE, "identity.dtype", NULL, "--dtype", "half", {"torch.float16", "float16"}, "torch.bfloat16"},
    {PROPERTY_QUANTIZATION, "identity.quantization", NULL, "--quantization", "awq", {"awq", "awq_marlin"}, "none"},
    {PROPERTY_KV_DTYPE, "identity.kv_cache_dtype", NULL, "--kv-cache-dtype", "fp8", {"fp8", "fp8_e4m3"}, "bfloat16"},
    {PROPERTY_ATTENTION,
     "identity.attention_backend",
     NULL,
     "--attention-backend",
     "flash_attn",
     {"FLASH_ATTN"},
     "TRITON_ATTN"},
    {PROPERTY_PREFIX_CACHE, "identity.prefix_cache", NULL, "--enable-prefix-caching", NULL, {"on"}, "off"},
    {PROPERTY_PREFIX_CACHE, "identity.prefix_cache", NULL, "--no-enable-prefix-caching", NULL, {"off"}, "on"},
    {PROPERTY_CHUNKED_PREFILL, "identity.chunked_prefill", NULL, "--enable-chunked-prefill", NULL, {"on"}, "off"},
    {PROPERTY_CHUNKED_PREFILL, "identity.chunked_prefill", NULL, "--no-enable-chunked-prefill", NULL, {"off"}, "on"},
    {PROPERTY_MAX_RUNNING, "identity.max_running", NULL, "--max-num-seqs", "64", {"64"}, "256"},
    {PROPERTY_EXPERT, "identity.expert_parallel", NULL, "--enable-expert-parallel", NULL, {"on"}, "off"},
    {PROPERTY_THINKING,
     "identity.thinking",
     NULL,
     "--default-chat-template-kwargs",
     "{\"enable_thinking\":false}",
     {"off"},
     "on"},
};

static const struct property_case of_sglang[] = {
    {PROPERTY_KV_DTYPE, "identity.kv_cache_dtype", NULL, "--kv_cache_dtype", "fp8_e5m2", {"torch.float8_e5m2"}, "fp8"},
    {PROPERTY_ATTENTION, "identity.attention_backend", NULL, "--attention-backend", "triton", {"triton"}, "fa3"},
    {PROPERTY_PREFIX_CACHE, "identity.prefix_cache", NULL, "--disable-radix-cache", NULL, {"off"}, "on"},
    {PROPERTY_CHUNKED_PREFILL, "identity.chunked_prefill", NULL, "--chunked-prefill-size", "-1", {"off"}, "on"},
    {PROPERTY_CHUNKED_PREFILL, "identity.chunked_prefill", NULL, "--chunked-prefill-size", "4096", {"on"}, "off"},
    {PROPERTY_MAX_RUNNING, "identity.max_running", NULL, "--max-running-requests", "64", {"64"}, "256"},
    {PROPERTY_EXPERT, "identity.expert_parallel", NULL, "--ep-size", "8", {"8"}, "1"},
    {PROPERTY_THINKING,
     "identity.thinking",
     NULL,
     "--default-chat-template-kwargs",
     "{\"enable_thinking\":true}",
     {"on"},
     "off"},
};

static const struct property_case of_llamacpp[] = {
    {PROPERTY_ROOT, "identity.root", NULL, "-m", "/srv/m.gguf", {"/srv/m.gguf"}, "/srv/n.gguf"},
    {PROPERTY_QUANTIZATION, "identity.quantization", NULL, "-hf", "org/m:Q4_K_M", {"Q4_K_M", "q4_k_m"}, "Q8_0"},
    {PROPERTY_KV_DTYPE, "identity.kv_cache_dtype", NULL, "-ctk", "q8_0", {"q8_0", "Q8_0"}, "f16"},
    {PROPERTY_PREFIX_CACHE, "identity.prefix_cache", NULL, "--cache-prompt", NULL, {"on"}, "off"},
    {PROPERTY_PREFIX_CACHE, "identity.prefix_cache", NULL, "--no-cache-prompt", NULL, {"off"}, "on"},
    {PROPERTY_MAX_RUNNING, "identity.max_running", NULL, "--parallel", "4", {"4"}, "1"},
    {PROPERTY_MAX_RUNNING, "identity.max_running", NULL, "-np", "4", {"4"}, "1"},
};

static const struct engine_kind_cases {
    enum engine_kind kind;
    const char *name; /* that it gave itself */
    const struct property_case *list;
    size_t n;
} kinds_tried[] = {
    {ENGINE_VLLM, NULL, of_any, sizeof of_any / sizeof *of_any},
    {ENGINE_VLLM, NULL, of_vllm, sizeof of_vllm / sizeof *of_vllm},
    {ENGINE_OPENAI, NULL, of_any, sizeof of_any / sizeof *of_any},
    {ENGINE_SGLANG, NULL, of_any, sizeof of_any / sizeof *of_any},
    {ENGINE_SGLANG, NULL, of_sglang, sizeof of_sglang / sizeof *of_sglang},
    {ENGINE_LLAMACPP, NULL, of_any, sizeof of_any / sizeof *of_any},
    {ENGINE_LLAMACPP, NULL, of_llamacpp, sizeof of_llamacpp / sizeof *of_llamacpp},
};

static enum engine_property said_as(enum engine_property property)
{
    return property == PROPERTY_SNAPSHOT ? PROPERTY_ROOT : property; /* a folder that is served from */
}

static void try_property(const struct engine_kind_cases *kind, const struct property_case *c, bool stated,
                         const char *seen, enum check_outcome wanted)
{
    struct arena a = {0};
    struct plan p;
    struct problems problems;
    const char *command[] = {"server", c->option, c->value};
    plan_defaults(&p);
    problems_init(&problems, &a, NULL);
    p.engine.kind = kind->kind;
    p.engine.command = command;
    p.engine.command_count = !stated || c->plan ? 1 : c->value ? 3 : 2;
    if (stated && c->plan)
        assert_true(schema_set_argument(&plan_schema, &p, c->plan, &problems));
    struct engine_identity id;
    engine_identity_init(&id, &a);
    id.name = kind->name;
    if (seen)
        property_found(&id, said_as(c->property), SOURCE_ANSWER, span_of(seen), "a path, a name");
    struct rec_fact *facts;
    size_t n;
    engine_identity_facts(&p, &id, 0, &facts, &n);
    assert_int_equal(n, PROPERTY_COUNT);
    const struct rec_fact *f = fact(facts, n, c->fact);
    /* Of vLLM the plan's sizes are its word: a size that a command does not state is 1. */
    bool size = c->property >= PROPERTY_TENSOR && c->property <= PROPERTY_DATA && engine_states_sizes(&p);
    if (f->outcome != wanted && !(size && !stated))
        fail_msg("%s %s %s: %s, seen %s: outcome %s", engine_kind_names[kind->kind], kind->name ? kind->name : "",
                 c->fact, stated ? "stated" : "silent", seen ? seen : "nothing", check_outcome_names[f->outcome]);
    assert_int_equal(f->seen != NULL, seen != NULL);
    assert_int_equal(f->source != NULL, seen != NULL);
    assert_int_equal(engine_identity_judge(f, 1, NULL), f->outcome != CHECK_FAILED);
    assert_non_null(engine_property_label(c->fact));
    arena_done(&a);
}

static void test_stated_and_seen(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds_tried / sizeof *kinds_tried; k++)
        for (size_t i = 0; i < kinds_tried[k].n; i++) {
            const struct property_case *c = &kinds_tried[k].list[i];
            for (size_t s = 0; s < 2 && c->same[s]; s++) {
                try_property(&kinds_tried[k], c, true, c->same[s], CHECK_PASSED);
                try_property(&kinds_tried[k], c, false, c->same[s], CHECK_NOT_STATED);
            }
            try_property(&kinds_tried[k], c, true, c->other, CHECK_FAILED);
            try_property(&kinds_tried[k], c, true, NULL, CHECK_NOT_JUDGED);
            try_property(&kinds_tried[k], c, false, NULL, CHECK_NOT_STATED);
        }
}

/* As engines and people write them (PEP 440, llama.cpp's builds). */
static void test_versions(void **state)
{
    (void)state;
    static const struct {
        const char *stated, *seen;
        bool same;
    } cases[] = {{"0.24.0", "0.24.0", true},
                 {"v0.24.0", "0.24.0", true},
                 {"0.24", "0.24.0", true},
                 {"0.24.0", "0.24", true},
                 {"0.24.0.0", "0.24", true},
                 {"0.24", "0.24.1", false},
                 {"0.24.0", "0.24.0.1", false},
                 {"0.24.1", "0.24.10", false},
                 {"0.5.1", "0.5.16", false},
                 {"1.0", "10", false},
                 {"0.24.0", "0.24.0+cu130", true},
                 {"0.24.0+cu130", "0.24.0+cu130", true},
                 {"0.24.0+cu130", "0.24.0+cu129", false},
                 {"0.24.0+cu130", "0.24.0", false},
                 {"0.24.0rc1", "0.24.0", false},
                 {"0.24.0", "0.24.0rc1", false},
                 {"0.24.0rc1", "0.24.0-rc1", true},
                 {"0.24rc1", "0.24.0.RC1", true},
                 {"0.24.0rc1", "0.24.0rc2", false},
                 {"0.5.16", "0.5.16.post1", false},
                 {"0.5.16.post1", "0.5.16.post1", true},
                 {"0.24.1.dev7", "0.24.1", false},
                 {"0.24.1.dev7", "0.24.1.dev7+g1a2b3c4d5", true},
                 {"0.24.1.dev7+g1a2b3c4d5", "0.24.1.dev7+g1a2b3c4d5.d20261201", false},
                 {"b9465", "b9465-1a2b3c4d5", true},
                 {"9465", "b9465-1a2b3c4d5", true},
                 {"b9465", "b9466-1a2b3c4d5", false},
                 {"b9465-1a2b3c4d5", "b9465-ffffffff5", false},
                 {"0.24.0", "0.24.0-simulated", false},
                 {"", "", true},
                 {"", "0", true},
                 {"", "1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (version_same(cases[i].stated, cases[i].seen) != cases[i].same)
            fail_msg("'%s' and '%s'", cases[i].stated, cases[i].seen);
}

/* SGLang 0.5.16 as recorded: what its output and its paths say, each with its place. */
static void test_recorded_sglang(void **state)
{
    (void)state;
    if (access(JTOK_SHARED "/h200", R_OK) != 0)
        skip();
    struct arena a = {0};
    struct plan p;
    struct engine_identity id;
    plan_defaults(&p);
    p.engine.kind = ENGINE_OPENAI;
    engine_identity_init(&id, &a);
    read_log(&p, &id, JTOK_SHARED "/h200/sglang-0.5.16/engine.log");
    read_answer(&p, &id, JTOK_SHARED "/h200/sglang-0.5.16/http/get_v1_models.body", true);
    static const char *const answers[] = {NULL, "get_model_info.body", "get_v1_loads.body"};
    for (size_t i = 1; i < 3; i++) {
        struct buf b = {0};
        struct err e = {0};
        const char *older, *path = engine_question(&p, &id, i, &older);
        assert_ok(file_read(arena_format(&a, JTOK_SHARED "/h200/sglang-0.5.16/http/%s", answers[i]), 1 << 20, &b, &e),
                  e);
        assert_ok(engine_read_answer(&p, &id, i, path, 200, buf_span(&b), &e), e);
        buf_done(&b);
    }
    static const struct {
        enum engine_property property;
        const char *value, *source;
    } seen[] = {{PROPERTY_MODEL, "jtok/llama-8b-shape", "/v1/models, id"},
                {PROPERTY_VERSION, "0.5.16", "/v1/loads, version"},
                {PROPERTY_CONTEXT, "8192", "/v1/models, max_model_len"},
                {PROPERTY_TENSOR, "1", "output, tp_size"},
                {PROPERTY_PIPELINE, "1", "output, pp_size"},
                {PROPERTY_DATA, "1", "output, dp_size"},
                {PROPERTY_EXPERT, "1", "output, ep_size"},
                {PROPERTY_DTYPE, NULL, NULL},        /* "auto" */
                {PROPERTY_QUANTIZATION, NULL, NULL}, /* None is what was asked of it */
                {PROPERTY_KV_DTYPE, "torch.bfloat16", "output"},
                {PROPERTY_ATTENTION, "triton", "output, attention_backend"},
                {PROPERTY_PREFIX_CACHE, "on", "output, disable_radix_cache"},
                {PROPERTY_CHUNKED_PREFILL, "on", "output, chunked_prefill_size"},
                {PROPERTY_MAX_RUNNING, "4096", "/v1/loads, loads.max_running_requests"},
                {PROPERTY_REVISION, NULL, NULL}};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        const struct engine_finding *f = &id.found[seen[i].property];
        assert_int_equal(f->value != NULL, seen[i].value != NULL);
        if (f->value && (strcmp(f->value, seen[i].value) != 0 || strcmp(f->source, seen[i].source) != 0))
            fail_msg("%zu: %s (%s)", i, f->value, f->source);
    }
    arena_done(&a);
}

/* Answers of a server that means no good: nothing is taken of them, and nothing breaks. */
static void test_hostile_answers(void **state)
{
    (void)state;
    struct arena a = {0};
    struct buf deep = {0}, many = {0}, keys = {0};
    for (int i = 0; i < 100000; i++)
        buf_str(&deep, "{\"a\":[");
    buf_str(&many, "{\"data\":[");
    for (int i = 0; i < 100000; i++)
        buf_fmt(&many, "%s{\"id\":\"model-%d\"}", i ? "," : "", i);
    buf_str(&many, "]}");
    buf_str(&keys, "{\"");
    for (int i = 0; i < 100000; i++)
        buf_str(&keys, "tp_size.");
    buf_str(&keys, "\":{\"tp_size\":3},\"tp_size\":[[[[2]]],{\"tp_size\":9}]}");
    static const char zeros[] = "{\"version\":\"0.2\0004\"}";
    static const char words[] = "{\"version\":\"\\u0000\\ud800\\u001b[31m\",\"version\":{\"version\":\"7\"}}";
    const struct span bodies[] = {buf_span(&deep),
                                  buf_span(&keys),
                                  {zeros, sizeof zeros - 1},
                                  span_of(words),
                                  span_of("[]"),
                                  span_of("\"version\""),
                                  span_of(""),
                                  span_of("{\"version\":\"1\"} x"),
                                  span_of("{\"version\":\"1\""),
                                  span_of("\x7f\x45LF\x02\x01")};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        for (int kind = 0; kind < 2; kind++)
            for (size_t q = 0; q < (kind ? 3U : 1U); q++) {
                struct plan p;
                struct engine_identity id;
                struct err e = {0};
                plan_defaults(&p);
                p.engine.kind = kind ? ENGINE_OPENAI : ENGINE_VLLM;
                engine_identity_init(&id, &a);
                id.name = kind ? "sglang" : NULL;
                bool taken = engine_read_answer(&p, &id, q, "/x", 200, bodies[i], &e);
                assert_true(taken || (e.kind == ERR_ENGINE && strstr(e.text, "Is another server")));
                assert_true(!engine_says(&id, PROPERTY_VERSION) || (q != 1 && i == 3));
            }
    struct plan p;
    struct engine_identity id;
    struct err e = {0};
    plan_defaults(&p);
    p.engine.served_model = "model-99999";
    engine_identity_init(&id, &a);
    assert_ok(engine_read_models(&p, &id, 200, buf_span(&many), &e), e);
    assert_string_equal(id.model, "model-99999");
    assert_true(strlen(id.models) < 400);
    assert_true(a.used_bytes < (32 << 20));
    buf_done(&deep);
    buf_done(&many);
    buf_done(&keys);
    arena_done(&a);
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
        cmocka_unit_test(test_models_answer),   cmocka_unit_test(test_quantized_checkpoint),
        cmocka_unit_test(test_quantized),       cmocka_unit_test(test_stated_and_seen),
        cmocka_unit_test(test_versions),        cmocka_unit_test(test_recorded_sglang),
        cmocka_unit_test(test_hostile_answers), cmocka_unit_test(test_image),
        cmocka_unit_test(test_health),          cmocka_unit_test(test_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
