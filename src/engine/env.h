/* Private to this folder: the environment that an engine is started with. */
#ifndef JTOK_ENGINE_ENV_H
#define JTOK_ENGINE_ENV_H

#include "engine/engine.h"

/* Variables as "NAME=value", each name once, in the order in which they first came, and the cache folders that some of
 * them name; both lists end with null and are of the arena. */
struct environment {
    const char **list;
    size_t n;
    const char **cache_folders;
};

/* What engine_launch_make says of the environment. O(variables squared). */
bool environment_make(const struct plan *p, const struct engine_site *site, struct arena *a,
                      struct environment *ret_environment, struct err *e);

/* The environment of a container runtime's program: what it inherits, without proxies, which it would hand on, and the
 * plan's variables, which it is told by name. O(variables squared). */
bool environment_of_client(const struct plan *p, const struct engine_site *site, struct arena *a,
                           struct environment *ret_environment, struct err *e);

#endif
