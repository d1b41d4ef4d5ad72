#include "check.h"

#include "unit/split.h"
#include "http/sse.h"

static size_t event_max;

static void describe(const struct sse *s, struct buf *account)
{
    if (s->event[0])
        buf_fmt(account, "<%s>", s->event);
    if (s->is_error)
        buf_str(account, "!");
    if (!s->has_data)
        buf_str(account, "-");
    buf_byte(account, '[');
    buf_add(account, s->data.p, s->data.n);
    buf_byte(account, ']');
}

static bool orderly; /* how the stream ends */

static void run_sse(struct span text, const size_t *cuts, size_t n, struct buf *account)
{
    struct sse s;
    sse_init(&s, event_max);
    enum sse_event_kind kind = SSE_MORE;
    for (size_t i = 0; i <= n; i++) {
        struct span input;
        char *copy = split_piece(text, cuts, n, i, &input);
        while ((kind = sse_feed(&s, &input)) == SSE_EVENT)
            describe(&s, account);
        assert_true(kind == SSE_TOO_LARGE || input.n == 0);
        free(copy);
    }
    if (kind == SSE_MORE) {
        buf_byte(account, '|');
        while ((kind = sse_eof(&s, orderly)) == SSE_EVENT)
            describe(&s, account);
    }
    if (kind == SSE_TOO_LARGE)
        buf_str(account, "too large");
    else
        buf_fmt(account, " %llu %llu%s", (unsigned long long)s.events, (unsigned long long)s.comments,
                s.any_data_line ? "" : " no data");
    sse_done(&s);
}

static void check(const char *text, const char *expected)
{
    struct buf whole = {0};
    split_everywhere(span_of(text), run_sse, &whole);
    if (strcmp(buf_text(&whole), expected) != 0)
        fail_msg("%s\ngave     %s\nexpected %s", text, buf_text(&whole), expected);
    buf_done(&whole);
}

static void events_end_with_an_empty_line(void **state)
{
    (void)state;
    check("data: a\n\ndata: b\n\n", "[a][b]| 2 0");
    check("data: a\r\n\r\ndata: b\r\n\r\n", "[a][b]| 2 0");
    check("data: a\r\rdata: b\r\r", "[a][b]| 2 0");
    check("data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", "[a][b][c]| 3 0");
    check("data: a\n\n\n\n\ndata: b\n\n", "[a][b]| 2 0");
    check("", "| 0 0 no data");
    check("\n\r\n", "| 0 0 no data");
}

static void data_lines_join(void **state)
{
    (void)state;
    check("data: a\ndata: b\ndata\ndata:\ndata:  c\n\n", "[a\nb\n\n\n c]| 1 0");
    check("data\n\n", "[]| 1 0");
    check("data:\n\n", "[]| 1 0");
    check("data\ndata\n\n", "[\n]| 1 0");
    check("data:a\ndata: a:b\n\n", "[a\na:b]| 1 0");
}

static void other_fields_are_skipped(void **state)
{
    (void)state;
    check("id: 7\nretry: 10\nfoo: bar\ndata: x\nbaz\nevent: token\n\n", "<token>[x]| 1 0");
    check("event: gone\n\ndata: x\n\n", "[x]| 1 0"); /* without data nothing is dispatched, and its name is forgotten */
    check("Data: x\ndata : y\ndatax: z\n data: v\n\n", "| 0 0 no data");
    check("event: a\nevent: b\ndata: 1\n\n", "<b>[1]| 1 0");
    check("event\ndata: 1\n\n", "[1]| 1 0");
    check("event: 0123456789012345678901234567890123456789\ndata: 1\n\n", "<0123456789012345678901234567890>[1]| 1 0");
}

static void comments_are_counted(void **state)
{
    (void)state;
    check(": keep-alive\n\n:\n\ndata: x\n: in between\ndata: y\n\n::\n", "[x\ny]| 1 4");
    check(":data: x\n\n", "| 0 1 no data");
}

static void one_mark_at_the_start_is_skipped(void **state)
{
    (void)state;
    check("\xef\xbb\xbf"
          "data: a\n\n",
          "[a]| 1 0");
    check("\xef\xbb\xbf\xef\xbb\xbf"
          "data: a\n\n",
          "| 0 0 no data");
    check("\n\xef\xbb\xbf"
          "data: a\n\n",
          "| 0 0 no data");
    check("\xef\xbb\xbf\n\ndata: a\n\n", "[a]| 1 0");
    check("\xef\xbb"
          "data: a\n\n",
          "| 0 0 no data");
    check("\xef\xbb\xbf", "| 0 0 no data");
}

/* Only CR, LF and CRLF end a line: not U+2028, U+2029, U+0085, VT, FF, nor a zero byte. */
static void nothing_else_ends_a_line(void **state)
{
    (void)state;
    check("data: a\xe2\x80\xa8"
          "b\xe2\x80\xa9"
          "c\xc2\x85"
          "d\x0b"
          "e\x0c"
          "f\xff\n\n",
          "[a\xe2\x80\xa8"
          "b\xe2\x80\xa9"
          "c\xc2\x85"
          "d\x0b"
          "e\x0c"
          "f\xff]| 1 0");
    struct buf whole = {0};
    split_everywhere((struct span){"data: a\0b\n\n", 11}, run_sse, &whole);
    assert_int_equal(whole.n, strlen("[a.b]| 1 0"));
    buf_done(&whole);
}

static void errors_are_kept(void **state)
{
    (void)state;
    check("error: {\"code\":500}\n\n", "!-[{\"code\":500}]| 1 0 no data");
    check("error: x\ndata: y\n\n", "![y]| 1 0");
    check("data: y\nerror: x\n\n", "![y]| 1 0");
    check("error: x\nerror: z\ndata: y\ndata: w\n\n", "![y\nw]| 1 0");
    check("event: error\ndata: no\n\n", "<error>![no]| 1 0");
    check("event: error\n: engine died\n\ndata: x\n\n", "<error>!-[][x]| 2 1");
    check("event: errors\n\n", "| 0 0 no data");
}

/* METHOD: a last event that the end of the connection completes counts; one that it cuts is dropped. */
static void the_end_completes_or_cuts(void **state)
{
    (void)state;
    check("data: a\n\ndata: b\n", "[a]|[b] 2 0");
    check("data: a\n\ndata: b\r", "[a]|[b] 2 0");
    check("data: b\r\n", "|[b] 1 0");
    check("data: a\n\ndata: b", "[a]| 1 0");
    check("data: a\ndata: b", "| 0 0");
    check("data: a\nda", "| 0 0");
    check("event: x\n", "| 0 0 no data");
    orderly = true; /* the sender announced the end: a last line needs no line end */
    check("data: a\n\ndata: b\n", "[a]|[b] 2 0");
    check("data: a\n\ndata: b", "[a]|[b] 2 0");
    check("data: a\ndata: b", "|[a\nb] 1 0");
    check("data: a\nda", "|[a] 1 0");
    check("data: a\n: co", "|[a] 1 1");
    check("\xef\xbb\xbf"
          "data: a",
          "|[a] 1 0");
    check("event: error", "|<error>!-[] 1 0 no data");
    check("event: x", "| 0 0 no data");
    check("data: a\n\n", "[a]| 1 0");
    orderly = false;
}

static void long_and_short_lines_of_every_length(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++) {
        struct buf text = {0}, expected = {0};
        buf_str(&text, "data: ");
        for (size_t i = 0; i < n; i++)
            buf_byte(&text, (char)(0x8a + i % 4)); /* LF and CR with the top bit set */
        buf_byte(&expected, '[');
        buf_add(&expected, text.p + 6, n);
        buf_str(&expected, "]| 1 0");
        buf_str(&text, "\n\n");
        check(buf_text(&text), buf_text(&expected));
        buf_done(&text);
        buf_done(&expected);
    }
}

/* The data so far and the line in hand may take event_max bytes together: "data: 56" is 8, so 8 more fit with 16. */
static void large_events_are_refused(void **state)
{
    (void)state;
    event_max = 16;
    check("data: 0123456789\n\n", "[0123456789]| 1 0");
    check("data: 0123456789A\n\n", "too large");
    check("data: 0123456789A", "too large");
    check(":0123456789ABCDE\n:0123456789ABCDE\n\ndata: x\n\n", "[x]| 1 2");
    check(":0123456789ABCDEF", "too large");
    check("data: 12345678\ndata: 90\n\n", "[12345678\n90]| 1 0");
    check("data: 12345678\ndata: 901\n\n", "too large");
    check("data: 0123456789\n\ndata: 0123456789\n\ndata: 0123456789A\n\n", "[0123456789][0123456789]too large");
    event_max = 16 * 1024 * 1024;
}

static void whole_events_are_not_copied(void **state)
{
    (void)state;
    struct sse s;
    sse_init(&s, 1024);
    const char *text = "data: first\n\ndata: second\n\n";
    struct span input = span_of(text);
    assert_int_equal(sse_feed(&s, &input), SSE_EVENT);
    assert_ptr_equal(s.data.p, text + 6);
    assert_int_equal(sse_feed(&s, &input), SSE_EVENT);
    assert_ptr_equal(s.data.p, text + 19);
    assert_int_equal(sse_feed(&s, &input), SSE_MORE);
    assert_int_equal(s.held.capacity + s.joined.capacity, 0);
    sse_done(&s);
}

static void memory_of_a_large_event_is_given_back(void **state)
{
    (void)state;
    struct sse s;
    sse_init(&s, 16 * 1024 * 1024);
    char block[1024];
    memset(block, 'x', sizeof block);
    struct span input = span_of("data: ");
    assert_int_equal(sse_feed(&s, &input), SSE_MORE);
    for (int i = 0; i < 1024; i++) {
        input = (struct span){block, sizeof block};
        assert_int_equal(sse_feed(&s, &input), SSE_MORE);
    }
    input = span_of("\n");
    assert_int_equal(sse_feed(&s, &input), SSE_MORE);
    input = span_of("\n");
    assert_int_equal(sse_feed(&s, &input), SSE_EVENT);
    assert_int_equal(s.data.n, 1024 * 1024);
    input = span_of("data: a");
    assert_int_equal(sse_feed(&s, &input), SSE_MORE);
    assert_true(s.held.capacity + s.joined.capacity <= 4096);
    sse_done(&s);
}

int main(void)
{
    event_max = 16 * 1024 * 1024;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_end_with_an_empty_line),
        cmocka_unit_test(data_lines_join),
        cmocka_unit_test(other_fields_are_skipped),
        cmocka_unit_test(comments_are_counted),
        cmocka_unit_test(one_mark_at_the_start_is_skipped),
        cmocka_unit_test(nothing_else_ends_a_line),
        cmocka_unit_test(errors_are_kept),
        cmocka_unit_test(the_end_completes_or_cuts),
        cmocka_unit_test(long_and_short_lines_of_every_length),
        cmocka_unit_test(large_events_are_refused),
        cmocka_unit_test(whole_events_are_not_copied),
        cmocka_unit_test(memory_of_a_large_event_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
