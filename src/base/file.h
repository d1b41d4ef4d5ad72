/* Files: paths, kinds, and new files that are whole on the disk or not there at all. Reading: text/file_read.h. */
#ifndef JTOK_BASE_FILE_H
#define JTOK_BASE_FILE_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"
#include "base/span.h"

/* "a FIFO", "a socket", "a folder", "a device", "a symbolic link", "a regular file": what a mode says. Static text. */
const char *file_kind(mode_t mode);

/* Opens a regular file for reading; links to one are followed. Anything else is refused by its kind (ERR_RECORDS), and
 * nothing ever blocks on it: a FIFO would wait for a writer that may never come. Returns the descriptor, or -1. */
int file_open(const char *path, struct err *e);

/* FOLDER/NAME. One that is too long is empty, and fails when it is opened. */
struct path {
    char text[4096];
};
struct path path_in(const char *folder, const char *name);

/* What stands behind the last slash of a path that does not end in one, else the path itself. Part of it. */
const char *path_name(const char *path);

/* What a name in a folder is, links not followed; 0: nothing is there. */
mode_t path_mode(const char *folder, const char *name);

/* Is it there, links followed? */
bool path_exists(const char *folder, const char *name);

/* Writes a new file (must not exist) and flushes it. Leaves nothing behind on failure. */
bool file_write_new(const char *path, struct span content, struct err *e);

/* The same in steps: the descriptor of a new file, or -1; bytes for it; and its end, which flushes and closes it, or
 * removes it where `good` is false or that fails. */
int file_create(const char *path, struct err *e);
bool file_write(int fd, const char *path, struct span bytes, struct err *e);
bool file_finish(int fd, const char *path, bool good, struct err *e);

/* A new folder for this user alone, "jtok-WHAT-" and six letters, below $TMPDIR or else /tmp. */
bool file_scratch_folder(const char *what, struct path *ret_path, struct err *e);

/* Removes a folder with all that is in it, as far as it can be removed; links are not followed, other file systems not
 * entered. Nothing where it is not there. O(files). */
void file_remove_folder(const char *path);

/* Makes the names in a folder, not the contents, last over a power cut. */
bool file_sync_folder(const char *folder, struct err *e);

#endif
