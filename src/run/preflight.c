#include "run/preflight.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/must.h"
#include "engine/engine.h"
#include "proc/tree.h"

enum {
    BYTES_A_TOKEN = 40,
    BYTES_A_REQUEST = 400,
    BYTES_BESIDE = 64 << 20,
    TOKENS_A_REQUEST = 4096,
    OTHER_FILES = 256,
};

void preflight_init(struct preflight *p, struct arena *a)
{
    must(a);
    *p = (struct preflight){.arena = a};
}

void preflight_done(struct preflight *p)
{
    free(p->facts);
    free(p->advice);
    p->facts = NULL;
    p->advice = NULL;
    p->fact_count = p->fact_capacity = 0;
}

void preflight_fact(struct preflight *p, const char *name, enum check_outcome outcome, const char *expected,
                    const char *seen)
{
    must(name && outcome < CHECK_OUTCOME_COUNT);
    if (p->fact_count == p->fact_capacity) {
        p->fact_capacity = p->fact_capacity ? 2 * p->fact_capacity : 16;
        p->facts = mem_grow(p->facts, p->fact_capacity, sizeof *p->facts);
        p->advice = mem_grow(p->advice, p->fact_capacity, sizeof *p->advice);
    }
    p->advice[p->fact_count] = NULL;
    p->facts[p->fact_count++] = (struct rec_fact){.name = name, .outcome = outcome, .expected = expected, .seen = seen};
}

void preflight_warn(struct preflight *p, const char *name, const char *expected, const char *seen, const char *advice)
{
    must(advice);
    preflight_fact(p, name, CHECK_NOT_JUDGED, expected, seen);
    p->advice[p->fact_count - 1] = advice;
}

int64_t preflight_record_bytes(int64_t requests, int64_t tokens)
{
    must(requests >= 0 && (tokens >= 0 || tokens == ABSENT_I64));
    if (tokens == ABSENT_I64)
        tokens = TOKENS_A_REQUEST * requests;
    return BYTES_A_TOKEN * tokens + BYTES_A_REQUEST * requests + BYTES_BESIDE;
}

bool preflight_disk(struct preflight *p, const char *folder, int64_t bytes, struct err *e)
{
    must(folder && bytes >= 0);
    struct statvfs s;
    if (statvfs(folder, &s) != 0)
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

/* ---- ports ---- */

/* A socket bound to host:port as a server would; -1 with errno, or with *e for a host that is no address. */
static int bind_port(const char *host, int64_t port, struct err *e)
{
    char service[8];
    snprintf(service, sizeof service, "%d", (int)port);
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int code = getaddrinfo(host, service, &hints, &list);
    if (code != 0) {
        err_set(e, ERR_PLAN,
                "The host \"%s\" (engine.host) is not an address of this machine: %s. Use 127.0.0.1, ::1 or localhost.",
                host, gai_strerror(code));
        return -2;
    }
    int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(fd, list->ai_addr, list->ai_addrlen) != 0 || listen(fd, 1) != 0) {
            int number = errno;
            close(fd);
            errno = number;
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd;
}

/* Inode of the socket that listens on a port, by /proc/net/tcp and tcp6; 0: not found. */
static uint64_t listener_inode(int64_t port)
{
    static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    for (int t = 0; t < 2; t++) {
        FILE *f = fopen(tables[t], "re");
        char line[512];
        while (f && fgets(line, sizeof line, f)) {
            unsigned local = 0, state = 0;
            uint64_t inode = 0;
            int n = sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %" SCNu64, &local,
                           &state, &inode);
            if (n == 3 && local == (unsigned)port && state == 0x0a) {
                fclose(f);
                return inode;
            }
        }
        if (f)
            fclose(f);
    }
    return 0;
}

static bool holds_inode(int64_t pid, const char *link)
{
    char folder[64];
    snprintf(folder, sizeof folder, "/proc/%lld/fd", (long long)pid);
    DIR *d = opendir(folder);
    bool found = false;
    for (struct dirent *f; d && !found && (f = readdir(d));) {
        char target[64];
        ssize_t n = readlinkat(dirfd(d), f->d_name, target, sizeof target - 1);
        if (n > 0) {
            target[n] = 0;
            found = strcmp(target, link) == 0;
        }
    }
    if (d)
        closedir(d);
    return found;
}

/* " by pid 12 (name)"; "" where /proc does not tell. */
static const char *port_holder(struct arena *a, int64_t port)
{
    uint64_t inode = listener_inode(port);
    if (!inode)
        return "";
    char link[64];
    snprintf(link, sizeof link, "socket:[%" PRIu64 "]", inode);
    struct proc *all = NULL;
    size_t n = proc_all(&all), at = 0;
    while (at < n && !holds_inode(all[at].pid, link))
        at++;
    const char *holder = at < n ? arena_format(a, " by pid %lld (%s)", (long long)all[at].pid, all[at].name) : "";
    free(all);
    return holder;
}

bool preflight_port(struct preflight *p, const char *host, int64_t port, struct err *e)
{
    must(port > 0 && port <= 65535);
    int fd = bind_port(host, port, e);
    if (fd == -2)
        return false;
    const char *name = arena_format(p->arena, "%s:%lld", host, (long long)port);
    if (fd >= 0) {
        close(fd);
        preflight_fact(p, "preflight.port", CHECK_PASSED, name, "free");
        return true;
    }
    int number = errno;
    if (number != EADDRINUSE) {
        preflight_fact(p, "preflight.port", CHECK_FAILED, name, arena_text(p->arena, strerror(number)));
        return err_set_errno(e, ERR_SYSTEM, number, "A server could not listen on %s", name);
    }
    const char *holder = port_holder(p->arena, port);
    preflight_fact(p, "preflight.port", CHECK_FAILED, name, arena_format(p->arena, "in use%s", holder));
    return err_set(e, ERR_BUSY, "%s is in use%s. Stop what listens there, or choose another engine.port.", name,
                   holder);
}

bool preflight_unix_socket(struct preflight *p, const char *path, struct err *e)
{
    if (path[0] != '/')
        return err_set(
            e, ERR_PLAN,
            "The socket of engine.host, unix:%s, is not an absolute path: the engine runs in a folder of its own, "
            "so it would make its socket elsewhere. Write the whole path.",
            path);
    bool taken = access(path, F_OK) == 0;
    preflight_fact(p, "preflight.port", taken ? CHECK_FAILED : CHECK_PASSED, path, taken ? "in use" : "free");
    if (!taken)
        return true;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool served = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return err_set(e, ERR_BUSY, "%s exists already and %s. %s, or choose another engine.host.", path,
                   served ? "a server listens there" : "nobody listens there",
                   served ? "Stop that server" : "Remove the file");
}

bool preflight_free_port(const char *host, int64_t *ret_port, struct err *e)
{
    int fd = bind_port(host, 0, e);
    if (fd == -2)
        return false;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.v6 = {0}};
    socklen_t length = sizeof address;
    if (fd < 0 || getsockname(fd, &address.any, &length) != 0) {
        int number = errno;
        if (fd >= 0)
            close(fd);
        return err_set_errno(e, ERR_SYSTEM, number, "No free port was found on %s", host);
    }
    close(fd);
    *ret_port = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
    return true;
}

/* ---- leftovers ---- */

/* jtok carries the engine's command among its arguments, and so do the shells and drivers above it, and another jtok.
 */
static bool is_jtok(const struct proc *p, const char *command)
{
    struct proc self;
    if (p->pid == getpid() || (proc_read(getpid(), &self) && proc_is_below(&self, p->pid)))
        return true;
    size_t n = strcspn(command, " ");
    return n >= 4 && strncmp(command + n - 4, "jtok", 4) == 0 && (n == 4 || command[n - 5] == '/');
}

/* An engine below a living guardian is another run's, and dies with it: nobody left it behind. */
static bool is_guarded(const struct proc *p)
{
    struct proc at = *p;
    while (at.ppid > 1 && proc_read(at.ppid, &at))
        if (strcmp(at.name, "jtok-guardian") == 0)
            return true;
    return false;
}

static bool is_left_behind(const struct proc *p)
{
    enum { COMMAND_BYTES = 512 };
    struct buf command = {0};
    proc_command(p->pid, COMMAND_BYTES, &command);
    const char *text = buf_text(&command);
    bool left = engine_is_process(p->name, text) && !is_jtok(p, text) && !is_guarded(p);
    buf_done(&command);
    return left;
}

void preflight_leftovers(struct preflight *p, size_t *ret_n)
{
    struct proc *all = NULL;
    size_t count = proc_all(&all), n = 0;
    struct buf b = {0};
    for (size_t i = 0; i < count; i++)
        if (is_left_behind(&all[i]))
            buf_fmt(&b, "%spid %lld (%s)", n++ ? ", " : "", (long long)all[i].pid, all[i].name);
    free(all);
    preflight_fact(p, "preflight.leftovers", n ? CHECK_FAILED : CHECK_PASSED, "no engine left behind",
                   n ? arena_text(p->arena, buf_text(&b)) : "none");
    buf_done(&b);
    if (ret_n)
        *ret_n = n;
}
