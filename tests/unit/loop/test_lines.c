/* Output into lines: the same however the bytes come. */
#include "check.h"

#include <stdlib.h>
#include "base/buf.h"
#include "loop/lines.h"

struct seen {
    struct buf text; /* each line with '|' behind it, '+' where cut */
    size_t pieces[16], n;
};

static void on_line(void *self, int64_t t_ns, struct span line, bool cut)
{
    struct seen *s = self;
    assert_int_equal(t_ns, 5);
    buf_add(&s->text, line.p, line.n);
    buf_byte(&s->text, cut ? '+' : '|');
    if (s->n < 16)
        s->pieces[s->n++] = line.n;
}

static void put(struct lines *l, const char *bytes, size_t n)
{
    while (n) {
        size_t room;
        char *at = lines_room(l, &room);
        assert_true(room > 0);
        room = room < n ? room : n;
        memcpy(at, bytes, room);
        lines_added(l, room, 5);
        bytes += room;
        n -= room;
    }
}

static void test_any_split(void **state)
{
    (void)state;
    const char text[] = "\r\n\na\rb\r\r\nc\n\rd\r\ne";
    const char *expected = "||a|b||c||d|e|";
    size_t n = sizeof text - 1;
    for (size_t i = 0; i <= n; i++)
        for (size_t k = i; k <= n; k++) {
            struct seen s = {0};
            struct lines l;
            lines_init(&l, on_line, &s);
            put(&l, text, i);
            put(&l, text + i, k - i);
            put(&l, text + k, n - k);
            lines_end(&l, 5);
            lines_end(&l, 5);
            assert_string_equal(buf_text(&s.text), expected);
            lines_done(&l);
            buf_done(&s.text);
        }
}

static void test_long_lines(void **state)
{
    (void)state;
    char *bytes = malloc(3 * LINES_MAX);
    assert_non_null(bytes);
    memset(bytes, 'x', 3 * LINES_MAX);
    bytes[LINES_MAX + 10] = '\n';
    for (size_t step = 1000; step < 200000; step *= 3) {
        struct seen s = {0};
        struct lines l;
        lines_init(&l, on_line, &s);
        for (size_t at = 0; at < LINES_MAX + 20; at += step)
            put(&l, bytes + at, step < LINES_MAX + 20 - at ? step : LINES_MAX + 20 - at);
        lines_end(&l, 5);
        assert_int_equal(s.n, 3);
        assert_int_equal(s.pieces[0], LINES_MAX);
        assert_int_equal(s.pieces[1], 10);
        assert_int_equal(s.pieces[2], 9);
        assert_int_equal(s.text.p[LINES_MAX], '+');
        lines_done(&l);
        buf_done(&s.text);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_split), cmocka_unit_test(test_long_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
