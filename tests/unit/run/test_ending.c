/* A record that could not be written makes the run not formal, whenever it happened: every call that puts bytes on the
 * disk fails once, at every place of a run's end, in each of the ways in which it may fail. */
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "cli/run_folder.h"
#include "run/ending.h"

/* ---- calls that fail ---- */

enum call { CALL_WRITE, CALL_FSYNC, CALL_FDATASYNC, CALL_CLOSE, CALL_RENAME, CALL_UNLINK, CALL_OPEN, CALLS };

/* Set up before the recorder's thread begins; both threads count. */
static struct {
    _Atomic bool on;
    int call, error;
    long left;  /* calls of this kind until the one that fails */
    bool stays; /* all that follow fail, too: a disk that is full for good */
    long hits;
} fault;

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static bool counted(int call)
{
    if (call != fault.call || (fault.left > 0 && fault.left-- > 0))
        return false;
    if (fault.hits && !fault.stays)
        return false;
    fault.hits++;
    return true;
}

static bool fails(int call)
{
    if (!fault.on)
        return false;
    pthread_mutex_lock(&counting);
    bool failed = counted(call);
    pthread_mutex_unlock(&counting);
    if (failed)
        errno = fault.error;
    return failed;
}

ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    return fails(CALL_WRITE) ? -1 : __real_write(fd, bytes, n);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fails(CALL_FSYNC) ? -1 : __real_fsync(fd);
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    return fails(CALL_FDATASYNC) ? -1 : __real_fdatasync(fd);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    bool failed = fails(CALL_CLOSE);
    int error = errno, code = __real_close(fd); /* the descriptor is gone either way */
    errno = failed ? error : errno;
    return failed ? -1 : code;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    return fails(CALL_RENAME) ? -1 : __real_rename(from, to);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
    return fails(CALL_UNLINK) ? -1 : __real_unlink(path);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return flags & O_CREAT && fails(CALL_OPEN) ? -1 : __real_open(path, flags, mode);
}

/* ---- a run's end ---- */

static void record(const struct record_sink *s, const struct records *r)
{
    for (size_t i = 0; i < r->boundary_count; i++)
        s->boundary(s->self, &r->boundaries[i]);
    for (size_t i = 0; i < r->clock_count; i++)
        s->clock(s->self, &r->clocks[i]);
    for (size_t i = 0; i < r->fact_count; i++)
        s->fact(s->self, &r->facts[i]);
    for (size_t i = 0; i < r->request_count; i++)
        s->request(s->self, &r->requests[i]);
    s->chunk(s->self, r->chunks, r->chunk_count);
    for (size_t i = 0; i < r->gpus[0].instant_count; i++)
        s->instant(s->self, 0, &r->gpus[0].instant[i]);
    s->buffer(s->self, 0, r->gpus[0].buffer, r->gpus[0].buffer_count);
}

struct ending {
    bool written, sealed;
    struct err e;
};

/* The last moments of a run, up to and with the seal, as the program goes through them. */
static struct ending end_of_a_run(const char *runs, struct arena *a, const char **ret_folder)
{
    struct ending end = {0};
    struct err e = {0};
    struct recorder *recorder;
    struct records r = life_records(a, 1);
    const char *folder;
    bool on = fault.on;
    fault.on = false;
    assert_ok(archive_create(runs, "end", LIFE_OFFSET_NS, a, &folder, &e), e);
    char sha256[65];
    assert_ok(archive_write_plan(folder, &r.plan, sha256, &e), e);
    r.run.plan_sha256 = sha256;
    assert_ok(archive_write_gpus(folder, r.gpus, r.gpu_count, &e), e);
    assert_ok(archive_write_run(folder, &r.run, &e), e);
    /* Nothing is written before the end: the fault comes there. */
    struct recorder_options o = {.flush_ns = 3600 * LIFE_S};
    assert_ok(recorder_open(&recorder, folder, &o, &e), e);
    struct record_sink sink = recorder_sink(recorder);
    record(&sink, &r);
    fault.on = on;
    end.written = ending_write(recorder, folder, &r.client, &r.run, &end.e);
    end.sealed = end.written && archive_seal(folder, &end.e);
    fault.on = false;
    *ret_folder = folder;
    return end;
}

static bool whole(const char *folder, struct arena *a)
{
    struct records r;
    struct err e;
    return records_load(folder, a, &r, &e) && r.sealed && !r.damage;
}

static void one_fault(const char *root, int call, int error, bool stays, long place, bool *ret_hit)
{
    struct arena a = {0};
    const char *folder, *runs = arena_format(&a, "%s/%d-%d-%d-%ld", root, call, error, stays, place);
    memset(&fault, 0, sizeof fault);
    fault.on = true;
    fault.call = call;
    fault.error = error;
    fault.stays = stays;
    fault.left = place;
    struct ending end = end_of_a_run(runs, &a, &folder);
    *ret_hit = fault.hits > 0;
    bool sound = whole(folder, &a);
    /* What failed while records or the seal were written is told, and leaves no seal over it. A name that could not be
     * removed, or is removed at the next try, takes nothing away. */
    if (end.sealed && !sound)
        fail_msg("call %d failed at place %ld: sealed, and not whole", call, place);
    if (!end.sealed && archive_is_sealed(folder) && !sound)
        fail_msg("call %d failed at place %ld: a seal over records that are not whole", call, place);
    if (fault.hits && (call == CALL_WRITE || call == CALL_FDATASYNC || call == CALL_FSYNC) && end.sealed)
        fail_msg("call %d failed at place %ld, and the folder was sealed", call, place);
    if (!end.sealed) {
        assert_int_not_equal(end.e.kind, ERR_NONE);
        assert_true(strlen(end.e.text) > 20);
        /* What was recorded before is kept, and a seal that was broken off can be made again. */
        struct err e = {0};
        if (end.written && !archive_is_sealed(folder))
            assert_ok(archive_seal(folder, &e), e);
        assert_int_equal(access(arena_format(&a, "%s/plan.json", folder), F_OK), 0);
        assert_int_equal(access(arena_format(&a, "%s/run.json", folder), F_OK), 0);
    }
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s'", runs);
    assert_int_equal(system(command), 0);
    arena_done(&a);
}

/* In memory where there is such a place: nothing here is about the disk's own speed. */
static const char *make_root(struct arena *a)
{
    char *root =
        arena_text(a, access("/dev/shm", W_OK) == 0 ? "/dev/shm/jtok-ending-XXXXXX" : "/tmp/jtok-ending-XXXXXX");
    assert_non_null(mkdtemp(root));
    return root;
}

static void remove_root(const char *root, struct arena *a)
{
    assert_int_equal(system(arena_format(a, "rm -rf '%s'", root)), 0);
    arena_done(a);
}

static void each_place_of_each_call(void **state)
{
    (void)state;
    struct arena a = {0};
    const char *root = make_root(&a);
    static const int errors[] = {ENOSPC, EIO};
    size_t faults = 0;
    for (int call = 0; call < CALLS; call++)
        for (size_t e = 0; e < sizeof errors / sizeof *errors; e++)
            for (int stays = 0; stays < 2; stays++) {
                bool hit = true;
                for (long place = 0; hit; place++) {
                    one_fault(root, call, errors[e], stays, place, &hit);
                    faults += hit;
                }
            }
    assert_true(faults > 200);
    remove_root(root, &a);
}

static void without_a_fault_it_is_sealed(void **state)
{
    (void)state;
    struct arena a = {0};
    const char *root = make_root(&a), *folder;
    memset(&fault, 0, sizeof fault);
    struct ending end = end_of_a_run(root, &a, &folder);
    assert_true(end.written && end.sealed);
    assert_true(whole(folder, &a));
    remove_root(root, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_a_fault_it_is_sealed),
                                       cmocka_unit_test(each_place_of_each_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
