#include "proc/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/must.h"
#include "proc/start.h"

enum { OUTPUT_MAX = 4 << 20 };

/* One of its two outputs. */
struct pouring {
    int fd;
    struct buf text;
};

static int spawn(const char *const *argv, const char *const *env, int out, int error, pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, error, STDERR_FILENO);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int number = posix_spawnp(ret_pid, argv[0], &files, &how, (char *const *)argv, env ? (char *const *)env : environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return number;
}

static void pour(struct pouring *p)
{
    char bytes[16384];
    ssize_t n = read(p->fd, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR)
        return;
    if (n > 0) {
        buf_add(&p->text, bytes, (size_t)n);
        return;
    }
    close(p->fd);
    p->fd = -1;
}

/* Until both outputs are closed; false: out of time. */
static bool pour_all(struct pouring both[2], int64_t end_ns)
{
    while (both[0].fd >= 0 || both[1].fd >= 0) {
        int64_t left_ns = end_ns - clock_now_ns();
        struct pollfd p[] = {{.fd = both[0].fd, .events = POLLIN}, {.fd = both[1].fd, .events = POLLIN}};
        if (left_ns <= 0)
            return false;
        if (poll(p, 2, (int)(left_ns / 1000000) + 1) <= 0)
            continue;
        for (int i = 0; i < 2; i++)
            if (p[i].revents)
                pour(&both[i]);
    }
    return true;
}

/* What is left of its group is killed where it took too long. Returns the status as of waitpid. */
static int await_end(pid_t pid, bool in_time, int64_t end_ns)
{
    int status = 0;
    pid_t ended = 0;
    while (in_time && (ended = waitpid(pid, &status, WNOHANG)) == 0 && clock_now_ns() < end_ns)
        clock_sleep_until_ns(clock_now_ns() + 1000000);
    if (ended == 0) {
        kill(-pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    return status;
}

static bool run_piped(const char *const *argv, const char *const *env, int64_t limit_ns, int pipes[4],
                      struct pouring both[2], int *ret_status, struct err *e)
{
    pid_t pid = 0;
    int64_t end_ns = clock_now_ns() + limit_ns;
    struct child_spec spec = {.argv = argv, .env = env, .any_command = true};
    int number = spawn(argv, env, pipes[1], pipes[3], &pid);
    close(pipes[1]);
    close(pipes[3]);
    if (number) {
        close(pipes[0]);
        close(pipes[2]);
        return start_explain(&spec, STEP_EXEC, number, e);
    }
    both[0].fd = pipes[0];
    both[1].fd = pipes[2];
    bool in_time = pour_all(both, end_ns);
    int status = await_end(pid, in_time, end_ns);
    for (int i = 0; i < 2; i++)
        if (both[i].fd >= 0)
            close(both[i].fd);
    if (!in_time)
        return err_set(e, ERR_SYSTEM, "\"%s\" gave no answer within %.0f s. Check whether it works in a shell.",
                       argv[0], (double)limit_ns / 1e9);
    *ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

bool tool_run(const char *const *argv, const char *const *env, int64_t limit_ns, struct arena *a,
              struct tool_answer *ret_answer, struct err *e)
{
    must(argv && argv[0] && limit_ns > 0 && a);
    int pipes[4];
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "\"%s\" was not run, because a pipe could not be had", argv[0]);
    if (pipe2(pipes + 2, O_CLOEXEC) < 0) {
        int number = errno;
        close(pipes[0]);
        close(pipes[1]);
        return err_set_errno(e, ERR_SYSTEM, number, "\"%s\" was not run, because a pipe could not be had", argv[0]);
    }
    struct pouring both[2] = {{.fd = -1}, {.fd = -1}};
    buf_init(&both[0].text, OUTPUT_MAX);
    buf_init(&both[1].text, OUTPUT_MAX);
    int status = 0;
    bool ran = run_piped(argv, env, limit_ns, pipes, both, &status, e);
    if (ran)
        *ret_answer = (struct tool_answer){.status = status,
                                           .out = arena_text(a, buf_text(&both[0].text)),
                                           .err = arena_text(a, buf_text(&both[1].text))};
    buf_done(&both[0].text);
    buf_done(&both[1].text);
    return ran;
}
