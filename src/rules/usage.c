#include "rules/usage.h"

#include <assert.h>
#include <math.h>
#include "base/num.h"

/* How many requests of the engine's own these tokens and requests are; -1: no whole number of them, or another. Both
 * are counts, so that the comparisons are exact. */
static int64_t own_number(double tokens, double requests, int64_t tokens_of_one)
{
    assert(tokens_of_one > 0);
    if (!(tokens >= 0) || !(requests >= 0) || requests > 1e9 || requests != floor(requests))
        return -1;
    return tokens == requests * (double)tokens_of_one ? (int64_t)requests : -1;
}

static enum usage_reason explain(struct usage_verdict *v, struct usage_own own)
{
    if (v->surplus == 0)
        return USAGE_EQUAL;
    if (v->surplus < 0)
        return USAGE_FEWER;
    if (own.tokens == ABSENT_I64 || own.tokens <= 0 || own.max < 0)
        return USAGE_OWN_UNKNOWN;
    if (isnan(v->surplus_requests))
        return USAGE_NO_REQUESTS;
    if (v->seen == ABSENT_I64)
        return USAGE_BEFORE_UNKNOWN;
    double w = v->surplus / (double)own.tokens;
    if (w != floor(w))
        return USAGE_NOT_A_MULTIPLE;
    if (own_number(v->surplus, v->surplus_requests, own.tokens) < 1)
        return USAGE_OTHER_REQUESTS;
    if (w > (double)(own.max - v->seen))
        return USAGE_TOO_MANY;
    v->own = (int64_t)w;
    return USAGE_EXPLAINED;
}

struct usage_verdict usage_judge(struct usage_count before, struct usage_count after, struct usage_count told_before,
                                 struct usage_count told, struct usage_own own)
{
    struct usage_verdict v = {.surplus = after.tokens - before.tokens - told.tokens,
                              .surplus_requests = after.requests - before.requests - told.requests,
                              .seen = ABSENT_I64};
    if (own.tokens != ABSENT_I64 && own.tokens > 0) {
        int64_t seen =
            own_number(before.tokens - told_before.tokens, before.requests - told_before.requests, own.tokens);
        v.seen = seen < 0 ? ABSENT_I64 : seen;
    }
    v.reason = explain(&v, own);
    return v;
}

bool usage_agrees(const struct usage_verdict *v)
{
    return v->reason == USAGE_EQUAL || v->reason == USAGE_EXPLAINED;
}
