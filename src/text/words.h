/* A text in words: as a shell splits it, or at commas. */
#ifndef JTOK_TEXT_WORDS_H
#define JTOK_TEXT_WORDS_H

#include <stddef.h>
#include "base/arena.h"
#include "base/span.h"

/* Words at spaces, tabs and line ends; quotes and backslashes as a shell has them (a line that ends in one goes on),
 * and nothing else of a shell: variables, globs and operators stay text. The words are of the arena. Returns 0, or the
 * quote that is not closed, and then nothing is set. O(bytes). */
char words_split(struct span text, struct arena *a, const char ***ret_words, size_t *ret_count);

/* What stands between commas, empty entries left out; of the arena. O(bytes). */
const char **words_by_comma(const char *text, struct arena *a, size_t *ret_count);

/* Takes the next command off the front of a shell's text: it goes on up to an operator outside quotes (; & | or a
 * line's end). It may be empty. The `&` of a redirection (2>&1, &>) is none. O(bytes of it). */
struct span words_command(struct span *text);

#endif
