/* The weights' folder: its hash, its size, and how much of it is in the page cache. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/buf.h"
#include "run/preflight.h"
#include "text/digest.h"

enum { HASHED_BELOW = 16 << 20, DEPTH_MAX = 16, REVISION_DIGITS = 40 };

struct file {
    char *path; /* relative to the folder */
    int64_t bytes;
};

struct listing {
    struct file *files;
    size_t count, capacity;
};

static void listing_done(struct listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->files[i].path);
    free(l->files);
}

static bool list_folder(struct listing *l, const char *root, const char *below, int depth, struct err *e)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", root, *below ? "/" : "", below);
    DIR *d = opendir(path);
    if (!d)
        return err_set_errno(e, ERR_PLAN, errno, "model.snapshot: the folder %s can't be read", path);
    bool good = true;
    for (struct dirent *f; good && (f = readdir(d));) {
        char name[4096], full[8300];
        struct stat s;
        snprintf(name, sizeof name, "%.3800s%s%.256s", below, *below ? "/" : "", f->d_name);
        snprintf(full, sizeof full, "%s/%s", root, name);
        if (strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0)
            continue;
        if (stat(full, &s) != 0) {
            good = err_set_errno(e, ERR_PLAN, errno, "model.snapshot: %s can't be read (a link that leads nowhere?)",
                                 full);
        } else if (S_ISDIR(s.st_mode)) {
            if (f->d_name[0] != '.' && depth < DEPTH_MAX)
                good = list_folder(l, root, name, depth + 1, e);
        } else if (S_ISREG(s.st_mode)) {
            if (l->count == l->capacity) {
                l->capacity = l->capacity ? 2 * l->capacity : 64;
                l->files = mem_grow(l->files, l->capacity, sizeof *l->files);
            }
            l->files[l->count++] = (struct file){.path = strdup(name), .bytes = s.st_size};
        }
    }
    closedir(d);
    return good;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static bool hash_files(const char *folder, const struct listing *l, char ret_hex[65], struct err *e)
{
    struct digest *all = digest_open();
    bool good = true;
    for (size_t i = 0; good && i < l->count; i++) {
        char path[8300], hex[DIGEST_HEX] = "-";
        snprintf(path, sizeof path, "%s/%s", folder, l->files[i].path);
        if (l->files[i].bytes < HASHED_BELOW)
            good = digest_file(path, hex, NULL, e);
        char line[4300];
        int n = snprintf(line, sizeof line, "%s %lld %s\n", l->files[i].path, (long long)l->files[i].bytes, hex);
        digest_add(all, (struct span){line, (size_t)n});
    }
    digest_close(all, ret_hex);
    return good;
}

/* struct cachestat_range and struct cachestat of the kernel (6.5 and later). */
struct cache_range {
    uint64_t offset, length;
};
struct cache_state {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};
enum { SYSCALL_CACHESTAT = 451 };

static int64_t resident_of(int fd, int64_t bytes)
{
    long page = sysconf(_SC_PAGESIZE);
    struct cache_range range = {0, 0};
    struct cache_state state = {0};
    if (syscall(SYSCALL_CACHESTAT, fd, &range, &state, 0) == 0)
        return (int64_t)state.cached * page;
    /* To others than a file's owner and writers the kernel calls every page resident. */
    struct stat st;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fstat(fd, &st) != 0 || (st.st_uid != geteuid() && access(path, W_OK) != 0))
        return ABSENT_I64;
    if (bytes == 0)
        return 0;
    void *map = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return ABSENT_I64;
    size_t pages = ((size_t)bytes + (size_t)page - 1) / (size_t)page;
    unsigned char *there = mem_alloc(pages);
    int64_t n = ABSENT_I64;
    if (mincore(map, (size_t)bytes, there) == 0) {
        n = 0;
        for (size_t i = 0; i < pages; i++)
            n += there[i] & 1;
        n *= page;
    }
    free(there);
    munmap(map, (size_t)bytes);
    return n;
}

int64_t snapshot_resident_bytes(const struct snapshot *s)
{
    struct listing l = {0};
    int64_t total = 0;
    if (!list_folder(&l, s->folder, "", 0, NULL))
        total = ABSENT_I64;
    for (size_t i = 0; i < l.count && total != ABSENT_I64; i++) {
        char path[8300];
        snprintf(path, sizeof path, "%s/%s", s->folder, l.files[i].path);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        int64_t resident = fd >= 0 ? resident_of(fd, l.files[i].bytes) : ABSENT_I64;
        if (fd >= 0)
            close(fd);
        /* Whole pages: the last one of a file counts for no more than the file. */
        if (resident > l.files[i].bytes)
            resident = l.files[i].bytes;
        total = resident == ABSENT_I64 ? ABSENT_I64 : total + resident;
    }
    listing_done(&l);
    return total;
}

static const char *revision_of(struct arena *a, const char *folder)
{
    const char *at = strstr(folder, "/snapshots/");
    if (!at)
        return NULL;
    at += strlen("/snapshots/");
    size_t n = strspn(at, "0123456789abcdef");
    return n == REVISION_DIGITS && (at[n] == 0 || at[n] == '/') ? arena_copy(a, at, n) : NULL;
}

static bool check_folder(const struct plan *plan, char **ret_folder, struct err *e)
{
    char *folder = realpath(plan->model.snapshot, NULL);
    if (!folder)
        return err_set_errno(e, ERR_PLAN, errno,
                             "model.snapshot: %s is not there. Give the folder that holds the weights and config.json",
                             plan->model.snapshot);
    char path[8300];
    snprintf(path, sizeof path, "%s/config.json", folder);
    if (access(path, R_OK) != 0) {
        int number = errno;
        free(folder);
        return err_set_errno(e, ERR_PLAN, number, "model.snapshot: %s holds no readable config.json",
                             plan->model.snapshot);
    }
    *ret_folder = folder;
    return true;
}

bool preflight_snapshot(struct preflight *p, const struct plan *plan, struct snapshot *ret_snapshot, struct err *e)
{
    char *folder;
    if (!check_folder(plan, &folder, e)) {
        preflight_fact(p, "preflight.snapshot", CHECK_FAILED, plan->model.snapshot, arena_text(p->arena, e->text));
        return false;
    }
    struct snapshot s = {.folder = arena_text(p->arena, folder)};
    free(folder);
    struct listing l = {0};
    bool good = list_folder(&l, s.folder, "", 0, e);
    if (good) {
        qsort(l.files, l.count, sizeof *l.files, by_path);
        good = hash_files(s.folder, &l, s.sha256, e);
    }
    s.files = (int64_t)l.count;
    for (size_t i = 0; i < l.count; i++)
        s.bytes += l.files[i].bytes;
    listing_done(&l);
    if (!good)
        return false;
    s.resident_bytes = snapshot_resident_bytes(&s);
    s.revision = revision_of(p->arena, s.folder);
    preflight_fact(p, "preflight.snapshot", CHECK_PASSED, plan->model.snapshot,
                   arena_format(p->arena, "%lld files, %lld bytes", (long long)s.files, (long long)s.bytes));
    if (plan->model.snapshot_sha256)
        preflight_fact(p, "preflight.snapshot_sha256",
                       strcmp(plan->model.snapshot_sha256, s.sha256) == 0 ? CHECK_PASSED : CHECK_FAILED,
                       plan->model.snapshot_sha256, arena_text(p->arena, s.sha256));
    if (plan->model.revision && s.revision) {
        bool same = strcmp(plan->model.revision, s.revision) == 0;
        preflight_fact(p, "preflight.revision", same ? CHECK_PASSED : CHECK_FAILED, plan->model.revision, s.revision);
        if (!same)
            return err_set(e, ERR_PLAN, "model.revision is %s, but the snapshot's folder is of %s: %s.",
                           plan->model.revision, s.revision, s.folder);
    }
    *ret_snapshot = s;
    return true;
}
