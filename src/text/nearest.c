#include "text/nearest.h"

#include <assert.h>
#include "base/must.h"

enum { DISTANCE_MAX = 128 };

size_t edit_distance(struct span a, struct span b)
{
    if (a.n >= DISTANCE_MAX || b.n >= DISTANCE_MAX)
        return a.n > b.n ? a.n : b.n;
    size_t rows[3][DISTANCE_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b.n; j++)
        last[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t best = last[j - 1] + (a.p[i - 1] != b.p[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[b.n];
}

size_t nearest_limit(struct span typed)
{
    return typed.n < 4 ? 1 : typed.n / 3 + 1;
}

bool nearest_is_nearer(struct span typed, const char *name, size_t *limit)
{
    assert(name && limit);
    struct span other = span_of(name);
    size_t distance = edit_distance(typed, other);
    if (distance > *limit || distance >= other.n)
        return false;
    *limit = distance ? distance - 1 : 0;
    return true;
}

const char *nearest_of(struct span typed, const char *const *names)
{
    must(names);
    const char *nearest = NULL;
    for (size_t limit = nearest_limit(typed); *names; names++)
        if (nearest_is_nearer(typed, *names, &limit))
            nearest = *names;
    return nearest;
}
