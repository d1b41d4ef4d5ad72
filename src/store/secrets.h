/* API keys and passwords never reach the disk: their values are replaced by "[secret:NAME]" before a line is stored.
 *
 * A name is secret when one of its words (parts between '_', '-', '.') ends in KEY, TOKEN, SECRET, PASSWORD, PASSWD,
 * PASSPHRASE or CREDENTIAL(S), or is one word among several and is PASS, PWD, PAT, COOKIE or AUTHORIZATION, in any
 * case: HF_TOKEN, OPENAI_API_KEY, --api-key, DB_PASS. "--max-tokens", "TOKENIZERS_PARALLELISM" and "PWD" are not.
 *
 * By place (an argument, a variable of that name) a value is replaced whatever it is. In free text it is replaced
 * wherever it stands, when it has at least SECRET_MIN bytes; a shorter one ("1", "true") would tear up ordinary words,
 * so it stays, and is counted in `short_values`. A value of several lines counts line by line. Overlapping values are
 * replaced as one stretch, under the name of the first: no part of either is left. Occurrences as JSON escapes them are
 * found too. */
#ifndef JTOK_STORE_SECRETS_H
#define JTOK_STORE_SECRETS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "base/buf.h"
#include "model/plan.h"

enum { SECRET_MIN = 6 };

struct secret {
    const char *name;
    struct span value;
};

/* Filled before the run, then read only: any thread may replace with it. A zeroed struct is valid and empty. */
struct secrets {
    struct arena arena;
    struct secret *items;
    size_t count, capacity;
    size_t short_values;
    bool starts[256]; /* first bytes of all values */
};

void secrets_done(struct secrets *s);

bool secrets_is_name(struct span name);

/* Adds a value under a name, whatever the name is. */
void secrets_add(struct secrets *s, const char *name, struct span value);

/* Adds the values of secret names: of an environment ("NAME=VALUE", null-terminated), and of a plan's env and command
 * ("--api-key X", "--api-key=X", "HF_TOKEN=X" before a program; --api-key takes every word up to the next option; also
 * in a text that a shell is given); and of every other variable and word the password in a URL
 * ("https://user:PASSWORD@host"). */
void secrets_add_environ(struct secrets *s, char **environment);
void secrets_add_plan(struct secrets *s, const struct plan *plan);

/* Appends `text` to b with every value replaced; returns the number of places. O(bytes + places x values). */
size_t secrets_replace(const struct secrets *s, struct span text, struct buf *b);

/* A copy of the plan that may be stored: command and env with secret values replaced, by place and by value, and every
 * other text by value. Adds the number of places to *count. */
struct plan secrets_mask_plan(const struct secrets *s, const struct plan *plan, struct arena *a, size_t *count);

#endif
