/* The engine's PyTorch, wherever its command says that it lies, against drivers of each age. */
#include "check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "power/device.h"
#include "run/preflight.h"

struct place {
    char top[64];
    struct arena a;
};

static int setup(void **state)
{
    static struct place x;
    x = (struct place){.top = "/tmp/jtok-driver-XXXXXX"};
    assert_non_null(mkdtemp(x.top));
    *state = &x;
    return 0;
}

static int teardown(void **state)
{
    struct place *x = *state;
    assert_int_equal(system(arena_format(&x->a, "rm -rf '%s'", x->top)), 0);
    arena_done(&x->a);
    return 0;
}

static const char *put(struct place *x, const char *name, const char *text, mode_t mode)
{
    const char *path = arena_format(&x->a, "%s/%s", x->top, name);
    assert_int_equal(system(arena_format(&x->a, "mkdir -p \"$(dirname '%s')\"", path)), 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) >= 0, 1);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

/* The fact's outcome; -1: there is none. */
static int outcome(struct place *x, int served, const char *const *argv, const char *const *env)
{
    struct preflight p;
    struct device d = {.driver_version = "570.1", .toolkit = served ? "CUDA" : NULL, .toolkit_major = served};
    preflight_init(&p, &x->a);
    preflight_driver(&p, &d, argv, env);
    int seen = p.fact_count ? (int)p.facts[0].outcome : -1;
    if (seen == CHECK_NOT_JUDGED)
        assert_non_null(strstr(p.advice[0], "but driver 570.1 serves CUDA"));
    preflight_done(&p);
    return seen;
}

static const char built[] = "__version__ = '2.11.0'\ncuda_note = '7'\ncuda: Optional[str] = '13.0'\n";

static void it_is_found_wherever_it_lies(void **state)
{
    struct place *x = *state;
    const char *top = x->top;
    put(x, "venv/lib/python3.12/site-packages/torch/version.py", built, 0600);
    put(x, "usr/local/lib/python3.11/dist-packages/torch/version.py", "cuda = '12.4'\n", 0600);
    put(x, "path/torch/version.py", "cuda: Optional[str] = '11.8'\n", 0600);
    put(x, "cpu/torch/version.py", "cuda: Optional[str] = None\n", 0600);
    const char *python = put(x, "venv/bin/python3", "", 0700), *system_python = put(x, "usr/bin/python3.11", "", 0700);
    const char *script = put(x, "venv/bin/vllm", arena_format(&x->a, "#!%s\nimport vllm\n", python), 0700);
    put(x, "bin/sglang", "#!/usr/bin/env python3.11\n", 0700);
    put(x, "bin/llama-server",
        "\x7f"
        "ELF",
        0700);
    const char *path = arena_format(&x->a, "PATH=%s/bin:%s/usr/bin", top, top);
    const char *path_word = arena_format(&x->a, "PYTHONPATH=%s/none:%s/path", top, top);
    const char *cpu = arena_format(&x->a, "PYTHONPATH=%s/cpu", top);
    const struct {
        const char *argv[6], *env[3];
        int built; /* major version; 0: none is found */
    } cases[] = {
        {{python, "-m", "vllm"}, {path}, 13},
        {{script, "serve", "m"}, {path}, 13},
        {{"numactl", "-N0", script, "serve"}, {path}, 13},
        {{system_python, "-m", "sglang.launch_server"}, {path}, 12},
        {{"python3.11", "-m", "sglang.launch_server"}, {path}, 12},
        {{"sglang", "serve"}, {path}, 12},
        {{"env", path_word, python, "-m", "vllm"}, {path}, 11},
        {{python, "-m", "vllm"}, {path, path_word}, 11},
        {{python, "-m", "vllm"}, {path, cpu}, 0},
        {{"llama-server", "-m", "x.gguf"}, {path}, 0},
        {{"no-such-program"}, {path}, 0},
        {{"python3.11"}, {NULL}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int served = 10; served <= 14; served++) {
            int wanted = !cases[i].built ? -1 : (int)(served >= cases[i].built ? CHECK_PASSED : CHECK_NOT_JUDGED);
            int seen = outcome(x, served, cases[i].argv, cases[i].env);
            if (seen != wanted)
                fail_msg("case %zu, CUDA %d: %d, not %d", i, served, seen, wanted);
        }
    assert_int_equal(outcome(x, 0, cases[0].argv, cases[0].env), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_found_wherever_it_lies, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
