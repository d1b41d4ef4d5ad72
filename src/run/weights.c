#include "run/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/must.h"
#include "engine/model_files.h"
#include "base/num.h"

enum { BLOCK = 4 << 20, ALIGNMENT = 4096, LINE_MAX = 4600 };

/* ---- reading past the page cache ---- */

struct quiet {
    int fd;
    bool direct; /* the page cache is not used at all */
    unsigned char *block;
    int64_t at;
};

static bool quiet_open(struct quiet *q, const char *path)
{
    *q = (struct quiet){.fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT), .direct = true};
    if (q->fd < 0 && (errno == EINVAL || errno == EOPNOTSUPP))
        *q = (struct quiet){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (q->fd < 0)
        return false;
    if (!q->direct)
        posix_fadvise(q->fd, 0, 0, POSIX_FADV_RANDOM);               /* no reading ahead of what is wanted */
    must(posix_memalign((void **)&q->block, ALIGNMENT, BLOCK) == 0); /* as everywhere: no memory, no way on */
    return true;
}

static void quiet_close(struct quiet *q)
{
    int error = errno;
    close(q->fd);
    free(q->block);
    errno = error;
}

/* The next bytes into the block; 0: the end, -1: errno. What had to go through the page cache is dropped from it again;
 * what another had there is dropped, too, which snapshot_resident_bytes tells. */
static ssize_t quiet_read(struct quiet *q)
{
    for (;;) {
        ssize_t n = pread(q->fd, q->block, BLOCK, q->at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EINVAL && q->direct) { /* a file system that opens directly and does not read so */
            int flags = fcntl(q->fd, F_GETFL);
            q->direct = false;
            if (fcntl(q->fd, F_SETFL, flags & ~O_DIRECT) != 0)
                return -1;
            continue;
        }
        if (n > 0 && !q->direct)
            posix_fadvise(q->fd, q->at, n, POSIX_FADV_DONTNEED);
        q->at += n > 0 ? n : 0;
        return n;
    }
}

int64_t weights_front(const char *path, unsigned char *to, size_t n)
{
    must(path && (to || n == 0));
    struct quiet q;
    size_t have = 0;
    if (!quiet_open(&q, path))
        return -1;
    ssize_t got = 0;
    while (have < n && (got = quiet_read(&q)) > 0) {
        size_t taken = (size_t)got < n - have ? (size_t)got : n - have;
        memcpy(to + have, q.block, taken);
        have += taken;
    }
    quiet_close(&q);
    return got < 0 ? -1 : (int64_t)have;
}

bool weights_header(const char *path, int64_t bytes, struct buf *ret_header)
{
    enum { LENGTH = 8 }; /* of the number before it */
    must(path && ret_header->n == 0);
    struct quiet q;
    if (!quiet_open(&q, path))
        return false;
    ssize_t got = quiet_read(&q);
    int64_t n = got >= LENGTH ? model_header_bytes(q.block, bytes) : ABSENT_I64;
    for (ssize_t from = LENGTH; n != ABSENT_I64 && got > 0 && ret_header->n < (size_t)n; from = 0) {
        size_t left = (size_t)n - ret_header->n, here = (size_t)(got - from);
        buf_add(ret_header, q.block + from, here < left ? here : left);
        got = ret_header->n < (size_t)n ? quiet_read(&q) : got;
    }
    quiet_close(&q);
    return n != ABSENT_I64 && ret_header->n == (size_t)n;
}

static bool read_digest(struct weights_memory *m, const char *path, char ret_hex[DIGEST_HEX], struct err *e)
{
    struct quiet q;
    if (!quiet_open(&q, path))
        return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be opened to compute its SHA-256", path);
    struct digest *d = digest_open();
    ssize_t n = 0;
    bool stopped = false;
    while (!(stopped = m->stopped && m->stopped(m->self)) && (n = quiet_read(&q)) > 0) {
        digest_add(d, (struct span){(const char *)q.block, (size_t)n});
        m->read_bytes += n;
    }
    int error = errno;
    quiet_close(&q);
    bool good = !stopped && n == 0;
    digest_close(d, good ? ret_hex : NULL);
    if (stopped)
        return err_set(e, ERR_INTERRUPTED, "Interrupted while %s was hashed; nothing was started.", path);
    return good || err_set_errno(e, ERR_SYSTEM, error, "%s can't be read at byte %lld to compute its SHA-256", path,
                                 (long long)q.at);
}

/* ---- names of the hub ---- */

static bool is_hex64(const char *text)
{
    return strspn(text, "0123456789abcdef") == DIGEST_HEX - 1 && text[DIGEST_HEX - 1] == 0;
}

const char *weights_hub_name(const char *path, char room[DIGEST_HEX])
{
    char target[4096];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 0)
        return NULL;
    target[n] = 0;
    const char *name = strrchr(target, '/');
    static const char blobs[] = "/blobs";
    size_t before = name ? (size_t)(name - target) : 0;
    if (!name || before < sizeof blobs - 1 || memcmp(name - (sizeof blobs - 1), blobs, sizeof blobs - 1) != 0 ||
        !is_hex64(name + 1))
        return NULL;
    memcpy(room, name + 1, DIGEST_HEX);
    return room;
}

/* ---- remembered ---- */

/* What must be the same for a file to be taken for the same. */
static int key_of(const char *path, const struct stat *s, char *ret_line)
{
    return snprintf(ret_line, LINE_MAX, "%lld %llu %llu %lld.%09ld %lld.%09ld %s\n", (long long)s->st_size,
                    (unsigned long long)s->st_dev, (unsigned long long)s->st_ino, (long long)s->st_mtim.tv_sec,
                    s->st_mtim.tv_nsec, (long long)s->st_ctim.tv_sec, s->st_ctim.tv_nsec, path);
}

static bool remembered(const struct weights_memory *m, const char *key, char ret_hex[DIGEST_HEX])
{
    FILE *f = m->path ? fopen(m->path, "re") : NULL;
    char line[LINE_MAX + DIGEST_HEX];
    bool found = false;
    while (f && fgets(line, sizeof line, f))
        if (strlen(line) > DIGEST_HEX && line[DIGEST_HEX - 1] == ' ' && strcmp(line + DIGEST_HEX, key) == 0) {
            memcpy(ret_hex, line, DIGEST_HEX - 1);
            ret_hex[DIGEST_HEX - 1] = 0;
            found = is_hex64(ret_hex);
        }
    if (f)
        fclose(f);
    return found;
}

/* One write, so that lines of two programs never mix. A cache that can't be written is no error: the file is read again
 * next time. */
static void remember(const struct weights_memory *m, const char *key, const char *hex)
{
    char line[LINE_MAX + DIGEST_HEX];
    int fd = m->path ? open(m->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    int n = snprintf(line, sizeof line, "%s %s", hex, key);
    if (fd < 0)
        return;
    if (n > 0 && (size_t)n < sizeof line && write(fd, line, (size_t)n) != n)
        errno = 0;
    close(fd);
}

bool weights_digest(struct weights_memory *m, const char *path, char ret_hex[DIGEST_HEX], struct err *e)
{
    must(m && path);
    char key[LINE_MAX], room[DIGEST_HEX];
    struct stat before, after;
    const char *name = weights_hub_name(path, room);
    if (name) {
        memcpy(ret_hex, name, DIGEST_HEX);
        return true;
    }
    if (stat(path, &before) != 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "The state of %s can't be read", path);
    bool keyed = key_of(path, &before, key) < LINE_MAX;
    if (keyed && remembered(m, key, ret_hex))
        return true;
    if (!read_digest(m, path, ret_hex, e))
        return false;
    char now[LINE_MAX];
    if (keyed && stat(path, &after) == 0 && key_of(path, &after, now) < LINE_MAX && strcmp(now, key) == 0)
        remember(m, key, ret_hex);
    return true;
}
