#include "text/digest.h"

/* The plain SHA-256 functions, not the EVP interface: they use the processor's SHA instructions all the same, and a
 * static link takes 20 KB of the library instead of 3 MB. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <assert.h>
#include <errno.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/file.h"
#include "base/must.h"

enum { BLOCK = 1024 * 1024 };

struct digest {
    SHA256_CTX state;
};

struct digest *digest_open(void)
{
    struct digest *d = mem_alloc(sizeof *d);
    SHA256_Init(&d->state);
    return d;
}

void digest_add(struct digest *d, struct span bytes)
{
    assert(d && (bytes.p || bytes.n == 0));
    if (bytes.n)
        SHA256_Update(&d->state, bytes.p, bytes.n);
}

static void finish_digest(SHA256_CTX *state, char ret_hex[DIGEST_HEX])
{
    uint8_t raw[SHA256_DIGEST_LENGTH];
    SHA256_Final(raw, state);
    for (size_t i = 0; i < sizeof raw; i++) {
        ret_hex[2 * i] = "0123456789abcdef"[raw[i] >> 4];
        ret_hex[2 * i + 1] = "0123456789abcdef"[raw[i] & 15];
    }
    ret_hex[2 * sizeof raw] = 0;
}

void digest_close(struct digest *d, char ret_hex[DIGEST_HEX])
{
    if (d && ret_hex)
        finish_digest(&d->state, ret_hex);
    free(d);
}

void digest_bytes(struct span bytes, char ret_hex[DIGEST_HEX])
{
    struct digest *d = digest_open();
    digest_add(d, bytes);
    digest_close(d, ret_hex);
}

static bool add_file(struct digest *d, int fd, char *block, int64_t *size)
{
    for (;;) {
        ssize_t n = read(fd, block, BLOCK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        digest_add(d, (struct span){block, (size_t)n});
        *size += n;
    }
}

bool digest_file(const char *path, char ret_hex[DIGEST_HEX], int64_t *ret_size, struct err *e)
{
    must(path);
    int fd = file_open(path, e);
    if (fd < 0)
        return false;
    struct digest *d = digest_open();
    char *block = mem_alloc(BLOCK);
    int64_t size = 0;
    bool ok = add_file(d, fd, block, &size);
    int error = errno;
    free(block);
    close(fd);
    digest_close(d, ok ? ret_hex : NULL);
    if (!ok)
        return err_set_errno(e, ERR_SYSTEM, error, "%s can't be read at byte %lld to compute its SHA-256", path,
                             (long long)size);
    if (ret_size)
        *ret_size = size;
    return true;
}

uint64_t digest_u64(struct span bytes)
{
    assert(bytes.p || bytes.n == 0);
    char hex[DIGEST_HEX];
    digest_bytes(bytes, hex);
    hex[16] = 0;
    return strtoull(hex, NULL, 16);
}
