/* A growing byte buffer with a cap. A zeroed struct is a valid, empty buffer without a cap.
 *
 * Appending past the cap stores nothing and sets `overflow`, which stays set until buf_clear: a writer may append a
 * whole document and check once at the end. The bytes are not NUL-terminated, except right after buf_text. */
#ifndef JTOK_BASE_BUF_H
#define JTOK_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/span.h"

struct buf {
    char *p;
    size_t n, capacity;
    size_t max; /* 0: no cap */
    bool overflow;
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */

/* Room for at least `more` further bytes. False past the cap. Amortised O(1) a byte. */
bool buf_reserve(struct buf *b, size_t more);

void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_str(struct buf *b, const char *text);
void buf_byte(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_i64(struct buf *b, int64_t value);

/* Drops the first n bytes. O(rest). */
void buf_consume(struct buf *b, size_t n);

struct span buf_span(const struct buf *b);

/* The content with a NUL behind it; valid until the next change. */
const char *buf_text(struct buf *b);

#endif
