/* What a scrape's histograms and counts come to, and what is said of a /metrics that gives no count of generated
 * tokens.
 */
#include "check.h"

#include "engine/engine.h"
#include "engine/table.h"

static void each_answer_is_named(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *location, *detail, *body, *said;
    } cases[] = {
        {501, NULL, NULL, "no metrics\n", "status 501 (\"no metrics \"): start llama-server with --metrics"},
        {404, NULL, NULL, "",
         "status 404: start SGLang with --enable-metrics, or set engine.metrics_path to where the engine has its "
         "metrics "
         "(asked: /metrics)"},
        {307, "/metrics/", NULL, "moved", "status 307, which points to /metrics/: set engine.metrics_path to that"},
        {302, "", NULL, "",
         "status 302, a redirect to nowhere: set engine.metrics_path to where the engine has its metrics"},
        {401, NULL, NULL, "", "status 401: give the server's key in JTOK_API_KEY"},
        {503, NULL, NULL, "\033[31mbusy\xff", "status 503 (\" [31mbusy\xef\xbf\xbd\")"},
        {200, NULL, NULL, "up 1", "status 200 (\"up 1\"), which holds no count of generated tokens that jtok knows"},
        {-1, NULL, "No answer within 2 s.", "", "no answer: No answer within 2 s."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct plan p;
        plan_defaults(&p);
        struct engine_metrics_answer answer = {.status = cases[i].status,
                                               .location = cases[i].location,
                                               .body = span_of(cases[i].body),
                                               .detail = cases[i].detail};
        assert_string_equal(engine_metrics_lack(&p, &answer, &a), cases[i].said);
        arena_done(&a);
    }
}

/* A long body is cut, between characters or with a replacement. */
static void a_long_body_is_cut(void **state)
{
    (void)state;
    struct arena a = {0};
    struct plan p;
    plan_defaults(&p);
    struct buf body = {0};
    for (int i = 0; i < 100; i++)
        buf_str(&body, "\xe2\x82\xac");
    const char *said =
        engine_metrics_lack(&p, &(struct engine_metrics_answer){.status = 500, .body = buf_span(&body)}, &a);
    assert_non_null(strstr(said, "\xe2\x82\xac...\")"));
    assert_true(strlen(said) < 200);
    buf_done(&body);
    arena_done(&a);
}

/* ---- histograms ---- */

/* Two engines of one server: sums and numbers add up, buckets and creation times are none of both. */
static void histograms_of_engines_add_up(void **state)
{
    (void)state;
    const struct rec_metrics m = engine_read_metrics(
        span_of("# TYPE vllm:time_to_first_token_seconds histogram\n"
                "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.001\"} 0.0\n"
                "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"+Inf\"} 3.0\n"
                "vllm:time_to_first_token_seconds_count{engine=\"0\"} 3.0\n"
                "vllm:time_to_first_token_seconds_sum{engine=\"0\"} 1.5\n"
                "vllm:time_to_first_token_seconds_created{engine=\"0\"} 1.79e+09\n"
                "vllm:time_to_first_token_seconds_count{engine=\"1\"} 1.0\n"
                "vllm:time_to_first_token_seconds_sum{engine=\"1\"} 0.25\n"
                "vllm:request_queue_time_seconds_sum 0.5\nvllm:request_queue_time_seconds_count 4\n"
                "vllm:request_prefill_time_seconds_sum 1\nvllm:request_prefill_time_seconds_count 4\n"
                "vllm:request_time_per_output_token_seconds_sum 0.08\n"
                "vllm:request_time_per_output_token_seconds_count 4\n"
                "vllm:e2e_request_latency_seconds_sum 40\nvllm:e2e_request_latency_seconds_count 4\n"
                "vllm:spec_decode_num_drafts_total{engine=\"0\"} 10\n"
                "vllm:spec_decode_num_drafts_total{engine=\"1\"} 20\n"
                "vllm:spec_decode_num_draft_tokens_total 90\nvllm:spec_decode_num_accepted_tokens_total 45\n"
                "vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"0\"} 25\n"));
    assert_close(m.ttft_sum_s, 1.75, 1e-15);
    assert_close(m.ttft_count, 4, 0);
    assert_close(m.queue_sum_s, 0.5, 0);
    assert_close(m.prefill_sum_s, 1, 0);
    assert_close(m.tpot_sum_s, 0.08, 0);
    assert_close(m.e2e_sum_s, 40, 0);
    assert_close(m.queue_count + m.prefill_count + m.tpot_count + m.e2e_count, 16, 0);
    assert_close(m.drafts, 30, 0);
    assert_close(m.drafted_tokens, 90, 0);
    assert_close(m.accepted_tokens, 45, 0);
    assert_true(isnan(m.itl_sum_s) && isnan(m.itl_count) && isnan(m.accepted_share) && isnan(m.accepted_length));
}

/* The older name counts only where the new one is missing. */
static void an_older_name_stands_in(void **state)
{
    (void)state;
    static const char *const engines[] = {"vllm", "sglang"};
    for (size_t i = 0; i < 2; i++) {
        struct arena a = {0};
        const char *old = arena_format(&a,
                                       "%s:time_per_output_token_seconds_sum 6\n"
                                       "%s:time_per_output_token_seconds_count 3\n",
                                       engines[i], engines[i]);
        struct rec_metrics m = engine_read_metrics(span_of(old));
        assert_close(m.itl_sum_s, 6, 0);
        assert_close(m.itl_count, 3, 0);
        assert_true(isnan(m.tpot_sum_s) && isnan(m.tpot_count));
        m = engine_read_metrics(span_of(arena_format(&a,
                                                     "%s%s:inter_token_latency_seconds_sum 5\n"
                                                     "%s:inter_token_latency_seconds_count 2\n",
                                                     old, engines[i], engines[i])));
        assert_close(m.itl_sum_s, 5, 0);
        assert_close(m.itl_count, 2, 0);
        arena_done(&a);
    }
}

/* SGLang tells where cached tokens were kept, and looks up each prompt whole. */
static void sglang_adds_up_where_tokens_were_kept(void **state)
{
    (void)state;
    const struct rec_metrics m = engine_read_metrics(
        span_of("sglang:prompt_tokens_total{is_streaming=\"true\"} 1000\n"
                "sglang:cached_tokens_total{cache_source=\"device\"} 200\n"
                "sglang:cached_tokens_total{cache_source=\"host\"} 50\n"
                "sglang:spec_accept_rate{dp_rank=\"0\"} 0.5\nsglang:spec_accept_rate{dp_rank=\"1\"} 0.7\n"
                "sglang:spec_accept_length{dp_rank=\"0\"} 2\nsglang:spec_accept_length{dp_rank=\"1\"} 3\n"
                "sglang:queue_time_seconds_sum{tp_rank=\"0\"} 9\nsglang:queue_time_seconds_count{tp_rank=\"0\"} 3\n"));
    assert_close(m.prompt_tokens, 1000, 0);
    assert_close(m.prefix_queries, 1000, 0);
    assert_close(m.prefix_hits, 250, 0);
    assert_close(m.accepted_share, 0.6, 1e-15);
    assert_close(m.accepted_length, 2.5, 0);
    assert_close(m.queue_sum_s, 9, 0);
    assert_close(m.queue_count, 3, 0);
    assert_true(isnan(m.prefill_sum_s) && isnan(m.drafts));
}

/* What is no number of a histogram gives none. */
static void no_text_gives_no_figure(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "vllm:time_to_first_token_seconds_sum NaN\n", "vllm:time_to_first_token_seconds_sum -1\n",
        "vllm:time_to_first_token_seconds_summary 1\nvllm:time_to_first_token_seconds 1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct rec_metrics m = engine_read_metrics(span_of(texts[i]));
        assert_true(isnan(m.ttft_sum_s) && isnan(m.ttft_count) && isnan(m.running) && isnan(m.accepted_length));
        assert_int_equal(m.t_ns, ABSENT_I64);
        assert_int_equal(m.took_ns, ABSENT_I64);
    }
}

/* Whatever an engine says, the record holds nothing that its own table calls impossible: a share is at most 1, a number
 * of requests fits 31 bits, anything is finite. */
static void nothing_impossible_is_recorded(void **state)
{
    (void)state;
    static const char *const values[] = {
        "-1", "0", "1", "1.0001", "50", "2147483647", "2147483648", "1099511627776", "9e15", "1e16", "1e300", "+Inf"};
    struct arena a = {0};
    const struct engine *g;
    size_t kept = 0;
    for (size_t i = 0; (g = engine_row(i)); i++)
        for (const struct engine_metric *x = g->metrics.names; x && x->name; x++)
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                const struct rec_metrics m =
                    engine_read_metrics(span_of(arena_format(&a, "%s %s\n", x->name, values[v])));
                for (size_t k = 0; k < rec_metrics_schema.count; k++) {
                    const struct field *f = &rec_metrics_schema.fields[k];
                    double value = 0;
                    if (f->type != FIELD_F64)
                        continue;
                    memcpy(&value, (const char *)&m + f->offset, sizeof value);
                    if (isnan(value))
                        continue;
                    kept++;
                    if (value < f->min || value > f->max)
                        fail_msg("%s %s gives %s of %g", x->name, values[v], f->key, value);
                }
            }
    assert_true(kept > 100);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histograms_of_engines_add_up),
        cmocka_unit_test(an_older_name_stands_in),
        cmocka_unit_test(sglang_adds_up_where_tokens_were_kept),
        cmocka_unit_test(no_text_gives_no_figure),
        cmocka_unit_test(nothing_impossible_is_recorded),
        cmocka_unit_test(each_answer_is_named),
        cmocka_unit_test(a_long_body_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
