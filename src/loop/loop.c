#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/must.h"
#include "loop/hist.h"

enum { BATCH = 1024, FETCH_LINES = 16 };

struct loop {
    int epoll_fd;
    struct timer **heap; /* heap[0] is the next; a timer's heap_index is its place + 1 */
    uint32_t timers, timer_capacity;
    struct timer *prompt; /* null: none */
    bool stop;
    int64_t pause_ns, batch_began_ns;
    /* The batch in hand: a watch that is removed while it waits here is struck out. */
    struct epoll_event events[BATCH];
    int event_at, event_count;
    struct watch waker, ticker; /* the ticker's timerfd only where the kernel lacks epoll_pwait2; else fd -1 */
    void (*woken)(void *self);
    void *woken_self;
    struct hist lag;
    int64_t passes;
};

/* ---- timers ---- */

static void place_timer(struct loop *l, uint32_t at, struct timer *t)
{
    assert(at < l->timer_capacity && t);
    l->heap[at] = t;
    t->heap_index = at + 1;
}

static void sift_up(struct loop *l, uint32_t at, struct timer *t)
{
    assert(at < l->timers);
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;
        if (l->heap[parent]->deadline_ns <= t->deadline_ns)
            break;
        place_timer(l, at, l->heap[parent]);
        at = parent;
    }
    place_timer(l, at, t);
}

static void sift_down(struct loop *l, uint32_t at, struct timer *t)
{
    assert(at < l->timers);
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= l->timers)
            break;
        if (child + 1 < l->timers && l->heap[child + 1]->deadline_ns < l->heap[child]->deadline_ns)
            child++;
        if (t->deadline_ns <= l->heap[child]->deadline_ns)
            break;
        place_timer(l, at, l->heap[child]);
        at = child;
    }
    place_timer(l, at, t);
}

void loop_timer_set(struct loop *l, struct timer *t, int64_t deadline_ns)
{
    assert(t->fire && t->heap_index <= l->timers);
    if (!t->heap_index) {
        if (l->timers == l->timer_capacity) {
            l->timer_capacity = l->timer_capacity ? 2 * l->timer_capacity : 64;
            l->heap = mem_grow(l->heap, l->timer_capacity, sizeof(void *));
        }
        t->deadline_ns = deadline_ns;
        sift_up(l, l->timers++, t);
        return;
    }
    int64_t before = t->deadline_ns;
    t->deadline_ns = deadline_ns;
    if (deadline_ns < before)
        sift_up(l, t->heap_index - 1, t);
    else
        sift_down(l, t->heap_index - 1, t);
}

void loop_timer_stop(struct loop *l, struct timer *t)
{
    assert(t->heap_index <= l->timers);
    if (!t->heap_index)
        return;
    uint32_t at = t->heap_index - 1;
    t->heap_index = 0;
    struct timer *last = l->heap[--l->timers];
    if (last == t)
        return;
    if (last->deadline_ns < t->deadline_ns)
        sift_up(l, at, last);
    else
        sift_down(l, at, last);
}

static void fire(struct loop *l, struct timer *t, int64_t now)
{
    hist_add(&l->lag, now - t->deadline_ns);
    loop_timer_stop(l, t);
    t->fire(t);
}

/* Timers that become due during this pass wait for the next one: a timer that sets itself to "now" can't starve the
 * rest. */
static void fire_due(struct loop *l)
{
    int64_t now = clock_now_ns();
    while (l->timers && l->heap[0]->deadline_ns <= now && !l->stop)
        fire(l, l->heap[0], now);
}

/* Whether it was due. */
static bool fire_prompt(struct loop *l)
{
    struct timer *t = l->prompt;
    if (!t || !t->heap_index || l->stop)
        return false;
    int64_t now = clock_now_ns();
    if (t->deadline_ns > now)
        return false;
    fire(l, t, now);
    return true;
}

/* ---- watches ---- */

static void on_wake(struct watch *w, uint32_t events)
{
    (void)events;
    struct loop *l = w->owner;
    uint64_t count;
    while (read(w->fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
    if (l->woken)
        l->woken(l->woken_self);
}

static void on_timer_tick(struct watch *w, uint32_t events)
{
    (void)events;
    uint64_t count;
    while (read(w->fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

bool loop_add(struct loop *l, struct watch *w, uint32_t epoll_events, struct err *e)
{
    must(w->fd >= 0 && w->ready);
    struct epoll_event ev = {.events = epoll_events, .data.ptr = w};
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, w->fd, &ev))
        return err_set_errno(e, ERR_SYSTEM, errno, "The event loop could not watch descriptor %d", w->fd);
    return true;
}

void loop_change(struct loop *l, struct watch *w, uint32_t epoll_events)
{
    assert(w->fd >= 0);
    struct epoll_event ev = {.events = epoll_events, .data.ptr = w};
    epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, w->fd, &ev);
}

void loop_remove(struct loop *l, struct watch *w)
{
    must(w->fd >= 0); /* before its descriptor is closed */
    epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
    for (int i = l->event_at; i < l->event_count; i++)
        if (l->events[i].data.ptr == w)
            l->events[i].data.ptr = NULL;
}

/* ---- waiting ---- */

static bool has_epoll_pwait2(int epoll_fd)
{
    struct epoll_event ev;
    struct timespec none = {0};
    return syscall(SYS_epoll_pwait2, epoll_fd, &ev, 1, &none, NULL, 0) >= 0;
}

/* glibc has a wrapper from 2.35 on only; the program runs on 2.34. */
static int wait_events(struct loop *l, int64_t deadline_ns)
{
    struct timespec t, *limit = NULL;
    int64_t left = 0;
    if (deadline_ns != INT64_MAX) {
        left = deadline_ns - clock_now_ns();
        if (left < 0)
            left = 0;
        t = (struct timespec){.tv_sec = left / SECOND_NS, .tv_nsec = left % SECOND_NS};
        limit = &t;
    }
    if (l->ticker.fd < 0)
        return (int)syscall(SYS_epoll_pwait2, l->epoll_fd, l->events, BATCH, limit, NULL, 0);
    if (limit && left > 0) {
        struct itimerspec at = {.it_value = {.tv_sec = deadline_ns / SECOND_NS, .tv_nsec = deadline_ns % SECOND_NS}};
        timerfd_settime(l->ticker.fd, TFD_TIMER_ABSTIME, &at, NULL);
    }
    return epoll_wait(l->epoll_fd, l->events, BATCH, limit && left == 0 ? 0 : -1);
}

static int64_t next_deadline(const struct loop *l, int64_t deadline_ns)
{
    return l->timers && l->heap[0]->deadline_ns < deadline_ns ? l->heap[0]->deadline_ns : deadline_ns;
}

/* With thousands of streams the state of the next one is in no cache: it is fetched while this one is served. It stands
 * behind its watch; a fetch beyond its end is harmless. */
static void fetch(const struct loop *l, int i)
{
    if (i >= l->event_count)
        return;
    const char *p = l->events[i].data.ptr;
    if (!p)
        return;
    for (int line = 0; line < FETCH_LINES; line++)
        __builtin_prefetch(p + 64 * (ptrdiff_t)line, 1);
}

/* Sleeps until the pause is over or a timer is due; the prompt one is fired, and the pause goes on. */
static void pause_on(struct loop *l, int64_t deadline_ns)
{
    int64_t over = l->batch_began_ns + l->pause_ns;
    do {
        int64_t until = time_sooner(over, next_deadline(l, deadline_ns));
        if (until > clock_now_ns())
            clock_sleep_until_ns(until);
    } while (fire_prompt(l) && clock_now_ns() < over);
}

/* One batch. A full one is followed by the next at once: more is waiting. */
static void turn(struct loop *l, int64_t deadline_ns)
{
    if (l->pause_ns > 0)
        pause_on(l, deadline_ns);
    if (l->stop)
        return;
    int n = wait_events(l, next_deadline(l, deadline_ns));
    int64_t began = clock_now_ns();
    if (n > 0) {
        l->batch_began_ns = n < BATCH ? began : 0;
        l->event_count = n;
        for (l->event_at = 0; l->event_at < l->event_count;) {
            struct epoll_event *ev = &l->events[l->event_at++];
            fetch(l, l->event_at);
            struct watch *w = ev->data.ptr;
            if (w)
                w->ready(w, ev->events);
            fire_prompt(l);
        }
        l->event_at = l->event_count = 0;
    }
    fire_due(l);
    if (n > 0) {
        hist_add(&l->lag, clock_now_ns() - began);
        l->passes++;
    }
}

void loop_run(struct loop *l, int64_t deadline_ns)
{
    /* The kernel may round a sleep up by the slack, 50 us by default: a twentieth of the pause. */
    int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1000UL);
    l->stop = false;
    while (!l->stop) {
        turn(l, deadline_ns);
        if (deadline_ns != INT64_MAX && clock_now_ns() >= deadline_ns)
            break;
    }
    if (slack > 0)
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
}

void loop_stop(struct loop *l)
{
    l->stop = true;
}

void loop_prompt(struct loop *l, struct timer *t)
{
    l->prompt = t;
}

void loop_pause(struct loop *l, int64_t pause_ns)
{
    must(pause_ns >= 0);
    l->pause_ns = pause_ns;
}

void loop_on_wake(struct loop *l, void (*woken)(void *self), void *self)
{
    l->woken = woken;
    l->woken_self = self;
}

void loop_wake(struct loop *l)
{
    uint64_t one = 1;
    while (write(l->waker.fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void loop_lag_start(struct loop *l)
{
    memset(&l->lag, 0, sizeof l->lag);
    l->passes = 0;
}

struct loop_lag loop_lag_read(struct loop *l)
{
    return (struct loop_lag){.passes = l->passes,
                             .p50_ns = hist_quantile(&l->lag, 0.50),
                             .p99_ns = hist_quantile(&l->lag, 0.99),
                             .max_ns = l->lag.max};
}

/* ---- opening ---- */

static bool not_made(struct err *e, const char *call)
{
    return err_set_errno(e, ERR_SYSTEM, errno, "The event loop could not be made, because %s failed", call);
}

static bool open_descriptors(struct loop *l, struct err *e)
{
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll_fd < 0)
        return not_made(e, "epoll_create1");
    l->waker.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->waker.fd < 0)
        return not_made(e, "eventfd");
    if (!loop_add(l, &l->waker, EPOLLIN, e))
        return false;
    if (has_epoll_pwait2(l->epoll_fd))
        return true;
    l->ticker.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (l->ticker.fd < 0)
        return not_made(e, "timerfd_create");
    return loop_add(l, &l->ticker, EPOLLIN, e);
}

bool loop_open(struct loop **ret_loop, struct err *e)
{
    must(ret_loop);
    struct loop *l = mem_zero(1, sizeof *l);
    l->waker = (struct watch){.fd = -1, .ready = on_wake, .owner = l};
    l->ticker = (struct watch){.fd = -1, .ready = on_timer_tick, .owner = l};
    if (!open_descriptors(l, e)) {
        loop_close(l);
        return false;
    }
    *ret_loop = l;
    return true;
}

void loop_close(struct loop *l)
{
    if (!l)
        return;
    int fds[] = {l->ticker.fd, l->waker.fd, l->epoll_fd};
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(l->heap);
    free(l);
}
