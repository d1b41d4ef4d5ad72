/* Private to schema: from text to a value, with what to say where it can't be. The YAML reader and `--set` share it. */
#ifndef JTOK_SCHEMA_PARSE_H
#define JTOK_SCHEMA_PARSE_H

#include "schema/problems.h"
#include "schema/visit.h"

/* Where a value stands. */
struct spot {
    const char *source;
    size_t line, column;
    const char *path;
};

#define SPOT_ARG(at) (at)->source, (at)->line, (at)->column, (at)->path

/* Sets a slot that is no list, map, object or quantity. `plain` says that null, ~ and nothing mean absent. */
bool parse_value(const struct slot *s, struct span text, bool plain, const struct spot *at, struct problems *p);

/* The same for a text that is in no object: an entry of a map. */
bool parse_text(const char **ret_text, struct span text, const struct spot *at, struct problems *p);

/* Splits a text into words as a shell would, for a LIST of TEXT. */
bool parse_words(struct span text, const char ***ret_words, size_t *ret_count, const struct spot *at,
                 struct problems *p);

/* "There is no such key." with the nearest one and what is allowed. `root` is searched for the same key elsewhere. */
void problem_unknown_key(const struct schema *root, const struct schema *here, struct span key, const struct spot *at,
                         struct problems *p);

/* "'x' is not allowed here." with what is. Returns false. */
bool problem_wrong_value(const struct field *f, enum field_type type, struct span text, const struct spot *at,
                         struct problems *p);

/* "a whole number from 1 to 65535", "one of chat, completions" ... */
void put_allowed(const struct field *f, enum field_type type, struct buf *b);

/* Is a number within its field's range, or is there none? */
bool field_takes_i64(const struct field *f, int64_t value);
bool field_takes_f64(const struct field *f, double value);

/* One more item in an arena's growing array; *items moves. */
void *list_push(struct arena *a, void **items, size_t *count, size_t item_size);

/* Reads the value of one slot from a YAML text of its own, all of it at one place. */
bool yaml_read_value(const struct schema *root, const struct slot *s, const struct spot *at, struct span text,
                     struct problems *p);

#endif
