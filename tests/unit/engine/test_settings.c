/* One configuration in the words of each engine, and back. */
#include "check.h"

#include <string.h>
#include "engine/engine.h"
#include "schema/set.h"

static struct plan plan_of(enum engine_kind kind, const char *const *settings, struct arena *a)
{
    struct err e = {0};
    struct plan p;
    plan_defaults(&p);
    p.engine.kind = kind;
    p.model.id = "org/model";
    for (; settings && *settings; settings++)
        assert_ok(schema_set_or_err(&plan_schema, &p, arena_format(a, "engine.settings.%s", *settings), a, &e), e);
    return p;
}

static const char *command_text(const struct plan *p, struct arena *a)
{
    const char *text = "";
    for (size_t i = 0; i < p->engine.command_count; i++)
        text = arena_format(a, "%s%s%s", text, i ? " " : "", p->engine.command[i]);
    return text;
}

static size_t made(struct plan *p, struct arena *a, const char *const **ret_notes)
{
    struct err e = {0};
    size_t n = 0;
    assert_ok(engine_make_command(p, a, ret_notes, &e), e);
    while ((*ret_notes)[n])
        n++;
    return n;
}

static const char *in_force(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->engine.in_force_count; i++)
        if (strcmp(p->engine.in_force[i].name, name) == 0)
            return p->engine.in_force[i].value;
    return "nothing";
}

#define VLLM     "vllm serve org/model"
#define SGLANG   "python3 -m sglang.launch_server --model-path org/model --enable-metrics"
#define LLAMACPP "llama-server --hf-repo org/model --metrics"

/* What is added for each setting, as the versions' own help writes it; null: it can't be had. */
static const struct {
    const char *setting, *beside; /* another setting that it needs; null: none */
    const char *vllm, *sglang, *llamacpp;
} settings[] = {
    {"context_length=8192", NULL, " --max-model-len 8192", " --context-length 8192", NULL},
    {"tensor_parallel=2", NULL, " --tensor-parallel-size 2", " --tensor-parallel-size 2", NULL},
    {"pipeline_parallel=3", NULL, " --pipeline-parallel-size 3", " --pipeline-parallel-size 3", NULL},
    {"data_parallel=4", NULL, " --data-parallel-size 4", " --data-parallel-size 4", NULL},
    {"expert_parallel=1", NULL, "", " --ep-size 1", NULL},
    {"expert_parallel=2", NULL, NULL, " --ep-size 2", NULL}, /* two of one GPU */
    {"dtype=float16", NULL, " --dtype float16", " --dtype float16", NULL},
    {"dtype=bf16", NULL, " --dtype bfloat16", " --dtype bfloat16", NULL},
    {"quantization=fp8", NULL, " --quantization fp8", " --quantization fp8", NULL},
    {"kv_cache_dtype=fp8", NULL, " --kv-cache-dtype fp8_e4m3", " --kv-cache-dtype fp8_e4m3",
     " --cache-type-k fp8_e4m3 --cache-type-v fp8_e4m3"},
    {"kv_cache_dtype=bf16", NULL, " --kv-cache-dtype bfloat16", " --kv-cache-dtype bfloat16",
     " --cache-type-k bf16 --cache-type-v bf16"},
    {"memory_share=0.85", NULL, " --gpu-memory-utilization 0.85", " --mem-fraction-static 0.85", NULL},
    {"max_running=64", NULL, " --max-num-seqs 64", " --max-running-requests 64", " --parallel 64"},
    {"prefix_cache=on", NULL, " --enable-prefix-caching", "", " --cache-prompt"},
    {"prefix_cache=off", NULL, " --no-enable-prefix-caching", " --disable-radix-cache", " --no-cache-prompt"},
    {"chunked_prefill=on", NULL, " --enable-chunked-prefill", "", NULL},
    {"chunked_prefill=off", NULL, " --no-enable-chunked-prefill", " --chunked-prefill-size=-1", NULL},
    {"prefill_tokens=4096", NULL, " --max-num-batched-tokens 4096", " --chunked-prefill-size 4096",
     " --batch-size 4096"},
    {"front_ends=4", NULL, " --api-server-count 4", " --tokenizer-worker-num 4", NULL},
    {"seed=7", NULL, " --seed 7", " --random-seed 7", " --seed 7"},
    {"context_length=4096", "max_running=8", " --max-model-len 4096 --max-num-seqs 8",
     " --context-length 4096 --max-running-requests 8", " --ctx-size 32768 --parallel 8"},
    {"tensor_parallel=2", "expert_parallel=2", " --tensor-parallel-size 2 --enable-expert-parallel",
     " --tensor-parallel-size 2 --ep-size 2", NULL},
};

static const struct {
    enum engine_kind kind;
    const char *command;
} engines[] = {{ENGINE_VLLM, VLLM}, {ENGINE_SGLANG, SGLANG}, {ENGINE_LLAMACPP, LLAMACPP}};

static const char *added_of(size_t setting, size_t engine)
{
    const char *const each[] = {settings[setting].vllm, settings[setting].sglang, settings[setting].llamacpp};
    return each[engine];
}

static void each_setting_becomes_each_engines_option(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        for (size_t g = 0; g < sizeof engines / sizeof *engines; g++) {
            struct arena a = {0};
            const char *const *notes;
            struct plan p =
                plan_of(engines[g].kind, (const char *[]){settings[i].setting, settings[i].beside, NULL}, &a);
            const char *added = added_of(i, g);
            size_t n = made(&p, &a, &notes);
            if ((n == 0) != (added != NULL))
                fail_msg("%s for %s: %s", settings[i].setting, engine_kind_names[engines[g].kind],
                         n ? notes[0] : "no sentence");
            if (added)
                assert_string_equal(command_text(&p, &a), arena_format(&a, "%s%s", engines[g].command, added));
            arena_done(&a);
        }
}

/* What was made says the same again, without the settings that it was made from. */
static void a_made_command_is_read_back(void **state)
{
    (void)state;
    static const char *const same[][2] = {{"bf16", "bfloat16"}, {"fp8", "fp8_e4m3"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        for (size_t g = 0; g < sizeof engines / sizeof *engines; g++) {
            struct arena a = {0};
            const char *const *notes, *name = settings[i].setting, *value = strchr(name, '=') + 1;
            struct plan p = plan_of(engines[g].kind, (const char *[]){name, settings[i].beside, NULL}, &a);
            bool mapped = made(&p, &a, &notes) == 0;
            plan_of(engines[g].kind, NULL, &a);
            struct plan bare = plan_of(engines[g].kind, NULL, &a);
            bare.engine.command = p.engine.command;
            bare.engine.command_count = p.engine.command_count;
            engine_state_settings(&bare, &a);
            for (size_t k = 0; strncmp(name, "quant", 5) != 0 && k < 2; k++)
                value = strcmp(value, same[k][0]) == 0 ? same[k][1] : value;
            const char *seen = in_force(&bare, arena_copy(&a, name, strcspn(name, "=")));
            struct span text = engine_setting_value(seen);
            if (mapped && strncmp(text.p, value, strlen(value)) != 0)
                fail_msg("%s for %s: %s", name, engine_kind_names[engines[g].kind], seen);
            arena_done(&a);
        }
}

static void the_command_counts(void **state)
{
    (void)state;
    static const struct {
        enum engine_kind kind;
        const char *words[8], *setting, *note, *name, *in_force;
    } cases[] = {
        {ENGINE_VLLM,
         {"vllm", "serve", "m", "--max-num-seqs=32"},
         "max_running=64",
         "says 32 (--max-num-seqs)",
         "max_running",
         "32 (command)"},
        {ENGINE_VLLM,
         {"vllm", "serve", "m", "--max-num-seqs", "64"},
         "max_running=64",
         NULL,
         "max_running",
         "64 (command)"},
        {ENGINE_VLLM,
         {"vllm", "serve", "m", "--max-model-len", "8k"},
         "context_length=8000",
         NULL,
         "context_length",
         "8000 (command)"},
        {ENGINE_VLLM, {"vllm", "serve", "m", "-tp2"}, "tensor_parallel=4", "says 2", "tensor_parallel", "2 (command)"},
        {ENGINE_VLLM,
         {"vllm", "serve", "m", "--gpu-memory-utilization", "0.90"},
         "memory_share=0.9",
         NULL,
         "memory_share",
         "0.90, of the GPU for all that it uses (command)"},
        {ENGINE_VLLM,
         {"vllm", "serve", "m", "--kv-cache-dtype", "auto"},
         "kv_cache_dtype=fp8_e5m2",
         NULL,
         "kv_cache_dtype",
         "fp8_e5m2 (command)"},
        {ENGINE_VLLM,
         {"vllm", "serve", "m", "--enable-prefix-caching", "--no-enable-prefix-caching"},
         "prefix_cache=on",
         "says off",
         "prefix_cache",
         "off (command)"},
        {ENGINE_SGLANG,
         {"python", "-m", "sglang.launch_server", "--model-path", "m", "--chunked-prefill-size", "-1"},
         "chunked_prefill=on",
         "says off",
         "chunked_prefill",
         "off (command)"},
        {ENGINE_SGLANG,
         {"python", "-m", "sglang.launch_server", "--model", "m", "--tp", "4"},
         "tensor_parallel=4",
         NULL,
         "tensor_parallel",
         "4 (command)"},
        {ENGINE_SGLANG,
         {"python", "-m", "sglang.launch_server", "--model", "m", "--ep=4"},
         "expert_parallel=2",
         "says 4",
         "expert_parallel",
         "4 (command)"},
        {ENGINE_LLAMACPP,
         {"llama-server", "-m", "m.gguf", "-np", "4", "-c", "8192"},
         "max_running=2",
         "says 4",
         "context_length",
         "2048 (command)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        const char *const *notes;
        struct plan p = plan_of(cases[i].kind, (const char *[]){cases[i].setting, NULL}, &a);
        p.engine.command = (const char **)(uintptr_t)cases[i].words;
        while (p.engine.command_count < 8 && cases[i].words[p.engine.command_count])
            p.engine.command_count++;
        size_t n = made(&p, &a, &notes);
        if (n != (cases[i].note != NULL) || (n && !strstr(notes[0], cases[i].note)))
            fail_msg("case %zu: %s", i, n ? notes[0] : "no sentence");
        engine_state_settings(&p, &a);
        assert_string_equal(in_force(&p, cases[i].name), cases[i].in_force);
        arena_done(&a);
    }
}

/* A command of one's own stays as it is where nothing is set; where something is, a beginning gets the model, too. */
static void a_beginning_gets_its_model(void **state)
{
    (void)state;
    static const struct {
        enum engine_kind kind;
        const char *words[8], *setting, *made;
    } cases[] = {
        {ENGINE_VLLM, {"vllm", "serve"}, NULL, "vllm serve"},
        {ENGINE_VLLM, {"vllm", "serve"}, "seed=1", "vllm serve org/model --seed 1"},
        {ENGINE_VLLM,
         {"python3", "-m", "vllm.entrypoints.cli.main", "serve"},
         "seed=1",
         "python3 -m vllm.entrypoints.cli.main serve org/model --seed 1"},
        {ENGINE_VLLM,
         {"python3", "-m", "vllm.entrypoints.openai.api_server"},
         "seed=1",
         "python3 -m vllm.entrypoints.openai.api_server --model org/model --seed 1"},
        {ENGINE_VLLM, {"vllm", "serve", "--config", "c.yaml"}, "seed=1", "vllm serve --config c.yaml --seed 1"},
        {ENGINE_VLLM, {"vllm", "serve", "other/model"}, "seed=1", "vllm serve other/model --seed 1"},
        {ENGINE_SGLANG,
         {"numactl", "-N0", "sglang", "serve"},
         "seed=1",
         "numactl -N0 sglang serve --model-path org/model --random-seed 1"},
        {ENGINE_SGLANG,
         {"sglang", "serve", "--model-path", "m"},
         "seed=1",
         "sglang serve --model-path m --random-seed 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        const char *const *notes;
        struct plan p = plan_of(cases[i].kind, (const char *[]){cases[i].setting, NULL}, &a);
        p.engine.command = (const char **)(uintptr_t)cases[i].words;
        while (p.engine.command_count < 8 && cases[i].words[p.engine.command_count])
            p.engine.command_count++;
        made(&p, &a, &notes);
        assert_string_equal(command_text(&p, &a), cases[i].made);
        arena_done(&a);
    }
}

/* A snapshot stands before the id, and has its revision in its path; sizes of the plan itself count, too. */
static void what_a_command_is_made_of(void **state)
{
    (void)state;
    struct arena a = {0};
    const char *const *notes;
    struct plan p = plan_of(ENGINE_VLLM, NULL, &a);
    p.model.revision = "0123456789abcdef0123456789abcdef01234567";
    p.engine.tensor_parallel = 2;
    p.engine.context_length = 4096;
    assert_int_equal(made(&p, &a, &notes), 0);
    assert_string_equal(command_text(&p, &a), VLLM " --revision 0123456789abcdef0123456789abcdef01234567 "
                                                   "--max-model-len 4096 --tensor-parallel-size 2");
    p = plan_of(ENGINE_SGLANG, NULL, &a);
    p.model.snapshot = "/srv/m";
    made(&p, &a, &notes);
    assert_string_equal(command_text(&p, &a), "python3 -m sglang.launch_server --model-path /srv/m --enable-metrics");
    p = plan_of(ENGINE_LLAMACPP, NULL, &a);
    p.model.snapshot = "/srv/m.gguf";
    made(&p, &a, &notes);
    assert_string_equal(command_text(&p, &a), "llama-server --model /srv/m.gguf --metrics");
    arena_done(&a);
}

static void what_cannot_be_made_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *engine[4], *words[4], *says;
    } cases[] = {
        {{"kind=openai"}, {NULL}, "engine.kind: vllm, sglang or llamacpp"},
        {{"kind=openai", "settings.seed=1"}, {"./server"}, "jtok knows none of the kind openai"},
        {{"kind=vllm", "settings.seed=1", "version=0.11.0"}, {NULL}, "jtok knows those of 0.24.0"},
        {{"kind=vllm", "settings.seed=1"}, {"sh", "-c", "vllm serve m"}, "Write --seed 1 into that text"},
        {{"kind=vllm", "settings.tensor_parallel=2", "tensor_parallel=4"}, {NULL}, "but engine.tensor_parallel is 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        const char *const *notes;
        struct plan p = plan_of(ENGINE_VLLM, NULL, &a);
        for (size_t k = 0; k < 4 && cases[i].engine[k]; k++)
            assert_ok(schema_set_or_err(&plan_schema, &p, arena_format(&a, "engine.%s", cases[i].engine[k]), &a, &e),
                      e);
        p.engine.command = (const char **)(uintptr_t)cases[i].words;
        while (p.engine.command_count < 4 && cases[i].words[p.engine.command_count])
            p.engine.command_count++;
        assert_false(engine_make_command(&p, &a, &notes, &e));
        if (!strstr(e.text, cases[i].says))
            fail_msg("case %zu: %s", i, e.text);
        arena_done(&a);
    }
}

/* vLLM has as many front ends as copies of the model. */
static void front_ends_go_with_copies(void **state)
{
    (void)state;
    struct arena a = {0};
    const char *const *notes;
    struct plan p = plan_of(ENGINE_VLLM, (const char *[]){"data_parallel=4", NULL}, &a);
    made(&p, &a, &notes);
    engine_state_settings(&p, &a);
    assert_string_equal(in_force(&p, "front_ends"), "4 (default)");
    p = plan_of(ENGINE_SGLANG, (const char *[]){"data_parallel=4", NULL}, &a);
    made(&p, &a, &notes);
    engine_state_settings(&p, &a);
    assert_string_equal(in_force(&p, "front_ends"), "1 (default)");
    arena_done(&a);
}

/* Without a word: the default of the version that is known, and of another one nothing. */
static void defaults_are_those_of_one_version(void **state)
{
    (void)state;
    static const struct {
        enum engine_kind kind;
        const char *version, *name, *in_force;
    } cases[] = {
        {ENGINE_VLLM, NULL, "memory_share", "0.92, of the GPU for all that it uses (default)"},
        {ENGINE_VLLM, "v0.24", "seed", "0 (default)"},
        {ENGINE_VLLM, "0.24.0", "defaults_of", "vllm 0.24.0"},
        {ENGINE_VLLM, "0.25.0", "seed", "not known"},
        {ENGINE_SGLANG, NULL, "seed", "drawn anew by each start (default)"},
        {ENGINE_SGLANG, NULL, "prefix_cache", "on (default)"},
        {ENGINE_SGLANG, "0.5.17", "prefix_cache", "not known"},
        {ENGINE_LLAMACPP, NULL, "max_running", "not known"},
        {ENGINE_LLAMACPP, NULL, "front_ends", "nothing"},
        {ENGINE_OPENAI, NULL, "seed", "nothing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct plan p = plan_of(cases[i].kind, NULL, &a);
        p.engine.command = (const char *[]){"x"};
        p.engine.command_count = 1;
        p.engine.version = cases[i].version;
        engine_state_settings(&p, &a);
        assert_string_equal(in_force(&p, cases[i].name), cases[i].in_force);
        arena_done(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_becomes_each_engines_option),
        cmocka_unit_test(a_made_command_is_read_back),
        cmocka_unit_test(the_command_counts),
        cmocka_unit_test(a_beginning_gets_its_model),
        cmocka_unit_test(what_a_command_is_made_of),
        cmocka_unit_test(what_cannot_be_made_is_refused),
        cmocka_unit_test(front_ends_go_with_copies),
        cmocka_unit_test(defaults_are_those_of_one_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
