/* The requests: request_unaccounted, usage_disagrees with its mark usage_not_verifiable, too_many_failed. */
#include "analysis/verify_internal.h"

/* ---- each recorded once, and whole ---- */

static bool outside(const struct verify *v, int64_t t_ns)
{
    int64_t start_ns = records_mark(v->r, MARK_FORMAL_START), end_ns = records_mark(v->r, MARK_FORMAL_END);
    return (start_ns != ABSENT_I64 && t_ns < start_ns - OUTSIDE_LIMIT_NS) ||
           (end_ns != ABSENT_I64 && t_ns > end_ns + OUTSIDE_LIMIT_NS);
}

/* What a successful request's record lacks, as a phrase; null: nothing. */
static const char *request_fault(const struct verify *v, const struct rec_request *q)
{
    if (q->verdict != VERDICT_OK)
        return NULL;
    if (q->submit_ns == ABSENT_I64 || q->first_ns == ABSENT_I64 || q->last_ns == ABSENT_I64 || q->end_ns == ABSENT_I64)
        return "succeeded, but one of its times submit, first, last and end is missing";
    if (q->completion_tokens == ABSENT_I64 || q->completion_tokens < 1)
        return "succeeded, but has no usage";
    if (outside(v, q->submit_ns) || outside(v, q->end_ns))
        return "lies outside the formal stage";
    return NULL;
}

static void check_accounted(struct verify *v)
{
    const struct records *r = v->r;
    int64_t planned = r->plan.requests.count;
    if (planned == ABSENT_I64) {
        verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_NOT_RECORDED,
                   "The stored plan does not say how many requests there are.");
        return;
    }
    unsigned char *seen = arena_alloc(v->a, (size_t)planned + 1);
    for (size_t i = 0; i < r->request_count; i++) {
        const struct rec_request *q = &r->requests[i];
        const char *fault = q->id >= planned ? "is not in the plan"
                            : seen[q->id]    ? "is recorded twice"
                                             : request_fault(v, q);
        if (fault) {
            verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_FAILED, "Request %u %s.", (unsigned)q->id, fault);
            return;
        }
        seen[q->id] = 1;
    }
    int64_t missing = planned - (int64_t)r->request_count, first = 0;
    while (first < planned && seen[first])
        first++;
    if (missing)
        verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_FAILED,
                   "%lld of %lld requests were not recorded; the first is request %lld.", (long long)missing,
                   (long long)planned, (long long)first);
    else
        verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_PASSED, "%lld requests, each recorded once.", (long long)planned);
}

/* ---- the engine's own count ---- */

static bool has_count(const struct rec_metrics *m)
{
    return !__builtin_isnan(m->generation_tokens);
}

/* The earliest reading with a count whose question was asked after `t_ns`, or null. */
static const struct rec_metrics *reading_after(const struct records *r, int64_t t_ns)
{
    const struct rec_metrics *first = NULL;
    for (size_t i = 0; i < r->metrics_count; i++)
        if (has_count(&r->metrics[i]) && r->metrics[i].t_ns > t_ns && (!first || r->metrics[i].t_ns < first->t_ns))
            first = &r->metrics[i];
    return first;
}

/* The first of two neighbouring readings after the formal stage that agree, or null. */
static const struct rec_metrics *settled_after(const struct records *r, int64_t end_ns)
{
    const struct rec_metrics *m = reading_after(r, end_ns - 1);
    while (m) {
        const struct rec_metrics *next = reading_after(r, m->t_ns);
        if (next && next->generation_tokens == m->generation_tokens)
            return m;
        m = next;
    }
    return NULL;
}

/* The latest reading with a count that was asked for from `from_ns` on and answered by `to_ns`, or null. */
static const struct rec_metrics *reading_within(const struct records *r, int64_t from_ns, int64_t to_ns)
{
    const struct rec_metrics *last = NULL;
    for (size_t i = 0; i < r->metrics_count; i++) {
        const struct rec_metrics *m = &r->metrics[i];
        if (has_count(m) && m->took_ns != ABSENT_I64 && m->t_ns >= from_ns && m->t_ns + m->took_ns <= to_ns &&
            (!last || m->t_ns > last->t_ns))
            last = m;
    }
    return last;
}

/* When the first request of the run was submitted; ABSENT_I64: none of readiness and warm-up is recorded. */
static int64_t first_submit_ns(const struct records *r)
{
    int64_t first = ABSENT_I64;
    for (size_t i = 0; i < r->warmup_count; i++) {
        int64_t t = r->warmups[i].submit_ns;
        if (t != ABSENT_I64 && (first == ABSENT_I64 || t < first))
            first = t;
    }
    return first;
}

/* What readiness and warm-up asked of the engine, tokens; NaN: not known. */
static double warmup_tokens(const struct records *r)
{
    double tokens = 0;
    for (size_t i = 0; i < r->warmup_count; i++) {
        if (r->warmups[i].completion_tokens == ABSENT_I64)
            return __builtin_nan("");
        tokens += (double)r->warmups[i].completion_tokens;
    }
    return r->warmup_count ? tokens : __builtin_nan("");
}

/* The engine's count at the formal start, NaN: not known. It is the latest answer between warm-up and formal start, if
 * that has caught up with what the engine had generated before anybody asked (SGLang warms itself up, now and then into
 * the readiness request) and what readiness and warm-up asked of it; else these two together. A cold engine that was
 * not read before the first request began at zero. *ret_how says which. */
static double count_before(const struct records *r, const char **ret_how)
{
    int64_t first_ns = first_submit_ns(r), warmup_end_ns = records_mark(r, MARK_WARMUP_END);
    const struct rec_metrics *own = first_ns == ABSENT_I64 ? NULL : reading_within(r, 0, first_ns);
    const struct rec_metrics *last =
        warmup_end_ns == ABSENT_I64 ? NULL : reading_within(r, warmup_end_ns, records_mark(r, MARK_FORMAL_START));
    double known = warmup_tokens(r) + (own ? own->generation_tokens : 0);
    if (last && !(last->generation_tokens < known)) {
        *ret_how = "its count before the formal stage";
        return last->generation_tokens;
    }
    *ret_how = own ? "its count before the first request and the usage of readiness and warm-up"
                   : "the usage of readiness and warm-up";
    return known;
}

struct usage_sum {
    int64_t tokens, failed;
};

static struct usage_sum usage_sum(const struct records *r)
{
    struct usage_sum s = {0};
    for (size_t i = 0; i < r->request_count; i++) {
        s.failed += r->requests[i].verdict != VERDICT_OK;
        int64_t tokens = r->requests[i].completion_tokens;
        if (tokens >= 0 && tokens <= INT32_MAX) /* a failed request may have been told anything (bad_usage) */
            s.tokens += tokens;
    }
    return s;
}

static void compare_usage(struct verify *v, double server, const char *how)
{
    struct usage_sum s = usage_sum(v->r);
    double client = (double)s.tokens, high = server > client ? server : client;
    double apart = high > 0 ? (server > client ? server - client : client - server) / high : 0;
    bool wrong = s.failed ? apart > USAGE_FAILED_LIMIT : server != client;
    const char *apart_text = server == client ? "equal" : arena_format(v->a, "%.3g %% apart", 100 * apart);
    verify_set(v, CODE_USAGE_DISAGREES, wrong ? CHECK_FAILED : CHECK_PASSED,
               "The engine counted %.0f generated tokens (above %s), the requests' usage sums to %lld: %s%s.", server,
               how, (long long)s.tokens, apart_text, s.failed ? "; 2 % is allowed where requests failed" : "");
}

static void check_usage(struct verify *v)
{
    const struct records *r = v->r;
    const char *path = r->plan.engine.metrics_path, *how;
    bool asked = !path || path[0], answered = false, spoke = r->plan.engine.kind == ENGINE_OPENAI;
    for (size_t i = 0; i < r->metrics_count; i++) {
        answered = answered || has_count(&r->metrics[i]);
        spoke = spoke || r->metrics[i].took_ns != ABSENT_I64;
    }
    int64_t end_ns = records_mark(r, MARK_FORMAL_END);
    const double none = __builtin_nan("");
    /* A server that has no such count, as far as the plan or all of its answers say: a mark, not a failure. One that
     * was only silent is another matter, but for servers of which nothing is known. */
    if (!asked || (r->metrics_count && spoke && !answered)) {
        verify_set(v, CODE_USAGE_DISAGREES, CHECK_PASSED,
                   "The engine keeps no count of generated tokens; each request's usage was checked by itself only.");
        verify_mark(v, RMARK_USAGE_NOT_VERIFIABLE, CHECK_FAILED, none, none, "%s.",
                    asked ? "The engine's /metrics hold no count of generated tokens"
                          : "The plan names no metrics path");
        return;
    }
    verify_mark(v, RMARK_USAGE_NOT_VERIFIABLE, answered ? CHECK_PASSED : CHECK_NOT_RECORDED, none, none, "%s.",
                answered ? "The engine counts the tokens that it generates"
                         : "No answer of the engine's /metrics was recorded");
    const struct rec_metrics *after = end_ns == ABSENT_I64 ? NULL : settled_after(r, end_ns);
    double before = count_before(r, &how);
    if (!answered)
        verify_set(v, CODE_USAGE_DISAGREES, CHECK_NOT_RECORDED, "No answer of the engine's /metrics was recorded.");
    else if (!after)
        verify_set(v, CODE_USAGE_DISAGREES, CHECK_NOT_RECORDED,
                   "No two readings of the engine's count after the formal stage agree.");
    else if (__builtin_isnan(before))
        verify_set(v, CODE_USAGE_DISAGREES, CHECK_NOT_RECORDED,
                   "The engine's count before the formal stage is not known.");
    else
        compare_usage(v, after->generation_tokens - before, how);
}

static void check_failures(struct verify *v)
{
    size_t total = v->r->request_count;
    int64_t failed = usage_sum(v->r).failed;
    double limit = v->r->plan.method.failed_share;
    if (!total || __builtin_isnan(limit)) {
        verify_set(v, CODE_TOO_MANY_FAILED, CHECK_NOT_RECORDED, "%s.",
                   total ? "The stored plan names no limit" : "No request was recorded");
        return;
    }
    double share = (double)failed / (double)total;
    verify_set(v, CODE_TOO_MANY_FAILED, share > limit ? CHECK_FAILED : CHECK_PASSED,
               "%lld of %zu requests failed (%.3g %%); the plan allows %.3g %%.", (long long)failed, total, 100 * share,
               100 * limit);
}

void verify_requests(struct verify *v)
{
    check_accounted(v);
    check_usage(v);
    check_failures(v);
}
