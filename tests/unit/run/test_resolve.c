/* The plan as it will run, on the simulated GPUs: what is completed, and that the user's plan stays as it was. */
#include "check.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "run/resolve.h"

struct made_plan {
    struct arena arena;
    struct plan plan;
    struct signals signals;
    struct resolved r;
    char file[64];
    const char *words[6];
};

static void open_made(struct made_plan *c)
{
    struct err e;
    memset(c, 0, sizeof *c);
    setenv("JTOK_SIM_GPUS", "2", 1);
    unsetenv("VLLM_API_KEY");
    snprintf(c->file, sizeof c->file, "/tmp/jtok-resolve-XXXXXX");
    int fd = mkstemp(c->file);
    assert_true(fd >= 0);
    static const char lines[] = "{\"prompt\":\"one\"}\n{\"prompt\":\"two\"}\n";
    assert_int_equal(write(fd, lines, sizeof lines - 1), sizeof lines - 1);
    close(fd);
    plan_defaults(&c->plan);
    const char *words[] = {"sh", "serve", "--port", "{port}", "--api-key=sesame-open"};
    memcpy(c->words, words, sizeof words);
    c->plan.engine.kind = ENGINE_OPENAI;
    c->plan.engine.command = c->words;
    c->plan.engine.command_count = 5;
    c->plan.model.id = "tiny";
    c->plan.requests.file = c->file;
    c->plan.requests.lengths.kind = LENGTH_FIXED;
    c->plan.requests.lengths.tokens = 8;
    c->plan.requests.lengths.ignore_eos = true;
    c->plan.power.library = JTOK_BIN "/libnvidia-ml.so.1";
    sigset_t set = signals_prepare();
    assert_ok(signals_open(&c->signals, &set, &e), e);
}

static bool resolve_made(struct made_plan *c, struct err *e)
{
    struct resolve_options o = {.signals = &c->signals, .despite_preflight = true};
    return resolve(&c->plan, &o, &c->arena, &c->r, e);
}

static void close_made(struct made_plan *c)
{
    resolved_done(&c->r);
    signals_close(&c->signals, NULL);
    unlink(c->file);
    arena_done(&c->arena);
}

static void a_plan_is_completed_and_frozen(void **state)
{
    (void)state;
    struct made_plan c;
    struct err e = {0};
    open_made(&c);
    struct plan given = c.plan;
    assert_ok(resolve_made(&c, &e), e);
    const struct plan *p = c.r.plan;
    assert_int_equal(p->requests.count, 2);
    assert_int_equal(strlen(p->requests.sha256), 64);
    assert_int_equal(strlen(p->requests.work_sha256), 64);
    assert_true(p->engine.port > 0);
    assert_string_equal(p->engine.served_model, "tiny");
    assert_string_equal(p->scenario, strrchr(c.file, '/') + 1);
    assert_int_equal(p->gpu_count, 2);
    assert_int_equal(memcmp(p->gpus[0], "GPU-", 4), 0);
    assert_string_equal(p->gpus[1], c.r.device->gpus[1].info.uuid);
    assert_memory_equal(&c.plan, &given, sizeof given); /* the user's is as it was */
    assert_string_equal(c.words[0], "sh");
    assert_true(c.r.secrets.count > 0);
    assert_null(c.r.snapshot.folder);
    close_made(&c);
}

/* A word of the command that names something here is made absolute, for the engine runs in a folder of its own; in the
 * frozen plan, not in the user's. */
static void paths_of_the_command_are_made_absolute(void **state)
{
    (void)state;
    struct made_plan c;
    struct err e = {0};
    open_made(&c);
    assert_int_equal(chdir("/tmp"), 0);
    char relative[80];
    snprintf(relative, sizeof relative, "./%s", strrchr(c.file, '/') + 1);
    c.words[1] = relative;
    assert_ok(resolve_made(&c, &e), e);
    assert_string_equal(c.r.plan->engine.command[1], c.file);
    assert_string_equal(c.words[1], relative);
    close_made(&c);
}

/* Each form in which a word can name a file here, and words that name none. A link stays a link: an interpreter's
 * folder, or the name and commit of a model in a cache, would be lost behind it. */
static void a_word_is_a_path_as_a_shell_would_have_it(void **state)
{
    (void)state;
    static const struct {
        const char *word, *absolute; /* "@": the folder; null: as it is */
    } cases[] = {
        {"./bin/engine", "@/bin/engine"},
        {"bin/engine", "@/bin/engine"},
        {"././bin/engine", "@/bin/engine"},
        {"bin/../bin/engine", "@/bin/../bin/engine"},
        {"--x=bin/engine", "--x=@/bin/engine"},
        {"--x=./link", "--x=@/link"},
        {"./link", "@/link"},
        {"~/link", "@/link"},
        {"--x=~/bin/engine", "--x=@/bin/engine"},
        {"link", NULL},
        {"no/such", NULL},
        {"~/no", NULL},
        {"--x=no/such", NULL},
        {"--x", NULL},
        {"=bin/engine", NULL},
        {"/bin/sh", NULL},
        {"", NULL},
    };
    struct made_plan c;
    struct err e = {0};
    char folder[] = "/tmp/jtok-words-XXXXXX", before[512];
    open_made(&c);
    assert_non_null(getcwd(before, sizeof before));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("bin", 0777), 0);
    assert_int_equal(symlink("/bin/true", "bin/engine"), 0);
    assert_int_equal(symlink("bin/engine", "link"), 0);
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    setenv("HOME", folder, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        c.words[1] = cases[i].word;
        resolved_done(&c.r);
        assert_ok(resolve_made(&c, &e), e);
        const char *at = cases[i].absolute ? strchr(cases[i].absolute, '@') : NULL;
        const char *wanted =
            at ? arena_format(&c.arena, "%.*s%s%s", (int)(at - cases[i].absolute), cases[i].absolute, folder, at + 1)
               : cases[i].word;
        assert_string_equal(c.r.plan->engine.command[1], wanted);
    }
    setenv("HOME", home, 1);
    free(home);
    unlink("link");
    unlink("bin/engine");
    rmdir("bin");
    assert_int_equal(chdir(before), 0);
    rmdir(folder);
    close_made(&c);
}

static void a_signal_ends_it(void **state)
{
    (void)state;
    struct made_plan c;
    struct err e = {0};
    open_made(&c);
    assert_true(signals_none(&c.signals, NULL));
    raise(SIGINT);
    assert_false(resolve_made(&c, &e));
    assert_int_equal(e.kind, ERR_INTERRUPTED);
    assert_null(c.r.plan);
    assert_true(signals_none(&c.signals, NULL)); /* it was taken */
    close_made(&c);
}

static void what_fits_nowhere_is_refused(void **state)
{
    (void)state;
    struct made_plan c;
    struct err e = {0};
    open_made(&c);
    c.plan.engine.tensor_parallel = 4; /* of two GPUs */
    assert_false(resolve_made(&c, &e));
    assert_int_equal(e.kind, ERR_PLAN);
    assert_non_null(strstr(e.text, "The plan names 2 GPUs"));
    assert_non_null(strstr(e.text, "make it use 4"));
    close_made(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_completed_and_frozen),
        cmocka_unit_test(paths_of_the_command_are_made_absolute),
        cmocka_unit_test(a_word_is_a_path_as_a_shell_would_have_it),
        cmocka_unit_test(a_signal_ends_it),
        cmocka_unit_test(what_fits_nowhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
