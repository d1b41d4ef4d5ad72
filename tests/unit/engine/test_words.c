/* Commands as people write them: which engine they start, and the odd forms of its options. */
#include "check.h"

#include "engine/table.h"
#include "words_plan.h"

enum { WORDS = 24 };

/* In front of an engine's own words stand any that start it, also with options that it has itself. */
static const char *const in_front[][8] = {
    {NULL},
    {"env", "HF_HOME=/x", NULL},
    {"numactl", "-N", "0", "-m", "0", NULL},
    {"taskset", "-c", "0-15", NULL},
    {"nice", "-n", "5", "stdbuf", "-oL", NULL},
    {"nohup", NULL},
};

static const struct {
    const char *kind, *words[WORDS];
    size_t named; /* the word that tells it */
} starts[] = {
    {"vllm", {"vllm", "serve", "org/m"}, 0},
    {"vllm", {"/opt/venv/bin/vllm", "serve", "org/m"}, 0},
    {"vllm", {"python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "org/m"}, 2},
    {"vllm", {"python", "-mvllm.entrypoints.openai.api_server", "--model", "org/m"}, 1},
    {"vllm", {"python", "/site/vllm/entrypoints/openai/api_server.py", "--model=org/m"}, 1},
    {"sglang", {"sglang", "serve", "--model-path", "org/m"}, 0},
    {"sglang", {"python3", "-m", "sglang.launch_server", "--model-path", "org/m"}, 2},
    {"sglang", {"/usr/bin/python3.12", "-u", "-m", "sglang.launch_server", "--model", "org/m"}, 3},
    {"sglang", {"python3", "-m", "sglang", "serve", "--model-path", "org/m"}, 2},
    {"vllm", {"python3", "-um", "vllm.entrypoints.openai.api_server", "--model", "org/m"}, 2},
    {"sglang", {"python3", "-OBmsglang.launch_server", "--model", "org/m"}, 1},
    {"vllm", {"vllm", "serve", "--port", "8000", "--trust-remote-code", "org/m"}, 0},
    {"vllm", {"vllm", "serve", "--port=8000", "org/m", "--x", "y"}, 0},
    {"llamacpp", {"./build/bin/llama-server", "-hf", "org/m:latest", "--port", "1"}, 0},
};

static struct plan in_front_of(size_t front, const char *const *words, const char *ret_words[2 * WORDS])
{
    size_t n = 0;
    for (const char *const *w = in_front[front]; *w; w++)
        ret_words[n++] = *w;
    for (; *words; words++)
        ret_words[n++] = *words;
    ret_words[n] = NULL;
    return words_plan(ret_words);
}

static const char *quoted(const char *const *words, struct arena *a)
{
    const char *text = "exec";
    for (; *words; words++)
        text = arena_format(a, "%s '%s'", text, *words);
    return text;
}

static void engines_are_found_behind_what_starts_them(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++)
        for (size_t f = 0; f < sizeof in_front / sizeof *in_front; f++) {
            struct arena a = {0};
            struct err e = {0};
            const char *words[2 * WORDS];
            struct plan p = in_front_of(f, starts[s].words, words);
            assert_ok(engine_complete_plan(&p, &a, &e), e);
            assert_string_equal(plan_engine_name(&p), starts[s].kind);
            assert_string_equal(p.model.id, "org/m");
            /* The same in a shell's text, also of a shell in a shell; jtok can't add to it. */
            const char *inner[] = {"bash", "-o", "pipefail", "-lc", quoted(words, &a), NULL};
            const char *outer[] = {"/bin/sh", "-c", quoted(inner, &a), NULL};
            for (int nested = 0; nested < 2; nested++) {
                p = words_plan(nested ? outer : inner);
                assert_ok(engine_complete_plan(&p, &a, &e), e);
                if (strcmp(plan_engine_name(&p), starts[s].kind) != 0 || strcmp(p.model.id, "org/m") != 0)
                    fail_msg("%s: %s, %s", inner[4], plan_engine_name(&p), p.model.id);
                assert_false(engine_port_is_free(&p));
            }
            arena_done(&a);
        }
}

/* Of a shell's text the command that starts an engine counts, without what a shell does with its streams; and of it
 * what the shell itself puts in. */
static void a_shells_text_is_read_as_a_shell_does(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS];
        int64_t port, tensor;
        const char *served;
    } cases[] = {
        {{"sh", "-c", "vllm serve org/m --port 8000; echo --port 9"}, 8000, 1, "org/m"},
        {{"sh", "-c", "echo --port 9 && vllm serve org/m --port 8000|tee x --port 7"}, 8000, 1, "org/m"},
        {{"sh", "-c", "vllm serve org/m -tp 2&\n./wait --port 9"}, 0, 2, "org/m"},
        {{"sh", "-c", "vllm serve org/m \\\n  -tp 2 \\\n--port 8000"}, 8000, 2, "org/m"},
        {{"sh", "-c", "vllm serve org/m --served-model-name a > log 2>&1 < /dev/null"}, 0, 1, "a"},
        {{"sh", "-c", "vllm serve org/m 2>log --served-model-name 'a;b'"}, 0, 1, "a;b"},
        {{"sh", "-c", "vllm serve org/m --served-model-name a\\;b &>>log"}, 0, 1, "a;b"},
        {{"sh", "-c", "exec \"$@\"", "sh", "vllm", "serve", "org/m", "--port", "8000"}, 8000, 1, "org/m"},
        {{"sh", "-c", "exec vllm serve \"$@\" -tp 2", "sh", "org/m", "--port", "8000"}, 8000, 2, "org/m"},
        {{"bash", "-c", "-l", "--", "vllm serve org/m -tp 2"}, 0, 2, "org/m"},
        {{"bash", "-c", "cd x; bash -c 'vllm serve org/m -tp 2; a'; b"}, 0, 2, "org/m"},
        {{"bash", "-c", "./my-server --model org/m --port 8000 | tee log"}, 8000, 1, "org/m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct plan p = words_plan(cases[i].words);
        assert_ok(engine_complete_plan(&p, &a, &e), e);
        if (p.engine.port != cases[i].port || p.engine.tensor_parallel != cases[i].tensor ||
            strcmp(p.engine.served_model, cases[i].served) != 0)
            fail_msg("case %zu: port %lld, tensor %lld, %s", i, (long long)p.engine.port,
                     (long long)p.engine.tensor_parallel, p.engine.served_model);
        arena_done(&a);
    }
}

/* What an engine is told to choose itself is nothing stated. */
static void open_formats_state_nothing(void **state)
{
    (void)state;
    static const char *const cases[][WORDS] = {
        {"vllm", "serve", "org/m", "--dtype", "auto", "--quantization", "None"},
        {"sglang", "serve", "--model-path", "org/m", "--quantization=auto", "--dtype=auto"},
        {"llama-server", "-hf", "org/m:latest"},
        {"llama-server", "-hf", "org/m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct plan p = words_plan(cases[i]);
        assert_ok(engine_complete_plan(&p, &a, &e), e);
        assert_null(p.model.precision);
        arena_done(&a);
    }
}

/* A word behind an option that the table doesn't know may be that option's: then the model is not guessed. */
static void a_model_is_not_guessed(void **state)
{
    (void)state;
    static const char *const cases[][WORDS] = {
        {"vllm", "serve", "--what", "org/m"},
        {"vllm", "serve", "--lora-modules", "a=b", "c=d"},
        {"vllm", "serve", "--served-model-name", "a", "b"},
        {"vllm", "serve", "--api-key", "a", "b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct plan p = words_plan(cases[i]);
        assert_null(command_read(&p, &a).model);
        arena_done(&a);
    }
}

static void other_commands_are_any_servers(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS];
        enum engine_kind kind;
    } cases[] = {
        {{"ollama", "serve"}, ENGINE_OPENAI},
        {{"my-server", "--name", "vllm"}, ENGINE_OPENAI},
        {{"python3", "-m", "sglang_router.launch_router"}, ENGINE_OPENAI},
        {{"vllm", "bench", "serve"}, ENGINE_OPENAI},
        {{"bash", "-c", "echo 'not closed"}, ENGINE_OPENAI},
        {{"bash", "-c"}, ENGINE_OPENAI},
        {{"bash", "serve.sh", "-c"}, ENGINE_OPENAI},
        {{"./like-vllm", "serve", "org/m", "--port", "{port}"}, ENGINE_VLLM}, /* its words, under another name */
        {{NULL}, ENGINE_OPENAI},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan p = words_plan(cases[i].words);
        if (engine_kind_of(&p) != cases[i].kind)
            fail_msg("case %zu: %s", i, engine_kind_names[engine_kind_of(&p)]);
    }
}

static void a_plans_kind_must_be_the_commands(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++)
        for (size_t k = 0; k < ENGINE_KIND_COUNT; k++) {
            struct arena a = {0};
            struct err e = {0};
            struct plan p = words_plan(starts[s].words);
            p.engine.kind = (enum engine_kind)k;
            bool good = k == ENGINE_OPENAI || strcmp(engine_kind_names[k], starts[s].kind) == 0;
            if (k == ENGINE_OPENAI)
                p.model.id = "org/m";
            assert_int_equal(engine_complete_plan(&p, &a, &e), good);
            assert_int_equal(p.engine.kind, k);
            if (!good)
                assert_string_equal(
                    e.text, arena_format(&a,
                                         "The plan says engine.kind: %s, but the engine's command starts %s "
                                         "(%s). Make them agree, or leave engine.kind out.",
                                         engine_kind_names[k], starts[s].kind, starts[s].words[starts[s].named]));
            arena_done(&a);
        }
}

/* Each spelling of an option with a number, in each form in which a parser of its kind takes it. */
static void options_are_read_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *start, *next, *options[8];
    } engines[] = {
        {"vllm",
         "serve",
         {"--tensor-parallel-size", "-tp", "--tensor-parallel", "--tensor_parallel_size", "--tensor-p"}},
        {"sglang", "serve", {"--tensor-parallel-size", "--tp-size", "--tp", "--tp_size", "--tensor-par"}},
    };
    for (size_t g = 0; g < sizeof engines / sizeof *engines; g++)
        for (const char *const *o = engines[g].options; *o; o++) {
            struct arena a = {0};
            const char *forms[][3] = {{*o, "2", NULL},
                                      {arena_format(&a, "%s=2", *o), NULL, NULL},
                                      {(*o)[1] == '-' ? *o : arena_format(&a, "%s2", *o), NULL, NULL}};
            if ((*o)[1] == '-')
                forms[2][1] = "2";
            for (size_t f = 0; f < 3; f++) {
                const char *words[] = {engines[g].start, engines[g].next, "--model", "org/m", "--x", "1",
                                       forms[f][0],      forms[f][1],     NULL};
                struct plan p = words_plan(words);
                struct err e = {0};
                assert_ok(engine_complete_plan(&p, &a, &e), e);
                if (p.engine.tensor_parallel != 2)
                    fail_msg("%s %s: %lld", forms[f][0], forms[f][1] ? forms[f][1] : "",
                             (long long)p.engine.tensor_parallel);
            }
            arena_done(&a);
        }
}

/* What only begins like an option, or is another's value, sets nothing. */
static void other_words_set_nothing(void **state)
{
    (void)state;
    static const char *const cases[][WORDS] = {
        {"vllm", "serve", "org/m", "--tensor-parallel-size-x", "2"},
        {"vllm", "serve", "org/m", "-tp=x"},
        {"vllm", "serve", "org/m", "-tpx2"},
        {"vllm", "serve", "org/m", "--t", "2"},
        {"vllm", "serve", "org/m", "-tp", "$N"},
        {"numactl", "-tp", "2", "vllm", "serve", "org/m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct plan p = words_plan(cases[i]);
        assert_ok(engine_complete_plan(&p, &a, &e), e);
        if (p.engine.tensor_parallel != 1)
            fail_msg("case %zu: %lld", i, (long long)p.engine.tensor_parallel);
        arena_done(&a);
    }
}

/* In a variable of the plan as in the command: an engine may take its address from there alone. */
static void placeholders_are_filled_in_variables(void **state)
{
    (void)state;
    static const struct {
        const char *value, *filled; /* null: an error */
    } cases[] = {{"{host}:{port}", "127.0.0.1:4321"},
                 {"{port}", "4321"},
                 {"x{model}y", "xorg/my"},
                 {"{\"a\": 1}", "{\"a\": 1}"},
                 {"{other}", "{other}"},
                 {"{snapshot}", NULL},
                 {"", ""}};
    static const char *const words[] = {"my-server", NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct plan p = words_plan(words);
        p.model.id = "org/m";
        p.engine.env = (struct field_pair[]){{"ADDRESS", cases[i].value}};
        p.engine.env_count = 1;
        assert_ok(engine_complete_plan(&p, &a, &e), e);
        assert_int_equal(engine_port_is_free(&p), strstr(cases[i].value, "{port}") != NULL);
        p.engine.port = 4321;
        struct engine_launch l;
        assert_int_equal(engine_launch_make(&p, &(struct engine_site){0}, &a, &l, &e), cases[i].filled != NULL);
        if (!cases[i].filled)
            assert_string_equal(e.text, "The variable ADDRESS of engine.env uses {snapshot}, but the plan doesn't say "
                                        "what that is. Set model.snapshot.");
        for (size_t v = 0; cases[i].filled && v < l.env_count; v++)
            if (strncmp(l.env[v], "ADDRESS=", 8) == 0)
                assert_string_equal(l.env[v] + 8, cases[i].filled);
        arena_done(&a);
    }
}

/* Folders that hold models stay where they were when the caches of compiled code move; a user's own word stands. */
static void models_are_found_where_they_were(void **state)
{
    (void)state;
    static const struct {
        const char *environment[4], *folder; /* null: nothing can be said */
    } cases[] = {
        {{"HOME=/home/u"}, "/home/u/.cache"},
        {{"HOME=/home/u", "XDG_CACHE_HOME=/data/c"}, "/data/c"},
        {{"HOME=/home/u", "XDG_CACHE_HOME="}, "/home/u/.cache"},
        {{"X=1"}, NULL},
    };
    static const char *const names[][2] = {
        {"HF_HOME", "huggingface"}, {"TORCH_HOME", "torch"}, {"UV_CACHE_DIR", "uv"}, {"PIP_CACHE_DIR", "pip"}};
    static const char *const words[] = {"my-server", NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 4; k++)
            for (int own = 0; own < 2; own++) {
                struct arena a = {0};
                struct err e = {0};
                struct plan p = words_plan(words);
                p.model.id = "org/m";
                assert_ok(engine_complete_plan(&p, &a, &e), e);
                p.engine.port = 1;
                const char *environment[] = {own ? arena_format(&a, "%s=/own", names[k][0]) : "Y=1",
                                             cases[i].environment[0], cases[i].environment[1], NULL};
                struct engine_site site = {.cache_folder = "/run", .environment = environment};
                struct engine_launch l;
                assert_ok(engine_launch_make(&p, &site, &a, &l, &e), e);
                const char *seen = NULL;
                for (size_t v = 0; v < l.env_count; v++)
                    if (strncmp(l.env[v], names[k][0], strlen(names[k][0])) == 0)
                        seen = strchr(l.env[v], '=') + 1;
                const char *wanted = own               ? "/own"
                                     : cases[i].folder ? arena_format(&a, "%s/%s", cases[i].folder, names[k][1])
                                                       : NULL;
                if (wanted ? !seen || strcmp(seen, wanted) != 0 : seen != NULL)
                    fail_msg("%s: %s, not %s", names[k][0], seen ? seen : "nothing", wanted ? wanted : "nothing");
                arena_done(&a);
            }
}

/* A model of one file is named by it, and is no folder to be hashed. */
static void a_model_may_be_one_file(void **state)
{
    (void)state;
#define COMMIT "0123456789abcdef0123456789abcdef01234567"
    static const struct {
        const char *model, *id, *snapshot, *revision;
    } cases[] = {
        {"/srv/m.gguf", "m", NULL, NULL},
        {"/srv/m-Q4_K_M.GGUF", "m-Q4_K_M", NULL, NULL},
        {"/srv/m-00001-of-00003.gguf", "m", NULL, NULL},
        {"m.gguf", "m", NULL, NULL},
        {"/h/models--org--n/snapshots/" COMMIT "/m.gguf", "org/n", NULL, COMMIT},
        {"/srv/.gguf", "/srv/.gguf", "/srv/.gguf", NULL}, /* a folder of that name */
        {"/srv/m.gguf.d", "/srv/m.gguf.d", "/srv/m.gguf.d", NULL},
        {"/srv/m", "/srv/m", "/srv/m", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        const char *words[] = {"my-server", "--model", cases[i].model, "--port", "1", NULL};
        struct plan p = words_plan(words);
        assert_ok(engine_complete_plan(&p, &a, &e), e);
        assert_string_equal(p.model.id, cases[i].id);
        const char *seen[] = {p.model.snapshot, p.model.revision}, *wanted[] = {cases[i].snapshot, cases[i].revision};
        for (size_t k = 0; k < 2; k++)
            if (wanted[k] ? !seen[k] || strcmp(seen[k], wanted[k]) != 0 : seen[k] != NULL)
                fail_msg("%s: %s", cases[i].model, seen[k] ? seen[k] : "nothing");
        arena_done(&a);
    }
}

/* A host that is a path is a Unix socket. */
static void a_host_may_be_a_socket(void **state)
{
    (void)state;
    struct arena a = {0};
    struct err e = {0};
    const char *words[] = {"my-server", "--model", "org/m", "--host", "/run/e.sock", NULL};
    struct plan p = words_plan(words);
    assert_ok(engine_complete_plan(&p, &a, &e), e);
    assert_string_equal(p.engine.host, "unix:/run/e.sock");
    p = words_plan(starts[5].words); /* SGLang, which has none */
    p.engine.host = "unix:/run/e.sock";
    assert_ok(engine_complete_plan(&p, &a, &e), e);
    assert_false(engine_launch_make(&p, &(struct engine_site){0}, &a, &(struct engine_launch){0}, &e));
    assert_string_equal(e.text, "The plan's engine.host is unix:/run/e.sock, but sglang can't listen on a Unix socket. "
                                "Give it an address, such as 127.0.0.1.");
    arena_done(&a);
}

/* Whatever says it, of each kind: why nothing may be downloaded now, and the command that does it before. */
static void offline_words_are_explained(void **state)
{
    (void)state;
    static const char *const phrases[] = {
        "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder",
        "OfflineModeIsEnabled: Cannot reach https://huggingface.co/x: offline mode is enabled.",
        "... outgoing traffic has been disabled. To enable repo look-ups and downloads online, set",
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files",
        "error: required file is not available in cache (offline mode): m.gguf",
        "pass 'local_files_only=False' as input",
    };
    static const struct {
        const char *words[6], *id, *revision, *fetch;
    } cases[] = {
        {{"vllm", "serve", "org/m"}, "org/m", NULL, "`hf download org/m`."},
        {{"vllm", "serve", "org/m"}, "org/m", "abc", "`hf download org/m --revision abc`."},
        {{"sglang", "serve", "--model-path", "org/m"}, "org/m", NULL, "`hf download org/m`."},
        {{"llama-server", "-hf", "org/m"}, "org/m", "abc", "`llama-server -hf org/m`."},
        {{"my-server"}, "m", NULL, "`hf download ORG/MODEL`."},
        {{"vllm", "serve", "/srv/m"}, "/srv/m", NULL, "`hf download ORG/MODEL`."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof phrases / sizeof *phrases; k++) {
            struct arena a = {0};
            struct plan p = words_plan(cases[i].words);
            p.model.id = cases[i].id;
            p.model.revision = cases[i].revision;
            const char *advice = engine_offline_advice(&p, phrases[k], &a);
            assert_non_null(advice);
            assert_int_equal(strncmp(advice, "jtok forbids downloads during a run", 35), 0);
            const char *fetch = strchr(advice, '`');
            assert_string_equal(fetch, cases[i].fetch);
            assert_null(engine_offline_advice(&p, "torch.OutOfMemoryError: CUDA out of memory.", &a));
            arena_done(&a);
        }
}

/* As the languages that engines are written in complain of a UUID where they read a number; other last words, and other
 * numbers, are no sign of it. */
static void numbers_that_an_engine_wants_are_explained(void **state)
{
    (void)state;
    static const char *const complaints[] = {
        "ValueError: invalid literal for int() with base 10: 'GPU-1234'",
        "terminate called after throwing an instance of 'std::invalid_argument'\n  what():  stoi: GPU-1234",
        "strconv.Atoi: parsing \"GPU-1234\": invalid syntax",
        "ParseIntError { kind: InvalidDigit }: invalid digit found in string: GPU-1234",
        "error: CUDA_VISIBLE_DEVICES must be a list of integers, not GPU-1234",
    };
    static const char *const others[] = {
        "ValueError: invalid literal for int() with base 10: 'abc'",
        "CUDA_VISIBLE_DEVICES=GPU-1234\ntorch.OutOfMemoryError: CUDA out of memory.",
        "",
    };
    struct arena a = {0};
    struct plan p = words_plan((const char *[6]){"vllm", "serve", "org/m"});
    p.gpus = (const char *[]){"GPU-9999", "GPU-1234"};
    p.gpu_count = 2;
    for (size_t i = 0; i < sizeof complaints / sizeof *complaints; i++) {
        const char *advice = engine_gpu_names_advice(&p, complaints[i], &a);
        if (!advice || !strstr(advice, "(GPU-1234)") || !strstr(advice, "Set engine.gpu_names: index."))
            fail_msg("%s: %s", complaints[i], advice ? advice : "nothing");
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_null(engine_gpu_names_advice(&p, others[i], &a));
    p.engine.gpu_names = GPU_NAMES_INDEX; /* then jtok set no UUID */
    assert_null(engine_gpu_names_advice(&p, complaints[0], &a));
    arena_done(&a);
}

/* What is in the hub's cache or is not: only what an engine that is known loads by ORG/NAME. */
static void a_model_of_the_hub_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *words[6], *revision, *model, *fetch; /* null: it is none */
        bool elsewhere;
    } cases[] = {
        {{"vllm", "serve", "org/m"}, NULL, "org/m", "hf download org/m", false},
        {{"vllm", "serve", "org/m"}, "abc", "org/m", "hf download org/m --revision abc", false},
        {{"vllm", "serve", "--model", "org/m"}, NULL, "org/m", "hf download org/m", false},
        {{"python", "-m", "sglang.launch_server", "--model-path", "org/m"}, NULL, "org/m", "hf download org/m", false},
        {{"vllm", "serve", "org/m", "--download-dir", "/x"}, NULL, "org/m", "hf download org/m", true},
        {{"env", "HF_HOME=/x", "vllm", "serve", "org/m"}, NULL, "org/m", "hf download org/m", true},
        {{"sh", "-c", "vllm serve org/m"}, NULL, NULL, NULL, false}, /* a shell may do anything before */
        {{"vllm", "serve", "org/m:Q4_K_M"}, NULL, NULL, NULL, false},
        {{"vllm", "serve", "/srv/m"}, NULL, NULL, NULL, false},
        {{"vllm", "serve", "./org/m"}, NULL, NULL, NULL, false},
        {{"vllm", "serve", "m"}, NULL, NULL, NULL, false},
        {{"vllm", "serve", "s3://bucket/m"}, NULL, NULL, NULL, false},
        {{"llama-server", "-hf", "org/m"}, NULL, NULL, NULL, false}, /* a cache of its own */
        {{"my-server", "org/m"}, NULL, NULL, NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct plan p = words_plan(cases[i].words);
        const char *fetch = NULL;
        p.model.revision = cases[i].revision;
        const char *model = engine_hub_model(&p, &a, &fetch);
        if ((model == NULL) != (cases[i].model == NULL))
            fail_msg("case %zu: %s", i, model ? model : "none");
        if (model) {
            assert_string_equal(model, cases[i].model);
            assert_string_equal(fetch, cases[i].fetch);
            assert_int_equal(engine_loads_elsewhere(&p, &a), cases[i].elsewhere);
        }
        arena_done(&a);
    }
}

static void gpus_are_counted_from_the_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *words[12];
        int64_t gpus;
    } cases[] = {
        {{"vllm", "serve", "org/m"}, 1},
        {{"vllm", "serve", "org/m", "-tp", "2", "-pp", "3", "-dp=4"}, 24},
        {{"sglang", "serve", "--model-path", "org/m", "--tp", "4", "--dp", "2"}, 8},
        {{"sglang", "serve", "--model-path", "org/m", "--tp", "4", "--dp", "2", "--enable-dp-attention"}, 4},
        {{"llama-server", "-hf", "org/m"}, ABSENT_I64}, /* its layers lie where it puts them */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct plan p = words_plan(cases[i].words);
        assert_ok(engine_complete_plan(&p, &a, &e), e);
        assert_int_equal(engine_gpu_count(&p), cases[i].gpus);
        p.engine.tensor_parallel = INT64_MAX;
        assert_int_equal(engine_gpu_count(&p), ABSENT_I64);
        arena_done(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_are_found_behind_what_starts_them),
        cmocka_unit_test(a_shells_text_is_read_as_a_shell_does),
        cmocka_unit_test(open_formats_state_nothing),
        cmocka_unit_test(a_model_is_not_guessed),
        cmocka_unit_test(other_commands_are_any_servers),
        cmocka_unit_test(a_plans_kind_must_be_the_commands),
        cmocka_unit_test(options_are_read_in_every_form),
        cmocka_unit_test(other_words_set_nothing),
        cmocka_unit_test(placeholders_are_filled_in_variables),
        cmocka_unit_test(models_are_found_where_they_were),
        cmocka_unit_test(a_model_may_be_one_file),
        cmocka_unit_test(a_host_may_be_a_socket),
        cmocka_unit_test(offline_words_are_explained),
        cmocka_unit_test(numbers_that_an_engine_wants_are_explained),
        cmocka_unit_test(a_model_of_the_hub_is_known),
        cmocka_unit_test(gpus_are_counted_from_the_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
