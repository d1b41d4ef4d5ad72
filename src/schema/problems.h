/* Everything that is wrong with a user's input, collected: all errors at once, each with its place.
 *
 * A reader notes where each key stands (problems_place), so that a check made later, by anybody, still names file, line
 * and column. Texts live in the arena given at init. A zeroed struct with an arena set is valid and empty. */
#ifndef JTOK_SCHEMA_PROBLEMS_H
#define JTOK_SCHEMA_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct problem {
    const char *source;  /* "plan.yaml", "--set requests.count=x"; null: no place */
    size_t line, column; /* from 1; 0: none */
    const char *key;     /* "requests.count"; null: none */
    const char *text;    /* a sentence: what is wrong, the value seen, what is allowed */
};

struct problems {
    struct arena *arena;
    const char *source; /* where keys without a place of their own come from; may be null */
    struct problem *items;
    size_t count, capacity;
    struct problem *places; /* key to place; text null */
    size_t place_count, place_capacity;
};

void problems_init(struct problems *p, struct arena *arena, const char *source);

/* Notes where a key stands; a later note of the same key wins. */
void problems_place(struct problems *p, const char *source, size_t line, size_t column, const char *key);

/* Adds a problem of `key`, at the place of the key or, where that has none, of the nearest key above it
 * ("requests.count", "requests"). `key` may be null. O(places). */
void problems_add(struct problems *p, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds a problem at a place of its own. */
void problems_add_at(struct problems *p, const char *source, size_t line, size_t column, const char *key,
                     const char *format, ...) __attribute__((format(printf, 6, 7)));

/* One line a problem, in order of source and place: "plan.yaml:7:3: requests.cuont: There is no such key. ...". */
void problems_print(const struct problems *p, struct buf *b);

/* No problem: true. Else sets `e` to the printed list (what fits, with the number left out) and returns false. */
bool problems_none(const struct problems *p, enum err_kind kind, struct err *e);

#endif
