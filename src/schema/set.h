/* Typing of values from text by a struct's table (model/fields.h), with what to say where it can't be.
 *
 * Key paths are keys joined by dots: "requests.lengths.kind", "engine.env.HF_HOME" (an entry of a map). */
#ifndef JTOK_SCHEMA_SET_H
#define JTOK_SCHEMA_SET_H

#include "schema/schema.h"
#include "schema/problems.h"

/* Sets the one field at a key path from text, by the same typing as a plan file has: `key=value` on a command line.
 * Text of a list is split into words as a shell would (quotes and backslash, no variables), or, starting with '[' or
 * '{', read as a YAML flow list or map. "null" makes it absent. `source` names it in problems, `column` is where the
 * key path stands. Adds to `p` and leaves the object as it is on a fault. */
bool schema_set(const struct schema *s, void *object, const char *source, size_t column, struct span key_path,
                struct span value, struct problems *p);

/* "KEY=VALUE" as one argument of --set. The whole argument is the source. */
bool schema_set_argument(const struct schema *s, void *object, const char *argument, struct problems *p);

/* Adds one problem for each FIELD_REQUIRED that is absent (an empty list is). */
void schema_check_required(const struct schema *s, const void *object, struct problems *p);

/* Number of single-character edits (insert, delete, replace, swap of neighbours) from a to b. O(|a| |b|), both under
 * 128 bytes; longer gives the longer one's length. */
size_t edit_distance(struct span a, struct span b);

/* The field of a schema with that key, or null; and the one nearest to it, or null where none is near. */
const struct field *schema_find(const struct schema *s, struct span key);
const struct field *schema_nearest(const struct schema *s, struct span key);

#endif
