/* What the steps that look at the formal stage share; all of it const, so that each is a function of it. */
#ifndef JTOK_ANALYSIS_FORMAL_H
#define JTOK_ANALYSIS_FORMAL_H

#include "analysis/energy.h"
#include "analysis/tokens.h"
#include "model/method.h"
#include "model/record.h"
#include "model/result.h"
#include "base/time.h"

struct formal {
    const struct records *records;
    const struct method *method;
    const struct meters *meters;
    const struct token_chains *chains;
    int64_t start_ns, end_ns;
    const struct result_stage *stage; /* its energies */
    /* Null, or that requests of the plan are not in the records: nothing is divided by requests or tokens then. */
    const char *lack_requests;
};

/* From formal_start. */
static inline double formal_s(const struct formal *f, int64_t t_ns)
{
    return time_s(t_ns - f->start_ns);
}

#endif
