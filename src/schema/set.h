/* Values by key path, from text: `key=value` of a command line, by the same rules as a plan file.
 *
 * Key paths are keys joined by dots: "requests.lengths.kind", "engine.env.HF_HOME" (an entry of a map). */
#ifndef JTOK_SCHEMA_SET_H
#define JTOK_SCHEMA_SET_H

#include "schema/problems.h"
#include "schema/schema.h"

/* Sets the one field at a key path. Text of a list is split into words as a shell would (quotes and backslash, no
 * variables), or, starting with '[' or '{', read as a YAML flow list or map. "null" makes it absent. `source` names it
 * in problems ("--model"). On a fault the object stays as it is and `p` has one problem more. */
bool schema_set(const struct schema *s, void *object, const char *source, struct span key_path, struct span value,
                struct problems *p);

/* "KEY=VALUE" as one argument of --set, which is the source. */
bool schema_set_argument(const struct schema *s, void *object, const char *argument, struct problems *p);

/* The same for a caller that has nothing else to collect: ERR_USAGE on a fault. Texts live in the arena. */
bool schema_set_or_err(const struct schema *s, void *object, const char *argument, struct arena *a, struct err *e);

/* Adds one problem for each FIELD_REQUIRED that is absent (an empty list is). */
void schema_check_required(const struct schema *s, const void *object, struct problems *p);

#endif
