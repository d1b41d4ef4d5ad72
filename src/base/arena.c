#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/must.h"

enum { ALIGN = 16, BLOCK_MIN = 64 * 1024 };

struct arena_block {
    struct arena_block *previous;
    size_t used, size;
    _Alignas(ALIGN) unsigned char bytes[];
};

static void out_of_memory(size_t size)
{
    fprintf(stderr, "jtok: out of memory: the system refused %zu bytes. Free memory or run fewer requests at once.\n",
            size);
    abort();
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

void *mem_zero(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        out_of_memory(count * size);
    return p;
}

void *mem_grow(void *old, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        out_of_memory(SIZE_MAX);
    void *p = realloc(old, total ? total : 1);
    if (!p)
        out_of_memory(total);
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        out_of_memory(size);
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    struct arena_block *block = a->last;
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK_MIN ? size : BLOCK_MIN;
        struct arena_block *fresh = calloc(1, sizeof *fresh + room);
        if (!fresh)
            out_of_memory(room);
        fresh->size = room;
        /* A block made for one large piece is full at once: keep the half-empty one in front. */
        if (block && size > BLOCK_MIN) {
            fresh->previous = block->previous;
            block->previous = fresh;
        } else {
            fresh->previous = block;
            a->last = fresh;
        }
        block = fresh;
    }
    void *p = block->bytes + block->used;
    block->used += size;
    a->used_bytes += size;
    assert(block->used <= block->size && (uintptr_t)p % ALIGN == 0);
    return p;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        out_of_memory(SIZE_MAX);
    return arena_alloc(a, total);
}

char *arena_copy(struct arena *a, const void *bytes, size_t n)
{
    assert(bytes || n == 0);
    char *p = arena_alloc(a, n + 1);
    if (n)
        memcpy(p, bytes, n);
    return p;
}

char *arena_text(struct arena *a, const char *text)
{
    must(text);
    return arena_copy(a, text, strlen(text));
}

const char *arena_keep(struct arena *a, const char *text)
{
    return text ? arena_text(a, text) : NULL;
}

char *arena_vformat(struct arena *a, const char *format, va_list arguments)
{
    must(format);
    va_list again;
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    return p;
}

char *arena_format(struct arena *a, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *p = arena_vformat(a, format, arguments);
    va_end(arguments);
    return p;
}

void arena_done(struct arena *a)
{
    struct arena_block *block = a->last;
    while (block) {
        struct arena_block *previous = block->previous;
        free(block);
        block = previous;
    }
    *a = (struct arena){0};
}
