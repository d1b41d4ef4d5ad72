/* Memory by lifetime: many allocations, one release.
 *
 * An arena grows in blocks from malloc. It never gives back a single allocation; arena_done frees all of it at once. A
 * zeroed struct is a valid, empty arena. Out of memory ends the program with a message (there is no sensible way on,
 * and a half-built plan or result must not be used). Not thread-safe: one arena, one thread. */
#ifndef JTOK_BASE_ARENA_H
#define JTOK_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *last;
    size_t used_bytes; /* handed out so far, padding included */
};

/* Zeroed memory, aligned to 16 bytes. size 0 gives a valid pointer. O(size). */
void *arena_alloc(struct arena *a, size_t size);

/* Zeroed array; the product is checked for overflow. */
void *arena_array(struct arena *a, size_t count, size_t size);

/* A copy with a NUL behind it. */
char *arena_copy(struct arena *a, const void *bytes, size_t n);
char *arena_text(struct arena *a, const char *text);

/* The same, null for null: a text that may be absent is kept. */
const char *arena_keep(struct arena *a, const char *text);
char *arena_format(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vformat(struct arena *a, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* A list that grows: `before`, the separator and `text`; `text` where `before` is null, so that a list begins with
 * null. O(bytes). */
static inline const char *arena_join(struct arena *a, const char *before, const char *separator, const char *text)
{
    return before ? arena_format(a, "%s%s%s", before, separator, text) : text;
}

/* Frees everything; the arena is empty and usable again. O(blocks). */
void arena_done(struct arena *a);

/* malloc and realloc that end the program with a message instead of returning null. */
void *mem_alloc(size_t size);
void *mem_zero(size_t count, size_t size);
void *mem_grow(void *old, size_t count, size_t size);

#endif
