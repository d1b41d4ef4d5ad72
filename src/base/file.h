/* Files by what they are. */
#ifndef JTOK_BASE_FILE_H
#define JTOK_BASE_FILE_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"

/* "a FIFO", "a socket", "a folder", "a device", "a symbolic link", "a regular file": what a mode says. Static text. */
const char *file_kind(mode_t mode);

/* Opens a regular file for reading; links to one are followed. Anything else is refused by its kind (ERR_RECORDS), and
 * nothing ever blocks on it: a FIFO would wait for a writer that may never come. Returns the descriptor, or -1. */
int file_open(const char *path, struct err *e);

#endif
