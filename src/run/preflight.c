#include "run/preflight.h"

#include <stdlib.h>
#include <string.h>
#include "base/must.h"

void preflight_init(struct preflight *p, struct arena *a)
{
    must(a);
    *p = (struct preflight){.arena = a};
}

void preflight_done(struct preflight *p)
{
    free(p->facts);
    free(p->advice);
    p->facts = NULL;
    p->advice = NULL;
    p->fact_count = p->fact_capacity = 0;
}

void preflight_fact(struct preflight *p, const char *name, enum check_outcome outcome, const char *expected,
                    const char *seen)
{
    must(name && outcome < CHECK_OUTCOME_COUNT);
    if (p->fact_count == p->fact_capacity) {
        p->fact_capacity = p->fact_capacity ? 2 * p->fact_capacity : 16;
        p->facts = mem_grow(p->facts, p->fact_capacity, sizeof *p->facts);
        p->advice = mem_grow(p->advice, p->fact_capacity, sizeof *p->advice);
    }
    p->advice[p->fact_count] = NULL;
    p->facts[p->fact_count++] = (struct rec_fact){.name = name, .outcome = outcome, .expected = expected, .seen = seen};
}

void preflight_warn(struct preflight *p, const char *name, const char *expected, const char *seen, const char *advice)
{
    must(advice);
    preflight_fact(p, name, CHECK_NOT_JUDGED, expected, seen);
    p->advice[p->fact_count - 1] = advice;
}
