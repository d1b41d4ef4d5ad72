/* Pre-flight on real limits, ports, processes and folders. */
#include "check.h"
#include "fake_device.h"

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
    preflight_leftovers(&p, NULL, NULL, 0, NULL);
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
    preflight_leftovers(&p, NULL, NULL, 0, &n);
    const struct rec_fact *f = last(&p, "preflight.leftovers");
    assert_int_equal(f->outcome, CHECK_FAILED);
    assert_true(n >= 1);
    char part[64];
    snprintf(part, sizeof part, "pid %d (sh)", (int)pid);
    assert_non_null(strstr(f->seen, part));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    preflight_leftovers(&p, NULL, NULL, 0, &n);
    f = last(&p, "preflight.leftovers");
    assert_null(strstr(f->seen, part));
    close(out[0]);
    close(out[1]);
    preflight_done(&p);
    arena_done(&a);
}

/* ---- engines and GPUs ---- */

/* A process that looks like an engine, with a child that holds the GPU, as vLLM's server and its core do. */
static pid_t start_engine(pid_t *ret_child)
{
    int out[2];
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NAME, "VLLM::Server");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_NAME, "VLLM::Core");
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pid_t self = getpid();
            assert_int_equal(write(out[1], &self, sizeof self), sizeof self);
        }
        pause();
        _exit(0);
    }
    assert_int_equal(read(out[0], ret_child, sizeof *ret_child), sizeof *ret_child);
    close(out[0]);
    close(out[1]);
    return pid;
}

static bool names(const char *text, pid_t pid)
{
    char part[32];
    snprintf(part, sizeof part, "pid %d (", (int)pid);
    return text && strstr(text, part);
}

/* Two engines, one's core on one GPU, the other's on another or on none: each run's GPUs decide which of them counts,
 * with all of its processes. */
static void leftovers_count_on_the_plans_gpus(void **state)
{
    (void)state;
    enum { NOWHERE = -1 };
    static const struct {
        int first, second; /* the GPUs of their cores */
        uint32_t gpus[2];
        size_t gpu_count;
        bool first_counts, second_counts; /* fail the fact */
    } cases[] = {
        {0, 1, {0}, 1, true, false},       {0, 1, {1}, 1, false, true},
        {0, 1, {2}, 1, false, false},      {0, 1, {0, 1}, 2, true, true},
        {0, 0, {0}, 1, true, true},        {NOWHERE, 1, {0}, 1, false, false},
        {NOWHERE, 1, {1}, 1, false, true}, {NOWHERE, NOWHERE, {0}, 1, false, false},
    };
    pid_t core[2], server[2] = {start_engine(&core[0]), start_engine(&core[1])};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct preflight p;
        struct fake_device f;
        preflight_init(&p, &a);
        fake_device_init(&f);
        f.device.simulated = true; /* its processes are those of here */
        const int where[] = {cases[i].first, cases[i].second};
        for (int k = 0; k < 2; k++)
            if (where[k] != NOWHERE)
                f.processes[where[k]][f.process_count[where[k]]++] = (struct device_process){core[k], INT64_C(1) << 30};
        size_t n = 0;
        preflight_leftovers(&p, &f.device, cases[i].gpus, cases[i].gpu_count, &n);
        const struct rec_fact *fact = last(&p, "preflight.leftovers");
        const bool counts[] = {cases[i].first_counts, cases[i].second_counts};
        bool any = counts[0] || counts[1];
        assert_int_equal(fact->outcome == CHECK_FAILED, any);
        assert_int_equal(n, 2 * (counts[0] + counts[1]));
        for (int k = 0; k < 2; k++) {
            const char *advice = p.advice[p.fact_count - 1];
            assert_int_equal(any && names(fact->seen, server[k]) && names(fact->seen, core[k]), counts[k]);
            if (!any && where[k] != NOWHERE) /* of others, and named */
                assert_true(strstr(fact->seen, "on other GPUs: ") && names(fact->seen, core[k]));
            if (!any && where[k] == NOWHERE)
                assert_true(fact->outcome == CHECK_NOT_JUDGED && names(advice, server[k]) && names(advice, core[k]));
        }
        preflight_done(&p);
        arena_done(&a);
    }
    for (int k = 0; k < 2; k++) {
        kill(server[k], SIGKILL);
        waitpid(server[k], NULL, 0);
    }
}

/* Where the list can't be read, an engine may hold the GPU: it counts, wherever it is. */
static void leftovers_count_where_processes_are_not_known(void **state)
{
    (void)state;
    struct arena a = {0};
    struct preflight p;
    struct fake_device f;
    pid_t core, server = start_engine(&core);
    preflight_init(&p, &a);
    fake_device_init(&f);
    f.device.simulated = true;
    f.process_count[1] = -1;
    size_t n = 0;
    preflight_leftovers(&p, &f.device, (const uint32_t[]){1}, 1, &n);
    assert_int_equal(last(&p, "preflight.leftovers")->outcome, CHECK_FAILED);
    assert_true(n >= 2 && names(last(&p, "preflight.leftovers")->seen, core));
    preflight_leftovers(&p, &f.device, (const uint32_t[]){0}, 1, &n); /* the other GPU's list can be read */
    assert_int_equal(last(&p, "preflight.leftovers")->outcome, CHECK_NOT_JUDGED);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    preflight_done(&p);
    arena_done(&a);
}

static void room_is_looked_for_above_a_folder_that_is_not_there(void **state)
{
    (void)state;
    struct arena a = {0};
    struct preflight p;
    struct err e = {0};
    preflight_init(&p, &a);
    static const char *const folders[] = {"/tmp/no/such/folder", "no/such/folder", "none", "", "/none", "/", "."};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        assert_ok(preflight_disk(&p, folders[i], 1, &e), e);
        assert_false(preflight_disk(&p, folders[i], INT64_C(1) << 60, &e));
    }
    assert_false(preflight_disk(&p, "/dev/null/x", 1, &e)); /* a file is no folder */
    preflight_done(&p);
    arena_done(&a);
}

static void memory_is_compared_with_the_largest_file(void **state)
{
    (void)state;
    struct arena a = {0};
    struct preflight p;
    preflight_init(&p, &a);
    preflight_memory(&p, INT64_C(1) << 60);
    assert_int_equal(last(&p, "preflight.memory")->outcome, CHECK_NOT_JUDGED);
    assert_non_null(strstr(p.advice[p.fact_count - 1], "the engine may be killed"));
    preflight_shared_memory(&p, "/no/such/folder");
    assert_null(last(&p, "preflight.shared_memory")->seen);
    assert_null(p.advice[p.fact_count - 1]);
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
    snprintf(text, sizeof text,
             "The snapshot %s holds no config.json that can be read; model.snapshot must be the folder that holds the "
             "weights and config.json: No such file or directory.",
             folder);
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
             "The snapshot %s can't be found; model.snapshot must be the folder that holds the weights and "
             "config.json: No such file or "
             "directory.",
             folder);
    assert_string_equal(e.text, text);
    preflight_done(&p);
    arena_done(&a);
}

/* A snapshot of its own, in a folder that goes at the end. */
struct place {
    char top[64], folder[256];
    struct arena a;
    struct preflight p;
    struct plan plan;
};

static void place_make(struct place *x, const char *below)
{
    *x = (struct place){.top = "/tmp/jtok-weights-XXXXXX"};
    assert_non_null(mkdtemp(x->top));
    snprintf(x->folder, sizeof x->folder, "%s%s", x->top, below);
    char command[600];
    snprintf(command, sizeof command, "mkdir -p '%s'", x->folder);
    assert_int_equal(system(command), 0);
    preflight_init(&x->p, &x->a);
    plan_defaults(&x->plan);
    x->plan.model.snapshot = x->folder;
    put_file(x->folder, "config.json", "{\"torch_dtype\":\"bfloat16\"}", 0);
}

static void place_done(struct place *x)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", x->top);
    assert_int_equal(system(command), 0);
    preflight_done(&x->p);
    arena_done(&x->a);
}

static struct snapshot look(struct place *x)
{
    struct snapshot s;
    struct err e = {0};
    assert_ok(preflight_snapshot(&x->p, &x->plan, &s, &e), e);
    return s;
}

static void put_bytes(const char *path, int64_t at, const void *bytes, size_t n)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, at), n);
    close(fd);
}

/* Every byte of the weights counts, and every name; the older hash sees neither of a large file's bytes. */
static void the_digest_covers_the_weights(void **state)
{
    (void)state;
    static const int64_t where[] = {0, 1, (16 << 20) - 1, 16 << 20, (20 << 20) + 4095, (24 << 20) - 1};
    struct place x;
    char path[512];
    place_make(&x, "/model");
    put_file(x.folder, "big.bin", "", 24 << 20);
    snprintf(path, sizeof path, "%s/big.bin", x.folder);
    struct snapshot s = look(&x);
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        put_bytes(path, where[i], "x", 1);
        struct snapshot now = look(&x);
        assert_string_not_equal(now.digest, s.digest);
        assert_string_equal(now.sha256, s.sha256);
        s = now;
    }
    char other[512];
    snprintf(other, sizeof other, "%s/big2.bin", x.folder);
    assert_int_equal(rename(path, other), 0);
    assert_string_not_equal(look(&x).digest, s.digest);
    assert_int_equal(rename(other, path), 0);
    assert_string_equal(look(&x).digest, s.digest);

    struct err e = {0};
    struct snapshot now;
    x.plan.model.snapshot_digest = arena_text(&x.a, s.digest);
    assert_ok(preflight_snapshot(&x.p, &x.plan, &now, &e), e);
    assert_int_equal(last(&x.p, "preflight.snapshot_digest")->outcome, CHECK_PASSED);
    put_bytes(path, 5, "y", 1);
    assert_false(preflight_snapshot(&x.p, &x.plan, &now, &e));
    assert_int_equal(e.kind, ERR_PLAN);
    assert_int_equal(last(&x.p, "preflight.snapshot_digest")->outcome, CHECK_FAILED);
    place_done(&x);
}

/* Read once: while path, size, inode and times are the same the digest is remembered, and nothing is read. */
static void a_digest_is_remembered(void **state)
{
    (void)state;
    struct place x;
    char path[512];
    place_make(&x, "/model");
    put_file(x.folder, "big.bin", "", 24 << 20);
    snprintf(path, sizeof path, "%s/big.bin", x.folder);
    x.p.digests.path = arena_format(&x.a, "%s/digests", x.top);
    struct snapshot first = look(&x), again = look(&x);
    assert_true(first.read_bytes >= 24 << 20);
    assert_int_equal(again.read_bytes, 0);
    assert_string_equal(again.digest, first.digest);
    put_bytes(path, 7, "x", 1); /* the same size and name, another time */
    struct snapshot changed = look(&x);
    assert_int_equal(changed.read_bytes, 24 << 20);
    assert_string_not_equal(changed.digest, first.digest);
    char sha256[DIGEST_HEX], digest[DIGEST_HEX];
    struct err e = {0};
    int64_t before = x.p.digests.read_bytes;
    assert_ok(snapshot_again(&x.p, &changed, sha256, digest, &e), e);
    assert_string_equal(digest, changed.digest);
    assert_int_equal(x.p.digests.read_bytes, before);
    /* A memory that holds nonsense is no answer. */
    put_file(x.top, "digests", "zz\n\n0 0 0\n", 0);
    assert_string_equal(look(&x).digest, changed.digest);
    place_done(&x);
}

/* In the hub's cache a large file is a link to a blob that is named by its SHA-256, a small one by its git hash. */
static void the_hub_names_its_blobs(void **state)
{
    (void)state;
    struct place x;
    char path[700], target[300];
    place_make(&x, "/models--org--name-x/snapshots/" REVISION);
    snprintf(path, sizeof path, "mkdir -p '%s/models--org--name-x/blobs'", x.top);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/models--org--name-x/blobs", x.top);
    put_file(path, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc", 0);
    put_file(path, "0123456789abcdef0123456789abcdef01234567", "abc", 0);
    static const char *const blobs[] = {"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                                        "0123456789abcdef0123456789abcdef01234567"};
    struct snapshot s[2];
    for (size_t i = 0; i < 2; i++) {
        snprintf(target, sizeof target, "../../blobs/%s", blobs[i]);
        snprintf(path, sizeof path, "%s/weights.bin", x.folder);
        unlink(path);
        assert_int_equal(symlink(target, path), 0);
        s[i] = look(&x);
    }
    /* Named or read, the same bytes have the same digest. */
    assert_string_equal(s[0].digest, s[1].digest);
    assert_int_equal(s[1].read_bytes, s[0].read_bytes + 3);
    assert_string_equal(s[0].model_id, "org/name-x");
    assert_string_equal(s[0].revision, REVISION);
    place_done(&x);
}

/* What is read for a digest is not in the page cache afterwards. */
static void the_page_cache_stays_as_it_was(void **state)
{
    (void)state;
    struct place x;
    char path[512];
    place_make(&x, "/model");
    static char bytes[8 << 20];
    memset(bytes, 1, sizeof bytes);
    snprintf(path, sizeof path, "%s/big.bin", x.folder);
    put_bytes(path, 0, bytes, sizeof bytes);
    int fd = open(path, O_RDONLY);
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(fd);
    struct snapshot s = look(&x);
    bool emptied = s.resident_bytes < 1 << 20; /* a file system in memory keeps everything */
    assert_true(s.read_bytes >= (int64_t)sizeof bytes);
    if (emptied)
        assert_true(snapshot_resident_bytes(&s) < 1 << 20);
    else
        assert_true(snapshot_resident_bytes(&s) >= s.resident_bytes);
    place_done(&x);
}

static void header(char *to, uint64_t n)
{
    for (int i = 0; i < 8; i++)
        to[i] = (char)(n >> 8 * i & 0xff);
}

/* Parameters are counted in the tensors' headers; a header that can't be right counts nothing, and reads nothing past
 * the file. */
static void parameters_are_counted(void **state)
{
    (void)state;
#define TENSOR(name, dtype, shape) "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[0,1]}"
    static const struct {
        const char *config, *header;
        uint64_t length; /* 0: the header's own */
        int64_t parameters;
        const char *precision;
    } cases[] = {
        {"{\"torch_dtype\":\"bfloat16\"}", "{" TENSOR("a", "BF16", "[3,5]") "," TENSOR("b", "F32", "[7]") "}", 0, 22,
         "bf16"},
        {"{\"dtype\":\"float16\"}", "{\"__metadata__\":{\"format\":\"pt\"}," TENSOR("a", "F16", "[]") "}", 0, 1,
         "fp16"},
        {"{\"text_config\":{\"dtype\":\"bfloat16\"}}", "{" TENSOR("a", "BF16", "[0,5]") "}", 0, 0, "bf16"},
        {"{\"torch_dtype\":\"float16\",\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4}}",
         "{" TENSOR("l.qweight", "I32", "[10,4]") "," TENSOR("l.scales", "F16", "[4]") "," TENSOR(
             "l.qzeros", "I32", "[4]") "," TENSOR("e", "F16", "[6]") "}",
         0, 326, "gptq"},
        {"{\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":3}}",
         "{" TENSOR("l.qweight", "I32", "[10,4]") "}", 0, ABSENT_I64, "gptq"},
        {"{\"quantization_config\":{\"quant_method\":\"fp8\"}}",
         "{" TENSOR("l.weight", "F8_E4M3", "[10,4]") "," TENSOR("l.weight_scale", "F32", "[1]") "}", 0, 40, "fp8"},
        {"{\"quantization_config\":{\"quant_method\":\"mxfp4\"}}", "{" TENSOR("l.blocks", "U8", "[10,4]") "}", 0,
         ABSENT_I64, "mxfp4"},
        /* ModelOpt has one method for several formats; models of several parts, and older ones, put the entry
         * elsewhere; packed weights without any entry are not counted as if they held one each. */
        {"{\"quantization_config\":{\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\"}}",
         "{" TENSOR("l.weight", "U8", "[10,4]") "}", 0, ABSENT_I64, "nvfp4"},
        {"{\"quantization_config\":{\"quant_method\":\"modelopt\",\"quant_algo\":\"FP8\"}}",
         "{" TENSOR("l.weight", "F8_E4M3", "[10,4]") "," TENSOR("l.weight_scale", "F32", "[1]") "}", 0, 40, "fp8"},
        {"{\"text_config\":{\"dtype\":\"bfloat16\",\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4}}}",
         "{" TENSOR("l.qweight", "I32", "[10,4]") "}", 0, 320, "awq"},
        {"{\"torch_dtype\":\"bfloat16\",\"compression_config\":{\"quant_method\":\"compressed-tensors\"}}",
         "{" TENSOR("l.weight_packed", "I32", "[10,4]") "}", 0, ABSENT_I64, "compressed-tensors"},
        {"{\"torch_dtype\":\"bfloat16\"}", "{" TENSOR("l.weight", "U8", "[10,4]") "}", 0, ABSENT_I64, "bf16"},
        {"{\"torch_dtype\":\"bfloat16\",\"quantization\":{\"bits\":4}}", "{" TENSOR("l.weight", "U32", "[10,4]") "}", 0,
         ABSENT_I64, "bf16"},
        {"{}", "{" TENSOR("a", "BF16", "[9223372036854775807,2]") "}", 0, ABSENT_I64, NULL},
        {"{}", "{" TENSOR("a", "BF16", "[9223372036854775807]") "," TENSOR("b", "BF16", "[1]") "}", 0, ABSENT_I64,
         NULL},
        {"{}", "{" TENSOR("a", "BF16", "[-3]") "}", 0, ABSENT_I64, NULL},
        {"{}", "{" TENSOR("a", "BF16", "[1.5]") "}", 0, ABSENT_I64, NULL},
        {"{}", "{\"a\":{\"dtype\":\"BF16\"}}", 0, ABSENT_I64, NULL},
        {"{}", "{\"a\":[1]}", 0, ABSENT_I64, NULL},
        {"not json", "{" TENSOR("a", "BF16", "[2]") "}", 0, 2, NULL},
        {"[", "{" TENSOR("a", "BF16", "[2]") "", 0, ABSENT_I64, NULL},
        {"{}", "{" TENSOR("a", "BF16", "[2]") "}", UINT64_C(1) << 60, ABSENT_I64, NULL},
        {"{}", "{" TENSOR("a", "BF16", "[2]") "}", UINT64_MAX, ABSENT_I64, NULL},
        {"{}", "{" TENSOR("a", "BF16", "[2]") "}", 1, ABSENT_I64, NULL},
        {"{}", "{" TENSOR("a", "BF16", "[2]") "}", 4000, ABSENT_I64, NULL},
        {"{}", "", 0, ABSENT_I64, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct place x;
        char path[512], first[8];
        size_t n = strlen(cases[i].header);
        place_make(&x, "/model");
        put_file(x.folder, "config.json", cases[i].config, 0);
        snprintf(path, sizeof path, "%s/m.safetensors", x.folder);
        header(first, cases[i].length ? cases[i].length : n);
        put_bytes(path, 0, first, sizeof first);
        put_bytes(path, sizeof first, cases[i].header, n);
        struct snapshot s = look(&x);
        if (s.parameters != cases[i].parameters)
            fail_msg("case %zu: %lld parameters", i, (long long)s.parameters);
        if (cases[i].precision)
            assert_string_equal(s.precision, cases[i].precision);
        else
            assert_null(s.precision);
        /* A second part that can't be read leaves the sum unknown, not too small. */
        put_file(x.folder, "n.safetensors", "short", 0);
        assert_int_equal(look(&x).parameters, ABSENT_I64);
        place_done(&x);
    }
}

static void put_weights(const char *folder, const char *name, const char *head)
{
    char path[512], first[8];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    header(first, strlen(head));
    put_bytes(path, 0, first, sizeof first);
    put_bytes(path, sizeof first, head, strlen(head));
}

/* The same weights in two layouts, or a copy below, are counted once. */
static void weights_are_counted_once(void **state)
{
    (void)state;
    static const char *const cases[][5] = {
        {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "consolidated.safetensors",
         "original/model.safetensors",
         "{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\",\"b\":"
         "\"model-00002-of-00002.safetensors\"}}"},
        {"model.safetensors", "model-more.bin", "consolidated.safetensors", "original/model.safetensors", NULL},
        {"consolidated-1.safetensors", "consolidated-2.safetensors", "original/a.safetensors", "original/b.safetensors",
         NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct place x;
        char below[512];
        place_make(&x, "/model");
        snprintf(below, sizeof below, "%s/original", x.folder);
        assert_int_equal(mkdir(below, 0700), 0);
        for (size_t k = 0; k < 4; k++)
            put_weights(x.folder, cases[i][k], "{" TENSOR("a", "BF16", "[3,5]") "}");
        if (cases[i][4])
            put_file(x.folder, "model.safetensors.index.json", cases[i][4], 0);
        assert_int_equal(look(&x).parameters, i == 1 ? 15 : 30);
        place_done(&x);
    }
}

/* ModelOpt's older models name their format in a file of its own, and config.json says bfloat16. */
static void the_format_may_stand_beside(void **state)
{
    (void)state;
    struct place x;
    place_make(&x, "/model");
    put_file(x.folder, "hf_quant_config.json",
             "{\"producer\":{\"name\":\"modelopt\"},\"quantization\":{\"quant_algo\":\"NVFP4\"}}", 0);
    put_weights(x.folder, "model.safetensors", "{" TENSOR("l.weight", "U8", "[10,4]") "}");
    struct snapshot s = look(&x);
    assert_string_equal(s.precision, "nvfp4");
    assert_int_equal(s.parameters, ABSENT_I64);
    place_done(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leftovers_count_on_the_plans_gpus),
        cmocka_unit_test(leftovers_count_where_processes_are_not_known),
        cmocka_unit_test(room_is_looked_for_above_a_folder_that_is_not_there),
        cmocka_unit_test(memory_is_compared_with_the_largest_file),
        cmocka_unit_test(test_disk),
        cmocka_unit_test(test_open_files),
        cmocka_unit_test(test_port),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(another_runs_engine_is_no_leftover),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(the_digest_covers_the_weights),
        cmocka_unit_test(a_digest_is_remembered),
        cmocka_unit_test(the_hub_names_its_blobs),
        cmocka_unit_test(the_page_cache_stays_as_it_was),
        cmocka_unit_test(parameters_are_counted),
        cmocka_unit_test(weights_are_counted_once),
        cmocka_unit_test(the_format_may_stand_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
