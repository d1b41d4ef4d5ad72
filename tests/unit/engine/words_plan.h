/* A plan whose engine is started by these words. */
#ifndef JTOK_TESTS_WORDS_PLAN_H
#define JTOK_TESTS_WORDS_PLAN_H

#include "model/plan.h"

/* `words` ends with null and is borrowed. */
static inline struct plan words_plan(const char *const *words)
{
    struct plan p;
    plan_defaults(&p);
    p.engine.command = (const char **)(uintptr_t)words;
    while (words[p.engine.command_count])
        p.engine.command_count++;
    return p;
}

#endif
