/* A watch by hand: two scrapes, a window between the arrivals of their answers, power that does not change. */
#include "analysis/watch.h"

#include <math.h>
#include <string.h>
#include "check.h"

#define S INT64_C(1000000000)

struct made {
    struct arena a;
    struct rec_metrics metrics[3];
    struct rec_boundary boundaries[2];
    struct rec_fact facts[2];
    struct records r;
    struct result_stage window;
};

static struct rec_metrics scrape(int64_t t_ns, int64_t took_ns, double tokens, double prompts, double ended,
                                 double running)
{
    struct rec_metrics m = rec_metrics_absent();
    m.t_ns = t_ns;
    m.took_ns = took_ns;
    m.running = running;
    m.generation_tokens = tokens;
    m.prompt_tokens = prompts;
    m.requests_ended = ended;
    return m;
}

/* 20 s from 10.02 s to 30.02 s: 4000 tokens, 10 requests, 8000 J with 4 J of doubt. */
static void make(struct made *m, const char *at_end)
{
    *m = (struct made){0};
    m->metrics[0] = scrape(10 * S, S / 50, 1000, 500, 10, 4);
    m->metrics[1] = scrape(20 * S, S / 50, 3000, 900, 15, 6);
    m->metrics[2] = scrape(30 * S, S / 50, 5000, 1300, 20, 8);
    m->boundaries[0] = (struct rec_boundary){.t_ns = 10 * S + S / 50, .id = BOUNDARY_WINDOW_START};
    m->boundaries[1] = (struct rec_boundary){.t_ns = 30 * S + S / 50, .id = BOUNDARY_WINDOW_END, .note = "time"};
    m->facts[0] = (struct rec_fact){.name = "service.count", .outcome = CHECK_NOT_JUDGED, .seen = "vllm"};
    m->facts[1] = (struct rec_fact){.name = "service.count_at_end", .outcome = CHECK_NOT_JUDGED, .seen = at_end};
    m->r = (struct records){.metrics = m->metrics,
                            .metrics_count = 3,
                            .boundaries = m->boundaries,
                            .boundary_count = 2,
                            .facts = m->facts,
                            .fact_count = 2};
    struct result_point absent;
    result_point_absent(&absent, "made");
    m->window = absent.window;
    m->window.start_ns = m->boundaries[0].t_ns;
    m->window.end_ns = m->boundaries[1].t_ns;
    m->window.duration_s = 20;
    m->window.energy.headline = quantity_of(8000);
    m->window.energy.headline.instrument = 4;
}

/* 8000 J over 4000 tokens: 2 J/token; 0.04 s of scrapes in 20 s are 0.2 %: 0.004 J/token, and 4 J / 4000. */
static void tokens_and_energy_between_two_answers(void **state)
{
    (void)state;
    struct made m;
    make(&m, "no");
    const struct bounds b = watch_bounds(&m.r);
    assert_int_equal(b.from_ns, 10 * S + S / 50);
    assert_int_equal(b.to_ns, 30 * S + S / 50);
    const struct result_point p = watch_point(&m.r, &m.window, &m.a);
    assert_true(p.reached);
    assert_int_equal(p.tokens.output, 4000);
    assert_int_equal(p.tokens.input, 800);
    assert_close(p.j_per_token.value, 2, 1e-12);
    assert_close(p.edge_j_per_token, 0.004, 1e-12);
    assert_close(p.j_per_token.instrument, 0.001 + 0.004, 1e-12);
    assert_close(p.rates.output_tok_s.value, 200, 1e-9);
    assert_close(p.rates.input_tok_s.value, 40, 1e-9);
    assert_close(p.rates.request_s.value, 0.5, 1e-9);
    assert_close(p.j_per_request.value, 800, 1e-9);
    assert_close(p.j_per_total_token.value, 8000.0 / 4800, 1e-12);
    assert_close(p.flight.mean.value, 6, 1e-12);
    assert_int_equal(p.flight.peak, 8);
    assert_int_equal(p.requests.sent, ABSENT_I64);
    assert_string_equal(p.setting, "users' load, tokens as vllm counts them");
    arena_done(&m.a);
}

/* 12 in flight at both ends, of 5000 / 20 = 250 tokens each: 3000 of 4000 tokens. */
static void a_count_at_the_end_doubts_what_is_in_flight(void **state)
{
    (void)state;
    struct made m;
    make(&m, "yes");
    const struct result_point p = watch_point(&m.r, &m.window, &m.a);
    assert_close(p.edge_j_per_token, 2 * 3000.0 / 4000, 1e-12);
    assert_non_null(strstr(p.setting, "each request's when it ends"));
    arena_done(&m.a);
}

static void no_reading_no_value(void **state)
{
    (void)state;
    struct made m;
    make(&m, "no");
    m.metrics[2].generation_tokens = NAN;
    struct result_point p = watch_point(&m.r, &m.window, &m.a);
    assert_int_equal(p.j_per_token.state, Q_NOT_RECORDED);
    arena_done(&m.a);
    make(&m, "no");
    m.metrics[2].generation_tokens = 1000; /* nothing was generated */
    p = watch_point(&m.r, &m.window, &m.a);
    assert_int_equal(p.j_per_token.state, Q_UNDEFINED);
    m.r.boundary_count = 1;
    assert_int_equal(watch_bounds(&m.r).from_ns, ABSENT_I64);
    arena_done(&m.a);
    make(&m, "no");
    m.boundaries[1].note = "The count fell.";
    p = watch_point(&m.r, &m.window, &m.a);
    assert_non_null(strstr(p.setting, "ended early: The count fell."));
    arena_done(&m.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_and_energy_between_two_answers),
        cmocka_unit_test(a_count_at_the_end_doubts_what_is_in_flight),
        cmocka_unit_test(no_reading_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
