/* The demo lies where it was built or installed, and its scratch where TMPDIR says: whatever these are called. */
#include "folders.h"
#include <sys/stat.h>
#include "app/demo.h"

static void paths_may_mean_something_to_yaml(void **state)
{
    (void)state;
    static const char *const names[] = {"plain", "a b", "a: b",  "a, b", "a #b",    "{a}",
                                        "[a",    "'a'", "\"a\"", "a\\b", "\xc3\xbc"};
    struct folders f;
    folders_open(&f);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *root = arena_format(&f.a, "%s/%s", f.root, names[i]), *scratch;
        assert_int_equal(mkdir(root, 0700), 0);
        setenv("TMPDIR", root, 1);
        struct demo_options o = {.count = 3, .gpus = 1};
        struct plan plan;
        struct err e = {0};
        assert_ok(demo_open(&o, &f.a, &plan, &scratch, &e), e);
        assert_int_equal(strncmp(plan.requests.file, root, strlen(root)), 0);
        assert_int_equal(access(plan.requests.file, R_OK), 0);
        assert_int_equal(access(plan.engine.command[0], X_OK), 0);
        assert_int_equal(access(plan.power.library, R_OK), 0);
        demo_close(scratch);
        assert_int_equal(rmdir(root), 0); /* nothing of it is left */
    }
    folders_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths_may_mean_something_to_yaml)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
