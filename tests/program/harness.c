#include "program/harness.h"

#include <math.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/clock.h"
#include "check.h"
#include "store/records.h"
#include "schema/json.h"
#include "text/file_read.h"

extern char **environ;

void life_open(struct life *l)
{
    *l = (struct life){0};
    const char *base = getenv("TMPDIR");
    snprintf(l->scratch, sizeof l->scratch, "%.90s/jtok-e2e-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(l->scratch));
    snprintf(l->state, sizeof l->state, "%s/gpu-state", l->scratch);
    snprintf(l->runs, sizeof l->runs, "%s/runs", l->scratch);
}

void life_close(struct life *l)
{
    if (l->pid > 0 && l->code < 0)
        kill(l->pid, SIGKILL);
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", l->scratch);
    assert_int_equal(system(command), 0);
    free(l->out);
    free(l->err);
    arena_done(&l->arena);
}

void life_file(struct life *l, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", l->scratch, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

const char *life_plan(struct life *l, const char *engine_options, const char *more)
{
    life_file(l, "prompts.jsonl", "{\"prompt\":\"one\"}\n{\"prompt\":\"two\"}\n{\"prompt\":\"three\"}\n");
    char *text =
        arena_format(&l->arena,
                     "model: {id: simulated/model}\n"
                     "engine:\n"
                     "  simulated: true\n"
                     "  command: [%s/jtok-sim-engine, serve, simulated/model, --sim-start-s, '0.5'%s]\n"
                     "power: {library: %s/libnvidia-ml.so.1}\n"
                     "method: {baseline_s: 1, baseline_wait_s: 2, hold_s: 1, grid_s: 0.25, release_wait_s: 20}\n"
                     "runs: %s/runs\n"
                     "%s",
                     JTOK_BIN, engine_options, JTOK_BIN, l->scratch, more);
    life_file(l, "plan.yaml", text);
    return arena_format(&l->arena, "%s/plan.yaml", l->scratch);
}

const char *life_requests(struct life *l, const char *more)
{
    return arena_format(&l->arena, "requests: {file: %s/prompts.jsonl%s}\n", l->scratch, more);
}

static char *path_of(struct life *l, const char *name)
{
    return arena_format(&l->arena, "%s/%s", l->scratch, name);
}

static void become(struct life *l, const char *const *arguments, const char *const *env)
{
    const char *argv[64] = {JTOK_BIN "/jtok"};
    size_t n = 1;
    for (; arguments[n - 1] && n < 63; n++)
        argv[n] = strcmp(arguments[n - 1], "RUNS") == 0 ? l->runs : arguments[n - 1];
    setenv("JTOK_SIM_STATE", l->state, 1);
    for (; env && *env; env++)
        putenv((char *)*env);
    int out = open(path_of(l, "stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int err = open(path_of(l, "stderr"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

void life_start(struct life *l, const char *const *arguments, const char *const *env)
{
    l->code = -1;
    unlink(path_of(l, "stderr"));
    fflush(NULL);
    l->pid = fork();
    assert_true(l->pid >= 0);
    if (l->pid == 0)
        become(l, arguments, env);
}

static char *slurp(const char *path)
{
    struct buf b = {0};
    struct err e;
    if (!file_read(path, 0, &b, &e))
        return strdup("");
    char *text = strdup(buf_text(&b));
    buf_done(&b);
    return text;
}

static void collect(struct life *l, int status)
{
    l->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    free(l->out);
    free(l->err);
    l->out = slurp(path_of(l, "stdout"));
    l->err = slurp(path_of(l, "stderr"));
    size_t n = strcspn(l->out, "\n");
    if (l->out[n] && strncmp(l->out, l->runs, strlen(l->runs)) == 0)
        snprintf(l->folder, sizeof l->folder, "%.*s", (int)n, l->out);
}

static bool ended(struct life *l)
{
    int status;
    if (l->code >= 0)
        return true;
    pid_t pid = waitpid(l->pid, &status, WNOHANG);
    if (pid == l->pid)
        collect(l, status);
    return l->code >= 0;
}

void life_wait_for(struct life *l, const char *text, double limit_s)
{
    int64_t deadline = clock_now_ns() + (int64_t)(limit_s * 1e9);
    for (;;) {
        bool over = ended(l);
        char *seen = slurp(path_of(l, "stderr"));
        bool found = strstr(seen, text) != NULL;
        if (!found && (over || clock_now_ns() > deadline)) {
            print_error("\"%s\" never came. stderr:\n%s\n", text, seen);
            fail();
        }
        free(seen);
        if (found)
            return;
        usleep(20000);
    }
}

void life_signal(struct life *l, int number)
{
    assert_int_equal(kill(l->pid, number), 0);
}

int life_wait(struct life *l, double limit_s)
{
    int64_t deadline = clock_now_ns() + (int64_t)(limit_s * 1e9);
    while (!ended(l)) {
        if (clock_now_ns() > deadline) {
            char *seen = slurp(path_of(l, "stderr"));
            print_error("The program did not end within %g s. stderr:\n%s\n", limit_s, seen);
            fail();
        }
        usleep(20000);
    }
    return l->code;
}

int life_run(struct life *l, const char *const *arguments, const char *const *env, double limit_s)
{
    life_start(l, arguments, env);
    return life_wait(l, limit_s);
}

int life_also(struct life *l, const char *const *arguments)
{
    return life_run(l, arguments, NULL, 60);
}

struct records *life_records(struct life *l)
{
    struct err e = {0};
    struct records *r = arena_alloc(&l->arena, sizeof *r);
    assert_ok(records_load(l->folder, &l->arena, r, &e), e);
    return r;
}

struct result *life_result(struct life *l)
{
    struct err e = {0};
    struct result *r = arena_alloc(&l->arena, sizeof *r);
    struct buf text = {0};
    const char *path = arena_format(&l->arena, "%s/result.json", l->folder);
    assert_ok(file_read(path, 0, &text, &e), e);
    assert_ok(schema_json_read(&result_schema, r, path, buf_span(&text), &l->arena, &e), e);
    buf_done(&text);
    return r;
}

int64_t life_origin_ns(const struct records *r)
{
    assert_true(r->clock_count > 0);
    return r->clocks[0].offset_ns - clock_pair_read().offset_ns;
}

int life_survivors(const struct life *l)
{
    char needle[200];
    snprintf(needle, sizeof needle, "JTOK_SIM_STATE=%s", l->state);
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    int n = 0;
    for (struct dirent *d; (d = readdir(proc));) {
        char path[300], text[65536];
        if (atoi(d->d_name) <= 0 || atoi(d->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/%s/environ", d->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        ssize_t size = read(fd, text, sizeof text);
        close(fd);
        if (size > 0 && memmem(text, (size_t)size, needle, strlen(needle) + 1))
            n++;
    }
    closedir(proc);
    return n;
}

void life_check_engine(const struct result_engine *x, int64_t requests)
{
    const struct result_engine_times *t = &x->times;
    assert_null(x->why);
    assert_int_equal(t->ttft_s.n, requests);
    assert_int_equal(t->queue_s.n, requests);
    assert_int_equal(t->e2e_s.n, requests);
    assert_int_equal(t->client_ttft_s.n, requests);
    /* A busy machine may hold back either side for a while. */
    assert_true(t->ttft_difference_s.value > 0 && t->ttft_difference_s.value < 0.2);
    assert_true(t->e2e_difference_s.value > 0 && t->e2e_difference_s.value < 0.2);
    assert_true(fabs(t->tpot_difference_s.value) < 0.02);
    assert_true(t->front_end_s.value > 0 && t->front_end_s.value < 0.2);
    assert_true(t->queue_share.value >= 0 && t->queue_share.value < 1);
    assert_int_equal(x->drafted_tokens.state, Q_NOT_RECORDED);
}
