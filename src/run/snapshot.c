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
#include "base/must.h"
#include "engine/engine.h"
#include "engine/model_files.h"
#include "run/preflight.h"
#include "text/file_read.h"

enum { HASHED_BELOW = 16 << 20, DEPTH_MAX = 16 };

struct listed_file {
    char *path; /* relative to the folder */
    int64_t bytes;
};

struct listing {
    struct listed_file *files;
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
        return err_set_errno(e, ERR_PLAN, errno, "The folder %s (of model.snapshot) can't be read", path);
    bool good = true;
    for (struct dirent *f; good && (f = readdir(d));) {
        char name[4096], full[8300];
        struct stat s;
        snprintf(name, sizeof name, "%.3800s%s%.256s", below, *below ? "/" : "", f->d_name);
        snprintf(full, sizeof full, "%s/%s", root, name);
        if (strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0)
            continue;
        if (stat(full, &s) != 0) {
            good = err_set_errno(e, ERR_PLAN, errno,
                                 "The file %s (of model.snapshot) can't be read; a link may lead nowhere", full);
        } else if (S_ISDIR(s.st_mode)) {
            if (f->d_name[0] != '.' && depth < DEPTH_MAX)
                good = list_folder(l, root, name, depth + 1, e);
        } else if (S_ISREG(s.st_mode)) {
            if (l->count == l->capacity) {
                l->capacity = l->capacity ? 2 * l->capacity : 64;
                l->files = mem_grow(l->files, l->capacity, sizeof *l->files);
            }
            l->files[l->count++] = (struct listed_file){.path = strdup(name), .bytes = s.st_size};
        }
    }
    closedir(d);
    return good;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct listed_file *)a)->path, ((const struct listed_file *)b)->path);
}

/* One line a file: "<path> <size> <digest>". */
static void add_line(struct digest *all, const struct listed_file *f, const char *hex)
{
    char line[4300];
    int n = snprintf(line, sizeof line, "%s %lld %s\n", f->path, (long long)f->bytes, hex);
    digest_add(all, (struct span){line, (size_t)n});
}

static bool hash_files(const char *folder, const struct listing *l, struct weights_memory *m, char ret_sha256[65],
                       char ret_digest[65], struct err *e)
{
    struct digest *small = digest_open(), *all = digest_open();
    bool good = true;
    for (size_t i = 0; good && i < l->count; i++) {
        char path[8300], hex[DIGEST_HEX];
        snprintf(path, sizeof path, "%s/%s", folder, l->files[i].path);
        good = weights_digest(m, path, hex, e);
        if (!good)
            continue;
        add_line(small, &l->files[i], l->files[i].bytes < HASHED_BELOW ? hex : "-");
        add_line(all, &l->files[i], hex);
    }
    digest_close(small, good ? ret_sha256 : NULL);
    digest_close(all, good ? ret_digest : NULL);
    return good;
}

/* ---- what the files say ---- */

/* Elements of one safetensors file; ABSENT_I64: not known. */
static int64_t parameters_in(const char *path, int64_t bytes, const struct model_config *c)
{
    struct buf header = {0};
    int64_t n = weights_header(path, bytes, &header) ? model_header_parameters(buf_span(&header), c) : ABSENT_I64;
    buf_done(&header);
    return n;
}

static struct span file_of(struct preflight *p, const struct snapshot *s, const char *name, int64_t most)
{
    struct buf text = {0};
    file_read(arena_format(p->arena, "%s/%s", s->folder, name), (size_t)most, &text, NULL);
    struct span copy = {arena_copy(p->arena, text.p ? text.p : "", text.n), text.n};
    buf_done(&text);
    return copy;
}

static bool lists(const struct listing *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->files[i].path, name) == 0)
            return true;
    return false;
}

/* A folder may hold the same weights twice (consolidated.safetensors, original/): those count that engines load, by the
 * index, else by the usual name, else all that lie at the top. `index`: its text, "" where there is none. */
static bool counts(struct preflight *p, const struct listing *l, const char *path, const char *index)
{
    static const char ending[] = ".safetensors", whole[] = "model.safetensors";
    if (strchr(path, '/') || strlen(path) < sizeof ending || !span_ends(span_of(path), ending))
        return false;
    if (*index)
        return strstr(index, arena_format(p->arena, "\"%s\"", path)) != NULL;
    return strcmp(path, whole) == 0 || !lists(l, whole);
}

static void read_model(struct preflight *p, const struct listing *l, struct snapshot *s)
{
    struct model_config config, beside;
    int64_t sum = 0, files = 0;
    model_config_read(file_of(p, s, "config.json", 1 << 24), p->arena, &config);
    /* ModelOpt's entry may stand in a file of its own. */
    model_config_read(file_of(p, s, "hf_quant_config.json", 1 << 24), p->arena, &beside);
    if (!config.method && beside.method)
        config = beside;
    const char *index = file_of(p, s, "model.safetensors.index.json", 1 << 28).p;
    for (size_t i = 0; i < l->count && sum != ABSENT_I64; i++) {
        if (!counts(p, l, l->files[i].path, index))
            continue;
        int64_t own =
            parameters_in(arena_format(p->arena, "%s/%s", s->folder, l->files[i].path), l->files[i].bytes, &config);
        sum = own == ABSENT_I64 || __builtin_add_overflow(sum, own, &sum) ? ABSENT_I64 : sum;
        files++;
    }
    s->precision = config.precision;
    s->parameters = files ? sum : ABSENT_I64;
    s->model_id = hub_model_id(s->folder, p->arena);
    preflight_fact(p, "snapshot.precision", CHECK_NOT_JUDGED, NULL, s->precision);
    preflight_fact(p, "snapshot.model_id", CHECK_NOT_JUDGED, NULL, s->model_id);
    preflight_fact(p, "snapshot.parameters", CHECK_NOT_JUDGED, NULL,
                   s->parameters == ABSENT_I64 ? NULL : arena_format(p->arena, "%lld", (long long)s->parameters));
}

/* ---- the page cache ---- */

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
    must(s->folder);
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

static bool check_folder(const struct plan *plan, char **ret_folder, struct err *e)
{
    char *folder = realpath(plan->model.snapshot, NULL);
    if (!folder)
        return err_set_errno(
            e, ERR_PLAN, errno,
            "The snapshot %s can't be found; model.snapshot must be the folder that holds the weights and "
            "config.json",
            plan->model.snapshot);
    char path[8300];
    snprintf(path, sizeof path, "%s/config.json", folder);
    if (access(path, R_OK) != 0) {
        int number = errno;
        free(folder);
        return err_set_errno(
            e, ERR_PLAN, number,
            "The snapshot %s holds no config.json that can be read; model.snapshot must be the folder that "
            "holds the weights and config.json",
            plan->model.snapshot);
    }
    *ret_folder = folder;
    return true;
}

static bool list_sorted(struct listing *l, const char *folder, struct err *e)
{
    if (!list_folder(l, folder, "", 0, e))
        return false;
    if (l->count)
        qsort(l->files, l->count, sizeof *l->files, by_path);
    return true;
}

/* A stated value against the one seen; true also where none is stated. */
static bool expect(struct preflight *p, const char *name, const char *stated, const char *seen)
{
    bool same = !stated || strcmp(stated, seen) == 0;
    if (stated)
        preflight_fact(p, name, same ? CHECK_PASSED : CHECK_FAILED, stated, arena_text(p->arena, seen));
    return same;
}

/* What the files say, all of them read once. */
static bool look_at_files(struct preflight *p, const char *folder, struct snapshot *ret_snapshot, struct err *e)
{
    struct snapshot s = {.folder = folder, .revision = snapshot_revision(folder, p->arena)};
    /* Before anything of it is read: startup energy depends on it. */
    s.resident_bytes = snapshot_resident_bytes(&s);
    struct listing l = {0};
    int64_t read_before = p->digests.read_bytes;
    bool good = list_sorted(&l, folder, e) && hash_files(folder, &l, &p->digests, s.sha256, s.digest, e);
    s.files = (int64_t)l.count;
    for (size_t i = 0; i < l.count; i++) {
        s.bytes += l.files[i].bytes;
        s.largest_bytes = l.files[i].bytes > s.largest_bytes ? l.files[i].bytes : s.largest_bytes;
    }
    s.read_bytes = p->digests.read_bytes - read_before;
    if (good) {
        read_model(p, &l, &s);
        *ret_snapshot = s;
    }
    listing_done(&l);
    return good;
}

/* What the plan states of it against what it is. */
static bool is_the_plans(struct preflight *p, const struct plan_model *m, const struct snapshot *s, struct err *e)
{
    expect(p, "preflight.snapshot_sha256", m->snapshot_sha256, s->sha256);
    if (!expect(p, "preflight.snapshot_digest", m->snapshot_digest, s->digest))
        return err_set(
            e, ERR_PLAN,
            "The plan's model.snapshot_digest is %s, but that of %s is %s: its weights, or some other file, differ. "
            "Correct the plan, or give it the snapshot that it names.",
            m->snapshot_digest, s->folder, s->digest);
    if (!s->revision || expect(p, "preflight.revision", m->revision, s->revision))
        return true;
    return err_set(
        e, ERR_PLAN,
        "The plan's model.revision is %s, but the snapshot's folder is of revision %s: %s. Correct the plan, "
        "or name the folder of that revision.",
        m->revision, s->revision, s->folder);
}

bool preflight_snapshot(struct preflight *p, const struct plan *plan, struct snapshot *ret_snapshot, struct err *e)
{
    must(plan->model.snapshot && e);
    char *folder;
    if (!check_folder(plan, &folder, e)) {
        preflight_fact(p, "preflight.snapshot", CHECK_FAILED, plan->model.snapshot, arena_text(p->arena, e->text));
        return false;
    }
    struct snapshot s;
    const char *path = arena_text(p->arena, folder);
    free(folder);
    if (!look_at_files(p, path, &s, e))
        return false;
    preflight_fact(p, "preflight.snapshot", CHECK_PASSED, plan->model.snapshot,
                   arena_format(p->arena, "%lld files, %lld bytes", (long long)s.files, (long long)s.bytes));
    if (!is_the_plans(p, &plan->model, &s, e))
        return false;
    *ret_snapshot = s;
    return true;
}

bool preflight_model(struct preflight *p, const char *folder, struct err *e)
{
    must(folder && e);
    struct snapshot s = {.folder = folder};
    struct listing l = {0};
    bool good = list_sorted(&l, folder, e);
    if (good)
        read_model(p, &l, &s);
    listing_done(&l);
    return good;
}

bool snapshot_again(struct preflight *p, const struct snapshot *s, char ret_sha256[65], char ret_digest[65],
                    struct err *e)
{
    must(s->folder);
    struct listing l = {0};
    bool good = list_sorted(&l, s->folder, e) && hash_files(s->folder, &l, &p->digests, ret_sha256, ret_digest, e);
    listing_done(&l);
    return good;
}
