/* Runs a parser over the same bytes split in every way that matters, and demands the same account of it each time. */
#ifndef JTOK_TESTS_SPLIT_H
#define JTOK_TESTS_SPLIT_H

#include "check.h"

#include <stdlib.h>
#include "base/buf.h"

/* Feeds the pieces [0, cuts[0]), [cuts[0], cuts[1]) ... of the text and writes down what came out. The pieces are exact
 * copies on the heap, so that a sanitizer sees a byte read too far, and gone once the next one is fed. */
typedef void split_run(struct span text, const size_t *cuts, size_t n, struct buf *account);

static inline char *split_piece(struct span text, const size_t *cuts, size_t n, size_t i, struct span *ret_piece)
{
    size_t from = i ? cuts[i - 1] : 0, to = i < n ? cuts[i] : text.n;
    char *copy = malloc(to - from ? to - from : 1);
    if (to > from)
        memcpy(copy, text.p + from, to - from);
    *ret_piece = (struct span){copy, to - from};
    return copy;
}

static inline void split_compare(struct span text, const size_t *cuts, size_t n, split_run *run, struct buf *whole,
                                 struct buf *account)
{
    buf_clear(account);
    run(text, cuts, n, account);
    if (account->n != whole->n || (whole->n && memcmp(account->p, whole->p, whole->n) != 0)) {
        print_error("whole: %s\nsplit (%zu cuts, first at %zu): %s\n", buf_text(whole), n, n ? cuts[0] : 0,
                    buf_text(account));
        fail();
    }
}

/* Whole, in two at every place, byte by byte, and with empty pieces in between. `whole` gets the account. */
static inline void split_everywhere(struct span text, split_run *run, struct buf *whole)
{
    struct buf account = {0};
    size_t *cuts = calloc(2 * text.n + 1, sizeof *cuts);
    buf_clear(whole);
    run(text, cuts, 0, whole);
    for (cuts[0] = 0; cuts[0] <= text.n; cuts[0]++)
        split_compare(text, cuts, 1, run, whole, &account);
    for (size_t i = 0; i < 2 * text.n; i++)
        cuts[i] = i / 2 + 1;
    split_compare(text, cuts, 2 * text.n, run, whole, &account);
    for (size_t i = 0; i < text.n; i++)
        cuts[i] = i + 1;
    split_compare(text, cuts, text.n, run, whole, &account);
    for (size_t step = 2; step <= 7 && text.n; step++) {
        size_t n = 0;
        for (size_t at = step; at < text.n; at += step)
            cuts[n++] = at;
        split_compare(text, cuts, n, run, whole, &account);
    }
    free(cuts);
    buf_done(&account);
}

#endif
