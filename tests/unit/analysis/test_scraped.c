/* What the engine says of itself over a load, beside its clients, from scrapes made by hand. */
#include "check.h"

#include <math.h>
#include "analysis/scraped.h"

#define S INT64_C(1000000000)

enum { SCRAPES = 5, REQUESTS = 200 };

/* A load from 10 s to 30 s; scrapes at 8, 12, 20, 28 and 31 s, each answered after 0.1 s. 200 requests: TTFT 3 s, TPOT
 * 20 ms, E2E 9 s. The engine: TTFT 2.9 s, of it queue 2 s and prefill 0.5 s. */
struct made {
    struct arena a;
    struct rec_metrics metrics[SCRAPES];
    struct rec_request requests[REQUESTS];
    struct result_request rows[REQUESTS];
    struct request_table table;
    struct records r;
    struct scraped_span span;
};

static const int64_t at_s[SCRAPES] = {8, 12, 20, 28, 31};

static void make(struct made *m)
{
    *m = (struct made){0};
    for (size_t i = 0; i < SCRAPES; i++) {
        const double n = (double[]){8, 8, 108, 190, 208}[i], own = n - 8;
        struct rec_metrics *x = &m->metrics[i];
        *x = rec_metrics_absent();
        x->t_ns = at_s[i] * S;
        x->took_ns = S / 10;
        x->running = (double[]){0, 10, 40, 4, 0}[i];
        x->waiting = (double[]){0, 100, 20, 0, 0}[i];
        x->kv_cache_used = (double[]){0, 0.1, 0.5, 0.3, 0}[i];
        x->preemptions = (double[]){2, 2, 5, 5, 5}[i];
        x->generation_tokens = 100 * n;
        x->ttft_count = x->queue_count = x->prefill_count = x->tpot_count = x->e2e_count = n;
        x->ttft_sum_s = 0.8 + 2.9 * own;
        x->queue_sum_s = 2 * own;
        x->prefill_sum_s = 0.4 + 0.5 * own;
        x->tpot_sum_s = 0.16 + 0.019 * own;
        x->e2e_sum_s = 80 + 8.5 * own;
        x->itl_count = 1000 * n;
        x->itl_sum_s = 18 * n;
        x->prefix_queries = 1000 * n;
        x->prefix_hits = 250 * own;
        x->drafts = 10 * n;
        x->drafted_tokens = 40 * n;
        x->accepted_tokens = 24 * n;
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        m->requests[i] = rec_request_absent();
        m->requests[i].id = (uint32_t)i;
        m->requests[i].load = -1;
        m->requests[i].submit_ns = 10 * S;
        m->rows[i] = (struct result_request){.verdict = VERDICT_OK, .ttft_s = 3, .tpot_s = 0.02, .e2e_s = 9};
    }
    m->table = (struct request_table){.rows = m->rows, .n = REQUESTS};
    m->r = (struct records){
        .metrics = m->metrics, .metrics_count = SCRAPES, .requests = m->requests, .request_count = REQUESTS};
    m->span = (struct scraped_span){.start_ns = 10 * S,
                                    .end_ns = 30 * S,
                                    .until_ns = INT64_MAX,
                                    .from_ns = 10 * S,
                                    .to_ns = 30 * S,
                                    .load = -1,
                                    .table = &m->table};
}

static struct result_engine look(struct made *m)
{
    return scraped_of(&m->r, &m->span, &m->a);
}

static void check_value(const struct quantity *q, double value)
{
    assert_int_equal(q->state, Q_MEASURED);
    assert_close(q->value, value, 1e-9);
}

static void check_absent(const struct quantity *q, enum q_state state, const char *why)
{
    assert_int_equal(q->state, state);
    assert_true(isnan(q->value));
    assert_string_equal(q->why, why);
}

static void everything_by_hand(void **state)
{
    (void)state;
    struct made m;
    make(&m);
    const struct result_engine x = look(&m);
    const struct result_engine_times *t = &x.times;
    assert_null(x.why);
    assert_int_equal(x.first_ns, 8 * S);
    assert_int_equal(x.last_ns, 31 * S);
    assert_int_equal(x.scrapes, 3);
    assert_int_equal(t->ttft_s.n, 200);
    assert_int_equal(t->client_ttft_s.n, 200);
    assert_int_equal(t->itl_s.n, 200000);
    check_value(&t->ttft_s.mean, 2.9);
    check_value(&t->queue_s.mean, 2);
    check_value(&t->prefill_s.mean, 0.5);
    check_value(&t->tpot_s.mean, 0.019);
    check_value(&t->itl_s.mean, 0.018);
    check_value(&t->e2e_s.mean, 8.5);
    check_value(&t->client_ttft_s.mean, 3);
    check_value(&t->client_tpot_s.mean, 0.02);
    check_value(&t->client_e2e_s.mean, 9);
    check_value(&t->ttft_difference_s, 0.1);
    check_value(&t->tpot_difference_s, 0.001);
    check_value(&t->e2e_difference_s, 0.5);
    check_value(&t->front_end_s, 0.4);
    check_value(&t->queue_share, 2 / 2.9);
    check_value(&x.running.mean, 18);
    check_value(&x.running.max, 40);
    check_value(&x.waiting.mean, 40);
    check_value(&x.waiting.max, 100);
    check_value(&x.kv_cache_used.mean, 0.3);
    check_value(&x.kv_cache_used.max, 0.5);
    check_value(&x.preemptions, 3);
    check_value(&x.prefix_queries, 200000);
    check_value(&x.prefix_hits, 50000);
    check_value(&x.prefix_hit_share, 0.25);
    check_value(&x.drafted_tokens, 8000);
    check_value(&x.accepted_tokens, 4800);
    check_value(&x.accepted_share, 0.6);
    check_value(&x.accepted_length, 3.4);
    arena_done(&m.a);
}

/* Numbers of requests that are over 1 % apart are of different requests. */
static void unlike_sets_are_not_subtracted(void **state)
{
    (void)state;
    static const struct {
        double more;
        bool same;
    } cases[] = {{0, true}, {2, true}, {-1, true}, {3, false}, {-3, false}, {200, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m;
        make(&m);
        struct rec_metrics *last = &m.metrics[SCRAPES - 1];
        last->ttft_count += cases[i].more;
        last->ttft_sum_s = 0.8 + 2.9 * (200 + cases[i].more);

        const struct result_engine x = look(&m);
        check_value(&x.times.ttft_s.mean, (last->ttft_sum_s - 0.8) / (last->ttft_count - 8));
        assert_int_equal(quantity_has_value(&x.times.ttft_difference_s), cases[i].same);
        assert_int_equal(quantity_has_value(&x.times.front_end_s), cases[i].same);
        assert_int_equal(quantity_has_value(&x.times.queue_share), cases[i].same);
        check_value(&x.times.e2e_difference_s, 0.5);
        if (cases[i].more > 100) {
            check_absent(&x.times.ttft_difference_s, Q_UNDEFINED,
                         "jtok counted 200 of them and the engine 400: not the same requests");
            check_absent(&x.times.queue_share, Q_UNDEFINED,
                         "the engine's TTFT counted 400 of them and its queue 200: not the same requests");
        }
        arena_done(&m.a);
    }
}

/* Failed requests are none of jtok's, and a time counts from the submission, whatever was intended. */
static void which_requests_are_jtoks(void **state)
{
    (void)state;
    struct made m;
    make(&m);
    m.span.load = 3;
    for (size_t i = 0; i < REQUESTS; i++) {
        m.requests[i].load = i < 100 ? 3 : 2; /* the second hundred is another load's */
        m.requests[i].intended_ns = m.requests[i].submit_ns - S / 2;
    }
    m.rows[4].verdict = VERDICT_TRUNCATED;
    m.rows[5].ttft_s = NAN;
    m.table.n = 100;
    const struct result_engine x = look(&m);
    assert_int_equal(x.times.client_ttft_s.n, 98);
    assert_int_equal(x.times.client_e2e_s.n, 99);
    check_value(&x.times.client_ttft_s.mean, 2.5);
    check_value(&x.times.client_tpot_s.mean, 0.02);
    check_value(&x.times.client_e2e_s.mean, 8.5);
    check_absent(&x.times.e2e_difference_s, Q_UNDEFINED,
                 "jtok counted 99 of them and the engine 200: not the same requests");
    arena_done(&m.a);
}

/* A count that falls at any reading between the ends is no count, also where it has grown past its begin since. */
static void a_count_that_falls(void **state)
{
    (void)state;
    for (size_t at = 1; at < SCRAPES; at++) {
        struct made m;
        make(&m);
        for (size_t i = at; i < SCRAPES; i++)
            m.metrics[i].prefix_hits = (double)(i - at) * 1e6;
        m.metrics[0].prefix_hits = 10;
        const struct result_engine x = look(&m);
        check_absent(&x.prefix_hits, Q_UNDEFINED, "the engine's count fell meanwhile: it began anew");
        check_absent(&x.prefix_hit_share, Q_UNDEFINED, "the engine's count fell meanwhile: it began anew");
        check_value(&x.prefix_queries, 200000);
        arena_done(&m.a);
    }
}

/* What a scrape in the middle lacks is not missed; what one of the ends lacks is absent, and nothing else. */
static void what_a_scrape_lacks(void **state)
{
    (void)state;
    for (size_t at = 0; at < SCRAPES; at++) {
        struct made m;
        make(&m);
        m.metrics[at].queue_sum_s = m.metrics[at].queue_count = NAN;
        const struct result_engine x = look(&m);
        if (at == 0) {
            check_absent(&x.times.queue_s.mean, Q_NOT_RECORDED, "the reading before lacks it");
        } else if (at == SCRAPES - 1) {
            check_absent(&x.times.queue_s.mean, Q_NOT_RECORDED,
                         "the engine's /metrics do not give it, or the records do not hold it");
        } else {
            check_value(&x.times.queue_s.mean, 2);
        }
        bool end = at == 0 || at == SCRAPES - 1;
        assert_int_equal(x.times.queue_s.n, end ? ABSENT_I64 : 200);
        assert_int_equal(quantity_has_value(&x.times.front_end_s), !end);
        assert_int_equal(quantity_has_value(&x.times.queue_share), !end);
        check_value(&x.times.ttft_difference_s, 0.1);
        arena_done(&m.a);
    }
}

/* Which two scrapes count, and that there must be two. */
static void the_two_scrapes(void **state)
{
    (void)state;
    static const struct {
        int64_t start_s, end_s, until_s, first_s, last_s;
        const char *why;
    } cases[] = {
        {10, 30, 1000, 8, 31, NULL},
        {13, 27, 1000, 12, 31, NULL},
        {13, 27, 30, 12, 28, NULL}, /* at 30 s something else was asked */
        {13, 27, 28, 0, 0, "no reading of the engine's /metrics after it was recorded"},
        {8, 30, 1000, 0, 0, "no reading of the engine's /metrics before it was recorded"}, /* on its way at 8 s */
        {10, 32, 1000, 0, 0, "no reading of the engine's /metrics after it was recorded"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m;
        make(&m);
        m.span.start_ns = cases[i].start_s * S;
        m.span.end_ns = cases[i].end_s * S;
        m.span.until_ns = cases[i].until_s * S;
        const struct result_engine x = look(&m);
        assert_int_equal(x.first_ns, cases[i].why ? ABSENT_I64 : cases[i].first_s * S);
        assert_int_equal(x.last_ns, cases[i].why ? ABSENT_I64 : cases[i].last_s * S);
        if (cases[i].why)
            assert_string_equal(x.why, cases[i].why);
        assert_int_equal(quantity_has_value(&x.times.ttft_s.mean), !cases[i].why);
        assert_int_equal(quantity_has_value(&x.times.ttft_difference_s), i < 2); /* all 200 ended between */
        check_value(&x.running.max, 40);                                         /* gauges need no ends */
        arena_done(&m.a);
    }
}

/* An answer that says nothing, and none at all, are no ends. */
static void silence_is_no_scrape(void **state)
{
    (void)state;
    struct made m;
    make(&m);
    m.metrics[0] = rec_metrics_absent();
    m.metrics[0].t_ns = 8 * S;
    m.metrics[0].took_ns = S / 10;
    struct result_engine x = look(&m);
    assert_string_equal(x.why, "no reading of the engine's /metrics before it was recorded");
    make(&m);
    m.metrics[4].took_ns = ABSENT_I64;
    x = look(&m);
    assert_string_equal(x.why, "no reading of the engine's /metrics after it was recorded");
    m.r.metrics_count = 0;
    x = look(&m);
    assert_non_null(x.why);
    assert_int_equal(x.scrapes, 0);
    check_absent(&x.running.mean, Q_NOT_RECORDED, "no reading of the engine's /metrics within it has it");
    arena_done(&m.a);
}

/* A window of others' load ends with a scrape: both are within, and no request is jtok's. */
static void a_window_of_others(void **state)
{
    (void)state;
    struct made m;
    make(&m);
    m.span.start_ns = 12 * S + S / 10;
    m.span.end_ns = 28 * S + S / 10;
    m.span.table = NULL;
    const struct result_engine x = look(&m);
    assert_int_equal(x.first_ns, 12 * S);
    assert_int_equal(x.last_ns, 28 * S);
    assert_int_equal(x.times.ttft_s.n, 182);
    check_value(&x.times.ttft_s.mean, 2.9);
    check_value(&x.times.front_end_s, 0.4);
    assert_int_equal(x.times.client_ttft_s.n, ABSENT_I64);
    check_absent(&x.times.client_ttft_s.mean, Q_NOT_RECORDED, "no request is jtok's");
    check_absent(&x.times.ttft_difference_s, Q_NOT_RECORDED, "no request is jtok's");
    arena_done(&m.a);
}

/* Acceptance by counts; by gauges only where there are no counts; neither where nothing was drafted. */
static void drafts_by_counts_or_gauges(void **state)
{
    (void)state;
    struct made m;
    make(&m);
    for (size_t i = 0; i < SCRAPES; i++) {
        m.metrics[i].accepted_share = (double[]){0, 0.5, 0.6, 0.7, 0}[i];
        m.metrics[i].accepted_length = (double[]){0, 2, 3, 4, 0}[i];
    }
    struct result_engine x = look(&m);
    check_value(&x.accepted_share, 0.6); /* its counts, 24 of 40 */
    check_value(&x.accepted_length, 3.4);
    for (size_t i = 0; i < SCRAPES; i++)
        m.metrics[i].drafts = m.metrics[i].drafted_tokens = m.metrics[i].accepted_tokens = NAN;
    x = look(&m);
    check_value(&x.accepted_share, 0.6); /* the mean of 0.5, 0.6 and 0.7 */
    check_value(&x.accepted_length, 3);
    assert_int_equal(x.drafted_tokens.state, Q_NOT_RECORDED);
    for (size_t i = 0; i < SCRAPES; i++)
        m.metrics[i].drafts = m.metrics[i].drafted_tokens = m.metrics[i].accepted_tokens = 7;
    x = look(&m);
    check_value(&x.drafted_tokens, 0);
    check_absent(&x.accepted_share, Q_UNDEFINED, "no token was drafted");
    check_absent(&x.accepted_length, Q_UNDEFINED, "no token was drafted");
    arena_done(&m.a);
}

/* A histogram that gained nothing has no mean. */
static void nothing_observed(void **state)
{
    (void)state;
    struct made m;
    make(&m);
    for (size_t i = 0; i < SCRAPES; i++) {
        m.metrics[i].tpot_count = 8;
        m.metrics[i].tpot_sum_s = 0.16;
    }
    const struct result_engine x = look(&m);
    assert_int_equal(x.times.tpot_s.n, 0);
    check_absent(&x.times.tpot_s.mean, Q_UNDEFINED, "the engine saw none");
    check_absent(&x.times.tpot_difference_s, Q_UNDEFINED, "the engine saw none");
    arena_done(&m.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_by_hand),         cmocka_unit_test(unlike_sets_are_not_subtracted),
        cmocka_unit_test(which_requests_are_jtoks),   cmocka_unit_test(a_count_that_falls),
        cmocka_unit_test(what_a_scrape_lacks),        cmocka_unit_test(the_two_scrapes),
        cmocka_unit_test(silence_is_no_scrape),       cmocka_unit_test(a_window_of_others),
        cmocka_unit_test(drafts_by_counts_or_gauges), cmocka_unit_test(nothing_observed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
