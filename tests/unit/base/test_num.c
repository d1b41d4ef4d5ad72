#include "check.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/num.h"

static void integers_are_strict(void **state)
{
    (void)state;
    int64_t v = 7;
    assert_true(num_i64(span_of("-9223372036854775808"), &v));
    assert_int_equal(v, INT64_MIN);
    assert_true(num_i64(span_of("9223372036854775807"), &v));
    v = 7;
    const char *const wrong[] = {
        "", "-", "+1", "1 ", " 1", "1.0", "0x1", "9223372036854775808", "-9223372036854775809"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(num_i64(span_of(wrong[i]), &v));
    assert_int_equal(v, 7);
}

static void doubles_are_json_numbers(void **state)
{
    (void)state;
    double v = 7;
    assert_true(num_f64(span_of("-0.5e-3"), &v));
    assert_close(v, -0.0005, 0);
    const char *const wrong[] = {"", "-", ".5", "1.", "01", "1e", "1e+", "nan", "inf", "1e999", "0x10", "+1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(num_f64(span_of(wrong[i]), &v));
}

static void doubles_read_back(void **state)
{
    (void)state;
    const double values[] = {0, 1, -1, 0.1, 1.0 / 3, 1e22, 1.5e300, 5e-324, 44168.5, 9007199254740993.0};
    struct buf b = {0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        double back = -1;
        buf_clear(&b);
        num_put_f64(&b, values[i]);
        assert_true(num_f64(buf_span(&b), &back));
        assert_true(back == values[i]);
    }
    buf_clear(&b);
    num_put_f64(&b, 0.1);
    assert_string_equal(buf_text(&b), "0.1");
    buf_done(&b);
}

static void a_full_buffer_says_so(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 4);
    buf_str(&b, "abcd");
    assert_false(b.overflow);
    buf_byte(&b, 'e');
    assert_true(b.overflow);
    assert_int_equal(b.n, 4);
    buf_consume(&b, 3);
    assert_string_equal(buf_text(&b), "d");
    buf_done(&b);
}

static void arena_memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    struct arena a = {0};
    for (size_t size = 0; size < 200000; size = size * 3 + 1) {
        unsigned char *p = arena_alloc(&a, size);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
    }
    assert_string_equal(arena_format(&a, "%d-%s", 7, "x"), "7-x");
    arena_done(&a);
    assert_null(a.last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_strict),
        cmocka_unit_test(doubles_are_json_numbers),
        cmocka_unit_test(doubles_read_back),
        cmocka_unit_test(a_full_buffer_says_so),
        cmocka_unit_test(arena_memory_is_zeroed_and_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
