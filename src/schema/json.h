/* Any struct with a schema as JSON: writer, reader, JSON Schema. The same object always gives the same bytes. */
#ifndef JTOK_SCHEMA_JSON_H
#define JTOK_SCHEMA_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "schema/schema.h"
#include "text/json.h"

/* Appends the object: keys in the table's order, two spaces a level, LF at the end. Absent values are null, or left out
 * with FIELD_OMIT_ABSENT; doubles in their shortest form. A quantity is {"value", "state", "why", "instrument",
 * "calibration"}, its value null where it has none. O(size). */
void schema_json_write(const struct schema *s, const void *object, struct buf *b);

/* The same within a document that the caller is writing. */
void schema_json_put(const struct schema *s, const void *object, struct json_writer *w);

/* Reads what schema_json_write wrote. Every field is made absent first; keys that the table doesn't know are skipped
 * (files of later versions stay readable). A value of a wrong type, or beyond its field's range, is ERR_RECORDS with
 * the key path; `source` names the document. Texts and lists go to the arena. O(bytes x depth). */
bool schema_json_read(const struct schema *s, void *object, const char *source, struct span text, struct arena *a,
                      struct err *e);

/* A JSON Schema (draft 2020-12) of what schema_json_write writes, with docs and units ("x-unit"). With `for_user`, of
 * what a user may write: required keys, each key's default, no resolved keys, unknown ones refused. */
void schema_jsonschema(const struct schema *s, bool for_user, struct buf *b);

#endif
