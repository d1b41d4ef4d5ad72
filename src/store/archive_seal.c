#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/must.h"
#include "store/archive_private.h"
#include "text/file_read.h"

/* A run folder holds regular files and the engine's folders. What else lies there is no record: it could not be sealed,
 * and might block whoever opens it. */
static bool only_files(const char *folder, const struct file_names *files, struct err *e)
{
    for (size_t i = 0; i < files->count; i++) {
        mode_t mode = path_mode(folder, files->items[i]);
        if (!S_ISREG(mode))
            return err_set(e, ERR_RECORDS, "%s/%s is %s, but only regular files can be sealed. Remove it.", folder,
                           files->items[i], file_kind(mode));
    }
    return true;
}

/* Does the open file hold exactly these bytes? */
static bool holds_text(int fd, struct span text)
{
    enum { BLOCK = 1 << 20 };
    char *block = mem_alloc(BLOCK);
    ssize_t n;
    while ((n = read(fd, block, BLOCK)) > 0) {
        if ((size_t)n > text.n || memcmp(block, text.p, (size_t)n) != 0)
            break;
        text.p += n;
        text.n -= (size_t)n;
    }
    free(block);
    return n == 0 && text.n == 0;
}

/* Does `packed` unpack to exactly what `plain` holds? */
static bool packed_equals(const char *packed, const char *plain, bool *ret_equal, struct err *e)
{
    int fd = file_open(plain, e);
    if (fd < 0)
        return false;
    struct buf text = {0};
    struct err unreadable;
    *ret_equal = file_read(packed, 0, &text, &unreadable) && holds_text(fd, buf_span(&text));
    close(fd);
    buf_done(&text);
    return true;
}

/* A .zst beside the plain file comes from a seal that was broken off: *ret_equal, or it is removed. */
static bool take_up_packed(const char *packed, const char *plain, bool *ret_equal, struct err *e)
{
    *ret_equal = false;
    if (access(packed, F_OK) != 0)
        return true;
    if (!packed_equals(packed, plain, ret_equal, e))
        return false;
    return *ret_equal || unlink(packed) == 0 ||
           err_set_errno(e, ERR_SYSTEM, errno, "%s, half-written by an earlier seal, can't be removed", packed);
}

/* NAME to NAME.zst. */
static bool pack(const char *folder, const char *name, struct err *e)
{
    if (!path_exists(folder, name))
        return true;
    char packed_name[64];
    snprintf(packed_name, sizeof packed_name, "%s.zst", name);
    struct path plain = path_in(folder, name), packed = path_in(folder, packed_name);
    bool equal;
    if (!take_up_packed(packed.text, plain.text, &equal, e))
        return false;
    if (!equal && (!file_compress(plain.text, packed.text, e) || !packed_equals(packed.text, plain.text, &equal, e)))
        return false;
    if (!equal)
        return err_set(e, ERR_SYSTEM,
                       "%s does not unpack to what %s holds: the disk or the memory is faulty. The plain file is kept.",
                       packed.text, plain.text);
    return unlink(plain.text) == 0 ||
           err_set_errno(e, ERR_SYSTEM, errno, "%s can't be removed after it was packed", plain.text);
}

static bool hash_all(const char *folder, const struct file_names *files, struct buf *sums, struct err *e)
{
    for (size_t i = 0; i < files->count; i++) {
        char hex[DIGEST_HEX];
        if (!digest_file(path_in(folder, files->items[i]).text, hex, NULL, e))
            return false;
        buf_fmt(sums, "%s  %s\n", hex, files->items[i]);
    }
    return true;
}

/* What is listed afterwards is whole on the disk: written under another name, flushed, renamed. */
static bool write_sums(const char *folder, struct span sums, struct err *e)
{
    struct path from = path_in(folder, SUMS_NEW), to = path_in(folder, SUMS_NAME);
    if (!file_write_new(from.text, sums, e))
        return false;
    if (rename(from.text, to.text) != 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be put in its place", to.text);
    return file_sync_folder(folder, e);
}

bool archive_seal(const char *folder, struct err *e)
{
    must(folder);
    static const char *const big[] = {"chunks.csv", "buffer.csv", "metrics.prom", "engine.log"};
    if (archive_is_sealed(folder))
        return err_set(e, ERR_RECORDS, "%s is already sealed.", folder);
    struct arena a = {0};
    struct file_names files = {0};
    struct buf sums = {0};
    unlink(path_in(folder, SUMS_NEW).text);
    unlink(path_in(folder, RUN_NEW).text);
    bool good = archive_files(folder, &a, &files, e) && only_files(folder, &files, e);
    for (size_t i = 0; i < sizeof big / sizeof *big && good; i++)
        good = pack(folder, big[i], e);
    good = good && archive_files(folder, &a, &files, e) && hash_all(folder, &files, &sums, e) &&
           write_sums(folder, buf_span(&sums), e);
    buf_done(&sums);
    arena_done(&a);
    return good;
}

/* ---- what is derived ---- */

static bool append_sum(const char *folder, const char *name, const char *hex, struct err *e)
{
    struct path path = path_in(folder, SUMS_NAME);
    char line[DIGEST_HEX + 300];
    int n = snprintf(line, sizeof line, "%s  %s\n", hex, name);
    must(n > 0 && n < (int)sizeof line);
    int fd = open(path.text, O_WRONLY | O_APPEND | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, line, (size_t)n) == n && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    return good || err_set_errno(e, ERR_SYSTEM, error, "The hash of %s can't be added to %s", name, path.text);
}

bool archive_add(const char *folder, const char *name, struct span content, struct err *e)
{
    must(archive_is_derived(span_of(name)));
    if (!archive_is_sealed(folder))
        return err_set(e, ERR_RECORDS, "%s is not sealed, but %s is made from sealed records only.", folder, name);
    char hex[DIGEST_HEX], there[DIGEST_HEX];
    struct path path = path_in(folder, name);
    struct sealed_name sealed;
    digest_bytes(content, hex);
    if (!archive_sealed_name(folder, name, hex, &sealed, e))
        return false;
    if (sealed.listed && !sealed.equal)
        return err_set(e, ERR_RECORDS, "%s is sealed with different content. Nothing was overwritten.", path.text);
    if (path_exists(folder, name)) {
        if (!digest_file(path.text, there, NULL, e))
            return false;
        if (strcmp(hex, there) != 0)
            return err_set(e, ERR_RECORDS, "%s exists with different content. Nothing was overwritten.", path.text);
    } else if (!file_write_new(path.text, content, e)) {
        return false;
    }
    return (sealed.listed || append_sum(folder, name, hex, e)) && file_sync_folder(folder, e);
}
