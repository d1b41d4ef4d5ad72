/* Real process trees, started with sh. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/child.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

struct seen {
    int groups;
    int64_t group_gone_ns;
    bool stop_at_group;
    struct child *child;
    struct loop *loop;
    struct buf out, err; /* lines, each with a '|' behind it, "+" where cut */
    int lines, cut;
    size_t longest;
    int64_t line_ns, exited_ns, gone_ns;
    int exits, status, gones, stucks, orphans;
    size_t lines_at_exit;
    const char *stop_at; /* the loop stops when this line came */
};

static void on_line(void *self, int64_t t_ns, char output, struct span line, bool cut)
{
    struct seen *s = self;
    struct buf *b = output == 'o' ? &s->out : &s->err;
    if (line.n < 4096)
        buf_add(b, line.p, line.n);
    buf_str(b, cut ? "+" : "|");
    s->lines++;
    s->cut += cut;
    s->longest = line.n > s->longest ? line.n : s->longest;
    s->line_ns = t_ns;
    if (s->stop_at && span_is(line, s->stop_at))
        loop_stop(s->loop);
}

static void on_exited(void *self, int64_t t_ns, int status)
{
    struct seen *s = self;
    s->exits++;
    s->status = status;
    s->exited_ns = t_ns;
    s->lines_at_exit = (size_t)s->lines;
}

static void on_gone(void *self, int64_t t_ns)
{
    struct seen *s = self;
    s->gones++;
    s->gone_ns = t_ns;
    loop_stop(s->loop);
}

static void on_stuck(void *self, const struct child_process *left, size_t n)
{
    (void)left;
    ((struct seen *)self)->stucks += (int)n;
}

static void on_orphaned(void *self, const char *why)
{
    assert_non_null(strstr(why, "guardian"));
    ((struct seen *)self)->orphans++;
}

static void on_group_gone(void *self, int64_t t_ns)
{
    struct seen *s = self;
    assert_true(s->status >= 0); /* behind the first process */
    s->groups++;
    s->group_gone_ns = t_ns;
    if (s->stop_at_group)
        loop_stop(s->loop);
}

static struct child *open_child(struct seen *s)
{
    *s = (struct seen){.status = -1};
    struct child_events events = {.self = s,
                                  .line = on_line,
                                  .exited = on_exited,
                                  .group_gone = on_group_gone,
                                  .gone = on_gone,
                                  .stuck = on_stuck,
                                  .orphaned = on_orphaned};
    struct err e = {0};
    assert_ok(child_open(&s->child, &events, &e), e);
    assert_ok(loop_open(&s->loop, &e), e);
    assert_ok(child_attach(s->child, s->loop, &e), e);
    return s->child;
}

/* Until the deadline, or a line that stops the loop, or the end of the tree: is that reached? */
static bool run_until(struct seen *s, int64_t deadline_ns)
{
    if (!child_is_gone(s->child))
        loop_run(s->loop, deadline_ns);
    return child_is_gone(s->child);
}

static void close_child(struct seen *s)
{
    child_close(s->child);
    loop_close(s->loop);
    buf_done(&s->out);
    buf_done(&s->err);
}

static int64_t start_sh(struct child *c, const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct child_spec spec = {.argv = argv};
    struct err e = {0};
    int64_t pid = 0;
    assert_ok(child_start(c, &spec, &pid, &e), e);
    assert_true(pid > 0);
    return pid;
}

static int64_t in(int64_t pause_ns)
{
    return clock_now_ns() + pause_ns;
}

/* Runs until a line came. */
static void await_line(struct seen *s, const char *line)
{
    s->stop_at = line;
    int64_t limit_ns = in(10 * S);
    run_until(s, limit_ns);
    s->stop_at = NULL;
    assert_true(clock_now_ns() < limit_ns);
}

static bool lives(int64_t pid)
{
    if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
        return false;
    char path[64], stat[512] = "";
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    size_t n = fread(stat, 1, sizeof stat - 1, f);
    fclose(f);
    stat[n] = 0;
    char *close = strrchr(stat, ')');
    return close && close[2] != 'Z'; /* an orphan of an earlier jtok is not ours to reap */
}

static bool dies_within(int64_t pid, int64_t limit_ns)
{
    for (int64_t end_ns = in(limit_ns); clock_now_ns() < end_ns; clock_sleep_until_ns(in(2 * MS)))
        if (!lives(pid))
            return true;
    return false;
}

static const struct child_stop_times quick = {.main_ns = 200 * MS, .group_ns = 200 * MS, .kill_ns = 5 * S};

static void test_exit_at_start_with_output(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    assert_false(child_is_started(c));
    assert_true(child_is_gone(c));
    int64_t before_ns = clock_now_ns();
    start_sh(c, "echo one; echo two >&2; printf three; exit 7");
    assert_true(child_is_started(c));
    assert_true(run_until(&s, in(10 * S)));
    assert_string_equal(buf_text(&s.out), "one|three|");
    assert_string_equal(buf_text(&s.err), "two|");
    assert_int_equal(s.exits, 1);
    assert_int_equal(s.status, 7);
    assert_int_equal(child_exit_status(c), 7);
    assert_int_equal(s.gones, 1);
    assert_true(before_ns <= s.exited_ns && s.exited_ns <= s.gone_ns && s.gone_ns <= clock_now_ns());
    assert_true(s.lines_at_exit >= 2); /* whole lines come before the exit, the unfinished one with the pipe's end */
    close_child(&s);
}

static void test_lines(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    start_sh(c, "printf 'a\\r\\nb\\rc\\n\\nd'; sleep 0.1; printf 'e\\r'; sleep 0.1; printf '\\nf\\n'");
    assert_true(run_until(&s, in(10 * S)));
    assert_string_equal(buf_text(&s.out), "a|b|c||de|f|");
    close_child(&s);

    c = open_child(&s);
    start_sh(c, "head -c 200000 /dev/zero | tr '\\0' x; echo; echo end");
    assert_true(run_until(&s, in(10 * S)));
    assert_int_equal(s.longest, LINES_MAX);
    assert_int_equal(s.cut, 3); /* 200000 = 3 * 65536 + 3392 */
    assert_int_equal(s.lines, 5);
    close_child(&s);
}

static void test_much_output_is_whole(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    start_sh(c, "seq 1 200000; seq 1 100000 >&2; exit 3");
    assert_true(run_until(&s, in(20 * S)));
    assert_int_equal(s.lines, 300000);
    assert_int_equal(s.lines_at_exit, 300000);
    close_child(&s);
}

static void test_folder_and_environment(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    const char *argv[] = {"sh", "-c", "pwd; echo \"$A-$HOME\"; cat; ls /proc/self/fd | wc -l", NULL};
    const char *env[] = {"A=b c", "PATH=/usr/bin:/bin", NULL};
    struct child_spec spec = {.argv = argv, .env = env, .folder = "/usr"};
    struct err e = {0};
    assert_ok(child_start(c, &spec, NULL, &e), e);
    assert_true(run_until(&s, in(10 * S)));
    /* Standard input is empty; 0, 1, 2 and the folder that ls reads are all that is open. */
    assert_string_equal(buf_text(&s.out), "/usr|b c-|4|");
    close_child(&s);
}

/* A service manager may start jtok without standard streams; they must not become the guardian's socket. */
static void test_closed_standard_streams(void **state)
{
    (void)state;
    pid_t jtok = fork();
    if (jtok == 0) {
        close(0);
        close(1);
        struct seen s;
        struct child *c = open_child(&s);
        start_sh(c, "cat; echo fine");
        bool ok = run_until(&s, in(10 * S)) && strcmp(buf_text(&s.out), "fine|") == 0 && s.status == 0;
        close_child(&s);
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(jtok, &status, 0), jtok);
    assert_int_equal(status, 0);
}

static void test_own_session_and_default_signals(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    int64_t pid = start_sh(c, "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\t'; echo ready; sleep 100");
    await_line(&s, "ready");
    assert_string_equal(buf_text(&s.out), "SigBlk:0000000000000000|SigIgn:0000000000000000|ready|");
    assert_int_equal(getsid((pid_t)pid), pid);
    assert_int_equal(getpgid((pid_t)pid), pid);
    child_kill(c);
    assert_true(run_until(&s, in(10 * S)));
    assert_int_equal(s.status, 128 + SIGKILL);
    close_child(&s);
}

static void expect_failure(const struct child_spec *spec, enum err_kind kind, const char *text)
{
    struct seen s;
    struct child *c = open_child(&s);
    struct err e = {0};
    assert_false(child_start(c, spec, NULL, &e));
    assert_string_equal(e.text, text);
    assert_int_equal(e.kind, kind);
    if (!spec->folder) { /* what can be known before */
        struct err before = {0};
        assert_false(child_can_start(spec, &before));
        assert_string_equal(before.text, text);
        assert_int_equal(before.kind, kind);
    }
    assert_true(child_is_gone(c));
    assert_false(child_is_started(c));
    close_child(&s);
    assert_int_equal(s.exits + s.gones, 0);
}

static void test_exec_failures(void **state)
{
    (void)state;
    expect_failure(
        &(struct child_spec){.argv = (const char *[]){"no-such-engine", "serve", NULL}}, ERR_ENGINE,
        "The engine's command \"no-such-engine\" was not found in the PATH. Activate the environment that it is "
        "installed in, or give its full path in the plan (engine.command).");
    expect_failure(
        &(struct child_spec){.argv = (const char *[]){"/no/such/engine", NULL}}, ERR_ENGINE,
        "The engine's command /no/such/engine does not exist, or the interpreter in its first line does not. Check "
        "the path in the plan (engine.command).");
    expect_failure(
        &(struct child_spec){.argv = (const char *[]){"/etc/passwd", NULL}}, ERR_ENGINE,
        "The engine's command /etc/passwd is not executable: it is not a program, lacks the x permission, or lies on "
        "a file system that is mounted noexec.");
    expect_failure(&(struct child_spec){.argv = (const char *[]){"true", NULL}, .folder = "/no/such/folder"},
                   ERR_ENGINE,
                   "The engine was not started, because its working folder /no/such/folder could not be entered: No "
                   "such file or directory.");
}

static void test_commands_that_can_start(void **state)
{
    (void)state;
    struct err e = {0};
    const char *no_path[] = {"HOME=/", NULL}, *other[] = {"PATH=/no/such/folder::/usr/bin:/bin", NULL},
               *nowhere[] = {"PATH=/no/such/folder", NULL};
    const char **sh = (const char *[]){"sh", NULL};
    assert_ok(child_can_start(&(struct child_spec){.argv = sh}, &e), e);
    assert_ok(child_can_start(&(struct child_spec){.argv = sh, .env = no_path}, &e), e);
    assert_ok(child_can_start(&(struct child_spec){.argv = sh, .env = other}, &e), e);
    assert_ok(child_can_start(&(struct child_spec){.argv = (const char *[]){"/bin/sh", NULL}, .env = nowhere}, &e), e);
    assert_ok(child_can_start(&(struct child_spec){.argv = (const char *[]){"./unknown", NULL}}, &e), e);
    assert_false(child_can_start(&(struct child_spec){.argv = sh, .env = nowhere}, &e));
    /* A folder is no program, wherever it stands. */
    const char *folder[] = {"PATH=/", NULL};
    assert_false(child_can_start(&(struct child_spec){.argv = (const char *[]){"usr", NULL}, .env = folder}, &e));
    assert_non_null(strstr(e.text, "is not executable"));
    assert_false(child_can_start(&(struct child_spec){.argv = (const char *[]){"/usr", NULL}}, &e));
    assert_non_null(strstr(e.text, "is not executable"));
}

static void test_a_failed_start_can_be_repeated(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    struct err e = {0};
    struct child_spec bad = {.argv = (const char *[]){"no-such-engine", NULL}};
    assert_false(child_start(c, &bad, NULL, &e));
    start_sh(c, "echo fine");
    assert_true(run_until(&s, in(10 * S)));
    assert_string_equal(buf_text(&s.out), "fine|");
    struct child_spec again = {.argv = (const char *[]){"true", NULL}};
    assert_aborts(child_start(c, &again, NULL, &e)); /* once, says the header */
    close_child(&s);
}

static void test_gentle_stop(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    start_sh(c, "trap 'echo bye; kill $!; exit 0' TERM; sh -c 'echo ready; exec sleep 100' & wait");
    await_line(&s, "ready");
    int64_t begin_ns = clock_now_ns();
    child_stop(c, &(struct child_stop_times){.main_ns = 20 * S, .group_ns = 20 * S, .kill_ns = 20 * S});
    assert_true(run_until(&s, in(10 * S)));
    assert_string_equal(buf_text(&s.out), "ready|bye|");
    assert_int_equal(s.status, 0);
    assert_true(s.gone_ns - begin_ns < 5 * S);
    close_child(&s);
}

static void test_stop_escalates_to_the_group(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    /* The first process only passes nothing on: its helper must get the group's SIGTERM. */
    start_sh(
        c,
        "trap 'echo first' TERM; sh -c 'trap \"echo helper; exit 0\" TERM; echo ready; while :; do sleep 0.05; done' & "
        "p=$!; while kill -0 $p 2>/dev/null; do wait $p; done; exit 4");
    await_line(&s, "ready");
    int64_t begin_ns = clock_now_ns();
    child_stop(c, &(struct child_stop_times){.main_ns = 300 * MS, .group_ns = 20 * S, .kill_ns = 20 * S});
    assert_true(run_until(&s, in(10 * S)));
    assert_true(s.gone_ns - begin_ns >= 300 * MS);
    assert_non_null(strstr(buf_text(&s.out), "first|"));
    assert_non_null(strstr(buf_text(&s.out), "helper|"));
    assert_int_equal(s.status, 4);
    close_child(&s);
}

static void test_stop_kills_what_ignores_sigterm(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    start_sh(c, "trap '' TERM; echo ready; while :; do sleep 0.05; done");
    await_line(&s, "ready");
    int64_t begin_ns = clock_now_ns();
    child_stop(c, &quick);
    assert_true(run_until(&s, in(10 * S)));
    assert_int_equal(s.status, 128 + SIGKILL);
    assert_true(s.gone_ns - begin_ns >= 400 * MS); /* both pauses were given */
    assert_true(s.gone_ns - begin_ns < 3 * S);
    assert_int_equal(s.stucks, 0);
    close_child(&s);
}

/* A later call may only shorten. */
static void test_stop_again_shortens(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    start_sh(c, "trap '' TERM; echo ready; while :; do sleep 0.05; done");
    await_line(&s, "ready");
    child_stop(c, &(struct child_stop_times){.main_ns = 100 * S, .group_ns = 100 * S, .kill_ns = 10 * S});
    assert_false(run_until(&s, in(200 * MS)));
    child_stop(c, &(struct child_stop_times){.kill_ns = 10 * S});
    assert_true(run_until(&s, in(5 * S)));
    close_child(&s);
}

static size_t list_names(struct child *c, struct buf *b)
{
    struct arena a = {0};
    struct child_process *list;
    size_t n;
    struct err e = {0};
    assert_ok(child_list(c, &a, &list, &n, &e), e);
    for (size_t i = 0; i < n; i++)
        buf_fmt(b, "%s [%s]\n", list[i].name, list[i].command);
    arena_done(&a);
    return n;
}

/* The daemon's classic: fork, setsid, fork, parents gone. It has its own session, its own group, and init for a parent
 * anywhere but below a subreaper. */
static const char *const daemonise =
    "setsid sh -c 'trap \"\" TERM; sleep 1234 & echo $! daemon' & wait; sh -c 'echo ready; exec sleep 100'; exit 5";

static void test_daemons_are_found_and_killed(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    int64_t pid = start_sh(c, daemonise);
    await_line(&s, "ready");
    int64_t daemon = strtoll(buf_text(&s.out), NULL, 10);
    assert_true(daemon > 0 && lives(daemon));
    assert_int_not_equal(getsid((pid_t)daemon), pid);
    assert_int_equal(child_owns_pid(c, daemon), 1);
    assert_int_equal(child_owns_pid(c, pid), 1);
    assert_int_equal(child_owns_pid(c, getpid()), 0);
    assert_int_equal(child_owns_pid(c, getppid()), 0);
    struct buf b = {0};
    size_t n = 0;
    /* Both sleeps are between fork and exec for a moment. */
    for (int64_t end_ns = in(5 * S); clock_now_ns() < end_ns; clock_sleep_until_ns(in(5 * MS))) {
        buf_clear(&b);
        n = list_names(c, &b);
        if (strstr(buf_text(&b), "sleep [sleep 1234]\n") && strstr(buf_text(&b), "sleep [sleep 100]\n"))
            break;
    }
    assert_int_equal(n, 3);
    assert_non_null(strstr(buf_text(&b), "sleep [sleep 1234]\n"));
    assert_non_null(strstr(buf_text(&b), "sleep [sleep 100]\n"));
    buf_done(&b);

    child_stop(c, &quick);
    assert_true(run_until(&s, in(10 * S)));
    assert_false(lives(daemon));
    assert_int_equal(kill((pid_t)daemon, 0), -1);   /* not even a zombie is left */
    assert_int_equal(child_owns_pid(c, daemon), 1); /* a GPU driver may name it for a moment longer */
    close_child(&s);
}

/* An engine whose first process is killed leaves its workers behind, with the GPU. */
static void test_orphans_of_a_killed_engine(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    int64_t pid = start_sh(c, "sh -c 'echo $$; sleep 1000' & sleep 0.1; echo ready; wait");
    await_line(&s, "ready");
    int64_t worker = strtoll(buf_text(&s.out), NULL, 10);
    kill((pid_t)pid, SIGKILL);
    assert_false(run_until(&s, in(300 * MS)));
    assert_int_equal(s.exits, 1);
    assert_int_equal(s.status, 128 + SIGKILL);
    assert_int_equal(s.gones, 0);
    assert_true(lives(worker));
    assert_int_equal(child_owns_pid(c, worker), 1);
    child_stop(c, &quick); /* begins with the group */
    assert_true(run_until(&s, in(10 * S)));
    assert_int_equal(s.gones, 1);
    assert_false(lives(worker));
    close_child(&s);
}

static void test_close_kills(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    int64_t pid = start_sh(c, daemonise);
    await_line(&s, "ready");
    int64_t daemon = strtoll(buf_text(&s.out), NULL, 10);
    close_child(&s);
    assert_false(lives(pid));
    assert_false(lives(daemon));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no guardian, no zombie */
    assert_int_equal(errno, ECHILD);
}

static void test_everything_dies_with_jtok(void **state)
{
    (void)state;
    int report[2];
    assert_int_equal(pipe(report), 0);
    pid_t jtok = fork();
    if (jtok == 0) {
        struct seen s;
        struct child *c = open_child(&s);
        int64_t pids[2] = {start_sh(c, daemonise), 0};
        await_line(&s, "ready");
        pids[1] = strtoll(buf_text(&s.out), NULL, 10);
        if (write(report[1], pids, sizeof pids) != (ssize_t)sizeof pids)
            _exit(1);
        pause();
        _exit(1);
    }
    int64_t pids[2];
    assert_int_equal(read(report[0], pids, sizeof pids), sizeof pids);
    assert_true(lives(pids[0]) && lives(pids[1]));
    kill(jtok, SIGKILL);
    assert_int_equal(waitpid(jtok, NULL, 0), jtok);
    assert_true(dies_within(pids[0], 5 * S));
    assert_true(dies_within(pids[1], 5 * S));
    close(report[0]);
    close(report[1]);
    while (waitpid(-1, NULL, WNOHANG) > 0) /* the guardian came back to this process, a subreaper */
        ;
}

static int64_t parent_of(int64_t pid)
{
    char path[64];
    long long parent = 0;
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d (%*[^)]) %*c %lld", &parent), 1);
    fclose(f);
    return parent;
}

static void test_death_of_the_guardian(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    int64_t pid = start_sh(c, daemonise);
    await_line(&s, "ready");
    int64_t daemon = strtoll(buf_text(&s.out), NULL, 10);
    kill((pid_t)parent_of(pid), SIGKILL);
    assert_true(run_until(&s, in(10 * S)));
    assert_int_equal(s.orphans, 1);
    assert_int_equal(s.exits, 1);
    assert_int_equal(s.gones, 1);
    assert_false(lives(pid));
    assert_false(lives(daemon));
    close_child(&s);
}

/* The guardian's death is not known yet when the child is closed: jtok kills and reaps by itself. */
static void test_close_after_the_death_of_the_guardian(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    int64_t pid = start_sh(c, daemonise);
    await_line(&s, "ready");
    int64_t daemon = strtoll(buf_text(&s.out), NULL, 10);
    kill((pid_t)parent_of(pid), SIGKILL);
    close_child(&s);
    assert_int_equal(s.orphans + s.gones, 0); /* no callback from close */
    assert_false(lives(pid));
    assert_false(lives(daemon));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* Whoever stops it, an engine is ended. */
static void test_a_stopped_guardian(void **state)
{
    (void)state;
    for (int close = 0; close < 2; close++) {
        struct seen s;
        struct child *c = open_child(&s);
        int64_t pid = start_sh(c, daemonise);
        await_line(&s, "ready");
        int64_t daemon = strtoll(buf_text(&s.out), NULL, 10);
        kill((pid_t)parent_of(pid), SIGSTOP);
        if (!close) {
            child_stop(c, &quick);
            assert_true(run_until(&s, in(10 * S)));
            assert_int_equal(s.orphans, 0);
        }
        close_child(&s);
        assert_false(lives(pid));
        assert_false(lives(daemon));
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

struct asker {
    struct child *c;
    int64_t pid;
    int wrong;
};

static void *ask(void *self)
{
    struct asker *a = self;
    for (int i = 0; i < 300; i++)
        a->wrong += child_owns_pid(a->c, a->pid) != 1;
    struct arena arena = {0};
    struct child_process *list;
    size_t n;
    a->wrong += !child_list(a->c, &arena, &list, &n, NULL);
    arena_done(&arena);
    return NULL;
}

static void test_owns_pid_from_other_threads(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    int64_t pid = start_sh(c, "echo ready; sleep 100");
    await_line(&s, "ready");
    struct asker a[2] = {{.c = c, .pid = pid}, {.c = c, .pid = pid}};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&t[i], NULL, ask, &a[i]), 0);
    child_kill(c);
    assert_true(run_until(&s, in(10 * S)));
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(a[0].wrong + a[1].wrong, 0);
    close_child(&s);
}

static void stop_when_ready(void *self, int64_t t_ns, char output, struct span line, bool cut)
{
    on_line(self, t_ns, output, line, cut);
    if (span_is(line, "ready"))
        child_stop(((struct seen *)self)->child, &quick);
}

/* Attached behind its start, and stopped from a callback. */
static void test_stop_from_a_callback(void **state)
{
    (void)state;
    struct seen s = {0};
    struct child_events events = {.self = &s, .line = stop_when_ready, .exited = on_exited, .gone = on_gone};
    struct err e = {0};
    assert_ok(child_open(&s.child, &events, &e), e);
    assert_ok(loop_open(&s.loop, &e), e);
    start_sh(s.child, "trap '' TERM; echo ready; while :; do sleep 0.05; done");
    assert_ok(child_attach(s.child, s.loop, &e), e);
    int64_t begin_ns = clock_now_ns();
    assert_true(run_until(&s, in(10 * S)));
    assert_int_equal(s.gones, 1);
    assert_int_equal(s.status, 128 + SIGKILL);
    assert_true(s.gone_ns - begin_ns >= 400 * MS);
    close_child(&s);
}

/* ---- any command ---- */

/* The group outlives its first process by one that the shell left behind. */
static void test_the_last_of_the_group_ends_it(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    int64_t begin_ns = clock_now_ns();
    start_sh(c, "sleep 0.5 & exit 3");
    assert_true(run_until(&s, in(10 * S)));
    assert_int_equal(s.status, 3);
    assert_int_equal(s.groups, 1);
    assert_true(s.group_gone_ns - begin_ns >= 500 * MS && s.group_gone_ns <= s.gone_ns);
    close_child(&s);
}

/* Two of the tree outlive the group in a session of their own; one of them is the parent of the group's last process,
 * whose end it alone is told. */
static void test_a_daemon_is_not_of_the_group_and_can_be_left(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    s.stop_at_group = true;
    int64_t begin_ns = clock_now_ns();
    start_sh(c, "(sleep 0.3 & exec setsid -w sleep 60) & sleep 0.1; exit 0");
    run_until(&s, in(10 * S));
    assert_int_equal(s.groups, 1);
    assert_int_equal(s.gones, 0);
    assert_true(s.group_gone_ns - begin_ns >= 300 * MS && s.group_gone_ns - begin_ns < 5 * S);
    struct arena a = {0};
    struct child_process *list;
    size_t n;
    struct err e = {0};
    assert_ok(child_list(c, &a, &list, &n, &e), e);
    child_leave(c);
    close_child(&s);
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (list[i].state == 'Z')
            continue;
        left++;
        assert_true(lives(list[i].pid));
        assert_int_equal(kill((pid_t)list[i].pid, SIGKILL), 0);
    }
    assert_int_equal(left, 1);
    arena_done(&a);
}

static void test_a_signal_reaches_the_group(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    start_sh(c,
             "sh -c 'trap \"exit 0\" TERM; echo ready; while :; do sleep 0.05; done' & trap 'wait; exit 7' TERM; wait");
    await_line(&s, "ready");
    clock_sleep_until_ns(in(100 * MS));
    child_signal(c, SIGTERM);
    assert_true(run_until(&s, in(10 * S)));
    assert_int_equal(s.status, 7);
    close_child(&s);
}

/* Its output is jtok's own: no line of it is delivered. */
static void test_any_command_keeps_the_standard_streams(void **state)
{
    (void)state;
    struct seen s;
    struct child *c = open_child(&s);
    int out = dup(STDOUT_FILENO), pipe_fds[2];
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    dup2(pipe_fds[1], STDOUT_FILENO);
    struct child_spec spec = {.argv = (const char *const[]){"sh", "-c", "echo through", NULL}, .any_command = true};
    struct err e = {0};
    bool started = child_start(c, &spec, NULL, &e);
    dup2(out, STDOUT_FILENO);
    close(out);
    assert_true(started);
    assert_true(run_until(&s, in(10 * S)));
    char text[32] = "";
    assert_int_equal(read(pipe_fds[0], text, sizeof text - 1), 8);
    assert_string_equal(text, "through\n");
    assert_int_equal(s.out.n, 0);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    close_child(&s);
}

static void test_a_command_that_cannot_start_is_called_a_command(void **state)
{
    (void)state;
    struct child_spec spec = {.argv = (const char *const[]){"no-such-program-here", NULL}, .any_command = true};
    struct err e = {0};
    assert_false(child_can_start(&spec, &e));
    assert_int_equal(child_exec_fault(&spec), ENOENT);
    assert_non_null(strstr(e.text, "The command \"no-such-program-here\" was not found"));
    assert_null(strstr(e.text, "plan"));
    spec.argv = (const char *const[]){"/etc/passwd", NULL};
    assert_int_equal(child_exec_fault(&spec), EACCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_at_start_with_output),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_much_output_is_whole),
        cmocka_unit_test(test_folder_and_environment),
        cmocka_unit_test(test_closed_standard_streams),
        cmocka_unit_test(test_own_session_and_default_signals),
        cmocka_unit_test(test_exec_failures),
        cmocka_unit_test(test_commands_that_can_start),
        cmocka_unit_test(test_a_failed_start_can_be_repeated),
        cmocka_unit_test(test_gentle_stop),
        cmocka_unit_test(test_stop_escalates_to_the_group),
        cmocka_unit_test(test_stop_kills_what_ignores_sigterm),
        cmocka_unit_test(test_stop_again_shortens),
        cmocka_unit_test(test_daemons_are_found_and_killed),
        cmocka_unit_test(test_orphans_of_a_killed_engine),
        cmocka_unit_test(test_close_kills),
        cmocka_unit_test(test_everything_dies_with_jtok),
        cmocka_unit_test(test_death_of_the_guardian),
        cmocka_unit_test(test_close_after_the_death_of_the_guardian),
        cmocka_unit_test(test_a_stopped_guardian),
        cmocka_unit_test(test_owns_pid_from_other_threads),
        cmocka_unit_test(test_stop_from_a_callback),
        cmocka_unit_test(test_the_last_of_the_group_ends_it),
        cmocka_unit_test(test_a_daemon_is_not_of_the_group_and_can_be_left),
        cmocka_unit_test(test_a_signal_reaches_the_group),
        cmocka_unit_test(test_any_command_keeps_the_standard_streams),
        cmocka_unit_test(test_a_command_that_cannot_start_is_called_a_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
