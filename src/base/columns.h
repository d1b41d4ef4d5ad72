/* How many columns of a terminal a text takes.
 *
 * Wide letters (Chinese, Japanese, Korean, emoji) take two, marks that sit on the letter before them none. Where
 * terminals differ, or the table is coarse, the larger number counts: what is said to fit does. */
#ifndef JTOK_BASE_COLUMNS_H
#define JTOK_BASE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/span.h"

/* 0, 1 or 2. O(log of a small table). */
size_t columns_of(uint32_t code);

/* Of a text in one line that is fit to be shown (base/utf8.h); an ill-formed byte counts one. O(bytes). */
size_t columns_count(struct span text);
size_t columns_text(const char *text);

/* Bytes of the longest beginning of whole characters within `limit` columns. */
size_t columns_fit(struct span text, size_t limit);

/* `text` itself where it fits, else its beginning and "…" in the arena: `limit` columns at most, which must be above
 * 0. The second keeps the end. */
const char *columns_cut(struct arena *a, const char *text, size_t limit);
const char *columns_cut_front(struct arena *a, const char *text, size_t limit);

#endif
