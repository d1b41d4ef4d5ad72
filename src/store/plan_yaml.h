/* The plan file: YAML 1.1 by libyaml's events and the plan's table, and back.
 *
 * Every scalar is text until the table types it: `version: 1.20` stays "1.20", `yes` is no bool. A plain `null`, `~` or
 * nothing is absent. Anchors, aliases, tags, several documents and double keys are refused. All problems are collected:
 * file, line, column, key, the nearest known key, what is allowed.
 *
 * From a user's words to a plan:
 *     plan_defaults(&plan);
 *     plan_yaml_read(&plan, path, text, &problems);            or schema_set(... "engine.command" ...) from arguments
 *     schema_set_argument(&plan_schema, &plan, arg, &problems) for each --set
 *     ... the engine's adapter fills in what it reads off the command ...
 *     plan_check(&plan, &problems);
 *     problems_none(&problems, ERR_PLAN, e) */
#ifndef JTOK_STORE_PLAN_YAML_H
#define JTOK_STORE_PLAN_YAML_H

#include "model/plan.h"
#include "schema/problems.h"

enum { PLAN_FILE_MAX = 1 << 20 };

/* Reads a plan over what `plan` holds already (its defaults). Keys that jtok resolves itself are refused. False when it
 * added problems; the fields without one are set even so. Texts live in the problems' arena. A UTF-8 byte order mark in
 * front is passed over. O(bytes x keys). */
bool plan_yaml_read(struct plan *plan, const char *source, struct span text, struct problems *p);

/* The file itself: over PLAN_FILE_MAX, unreadable, UTF-16 or no regular file is one problem. *ret_text (the source as
 * it stands, in the arena; for the run folder) may be null. */
bool plan_yaml_load(struct plan *plan, const char *path, struct span *ret_text, struct problems *p);

/* What no single key shows: required keys, lengths that lack their numbers, bounds that cross, an extra_body that is no
 * JSON object, a cost without a currency. Call once the plan is whole. */
void plan_check(const struct plan *plan, struct problems *p);

/* The plan as YAML that plan_yaml_read reads back equal; resolved keys stand in comments. With `docs`, each key has its
 * sentence and unit above it. */
void plan_yaml_write(const struct plan *plan, bool docs, struct buf *b);

#endif
