#include "server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"

enum { BACKLOG = 2048, EVENTS = 512, LATE_NS = 50 * 1000000 };

static const int64_t log_every_ns = 10000000000;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The address is taken at once and listened on only when ready: until then a connection is refused, as by the real one.
 */
static bool bind_address(struct server *s, struct err *e)
{
    const struct options *o = s->options;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
    struct addrinfo unix_address = {.ai_family = AF_UNIX, .ai_addr = (void *)&local, .ai_addrlen = sizeof local};
    char port[16];
    snprintf(port, sizeof port, "%lld", (long long)o->port);
    if (o->uds)
        snprintf(local.sun_path, sizeof local.sun_path, "%s", o->uds);
    else if (getaddrinfo(o->host, port, &hints, &list) != 0)
        return err_set(e, ERR_USAGE, "The host %s of --host could not be resolved.", o->host);
    const struct addrinfo *a = o->uds ? &unix_address : list;
    int on = 1;
    s->sockets.listener = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->sockets.listener >= 0 && !o->uds)
        setsockopt(s->sockets.listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (o->uds)
        unlink(o->uds);
    bool good = s->sockets.listener >= 0 && bind(s->sockets.listener, a->ai_addr, a->ai_addrlen) == 0;
    int number = errno;
    if (list)
        freeaddrinfo(list);
    return good || err_set_errno(e, ERR_SYSTEM, number, "[Errno %d] error while attempting to bind on %s port %s",
                                 number, o->host, port);
}

static void watch(struct server *s, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(s->sockets.epoll, EPOLL_CTL_ADD, fd, &event);
}

static void open_loop(struct server *s)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGCHLD);
    s->sockets.epoll = epoll_create1(EPOLL_CLOEXEC);
    s->sockets.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    s->sockets.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    watch(s, s->sockets.timer);
    watch(s, s->sockets.signals);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

static void block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void accept_all(struct server *s)
{
    for (;;) {
        struct sockaddr_storage address = {0};
        socklen_t length = sizeof address;
        int fd = accept4(s->sockets.listener, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        char host[48] = "", port[8] = "", from[64] = "";
        int on = 1;
        if (address.ss_family != AF_UNIX) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                        NI_NUMERICHOST | NI_NUMERICSERV);
            snprintf(from, sizeof from, "%s:%s", host, port);
        }
        peer_open(s, fd, from);
    }
}

void server_stop(struct server *s, int64_t delay_ns, int status)
{
    if (s->stop_ns != INT64_MAX)
        return;
    s->stop_ns = clock_now_ns() + delay_ns;
    s->status = status;
    s->stepping = false;
    s->ready = false;
    if (s->sockets.listener >= 0)
        close(s->sockets.listener);
    s->sockets.listener = -1;
    for (int fd = 0; fd < s->peer_capacity; fd++)
        if (s->peers[fd] && s->peers[fd]->out.n)
            s->peers[fd]->close_when_sent = true;
        else if (s->peers[fd])
            peer_close(s, s->peers[fd], false);
    if (s->gpus.mw > SIM_CONTEXT_MW)
        gpus_power(&s->gpus, SIM_CONTEXT_MW, true);
    gpus_utilisation(&s->gpus, 0);
}

static void terminate(struct server *s)
{
    tree_log(&s->tree, SPEAKER_API, "INFO", "launcher.py:100", "[shutdown] API server: shutdown triggered");
    if (options_strike(s->options, FAULT_HANG_AT_STOP, 0) || s->stop_ns != INT64_MAX)
        return;
    tree_log(&s->tree, SPEAKER_API, "INFO", "launcher.py:116",
             "[shutdown] API server: stopping engine client mode=abort timeout=0s");
    tree_log(&s->tree, SPEAKER_CORE, "INFO", "core.py:1214", "[shutdown] EngineCore: trigger received signal=SIGTERM");
    tree_log(&s->tree, SPEAKER_CORE, "INFO", "core.py:1364",
             "[shutdown] EngineCore: request processing complete; starting resource teardown");
    server_stop(s, options_ns(s->options, s->options->stop_s), 0);
}

static void core_died(struct server *s)
{
    if (s->stop_ns != INT64_MAX)
        return;
    tree_log(&s->tree, SPEAKER_API, "ERROR", "core_client.py:600",
             "Engine core proc EngineCore died unexpectedly, shutting down client.");
    deliver_failed(s);
    server_stop(s, options_ns(s->options, 0.1), 1);
    gpus_release(&s->gpus, options_ns(s->options, s->options->release_s));
}

static void read_signals(struct server *s)
{
    struct signalfd_siginfo info;
    bool child = false;
    while (read(s->sockets.signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            child = true;
        else
            terminate(s);
    }
    if (child && tree_reap(&s->tree))
        core_died(s);
}

static void end_step(struct server *s)
{
    s->stepping = false;
    batch_end(&s->batch, deliver_got, s);
}

/* Those that got a place in this step, for the first time. */
static void note_admitted(struct server *s, int64_t admitted, int64_t t_ns)
{
    for (int32_t id = s->batch.running.last; admitted > 0; admitted--, id = s->batch.jobs[id].previous) {
        struct peer *c = s->batch.jobs[id].owner;
        if (!c->admitted_ns) /* a loop that was late has the step begin before the request came */
            c->admitted_ns = t_ns > c->arrived_ns ? t_ns : c->arrived_ns;
    }
}

/* The next step begins where the last one ended, unless the loop was too late for that. */
static void begin_step(struct server *s, int64_t now_ns)
{
    struct step step;
    if (!batch_begin(&s->batch, &step)) {
        gpus_power(&s->gpus, SIM_CONTEXT_MW, true);
        gpus_utilisation(&s->gpus, 0);
        return;
    }
    const struct options *o = s->options;
    bool idle = s->gpus.mw <= SIM_CONTEXT_MW;
    gpus_power(&s->gpus, gpus_step_mw(step.decoding, step.prefill), idle);
    if (idle)
        gpus_utilisation(&s->gpus, 100);
    double seconds = o->step_s + o->step_request_s * (double)step.decoding + (double)step.prefill / o->prefill_rate;
    int64_t from_ns = s->step_ends_ns > now_ns - LATE_NS && !idle ? s->step_ends_ns : now_ns;
    s->step_ends_ns = from_ns + options_ns(o, seconds);
    note_admitted(s, step.admitted, from_ns);
    s->stepping = true;
}

/* What /metrics shows is taken now and then, so that it settles a moment after the last chunk. */
static void publish(struct server *s, int64_t now_ns)
{
    if (!s->telling.dirty || now_ns < s->telling.shown_ns)
        return;
    s->telling.shown = deliver_metrics(s);
    s->telling.shown_ns = now_ns + options_ns(s->options, s->options->metrics_every_s);
    s->telling.dirty = false;
}

static void log_throughput(struct server *s, int64_t now_ns)
{
    const struct metrics m = s->telling.shown;
    if (now_ns - s->telling.logged_ns < log_every_ns)
        return;
    double seconds = (double)(now_ns - s->telling.logged_ns) / 1e9;
    if (m.generation_tokens != s->telling.logged.generation_tokens)
        s->options->flavour->say_load(&s->tree, &m, &s->telling.logged, seconds);
    s->telling.logged = m;
    s->telling.logged_ns = now_ns;
}

static void serve(struct server *s)
{
    if (s->serves)
        return;
    s->serves = true;
    listen(s->sockets.listener, BACKLOG);
    watch(s, s->sockets.listener);
}

static void count_own(struct server *s, int64_t n)
{
    s->telling.live.generation_tokens += OWN_TOKENS * n;
    s->telling.live.length += n;
    s->telling.dirty = true;
}

/* Its own requests are over, but for those that the options keep for later. */
static void warm_up(struct server *s, int64_t now_ns)
{
    const struct options *o = s->options;
    bool later = o->own_after_s > 0;
    int64_t n = o->api_servers - o->own_late - later;
    if (!o->flavour->warms_itself_up || o->skip_warmup)
        return;
    if (later)
        s->own_ns = now_ns + options_ns(o, o->own_after_s);
    if (n > 0)
        count_own(s, n);
}

static void warm_up_later(struct server *s, int64_t now_ns)
{
    if (now_ns < s->own_ns)
        return;
    s->own_ns = INT64_MAX;
    s->options->flavour->say(&s->start, SAY_OWN);
    count_own(s, 1);
}

/* All that time alone decides. */
static void tick(struct server *s, int64_t now_ns)
{
    if (now_ns >= s->stop_ns)
        s->over = true;
    if (s->stop_ns != INT64_MAX)
        return;
    switch (start_go(&s->start, now_ns)) {
    case START_GOES_ON:
        break;
    case START_SERVES:
        serve(s);
        break;
    case START_READY:
        warm_up(s, now_ns);
        s->ready = true;
        serve(s);
        break;
    case START_FAILED:
        server_stop(s, 0, (int)s->options->fault[FAULT_EXIT_AT_START]);
        s->over = true;
        return;
    }
    if (s->stepping && now_ns >= s->step_ends_ns)
        end_step(s);
    warm_up_later(s, now_ns);
    deliver_front(s, now_ns);
    peer_delayed_go(s, now_ns);
    if (s->ready && !s->stepping && s->stop_ns == INT64_MAX && (s->batch.running.count || s->batch.waiting.count))
        begin_step(s, now_ns);
    else if (s->ready && !s->stepping && s->gpus.mw > SIM_CONTEXT_MW)
        begin_step(s, now_ns);
    publish(s, now_ns);
    log_throughput(s, now_ns);
}

static void arm(struct server *s)
{
    int64_t due_ns = s->stop_ns;
    if (due_ns == INT64_MAX) {
        due_ns = least(start_due_ns(&s->start), s->stepping ? s->step_ends_ns : INT64_MAX);
        due_ns = least(due_ns, s->telling.dirty ? s->telling.shown_ns : INT64_MAX);
        due_ns = least(due_ns, least(deliver_front_ns(s), peer_delayed_ns(s)));
        due_ns = least(due_ns, s->own_ns);
    }
    if (due_ns < 1)
        due_ns = 1;
    struct itimerspec t = {0};
    if (due_ns != INT64_MAX) {
        t.it_value.tv_sec = due_ns / 1000000000;
        t.it_value.tv_nsec = due_ns % 1000000000;
    }
    timerfd_settime(s->sockets.timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static void handle(struct server *s, const struct epoll_event *event)
{
    int fd = event->data.fd;
    uint64_t expirations;
    if (fd == s->sockets.timer) {
        if (read(s->sockets.timer, &expirations, sizeof expirations) < 0)
            return;
    } else if (fd == s->sockets.signals) {
        read_signals(s);
    } else if (fd == s->sockets.listener) {
        accept_all(s);
    } else if (fd < s->peer_capacity && s->peers[fd]) {
        struct peer *c = s->peers[fd];
        if (event->events & EPOLLOUT)
            peer_output(s, c);
        if (!c->dead && event->events & ~(uint32_t)EPOLLOUT)
            peer_input(s, c);
    }
}

static void loop(struct server *s)
{
    struct epoll_event events[EVENTS];
    while (!s->over) {
        arm(s);
        fflush(stdout);
        int n = epoll_wait(s->sockets.epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++)
            handle(s, &events[i]);
        tick(s, clock_now_ns());
        peer_sweep(s);
    }
}

static void clean_up(struct server *s)
{
    bool orphan = options_strike(s->options, FAULT_ORPHAN, 0) && s->tree.core_alive;
    tree_end(&s->tree);
    if (!orphan)
        gpus_release(&s->gpus, options_ns(s->options, s->options->release_s));
    for (int fd = 0; fd < s->peer_capacity; fd++)
        if (s->peers[fd])
            peer_close(s, s->peers[fd], false);
    peer_sweep(s);
    if (s->options->uds)
        unlink(s->options->uds);
    gpus_close(&s->gpus);
    batch_done(&s->batch);
    buf_done(&s->scratch);
    buf_done(&s->event);
    free(s->peers);
    front_done(&s->front);
    seen_done(&s->seen);
}

int server_run(const struct options *o, int argc, char **argv)
{
    struct server s = {.options = o,
                       .sockets.listener = -1,
                       .stop_ns = INT64_MAX,
                       .own_ns = INT64_MAX,
                       .telling.live.generation_tokens = o->own_tokens / 2};
    struct err e = {0};
    int64_t began_ns = clock_now_ns();
    block_signals();
    if (!tree_start(&s.tree, o, argc, argv, &e) || !gpus_open(&s.gpus, (uint32_t)o->gpus, &e) ||
        !bind_address(&s, &e)) {
        fprintf(stderr, "RuntimeError: %s\n", e.text);
        s.status = 1;
        clean_up(&s);
        return s.status;
    }
    for (int i = 0; i < o->gpus; i++)
        s.gpus.pid[i] = s.tree.workers[i];
    open_loop(&s);
    batch_init(&s.batch, (struct batch_limits){.max_running = o->max_running,
                                               .step_budget = o->batched_tokens,
                                               .kv_tokens = o->kv_tokens,
                                               .step_tokens = o->step_tokens});
    start_init(&s.start, o, &s.tree, &s.gpus, began_ns);
    loop(&s);
    clean_up(&s);
    if (o->flavour->ends_by_kill && s.status == 0) {
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    return s.status;
}
