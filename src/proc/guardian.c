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
#define ALONE_LIMIT_NS   INT64_C(60000000000) /* how long it goes on killing after jtok's death */
#define REMOVAL_LIMIT_NS INT64_C(20000000000)

/* What a start was ordered with. Kept: the removal comes later. */
struct start_words {
    char *bytes, *folder;
    char **argv, **env, **remove;
};

struct guardian {
    int socket, signals;
    int64_t jtok_pid;
    pid_t main_pid; /* 0: not started */
    bool main_ended, group_gone, gone;
    bool alone; /* jtok is dead, or has closed the socket */
    bool killing;
    int pause_ms;
    int64_t alone_since_ns;
    struct start_words words;
    pid_t remover; /* the removal that runs now; 0: none */
    int64_t remover_since_ns;
    bool removed; /* one began when the tree had gone */
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

/* What jtok ignores or blocks, a program that it starts would inherit. */
static void default_signals(void)
{
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become_engine(pid_t guardian, const int *fds, int report_fd, const char *folder, char **argv,
                                    char **env)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guardian)
        _exit(127);
    setsid();
    default_signals();
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

/* Takes the next string; null: there is none. */
static char *next_string(char **at, const char *end)
{
    char *text = *at, *stop = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    if (!stop)
        return NULL;
    *at = stop + 1;
    return text;
}

/* The next `n` strings as a list that ends with null; false when they are fewer. */
static bool take_list(char **at, const char *end, int32_t n, char ***ret_list)
{
    assert(n >= 0);
    *ret_list = mem_zero((size_t)n + 1, sizeof **ret_list);
    for (int32_t i = 0; i < n; i++)
        if (!((*ret_list)[i] = next_string(at, end)))
            return false;
    return true;
}

/* Splits the strings; false when they are not as many as said. */
static bool split(size_t n, const struct guardian_order_message *m, struct start_words *w)
{
    char *at = w->bytes, *end = w->bytes + n;
    if (m->has_folder && !(w->folder = next_string(&at, end)))
        return false;
    return take_list(&at, end, m->value, &w->argv) && take_list(&at, end, m->more, &w->env) &&
           take_list(&at, end, m->remove, &w->remove);
}

static void fork_engine(struct guardian *g, const int *fds)
{
    assert(g->words.argv[0] && !g->main_pid);
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        report(g, REPORT_FAILED, errno, STEP_FORK, clock_now_ns());
        return;
    }
    pid_t guardian = getpid(), pid = fork();
    if (pid == 0)
        become_engine(guardian, fds, pipe_fds[1], g->words.folder, g->words.argv, g->words.env);
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

static void free_words(struct start_words *w)
{
    free(w->bytes);
    free(w->argv);
    free(w->env);
    free(w->remove);
    *w = (struct start_words){0};
}

static void start(struct guardian *g, const struct guardian_order_message *m, const int *fds)
{
    struct stat st;
    if (fstat(fds[START_STRINGS], &st) < 0 || st.st_size <= 0 || m->value < 1 || m->more < 0 || m->remove < 0) {
        report(g, REPORT_FAILED, EINVAL, STEP_FORK, clock_now_ns());
        return;
    }
    size_t n = (size_t)st.st_size;
    free_words(&g->words); /* of a start that failed */
    g->words.bytes = mem_alloc(n);
    if (pread(fds[START_STRINGS], g->words.bytes, n, 0) != (ssize_t)n || !split(n, m, &g->words))
        report(g, REPORT_FAILED, EINVAL, STEP_FORK, clock_now_ns());
    else
        fork_engine(g, fds);
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

/* ---- the removal ---- */

/* What a daemon has started for the engine's command is not below the guardian, and is ended by a command. */
static void begin_removal(struct guardian *g, int64_t now_ns)
{
    if (!g->words.remove || !g->words.remove[0] || g->remover)
        return;
    g->remover_since_ns = now_ns;
    g->removed = g->gone;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, 0);
        setsid();
        default_signals();
        environ = g->words.env;
        execvp(g->words.remove[0], g->words.remove);
        _exit(127);
    }
    g->remover = pid > 0 ? pid : 0;
}

/* It may have been reaped with the others. */
static bool removal_runs(struct guardian *g)
{
    if (g->remover && waitpid(g->remover, NULL, WNOHANG) != 0)
        g->remover = 0;
    if (g->remover && clock_now_ns() - g->remover_since_ns > REMOVAL_LIMIT_NS)
        kill(-g->remover, SIGKILL);
    return g->remover != 0;
}

/* ---- killing ---- */

/* While the removal runs, the engine's first process alone is killed: the removal is below the guardian too, and a
 * container whose monitor is killed can't be removed in order. */
static void kill_all(struct guardian *g)
{
    assert(!g->gone);
    if (removal_runs(g)) {
        if (!g->main_ended)
            kill(g->main_pid, SIGKILL);
        return;
    }
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
    if (g->main_pid)
        begin_removal(g, clock_now_ns());
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

/* Alone, it ends behind the last process of the tree and the removal that began after that one's end: until then a
 * command that was killed may have had something made. */
static bool is_done(struct guardian *g)
{
    bool out_of_time = g->alone && clock_now_ns() - g->alone_since_ns > ALONE_LIMIT_NS;
    if (!g->alone || (g->main_pid && !g->gone && !out_of_time))
        return false;
    if (g->main_pid && !g->removed && !removal_runs(g) && !out_of_time)
        begin_removal(g, clock_now_ns());
    return !removal_runs(g) || out_of_time;
}

void guardian_run(int socket, int64_t jtok_pid)
{
    must(socket >= 0 && jtok_pid > 0);
    struct guardian g = {.socket = socket, .jtok_pid = jtok_pid, .pause_ms = KILL_PAUSE_MS};
    prepare(&g);
    if (getppid() != jtok_pid) /* it died before PDEATHSIG was set */
        left_alone(&g);
    while (!is_done(&g)) {
        struct pollfd p[] = {{.fd = g.alone ? -1 : g.socket, .events = POLLIN}, {.fd = g.signals, .events = POLLIN}};
        bool busy = g.killing && g.main_pid && (!g.gone || g.remover);
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
        if (busy)
            g.pause_ms = g.pause_ms * 2 > KILL_PAUSE_MAX_MS ? KILL_PAUSE_MAX_MS : g.pause_ms * 2;
        if (busy && !g.gone)
            kill_all(&g);
    }
    _exit(0);
}
