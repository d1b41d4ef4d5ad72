/* Pre-flight on real limits, ports, processes and folders. */
#include "check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "run/preflight.h"
#include "text/digest.h"

static const struct rec_fact *last(const struct preflight *p, const char *name)
{
    assert_true(p->fact_count > 0);
    const struct rec_fact *f = &p->facts[p->fact_count - 1];
    assert_string_equal(f->name, name);
    return f;
}

static void test_disk(void **state)
{
    (void)state;
    struct arena a = {0};
    struct preflight p;
    struct err e = {0};
    preflight_init(&p, &a);
    /* 2 requests of 100 tokens in all: 40 * 100 + 400 * 2 + 64 MiB. */
    assert_int_equal(preflight_record_bytes(2, 100), 4000 + 800 + 67108864);
    assert_int_equal(preflight_record_bytes(2, ABSENT_I64), 40 * 8192 + 800 + 67108864);
    assert_ok(preflight_disk(&p, ".", 1, &e), e);
    assert_int_equal(last(&p, "preflight.disk")->outcome, CHECK_PASSED);
    assert_false(preflight_disk(&p, ".", INT64_C(1) << 60, &e));
    const struct rec_fact *f = last(&p, "preflight.disk");
    assert_int_equal(f->outcome, CHECK_FAILED);
    assert_string_equal(f->expected, "1099511627776 MiB");
    char text[300];
    snprintf(text, sizeof text,
             ". has %s free; the records of this run may take 1099511627776 MiB. Free some space, or put the runs "
             "elsewhere with "
             "--runs.",
             f->seen);
    assert_string_equal(e.text, text);
    assert_false(preflight_disk(&p, "/no/such/folder", 1, &e));
    assert_string_equal(e.text, "The free space of /no/such/folder can't be read: No such file or directory");
    preflight_done(&p);
    arena_done(&a);
}

/* In a process of its own, as a hard limit once lowered stays so. */
static void test_open_files(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct arena a = {0};
        struct preflight p;
        struct err e = {0};
        int64_t limit = 0;
        preflight_init(&p, &a);
        struct rlimit small = {.rlim_cur = 300, .rlim_max = 1000};
        bool ok =
            setrlimit(RLIMIT_NOFILE, &small) == 0 && preflight_open_files(&p, 40, &limit, &e) && limit == 300 &&
            preflight_open_files(&p, 700, &limit, &e) && limit == 1000 && !preflight_open_files(&p, 745, &limit, &e) &&
            p.facts[2].outcome == CHECK_FAILED &&
            strcmp(e.text,
                   "745 requests at once need 1001 open files; the hard limit is 1000. Raise it with \"ulimit -Hn "
                   "1001\" as root, or in /etc/security/limits.conf, or send fewer requests.") == 0;
        if (!ok)
            fprintf(stderr, "%s\n", e.text);
        preflight_done(&p);
        arena_done(&a);
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_port(void **state)
{
    (void)state;
    struct arena a = {0};
    struct preflight p;
    struct err e = {0};
    int64_t port = 0;
    preflight_init(&p, &a);
    assert_ok(preflight_free_port("127.0.0.1", &port, &e), e);
    assert_true(port > 0 && port < 65536);
    assert_ok(preflight_port(&p, "127.0.0.1", port, &e), e);
    assert_int_equal(last(&p, "preflight.port")->outcome, CHECK_PASSED);

    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_false(preflight_port(&p, "127.0.0.1", port, &e));
    char text[300], name[32] = "";
    FILE *f = fopen("/proc/self/comm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%31[^\n]", name), 1);
    fclose(f);
    snprintf(text, sizeof text,
             "127.0.0.1:%lld is in use by pid %d (%s). Stop what listens there, or choose another engine.port.",
             (long long)port, (int)getpid(), name);
    assert_string_equal(e.text, text);
    assert_int_equal(e.kind, ERR_BUSY);
    assert_int_equal(last(&p, "preflight.port")->outcome, CHECK_FAILED);
    close(fd);
    assert_ok(preflight_port(&p, "127.0.0.1", port, &e), e);
    assert_false(preflight_port(&p, "no such host", port, &e));
    assert_int_equal(e.kind, ERR_PLAN);
    preflight_done(&p);
    arena_done(&a);
}

/* The engine of another run that is still on: its guardian is above it. */
static void another_runs_engine_is_no_leftover(void **state)
{
    (void)state;
    struct arena a = {0};
    struct preflight p;
    preflight_init(&p, &a);
    int out[2];
    assert_int_equal(pipe(out), 0);
    pid_t guardian = fork();
    if (guardian == 0) {
        prctl(PR_SET_NAME, "jtok-guardian");
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            prctl(PR_SET_NAME, "VLLM::EngineCore");
            pid_t self = getpid();
            assert_int_equal(write(out[1], &self, sizeof self), sizeof self);
        }
        pause();
        _exit(0);
    }
    pid_t engine;
    char part[64];
    assert_int_equal(read(out[0], &engine, sizeof engine), sizeof engine);
    preflight_leftovers(&p, NULL);
    snprintf(part, sizeof part, "pid %d (", (int)engine);
    assert_null(strstr(last(&p, "preflight.leftovers")->seen, part));
    kill(guardian, SIGKILL);
    waitpid(guardian, NULL, 0);
    close(out[0]);
    close(out[1]);
    preflight_done(&p);
    arena_done(&a);
}

static void test_leftovers(void **state)
{
    (void)state;
    struct arena a = {0};
    struct preflight p;
    preflight_init(&p, &a);
    int out[2];
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        /* A served name with "jtok" in it does not make it jtok. */
        execlp("sh", "sh", "-c", "echo x; kill -STOP $$", "vllm serve m --served-model-name jtok/m", (char *)NULL);
        _exit(127);
    }
    char byte;
    assert_int_equal(read(out[0], &byte, 1), 1);
    size_t n = 0;
    preflight_leftovers(&p, &n);
    const struct rec_fact *f = last(&p, "preflight.leftovers");
    assert_int_equal(f->outcome, CHECK_FAILED);
    assert_true(n >= 1);
    char part[64];
    snprintf(part, sizeof part, "pid %d (sh)", (int)pid);
    assert_non_null(strstr(f->seen, part));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    preflight_leftovers(&p, &n);
    f = last(&p, "preflight.leftovers");
    assert_null(strstr(f->seen, part));
    close(out[0]);
    close(out[1]);
    preflight_done(&p);
    arena_done(&a);
}

/* ---- snapshot ---- */

static void put_file(const char *folder, const char *name, const char *content, int64_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    if (size)
        assert_int_equal(ftruncate(fd, size), 0);
    close(fd);
}

#define REVISION "0123456789abcdef0123456789abcdef01234567"

static void test_snapshot(void **state)
{
    (void)state;
    struct arena a = {0};
    struct preflight p;
    struct err e = {0};
    preflight_init(&p, &a);
    char top[] = "/tmp/jtok-snapshot-XXXXXX", folder[256], path[512];
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof path, "%s/snapshots", top);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(folder, sizeof folder, "%s/snapshots/" REVISION, top);
    assert_int_equal(mkdir(folder, 0700), 0);
    struct plan plan;
    plan_defaults(&plan);
    plan.model.snapshot = folder;

    struct snapshot s;
    assert_false(preflight_snapshot(&p, &plan, &s, &e));
    char text[700];
    snprintf(text, sizeof text, "model.snapshot: %s holds no readable config.json: No such file or directory", folder);
    assert_string_equal(e.text, text);
    assert_int_equal(last(&p, "preflight.snapshot")->outcome, CHECK_FAILED);

    put_file(folder, "config.json", "{}", 0);
    put_file(folder, "big.safetensors", "weights", 16 << 20); /* sparse; from 16 MiB on only its size counts */
    snprintf(path, sizeof path, "%s/.cache", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    put_file(path, "left-out", "x", 0);
    snprintf(path, sizeof path, "%s/sub", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    put_file(top, "blob", "abc", 0);
    snprintf(text, sizeof text, "%s/blob", top);
    snprintf(path, sizeof path, "%s/sub/link.txt", folder);
    assert_int_equal(symlink(text, path), 0);

    assert_ok(preflight_snapshot(&p, &plan, &s, &e), e);
    /* SHA-256 of "{}" and of "abc", FIPS 180-4's own example; the lines as the header says. */
    const char *lines = "big.safetensors 16777216 -\n"
                        "config.json 2 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n"
                        "sub/link.txt 3 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
    char hex[DIGEST_HEX];
    digest_bytes(span_of(lines), hex);
    assert_string_equal(s.sha256, hex);
    assert_int_equal(s.files, 3);
    assert_int_equal(s.bytes, 16777216 + 2 + 3);
    assert_string_equal(s.revision, REVISION);
    /* What was just written is in the page cache, the hole of the sparse file is not. */
    assert_true(s.resident_bytes >= 5 && s.resident_bytes < 1 << 20);
    assert_true(snapshot_resident_bytes(&s) == s.resident_bytes);

    plan.model.snapshot_sha256 = s.sha256;
    plan.model.revision = REVISION;
    assert_ok(preflight_snapshot(&p, &plan, &s, &e), e);
    assert_int_equal(last(&p, "preflight.revision")->outcome, CHECK_PASSED);
    assert_string_equal(p.facts[p.fact_count - 2].name, "preflight.snapshot_sha256");
    assert_int_equal(p.facts[p.fact_count - 2].outcome, CHECK_PASSED);

    /* A changed small file, another revision. */
    put_file(folder, "config.json", "[]", 0);
    char before[DIGEST_HEX];
    memcpy(before, s.sha256, sizeof before);
    plan.model.snapshot_sha256 = before;
    plan.model.revision = "9123456789abcdef0123456789abcdef01234567";
    assert_false(preflight_snapshot(&p, &plan, &s, &e));
    assert_int_equal(p.facts[p.fact_count - 2].outcome, CHECK_FAILED);
    assert_int_equal(last(&p, "preflight.revision")->outcome, CHECK_FAILED);

    snprintf(path, sizeof path, "rm -rf '%s'", top);
    assert_int_equal(system(path), 0);
    assert_false(preflight_snapshot(&p, &plan, &s, &e));
    snprintf(text, sizeof text,
             "model.snapshot: %s is not there. Give the folder that holds the weights and config.json: No such file or "
             "directory",
             folder);
    assert_string_equal(e.text, text);
    preflight_done(&p);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disk),
        cmocka_unit_test(test_open_files),
        cmocka_unit_test(test_port),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(another_runs_engine_is_no_leftover),
        cmocka_unit_test(test_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
