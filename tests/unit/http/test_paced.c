/* Paced loads on real sockets: intended times that wait for nothing, room that is filled at once, ends, and bounds. The
 * bounds of time are wide, as other tests run beside these; bench/client measures on a quiet machine. */
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/sort.h"
#include "http/client.h"
#include "loop/hist.h"
#include "timed_server.h"

enum { REQUESTS_MAX = 4000 };

struct paced {
    struct loop *loop;
    struct client *client;
    struct client_options o;
    struct record_sink sink;
    struct client_pace pace;
    int64_t distance_ns; /* open loop: constant */
    size_t count;        /* that can be drawn */
    size_t drawn, given;
    struct rec_request got[REQUESTS_MAX]; /* by id */
    bool recorded[REQUESTS_MAX];
    int64_t start_ns, last_ns, end_ns;
    int lasts, ends, closes;
    size_t ended_at_last; /* requests recorded when `last` came */
    struct err e;
};

static bool next(void *self, struct client_request *ret_request, int64_t *ret_intended_ns, struct buf *body)
{
    struct paced *p = self;
    if (p->drawn == p->count)
        return false;
    assert_int_equal(body->n, 0);
    buf_fmt(body, "{\"model\":\"m\",\"prompt\":\"%zu\"}", p->drawn);
    *ret_request = (struct client_request){.id = (uint32_t)p->drawn, .body = buf_span(body), .max_tokens = 2};
    *ret_intended_ns = (int64_t)p->drawn * p->distance_ns;
    p->drawn++;
    return true;
}

static void on_request(void *self, const struct rec_request *r)
{
    struct paced *p = self;
    assert_true(r->id < REQUESTS_MAX && !p->recorded[r->id]);
    p->recorded[r->id] = true;
    p->got[r->id] = *r;
    p->got[r->id].detail = p->got[r->id].finish_reason = NULL;
    p->given++;
}

static void on_last(void *self, int64_t t_ns)
{
    struct paced *p = self;
    assert_int_equal(p->ends + p->closes, 0);
    p->lasts++;
    p->last_ns = t_ns;
    p->ended_at_last = p->given;
}

static void on_ended(void *self, int64_t end_ns)
{
    struct paced *p = self;
    assert_int_equal(p->lasts, 1);
    p->ends++;
    p->end_ns = end_ns;
}

static void on_closed(void *self)
{
    struct paced *p = self;
    assert_int_equal(p->ends, 1);
    p->closes++;
    loop_stop(p->loop);
}

static struct paced *paced_new(int port)
{
    struct paced *p = mem_zero(1, sizeof *p);
    assert_ok(loop_open(&p->loop, &p->e), p->e);
    client_defaults(&p->o);
    struct address list[ADDRESSES_MAX];
    int n;
    assert_ok(address_resolve("127.0.0.1", port, list, &n, &p->e), p->e);
    p->sink = (struct record_sink){.self = p, .request = on_request};
    p->o.address = list[0];
    p->o.sink = &p->sink;
    p->o.origin_ns = clock_now_ns() - SECOND_NS;
    p->o.load = 3;
    p->o.self = p;
    p->o.last = on_last;
    p->o.ended = on_ended;
    p->o.closed = on_closed;
    p->pace = (struct client_pace){.for_ns = INT64_MAX, .ahead_ns = SECOND_NS, .self = p, .next = next};
    return p;
}

static void paced_begin(struct paced *p)
{
    assert_ok(client_open_paced(p->loop, &p->o, &p->pace, &p->client, &p->e), p->e);
    p->start_ns = clock_now_ns() - p->o.origin_ns + client_lead_ns(&p->pace) + 50 * MS_NS;
    client_begin(p->client, p->start_ns);
}

static void paced_end(struct paced *p)
{
    loop_run(p->loop, clock_now_ns() + 60 * SECOND_NS);
    assert_int_equal(p->lasts, 1);
    assert_int_equal(p->closes, 1);
    struct client_progress c = client_progress_read(p->client);
    assert_int_equal(c.running, 0);
    assert_int_equal(c.total, p->given);
    assert_int_equal(c.succeeded + c.failed, p->given);
}

static void paced_free(struct paced *p)
{
    client_close(p->client);
    loop_close(p->loop);
    free(p);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t quantile(int64_t *values, size_t n, double q)
{
    qsort(values, n, sizeof *values, by_value);
    return values[(size_t)((double)(n - 1) * q)];
}

/* ---- open loop ---- */

static void sent_at_intended_times(void **state)
{
    (void)state;
    struct timed_server *s = timed_server_start(20 * MS_NS);
    struct paced *p = paced_new(s->port);
    p->count = 800;
    p->distance_ns = 2 * MS_NS;
    paced_begin(p);
    paced_end(p);
    assert_int_equal(p->given, 800);
    int64_t late[800];
    for (size_t i = 0; i < 800; i++) {
        const struct rec_request *r = &p->got[i];
        assert_int_equal(r->verdict, VERDICT_OK);
        assert_int_equal(r->load, 3);
        assert_int_equal(r->intended_ns, p->start_ns + (int64_t)i * p->distance_ns);
        late[i] = r->submit_ns - r->intended_ns;
        assert_true(late[i] >= 0); /* never early */
        /* opened at most a second ahead, and not with all the others */
        assert_true(r->connect_ns >= r->intended_ns - SECOND_NS);
        assert_true(r->connect_ns <= r->submit_ns);
    }
    assert_true(quantile(late, 800, 0.5) < MS_NS);
    assert_int_equal(p->last_ns, p->got[799].submit_ns);
    assert_true(p->ended_at_last < 800); /* it does not wait for answers */
    paced_free(p);
    timed_server_stop(s);
}

/* The server stands still for two seconds: what was to be sent then is sent then, and its TTFT from the intended time
 * is the rest of the stall. A client that waits for answers would have shown one slow request. */
static void a_stall_is_in_every_request_that_it_hit(void **state)
{
    (void)state;
    struct timed_server *s = timed_server_start(5 * MS_NS);
    struct paced *p = paced_new(s->port);
    p->count = 400;
    p->distance_ns = 10 * MS_NS;
    paced_begin(p);
    int64_t from = p->start_ns + SECOND_NS, to = from + 2 * SECOND_NS;
    s->stall_to_ns = to + p->o.origin_ns;
    s->stall_from_ns = from + p->o.origin_ns;
    paced_end(p);
    assert_int_equal(p->given, 400);
    int hit = 0;
    int64_t late[400];
    for (size_t i = 0; i < 400; i++) {
        const struct rec_request *r = &p->got[i];
        assert_int_equal(r->verdict, VERDICT_OK);
        late[i] = r->submit_ns - r->intended_ns;
        if (r->intended_ns < from + 5 * MS_NS || r->intended_ns >= to)
            continue;
        hit++;
        assert_true(r->first_ns - r->intended_ns >= to - r->intended_ns);
        assert_true(r->first_ns - r->intended_ns < to - r->intended_ns + SECOND_NS / 2);
    }
    assert_true(hit >= 199);
    assert_true(quantile(late, 400, 0.9) < 5 * MS_NS);
    paced_free(p);
    timed_server_stop(s);
}

static void time_ends_an_open_loop(void **state)
{
    (void)state;
    struct timed_server *s = timed_server_start(300 * MS_NS);
    struct paced *p = paced_new(s->port);
    p->count = 100000;
    p->distance_ns = 10 * MS_NS;
    p->pace.for_ns = 505 * MS_NS;
    paced_begin(p);
    paced_end(p);
    assert_int_equal(p->given, 51); /* 0, 10, ..., 500 ms */
    assert_int_equal(p->last_ns, p->start_ns + 505 * MS_NS);
    assert_true(p->end_ns > p->last_ns); /* what is in flight runs to its end */
    for (size_t i = 0; i < 51; i++)
        assert_int_equal(p->got[i].verdict, VERDICT_OK);
    paced_free(p);
    timed_server_stop(s);
}

static void finish(struct timer *t)
{
    struct paced *p = t->owner;
    client_finish(p->client);
    client_finish(p->client); /* once is enough */
}

/* Of a load of minutes, by time or by count, open or closed: ended half a second after its start, or before it. What
 * was sent by then runs to its end, nothing is sent behind it, and what was not due leaves no record. */
static void a_load_can_be_finished(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        bool closed = i & 1, by_time = i & 2, early = i & 4;
        struct timed_server *s = timed_server_start(300 * MS_NS);
        struct paced *p = paced_new(s->port);
        p->count = 3000;
        p->distance_ns = 10 * MS_NS;
        p->pace.in_flight = closed ? 4 : 0;
        p->pace.for_ns = by_time ? 60 * SECOND_NS : INT64_MAX;
        paced_begin(p);
        int64_t when = p->start_ns + (early ? -20 : 500) * MS_NS;
        struct timer t = {.fire = finish, .owner = p};
        loop_timer_set(p->loop, &t, when + p->o.origin_ns);
        paced_end(p);
        assert_true(early ? p->given <= (closed ? 0 : 1) : p->given >= (closed ? 4 : 40));
        assert_true(p->last_ns >= when && p->last_ns < when + 200 * MS_NS);
        assert_int_equal(p->ends, 1);
        for (size_t k = 0; k < p->given; k++) {
            assert_int_equal(p->got[k].verdict, VERDICT_OK);
            assert_true(p->recorded[k] && p->got[k].submit_ns <= p->last_ns);
        }
        paced_free(p);
        timed_server_stop(s);
    }
}

/* Nobody listens: each request fails at its time, and its reason is recorded. */
static void an_open_loop_without_a_server(void **state)
{
    (void)state;
    struct timed_server *s = timed_server_start(0);
    int port = s->port;
    timed_server_stop(s);
    struct paced *p = paced_new(port);
    p->count = 50;
    p->distance_ns = 5 * MS_NS;
    paced_begin(p);
    paced_end(p);
    assert_int_equal(p->given, 50);
    for (size_t i = 0; i < 50; i++) {
        assert_int_equal(p->got[i].verdict, VERDICT_CONNECT_FAILED);
        assert_int_equal(p->got[i].submit_ns, ABSENT_I64);
    }
    paced_free(p);
}

/* ---- closed loop ---- */

struct moment {
    int64_t t_ns;
    int step;
};

static int by_time(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
    return x->step - y->step; /* an end makes room */
}

/* Most in flight by the records, and how long room stayed empty: from the k-th end to the submission that took its
 * place. */
static int most_in_flight(const struct paced *p, size_t n)
{
    struct moment *m = mem_zero(2 * n, sizeof *m);
    for (size_t i = 0; i < n; i++) {
        m[2 * i] = (struct moment){p->got[i].submit_ns, 1};
        m[2 * i + 1] = (struct moment){p->got[i].end_ns, -1};
    }
    qsort(m, 2 * n, sizeof *m, by_time);
    int now = 0, most = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        now += m[i].step;
        most = now > most ? now : most;
    }
    free(m);
    return most;
}

static int64_t room_empty(const struct paced *p, size_t n, size_t in_flight, double q)
{
    int64_t *ends = mem_zero(n, sizeof *ends), *gaps = mem_zero(n, sizeof *gaps);
    for (size_t i = 0; i < n; i++)
        ends[i] = p->got[i].end_ns;
    qsort(ends, n, sizeof *ends, by_value);
    for (size_t i = in_flight; i < n; i++) /* ids are in the order of submission */
        gaps[i - in_flight] = p->got[i].submit_ns - ends[i - in_flight];
    int64_t value = quantile(gaps, n - in_flight, q);
    free(ends);
    free(gaps);
    return value;
}

static void room_is_filled_at_once(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 8, 100};
    for (int k = 0; k < 3; k++) {
        struct timed_server *s = timed_server_start(10 * MS_NS);
        s->even_ns = 7 * MS_NS;
        struct paced *p = paced_new(s->port);
        p->pace.in_flight = sizes[k];
        p->count = k == 0 ? 50 : 1000;
        paced_begin(p);
        paced_end(p);
        assert_int_equal(p->given, p->count);
        for (size_t i = 0; i < p->count; i++) {
            assert_int_equal(p->got[i].verdict, VERDICT_OK);
            assert_int_equal(p->got[i].intended_ns, ABSENT_I64);
            assert_true(p->got[i].submit_ns >= p->start_ns);
        }
        assert_int_equal(s->most, sizes[k]);
        assert_int_equal(most_in_flight(p, p->count), sizes[k]);
        assert_true(room_empty(p, p->count, (size_t)sizes[k], 0) >= 0);
        assert_true(room_empty(p, p->count, (size_t)sizes[k], 0.5) < 2 * MS_NS);
        assert_int_equal(s->asked, p->count);
        assert_true((size_t)s->accepted <= p->count + (size_t)sizes[k] + 64); /* a few ahead, not a second load */
        assert_int_equal(p->last_ns, p->got[p->count - 1].submit_ns);
        paced_free(p);
        timed_server_stop(s);
    }
}

static void time_ends_a_closed_loop(void **state)
{
    (void)state;
    struct timed_server *s = timed_server_start(30 * MS_NS);
    struct paced *p = paced_new(s->port);
    p->pace.in_flight = 4;
    p->pace.for_ns = 500 * MS_NS;
    p->count = REQUESTS_MAX;
    paced_begin(p);
    paced_end(p);
    assert_true(p->given >= 20 && p->given <= 4 * 17);
    assert_int_equal(p->last_ns, p->start_ns + 500 * MS_NS);
    for (size_t i = 0; i < p->given; i++) {
        assert_int_equal(p->got[i].verdict, VERDICT_OK);
        assert_true(p->got[i].submit_ns < p->last_ns);
    }
    paced_free(p);
    timed_server_stop(s);
}

/* It would fail for ever: so many in a row are enough. */
static void a_closed_loop_without_a_server_ends(void **state)
{
    (void)state;
    struct timed_server *s = timed_server_start(0);
    int port = s->port;
    timed_server_stop(s);
    struct paced *p = paced_new(port);
    p->pace.in_flight = 4;
    p->pace.ahead_ns = 100 * MS_NS;
    p->count = REQUESTS_MAX;
    paced_begin(p);
    paced_end(p);
    assert_true(p->given > 0 && p->given <= 64);
    for (size_t i = 0; i < p->given; i++)
        assert_int_equal(p->got[i].verdict, VERDICT_CONNECT_FAILED);
    paced_free(p);
}

/* ---- cancelled ---- */

static void cancel(struct timer *t)
{
    struct paced *p = t->owner;
    client_cancel(p->client);
}

static void what_was_not_due_leaves_no_record(void **state)
{
    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        struct timed_server *s = timed_server_start(200 * MS_NS);
        struct paced *p = paced_new(s->port);
        p->count = 1000;
        p->distance_ns = 10 * MS_NS;
        p->pace.in_flight = closed ? 6 : 0;
        paced_begin(p);
        struct timer t = {.fire = cancel, .owner = p};
        loop_timer_set(p->loop, &t, p->start_ns + p->o.origin_ns + 555 * MS_NS);
        paced_end(p);
        size_t cancelled = 0;
        for (size_t i = 0; i < REQUESTS_MAX; i++) {
            if (!p->recorded[i])
                continue;
            assert_true(p->got[i].submit_ns != ABSENT_I64);
            cancelled += p->got[i].verdict == VERDICT_CANCELLED;
        }
        if (closed)
            assert_int_equal(cancelled, 6);
        else
            assert_true(p->given >= 50 && p->given <= 56 && cancelled >= 15 && cancelled <= 25);
        paced_free(p);
        timed_server_stop(s);
    }
}

static void closed_before_and_after_its_start(void **state)
{
    (void)state;
    struct timed_server *s = timed_server_start(MS_NS);
    for (int k = 0; k < 4; k++) {
        struct paced *p = paced_new(s->port);
        p->count = 100;
        p->distance_ns = 10 * MS_NS;
        p->pace.in_flight = k % 2 ? 3 : 0;
        assert_ok(client_open_paced(p->loop, &p->o, &p->pace, &p->client, &p->e), p->e);
        if (k > 1) {
            client_begin(p->client, clock_now_ns() - p->o.origin_ns + 20 * MS_NS);
            loop_run(p->loop, clock_now_ns() + 100 * MS_NS);
        }
        paced_free(p);
    }
    timed_server_stop(s);
}

/* In a network of its own, with fifty local ports: false where that can't be had. */
static bool enter_small_network(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && unshare(CLONE_NEWNET) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
    bool up = ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
    close(fd);
    FILE *f = up ? fopen("/proc/sys/net/ipv4/ip_local_port_range", "we") : NULL;
    bool set = f && fputs("40000 40049", f) >= 0;
    return f && fclose(f) == 0 && set;
}

/* Two hundred requests in flight at once from fifty ports: they come from further loopback addresses. */
static void ports_are_spread(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        if (!enter_small_network())
            _exit(77);
        struct timed_server *s = timed_server_start(700 * MS_NS);
        struct paced *p = paced_new(s->port);
        p->count = 200;
        p->distance_ns = 2 * MS_NS;
        paced_begin(p);
        paced_end(p);
        int good = 0;
        for (size_t i = 0; i < 200; i++)
            good += p->got[i].verdict == VERDICT_OK;
        _exit(good == 200 && s->most > 150 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sent_at_intended_times),
        cmocka_unit_test(a_stall_is_in_every_request_that_it_hit),
        cmocka_unit_test(time_ends_an_open_loop),
        cmocka_unit_test(a_load_can_be_finished),
        cmocka_unit_test(an_open_loop_without_a_server),
        cmocka_unit_test(room_is_filled_at_once),
        cmocka_unit_test(time_ends_a_closed_loop),
        cmocka_unit_test(a_closed_loop_without_a_server_ends),
        cmocka_unit_test(what_was_not_due_leaves_no_record),
        cmocka_unit_test(closed_before_and_after_its_start),
        cmocka_unit_test(ports_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
