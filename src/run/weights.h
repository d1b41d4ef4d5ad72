/* SHA-256 of a snapshot's files without a trace in the page cache (METHOD section 3, "Cold start").
 *
 * The hub's cache names each large file by its SHA-256: a link into blobs/ whose name is 64 hex digits is taken at its
 * word. Any other file is read once, past the page cache where the file system can, and remembered by path, device,
 * inode, size and both times in a file of the user's cache (XDG_CACHE_HOME or ~/.cache, jtok/digests). */
#ifndef JTOK_RUN_WEIGHTS_H
#define JTOK_RUN_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"
#include "text/digest.h"

struct weights_memory {
    const char *path;            /* of the file; null: nothing is remembered */
    bool (*stopped)(void *self); /* asked often while reading; may be null */
    void *self;
    int64_t read_bytes; /* so far, that were neither named by the hub nor remembered */
};

/* The digest of a regular file (links are followed). False: it could not be read, or the user stopped it
 * (ERR_INTERRUPTED). O(bytes), the second time O(remembered files). */
bool weights_digest(struct weights_memory *m, const char *path, char ret_hex[DIGEST_HEX], struct err *e);

/* The 64 digits that the hub's cache names a file by, or null: `path` must be a link to blobs/<64 hex digits>. The text
 * lies in `room`. */
const char *weights_hub_name(const char *path, char room[DIGEST_HEX]);

/* Appends up to `n` bytes from the front of a file to `to`, without a trace likewise. Returns how many, or -1. */
int64_t weights_front(const char *path, unsigned char *to, size_t n);

/* Appends the header of a safetensors file of `bytes` bytes, its JSON, likewise. False: it has none that can be read.
 * O(header). */
bool weights_header(const char *path, int64_t bytes, struct buf *ret_header);

#endif
