#include "check.h"
#include <stdlib.h>
#include "whole_life.h"
#include "analysis/picture.h"
#include "base/time.h"
#include "model/record_order.h"
#include "report/svg.h"

static const char *draw(const struct records *r, const struct svg_notes *notes, struct arena *a)
{
    struct buf b = {0};
    struct err e = {0};
    struct power_series series;
    assert_ok(picture_series(r, SVG_COLUMNS, a, &series, &e), e);
    svg_power(&series, notes, &b);
    const char *text = arena_text(a, buf_text(&b));
    buf_done(&b);
    return text;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part))
        n++;
    return n;
}

static void each_stage_and_gpu_is_drawn(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 2);
    const struct svg_notes notes = {.stage = {"1570 J", NULL, "15 000 J"}};
    const char *svg = draw(&r, &notes, &a);
    if (getenv("JTOK_SHOW"))
        puts(svg);
    static const char *const names[] = {">baseline<", ">startup<", ">formal<",  ">release<",
                                        ">hold<",     ">1570 J<",  ">15 000 J<"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(count(svg, names[i]), 1);
    assert_int_equal(count(svg, "class=\"power\""), 2);
    assert_int_equal(count(svg, "class=\"boundary\""), 5);
    assert_int_equal(count(svg, "20 ms buffer"), 2);
    assert_null(strstr(svg, "SIMULATED"));
    arena_done(&a);
}

/* 500 W of 500 W at the top, on a picture from 1 s to 106 s: the formal stage's first pixel column. */
static void a_value_is_where_the_axes_say(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    const char *svg = draw(&r, NULL, &a);
    /* y: 118 is 500 W and 418 is 0 W, so the idle 78.5 W is at 418 - 0.157 * 300 = 370.9; the line begins with it. */
    assert_non_null(strstr(svg, "d=\"M64 370.9L"));
    /* x of 73 s: 64 + 72 / 105 * 1112 = 826.5. */
    assert_non_null(strstr(svg, "class=\"boundary\" d=\"M826.5 "));
    arena_done(&a);
}

/* Ends at 25 s, 28 s and 43 s on a picture from 1 s to 106 s: x = 64 + (t - 1) / 105 * 1112; the rest has no line. */
static void phases_stand_where_they_end(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    const struct result_phase phases[] = {{.phase = PHASE_PROCESS, .end_ns = 25 * LIFE_S},
                                          {.phase = PHASE_WEIGHTS, .end_ns = 28 * LIFE_S},
                                          {.phase = PHASE_REST, .end_ns = 43 * LIFE_S}};
    const struct svg_notes notes = {.phases = phases, .phase_count = 3};
    const char *svg = draw(&r, &notes, &a);
    assert_int_equal(count(svg, "class=\"phase\""), 2);
    assert_non_null(strstr(svg, "class=\"phase\" d=\"M318.2 "));
    assert_non_null(strstr(svg, "class=\"phase\" d=\"M349.9 "));
    assert_non_null(strstr(svg, ">GPU first used<"));
    assert_non_null(strstr(svg, ">weights loaded<"));
    /* Without a result there is none. */
    assert_int_equal(count(draw(&r, NULL, &a), "class=\"phase\""), 0);
    arena_done(&a);
}

/* A single 20 ms burst is in the picture, however many samples share its pixel. */
static void no_burst_is_lost(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    r.gpus[0].buffer[30 * 50 + 3].mw = 450000;
    assert_non_null(strstr(draw(&r, NULL, &a), " 148.0")); /* 418 - 0.9 * 300 */
    arena_done(&a);
}

static void without_a_buffer_the_instant_samples_are_drawn(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    r.gpus[0].buffer_count = 0;
    assert_non_null(strstr(draw(&r, NULL, &a), "1 s instant samples"));
    r.gpus[0].instant_count = 0;
    struct err e = {0};
    struct power_series series;
    assert_false(picture_series(&r, SVG_COLUMNS, &a, &series, &e));
    assert_string_equal(e.text, "20261130T010000Z-a-test-life: no power was recorded, so there is nothing to draw.");
    arena_done(&a);
}

static void names_are_escaped_and_simulation_is_said(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    r.plan.name = "<a & \"b\">\n";
    r.run.gpu_simulated = true;
    const char *svg = draw(&r, NULL, &a);
    assert_non_null(strstr(svg, ">&lt;a &amp; &quot;b&quot;&gt; </text>"));
    assert_non_null(strstr(svg, ">SIMULATED GPU</text>"));
    arena_done(&a);
}

/* A run that broke off in its startup: what was recorded is drawn, to the end of the records. */
static void a_run_that_broke_off_is_drawn(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    r.boundary_count = 3;
    const char *svg = draw(&r, NULL, &a);
    assert_non_null(strstr(svg, ">startup<"));
    assert_null(strstr(svg, ">formal<"));
    arena_done(&a);
}

/* The clock is set back by 2 s in the middle of the run: the picture is that of a run without it, but for the stretch
 * between the two clock pairs, whose stamps no energy takes either. */
static void a_clock_step_moves_no_sample(void **state)
{
    (void)state;
    enum { COLUMNS = 200 };
    struct arena a = {0};
    struct err e = {0};
    struct records r = life_records(&a, 1);
    struct power_series before, after;
    assert_ok(picture_series(&r, COLUMNS, &a, &before, &e), e);
    size_t step = r.clock_count / 2;
    int64_t from_ns = r.clocks[step - 1].t_ns, to_ns = r.clocks[step].t_ns;
    for (size_t i = step; i < r.clock_count; i++)
        r.clocks[i].offset_ns -= 2 * SECOND_NS;
    struct rec_gpu *g = &r.gpus[0];
    for (size_t i = 0; i < g->buffer_count; i++)
        if (g->buffer[i].realtime_us * 1000 - r.clocks[0].offset_ns >= to_ns)
            g->buffer[i].realtime_us -= 2000000;
    records_order(&r);
    assert_ok(picture_series(&r, COLUMNS, &a, &after, &e), e);
    assert_true(after.duration_s == before.duration_s);
    double begin_s = (double)records_boundary(&r, BOUNDARY_BASELINE_START) / 1e9;
    for (size_t i = 0; i < COLUMNS; i++) {
        double t_s = begin_s + before.duration_s * (double)i / (COLUMNS - 1);
        if (t_s > (double)from_ns / 1e9 - 1 && t_s < (double)to_ns / 1e9 + 1)
            continue;
        assert_int_equal(after.gpus[0].columns[i].samples, before.gpus[0].columns[i].samples);
        assert_true(after.gpus[0].columns[i].low_w == before.gpus[0].columns[i].low_w);
        assert_true(after.gpus[0].columns[i].high_w == before.gpus[0].columns[i].high_w);
    }
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stage_and_gpu_is_drawn),
        cmocka_unit_test(a_value_is_where_the_axes_say),
        cmocka_unit_test(phases_stand_where_they_end),
        cmocka_unit_test(no_burst_is_lost),
        cmocka_unit_test(without_a_buffer_the_instant_samples_are_drawn),
        cmocka_unit_test(names_are_escaped_and_simulation_is_said),
        cmocka_unit_test(a_run_that_broke_off_is_drawn),
        cmocka_unit_test(a_clock_step_moves_no_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
