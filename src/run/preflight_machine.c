/* Disk, open files, memory: what the machine has room for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/must.h"
#include "run/preflight.h"

enum {
    BYTES_A_TOKEN = 40,
    BYTES_A_REQUEST = 400,
    BYTES_BESIDE = 64 << 20,
    TOKENS_A_REQUEST = 4096,
    OTHER_FILES = 256,
};

int64_t preflight_record_bytes(int64_t requests, int64_t tokens)
{
    must(requests >= 0 && (tokens >= 0 || tokens == ABSENT_I64));
    if (tokens == ABSENT_I64)
        tokens = TOKENS_A_REQUEST * requests;
    return BYTES_A_TOKEN * tokens + BYTES_A_REQUEST * requests + BYTES_BESIDE;
}

/* The free space where `folder` is, or will be: its nearest parent that exists says so. */
static bool read_room(struct arena *a, const char *folder, struct statvfs *ret)
{
    char *path = arena_text(a, *folder ? folder : ".");
    while (statvfs(path, ret) != 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
            return false;
        if (slash == path)
            path[1] = 0;
        else if (slash)
            *slash = 0;
        else
            path = arena_text(a, ".");
    }
    return true;
}

bool preflight_disk(struct preflight *p, const char *folder, int64_t bytes, struct err *e)
{
    must(folder && bytes >= 0);
    struct statvfs s;
    if (!read_room(p->arena, folder, &s))
        return err_set_errno(e, ERR_SYSTEM, errno, "The free space of %s can't be read", folder);
    int64_t room = (int64_t)s.f_bavail * (int64_t)s.f_frsize;
    const char *expected = arena_format(p->arena, "%lld MiB", (long long)(bytes >> 20));
    const char *seen = arena_format(p->arena, "%lld MiB", (long long)(room >> 20));
    preflight_fact(p, "preflight.disk", room >= bytes ? CHECK_PASSED : CHECK_FAILED, expected, seen);
    if (room >= bytes)
        return true;
    return err_set(
        e, ERR_SYSTEM,
        "%s has %s free; the records of this run may take %s. Free some space, or put the runs elsewhere with "
        "--runs.",
        folder, seen, expected);
}

bool preflight_open_files(struct preflight *p, int64_t requests, int64_t *ret_limit, struct err *e)
{
    must(requests >= 0);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "The limit of open files can't be read");
    int64_t need = requests + OTHER_FILES;
    if ((int64_t)limit.rlim_cur < need && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            return err_set_errno(e, ERR_SYSTEM, errno, "The limit of open files can't be raised to the hard limit");
    }
    bool enough = (int64_t)limit.rlim_cur >= need;
    preflight_fact(p, "preflight.open_files", enough ? CHECK_PASSED : CHECK_FAILED,
                   arena_format(p->arena, "%lld", (long long)need),
                   arena_format(p->arena, "%lld", (long long)limit.rlim_cur));
    if (!enough)
        return err_set(
            e, ERR_SYSTEM,
            "%lld requests at once need %lld open files; the hard limit is %lld. Raise it with \"ulimit -Hn %lld\" "
            "as root, or in /etc/security/limits.conf, or send fewer requests.",
            (long long)requests, (long long)need, (long long)limit.rlim_max, (long long)need);
    if (ret_limit)
        *ret_limit = (int64_t)limit.rlim_cur;
    return true;
}

/* ---- memory ---- */

/* A number behind a key in a file of lines, or the file's only one; ABSENT_I64: there is none ("max"). */
static int64_t number_in(const char *path, const char *key)
{
    char line[256];
    long long value;
    int64_t found = ABSENT_I64;
    FILE *f = fopen(path, "re");
    size_t n = strlen(key);
    while (f && found == ABSENT_I64 && fgets(line, sizeof line, f))
        if (strncmp(line, key, n) == 0 && sscanf(line + n, "%lld", &value) == 1)
            found = value;
    if (f)
        fclose(f);
    return found;
}

/* What this process's control group leaves, of the nearest one that has a limit; ABSENT_I64: none has. */
static int64_t group_leaves(void)
{
    char line[1024] = "", path[1200];
    FILE *f = fopen("/proc/self/cgroup", "re");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f))
        found = strncmp(line, "0::/", 4) == 0;
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = 0;
    char *group = found ? line + 3 : line;
    for (bool more = true; more;) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
        int64_t most = number_in(path, "");
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.stat", group);
        int64_t taken = number_in(path, "anon ");
        if (most != ABSENT_I64 && taken != ABSENT_I64)
            return most - taken;
        char *slash = strrchr(group, '/');
        more = slash != NULL;
        if (slash)
            *slash = 0;
    }
    return ABSENT_I64;
}

void preflight_memory(struct preflight *p, int64_t bytes)
{
    enum { BESIDE_GB = 8 }; /* of the engine's own processes and libraries */
    must(bytes >= 0);
    int64_t machine_kb = number_in("/proc/meminfo", "MemAvailable:"), group = group_leaves();
    int64_t room = machine_kb == ABSENT_I64 ? ABSENT_I64 : machine_kb * 1024;
    if (group != ABSENT_I64 && (room == ABSENT_I64 || group < room))
        room = group;
    double need_gb = (double)bytes / 1e9 + BESIDE_GB;
    const char *expected = arena_format(p->arena, "%.3g GB", need_gb);
    const char *seen = room == ABSENT_I64 ? NULL : arena_format(p->arena, "%.3g GB", (double)room / 1e9);
    if (seen && (double)room / 1e9 < need_gb)
        preflight_warn(
            p, "preflight.memory", expected, seen,
            arena_format(p->arena,
                         "%s of memory can be had, and the largest file of the weights and the engine itself "
                         "need about %s: the engine may be killed, or read weights more than once. Stop "
                         "other programs, or raise the limit of the job or pod.",
                         seen, expected));
    else
        preflight_fact(p, "preflight.memory", seen ? CHECK_PASSED : CHECK_NOT_JUDGED, expected, seen);
}

void preflight_shared_memory(struct preflight *p, const char *folder)
{
    static const int64_t need = INT64_C(1) << 30;
    struct statvfs s;
    if (statvfs(folder, &s) != 0) {
        preflight_fact(p, "preflight.shared_memory", CHECK_NOT_JUDGED, "1024 MiB", NULL);
        return;
    }
    int64_t room = (int64_t)s.f_bavail * (int64_t)s.f_frsize;
    const char *seen = arena_format(p->arena, "%lld MiB", (long long)(room >> 20));
    if (room < need)
        preflight_warn(
            p, "preflight.shared_memory", "1024 MiB", seen,
            arena_format(p->arena,
                         "%s has %s free. Engines on several GPUs exchange data there and can fail with a bus "
                         "error. Give the container more: --shm-size=16g for docker and podman, an emptyDir "
                         "of medium Memory in a pod.",
                         folder, seen));
    else
        preflight_fact(p, "preflight.shared_memory", CHECK_PASSED, "1024 MiB", seen);
}
