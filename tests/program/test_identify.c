/* `jtok identify` on the simulated engines: what they say, against how they were started. */
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/time.h"
#include "cli/exit.h"
#include "program/harness.h"
#include "text/json.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct site {
    struct life l;
    pid_t server;
    int port;
    char url[64];
};

/* A socket of this machine that listens at a port of its own. */
static int listen_somewhere(int *ret_port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static void open_site(struct site *s)
{
    *s = (struct site){.server = 0};
    life_open(&s->l);
    close(listen_somewhere(&s->port));
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", s->port);
}

static void close_site(struct site *s)
{
    if (s->server > 0) {
        kill(s->server, SIGTERM);
        waitpid(s->server, NULL, 0);
    }
    life_close(&s->l);
}

static bool answers(int port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    char text[64] = {0};
    static const char question[] = "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
                write(fd, question, sizeof question - 1) == sizeof question - 1 &&
                read(fd, text, sizeof text - 1) > 0 && strstr(text, " 200 ");
    close(fd);
    return good;
}

static void start_engine(struct site *s, const char *const *words)
{
    fflush(NULL);
    s->server = fork();
    if (s->server == 0) {
        char port[16];
        snprintf(port, sizeof port, "%d", s->port);
        const char *argv[40] = {JTOK_BIN "/jtok-sim-engine", "serve", "org/m", "--port", port, "--sim-start-s", "0.2"};
        for (size_t n = 7; *words; n++)
            argv[n] = *words++;
        setenv("JTOK_SIM_STATE", s->l.state, 1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        freopen("/dev/null", "w", stdout);
        freopen("/dev/null", "w", stderr);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    for (int64_t limit = clock_now_ns() + 20 * SECOND_NS; !answers(s->port); usleep(20000))
        assert_true(clock_now_ns() < limit);
}

/* The value of `key` of the property of this name, in the JSON that was printed. */
static const char *property(struct site *s, const char *name, const char *key)
{
    struct span list = json_member(span_of(s->l.out), span_of("properties"));
    const char *head = arena_format(&s->l.arena, "\"name\": \"%s\"", name);
    const char *at = memmem(list.p, list.n, head, strlen(head));
    if (!at)
        fail_msg("no property %s in %s", name, s->l.out);
    char mark[64];
    snprintf(mark, sizeof mark, "\"%s\": ", key);
    at = strstr(at, mark) + strlen(mark);
    size_t n = strcspn(at, "\n") - (at[strcspn(at, "\n") - 1] == ',');
    bool quoted = at[0] == '"';
    return arena_copy(&s->l.arena, at + quoted, n - (quoted ? 2U : 0));
}

static void property_is(struct site *s, const char *name, const char *state, const char *seen, const char *source)
{
    assert_string_equal(property(s, name, "state"), state);
    assert_string_equal(property(s, name, "seen"), seen);
    assert_string_equal(property(s, name, "source"), source);
}

static void vllm_is_held_against_its_command(void **state)
{
    (void)state;
    struct site s;
    open_site(&s);
    start_engine(&s, ARGS("--max-model-len", "4096", "--no-enable-prefix-caching", "--tensor-parallel-size", "1"));
    assert_int_equal(life_run(&s.l, ARGS("identify", s.url, "--format", "json"), NULL, 30), EXIT_OK);
    property_is(&s, "model", "verified", "org/m", "/v1/models, id");
    property_is(&s, "root", "verified", "org/m", "/v1/models, root");
    property_is(&s, "context_length", "verified", "4096", "/v1/models, max_model_len");
    property_is(&s, "version", "not_stated", "0.24.0-simulated", "/version, version");
    property_is(&s, "prefix_cache", "verified", "off", "/metrics, enable_prefix_caching of vllm:cache_config_info");
    property_is(&s, "tensor_parallel", "not_verifiable", "null", "null");
    assert_string_equal(property(&s, "tensor_parallel", "stated"), "1");
    assert_int_equal(life_run(&s.l, ARGS("identify", s.url), NULL, 30), EXIT_OK);
    assert_non_null(strstr(s.l.out, "4 verified, 0 wrong, 3 not verifiable, 13 not stated.\n"));
    close_site(&s);
}

static void sglang_tells_more(void **state)
{
    (void)state;
    struct site s;
    open_site(&s);
    start_engine(&s, ARGS("--flavour", "sglang", "--max-model-len", "2048"));
    assert_int_equal(life_run(&s.l, ARGS("identify", s.url, "--format", "json"), NULL, 30), EXIT_OK);
    assert_non_null(strstr(s.l.out, "\"engine\": \"sglang\""));
    property_is(&s, "version", "not_stated", "0.5.16", "/server_info, version");
    property_is(&s, "context_length", "not_stated", "2048", "/v1/models, max_model_len");
    property_is(&s, "root", "not_stated", "org/m", "/server_info, model_path");
    property_is(&s, "tensor_parallel", "verified", "1", "/server_info, tp_size");
    property_is(&s, "attention_backend", "not_stated", "triton", "/server_info, attention_backend");
    property_is(&s, "precision", "not_stated", "null", "null"); /* it may hide a quantization */
    close_site(&s);
}

/* The command states one thing, the server another: by the simulated engine's own fault. */
static void what_is_wrong_is_told_and_fails(void **state)
{
    (void)state;
    struct site s;
    open_site(&s);
    start_engine(&s, ARGS("--max-model-len", "4096", "--sim-fault", "wrong-length"));
    assert_int_equal(life_run(&s.l, ARGS("identify", s.url), NULL, 30), EXIT_ENGINE);
    assert_non_null(strstr(s.l.out, "WRONG"));
    close_site(&s);
}

/* A server that answers whatever it is asked with one text, and counts what it was asked. */
static void serve_text(int fd, const char *text, size_t n)
{
    for (;;) {
        char question[2048];
        int peer = accept(fd, NULL, NULL);
        if (peer < 0 || read(peer, question, sizeof question) <= 0) {
            close(peer);
            continue;
        }
        dprintf(peer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", n);
        for (size_t sent = 0; sent < n;) {
            ssize_t k = write(peer, text + sent, n - sent);
            if (k <= 0)
                break;
            sent += (size_t)k;
        }
        close(peer);
    }
}

static void hostile_server(struct span text, int wanted, const char *said)
{
    struct site s;
    open_site(&s);
    int fd = listen_somewhere(&s.port);
    snprintf(s.url, sizeof s.url, "127.0.0.1:%d", s.port);
    fflush(NULL);
    s.server = fork();
    if (s.server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        serve_text(fd, text.p, text.n);
    }
    close(fd);
    assert_int_equal(life_run(&s.l, ARGS("identify", s.url), NULL, 60), wanted);
    if (!strstr(wanted ? s.l.err : s.l.out, said))
        fail_msg("\"%s\" is not said: %s%s", said, s.l.out, s.l.err);
    for (const char *p = wanted ? s.l.err : s.l.out; *p; p++)
        assert_true((unsigned char)*p >= ' ' || *p == '\n');
    close_site(&s);
}

static void hostile_answers_are_told(void **state)
{
    (void)state;
    struct buf big = {0}, deep = {0};
    for (int i = 0; i < (5 << 20) / 64; i++)
        buf_str(&big, "{\"data\":[{\"id\":\"0123456789012345678901234567890123456789\"}],\"x\":");
    for (int i = 0; i < 3000; i++)
        buf_str(&deep, "{\"data\":[");
    static const char binary[] = "\x7f\x45LF\0\x1b[31m\xff\xfe";
    hostile_server(buf_span(&big), EXIT_ENGINE, "Nothing can be asked at");
    hostile_server(buf_span(&deep), EXIT_ENGINE, "is not a list of models");
    hostile_server((struct span){binary, sizeof binary - 1}, EXIT_ENGINE, "is not a list of models");
    hostile_server(span_of("<html>"), EXIT_ENGINE, "is not a list of models");
    hostile_server(span_of(""), EXIT_ENGINE, "is not a list of models");
    /* One that calls itself vLLM and gives its list of models for everything. */
    hostile_server(span_of("{\"data\":[{\"id\":\"a\\u001b[31m\\nb\",\"owned_by\":\"vllm\",\"root\":\"\\ud800\"}]}"),
                   EXIT_OK, "model");
    buf_done(&big);
    buf_done(&deep);
}

static void other_machines_are_left_alone(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    assert_int_equal(life_run(&l, ARGS("identify", "http://192.0.2.7:8000"), NULL, 30), EXIT_REFUSED);
    assert_non_null(strstr(l.err, "not an address of this machine"));
    assert_int_equal(life_run(&l, ARGS("identify", "ftp://x"), NULL, 30), EXIT_PLAN);
    assert_int_equal(life_run(&l, ARGS("identify", "127.0.0.1:1"), NULL, 30), EXIT_ENGINE);
    assert_int_equal(life_run(&l, ARGS("identify"), NULL, 30), EXIT_USAGE);
    life_close(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vllm_is_held_against_its_command), cmocka_unit_test(sglang_tells_more),
        cmocka_unit_test(what_is_wrong_is_told_and_fails),  cmocka_unit_test(hostile_answers_are_told),
        cmocka_unit_test(other_machines_are_left_alone),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
