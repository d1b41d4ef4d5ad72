/* Command lines, launches. */
#include "check.h"

#include <stdlib.h>
#include "engine/engine.h"

#define COMMAND(...)                                                                                                   \
    .command = (const char *[]){__VA_ARGS__}, .command_count = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)

static struct plan plan_of(struct plan_engine g)
{
    struct plan p;
    plan_defaults(&p);
    p.engine.kind = g.kind;
    p.engine.command = g.command;
    p.engine.command_count = g.command_count;
    return p;
}

static struct plan completed(struct plan p, struct arena *a)
{
    struct err e = {0};
    assert_ok(engine_complete_plan(&p, a, &e), e);
    return p;
}

static void test_reads_a_vllm_command(void **state)
{
    (void)state;
    struct arena a = {0};
    struct plan p = plan_of((struct plan_engine){
        COMMAND("vllm", "serve",
                "/data/models--meta-llama--Llama-3.1-8B-Instruct/snapshots/0123456789abcdef0123456789abcdef01234567",
                "--served-model-name", "llama", "also", "--port=8123", "--host", "127.0.0.2", "--max_model_len", "8k",
                "-tp", "2", "-pp=3", "--data-parallel-size=4", "--dtype", "bfloat16", "--no-enable-prefix-caching")});
    p = completed(p, &a);
    assert_string_equal(p.model.id, "meta-llama/Llama-3.1-8B-Instruct");
    assert_string_equal(p.model.revision, "0123456789abcdef0123456789abcdef01234567");
    assert_string_equal(p.model.snapshot, p.engine.command[2]);
    assert_string_equal(p.model.precision, "bf16");
    assert_string_equal(p.engine.served_model, "llama");
    assert_string_equal(p.engine.host, "127.0.0.2");
    assert_int_equal(p.engine.port, 8123);
    assert_int_equal(p.engine.context_length, 8000);
    assert_int_equal(p.engine.tensor_parallel, 2);
    assert_int_equal(p.engine.pipeline_parallel, 3);
    assert_int_equal(p.engine.data_parallel, 4);
    assert_int_equal(engine_prefix_cache_argument(&p), 0);
    assert_false(engine_port_is_free(&p));
    arena_done(&a);
}

static void test_a_repository_is_enough(void **state)
{
    (void)state;
    struct arena a = {0};
    struct plan p = completed(plan_of((struct plan_engine){COMMAND(
                                  "vllm", "serve", "org/model", "--max-model-len", "32K", "--quantization=awq_marlin",
                                  "--tensor-parallel-size", "8", "--tensor-parallel-size", "2")}),
                              &a);
    assert_string_equal(p.model.id, "org/model");
    assert_string_equal(p.engine.served_model, "org/model");
    assert_string_equal(p.engine.host, "127.0.0.1");
    assert_string_equal(p.model.precision, "awq");
    assert_null(p.model.snapshot);
    assert_null(p.model.revision);
    assert_int_equal(p.engine.port, 0);
    assert_true(engine_port_is_free(&p));
    assert_int_equal(p.engine.context_length, 32768);
    assert_int_equal(p.engine.tensor_parallel, 2); /* the last counts */
    assert_int_equal(p.engine.data_parallel, 1);
    assert_int_equal(engine_prefix_cache_argument(&p), -1);

    /* As a module, without `serve`, on all addresses. */
    p = completed(plan_of((struct plan_engine){COMMAND("python3", "-m", "vllm.entrypoints.openai.api_server", "--model",
                                                       "org/model", "--host", "0.0.0.0", "--dtype=auto")}),
                  &a);
    assert_string_equal(p.model.id, "org/model");
    assert_string_equal(p.engine.host, "127.0.0.1");
    assert_null(p.model.precision);
    arena_done(&a);
}

static void test_the_plan_stands(void **state)
{
    (void)state;
    struct arena a = {0};
    struct plan p = plan_of((struct plan_engine){
        COMMAND("vllm", "serve", "/srv/model", "--served-model-name", "a", "b", "--dtype", "half")});
    p.model.id = "org/model";
    p.model.precision = "fp16";
    p.engine.served_model = "b"; /* one of the names is enough */
    p = completed(p, &a);
    assert_string_equal(p.model.id, "org/model");
    assert_string_equal(p.engine.served_model, "b");
    assert_string_equal(p.model.precision, "fp16");
    arena_done(&a);
}

static void refuses(struct plan p, const char *text)
{
    struct arena a = {0};
    struct err e = {0};
    assert_false(engine_complete_plan(&p, &a, &e));
    assert_string_equal(e.text, text);
    assert_int_equal(e.kind, ERR_PLAN);
    arena_done(&a);
}

static void test_contradictions(void **state)
{
    (void)state;
    struct plan p =
        plan_of((struct plan_engine){COMMAND("vllm", "serve", "org/model", "--port", "8000", "--max-model-len", "4096",
                                             "-tp", "2", "--served-model-name", "m")});
    p.engine.port = 9000;
    refuses(p, "The plan says engine.port: 9000, but the engine's command says --port 8000. Make them agree, or leave "
               "one out.");
    p.engine.port = 8000;
    p.engine.context_length = 8192;
    refuses(p, "The plan says engine.context_length: 8192, but the engine's command says --max-model-len 4096. Make "
               "them agree, "
               "or leave one out.");
    p.engine.context_length = 4096;
    p.engine.tensor_parallel = 4;
    refuses(p, "The plan says engine.tensor_parallel: 4, but the engine's command says --tensor-parallel-size 2. Make "
               "them agree, "
               "or leave one out.");
    p.engine.tensor_parallel = 2;
    p.engine.served_model = "other";
    refuses(p, "The plan says engine.served_model: other, but the engine's command says --served-model-name m. Make "
               "them agree, or "
               "leave one out.");
    p.engine.served_model = "m";
    p.model.id = "org/other";
    refuses(p, "The plan says model.id: org/other, but the engine's command says the model org/model. Make them agree, "
               "or leave one "
               "out.");
    p.engine.command_count = 0;
    refuses(p, "The plan has no command that starts the engine. Write it after --, as in `jtok run -- vllm serve "
               "MODEL`, or set "
               "engine.command.");
}

static const char *const inherited[] = {
    "HOME=/home/u",  "PATH=/bin", "http_proxy=http://proxy", "CUDA_VISIBLE_DEVICES=7", "HF_HUB_OFFLINE=0",
    "PATH=/usr/bin", NULL};

static const char *env_of(const struct engine_launch *l, const char *name)
{
    const char *found = NULL;
    size_t n = strlen(name);
    for (size_t i = 0; i < l->env_count; i++)
        if (strncmp(l->env[i], name, n) == 0 && l->env[i][n] == '=') {
            assert_null(found); /* each once */
            found = l->env[i] + n + 1;
        }
    assert_null(l->env[l->env_count]);
    return found;
}

static void test_launch_of_vllm(void **state)
{
    (void)state;
    struct arena a = {0};
    struct err e = {0};
    struct plan p = completed(plan_of((struct plan_engine){COMMAND("vllm", "serve", "org/model")}), &a);
    p.engine.port = 4321;
    p.engine.env = (struct field_pair[]){{"VLLM_LOGGING_LEVEL", "DEBUG"}, {"PATH", "/opt/bin"}};
    p.engine.env_count = 2;
    struct engine_site site = {.cache_folder = "/run/7/cache",
                               .environment = inherited,
                               .gpu_variables = (struct field_pair[]){{"CUDA_VISIBLE_DEVICES", "GPU-aaa,GPU-bbb"},
                                                                      {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}},
                               .gpu_variable_count = 2};
    struct engine_launch l;
    assert_ok(engine_launch_make(&p, &site, &a, &l, &e), e);
    const char *argv[] = {"vllm",   "serve", "org/model",           "--host",    "127.0.0.1",
                          "--port", "4321",  "--served-model-name", "org/model", NULL};
    for (size_t i = 0; argv[i]; i++)
        assert_string_equal(l.argv[i], argv[i]);
    assert_int_equal(l.argc, 9);
    assert_null(l.argv[9]);
    assert_string_equal(env_of(&l, "CUDA_VISIBLE_DEVICES"), "GPU-aaa,GPU-bbb");
    assert_string_equal(env_of(&l, "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
    assert_string_equal(env_of(&l, "HF_HUB_OFFLINE"), "1");
    assert_string_equal(env_of(&l, "TRANSFORMERS_OFFLINE"), "1");
    assert_string_equal(env_of(&l, "VLLM_NO_USAGE_STATS"), "1");
    assert_string_equal(env_of(&l, "DO_NOT_TRACK"), "1");
    assert_string_equal(env_of(&l, "PATH"), "/opt/bin");
    assert_string_equal(env_of(&l, "VLLM_LOGGING_LEVEL"), "DEBUG");
    assert_string_equal(env_of(&l, "HOME"), "/home/u");
    assert_null(env_of(&l, "http_proxy"));
    /* METHOD's eight cold folders; the models' cache stays where it was although XDG_CACHE_HOME moves. */
    const char *const names[] = {"VLLM_CACHE_ROOT",  "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR",
                                 "XDG_CACHE_HOME",   "CUDA_CACHE_PATH",         "FLASHINFER_WORKSPACE_BASE",
                                 "SGLANG_CACHE_DIR", "TVM_FFI_CACHE_DIR"};
    for (size_t i = 0; i < 8; i++) {
        size_t at = 0;
        assert_memory_equal(env_of(&l, names[i]), "/run/7/cache/", 13);
        while (l.cache_folders[at] && strcmp(l.cache_folders[at], env_of(&l, names[i])) != 0)
            at++;
        assert_non_null(l.cache_folders[at]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(env_of(&l, names[i]), env_of(&l, names[k]));
    }
    for (size_t i = 0; l.cache_folders[i]; i++) /* those of other engines, too */
        assert_memory_equal(l.cache_folders[i], "/run/7/cache/", 13);
    assert_string_equal(env_of(&l, "HF_HOME"), "/home/u/.cache/huggingface");

    p.engine.env = (struct field_pair[]){{"CUDA_VISIBLE_DEVICES", "0"}};
    p.engine.env_count = 1;
    assert_false(engine_launch_make(&p, &site, &a, &l, &e));
    assert_string_equal(
        e.text, "engine.env sets CUDA_VISIBLE_DEVICES, which jtok sets itself: the run's GPUs are those of the plan "
                "(gpus). Take it out of the plan.");
    p.engine.env = (struct field_pair[]){{"HF_HUB_OFFLINE", "0"}};
    assert_false(engine_launch_make(&p, &site, &a, &l, &e));
    assert_string_equal(
        e.text, "engine.env sets HF_HUB_OFFLINE, which jtok sets itself: downloads during a start would be measured "
                "as its energy. Take it out of the plan.");
    p.engine.env = (struct field_pair[]){{"TRITON_CACHE_DIR", "/warm"}};
    assert_false(engine_launch_make(&p, &site, &a, &l, &e));
    assert_string_equal(
        e.text, "engine.env sets TRITON_CACHE_DIR, which jtok sets itself: each run starts cold, with compile caches "
                "of its own. Take it out of the plan.");
    arena_done(&a);
}

static void test_launch_keeps_what_the_user_wrote(void **state)
{
    (void)state;
    struct arena a = {0};
    struct err e = {0};
    struct plan p = plan_of((struct plan_engine){
        COMMAND("vllm", "serve", "/srv/m", "--port", "{port}", "--host=127.0.0.1", "--served-model-name", "m")});
    assert_true(engine_port_is_free(&p));
    p = completed(p, &a);
    p.engine.port = 4321;
    struct engine_site site = {.environment = NULL};
    struct engine_launch l;
    assert_ok(engine_launch_make(&p, &site, &a, &l, &e), e);
    assert_int_equal(l.argc, 8);
    assert_string_equal(l.argv[4], "4321");

    /* Any server: placeholders and nothing else. */
    p = plan_of((struct plan_engine){
        .kind = ENGINE_OPENAI,
        COMMAND("my-server", "-l", "{host}:{port}", "--alias={model}", "{\"a\":1}", "{snapshot}")});
    p.model.id = "org/model";
    assert_true(engine_port_is_free(&p));
    p = completed(p, &a);
    p.engine.port = 4321;
    assert_false(engine_launch_make(&p, &site, &a, &l, &e));
    assert_string_equal(
        e.text, "The engine's command uses {snapshot}, but the plan doesn't say what that is. Set model.snapshot.");
    p.model.snapshot = "/srv/m";
    assert_ok(engine_launch_make(&p, &site, &a, &l, &e), e);
    const char *argv[] = {"my-server", "-l", "127.0.0.1:4321", "--alias=org/model", "{\"a\":1}", "/srv/m"};
    assert_int_equal(l.argc, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(l.argv[i], argv[i]);
    arena_done(&a);
}

/* The last of several folders that look like the hub's is the hub's. */
static void names_of_the_hub(void **state)
{
    (void)state;
#define COMMIT "0123456789abcdef0123456789abcdef01234567"
    static const struct {
        const char *path, *id, *revision;
    } cases[] = {{"/x/models--org--name/snapshots/" COMMIT, "org/name", COMMIT},
                 {"/snapshots/daily/models--org--name/snapshots/" COMMIT "/sub", "org/name", COMMIT},
                 {"/models--backup/hub/models--org--name/snapshots/" COMMIT, "org/name", COMMIT},
                 {"/x/models--org--name/snapshots/main", "org/name", NULL},
                 {"/x/snapshots/models--org--name", NULL, NULL},
                 {"/srv/model", NULL, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        const char *id = hub_model_id(cases[i].path, &a), *revision = snapshot_revision(cases[i].path, &a);
        if (cases[i].id ? !id || strcmp(id, cases[i].id) != 0 : id != NULL)
            fail_msg("%s: %s", cases[i].path, id ? id : "no id");
        if (cases[i].revision ? !revision || strcmp(revision, cases[i].revision) != 0 : revision != NULL)
            fail_msg("%s: %s", cases[i].path, revision ? revision : "no revision");
        arena_done(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_a_vllm_command), cmocka_unit_test(test_a_repository_is_enough),
        cmocka_unit_test(test_the_plan_stands),      cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_launch_of_vllm),       cmocka_unit_test(test_launch_keeps_what_the_user_wrote),
        cmocka_unit_test(names_of_the_hub),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
