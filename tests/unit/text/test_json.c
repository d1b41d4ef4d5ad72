#include "check.h"

#include <stdlib.h>
#include "text/json.h"

/* Every token as one line of text, so that a whole reading can be compared. */
static void describe(struct span text, struct buf *out)
{
    static const char *const names[] = {"error", "end",    "{",      "}",    "[",     "]",
                                        "key",   "string", "number", "true", "false", "null"};
    struct json j;
    json_init(&j, text);
    buf_clear(out);
    for (;;) {
        enum json_kind k = json_next(&j);
        buf_str(out, names[k]);
        if (k == JSON_KEY || k == JSON_STRING) {
            buf_byte(out, ' ');
            json_text(&j, out);
        } else if (k == JSON_NUMBER) {
            buf_byte(out, ' ');
            buf_add(out, j.raw.p, j.raw.n);
        }
        if (k == JSON_ERROR || k == JSON_END)
            break;
        buf_byte(out, '\n');
    }
}

static bool accepted(struct span text)
{
    struct json j;
    json_init(&j, text);
    enum json_kind k;
    do
        k = json_next(&j);
    while (k != JSON_END && k != JSON_ERROR);
    if (k == JSON_ERROR) {
        assert_non_null(j.fault);
        assert_true(json_error_offset(&j) <= text.n);
        assert_int_equal(json_next(&j), JSON_ERROR);
    }
    return k == JSON_END;
}

static void tokens_come_in_order(void **state)
{
    (void)state;
    struct buf b = {0};
    describe(
        span_of(" {\"a\" : [1, -2.5e+3 ,\"x\\u0041\"],\n\"b\":{},\"c\":[],\t\"d\":true,\"d\":null,\"\":false}\r\n"),
        &b);
    assert_string_equal(buf_text(&b),
                        "{\nkey a\n[\nnumber 1\nnumber -2.5e+3\nstring xA\n]\nkey b\n{\n}\nkey c\n[\n]\nkey d\n"
                        "true\nkey d\nnull\nkey \nfalse\n}\nend");
    buf_done(&b);
}

static void rfc_8259_is_accepted(void **state)
{
    (void)state;
    const char *const right[] = {
        "0",
        "-0",
        "10",
        "-1",
        "0.0",
        "1e5",
        "1E+5",
        "1e-05",
        "123456789012345678901234567890",
        "0e0",
        "1.50",
        "\"\"",
        "true",
        "false",
        "null",
        "[]",
        "{}",
        " [ ] ",
        "\t{\r\n}\n",
        "[[],{}]",
        "[0,[1,[2]]]",
        "{\"\":0}",
        "{\"a\":1,\"a\":2}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
        "\"\x7f\"",
        "\"\xe2\x80\xa8\"",
        "\"\\uD834\\udd1e\"",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\u0000\"",
        "\"\xff\xc0\x80\"",
        "[1,2,3]",
        "[null,null]",
        "\"\\uFFFF\"",
        "1e999",
        "\"\xed\xa0\x80\"",
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        if (!accepted(span_of(right[i])))
            fail_msg("refused: %s", right[i]);
    }
}

static void all_else_is_refused(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "",
        " ",
        "01",
        "-",
        "-01",
        "+1",
        "1.",
        ".5",
        "1.e5",
        "1e",
        "1e+",
        "0x10",
        "1_0",
        "--1",
        "1 2",
        "NaN",
        "Infinity",
        "-Infinity",
        "nul",
        "truE",
        "True",
        "nulll",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1,,2]",
        "[1}",
        "{",
        "}",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "{,}",
        "{\"a\":}",
        "{\"a\",\"b\"}",
        "{\"a\":1]",
        "[\"a\":1]",
        "\"",
        "\"a",
        "'a'",
        "\"\\\"",
        "\"\\x41\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u\"",
        "\"\\U0041\"",
        "\"\n\"",
        "\"\t\"",
        "\"\x01\"",
        "\"\\\n\"",
        "// c\n1",
        "/* */1",
        "1 //",
        "[1]x",
        "{}{}",
        "\xef\xbb\xbf[]",
        "\x0b"
        "1",
        "\x0c"
        "1",
        "1\xc2\xa0",
        "#",
        "\"a\"\"b\"",
        "[\"a\\\"]",
        "nulltrue",
        "true false",
        "-a",
        "1a",
        "[1e]",
        "\"\\ud83d\\u12\"",
        "@",
        "{\"a\":1}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (accepted(span_of(wrong[i])))
            fail_msg("accepted: %s", wrong[i]);
    }
    assert_false(accepted((struct span){"1\0", 2}));
    assert_false(accepted((struct span){"\"a\0b\"", 5}));
    assert_false(accepted((struct span){"\0", 1}));
    assert_false(accepted((struct span){0}));
}

/* A cut anywhere is an error, never a shorter value and never a byte read too far (the copy is exactly as long). */
static void a_cut_document_is_refused(void **state)
{
    (void)state;
    const char *whole = "{\"a\":[true,false,null,\"x\\n\\ud83d\\ude00\"],\"b\":{\"c\":-1.5e-7}}";
    for (size_t n = 0; n < strlen(whole); n++) {
        char *copy = malloc(n ? n : 1);
        memcpy(copy, whole, n);
        assert_false(accepted((struct span){copy, n}));
        free(copy);
    }
    assert_true(accepted(span_of(whole)));
}

static void depth_is_64(void **state)
{
    (void)state;
    for (int depth = 63; depth <= 65; depth++) {
        struct buf b = {0};
        for (int i = 0; i < depth; i++)
            buf_str(&b, i % 2 ? "{\"k\":" : "[");
        buf_str(&b, "7");
        for (int i = depth; i-- > 0;)
            buf_str(&b, i % 2 ? "}" : "]");
        assert_int_equal(accepted(buf_span(&b)), depth <= 64);
        buf_done(&b);
    }
    struct buf bomb = {0};
    for (int i = 0; i < 100000; i++)
        buf_byte(&bomb, '[');
    assert_false(accepted(buf_span(&bomb)));
    buf_done(&bomb);
}

static void check_text(const char *json, const char *bytes, size_t n)
{
    struct json j;
    struct buf b = {0};
    json_init(&j, span_of(json));
    assert_int_equal(json_next(&j), JSON_STRING);
    json_text(&j, &b);
    assert_int_equal(b.n, n);
    if (n)
        assert_memory_equal(b.p, bytes, n);
    assert_int_equal(json_text_length(&j), n);
    if (!memchr(bytes, 0, n))
        assert_true(json_is(&j, bytes));
    assert_false(json_is(&j, "other"));
    buf_done(&b);
}

static void strings_are_decoded(void **state)
{
    (void)state;
    check_text("\"\"", "", 0);
    check_text("\"plain text that is longer than sixteen bytes\"", "plain text that is longer than sixteen bytes", 44);
    check_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
    check_text("\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac", 6);
    check_text("\"\\ud834\\udd1e\"", "\xf0\x9d\x84\x9e", 4);                    /* U+1D11E: a pair joined */
    check_text("\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf", 4);                    /* U+10FFFF, the last */
    check_text("\"\\ud800\\udc00\"", "\xf0\x90\x80\x80", 4);                    /* U+10000, the first */
    check_text("\"\\ud83d\"", "\xed\xa0\xbd", 3);                               /* lone high */
    check_text("\"\\ude00x\"", "\xed\xb8\x80x", 4);                             /* lone low */
    check_text("\"\\ud83d\\ud83d\\ude00\"", "\xed\xa0\xbd\xf0\x9f\x98\x80", 7); /* a lone high, then a pair */
    check_text("\"\\ud83d\\n\"", "\xed\xa0\xbd\n", 4);
    check_text("\"\\ud83d\\u0041\"",
               "\xed\xa0\xbd"
               "A",
               4);
    check_text("\"a\\u0000b\"", "a\0b", 3);
    check_text("\"\xff\xfe\"", "\xff\xfe", 2); /* invalid UTF-8 stays */
}

static void text_with_a_zero_byte_equals_no_c_string(void **state)
{
    (void)state;
    struct json j;
    json_init(&j, span_of("\"a\\u0000\""));
    json_next(&j);
    assert_false(json_is(&j, "a"));
    json_init(&j, span_of("{\"us\\u0061ge\":1}"));
    json_next(&j);
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_true(json_is(&j, "usage"));
    assert_false(json_is(&j, "usag"));
    assert_false(json_is(&j, "usages"));
}

/* The special byte at every place around the eight-byte words that the scanner takes. */
static void special_bytes_are_found_at_every_place(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++) {
        for (size_t at = 0; at <= n; at++) {
            char text[64];
            memset(text, 0x80, sizeof text);
            text[0] = '"';
            text[n + 2] = '"';
            text[at + 1] = '"';
            assert_int_equal(accepted((struct span){text, n + 3}), at + 1 == n + 2);
            text[at + 1] = 0x1f;
            assert_false(accepted((struct span){text, n + 3}));
            text[at + 1] = 0x20;
            assert_true(accepted((struct span){text, n + 3}));
        }
    }
}

static void skip_leaves_the_rest(void **state)
{
    (void)state;
    struct json j;
    json_init(&j, span_of("{\"a\":{\"b\":[1,{\"c\":2}]},\"d\":3,\"e\":[4,[5],6],\"f\":7}"));
    json_next(&j);
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_int_equal(json_skip(&j), JSON_OBJECT_END);
    assert_int_equal(j.depth, 1);
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_true(json_is(&j, "d"));
    assert_int_equal(json_skip(&j), JSON_NUMBER);
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_int_equal(json_next(&j), JSON_ARRAY);
    assert_int_equal(json_next(&j), JSON_NUMBER);
    assert_int_equal(json_skip(&j), JSON_ARRAY_END); /* the element [5] */
    assert_int_equal(j.depth, 2);
    assert_int_equal(json_next(&j), JSON_NUMBER);
    assert_int_equal(json_next(&j), JSON_ARRAY_END);
    assert_int_equal(json_next(&j), JSON_KEY);
    assert_true(json_is(&j, "f"));
    json_init(&j, span_of("[[1,2],3]"));
    json_next(&j);
    assert_int_equal(json_skip(&j), JSON_ARRAY_END); /* the rest of what was just opened */
    assert_int_equal(json_next(&j), JSON_END);
    json_init(&j, span_of("[[1,}]"));
    json_next(&j);
    assert_int_equal(json_skip(&j), JSON_ERROR);
}

static bool read_i64(const char *text, int64_t *value)
{
    struct json j;
    json_init(&j, span_of(text));
    assert_int_equal(json_next(&j), JSON_NUMBER);
    return json_i64(&j, value);
}

static void integers_are_exact(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t value;
    } right[] = {
        {"0", 0},
        {"-0", 0},
        {"5.0", 5},
        {"5e0", 5},
        {"5E+0", 5},
        {"-12.50e1", -125},
        {"1e18", 1000000000000000000},
        {"0.001e3", 1},
        {"100e-2", 1},
        {"0e99999999999999999999", 0},
        {"0.000", 0},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"9223372036854775807.000", INT64_MAX},
        {"922337203685477580.7e1", INT64_MAX},
        {"90071992547409930e-1", 9007199254740993}, /* not a double */
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        int64_t value = 42;
        if (!read_i64(right[i].text, &value) || value != right[i].value)
            fail_msg("%s", right[i].text);
    }
    const char *const wrong[] = {"5.5",
                                 "1e-1",
                                 "1e19",
                                 "9223372036854775808",
                                 "-9223372036854775809",
                                 "1e99999999999999999999",
                                 "0.1e0",
                                 "1e-99999999999999999999",
                                 "123e-2",
                                 "9223372036854775807.5",
                                 "1e2147483648"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t value = 42;
        if (read_i64(wrong[i], &value))
            fail_msg("%s", wrong[i]);
        assert_int_equal(value, 42);
    }
    struct json j;
    int64_t value = 42;
    json_init(&j, span_of("\"5\""));
    json_next(&j);
    assert_false(json_i64(&j, &value));
}

static void doubles_are_read(void **state)
{
    (void)state;
    struct json j;
    double v = 7;
    json_init(&j, span_of("[0.1,-2.5e-3,1e999,true]"));
    json_next(&j);
    json_next(&j);
    assert_true(json_f64(&j, &v));
    assert_true(v == 0.1);
    json_next(&j);
    assert_true(json_f64(&j, &v));
    assert_true(v == -2.5e-3);
    json_next(&j);
    assert_false(json_f64(&j, &v));
    json_next(&j);
    assert_false(json_f64(&j, &v));
    assert_true(v == -2.5e-3);
}

static void faults_name_their_place(void **state)
{
    (void)state;
    struct json j;
    json_init(&j, span_of("{\"a\": tru}"));
    while (json_next(&j) != JSON_ERROR)
        ;
    assert_int_equal(json_error_offset(&j), 6);
    assert_string_equal(j.fault, "a word that is not true, false or null");
    json_init(&j, span_of("[1] 2"));
    while (json_next(&j) != JSON_ERROR)
        ;
    assert_int_equal(json_error_offset(&j), 4);
}

static void the_writer_puts_commas_and_breaks(void **state)
{
    (void)state;
    for (int indent = 0; indent <= 2; indent += 2) {
        struct buf b = {0};
        struct json_writer w;
        json_writer_init(&w, &b, indent);
        json_put_object(&w);
        json_put_key(&w, "a");
        json_put_i64(&w, INT64_MIN);
        json_put_key(&w, "b");
        json_put_array(&w);
        json_put_f64(&w, 0.1);
        json_put_f64(&w, NAN);
        json_put_bool(&w, true);
        json_put_text(&w, NULL);
        json_put_object(&w);
        json_put_object_end(&w);
        json_put_array_end(&w);
        json_put_key(&w, "c\"");
        json_put_raw(&w, span_of("[1]"));
        json_put_object_end(&w);
        assert_string_equal(buf_text(&b),
                            indent ? "{\n  \"a\": -9223372036854775808,\n  \"b\": [\n    0.1,\n    null,\n    true,\n"
                                     "    null,\n    {}\n  ],\n  \"c\\\"\": [1]\n}"
                                   : "{\"a\":-9223372036854775808,\"b\":[0.1,null,true,null,{}],\"c\\\"\":[1]}");
        assert_true(accepted(buf_span(&b)));
        buf_done(&b);
    }
}

static void check_written(const char *bytes, size_t n, const char *json)
{
    struct buf b = {0};
    struct json_writer w;
    json_writer_init(&w, &b, 0);
    json_put_string(&w, (struct span){bytes, n});
    assert_string_equal(buf_text(&b), json);
    buf_done(&b);
}

static void the_writer_escapes(void **state)
{
    (void)state;
    check_written("a\"b\\c/\b\f\n\r\t\x01\x1f\x7f", 14, "\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"");
    check_written("\0", 1, "\"\\u0000\"");
    /* What a terminal could obey or would not show: the same text, escaped. */
    check_written("\xc2\x9b\xe2\x80\xae\xef\xbb\xbf\xf3\xa0\x81\x81", 12, "\"\\u009b\\u202e\\ufeff\\udb40\\udc41\"");
    check_written("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    /* Ill-formed stretches by Unicode's table 3-8: each maximal part becomes one U+FFFD. */
    check_written("\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    check_written("\xed\xa0\xbd", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    check_written("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", 9,
                  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                  "A\"");
    check_written("\xf4\x90\x80\x80", 4, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Whatever is written reads back: 20 000 random strings of awkward bytes. */
static void written_strings_read_back(void **state)
{
    (void)state;
    uint64_t seed = 1;
    struct buf out = {0}, back = {0};
    for (int i = 0; i < 20000; i++) {
        char text[32];
        size_t n = 0;
        while (n < 24) {
            static const char *const pieces[] = {"\"", "\\",   "\n",   "\x01", "a", "\xc3\xa9", "\xf0\x9f\x98\x80",
                                                 "/",  "\x7f", "u0041"};
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const char *piece = pieces[(seed >> 33) % 10];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        struct json_writer w;
        buf_clear(&out);
        buf_clear(&back);
        json_writer_init(&w, &out, 0);
        json_put_string(&w, (struct span){text, n});
        struct json j;
        json_init(&j, buf_span(&out));
        assert_int_equal(json_next(&j), JSON_STRING);
        json_text(&j, &back);
        assert_int_equal(json_next(&j), JSON_END);
        assert_int_equal(back.n, n);
        assert_memory_equal(back.p, text, n);
    }
    buf_done(&out);
    buf_done(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_come_in_order),
        cmocka_unit_test(rfc_8259_is_accepted),
        cmocka_unit_test(all_else_is_refused),
        cmocka_unit_test(a_cut_document_is_refused),
        cmocka_unit_test(depth_is_64),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(text_with_a_zero_byte_equals_no_c_string),
        cmocka_unit_test(special_bytes_are_found_at_every_place),
        cmocka_unit_test(skip_leaves_the_rest),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(doubles_are_read),
        cmocka_unit_test(faults_name_their_place),
        cmocka_unit_test(the_writer_puts_commas_and_breaks),
        cmocka_unit_test(the_writer_escapes),
        cmocka_unit_test(written_strings_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
