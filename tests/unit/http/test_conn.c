/* A connection's states: the moves that conn.h draws, and no other. */
#include "check.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "http/conn.h"
#include "http/limits.h"

/* The drawing, arrow by arrow. */
static const enum conn_state arrows[][2] = {
    {CONN_NEW, CONN_CONNECTING},  {CONN_CONNECTING, CONN_OPEN},   {CONN_OPEN, CONN_SENDING},
    {CONN_OPEN, CONN_CONNECTING}, {CONN_SENDING, CONN_RECEIVING}, {CONN_NEW, CONN_GONE},
    {CONN_CONNECTING, CONN_GONE}, {CONN_OPEN, CONN_GONE},         {CONN_SENDING, CONN_GONE},
    {CONN_RECEIVING, CONN_GONE},
};

static bool is_drawn(enum conn_state from, enum conn_state to)
{
    for (size_t i = 0; i < sizeof arrows / sizeof *arrows; i++)
        if (arrows[i][0] == from && arrows[i][1] == to)
            return true;
    return false;
}

static void moves_as_drawn(void **state)
{
    (void)state;
    int legal = 0;
    for (int from = 0; from < CONN_STATES; from++)
        for (int to = 0; to < CONN_STATES; to++) {
            struct conn k = {.state = (enum conn_state)from};
            if (is_drawn(k.state, (enum conn_state)to)) {
                legal++;
                conn_move(&k, (enum conn_state)to);
                assert_int_equal(k.state, to);
            } else {
                assert_aborts(conn_move(&k, (enum conn_state)to));
            }
            assert_int_equal(conn_may_move((enum conn_state)from, (enum conn_state)to),
                             is_drawn((enum conn_state)from, (enum conn_state)to));
        }
    assert_int_equal(legal, 10);
    assert_false(conn_may_move(CONN_NEW, (enum conn_state)CONN_STATES));
    assert_false(conn_may_move((enum conn_state)CONN_STATES, CONN_GONE));
}

/* ---- one that lives through all of them ---- */

struct owner {
    struct loop *loop;
    enum conn_state seen[8];
    int n, failed, ended;
    char answer[64];
    size_t got;
};

static void note(struct conn *k)
{
    struct owner *o = k->owner;
    o->seen[o->n++] = k->state;
}

static void on_opened(struct conn *k)
{
    note(k);
    const struct span parts[] = {{"ping", 4}, {"", 0}, {"!", 1}};
    conn_send(k, parts, 3, clock_now_ns());
}

static void on_failed(struct conn *k, int number)
{
    ((struct owner *)k->owner)->failed = number;
    conn_close(k);
    loop_stop(((struct owner *)k->owner)->loop);
}

static bool on_received(struct conn *k, const struct conn_read *r)
{
    struct owner *o = k->owner;
    assert_true(r->t_ns <= r->read_ns && !r->stamped && r->waited_ns == 0);
    memcpy(o->answer + o->got, r->bytes.p, r->bytes.n);
    o->got += r->bytes.n;
    return true;
}

static void on_ended(struct conn *k, int number, int64_t now_ns)
{
    struct owner *o = k->owner;
    assert_true(now_ns <= clock_now_ns());
    note(k);
    o->ended = number;
    conn_close(k);
    note(k);
    loop_stop(o->loop);
}

static const struct conn_events events = {
    .opened = on_opened, .failed = on_failed, .written = note, .received = on_received, .ended = on_ended};

static struct address address_of(const struct sockaddr_in *a)
{
    struct address list[ADDRESSES_MAX];
    int n;
    struct err e;
    assert_ok(address_resolve("127.0.0.1", ntohs(a->sin_port), list, &n, &e), e);
    return list[0];
}

/* A listener that nobody accepts from; closed: its port refuses. */
static int listener(struct sockaddr_in *ret_address)
{
    *ret_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t n = sizeof *ret_address;
    assert_int_equal(bind(fd, (struct sockaddr *)ret_address, n), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)ret_address, &n), 0);
    return fd;
}

static void a_whole_life(void **state)
{
    (void)state;
    struct err e;
    struct owner o = {0};
    struct sockaddr_in at;
    int fd = listener(&at);
    struct address to = address_of(&at);
    char buffer[3]; /* the answer fills it again and again */
    assert_ok(loop_open(&o.loop, &e), e);
    struct conn_means means = {.loop = o.loop, .events = &events, .buffer = buffer, .size = sizeof buffer};
    struct conn k;
    conn_init(&k, &means, &o);
    assert_int_equal(k.state, CONN_NEW);
    conn_open(&k, &to);
    assert_int_equal(k.state, CONN_CONNECTING);
    loop_run(o.loop, clock_now_ns() + INT64_C(100000000));
    int peer = accept(fd, NULL, NULL);
    char asked[16] = "";
    assert_int_equal(recv(peer, asked, sizeof asked, 0), 5);
    assert_string_equal(asked, "ping!");
    const char *answer = "an answer that is longer than four full reads";
    assert_int_equal(send(peer, answer, strlen(answer), 0), strlen(answer));
    close(peer);
    loop_run(o.loop, clock_now_ns() + INT64_C(5000000000));
    assert_string_equal(o.answer, answer);
    const enum conn_state expected[] = {CONN_OPEN, CONN_RECEIVING, CONN_RECEIVING, CONN_GONE};
    assert_int_equal(o.n, 4);
    assert_memory_equal(o.seen, expected, sizeof expected);
    assert_int_equal(o.ended, 0);
    conn_close(&k); /* closed already: nothing */
    assert_aborts(conn_open(&k, &to));
    assert_aborts(conn_reopen(&k));
    assert_aborts(conn_send(&k, NULL, 0, 0));

    close(fd); /* nobody listens there now */
    conn_init(&k, &means, &o);
    conn_open(&k, &to);
    if (k.state == CONN_CONNECTING)
        loop_run(o.loop, clock_now_ns() + INT64_C(5000000000));
    assert_int_equal(o.failed, ECONNREFUSED);
    assert_int_equal(k.state, CONN_GONE);
    loop_close(o.loop);
}

/* One command for ports that run out, whoever notices it. */
static void what_to_do_without_ports(void **state)
{
    (void)state;
    struct err e;
    struct sockaddr_in at = {.sin_port = htons(8000)};
    struct address to = address_of(&at);
    char text[600];
    conn_explain(&to, EADDRNOTAVAIL, text, sizeof text);
    assert_non_null(strstr(text, "127.0.0.1:8000"));
    assert_non_null(strstr(text, "`" LIMITS_PORTS_COMMAND "`"));
    assert_false(limits_ports(&to, 65536, &e)); /* more than there can be */
    assert_non_null(strstr(e.text, "`" LIMITS_PORTS_COMMAND "`"));
    conn_explain(&to, EMFILE, text, sizeof text);
    assert_non_null(strstr(text, "ulimit -Hn"));
    conn_explain(&to, ECONNREFUSED, text, sizeof text);
    assert_non_null(strstr(text, "127.0.0.1:8000 failed: Connection refused"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_as_drawn),
        cmocka_unit_test(a_whole_life),
        cmocka_unit_test(what_to_do_without_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
