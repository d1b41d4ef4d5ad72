#include "proc/guardian.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/must.h"
#include "proc/tree.h"

enum { KILL_PAUSE_MS = 10, KILL_PAUSE_MAX_MS = 200, GROUP_PAUSE_MS = 100 };
#define ALONE_LIMIT_NS INT64_C(60000000000) /* how long it goes on killing after jtok's death */

struct guardian {
    int socket, signals;
    int64_t jtok_pid;
    pid_t main_pid; /* 0: not started */
    bool main_ended, group_gone, gone;
    bool alone; /* jtok is dead, or has closed the socket */
    bool killing;
    int pause_ms;
    int64_t alone_since_ns;
};

struct failure {
    int32_t step, number;
};

static void report(struct guardian *g, enum guardian_report kind, int value, int more, int64_t t_ns)
{
    struct guardian_report_message m = {
        .report = (int32_t)kind, .value = value, .more = more, .pid = g->main_pid, .t_ns = t_ns};
    while (send(g->socket, &m, sizeof m, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

/* ---- the engine's first process, between fork and exec ---- */

static _Noreturn void give_up(int report_fd, enum guardian_step step, int number)
{
    struct failure f = {.step = (int32_t)step, .number = number};
    if (write(report_fd, &f, sizeof f) < 0)
        _exit(126);
    _exit(127);
}

static _Noreturn void become_engine(pid_t guardian, const int *fds, int report_fd, const char *folder, char **argv,
                                    char **env)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guardian)
        _exit(127);
    setsid();
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (folder && chdir(folder) < 0)
        give_up(report_fd, STEP_FOLDER, errno);
    /* Descriptors 0 to 2 are /dev/null in the guardian, so these are above them. */
    dup2(fds[START_IN], STDIN_FILENO);
    dup2(fds[START_OUT], STDOUT_FILENO);
    dup2(fds[START_ERR], STDERR_FILENO);
    environ = env; /* execvp looks in this PATH */
    execvp(argv[0], argv);
    give_up(report_fd, STEP_EXEC, errno);
}

/* Splits the strings into the folder, arguments and variables; false when they are not as many as said. */
static bool split(char *bytes, size_t n, const struct guardian_order_message *m, char **ret_folder, char **argv,
                  char **env)
{
    assert(n > 0);
    char *at = bytes, *end = bytes + n;
    size_t want = (size_t)m->value + (size_t)m->more + (m->has_folder ? 1 : 0);
    *ret_folder = NULL;
    for (size_t i = 0; i < want; i++) {
        char *stop = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        if (!stop)
            return false;
        size_t k = i - (m->has_folder ? 1 : 0);
        if (m->has_folder && i == 0)
            *ret_folder = at;
        else if (k < (size_t)m->value)
            argv[k] = at;
        else
            env[k - (size_t)m->value] = at;
        at = stop + 1;
    }
    return true;
}

static void fork_engine(struct guardian *g, const int *fds, const char *folder, char **argv, char **env)
{
    assert(argv[0] && !g->main_pid);
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        report(g, REPORT_FAILED, errno, STEP_FORK, clock_now_ns());
        return;
    }
    pid_t guardian = getpid(), pid = fork();
    if (pid == 0)
        become_engine(guardian, fds, pipe_fds[1], folder, argv, env);
    int number = errno;
    close(pipe_fds[1]);
    struct failure f;
    if (pid < 0) {
        report(g, REPORT_FAILED, number, STEP_FORK, clock_now_ns());
    } else if (read(pipe_fds[0], &f, sizeof f) == (ssize_t)sizeof f) {
        waitpid(pid, NULL, 0);
        report(g, REPORT_FAILED, f.number, f.step, clock_now_ns());
    } else {
        g->main_pid = pid;
        report(g, REPORT_STARTED, 0, 0, clock_now_ns());
    }
    close(pipe_fds[0]);
}

static void start(struct guardian *g, const struct guardian_order_message *m, const int *fds)
{
    struct stat st;
    if (fstat(fds[START_STRINGS], &st) < 0 || st.st_size <= 0 || m->value < 1 || m->more < 0) {
        report(g, REPORT_FAILED, EINVAL, STEP_FORK, clock_now_ns());
        return;
    }
    size_t n = (size_t)st.st_size;
    char *bytes = mem_alloc(n);
    char **argv = mem_zero((size_t)m->value + 1, sizeof *argv), **env = mem_zero((size_t)m->more + 1, sizeof *env);
    char *folder;
    if (pread(fds[START_STRINGS], bytes, n, 0) != (ssize_t)n || !split(bytes, n, m, &folder, argv, env))
        report(g, REPORT_FAILED, EINVAL, STEP_FORK, clock_now_ns());
    else
        fork_engine(g, fds, folder, argv, env);
    free(bytes);
    free(argv);
    free(env);
}

/* ---- the guardian ---- */

/* Is somebody of the tree in the group? Only then is its number surely ours. */
static bool group_lives(const struct guardian *g)
{
    assert(g->main_pid > 0);
    struct proc *list;
    size_t n = proc_below(getpid(), &list);
    bool lives = false;
    for (size_t i = 0; i < n && !lives; i++)
        lives = list[i].group == g->main_pid && list[i].state != 'Z';
    free(list);
    return lives;
}

static void signal_group(struct guardian *g, int number)
{
    if (group_lives(g))
        kill(-g->main_pid, number);
}

static void kill_all(struct guardian *g)
{
    assert(!g->gone);
    if (g->main_pid)
        signal_group(g, SIGKILL);
    proc_kill_below(getpid());
}

/* A group without a process is told by one call; what a parent outside it has not reaped is seen in /proc alone. */
static void look_for_group(struct guardian *g, int64_t now_ns)
{
    if (!g->main_ended || g->group_gone)
        return;
    bool empty = kill(-g->main_pid, 0) < 0 && errno == ESRCH;
    if (!empty && group_lives(g))
        return;
    g->group_gone = true;
    report(g, REPORT_GROUP_GONE, 0, 0, now_ns);
}

static void reap(struct guardian *g)
{
    if (!g->main_pid || g->gone)
        return;
    bool ended = false;
    int status = 0;
    bool some_left = proc_reap(g->main_pid, &ended, &status);
    int64_t now_ns = clock_now_ns();
    if (ended) {
        g->main_ended = true;
        report(g, REPORT_EXITED, status, 0, now_ns);
    }
    look_for_group(g, now_ns);
    if (!some_left) {
        g->gone = true;
        report(g, REPORT_GONE, 0, 0, now_ns);
    }
}

static void begin_killing(struct guardian *g)
{
    g->killing = true;
    g->pause_ms = KILL_PAUSE_MS;
    if (g->main_pid && !g->gone)
        kill_all(g);
}

static void left_alone(struct guardian *g)
{
    if (g->alone)
        return;
    g->alone = true;
    g->alone_since_ns = clock_now_ns();
    begin_killing(g);
}

static void obey(struct guardian *g, const struct guardian_order_message *m, const int *fds, int fd_count)
{
    switch ((enum guardian_order)m->order) {
    case ORDER_START:
        if (fd_count == START_FDS && !g->main_pid)
            start(g, m, fds);
        else
            report(g, REPORT_FAILED, EINVAL, STEP_FORK, clock_now_ns());
        break;
    case ORDER_SIGNAL_MAIN:
        if (g->main_pid && !g->main_ended) /* not reaped yet, so the pid is its own */
            kill(g->main_pid, m->value);
        break;
    case ORDER_SIGNAL_GROUP:
        if (g->main_pid && !g->gone)
            signal_group(g, m->value);
        break;
    case ORDER_KILL:
        begin_killing(g);
        break;
    case ORDER_LEAVE:
        if (g->main_ended)
            _exit(0);
        break;
    default:
        break;
    }
}

static void receive_order(struct guardian *g)
{
    struct guardian_order_message m;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(START_FDS * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = &m, .iov_len = sizeof m};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(g->socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        left_alone(g);
        return;
    }
    int fds[START_FDS], count = 0;
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(c), (size_t)count * sizeof(int));
    }
    if (n == (ssize_t)sizeof m)
        obey(g, &m, fds, count);
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

static void prepare(struct guardian *g)
{
    prctl(PR_SET_NAME, "jtok-guardian");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setsid(); /* away from the terminal's Ctrl-C */
    /* The socket first: with a closed standard input it may be descriptor 0. */
    if (g->socket != 3)
        dup3(g->socket, 3, O_CLOEXEC);
    g->socket = 3;
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    close_range(4, ~0U, 0);
    signal(SIGCHLD, SIG_DFL); /* ignored, as jtok may have it, exits would leave no status */
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    g->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void guardian_run(int socket, int64_t jtok_pid)
{
    must(socket >= 0 && jtok_pid > 0);
    struct guardian g = {.socket = socket, .jtok_pid = jtok_pid, .pause_ms = KILL_PAUSE_MS};
    prepare(&g);
    if (getppid() != jtok_pid) /* it died before PDEATHSIG was set */
        left_alone(&g);
    while (!(g.alone && (g.gone || !g.main_pid || clock_now_ns() - g.alone_since_ns > ALONE_LIMIT_NS))) {
        struct pollfd p[] = {{.fd = g.alone ? -1 : g.socket, .events = POLLIN}, {.fd = g.signals, .events = POLLIN}};
        bool busy = g.killing && g.main_pid && !g.gone;
        /* The last of the group may be the child of one outside it, whose end is not told here. */
        bool watching = g.main_ended && !g.group_gone && !g.gone;
        poll(p, 2, busy ? g.pause_ms : watching ? GROUP_PAUSE_MS : -1);
        struct signalfd_siginfo info;
        while (read(g.signals, &info, sizeof info) == (ssize_t)sizeof info)
            ;
        if (p[0].revents)
            receive_order(&g);
        if (getppid() != g.jtok_pid)
            left_alone(&g);
        reap(&g);
        if (busy && !g.gone) {
            g.pause_ms = g.pause_ms * 2 > KILL_PAUSE_MAX_MS ? KILL_PAUSE_MAX_MS : g.pause_ms * 2;
            kill_all(&g);
        }
    }
    _exit(0);
}
