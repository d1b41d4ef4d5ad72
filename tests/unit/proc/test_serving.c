/* Who listens at an address: real processes on real sockets. Every listener is a process group of its own, as a service
 * is that somebody else started; else the test itself would be a part of it. */
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "proc/serving.h"

enum { STATUS_CANNOT = 77 };

static bool is_engine(const char *name, const char *command)
{
    (void)command;
    return strcmp(name, "an-engine") == 0;
}

/* ---- sockets ---- */

static struct sockaddr_storage inet(int family, const char *host, int port)
{
    struct sockaddr_storage a = {.ss_family = (sa_family_t)family};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&a;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a;
    if (family == AF_INET)
        v4->sin_port = htons((uint16_t)port);
    else
        v6->sin6_port = htons((uint16_t)port);
    assert_int_equal(inet_pton(family, host, family == AF_INET ? (void *)&v4->sin_addr : (void *)&v6->sin6_addr), 1);
    return a;
}

static int port_of(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

/* At a free port; -1: this machine has no such address. */
static int listen_at(int family, const char *host)
{
    struct sockaddr_storage a = inet(family, host, 0);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t n = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, 5) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- processes ---- */

struct service {
    pid_t top, worker; /* worker: below it; the same without one */
    int told[2];
};

static void tell(const struct service *s, pid_t pid)
{
    if (write(s->told[1], &pid, sizeof pid) != sizeof pid)
        _exit(1);
}

static void wait_for_ever(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        pause();
}

struct shape {
    const char *top_name; /* null: the test's own */
    bool worker, own_group, top_closes, namespace;
};

static void become_top(const struct service *s, const struct shape *shape, int fd)
{
    setpgid(0, 0);
    if (shape->top_name)
        prctl(PR_SET_NAME, shape->top_name);
    if (shape->namespace && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        _exit(STATUS_CANNOT);
    pid_t worker = shape->worker ? fork() : getpid();
    if (worker == 0) {
        if (shape->own_group)
            setpgid(0, 0);
        prctl(PR_SET_NAME, "a-worker");
        tell(s, 1);
        wait_for_ever();
    }
    if (shape->top_closes)
        close(fd);
    if (worker < 0)
        _exit(STATUS_CANNOT);
    tell(s, worker);
    wait_for_ever();
}

/* Processes that hold `fd`, which this one gives up. False: the kernel does not let it be so shaped. */
static bool start(struct service *s, const struct shape *shape, int fd)
{
    *s = (struct service){0};
    assert_int_equal(pipe(s->told), 0);
    fflush(NULL);
    s->top = fork();
    assert_true(s->top >= 0);
    if (s->top == 0)
        become_top(s, shape, fd);
    close(s->told[1]);
    close(fd);
    pid_t said;
    for (int left = shape->worker ? 2 : 1; left > 0; left--) {
        if (read(s->told[0], &said, sizeof said) != sizeof said)
            return false;
        s->worker = said > 1 ? said : s->worker; /* its number in the top's eyes: the outer one */
    }
    return true;
}

static void stop(struct service *s)
{
    close(s->told[0]);
    if (s->worker != s->top && s->worker > 0)
        kill(s->worker, SIGKILL);
    kill(s->top, SIGKILL);
    waitpid(s->top, NULL, 0);
}

/* ---- addresses ---- */

static const struct {
    int family;
    const char *bound;
    int asked_family;
    const char *asked;
    bool found;
} pairs[] = {
    {AF_INET, "127.0.0.1", AF_INET, "127.0.0.1", true},
    {AF_INET, "0.0.0.0", AF_INET, "127.0.0.1", true},
    {AF_INET, "0.0.0.0", AF_INET, "127.1.2.3", true},
    {AF_INET, "127.0.0.1", AF_INET, "0.0.0.0", true}, /* "any" as a target is any of the machine's own */
    {AF_INET, "127.0.0.2", AF_INET, "127.0.0.1", false},
    {AF_INET, "127.0.0.1", AF_INET6, "::1", false},
    {AF_INET6, "::1", AF_INET6, "::1", true},
    {AF_INET6, "::", AF_INET6, "::1", true},
    {AF_INET6, "::", AF_INET, "127.0.0.1", true}, /* it takes both kinds */
    {AF_INET6, "::1", AF_INET6, "::", true},
    {AF_INET6, "::1", AF_INET, "127.0.0.1", false},
    {AF_INET6, "::ffff:127.0.0.1", AF_INET, "127.0.0.1", true},
    {AF_INET6, "::ffff:127.0.0.2", AF_INET, "127.0.0.1", false},
};

static void every_pair_of_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct service who;
        struct serving s;
        int fd = listen_at(pairs[i].family, pairs[i].bound);
        if (fd < 0)
            continue; /* no IPv6 here */
        int port = port_of(fd);
        assert_true(start(&who, &(struct shape){0}, fd));
        struct sockaddr_storage to = inet(pairs[i].asked_family, pairs[i].asked, port);
        serving_find(&s, &to, 1, is_engine);
        if (s.listens != pairs[i].found)
            print_error("%s asked as %s\n", pairs[i].bound, pairs[i].asked);
        assert_int_equal(s.listens, pairs[i].found);
        assert_int_equal(s.root_count, pairs[i].found);
        assert_int_equal(serving_owns(&s, who.top), pairs[i].found ? 1 : -1);
        assert_true(!pairs[i].found || (s.roots[0].pid == who.top && s.listener.pid == who.top));
        serving_done(&s);
        stop(&who);
    }
}

/* Of several addresses (a name has two) one is enough; another port is another service. */
static void a_name_has_several_addresses(void **state)
{
    (void)state;
    struct service who;
    struct serving s;
    int fd = listen_at(AF_INET, "127.0.0.1"), port = port_of(fd);
    assert_true(start(&who, &(struct shape){0}, fd));
    struct sockaddr_storage list[2] = {inet(AF_INET6, "::1", port), inet(AF_INET, "127.0.0.1", port)};
    serving_find(&s, list, 2, is_engine);
    assert_int_equal(s.root_count, 1);
    serving_done(&s);
    list[1] = inet(AF_INET, "127.0.0.1", port ^ 1);
    serving_find(&s, &list[1], 1, is_engine);
    assert_int_equal(serving_owns(&s, who.top), s.listens ? 0 : -1);
    serving_done(&s);
    stop(&who);
}

static void a_unix_socket(void **state)
{
    (void)state;
    char folder[] = "/tmp/jtok-serving-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct sockaddr_storage to = {0}, other = {0};
    struct sockaddr_un *a = (struct sockaddr_un *)&to;
    a->sun_family = AF_UNIX;
    snprintf(a->sun_path, sizeof a->sun_path, "%s/an engine.sock", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)a, sizeof *a), 0);
    assert_int_equal(listen(fd, 5), 0);
    struct service who;
    struct serving s;
    assert_true(start(&who, &(struct shape){0}, fd));
    serving_find(&s, &to, 1, is_engine);
    assert_int_equal(s.root_count, 1);
    assert_int_equal(s.roots[0].pid, who.top);
    serving_done(&s);
    memcpy(&other, &to, sizeof other);
    ((struct sockaddr_un *)&other)->sun_path[strlen(a->sun_path) - 1] = 0;
    serving_find(&s, &other, 1, is_engine);
    assert_false(s.listens);
    serving_done(&s);
    stop(&who);
    unlink(a->sun_path);
    rmdir(folder);
}

/* ---- which processes ---- */

/* Which of a service's two processes is the topmost one, by how they hang together. */
static void a_front_and_its_workers(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct shape shape;
        bool top_is_root;
    } cases[] = {
        {"both hold the socket, in one group", {NULL, true, false, false, false}, true},
        {"a worker of the same program and group", {NULL, true, false, true, false}, true},
        {"a worker in a group of its own, below an engine", {"an-engine", true, true, true, false}, true},
        {"a program of its own, below a shell", {"a-shell", true, true, true, false}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct service who;
        struct serving s;
        int fd = listen_at(AF_INET, "127.0.0.1"), port = port_of(fd);
        print_message("%s\n", cases[i].what);
        assert_true(start(&who, &cases[i].shape, fd));
        struct sockaddr_storage to = inet(AF_INET, "127.0.0.1", port);
        serving_find(&s, &to, 1, is_engine);
        assert_true(s.root_count >= 1);
        assert_int_equal(s.roots[0].pid, cases[i].top_is_root ? who.top : who.worker);
        assert_int_equal(serving_owns(&s, who.worker), 1);
        assert_int_equal(serving_owns(&s, who.top), cases[i].top_is_root);
        assert_int_equal(serving_owns(&s, getpid()), 0); /* what started it is not it */
        assert_int_equal(serving_owns(&s, 1), 0);
        assert_true(serving_lives(&s));
        stop(&who);
        for (int left = 500; left > 0 && serving_lives(&s); left--) /* a worker ends in its own time */
            usleep(10000);
        assert_false(serving_lives(&s));
        assert_int_equal(serving_owns(&s, who.worker),
                         1); /* what was its own stays so, until the number is another's */
        serving_done(&s);
    }
}

/* In a container it has another number; here it is known by the outer one. */
static void a_process_in_a_pid_namespace(void **state)
{
    (void)state;
    struct service who;
    struct serving s;
    int fd = listen_at(AF_INET, "127.0.0.1"), port = port_of(fd);
    bool can = start(&who, &(struct shape){NULL, true, true, true, true}, fd);
    if (!can) {
        stop(&who);
        skip();
    }
    struct sockaddr_storage to = inet(AF_INET, "127.0.0.1", port);
    serving_find(&s, &to, 1, is_engine);
    assert_int_equal(s.root_count, 1);
    assert_int_equal(s.listener.pid, who.worker);
    assert_int_equal(serving_owns(&s, who.worker), 1);
    serving_done(&s);
    stop(&who);
}

/* Nobody there, and what the user's word adds. */
static void nothing_is_known_until_it_is_said(void **state)
{
    (void)state;
    struct serving s;
    int fd = listen_at(AF_INET, "127.0.0.1"), port = port_of(fd);
    close(fd);
    struct sockaddr_storage to = inet(AF_INET, "127.0.0.1", port);
    serving_find(&s, &to, 1, is_engine);
    assert_false(s.listens);
    assert_int_equal(s.root_count, 0);
    assert_true(serving_lives(&s));
    assert_int_equal(serving_owns(&s, getpid()), -1);
    struct buf who = {0};
    serving_describe(&s, &who);
    assert_int_equal(who.n, 0);
    buf_done(&who);
    serving_add(&s, getpid());
    assert_int_equal(serving_owns(&s, getpid()), 1);
    assert_int_equal(serving_owns(&s, 1), 0);
    serving_add(&s, INT64_C(4000000000)); /* not to be seen from here */
    assert_int_equal(serving_owns(&s, INT64_C(4000000000)), 1);
    serving_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_addresses),
        cmocka_unit_test(a_name_has_several_addresses),
        cmocka_unit_test(a_unix_socket),
        cmocka_unit_test(a_front_and_its_workers),
        cmocka_unit_test(a_process_in_a_pid_namespace),
        cmocka_unit_test(nothing_is_known_until_it_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
