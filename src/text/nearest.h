/* What somebody may have meant who typed something else. */
#ifndef JTOK_TEXT_NEAREST_H
#define JTOK_TEXT_NEAREST_H

#include <stdbool.h>
#include <stddef.h>
#include "base/span.h"

/* Number of single-character edits (insert, delete, replace, swap of neighbours) from a to b. O(|a| |b|), both under
 * 128 bytes; longer gives the longer one's length. */
size_t edit_distance(struct span a, struct span b);

/* Is `name` near enough to what was typed that it may have been meant, and nearer than what was tried before? Begin
 * with *limit = nearest_limit(typed); it is lowered as nearer names are found. */
size_t nearest_limit(struct span typed);
bool nearest_is_nearer(struct span typed, const char *name, size_t *limit);

/* The nearest of a null-terminated list, the first where several are; null: none is near enough. */
const char *nearest_of(struct span typed, const char *const *names);

#endif
