/* A command's words as one would type them in a shell. */
#ifndef JTOK_BASE_TYPED_H
#define JTOK_BASE_TYPED_H

#include "base/buf.h"

/* One word, in quotes where it needs them, and several with spaces between. Appends. O(bytes). */
void typed_put_word(struct buf *b, const char *word);
void typed_put(struct buf *b, const char *const *words, size_t count);

#endif
