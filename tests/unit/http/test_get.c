#include "base/clock.h"
#include "http/get.h"
#include "script_server.h"

struct got {
    struct loop *loop;
    int calls, status;
    enum http_get_outcome outcome;
    char body[200], detail[400], address[160];
    int64_t took_ns;
};

static void on_done(void *self, const struct http_get_result *r)
{
    struct got *g = self;
    g->calls++;
    g->outcome = r->outcome;
    g->status = r->status;
    snprintf(g->body, sizeof g->body, "%.*s", SPAN_ARG(r->body));
    snprintf(g->detail, sizeof g->detail, "%s", r->detail ? r->detail : "");
    snprintf(g->address, sizeof g->address, "%s", r->address ? r->address->text : "");
    g->took_ns = r->done_ns - r->sent_ns;
    loop_stop(g->loop);
}

/* Answers by the path that is asked for. */
static void answer(struct script_server *s, int fd, const char *request)
{
    const char *text = strstr(request, "GET /hello ")    ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                       : strstr(request, "GET /close ")  ? "HTTP/1.1 503 Busy\r\n\r\nuntil the close"
                       : strstr(request, "GET /chunks ") ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                                           "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
                       : strstr(request, "GET /cut ")    ? "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"
                       : strstr(request, "GET /odd ")    ? "hello\r\n"
                       : strstr(request, "GET /key ") && strstr(request, "\r\nAuthorization: Bearer k\r\n")
                           ? "HTTP/1.1 204 No Content\r\n\r\n"
                           : "";
    send_all(fd, text, strlen(text));
    if (strstr(request, "GET /silent "))
        while (!s->stop)
            usleep(2000);
}

static struct got get(const char *host, int port, const char *path, const char *header, size_t body_max)
{
    struct got g = {0};
    struct err e;
    struct http_get *h;
    assert_ok(loop_open(&g.loop, &e), e);
    struct http_get_options o = {.host = host,
                                 .port = port,
                                 .path = path,
                                 .header = header,
                                 .timeout_ns = 300000000,
                                 .body_max = body_max,
                                 .done = on_done,
                                 .self = &g};
    assert_ok(http_get_start(g.loop, &o, &h, &e), e);
    assert_int_equal(g.calls, 0);
    loop_run(g.loop, clock_now_ns() + INT64_C(10000000000));
    assert_int_equal(g.calls, 1);
    loop_close(g.loop);
    return g;
}

static void expect(struct got g, enum http_get_outcome outcome, int status, const char *body, const char *detail)
{
    assert_int_equal(g.outcome, outcome);
    assert_int_equal(g.status, status);
    assert_string_equal(g.body, body);
    if (!strstr(g.detail, detail))
        print_error("detail: %s\n", g.detail);
    assert_non_null(strstr(g.detail, detail));
}

static void outcomes(void **state)
{
    (void)state;
    struct script_server s = {.own = answer};
    script_server_start(&s, AF_INET, NULL, 0);
    const char *host = "127.0.0.1";
    expect(get(host, s.port, "/hello", NULL, 100), HTTP_GET_ANSWERED, 200, "hello", "");
    expect(get(host, s.port, "/close", NULL, 100), HTTP_GET_ANSWERED, 503, "until the close", "");
    expect(get(host, s.port, "/chunks", NULL, 5), HTTP_GET_ANSWERED, 200, "abcde", "");
    expect(get(host, s.port, "/chunks", NULL, 4), HTTP_GET_FAILED, -1, "", "is larger than 4 bytes");
    expect(get(host, s.port, "/cut", NULL, 100), HTTP_GET_FAILED, -1, "",
           "closed the connection before its answer to GET");
    expect(get(host, s.port, "/odd", NULL, 100), HTTP_GET_FAILED, -1, "", "not valid HTTP/1.1");
    expect(get(host, s.port, "/key", "Authorization: Bearer k", 100), HTTP_GET_ANSWERED, 204, "", "");
    struct got g = get(host, s.port, "/silent", NULL, 100);
    expect(g, HTTP_GET_TIMEOUT, -1, "", "within 0.3 s");
    assert_true(g.took_ns >= 290000000);
    script_server_stop(&s);
    expect(get(host, s.port, "/hello", NULL, 100), HTTP_GET_REFUSED, -1, "", "Connection refused");
}

/* "localhost" is two addresses; a server may listen on one of them. */
static void both_of_localhost(void **state)
{
    (void)state;
    for (int six = 0; six <= 1; six++) {
        int probe = socket(AF_INET6, SOCK_STREAM, 0);
        struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
        bool there = probe >= 0 && bind(probe, (struct sockaddr *)&a, sizeof a) == 0;
        if (probe >= 0)
            close(probe);
        if (six && !there)
            continue;
        struct script_server s = {.own = answer};
        script_server_start(&s, six ? AF_INET6 : AF_INET, NULL, 0);
        struct got g = get("localhost", s.port, "/hello", NULL, 100);
        expect(g, HTTP_GET_ANSWERED, 200, "hello", "");
        char want[40];
        snprintf(want, sizeof want, six ? "[::1]:%d" : "127.0.0.1:%d", s.port);
        assert_string_equal(g.address, want);
        script_server_stop(&s);
    }
}

static void unix_socket(void **state)
{
    (void)state;
    struct script_server s = {.own = answer};
    script_server_start(&s, AF_UNIX, NULL, 0);
    char host[120];
    snprintf(host, sizeof host, "unix:%s", s.path);
    expect(get(host, 0, "/hello", NULL, 100), HTTP_GET_ANSWERED, 200, "hello", "");
    script_server_stop(&s);
    expect(get(host, 0, "/hello", NULL, 100), HTTP_GET_REFUSED, -1, "", "The connection to unix:");
}

static void cancelling(void **state)
{
    (void)state;
    struct script_server s = {.own = answer};
    script_server_start(&s, AF_INET, NULL, 0);
    struct got g = {0};
    struct err e;
    struct http_get *h;
    assert_ok(loop_open(&g.loop, &e), e);
    struct http_get_options o = {.host = "127.0.0.1",
                                 .port = s.port,
                                 .path = "/silent",
                                 .timeout_ns = 1000000000,
                                 .body_max = 10,
                                 .done = on_done,
                                 .self = &g};
    assert_ok(http_get_start(g.loop, &o, &h, &e), e);
    loop_run(g.loop, clock_now_ns() + 30000000);
    http_get_cancel(h);
    loop_run(g.loop, clock_now_ns() + 10000000);
    assert_int_equal(g.calls, 0);
    loop_close(g.loop);
    script_server_stop(&s);
}

static void addresses(void **state)
{
    (void)state;
    struct address a[ADDRESSES_MAX];
    struct err e;
    int n;
    assert_ok(address_resolve("127.0.0.1", 8000, a, &n, &e), e);
    assert_int_equal(n, 1);
    assert_string_equal(a[0].text, "127.0.0.1:8000");
    assert_string_equal(a[0].host, "127.0.0.1:8000");
    const char *six[] = {"::1", "[::1]"};
    for (int i = 0; i < 2; i++) {
        assert_ok(address_resolve(six[i], 80, a, &n, &e), e);
        assert_string_equal(a[0].text, "[::1]:80");
        assert_string_equal(a[0].host, "[::1]:80");
    }
    assert_ok(address_resolve("localhost", 80, a, &n, &e), e);
    assert_int_equal(n, 2);
    assert_string_equal(a[0].host, "localhost:80");
    assert_ok(address_resolve("unix:/tmp/x.sock", 0, a, &n, &e), e);
    assert_true(address_is_unix(&a[0]));
    assert_string_equal(a[0].text, "unix:/tmp/x.sock");
    assert_false(address_resolve("no-such-host.invalid", 80, a, &n, &e));
    assert_int_equal(e.kind, ERR_PLAN);
    assert_non_null(strstr(e.text, "neither an address nor a name in /etc/hosts"));
    assert_false(address_resolve("127.0.0.1", 65536, a, &n, &e));
    assert_false(address_resolve("unix:", 0, a, &n, &e));
    assert_false(address_resolve("", 80, a, &n, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes),   cmocka_unit_test(both_of_localhost), cmocka_unit_test(unix_socket),
        cmocka_unit_test(cancelling), cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
