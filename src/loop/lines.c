#include "loop/lines.h"

#include <assert.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/must.h"

void lines_init(struct lines *l, void (*deliver)(void *self, int64_t t_ns, struct span line, bool cut), void *self)
{
    must(deliver);
    *l = (struct lines){.deliver = deliver, .self = self, .held = mem_alloc(LINES_MAX)};
}

void lines_done(struct lines *l)
{
    free(l->held);
    l->held = NULL;
}

char *lines_room(struct lines *l, size_t *ret_n)
{
    assert(l->held && l->n < LINES_MAX);
    *ret_n = LINES_MAX - l->n;
    return l->held + l->n;
}

void lines_added(struct lines *l, size_t n, int64_t t_ns)
{
    assert(n <= LINES_MAX - l->n);
    size_t start = 0, i = l->n; /* what was held before has no line end */
    l->n += n;
    if (l->after_cr && n) {
        start = i = l->held[0] == '\n';
        l->after_cr = false;
    }
    for (; i < l->n; i++) {
        char c = l->held[i];
        if (c != '\n' && c != '\r')
            continue;
        l->deliver(l->self, t_ns, (struct span){l->held + start, i - start}, false);
        if (c == '\r' && i + 1 == l->n)
            l->after_cr = true;
        else if (c == '\r' && l->held[i + 1] == '\n')
            i++;
        start = i + 1;
    }
    memmove(l->held, l->held + start, l->n - start);
    l->n -= start;
    if (l->n == LINES_MAX) {
        l->deliver(l->self, t_ns, (struct span){l->held, l->n}, true);
        l->n = 0;
    }
}

void lines_end(struct lines *l, int64_t t_ns)
{
    if (l->n)
        l->deliver(l->self, t_ns, (struct span){l->held, l->n}, false);
    l->n = 0;
}
