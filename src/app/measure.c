#include "app/measure.h"

#include "base/must.h"
#include "store/archive.h"

/* Seals the records, computes the result from them alone and stores it. */
static bool seal_and_store(const char *folder, struct arena *a, struct evaluation *ret_evaluation, struct err *e)
{
    struct method method = method_default();
    return archive_seal(folder, e) && evaluate_run(folder, &method, a, ret_evaluation, e) &&
           evaluate_store(folder, &ret_evaluation->result, e);
}

bool measure(struct run *run, void *self, void (*recorded)(void *self, const char *folder), struct arena *a,
             struct measurement *ret_measurement, struct err *e)
{
    must(run && a);
    struct measurement m = {0};
    if (!run_execute(run, &m.outcome, e))
        return false;
    const char *folder = m.outcome.folder;
    must(folder);
    if (recorded)
        recorded(self, folder);
    struct evaluation *v = arena_alloc(a, sizeof *v);
    if (m.outcome.unwritten.kind != ERR_NONE)
        err_set(&m.no_result, m.outcome.failure.kind,
                "The records in %s are incomplete, so they are not sealed and there is no result. What was written is "
                "kept; \"jtok analyze %s\" shows what it gives.",
                folder, folder);
    else if (seal_and_store(folder, a, v, &m.no_result))
        m.evaluation = v;
    *ret_measurement = m;
    return true;
}
