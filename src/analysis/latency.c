#include "analysis/latency.h"

#include <math.h>
#include "analysis/gaps.h"
#include "analysis/order.h"
#include "base/sort.h"

static double offset_s(int64_t t_ns, int64_t from_ns)
{
    return t_ns == ABSENT_I64 || from_ns == ABSENT_I64 ? (double)NAN : (double)(t_ns - from_ns) * 1e-9;
}

/* ---- the table ---- */

/* A time that a clock step touches is no time. Only the arrivals are converted stamps; submit and end by read time are
 * not, but then a stamp beside them is as doubtful: all of a request's times near a step go. */
static int64_t unstepped(const struct clock_line *clocks, int64_t t_ns, bool *ret_nulled)
{
    if (clocks->step_count == 0 || t_ns == ABSENT_I64 || !clock_is_stepped(clocks, t_ns))
        return t_ns;
    *ret_nulled = true;
    return ABSENT_I64;
}

/* (last - first) / (n - n1), n1 the tokens of the first stamp. With one stamp alone there is no time between tokens:
 * undefined, never 0. */
static double tpot_s(const struct stream *q, int64_t first_ns, int64_t last_ns)
{
    /* It held a token at least, also where no count stands with it. */
    int64_t divisor = q->tokens - (q->first_tokens > 1 ? q->first_tokens : 1);
    if (q->tokens < 2 || divisor < 1 || first_ns == ABSENT_I64 || last_ns == ABSENT_I64 || last_ns <= first_ns)
        return (double)NAN;
    return (double)(last_ns - first_ns) * 1e-9 / (double)divisor;
}

struct result_request *latency_table(const struct streams *s, const struct clock_line *clocks, int64_t formal_start_ns,
                                     struct arena *a, int64_t *ret_nulled)
{
    struct result_request *table = arena_array(a, s->request_count, sizeof *table);
    *ret_nulled = 0;
    for (size_t i = 0; i < s->request_count; i++) {
        const struct rec_request *r = &s->requests[i];
        const struct stream *q = &s->streams[i];
        bool nulled = false;
        /* Of a success, the stamps of its chunks; of a failure what the client noted. */
        int64_t seen_first = q->first_ns != ABSENT_I64 ? q->first_ns : r->first_ns;
        int64_t seen_last = q->last_ns != ABSENT_I64 ? q->last_ns : r->last_ns;
        int64_t submit = unstepped(clocks, r->submit_ns, &nulled), first = unstepped(clocks, seen_first, &nulled);
        int64_t last = unstepped(clocks, seen_last, &nulled), end = unstepped(clocks, r->end_ns, &nulled);
        int64_t visible = unstepped(clocks, r->first_visible_ns, &nulled);
        *ret_nulled += nulled;
        table[i] = (struct result_request){.id = r->id,
                                           .verdict = r->verdict,
                                           .status = r->status,
                                           .submit_s = offset_s(submit, formal_start_ns),
                                           .first_s = offset_s(first, formal_start_ns),
                                           .last_s = offset_s(last, formal_start_ns),
                                           .end_s = offset_s(end, formal_start_ns),
                                           .ttft_s = offset_s(first, submit),
                                           .ttft_visible_s = offset_s(visible, submit),
                                           .tpot_s = q->success ? tpot_s(q, first, last) : (double)NAN,
                                           .e2e_s = offset_s(end, submit),
                                           .prompt_tokens = r->prompt_tokens,
                                           .output_tokens = r->completion_tokens,
                                           .reasoning_tokens = r->reasoning_tokens,
                                           .token_chunks = r->token_chunks,
                                           .generates = q->generates,
                                           .order = ABSENT_I64,
                                           .gap_j = (double)NAN,
                                           .interval_j = (double)NAN,
                                           .request_j = (double)NAN,
                                           .words_j = (double)NAN,
                                           .j_per_token = (double)NAN,
                                           .detail = r->detail};
        if (q->success)
            table[i].token_chunks = q->chunks;
    }
    return table;
}

/* ---- counts ---- */

static void add_known(int64_t *sum, int64_t value)
{
    *sum = *sum == ABSENT_I64 || value == ABSENT_I64 ? ABSENT_I64 : *sum + value;
}

static void count_requests(const struct streams *s, struct result_load *ret)
{
    ret->requests = (int64_t)s->request_count;
    ret->successful = ret->no_interval = ret->tpot_allotted = ret->output_tokens = ret->prompt_tokens =
        ret->reasoning_tokens = 0;
    for (size_t i = 0; i < s->request_count; i++) {
        if (!s->streams[i].success)
            continue;
        ret->successful++;
        ret->no_interval += !s->streams[i].generates;
        ret->output_tokens += s->streams[i].tokens;
        add_known(&ret->prompt_tokens, s->requests[i].prompt_tokens);
        add_known(&ret->reasoning_tokens, s->requests[i].reasoning_tokens);
        ret->tpot_allotted += !s->streams[i].running && s->streams[i].generates;
    }
    ret->failed = ret->requests - ret->successful;
    if (ret->successful == 0)
        ret->prompt_tokens = ret->reasoning_tokens = ABSENT_I64;
    ret->visible_tokens = ret->reasoning_tokens == ABSENT_I64 ? ABSENT_I64 : ret->output_tokens - ret->reasoning_tokens;
    ret->token_chunks = (int64_t)s->token_chunks;
    ret->token_source = s->source;
    ret->merged_tokens = ret->token_chunks ? s->merged_tokens : ABSENT_I64;
    ret->merged_limit = s->merged_limit;
    ret->later_tokens = s->later_tokens;
    ret->shared_stamps = (int64_t)s->shared_stamps;
    ret->read_stamps = (int64_t)s->read_stamps;
}

static bool before_digest(const void *x, const void *y)
{
    return *(const uint64_t *)x < *(const uint64_t *)y;
}

static int64_t repeated_prompts(const struct streams *s, struct arena *a)
{
    uint64_t *digests = arena_array(a, s->request_count, sizeof *digests);
    int64_t repeated = 0;
    for (size_t i = 0; i < s->request_count; i++) {
        digests[i] = s->requests[i].prompt_digest;
        if (digests[i] == 0)
            return ABSENT_I64;
    }
    sort_stable(digests, s->request_count, sizeof *digests, before_digest);
    for (size_t i = 1; i < s->request_count; i++)
        repeated += digests[i] == digests[i - 1];
    return s->request_count ? repeated : ABSENT_I64;
}

static void list_failures(const struct streams *s, struct arena *a, struct result_load *ret)
{
    int64_t count[VERDICT_COUNT] = {0};
    uint32_t first[VERDICT_COUNT] = {0};
    int64_t status[VERDICT_COUNT] = {0};
    for (size_t i = s->request_count; i-- > 0;) {
        /* An ok without usage, or an id that is there twice, is a fault of the records. */
        int verdict = s->streams[i].success                  ? VERDICT_OK
                      : s->requests[i].verdict == VERDICT_OK ? VERDICT_NOT_RECORDED
                                                             : s->requests[i].verdict;
        int32_t seen = s->requests[i].status;
        status[verdict] = seen > 0 && (!count[verdict] || status[verdict] == seen) ? seen : ABSENT_I64;
        count[verdict]++;
        first[verdict] = (uint32_t)i;
    }
    ret->failures = arena_array(a, VERDICT_COUNT, sizeof *ret->failures);
    for (int v = VERDICT_OK + 1; v < VERDICT_COUNT; v++)
        if (count[v])
            ret->failures[ret->failure_count++] =
                (struct result_failure){v, count[v], s->requests[first[v]].id, status[v], s->requests[first[v]].detail};
}

static struct quantity submit_spread(const struct streams *s)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t i = 0; i < s->request_count; i++) {
        int64_t t = s->requests[i].submit_ns;
        if (t == ABSENT_I64)
            continue;
        from = t < from ? t : from;
        to = t > to ? t : to;
    }
    return from > to ? quantity_absent(Q_NOT_RECORDED, "no request was submitted")
                     : quantity_of((double)(to - from) * 1e-9);
}

/* Percentiles of one column over successful requests. */
static struct percentiles column(const struct streams *s, const struct result_request *table, size_t offset,
                                 double *scratch, const char *why)
{
    size_t n = 0;
    for (size_t i = 0; i < s->request_count; i++) {
        double value = *(const double *)((const char *)&table[i] + offset);
        if (s->streams[i].success && !isnan(value))
            scratch[n++] = value;
    }
    return order_percentiles(scratch, n, why);
}

void latency_load(const struct streams *s, const struct result_request *table, struct arena *a, struct result_load *ret)
{
    double *scratch = arena_array(a, s->request_count, sizeof *scratch);
    count_requests(s, ret);
    ret->repeated_prompts = repeated_prompts(s, a);
    list_failures(s, a, ret);
    ret->submit_window_s = submit_spread(s);
    ret->ttft_s = column(s, table, offsetof(struct result_request, ttft_s), scratch, "no successful request");
    ret->tpot_s =
        column(s, table, offsetof(struct result_request, tpot_s), scratch, "no successful request of two tokens");
    ret->e2e_s = column(s, table, offsetof(struct result_request, e2e_s), scratch, "no successful request");
    ret->ttft_visible_s =
        column(s, table, offsetof(struct result_request, ttft_visible_s), scratch, "no visible output");
    ret->itl_per_token = s->source == TOKENS_RUNNING;
    ret->itl_s = gaps_percentiles(s, ret->itl_per_token);
}
