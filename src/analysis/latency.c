#include "analysis/latency.h"

#include <assert.h>
#include <math.h>
#include "analysis/gaps.h"
#include "analysis/order.h"
#include "base/must.h"
#include "base/sort.h"
#include "base/time.h"

static double offset_s(int64_t t_ns, int64_t from_ns)
{
    return t_ns == ABSENT_I64 || from_ns == ABSENT_I64 ? (double)NAN : time_s(t_ns - from_ns);
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
static double tpot_s(const struct token_chain *q, int64_t first_ns, int64_t last_ns)
{
    assert(q->success);
    /* It held a token at least, also where no count stands with it. */
    int64_t divisor = q->tokens - (q->first_tokens > 1 ? q->first_tokens : 1);
    if (q->tokens < 2 || divisor < 1 || first_ns == ABSENT_I64 || last_ns == ABSENT_I64 || last_ns <= first_ns)
        return (double)NAN;
    return time_s(last_ns - first_ns) / (double)divisor;
}

/* A request's times, absent beside a clock step. */
struct times {
    int64_t submit_ns, first_ns, last_ns, end_ns, visible_ns;
    bool nulled; /* one of them was */
};

static struct times stamps_of(const struct token_chain *q, const struct rec_request *r, const struct clock_line *clocks)
{
    struct times t = {0};
    /* Of a success, the stamps of its chunks; of a failure what the client noted. */
    t.submit_ns = unstepped(clocks, r->submit_ns, &t.nulled);
    t.first_ns = unstepped(clocks, q->first_ns != ABSENT_I64 ? q->first_ns : r->first_ns, &t.nulled);
    t.last_ns = unstepped(clocks, q->last_ns != ABSENT_I64 ? q->last_ns : r->last_ns, &t.nulled);
    t.end_ns = unstepped(clocks, r->end_ns, &t.nulled);
    t.visible_ns = unstepped(clocks, r->first_visible_ns, &t.nulled);
    return t;
}

static struct result_request times_row(const struct token_chain *q, const struct rec_request *r, const struct times *t,
                                       int64_t formal_start_ns)
{
    return (struct result_request){.id = r->id,
                                   .verdict = r->verdict,
                                   .status = r->status,
                                   .submit_s = offset_s(t->submit_ns, formal_start_ns),
                                   .first_s = offset_s(t->first_ns, formal_start_ns),
                                   .last_s = offset_s(t->last_ns, formal_start_ns),
                                   .end_s = offset_s(t->end_ns, formal_start_ns),
                                   .ttft_s = offset_s(t->first_ns, t->submit_ns),
                                   .ttft_visible_s = offset_s(t->visible_ns, t->submit_ns),
                                   .tpot_s = q->success ? tpot_s(q, t->first_ns, t->last_ns) : (double)NAN,
                                   .e2e_s = offset_s(t->end_ns, t->submit_ns),
                                   .prompt_tokens = r->prompt_tokens,
                                   .output_tokens = r->completion_tokens,
                                   .reasoning_tokens = r->reasoning_tokens,
                                   .token_chunks = q->success ? q->chunks : r->token_chunks,
                                   .generates = q->generates,
                                   .order = ABSENT_I64,
                                   .gap_j = (double)NAN,
                                   .interval_j = (double)NAN,
                                   .request_j = (double)NAN,
                                   .words_j = (double)NAN,
                                   .j_per_token = (double)NAN,
                                   .detail = r->detail};
}

struct request_table latency_table(const struct token_chains *s, const struct clock_line *clocks,
                                   int64_t formal_start_ns, struct arena *a)
{
    must(s->request_count == 0 || (s->requests && s->chains));
    struct request_table t = {.rows = arena_array(a, s->request_count, sizeof *t.rows), .n = s->request_count};
    for (size_t i = 0; i < t.n; i++) {
        const struct times times = stamps_of(&s->chains[i], &s->requests[i], clocks);
        t.nulled += times.nulled;
        t.rows[i] = times_row(&s->chains[i], &s->requests[i], &times, formal_start_ns);
    }
    return t;
}

/* ---- counts ---- */

static void add_known(int64_t *sum, int64_t value)
{
    *sum = *sum == ABSENT_I64 || value == ABSENT_I64 ? ABSENT_I64 : *sum + value;
}

struct counts {
    int64_t successful, no_interval, prompt_tokens, reasoning_tokens, tpot_allotted;
};

static struct counts count_outcomes(const struct token_chains *s)
{
    struct counts n = {0};
    for (size_t i = 0; i < s->request_count; i++) {
        if (!s->chains[i].success)
            continue;
        n.successful++;
        n.no_interval += !s->chains[i].generates;
        add_known(&n.prompt_tokens, s->requests[i].prompt_tokens);
        add_known(&n.reasoning_tokens, s->requests[i].reasoning_tokens);
        n.tpot_allotted += !s->chains[i].running && s->chains[i].generates;
    }
    if (n.successful == 0)
        n.prompt_tokens = n.reasoning_tokens = ABSENT_I64;
    return n;
}

static bool before_digest(const void *x, const void *y)
{
    return *(const uint64_t *)x < *(const uint64_t *)y;
}

static int64_t repeated_prompts(const struct token_chains *s, struct arena *a)
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

struct failure_list {
    struct result_failure *items;
    size_t n;
};

static struct failure_list list_failures(const struct token_chains *s, struct arena *a)
{
    int64_t count[VERDICT_COUNT] = {0}, status[VERDICT_COUNT] = {0};
    uint32_t first[VERDICT_COUNT] = {0};
    for (size_t i = s->request_count; i-- > 0;) {
        /* An ok without usage, or an id that is there twice, is a fault of the records. */
        enum verdict verdict = s->chains[i].success                   ? VERDICT_OK
                               : s->requests[i].verdict == VERDICT_OK ? VERDICT_NOT_RECORDED
                                                                      : s->requests[i].verdict;
        int32_t seen = s->requests[i].status;
        status[verdict] = seen > 0 && (!count[verdict] || status[verdict] == seen) ? seen : ABSENT_I64;
        count[verdict]++;
        first[verdict] = (uint32_t)i;
    }
    struct failure_list list = {.items = arena_array(a, VERDICT_COUNT, sizeof *list.items)};
    for (int v = VERDICT_OK + 1; v < VERDICT_COUNT; v++)
        if (count[v])
            list.items[list.n++] = (struct result_failure){(enum verdict)v, count[v], s->requests[first[v]].id,
                                                           status[v], s->requests[first[v]].detail};
    return list;
}

static struct quantity submit_window(const struct token_chains *s)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t i = 0; i < s->request_count; i++) {
        int64_t t = s->requests[i].submit_ns;
        if (t == ABSENT_I64)
            continue;
        from = t < from ? t : from;
        to = t > to ? t : to;
    }
    return from > to ? quantity_absent(Q_NOT_RECORDED, "no request was submitted") : quantity_of(time_s(to - from));
}

static double ttft_of(const struct result_request *q)
{
    return q->ttft_s;
}

static double ttft_visible_of(const struct result_request *q)
{
    return q->ttft_visible_s;
}

double latency_tpot_s(const struct result_request *q)
{
    return q->tpot_s;
}

double latency_e2e_s(const struct result_request *q)
{
    return q->e2e_s;
}

/* Percentiles of one time over successful requests; `room` for one of each. */
static struct percentiles over_requests(const struct token_chains *s, const struct request_table *t,
                                        double (*time_of)(const struct result_request *), double *room, const char *why)
{
    must(t->n == s->request_count);
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        double value = time_of(&t->rows[i]);
        if (s->chains[i].success && !isnan(value))
            room[n++] = value;
    }
    return order_percentiles(room, n, why);
}

struct result_load latency_load(const struct token_chains *s, const struct request_table *t,
                                const struct clock_line *clocks, struct quantity peak_concurrency, struct arena *a)
{
    must(t->n == s->request_count);
    const struct counts n = count_outcomes(s);
    const struct failure_list failures = list_failures(s, a);
    int64_t output = token_chains_output(s);
    double *room = arena_array(a, s->request_count, sizeof *room);
    static const char NO_SUCCESS[] = "no successful request";
    return (struct result_load){
        .requests = (int64_t)s->request_count,
        .successful = n.successful,
        .failed = (int64_t)s->request_count - n.successful,
        .prompt_tokens = n.prompt_tokens,
        .output_tokens = output,
        .reasoning_tokens = n.reasoning_tokens,
        .visible_tokens = n.reasoning_tokens == ABSENT_I64 ? ABSENT_I64 : output - n.reasoning_tokens,
        .token_chunks = (int64_t)s->token_chunks,
        .no_interval = n.no_interval,
        .repeated_prompts = repeated_prompts(s, a),
        .token_source = s->source,
        .shared_stamps = (int64_t)s->shared_stamps,
        .read_stamps = (int64_t)s->read_stamps,
        .tpot_allotted = n.tpot_allotted,
        .later_tokens = s->later_tokens,
        .merged_tokens = s->token_chunks ? s->merged_tokens : ABSENT_I64,
        .merged_limit = s->merged_limit,
        .timings_nulled = t->nulled,
        .clock_steps = (int64_t)clocks->step_count,
        .ttft_s = over_requests(s, t, ttft_of, room, NO_SUCCESS),
        .tpot_s = over_requests(s, t, latency_tpot_s, room, "no successful request of two tokens"),
        .e2e_s = over_requests(s, t, latency_e2e_s, room, NO_SUCCESS),
        .ttft_visible_s = over_requests(s, t, ttft_visible_of, room, "no visible output"),
        .itl_s = gaps_percentiles(s, s->source == TOKENS_RUNNING),
        .itl_per_token = s->source == TOKENS_RUNNING,
        .submit_window_s = submit_window(s),
        .peak_concurrency = peak_concurrency,
        .failures = failures.items,
        .failure_count = failures.n};
}
