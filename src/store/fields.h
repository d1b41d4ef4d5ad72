/* Structs by their tables (model/fields.h): absent values, typing of one value from text, walking.
 *
 * Key paths are keys joined by dots: "requests.lengths.kind", "engine.env.HF_HOME" (an entry of a map), "gpus.0" (an
 * item of a list; only fields_flat writes those). */
#ifndef JTOK_STORE_FIELDS_H
#define JTOK_STORE_FIELDS_H

#include "model/fields.h"
#include "model/quantity.h"
#include "store/problems.h"

/* Sets every field to absent: text null, int64 ABSENT_I64, double NaN, bool false, enum -1, lists empty, quantities not
 * recorded. What no field describes stays. O(fields). */
void fields_absent(const struct schema *s, void *object);

/* Sets the one field at a key path from text, by the same typing as a plan file has: `key=value` on a command line.
 * Text of a list is split into words as a shell would (quotes and backslash, no variables), or, starting with '[' or
 * '{', read as a YAML flow list or map. "null" makes it absent. `source` names it in problems, `column` is where the
 * key path stands. Adds to `p` and leaves the object as it is on a fault. */
bool fields_set(const struct schema *s, void *object, const char *source, size_t column, struct span key_path,
                struct span value, struct problems *p);

/* "KEY=VALUE" as one argument of --set. The whole argument is the source. */
bool fields_set_argument(const struct schema *s, void *object, const char *argument, struct problems *p);

/* Adds one problem for each FIELD_REQUIRED that is absent (an empty list is). */
void fields_check_required(const struct schema *s, const void *object, struct problems *p);

/* Calls `each` for every leaf, in the table's order: key path, its field, and the value as text (empty: absent). Lists
 * give one leaf an item, with its index from 0 as a key; a quantity gives its value under its own path, then .state,
 * .why, .repeatability and .absolute. The path is valid during the call. O(leaves). */
void fields_flat(const struct schema *s, const void *object,
                 void (*each)(void *self, const char *path, const struct field *f, struct span value), void *self);

/* A list of flat structs as CSV: the header line of a schema, and the line of one object. Objects whose schema holds
 * lists or maps can't be rows. */
void fields_csv_header(const struct schema *s, struct buf *b);
void fields_csv_row(const struct schema *s, const void *object, struct buf *b);

/* Names of enum q_state, null-terminated: "not_recorded", "measured", "undefined", "not_covered", "not_reached",
 * "not_closed", "excluded". */
extern const char *const fields_state_names[8];

/* Index of a name in a null-terminated list, or -1. */
int fields_name_index(const char *const *names, struct span name);

/* Number of single-character edits (insert, delete, replace, swap of neighbours) from a to b. O(|a| |b|), both under
 * 128 bytes; longer gives the longer one's length. */
size_t fields_distance(struct span a, struct span b);

/* The field of a schema with that key, or null; and the one nearest to it, or null where none is near. */
const struct field *fields_find(const struct schema *s, struct span key);
const struct field *fields_nearest(const struct schema *s, struct span key);

#endif
