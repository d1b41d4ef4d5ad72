#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "loopback.h"
#include "sim/state.h"
#include "sim/truth.h"

double seconds_now(void)
{
    return (double)clock_now_ns() / 1e9;
}

void engine_start(struct engine *g, const char *const *options)
{
    const char *temporary = getenv("TMPDIR");
    struct err e;
    *g = (struct engine){.port = free_port()};
    snprintf(g->folder, sizeof g->folder, "%.40s/jtok-e2e-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(g->folder));
    snprintf(g->log_path, sizeof g->log_path, "%s/log", g->folder);
    snprintf(g->state_path, sizeof g->state_path, "%s/state", g->folder);
    assert_ok(sim_state_open(g->state_path, 2, &g->state, &e), e);
    char port[16];
    snprintf(port, sizeof port, "%d", g->port);
    static const char program[] = JTOK_BIN "/jtok-sim-engine";
    const char *words[64] = {program, "serve",         "/models/m", "--served-model-name", "m/m", "--port",
                             port,    "--sim-start-s", "0.3"};
    size_t n = 9;
    for (; options && *options && n < 63; options++)
        words[n++] = *options;
    /* Orphans come to us, to be reaped: in a container nobody else may. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fflush(NULL);
    g->pid = fork();
    assert_true(g->pid >= 0);
    if (g->pid == 0) {
        int log = open(g->log_path, O_CREAT | O_WRONLY | O_APPEND, 0600);
        setsid();
        dup2(log, 1);
        dup2(log, 2);
        setenv("JTOK_SIM_STATE", g->state_path, 1);
        unsetenv("CUDA_VISIBLE_DEVICES");
        execv(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
}

bool engine_accepts(const struct engine *g)
{
    struct sockaddr_in a = loopback(g->port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (!good)
        assert_int_equal(errno, ECONNREFUSED);
    close(fd);
    return good;
}

void engine_wait_ready(struct engine *g)
{
    double until = seconds_now() + 20;
    while (!engine_accepts(g)) {
        assert_int_equal(waitpid(g->pid, NULL, WNOHANG), 0);
        assert_true(seconds_now() < until);
        usleep(5000);
    }
}

int engine_wait(struct engine *g, double *ret_s)
{
    double began = seconds_now();
    int status = 0;
    while (waitpid(g->pid, &status, WNOHANG) == 0) {
        assert_true(seconds_now() < began + 20);
        usleep(2000);
    }
    if (ret_s)
        *ret_s = seconds_now() - began;
    return status;
}

int engine_stop(struct engine *g, double *ret_s)
{
    kill(g->pid, SIGTERM);
    return engine_wait(g, ret_s);
}

/* The group of a process and whether it still runs, from /proc/PID/stat: fields 3 and 5, behind the last ')'. */
static bool runs_in_group(const char *pid, pid_t group)
{
    char path[300], text[512] = "";
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *behind = strrchr(text, ')');
    char state;
    int parent, its_group;
    return behind && sscanf(behind + 1, " %c %d %d", &state, &parent, &its_group) == 3 && its_group == group &&
           state != 'Z';
}

int engine_left(const struct engine *g)
{
    DIR *d = opendir("/proc");
    int left = 0;
    for (struct dirent *entry; (entry = readdir(d));)
        left += entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && runs_in_group(entry->d_name, g->pid);
    closedir(d);
    return left;
}

void engine_done(struct engine *g)
{
    kill(-g->pid, SIGKILL);
    for (double until = seconds_now() + 10; waitpid(-g->pid, NULL, WNOHANG) >= 0 || engine_left(g);) {
        assert_true(seconds_now() < until);
        usleep(2000);
    }
    sim_state_close(g->state);
    unlink(g->log_path);
    unlink(g->state_path);
    rmdir(g->folder);
}

void engine_log(const struct engine *g, struct buf *b)
{
    int fd = open(g->log_path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    buf_clear(b);
    for (ssize_t n = 1; n > 0;) {
        buf_reserve(b, 65536);
        n = read(fd, b->p + b->n, 65536);
        b->n += n > 0 ? (size_t)n : 0;
    }
    close(fd);
}

/* One connection while it is read. */
struct line {
    int fd;
    struct answer *x;
};

static void hang_up(struct line *l)
{
    close(l->fd);
    l->fd = -1;
}

static void read_line(struct line *l)
{
    char bytes[65536];
    ssize_t n = recv(l->fd, bytes, sizeof bytes, 0);
    int64_t t_ns = clock_now_ns();
    if (n > 0)
        answer_feed(l->x, bytes, (size_t)n, t_ns);
    else if (n == 0)
        answer_closed(l->x, t_ns);
    else if (errno == ECONNRESET)
        l->x->ending = RESET_BY_PEER;
    else
        assert_true(errno == EAGAIN || errno == EINTR);
    if (l->x->ending != STILL_OPEN)
        hang_up(l);
}

static void open_line(struct line *l, const struct engine *g, const char *path, const char *body, struct answer *x)
{
    struct sockaddr_in a = loopback(g->port);
    answer_init(x);
    *l = (struct line){.x = x, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(connect(l->fd, (struct sockaddr *)&a, sizeof a), 0);
    struct buf request = {0};
    buf_fmt(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
            body ? "POST" : "GET", path, body ? strlen(body) : 0, body ? body : "");
    assert_int_equal(send(l->fd, request.p, request.n, MSG_NOSIGNAL), request.n);
    buf_done(&request);
}

static size_t read_some(struct line *lines, size_t n, struct pollfd *polls, int timeout_ms)
{
    size_t open = 0;
    for (size_t i = 0; i < n; i++)
        if (lines[i].fd >= 0)
            polls[open++] = (struct pollfd){.fd = lines[i].fd, .events = POLLIN};
    if (open == 0 || poll(polls, open, timeout_ms) <= 0)
        return open;
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        if (lines[i].fd >= 0 && polls[at++].revents)
            read_line(&lines[i]);
    return open;
}

void ask_all(const struct engine *g, const char *path, const char *const *bodies, size_t n, double timeout_s,
             struct answer *ret)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    struct line *lines = mem_zero(n, sizeof *lines);
    struct pollfd *polls = mem_zero(n, sizeof *polls);
    for (size_t i = 0; i < n; i++)
        open_line(&lines[i], g, path, bodies[i], &ret[i]);
    double until = seconds_now() + timeout_s;
    while (seconds_now() < until && read_some(lines, n, polls, 50))
        ;
    for (size_t i = 0; i < n; i++)
        if (lines[i].fd >= 0)
            hang_up(&lines[i]);
    free(lines);
    free(polls);
}

void ask_one(const struct engine *g, const char *path, const char *body, struct answer *ret)
{
    ask_all(g, path, &body, 1, 20, ret);
}

void engine_raw(const struct engine *g, struct span bytes, struct buf *ret_answer)
{
    struct sockaddr_in a = loopback(g->port);
    struct timeval patience = {.tv_sec = 10};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(send(fd, bytes.p, bytes.n, MSG_NOSIGNAL), bytes.n);
    ssize_t n = 1;
    while (n > 0) {
        buf_reserve(ret_answer, 65536);
        n = recv(fd, ret_answer->p + ret_answer->n, 65536, 0);
        ret_answer->n += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal(n, 0);
    close(fd);
}

/* A sample is a line: NAME{LABELS} VALUE. */
double engine_metric(const struct engine *g, const char *name)
{
    struct answer x;
    ask_one(g, "/metrics", NULL, &x);
    assert_int_equal(x.status, 200);
    double sum = 0;
    int found = 0;
    char *rest = NULL;
    for (char *line = strtok_r((char *)(uintptr_t)buf_text(&x.body), "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *blank = strrchr(line, ' ');
        assert_non_null(blank);
        if (line[0] == '#' || strcspn(line, "{ ") != strlen(name) || strncmp(line, name, strlen(name)) != 0)
            continue;
        char *end;
        sum += strtod(blank + 1, &end);
        assert_int_equal(*end, 0);
        found++;
    }
    assert_true(found > 0);
    answer_done(&x);
    return sum;
}

char *body_of(const char *prompt, const char *more)
{
    struct buf b = {0};
    buf_fmt(&b,
            "{\"model\":\"m/m\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}],\"stream\":true,"
            "\"stream_options\":{\"include_usage\":true}%s}",
            prompt, more);
    buf_text(&b);
    return b.p;
}

pid_t core_pid(const struct engine *g)
{
    return (pid_t)atomic_load(&g->state->gpus[0].pids[0]);
}

int64_t power_now(const struct engine *g)
{
    return sim_power_mw(g->state, 0, clock_now_ns());
}

int64_t memory(const struct engine *g)
{
    return atomic_load(&g->state->gpus[0].memory_bytes);
}
