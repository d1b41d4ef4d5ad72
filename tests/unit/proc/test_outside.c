/* Processes that are not below the guardian: found, stopped, waited for, removed. A daemon is played by a process that
 * was there before, and a container's removal by a command that kills. */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/cgroup.h"
#include "proc/child.h"
#include "proc/tool.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void ids_of_containers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *id; /* null: none */
    } cases[] = {
        {"0::/system.slice/docker-" ID ".scope\n", ID},
        {"12:cpu:/docker/" ID "\n0::/\n", ID},
        {"9:name=systemd:/libpod_parent/libpod-" ID "\n", ID},
        {"0::/kubepods.slice/pod1/cri-containerd-" ID ".scope", ID},
        {"0::/docker/ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff/docker/" ID "\n", ID},
        {"0::/user.slice/user-0.slice/session-1.scope\n", NULL},
        {"0::/x-" ID "0\n", NULL}, /* 65 digits */
        {"0::/x-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char id[CONTAINER_ID] = "";
        assert_int_equal(cgroup_container(span_of(cases[i].text), id), cases[i].id != NULL);
        assert_string_equal(id, cases[i].id ? cases[i].id : "");
    }
    char id[CONTAINER_ID];
    assert_false(proc_container(0x7ffffff0, id));
    assert_false(proc_is_in_container(getpid(), ID));
}

static void tools_answer(void **state)
{
    (void)state;
    struct arena a = {0};
    struct err e = {0};
    struct tool_answer t;
    const char *both[] = {"sh", "-c", "echo out; echo err >&2; cat; exit 3", NULL};
    assert_ok(tool_run(both, NULL, 10 * S, &a, &t, &e), e);
    assert_string_equal(t.out, "out\n");
    assert_string_equal(t.err, "err\n");
    assert_int_equal(t.status, 3);
    const char *killed[] = {"sh", "-c", "kill -9 $$", NULL}, *const env[] = {"A=b", "PATH=/bin:/usr/bin", NULL};
    assert_ok(tool_run(killed, NULL, 10 * S, &a, &t, &e), e);
    assert_int_equal(t.status, 137);
    const char *variable[] = {"sh", "-c", "echo $A", NULL};
    assert_ok(tool_run(variable, env, 10 * S, &a, &t, &e), e);
    assert_string_equal(t.out, "b\n");
    const char *slow[] = {"sh", "-c", "sleep 60 & sleep 60", NULL};
    int64_t before_ns = clock_now_ns();
    assert_false(tool_run(slow, NULL, 200 * MS, &a, &t, &e));
    assert_true(clock_now_ns() - before_ns < 5 * S);
    assert_non_null(strstr(e.text, "gave no answer within"));
    const char *none[] = {"no-such-tool", NULL};
    assert_false(tool_run(none, NULL, S, &a, &t, &e));
    assert_non_null(strstr(e.text, "\"no-such-tool\" was not found in the PATH"));
    arena_done(&a);
}

/* ---- a daemon ---- */

struct scene {
    struct child *child;
    struct loop *loop;
    int64_t exited_ns, gone_ns;
    pid_t daemon;
    char folder[64];
};

static void on_exited(void *self, int64_t t_ns, int status)
{
    (void)status;
    ((struct scene *)self)->exited_ns = t_ns;
}

static void on_gone(void *self, int64_t t_ns)
{
    struct scene *s = self;
    s->gone_ns = t_ns;
    loop_stop(s->loop);
}

/* Waits for the file "go", then starts `engine` in its own session and writes its pid. */
static pid_t start_daemon(struct scene *s, const char *engine)
{
    char script[600];
    snprintf(
        script, sizeof script,
        "cd %s; while [ ! -e go ]; do sleep 0.02; done; setsid sh -c '%s' & echo $! > pid.new; mv pid.new pid; wait",
        s->folder, engine);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void open_scene(struct scene *s, const char *engine)
{
    *s = (struct scene){0};
    struct err e = {0};
    struct child_events events = {.self = s, .exited = on_exited, .gone = on_gone};
    snprintf(s->folder, sizeof s->folder, "/tmp/jtok-outside-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    assert_int_equal(chdir(s->folder), 0); /* where the guardian's removal runs */
    s->daemon = start_daemon(s, engine);
    clock_sleep_until_ns(clock_now_ns() + 30 * MS); /* starts are told by the tick */
    assert_ok(child_open(&s->child, &events, &e), e);
    assert_ok(loop_open(&s->loop, &e), e);
    assert_ok(child_attach(s->child, s->loop, &e), e);
}

static void close_scene(struct scene *s)
{
    char command[100];
    child_close(s->child);
    loop_close(s->loop);
    kill(s->daemon, SIGKILL);
    waitpid(s->daemon, NULL, 0);
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf %s", s->folder);
    assert_int_equal(system(command), 0);
}

/* The engine's command is a client: it has the daemon start something, and waits. */
static int64_t start_client(struct scene *s, const char *client, const char *const *remove)
{
    char path[100];
    struct err e = {0};
    const char *argv[] = {"sh", "-c", client, NULL};
    struct child_spec spec = {.argv = argv, .folder = s->folder, .remove = remove};
    assert_ok(child_start(s->child, &spec, NULL, &e), e);
    snprintf(path, sizeof path, "%s/pid", s->folder);
    long long pid = 0;
    for (int i = 0; i < 500 && !pid; i++) {
        FILE *f = fopen(path, "re");
        if (f && fscanf(f, "%lld", &pid) != 1)
            pid = 0;
        if (f)
            fclose(f);
        clock_sleep_until_ns(clock_now_ns() + 10 * MS);
    }
    assert_true(pid > 0);
    return pid;
}

static bool lives(int64_t pid)
{
    char path[64], state = 'X';
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 'X';
    if (f)
        fclose(f);
    return state != 'X' && state != 'Z';
}

static const struct child_stop_times quick = {.main_ns = 300 * MS, .group_ns = 300 * MS, .kill_ns = 5 * S};

static void it_is_the_engines(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, "sleep 0.3; sleep 1");
    int64_t pid = start_client(&s, "touch go; while [ ! -e pid ]; do sleep 0.02; done; exec sleep 100", NULL);
    assert_int_equal(child_owns_pid(s.child, pid), 0);
    assert_false(child_own_outside(s.child, s.daemon)); /* older than the command */
    assert_false(child_own_outside(s.child, 1));
    assert_true(child_own_outside(s.child, pid));
    assert_int_equal(child_owns_pid(s.child, pid), 1);
    assert_int_equal(child_owns_pid(s.child, s.daemon), 0);
    struct arena a = {0};
    struct child_process *list;
    size_t n;
    struct err e = {0};
    assert_ok(child_list(s.child, &a, &list, &n, &e), e);
    bool listed = false;
    for (size_t i = 0; i < n; i++)
        listed = listed || list[i].pid == pid;
    assert_true(listed);
    arena_done(&a);
    /* The client ends at once; what it had started is waited for. */
    child_stop(s.child, &(struct child_stop_times){.main_ns = 5 * S, .group_ns = S, .kill_ns = S});
    loop_run(s.loop, clock_now_ns() + 10 * S);
    assert_true(child_is_gone(s.child));
    assert_true(s.gone_ns - s.exited_ns > 300 * MS);
    assert_false(lives(pid));
    close_scene(&s);
}

static void it_is_killed_with_the_tree(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, "trap : TERM; while :; do sleep 0.1; done");
    int64_t pid = start_client(&s, "touch go; while [ ! -e pid ]; do sleep 0.02; done; exec sleep 100", NULL);
    assert_true(child_own_outside(s.child, pid));
    child_stop(s.child, &quick);
    loop_run(s.loop, clock_now_ns() + 10 * S);
    assert_true(child_is_gone(s.child));
    assert_false(lives(pid));
    close_scene(&s);
}

static const char *const removal[] = {"sh", "-c", "echo x >> removed; kill -9 $(cat pid); sleep 0.2", NULL};

/* Nothing is known of it but how to remove it. */
static void it_is_removed(void **state, bool whole_jtok)
{
    (void)state;
    struct scene s;
    open_scene(&s, "trap : TERM; while :; do sleep 0.1; done");
    pid_t jtok = whole_jtok ? fork() : 0;
    if (jtok == 0 && whole_jtok) {
        struct child *c;
        struct err e = {0};
        const char *argv[] = {"sh", "-c", "touch go; sleep 100", NULL};
        struct child_spec spec = {.argv = argv, .folder = s.folder, .remove = removal};
        if (child_open(&c, &(struct child_events){0}, &e) && child_start(c, &spec, NULL, &e))
            pause();
        _exit(1);
    }
    int64_t pid = 0;
    if (whole_jtok) {
        FILE *f = NULL;
        for (int i = 0; i < 500 && !(f = fopen("pid", "re")); i++)
            clock_sleep_until_ns(clock_now_ns() + 10 * MS);
        long long value;
        assert_int_equal(fscanf(f, "%lld", &value), 1);
        fclose(f);
        pid = value;
        kill(jtok, SIGKILL);
        waitpid(jtok, NULL, 0);
    } else {
        pid = start_client(&s, "touch go; sleep 100", removal);
        child_kill(s.child);
        loop_run(s.loop, clock_now_ns() + 10 * S);
        assert_true(child_is_gone(s.child));
    }
    for (int i = 0; i < 500 && lives(pid); i++)
        clock_sleep_until_ns(clock_now_ns() + 10 * MS);
    assert_false(lives(pid));
    close_scene(&s);
}

static void it_is_removed_when_killed(void **state)
{
    it_is_removed(state, false);
}

static void it_is_removed_when_jtok_is_killed(void **state)
{
    it_is_removed(state, true);
}

/* Once behind the end, also of an engine that ended by itself. */
static void it_is_removed_behind_the_end(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, "exec sleep 100");
    int64_t pid = start_client(&s, "touch go; while [ ! -e pid ]; do sleep 0.02; done", removal);
    loop_run(s.loop, clock_now_ns() + 10 * S);
    assert_true(child_is_gone(s.child));
    assert_true(lives(pid));
    child_close(s.child);
    struct child_events none = {0};
    struct err e = {0};
    assert_false(lives(pid));
    assert_int_equal(access("removed", F_OK), 0);
    assert_ok(child_open(&s.child, &none, &e), e); /* for close_scene */
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_containers),
        cmocka_unit_test(tools_answer),
        cmocka_unit_test(it_is_the_engines),
        cmocka_unit_test(it_is_killed_with_the_tree),
        cmocka_unit_test(it_is_removed_when_killed),
        cmocka_unit_test(it_is_removed_when_jtok_is_killed),
        cmocka_unit_test(it_is_removed_behind_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
