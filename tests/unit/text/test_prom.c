#include "check.h"

#include <stdlib.h>
#include "text/prom.h"

static void samples_are_read(void **state)
{
    (void)state;
    struct span text = span_of("# HELP vllm:num_requests_running Number\n# TYPE vllm:num_requests_running gauge\n\n"
                               "vllm:num_requests_running{engine=\"0\",model_name=\"a/b\"} 12.0\n"
                               "plain 3\n"
                               "  spaced {} \t 1e-3 1395066363000\r\n"
                               "tokens_total{le=\"+Inf\",} +Inf\n"
                               "n -inf\nm NaN\n"
                               "last{path=\"C:\\\\x \\\"}, y\\\"\\n\"} 7");
    struct prom_sample s;
    unsigned bad = 0;
    struct span value;
    assert_true(prom_next(&text, &s, &bad));
    assert_true(span_is(s.name, "vllm:num_requests_running"));
    assert_true(span_is(s.labels, "engine=\"0\",model_name=\"a/b\""));
    assert_close(s.value, 12, 0);
    assert_true(prom_label(s.labels, "model_name", &value) && span_is(value, "a/b"));
    assert_true(prom_label(s.labels, "engine", &value) && span_is(value, "0"));
    assert_false(prom_label(s.labels, "eng", &value));
    assert_true(prom_next(&text, &s, &bad));
    assert_true(span_is(s.name, "plain") && s.labels.n == 0);
    assert_false(prom_label(s.labels, "engine", &value));
    assert_close(s.value, 3, 0);
    assert_true(prom_next(&text, &s, &bad));
    assert_true(span_is(s.name, "spaced") && s.labels.n == 0);
    assert_close(s.value, 0.001, 0);
    assert_true(prom_next(&text, &s, &bad));
    assert_true(prom_label(s.labels, "le", &value) && span_is(value, "+Inf"));
    assert_true(isinf(s.value) && s.value > 0);
    assert_true(prom_next(&text, &s, &bad));
    assert_true(isinf(s.value) && s.value < 0);
    assert_true(prom_next(&text, &s, &bad));
    assert_true(isnan(s.value));
    assert_true(prom_next(&text, &s, &bad));
    assert_true(prom_label(s.labels, "path", &value) && span_is(value, "C:\\\\x \\\"}, y\\\"\\n"));
    assert_close(s.value, 7, 0);
    assert_false(prom_next(&text, &s, &bad));
    assert_int_equal(bad, 0);
    assert_int_equal(text.n, 0);
}

static void bad_lines_are_counted(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "7up 1",
        "name",
        "name{",
        "name{a=\"b\" 1",
        "name{a=\"b} 1",
        "name{a} 1",
        "name{a=b} 1",
        "name{=\"b\"} 1",
        "name one",
        "name 1e999",
        "name 1 2 3",
        "name 1 x",
        "name 0x10",
        "name 1e",
        "name --1",
        "{a=\"b\"} 1",
        "name{a=\"\\\"} 1",
        "name{,} 1",
        "<html>",
        "name\x01 1",
        "name{a=\"b\",,} 1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct prom_sample s;
        unsigned bad = 0;
        char text[64];
        snprintf(text, sizeof text, "%s\nright 5\n", wrong[i]);
        struct span rest = span_of(text);
        if (!prom_next(&rest, &s, &bad) || !span_is(s.name, "right") || bad != 1)
            fail_msg("%s", wrong[i]);
        assert_false(prom_next(&rest, &s, NULL));
    }
}

/* Cut anywhere, on an exact copy: no byte is read too far, and a whole line's value never changes. */
static void a_cut_text_gives_its_whole_lines(void **state)
{
    (void)state;
    const char *whole = "a{x=\"1\\\\\"} 10\nb 2.5e1 7\n";
    for (size_t n = 0; n <= strlen(whole); n++) {
        char *copy = malloc(n ? n : 1);
        memcpy(copy, whole, n);
        struct span rest = {copy, n};
        struct prom_sample s;
        size_t samples = 0;
        while (prom_next(&rest, &s, NULL)) {
            if (samples++ == 0 && n > 13)
                assert_close(s.value, 10, 0);
        }
        assert_true(n < 14 || samples >= 1);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_read),
        cmocka_unit_test(bad_lines_are_counted),
        cmocka_unit_test(a_cut_text_gives_its_whole_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
