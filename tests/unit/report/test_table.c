#include "check.h"

#include "report/number.h"
#include "report/table.h"
#include "text/wrap.h"

static const char *put(const struct table *t, struct arena *a)
{
    struct buf b = {0};
    table_put(t, &b, 2);
    const char *text = arena_text(a, buf_text(&b));
    buf_done(&b);
    return text;
}

static void columns_are_aligned_as_a_terminal_shows_them(void **state)
{
    (void)state;
    struct arena a = {0};
    struct table t;
    table_init(&t, &a, "ldr");
    static const char *const cells[] = {"名", "1.25",         "W", "name", "-12",    "kW",
                                        "é",  "not recorded", "",  "x",    "1 000*", "J"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        table_cell(&t, cells[i]);
    /* 名 takes two columns; "1 000*" has its point behind the last digit; words stand right. */
    assert_string_equal(put(&t, &a), "  名            1.25   W\n"
                                     "  name        -12     kW\n"
                                     "  é     not recorded\n"
                                     "  x         1 000*     J\n");
    arena_done(&a);
}

static void words_break_at_the_edge(void **state)
{
    (void)state;
    struct buf b = {0};
    text_wrap(&b, "one two  three\nfour 日本語", 4, 2, 11);
    assert_string_equal(buf_text(&b), "one two\n  three\n  four\n  日本語\n");
    buf_done(&b);
}

static void a_broken_promise_ends_the_program(void **state)
{
    (void)state;
    struct arena a = {0};
    struct table t;
    struct buf b = {0};
    table_init(&t, &a, "lrdlrdlrdlrd"); /* as many as there may be */
    assert_aborts(table_init(&t, &a, "lrdlrdlrdlrdl"));
    assert_aborts(table_init(&t, &a, ""));
    assert_aborts(table_init(&t, &a, "lx"));
    table_init(&t, &a, "ll");
    table_cell(&t, "half a row");
    assert_aborts(table_put(&t, &b, 0));
    assert_aborts(table_cell(&t, NULL));
    assert_aborts(text_wrap(&b, "text", 0, 80, 80));
    assert_aborts(number_places(0));
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned_as_a_terminal_shows_them),
        cmocka_unit_test(words_break_at_the_edge),
        cmocka_unit_test(a_broken_promise_ends_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
