/* A struct as YAML 1.1, by libyaml's events and its table, and back.
 *
 * Every scalar is text until the table types it: `version: 1.20` stays "1.20", `yes` is not a bool. A plain `null`, `~`
 * or nothing is absent. Anchors, aliases, tags, several documents and double keys are refused. All problems are
 * collected: file, line, column, key, the nearest known key, what is allowed. */
#ifndef JTOK_SCHEMA_YAML_H
#define JTOK_SCHEMA_YAML_H

#include "base/buf.h"
#include "schema/schema.h"
#include "schema/problems.h"

/* Reads a document over what `object` holds already (its defaults). Keys that jtok resolves itself are refused. False
 * when it added problems; the fields without one are set even so. Texts live in the problems' arena. A UTF-8 byte order
 * mark in front is passed over. O(bytes x keys). */
bool schema_yaml_read(const struct schema *s, void *object, const char *source, struct span text, struct problems *p);

/* The object as YAML that schema_yaml_read reads back equal; resolved keys stand in comments. With `docs`, each key has
 * its sentence and unit above it. */
void schema_yaml_write(const struct schema *s, const void *object, bool docs, struct buf *b);

#endif
