#include "base/must.h"

#include <stdio.h>
#include <stdlib.h>

void must_fail(const char *condition, const char *file, int line)
{
    fprintf(
        stderr,
        "jtok: internal error: %s does not hold (%s:%d). What was recorded so far is kept. Please report this line.\n",
        condition, file, line);
    abort();
}
