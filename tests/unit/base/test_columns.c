#include "check.h"

#include <locale.h>
#include <wchar.h>
#include "base/columns.h"
#include "base/utf8.h"

/* The C library has a table of its own. Ours may be larger, never smaller; letters of names are exact. */
static void never_fewer_than_the_c_library_says(void **state)
{
    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    for (uint32_t code = 0x20; code <= 0x10ffff; code++) {
        int theirs = utf8_is_unsafe(code) ? -1 : wcwidth((wchar_t)code);
        if (theirs > (int)columns_of(code))
            fail_msg("U+%04X takes %d columns, counted as %zu", code, theirs, columns_of(code));
    }
    static const uint32_t exact[][2] = {{0x20, 0x7e},     {0xa1, 0xac},     {0xae, 0x377},    {0x391, 0x3a1},
                                        {0x400, 0x482},   {0x3041, 0x3096}, {0x30a1, 0x30ff}, {0x4e00, 0x9fff},
                                        {0xac00, 0xd7a3}, {0xff01, 0xff60}, {0x2010, 0x2027}, {0x1f600, 0x1f64f}};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        for (uint32_t code = exact[i][0]; code <= exact[i][1]; code++)
            if (wcwidth((wchar_t)code) != (int)columns_of(code))
                fail_msg("U+%04X takes %d columns, counted as %zu", code, wcwidth((wchar_t)code), columns_of(code));
}

static void texts_are_measured_and_cut_by_columns(void **state)
{
    (void)state;
    struct arena a = {0};
    assert_int_equal(columns_text(""), 0);
    assert_int_equal(columns_text("± 12"), 4);
    assert_int_equal(columns_text("日本語 GPU"), 10);
    assert_int_equal(columns_text("e\xcc\x81te"), 3); /* e and an acute accent */
    assert_string_equal(columns_cut(&a, "llama-8b", 8), "llama-8b");
    assert_string_equal(columns_cut(&a, "llama-8b", 7), "llama-…");
    assert_string_equal(columns_cut_front(&a, "llama-8b", 7), "…ama-8b");
    assert_string_equal(columns_cut(&a, "日本語", 6), "日本語");
    assert_string_equal(columns_cut(&a, "日本語", 5), "日本…");
    assert_string_equal(columns_cut(&a, "日本語", 4), "日…"); /* no half character */
    assert_string_equal(columns_cut_front(&a, "日本語", 4), "…語");
    assert_string_equal(columns_cut(&a, "日本語", 1), "…");
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_fewer_than_the_c_library_says),
        cmocka_unit_test(texts_are_measured_and_cut_by_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
