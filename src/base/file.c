#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *file_kind(mode_t mode)
{
    return S_ISREG(mode)    ? "a regular file"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISDIR(mode)  ? "a folder"
           : S_ISLNK(mode)  ? "a symbolic link"
                            : "a device";
}

static int refuse(const char *path, mode_t mode, struct err *e)
{
    err_set(e, ERR_RECORDS, "%s is %s, where only a regular file can be read. Remove it, or put the file in its place.",
            path, file_kind(mode));
    return -1;
}

int file_open(const char *path, struct err *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        /* A socket can't be opened at all; its kind says more than the system's word. */
        int error = errno;
        if (error == ELOOP)
            return refuse(path, S_IFLNK, e);
        if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
            return refuse(path, st.st_mode, e);
        err_set_errno(e, ERR_SYSTEM, error, "cannot open %s", path);
        return -1;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return refuse(path, st.st_mode, e);
}
