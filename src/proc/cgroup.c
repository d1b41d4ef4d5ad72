#include "proc/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/must.h"

enum { DIGITS = CONTAINER_ID - 1, CGROUP_BYTES = 8192 };

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static size_t hex_run(struct span text, size_t from)
{
    size_t n = 0;
    while (from + n < text.n && is_hex(text.p[from + n]))
        n++;
    return n;
}

/* "docker-ID.scope", "libpod-ID", "/docker/ID", "cri-containerd-ID.scope": the digits are all that they share. */
bool cgroup_container(struct span text, char ret_id[CONTAINER_ID])
{
    must(text.p || !text.n);
    bool found = false;
    for (size_t i = 0, n; i < text.n; i += n ? n : 1) {
        n = hex_run(text, i);
        if (n != DIGITS)
            continue;
        memcpy(ret_id, text.p + i, DIGITS);
        ret_id[DIGITS] = 0;
        found = true;
    }
    return found;
}

static struct span read_cgroup(int64_t pid, char bytes[CGROUP_BYTES])
{
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%lld/cgroup", (long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && n < CGROUP_BYTES && (got = read(fd, bytes + n, CGROUP_BYTES - n)) > 0;)
        n += (size_t)got;
    if (fd >= 0)
        close(fd);
    return (struct span){bytes, n};
}

bool proc_container(int64_t pid, char ret_id[CONTAINER_ID])
{
    must(pid > 0);
    char bytes[CGROUP_BYTES];
    return cgroup_container(read_cgroup(pid, bytes), ret_id);
}

bool proc_is_in_container(int64_t pid, const char *id)
{
    must(pid > 0 && strlen(id) == DIGITS);
    char bytes[CGROUP_BYTES];
    struct span text = read_cgroup(pid, bytes);
    return text.n && memmem(text.p, text.n, id, DIGITS);
}
