/* The requests: request_unaccounted, usage_disagrees with its flags usage_not_verifiable and engine_own_requests,
 * too_many_failed. */
#include "analysis/verify_internal.h"
#include "rules/usage.h"
#include <assert.h>
#include "base/must.h"

/* ---- each recorded once, and whole ---- */

static bool is_outside(const struct verify *v, int64_t t_ns)
{
    int64_t start_ns = records_boundary(v->r, BOUNDARY_FORMAL_START),
            end_ns = records_boundary(v->r, BOUNDARY_FORMAL_END);
    return (start_ns != ABSENT_I64 && t_ns < start_ns - METHOD_OUTSIDE_NS) ||
           (end_ns != ABSENT_I64 && t_ns > end_ns + METHOD_OUTSIDE_NS);
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
    if (is_outside(v, q->submit_ns) || is_outside(v, q->end_ns))
        return "lies outside the formal stage";
    return NULL;
}

/* ---- the same of loads ---- */

/* How many requests a load was to send; ABSENT_I64: its time or its trace decides. */
static int64_t wanted_of(const struct verify *v, const struct plan_load *l)
{
    bool by_count = isnan(l->for_s) && l->kind != LOAD_TRACE;
    int64_t set = l->kind == LOAD_BURST ? v->r->plan.requests.count : ABSENT_I64;
    return !by_count ? ABSENT_I64 : l->count != ABSENT_I64 ? l->count : set;
}

/* What is wrong with the number of a load's requests, as a phrase; null: nothing. A load that the run did not get to
 * has none; those of a run that its user ended may lack some. */
static const char *load_count_fault(struct verify *v, size_t number)
{
    const struct result_point *p = &v->result->loads.points[number];
    bool may_lack = v->result->loads.ended_early != NULL;
    int64_t wanted = may_lack ? ABSENT_I64 : wanted_of(v, &v->r->plan.loads[number]);
    if (may_lack && p->start_ns == ABSENT_I64)
        return NULL;
    if (p->start_ns == ABSENT_I64 || p->end_ns == ABSENT_I64)
        return arena_format(v->a, "load %zu did not begin and end", number);
    if (wanted != ABSENT_I64 && p->requests.all != wanted)
        return arena_format(v->a, "load %zu sent %lld requests where the plan asks for %lld", number,
                            (long long)p->requests.all, (long long)wanted);
    return NULL;
}

/* What is wrong with a request of a load; null: nothing. */
static const char *load_request_fault(const struct verify *v, const struct rec_request *q)
{
    if (q->load < 0 || (size_t)q->load >= v->result->loads.point_count)
        return "belongs to none of the plan's loads";
    const struct result_point *p = &v->result->loads.points[q->load];
    if (q->submit_ns != ABSENT_I64 && p->start_ns != ABSENT_I64 && q->submit_ns < p->start_ns - METHOD_OUTSIDE_NS)
        return "was sent before its load began";
    if (q->end_ns != ABSENT_I64 && p->end_ns != ABSENT_I64 && q->end_ns > p->end_ns + METHOD_OUTSIDE_NS)
        return "ended after its load did";
    return request_fault(v, q);
}

/* Ids run on from load to load, from 0. */
static void check_accounted_loads(struct verify *v)
{
    const struct records *r = v->r;
    for (size_t i = 0; i < r->request_count; i++) {
        const char *fault = load_request_fault(v, &r->requests[i]);
        bool twice = !fault && i > 0 && r->requests[i].id == r->requests[i - 1].id;
        if (!fault && !twice && r->requests[i].id == i)
            continue;
        verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_FAILED, "Request %u %s.",
                   fault || twice ? (unsigned)r->requests[i].id : (unsigned)i,
                   fault   ? fault
                   : twice ? "is recorded twice"
                           : "was not recorded");
        return;
    }
    for (size_t i = 0; i < r->plan.load_count; i++) {
        const char *fault = load_count_fault(v, i);
        if (fault) {
            verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_FAILED, "Requests are missing: %s.", fault);
            return;
        }
    }
    verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_PASSED, "%zu requests of %zu load%s, each recorded once.",
               r->request_count, v->result->loads.point_count, v->result->loads.point_count == 1 ? "" : "s");
}

static void check_accounted(struct verify *v)
{
    if (result_has_loads(v->result)) {
        check_accounted_loads(v);
        return;
    }
    const struct records *r = v->r;
    int64_t planned = r->plan.requests.count;
    if (planned == ABSENT_I64) {
        verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_NOT_RECORDED,
                   "The stored plan does not say how many requests there are.");
        return;
    }
    for (size_t i = 0; i < r->request_count; i++) {
        const struct rec_request *q = &r->requests[i];
        const char *fault = q->id >= planned ? "is not in the plan" : request_fault(v, q);
        bool twice = !fault && i > 0 && q->id == r->requests[i - 1].id;
        if (fault || twice) {
            verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_FAILED, "Request %u %s.", (unsigned)q->id,
                       twice ? "is recorded twice" : fault);
            return;
        }
    }
    int64_t missing = planned - (int64_t)r->request_count, first = 0;
    while (first < (int64_t)r->request_count && r->requests[first].id == first)
        first++;
    if (missing)
        verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_FAILED,
                   "%lld of %lld requests were not recorded; the first is request %lld.", (long long)missing,
                   (long long)planned, (long long)first);
    else
        verify_set(v, CODE_REQUEST_UNACCOUNTED, CHECK_PASSED, "%lld requests, each recorded once.", (long long)planned);
}

/* ---- the engine's own count ---- */

static bool holds_count(const struct rec_metrics *m)
{
    return !isnan(m->generation_tokens);
}

/* The latest scrape with a count that was asked for from `from_ns` on and answered by `to_ns`, or null. */
static const struct rec_metrics *scrape_within(const struct records *r, int64_t from_ns, int64_t to_ns)
{
    const struct rec_metrics *last = NULL;
    for (size_t i = 0; i < r->metrics_count; i++) {
        const struct rec_metrics *m = &r->metrics[i];
        if (holds_count(m) && m->took_ns != ABSENT_I64 && m->t_ns >= from_ns && m->t_ns + m->took_ns <= to_ns &&
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

struct usage_sum {
    int64_t tokens, failed, succeeded;
};

static struct usage_sum usage_sum(const struct records *r)
{
    struct usage_sum s = {0};
    for (size_t i = 0; i < r->request_count; i++) {
        s.failed += r->requests[i].verdict != VERDICT_OK;
        s.succeeded += r->requests[i].verdict == VERDICT_OK;
        int64_t tokens = r->requests[i].completion_tokens;
        if (tokens >= 0 && tokens <= INT32_MAX) /* a failed request may have been told anything (bad_usage) */
            s.tokens += tokens;
    }
    return s;
}

static struct usage_count counts_of(const struct rec_metrics *m)
{
    return (struct usage_count){m->generation_tokens, m->requests_ended};
}

static struct usage_count add_counts(struct usage_count x, struct usage_count y)
{
    return (struct usage_count){x.tokens + y.tokens, x.requests + y.requests};
}

/* What readiness and warm-up were told; NaN: not known. */
static struct usage_count told_warmups(const struct records *r)
{
    struct usage_count told = {0};
    for (size_t i = 0; i < r->warmup_count; i++) {
        if (r->warmups[i].completion_tokens == ABSENT_I64)
            return (struct usage_count){NO_NUMBER, NO_NUMBER};
        told.tokens += (double)r->warmups[i].completion_tokens;
        told.requests += r->warmups[i].verdict == VERDICT_OK;
    }
    return r->warmup_count ? told : (struct usage_count){NO_NUMBER, NO_NUMBER};
}

/* The engine's count at the formal start, NaN: not known. It is the latest answer between warm-up and formal start, if
 * that has caught up with what the engine had generated before anybody asked (SGLang warms itself up, now and then into
 * the readiness request) and what readiness and warm-up asked of it; else these two together. A cold engine that was
 * not read before the first request began at zero. *ret_how says which. */
static struct usage_count count_before(const struct records *r, const char **ret_how)
{
    int64_t first_ns = first_submit_ns(r), warmup_end_ns = records_boundary(r, BOUNDARY_WARMUP_END);
    const struct rec_metrics *own = first_ns == ABSENT_I64 ? NULL : scrape_within(r, 0, first_ns);
    const struct rec_metrics *last = warmup_end_ns == ABSENT_I64
                                         ? NULL
                                         : scrape_within(r, warmup_end_ns, records_boundary(r, BOUNDARY_FORMAL_START));
    struct usage_count known = add_counts(told_warmups(r), own ? counts_of(own) : (struct usage_count){0});
    if (last && !(last->generation_tokens < known.tokens)) {
        *ret_how = "its count before the formal stage";
        return counts_of(last);
    }
    *ret_how = own ? "its count before the first request and the usage of readiness and warm-up"
                   : "the usage of readiness and warm-up";
    return known;
}

/* The engine's count as the formal stage left it: of the scrapes asked for after its end the first that agrees with
 * the clients, else the last; null: none. */
static const struct rec_metrics *count_after(const struct records *r, struct usage_count before,
                                             struct usage_count told, struct usage_verdict *ret_verdict)
{
    int64_t end_ns = records_boundary(r, BOUNDARY_FORMAL_END);
    struct usage_own own = {r->run.own_request_tokens, r->run.own_requests_max};
    const struct rec_metrics *best = NULL;
    bool agrees = false;
    for (size_t i = 0; i < r->metrics_count; i++) {
        const struct rec_metrics *m = &r->metrics[i];
        if (!holds_count(m) || end_ns == ABSENT_I64 || m->t_ns < end_ns)
            continue;
        struct usage_verdict v = usage_judge(before, counts_of(m), told_warmups(r), told, own);
        bool earlier = best && m->t_ns < best->t_ns;
        if (best && (usage_agrees(&v) ? agrees && !earlier : agrees || earlier))
            continue;
        agrees = usage_agrees(&v);
        best = m;
        *ret_verdict = v;
    }
    return best;
}

/* Why no requests of the engine's own explain a surplus, as the end of a sentence. */
static const char *not_explained(struct verify *v, const struct usage_verdict *u)
{
    long long of_one = (long long)v->r->run.own_request_tokens, max = (long long)v->r->run.own_requests_max;
    switch (u->reason) {
    case USAGE_EQUAL:
    case USAGE_EXPLAINED:
    case USAGE_FEWER:
        return "";
    case USAGE_OWN_UNKNOWN:
        return "; whether this engine generates tokens for itself is not known";
    case USAGE_NO_REQUESTS:
        return "; requests of its own can't explain them, as its count of ended requests was not recorded";
    case USAGE_BEFORE_UNKNOWN:
        return "; requests of its own can't explain them, as its counts before the formal stage are not the sum of "
               "those and of what was asked";
    case USAGE_NOT_A_MULTIPLE:
        return arena_format(v->a, "; no whole number of its own requests of %lld tokens explains them", of_one);
    case USAGE_OTHER_REQUESTS:
        return arena_format(v->a,
                            "; they would be %.0f requests of its own of %lld tokens, but it ended %.0f more than "
                            "were asked",
                            u->surplus / (double)of_one, of_one, u->surplus_requests);
    case USAGE_TOO_MANY:
        return arena_format(v->a, "; they would be %.0f requests of its own, of which %lld of %lld had come before",
                            u->surplus / (double)of_one, (long long)u->seen, max);
    }
    return "";
}

static void flag_own_requests(struct verify *v, const struct usage_verdict *u, bool failed)
{
    int64_t max = v->r->run.own_requests_max;
    double limit = max < 0 || u->seen == ABSENT_I64 ? NO_NUMBER : (double)(max - u->seen);
    if (failed && u->reason != USAGE_EQUAL)
        verify_flag(v, FLAG_ENGINE_OWN_REQUESTS, CHECK_NOT_JUDGED, NO_NUMBER, limit,
                    "Where requests failed, the engine's own can't be told apart.");
    else if (u->reason == USAGE_EXPLAINED)
        verify_flag(v, FLAG_ENGINE_OWN_REQUESTS, CHECK_FAILED, (double)u->own, limit,
                    "The engine ended %lld request%s of its own warm-up within the formal stage, of %lld tokens each; "
                    "their energy is in it, their tokens are not.",
                    (long long)u->own, u->own == 1 ? "" : "s", (long long)v->r->run.own_request_tokens);
    else
        verify_flag(v, FLAG_ENGINE_OWN_REQUESTS, CHECK_PASSED, 0, limit, "%s.",
                    u->reason == USAGE_EQUAL ? "The engine generated nothing over the formal stage but what was asked"
                                             : "Requests of the engine's own do not explain the difference");
}

static void compare_usage(struct verify *v, const struct usage_verdict *u, double server, const char *how)
{
    must(!isnan(server));
    struct usage_sum s = usage_sum(v->r);
    double client = (double)s.tokens, high = server > client ? server : client;
    double apart = high > 0 ? (server > client ? server - client : client - server) / high : 0;
    bool explained = !s.failed && u->reason == USAGE_EXPLAINED;
    bool wrong = s.failed ? apart > METHOD_USAGE_SHARE : server != client && !explained;
    const char *apart_text = server == client ? "equal"
                             : explained ? arena_format(v->a, "the other %.0f are those of %lld request%s of its own",
                                                        u->surplus, (long long)u->own, u->own == 1 ? "" : "s")
                                         : arena_format(v->a, "%.3g %% apart", 100 * apart);
    verify_set(v, CODE_USAGE_DISAGREES, wrong ? CHECK_FAILED : CHECK_PASSED,
               "The engine counted %.0f generated tokens (above %s), the requests' usage sums to %lld: %s%s.", server,
               how, (long long)s.tokens, apart_text,
               s.failed ? "; 2 % is allowed where requests failed" : not_explained(v, u));
    flag_own_requests(v, u, s.failed > 0);
}

/* What /metrics answered last in place of a count, as the run noted it; null: it did not (older records). */
static const char *metrics_answer(const struct records *r)
{
    const char *answer = NULL;
    for (size_t i = 0; i < r->fact_count; i++)
        if (r->facts[i].name && strcmp(r->facts[i].name, "metrics.answer") == 0)
            answer = r->facts[i].seen;
    return answer;
}

static void check_usage(struct verify *v)
{
    const struct records *r = v->r;
    const char *path = r->plan.engine.metrics_path, *how;
    bool asked = !path || path[0], answered = false, spoke = !plan_engine_keeps_count(&r->plan);
    for (size_t i = 0; i < r->metrics_count; i++) {
        answered = answered || holds_count(&r->metrics[i]);
        spoke = spoke || r->metrics[i].took_ns != ABSENT_I64;
    }
    verify_flag_bare(v, FLAG_ENGINE_OWN_REQUESTS, CHECK_NOT_RECORDED,
                     "The engine's count over the formal stage is not known.");
    /* A server that has no such count, as far as the plan or all of its answers say: a flag, not a failure. One that
     * was only silent is another matter, but for servers of which nothing is known. */
    if (!asked || (r->metrics_count && spoke && !answered)) {
        verify_set(v, CODE_USAGE_DISAGREES, CHECK_NOT_JUDGED,
                   "The engine keeps no count of generated tokens; each request's usage was checked by itself only.");
        const char *answer = metrics_answer(r);
        verify_flag_bare(v, FLAG_USAGE_NOT_VERIFIABLE, CHECK_FAILED, "%s%s.",
                         !asked   ? "The plan names no metrics path"
                         : answer ? "The engine's metrics gave "
                                  : "The engine's /metrics hold no count of generated tokens",
                         asked && answer ? answer : "");
        return;
    }
    verify_flag_bare(v, FLAG_USAGE_NOT_VERIFIABLE, answered ? CHECK_PASSED : CHECK_NOT_RECORDED, "%s.",
                     answered ? "The engine counts the tokens that it generates"
                              : "No answer of the engine's /metrics was recorded");
    struct usage_sum s = usage_sum(r);
    struct usage_count before = count_before(r, &how), told = {(double)s.tokens, (double)s.succeeded};
    struct usage_verdict u = {0};
    const struct rec_metrics *after = count_after(r, before, told, &u);
    if (!answered)
        verify_set(v, CODE_USAGE_DISAGREES, CHECK_NOT_RECORDED, "No answer of the engine's /metrics was recorded.");
    else if (!after)
        verify_set(v, CODE_USAGE_DISAGREES, CHECK_NOT_RECORDED,
                   "The engine's count was not read after the formal stage.");
    else if (isnan(before.tokens))
        verify_set(v, CODE_USAGE_DISAGREES, CHECK_NOT_RECORDED,
                   "The engine's count before the formal stage is not known.");
    else
        compare_usage(v, &u, after->generation_tokens - before.tokens, how);
}

/* The load with the largest share of failures; null: none was sent. */
static const struct result_point *worst_load(const struct verify *v)
{
    const struct result_point *worst = NULL;
    for (size_t i = 0; i < v->result->loads.point_count; i++) {
        const struct result_point *p = &v->result->loads.points[i];
        if (p->requests.all > 0 && (!worst || (double)p->requests.all_failed * (double)worst->requests.all >
                                                  (double)worst->requests.all_failed * (double)p->requests.all))
            worst = p;
    }
    return worst;
}

/* Each load by itself: a curve of which one point failed is not one. */
static void check_failures_loads(struct verify *v)
{
    const struct result_point *p = worst_load(v);
    double limit = v->r->plan.method.failed_share;
    if (!p || isnan(limit)) {
        verify_set(v, CODE_TOO_MANY_FAILED, CHECK_NOT_RECORDED, "%s.",
                   p ? "The stored plan names no limit" : "No request was recorded");
        return;
    }
    double share = (double)p->requests.all_failed / (double)p->requests.all;
    verify_set(v, CODE_TOO_MANY_FAILED, share > limit ? CHECK_FAILED : CHECK_PASSED,
               "%lld of %lld requests of load %lld failed (%.3g %%)%s; the plan allows %.3g %% of each load.",
               (long long)p->requests.all_failed, (long long)p->requests.all, (long long)p->number, 100 * share,
               v->result->loads.point_count > 1 ? ", of the others a smaller share or none" : "", 100 * limit);
}

static void check_failures(struct verify *v)
{
    if (result_has_loads(v->result)) {
        check_failures_loads(v);
        return;
    }
    size_t total = v->r->request_count;
    int64_t failed = usage_sum(v->r).failed;
    double limit = v->r->plan.method.failed_share;
    if (!total || isnan(limit)) {
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
