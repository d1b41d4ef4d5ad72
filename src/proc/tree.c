#include "proc/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/must.h"

static ssize_t read_small(const char *path, char *bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t n = 0;
    for (ssize_t got; n < size && (got = read(fd, bytes + n, size - n)) > 0;)
        n += (size_t)got;
    close(fd);
    return (ssize_t)n;
}

bool proc_read(int64_t pid, struct proc *ret_proc)
{
    must(ret_proc);
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    ssize_t n = read_small(path, line, sizeof line - 1);
    if (n <= 0)
        return false;
    line[n] = 0;
    /* "pid (name) state ppid ...": the name may hold anything, brackets too, so the last bracket ends it. */
    char *open = strchr(line, '('), *close = strrchr(line, ')');
    if (!open || !close || close < open)
        return false;
    struct proc p = {.pid = pid};
    long long ppid, group, session;
    unsigned long long start;
    if (sscanf(close + 1, " %c %lld %lld %lld %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &p.state, &ppid, &group, &session, &start) != 5)
        return false;
    p.ppid = ppid;
    p.group = group;
    p.session = session;
    p.start_ticks = start;
    snprintf(p.name, sizeof p.name, "%.*s", (int)(close - open - 1), open + 1);
    *ret_proc = p;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    int64_t x = ((const struct proc *)a)->pid, y = ((const struct proc *)b)->pid;
    return (x > y) - (x < y);
}

size_t proc_all(struct proc **ret_list)
{
    DIR *folder = opendir("/proc");
    if (!folder)
        return 0;
    struct proc *list = NULL;
    size_t n = 0, capacity = 0;
    for (struct dirent *d; (d = readdir(folder));) {
        char *end;
        long long pid = strtoll(d->d_name, &end, 10);
        if (!isdigit((unsigned char)d->d_name[0]) || *end)
            continue;
        if (n == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            list = mem_grow(list, capacity, sizeof *list);
        }
        n += proc_read(pid, &list[n]);
    }
    closedir(folder);
    if (n)
        qsort(list, n, sizeof *list, by_pid);
    *ret_list = list;
    return n;
}

size_t proc_below(int64_t root, struct proc **ret_list)
{
    must(root > 0 && ret_list);
    struct proc *all = NULL;
    size_t n = proc_all(&all), kept = 0;
    bool *below = mem_zero(n + 1, sizeof *below);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            if (below[i])
                continue;
            struct proc key = {.pid = all[i].ppid};
            struct proc *parent = bsearch(&key, all, n, sizeof *all, by_pid);
            if (all[i].ppid == root || (parent && below[parent - all]))
                below[i] = more = true;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (below[i])
            all[kept++] = all[i];
    free(below);
    if (kept == 0) {
        free(all);
        all = NULL;
    }
    *ret_list = all;
    return kept;
}

bool proc_is_below(const struct proc *p, int64_t root)
{
    must(root > 0);
    struct proc at = *p;
    for (int level = 0; level < 128; level++) {
        if (at.ppid == root)
            return true;
        if (at.ppid <= 1 || !proc_read(at.ppid, &at))
            return false;
    }
    return false;
}

void proc_signal(const struct proc *p, int number)
{
    must(p->pid > 1 && number > 0); /* 0 and -1 would mean whole groups */
    /* The pidfd pins the process; only then is it compared with the one that was seen. */
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)p->pid, 0);
    struct proc now;
    if (fd >= 0) {
        if (proc_read(p->pid, &now) && now.start_ticks == p->start_ticks)
            syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
        close(fd);
    } else if (proc_read(p->pid, &now) && now.start_ticks == p->start_ticks) {
        kill((pid_t)p->pid, number); /* before Linux 5.3, or a descriptor limit */
    }
}

void proc_kill_below(int64_t root)
{
    must(root > 0);
    struct proc *list;
    size_t n = proc_below(root, &list);
    for (size_t i = 0; i < n; i++)
        if (list[i].state != 'Z')
            proc_signal(&list[i], SIGKILL);
    free(list);
}

bool proc_reap(int64_t pid, bool *ret_ended, int *ret_status)
{
    int status;
    pid_t ended;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
        if (ended != (pid_t)pid)
            continue;
        *ret_ended = true;
        *ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return !(ended < 0 && errno == ECHILD);
}

void proc_command(int64_t pid, size_t max, struct buf *b)
{
    must(pid > 0);
    char path[64], bytes[4096];
    snprintf(path, sizeof path, "/proc/%lld/cmdline", (long long)pid);
    ssize_t n = read_small(path, bytes, max < sizeof bytes ? max : sizeof bytes);
    while (n > 0 && (bytes[n - 1] == 0 || bytes[n - 1] == ' '))
        n--;
    for (ssize_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        buf_byte(b, c == 0 ? ' ' : c < 32 || c == 127 ? '?' : (char)c);
    }
}

void proc_words(int64_t pid, size_t max, struct buf *b)
{
    must(pid > 0);
    char path[64], bytes[4096];
    snprintf(path, sizeof path, "/proc/%lld/cmdline", (long long)pid);
    ssize_t n = read_small(path, bytes, max < sizeof bytes ? max : sizeof bytes);
    if (n > 0)
        buf_add(b, bytes, (size_t)n);
}

bool proc_has_own_ids(void)
{
    static const ino_t first = 0xEFFFFFFC; /* the machine's own, fixed in Linux */
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != first;
}
