#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_done(struct buf *b)
{
    free(b->p);
    *b = (struct buf){.max = b->max};
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->overflow = false;
}

bool buf_reserve(struct buf *b, size_t more)
{
    assert(b->n <= b->capacity);
    if (b->max && (more > b->max || b->n > b->max - more)) {
        b->overflow = true;
        return false;
    }
    if (b->capacity - b->n >= more)
        return true;
    size_t capacity = b->capacity ? b->capacity : 256;
    while (capacity - b->n < more)
        capacity *= 2;
    b->p = mem_grow(b->p, capacity, 1);
    b->capacity = capacity;
    return true;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
    assert(bytes || n == 0);
    if (n == 0 || !buf_reserve(b, n))
        return;
    memcpy(b->p + b->n, bytes, n);
    b->n += n;
}

void buf_str(struct buf *b, const char *text)
{
    assert(text);
    buf_add(b, text, strlen(text));
}

void buf_byte(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_fmt(struct buf *b, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (n >= 0 && buf_reserve(b, (size_t)n + 1)) {
        vsnprintf(b->p + b->n, (size_t)n + 1, format, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buf_i64(struct buf *b, int64_t value)
{
    char digits[24];
    char *end = digits + sizeof digits, *p = end;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    for (; rest >= 100; rest /= 100) { /* two digits a division: it is what writing a record costs */
        uint64_t two = rest % 100;
        *--p = (char)('0' + two % 10);
        *--p = (char)('0' + two / 10);
    }
    do {
        *--p = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        *--p = '-';
    buf_add(b, p, (size_t)(end - p));
}

void buf_consume(struct buf *b, size_t n)
{
    if (n >= b->n) {
        b->n = 0;
        return;
    }
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}

struct span buf_span(const struct buf *b)
{
    return (struct span){b->p, b->n};
}

const char *buf_text(struct buf *b)
{
    if (b->capacity == b->n)
        b->p = mem_grow(b->p, b->capacity = b->n + 1, 1);
    b->p[b->n] = 0;
    return b->p;
}
