/* A text in words, as a shell splits it. */
#ifndef JTOK_TEXT_WORDS_H
#define JTOK_TEXT_WORDS_H

#include <stddef.h>
#include "base/arena.h"
#include "base/span.h"

/* Words at spaces, tabs and line ends; quotes and backslashes as a shell has them, and nothing else of a shell:
 * variables, globs and operators stay text. The words are of the arena. Returns 0, or the quote that is not closed, and
 * then nothing is set. O(bytes). */
char words_split(struct span text, struct arena *a, const char ***ret_words, size_t *ret_count);

#endif
