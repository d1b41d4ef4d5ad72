#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/must.h"

const char *file_kind(mode_t mode)
{
    return S_ISREG(mode)    ? "a regular file"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISDIR(mode)  ? "a folder"
           : S_ISLNK(mode)  ? "a symbolic link"
                            : "a device";
}

static int refuse_kind(const char *path, mode_t mode, struct err *e)
{
    err_set(e, ERR_RECORDS,
            "%s is %s, but only a regular file can be read. Remove it, or put the right file in its place.", path,
            file_kind(mode));
    return -1;
}

int file_open(const char *path, struct err *e)
{
    must(path);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        /* A socket can't be opened at all; its kind says more than the system's word. */
        int error = errno;
        if (error == ELOOP)
            return refuse_kind(path, S_IFLNK, e);
        if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
            return refuse_kind(path, st.st_mode, e);
        err_set_errno(e, ERR_SYSTEM, error, "%s can't be opened", path);
        return -1;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return refuse_kind(path, st.st_mode, e);
}

const char *path_name(const char *path)
{
    must(path);
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

struct path path_in(const char *folder, const char *name)
{
    must(folder && name);
    struct path p;
    if (snprintf(p.text, sizeof p.text, "%s/%s", folder, name) >= (int)sizeof p.text)
        p.text[0] = 0;
    return p;
}

bool file_scratch_folder(const char *what, struct path *ret_path, struct err *e)
{
    must(what && *what);
    const char *base = getenv("TMPDIR");
    struct path name;
    snprintf(name.text, sizeof name.text, "jtok-%s-XXXXXX", what);
    base = base && *base ? base : "/tmp";
    struct path path = path_in(base, name.text);
    if (!mkdtemp(path.text))
        return err_set_errno(e, ERR_SYSTEM, errno, "A scratch folder %s can't be made in %s", name.text, base);
    *ret_path = path;
    return true;
}

mode_t path_mode(const char *folder, const char *name)
{
    struct stat st;
    return lstat(path_in(folder, name).text, &st) == 0 ? st.st_mode : 0;
}

bool path_exists(const char *folder, const char *name)
{
    struct stat st;
    return stat(path_in(folder, name).text, &st) == 0;
}

int file_create(const char *path, struct err *e)
{
    must(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        err_set_errno(e, ERR_SYSTEM, errno, "%s can't be created", path);
    return fd;
}

bool file_write(int fd, const char *path, struct span bytes, struct err *e)
{
    must(fd >= 0);
    while (bytes.n) {
        ssize_t written = write(fd, bytes.p, bytes.n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be written", path);
        bytes.p += written;
        bytes.n -= (size_t)written;
    }
    return true;
}

bool file_finish(int fd, const char *path, bool good, struct err *e)
{
    must(fd >= 0);
    if (good && fsync(fd) != 0)
        good = err_set_errno(e, ERR_SYSTEM, errno, "%s can't be flushed to the disk", path);
    if (close(fd) != 0 && good)
        good = err_set_errno(e, ERR_SYSTEM, errno, "%s can't be closed", path);
    if (!good)
        unlink(path);
    return good;
}

bool file_write_new(const char *path, struct span content, struct err *e)
{
    int fd = file_create(path, e);
    return fd >= 0 && file_finish(fd, path, file_write(fd, path, content, e), e);
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *walk)
{
    (void)s, (void)type, (void)walk;
    remove(path);
    return 0;
}

void file_remove_folder(const char *path)
{
    must(path && *path);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

bool file_sync_folder(const char *folder, struct err *e)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    return good || err_set_errno(e, ERR_SYSTEM, error, "The folder %s can't be flushed to the disk", folder);
}
