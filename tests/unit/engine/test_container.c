/* Commands of container runtimes taken apart, pinned and put together again. */
#include "check.h"

#include "engine/container.h"
#include "words_plan.h"

enum { WORDS_MAX = 40 };

#define IMAGE_ID "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define DIGEST   "sha256:2222222222222222222222222222222222222222222222222222222222222222"

static struct container_image image_of(const char **entrypoint, size_t count)
{
    static const char *digests[] = {"docker.io/vllm/vllm-openai@" DIGEST};
    return (struct container_image){
        .id = IMAGE_ID, .digests = digests, .digest_count = 1, .entrypoint = entrypoint, .entrypoint_count = count};
}

static bool make(struct plan *p, const struct container_image *image, struct arena *a, struct engine_launch *l,
                 struct err *e)
{
    static const struct field_pair gpus[] = {{"CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b"}};
    static const char *const environment[] = {"PATH=/bin", "HTTP_PROXY=http://p", "HF_TOKEN=hf_of_the_shell", NULL};
    struct engine_site site = {.cache_folder = "/runs/1/engine-cache",
                               .environment = environment,
                               .gpu_variables = gpus,
                               .gpu_variable_count = 1,
                               .id_file = "/runs/1/id",
                               .owner = 77};
    if (!container_take(p, a, e) || !container_settle(p, image, a, e))
        return false;
    p->engine.container.name = p->engine.container.name ? p->engine.container.name : "jtok-77";
    if (!engine_complete_plan(p, a, e))
        return false;
    p->engine.port = p->engine.port ? p->engine.port : 4000;
    p->gpus = (const char *[]){"GPU-a", "GPU-b"};
    p->gpu_count = 2;
    return engine_launch_make(p, &site, a, l, e);
}

static const char *joined(const char *const *words, struct arena *a)
{
    const char *text = "";
    for (; *words; words++)
        text = arena_format(a, "%s %s", text, *words);
    return text;
}

static bool has_word(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words;
}

static void a_command_as_people_write_it(void **state)
{
    (void)state;
    struct arena a = {0};
    struct err e = {0};
    struct engine_launch l;
    const char *words[] = {"docker",
                           "run",
                           "--rm",
                           "-i",
                           "--gpus",
                           "all",
                           "-v",
                           "/data/models:/models",
                           "-p",
                           "9000:8000",
                           "--ipc=host",
                           "-e",
                           "HF_TOKEN=hf_secret",
                           "--env",
                           "VLLM_USE_V1=1",
                           "--name",
                           "mine",
                           "vllm/vllm-openai:v0.24.0",
                           "--model",
                           "/models/llama",
                           "--port",
                           "8000",
                           "--tensor-parallel-size",
                           "2",
                           NULL};
    static const char *entrypoint[] = {"vllm", "serve"};
    struct plan p = words_plan(words);
    struct container_image image = image_of(entrypoint, 2);
    assert_ok(make(&p, &image, &a, &l, &e), e);
    assert_int_equal(p.engine.kind, ENGINE_VLLM);
    assert_string_equal(p.engine.image_digest, DIGEST);
    assert_string_equal(p.engine.container.image, "vllm/vllm-openai:v0.24.0");
    assert_int_equal(p.engine.port, 9000);
    assert_int_equal(p.engine.container.port, 8000);
    assert_int_equal(p.engine.tensor_parallel, 2);
    assert_string_equal(p.model.snapshot, "/data/models/llama"); /* on this machine */
    assert_int_equal(p.engine.env_count, 2);

    const char *text = joined(l.argv, &a);
    assert_non_null(strstr(text, " docker run --rm --name=mine --cidfile=/runs/1/id --label=jtok.owner=77 --pull=never "
                                 "--gpus=\"device=GPU-a,GPU-b\" "));
    assert_non_null(strstr(text, " --publish=9000:8000 --ipc=host " IMAGE_ID " --model /models/llama --port 8000 "
                                 "--tensor-parallel-size 2 --host 0.0.0.0 --served-model-name /models/llama"));
    assert_true(has_word(l.argv, "--env=HF_TOKEN")); /* by name: a command line shows its words to everybody */
    assert_null(strstr(text, "hf_secret"));
    assert_true(has_word(l.argv, "--env=HF_HUB_OFFLINE=1"));
    assert_true(has_word(l.argv, "--env=VLLM_CACHE_ROOT=/tmp/jtok-cache/vllm"));
    assert_true(has_word(l.argv, "--env=CUDA_VISIBLE_DEVICES=GPU-a,GPU-b"));
    assert_null(strstr(text, "--network"));
    assert_true(has_word(l.env, "HF_TOKEN=hf_secret"));
    assert_true(has_word(l.env, "PATH=/bin"));
    assert_false(has_word(l.env, "HTTP_PROXY=http://p"));
    assert_string_equal(joined(l.remove, &a), " docker rm --force --volumes mine");
    arena_done(&a);
}

static void the_plans_own_form(void **state)
{
    (void)state;
    struct arena a = {0};
    struct err e = {0};
    struct engine_launch l;
    const char *words[] = {"vllm", "serve", "/hub/models--o--m/snapshots/0123456789abcdef0123456789abcdef01234567",
                           NULL};
    struct plan p = words_plan(words);
    p.engine.container = (struct plan_container){.image = "vllm/vllm-openai@" DIGEST,
                                                 .runtime = RUNTIME_PODMAN,
                                                 .args = (const char *[]){"--shm-size", "16g", "-w", "/x"},
                                                 .arg_count = 4,
                                                 .port = ABSENT_I64};
    static const char *entrypoint[] = {"/opt/entry.sh"};
    struct container_image image = image_of(entrypoint, 1);
    assert_ok(make(&p, &image, &a, &l, &e), e);
    const char *text = joined(l.argv, &a);
    assert_non_null(strstr(text,
                           " podman run --rm --name=jtok-77 --cidfile=/runs/1/id --label=jtok.owner=77 --pull=never "
                           "--network=host --device=nvidia.com/gpu=GPU-a --device=nvidia.com/gpu=GPU-b "
                           "--volume=/hub/models--o--m:/hub/models--o--m:ro --env="));
    assert_non_null(
        strstr(text, " --shm-size=16g --workdir=/x --entrypoint=vllm " IMAGE_ID " serve /hub/models--o--m/"));
    assert_non_null(strstr(text, " --host 127.0.0.1 --port 4000 "));
    assert_string_equal(joined(l.remove, &a), " podman rm --force --volumes --time=0 jtok-77");
    /* The frozen plan, read again, gives the same. */
    struct plan again = p;
    struct engine_launch second;
    assert_ok(make(&again, &image, &a, &second, &e), e);
    assert_string_equal(joined(second.argv, &a), text);
    arena_done(&a);
}

/* However an option is written, it is the same. */
static void spellings(void **state)
{
    (void)state;
    static const char *forms[][WORDS_MAX] = {
        {"docker", "run", "-p", "7000:8000", "-v", "/a:/b", "img", "x", "--port", "8000"},
        {"docker", "run", "-p=7000:8000", "-v/a:/b", "img", "x", "--port", "8000"},
        {"docker", "run", "-i", "-p7000:8000", "--volume=/a:/b", "img", "x", "--port", "8000"},
        {"/usr/bin/docker", "container", "run", "--publish", "7000:8000/tcp", "--volume", "/a:/b", "img", "x", "--port",
         "8000"},
        {"docker", "--log-level", "warn", "-D", "run", "-iv", "/a:/b", "-p", "0.0.0.0:7000:8000", "img", "x", "--port",
         "8000"},
        {"podman", "--runtime", "runc", "run", "-i", "--rm=true", "-p", "7000:8000", "-v", "/a:/b", "img", "x"},
        {"docker", "run", "-p", "6000:6001", "-p", "7000:8000", "-p", "9:9/udp", "-v", "/a:/b", "img", "x",
         "--port=8000"},
        {"docker", "run", "-p", "7000:8000", "-v", "/a:/b", "--gpus", "\"device=GPU-a,GPU-b\"", "img", "x"},
        {"docker", "run", "-p", "7000:8000", "-v", "/a:/b", "--gpus=2", "--", "img", "x"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct engine_launch l;
        struct plan p = words_plan(forms[i]);
        p.model.id = "m";
        p.gpus = (const char *[]){"GPU-b", "GPU-a"};
        p.gpu_count = 2;
        struct container_image image = image_of(NULL, 0);
        assert_ok(make(&p, &image, &a, &l, &e), e);
        assert_string_equal(p.engine.container.image, "img");
        assert_int_equal(p.engine.port, 7000);
        assert_int_equal(p.engine.container.port, 8000);
        assert_string_equal(p.engine.host, "127.0.0.1");
        assert_string_equal(container_inner_path(&p, "/a/m", &a), "/b/m");
        assert_string_equal(container_outer_path(&p, "/b/m", &a), "/a/m");
        assert_null(container_outer_path(&p, "/bb/m", &a));
        assert_string_equal(p.engine.command[0], "x");
        arena_done(&a);
    }
}

static void what_can_not_be(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAX], *says;
    } cases[] = {
        {{"docker", "run", "-d", "img"}, "--detach can't be used"},
        {{"docker", "run", "-itd", "img"}, "--tty can't be used"},
        {{"docker", "run", "-P", "img"}, "--publish-all can't be used"},
        {{"docker", "run", "--cidfile", "x", "img"}, "--cidfile=x can't be used"},
        {{"docker", "run", "--rm=false", "img"}, "--rm=false can't be used"},
        {{"docker", "run", "--restart", "always", "img"}, "--restart=always can't be used"},
        {{"docker", "run", "--pull=always", "img"}, "pull the image before"},
        {{"podman", "run", "--replace", "img"}, "--replace can't be used"},
        {{"docker", "run", "--sig-proxy=false", "img", "x"}, "no signal to stop"},
        {{"docker", "run", "--gpus", "1", "img", "x"}, "leaves open which GPUs"},
        {{"docker", "run", "--rm"}, "names no image"},
        {{"docker", "-H", "tcp://far:2375", "run", "img"}, "on another machine"},
        {{"docker", "run", "--network", "none", "img", "x"}, "can't be reached in the container's network none"},
        {{"docker", "run", "--network=host", "-p", "1:2", "img", "x"}, "has no effect"},
        {{"docker", "run", "-p", "9000:9001", "img", "x", "--port", "8000"}, "Write -p HOST:8000"},
        {{"docker", "run", "-p", "8000", "img", "x"}, "Write -p HOST:8000"},
        {{"docker", "run", "-p", "1:2", "-p", "3:4", "img", "x"}, "publishes 2 ports"},
        {{"docker", "run", "-p", "1:2", "img", "x", "--port", "2", "--host", "127.0.0.1"}, "--host 0.0.0.0"},
        {{"docker", "run", "-e", "HF_HUB_OFFLINE=0", "img", "x"}, "HF_HUB_OFFLINE, which jtok sets itself"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct engine_launch l;
        struct plan p = words_plan((const char **)cases[i].words);
        p.model.id = "m";
        struct container_image image = image_of(NULL, 0);
        bool made = make(&p, &image, &a, &l, &e);
        if (made || !strstr(e.text, cases[i].says))
            print_error("%zu: %s\n", i, made ? "made" : e.text);
        assert_false(made);
        assert_non_null(strstr(e.text, cases[i].says));
        assert_int_equal(e.kind, ERR_PLAN);
        arena_done(&a);
    }
}

static void gpus_of_the_command(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAX], *gpus; /* null: all that jtok finds */
    } cases[] = {
        {{"docker", "run", "--gpus", "all", "img"}, ""}, /* the choice is jtok's, as without it */
        {{"docker", "run", "--gpus", "device=1", "img"}, "1"},
        {{"docker", "run", "--gpus", "\"device=0,3\"", "img"}, "0 3"},
        {{"docker", "run", "--gpus=driver=nvidia,\"device=GPU-x\"", "img"}, "GPU-x"},
        {{"docker", "run", "--runtime=nvidia", "-e", "NVIDIA_VISIBLE_DEVICES=2,1", "img"}, "2 1"},
        {{"podman", "run", "--device", "nvidia.com/gpu=0", "--device=nvidia.com/gpu=2", "img"}, "0 2"},
        {{"podman", "run", "--device=nvidia.com/gpu=all", "--device", "/dev/fuse", "img"}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct plan p = words_plan((const char **)cases[i].words);
        assert_ok(container_take(&p, &a, &e), e);
        const char *text = "";
        for (size_t g = 0; g < p.gpu_count; g++)
            text = arena_format(&a, "%s%s%s", text, g ? " " : "", p.gpus[g]);
        assert_string_equal(text, cases[i].gpus ? cases[i].gpus : "");
        arena_done(&a);
    }
}

static void other_commands_stay(void **state)
{
    (void)state;
    static const char *commands[][WORDS_MAX] = {{"vllm", "serve", "m"},
                                                {"docker", "compose", "up"},
                                                {"docker", "start", "x"},
                                                {"./docker-run.sh", "run"},
                                                {"bash", "-c", "docker run img"}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct plan p = words_plan(commands[i]);
        assert_ok(container_take(&p, &a, &e), e);
        assert_false(container_is_used(&p));
        assert_ptr_equal(p.engine.command, commands[i]);
        arena_done(&a);
    }
}

static void an_image_is_read(void **state)
{
    (void)state;
    static const char TEXT[] = "[{\"Id\":\"1111111111111111111111111111111111111111111111111111111111111111\","
                               "\"Digest\":\"" DIGEST "\",\"RepoDigests\":[\"a@" DIGEST "\",\"b@sha256:3\"],"
                               "\"Config\":{\"Env\":[\"A=b\"],\"Entrypoint\":[\"vllm\",\"serve\"],\"Cmd\":null,"
                               "\"Labels\":{\"Cmd\":\"no\"}},\"RootFS\":{\"Layers\":[\"x\"]}}]";
    struct arena a = {0};
    struct container_image image;
    assert_true(container_read_image(span_of(TEXT), &a, &image));
    assert_string_equal(image.id, IMAGE_ID);
    assert_int_equal(image.digest_count, 2);
    assert_int_equal(image.entrypoint_count, 2);
    assert_string_equal(image.entrypoint[1], "serve");
    assert_int_equal(image.command_count, 0);
    for (size_t n = 0; n < sizeof TEXT - 3; n++) /* cut anywhere before its object ends */
        assert_false(container_read_image((struct span){TEXT, n}, &a, &image));
    static const char *const others[] = {"", "[]", "{}", "[1]", "null", "[{\"Id\":3}]", "[{\"Id\":\"\"}]", "Error: no"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(container_read_image(span_of(others[i]), &a, &image));
    arena_done(&a);
}

static void a_digest_is_held_to(void **state)
{
    (void)state;
    static const struct {
        const char *image, *stated, *pinned; /* null: refused */
    } cases[] = {
        {"v", NULL, DIGEST},
        {"v", DIGEST, DIGEST},
        {"v", "2222222222222222222222222222222222222222222222222222222222222222",
         "2222222222222222222222222222222222222222222222222222222222222222"},
        {"v", IMAGE_ID, IMAGE_ID},
        {"v@" DIGEST, NULL, DIGEST},
        {"v", "sha256:3333", NULL},
        {"v@sha256:3333", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct plan p = words_plan((const char *[]){"x", NULL});
        p.engine.container.image = cases[i].image;
        p.engine.image_digest = cases[i].stated;
        struct container_image image = image_of(NULL, 0);
        assert_int_equal(container_settle(&p, &image, &a, &e), cases[i].pinned != NULL);
        if (cases[i].pinned)
            assert_string_equal(p.engine.image_digest, cases[i].pinned);
        else
            assert_non_null(strstr(e.text, "sha256:3333"));
        arena_done(&a);
    }
}

static void the_hubs_cache(void **state)
{
    (void)state;
    static const struct {
        const char *mount, *home; /* HF_HOME inside */
    } cases[] = {
        {"/home/u/.cache/huggingface:/root/.cache/huggingface", "HF_HOME=/root/.cache/huggingface"},
        {"/big/hub:/root/.cache/huggingface:ro", "HF_HOME=/root/.cache/huggingface"},
        {"/home/u:/h", "HF_HOME=/h/.cache/huggingface"},
        {"/x:/y", "HF_HOME=/home/u/.cache/huggingface"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct plan p = words_plan((const char *[]){"docker", "run", "-v", cases[i].mount, "img", "x", NULL});
        struct engine_site site = {.hub_folder = "/home/u/.cache/huggingface"};
        assert_ok(container_take(&p, &a, &e), e);
        assert_string_equal(container_inherits(&p, &site, &a)[0], cases[i].home);
        arena_done(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_as_people_write_it),
        cmocka_unit_test(the_plans_own_form),
        cmocka_unit_test(spellings),
        cmocka_unit_test(what_can_not_be),
        cmocka_unit_test(gpus_of_the_command),
        cmocka_unit_test(other_commands_stay),
        cmocka_unit_test(an_image_is_read),
        cmocka_unit_test(a_digest_is_held_to),
        cmocka_unit_test(the_hubs_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
