/* Private to store: what the YAML reader and `--set` share. */
#ifndef JTOK_SCHEMA_PARSE_H
#define JTOK_SCHEMA_PARSE_H

#include "schema/set.h"

/* Where a value stands. */
struct spot {
    const char *source;
    size_t line, column;
    const char *path;
};

#define SPOT_ARG(at) (at)->source, (at)->line, (at)->column, (at)->path

/* Types one scalar into *value. `plain` says that null, ~ and nothing mean absent. */
bool typing_scalar(const struct field *f, enum field_type type, void *value, struct span text, bool plain,
                   const struct spot *at, struct problems *p);

/* Splits a text into words as a shell would, for a LIST of TEXT. */
bool typing_words(struct span text, const char ***ret_words, size_t *ret_count, const struct spot *at,
                  struct problems *p);

/* "there is no such key" with the nearest one and what is allowed. `root` is searched for the same key elsewhere. */
void typing_unknown(const struct schema *root, const struct schema *here, struct span key, const struct spot *at,
                    struct problems *p);

/* "a whole number from 1 to 65535", "one of chat, completions" ... */
void typing_allowed(const struct field *f, enum field_type type, struct buf *b);

/* One more item in an arena's growing array; *items moves. */
void *typing_push(struct arena *a, void **items, size_t *count, size_t item_size);

/* Reads the value of one field from a YAML text of its own, all of it at one place. */
bool yaml_read_value(const struct schema *root, const struct field *f, void *object, const struct spot *at,
                     struct span text, struct problems *p);

#endif
