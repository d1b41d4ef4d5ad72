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

/* ---- GPUs ---- */

#define GPU_0 "GPU-00000000-0000-0000-0000-000000000051"
#define GPU_1 "GPU-00000001-0000-0000-0000-000000000052"

/* What a scheduler gave decides where the plan names nothing; a plan that names others wins, with a warning. */
static void gpus_are_those_that_were_given(void **state)
{
    (void)state;
    static const struct {
        const char *given, *named, *gpus; /* null: not set, nothing, refused */
        bool warned;
    } cases[] = {
        {NULL, NULL, GPU_0 "," GPU_1, false},
        {"1", NULL, GPU_1, false},
        {GPU_1, NULL, GPU_1, false},
        {"1,0", NULL, GPU_1 "," GPU_0, false},
        {"1", "0", GPU_0, true},
        {"1", "1", GPU_1, false},
        {"1", "all", GPU_0 "," GPU_1, true},
        {"0,1", "1", GPU_1, false},
        {"", NULL, NULL, false},
        {"", "0", GPU_0, true},
        {"-1", NULL, NULL, false},
        {"MIG-1", NULL, NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_plan c;
        struct err e = {0};
        open_made(&c);
        if (cases[i].given)
            setenv("CUDA_VISIBLE_DEVICES", cases[i].given, 1);
        c.plan.gpus = (const char *[]){cases[i].named};
        c.plan.gpu_count = cases[i].named != NULL;
        bool good = resolve_made(&c, &e);
        unsetenv("CUDA_VISIBLE_DEVICES");
        if (good != (cases[i].gpus != NULL))
            fail_msg("case %zu: %s", i, e.text);
        if (!good)
            assert_non_null(strstr(e.text, "CUDA_VISIBLE_DEVICES"));
        if (good) {
            const struct plan *p = c.r.plan;
            size_t warnings;
            const char *const *list = resolved_warnings(&c.r, &c.arena, &warnings);
            const char *all = p->gpu_count == 2 ? arena_format(&c.arena, "%s,%s", p->gpus[0], p->gpus[1]) : p->gpus[0];
            bool warned = false;
            for (size_t k = 0; k < warnings; k++)
                warned = warned || strstr(list[k], "another user may have been given it");
            assert_string_equal(all, cases[i].gpus);
            assert_int_equal(warned, cases[i].warned);
        }
        close_made(&c);
    }
}

/* What the engine gets: UUIDs; numbers on the plan's word, or where the plan's own variable means the same GPUs. */
static void an_engine_gets_numbers_on_the_plans_word(void **state)
{
    (void)state;
    static const struct {
        enum gpu_names names;
        const char *own, *seen; /* engine.env.CUDA_VISIBLE_DEVICES; what the engine sees, null: refused */
    } cases[] = {
        {GPU_NAMES_UUID, NULL, GPU_1},  {GPU_NAMES_INDEX, NULL, "1"},    {GPU_NAMES_UUID, "1", "1"},
        {GPU_NAMES_UUID, GPU_1, GPU_1}, {GPU_NAMES_INDEX, GPU_1, GPU_1}, {GPU_NAMES_UUID, "0", NULL},
        {GPU_NAMES_UUID, "0,1", NULL},  {GPU_NAMES_INDEX, "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_plan c;
        struct err e = {0};
        open_made(&c);
        c.plan.gpus = (const char *[]){"1"};
        c.plan.gpu_count = 1;
        c.plan.engine.gpu_names = cases[i].names;
        struct field_pair own = {"CUDA_VISIBLE_DEVICES", cases[i].own};
        c.plan.engine.env = &own;
        c.plan.engine.env_count = cases[i].own != NULL;
        bool good = resolve_made(&c, &e);
        if (good != (cases[i].seen != NULL))
            fail_msg("case %zu: %s", i, e.text);
        if (good)
            assert_string_equal(c.r.site.gpu_variables[0].value, cases[i].seen);
        else
            assert_non_null(strstr(e.text, "the run's GPUs are those of the plan"));
        close_made(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_completed_and_frozen),
        cmocka_unit_test(paths_of_the_command_are_made_absolute),
        cmocka_unit_test(a_word_is_a_path_as_a_shell_would_have_it),
        cmocka_unit_test(a_signal_ends_it),
        cmocka_unit_test(what_fits_nowhere_is_refused),
        cmocka_unit_test(gpus_are_those_that_were_given),
        cmocka_unit_test(an_engine_gets_numbers_on_the_plans_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
