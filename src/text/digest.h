/* SHA-256 (FIPS 180-4, through libcrypto) of bytes and files. */
#ifndef JTOK_TEXT_DIGEST_H
#define JTOK_TEXT_DIGEST_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/span.h"

enum { DIGEST_HEX = 65 }; /* 64 lowercase hex digits and a NUL */

struct digest; /* running */
struct digest *digest_open(void);
void digest_add(struct digest *d, struct span bytes);
void digest_close(struct digest *d, char ret_hex[DIGEST_HEX]); /* frees d; ret_hex may be null */

void digest_bytes(struct span bytes, char ret_hex[DIGEST_HEX]);

/* Reads the file in blocks of 1 MiB. *ret_size may be null. */
bool digest_file(const char *path, char ret_hex[DIGEST_HEX], int64_t *ret_size, struct err *e);

/* The first 64 bits, for fingerprints in tables. */
uint64_t digest_u64(struct span bytes);

#endif
