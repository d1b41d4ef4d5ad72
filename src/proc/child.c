#include "proc/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/must.h"
#include "base/num.h"
#include "loop/lines.h"
#include "proc/guardian.h"
#include "proc/known.h"
#include "proc/outside.h"
#include "proc/start.h"
#include "proc/tool.h"
#include "proc/tree.h"

enum {
    PIPE_BYTES = 1 << 20, /* an engine must not stand still because jtok is busy */
    READS_AT_ONCE = 4,    /* of up to LINES_MAX bytes: the loop has other things to do */
    COMMAND_MAX = 4096,
};
#define START_LIMIT_NS   INT64_C(30000000000)
#define CLOSE_LIMIT_NS   INT64_C(5000000000)
#define CLOSE_PAUSE_NS   INT64_C(200000)
#define KILL_DEFAULT_NS  INT64_C(30000000000)
#define TAKEN_PAUSE_NS   INT64_C(20000000)
#define OUTSIDE_PAUSE_NS INT64_C(20000000)
#define REMOVAL_LIMIT_NS INT64_C(20000000000)

enum phase { PHASE_RUNNING, PHASE_MAIN, PHASE_GROUP, PHASE_KILL, PHASE_STUCK };

struct output {
    struct watch watch;
    struct child *child;
    char letter;
    struct lines lines;
};

struct child {
    struct child_events events;
    struct loop *loop;
    struct watch socket;
    struct output out, err;
    struct timer timer;
    _Atomic int64_t root; /* the tree is what is below this process: the guardian, or jtok after its death */
    int64_t guardian_pid; /* 0: dead and reaped */
    int64_t main_pid;     /* ABSENT_I64: not started */
    int64_t exit_status;
    bool gone, leaves, first_pid_namespace;
    enum phase phase;
    struct child_stop_times times;
    int64_t phase_end_ns;  /* of MAIN, GROUP, KILL; INT64_MAX: never */
    int64_t taken_next_ns; /* after the guardian's death: the next round of killing; INT64_MAX: guardian lives */
    struct known known;
    struct outside outside;
    bool tree_gone;          /* nothing is left below the guardian */
    int64_t outside_next_ns; /* the next look at what is outside; INT64_MAX: none */
    const char *const *remove, *const *remove_env;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- processes that were seen in the tree ---- */

int child_owns_pid(struct child *c, int64_t pid)
{
    must(c);
    struct proc p;
    bool exists = proc_read(pid, &p);
    if (exists && (proc_is_below(&p, c->root) || outside_owns(&c->outside, &p))) {
        known_add(&c->known, &p);
        return 1;
    }
    if (known_has(&c->known, pid, exists ? &p : NULL))
        return 1;
    /* In a container a driver may name pids of the host, which mean nothing here. */
    return exists && c->first_pid_namespace ? 0 : -1;
}

void child_own_container(struct child *c, const char *id)
{
    outside_add_container(&c->outside, id);
}

bool child_own_outside(struct child *c, int64_t pid)
{
    must(child_is_started(c) && pid > 0);
    struct proc p, first;
    if (!proc_read(pid, &p) || pid <= 1 || (proc_read(c->main_pid, &first) && p.start_ticks < first.start_ticks))
        return false;
    outside_add_root(&c->outside, &p);
    return true;
}

static struct child_process describe_process(const struct proc *p, struct arena *a, struct buf *command)
{
    buf_clear(command);
    proc_command(p->pid, COMMAND_MAX, command);
    return (struct child_process){.pid = p->pid,
                                  .ppid = p->ppid,
                                  .session = p->session,
                                  .group = p->group,
                                  .start_ticks = p->start_ticks,
                                  .state = p->state,
                                  .name = arena_text(a, p->name),
                                  .command = arena_copy(a, command->p, command->n)};
}

bool child_list(struct child *c, struct arena *a, struct child_process **ret_list, size_t *ret_n, struct err *e)
{
    must(a && ret_list && ret_n);
    if (access("/proc/self/stat", R_OK) < 0)
        return err_set_errno(e, ERR_SYSTEM, errno,
                             "The engine's processes could not be listed, because /proc is not readable");
    struct proc *all = NULL;
    size_t n = proc_all(&all), kept = 0;
    struct child_process *list = arena_array(a, n, sizeof *list);
    struct buf command = {0};
    for (size_t i = 0; i < n; i++) {
        const struct proc *p = &all[i];
        if (p->pid == c->guardian_pid || !(proc_is_below(p, c->root) || outside_owns(&c->outside, p)))
            continue;
        known_add(&c->known, p);
        list[kept++] = describe_process(p, a, &command);
    }
    buf_done(&command);
    free(all);
    *ret_list = list;
    *ret_n = kept;
    return true;
}

/* ---- output ---- */

static void deliver_line(void *self, int64_t t_ns, struct span line, bool cut)
{
    struct output *o = self;
    if (o->child->events.line)
        o->child->events.line(o->child->events.self, t_ns, o->letter, line, cut);
}

static void close_output(struct output *o)
{
    if (o->watch.fd < 0)
        return;
    lines_end(&o->lines, clock_now_ns());
    if (o->child->loop)
        loop_remove(o->child->loop, &o->watch);
    close_fd(&o->watch.fd);
}

static void read_output(struct output *o, int reads)
{
    while (reads-- > 0 && o->watch.fd >= 0) {
        size_t room;
        char *at = lines_room(&o->lines, &room);
        ssize_t got = read(o->watch.fd, at, room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            close_output(o);
            return;
        }
        lines_added(&o->lines, (size_t)got, clock_now_ns());
    }
}

/* All that was written until now: at most what the pipe holds, in pieces of at least half a buffer when it is that
 * full. */
static void drain_output(struct child *c)
{
    read_output(&c->out, 4 * PIPE_BYTES / LINES_MAX);
    read_output(&c->err, 4 * PIPE_BYTES / LINES_MAX);
}

/* ---- stop ---- */

/* One that somebody has stopped would obey no order, and the engine would stay. */
static void wake_guardian(const struct child *c)
{
    if (c->guardian_pid > 0)
        kill((pid_t)c->guardian_pid, SIGCONT);
}

static void send_order(struct child *c, enum guardian_order order, int value)
{
    struct guardian_order_message m = {.order = (int32_t)order, .value = value};
    wake_guardian(c);
    /* A dead guardian shows when its socket is read. */
    while (send(c->socket.fd, &m, sizeof m, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static int64_t deadline_of(const struct child *c)
{
    if (c->gone)
        return INT64_MAX;
    int64_t next_ns = c->taken_next_ns < c->outside_next_ns ? c->taken_next_ns : c->outside_next_ns;
    return c->phase_end_ns < next_ns ? c->phase_end_ns : next_ns;
}

static void set_timer(struct child *c)
{
    if (!c->loop)
        return;
    int64_t deadline_ns = deadline_of(c);
    if (deadline_ns == INT64_MAX)
        loop_timer_stop(c->loop, &c->timer);
    else
        loop_timer_set(c->loop, &c->timer, deadline_ns);
}

static int64_t later_by(int64_t now_ns, int64_t pause_ns)
{
    return pause_ns > INT64_MAX - now_ns ? INT64_MAX : now_ns + pause_ns;
}

static int64_t pause_of(const struct child *c, enum phase phase)
{
    return phase == PHASE_MAIN ? c->times.main_ns : phase == PHASE_GROUP ? c->times.group_ns : c->times.kill_ns;
}

static void report_stuck(struct child *c)
{
    assert(!c->gone);
    struct arena a = {0};
    struct child_process *list = NULL;
    size_t n = 0;
    if (c->events.stuck && child_list(c, &a, &list, &n, NULL))
        c->events.stuck(c->events.self, list, n);
    arena_done(&a);
}

static void enter_phase(struct child *c, enum phase phase, int64_t now_ns)
{
    assert(phase > c->phase);
    c->phase = phase;
    c->phase_end_ns = phase == PHASE_STUCK ? INT64_MAX : later_by(now_ns, pause_of(c, phase));
    if (phase == PHASE_MAIN)
        send_order(c, ORDER_SIGNAL_MAIN, SIGTERM);
    else if (phase == PHASE_GROUP)
        send_order(c, ORDER_SIGNAL_GROUP, SIGTERM);
    else if (phase == PHASE_KILL)
        send_order(c, ORDER_KILL, 0);
    else
        report_stuck(c);
    if (phase == PHASE_GROUP || phase == PHASE_KILL)
        outside_signal(&c->outside, phase == PHASE_GROUP ? SIGTERM : SIGKILL);
}

void child_stop(struct child *c, const struct child_stop_times *t)
{
    must(t->main_ns >= 0 && t->group_ns >= 0 && t->kill_ns >= 0);
    if (c->main_pid == ABSENT_I64 || c->gone)
        return;
    int64_t now_ns = clock_now_ns();
    c->times = *t;
    if (c->phase == PHASE_RUNNING)
        enter_phase(c, c->exit_status == ABSENT_I64 ? PHASE_MAIN : PHASE_GROUP, now_ns);
    else if (c->phase != PHASE_STUCK && later_by(now_ns, pause_of(c, c->phase)) < c->phase_end_ns)
        c->phase_end_ns = later_by(now_ns, pause_of(c, c->phase));
    set_timer(c);
}

void child_signal(struct child *c, int number)
{
    must(number > 0 && number < NSIG);
    if (c->main_pid != ABSENT_I64 && !c->gone)
        send_order(c, ORDER_SIGNAL_GROUP, number);
}

void child_leave(struct child *c)
{
    must(c->exit_status != ABSENT_I64);
    c->leaves = true;
}

void child_kill(struct child *c)
{
    if (c->main_pid == ABSENT_I64 || c->gone || c->phase >= PHASE_KILL)
        return;
    if (c->times.kill_ns <= 0)
        c->times.kill_ns = KILL_DEFAULT_NS;
    enter_phase(c, PHASE_KILL, clock_now_ns());
    set_timer(c);
}

/* ---- what comes from the guardian, or from the kernel after its death ---- */

static void main_exited(struct child *c, int64_t t_ns, int status)
{
    assert(c->exit_status == ABSENT_I64);
    drain_output(c);
    c->exit_status = status;
    if (c->events.exited)
        c->events.exited(c->events.self, t_ns, status);
}

static void all_gone(struct child *c, int64_t t_ns)
{
    assert(!c->gone);
    drain_output(c);
    close_output(&c->out);
    close_output(&c->err);
    c->gone = true;
    set_timer(c);
    if (c->events.gone)
        c->events.gone(c->events.self, t_ns);
}

static bool lives_outside(struct child *c)
{
    struct proc *list;
    size_t n = outside_list(&c->outside, &list);
    for (size_t i = 0; i < n; i++)
        known_add(&c->known, &list[i]);
    free(list);
    return n > 0;
}

/* Nothing is left below the guardian: what is outside is waited for. */
static void tree_gone(struct child *c, int64_t t_ns)
{
    c->tree_gone = true;
    c->taken_next_ns = INT64_MAX;
    if (!lives_outside(c)) {
        all_gone(c, t_ns);
        return;
    }
    if (c->phase >= PHASE_KILL)
        outside_signal(&c->outside, SIGKILL);
    c->outside_next_ns = clock_now_ns() + OUTSIDE_PAUSE_NS;
    set_timer(c);
}

/* One round of what the guardian would do; false: nothing of the tree is left. */
static bool kill_and_reap(struct child *c)
{
    bool ended = false;
    int status = 128 + SIGKILL; /* the guardian may have reaped the first process and died before it reported */
    proc_kill_below(getpid());
    bool some_left = proc_reap(c->main_pid, &ended, &status);
    if ((ended || !some_left) && c->exit_status == ABSENT_I64)
        main_exited(c, clock_now_ns(), status);
    return some_left;
}

/* As the guardian would. The loop stands still meanwhile: the run has failed. */
static void remove_leftovers(struct child *c)
{
    struct arena a = {0};
    struct tool_answer answer;
    if (c->remove)
        tool_run(c->remove, c->remove_env, REMOVAL_LIMIT_NS, &a, &answer, NULL);
    arena_done(&a);
}

static void take_over(struct child *c)
{
    assert(c->guardian_pid > 0);
    if (c->loop)
        loop_remove(c->loop, &c->socket);
    close_fd(&c->socket.fd);
    waitpid((pid_t)c->guardian_pid, NULL, 0); /* it closed its socket by dying */
    c->guardian_pid = 0;
    c->root = getpid();
    if (c->gone || c->main_pid == ABSENT_I64)
        return;
    if (c->events.orphaned)
        c->events.orphaned(c->events.self, "Another process killed the guardian between jtok and the engine, so jtok "
                                           "kills the engine as well. Look for "
                                           "the kernel's out-of-memory killer in `dmesg`.");
    remove_leftovers(c);
    outside_signal(&c->outside, SIGKILL);
    c->phase = PHASE_KILL;
    c->phase_end_ns = later_by(clock_now_ns(), c->times.kill_ns > 0 ? c->times.kill_ns : KILL_DEFAULT_NS);
    c->taken_next_ns = clock_now_ns();
    set_timer(c);
}

static void advance_phase(struct child *c)
{
    int64_t now_ns = clock_now_ns();
    if (!c->gone && now_ns >= c->taken_next_ns) {
        c->taken_next_ns = now_ns + TAKEN_PAUSE_NS;
        if (!kill_and_reap(c))
            tree_gone(c, clock_now_ns());
    }
    if (!c->gone && now_ns >= c->outside_next_ns)
        tree_gone(c, clock_now_ns());
    if (!c->gone && now_ns >= c->phase_end_ns)
        enter_phase(c, c->phase + 1, now_ns);
    set_timer(c);
}

/* 1: a report, 0: none now, -1: the guardian is dead. */
static int receive_report(struct child *c, struct guardian_report_message *ret_report)
{
    ssize_t n;
    do
        n = recv(c->socket.fd, ret_report, sizeof *ret_report, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof *ret_report)
        return 1;
    return n < 0 && errno == EAGAIN ? 0 : -1;
}

static void read_reports(struct child *c)
{
    struct guardian_report_message m;
    int got = 0;
    while (c->socket.fd >= 0 && (got = receive_report(c, &m)) > 0) {
        if (m.report == REPORT_EXITED)
            main_exited(c, m.t_ns, m.value);
        else if (m.report == REPORT_GROUP_GONE && c->events.group_gone)
            c->events.group_gone(c->events.self, m.t_ns);
        else if (m.report == REPORT_GONE)
            tree_gone(c, m.t_ns);
    }
    if (got < 0)
        take_over(c);
}

/* ---- start ---- */

bool child_can_start(const struct child_spec *s, struct err *e)
{
    must(s->argv && s->argv[0]);
    return start_is_possible(s, e);
}

int child_exec_fault(const struct child_spec *s)
{
    must(s->argv && s->argv[0]);
    return start_fault(s);
}

static bool await_start(struct child *c, const struct child_spec *s, struct err *e)
{
    int64_t limit_ns = clock_now_ns() + START_LIMIT_NS;
    for (;;) {
        struct guardian_report_message m;
        int got = receive_report(c, &m);
        if (got > 0 && m.report == REPORT_STARTED) {
            c->main_pid = m.pid;
            return true;
        }
        if (got > 0)
            return start_explain(s, (enum guardian_step)m.more, m.value, e);
        if (got < 0)
            return err_set(e, ERR_SYSTEM,
                           "%s was not started, because the guardian process is dead. Look for who killed it, for "
                           "example the kernel's out-of-memory killer in `dmesg`.",
                           start_noun(s));
        int64_t left_ns = limit_ns - clock_now_ns();
        if (left_ns <= 0)
            return err_set(e, ERR_ENGINE, "%s %s did not start within 30 s. Check whether its file system hangs.",
                           s->any_command ? "The command" : "The engine's command", s->argv[0]);
        struct pollfd p = {.fd = c->socket.fd, .events = POLLIN};
        poll(&p, 1, (int)(left_ns / 1000000) + 1);
    }
}

static bool watch_output(struct child *c, struct output *o, struct err *e)
{
    return !c->loop || loop_add(c->loop, &o->watch, EPOLLIN, e);
}

/* Strings and descriptors go to the guardian, which starts the process. */
static bool order_start(struct child *c, const struct child_spec *s, const int standard[3], struct err *e)
{
    struct guardian_order_message order;
    int strings = start_strings(s, &order);
    bool sent =
        strings >= 0 && start_send(c->socket.fd, &order, (const int[]){strings, standard[0], standard[1], standard[2]});
    if (!sent)
        err_set_errno(e, ERR_SYSTEM, errno, "%s was not started, because the memory for its start could not be had",
                      start_noun(s));
    close_fd(&strings);
    if (!sent || !await_start(c, s, e))
        return false;
    c->gone = false;
    c->remove = s->remove;
    c->remove_env = s->env;
    struct proc p;
    if (proc_read(c->main_pid, &p))
        known_add(&c->known, &p);
    return true;
}

/* With jtok's own input, output and error; one that is closed is replaced by nothing at all. */
static bool start_command(struct child *c, const struct child_spec *s, struct err *e)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), standard[3];
    for (int fd = 0; fd < 3; fd++)
        standard[fd] = fcntl(fd, F_GETFD) < 0 ? null : fd;
    bool started = order_start(c, s, standard, e);
    close_fd(&null);
    return started;
}

static void take_pipe(struct output *o, int fd)
{
    assert(o->watch.fd < 0 && fd >= 0);
    o->watch.fd = fd;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* refused to users over their quota, who keep the 64 KiB of a plain pipe */
}

/* With its output in pipes, and nothing to read. What it has got is closed here. */
static bool start_engine(struct child *c, const struct child_spec *s, struct err *e)
{
    int out[2] = {-1, -1}, error[2] = {-1, -1}, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool piped = null >= 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(error, O_CLOEXEC) == 0;
    if (!piped)
        err_set_errno(e, ERR_SYSTEM, errno, "The engine was not started, because the pipes for it could not be had");
    bool started = piped && order_start(c, s, (const int[]){null, out[1], error[1]}, e);
    close_fd(&null);
    close_fd(&out[1]);
    close_fd(&error[1]);
    if (!started) {
        close_fd(&out[0]);
        close_fd(&error[0]);
        return false;
    }
    take_pipe(&c->out, out[0]);
    take_pipe(&c->err, error[0]);
    if (watch_output(c, &c->out, e) && watch_output(c, &c->err, e))
        return true;
    child_kill(c);
    return false;
}

bool child_start(struct child *c, const struct child_spec *s, int64_t *ret_pid, struct err *e)
{
    must(s->argv && s->argv[0]);
    must(!child_is_started(c));
    if (c->socket.fd < 0)
        return err_set(e, ERR_SYSTEM,
                       "%s was not started, because the guardian process is dead. Look for who killed it, for example "
                       "the kernel's out-of-memory killer in `dmesg`.",
                       start_noun(s));
    if (!(s->any_command ? start_command(c, s, e) : start_engine(c, s, e)))
        return false;
    if (ret_pid)
        *ret_pid = c->main_pid;
    return true;
}

/* ---- loop, open and close ---- */

static void socket_ready(struct watch *w, uint32_t events)
{
    (void)events;
    read_reports(w->owner);
}

static void output_ready(struct watch *w, uint32_t events)
{
    (void)events;
    read_output(w->owner, READS_AT_ONCE);
}

static void timer_fired(struct timer *t)
{
    advance_phase(t->owner);
}

bool child_attach(struct child *c, struct loop *l, struct err *e)
{
    must(!c->loop && l);
    if (c->socket.fd >= 0 && !loop_add(l, &c->socket, EPOLLIN, e))
        return false;
    c->loop = l;
    bool ok = true;
    if (c->out.watch.fd >= 0)
        ok = watch_output(c, &c->out, e);
    if (ok && c->err.watch.fd >= 0)
        ok = watch_output(c, &c->err, e);
    set_timer(c);
    return ok;
}

static void detach(struct child *c)
{
    if (!c->loop)
        return;
    if (c->socket.fd >= 0)
        loop_remove(c->loop, &c->socket);
    if (c->out.watch.fd >= 0)
        loop_remove(c->loop, &c->out.watch);
    if (c->err.watch.fd >= 0)
        loop_remove(c->loop, &c->err.watch);
    loop_timer_stop(c->loop, &c->timer);
    c->loop = NULL;
}

static void output_init(struct child *c, struct output *o, char letter)
{
    *o = (struct output){.watch = {.fd = -1, .ready = output_ready, .owner = o}, .child = c, .letter = letter};
    lines_init(&o->lines, deliver_line, o);
}

static bool in_first_pid_namespace(void)
{
    char text[64] = "";
    ssize_t n = readlink("/proc/self/ns/pid", text, sizeof text - 1);
    return n > 0 && strcmp(text, "pid:[4026531836]") == 0; /* fixed by the kernel's ABI: PROC_PID_INIT_INO */
}

bool child_open(struct child **ret_child, const struct child_events *events, struct err *e)
{
    must(ret_child && events);
    int ends[2];
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "The guardian process could not be set up");
    int64_t jtok_pid = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        guardian_run(ends[1], jtok_pid);
    }
    int number = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_set_errno(e, ERR_SYSTEM, number, "The guardian process could not be started");
    }
    struct child *c = mem_zero(1, sizeof *c);
    c->events = *events;
    c->socket = (struct watch){.fd = ends[0], .ready = socket_ready, .owner = c};
    c->timer = (struct timer){.fire = timer_fired, .owner = c};
    output_init(c, &c->out, 'o');
    output_init(c, &c->err, 'e');
    c->root = c->guardian_pid = pid;
    c->main_pid = c->exit_status = ABSENT_I64;
    c->gone = true;
    c->phase_end_ns = c->taken_next_ns = c->outside_next_ns = INT64_MAX;
    c->first_pid_namespace = in_first_pid_namespace();
    known_init(&c->known);
    outside_init(&c->outside);
    *ret_child = c;
    return true;
}

/* With its socket closed the guardian kills what is left of the tree and ends behind its last process. Where it was
 * killed itself, its orphans have come to jtok. What can't be killed by limit_ns is left to the guardian. */
static void end_tree(struct child *c, int64_t limit_ns)
{
    assert(!c->loop);
    close_fd(&c->socket.fd);
    wake_guardian(c);
    for (;;) {
        int status;
        if (c->guardian_pid && waitpid((pid_t)c->guardian_pid, &status, WNOHANG) == (pid_t)c->guardian_pid) {
            c->guardian_pid = 0;
            c->gone |= WIFEXITED(status);
        }
        if (!c->guardian_pid && (c->gone || !kill_and_reap(c)))
            return;
        if (clock_now_ns() >= limit_ns)
            return;
        clock_sleep_until_ns(clock_now_ns() + CLOSE_PAUSE_NS);
    }
}

void child_close(struct child *c)
{
    if (!c)
        return;
    detach(c);
    c->events = (struct child_events){0};
    if (c->leaves && c->guardian_pid && !c->gone) {
        send_order(c, ORDER_LEAVE, 0);
        c->gone = true;
    }
    end_tree(c, clock_now_ns() + CLOSE_LIMIT_NS);
    close_fd(&c->out.watch.fd);
    close_fd(&c->err.watch.fd);
    known_done(&c->known);
    outside_done(&c->outside);
    lines_done(&c->out.lines);
    lines_done(&c->err.lines);
    free(c);
}

bool child_is_started(const struct child *c)
{
    return c->main_pid != ABSENT_I64;
}

bool child_is_gone(const struct child *c)
{
    return c->gone;
}

int64_t child_exit_status(const struct child *c)
{
    return c->exit_status;
}
