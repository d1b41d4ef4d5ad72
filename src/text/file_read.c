#include "text/file_read.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include "base/arena.h"
#include "base/file.h"
#include "base/must.h"

/* On a million recorded chunks, level 1 takes 0.2 s for 7.5 MB and level 9 takes 2.4 s for 6.9 MB, and reads back
 * slower. */
enum { BLOCK = 256 * 1024, ZSTD_LEVEL = 1 };

/* A file read block by block. `at` bytes of the block are used up; `offset` is where the block lies in the file. */
struct source {
    const char *path;
    int fd;
    unsigned char *block;
    size_t n, at;
    uint64_t offset;
    struct digest *digest; /* of what was read; null: none */
    bool waits;            /* it may be a pipe: each read waits for bytes, or for stop_fd */
    int stop_fd;
};

static void source_init(struct source *s, const char *path, int fd)
{
    *s = (struct source){.path = path, .fd = fd, .block = mem_alloc(BLOCK)};
}

static bool source_open(struct source *s, const char *path, struct err *e)
{
    int fd = file_open(path, e);
    if (fd >= 0)
        source_init(s, path, fd);
    return fd >= 0;
}

/* Until there is something to read, or the end. A descriptor that poll can't watch is always ready. */
static bool wait_for_bytes(const struct source *s, struct err *e)
{
    struct pollfd all[] = {{.fd = s->fd, .events = POLLIN}, {.fd = s->stop_fd, .events = POLLIN}};
    while (poll(all, 2, -1) < 0)
        if (errno != EINTR)
            return err_set_errno(e, ERR_SYSTEM, errno, "Waiting for %s failed", s->path);
    return !all[1].revents || err_set(e, ERR_INTERRUPTED, "Interrupted while reading %s.", s->path);
}

static void source_close(struct source *s)
{
    close(s->fd);
    free(s->block);
}

/* Refills a block that is used up as full as the file allows; n == at afterwards means the end of the file. */
static bool source_fill(struct source *s, struct err *e)
{
    assert(s->at <= s->n && s->n <= BLOCK);
    if (s->at < s->n)
        return true;
    s->offset += s->n;
    s->at = s->n = 0;
    while (s->n < BLOCK) {
        if (s->waits && !wait_for_bytes(s, e))
            return false;
        ssize_t n = read(s->fd, s->block + s->n, BLOCK - s->n);
        if (n == 0)
            break;
        if (n > 0) {
            if (s->digest)
                digest_add(s->digest, (struct span){(const char *)s->block + s->n, (size_t)n});
            s->n += (size_t)n;
        } else if (errno != EINTR && errno != EAGAIN) {
            unsigned long long at = s->offset + s->n;
            return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be read at byte %llu", s->path, at);
        }
    }
    return true;
}

static unsigned long long source_offset(const struct source *s)
{
    return s->offset + s->at;
}

/* Where decompressed bytes go: behind what the buffer held before, at most `max` of them. */
struct target {
    struct buf *b;
    size_t before;
    uint64_t max;
    const char *path;
};

static bool too_large(const char *path, uint64_t max, struct err *e)
{
    return err_set(e, ERR_RECORDS, "%s holds more than the %llu bytes that are allowed for it.", path,
                   (unsigned long long)max);
}

static bool target_add(struct target *t, const void *bytes, size_t n, struct err *e)
{
    assert(t->b->n >= t->before);
    buf_add(t->b, bytes, n);
    uint64_t max = t->max;
    if (t->b->max && (max == 0 || t->b->max - t->before < max))
        max = t->b->max - t->before;
    if (t->b->overflow || (max && t->b->n - t->before > max))
        return too_large(t->path, max, e);
    return true;
}

static bool read_plain(struct source *s, struct target *t, struct err *e)
{
    struct stat st;
    /* Told before it is read: it may have holes, and be larger than the memory. */
    if (t->max && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size > t->max)
        return too_large(t->path, t->max, e);
    while (s->at < s->n) {
        if (!target_add(t, s->block + s->at, s->n - s->at, e))
            return false;
        s->at = s->n;
        if (!source_fill(s, e))
            return false;
    }
    return true;
}

static bool inflate_members(struct source *s, struct target *t, z_stream *z, unsigned char *out, struct err *e)
{
    for (bool ended = false;;) {
        if (!source_fill(s, e))
            return false;
        if (s->at == s->n)
            return ended || err_set(e, ERR_RECORDS, "%s is cut short: its gzip data end at byte %llu.", s->path,
                                    source_offset(s));
        if (ended)
            inflateReset(z);
        z->next_in = s->block + s->at;
        z->avail_in = (uInt)(s->n - s->at);
        int code;
        do {
            z->next_out = out;
            z->avail_out = BLOCK;
            code = inflate(z, Z_NO_FLUSH);
            s->at = s->n - z->avail_in;
            if (!target_add(t, out, BLOCK - z->avail_out, e))
                return false;
        } while (code == Z_OK && z->avail_out == 0);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return err_set(e, ERR_RECORDS, "%s is damaged: its gzip data are wrong near byte %llu (%s).", s->path,
                           source_offset(s), z->msg ? z->msg : zError(code));
        ended = code == Z_STREAM_END;
    }
}

static bool read_gzip(struct source *s, struct target *t, unsigned char *out, struct err *e)
{
    z_stream z = {0};
    if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
        return err_set(e, ERR_SYSTEM, "%s can't be read: zlib is out of memory.", s->path);
    bool ok = inflate_members(s, t, &z, out, e);
    inflateEnd(&z);
    return ok;
}

static bool read_frames(struct source *s, struct target *t, ZSTD_DStream *z, unsigned char *room, struct err *e)
{
    size_t code = 0;
    for (;;) {
        if (!source_fill(s, e))
            return false;
        if (s->at == s->n)
            return code == 0 || err_set(e, ERR_RECORDS, "%s is cut short: its zstd data end at byte %llu.", s->path,
                                        source_offset(s));
        ZSTD_inBuffer in = {s->block, s->n, s->at};
        ZSTD_outBuffer out;
        do {
            out = (ZSTD_outBuffer){room, BLOCK, 0};
            code = ZSTD_decompressStream(z, &out, &in);
            s->at = in.pos;
            if (ZSTD_isError(code))
                return err_set(e, ERR_RECORDS, "%s is damaged: its zstd data are wrong near byte %llu (%s).", s->path,
                               source_offset(s), ZSTD_getErrorName(code));
            if (!target_add(t, room, out.pos, e))
                return false;
            /* A complete frame (code 0) is flushed too; asking again would begin the next one. */
        } while (in.pos < in.size || (code != 0 && out.pos == out.size));
    }
}

static bool read_zstd(struct source *s, struct target *t, unsigned char *out, struct err *e)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    if (!z)
        return err_set(e, ERR_SYSTEM, "%s can't be read: zstd is out of memory.", s->path);
    bool ok = read_frames(s, t, z, out, e);
    ZSTD_freeDStream(z);
    return ok;
}

static bool starts(const struct source *s, const char *magic, size_t n)
{
    return s->n >= n && memcmp(s->block, magic, n) == 0;
}

/* The rest of an open source, which is closed. */
static bool read_whole(struct source *s, uint64_t max, struct buf *b, struct err *e)
{
    struct target t = {b, b->n, max, s->path};
    bool overflow = b->overflow;
    b->overflow = false;
    bool ok = source_fill(s, e);
    if (ok && (starts(s, "\x1f\x8b", 2) || starts(s, "\x28\xb5\x2f\xfd", 4))) {
        unsigned char *out = mem_alloc(BLOCK);
        ok = s->block[0] == 0x1f ? read_gzip(s, &t, out, e) : read_zstd(s, &t, out, e);
        free(out);
    } else if (ok) {
        ok = read_plain(s, &t, e);
    }
    source_close(s);
    if (!ok)
        b->n = t.before;
    b->overflow = overflow;
    return ok;
}

bool file_read(const char *path, uint64_t max, struct buf *b, struct err *e)
{
    must(path && b);
    struct source s;
    return source_open(&s, path, e) && read_whole(&s, max, b, e);
}

bool file_read_input(const char *path, uint64_t max, int stop_fd, struct buf *b, char ret_sha256[DIGEST_HEX],
                     struct err *e)
{
    must(path && b);
    /* Non-blocking, so that a pipe without a writer is waited for below, where stop_fd ends the wait. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be opened", path);
    struct source s;
    struct digest *digest = digest_open();
    source_init(&s, path, fd);
    s.digest = digest;
    s.waits = true;
    s.stop_fd = stop_fd;
    bool read = read_whole(&s, max, b, e);
    digest_close(digest, read ? ret_sha256 : NULL);
    return read;
}

static bool compress_all(struct source *s, ZSTD_CCtx *z, int fd, const char *path, unsigned char *room, struct err *e)
{
    for (;;) {
        if (!source_fill(s, e))
            return false;
        ZSTD_EndDirective directive = s->n < BLOCK ? ZSTD_e_end : ZSTD_e_continue;
        ZSTD_inBuffer in = {s->block, s->n, 0};
        size_t left;
        do {
            ZSTD_outBuffer out = {room, BLOCK, 0};
            left = ZSTD_compressStream2(z, &out, &in, directive);
            if (ZSTD_isError(left))
                return err_set(e, ERR_SYSTEM, "%s can't be compressed: %s.", s->path, ZSTD_getErrorName(left));
            if (!file_write(fd, path, (struct span){(const char *)room, out.pos}, e))
                return false;
        } while (directive == ZSTD_e_end ? left > 0 : in.pos < in.size);
        s->at = s->n;
        if (directive == ZSTD_e_end)
            return true;
    }
}

bool file_compress(const char *from, const char *to, struct err *e)
{
    must(from && to);
    struct source s;
    if (!source_open(&s, from, e))
        return false;
    int fd = file_create(to, e);
    bool ok = fd >= 0;
    if (ok) {
        ZSTD_CCtx *z = ZSTD_createCCtx();
        unsigned char *room = mem_alloc(BLOCK);
        ok = z && !ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
             !ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1));
        if (!ok)
            err_set(e, ERR_SYSTEM, "%s can't be compressed: zstd is out of memory.", from);
        ok = ok && compress_all(&s, z, fd, to, room, e);
        free(room);
        ZSTD_freeCCtx(z);
        ok = file_finish(fd, to, ok, e);
    }
    source_close(&s);
    return ok;
}
