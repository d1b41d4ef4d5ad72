#include "check.h"

#include <stdlib.h>
#include "base/utf8.h"

static bool is_scalar(uint32_t code)
{
    return code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

static void every_code_point_reads_back(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char bytes[4];
        size_t n = utf8_encode(code, bytes), used;
        uint32_t back = utf8_first((struct span){bytes, n}, &used);
        if (is_scalar(code) ? back != code || used != n : back != UTF8_ILL_FORMED)
            fail_msg("U+%04X reads back as U+%04X in %zu of %zu bytes", code, back, used, n);
        for (size_t cut = 1; cut < n && is_scalar(code); cut++) { /* a character that is cut is one stretch */
            assert_int_equal(utf8_first((struct span){bytes, cut}, &used), UTF8_ILL_FORMED);
            assert_int_equal(used, cut);
        }
    }
}

/* Of all sequences of up to three bytes, those that one code point encodes to are well-formed and no other is. */
static void nothing_else_is_well_formed(void **state)
{
    (void)state;
    size_t seen[4] = {0};
    for (uint32_t x = 0; x < 1u << 24; x++) {
        const char bytes[] = {(char)(x >> 16), (char)(x >> 8), (char)x};
        for (size_t n = 1; n <= 3; n++) {
            if (x & ((1u << (8 * (3 - n))) - 1))
                continue; /* each sequence of n bytes once */
            size_t used;
            seen[n] += utf8_first((struct span){bytes, n}, &used) != UTF8_ILL_FORMED && used == n;
        }
    }
    assert_int_equal(seen[1], 0x80);
    assert_int_equal(seen[2], 0x800 - 0x80);
    assert_int_equal(seen[3], 0x10000 - 0x800 - 0x800);
}

static void shown(const char *text, bool lines, const char *expected)
{
    struct buf b = {0};
    utf8_show(&b, span_of(text), lines);
    assert_string_equal(buf_text(&b), expected);
    buf_clear(&b);
    buf_str(&b, "\033");
    buf_str(&b, text);
    utf8_show_from(&b, 1, lines);
    assert_string_equal(buf_text(&b) + 1, expected);
    buf_done(&b);
    struct arena a = {0};
    const char *line = utf8_line(&a, text);
    if (!lines)
        assert_string_equal(line, expected);
    if (strcmp(text, expected) == 0 && !lines)
        assert_ptr_equal(line, text);
    arena_done(&a);
}

#define BAD "\xef\xbf\xbd"

static void attacks_are_made_harmless(void **state)
{
    (void)state;
    shown("", false, "");
    shown("plain, \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 and \xe2\x80\x8c\xe2\x80\x8d", false,
          "plain, \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 and \xe2\x80\x8c\xe2\x80\x8d");
    shown("a\tb\rc\nd\x0b\x0c", false, "a b c d  ");
    shown("a\tb\r\nc", true, "a b \nc");
    shown("\033[1;31mred\033[0m", true, " [1;31mred [0m");                         /* colours */
    shown("\033]0;title\a\033]52;c;eA==\033\\", true, " ]0;title  ]52;c;eA== \\"); /* OSC: title, clipboard */
    shown("\033P1$r\033\\", true, " P1$r \\");                                     /* DCS */
    shown("x\x08\x08y\x7f", true, "x  y ");                                        /* overstrike */
    shown("\xc2\x9b"
          "31m\xc2\x9d"
          "0;t\xc2\x9c",
          true, BAD "31m" BAD "0;t" BAD); /* C1 as UTF-8 */
    shown("\x9b"
          "31m",
          true, BAD "31m");                                 /* C1 as a byte */
    shown("\xc2\x85\xe2\x80\xa8\xe2\x80\xa9", true, "   "); /* other line ends */
    shown("\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", true,
          BAD BAD BAD BAD BAD BAD BAD);                                                   /* direction */
    shown("\xe2\x80\x8b\xe2\x81\xa0\xef\xbb\xbf\xf3\xa0\x81\x81", true, BAD BAD BAD BAD); /* invisible */
    shown("\xff\xc0\xaf\xed\xa0\xbd\xf4\x90\x80\x80", true, BAD BAD BAD BAD BAD BAD BAD BAD BAD BAD);
    shown("\xe2\x82", true, BAD); /* cut: one stretch */
}

/* Random bytes of awkward kinds: what comes out is well-formed, holds nothing unsafe, and is the same when shown again.
 */
static void what_is_shown_is_safe(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",    "\033[",        "\xc2",         "\x9b",         "\xe2\x80",
                                         "\xae", "\xf3\xa0\x80", "\x81",         "\n",           "\t",
                                         "\xff", "\xed\xa0",     "\xf0\x9f\x98", "\xc3\xa9",     "\xef\xbb\xbf",
                                         "\x80", "\xd8\x9c",     "\xe2\x81\xa7", "\xef\xbf\xbe", "\x7f"};
    uint64_t seed = 7;
    struct buf text = {0}, once = {0}, twice = {0};
    for (int i = 0; i < 50000; i++) {
        buf_clear(&text);
        buf_clear(&once);
        buf_clear(&twice);
        for (int k = 0; k < 12; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            buf_str(&text, pieces[(seed >> 33) % (sizeof pieces / sizeof *pieces)]);
        }
        utf8_show(&once, buf_span(&text), i & 1);
        assert_int_equal(utf8_valid(buf_span(&once)), once.n);
        for (struct span rest = buf_span(&once); rest.n;) {
            size_t n;
            uint32_t code = utf8_first(rest, &n);
            if (utf8_is_unsafe(code) && !(code == '\n' && i & 1))
                fail_msg("U+%04X is left", code);
            rest.p += n;
            rest.n -= n;
        }
        utf8_show(&twice, buf_span(&once), i & 1);
        assert_int_equal(once.n, twice.n);
        assert_memory_equal(once.p, twice.p, once.n);
        utf8_show_from(&text, 0, i & 1);
        assert_int_equal(once.n, text.n);
        assert_memory_equal(once.p, text.p, once.n);
    }
    buf_done(&text);
    buf_done(&once);
    buf_done(&twice);
}

static void the_first_ill_formed_byte_is_found(void **state)
{
    (void)state;
    const char *good = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
    static const char *const bad[] = {"\xff", "\xc0\x80", "\xed\xb0\x80", "\xf4\x90\x80\x80",
                                      "\x80", "\xe2\x82", "\xf0\x9f"};
    assert_int_equal(utf8_valid(span_of(good)), strlen(good));
    const size_t starts[] = {0, 1, 3, 6, 10, 11};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            struct buf b = {0};
            buf_add(&b, good, starts[i]);
            buf_str(&b, bad[k]);
            buf_str(&b, "end");
            assert_int_equal(utf8_valid(buf_span(&b)), starts[i]);
            buf_done(&b);
        }
}

static void plain_ascii_of_a_fixed_size(void **state)
{
    (void)state;
    char text[8];
    utf8_ascii((struct span){"a~ \0\x7f\xc3\xa9", 7}, text, sizeof text);
    assert_string_equal(text, "a~ ????");
    utf8_ascii(span_of("stop_sequence"), text, sizeof text);
    assert_string_equal(text, "stop_se");
    utf8_ascii((struct span){0}, text, sizeof text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_reads_back), cmocka_unit_test(nothing_else_is_well_formed),
        cmocka_unit_test(attacks_are_made_harmless),   cmocka_unit_test(what_is_shown_is_safe),
        cmocka_unit_test(plain_ascii_of_a_fixed_size), cmocka_unit_test(the_first_ill_formed_byte_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
