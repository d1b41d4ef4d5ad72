/* Whole files, compressed or not, as they are read; and the compressed form that jtok writes. */
#ifndef JTOK_TEXT_FILE_READ_H
#define JTOK_TEXT_FILE_READ_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "text/digest.h"

/* Appends a regular file's content to b (anything else is refused, base/file.h): plain, gzip (.gz, by its magic bytes)
 * or zstd (by its magic bytes). A cut or damaged compressed file is an error that names the offset in the file. Content
 * over `max` bytes (0: no limit) or over b's cap is an error. b keeps its old content on failure. O(content). */
bool file_read(const char *path, uint64_t max, struct buf *b, struct err *e);

/* The same of a user's own input, which may be a pipe or a terminal, with the SHA-256 of the bytes as they were read,
 * compressed or not. It is opened and read once: the hash is that of the content. A pipe is waited for until its last
 * writer has closed it, or until stop_fd (-1: none) can be read: ERR_INTERRUPTED. */
bool file_read_input(const char *path, uint64_t max, int stop_fd, struct buf *b, char ret_sha256[DIGEST_HEX],
                     struct err *e);

/* Compresses `from` into the new file `to` (must not exist) with zstd level 1 and a checksum, and flushes it to the
 * disk. Leaves no `to` behind on failure. */
bool file_compress(const char *from, const char *to, struct err *e);

#endif
