#include "app/estimates.h"

#include "app/evaluate.h"
#include "base/must.h"

bool estimates_make(const char *folder, const int64_t *requests, size_t count, struct arena *a,
                    const struct result **ret_result, struct estimate **ret_list, struct err *e)
{
    must(folder && count > 0);
    struct result *r = arena_alloc(a, sizeof *r);
    if (!evaluate_stored(folder, a, r, e))
        return false;
    const struct result_estimate *x = &r->estimate;
    const struct quantity *lacking = !quantity_has_value(&x->fixed_j)       ? &x->fixed_j
                                     : !quantity_has_value(&x->e_request_j) ? &x->e_request_j
                                                                            : NULL;
    if (lacking)
        return err_set(e, ERR_REFUSED, "%s: There is no estimate, because %s is %s: %s.", folder,
                       lacking == &x->fixed_j ? "the energy of startup and release" : "the energy per request",
                       quantity_state_words(lacking), lacking->why ? lacking->why : "no reason was recorded");
    struct estimate *list = arena_array(a, count, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        must(requests[i] > 0);
        list[i] = estimate_for(r, requests[i]);
    }
    *ret_result = r;
    *ret_list = list;
    return true;
}
