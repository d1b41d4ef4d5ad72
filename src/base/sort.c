#include "base/sort.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"

enum { RUN = 16, ITEM_MAX = 512 };

struct sort {
    char *items, *spare;
    size_t size;
    bool (*before)(const void *a, const void *b);
};

static char *at(const struct sort *s, size_t i)
{
    return s->items + i * s->size;
}

static void insertion(struct sort *s, size_t from, size_t to)
{
    char held[ITEM_MAX];
    for (size_t i = from + 1; i < to; i++) {
        size_t j = i;
        if (!s->before(at(s, i), at(s, i - 1)))
            continue;
        memcpy(held, at(s, i), s->size);
        for (; j > from && s->before(held, at(s, j - 1)); j--)
            memcpy(at(s, j), at(s, j - 1), s->size);
        memcpy(at(s, j), held, s->size);
    }
}

/* Merges [from, middle) and [middle, to), touching only what is out of place. */
static void merge(struct sort *s, size_t from, size_t middle, size_t to)
{
    size_t left, i = 0, j = middle;
    if (!s->before(at(s, middle), at(s, middle - 1)))
        return;
    /* The first of the left part that must come behind the right part's first, by halving. */
    for (size_t low = from, high = middle; low < high; from = low) {
        size_t half = low + (high - low) / 2;
        if (s->before(at(s, middle), at(s, half)))
            high = half;
        else
            low = half + 1;
    }
    /* Behind the last of the left part, the right part is in its place. */
    for (size_t low = middle, high = to; low < high; to = low) {
        size_t half = low + (high - low) / 2;
        if (s->before(at(s, half), at(s, middle - 1)))
            low = half + 1;
        else
            high = half;
    }
    left = middle - from;
    size_t out = from;
    memcpy(s->spare, at(s, from), left * s->size);
    while (i < left && j < to) {
        bool right = s->before(at(s, j), s->spare + i * s->size);
        memcpy(at(s, out++), right ? at(s, j++) : s->spare + i++ * s->size, s->size);
    }
    memcpy(at(s, out), s->spare + i * s->size, (left - i) * s->size);
}

void sort_stable(void *items, size_t count, size_t size, bool (*before)(const void *a, const void *b))
{
    struct sort s = {.items = items, .size = size, .before = before};
    size_t i = 1;
    assert(size <= ITEM_MAX);
    while (i < count && !before((char *)items + i * size, (char *)items + (i - 1) * size))
        i++;
    if (i >= count)
        return;
    s.spare = mem_zero(count, size);
    for (size_t from = 0; from < count; from += RUN)
        insertion(&s, from, from + RUN < count ? from + RUN : count);
    for (size_t width = RUN; width < count; width *= 2)
        for (size_t from = 0; from + width < count; from += 2 * width)
            merge(&s, from, from + width, from + 2 * width < count ? from + 2 * width : count);
    free(s.spare);
}

int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}
