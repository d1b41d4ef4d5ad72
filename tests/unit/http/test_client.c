/* The load on real sockets: every scripted server case at once, limits of time, reopening, stamps, bounds of memory. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>
#include "base/arena.h"
#include "base/clock.h"
#include "http/client.h"
#include "http/limits.h"
#include "events.h"
#include "script_server.h"

/* ---- a load and what it gave ---- */

enum { REQUESTS_MAX = 400 };

static struct server_cases answers, slow;
static const struct server_case *good; /* an answer that is right */

struct load {
    struct loop *loop;
    struct client *client;
    struct client_options o;
    struct record_sink sink;
    struct client_request requests[REQUESTS_MAX];
    char bodies[REQUESTS_MAX][64];
    struct rec_request got[REQUESTS_MAX];
    char detail[REQUESTS_MAX][1000];
    int given, count, connected, ended, closed;
    int64_t end_ns, clocks, chunks;
    struct rec_chunk chunk[20000];
    struct rec_client seen;
    struct script_server *server;
    struct err e;
};

static void on_request(void *self, const struct rec_request *r)
{
    struct load *l = self;
    assert_true(r->id < REQUESTS_MAX);
    l->given++;
    l->got[r->id] = *r;
    if (r->detail) {
        snprintf(l->detail[r->id], sizeof l->detail[0], "%s", r->detail);
        l->got[r->id].detail = l->detail[r->id];
    }
    l->got[r->id].finish_reason = NULL;
}

static void on_chunks(void *self, const struct rec_chunk *c, size_t n)
{
    struct load *l = self;
    for (size_t i = 0; i < n; i++, l->chunks++)
        if (l->chunks < 20000)
            l->chunk[l->chunks] = c[i];
}

static void on_clock(void *self, const struct rec_clock *c)
{
    struct load *l = self;
    int64_t real = clock_realtime_ns(), run = clock_now_ns() - l->o.origin_ns;
    assert_true(llabs(real - run - c->offset_ns) < 1000000);
    l->clocks++;
}

static void on_connected(void *self)
{
    struct load *l = self;
    l->connected++;
    client_submit(l->client);
}

static void on_ended(void *self, int64_t end_ns)
{
    struct load *l = self;
    l->ended++;
    l->end_ns = end_ns;
}

static void on_closed(void *self)
{
    struct load *l = self;
    l->closed++;
    l->seen = client_read(l->client);
    loop_stop(l->loop);
}

static struct load *load_new(void)
{
    struct load *l = mem_zero(1, sizeof *l);
    assert_ok(loop_open(&l->loop, &l->e), l->e);
    client_defaults(&l->o);
    l->sink = (struct record_sink){.self = l, .request = on_request, .chunk = on_chunks, .clock = on_clock};
    l->o.sink = &l->sink;
    l->o.chunks = true;
    l->o.self = l;
    l->o.connected = on_connected;
    l->o.ended = on_ended;
    l->o.closed = on_closed;
    l->o.silence_ns = 20000000;
    l->o.linger_ns = 150000000;
    l->o.origin_ns = clock_now_ns() - 1000000000;
    return l;
}

static void load_to(struct load *l, const char *host, int port)
{
    struct address list[ADDRESSES_MAX];
    int n;
    assert_ok(address_resolve(host, port, list, &n, &l->e), l->e);
    l->o.address = list[0];
}

static void load_add(struct load *l, const char *body, int64_t max_tokens)
{
    int i = l->count++;
    snprintf(l->bodies[i], sizeof l->bodies[i], "%s", body);
    l->requests[i] = (struct client_request){
        .id = (uint32_t)i, .body = span_of(l->bodies[i]), .max_tokens = max_tokens, .prompt_digest = (uint64_t)i + 7};
}

static void load_run(struct load *l)
{
    assert_ok(client_open(l->loop, &l->o, l->requests, (size_t)l->count, &l->client, &l->e), l->e);
    if (l->o.connect == CONNECT_AHEAD)
        client_connect(l->client);
    else
        client_submit(l->client);
    loop_run(l->loop, clock_now_ns() + INT64_C(30000000000));
    assert_int_equal(l->closed, 1);
    assert_int_equal(l->ended, 1);
    assert_int_equal(l->given, l->count);
}

static void load_free(struct load *l)
{
    client_close(l->client);
    loop_close(l->loop);
    free(l);
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 2000; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* ---- every scripted case, all at once ---- */

static void check_times(const struct rec_request *r)
{
    const int64_t none = ABSENT_I64;
    assert_true(r->connect_ns != none && r->end_ns >= r->connect_ns);
    if (r->connected_ns != none)
        assert_true(r->connected_ns >= r->connect_ns);
    if (r->sent_ns != none)
        assert_true(r->submit_ns != none && r->sent_ns >= r->submit_ns);
    if (r->head_ns != none)
        assert_true(r->head_ns >= r->submit_ns);
    if (r->first_ns != none)
        assert_true(r->first_ns >= r->head_ns && r->last_ns >= r->first_ns);
    if (r->verdict == VERDICT_OK)
        assert_true(r->end_ns >= r->last_ns && r->sent_ns != none);
    if (r->closed_ns != none)
        assert_true(r->closed_ns >= r->end_ns);
}

/* A Unix socket knows no RST: its peer sees the end of the stream. */
static bool can_play(const struct server_case *c, int family)
{
    for (const struct step *s = c->steps; s->kind != STEP_END; s++)
        if (s->kind == STEP_RESET && family == AF_UNIX)
            return false;
    return true;
}

static void all_cases(int family, enum connect_kind connect)
{
    int files = open_files();
    struct script_server s = {0};
    script_server_start(&s, family, answers.list, answers.n);
    struct load *l = load_new();
    char host[200] = "127.0.0.1";
    if (family == AF_UNIX)
        snprintf(host, sizeof host, "unix:%s", s.path);
    load_to(l, family == AF_INET6 ? "::1" : host, s.port);
    l->o.connect = connect;
    for (size_t i = 0; i < answers.n; i++) {
        char body[64];
        snprintf(body, sizeof body, "{\"case\":%zu}", i);
        load_add(l, body, answers.list[i].max_tokens);
    }
    load_run(l);
    int ok = 0;
    int64_t latest = 0, events = 0;
    for (size_t i = 0; i < answers.n; i++) {
        const struct rec_request *r = &l->got[i];
        if (can_play(&answers.list[i], family)) {
            assert_true(server_case_is_met(&answers.list[i], r, "over a socket"));
            check_times(r);
        }
        ok += r->verdict == VERDICT_OK;
        events += r->events;
        latest = r->end_ns > latest ? r->end_ns : latest;
        assert_int_equal(r->stage, REQUEST_FORMAL);
        assert_int_equal(r->prompt_digest, i + 7);
        assert_int_equal(r->body_bytes, strlen(l->bodies[i]));
    }
    struct client_progress p = client_progress_read(l->client);
    assert_int_equal(p.succeeded, ok);
    assert_int_equal(p.failed, (int)answers.n - ok);
    assert_int_equal(p.running, 0);
    assert_int_equal(l->end_ns, latest);
    assert_int_equal(l->chunks, events);
    assert_int_equal(l->seen.events, events);
    assert_int_equal(l->seen.stamps_kernel + l->seen.stamps_shared + l->seen.stamps_read, events);
    if (family == AF_UNIX)
        assert_int_equal(l->seen.stamps_kernel, 0);
    assert_true(l->clocks >= 1 && l->seen.wall_ns > 0 && l->seen.cpu_ns > 0 && l->seen.wakeups > 0);
    load_free(l);
    script_server_stop(&s);
    assert_int_equal(open_files(), files);
}

static void all_cases_ahead(void **state)
{
    (void)state;
    all_cases(AF_INET, CONNECT_AHEAD);
}

static void all_cases_with_request(void **state)
{
    (void)state;
    all_cases(AF_INET, CONNECT_WITH_REQUEST);
}

static void all_cases_unix(void **state)
{
    (void)state;
    all_cases(AF_UNIX, CONNECT_AHEAD);
}

static void all_cases_ipv6(void **state)
{
    (void)state;
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    bool there = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0)
        close(fd);
    if (!there)
        skip();
    all_cases(AF_INET6, CONNECT_AHEAD);
}

/* ---- limits of time ---- */

static void one_slow(struct script_server *s, const char *name, struct plan_limits limits, double at_s)
{
    const struct server_case *c = server_case_named(&slow, name);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s->port);
    l->o.limits = limits;
    char body[64];
    snprintf(body, sizeof body, "{\"case\":%td}", c - slow.list);
    load_add(l, body, c->max_tokens);
    load_run(l);
    const struct rec_request *r = &l->got[0];
    assert_true(server_case_is_met(c, r, "with its limit"));
    double took = (double)(r->end_ns - r->submit_ns) * 1e-9;
    if (r->verdict != VERDICT_OK)
        assert_true(took >= at_s && took < at_s + 1);
    else
        assert_int_equal(r->end_ns, r->usage_ns);
    load_free(l);
}

static void each_limit_has_its_reason(void **state)
{
    (void)state;
    struct script_server s = {0};
    script_server_start(&s, AF_INET, slow.list, slow.n);
    const struct plan_limits long_ones = {10, 10, 10, 10, 10, 10, 10, 10};
    struct plan_limits p = long_ones;
    p.first_token_s = 0.15;
    one_slow(&s, "silent", p, 0.15);
    one_slow(&s, "comments, but no token", p, 0.15);
    p = long_ones;
    p.head_s = 0.12;
    one_slow(&s, "a head that does not end", p, 0.12);
    p.idle_s = 0.12;
    one_slow(&s, "an interim answer, and a queue", p, 0);
    p = long_ones;
    p.idle_s = 0.12;
    one_slow(&s, "silent after a token", p, 0.12);
    one_slow(&s, "complete, but for [DONE]", p, 0);
    p = long_ones;
    p.idle_s = 0.2;
    p.total_s = 0.4;
    one_slow(&s, "slow, but never silent", p, 0.4);
    script_server_stop(&s);
}

static struct rec_request one_request(struct load *l, struct span body)
{
    l->count = 1;
    l->requests[0] = (struct client_request){.id = 0, .body = body, .max_tokens = ABSENT_I64};
    load_run(l);
    return l->got[0];
}

/* A listener whose queue is full drops the handshake. */
static void connect_timeout(void **state)
{
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM, 0), fillers[8];
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(fd, 0), 0);
    getsockname(fd, (struct sockaddr *)&a, &n);
    for (int i = 0; i < 8; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fillers[i], (struct sockaddr *)&a, sizeof a);
    }
    struct load *l = load_new();
    load_to(l, "127.0.0.1", ntohs(a.sin_port));
    l->o.limits.connect_s = 0.2;
    struct rec_request r = one_request(l, span_of("{}"));
    assert_int_equal(r.verdict, VERDICT_CONNECT_TIMEOUT);
    assert_int_equal(r.submit_ns, ABSENT_I64);
    load_free(l);
    for (int i = 0; i < 8; i++)
        close(fillers[i]);
    close(fd);
}

static void nobody_listens(void **state)
{
    (void)state;
    struct script_server s = {0};
    script_server_start(&s, AF_INET, NULL, 0);
    script_server_stop(&s);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    struct rec_request r = one_request(l, span_of("{}"));
    assert_int_equal(r.verdict, VERDICT_CONNECT_FAILED);
    assert_non_null(strstr(r.detail, "Connection refused"));
    assert_int_equal(l->connected, 1); /* told first, then the end */
    load_free(l);
}

/* ---- large requests ---- */

static char *large_body(size_t n)
{
    char *p = mem_alloc(n);
    memset(p, 'x', n);
    return p;
}

static void never_reads(struct script_server *s, int fd, const char *request)
{
    (void)request;
    while (!s->stop && s->to_close == 0)
        usleep(5000);
    (void)fd;
}

static void write_timeout(void **state)
{
    (void)state;
    struct script_server s = {.own = never_reads};
    script_server_start(&s, AF_INET, NULL, 0);
    enum { SIZE = 24 << 20 };
    char *body = large_body(SIZE);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    l->o.limits.write_s = 0.2;
    struct rec_request r = one_request(l, (struct span){body, SIZE});
    assert_int_equal(r.verdict, VERDICT_WRITE_TIMEOUT);
    assert_int_equal(r.sent_ns, ABSENT_I64);
    load_free(l);
    script_server_stop(&s);
    free(body);
}

static void too_large_to_read(struct script_server *s, int fd, const char *request)
{
    (void)s;
    (void)request;
    const char *answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    send_all(fd, answer, strlen(answer));
    usleep(50000); /* then closes with much unread: the client's writes meet a reset */
}

static void an_early_answer_counts(void **state)
{
    (void)state;
    struct script_server s = {.own = too_large_to_read};
    script_server_start(&s, AF_INET, NULL, 0);
    enum { SIZE = 24 << 20 };
    char *body = large_body(SIZE);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    struct rec_request r = one_request(l, (struct span){body, SIZE});
    assert_int_equal(r.verdict, VERDICT_HTTP_STATUS);
    assert_int_equal(r.status, 413);
    assert_int_equal(r.sent_ns, ABSENT_I64);
    load_free(l);
    script_server_stop(&s);
    free(body);
}

static void reads_slowly(struct script_server *s, int fd, const char *request)
{
    (void)s;
    (void)request;
    char *rest = malloc(1 << 20);
    size_t left = (8 << 20) - strlen(strstr(request, "\r\n\r\n") + 4);
    while (left) {
        ssize_t n = recv(fd, rest, left < 1 << 20 ? left : 1 << 20, 0);
        if (n <= 0)
            break;
        left -= (size_t)n;
        usleep(1000);
    }
    free(rest);
    if (!left)
        play(fd, good);
}

static void a_request_in_many_writes(void **state)
{
    (void)state;
    struct script_server s = {.own = reads_slowly};
    script_server_start(&s, AF_INET, NULL, 0);
    enum { SIZE = 8 << 20 };
    char *body = large_body(SIZE);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    struct rec_request r = one_request(l, (struct span){body, SIZE});
    assert_int_equal(r.verdict, VERDICT_OK);
    assert_true(r.sent_ns > r.submit_ns);
    load_free(l);
    script_server_stop(&s);
    free(body);
}

/* ---- connections opened ahead ---- */

static void closed_ahead_is_opened_again(void **state)
{
    (void)state;
    struct script_server s = {.to_close = 5};
    script_server_start(&s, AF_INET, good, 1);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    for (int i = 0; i < 40; i++)
        load_add(l, "{\"case\":0}", ABSENT_I64);
    l->o.silence_ns = 100000000;
    load_run(l);
    int reopened = 0;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(l->got[i].verdict, VERDICT_OK);
        reopened += l->got[i].notes & NOTE_REOPENED ? 1 : 0;
    }
    assert_in_range(reopened, 2, 5); /* the same one may be closed again */
    assert_int_equal(s.accepted, 45);
    load_free(l);
    script_server_stop(&s);
}

static void a_server_that_closes_always(void **state)
{
    (void)state;
    struct script_server s = {.to_close = 1000};
    script_server_start(&s, AF_INET, good, 1);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    l->o.silence_ns = 100000000;
    struct rec_request r = one_request(l, span_of("{}"));
    assert_int_equal(r.verdict, VERDICT_CONNECT_FAILED);
    if (r.submit_ns == ABSENT_I64) /* else the last one was still open when its turn came */
        assert_non_null(strstr(r.detail, "4 times before the request could be sent"));
    load_free(l);
    script_server_stop(&s);
}

/* ---- the key ---- */

/* A Unix socket's connect does not wait for a place in the backlog by itself. */
static void a_full_backlog_of_a_unix_socket(void **state)
{
    (void)state;
    struct script_server s = {0};
    script_server_start(&s, AF_UNIX, good, 1);
    assert_int_equal(listen(s.fd, 1), 0);
    struct load *l = load_new();
    char host[200];
    snprintf(host, sizeof host, "unix:%s", s.path);
    load_to(l, host, 0);
    for (int i = 0; i < 60; i++)
        load_add(l, "{\"case\":0}", ABSENT_I64);
    load_run(l);
    for (int i = 0; i < 60; i++)
        assert_int_equal(l->got[i].verdict, VERDICT_OK);
    load_free(l);
    script_server_stop(&s);
}

/* Says something unasked, as servers do before they close an idle connection; the next connection is a good one. */
static int listen_here(struct script_server *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(s->fd, 5), 0);
    getsockname(s->fd, (struct sockaddr *)&a, &n);
    return ntohs(a.sin_port);
}

static void *speak_first(void *arg)
{
    struct script_server *s = arg;
    int fd = accept(s->fd, NULL, NULL);
    const char *text = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";
    send_all(fd, text, strlen(text));
    usleep(20000);
    close(fd);
    fd = accept(s->fd, NULL, NULL);
    char request[4096];
    if (read_request(fd, request, sizeof request))
        play(fd, good);
    close(fd);
    return NULL;
}

static void spoken_to_ahead(void **state)
{
    (void)state;
    struct script_server s = {0};
    int port = listen_here(&s);
    pthread_create(&s.thread, NULL, speak_first, &s);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", port);
    l->o.silence_ns = 200000000;
    struct rec_request r = one_request(l, span_of("{}"));
    assert_int_equal(r.verdict, VERDICT_OK);
    assert_int_equal(r.notes & NOTE_REOPENED, NOTE_REOPENED);
    assert_true(r.connect_ns <= r.connected_ns && r.connected_ns <= r.submit_ns);
    load_free(l);
    pthread_join(s.thread, NULL);
    close(s.fd);
}

/* The end of the handshake and an answer that nobody waited for come in one event. */
static void *answers_at_once(void *arg)
{
    struct script_server *s = arg;
    int fd = accept(s->fd, NULL, NULL);
    const char *text = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    char rest[4096];
    send_all(fd, text, strlen(text));
    if (s->self)
        shutdown(fd, SHUT_WR);
    while (recv(fd, rest, sizeof rest, 0) > 0)
        ;
    close(fd);
    return NULL;
}

static void an_answer_with_the_handshake(void **state)
{
    (void)state;
    for (int half_closed = 0; half_closed < 2; half_closed++) {
        struct script_server s = {.self = half_closed ? &s : NULL};
        struct load *l = load_new();
        load_to(l, "127.0.0.1", listen_here(&s));
        pthread_create(&s.thread, NULL, answers_at_once, &s);
        l->o.connect = CONNECT_WITH_REQUEST;
        l->o.limits.first_token_s = 2;
        load_add(l, "{}", ABSENT_I64);
        assert_ok(client_open(l->loop, &l->o, l->requests, 1, &l->client, &l->e), l->e);
        client_submit(l->client);
        usleep(100000); /* the loop looks when both are there */
        loop_run(l->loop, clock_now_ns() + INT64_C(10000000000));
        assert_int_equal(l->closed, 1);
        assert_int_equal(l->got[0].verdict, VERDICT_HTTP_STATUS);
        assert_int_equal(l->got[0].status, 503);
        load_free(l);
        pthread_join(s.thread, NULL);
        close(s.fd);
    }
}

static void *good_peer(void *arg)
{
    struct script_server *s = arg;
    int fd = accept(s->fd, NULL, NULL);
    char request[4096];
    if (read_request(fd, request, sizeof request))
        play(fd, good);
    close(fd);
    return NULL;
}

/* All that was opened ahead is broken at the moment of submission: that is submission all the same. */
static void break_and_submit(void *self)
{
    struct load *l = self;
    struct script_server *s = l->server;
    int fd = accept(s->fd, NULL, NULL);
    reset_peer(fd);
    close(fd);
    usleep(20000);
    pthread_create(&s->thread, NULL, good_peer, s);
    int64_t t_ns = client_submit(l->client);
    assert_int_not_equal(t_ns, ABSENT_I64);
    assert_int_equal(client_progress_read(l->client).running, 1);
}

static void broken_at_submission(void **state)
{
    (void)state;
    struct script_server s = {0};
    struct load *l = load_new();
    load_to(l, "127.0.0.1", listen_here(&s));
    l->server = &s;
    l->o.connected = break_and_submit;
    struct rec_request r = one_request(l, span_of("{}"));
    assert_int_equal(r.verdict, VERDICT_OK);
    assert_int_equal(r.notes & NOTE_REOPENED, NOTE_REOPENED);
    assert_true(r.submit_ns <= r.connected_ns && r.connected_ns <= r.sent_ns);
    assert_int_equal(client_progress_read(l->client).running, 0);
    load_free(l);
    pthread_join(s.thread, NULL);
    close(s.fd);
}

/* The kernel tells a reset to whoever calls first: the write. What was answered before it decides. */
static void answers_and_resets(struct script_server *s, int fd, const char *request)
{
    (void)request;
    const char *text = s->self;
    if (text)
        send_all(fd, text, strlen(text));
    usleep(100000);
    reset_peer(fd);
}

static void a_reset_that_a_write_meets(void **state)
{
    (void)state;
    enum { SIZE = 64 << 20 };
    char *body = large_body(SIZE);
    static const struct {
        const char *answer;
        enum verdict verdict;
    } cases[] = {
        {NULL, VERDICT_CONNECT_FAILED},
        {UNTIL_CLOSE TEXT("a") FINISH, VERDICT_RESET},
        {UNTIL_CLOSE TEXT("a") FINISH USAGE(1), VERDICT_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct script_server s = {.own = answers_and_resets, .self = (void *)(uintptr_t)cases[i].answer};
        script_server_start(&s, AF_INET, NULL, 0);
        struct load *l = load_new();
        load_to(l, "127.0.0.1", s.port);
        struct rec_request r = one_request(l, (struct span){body, SIZE});
        assert_int_equal(r.verdict, cases[i].verdict);
        assert_true(r.verdict == VERDICT_OK ? r.end_ns == r.usage_ns && r.notes & NOTE_NO_DONE
                                            : strstr(r.detail, "Connection reset by peer") != NULL);
        load_free(l);
        script_server_stop(&s);
    }
    free(body);
}

static void takes_nothing(struct script_server *s, int fd, const char *request)
{
    (void)request;
    shutdown(fd, SHUT_RD);
    while (!s->stop && s->to_close == 0)
        usleep(5000);
}

/* A write that fails is still a write that does not go on. */
static void a_peer_that_takes_no_more(void **state)
{
    (void)state;
    enum { SIZE = 8 << 20 };
    char *body = large_body(SIZE);
    struct script_server s = {.own = takes_nothing};
    script_server_start(&s, AF_UNIX, NULL, 0);
    struct load *l = load_new();
    char host[128];
    snprintf(host, sizeof host, "unix:%s", s.path);
    load_to(l, host, 0);
    l->o.limits.write_s = 0.3;
    struct rec_request r = one_request(l, (struct span){body, SIZE});
    assert_int_equal(r.verdict, VERDICT_WRITE_TIMEOUT);
    load_free(l);
    script_server_stop(&s);
    free(body);
}

/* ---- a server that never lets go ---- */

static void floods(struct script_server *s, int fd, const char *request)
{
    enum { SIZE = 4 << 20 };
    (void)request;
    const char *text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" TEXT("a");
    char *comments = large_body(SIZE);
    for (size_t i = 0; i + 4 <= SIZE; i += 4)
        memcpy(comments + i, ": x\n", 4);
    send_all(fd, text, strlen(text));
    while (!s->stop && send(fd, comments, SIZE, MSG_NOSIGNAL) > 0)
        ;
    free(comments);
}

static void a_flood_holds_nobody_up(void **state)
{
    (void)state;
    struct script_server s = {.own = floods};
    script_server_start(&s, AF_INET, good, 1);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    l->o.limits.idle_s = 0.3;
    load_add(l, "{}", ABSENT_I64);
    for (int i = 1; i < 20; i++)
        load_add(l, "{\"case\":0}", ABSENT_I64);
    load_run(l);
    assert_int_equal(l->got[0].verdict, VERDICT_IDLE_TIMEOUT);
    assert_true(l->got[0].end_ns - l->got[0].last_ns < INT64_C(3000000000));
    for (int i = 1; i < 20; i++)
        assert_int_equal(l->got[i].verdict, VERDICT_OK);
    load_free(l);
    script_server_stop(&s);
}

/* ---- the key ---- */

static void echoes_request(struct script_server *s, int fd, const char *request)
{
    (void)s;
    const char *key = strstr(request, "Bearer ");
    char answer[300];
    int n = snprintf(answer, sizeof answer,
                     "HTTP/1.1 401 No\r\nContent-Type: text/plain\r\n\r\nwrong key: %.20s, again %.20s",
                     key ? key + 7 : "none", key ? key + 7 : "none");
    for (char *p = answer + 60; *p; p++)
        *p = *p == '\r' || *p == '\n' ? ' ' : *p;
    send_all(fd, answer, (size_t)n);
}

static void echoes_far_behind(struct script_server *s, int fd, const char *request)
{
    (void)request;
    char answer[1000];
    int n = snprintf(
        answer, sizeof answer,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"error\":{\"message\":\"%0*d Bearer "
        "sk-0123456789-secret\"}}\n\n",
        s->to_echo, 0);
    send_all(fd, answer, (size_t)n);
}

static void the_key_is_hidden(void **state)
{
    (void)state;
    struct script_server s = {.own = echoes_request};
    script_server_start(&s, AF_INET, NULL, 0);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    l->o.api_key = "sk-0123456789-secret";
    struct rec_request r = one_request(l, span_of("{}"));
    assert_int_equal(r.verdict, VERDICT_HTTP_STATUS);
    assert_string_equal(r.detail, "The server answered 401 (text/plain): wrong key: ***, again ***");
    load_free(l);
    /* However the detail is cut: from the front of the key on, more of it fits each time. */
    s.own = echoes_far_behind;
    for (int pad = 440; pad < 600; pad += 3) {
        s.to_echo = pad;
        l = load_new();
        load_to(l, "127.0.0.1", s.port);
        l->o.api_key = "sk-0123456789-secret";
        r = one_request(l, span_of("{}"));
        assert_int_equal(r.verdict, VERDICT_ERROR_IN_STREAM);
        assert_null(strstr(r.detail, "sk-01234"));
        assert_null(strstr(r.detail, "9-secret"));
        load_free(l);
    }
    l = load_new();
    load_to(l, "127.0.0.1", s.port);
    l->o.api_key = "a\r\nX: b";
    load_add(l, "{}", ABSENT_I64);
    assert_false(client_open(l->loop, &l->o, l->requests, 1, &l->client, &l->e));
    assert_string_equal(l->e.text, "The API key contains the byte 0x0d, which HTTP does not allow there. Remove it.");
    l->client = NULL;
    load_free(l);
    script_server_stop(&s);
}

/* ---- cancelling and closing ---- */

static void cancel_soon(struct timer *t)
{
    struct load *l = t->owner;
    client_cancel(l->client);
}

static void cancelled(void **state)
{
    (void)state;
    int files = open_files();
    struct script_server s = {0};
    script_server_start(&s, AF_INET, server_case_named(&slow, "silent"), 1);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    for (int i = 0; i < 50; i++)
        load_add(l, "{\"case\":0}", ABSENT_I64);
    struct timer t = {.fire = cancel_soon, .owner = l};
    loop_timer_set(l->loop, &t, clock_now_ns() + 120000000);
    load_run(l);
    for (int i = 0; i < 50; i++)
        assert_int_equal(l->got[i].verdict, VERDICT_CANCELLED);
    load_free(l);
    script_server_stop(&s);
    assert_int_equal(open_files(), files);
}

/* A cancel while handshakes are under way: nobody is told that all is connected. */
static void cancelled_while_connecting(void **state)
{
    (void)state;
    struct script_server s = {0};
    script_server_start(&s, AF_INET, server_case_named(&slow, "silent"), 1);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    for (int i = 0; i < 3; i++)
        load_add(l, "{\"case\":0}", ABSENT_I64);
    assert_ok(client_open(l->loop, &l->o, l->requests, 3, &l->client, &l->e), l->e);
    struct timer t = {.fire = cancel_soon, .owner = l};
    client_connect(l->client);
    loop_timer_set(l->loop, &t, clock_now_ns()); /* behind the wave, before its handshakes are seen */
    loop_run(l->loop, clock_now_ns() + INT64_C(5000000000));
    assert_int_equal(l->closed, 1);
    loop_run(l->loop, clock_now_ns() + 2 * l->o.silence_ns + 50000000);
    assert_int_equal(l->connected, 0);
    assert_int_equal(client_progress_read(l->client).running, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(l->got[i].verdict, VERDICT_CANCELLED);
    load_free(l);
    script_server_stop(&s);
}

/* Closing in the middle gives every request to the sink, and calls nobody. */
static void closed_in_the_middle(void **state)
{
    (void)state;
    struct script_server s = {0};
    script_server_start(&s, AF_INET, server_case_named(&slow, "silent"), 1);
    struct load *l = load_new();
    load_to(l, "127.0.0.1", s.port);
    for (int i = 0; i < 20; i++)
        load_add(l, "{\"case\":0}", ABSENT_I64);
    assert_ok(client_open(l->loop, &l->o, l->requests, 20, &l->client, &l->e), l->e);
    client_connect(l->client);
    loop_run(l->loop, clock_now_ns() + 60000000);
    client_close(l->client);
    l->client = NULL;
    assert_int_equal(l->given, 20);
    assert_int_equal(l->ended + l->closed, 0);
    loop_run(l->loop, clock_now_ns() + 10000000);
    load_free(l);
    script_server_stop(&s);
}

/* ---- limits of the machine ---- */

static void too_many_for_the_machine(void **state)
{
    (void)state;
    struct load *l = load_new();
    load_to(l, "127.0.0.1", 9);
    struct rlimit before, low = {.rlim_cur = 100, .rlim_max = 100};
    getrlimit(RLIMIT_NOFILE, &before);
    load_add(l, "{}", ABSENT_I64);
    low.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_NOFILE, &low);
    struct client_request *many = mem_zero(200, sizeof *many);
    assert_ok(client_open(l->loop, &l->o, many, 200, &l->client, &l->e), l->e);
    struct rlimit now;
    getrlimit(RLIMIT_NOFILE, &now);
    assert_int_equal(now.rlim_cur, before.rlim_max); /* raised */
    client_close(l->client);
    l->client = NULL;
    setrlimit(RLIMIT_NOFILE, &before);
    size_t count = (size_t)before.rlim_max + 1;
    if (before.rlim_max < 1000000) {
        many = mem_grow(many, count, sizeof *many);
        memset(many, 0, count * sizeof *many);
        assert_false(client_open(l->loop, &l->o, many, count, &l->client, &l->e));
        assert_int_equal(l->e.kind, ERR_SYSTEM);
        assert_non_null(strstr(l->e.text, "ulimit -Hn "));
    }
    free(many);
    load_free(l);
}

static void too_few_ports(void **state)
{
    (void)state;
    struct address a[ADDRESSES_MAX];
    struct err e;
    int n;
    assert_ok(address_resolve("127.0.0.1", 8000, a, &n, &e), e);
    assert_true(limits_ports(&a[0], 100, &e));
    assert_false(limits_ports(&a[0], 65536, &e)); /* more than there can be */
    assert_int_equal(e.kind, ERR_SYSTEM);
    assert_non_null(
        strstr(e.text, "65536 connections to 127.0.0.1:8000 need as many local ports, but there are only "));
    assert_non_null(strstr(e.text, "`sysctl -w net.ipv4.ip_local_port_range="));
    assert_ok(address_resolve("unix:/tmp/x", 0, a, &n, &e), e);
    assert_true(limits_ports(&a[0], 65536, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases_ahead),
        cmocka_unit_test(all_cases_with_request),
        cmocka_unit_test(all_cases_unix),
        cmocka_unit_test(all_cases_ipv6),
        cmocka_unit_test(each_limit_has_its_reason),
        cmocka_unit_test(connect_timeout),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(write_timeout),
        cmocka_unit_test(an_early_answer_counts),
        cmocka_unit_test(a_request_in_many_writes),
        cmocka_unit_test(closed_ahead_is_opened_again),
        cmocka_unit_test(a_server_that_closes_always),
        cmocka_unit_test(a_full_backlog_of_a_unix_socket),
        cmocka_unit_test(spoken_to_ahead),
        cmocka_unit_test(an_answer_with_the_handshake),
        cmocka_unit_test(broken_at_submission),
        cmocka_unit_test(a_reset_that_a_write_meets),
        cmocka_unit_test(a_peer_that_takes_no_more),
        cmocka_unit_test(a_flood_holds_nobody_up),
        cmocka_unit_test(the_key_is_hidden),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(cancelled_while_connecting),
        cmocka_unit_test(closed_in_the_middle),
        cmocka_unit_test(too_many_for_the_machine),
        cmocka_unit_test(too_few_ports),
    };
    server_cases_load(&answers, "answers");
    server_cases_load(&slow, "limits");
    good = server_case_named(&answers, "chunked");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    server_cases_done(&answers);
    server_cases_done(&slow);
    return failed;
}
