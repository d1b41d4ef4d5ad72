#include "check.h"

#include <errno.h>
#include "base/err.h"

static void texts_are_put_together(void **state)
{
    (void)state;
    struct err e = {0};
    assert_false(err_set(&e, ERR_PLAN, "no %s", "model"));
    assert_false(err_prefix(&e, "line %d", 7));
    assert_string_equal(e.text, "line 7: no model");
    assert_int_equal(e.kind, ERR_PLAN);
    assert_false(err_set_errno(&e, ERR_SYSTEM, ENOENT, "cannot open x"));
    assert_string_equal(e.text, "cannot open x: No such file or directory.");
    assert_false(err_set(NULL, ERR_PLAN, "x"));
    assert_false(err_prefix(NULL, "x"));
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    struct err e = {0};
    char text[3 * sizeof e.text];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 0;
    err_set(&e, ERR_PLAN, "%s", text);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    err_prefix(&e, "%s", "b");
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    assert_memory_equal(e.text, "b: aaa", 6);
    err_prefix(&e, "%s", text);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    assert_string_equal(e.text + sizeof e.text - 4, "a: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_put_together),
        cmocka_unit_test(long_texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
