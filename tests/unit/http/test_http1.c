#include "check.h"

#include "unit/split.h"
#include "http/http1.h"

/* "head STATUS flags; body BYTES; done" or "error PHRASE". After the last byte the peer closes. */
static void run_http1(struct span text, const size_t *cuts, size_t n, struct buf *account)
{
    struct http1 h;
    struct buf body = {0};
    http1_init(&h);
    enum http1_event event = HTTP1_MORE;
    size_t unused = 0;
    for (size_t i = 0; i <= n; i++) {
        struct span input;
        char *copy = split_piece(text, cuts, n, i, &input);
        do {
            event = http1_feed(&h, &input);
            if (event == HTTP1_HEAD)
                buf_fmt(account, "%d%s%s%s %lld; ", h.status, h.close ? " close" : "", h.chunked ? " chunked" : "",
                        h.event_stream ? " stream" : "", (long long)h.length);
            if (event == HTTP1_BODY) {
                assert_true(h.body.n > 0);
                buf_add(&body, h.body.p, h.body.n);
            }
        } while (event == HTTP1_HEAD || event == HTTP1_BODY);
        assert_true(event != HTTP1_MORE || input.n == 0);
        unused += input.n;
        free(copy);
    }
    bool open = event == HTTP1_MORE;
    if (open)
        event = http1_eof(&h);
    assert_true(event == HTTP1_DONE || event == HTTP1_ERROR);
    struct span none = {0};
    assert_int_equal(http1_feed(&h, &none), event); /* and for ever after */
    assert_int_equal(http1_eof(&h), event);
    if (body.n) {
        buf_add(account, body.p, body.n);
        buf_str(account, "; ");
    }
    if (event == HTTP1_DONE)
        buf_fmt(account, "%s %zu", open ? "closed" : "done", unused);
    else
        buf_fmt(account, "%s%s", h.too_large ? "too large: " : "", h.fault);
    http1_done(&h);
    buf_done(&body);
}

static void check(const char *text, const char *expected)
{
    struct buf whole = {0};
    split_everywhere(span_of(text), run_http1, &whole);
    if (strcmp(buf_text(&whole), expected) != 0)
        fail_msg("%s\ngave     %s\nexpected %s", text, buf_text(&whole), expected);
    buf_done(&whole);
}

static void bodies_end_where_they_say(void **state)
{
    (void)state;
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP", "200 5; hello; done 4");
    check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nx", "200 0; done 1");
    check("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhell", "200 5; hell; truncated");
    check("HTTP/1.1 200 OK\r\n\r\nall of it", "200 close -1; all of it; closed 0");
    check("HTTP/1.1 200 OK\r\n\r\n", "200 close -1; closed 0");
    check("HTTP/1.1 204 No Content\r\n\r\nx", "204 -1; done 1");
    check("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "304 5; done 0");
    check("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "200 close 1; a; done 0");
    check("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\na", "200 1; a; done 0");
    check("HTTP/1.1 200 OK\r\nconnection: foo , CLOSE\r\ncontent-length:1\r\n\r\na", "200 close 1; a; done 0");
    check("HTTP/1.1 200 OK\nContent-Length: 1\n\na", "200 1; a; done 0"); /* LF alone in the head */
}

static void chunks_are_joined(void **state)
{
    (void)state;
    const char *head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const struct {
        const char *body, *expected;
    } cases[] = {
        {"5\r\nhello\r\n0\r\n\r\n", "hello; done 0"},
        {"5\r\nhello\r\n00a\r\n, worldly!\r\n000\r\n\r\nHTTP/1.1", "hello, worldly!; done 8"},
        {"A\r\n0123456789\r\n0\r\n\r\n", "0123456789; done 0"},
        {"1;name=value;q=\"a;b\"\r\nx\r\n0;last\r\n\r\n", "x; done 0"},
        {"1 \t;n\r\nx\r\n0 \r\n\r\n", "x; done 0"},
        {"1\r\nx\r\n0\r\nTrailer: one\r\nOther: two\r\n\r\ny", "x; done 1"},
        {"1\r\nx\r\n0\r\nT: a\rb\r\r\n\r\n", "x; done 0"},
        {"0\r\n\r\n", "done 0"},
        {"", "truncated"},
        {"5", "truncated"},
        {"5\r\nhel", "hel; truncated"},
        {"5\r\nhello\r\n", "hello; truncated"},
        {"5\r\nhello\r\n0\r\n", "hello; truncated"},
        {"5\r\nhello\r\n0\r\n\r", "hello; truncated"},
        {"5\r\nhello\r\n0\r\nTrailer: one\r\n", "hello; truncated"},
        {"5\nhello\r\n0\r\n\r\n", "a bare LF in chunk framing"},
        {"5\r\nhello\n0\r\n\r\n", "hello; a chunk that is longer than its size"},
        {"5\r\nhello\r\n0\n\r\n", "hello; a bare LF in chunk framing"},
        {"5\r\nhello\r\n0\r\n\n", "hello; a bare LF in chunk framing"},
        {"5\r\nhello\r\n0\r\nT: x\n\r\n", "hello; a bare LF in chunk framing"},
        {"5\r\nhello\r\n0\r\n\rX", "hello; a bare CR in chunk framing"},
        {"5;x\ny\r\nhello", "a bare LF in chunk framing"},
        {"5;x\ry\r\nhello", "a chunk size line with a bare CR"},
        {"5\r\nhello!\r\n", "hello; a chunk that is longer than its size"},
        {"5\r\nhello\rX", "hello; a chunk that is longer than its size"},
        {"\r\n", "a chunk without a size"},
        {" 5\r\nhello", "a chunk without a size"},
        {"g\r\n", "a chunk without a size"},
        {";x\r\n", "a chunk without a size"},
        {"-1\r\n", "a chunk without a size"},
        {"0x5\r\nhello", "a chunk size that is not a hexadecimal number"},
        {"5 5\r\nhello", "a chunk size that is not a hexadecimal number"},
        {"5h\r\n", "a chunk size that is not a hexadecimal number"},
        {"7fffffffffffffff\r\nabc", "abc; truncated"},
        {"00000000000000007fffffffffffffff\r\nabc", "abc; truncated"},
        {"8000000000000000\r\nabc", "a chunk size over 2^63-1"},
        {"fffffffffffffffff\r\nabc", "a chunk size over 2^63-1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = {0}, expected = {0};
        buf_str(&text, head);
        buf_str(&text, cases[i].body);
        buf_fmt(&expected, "200 chunked -1; %s", cases[i].expected);
        check(buf_text(&text), buf_text(&expected));
        buf_done(&text);
        buf_done(&expected);
    }
}

static void malformed_heads_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *head, *expected;
    } cases[] = {
        {"", "truncated"},
        {"HTTP/1.1 200 OK\r\nServer: x\r\n", "truncated"},
        {"HTTP/2 200\r\n\r\n", "it does not begin with an HTTP/1 status line"},
        {"HTTP/1.x 200 OK\r\n\r\n", "it does not begin with an HTTP/1 status line"},
        {"http/1.1 200 OK\r\n\r\n", "it does not begin with an HTTP/1 status line"},
        {"ICY 200 OK\r\n\r\n", "it does not begin with an HTTP/1 status line"},
        {"\r\nHTTP/1.1 200 OK\r\n\r\n", "it does not begin with an HTTP/1 status line"},
        {"<html>\n", "it does not begin with an HTTP/1 status line"},
        {"HTTP/1.1\r\n\r\n", "it does not begin with an HTTP/1 status line"},
        {"HTTP/1.1\t200 OK\r\n\r\n", "it does not begin with an HTTP/1 status line"},
        {"PRI", "truncated"},
        {"PRI\r\n", "it does not begin with an HTTP/1 status line"},
        {"PRIVATE\r\n", "it does not begin with an HTTP/1 status line"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "it begins as HTTP/2 does, but jtok speaks HTTP/1.1"},
        {"\x15\x03\x01", "it begins with a TLS record, so this port speaks HTTPS, but jtok only plain HTTP"},
        {"\x16\x03\x03\n", "it begins with a TLS record, so this port speaks HTTPS, but jtok only plain HTTP"},
        {"HTTP/1.1 20 OK\r\n\r\n", "a status that is not three digits"},
        {"HTTP/1.1 2000 OK\r\n\r\n", "a status that is not three digits"},
        {"HTTP/1.1  200 OK\r\n\r\n", "a status that is not three digits"},
        {"HTTP/1.1 2x0 OK\r\n\r\n", "a status that is not three digits"},
        {"HTTP/1.1 -20 OK\r\n\r\n", "a status that is not three digits"},
        {"HTTP/1.1 \r\n\r\n", "a status that is not three digits"},
        {"HTTP/1.1 000 OK\r\n\r\n", "a status below 100"},
        {"HTTP/1.1 099 OK\r\n\r\n", "a status below 100"},
        {" HTTP/1.1 200 OK\r\n\r\n", "white space before the first header"},
        {"HTTP/1.1 200 OK\r\n X: y\r\n\r\n", "white space before the first header"},
        {"HTTP/1.1 200 OK\r\nServer\r\n\r\n", "a header line without a colon"},
        {"HTTP/1.1 200 OK\r\nServer : x\r\n\r\n", "white space before a header's colon"},
        {"HTTP/1.1 200 OK\r\nServer\t: x\r\n\r\n", "white space before a header's colon"},
        {"HTTP/1.1 200 OK\r\nX\r\n : x\r\n\r\n", "white space before a header's colon"},
        {"HTTP/1.1 200 OK\r\n: x\r\n\r\n", "a header name with bytes that no name may have"},
        {"HTTP/1.1 200 OK\r\nA B: x\r\n\r\n", "a header name with bytes that no name may have"},
        {"HTTP/1.1 200 OK\r\nA\x01: x\r\n\r\n", "a header name with bytes that no name may have"},
        {"HTTP/1.1 200 OK\r\n\xc3\xa9: x\r\n\r\n", "a header name with bytes that no name may have"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
         "both Transfer-Encoding and Content-Length"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n",
         "both Transfer-Encoding and Content-Length"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "two Content-Lengths that differ"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n", "two Content-Lengths that differ"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n",
         "a Content-Length that is not a number up to 2^63-1"},
        {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "a Content-Length that is not a number up to 2^63-1"},
        {"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "a Content-Length that is not a number up to 2^63-1"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1 2\r\n\r\n", "a Content-Length that is not a number up to 2^63-1"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\n", "a Content-Length that is not a number up to 2^63-1"},
        {"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "a Content-Length that is not a number up to 2^63-1"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n", "a Content-Length that is not a number up to 2^63-1"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "a transfer coding other than chunked"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;q=1\r\n\r\n", "a transfer coding other than chunked"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
         "a transfer coding on top of chunked"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n", "a transfer coding on top of chunked"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(cases[i].head, cases[i].expected);
}

static void odd_heads_are_understood(void **state)
{
    (void)state;
    check("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nContent-Length: 005\r\n\r\nhello", "200 5; hello; done 0");
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, Chunked\r\n\r\n0\r\n\r\n", "200 chunked -1; done 0");
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: , identity\r\n\r\nx", "200 close -1; x; closed 0");
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\t chunked\r\n\r\n0\r\n\r\n", "200 chunked -1; done 0");
    check("HTTP/1.1 200 OK\r\nX: a\r\n  b\r\n\tContent-Length: 5\r\nContent-Length: 1\r\n\r\nx", "200 1; x; done 0");
    check("HTTP/1.1 200 OK\r\nContent-Length: \t 1 \t\r\n\r\nx", "200 1; x; done 0");
    check("HTTP/1.1 200 O\x01\x1b[31mK\r\nX: \x02\x7f\xff\rb\r\nContent-Length: 1\r\n\r\nx", "200 1; x; done 0");
    check("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nContent-Length: 0\r\n\r\n",
          "200 stream 0; done 0");
    check("HTTP/1.1 200 OK\r\nContent-Type: TEXT/Event-Stream ;x\r\nContent-Length: 0\r\n\r\n", "200 stream 0; done 0");
    check("HTTP/1.1 200 OK\r\nContent-Type: text/event-streams\r\nContent-Length: 0\r\n\r\n", "200 0; done 0");
    check("HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n", "599 0; done 0");
}

static void interim_responses_are_skipped(void **state)
{
    (void)state;
    check(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\nContent-Type: text/event-stream\r\n\r\n"
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        "200 1; x; done 0");
    check("HTTP/1.1 100 Continue\r\n\r\n", "truncated");
    check("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\nxyz", "101 close -1; done 3");
    for (int n = 100; n <= 101; n++) {
        struct buf text = {0}, account = {0};
        for (int i = 0; i < n; i++)
            buf_str(&text, "HTTP/1.1 102 Processing\r\n\r\n");
        buf_str(&text, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        run_http1(buf_span(&text), NULL, 0, &account);
        assert_string_equal(buf_text(&account),
                            n == 100 ? "200 0; done 0" : "too large: more than 100 interim responses");
        buf_done(&text);
        buf_done(&account);
    }
}

static void a_compressed_body_is_refused_after_its_status(void **state)
{
    (void)state;
    check("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
          "200 3; a compressed body, though none was asked for");
    check("HTTP/1.1 502 Bad Gateway\r\nContent-Encoding: br\r\n\r\n",
          "502 close -1; a compressed body, though none was asked for");
    check("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 1\r\n\r\nx", "200 1; x; done 0");
    check("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", "200 0; done 0");
}

static void run_filled(const char *before, size_t fill, const char *after, const char *expected)
{
    struct buf text = {0}, account = {0};
    buf_str(&text, before);
    for (size_t i = 0; i < fill; i++)
        buf_byte(&text, 'a');
    buf_str(&text, after);
    size_t cuts[2] = {text.n / 2, text.n - strlen(after)};
    for (size_t n = 0; n <= 2; n++) {
        buf_clear(&account);
        run_http1(buf_span(&text), cuts, n, &account);
        if (strcmp(buf_text(&account), expected) != 0)
            fail_msg("%s... %zu: %s, expected %s", before, fill, buf_text(&account), expected);
    }
    buf_done(&text);
    buf_done(&account);
}

static void limits_are_kept(void **state)
{
    (void)state;
    /* "X: " and the filling are the line; its end does not count. */
    run_filled("HTTP/1.1 200 OK\r\nX: ", 8192 - 3, "\r\nContent-Length: 0\r\n\r\n", "200 0; done 0");
    run_filled("HTTP/1.1 200 OK\r\nX: ", 8193 - 3, "\r\nContent-Length: 0\r\n\r\n",
               "too large: a header line over 8 KiB");
    run_filled("HTTP/1.1 200 OK\r\nX: ", 8192 - 3, "\nContent-Length: 0\r\n\r\n", "200 0; done 0");
    run_filled("HTTP/1.1 200 OK\r\nX: ", 8193 - 3, "\nContent-Length: 0\r\n\r\n",
               "too large: a header line over 8 KiB");
    run_filled("HTTP/1.1 200 OK\r\nX: b\r\n ", 8192 - 5, "\r\nContent-Length: 0\r\n\r\n", "200 0; done 0");
    run_filled("HTTP/1.1 200 OK\r\nX: b\r\n ", 8193 - 5, "\r\nContent-Length: 0\r\n\r\n",
               "too large: a header line over 8 KiB");
    run_filled("HTTP/1.1 200 ", 8192 - 13, "\r\nContent-Length: 0\r\n\r\n", "200 0; done 0");
    run_filled("HTTP/1.1 200 ", 100000, "", "too large: a header line over 8 KiB");
    run_filled("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", 8190, "\r\nx\r\n0\r\n\r\n",
               "200 chunked -1; x; done 0");
    run_filled("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", 8192, "\r\nx\r\n0\r\n\r\n",
               "200 chunked -1; too large: a chunk size line over 8 KiB");
    run_filled("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT:", 9000, "\r\n\r\n",
               "200 chunked -1; too large: a trailer over 8 KiB");
}

/* The whole head is exactly 65 536 bytes, or one more. */
static void a_head_has_64_kib(void **state)
{
    (void)state;
    for (int more = 0; more <= 1; more++) {
        struct buf text = {0}, account = {0};
        buf_str(&text, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
        while (text.n + 2 < 65536 + (size_t)more) {
            size_t left = 65536 + (size_t)more - 2 - text.n, n = left < 2000 ? left : 1000;
            buf_str(&text, "X:");
            for (size_t i = 4; i < n; i++)
                buf_byte(&text, 'y');
            buf_str(&text, "\r\n");
        }
        buf_str(&text, "\r\n");
        run_http1(buf_span(&text), NULL, 0, &account);
        assert_string_equal(buf_text(&account), more ? "too large: a head over 64 KiB" : "200 0; done 0");
        buf_done(&text);
        buf_done(&account);
    }
}

static void fields_for_people_are_clean(void **state)
{
    (void)state;
    struct http1 h;
    http1_init(&h);
    assert_false(h.head_started);
    struct span input =
        span_of("HTTP/1.1 307 \x1b[2J\r\nLocation: /metrics/\x1b\x07\xc2\x9b\r\nContent-Type: text/html\r\n\r\n");
    assert_int_equal(http1_feed(&h, &input), HTTP1_HEAD);
    assert_true(h.head_started);
    assert_string_equal(h.location, "/metrics/????");
    assert_string_equal(h.content_type, "text/html");
    http1_done(&h);
    struct buf b = {0};
    buf_str(&b, "HTTP/1.1 200 OK\r\nContent-Type: ");
    for (int i = 0; i < 100; i++)
        buf_byte(&b, 'q');
    buf_str(&b, "\r\n\r\n");
    http1_init(&h);
    input = buf_span(&b);
    assert_int_equal(http1_feed(&h, &input), HTTP1_HEAD);
    assert_int_equal(strlen(h.content_type), sizeof h.content_type - 1);
    http1_done(&h);
    buf_done(&b);
}

static void a_kept_connection_is_read_on(void **state)
{
    (void)state;
    struct http1 h;
    http1_init(&h);
    struct span input =
        span_of("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nbb");
    assert_int_equal(http1_feed(&h, &input), HTTP1_HEAD);
    assert_int_equal(http1_feed(&h, &input), HTTP1_BODY);
    assert_int_equal(http1_feed(&h, &input), HTTP1_DONE);
    assert_false(h.close);
    http1_done(&h);
    http1_init(&h);
    assert_int_equal(http1_feed(&h, &input), HTTP1_HEAD);
    assert_int_equal(h.status, 404);
    assert_int_equal(http1_feed(&h, &input), HTTP1_BODY);
    assert_true(span_is(h.body, "bb"));
    assert_int_equal(http1_feed(&h, &input), HTTP1_DONE);
    http1_done(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_end_where_they_say),
        cmocka_unit_test(chunks_are_joined),
        cmocka_unit_test(malformed_heads_are_refused),
        cmocka_unit_test(odd_heads_are_understood),
        cmocka_unit_test(interim_responses_are_skipped),
        cmocka_unit_test(a_compressed_body_is_refused_after_its_status),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(a_head_has_64_kib),
        cmocka_unit_test(fields_for_people_are_clean),
        cmocka_unit_test(a_kept_connection_is_read_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
