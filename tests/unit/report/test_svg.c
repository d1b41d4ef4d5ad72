#include "check.h"
#include <stdlib.h>
#include "whole_life.h"
#include "report/svg.h"

static const char *draw(const struct records *r, const struct svg_notes *notes, struct arena *a)
{
    struct buf b = {0};
    struct err e = {0};
    assert_ok(svg_power(r, notes, a, &b, &e), e);
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
    const struct svg_notes notes = {{"1570 J", NULL, "15 000 J"}};
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
    struct buf b = {0};
    struct err e = {0};
    assert_false(svg_power(&r, NULL, &a, &b, &e));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stage_and_gpu_is_drawn),
        cmocka_unit_test(a_value_is_where_the_axes_say),
        cmocka_unit_test(no_burst_is_lost),
        cmocka_unit_test(without_a_buffer_the_instant_samples_are_drawn),
        cmocka_unit_test(names_are_escaped_and_simulation_is_said),
        cmocka_unit_test(a_run_that_broke_off_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
