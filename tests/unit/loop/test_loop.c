#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "check.h"
#include "loop/hist.h"
#include "loop/loop.h"

static const int64_t MS = 1000000;

static struct loop *open_loop(void)
{
    struct loop *l = NULL;
    struct err e;
    assert_ok(loop_open(&l, &e), e);
    return l;
}

/* ---- timers ---- */

struct shot {
    struct timer timer;
    int number;
    int64_t at_ns;
};

static struct {
    int order[2000], n;
    struct loop *loop;
    int stop_at;
} fired;

static void on_shot(struct timer *t)
{
    struct shot *s = t->owner;
    s->at_ns = clock_now_ns();
    fired.order[fired.n++] = s->number;
    if (fired.n == fired.stop_at)
        loop_stop(fired.loop);
}

static void timers_fire_in_order(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct loop *l = open_loop();
    struct shot *shots = mem_zero(N, sizeof *shots);
    unsigned seed = 7;
    int64_t base = clock_now_ns() + 2 * MS;
    int live = 0;
    for (int i = 0; i < N; i++) {
        shots[i] = (struct shot){.timer = {.fire = on_shot, .owner = &shots[i]}, .number = i};
        loop_timer_set(l, &shots[i].timer, base + rand_r(&seed) % (20 * MS));
    }
    /* a third is moved, either way, a third stopped */
    for (int i = 0; i < N; i++) {
        if (i % 3 == 1)
            loop_timer_set(l, &shots[i].timer, base + rand_r(&seed) % (20 * MS));
        else if (i % 3 == 2)
            loop_timer_stop(l, &shots[i].timer);
        live += i % 3 != 2;
    }
    fired.n = 0;
    fired.loop = l;
    fired.stop_at = live;
    loop_run(l, base + 2000 * MS);
    assert_int_equal(fired.n, live);
    for (int i = 0; i < live; i++) {
        const struct shot *s = &shots[fired.order[i]];
        assert_true(s->number % 3 != 2);
        assert_true(s->at_ns >= s->timer.deadline_ns);
        if (i)
            assert_true(shots[fired.order[i - 1]].timer.deadline_ns <= s->timer.deadline_ns);
    }
    loop_timer_stop(l, &shots[0].timer); /* not set: nothing happens */
    free(shots);
    loop_close(l);
}

static void again_now(struct timer *t)
{
    int *count = t->owner;
    if (++*count < 100)
        loop_timer_set(fired.loop, t, clock_now_ns());
}

/* A timer that sets itself to "now" does not keep the loop from its deadline, or from its descriptors. */
static void a_timer_does_not_starve(void **state)
{
    (void)state;
    struct loop *l = fired.loop = open_loop();
    int count = 0;
    struct timer t = {.fire = again_now, .owner = &count};
    loop_timer_set(l, &t, clock_now_ns());
    int64_t start = clock_now_ns();
    loop_run(l, start + 20 * MS);
    assert_int_equal(count, 100);
    assert_true(clock_now_ns() - start >= 20 * MS);
    loop_close(l);
}

static void a_deadline_ends_the_run(void **state)
{
    (void)state;
    struct loop *l = open_loop();
    int64_t start = clock_now_ns();
    loop_run(l, start + 3 * MS);
    int64_t took = clock_now_ns() - start;
    assert_true(took >= 3 * MS);
    loop_close(l);
}

/* ---- descriptors ---- */

struct pipe_end {
    struct watch watch;
    struct loop *loop;
    struct pipe_end *other; /* removed when this one gets ready first */
    int events, writer;
};

static void on_pipe(struct watch *w, uint32_t events)
{
    (void)events;
    struct pipe_end *p = w->owner;
    char byte;
    assert_int_equal(read(w->fd, &byte, 1), 1);
    p->events++;
    if (p->other)
        loop_remove(p->loop, &p->other->watch);
    loop_stop(p->loop);
}

static void pipe_open(struct pipe_end *p, struct loop *l)
{
    int fds[2];
    struct err e;
    assert_int_equal(pipe(fds), 0);
    *p = (struct pipe_end){.watch = {.fd = fds[0], .ready = on_pipe, .owner = p}, .loop = l, .writer = fds[1]};
    assert_ok(loop_add(l, &p->watch, EPOLLIN, &e), e);
}

static void removed_in_its_own_batch(void **state)
{
    (void)state;
    struct loop *l = open_loop();
    struct pipe_end a, b;
    pipe_open(&a, l);
    pipe_open(&b, l);
    a.other = &b;
    b.other = &a;
    assert_int_equal(write(a.writer, "x", 1) + write(b.writer, "x", 1), 2);
    loop_run(l, clock_now_ns() + 50 * MS);
    assert_int_equal(a.events + b.events, 1);
    struct pipe_end *ends[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        close(ends[i]->writer);
        close(ends[i]->watch.fd);
    }
    loop_close(l);
}

/* ---- waking ---- */

static void *wake(void *arg)
{
    usleep(20000);
    loop_wake(arg);
    return NULL;
}

static void on_woken(void *self)
{
    loop_stop(self);
}

static void woken_by_a_thread(void **state)
{
    (void)state;
    struct loop *l = open_loop();
    loop_on_wake(l, on_woken, l);
    pthread_t t;
    int64_t start = clock_now_ns();
    pthread_create(&t, NULL, wake, l);
    loop_run(l, start + 5000 * MS);
    int64_t took = clock_now_ns() - start;
    pthread_join(t, NULL);
    assert_true(took >= 15 * MS && took < 4000 * MS);
    loop_close(l);
}

/* ---- the pause ---- */

static void *write_often(void *arg)
{
    struct pipe_end *p = arg;
    for (int i = 0; i < 200; i++) {
        usleep(50);
        if (write(p->writer, "x", 1) != 1)
            break;
    }
    return NULL;
}

static void on_many(struct watch *w, uint32_t events)
{
    (void)events;
    struct pipe_end *p = w->owner;
    char bytes[300];
    ssize_t n = read(w->fd, bytes, sizeof bytes);
    p->events += (int)n;
    if (p->events >= 200)
        loop_stop(p->loop);
}

/* With a pause of 2 ms, writes 0.05 ms or more apart come in fewer wakeups than one each pause allows, and none is
 * lost. */
static void the_pause_gathers(void **state)
{
    (void)state;
    struct loop *l = open_loop();
    struct pipe_end p;
    pipe_open(&p, l);
    p.watch.ready = on_many;
    loop_pause(l, 2 * MS);
    loop_lag_start(l);
    pthread_t t;
    int64_t start = clock_now_ns();
    pthread_create(&t, NULL, write_often, &p);
    loop_run(l, start + 20000 * MS);
    int64_t took = clock_now_ns() - start;
    pthread_join(t, NULL);
    assert_int_equal(p.events, 200);
    struct loop_lag lag = loop_lag_read(l);
    assert_true(lag.passes >= 1 && lag.passes <= took / (2 * MS) + 2);
    assert_true(lag.p50_ns <= lag.p99_ns && lag.p99_ns <= lag.max_ns);
    close(p.writer);
    close(p.watch.fd);
    loop_close(l);
}

/* ---- the histogram ---- */

static void quantiles(void **state)
{
    (void)state;
    static struct hist h;
    assert_int_equal(hist_quantile(&h, 0.5), 0);
    for (int64_t v = 1; v <= 100000; v++)
        hist_add(&h, v * 1000);
    const double q[] = {0.01, 0.5, 0.9, 0.99, 0.999};
    for (int i = 0; i < 5; i++) {
        double right = q[i] * 1e8, seen = (double)hist_quantile(&h, q[i]);
        assert_true(seen >= right * 0.99999 && seen <= right * 1.032 + 1000);
    }
    assert_int_equal(hist_quantile(&h, 1), 100000000);
    assert_int_equal(h.max, 100000000);
    static struct hist small;
    for (int64_t v = -1; v <= 63; v++) /* exact below 64 */
        hist_add(&small, v);
    assert_int_equal(hist_quantile(&small, 0.5), 31);
    hist_add(&small, INT64_MAX);
    assert_int_equal(hist_quantile(&small, 1), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_in_order),
        cmocka_unit_test(a_timer_does_not_starve),
        cmocka_unit_test(a_deadline_ends_the_run),
        cmocka_unit_test(removed_in_its_own_batch),
        cmocka_unit_test(woken_by_a_thread),
        cmocka_unit_test(the_pause_gathers),
        cmocka_unit_test(quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
