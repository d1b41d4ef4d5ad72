/* Variables as a process has them: a null-terminated list of "NAME=value". */
#ifndef JTOK_BASE_VARIABLE_H
#define JTOK_BASE_VARIABLE_H

#include <string.h>

/* The value of a variable, part of the list; the first of several, as getenv has it. Null: it is not there, or there is
 * no list. O(variables). */
static inline const char *variable_in(const char *const *list, const char *name)
{
    size_t n = strlen(name);
    for (; list && *list; list++)
        if (strncmp(*list, name, n) == 0 && (*list)[n] == '=')
            return *list + n + 1;
    return NULL;
}

#endif
