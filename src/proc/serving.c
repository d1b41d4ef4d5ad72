#include "proc/serving.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/must.h"
#include "proc/cgroup.h"

enum { INODES_MAX = 64, COMMAND_BYTES = 512, LEVELS = 64 };

/* Sockets that listen at the address. */
struct inodes {
    uint64_t items[INODES_MAX];
    size_t count;
};

/* ---- sockets ---- */

static void add_inode(struct inodes *list, uint64_t inode)
{
    if (inode && list->count < INODES_MAX)
        list->items[list->count++] = inode;
}

/* The last word of a v4-mapped address, or of an IPv4 address; the kernel writes each word as its machine has it. */
static bool is_same_v4(const uint32_t words[4], bool six, uint32_t v4)
{
    if (!six)
        return words[0] == v4 || words[0] == 0;
    return words[0] == 0 && words[1] == 0 && (words[2] == htonl(0xffff)) && (words[3] == v4 || words[3] == 0);
}

static bool is_any(const uint32_t words[4], bool six)
{
    return words[0] == 0 && (!six || (words[1] == 0 && words[2] == 0 && words[3] == 0));
}

/* Does a socket at this local address take connections to that one? */
static bool takes(const uint32_t words[4], bool six, const struct sockaddr_storage *to)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)to;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)to;
    if (to->ss_family == AF_INET)
        return is_any(words, six) || v4->sin_addr.s_addr == INADDR_ANY || is_same_v4(words, six, v4->sin_addr.s_addr);
    if (!six)
        return false;
    return is_any(words, six) || memcmp(words, &v6->sin6_addr, sizeof v6->sin6_addr) == 0 ||
           memcmp(&in6addr_any, &v6->sin6_addr, sizeof v6->sin6_addr) == 0;
}

static unsigned port_of_address(const struct sockaddr_storage *to)
{
    return ntohs(to->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)to)->sin6_port
                                           : ((const struct sockaddr_in *)to)->sin_port);
}

static void find_inet(const struct sockaddr_storage *to, bool six, struct inodes *list)
{
    FILE *f = fopen(six ? "/proc/net/tcp6" : "/proc/net/tcp", "re");
    char line[512];
    while (f && fgets(line, sizeof line, f)) {
        char digits[40];
        unsigned port = 0, state = 0;
        uint64_t inode = 0;
        uint32_t words[4] = {0};
        int n = sscanf(line, " %*d: %33[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %" SCNu64, digits, &port,
                       &state, &inode);
        if (n != 4 || state != 0x0a || port != port_of_address(to))
            continue;
        int read =
            sscanf(digits, "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 "%8" SCNx32, &words[0], &words[1], &words[2], &words[3]);
        if (read == (six ? 4 : 1) && takes(words, six, to))
            add_inode(list, inode);
    }
    if (f)
        fclose(f);
}

static void find_unix(const struct sockaddr_storage *to, struct inodes *list)
{
    const char *path = ((const struct sockaddr_un *)to)->sun_path;
    FILE *f = fopen("/proc/net/unix", "re");
    char line[512];
    while (f && fgets(line, sizeof line, f)) {
        unsigned flags = 0;
        uint64_t inode = 0;
        char bound[256];
        int n = sscanf(line, "%*s %*x %*x %x %*x %*x %" SCNu64 " %255[^\n]", &flags, &inode, bound);
        if (n == 3 && (flags & 0x10000) && strcmp(bound, path) == 0)
            add_inode(list, inode);
    }
    if (f)
        fclose(f);
}

static struct inodes find_sockets(const struct sockaddr_storage *addresses, size_t count)
{
    struct inodes list = {0};
    for (size_t i = 0; i < count; i++) {
        if (addresses[i].ss_family == AF_UNIX) {
            find_unix(&addresses[i], &list);
            continue;
        }
        find_inet(&addresses[i], true, &list);
        if (addresses[i].ss_family == AF_INET)
            find_inet(&addresses[i], false, &list);
    }
    return list;
}

/* ---- processes ---- */

static bool holds_socket(int64_t pid, const struct inodes *list)
{
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/%lld/fd", (long long)pid);
    DIR *d = opendir(folder);
    bool found = false;
    for (struct dirent *f; d && !found && (f = readdir(d));) {
        char target[64];
        uint64_t inode;
        ssize_t n = readlinkat(dirfd(d), f->d_name, target, sizeof target - 1);
        target[n > 0 ? n : 0] = 0;
        if (sscanf(target, "socket:[%" SCNu64 "]", &inode) != 1)
            continue;
        for (size_t i = 0; i < list->count; i++)
            found = found || list->items[i] == inode;
    }
    if (d)
        closedir(d);
    return found;
}

static bool same_program(int64_t a, int64_t b)
{
    char path[64], one[512], other[512];
    snprintf(path, sizeof path, "/proc/%lld/exe", (long long)a);
    ssize_t n = readlink(path, one, sizeof one);
    snprintf(path, sizeof path, "/proc/%lld/exe", (long long)b);
    ssize_t m = readlink(path, other, sizeof other);
    return n > 0 && n == m && memcmp(one, other, (size_t)n) == 0;
}

static bool looks_like_engine(const struct proc *p, bool (*is_engine)(const char *name, const char *command))
{
    struct buf command = {0};
    proc_command(p->pid, COMMAND_BYTES, &command);
    bool is = is_engine(p->name, buf_text(&command));
    buf_done(&command);
    return is;
}

/* A process above is the same server's where it looks like an engine's, or runs the same program in the same group: a
 * server that forks its workers. */
static struct proc topmost(struct proc p, bool (*is_engine)(const char *name, const char *command))
{
    struct proc above;
    for (int level = 0; level < LEVELS && p.ppid > 1 && proc_read(p.ppid, &above); level++) {
        bool part = looks_like_engine(&above, is_engine) || (above.group == p.group && same_program(above.pid, p.pid));
        if (!part)
            break;
        p = above;
    }
    return p;
}

static void add_root(struct serving *s, const struct proc *root)
{
    for (size_t i = 0; i < s->root_count; i++)
        if (s->roots[i].pid == root->pid)
            return;
    if (s->root_count < SERVING_ROOTS_MAX)
        s->roots[s->root_count++] = *root;
}

void serving_find(struct serving *s, const struct sockaddr_storage *addresses, size_t count,
                  bool (*is_engine)(const char *name, const char *command))
{
    must(addresses && count > 0 && is_engine);
    *s = (struct serving){0};
    known_init(&s->known);
    struct inodes sockets = find_sockets(addresses, count);
    s->listens = sockets.count > 0;
    struct proc *all = NULL;
    size_t n = s->listens ? proc_all(&all) : 0;
    for (size_t i = 0; i < n; i++) {
        if (!holds_socket(all[i].pid, &sockets))
            continue;
        struct proc root = topmost(all[i], is_engine);
        if (s->root_count == 0)
            s->listener = all[i];
        add_root(s, &root);
        known_add(&s->known, &all[i]);
    }
    free(all);
}

bool serving_take_container(struct serving *s, const char *id)
{
    struct proc *all = NULL;
    size_t n = proc_all(&all), found = 0;
    for (size_t i = 0; i < n; i++) {
        bool topmost_one = all[i].state != 'Z' && proc_is_in_container(all[i].pid, id) &&
                           (all[i].ppid <= 1 || !proc_is_in_container(all[i].ppid, id)) &&
                           strcmp(all[i].name, "conmon") != 0; /* podman's monitor stands in front of its container */
        if (topmost_one && found++ == 0)
            s->root_count = 0;
        if (topmost_one)
            add_root(s, &all[i]);
    }
    free(all);
    return found > 0;
}

void serving_done(struct serving *s)
{
    known_done(&s->known);
    *s = (struct serving){0};
}

void serving_add(struct serving *s, int64_t pid)
{
    struct proc p;
    if (!proc_read(pid, &p))
        p = (struct proc){.pid = pid};
    known_add(&s->known, &p);
}

static bool is_below_root(const struct serving *s, const struct proc *p)
{
    for (size_t i = 0; i < s->root_count; i++)
        if (p->pid == s->roots[i].pid ? p->start_ticks == s->roots[i].start_ticks : proc_is_below(p, s->roots[i].pid))
            return true;
    return false;
}

int8_t serving_owns(struct serving *s, int64_t pid)
{
    must(pid > 0);
    struct proc p = {0}, *now = proc_read(pid, &p) ? &p : NULL;
    if (known_has(&s->known, pid, now))
        return 1;
    if (now && is_below_root(s, now)) {
        known_add(&s->known, now);
        return 1;
    }
    return s->root_count || s->known.n ? 0 : -1;
}

bool serving_lives(const struct serving *s)
{
    struct proc now;
    for (size_t i = 0; i < s->root_count; i++)
        if (!proc_read(s->roots[i].pid, &now) || now.start_ticks != s->roots[i].start_ticks || now.state == 'Z')
            return false;
    return true;
}

void serving_describe(const struct serving *s, struct buf *b)
{
    if (s->root_count)
        buf_fmt(b, "pid %lld (%s)", (long long)s->listener.pid, s->listener.name);
}
