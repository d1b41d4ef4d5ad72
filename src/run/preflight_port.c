/* Ports and sockets that the engine will listen on. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/must.h"
#include "proc/tree.h"
#include "run/preflight.h"

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
